// What passes of a client's frames: how many, how often wrong, and for how long it may say nothing. As at the native door. Pure.
import Basics
import Signalling

/// Judges each frame of a connection.
struct Gate: Sendable {
  /// What to do with a frame.
  enum Verdict: Hashable, Sendable {
    case pass
    /// Tell the client why not.
    case refuse(String)
    /// Tell it, and close.
    case close(String)
  }

  /// Why a frame is no good message.
  enum Fault: Hashable, Sendable {
    case none
    case malformed(String)
  }

  private let limits: SignallingLimits
  private let opened: Instant
  private var bucket: TokenBucket
  private var badInARow = 0
  private var tooFastInARow = 0

  init(limits: SignallingLimits, now: Instant) {
    (self.limits, opened) = (limits, now)
    bucket = TokenBucket(perSecond: limits.requestsPerSecond, burst: limits.burst, now: now)
  }

  /// - Parameter unanswered: requests of the client that wait for their replies.
  mutating func judge(_ fault: Fault, unanswered: Int, at now: Instant) -> Verdict {
    switch fault {
    case .none: badInARow = 0
    case .malformed(let reason):
      badInARow += 1
      if badInARow >= limits.badInARow { return .close("\(badInARow) bad messages in a row") }
      // Mistakes cost tokens too: refusing them is work.
      return tooFast(at: now) ?? .refuse(reason)
    }
    if let verdict = tooFast(at: now) { return verdict }
    return unanswered < limits.unanswered ? .pass : .refuse("\(limits.unanswered) requests wait for their replies")
  }

  /// Whether a client that has not said who it is has had its time.
  func isIdle(at now: Instant) -> Bool { now - opened > limits.helloTimeout }

  private mutating func tooFast(at now: Instant) -> Verdict? {
    guard bucket.take(at: now) != nil else {
      tooFastInARow = 0
      return nil
    }
    tooFastInARow += 1
    guard tooFastInARow < limits.tooFastInARow else { return .close("\(tooFastInARow) messages in a row too fast") }
    return .refuse("Too many messages; slow down")
  }
}
