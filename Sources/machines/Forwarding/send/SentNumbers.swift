// What the newest outgoing numbers of a thinned stream stand for. Where packets are left out, no straight line leads from the
// publisher's numbers to those of the receiver any more.
//
//   outgoing number modulo `depth` ─▶ [publisher's number, change of the picture identifier, layers that were sent]
//
// A stream that is sent whole has none of it, and costs nothing.

import Basics

struct SentNumbers: Sendable {
  /// Outgoing numbers that are kept, a power of two: raise it and requests for older packets are answered, at 8 bytes each for a
  /// receiver whose stream is thinned. A cache holds fewer packets.
  static let depth = 1_024

  struct Entry: Sendable {
    /// The low half of the publisher's unwrapped number.
    var source: UInt32 = 0
    var pictureIDDelta: UInt16 = 0
    /// The layers that were sent then. Of a missing packet it is not known which layer it is of until it comes.
    var limit = LayerLimit.all
  }

  /// Empty until a stream is thinned for the first time.
  private var entries: [Entry] = []
  private(set) var isRecording = false
  /// Outgoing numbers below it were not recorded.
  private var oldest: Int64 = 0
  /// The newest outgoing number ever recorded.
  private var written: Int64 = 0
  /// The outgoing number at the newest packet that was left out.
  private var lastLeftOut: Int64 = 0

  /// Outgoing numbers from `first` on will be told with `record`.
  mutating func start(at first: Int64) {
    if entries.isEmpty { entries = Array(repeating: Entry(), count: Self.depth) }
    isRecording = true
    (oldest, written, lastLeftOut) = (first, first - 1, first - 1)
  }

  mutating func stop() { isRecording = false }

  mutating func record(_ entry: Entry, at out: Int64) {
    entries[Int(truncatingIfNeeded: out) & (Self.depth - 1)] = entry
    written = max(written, out)
  }

  /// A packet was left out behind the outgoing number `out`.
  mutating func noteLeftOut(behind out: Int64) { lastLeftOut = out }

  /// Whether all that is kept stands for consecutive numbers of the publisher.
  func isStraight(upTo out: Int64) -> Bool { out - lastLeftOut >= Int64(Self.depth) }

  /// What an outgoing number stands for; nil where that is not kept.
  func entry(_ out: Int64) -> Entry? {
    guard isRecording, out >= oldest, out <= written, written - out < Int64(Self.depth) else { return nil }
    return entries[Int(truncatingIfNeeded: out) & (Self.depth - 1)]
  }

  /// The outgoing number of the publisher's number `source` among `range`; nil where it was left out, or is not kept.
  func find(_ source: Int64, in range: ClosedRange<Int64>) -> Int64? {
    guard isRecording else { return nil }
    var low = max(range.lowerBound, oldest, written - Int64(Self.depth) + 1)
    var high = min(range.upperBound, written)
    while low <= high {
      let middle = low + (high - low) / 2
      let found = entries[Int(truncatingIfNeeded: middle) & (Self.depth - 1)].source
      switch Int32(bitPattern: UInt32(truncatingIfNeeded: source) &- found) {
      case 0: return middle
      case ..<0: high = middle - 1
      default: low = middle + 1
      }
    }
    return nil
  }
}
