// Looks at a world as nobody in it can: with true time, and at all machines at once. It asks nodes what anybody may ask them, and sees what
// was shown.

import Basics
import ClusterStore
import Ownership

/// What must hold; docs/decisions/0029-ownership.md has the table.
public enum Invariant: String, CaseIterable, Sendable {
  /// Two nodes never both decide about one lease.
  case oneDecides
  /// Nothing is shown under a lease after something was shown under one that was given later.
  case inOrder
  /// At rest each lease that is wanted has one holder, all say so, and nobody is frozen.
  case comesToRest
  /// Who runs is frozen five seconds after its last beat that was taken.
  case freezesInTime
  /// What a dead node held is held again after ten seconds, where somebody could.
  case isTakenInTime
  /// Neither what a node asks and remembers nor what the store keeps grows without end.
  case isBounded
  /// The run ends. Looked at in each, or one without an end would never say so.
  case endless
}

/// What was broken first.
public struct Violation: Sendable {
  /// Which of them.
  public let invariant: Invariant
  /// What was seen.
  public let text: String
  /// When, by true time.
  public let at: Instant
}

/// How often what happened: a run in which nothing did has shown nothing.
public struct Counts: Sendable {
  /// Nodes that were put out.
  public var fences = 0
  /// Leases that were taken from one that was put out.
  public var takeovers = 0
  /// Freezes that ended with a beat.
  public var thawed = 0
  /// Nodes that began anew.
  public var begunAnew = 0
  /// Leases of dead nodes that somebody could take, and that were looked at in time.
  public var orphans = 0
  /// Commits behind which a process was stopped.
  public var stoppedInside = 0
  /// Commits whose effects were thrown away.
  public var thrownAway = 0
  /// Commits whose effects were shown.
  public var shown = 0
  /// Statements that were carried out, and whose answer nobody heard.
  public var unknown = 0
  /// Leases that were written again into a store that had gone back.
  public var registered = 0
  /// Statements that were late.
  public var late = 0
  /// Faults by kind.
  public var faults: [FaultKind: Int] = [:]

  /// Nothing yet.
  public init() {}
}

/// Sees everything.
struct Observer {
  /// How long a machine that was paused with its clock may decide about what has moved: the rest of its four seconds, and a tenth of a second.
  static let pausedIsExcused = TimeDelta.milliseconds(4_100)
  /// Rows that are not fenced, or have been since the last arrival.
  private static let mostRows = 32
  /// Beside questions about leases: a row, a beat, what is held, and a fence of each row that was seen.
  private static let mostOther = 3 + mostRows

  private let looksAt: Set<Invariant>
  private(set) var violation: Violation?
  var counts = Counts()
  /// In which order leases were given. Their epochs do not say it where the store goes back.
  private var order: [Given: Int] = [:]
  private var ordered = 0
  /// The newest of each name of which something was shown.
  private var newest: [LeaseName: Int] = [:]
  /// When the newest beat of each process was sent that was taken.
  private var lastBeats: [Int: (birth: Int, sent: Instant)] = [:]
  /// Machines that are excused, as their clock stood with them.
  private var excused: [Int: Instant] = [:]
  private var orphans: [Orphan] = []

  private struct Given: Hashable {
    let name: LeaseName
    let machine: Int
    let epoch: LeaseEpoch
  }

  /// A lease whose holder is dead.
  private struct Orphan {
    let name: LeaseName
    let epoch: LeaseEpoch
    let since: Instant
  }

  init(_ looksAt: Set<Invariant>) { self.looksAt = looksAt }

  mutating func violate(_ invariant: Invariant, _ text: String, at now: Instant) {
    guard violation == nil, invariant == .endless || looksAt.contains(invariant) else { return }
    violation = Violation(invariant: invariant, text: text, at: now)
  }

  // MARK: - What is seen

  mutating func paused(_ index: Int, until: Instant) { excused[index] = until }
  mutating func unknown() { counts.unknown += 1 }

  private func isExcused(_ index: Int, at now: Instant) -> Bool { excused[index].map { now <= $0 } ?? false }

  /// Counts what a statement is about to change.
  mutating func willCarryOut(_ statement: StoreStatement, _ table: StoreTable) {
    switch statement {
    case .fence(let node, let beat, let by):
      let stands = table.active.contains { $0.epoch == node && $0.beat == beat }
      counts.fences += stands && table.isActive(by.node) ? 1 : 0
    case .acquire(let name, let by):
      guard let holder = table.lease(name)?.holder else { break }
      counts.takeovers += !table.isActive(holder) && table.isActive(by.node) ? 1 : 0
    default: break
    }
  }

