// Whom users do not want to be rung by. The rules are the switchboard's (`Calls/Blocking.swift`); here is what takes a network to say, and
// what operators and the log see of it.

import Basics
import Calls
import Members
import RoostProtocol
import Sessions

/// Blocks in the conference.
enum Blocks {
  /// Serves a request. Names that nobody has proven cost nothing, so what is blocked in them counts for their network.
  static func perform(
    _ request: BlockRequest, _ key: RequestKey, _ core: inout ConferenceCore, _ step: inout Step
  ) throws(ErrorObject) {
    let now = step.now.instant
    let network = request.isAdd ? core.sessions.identity(of: key.session).flatMap { $0.unprovenNetwork } : nil
    if let network, let wait = core.budgets.unprovenBlocks.wait(of: network, at: now) {
      throw .tooOften("blocking", wait)
    }
    let effects = try core.calls.perform(request, from: key.session.device, at: step.now)
    if let network { _ = core.budgets.unprovenBlocks.take(network, at: now) }
    if request.isAdd { logDropped(effects, &step) }
    core.serve(effects, key, &step)
  }

  /// Somebody else's block had to make space: they are not told, so the operator is.
  private static func logDropped(_ effects: [CallEffect], _ step: inout Step) {
    for case .keepBlock(let block, false) in effects {
      step.log("block_dropped", ["user": block.user, "blocked": block.blocked, "limit": "\(KeptBlock.most)"])
    }
  }

  /// An operator looks at how many users have blocked.
  static func counts(page: Int, _ calls: Switchboard) -> OperatorAnswer {
    let (all, users) = calls.blockCounts
    let (shown, next) = OperatorAnswer.page(page, of: users)
    let counts = shown.map { BlockCounts.User(user: $0.user, blocks: $0.count) }
    return .blockCounts(BlockCounts(count: all, limit: KeptBlock.most, users: counts), next: next)
  }

  /// An operator lifts blocks of a user. How many.
  static func lift(
    of user: String, blocked: String?, _ core: inout ConferenceCore, _ step: inout Step
  ) throws(ErrorObject) -> Int {
    let effects = try core.calls.lift(user, blocked: blocked, at: step.now)
    core.carry(effects, &step)
    step.log("blocks_lifted", ["user": user, "count": "\(effects.count)"])
    return effects.count
  }
}

extension BlockRequest {
  fileprivate var isAdd: Bool {
    switch self {
    case .add: true
    case .remove, .list: false
    }
  }
}

extension Identity {
  /// Where somebody comes from who has not proven who they are.
  fileprivate var unprovenNetwork: PeerNetwork? { isVerified ? nil : network }
}
