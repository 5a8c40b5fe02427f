// From a stored packet to the send queue, and from the send queue to the sink: the path that decides what a packet costs.
// Nothing here allocates once the queues have grown to their working size.

import Basics
import Forwarding
import RTP
import SRTP

extension WorkerState {
  /// Lets every consumer of the encoding's track decide about one stored packet.
  mutating func forward(_ packet: StoredPacket, encoding encodingID: EncodingID, at now: Instant) {
    let producerID = encodings[encodingID].producer
    let newest = encodings[encodingID].encoding.newest
    let receivers = producers[producerID].consumers
    if receivers.isEmpty {
      counters.drops.count(.noConsumer)
      return
    }
    let kind = producers[producerID].kind
    let room = producers[producerID].room
    if shares.isCounting && !admits(kind, of: room, at: now) { return }
    let waiting = queue.count
    let tracks = rooms[room].producers
    coalescing.note(receivers.count, kind, tracks: tracks, endsFrame: packet.marker, at: now)
    let audience =
      kind == .audio ? coalescing.holdForAudience(sounds: rooms[room].sounds, receivers: receivers.count) : nil
    let offered = Offered(
      packet: packet, kind: kind, encoding: encodingID,
      layer: Int8(truncatingIfNeeded: encodings[encodingID].encoding.index),
      alignment: encodings[encodingID].encoding.timestampAlignment,
      due: now + (audience ?? coalescing.hold(kind, tracks: tracks, endsFrame: packet.marker)))
    var next = consumers.pointer(to: receivers[0])
    for index in receivers.indices {
      let slot = next
      next = index + 1 < receivers.count ? consumers.pointer(to: receivers[index + 1]) : nil
      // What deciding for the next ones needs is fetched while it is decided for this one.
      if let next { transports.prefetch(next.pointee.transport, bytes: Transport.queued) }
      if index + 3 < receivers.count { consumers.prefetch(receivers[index + 3], bytes: ConsumerSlot.front) }
      guard let slot, offer(offered, to: slot, receivers[index]) else { continue }
      if packet.sequence < newest && slot.pointee.consumer.began(with: packet.sequence) {
        catchUp(offered, to: slot, receivers[index], newest: newest)
      }
    }
    if shares.isCounting { countSent(queue.count - waiting, of: room) }
  }

  /// Has what deciding for the first consumers needs fetched; `forward` does so for the others.
  @inline(__always)
  func prefetchReceivers(of producer: ProducerID) {
    let receivers = producers[producer].consumers
    for index in 0..<min(3, receivers.count) { consumers.prefetch(receivers[index], bytes: ConsumerSlot.front) }
  }

  /// A stored packet on its way to the consumers of its track.
  private struct Offered {
    var packet: StoredPacket
    let kind: MediaKind
    let encoding: EncodingID
    let layer: Int8
    let alignment: UInt32?
    let due: Instant
  }

  /// Queues one packet for one consumer if it wants it.
  @inline(__always)
  private mutating func offer(
    _ offered: Offered, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID
  ) -> Bool {
    guard let receiver = transports.pointer(to: slot.pointee.transport) else { return false }
    guard receiver.pointee.canSend else {
      // A stream begins, or goes on, when its receiver can be reached: what was not sent must not count as sent.
      slot.pointee.consumer.interrupt()
      counters.drops.count(.transportDown)
      return false
    }
    switch slot.pointee.consumer.decide(offered.packet, layer: offered.layer, alignment: offered.alignment) {
    case .drop(let reason):
      counters.drops.count(reason)
      // Asked on connection, and perhaps in vain: the publisher's path may have been down just then.
      if reason == .awaitingKeyframe { wantKeyframe(offered.encoding) }
      return false
    case .forward(let rewrite):
      let entry = SendEntry(
        encoding: offered.encoding, consumer: id, sequence: offered.packet.sequence, due: offered.due, rewrite: rewrite,
        length: offered.packet.length)
      append(entry, offered.kind, to: slot.pointee.transport, &receiver.pointee.chain)
      if slot.pointee.toldLayer != offered.layer { tell(id, layer: offered.layer) }
      return true
    case .repair(let rewrite):
      repair(offered, rewrite, to: slot, id)
      return false
    }
  }

