// One connection's state at the front door: what passes, what is refused, and when it is enough. Pure.
import Basics
import DoorKit
import Members
import RoostProtocol

/// Judges each message of a connection. Each input returns what to do about it.
struct ConnectionGate: Sendable {
  /// What came.
  enum Input {
    case frame(ClientFrame)
    case batch
    /// It was not read, since too many bytes came from its address.
    case unread(wait: Int64)
    case oversized(limit: Int)
    case binary
  }

  /// What to do.
  enum Action: Equatable {
    case forward(RequestID, Request)
    case refuse(RequestID?, ErrorObject)
    /// Refuse, then close with 1008 and this reason.
    case refuseAndClose(RequestID?, ErrorObject, reason: String)
    case ignore
  }

  private enum Phase {
    /// No session yet; since when.
    case waiting(since: Instant)
    case open
    case closing
  }

  private let limits: DoorLimits
  private var phase: Phase
  /// Whose lines about it are, once they have said hello.
  var subject: LineSubject?
  /// Whether there was a session on the connection.
  private(set) var hadSession = false
  private var pace: MessagePace
  /// What its tokens have come to.
  var tries = TokenTries()
  private var unanswered: Set<RequestID> = []
  private var unansweredMessages: Set<RequestID> = []
  /// Questions of others that were told, and that nothing was answered to yet.
  private var questions = 0
  /// The resume that waits for its reply, of a connection without a session.
  private(set) var resume: RequestID?

  init(limits: DoorLimits, now: Instant) {
    self.limits = limits
    phase = .waiting(since: now)
    pace = MessagePace(limits: limits, now: now)
  }

  mutating func judge(_ input: Input, at now: Instant) -> Action {
    if case .closing = phase { return .ignore }
    switch input {
    case .frame(.request(let id, let request)): return pass(id, request, now)
    case .frame(.invalid(let id, _, let error)): return bad(id, error, now)
    case .batch:
      return bad(nil, ErrorObject(.invalidRequest, "Batches are not served: send one request in each frame."), now)
    case .unread(let wait): return refusal(pace.unread(wait: wait), nil) ?? .ignore
    case .oversized(let limit): return bad(nil, Self.tooLarge(limit), now)
    case .binary:
      return bad(nil, ErrorObject(.invalidRequest, "Binary frames are not served: send JSON as text."), now)
    }
  }

  /// The reply to a request is on its way.
  mutating func answered(_ id: RequestID) {
    unanswered.remove(id)
    unansweredMessages.remove(id)
    if resume == id { resume = nil }
  }

  /// Somebody asks whoever is here: one answer is no matter of their pace.
  mutating func asked() { questions = min(questions + 1, limits.dataBurst) }

  /// The connection has a session now.
  mutating func began() {
    pace.admit()
    hadSession = true
    if case .waiting = phase { phase = .open }
  }

  /// Nothing more is to be heard of it.
  mutating func close() { phase = .closing }

  /// Whether the connection has been without a session for too long, and is to be closed: said once.
  mutating func isIdle(at now: Instant) -> Bool {
    guard case .waiting(let since) = phase, now - since > limits.helloTimeout else { return false }
    phase = .closing
    return true
  }

  private mutating func pass(_ id: RequestID, _ request: Request, _ now: Instant) -> Action {
    let isData = if case .message = request { true } else { false }
    if case .message(.answer) = request, questions > 0 {
      questions -= 1
      pace.answer()
    } else {
      let verdict = isData && hadSession ? pace.data(at: now) : pace.message(request.weight, at: now)
      if let action = refusal(verdict, id) { return action }
    }
    if tries.isWaiting, request.hasToWait(hadSession) {
      return .refuse(id, Self.rateLimited("A token of this connection waits to be looked at.", wait: Self.tokenWait))
    }
    // As many messages as come at once may wait, and no more than that while the core is late.
    let isFull =
      isData
      ? !Self.add(id, to: &unansweredMessages, most: limits.dataUnanswered)
      : !Self.add(id, to: &unanswered, most: limits.unanswered)
    if isFull {
      let most = isData ? limits.dataUnanswered : limits.unanswered
      return .refuse(id, Self.rateLimited("\(most) requests wait for their replies.", wait: 1000))
    }
    if case .session(.resume) = request, case .waiting = phase { resume = id }
    return .forward(id, request)
  }

  /// - Returns: false where it is one too many.
  private static func add(_ id: RequestID, to waiting: inout Set<RequestID>, most: Int) -> Bool {
    guard waiting.count < most || waiting.contains(id) else { return false }
    waiting.insert(id)
    return true
  }

  private mutating func bad(_ id: RequestID?, _ error: ErrorObject, _ now: Instant) -> Action {
    refusal(pace.wrong(at: now), id, error) ?? .refuse(id, error)
  }

  /// Nil for a message that comes in time.
  private mutating func refusal(_ verdict: MessagePace.Verdict, _ id: RequestID?, _ error: ErrorObject? = nil)
    -> Action?
  {
    switch verdict {
    case .inTime: nil
    case .tooFast(let wait): .refuse(id, Self.rateLimited(nil, wait: wait))
    case .muchTooFast(let wait, let reason): close(id, Self.rateLimited(nil, wait: wait), reason)
    case .wrongTooOften(let reason): close(id, error ?? ErrorObject(.invalidRequest), reason)
    }
  }

  private mutating func close(_ id: RequestID?, _ error: ErrorObject, _ reason: String) -> Action {
    phase = .closing
    return .refuseAndClose(id, error, reason: reason)
  }

  /// When something may come again that a token has to be looked at before, in milliseconds.
  private static let tokenWait: Int64 = 500

  private static func rateLimited(_ message: String?, wait: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, message) { $0.retryAfterMs = wait }
  }

  private static func tooLarge(_ limit: Int) -> ErrorObject {
    ErrorObject(.tooLarge, "The message is larger than \(limit) bytes.") {
      $0.field = "frame"
      $0.limit = limit
    }
  }
}

extension Request {
  /// Whether it has to wait until a token was looked at: another one, and without a session whatever needs one.
  fileprivate func hasToWait(_ hasSession: Bool) -> Bool {
    switch self {
    case .session(.hello), .session(.token): true
    case .session(.ping), .session(.bye): false
    case .session(.resume), .userQuery, .block, .room, .chat, .message, .peerConnection, .track, .subscription, .view,
      .call:
      !hasSession
    }
  }
}
