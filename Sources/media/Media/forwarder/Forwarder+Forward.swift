// From a stored packet to the send queue: each consumer of its track decides. Nothing here allocates once the queues have
// grown to their working size.

import Basics
import Forwarding
import RTP

/// A stored packet that is to be delivered to who is sent its track.
struct Delivery {
  var packet: StoredPacket
  /// Bytes as it came.
  let size: Int
  let encoding: EncodingID
  let producer: ProducerID
  /// Where a stream can begin with it and packets that came before: the number of the first of these.
  var beginning: Int64?
  /// It stands before a newer one that is still to be delivered.
  var isPutIn = false
}

/// A stored packet on its way to the consumers of its track.
fileprivate struct Offered {
  var packet: StoredPacket
  let kind: MediaKind
  let encoding: EncodingID
  let layer: Int8
  let alignment: UInt32?
  let due: Instant
}

extension Forwarder {
  /// Delivers a packet. What a muted track sends stops here; what it says of its loudness too.
  @inline(__always)
  mutating func deliver(
    _ delivery: Delivery, _ tracks: inout Tracks, _ ends: inout Ends, _ egress: inout Egress,
    _ turn: inout Turn
  ) {
    guard tracks.hear(delivery, &turn) else { return }
    if tracks.rooms[tracks.producers[delivery.producer].room].loudest.most != nil {
      switch LoudestVoices.admits(delivery, &tracks, &self, &turn) {
      case .nothing: return
      case .earlier(let first):
        return forward(
          Delivery(packet: first, size: 0, encoding: delivery.encoding, producer: delivery.producer), &tracks, &ends,
          &egress, &turn)
      case .thePacket: break
      }
    }
    if tracks.producers[delivery.producer].encodings.count > 1 { tracks.scheduleLayers(delivery.producer, &turn) }
    if let beginning = delivery.beginning, beginning > tracks.encodings[delivery.encoding].mutedUntil {
      begin(with: beginning, before: delivery, &tracks, &ends, &egress, &turn)
    }
    forward(delivery, &tracks, &ends, &egress, &turn)
  }

  /// Lets every consumer of the encoding's track decide about one stored packet.
  mutating func forward(
    _ delivery: Delivery, _ tracks: inout Tracks, _ ends: inout Ends, _ egress: inout Egress,
    _ turn: inout Turn
  ) {
    let (encodingID, producerID) = (delivery.encoding, delivery.producer)
    let packet = delivery.packet
    // What follows a packet that was put in has not been passed over: it comes next, and no number may be given twice (RFC 3711 §9.1).
    let newest = delivery.isPutIn ? packet.sequence : tracks.encodings[encodingID].encoding.newest
    let receivers = tracks.producers[producerID].consumers
    if receivers.isEmpty { return turn.drop(.noConsumer) }
    let kind = tracks.producers[producerID].kind
    let room = tracks.producers[producerID].room
    if tracks.shares.isCounting && !tracks.admits(kind, of: room, &turn) { return }
    let waiting = egress.queue.count
    let offered = Offered(
      packet: packet, kind: kind, encoding: encodingID,
      layer: Int8(truncatingIfNeeded: tracks.encodings[encodingID].encoding.index),
      alignment: tracks.encodings[encodingID].encoding.timestampAlignment,
      due: turn.now
        + egress.coalescing.hold(
          packet, kind, receivers: receivers.count, tracks: tracks.rooms[room].producers,
          sounds: tracks.rooms[room].sounds, at: turn.now))
    var next = consumers.pointer(to: receivers[0])
    for index in receivers.indices {
      let slot = next
      next = index + 1 < receivers.count ? consumers.pointer(to: receivers[index + 1]) : nil
      // What deciding for the next ones needs is prefetched while it is decided for this one.
      if let next { ends.prefetchQueue(of: next.pointee.destination) }
      if index + 3 < receivers.count { consumers.prefetch(receivers[index + 3], bytes: ConsumerSlot.front) }
      guard let slot else { continue }
      let receiver = Receiver(id: receivers[index], slot: slot)
      guard offer(offered, to: receiver, &tracks, &ends, &egress, &turn) else { continue }
      if packet.sequence < newest && slot.pointee.consumer.began(with: delivery.beginning ?? packet.sequence) {
        let first = max(packet.sequence, newest - Int64(PacketCache.mostPackets)) + 1
        offer(Passage(numbers: first..<newest + 1, like: offered), to: receiver, &tracks, &ends, &egress, &turn)
      }
    }
    if tracks.shares.isCounting { tracks.countSent(egress.queue.count - waiting, kind, of: room) }
  }

