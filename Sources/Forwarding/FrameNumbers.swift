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

  /// The number to keep; nil for one that fits to nothing. `begins`: the packet begins a keyframe, where numbering may begin anew.
  mutating func take(_ number: UInt16, begins: Bool) -> UInt16? {
    let moved = number &+ offset
    guard let newest else {
      self.newest = moved
      return moved
    }
    let step = moved.distance(from: newest)
    if abs(step) <= Self.widest {
      if step > 0 { self.newest = moved }
      return moved
    }
    guard begins else { return nil }
    offset = newest &+ 1 &- number
    self.newest = newest &+ 1
    return newest &+ 1
  }
}
