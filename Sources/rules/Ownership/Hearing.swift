// What a node makes of the store's answers.

import Basics

extension Ownership {
  /// An answer has come. A store that answers something else than was asked is left.
  mutating func hear(
    _ answer: StoreAnswer, to asked: StoreLine.Asked, at now: Instant, _ effects: inout [OwnershipEffect]
  ) {
    if case .refused(let refusal) = answer, refusal.isOfTheNode { return beginAnew(at: now, &effects) }
    if !take(answer, to: asked, at: now, &effects) { disconnect(at: now, &effects) }
  }

  /// - Returns: whether it is an answer to what was asked.
  private mutating func take(
    _ answer: StoreAnswer, to asked: StoreLine.Asked, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    switch asked.statement {
    case .enter: return entered(answer, sent: asked.sent, at: now)
    case .beat:
      guard case .beaten(let rows) = answer else { return false }
      beaten(rows, sent: asked.sent, at: now, &effects)
    case .fence(let node, _, _, _): return fenced(node, answer, at: now)
    case .acquire, .holder: return told(answer, gains: asked.statement.acquires, at: now, &effects)
    case .giveBack(let name, let epoch, _, _): return gaveBack(name, epoch, answer)
    case .held:
      guard case .leases(let leases) = answer else { return false }
      effects += holdings.read(leases).map(OwnershipEffect.lost)
      for lease in leases { mine(lease, at: now, &effects) }
    }
    return true
  }

  private mutating func entered(_ answer: StoreAnswer, sent: Instant, at now: Instant) -> Bool {
    guard case .entered(let row, let rows, let mark) = answer else { return answer == .refused(.noneLeft) }
    heart.enter(row, under: mark, sent: sent)
    holdings.enter(row)
    see(rows, at: now)
    return true
  }

  private mutating func fenced(_ node: NodeEpoch, _ answer: StoreAnswer, at now: Instant) -> Bool {
    if answer == .refused(.beatMoved) {
      watch.restart(node, at: now)
      return true
    }
    watch.remove(node)
    directory.forget(holder: node)
    return answer == .fenced(node)
  }

  private mutating func told(
    _ answer: StoreAnswer, gains: Bool, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    if case .refused(.held(let lease)) = answer {
      found(lease, at: now, &effects)
      return gains
    }
    guard case .lease(let lease) = answer else { return false }
    guard gains else {
      found(lease, at: now, &effects)
      return true
    }
    holdings.gain(lease)
    directory.forget(lease.name)
    effects.append(.holds(lease))
    return true
  }

  private mutating func gaveBack(_ name: LeaseName, _ epoch: LeaseEpoch, _ answer: StoreAnswer) -> Bool {
    var isMoved = false
    if case .refused(.moved) = answer { isMoved = true }
    guard answer == .done || isMoved else { return false }
    holdings.answered(name, epoch, isDone: !isMoved)
    return true
  }

  private mutating func see(_ rows: [NodeRow], at now: Instant) {
    guard let own = epoch else { return }
    heart.see(rows)
    watch.see(rows, but: own, at: now)
    directory.keep { watch.knows($0) }
  }

  private mutating func beaten(
    _ rows: [NodeRow], sent: Instant, at now: Instant, _ effects: inout [OwnershipEffect]
  ) {
    guard let row = rows.first(where: { $0.epoch == epoch }) else { return beginAnew(at: now, &effects) }
    heart.beaten(row, from: flaws.contains(.untilFromAnswer) ? now : sent)
    see(rows, at: now)
    holdings.compare(row, believes: flaws.contains(.forgetsLostAnswers))
    askAgain(at: now, &effects)
  }

  /// Somebody has it; it may be this node, which has not had the answer.
  private mutating func found(_ lease: Lease, at now: Instant, _ effects: inout [OwnershipEffect]) {
    if lease.holder == epoch, !flaws.contains(.forgetsLostAnswers) { return mine(lease, at: now, &effects) }
    if let holder = lease.holder { directory.note(lease.name, holder) } else { directory.forget(lease.name) }
    effects.append(.elsewhere(lease.name, lease.holder))
  }

  /// The store says that this node holds it. What was given back is given back again: it comes with the next epoch only.
  private mutating func mine(_ lease: Lease, at now: Instant, _ effects: inout [OwnershipEffect]) {
    if holdings.isReturned(lease) { return returnLease(lease.name, lease.epoch, at: now, &effects) }
    guard holdings.held[lease.name] != lease.epoch else { return }
    holdings.hold(lease)
    directory.forget(lease.name)
    effects.append(.holds(lease))
  }
}

extension StoreRefusal {
  /// Whether it says that the node is none: it is out, or the store is another.
  fileprivate var isOfTheNode: Bool {
    switch self {
    case .mark, .notActive: true
    case .beatMoved, .held, .moved, .noneLeft: false
    }
  }
}

extension StoreStatement {
  fileprivate var acquires: Bool {
    if case .acquire = self { true } else { false }
  }
}
