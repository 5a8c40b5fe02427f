// Actions that wait for the application's word, and those that wait behind them.
//
//   action ─▶ right? ─▶ ask ─▶ ticket ─▶ yes, no, nothing ─▶ perform, with all checks anew ─▶ those behind it, in order
//                        └──── later actions of the session about the same room or call

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

/// What an action of a session is about: those about the same are served in order.
enum Matter: Hashable, Sendable {
  /// A room that is no call's.
  case room(String)
  /// A call.
  case call(String)
  /// A call that is to be.
  case newCall
  /// A media connection of one's seat.
  case connection(MediaConnectionID)
  /// One's seat, wherever that is by then.
  case seat
}

/// All actions that wait.
struct Asking: Sendable {
  /// Questions about the actions of one session at once, and actions that wait behind one. Raising it lets each session hold so much more.
  static let most = 16

  /// One that is asked about, and what waits behind it.
  private struct Queue: Sendable {
    let ticket: Ticket
    /// Whether a seat may come of it: what one wants to do on a seat waits for that.
    let givesSeat: Bool
    var behind: [Action] = []
  }

  private var queues: [SessionID: [Matter: Queue]] = [:]
  private var hellos: [ConnectionID: Ticket] = [:]
  /// What has waited and goes on, each in a step of its own; what is a session's, once that is connected.
  private var ready: [GoingOn: [Ready]] = [:]
  /// Those who may go on when this step is over.
  private var released: Set<GoingOn> = []

  /// What has waited.
  struct Ready: Sendable {
    let action: Action
    /// Whether the application has allowed it.
    let isAnswered: Bool
  }

  /// Whether nothing waits.
  var isEmpty: Bool { queues.isEmpty && hellos.isEmpty && ready.isEmpty }

  /// Behind what an action has to wait; nil where it need not.
  private func first(before matter: Matter, of session: SessionID) -> Matter? {
    guard let own = queues[session] else { return nil }
    if own[matter] != nil { return matter }
    switch matter {
    case .room, .call, .newCall: return nil
    // The newest is where the seat will be.
    case .connection, .seat: return own.filter { $0.value.givesSeat }.max { $0.value.ticket < $1.value.ticket }?.key
    }
  }

  /// Puts an action behind another about the same; false where there is none.
  /// - Throws: 1006 where so many wait there already.
  mutating func enqueue(_ action: Action, about matter: Matter, of session: SessionID) throws(ErrorObject) -> Bool {
    guard let matter = first(before: matter, of: session), let count = queues[session]?[matter]?.behind.count else {
      return false
    }
    guard count < Self.most else { throw Self.tooMany }
    queues[session]?[matter]?.behind.append(action)
    return true
  }

  /// - Throws: 1006 where so many of a session are asked about already, 3003 where the hello of a connection is.
  func check(_ who: Action.Who) throws(ErrorObject) {
    switch who {
    case .session(let key): if queues[key.session]?.count ?? 0 >= Self.most { throw Self.tooMany }
    case .connection(let connection, _):
      if hellos[connection] != nil || ready[.hello(connection)] != nil {
        throw ErrorObject(.invalidState, "The hello of this connection waits for its answer.")
      }
    case .operator: break
    }
  }

  static var tooMany: ErrorObject {
    ErrorObject(.rateLimited, "\(most) of your requests wait for an answer; try again later.") { $0.limit = most }
  }

  /// An action is asked about.
  mutating func add(_ ticket: Ticket, _ kind: Question.Kind, _ action: Action) {
    switch action.who {
    case .session(let key):
      guard let matter = action.wish.matter else { return }
      queues[key.session, default: [:]][matter] = Queue(ticket: ticket, givesSeat: kind.givesSeat)
    case .connection(let connection, _): hellos[connection] = ticket
    case .operator: break
    }
  }

  /// It has its answer. What waits behind it.
  mutating func end(_ ticket: Ticket, of who: Action.Who) -> [Action] {
    switch who {
    case .session(let key):
      guard var own = queues[key.session], let queue = own.first(where: { $0.value.ticket == ticket }) else {
        return []
      }
      own[queue.key] = nil
      queues[key.session] = own.isEmpty ? nil : own
      return queue.value.behind
    case .connection(let connection, _): hellos[connection] = nil
    case .operator: break
    }
    return []
  }

  /// A session is over, and with it all that it waits for.
  mutating func forget(_ session: SessionID) -> [Ticket] {
    ready[.session(session)] = nil
    return queues.removeValue(forKey: session)?.values.map(\.ticket) ?? []
  }

