// From a publisher's numbers to those of one receiver, and back: sequence numbers, time stamps, picture identifiers.
//
//   publisher's numbering      segment (offset, since when)       receiver's numbering
//   layer l: 100 101 102 ──────── + 900 ────────────────────────▶ 1000 1001 1002
//   layer h:          7000 7001 ─ − 5997 ───────────────────────▶           1003 1004
//   layer h, thinned:         7002 (left out) 7003 ─ − 5998 ────▶                     1005
//
// The last few segments are kept so that a NACK for an older number still finds the packet it meant. Where a segment has left packets
// out, `SentNumbers` knows which number stands for which packet. A gap in the receiver's numbers is always a packet that is missing.

import Basics
import RTP

struct SequenceMap: Sendable {
  private var lastTL0: UInt8 = 0
  private var segmentCount: UInt8 = 0
  private var lastPictureID: UInt16 = 0
  private var lastTimestamp: UInt32
  /// The newest outgoing number that was sent.
  private(set) var highest: Int64
  private var lastArrival: Instant = .zero
  /// The first is the current one, and the last that each packet needs.
  private(set) var segments = InlineArray<4, Segment>(repeating: Segment())
  private var sent = SentNumbers()
  /// The publisher's newest number that was sent or left out. Kept only while numbers are recorded.
  private var seen: Int64 = 0
  /// The picture of the packet that was left out last.
  private var leftOutPicture: UInt16?
  private var replay = Replay()
  /// The newest frame number of a dependency descriptor that was sent. It never goes back: receivers take older ones for late.
  private var lastFrame: UInt16?

  /// What was sent from the cache when a segment began. Its pictures are told to be close together, and the last of them to be of
  /// its own time.
  private struct Replay {
    /// How many times closer than they were taken. With it 30 pictures a second are 1 ms apart; raise it beyond the ticks between two
    /// pictures, and they fall together.
    static let haste: UInt32 = 32

    /// The publisher's first and last number; where the first is that of a segment, it is what the segment began with.
    var first: Int64 = .max
    var last: Int64 = .min
    /// The publisher's time stamp at the last.
    var timestamp: UInt32 = 0

    func squeeze(_ timestamp: UInt32) -> UInt32 { self.timestamp &- (self.timestamp &- timestamp) / Self.haste }
  }

  struct Segment: Sendable {
    /// Stands for the layers of a producer that this consumer no longer follows.
    static let foreign: Int8 = -2
    /// Segments that are kept.
    static let most: UInt8 = 4

    var layer: Int8 = -1
    var tl0Delta: UInt8 = 0
    /// Of AV1 for the frame numbers of dependency descriptors.
    var pictureIDDelta: UInt16 = 0
    var timestampOffset: UInt32 = 0
    var firstIn: Int64 = 0
    /// From the publisher's number to the receiver's, behind the packets that were left out.
    var offset: Int64 = 0
    var leftOut: UInt32 = 0
    var alignment: UInt32?

    var firstOut: Int64 { firstIn + offset + Int64(leftOut) }
    /// Whether no number but `offset` is needed to find packets again.
    var isStraight: Bool { leftOut == 0 }
  }

  /// Where a number of the publisher lands.
  enum Place {
    /// Newer than all that was sent or left out.
    case new
    /// It has this outgoing number, and these layers were sent then.
    case given(Int64, SentNumbers.Entry)
    case leftOut
  }

  /// Nothing sent; `last` and `timestamp` are what the numbering goes on from.
  init(last: Int64, timestamp: UInt32) {
    highest = last
    lastTimestamp = timestamp
  }

  /// The layers of the producer have changed places: `places` has the new one of each.
  mutating func relabel(_ places: InlineArray<8, Int8>) {
    for index in segments.indices {
      let layer = Int(segments[index].layer)
      if places.indices.contains(layer), places[layer] >= 0 { segments[index].layer = places[layer] }
    }
  }

  /// The layer being sent; nil before the first packet.
  var currentLayer: Int8? { segmentCount == 0 ? nil : segments[0].layer }

  /// Whether the current segment began with this packet.
  func began(with sequence: Int64) -> Bool { segmentCount > 0 && segments[0].firstIn == sequence }

  /// The time stamp of the newest packet, as it was sent.
  var sentTimestamp: UInt32 { lastTimestamp }

  /// The publisher's time stamp of the newest packet sent.
  var newestTimestamp: UInt32 { lastTimestamp &- segments[0].timestampOffset }

