// Sound with earlier packets inside (RFC 2198). What comes is taken apart: the cache holds plain packets, and each receiver gets as much
// redundancy as its own line needs, whatever the publisher sends.
//
//   |N-2|N-1|N| arrives ─▶ N-1 missing? its sound is stored and forwarded under its own number ─▶ then N

import Basics
import Congestion
import Forwarding
import RTP

extension ConsumerSlot {
  /// Completes a rewrite that changes more of a packet than its numbers; returns the bytes of payload that are sent.
  @inline(never)
  mutating func finish(_ rewrite: inout Rewrite, of packet: StoredPacket, from cache: borrowing PacketCache) -> UInt16 {
    guard rewrite.changes.earlierPackets > 0 else { return rewrite.length(of: packet) }
    return consumer.addRedundancy(to: &rewrite, of: packet, from: cache)
  }
}

extension Forwarder {
  /// How many earlier packets each packet of sound carries to a receiver, as its line loses and has room.
  mutating func protectSound(of id: TransportID, _ ends: inout Ends, at now: Instant) {
    var room = RedundancyControl.Room(sound: .zero, video: .zero, target: ends.transports[id].roomForSound(at: now))
    for stream in ends.transports[id].routes.outgoing where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.ssrc == stream.ssrc, !consumers[stream.consumer].consumer.isPaused,
        let producer = consumers[stream.consumer].producer
      else { continue }
      producers[producer].ladder.measure(
        producers[producer].encodings, &encodings, asked: producers[producer].asked, at: now)
      let rate = producers[producer].ladder.lowestRate ?? .zero
      if producers[producer].kind == .audio {
        room.sound = room.sound + rate
      } else {
        room.video = room.video + rate
      }
    }
    let before = ends.transports[id].earlierPackets
    ends.transports[id].redundancy?.decide(room, at: now)
    let earlier = ends.transports[id].earlierPackets
    guard earlier != before else { return }
    for stream in ends.transports[id].routes.outgoing where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.parameters.kind == .audio else { continue }
      consumers[stream.consumer].consumer.setRedundancy(earlier)
      // From now on it may be too much for the line.
      if earlier > 0 { ends.transports[id].measure(consumers[stream.consumer].consumer.parameters, at: now) }
    }
  }

  /// Forwards what is missing before packet `number` and stands in its payload. An earlier block says when it was, and not which
  /// number it had: it is believed to be the packet before where its sound ends as that of the following one begins. Each is sent to
  /// all listeners as a packet of its own, and counts as one to its publisher's bound.
  @inline(never)
  mutating func restore(
    before number: Int64, timestamp: UInt32, _ payload: UnsafeBufferPointer<UInt8>, of encoding: EncodingID,
    _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    guard let found = RedundantAudio.parse(payload.span) else { return }
    let producer = encodings[encoding].producer
    // The packet has come over it.
    let publisher = producers[producer].transport
    var first = found.count
    var following = timestamp
    while first > 0 {
      let block = found.earlier(first - 1)
      guard let inside = producers[producer].payloads.codec(block.payloadType), inside.format == .plain,
        let duration = OpusPacket.duration(payload.span.extracting(block.range)),
        timestamp &- block.age &+ duration == following
      else { break }
      following = timestamp &- block.age
      first -= 1
    }
    for index in first..<found.count {
      let missing = number - Int64(found.count - index)
      let block = found.earlier(index)
      // When it would have come: what was said into a mute must not be heard behind it.
      let due = turn.now - .microseconds(Int(block.age) * 1_000 / 48)
      guard due > producers[producer].unmutedAt, ends.transports[publisher].bounds.admits(0, of: .sound, at: turn.now),
        encodings[encoding].encoding.restore(missing, at: turn.now)
      else { continue }
      ends.transports[publisher].bounds.take(block.range.count, of: .sound, at: turn.now)
      let body = UnsafeBufferPointer(rebasing: payload[block.range])
      guard let info = PayloadInfo.parse(body.span, codec: .opus, marker: false) else { continue }
      let packet = StoredPacket(
        sequence: missing, timestamp: timestamp &- block.age, arrival: turn.now, length: UInt16(block.range.count),
        codec: .opus, marker: false, info: info, audioLevel: nil, orientation: nil)
      restored &+= 1
      encodings[encoding].encoding.rate.add(block.range.count, at: turn.now)
      encodings[encoding].encoding.cache.insert(packet, payload: UnsafeRawBufferPointer(body))
      deliver(
        packet, size: body.count, encoding: encoding, producer: producer, &ends, &egress, &turn)
    }
  }
}
