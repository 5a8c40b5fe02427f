// Keyframe requests of many receivers merged into few to the publisher (PLI, RFC 4585 §6.3.1).

import Basics

/// Decides when one encoding's publisher is asked for a keyframe. A request while one is under way is merged into it;
/// an unanswered one is repeated, at first often and then, as long as somebody keeps asking, seldom.
public struct KeyframeThrottle: Sendable {
  /// Least time between two requests: raise it and joiners wait longer, lower it and a crowd of joiners makes
  /// the publisher send keyframes only.
  public static let interval = TimeDelta.milliseconds(500)
  /// Requests in a row without a keyframe; after that somebody has to ask anew for each.
  static let maximumRepeats = 6
  /// Least time between two requests from then on: raise it and a mended path shows its picture later, lower it and a
  /// publisher that has no keyframe to give is bothered for nothing.
  static let patientInterval = TimeDelta.seconds(2)

  private var lastSent: Instant?
  private var unanswered = 0
  private var wanted = false

  /// Nothing wanted.
  public init() {}

  /// A receiver needs a keyframe. The request goes out when `nextDeadline` has come.
  public mutating func request() { wanted = true }

  /// A keyframe has arrived: nobody waits any more.
  public mutating func keyframeArrived() {
    wanted = false
    unanswered = 0
  }

  /// When `poll` will say yes; `distantFuture` when no keyframe is wanted.
  public var nextDeadline: Instant {
    guard wanted else { return .distantFuture }
    return lastSent.map { $0 + (unanswered > Self.maximumRepeats ? Self.patientInterval : Self.interval) } ?? .zero
  }

  /// Whether to send a request to the publisher now.
  public mutating func poll(at now: Instant) -> Bool {
    guard wanted, nextDeadline <= now else { return false }
    lastSent = now
    unanswered = min(unanswered + 1, Self.maximumRepeats + 1)
    if unanswered > Self.maximumRepeats { wanted = false }
    return true
  }
}