  /// The outgoing number of a packet that is newer than all that was sent or left out.
  func next(_ sequence: Int64) -> Int64 { sequence + segments[0].offset }

  // MARK: segments

  /// What was sent so far is another producer's: nothing of it can be asked for again.
  mutating func changeStream() {
    for index in 0..<Int(segmentCount) {
      segments[index].layer = Segment.foreign
      segments[index].alignment = nil
    }
  }

  /// The publisher's clock may become known while the segment goes on.
  @inline(__always)
  mutating func note(alignment: UInt32?) {
    if segments[0].alignment == nil { segments[0].alignment = alignment }
  }

  /// Whether a packet comes after all that was sent of its layer. A keyframe may come late, but what its receiver has must not be sent
  /// to it again from there on: a publisher could have that done as often as it likes.
  func isUnsent(_ packet: StoredPacket, layer: Int8) -> Bool {
    for index in 0..<Int(segmentCount) where segments[index].layer == layer {
      let lastOut = index == 0 ? highest : segments[index - 1].firstOut - 1
      return packet.sequence + segments[index].offset > lastOut
    }
    return true
  }

  /// Opens a segment: the next number out belongs to `packet`. `clock` is ticks a millisecond.
  mutating func begin(_ packet: StoredPacket, layer: Int8, alignment: UInt32?, clock: Int64) {
    var segment = Segment(
      layer: layer, firstIn: packet.sequence, offset: highest + 1 - packet.sequence, alignment: alignment)
    segment.timestampOffset = timestampOffset(for: packet, layer: layer, alignment: alignment, clock: clock)
    if segmentCount > 0 {
      if let picture = packet.info.pictureID { segment.pictureIDDelta = lastPictureID &+ 1 &- picture.value }
      if let tl0 = packet.info.tl0PictureIndex { segment.tl0Delta = lastTL0 &+ 1 &- tl0.value }
    }
    if let number = packet.frameNumber, let lastFrame { segment.pictureIDDelta = lastFrame &+ 1 &- number }
    for index in stride(from: Int(Segment.most) - 1, to: 0, by: -1) { segments[index] = segments[index - 1] }
    segments[0] = segment
    segmentCount = min(segmentCount + 1, Segment.most)
    seen = packet.sequence - 1
    leftOutPicture = nil
    replay = Replay()
  }

  /// Whether a segment of this layer may begin with packets from the cache: another layer that is being sent is in its time already.
  func mayReplay(_ layer: Int8) -> Bool {
    segmentCount == 0 || segments[0].layer == layer || segments[0].layer == Segment.foreign
  }

  /// Opens a segment with the packets from `first` to `newest`, which come from the cache. False, and no change, where its time
  /// stamps would go back, or another layer is being sent.
  mutating func beginReplay(
    from first: StoredPacket, to newest: StoredPacket, layer: Int8, alignment: UInt32?, clock: Int64
  ) -> Bool {
    let new = Replay(first: first.sequence, last: newest.sequence, timestamp: newest.timestamp)
    let early = new.squeeze(first.timestamp)
    let isOther = currentLayer != layer
    guard mayReplay(layer), isOther || (early &+ segments[0].timestampOffset).isNewer(than: lastTimestamp) else {
      return false
    }
    // The place of the first in the time of the newest.
    var opening = first
    (opening.timestamp, opening.arrival) = (newest.timestamp, newest.arrival)
    begin(opening, layer: layer, alignment: alignment, clock: clock)
    if isOther { segments[0].timestampOffset &+= newest.timestamp &- early }
    replay = new
    return true
  }

  /// Whether a packet of the current segment comes from the cache.
  func isReplayed(_ sequence: Int64) -> Bool { segments[0].firstIn == replay.first && sequence <= replay.last }

  /// The time stamp that a packet of a segment is sent with.
  func timestamp(of packet: StoredPacket, segment index: Int) -> UInt32 {
    let isReplayed = segments[index].firstIn == replay.first && packet.sequence <= replay.last
    return (isReplayed ? replay.squeeze(packet.timestamp) : packet.timestamp) &+ segments[index].timestampOffset
  }