  /// A packet that the publisher sent again so late that its number is used up goes out on the subscriber's RTX stream.
  @inline(never)
  private mutating func repair(
    _ offered: Offered, _ rewrite: Rewrite, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID
  ) {
    guard let retransmission = slot.pointee.consumer.nextRetransmission(offered.packet.codec) else {
      counters.drops.count(.tooLate)
      return
    }
    enqueue(
      SendEntry(
        encoding: offered.encoding, consumer: id, sequence: offered.packet.sequence, due: offered.due,
        retransmission: retransmission, rewrite: rewrite,
        length: offered.packet.length + UInt16(Retransmission.overhead)),
      to: slot.pointee.transport)
  }

  /// The first packet of a keyframe came late: what was passed over while it was missing follows from the cache.
  private mutating func catchUp(
    _ first: Offered, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID, newest: Int64
  ) {
    var offered = first
    for number in ((first.packet.sequence + 1)...newest).suffix(PacketCache.mostPackets) {
      guard let packet = encodings[first.encoding].encoding.cache.find(number) else { continue }
      offered.packet = packet
      _ = offer(offered, to: slot, id)
    }
  }

  private mutating func tell(_ consumer: ConsumerID, layer: Int8) {
    if consumers[consumer].toldLayer < 0 { events.append(.consumerStarted(consumers[consumer].key)) }
    consumers[consumer].toldLayer = layer
    events.append(.consumerLayer(consumers[consumer].key, layer: Int(layer)))
  }

  /// Puts a packet that is sent again into its receiver's chain.
  mutating func enqueue(_ entry: SendEntry, to transport: TransportID) {
    guard let receiver = transports.pointer(to: transport), receiver.pointee.canSend else {
      counters.drops.count(.transportDown)
      return
    }
    let kind = consumers[entry.consumer].consumer.parameters.kind
    append(entry, kind, to: transport, &receiver.pointee.chain)
  }

  @inline(__always)
  private mutating func append(
    _ entry: SendEntry, _ kind: MediaKind, to transport: TransportID, _ chain: inout SendChain
  ) {
    if !queue.append(entry, kind: kind, receiver: transport, chain: &chain) { counters.drops.count(.sendQueueFull) }
  }

  /// What still waits for a transport that ends is dropped.
  mutating func discardQueue(of id: TransportID) {
    discard(transports[id].chain.video)
    discard(transports[id].chain.audio)
    transports[id].chain = SendChain()
  }

  private mutating func discard(_ line: SendChain.Line) {
    var next = line.first
    while next >= 0 {
      counters.drops.count(.transportDown)
      next = queue.free(next)
    }
  }

  /// Sends what is due: datagrams of STUN, DTLS and RTCP first, and with the same system calls media, receiver by receiver. `now` is
  /// when the turn began.
  public mutating func flush<Sink: DatagramSink & ~Copyable>(at now: Instant, into sink: inout Sink) {
    turned = now
    var report = SendReport()
    flushControl(into: &sink, report: &report)
    if queue.nextDue <= now || queue.isUnderPressure { flushMedia(at: now, into: &sink, report: &report) }
    segments.send(into: &sink, report: &report)
    count(report)
  }

  /// Seals what is due.
  private mutating func flushMedia<Sink: DatagramSink & ~Copyable>(
    at now: Instant, into sink: inout Sink, report: inout SendReport
  ) {
    // Those who are due soon go along: to wake again for them alone costs more than their packets might still gain.
    let limit = queue.isUnderPressure ? Instant.distantFuture : now + coalescing.slack
    let sendTime = AbsoluteSendTime.value(at: now)
    var kept = 0
    for index in queue.receivers.indices {
      prefetch(behind: index, until: limit)
      var receiver = queue.receivers[index]
      guard transports.contains(receiver.id) else { continue }
      let isServed = receiver.due <= limit
      if isServed {
        receiver.due = flushReceiver(
          receiver.id, until: limit, sendTime: sendTime, into: &sink, report: &report)
        if receiver.due == .distantFuture { continue }
      }
      queue.receivers[kept] = receiver
      if kept != index || isServed { transports[receiver.id].chain.position = Int32(kept) }
      kept += 1
    }
    queue.keep(kept)
  }

  /// Has the state of the receivers next in line fetched while this one's packets are sealed: of the third the transport, which
  /// leads to what waits for the second, which leads to the stream of the first.
  @inline(__always)
  private func prefetch(behind index: Int, until limit: Instant) {
    if isDue(index + 3, by: limit) { transports.prefetch(queue.receivers[index + 3].id, bytes: Transport.sent) }
    if isDue(index + 2, by: limit), let waiting = firstConsumer(ofReceiver: index + 2) {
      consumers.prefetch(waiting, bytes: ConsumerSlot.front)
    }
    if isDue(index + 1, by: limit), let waiting = firstConsumer(ofReceiver: index + 1),
      let slot = consumers.pointer(to: waiting),
      let transport = transports.pointer(to: queue.receivers[index + 1].id)
    {
      transport.pointee.security.prefetch(ssrc: slot.pointee.consumer.ssrc)
    }
  }

