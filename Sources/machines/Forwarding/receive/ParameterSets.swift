// Parameter sets of H264 (ITU-T H.264 §7.3.2.1, §7.3.2.2): an encoder may send them once, or in its session description alone
// (RFC 6184 §8.1, §8.4). They are kept, for whoever comes later.

import Basics
import RTP

/// The newest sets of one encoding, each under its kind and number. Bounded: the oldest go where others do not fit beside them.
struct ParameterSets: Sendable {
  /// Bytes of all sets together with what goes around them. Raise it beyond a packet, and they fit into none.
  static let mostBytes = 1_024
  /// Sets that are kept.
  static let most = 16
  /// What stands before a NAL unit in a packet of several (RFC 6184 §5.7.1).
  private static let sizeBytes = 2

  private struct Entry {
    var isSequence: Bool
    var number: UInt32
    var unit: [UInt8]
  }

  /// Sequence sets first, since picture sets refer to them; of each kind the oldest first.
  private var entries: [Entry] = []

  /// Bytes that they take in one packet.
  private static func bytes(_ entries: [Entry]) -> Int {
    entries.reduce(1) { $0 + $1.unit.count + sizeBytes }
  }

  /// Whether a picture can be decoded with them.
  var isComplete: Bool { entries.contains { $0.isSequence } && entries.contains { !$0.isSequence } }

  /// Packets that they take.
  func packets(aggregated: Bool) -> Int { aggregated ? 1 : entries.count }

  /// Takes the sets of a payload: of one NAL unit, or of several in one packet. `PayloadInfo` has found it sound.
  mutating func take(payload: Span<UInt8>) {
    guard payload.count > 0, payload[0] & 0x1f == 24 else {
      take(unit: payload)
      return
    }
    var at = 1
    while at + Self.sizeBytes < payload.count {
      let size = Int(payload.uint16(at: at))
      at += Self.sizeBytes
      guard size > 0, at + size <= payload.count else { return }
      take(unit: payload.extracting(at..<(at + size)))
      at += size
    }
  }

  /// Takes a set in the place of the one with its number; other units are passed over. Where it does not fit, the oldest of its kind go,
  /// then the oldest of the other kind but the newest. One that does not fit beside that either is passed over, and what it would have
  /// replaced goes, for it is out of date. True where something is kept that was not.
  @discardableResult
  mutating func take(unit: Span<UInt8>) -> Bool {
    guard unit.count > 1, unit[0] & 0x1f == 7 || unit[0] & 0x1f == 8 else { return false }
    let isSequence = unit[0] & 0x1f == 7
    guard let number = Self.number(of: unit, behind: isSequence ? 4 : 1) else { return false }
    if let place = entries.firstIndex(where: { $0.isSequence == isSequence && $0.number == number }) {
      let old = entries.remove(at: place)
      if Self.equal(old.unit, unit) {
        insert(old)
        return false
      }
    }
    guard makeRoom(for: unit.count + Self.sizeBytes, isSequence) else { return false }
    var copy: [UInt8] = []
    copy.reserveCapacity(unit.count)
    for index in unit.indices { copy.append(unit[index]) }
    insert(Entry(isSequence: isSequence, number: number, unit: copy))
    return true
  }

  /// As the newest of its kind.
  private mutating func insert(_ new: Entry) {
    entries.insert(new, at: new.isSequence ? entries.prefix { $0.isSequence }.count : entries.count)
  }

  /// Lets old ones go, so that `size` bytes of a kind fit; false, and no change, where they do not.
  private mutating func makeRoom(for size: Int, _ isSequence: Bool) -> Bool {
    var kept = entries
    while kept.count >= Self.most || Self.bytes(kept) + size > Self.mostBytes {
      let (own, others) = (kept.firstIndex { $0.isSequence == isSequence }, kept.filter { $0.isSequence != isSequence })
      let oldestOther = others.count > 1 ? kept.firstIndex { $0.isSequence != isSequence } : nil
      guard let oldest = own ?? oldestOther else { return false }
      kept.remove(at: oldest)
    }
    entries = kept
    return true
  }

  private static func equal(_ kept: [UInt8], _ unit: Span<UInt8>) -> Bool {
    guard kept.count == unit.count else { return false }
    for index in unit.indices where kept[index] != unit[index] { return false }
    return true
  }

  /// The first number behind a header of `start` bytes, an Exp-Golomb code (§9.1); nil where there is none of up to 8 bits.
  private static func number(of unit: Span<UInt8>, behind start: Int) -> UInt32? {
    func bit(_ position: Int) -> UInt32? {
      let at = start + position / 8
      return at < unit.count ? UInt32(unit[at] >> UInt8(7 - position % 8) & 1) : nil
    }
    var zeros = 0
    while let next = bit(zeros), next == 0 {
      zeros += 1
      if zeros > 8 { return nil }
    }
    var value: UInt32 = 0
    for position in zeros...(2 * zeros) {
      guard let next = bit(position) else { return nil }
      value = value << 1 | next
    }
    return value - 1
  }

  /// The payload of packet `index`: all sets in one (STAP-A, RFC 6184 §5.7.1), or one set.
  func payload(_ index: Int, aggregated: Bool) -> [UInt8] {
    guard aggregated else { return entries.indices.contains(index) ? entries[index].unit : [] }
    var payload: [UInt8] = [0x78]
    for entry in entries {
      payload += [UInt8(truncatingIfNeeded: entry.unit.count >> 8), UInt8(truncatingIfNeeded: entry.unit.count)]
      payload += entry.unit
    }
    return payload
  }
}

/// The picture of which parameter sets came last, or that may be where a stream begins.
struct SetPicture: Sendable {
  var timestamp: UInt32
  /// The first packet with a set of it.
  var first: Int64
  /// Its sets that have come.
  var sets: H264Units = []
  /// Its first slice has come, and can be decoded with the sets alone.
  var hasKey = false
  /// It is a beginning already.
  var isDone = false
}

/// Where packets were put between those of the publisher, so that each of its numbers is kept under one of ours.
struct InsertedNumbers: Sendable {
  /// Places that are remembered: as many as beginnings may come (`Encoding.insertionInterval`) while a packet may be late.
  private static let most = 8
  /// From the publisher's number `from` on so many were put in, the newest last.
  private var places = InlineArray<8, (from: Int64, count: Int64)>(repeating: (.min, 0))

  /// All that were put in.
  var count: Int64 { places[Self.most - 1].count }

  /// Our number of one of the publisher's; nil for one so old that it is not known any more.
  @inline(__always)
  func kept(_ number: Int64) -> Int64? {
    number >= places[Self.most - 1].from ? number + places[Self.most - 1].count : older(number)
  }

  private func older(_ number: Int64) -> Int64? {
    for index in stride(from: Self.most - 2, through: 0, by: -1) where number >= places[index].from {
      return number + places[index].count
    }
    return nil
  }

  /// Puts `count` packets before the publisher's `number`, which is newer than all before.
  mutating func insert(_ count: Int, before number: Int64) {
    let all = self.count + Int64(count)
    for index in 0..<(Self.most - 1) { places[index] = places[index + 1] }
    places[Self.most - 1] = (number, all)
  }
}
