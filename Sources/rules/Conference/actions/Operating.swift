// What an operator may do from outside: look, take tokens and grants back, make, change, end, close and lock rooms, put people out, see, make
// and lift bans, lift blocks, start calls, ask users into them, end them.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// Carries out an operator's wish as one step.
  /// - Returns: what has come of it, and what follows: 2001 or 3001 where there is no such room or call, and for one that nothing bars; 2002 where too many are in a room, 3002 for a call that is
  ///   over, what `Switchboard.arrange` and `invite` say, 3008 for a user who is not there, not banned, or has not blocked, and for an address that is not banned; −32602 and 1010
  ///   where an address is not to be banned.
  /// - Parameters:
  ///   - peer: from where the wish came, for the lines that it leaves in the log.
  ///   - name: what they showed, for the line of each (`operator_action`).
  public mutating func operate(
    _ action: OperatorAction, from peer: String? = nil, by name: String = "admin.token", at now: Now
  ) -> (answer: Result<OperatorAnswer, ErrorObject>, effects: [Effect]) {
    var step = Step(
      at: now, byOperatorAt: peer, after: numbers, keepsRecords: rules.storesRecords, isFollowed: rules.hasWebhooks)
    begin(Action(.operator(Operator(name: name, peer: peer)), .operate(action)), &step)
    let answer = step.outcome ?? .failure(ErrorObject(.internalError))
    return (answer, end(step))
  }

  /// Performs it, says what has come of it where no owner has, and leaves its line.
  mutating func operate(_ action: OperatorAction, by who: Operator, _ step: inout Step) {
    do throws(ErrorObject) {
      if let answer = try perform(action, &step) { step.conclude(.success(answer)) }
    } catch {
      step.conclude(.failure(error))
    }
    action.leaveLine(by: who, step.outcome ?? .failure(ErrorObject(.internalError)), &step)
  }

  private mutating func perform(_ action: OperatorAction, _ step: inout Step) throws(ErrorObject) -> OperatorAnswer? {
    switch action {
    case .look, .lookAt, .makeRoom, .settings, .allSettings, .replaceSettings, .takeBackSettings, .change, .closeRoom,
      .setLocked, .setMedia, .moderate, .say, .remove, .move, .bans, .liftBan, .banAddress, .banAddressOf, .liftAddress:
      let running = action == .look ? calls.running(at: step.now) : []
      rooms.apply(.operate(action, calls: running), &step)
      return nil
    case .send(let params, _):
      if let id = params.callId, case let call = try calls.call(id, at: step.now), call.state == .ended {
        throw .callEnded(call)
      }
      rooms.apply(.operate(action, calls: []), &step)
      return nil
    case .blockCounts(let page): return Blocks.counts(page: page, calls)
    case .blocks(let user): return .blocks(calls.blocks(of: user))
    case .liftBlocks(let user, let blocked): return .lifted(try Blocks.lift(of: user, blocked: blocked, &self, &step))
    case .revoke, .revoked, .liftRevocation, .narrow, .narrowings, .liftNarrowings:
      sessions.apply(.operate(action), &step)
      return nil
    case .user(let user):
      guard let known = sessions.presence(of: [user], isBusy: { calls.isBusy($0) }).users.first else {
        throw ErrorObject(.internalError)
      }
      return .user(known, call: calls.current(of: user, at: step.now)?.callId, missed: calls.missed(user))
    case .history(let user, let before): return .history(calls.history(of: user, before: before))
    case .see(let user):
      let seen = calls.missed(user)
      calls.see(user)
      if seen > 0 { step.send(.keep([], [.seen(user: user)], rings: [])) }
      return .seen(seen)
    case .call(let id): return .call(try calls.call(id, at: step.now))
    case .startCall(let params, let caller):
      try CallEntry.checkSpace(self)
      let (effects, call) = try calls.arrange(params, of: caller, as: CallID(using: &step.numbers.random), at: step.now)
      carry(effects, &step)
      return .call(call)
    case .invite(let params, let user):
      let (effects, result) = try calls.invite(params, as: user, at: step.now)
      carry(effects, &step)
      return .invited(result)
    case .withdraw(let user, let call):
      carry(try calls.withdraw(user, from: call, at: step.now), &step)
      return .removed(1)
    case .removeFromCall(let user, let call):
      carry(try calls.remove(user, from: call, at: step.now), &step)
      step.log("removed", ["call": call, "user": user])
      return .removed(1)
    case .endCall(let id):
      let (effects, call) = try calls.stop(id, at: step.now)
      carry(effects, &step)
      return .ended(call)
    }
  }
}
