// Coming back without one's resume token, where nobody proves who they are: from the network of the old session, once its socket is gone
// or owes an answer, and its media has been silent for as long. For everybody else the seat is taken until the grace is over.
//
//   takeover ─▶ same network? socket gone? ─▶ askSilence ─▶ workers ─▶ silence ─▶ served, or refused with the time to wait

import Basics
import Calls
import Members
import RoostProtocol

/// Requests that wait until it is known for how long the media of a seat are silent.
struct Takeovers: Sendable {
  enum Request: Sendable {
    case request(RoostProtocol.Request, about: SeatID)
    case hello(RequestID, HelloParams, Identity, about: SeatID)
  }

  private var waiting: [Asker: Request] = [:]

  var isEmpty: Bool { waiting.isEmpty }

  mutating func take(_ asker: Asker) -> Request? { waiting.removeValue(forKey: asker) }

  mutating func forget(_ asker: Asker) { waiting[asker] = nil }
}

/// What the workers have said of the media of a seat.
struct MediaSilence: Sendable {
  let seat: SeatID
  /// Since something authentic came; nil where nothing ever has.
  let time: TimeDelta?
}

/// Somebody who comes back to an old session without its token.
struct Returner {
  let identity: Identity
  /// From where they are connected.
  let network: PeerNetwork?
  /// Whose place they want, and that one's seat.
  let old: MemberFacts
  let seat: SeatID?
  /// What is known of the old session's media; nil where nobody has asked.
  let silence: MediaSilence?
}

/// Whether one who has not the token may take the place of an old session.
enum Comeback {
  /// It is refused as ever.
  case no
  /// The old session may be alive still: ask again after so many milliseconds.
  case later(Int64)
  /// That depends on the media of this seat.
  case ask(SeatID)
  case yes

  /// When it is worth asking again where the old socket stands: its next ping, and the time for the answer, are somewhere ahead.
  private static let lookAgain: Int64 = 2_000

  init(_ returner: Returner, _ limit: TimeDelta, at now: Instant) {
    guard returner.identity.mayComeBack, let network = returner.network, returner.old.identity.mayComeBack,
      returner.old.presence.reachedFrom == network
    else {
      self = .no
      return
    }
    self = Self.judge(returner, limit, at: now)
  }

  private static func judge(
    _ returner: Returner, _ limit: TimeDelta, at now: Instant
  ) -> Comeback {
    let (old, silence) = (returner.old.presence, returner.silence)
    guard !old.isConnected || old.isOverdue else { return .later(lookAgain) }
    if let seat = returner.seat {
      guard let silence else { return .ask(seat) }
      guard silence.seat == seat else { return .later(lookAgain) }
    }
    // Who has sent no media yet was heard last when the socket ended; one that owes an answer has owed it for as long.
    let quiet = silence?.time ?? old.lostAt.map { now - $0 } ?? limit
    return quiet >= limit ? .yes : .later((limit - quiet).milliseconds + 1)
  }
}

extension Identity {
  /// Whether its name is its only proof, and its sessions have a socket each: only of such can it be told whether it is silent.
  fileprivate var mayComeBack: Bool { !isVerified && entrance == .native }
}

extension Takeovers {
  /// Whether a request may take the place of an old session without its token. Nil: its answer comes when workers have said how silent
  /// the media are.
  /// - Throws: `refusal`, with the time to wait where waiting helps.
  mutating func admits(
    _ returner: Returner, _ asker: Asker, refusal: ErrorObject, _ request: (SeatID) -> Request,
    _ rules: ConferenceRules, _ step: inout Step
  ) throws(ErrorObject) -> Bool? {
    switch Comeback(returner, rules.takeoverSilence, at: step.now.instant) {
    case .no: throw refusal
    case .later(let wait):
      var refusal = refusal
      refusal.data.retryable = true
      refusal.data.retryAfterMs = wait
      throw refusal
    case .ask(let seat):
      waiting[asker] = request(seat)
      step.add(.askSilence(asker, seat))
      return nil
    case .yes:
      step.log("came_back", ["user": returner.identity.user, "session": "\(returner.old.session)"])
      return true
    }
  }

  /// - Throws: 3003 where a connection has a session, or a hello that waits.
  func checkHello(on connection: ConnectionID, _ sessions: SessionTable) throws(ErrorObject) {
    if sessions[on: connection] != nil { throw ErrorObject(.invalidState, "This connection has its session.") }
    if waiting[.hello(connection)] != nil {
      throw ErrorObject(.invalidState, "The hello of this connection waits for its answer.")
    }
  }
}

/// A request for the leg that another device of its user has in a call.
struct LegWish {
  let callId: String
  let isTakeover: Bool
  let token: String?

  /// Nil for a request that wants none.
  init?(_ request: CallRequest) {
    switch request {
    case .accept(let params):
      (callId, isTakeover, token) = (params.callId, params.takeover == true, params.resumeToken)
    case .join(let params):
      (callId, isTakeover, token) = (params.callId, params.takeover == true, params.resumeToken)
    case .get, .current, .available, .history, .start, .ringing, .reject, .cancel, .hangup, .invite, .cancelInvite,
      .mediaChange, .end:
      return nil
    }
  }

  /// The session that has the leg; nil where it is no other's, or the session's own predecessor's.
  private func holder(_ session: Session, _ calls: Switchboard) -> SessionID? {
    calls.legToTakeOver(callId, by: session.id.device).map { SessionID($0) }
  }

  /// Whether its token shows that it may have the leg.
  func isProved(_ session: Session, _ calls: Switchboard, _ sessions: SessionTable) -> Bool {
    holder(session, calls).map { sessions.mayReplace($0, session.identity, token: token) } ?? false
  }

  /// Who comes back to it without such proof; nil where there is nothing to ask about, and the switchboard decides.
  func returner(
    _ session: Session, _ silence: MediaSilence?, _ calls: Switchboard, _ sessions: SessionTable,
    _ rules: ConferenceRules, at now: Instant
  ) -> Returner? {
    guard isTakeover, let id = holder(session, calls), session.predecessor != id, let old = sessions[id] else {
      return nil
    }
    let returner = Returner(
      identity: session.identity, network: session.line.reachedFrom, old: old.facts, seat: old.seat, silence: silence)
    if case .no = Comeback(returner, rules.takeoverSilence, at: now) { return nil }
    return returner
  }
}

extension ConferenceCore {
  /// Workers have said for how long a seat's media are silent: what has waited for that is served.
  mutating func silenceTold(to asker: Asker, _ time: TimeDelta?, _ step: inout Step) {
    guard let waiting = takeovers.take(asker) else { return }
    switch (asker, waiting) {
    case (.request(let key), .request(let request, let seat)):
      // Its session may be gone by now.
      guard sessions.table[key.session] != nil else { return }
      serve(request, key, MediaSilence(seat: seat, time: time), &step)
    case (.hello(let connection), .hello(let id, let params, let identity, let seat)):
      step.subject = LineSubject(identity)
      do throws(ErrorObject) {
        try takeovers.checkHello(on: connection, sessions.table)
        try hello(params, of: identity, id: id, on: connection, MediaSilence(seat: seat, time: time), &step)
      } catch {
        step.add(.reply(connection, id, .failure(error)))
      }
    case (.request, .hello), (.hello, .request): break
    }
  }
}