  /// These go on, behind all that does already.
  mutating func makeReady(_ actions: [Ready], of who: GoingOn) {
    if !actions.isEmpty { ready[who, default: []] += actions }
    release(who)
  }

  /// How much of a session goes on when it is connected.
  func readyCount(of session: SessionID) -> Int { ready[.session(session)]?.count ?? 0 }

  /// Whose hello goes on on a connection; nil: nobody's.
  func hello(on connection: ConnectionID) -> Identity? {
    if case .hello(_, let identity)? = ready[.hello(connection)]?.first?.action.wish { identity } else { nil }
  }

  /// What they have waited with may go on.
  mutating func release(_ who: GoingOn) { if ready[who] != nil { released.insert(who) } }

  /// Those with whom something is to go on behind this step, in order.
  mutating func takeReleased() -> [GoingOn] {
    if released.isEmpty { return [] }
    defer { released = [] }
    return released.filter { ready[$0] != nil }.sorted()
  }

  /// What goes on next.
  mutating func popReady(of who: GoingOn) -> Ready? {
    guard let next = ready[who]?.removeFirst() else { return nil }
    if ready[who]?.isEmpty == true { ready[who] = nil }
    return next
  }

  /// Whether the hello of a connection waits, or goes on.
  func holds(_ connection: ConnectionID) -> Bool {
    hellos[connection] != nil || ready[.hello(connection)] != nil
  }

  /// A connection is over, and with it its hello.
  mutating func forget(_ connection: ConnectionID) -> Ticket? {
    ready[.hello(connection)] = nil
    return hellos.removeValue(forKey: connection)
  }
}

extension Question.Kind {
  /// Counts one that the application has refused, or nobody has answered, as any other of its kind.
  fileprivate func count(refusal error: ErrorObject, _ step: inout Step) {
    switch self {
    case .hello: step.count(.sessionRefused(error.code))
    case .join: step.count(.joinRefused(error.code))
    case .publish: step.count(.publishRefused(error.code))
    case .callStart, .callInvite, .callAccept: break
    }
  }

  /// Whether a seat may come of it.
  fileprivate var givesSeat: Bool {
    switch self {
    case .join, .callStart, .callAccept: true
    case .hello, .publish, .callInvite: false
    }
  }
}

extension StreamRequest {
  fileprivate var connection: MediaConnectionID {
    switch self {
    case .publish(let connection, _), .play(let connection, _, _, _), .show(let connection, _),
      .close(let connection):
      connection
    }
  }
}

extension Question {
  /// What the application is to be asked first; nil for most.
  fileprivate init?(about action: Action, _ core: ConferenceCore, at now: Now) {
    let kinds = core.rules.questions.kinds
    switch (action.who, action.wish) {
    case (.session(let key), let wish):
      guard let member = core.sessions.facts(of: key.session) else { return nil }
      let asker = Asker(
        user: member.user, device: core.sessions.device(of: key.session), in: core.sessions.place(of: key.session)?.room
      )
      guard let question = Question(wish, of: asker), kinds.contains(question.kind),
        question.isOpen(to: member, core, at: now)
      else { return nil }
      self = question
    case (.connection(let connection, _), .hello(let params, let identity)):
      guard kinds.contains(.hello), core.sessions.mayBegin(identity, on: connection) else { return nil }
      self.init(params, of: identity)
    case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
      (.operator, _):
      return nil
    }
  }

  /// Whether rules let it come to the question. Where they do not, it is performed at once: they say no in their own words.
  private func isOpen(to member: MemberFacts, _ core: ConferenceCore, at now: Now) -> Bool {
    let (session, calls) = (member.session, core.calls)
    do throws(ErrorObject) {
      switch wish {
      case .hello: return true
      case .join(let params):
        return try core.rooms.mightSeat(member, params, now)
      case .publish(let tracks): return core.rooms.mayPublish(tracks, from: session, at: now.instant)
      case .callStart(let params):
        try member.checkCall()
        try member.checkCap(calling: params.to)
        // The same call said again is no other.
        return !calls.isRunning(named: params.clientCallId, by: session.device)
      case .callInvite: try member.checkInvite()
      case .callAccept(let params):
        let call = try calls.get(CallParams(callId: params.callId), from: session.device, at: now)
        return call.state != .ended
      }
      return true
    } catch {
      return false
    }
  }
}

