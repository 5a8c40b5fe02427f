// The words of the log that all doors share: one event for one thing, whichever door it was at, which the field `door` says.
import Basics
import Logging
import Members

/// Writes what happens at a door, within the bounds of lines about strangers (`ConnectionLines`) and about those who have a session
/// (`SessionLines`).
public struct DoorLog: Sendable {
  /// What happens.
  public enum Event: String, Sendable {
    case opened = "connection opened"
    case closed = "connection closed"
    /// Somebody has said who they are, and was let in.
    case admitted = "session_admitted"
    /// A session begins with an offer.
    case offered = "session_offered"
    case restarted = "ice_restarted"
    /// A request, or a connection that ends for it.
    case refused = "door_refused"
    case tokenRefused = "token_refused"
    case resumeRefused = "resume_refused"
  }

  private let door: String
  private let strangers: ConnectionLines
  private let sessions: SessionLines

  /// - Parameters:
  ///   - sessions: where lines go about those who have a session; nil: somewhere of its own.
  ///   - door: its name.
  public init(_ log: Logger, door: String, sessions: SessionLines?, clock: @escaping @Sendable () -> Instant) {
    self.door = door
    strangers = ConnectionLines(log, door: door, clock: clock)
    self.sessions = sessions ?? SessionLines(log, clock: clock)
  }

  /// A line about somebody of this address, who has no session.
  public func write(_ level: LogLevel, _ event: Event, of peer: SocketAddress?, _ fields: () -> LogFields) {
    strangers.write(level, event.rawValue, of: peer) { of(door, fields()) }
  }

  /// A line about somebody who has a session, or asks for one. `door`: another name that the door has.
  public func write(
    _ level: LogLevel, _ event: Event, of subject: LineSubject, door: String? = nil, _ fields: () -> LogFields
  ) {
    sessions.write(level, event.rawValue, of: subject) { of(door ?? self.door, fields()) }
  }

  /// Says how many lines about strangers were left out, once a minute at most.
  public func tell() { strangers.tell() }

  private func of(_ door: String, _ fields: LogFields) -> LogFields {
    LogFields([("door", LogValue(door))] + fields.pairs)
  }
}
