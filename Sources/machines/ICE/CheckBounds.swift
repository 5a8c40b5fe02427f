// How many authentic checks of one peer are looked at: who knows the password may send as many as they like.
//
//   on a path that has passed one ─▶ is there room? ─no─▶ dropped unread
//                                       │ yes
//                                  authenticated ─▶ taken from the bound ─▶ answered
//                                       ▲                │ no room: dropped
//   on a new path ──────────────────────┘
//
// Only what is authentic takes from a bound: who forges the peer's address uses up none of it.

import Basics
import STUN

/// A bound for authentic checks. Copies of earlier ones leave room for new ones: whoever has seen a check pass can send it again and
/// again, and the peer's own are answered all the same.
struct CheckPace {
  private var all: TokenBucket
  private var copies: TokenBucket

  init(perSecond: Int) {
    all = TokenBucket(perSecond: Double(perSecond), burst: perSecond * ICELiteAgent.burstSeconds, now: .zero)
    copies = all
  }

  func admits(isCopy: Bool, at now: Instant) -> Bool { (isCopy ? copies : all).wait(at: now) == nil }

  mutating func take(isCopy: Bool, at now: Instant) {
    if !isCopy { _ = all.take(at: now) }
    _ = copies.take(at: now)
  }
}

/// The bounds of one generation of credentials.
struct CheckBounds {
  /// Checks by which copies are known. Browsers send one in some 2.5 s: those of more than half an hour. Lower it, and who has seen fewer
  /// of them can take what new ones have.
  static let remembered = 1_024

  private var known: CheckPace
  private var new: CheckPace
  /// The last bits of their transactions, which are random.
  private var transactions: [UInt32] = []
  private var next = 0

  init(perSecond: Int) {
    known = CheckPace(perSecond: perSecond)
    new = known
  }

  /// Whether there is room for a check. `isKnown`: its path has passed one.
  func admits(_ id: TransactionID, isKnown: Bool, at now: Instant) -> Bool {
    let pace = isKnown ? known : new
    // Where there is room for copies there is room for others: only between the two does it matter which of them this is.
    guard pace.admits(isCopy: false, at: now) else { return false }
    return pace.admits(isCopy: true, at: now) || !isCopy(id)
  }

  /// A check was authentic. Whether it is a copy of one that has come before; nil where there is no room for it.
  mutating func take(_ id: TransactionID, isKnown: Bool, at now: Instant) -> Bool? {
    guard admits(id, isKnown: isKnown, at: now) else { return nil }
    let isCopy = isCopy(id)
    if isKnown { known.take(isCopy: isCopy, at: now) } else { new.take(isCopy: isCopy, at: now) }
    if !isCopy { remember(id) }
    return isCopy
  }

  private mutating func remember(_ id: TransactionID) {
    let bits = UInt32(truncatingIfNeeded: id.low)
    if transactions.count < Self.remembered { return transactions.append(bits) }
    transactions[next] = bits
    next = (next + 1) % Self.remembered
  }

  private func isCopy(_ id: TransactionID) -> Bool { transactions.contains(UInt32(truncatingIfNeeded: id.low)) }
}
