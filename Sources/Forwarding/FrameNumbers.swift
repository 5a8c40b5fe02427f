// The frame numbers of dependency descriptors (AV1 RTP payload format 1.0, appendix A) as they are kept: they go on, whatever the
// publisher says. A receiver follows each number that it hears, and takes what comes with older ones for late, for good.
//
//   publisher   7 8 9 | 40000 …                        9, and 40000 without a keyframe: nil
//   kept        7 8 9 | 10, where a keyframe begins

import Basics

/// One encoding's.
struct FrameNumbers: Sendable {
  /// How far a number may be from the newest, but for a keyframe's. More than a keyframe cache and late packets have; raise it, and one
  /// publisher can move the numbers of a view further before another's.
  static let widest = 1_024

  private var newest: UInt16?
  private var offset: UInt16 = 0
  /// The publisher's numbers begin anew with the next one, whatever that is.
  private var restarts = true

  /// Another stream of the publisher follows, with numbers of its own.
  mutating func restart() { restarts = true }

  /// The number to keep; nil for one that fits to nothing. `begins`: the packet begins a keyframe, where numbering may begin anew.
  mutating func take(_ number: UInt16, begins: Bool) -> UInt16? {
    let moved = number &+ offset
    if let newest, !restarts, abs(moved.distance(from: newest)) <= Self.widest {
      if moved.isNewer(than: newest) { self.newest = moved }
      return moved
    }
    guard begins || restarts else { return nil }
    restarts = false
    let next = newest.map { $0 &+ 1 } ?? number
    (newest, offset) = (next, next &- number)
    return next
  }
}