  private func timestampOffset(for packet: StoredPacket, layer: Int8, alignment: UInt32?, clock: Int64) -> UInt32 {
    guard segmentCount > 0 else { return lastTimestamp &- packet.timestamp }
    let old = segments[0]
    // After a mute the publisher's clock has gone on, so the old offset still holds.
    if old.layer == layer { return old.timestampOffset }
    let elapsed = (packet.arrival - lastArrival).microseconds * clock / 1_000
    if let alignment, let oldAlignment = old.alignment {
      let offset = old.timestampOffset &+ oldAlignment &- alignment
      // Sender reports put both layers on one clock; believe them unless they contradict the arrival by over a second.
      let step = Int64(Int32(bitPattern: packet.timestamp &+ offset &- lastTimestamp))
      if step > 0 && abs(step - elapsed) < clock * 1_000 { return offset }
    }
    let step = UInt32(truncatingIfNeeded: max(1, min(elapsed, clock * 60_000)))
    return lastTimestamp &+ step &- packet.timestamp
  }

  // MARK: sending

  /// A packet is sent under `out` with `timestamp`, and its picture identifier moved on by `delta`.
  @inline(__always)
  mutating func advance(_ packet: StoredPacket, to out: Int64, timestamp: UInt32, pictureIDDelta delta: UInt16) {
    guard out > highest else { return }
    highest = out
    lastTimestamp = timestamp
    lastArrival = packet.arrival
    if let picture = packet.info.pictureID { lastPictureID = picture.value &+ delta }
    if let tl0 = packet.info.tl0PictureIndex { lastTL0 = tl0.value &+ segments[0].tl0Delta }
  }

  /// A packet of AV1 is sent with its frame number moved on by `delta`.
  mutating func noteFrame(_ packet: StoredPacket, moved delta: UInt16) {
    guard let number = packet.frameNumber.map({ $0 &+ delta }) else { return }
    if lastFrame.map({ number.isNewer(than: $0) }) ?? true { lastFrame = number }
  }

  /// All from outgoing number `sequence` on was not sent after all. False, and no change, where that number was never given out.
  mutating func withdraw(_ sequence: UInt16, first: StoredPacket?) -> Bool {
    let out = outgoing(sequence)
    guard segmentCount > 0, out <= highest else { return false }
    // Of what was sent before the oldest segment that is kept, nothing more is known.
    let isKnown = segments[Int(segmentCount) - 1].firstOut <= out
    guard isKnown || segmentCount == Segment.most else { return false }
    if let first, let segment = segmentIndex(of: out) {
      rewind(before: first, pictureIDDelta: pictureIDDelta(at: out, segment), tl0Delta: segments[segment].tl0Delta)
    }
    while segmentCount > 0 && segments[0].firstOut >= out {
      for index in 1..<Int(Segment.most) { segments[index - 1] = segments[index] }
      segmentCount -= 1
    }
    if segmentCount == 0 {
      segments[0] = Segment(layer: Segment.foreign, offset: out)
      segmentCount = 1
    }
    highest = out - 1
    return true
  }

  /// Picture identifiers go on as if `packet` had not been sent; where only the beginning of its frame was, behind that frame.
  private mutating func rewind(before packet: StoredPacket, pictureIDDelta: UInt16, tl0Delta: UInt8) {
    let opens = packet.info.startsFrame && packet.info.spatialLayer == 0
    if let picture = packet.info.pictureID { lastPictureID = picture.value &+ pictureIDDelta &- (opens ? 1 : 0) }
    if let tl0 = packet.info.tl0PictureIndex {
      lastTL0 = tl0.value &+ tl0Delta &- (opens && packet.info.temporalLayer == 0 ? 1 : 0)
    }
  }

  // MARK: leaving out

  /// Whether each outgoing number is kept, as must be where packets are left out.
  var isRecording: Bool { sent.isRecording }

  /// From now on packets may be left out of the current segment.
  mutating func startRecording() {
    guard !sent.isRecording else { return }
    let segment = segments[0]
    seen = highest - segment.offset
    let first = max(segment.firstOut, highest - Int64(SentNumbers.depth) + 1)
    sent.start(at: first)
    var out = first
    while out <= highest {
      sent.record(entry(out - segment.offset, .all), at: out)
      out += 1
    }
  }

  /// Ends the recording where nothing was left out for so long that numbers are a straight line again.
  mutating func stopRecordingWhereStraight() {
    guard sent.isRecording, sent.isStraight(upTo: highest) else { return }
    sent.stop()
    guard segments[0].leftOut > 0 else { return }
    segments[0].firstIn = highest - Int64(SentNumbers.depth) + 1 - segments[0].offset
    segments[0].leftOut = 0
  }

