// What operators wish of tokens and grants.

import Basics
import Members
import RoostProtocol

extension Sessions {
  /// Carries out an operator's wish.
  mutating func operate(_ action: OperatorAction, _ step: inout Step) {
    do throws(ErrorObject) {
      if let answer = try perform(action, &step) { step.conclude(.success(answer)) }
    } catch {
      step.conclude(.failure(error))
    }
  }

  /// Nil for what is nothing of sessions'.
  private mutating func perform(_ action: OperatorAction, _ step: inout Step) throws(ErrorObject) -> OperatorAnswer? {
    switch action {
    case .revoke(let id): return .removed(try revoke(id, &step))
    case .revoked(let page): return revocations.page(page)
    case .liftRevocation(let id):
      try Revoking.lift(id, &revocations, &step)
      return .lifted(1)
    case .narrow(let user, let rights, let room):
      return .narrowed(try narrow(.init(user: user, room: room), to: rights, &step))
    case .narrowings(let user, let page): return narrowings.page(page, of: user)
    case .liftNarrowings(let user, let room): return .lifted(try liftNarrowings(of: user, room: room, &step))
    case .look, .lookAt, .makeRoom, .settings, .allSettings, .replaceSettings, .takeBackSettings, .change, .closeRoom,
      .setLocked, .setMedia, .moderate, .say, .send, .remove, .move, .bans, .liftBan, .banAddress, .banAddressOf,
      .liftAddress,
      .blockCounts, .blocks, .liftBlocks, .user, .history, .see, .call, .startCall, .invite, .withdraw, .removeFromCall,
      .endCall:
      return nil
    }
  }
}