  @inline(__always)
  private func isDue(_ index: Int, by limit: Instant) -> Bool {
    index < queue.receivers.count && queue.receivers[index].due <= limit
  }

  /// Whose packet is the first that waits for a receiver; nil where there is none.
  @inline(__always)
  private func firstConsumer(ofReceiver index: Int) -> ConsumerID? {
    guard let receiver = transports.pointer(to: queue.receivers[index].id) else { return nil }
    let chain = receiver.pointee.chain
    let first = chain.video.first >= 0 ? chain.video.first : chain.audio.first
    return first >= 0 ? queue[first].consumer : nil
  }

  /// Sends all video that waits for a receiver, and the audio that is due at `limit` or leaves with the video for nothing.
  /// Returns when the rest is due.
  private mutating func flushReceiver<Sink: DatagramSink & ~Copyable>(
    _ receiver: TransportID, until limit: Instant, sendTime: UInt32, into sink: inout Sink, report: inout SendReport
  ) -> Instant {
    let chain = transports[receiver].chain
    guard let path = transports[receiver].path else {
      discardQueue(of: receiver)
      return .distantFuture
    }
    transports[receiver].chain = SendChain()
    transports[receiver].noteSending(at: turned)
    var next = chain.video.first
    flush(&next, to: receiver, path, sendTime: sendTime, into: &sink, report: &report)
    next = chain.audio.first
    if next >= 0 && endsRun(next, of: receiver) {
      next = send(next, longest: 0, to: receiver, path, sendTime: sendTime, into: &sink, report: &report)
    }
    if next >= 0 && queue.firstDue(from: next) <= limit {
      flush(&next, to: receiver, path, sendTime: sendTime, into: &sink, report: &report)
    }
    segments.finish(sink: &sink, report: &report)
    if next < 0 { return .distantFuture }
    transports[receiver].chain.audio = SendChain.Line(first: next, last: chain.audio.last)
    return queue.firstDue(from: next)
  }

  /// Whether a packet would leave with the open run for nothing, as its shorter end. Mutating, though nothing changes: where
  /// the state is borrowed, the compiler (6.3) copies all of it.
  private mutating func endsRun(_ index: Int32, of receiver: TransportID) -> Bool {
    let longest = Int(queue[index].length) + HeaderTemplate.room + transports[receiver].security.rtpOverhead
    return segments.isEnded(by: longest)
  }

  /// Sends a whole line, from `next` on.
  private mutating func flush<Sink: DatagramSink & ~Copyable>(
    _ next: inout Int32, to receiver: TransportID, _ path: Path, sendTime: UInt32, into sink: inout Sink,
    report: inout SendReport
  ) {
    var run = (count: 0, length: 0)
    while next >= 0 {
      if run.count == 0 { run = queue.run(from: next) }
      run.count -= 1
      // The last of a run may be shorter than the others.
      let longest = run.count > 0 ? run.length : 0
      next = send(next, longest: longest, to: receiver, path, sendTime: sendTime, into: &sink, report: &report)
    }
  }

  /// Seals one packet into the segment buffer. Returns the one behind it.
  private mutating func send<Sink: DatagramSink & ~Copyable>(
    _ index: Int32, longest: Int, to receiver: TransportID, _ path: Path, sendTime: UInt32, into sink: inout Sink,
    report: inout SendReport
  ) -> Int32 {
    if let length = seal(queue[index], for: receiver, sendTime: sendTime, longest: longest) {
      segments.append(length, to: path, sink: &sink, report: &report)
    }
    return queue.free(index)
  }

  /// Has the state of what waits behind a packet fetched while that is sealed: the stream of the next one, and what leads to
  /// that of the one after it. A frame's packets are of one stream.
  @inline(__always)
  private func prefetch(behind entry: SendEntry, _ transport: UnsafeMutablePointer<Transport>) {
    let next = queue[entry.next].consumer
    if next != entry.consumer, let slot = consumers.pointer(to: next) {
      transport.pointee.security.prefetchStream(slot.pointee.consumer.ssrc)
    }
    let last = queue[entry.next].next
    guard last >= 0 else { return }
    let afterNext = queue[last].consumer
    if afterNext != next { consumers.prefetch(afterNext, bytes: ConsumerSlot.front) }
  }