extension ConferenceCore {
  /// The application has said something about an action, or patience is over. It has held nothing meanwhile, and all checks are made on what
  /// is true now; what waits behind it goes on in order.
  mutating func answered(_ ticket: Ticket, _ answer: QuestionAnswer, _ step: inout Step) {
    guard case .action(let action, let kind)? = storing.waiters[ticket] else { return }
    _ = storing.tickets.settle(ticket)
    let behind = asking.end(ticket, of: action.who)
    let refusal = answer.refusal(rules.questions)
    if let refusal { kind.count(refusal: refusal, &step) }
    switch (action.who, action.wish) {
    case (.session(let key), let wish):
      var next = behind.map { Asking.Ready(action: $0, isAnswered: false) }
      if let refusal {
        step.send(.sessions(.noteRefusal(key, method: kind.rawValue, room: wish.request?.roomName, refusal)))
        step.answer(key, .failure(refusal))
      } else {
        next.insert(Asking.Ready(action: action, isAnswered: true), at: 0)
      }
      asking.makeReady(next, of: .session(key.session))
    case (.connection(let connection, let id), .hello(_, let identity)):
      guard let refusal else {
        return asking.makeReady([Asking.Ready(action: action, isAnswered: true)], of: .hello(connection))
      }
      let fields = [("user", identity.user), ("code", refusal.code.name)]
      step.send(
        .sessions(.refusalLine("hello_refused", fields.map { .init(name: $0.0, value: $0.1) }, identity)))
      step.add(.reply(connection, id, .failure(refusal)))
    case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
      (.operator, _):
      break
    }
  }

  /// Whether a session has a socket.
  func isConnected(_ session: SessionID) -> Bool { sessions.isConnected(session) }

  /// Who is not connected takes no seat: what they have waited with goes on when they are back.
  func mayGoOn(_ who: GoingOn) -> Bool {
    switch who {
    case .session(let id): isConnected(id)
    case .hello: true
    }
  }

  /// What has waited goes on, one in a step: SDP negotiation and what workers are asked end a step, and may follow from each.
  mutating func goOn(_ who: GoingOn, _ step: inout Step) {
    guard mayGoOn(who), let next = asking.popReady(of: who) else { return }
    asking.release(who)
    if next.isAnswered { perform(next.action, nil, &step) } else { askOrPerform(next.action, &step) }
  }

  /// Waits behind what is about the same, or for the application; else it is performed at once.
  mutating func askOrPerform(_ action: Action, _ step: inout Step) {
    guard !rules.questions.kinds.isEmpty else { return perform(action, nil, &step) }
    do throws(ErrorObject) {
      if case .session(let key) = action.who, let matter = action.wish.matter,
        try asking.enqueue(action, about: matter, of: key.session)
      {
        return
      }
      guard let question = Question(about: action, self, at: step.now) else { return perform(action, nil, &step) }
      try asking.check(action.who)
      let ticket = storing.tickets.make(for: .action(action, question.kind), rules.questions.patience, &step)
      asking.add(ticket, question.kind, action)
      step.add(.ask(ticket, question))
    } catch {
      step.refuse(action, error)
    }
  }
}

extension Action.Wish {
  /// What it is about; nil for what waits for nothing.
  var matter: Matter? {
    switch self {
    case .request(let request, _): request.matter
    case .stream(let request): .connection(request.connection)
    case .hello, .token, .operate: nil
    }
  }
}

extension Request {
  fileprivate var matter: Matter? {
    switch self {
    case .room, .chat:
      roomName.map { CallRoom.isName($0) ? .call(CallRoom.callId($0)) : .room($0) }
    case .peerConnection(.offer(let params)) where params.pc == .publish: .connection(.publish)
    case .peerConnection, .track, .subscription, .view: .seat
    case .call(let request): request.matter
    case .session, .userQuery, .block: nil
    }
  }
}

extension CallRequest {
  fileprivate var matter: Matter? {
    switch self {
    case .start: .newCall
    case .ringing(let params), .get(let params), .end(let params): .call(params.callId)
    case .accept(let params): .call(params.callId)
    case .reject(let params): .call(params.callId)
    case .cancel(let params): .call(params.callId)
    // Without a name it is the one that one is in.
    case .hangup(let params): params.callId.map { .call($0) } ?? .seat
    case .invite(let params): .call(params.callId)
    case .cancelInvite(let params): .call(params.callId)
    case .join(let params): .call(params.callId)
    case .mediaChange(let params): params.callId.map { .call($0) } ?? .seat
    case .current, .available, .history: nil
    }
  }
}
