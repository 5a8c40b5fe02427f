// What a node makes of the store's answers.

import Basics

extension Ownership {
  /// An answer has come. A store that answers something else than was asked is left.
  mutating func hear(
    _ answer: StoreAnswer, to asked: StoreLine.Asked, at now: Instant, _ effects: inout [OwnershipEffect]
  ) {
    if case .refused(let refusal) = answer, refuses(refusal, at: now, &effects) { return }
    if !take(answer, to: asked, at: now, &effects) { disconnect(at: now, &effects) }
  }

  /// - Returns: whether it says that the node is none: it is out, or the store is another.
  private mutating func refuses(
    _ refusal: StoreRefusal, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    switch refusal {
    case .mark(let mark) where flaws.contains(.keepsLeasesOverMarks):
      heart.take(mark, at: now)
      askWhatIsDue(at: now, &effects)
    case .mark, .wentBack, .gone: meetAnotherStore(at: now, &effects)
    case .notActive: beginAnew(at: now, &effects)
    case .beatMoved, .held, .moved, .noneLeft: return false
    }
    return true
  }

  /// - Returns: whether it is an answer to what was asked.
  private mutating func take(
    _ answer: StoreAnswer, to asked: StoreLine.Asked, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    switch asked.statement {
    case .enter: return entered(answer, sent: asked.sent, at: now, &effects)
    case .beat:
      guard case .beaten(let rows) = answer else { return false }
      beaten(rows, sent: asked.sent, at: now, &effects)
    case .fence(let node, _, _): return fenced(node, answer, at: now)
    case .acquire, .holder: return told(answer, gains: asked.statement.acquires, at: now, &effects)
    case .giveBack(let name, let epoch, _): return gaveBack(name, epoch, answer)
    case .register(let name, _, _, _, _): return registered(name, answer, at: now, &effects)
    case .held:
      guard case .leases(let leases) = answer else { return false }
      effects += holdings.read(leases).map(OwnershipEffect.lost)
      for lease in leases { mine(lease, at: now, &effects) }
    }
    return true
  }

  private mutating func entered(
    _ answer: StoreAnswer, sent: Instant, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    guard case .entered(let row, let rows, let mark) = answer else { return answer == .refused(.noneLeft) }
    if heart.isRegistering, let old = epoch {
      holdings.register(row, instead: old, until: heart.until)
    } else {
      // The store may have gone back while this node had no row by which to see it.
      keepQuiet(from: now)
      holdings.enter(row)
    }
    heart.enter(row, under: mark, sent: sent)
    see(rows, at: now)
    askAgain(at: now, &effects)
    return true
  }

  /// A lease was written again, or somebody has it.
  private mutating func registered(
    _ name: LeaseName, _ answer: StoreAnswer, at now: Instant, _ effects: inout [OwnershipEffect]
  ) -> Bool {
    switch answer {
    case .lease(let lease):
      holdings.gain(lease)
      effects.append(.holds(lease))
      return true
    case .refused(.held(let lease)) where lease.holder == epoch:
      mine(lease, at: now, &effects)
      return true
    case .refused(.held), .refused(.moved):
      if holdings.dropPending(name) { effects.append(.lost(name)) }
      return true
    case .entered, .beaten, .fenced, .leases, .done, .refused: return false
    }
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
      found(lease, isSure: true, at: now, &effects)
      return gains
    }
    guard case .lease(let lease) = answer else { return false }
    guard gains else {
      found(lease, isSure: false, at: now, &effects)
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
    if watch.isLower(rows), !flaws.contains(.beatLowerIsNoMark) { return meetAnotherStore(at: now, &effects) }
    heart.beaten(row, from: flaws.contains(.untilFromAnswer) ? now : sent)
    see(rows, at: now)
    holdings.compare(row, believes: flaws.contains(.forgetsLostAnswers))
    askAgain(at: now, &effects)
  }

  /// Somebody has it; it may be this node, which has not had the answer. - Parameter isSure: whether the store has looked whose row this
  /// node's is. It has not where anybody may ask.
  private mutating func found(_ lease: Lease, isSure: Bool, at now: Instant, _ effects: inout [OwnershipEffect]) {
    if isSure, lease.holder == epoch, !flaws.contains(.forgetsLostAnswers) { return mine(lease, at: now, &effects) }
    if let pending = holdings.pending[lease.name], let own = heart.row {
      let statement = StoreStatement.register(
        lease.name, seen: lease.epoch, above: pending.epoch, instead: pending.node, by: asker(own))
      if !line.isAsked(statement) { ask(statement, below: bounds.leases, at: now, &effects) }
      return
    }
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

extension StoreStatement {
  fileprivate var acquires: Bool {
    if case .acquire = self { true } else { false }
  }
}
