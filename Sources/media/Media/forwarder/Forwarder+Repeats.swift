// Packets that are sent again: because a receiver asked, or to find out what its line carries.

import Basics
import Forwarding
import RTP

extension Forwarder {
  /// Copies of a repeat leave so far apart: what is lost is often lost together.
  private static let copyInterval = TimeDelta.milliseconds(8)
  /// So many of the newest packets serve as padding.
  private static let paddingWindow = 16

  /// A recent packet of one of these streams as a repeat, the `count`th of a row; nil where there is none.
  mutating func repeatForPadding(_ streams: [OutgoingRoute], _ count: Int, _ tracks: borrowing Tracks) -> SendEntry? {
    for stream in streams {
      guard let slot = consumers.pointer(to: stream.consumer), slot.pointee.consumer.ssrc == stream.ssrc,
        slot.pointee.consumer.parameters.rtxSSRC != nil, let newest = slot.pointee.consumer.newestNumber
      else { continue }
      for step in 0..<UInt16(Self.paddingWindow) {
        let number = newest &- (step &+ UInt16(truncatingIfNeeded: count)) % UInt16(Self.paddingWindow)
        if let entry = repeated(number, of: stream.consumer, due: .zero, tracks) { return entry }
      }
    }
    return nil
  }

  /// A packet that is to be sent again.
  struct Repeat {
    let sequence: UInt16
    let consumer: ConsumerID
    /// What was sent again less than this ago may be on its way, and is not; nil for the second copy of a packet and those behind it.
    var roundTrip: TimeDelta?
    /// How often it is sent: on a line that loses much more than once.
    var copies = 1
  }

  /// Sends again what a receiver has missed, from the cache of the track.
  mutating func retransmit(
    _ wanted: Repeat, _ tracks: inout Tracks, _ ends: inout Ends, _ egress: inout Egress, _ turn: inout Turn
  ) {
    let (id, sequence) = (wanted.consumer, wanted.sequence)
    // Without an RTX stream the packet would have to go out again under its old number, and with a new send time in its
    // header that would use a GCM nonce twice for different data (RFC 7714 §8.1).
    guard consumers[id].consumer.parameters.rtxSSRC != nil else { return turn.drop(.noRetransmissionStream) }
    if let roundTrip = wanted.roundTrip,
      !consumers[id].repeats.admits(sequence, roundTrip: roundTrip, at: turn.now)
    {
      return turn.drop(.repeatedTooSoon)
    }
    // Before it takes a number of the RTX stream: a gap there would look like a loss, and many like a wrap.
    guard consumers[id].consumer.hasCredit else { return turn.drop(.retransmissionLimit) }
    guard let entry = repeated(sequence, of: id, due: turn.now, tracks) else { return turn.drop(.notInCache) }
    consumers[id].consumer.spendCredit()
    if wanted.roundTrip != nil { consumers[id].repeats.note(sequence, at: turn.now) }
    egress.enqueue(entry, consumers[id].consumer.parameters.kind, to: consumers[id].destination, &ends)
    if tracks.shares.isCounting, let producer = consumers[id].producer {
      tracks.countSent(1, tracks.producers[producer].kind, of: tracks.producers[producer].room)
    }
    for copy in 1..<max(wanted.copies, 1) {
      turn.look(at: .copy(id, sequence: sequence), from: turn.now + Self.copyInterval * Int64(copy))
    }
  }

  /// What was sent under `sequence`, as a repeat on the RTX stream; nil where it is not known any more, or no RTX stream was
  /// agreed on.
  mutating func repeated(_ sequence: UInt16, of id: ConsumerID, due: Instant, _ tracks: borrowing Tracks) -> SendEntry?
  {
    guard let producer = consumers[id].producer, let original = consumers[id].consumer.original(of: sequence),
      Int(original.layer) < tracks.producers[producer].encodings.count
    else { return nil }
    let encoding = tracks.producers[producer].encodings[Int(original.layer)]
    guard let packet = tracks.encodings[encoding].encoding.cache.find(original.sequence),
      let retransmission = consumers[id].consumer.nextRetransmission(packet.codec)
    else { return nil }
    let rewrite = consumers[id].consumer.rewriteAgain(packet, segment: original.segment)
    return SendEntry(
      encoding: encoding, consumer: id, sequence: original.sequence, due: due, retransmission: retransmission,
      rewrite: rewrite, length: rewrite.length(of: packet) + UInt16(Retransmission.overhead))
  }

  /// Packets that were queued, the oldest first, are dropped: they waited too long. Their numbers are given out again where nothing
  /// behind them has left; the streams go on at keyframes, which are asked for unless `asks` says otherwise.
  mutating func withdraw(
    _ entries: [SendEntry], asks: Bool = true, _ tracks: borrowing Tracks, _ turn: inout Turn
  ) {
    for entry in entries.reversed() {
      guard let slot = consumers.pointer(to: entry.consumer) else { continue }
      if slot.pointee.consumer.newestNumber == entry.rewrite.sequence {
        let packet =
          tracks.encodings.contains(entry.encoding)
          ? tracks.encodings[entry.encoding].encoding.cache.find(entry.sequence) : nil
        slot.pointee.consumer.withdraw(
          entry.rewrite.sequence, first: packet, packets: 1, bytes: UInt32(entry.length))
      }
      slot.pointee.consumer.interrupt()
    }
    guard asks else { return }
    for entry in entries where consumers.contains(entry.consumer) && consumers[entry.consumer].consumer.awaitsKeyframe {
      requestKeyframe(for: entry.consumer, fromCache: false, tracks, &turn)
    }
  }
}
