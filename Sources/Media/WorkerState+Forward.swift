// From a stored packet to the send queue, and from the send queue to the sink: the path that decides what a packet costs.
// Nothing here allocates once the queues have grown to their working size.

import Basics
import Forwarding
import RTP

extension WorkerState {
  /// Lets every consumer of the encoding's track decide about one stored packet.
  mutating func forward(_ packet: StoredPacket, encoding encodingID: EncodingID, at now: Instant) {
    let producerID = encodings[encodingID].producer
    let layer = Int8(truncatingIfNeeded: encodings[encodingID].encoding.index)
    let alignment = encodings[encodingID].encoding.timestampAlignment
    let newest = encodings[encodingID].encoding.newest
    let count = producers[producerID].consumers.count
    if count == 0 {
      counters.drops.count(.noConsumer)
      return
    }
    for index in 0..<count {
      let consumerID = producers[producerID].consumers[index]
      guard offer(packet, encoding: encodingID, to: consumerID, layer: layer, alignment: alignment) else { continue }
      if packet.sequence < newest && consumers[consumerID].consumer.began(with: packet.sequence) {
        catchUp(
          consumerID, encoding: encodingID, numbers: (packet.sequence + 1)...newest, layer: layer, alignment: alignment)
      }
    }
  }

  /// Queues one packet for one consumer if it wants it.
  private mutating func offer(
    _ packet: StoredPacket, encoding: EncodingID, to id: ConsumerID, layer: Int8, alignment: UInt32?
  ) -> Bool {
    let transport = consumers[id].transport
    guard transports[transport].canSend else {
      // A stream begins, or goes on, when its receiver can be reached: what was not sent must not count as sent.
      consumers[id].consumer.interrupt()
      counters.drops.count(.transportDown)
      return false
    }
    switch consumers[id].consumer.decide(packet, layer: layer, alignment: alignment) {
    case .drop(let reason):
      counters.drops.count(reason)
      // Asked on connection, and perhaps in vain: the publisher's path may have been down just then.
      if reason == .awaitingKeyframe { wantKeyframe(encoding) }
      return false
    case .forward(let rewrite):
      enqueue(SendEntry(encoding: encoding, consumer: id, sequence: packet.sequence, rewrite: rewrite), to: transport)
      if consumers[id].toldLayer != layer { tell(id, layer: layer) }
      return true
    }
  }

  /// The first packet of a keyframe came late: what was passed over while it was missing follows from the cache.
  private mutating func catchUp(
    _ id: ConsumerID, encoding: EncodingID, numbers: ClosedRange<Int64>, layer: Int8, alignment: UInt32?
  ) {
    for number in numbers.suffix(PacketCache.mostPackets) {
      guard let packet = encodings[encoding].encoding.cache.find(number) else { continue }
      _ = offer(packet, encoding: encoding, to: id, layer: layer, alignment: alignment)
    }
  }

  private mutating func tell(_ consumer: ConsumerID, layer: Int8) {
    if consumers[consumer].toldLayer < 0 { events.append(.consumerStarted(consumers[consumer].key)) }
    consumers[consumer].toldLayer = layer
    events.append(.consumerLayer(consumers[consumer].key, layer: Int(layer)))
  }

  mutating func enqueue(_ entry: SendEntry, to transport: TransportID) {
    guard transports[transport].canSend else {
      counters.drops.count(.transportDown)
      return
    }
    if !queue.append(entry, receiver: transport, chain: &transports[transport].chain) {
      counters.drops.count(.sendQueueFull)
    }
  }

  /// Sends everything that this turn has queued: datagrams of STUN, DTLS and RTCP first, then media, receiver by receiver.
  public mutating func flush<Sink: DatagramSink & ~Copyable>(at now: Instant, into sink: inout Sink) {
    flushControl(into: &sink)
    guard !queue.isEmpty else { return }
    let sendTime = AbsoluteSendTime.value(at: now)
    for index in queue.receivers.indices {
      flushReceiver(queue.receivers[index], sendTime: sendTime, into: &sink)
    }
    queue.removeAll()
  }

