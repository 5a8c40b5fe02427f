// What a node asks of the store, and when.

import Basics

extension Ownership {
  /// Asks, where there is a connection, and so many have no answer at most.
  mutating func ask(
    _ statement: StoreStatement, below most: Int = .max, at now: Instant, _ effects: inout [OwnershipEffect]
  ) {
    guard line.isUp, line.asked.count < most else { return }
    effects.append(line.ask(statement, at: now))
  }

  func isOverdue(at now: Instant) -> Bool { line.deadline.map { now >= $0 } ?? false }

  mutating func connected(at now: Instant, _ effects: inout [OwnershipEffect]) {
    guard case .dialling = line.state else { return }
    line.state = .up
    heart.due = now
    keepQuiet(from: now)
    askWhatIsDue(at: now, &effects)
  }

  /// Others may still decide about what the store says is nobody's: it may have gone back.
  mutating func keepQuiet(from now: Instant) {
    if !flaws.contains(.noQuietTime) { heart.quietUntil = now + OwnershipTimes.quiet }
  }

  /// The store is another than it was. Who decides enters anew and writes its leases again; who is frozen holds nothing.
  mutating func meetAnotherStore(at now: Instant, _ effects: inout [OwnershipEffect]) {
    keepQuiet(from: now)
    guard heart.decides(at: now) else { return beginAnew(at: now, &effects) }
    heart.register()
    heart.due = now
    watch.clear()
    directory = Directory()
    line.forgetQuestions()
    askWhatIsDue(at: now, &effects)
  }

  func asker(_ row: NodeRow) -> Asker {
    Asker(row.epoch, of: process, beat: flaws.contains(.beatLowerIsNoMark) ? 0 : row.beat, under: heart.mark)
  }

  mutating func broken(at now: Instant) {
    line.down(at: now)
    watch.clear()
    if flaws.contains(.decidesAfterGiveBack) { holdings.forgetReturned() }
  }

  mutating func disconnect(at now: Instant, _ effects: inout [OwnershipEffect]) {
    effects.append(.disconnect)
    broken(at: now)
  }

  /// A row, a beat, others to be put out.
  mutating func askWhatIsDue(at now: Instant, _ effects: inout [OwnershipEffect]) {
    guard let own = heart.row, !heart.isRegistering else {
      if !line.isEntering, now >= heart.due {
        heart.due = now + OwnershipTimes.beat
        ask(.enter(name: name, boot: boot, process: process, above: heart.newest), at: now, &effects)
      }
      return
    }
    if now >= heart.due, !line.isBeating {
      heart.due = now + OwnershipTimes.beat
      ask(.beat(asker(own), knows: heart.newest), at: now, &effects)
    }
    for (node, beat) in watch.due(at: now) {
      ask(.fence(node, at: beat, by: asker(own)), at: now, &effects)
    }
  }

  /// Somebody needs the owner: the lease is taken where nobody has it, and looked at where the node may take nothing.
  mutating func want(_ name: LeaseName, at now: Instant, _ effects: inout [OwnershipEffect]) {
    guard let own = heart.row, !heart.isRegistering, holdings.held[name] == nil, holdings.pending[name] == nil else {
      return
    }
    let takes = heart.decides(at: now) && !holdings.isUnsure && now >= heart.quietUntil
    let statement = takes ? StoreStatement.acquire(name, by: asker(own)) : .holder(name)
    if flaws.contains(.asksWithoutBound) { return ask(statement, at: now, &effects) }
    if !line.isAsked(statement) { ask(statement, below: bounds.names, at: now, &effects) }
  }

  /// Says to the store that a lease is nobody's, once at a time.
  mutating func returnLease(
    _ name: LeaseName, _ epoch: LeaseEpoch, at now: Instant, _ effects: inout [OwnershipEffect]
  ) {
    guard let own = heart.row else { return }
    let statement = StoreStatement.giveBack(name, epoch, by: asker(own))
    if !line.isAsked(statement) { ask(statement, below: bounds.leases, at: now, &effects) }
  }

  /// What has no answer yet, though the connection may be another one: leases that are given back, and those that have to be read.
  mutating func askAgain(at now: Instant, _ effects: inout [OwnershipEffect]) {
    guard let own = heart.row else { return }
    for (name, epoch) in holdings.returned.sorted(by: { $0.key < $1.key }) {
      returnLease(name, epoch, at: now, &effects)
    }
    for name in holdings.pending.keys.sorted() where !line.isRegistering(name) {
      ask(.holder(name), below: bounds.leases, at: now, &effects)
    }
    let reading = StoreStatement.held(by: asker(own))
    if holdings.isUnsure, !line.isAsked(reading) { ask(reading, at: now, &effects) }
  }

  /// Nothing that was held is held, and what was asked is forgotten. Leases of the old epoch are void once others have put it out.
  mutating func beginAnew(at now: Instant, _ effects: inout [OwnershipEffect]) {
    effects += Set(holdings.held.keys).union(holdings.pending.keys).sorted().map(OwnershipEffect.lost)
    effects.append(.beginAnew)
    heart.stop()
    holdings = Holdings()
    directory = Directory()
    watch.clear()
    line.forgetQuestions()
    heart.due = now
    if line.isUp { askWhatIsDue(at: now, &effects) }
  }
}
