// From a stored packet to the send queue: each consumer of its track decides. Nothing here allocates once the queues have
// grown to their working size.

import Basics
import Forwarding
import RTP

extension Forwarder {
  /// Lets every consumer of the encoding's track decide about one stored packet; `beginning` and `isPutIn` as with `deliver`.
  mutating func forward(
    _ packet: StoredPacket, encoding encodingID: EncodingID, beginning: Int64? = nil, isPutIn: Bool = false,
    _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    let producerID = encodings[encodingID].producer
    // What follows a packet that was put in has not been passed over: it comes next, and no number may be given twice (RFC 3711 §9.1).
    let newest = isPutIn ? packet.sequence : encodings[encodingID].encoding.newest
    let receivers = producers[producerID].consumers
    if receivers.isEmpty {
      drops.count(.noConsumer)
      return
    }
    let kind = producers[producerID].kind
    let room = producers[producerID].room
    if shares.isCounting && !admits(kind, of: room, at: turn.now) { return }
    let waiting = egress.queue.count
    let tracks = rooms[room].producers
    egress.coalescing.note(receivers.count, kind, tracks: tracks, endsFrame: packet.marker, at: turn.now)
    let audience =
      kind == .audio ? egress.coalescing.holdForAudience(sounds: rooms[room].sounds, receivers: receivers.count) : nil
    let offered = Offered(
      packet: packet, kind: kind, encoding: encodingID,
      layer: Int8(truncatingIfNeeded: encodings[encodingID].encoding.index),
      alignment: encodings[encodingID].encoding.timestampAlignment,
      due: turn.now + (audience ?? egress.coalescing.hold(kind, tracks: tracks, endsFrame: packet.marker)))
    var next = consumers.pointer(to: receivers[0])
    for index in receivers.indices {
      let slot = next
      next = index + 1 < receivers.count ? consumers.pointer(to: receivers[index + 1]) : nil
      // What deciding for the next ones needs is prefetched while it is decided for this one.
      if let next { ends.prefetchQueue(of: next.pointee.destination) }
      if index + 3 < receivers.count { consumers.prefetch(receivers[index + 3], bytes: ConsumerSlot.front) }
      guard let slot, offer(offered, to: slot, receivers[index], &ends, &egress, &turn) else {
        continue
      }
      if packet.sequence < newest && slot.pointee.consumer.began(with: beginning ?? packet.sequence) {
        catchUp(offered, to: slot, receivers[index], newest: newest, &ends, &egress, &turn)
      }
    }
    if shares.isCounting { countSent(egress.queue.count - waiting, of: room) }
  }

  /// Whoever waits for a beginning is sent what came of it before `packet`, from the cache: parameter sets whose picture is here now.
  @inline(never)
  mutating func begin(
    with first: Int64, before packet: StoredPacket, encoding encodingID: EncodingID, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) {
    let producer = encodings[encodingID].producer
    let layer = Int8(truncatingIfNeeded: encodings[encodingID].encoding.index)
    guard packet.sequence - first <= Int64(ReplayLimits.mostPackets) else { return }
    for id in producers[producer].consumers {
      guard let slot = consumers.pointer(to: id), slot.pointee.consumer.awaitsBeginning,
        slot.pointee.consumer.target == layer
      else { continue }
      for number in first..<packet.sequence {
        guard let stored = encodings[encodingID].encoding.cache.find(number) else { continue }
        let offered = Offered(
          packet: stored, kind: .video, encoding: encodingID, layer: layer,
          alignment: encodings[encodingID].encoding.timestampAlignment, due: turn.now)
        _ = offer(offered, to: slot, id, &ends, &egress, &turn)
      }
    }
  }

  /// Prefetches what deciding for the first consumers needs; `forward` does so for the others.
  @inline(__always)
  func prefetchConsumers(of producer: ProducerID) {
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
    _ offered: Offered, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) -> Bool {
    let destination = slot.pointee.destination
    let chain: UnsafeMutablePointer<SendChain>
    switch ends.queue(of: destination) {
    case .gone: return false
    case .closed:
      // A stream begins, or goes on, when its receiver can be reached: what was not sent must not count as sent.
      slot.pointee.consumer.interrupt()
      drops.count(.transportDown)
      return false
    case .open(let open): chain = open
    }
    switch slot.pointee.consumer.decide(offered.packet, layer: offered.layer, alignment: offered.alignment) {
    case .drop(let reason):
      drops.count(reason)
      // Asked on connection, and perhaps in vain: the publisher's path may have been down just then. Behind parameter sets comes a picture.
      if reason == .awaitingKeyframe && !slot.pointee.replayScheduled
        && offered.packet.info.units.isDisjoint(with: .sets)
      {
        KeyframeCharge.want(offered.encoding, for: id, &self, &ends, at: offered.packet.arrival)
      }
      return false
    case .forward(var rewrite):
      let length =
        rewrite.changes.isEmpty
        ? offered.packet.length
        : slot.pointee.finish(&rewrite, of: offered.packet, from: encodings[offered.encoding].encoding.cache)
      let entry = SendEntry(
        encoding: offered.encoding, consumer: id, sequence: offered.packet.sequence, due: offered.due, rewrite: rewrite,
        length: length)
      egress.append(entry, offered.kind, to: destination, &chain.pointee)
      if slot.pointee.toldLayer != offered.layer { tell(id, offered, rewrite, &turn) }
      return true
    case .repair(let rewrite):
      repair(offered, rewrite, to: slot, id, &ends, &egress)
      return false
    }
  }

