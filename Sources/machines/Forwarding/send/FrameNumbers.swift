// The frame numbers of dependency descriptors (AV1 RTP payload format 1.0, appendix A), and the picture identifiers of VP8 and VP9, as
// they are kept: they go on, whatever the publisher says. A receiver follows each number that it hears, and takes what comes with older
// ones for late, for good.
//
//   publisher   7 8 9 | 40000 …                        9, and 40000 without a keyframe: nil
//   kept        7 8 9 | 10, where a keyframe begins

import Basics

/// One encoding's.
struct FrameNumbers: Sendable {
  /// How far a number may be from the newest, but for a keyframe's. More than a keyframe cache and late packets have; raise it, and one
  /// publisher can move the numbers of a view further before another's.
  static let widest = 1_024

  /// Bits of a number that are not used: 0 of frame numbers, 1 of picture identifiers.
  private let unused: UInt16
  private var newest: UInt16?
  /// What the publisher said of the newest.
  private var said: UInt16 = 0
  private var offset: UInt16 = 0
  /// The publisher's numbers begin anew with the next one, whatever that is.
  private var restarts = true

  /// Nothing said; numbers wrap behind `bits`, 15 or 16.
  init(bits: UInt16 = 16) { unused = 16 - min(bits, 16) }

  /// Another stream of the publisher follows, with numbers of its own.
  mutating func restart() { restarts = true }

  /// The number to keep; nil for one that fits to nothing. `begins`: the packet begins a keyframe, where numbering may begin anew.
  @inline(__always)
  mutating func take(_ number: UInt16, begins: Bool) -> UInt16? {
    // Most packets are of the newest picture.
    if number == said && !restarts { return newest }
    return takeOther(number, begins: begins)
  }

  @inline(never)
  private mutating func takeOther(_ number: UInt16, begins: Bool) -> UInt16? {
    let moved = inWidth(number &+ offset)
    // As high bits, so that sixteen wrap as they do.
    if let newest, !restarts, abs((moved << unused).distance(from: newest << unused)) <= Self.widest << unused {
      if (moved << unused).isNewer(than: newest << unused) { (self.newest, said) = (moved, number) }
      return moved
    }
    guard begins || restarts else { return nil }
    restarts = false
    let next = inWidth(newest.map { $0 &+ 1 } ?? number)
    (newest, offset, said) = (next, next &- number, number)
    return next
  }

  private func inWidth(_ number: UInt16) -> UInt16 { number & (0xffff >> unused) }
}
