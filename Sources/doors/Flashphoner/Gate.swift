// What passes of a client's frames: how many, how often wrong, and for how long it may say nothing. As at the native door. Pure.
import Basics
import DoorKit

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
    /// It was not read, since too many bytes came from its address.
    case unread(wait: Int64)
  }

  private let limits: DoorLimits
  private let opened: Instant
  private var pace: MessagePace
  private var wasIdle = false

  init(limits: DoorLimits, now: Instant) {
    (self.limits, opened) = (limits, now)
    pace = MessagePace(limits: limits, now: now)
  }

  /// - Parameters:
  ///   - weight: how many messages it counts as (`ClientMessage.weight`).
  ///   - unanswered: requests of the client that wait for their replies.
  mutating func judge(_ fault: Fault, weight: Int = 1, unanswered: Int, at now: Instant) -> Verdict {
    switch fault {
    case .none:
      if let refusal = Self.refusal(pace.message(weight, at: now)) { return refusal }
      return unanswered < limits.unanswered ? .pass : .refuse("\(limits.unanswered) requests wait for their replies")
    case .unread(let wait): return Self.refusal(pace.unread(wait: wait)) ?? .refuse("Too many messages; slow down")
    case .malformed(let reason): return Self.refusal(pace.wrong(at: now)) ?? .refuse(reason)
    }
  }

  /// Nil for a frame that comes in time.
  private static func refusal(_ verdict: MessagePace.Verdict) -> Verdict? {
    switch verdict {
    case .inTime: nil
    case .tooFast: .refuse("Too many messages; slow down")
    case .muchTooFast(_, let reason), .wrongTooOften(let reason): .close(reason)
    }
  }

  /// The client has said who it is: from now on it has the pace of those who have a session.
  mutating func open() { pace.admit() }

  /// Whether a client that has not said who it is has had its time: said once.
  mutating func isIdle(at now: Instant) -> Bool {
    guard !wasIdle, now - opened > limits.helloTimeout else { return false }
    wasIdle = true
    return true
  }
}