  /// A packet that the publisher sent again so late that its number is used up goes out on the subscriber's RTX stream.
  @inline(never)
  private mutating func repair(
    _ offered: Offered, _ rewrite: Rewrite, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID,
    _ ends: inout Ends, _ egress: inout Egress
  ) {
    guard let retransmission = slot.pointee.consumer.nextRetransmission(offered.packet.codec) else {
      drops.count(.tooLate)
      return
    }
    egress.enqueue(
      SendEntry(
        encoding: offered.encoding, consumer: id, sequence: offered.packet.sequence, due: offered.due,
        retransmission: retransmission, rewrite: rewrite,
        length: rewrite.length(of: offered.packet) + UInt16(Retransmission.overhead)),
      slot.pointee.consumer.parameters.kind, to: slot.pointee.destination, &ends)
  }

  /// The first packet of a keyframe came late: what was passed over while it was missing follows from the cache.
  private mutating func catchUp(
    _ first: Offered, to slot: UnsafeMutablePointer<ConsumerSlot>, _ id: ConsumerID, newest: Int64,
    _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    var offered = first
    for number in ((first.packet.sequence + 1)...newest).suffix(PacketCache.mostPackets) {
      guard let packet = encodings[first.encoding].encoding.cache.find(number) else { continue }
      offered.packet = packet
      _ = offer(offered, to: slot, id, &ends, &egress, &turn)
    }
  }

  /// A consumer begins with the newest keyframe in the cache of its layer and what followed. Where it cannot, a keyframe is asked for.
  mutating func replay(
    _ id: ConsumerID, _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    guard consumers.contains(id), consumers[id].replayScheduled else { return }
    consumers[id].replayScheduled = false
    let layer = consumers[id].consumer.target
    guard let producer = consumers[id].producer, consumers[id].consumer.awaitsKeyframe, !producers[producer].isMuted,
      producers[producer].encodings.indices.contains(Int(layer)), ends.canBeSentTo(consumers[id].destination)
    else { return }
    let encoding = producers[producer].encodings[Int(layer)]
    let alignment = encodings[encoding].encoding.timestampAlignment
    guard let range = newestReplay(of: encoding),
      let first = encodings[encoding].encoding.cache.find(range.lowerBound),
      let newest = encodings[encoding].encoding.cache.find(range.upperBound),
      consumers[id].consumer.beginReplay(from: first, to: newest, layer: layer, alignment: alignment),
      let slot = consumers.pointer(to: id)
    else {
      KeyframeCharge.want(encoding, for: id, &self, &ends, at: turn.now)
      return
    }
    slot.pointee.owesKeyframe = false
    let waiting = egress.queue.count
    var offered = Offered(
      packet: first, kind: .video, encoding: encoding, layer: layer, alignment: alignment, due: turn.now)
    for number in range {
      guard let packet = encodings[encoding].encoding.cache.find(number) else { continue }
      offered.packet = packet
      _ = offer(offered, to: slot, id, &ends, &egress, &turn)
    }
    if shares.isCounting { countSent(egress.queue.count - waiting, of: producers[producer].room) }
  }

  @inline(never)
  private mutating func tell(
    _ consumer: ConsumerID, _ offered: Offered, _ rewrite: Rewrite, _ turn: inout Turn
  ) {
    let key = consumers[consumer].key
    let track = producers[encodings[offered.encoding].producer].key
    if consumers[consumer].wait.end() != nil { turn.tell(.consumerMisses(key, track, nil)) }
    if consumers[consumer].toldLayer == -1 {
      turn.tell(.consumerStarted(key, track, timestamp: rewrite.timestamp))
    }
    consumers[consumer].toldLayer = offered.layer
    let producer = encodings[offered.encoding].producer
    turn.tell(
      .consumerLayer(
        key, layer: Int(offered.layer), encoding: producers[producer].declaredPlace(of: offered.encoding)))
  }
}
