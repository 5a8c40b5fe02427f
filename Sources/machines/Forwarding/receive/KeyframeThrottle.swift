// Keyframe requests of many receivers merged into few to the publisher (PLI, RFC 4585 §6.3.1).

import Basics

/// Decides when one encoding's publisher is asked for a keyframe. A request while one is under way is merged into it; the next
/// newcomer's goes out at once. An unanswered one is repeated, at first often and then, as long as somebody keeps asking, seldom.
///
/// Keyframes cost bandwidth, so requests come out of a bucket: `burst` of them in a row, one more each `interval`. In any `t`
/// seconds a publisher is asked at most `burst + t / interval` times; whoever asks all the time gets two keyframes a second.
public struct KeyframeThrottle: Sendable {
  /// A request more each so often, and between two that are not answered: raise it and a crowd waits longer once the bucket is
  /// empty, lower it and a crowd that comes and goes all the time makes the publisher send keyframes only.
  public static let interval = TimeDelta.milliseconds(500)
  /// Requests of a full bucket: raise it and more people may join within a few seconds with a picture at once.
  public static let burst = 12
  /// Least time between two requests. libwebrtc's senders pass over a request that comes within 300 ms of the last: lower it and
  /// those go unanswered, so that the one who joined waits for the repeat; raise it and who joins right behind another waits longer.
  public static let spacing = TimeDelta.milliseconds(320)
  /// Requests in a row without a keyframe; after that somebody has to ask anew for each.
  static let maximumRepeats = 6
  /// Least time between two requests from then on: raise it and a mended path shows its picture later, lower it and a
  /// publisher that has no keyframe to give is bothered for nothing.
  static let patientInterval = TimeDelta.seconds(2)

  private var lastSent: Instant?
  private var unanswered = 0
  private var wanted = false
  /// When the bucket will be full again.
  private var fullAt = Instant.zero

  /// Nothing wanted.
  public init() {}

  /// A receiver needs a keyframe. The request goes out when `nextDeadline` has come.
  public mutating func request() { wanted = true }

  /// A keyframe has arrived: nobody waits any more.
  public mutating func keyframeArrived() {
    wanted = false
    unanswered = 0
  }

  /// Another stream is asked from now on: no request went to it.
  public mutating func began() { (lastSent, unanswered) = (nil, 0) }

  /// Whether somebody waits for a keyframe.
  public var isWanted: Bool { wanted }

  /// When `poll` will say yes; `distantFuture` when no keyframe is wanted.
  public var nextDeadline: Instant {
    guard wanted else { return .distantFuture }
    let allowed = max(fullAt - Self.interval * Int64(Self.burst - 1), .zero)
    guard let lastSent else { return allowed }
    return max(lastSent + pause, allowed)
  }

  /// What must lie between the last request and the next.
  private var pause: TimeDelta {
    switch unanswered {
    case 0: Self.spacing
    case ...Self.maximumRepeats: Self.interval
    default: Self.patientInterval
    }
  }

  /// Whether to send a request to the publisher now.
  public mutating func poll(at now: Instant) -> Bool {
    guard wanted, nextDeadline <= now else { return false }
    lastSent = now
    fullAt = max(fullAt, now) + Self.interval
    unanswered = min(unanswered + 1, Self.maximumRepeats + 1)
    if unanswered > Self.maximumRepeats { wanted = false }
    return true
  }
}
