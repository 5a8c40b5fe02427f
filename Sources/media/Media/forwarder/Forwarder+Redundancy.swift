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
  /// What the sound and the video to one end take now.
  func room(
    for streams: [OutgoingRoute], target: BitRate?, _ tracks: inout Tracks, at now: Instant
  ) -> RedundancyControl.Room {
    var room = RedundancyControl.Room(sound: .zero, video: .zero, target: target)
    for stream in streams where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.ssrc == stream.ssrc, !consumers[stream.consumer].consumer.isPaused,
        let producer = consumers[stream.consumer].producer
      else { continue }
      tracks.measure(producer, at: now)
      let rate = tracks.producers[producer].ladder.lowestRate ?? .zero
      if tracks.producers[producer].kind == .audio {
        room.sound = room.sound + rate
      } else {
        room.video = room.video + rate
      }
    }
    return room
  }

  /// So many earlier packets go along with each packet of sound to one end from now on. Returns how its sounds are sent.
  mutating func protectSound(of streams: [OutgoingRoute], by earlier: Int) -> [SendParameters] {
    var sounds: [SendParameters] = []
    for stream in streams where consumers.contains(stream.consumer) {
      guard consumers[stream.consumer].consumer.parameters.kind == .audio else { continue }
      consumers[stream.consumer].consumer.setRedundancy(earlier)
      sounds.append(consumers[stream.consumer].consumer.parameters)
    }
    return sounds
  }
}

/// What stands in a packet of redundant sound before its own (RFC 2198).
struct EarlierSound {
  /// The number of the packet that it stands in, and what that holds.
  let number: Int64
  let timestamp: UInt32
  let payload: UnsafeBufferPointer<UInt8>
  let found: RedundantAudio
  /// Its blocks that are believed to be the packets before.
  let blocks: Range<Int>
}

extension Tracks {
  /// The packets that stand in a payload before its own. An earlier block says when it was, and not which number it had: it is
  /// believed to be the packet before where its sound ends as that of the following one begins.
  @inline(never)
  func earlierSound(in taken: TakenPacket) -> EarlierSound? {
    let (payload, timestamp, producer) = (
      taken.redundancy, taken.delivery.packet.timestamp, taken.delivery.producer
    )
    guard let found = RedundantAudio.parse(payload.span) else { return nil }
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
    return EarlierSound(
      number: taken.number, timestamp: timestamp, payload: payload, found: found, blocks: first..<found.count)
  }

  /// Stores a block of earlier sound as the packet that is missing; nil where none is. It counts as a packet to its publisher's bound.
  mutating func restore(
    _ index: Int, of sound: EarlierSound, _ encoding: EncodingID, _ bounds: inout PublisherBounds,
    _ turn: inout Turn
  ) -> Delivery? {
    let producer = encodings[encoding].producer
    let missing = sound.number - Int64(sound.found.count - index)
    let block = sound.found.earlier(index)
    // When it would have come: what was said into a mute must not be heard behind it.
    let due = turn.now - .microseconds(Int(block.age) * 1_000 / 48)
    guard due > producers[producer].unmutedAt, bounds.admits(0, of: .sound, at: turn.now),
      encodings[encoding].encoding.restore(missing, at: turn.now)
    else { return nil }
    bounds.take(block.range.count, of: .sound, at: turn.now)
    let body = UnsafeBufferPointer(rebasing: sound.payload[block.range])
    guard let info = PayloadInfo.parse(body.span, codec: .opus, marker: false) else { return nil }
    let packet = StoredPacket(
      sequence: missing, timestamp: sound.timestamp &- block.age, arrival: turn.now, length: UInt16(block.range.count),
      codec: .opus, marker: false, info: info, audioLevel: nil, orientation: nil)
    turn.noteRestored()
    encodings[encoding].encoding.rate.add(block.range.count, at: turn.now)
    encodings[encoding].encoding.cache.insert(packet, payload: UnsafeRawBufferPointer(body))
    return Delivery(packet: packet, size: body.count, encoding: encoding, producer: producer)
  }
}