  /// Whoever waits for a beginning is sent what came of it before the packet, from the cache: parameter sets whose picture is here now.
  @inline(never)
  private mutating func begin(
    with first: Int64, before delivery: Delivery, _ tracks: inout Tracks, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) {
    let layer = Int8(truncatingIfNeeded: tracks.encodings[delivery.encoding].encoding.index)
    guard delivery.packet.sequence - first <= Int64(ReplayLimits.mostPackets) else { return }
    let offered = Offered(
      packet: delivery.packet, kind: .video, encoding: delivery.encoding, layer: layer,
      alignment: tracks.encodings[delivery.encoding].encoding.timestampAlignment, due: turn.now)
    for id in tracks.producers[delivery.producer].consumers {
      guard let slot = consumers.pointer(to: id), slot.pointee.consumer.awaitsBeginning,
        slot.pointee.consumer.target == layer
      else { continue }
      offer(
        Passage(numbers: first..<delivery.packet.sequence, like: offered), to: Receiver(id: id, slot: slot), &tracks,
        &ends, &egress, &turn)
    }
  }

  /// Packets with these numbers of one encoding; all else is as with another packet of it.
  private struct Passage {
    let numbers: Range<Int64>
    let like: Offered
  }

  /// Whom a packet is offered. The address holds for as long as no consumer comes or goes, which none does while packets are delivered.
  private struct Receiver {
    let id: ConsumerID
    let slot: UnsafeMutablePointer<ConsumerSlot>
  }

  /// Queues one packet for one consumer if it wants it.
  @inline(__always)
  private mutating func offer(
    _ offered: Offered, to receiver: Receiver, _ tracks: inout Tracks, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) -> Bool {
    let slot = receiver.slot
    let destination = slot.pointee.destination
    let chain: UnsafeMutablePointer<SendChain>
    switch ends.queue(of: destination) {
    case .gone: return false
    case .closed:
      // A stream begins, or goes on, when its receiver can be reached: what was not sent must not count as sent.
      slot.pointee.consumer.interrupt()
      turn.drop(.transportDown)
      return false
    case .open(let open): chain = open
    }
    switch slot.pointee.consumer.decide(offered.packet, layer: offered.layer, alignment: offered.alignment) {
    case .drop(let reason):
      turn.drop(reason)
      // Asked on connection, and perhaps in vain: the publisher's path may have been down just then. Behind parameter sets comes a picture.
      if reason == .awaitingKeyframe && !slot.pointee.replayScheduled
        && offered.packet.info.units.isDisjoint(with: .sets)
      {
        grant(KeyframeWish(encoding: offered.encoding, consumer: receiver.id), &tracks, &ends, &turn)
      }
      return false
    case .forward(var rewrite):
      let length =
        rewrite.changes.isEmpty
        ? offered.packet.length
        : slot.pointee.finish(&rewrite, of: offered.packet, from: tracks.encodings[offered.encoding].encoding.cache)
      let entry = SendEntry(
        encoding: offered.encoding, consumer: receiver.id, sequence: offered.packet.sequence, due: offered.due,
        rewrite: rewrite, length: length)
      egress.append(entry, offered.kind, to: destination, &chain.pointee)
      if slot.pointee.toldLayer != offered.layer { slot.pointee.tell(offered, rewrite, tracks, &turn) }
      return true
    case .repair(let rewrite):
      guard let entry = slot.pointee.repair(offered, rewrite, for: receiver.id) else {
        turn.drop(.tooLate)
        return false
      }
      egress.enqueue(entry, slot.pointee.consumer.parameters.kind, to: destination, &ends)
      return false
    }
  }

