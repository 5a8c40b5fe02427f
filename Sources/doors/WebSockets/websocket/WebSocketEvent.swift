// What a WebSocket tells its owner (RFC 6455), as values.
import Basics

/// Names one WebSocket for the life of the process; never used again after it is closed.
public struct WebSocketID: Hashable, Sendable, CustomStringConvertible {
  /// The number behind the name; 1 is the first.
  public var rawValue: UInt64
  /// The WebSocket of number `rawValue`.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// The number as text.
  public var description: String { String(rawValue) }
}

/// Who is at the other end of a WebSocket that has just opened.
public struct WebSocketPeer: Hashable, Sendable {
  /// The client's address, also where a trusted proxy has brought it; nil where that is unknown.
  public var address: SocketAddress?
  /// The `Origin` header of the request; browsers always send one, others need not.
  public var origin: String?

  /// A peer at `address`, from a page of `origin`.
  public init(address: SocketAddress?, origin: String?) {
    self.address = address
    self.origin = origin
  }
}

/// What happens on a WebSocket. For one socket the order is: `opened`, then any number of messages, then `closed`, each
/// delivered on the service thread. Nothing follows `closed`.
public enum WebSocketEvent: Sendable, Equatable {
  /// The handshake is done.
  case opened(WebSocketID, WebSocketPeer)
  /// A whole text message, which is valid UTF-8.
  case text(WebSocketID, [UInt8])
  /// Server only: a text message of one who is not admitted, of whose address too many bytes came. It is thrown away; the next may come
  /// after so many milliseconds.
  case unread(WebSocketID, wait: Int64)
  /// A text message above the size limit began; all of it is thrown away, and the socket stays open.
  case oversized(WebSocketID, limit: Int)
  /// A binary message began; all of it is thrown away, and the socket stays open.
  case binary(WebSocketID)
  /// For `WebSocketLimits.answerLimit` it has owed the answer to a ping; or, with false, something has come from it since that was said.
  case overdue(WebSocketID, Bool)
  /// The socket is of no more use, or (client only) could not be opened.
  case closed(WebSocketID, WebSocketClosure)

  /// The socket that the event is about.
  public var id: WebSocketID {
    switch self {
    case .opened(let id, _), .text(let id, _), .unread(let id, _), .oversized(let id, _), .binary(let id),
      .overdue(let id, _), .closed(let id, _):
      id
    }
  }
}

/// Why a WebSocket is gone.
public struct WebSocketClosure: Sendable, Equatable {
  /// The party or event that ended it.
  public enum Cause: String, Sendable, CaseIterable {
    /// The other side sent a close frame.
    case peer
    /// The TCP connection ended or broke without a close frame.
    case lost
    /// This side asked for it.
    case local
    /// Nothing came for too long, pings unanswered.
    case silent
    /// The other side does not read, and its output queue is full.
    case slowReader = "slow_reader"
    /// The process queued commands faster than the service thread could carry them out.
    case overloaded
    /// A text message, or the reason of a close frame, was not UTF-8 (close code 1007).
    case invalidText = "invalid_text"
    /// Server only: a frame was not masked (close code 1002).
    case unmasked
    /// Server only: a control frame, or a close frame's code, that nobody may send (close code 1002).
    case malformed
    /// Server only: control frames came too fast (close code 1008).
    case controlFrames = "control_frames"
    /// Server only: a message was not whole in time, or those of its address were too much (close code 4004).
    case unfinished
    /// The server or client service is being stopped.
    case stopping
    /// Client only: no connection, or the handshake was refused.
    case unreachable
  }

  /// The party or event that ended it.
  public var cause: Cause
  /// The close code of RFC 6455 §7.4: the peer's when `cause` is `peer` (1005 for a close frame without one), else ours;
  /// nil when no close frame was involved.
  public var code: UInt16?
  /// The peer's close reason, or what this side knows, for a log line. May hold anything that a peer can write.
  public var reason: String

  /// A closure with all its facts.
  public init(cause: Cause, code: UInt16? = nil, reason: String = "") {
    self.cause = cause
    self.code = code
    self.reason = reason
  }

  /// Whether the peer meant to go: it sent a close frame with code 1000 or 1001, or with none, which is what a
  /// page's plain `close()` sends.
  public var clean: Bool { cause == .peer && (code == 1000 || code == 1001 || code == 1005) }
}