  private mutating func count(_ report: SendReport) {
    guard report.sends > 0 else { return }
    counters.sends &+= report.sends
    for index in 0..<7 { counters.sendsBySegments[index] &+= report.bySegments[index] }
    counters.packetsOut &+= report.packets
    counters.bytesOut &+= report.bytes
    counters.drops[.sendQueueFull] &+= report.queueFull
    counters.drops[.sendFailed] &+= report.failed
  }

  /// Writes and seals one packet behind those already in the segment buffer; nil when it is dropped. `longest` is the
  /// length behind the header of the longest packet that may share a run with it.
  @inline(__always)
  private mutating func seal(_ entry: SendEntry, for receiver: TransportID, sendTime: UInt32, longest: Int) -> Int? {
    guard let consumer = consumers.pointer(to: entry.consumer), let encoding = encodings.pointer(to: entry.encoding),
      let transport = transports.pointer(to: receiver),
      let place = encoding.pointee.encoding.cache.place(of: entry.sequence)
    else {
      counters.drops.count(.notInCache)
      return nil
    }
    if entry.next >= 0 { prefetch(behind: entry, transport) }
    let free = segments.free
    var out = free.mutableSpan
    let fields = fields(
      entry, encoding.pointee.encoding.cache[place], consumer.pointee.consumer, &transport.pointee, sendTime)
    let original = entry.retransmission == nil ? nil : entry.rewrite.sequence
    guard let header = consumer.pointee.consumer.header.write(fields, into: &out),
      header + Int(entry.length) <= SegmentBuffer.longestPacket
    else {
      counters.drops.count(.tooLarge)
      return nil
    }
    let overhead = transport.pointee.security.rtpOverhead
    let padding = padding(header + Int(entry.length), of: entry, overhead: overhead, longest: longest)
    // The flag that says so (RFC 3550 §5.1).
    if padding > 0 { out[0] |= 0x20 }
    let body = encoding.pointee.encoding.cache.body(
      at: place, rewrite: entry.rewrite, originalSequence: original, padding: padding)
    do throws(SRTPError) {
      let sealed = try transport.pointee.security.protectRTP(
        &out, header: header, payload: body.bindMemory(to: UInt8.self).span, ssrc: fields.ssrc,
        sequence: fields.sequenceNumber)
      guard let sealed else {
        counters.drops.count(.transportDown)
        return nil
      }
      if original == nil { counters.forwarded &+= 1 } else { counters.retransmitted &+= 1 }
      return sealed
    } catch {
      counters.drops.count(DropReason(sealing: error))
      return nil
    }
  }

  /// What this packet's header says to this receiver, who is thereby given the next number of his transport.
  @inline(__always)
  private func fields(
    _ entry: SendEntry, _ packet: borrowing StoredPacket, _ consumer: borrowing Consumer, _ transport: inout Transport,
    _ sendTime: UInt32
  ) -> HeaderTemplate.Fields {
    var fields = HeaderTemplate.Fields(
      marker: packet.marker, payloadType: entry.rewrite.payloadType, sequenceNumber: entry.rewrite.sequence,
      timestamp: entry.rewrite.timestamp, ssrc: consumer.ssrc, absSendTime: sendTime,
      transportSequence: consumer.header.hasTransportSequence ? transport.nextTransportSequence() : 0,
      audioLevel: packet.audioLevel, videoOrientation: packet.orientation)
    if let retransmission = entry.retransmission {
      fields.ssrc = retransmission.ssrc
      fields.payloadType = retransmission.payloadType
      fields.sequenceNumber = retransmission.sequence
    }
    return fields
  }

  /// Bytes by which a packet of `written` bytes should be longer, so that those behind it can be segments of the same size;
  /// `overhead` is what sealing adds.
  private func padding(_ written: Int, of entry: SendEntry, overhead: Int, longest: Int) -> Int {
    guard longest > 0 else { return 0 }
    let open = segments.segment - overhead
    // Where a run is open, this packet joins it or, much shorter, ends it.
    let target = written <= open ? open : written - Int(entry.length) + longest
    let padding = target - written
    return (0...SegmentBuffer.mostPadding).contains(padding) && target <= SegmentBuffer.longestPacket ? padding : 0
  }
}
