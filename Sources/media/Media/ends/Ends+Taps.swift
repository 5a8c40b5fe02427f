// What taps are given. They are no destinations of subscriptions: nothing is decided, rewritten, queued or sealed for them. So they cost
// those that are sent to nothing, and the row of an encoding says whether it has any.

import Basics
import Forwarding
import RTP

extension Ends {
  /// Begins to copy what comes of a track.
  mutating func openTap(_ key: TapKey, on encodings: [EncodingID], _ table: inout Encodings) -> TapID {
    let id = taps.insert(Tap(key: key))
    for encoding in encodings { table[encoding].taps.append(id) }
    return id
  }

  /// Ends a tap, with what waits for its sink.
  mutating func closeTap(_ id: TapID, _ table: inout Encodings) {
    table.forEach { _, slot in slot.taps.removeAll { $0 == id } }
    _ = taps.remove(id)
  }

  /// Gives the taps of a track, where it has any, a packet that is new, without what it was wrapped in. False where it goes no further.
  @inline(never)
  mutating func tap(_ taken: TakenPacket, _ arrival: Arrival, _ tracks: borrowing Tracks, _ turn: inout Turn) -> Bool {
    let (delivery, whole) = (taken.delivery, UnsafeBufferPointer(arrival.bytes))
    let head = UnsafeBufferPointer(rebasing: whole[..<arrival.view.payloadOffset])
    let isWrapped = taken.body.count != arrival.view.payloadLength
    guard isWrapped || !taken.redundancy.isEmpty else {
      let rest = UnsafeBufferPointer(rebasing: whole[arrival.view.payloadOffset...])
      return keep(
        Tap.Copied(number: taken.number, way: .plain, header: head, body: rest), of: delivery, tracks, &turn)
    }
    let original = Tap.Original(
      payloadType: tracks.producers[delivery.producer].payloads.payloadType(of: delivery.packet.codec)
        ?? arrival.view.payloadType,
      sequence: UInt16(truncatingIfNeeded: taken.number), timestamp: arrival.view.timestamp,
      ssrc: tracks.encodings[delivery.encoding].encoding.ssrc ?? arrival.view.ssrc)
    return keep(
      Tap.Copied(number: taken.number, way: .unwrapped, header: head, original: original, body: taken.body),
      of: delivery, tracks, &turn)
  }

  /// The same for a packet whose sound stood in this one; `timestamp` is that of this one, as it came.
  @inline(never)
  mutating func tap(
    restored delivery: Delivery, _ block: RedundantAudio.Block, in sound: EarlierSound, at timestamp: UInt32,
    _ tracks: borrowing Tracks, _ turn: inout Turn
  ) -> Bool {
    let original = Tap.Original(
      payloadType: block.payloadType, sequence: UInt16(truncatingIfNeeded: delivery.packet.sequence),
      timestamp: timestamp &- block.age, ssrc: tracks.encodings[delivery.encoding].encoding.ssrc ?? 0)
    let none = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    let body = UnsafeBufferPointer(rebasing: sound.payload[block.range])
    return keep(
      Tap.Copied(
        number: delivery.packet.sequence, way: .restored, header: none, original: original, body: body),
      of: delivery, tracks, &turn)
  }

  private mutating func keep(
    _ packet: Tap.Copied, of delivery: Delivery, _ tracks: borrowing Tracks, _ turn: inout Turn
  ) -> Bool {
    // As `Tracks.hear` has it.
    guard !tracks.producers[delivery.producer].isMuted,
      delivery.packet.sequence > tracks.encodings[delivery.encoding].mutedUntil
    else { return false }
    let place = tracks.producers[delivery.producer].declaredPlace(of: delivery.encoding)
    for index in tracks.encodings[delivery.encoding].taps.indices {
      let id = tracks.encodings[delivery.encoding].taps[index]
      if taps.contains(id) && !taps[id].keep(packet, place: place, at: turn.now) { turn.drop(.backlogFull) }
    }
    return true
  }
}
