// The highest of what was measured lately.
//
//   measured ─▶ this window │ the one before ─▶ the higher of both

import Basics

/// The highest rate within the last one to two windows. An encoder saves after a keyframe what that has cost: for a second its stream
/// takes a third of what it takes before and later, and whoever steps up by that is sent too much.
public struct RecentPeak: Sendable {
  /// Raise it, and a step up waits longer once a picture has become simpler; lower it, and it is taken for simpler after a keyframe.
  public static let window = TimeDelta.seconds(3)

  private var newest = BitRate.zero
  private var before = BitRate.zero
  private var since: Instant?

  /// Nothing was measured.
  public init() {}

  /// Notes a rate, and returns the highest of those of the last window or two.
  public mutating func note(_ rate: BitRate, at now: Instant) -> BitRate {
    let start = since ?? now
    if now - start >= Self.window {
      before = now - start < Self.window * 2 ? newest : .zero
      (newest, since) = (.zero, now)
    } else {
      since = start
    }
    newest = max(newest, rate)
    return max(newest, before)
  }
}