  /// Where a packet of the current segment belongs that is not before its first.
  func place(of sequence: Int64) -> Place {
    let straight = next(sequence)
    guard sent.isRecording else {
      return straight > highest ? .new : .given(straight, entry(sequence, .all))
    }
    if sequence > seen { return .new }
    guard segments[0].firstOut <= next(seen), let out = sent.find(sequence, in: segments[0].firstOut...next(seen)),
      let entry = sent.entry(out)
    else { return .leftOut }
    return .given(out, entry)
  }

  /// Gives the packets that are missing before a new one their numbers: they may come late. `limit` is what was sent when they
  /// should have come.
  mutating func giveNumbersToMissing(before sequence: Int64, _ limit: LayerLimit) {
    guard sent.isRecording else { return }
    var missing = max(seen + 1, sequence - Int64(SentNumbers.depth))
    while missing < sequence {
      sent.record(entry(missing, limit), at: next(missing))
      missing += 1
    }
    seen = max(seen, sequence - 1)
  }

  /// Gives a new packet its number.
  mutating func giveNumber(to sequence: Int64, _ limit: LayerLimit) -> Int64 {
    let out = next(sequence)
    guard sent.isRecording else { return out }
    sent.record(entry(sequence, limit), at: out)
    seen = sequence
    return out
  }

  /// A new packet is left out: those behind it close up. `closesPictures` where its picture has an identifier that nothing else
  /// counts on, so that the following ones close up too (VP8).
  mutating func leaveOut(_ packet: StoredPacket, closesPictures: Bool) {
    seen = packet.sequence
    segments[0].offset -= 1
    segments[0].leftOut &+= 1
    sent.noteLeftOut(behind: next(seen))
    guard closesPictures, let picture = packet.info.pictureID?.value, picture != leftOutPicture else { return }
    leftOutPicture = picture
    segments[0].pictureIDDelta &-= 1
  }

  private func entry(_ sequence: Int64, _ limit: LayerLimit) -> SentNumbers.Entry {
    SentNumbers.Entry(
      source: UInt32(truncatingIfNeeded: sequence), pictureIDDelta: segments[0].pictureIDDelta, limit: limit)
  }

  // MARK: looking back

  /// Where the packet that was sent under `sequence` came from.
  func original(of sequence: UInt16) -> (layer: Int8, sequence: Int64, segment: Int)? {
    let out = outgoing(sequence)
    guard out <= highest, let index = segmentIndex(of: out) else { return nil }
    let segment = segments[index]
    guard segment.layer >= 0 else { return nil }
    if segment.isStraight { return (segment.layer, out - segment.offset, index) }
    guard let entry = sent.entry(out) else { return nil }
    // The low half of a number that is at most as new as the segment's newest.
    let newest = out - segment.offset
    let behind = UInt32(truncatingIfNeeded: newest) &- entry.source
    return (segment.layer, newest - Int64(behind), index)
  }

  /// The outgoing number and what was sent then, of a packet that `original(of:)` has found in a segment.
  func given(_ sequence: Int64, segment index: Int) -> (out: Int64, entry: SentNumbers.Entry) {
    let segment = segments[index]
    let last = index == 0 ? sent.isRecording ? next(seen) : highest : segments[index - 1].firstOut - 1
    if segment.firstOut <= last, let out = sent.find(sequence, in: segment.firstOut...last),
      let entry = sent.entry(out)
    {
      return (out, entry)
    }
    return (
      sequence + segment.offset,
      SentNumbers.Entry(
        source: UInt32(truncatingIfNeeded: sequence), pictureIDDelta: segment.pictureIDDelta, limit: .all)
    )
  }

  private func pictureIDDelta(at out: Int64, _ segment: Int) -> UInt16 {
    segments[segment].isStraight
      ? segments[segment].pictureIDDelta : sent.entry(out)?.pictureIDDelta ?? segments[segment].pictureIDDelta
  }

  /// The unwrapped outgoing number that is nearest to the newest.
  private func outgoing(_ sequence: UInt16) -> Int64 {
    highest + Int64(sequence.distance(from: UInt16(truncatingIfNeeded: highest)))
  }

  /// The segment that an outgoing number is of; nil where it is older than all that are kept.
  private func segmentIndex(of out: Int64) -> Int? {
    for index in 0..<Int(segmentCount) where segments[index].firstOut <= out { return index }
    return nil
  }
}
