// What the application is asked, and what comes of its answer.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

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
}

extension AskedAction {
  /// Says no to one of a session.
  fileprivate func refuse(_ key: RequestKey, _ error: ErrorObject, _ step: inout Step) {
    kind.count(refusal: error, &step)
    step.send(
      .sessions(.noteRefusal(key, method: kind.rawValue, room: action.wish.request?.roomName, error)))
    step.answer(key, .failure(error))
  }

  /// Says no to a hello.
  fileprivate func refuse(
    _ id: RequestID, on connection: ConnectionID, _ identity: Identity, _ error: ErrorObject, _ step: inout Step
  ) {
    kind.count(refusal: error, &step)
    let fields = [("user", identity.user), ("code", error.code.name)]
    step.send(.sessions(.refusalLine("hello_refused", fields.map { .init(name: $0.0, value: $0.1) }, identity)))
    step.add(.reply(connection, id, .failure(error)))
  }
}

extension Action.Wish {
  /// As the switchboard takes it: a join of a call, and a start that leads into one that there is, are answers.
  fileprivate func asAnswer(_ calls: Switchboard, from device: DeviceID) -> Action.Wish {
    switch self {
    case .request(.call(.join(let join)), let network):
      .request(.call(.accept(CallAcceptParams(join))), from: network)
    case .request(.call(.start(let start)), let network):
      if let call = calls.entered(by: start, from: device) {
        .request(.call(.accept(CallAcceptParams(start, answering: call))), from: network)
      } else {
        self
      }
    case .request, .stream, .hello, .token, .operate: self
    }
  }

  /// What refuses it where the seat is not there for which it was meant.
  fileprivate var withoutSeat: ErrorObject {
    let isOfCall = if case .request(.call, _) = self { true } else { false }
    return ErrorObject(isOfCall ? .notInCall : .notJoined)
  }
}

extension CallAcceptParams {
  fileprivate init(_ join: CallJoinParams) {
    self.init(
      callId: join.callId, media: join.media, takeover: join.takeover, resumeToken: join.resumeToken,
      metadata: join.metadata, autoSubscribe: join.autoSubscribe)
  }

  fileprivate init(_ start: CallStartParams, answering call: CallID) {
    self.init(
      callId: call.text, media: start.media, push: start.push, metadata: start.metadata,
      autoSubscribe: start.autoSubscribe)
  }
}