  private mutating func flushReceiver<Sink: DatagramSink & ~Copyable>(
    _ receiver: TransportID, sendTime: UInt32, into sink: inout Sink
  ) {
    guard transports.contains(receiver) else { return }
    var next = transports[receiver].chain.first
    transports[receiver].chain = SendChain()
    guard let path = transports[receiver].path else {
      while next >= 0 {
        counters.drops.count(.transportDown)
        next = queue.entries[Int(next)].next
      }
      return
    }
    while next >= 0 {
      let entry = queue.entries[Int(next)]
      next = entry.next
      guard let length = seal(entry, for: receiver, sendTime: sendTime) else { continue }
      append(length, to: path, into: &sink)
    }
    finish(path, into: &sink)
  }

  private mutating func append<Sink: DatagramSink & ~Copyable>(_ length: Int, to path: Path, into sink: inout Sink) {
    var sent = SendReport()
    segments.append(length, to: path, sink: &sink) { sent.add($0, bytes: $1, $2) }
    count(sent)
  }

  private mutating func finish<Sink: DatagramSink & ~Copyable>(_ path: Path, into sink: inout Sink) {
    var sent = SendReport()
    segments.finish(to: path, sink: &sink) { sent.add($0, bytes: $1, $2) }
    count(sent)
  }

  mutating func count(_ report: SendReport) {
    counters.sends &+= report.sends
    counters.packetsOut &+= report.packets
    counters.bytesOut &+= report.bytes
    counters.drops[.sendQueueFull] &+= report.queueFull
    counters.drops[.sendFailed] &+= report.failed
  }

  /// Writes and seals one packet behind those already in the segment buffer; nil when it is dropped.
  private mutating func seal(_ entry: SendEntry, for receiver: TransportID, sendTime: UInt32) -> Int? {
    guard consumers.contains(entry.consumer), encodings.contains(entry.encoding),
      let packet = encodings[entry.encoding].encoding.cache.find(entry.sequence)
    else {
      counters.drops.count(.notInCache)
      return nil
    }
    let parameters = consumers[entry.consumer].consumer.parameters
    var header = RTPHeader(
      marker: packet.marker, payloadType: entry.rewrite.payloadType, sequenceNumber: entry.rewrite.sequence,
      timestamp: entry.rewrite.timestamp, ssrc: parameters.ssrc)
    if let retransmission = entry.retransmission {
      header.ssrc = retransmission.ssrc
      header.payloadType = retransmission.payloadType
      header.sequenceNumber = retransmission.sequence
    }
    header.extensions.mid = consumers[entry.consumer].mid
    header.extensions.absSendTime = sendTime
    header.extensions.audioLevel = packet.audioLevel
    header.extensions.videoOrientation = packet.orientation
    if parameters.extensions.transportSequence != 0 {
      header.extensions.transportSequence = transports[receiver].nextTransportSequence()
    }
    let free = segments.free
    var out = free.mutableSpan
    let written = writePacket(
      header, originalSequence: entry.retransmission == nil ? nil : entry.rewrite.sequence, packet: packet,
      rewrite: entry.rewrite, payload: encodings[entry.encoding].encoding.cache.payload(of: packet),
      ids: parameters.extensions, into: &out)
    guard let written else {
      counters.drops.count(.tooLarge)
      return nil
    }
    guard let sealed = transports[receiver].security.protectRTP(&out, length: written) else {
      counters.drops.count(.sealFailed)
      return nil
    }
    if entry.retransmission == nil { counters.forwarded &+= 1 } else { counters.retransmitted &+= 1 }
    return sealed
  }
}

/// What a few send calls did.
struct SendReport {
  var sends: UInt64 = 0
  var packets: UInt64 = 0
  var bytes: UInt64 = 0
  var queueFull: UInt64 = 0
  var failed: UInt64 = 0

  mutating func add(_ count: Int, bytes length: Int, _ failure: DropReason?) {
    sends += 1
    switch failure {
    case nil:
      packets += UInt64(count)
      bytes += UInt64(length)
    case .sendQueueFull: queueFull += UInt64(count)
    default: failed += UInt64(count)
    }
  }
}
