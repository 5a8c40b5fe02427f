// Keyframe requests of many receivers merged into few to the publisher (PLI, RFC 4585 §6.3.1).

import Basics

/// Decides when one encoding's publisher is asked for a keyframe. A request while one is under way is merged into it;
/// an unanswered one is repeated.
public struct KeyframeThrottle: Sendable {
  /// Least time between two requests: raise it and joiners wait longer, lower it and a crowd of joiners makes
  /// the publisher send keyframes only.
  public static let interval = TimeDelta.milliseconds(500)
  /// Repetitions of an unanswered request; after that a receiver has to ask anew.
  static let maximumRepeats = 6

  private var lastSent: Instant?
  private var repeats = 0
  private var wanted = false

  /// Nothing wanted.
  public init() {}

  /// A receiver needs a keyframe. The request goes out when `nextDeadline` has come.
  public mutating func request() {
    if !wanted { repeats = 0 }
    wanted = true
  }

  /// A keyframe has arrived: nobody waits any more.
  public mutating func keyframeArrived() { wanted = false }

  /// When `poll` will say yes; `distantFuture` when no keyframe is wanted.
  public var nextDeadline: Instant {
    guard wanted else { return .distantFuture }
    return lastSent.map { $0 + Self.interval } ?? .zero
  }

  /// Whether to send a request to the publisher now.
  public mutating func poll(at now: Instant) -> Bool {
    guard wanted, nextDeadline <= now else { return false }
    lastSent = now
    repeats += 1
    if repeats > Self.maximumRepeats { wanted = false }
    return true
  }
}