extension Question {
  /// What the application is to be asked first; nil for most.
  fileprivate init?(about action: Action, _ core: ConferenceCore, at now: Now) {
    let kinds = core.rules.questions.kinds
    if kinds.isEmpty { return nil }
    switch (action.who, action.wish) {
    case (.session(let key), let wish):
      guard let member = core.sessions.facts(of: key.session) else { return nil }
      let asker = Asker(
        member.identity, device: core.sessions.device(of: key.session), in: core.sessions.place(of: key.session)?.room
      )
      guard let question = Question(wish.asAnswer(core.calls, from: key.session.device), of: asker),
        kinds.contains(question.kind), question.isOpen(to: member, as: wish, core, at: now)
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
  private func isOpen(to member: MemberFacts, as asked: Action.Wish, _ core: ConferenceCore, at now: Now) -> Bool {
    let (session, calls) = (member.session, core.calls)
    do throws(ErrorObject) {
      if case .request(.call(.start(let params)), _) = asked {
        try member.checkCall()
        try member.checkCap(calling: params.to)
      }
      switch wish {
      case .hello: return true
      case .join(let params): return try core.rooms.mightSeat(member, params, now)
      case .publish(let tracks): return core.rooms.mayPublish(tracks, from: session, at: now.instant)
      // The same call said again is no other. Where it leads its caller into it, it is an answer.
      case .callStart(let params): return !calls.isRunning(named: params.clientCallId, by: session.device)
      case .callInvite: try member.checkInvite()
      case .callAccept(let params):
        let isJoin = if case .request(.call(.join), _) = asked { true } else { false }
        if isJoin || calls.wouldJoin(params, session.device, at: now) {
          try CallEntry.check(params.callId, member, core, at: now)
        }
        if calls.mightEnter(params, session.device, at: now) { return true }
        return try Renewals.check(of: session, in: params.callId, params.metadata, core.rooms)
      }
      return true
    } catch {
      return false
    }
  }
}

extension SessionRate {
  /// What a wish takes of the rates of its session; nil: nothing. Who has no seat pays for no views, as they are refused.
  init?(_ wish: Action.Wish, of session: SessionID, _ rooms: Rooms) {
    switch wish {
    case .request(.peerConnection(.offer), _): self = .offer
    case .request(.view(.show(let params)), _): self = .shows(params.views.count, "changing views")
    case .stream(let request):
      guard let views = try? rooms.views(on: request.shown, of: session), let rate = request.rate(views: views) else {
        return nil
      }
      self = rate
    case .request, .hello, .token, .operate: return nil
    }
  }
}

extension GoingOn {
  /// Who is not connected takes no seat: what they have waited with goes on when they are back.
  func isThere(_ core: ConferenceCore) -> Bool {
    switch self {
    case .session(let id): core.sessions.isConnected(id)
    case .hello: true
    }
  }

  /// The seat that they have.
  fileprivate func seat(_ core: ConferenceCore) -> SeatID? {
    if case .session(let id) = self { core.sessions.place(of: id)?.seat } else { nil }
  }
}

extension ConferenceCore {
  /// The application has said something about an action, or patience is over. It has held nothing meanwhile, and all checks are made on what
  /// is true now; what waits behind it goes on in order.
  mutating func answered(_ ticket: Ticket, _ answer: QuestionAnswer, _ step: inout Step) {
    guard case .action(let asked)? = storing.waiters[ticket] else { return }
    _ = storing.tickets.settle(ticket)
    let action = asked.action
    let behind = asking.end(ticket, of: action.who).map { Asking.Ready($0) }
    let refusal = answer.refusal(rules.questions)
    let allowed = asked.changed(by: answer)
    let first = refusal == nil ? [Asking.Ready(allowed.action, .allowed(allowed))] : []
    switch (action.who, action.wish) {
    case (.session(let key), _):
      if let refusal { asked.refuse(key, refusal, &step) }
      asking.makeReady(first + behind, of: .session(key.session))
    case (.connection(let connection, let id), .hello(_, let identity)):
      if let refusal { asked.refuse(id, on: connection, identity, refusal, &step) }
      asking.makeReady(first, of: .hello(connection))
    case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
      (.operator, _):
      break
    }
  }

  /// What has waited goes on, one in a step: SDP negotiation and what workers are asked end a step, and may follow from each.
  mutating func goOn(_ who: GoingOn, _ step: inout Step) {
    guard who.isThere(self), let (next, before) = asking.popReady(of: who, on: who.seat(self)) else { return }
    asking.release(who)
    switch next.past {
    case .heard(let silence): perform(next.action, silence, &step)
    case .allowed(let asked): commit(asked, &step)
    case .behind(let aim): goOn(next.action, aim, on: who.seat(self), before: before, &step)
    }
  }

  /// What has waited behind another is done on the seat that it was meant for. What waited for that seat takes now what it takes of the rates
  /// of its session.
  private mutating func goOn(
    _ action: Action, _ aim: Aim, on seat: SeatID?, before: SeatID?, _ step: inout Step
  ) {
    guard case .session(let key) = action.who else { return }
    if asking.enqueueAgain(action, aim, of: key.session) { return }
    guard aim.allows(seat, before: before) else {
      return step.refuse(action, action.wish.withoutSeat)
    }
    if case .seat = aim { chargeSession(action, key, &step) } else { askOrPerform(action, &step) }
  }

  /// One that the application has allowed. On another seat, or in another room, it is not what was asked; and what has become another question is asked anew.
  private mutating func commit(_ asked: AskedAction, _ step: inout Step) {
    let action = asked.action
    guard case .session(let key) = action.who else { return perform(action, nil, &step) }
    if let wanted = asked.place, wanted != sessions.place(of: key.session) {
      return asked.refuse(key, action.wish.withoutSeat, &step)
    }
    guard let question = Question(about: action, self, at: step.now), !asked.covers(question) else {
      return perform(action, nil, &step)
    }
    askOrPerform(action, as: asked.matter, &step)
  }

  /// Waits behind what is about the same, or for the application; else it is performed at once. `matter`: as what it waits, where that is known.
  mutating func askOrPerform(_ action: Action, as matter: Matter? = nil, _ step: inout Step) {
    if rules.questions.kinds.isEmpty, !asking.keepsOthersWaiting { return perform(action, nil, &step) }
    let order = matter.map { .about($0) } ?? Order(action, self)
    do throws(ErrorObject) {
      if case .session(let key) = action.who {
        switch try asking.enqueue(action, order, of: key.session) {
        case .free: break
        case .behind: return
        case .instead(let others, let ticket):
          if let ticket { takeBack(ticket, &step) }
          for other in others { step.refuse(other, Asking.tooMany) }
        }
      }
      guard let question = Question(about: action, self, at: step.now) else { return perform(action, nil, &step) }
      try ask(question, about: action, as: order.matter, &step)
    } catch {
      step.refuse(action, error)
    }
  }

  /// Nobody waits for an answer any more.
  mutating func takeBack(_ ticket: Ticket, _ step: inout Step) {
    if storing.tickets.settle(ticket) != nil { step.add(.takeBack(ticket)) }
  }

  /// Asks the application. As its matter it keeps others waiting meanwhile.
  private mutating func ask(
    _ question: Question, about action: Action, as matter: Matter?, _ step: inout Step
  ) throws(ErrorObject) {
    let bytes = try asking.check(action)
    var place: MemberPlace?
    if case .session(let key) = action.who { place = sessions.place(of: key.session) }
    let asked = AskedAction(action, question, at: place, as: matter)
    let ticket = storing.tickets.make(for: .action(asked), rules.questions.patience, &step)
    asking.add(ticket, asked, bytes)
    step.add(.ask(ticket, question))
  }
}
