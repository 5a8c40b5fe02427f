// What can go wrong for a client, with the server's own code and name where it was the server that said no.
import RoostProtocol

/// Why a request, or the whole session, did not work.
public enum RoostError: Error, Hashable, Sendable {
  /// The server refused; code, name and data are the protocol's.
  case refused(ErrorObject)
  /// No reply came in time. The server may have carried the request out.
  case timedOut(Method)
  /// The server could not be reached.
  case unreachable(String)
  /// The session is over: by us, by the server, or because it could not be resumed.
  case closed(SessionEnd)
  /// The task that waited was cancelled. The server may have carried the request out.
  case cancelled
  /// The server's reply is not what the protocol says.
  case unexpectedReply(Method)

  /// The protocol's error code, when the server refused.
  public var code: Int? { if case .refused(let error) = self { error.code.rawValue } else { nil } }

  /// The server's error with its data, such as what became of a call, when the server refused.
  public var refusal: ErrorObject? { if case .refused(let error) = self { error } else { nil } }

  /// A short constant name: the protocol's (`ROOM_FULL`) when the server refused.
  public var name: String {
    switch self {
    case .refused(let error): error.data.name
    case .timedOut: "TIMED_OUT"
    case .unreachable: "UNREACHABLE"
    case .closed: "CLOSED"
    case .cancelled: "CANCELLED"
    case .unexpectedReply: "UNEXPECTED_REPLY"
    }
  }
}

extension RoostError: CustomStringConvertible {
  /// A sentence for people.
  public var description: String {
    switch self {
    case .refused(let error): "\(error.message) (\(error.data.name), \(error.code.rawValue))"
    case .timedOut(let method): "No reply to \(method.rawValue) came in time."
    case .unreachable(let reason): "The server cannot be reached: \(reason)"
    case .closed(let end): end.description
    case .cancelled: "The request was given up."
    case .unexpectedReply(let method): "The reply to \(method.rawValue) is not what it should be."
    }
  }
}

/// Why a session is over for good.
public enum SessionEnd: Hashable, Sendable, CustomStringConvertible {
  /// `close()` was called.
  case byUs
  /// A newer session of the same device took over.
  case replaced
  /// The server asked not to come back.
  case stopped(String)
  /// The session could not be resumed, and was not to be begun anew.
  case expired(ErrorObject)
  /// The server could not be reached again in the time allowed.
  case lost(String)

  /// A sentence for people.
  public var description: String {
    switch self {
    case .byUs: "The session was closed."
    case .replaced: "Another session of this device took over."
    case .stopped(let reason): "The server ended the session: \(reason)"
    case .expired(let error): "The session could not be resumed: \(error.message)"
    case .lost(let reason): "The connection was lost for too long: \(reason)"
    }
  }
}
