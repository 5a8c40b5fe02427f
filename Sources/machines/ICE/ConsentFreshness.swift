// Whether a peer refreshes consent: it goes on checking the path that media goes, as RFC 7675 §5.1 has it. Some check it no more once they are
// connected (libnice in GStreamer), and their silence means nothing where no media flows.
//
//   selected ─▶ a new check, a second later at least ─▶ another, as much later ─▶ kept

import Basics

/// The checks of a peer on its selected path, counted until they show that more are to be expected.
struct ConsentFreshness {
  /// Two checks so far apart belong to two periods. What a nomination brings comes closer together: that of pairs which share an address.
  static let period = TimeDelta.seconds(1)
  /// Periods after which the next is expected. Raise it, and a listener who vanishes early is missed later; lower it, and checks of a
  /// nomination that took long pass for more.
  static let enough: UInt8 = 2

  private var periods: UInt8 = 0
  /// When the newest period began.
  private var last = Instant.zero

  /// Whether more checks are to be expected.
  var isKept: Bool { periods >= Self.enough }

  /// A path was selected. What is known of the peer holds for it as well.
  mutating func begin(at now: Instant) {
    if isKept { return }
    self = Self()
    last = now
  }

  /// An authentic check on the selected path, no copy of an earlier one. Of a peer whose checks are further apart than `limit` the next cannot
  /// be waited for.
  mutating func note(within limit: TimeDelta, at now: Instant) {
    guard !isKept, now - last >= Self.period else { return }
    periods = now - last < limit ? periods + 1 : 0
    last = now
  }
}