  mutating func carriedOut(_ letter: Letter, _ answer: StoreAnswer) {
    switch (letter.statement, answer) {
    case (.enter, .entered), (.beat, .beaten):
      if let before = lastBeats[letter.machine], before.birth > letter.birth || before.sent > letter.sent { return }
      lastBeats[letter.machine] = (letter.birth, letter.sent)
    case (.acquire, .lease(let lease)), (.register, .lease(let lease)):
      ordered += 1
      order[Given(name: lease.name, machine: letter.machine, epoch: lease.epoch)] = ordered
      if case .register = letter.statement { counts.registered += 1 }
    default: break
    }
  }

  mutating func shown(_ permit: Permit, by index: Int, at now: Instant) {
    counts.shown += 1
    let place = order[Given(name: permit.name, machine: index, epoch: permit.epoch)] ?? 0
    if let newer = newest[permit.name], newer > place, !isExcused(index, at: now) {
      violate(.inOrder, "n\(index) shows \(permit)", at: now)
    }
    newest[permit.name] = max(newest[permit.name] ?? 0, place)
  }

  mutating func died(_ index: Int, _ world: World) {
    guard let node = world.machines[index].ownership.epoch else { return }
    for name in World.names {
      guard let lease = world.store.table.lease(name), lease.holder == node, world.store.table.isActive(node) else {
        continue
      }
      orphans.append(Orphan(name: name, epoch: lease.epoch, since: world.now))
    }
  }

  // MARK: - Looks

  /// Who decides. That begins in a turn alone, so it is looked at behind each.
  mutating func lookAtLeases(_ world: World) {
    let watched = world.machines.indices.filter { !world.machines[$0].isDead && !isExcused($0, at: world.now) }
    for name in World.names {
      var first: Int?
      for index in watched where world.decides(index, about: name) {
        if let first { violate(.oneDecides, "n\(first) and n\(index) about \(name.name)", at: world.now) }
        first = index
      }
    }
  }

  /// What the node has asked and remembers: it grows in turns alone.
  mutating func lookAtSize(of index: Int, _ world: World) {
    let unanswered = world.machines[index].ownership.unanswered
    if unanswered > Machine.bounds.leases + Self.mostOther {
      violate(.isBounded, "n\(index) has \(unanswered) questions", at: world.now)
    }
    let remembered = world.machines[index].ownership.remembered
    if remembered > World.names.count { violate(.isBounded, "n\(index) knows \(remembered)", at: world.now) }
  }

  /// What the store keeps: it grows by statements alone.
  mutating func lookAtSize(of table: StoreTable, at now: Instant) {
    if table.rowCount > StoreTable.mostFenced + Self.mostRows {
      violate(.isBounded, "\(table.rowCount) rows", at: now)
    }
    if table.leaseCount > World.names.count { violate(.isBounded, "\(table.leaseCount) leases", at: now) }
  }

  /// Who still decides, and what is still nobody's.
  mutating func lookAtTime(_ world: World) {
    for index in world.machines.indices where world.now - (lastBeats[index]?.sent ?? .zero) > .seconds(5) {
      guard world.machines[index].isRunning, !isExcused(index, at: world.now) else { continue }
      if world.verdict(of: index, on: World.names[0]) != .frozen { violate(.freezesInTime, "n\(index)", at: world.now) }
    }
    guard let oldest = orphans.first, world.now - oldest.since > .seconds(10) else { return }
    orphans.removeFirst()
    guard isAnybodyWell(world, since: oldest.since) else { return }
    counts.orphans += 1
    guard world.store.table.lease(oldest.name)?.epoch == oldest.epoch else { return }
    violate(.isTakenInTime, "\(oldest.name.name)", at: world.now)
  }

  /// Whether a node has had no trouble for so long that it must have seen the last beat of who died.
  private func isAnybodyWell(_ world: World, since death: Instant) -> Bool {
    world.machines.contains { machine in
      machine.isRunning && world.faults.troubles[machine.index] == 0
        && world.faults.wellSince[machine.index] + .seconds(7) < death
    }
  }

  /// When all that heals is healed, and some time has passed.
  mutating func lookAtRest(_ world: World) {
    let lasting = Set(world.plan.faults.filter { $0.length == nil }.map(\.machine))
    for name in World.names {
      guard let lease = world.store.table.lease(name), let holder = lease.holder else {
        violate(.comesToRest, "\(name.name) is nobody's", at: world.now)
        continue
      }
      for machine in world.machines where !lasting.contains(machine.index) {
        let verdict = machine.ownership.verdict(on: name, at: machine.clock.reading(at: world.now))
        let expected: Verdict = machine.ownership.epoch == holder ? .decides(lease.epoch) : .elsewhere(holder)
        if verdict != expected { violate(.comesToRest, "n\(machine.index) about \(lease): \(verdict)", at: world.now) }
      }
      if !world.store.table.isActive(holder) { violate(.comesToRest, "\(lease) of one that is out", at: world.now) }
    }
  }
}