  /// Queues what the cache has of these numbers: the first packet of a keyframe came late, and what
  /// was passed over while it was missing follows; or who begins is sent what has come.
  private mutating func offer(
    _ passage: Passage, to receiver: Receiver, _ tracks: inout Tracks, _ ends: inout Ends,
    _ egress: inout Egress, _ turn: inout Turn
  ) {
    var offered = passage.like
    for number in passage.numbers {
      guard let packet = tracks.encodings[offered.encoding].encoding.cache.find(number) else { continue }
      offered.packet = packet
      _ = offer(offered, to: receiver, &tracks, &ends, &egress, &turn)
    }
  }

  /// A consumer begins with the newest keyframe in the cache of its layer and what followed. Where it cannot, a keyframe is asked for.
  mutating func replay(
    _ id: ConsumerID, _ tracks: inout Tracks, _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    guard consumers.contains(id), consumers[id].replayScheduled else { return }
    consumers[id].replayScheduled = false
    let layer = consumers[id].consumer.target
    guard let producer = consumers[id].producer, consumers[id].consumer.awaitsKeyframe,
      !tracks.producers[producer].isMuted, tracks.producers[producer].encodings.indices.contains(Int(layer)),
      ends.canBeSentTo(consumers[id].destination)
    else { return }
    let encoding = tracks.producers[producer].encodings[Int(layer)]
    let alignment = tracks.encodings[encoding].encoding.timestampAlignment
    guard let range = tracks.encodings[encoding].newestReplay,
      let first = tracks.encodings[encoding].encoding.cache.find(range.lowerBound),
      let newest = tracks.encodings[encoding].encoding.cache.find(range.upperBound),
      consumers[id].consumer.beginReplay(from: first, to: newest, layer: layer, alignment: alignment),
      let slot = consumers.pointer(to: id)
    else {
      return grant(KeyframeWish(encoding: encoding, consumer: id), &tracks, &ends, &turn)
    }
    slot.pointee.owesKeyframe = false
    let waiting = egress.queue.count
    let offered = Offered(
      packet: first, kind: .video, encoding: encoding, layer: layer, alignment: alignment, due: turn.now)
    offer(
      Passage(numbers: range.lowerBound..<range.upperBound + 1, like: offered), to: Receiver(id: id, slot: slot),
      &tracks,
      &ends, &egress, &turn)
    if tracks.shares.isCounting {
      tracks.countSent(egress.queue.count - waiting, .video, of: tracks.producers[producer].room)
    }
  }
}

extension ConsumerSlot {
  /// A packet that the publisher sent again so late that its number is used up goes out on the subscriber's RTX stream; nil where there
  /// is none.
  @inline(never)
  fileprivate mutating func repair(_ offered: Offered, _ rewrite: Rewrite, for id: ConsumerID) -> SendEntry? {
    guard let retransmission = consumer.nextRetransmission(offered.packet.codec) else { return nil }
    return SendEntry(
      encoding: offered.encoding, consumer: id, sequence: offered.packet.sequence, due: offered.due,
      retransmission: retransmission, rewrite: rewrite,
      length: rewrite.length(of: offered.packet) + UInt16(Retransmission.overhead))
  }

  /// Its client is to hear what it is sent from now on.
  @inline(never)
  fileprivate mutating func tell(
    _ offered: Offered, _ rewrite: Rewrite, _ tracks: borrowing Tracks, _ turn: inout Turn
  ) {
    let producer = tracks.encodings[offered.encoding].producer
    let track = tracks.producers[producer].key
    if wait.end() != nil { turn.tell(.consumerMisses(key, track, nil)) }
    if toldLayer == -1 { turn.tell(.consumerStarted(key, track, timestamp: rewrite.timestamp)) }
    toldLayer = offered.layer
    turn.tell(
      .consumerLayer(
        key, layer: Int(offered.layer), encoding: tracks.producers[producer].declaredPlace(of: offered.encoding)))
  }
}
