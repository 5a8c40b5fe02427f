// How every action begins, whoever asks and whatever for. Sessions know what came before and have rates, users and networks have budgets, and
// whoever owns what it is about performs it and replies.
//
//   Command, operate ─▶ Action ─▶ begin: known? ─▶ budget, rates ─▶ may it be asked? ─▶ ask ─▶ perform: right? ─▶ reply
//                                 (`Sessions`)                     (`Asking.swift`)              └─▶ workers' word ─▶ perform

import Basics
import Calls
import Members
import Names
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// Begins an action: known? → budget → right → ask → perform → reply. Operators have no window of requests, and no budget.
  mutating func begin(_ action: Action, _ step: inout Step) {
    switch action.who {
    case .connection: sessions.apply(.recognize(action), &step)
    case .session, .operator: charge(action, &step)
    }
  }

  /// What sessions hand on of actions.
  mutating func carryOn(_ message: ActionMessage, _ step: inout Step) {
    switch message {
    case .known(let action): charge(action, &step)
    case .charged(let action): askOrPerform(action, &step)
    case .awaitSilence(let action, let seat): asking.hold(action, about: seat, &step)
    case .heard(let action, let silence): heard(action, silence, &step)
    case .back(let session): asking.release(.session(session))
    case .over(let session): for ticket in asking.forget(session) { takeBack(ticket, &step) }
    case .closed(let connection): if let ticket = asking.forget(connection) { takeBack(ticket, &step) }
    case .replyAgain(let origin, let seat, let key, let connection):
      let result = Repeating.reply(origin, seat, key.session, self, step.now)
      step.send(.sessions(.repeated(key, on: connection, result)))
    case .awaitStored(let ticket, let message): storing.wait(.message(message), for: ticket, step.now)
    case .awaitToo(let key, let ticket): storing.wait(key, for: ticket)
    }
  }

  /// Takes what it weighs from budgets, once, whatever becomes of it. What it takes of the rates of its session is the session's to say: then
  /// it comes back.
  private mutating func charge(_ action: Action, _ step: inout Step) {
    do throws(ErrorObject) {
      try budgets.take(for: action, sessions, at: step.now)
    } catch {
      return step.refuse(action, error)
    }
    if case .session(let key) = action.who { chargeSession(action, key, &step) } else { askOrPerform(action, &step) }
  }

  /// Takes what it weighs from the rates of its session, which is the session's to say: then it comes back.
  mutating func chargeSession(_ action: Action, _ key: RequestKey, _ step: inout Step) {
    if let rate = SessionRate(action.wish, of: key.session, rooms) {
      step.send(.sessions(.charge(key, rate, then: action)))
    } else {
      askOrPerform(action, &step)
    }
  }

  /// Workers have said how silent somebody's media are. Who is not connected takes no seat: workers are asked again when they are back.
  private mutating func heard(_ action: Action, _ silence: MediaSilence, _ step: inout Step) {
    guard case .session(let key) = action.who else { return perform(action, silence, &step) }
    guard let behind = asking.endHold(of: key) else { return }
    let isThere = sessions.isConnected(key.session)
    if isThere, behind.isEmpty { return perform(action, silence, &step) }
    let first = Asking.Ready(action, .heard(isThere ? silence : nil))
    asking.makeReady([first] + behind.map { Asking.Ready($0) }, of: .session(key.session), isNext: true)
  }

  /// Performs it and replies, with all checks on what is true now. `silence`: what it has waited for.
  mutating func perform(_ action: Action, _ silence: MediaSilence?, _ step: inout Step) {
    do throws(ErrorObject) {
      switch (action.who, action.wish) {
      case (.operator(let who), .operate(let wish)): operate(wish, by: who, &step)
      case (.session(let key), .request(let request, _)):
        if let reply = try perform(request, key, silence, action.given, &step) { step.answer(key, .success(reply)) }
      case (.session(let key), .token(_, let identity)): sessions.apply(.renew(key, identity), &step)
      case (.session(let key), .stream(let request)):
        rooms.apply(.stream(request, key, action.given?.published), &step)
      case (.session, .hello): throw ErrorObject(.invalidState, "This connection has its session.")
      case (.connection(let connection, let id), .hello(let params, let identity)):
        var hello = Hello(params, of: identity, id: id, on: connection)
        hello.silence = silence
        sessions.apply(.hello(hello), &step)
      case (.connection(let connection, let id), .request(.session(.resume(let params)), let network)):
        sessions.apply(.resume(params, id, on: connection, from: network), &step)
      // Only `Command.hello` says whose hello it is.
      case (.connection, .request), (.connection, .token), (.connection, .stream), (.connection, .operate),
        (.session, .operate), (.operator, .request), (.operator, .hello), (.operator, .token), (.operator, .stream):
        throw ErrorObject(.notLoggedIn)
      }
    } catch {
      step.refuse(action, error)
    }
  }
}

extension Budgets {
  /// Takes what an action weighs.
  /// - Throws: 1006 with the time to wait, −32602 for the names of a hello.
  fileprivate mutating func take(for action: Action, _ sessions: Sessions, at now: Now) throws(ErrorObject) {
    switch action.who {
    case .connection:
      guard case .hello(let params, let identity) = action.wish else { return }
      // Doors have looked already. Behind this line names are compared as Swift does, which agrees with bytes among such names alone.
      try NameForm.check(identity.user, "user")
      try NameForm.check(identity.device, "deviceId")
      try take(.session(.hello(params)), ofNetworkOf: identity, at: now)
    case .session(let key):
      if case .message(let message)? = action.wish.request {
        return try take(message, of: sessions.identity(of: key.session), at: now)
      }
      let weight = action.wish.weight
      if weight > 0 { try take(weight, of: sessions.identity(of: key.session), at: now) }
    case .operator: break
    }
  }
}
