// Whether this node decides about something: the rules of a cluster, without sockets and clocks.
//
// Each second a node raises its row's beat in the store. It decides for four seconds from when a beat was sent. Others put it out after they
// have seen the same beat for six seconds, and then take its leases.

import Basics
import Names

/// A node's part in who decides about what. All times are of one clock that runs while the process is stopped.
public struct Ownership: Sendable {
  let name: String
  let boot: String
  let process: ProcessNumber
  let flaws: OwnershipFlaws
  let bounds: QuestionBounds
  var line = StoreLine()
  var heart = Heart()
  var watch: Watch
  var holdings = Holdings()
  var directory = Directory()

  /// A process that has not entered. - Parameters:
  ///   - name: the node's, by which operators know it.
  ///   - boot: the boot of the machine that it runs on.
  ///   - process: drawn at random for each process.
  public init(name: String, boot: String, process: ProcessNumber) {
    self.init(name: name, boot: boot, process: process, flaws: [])
  }

  package init(
    name: String, boot: String, process: ProcessNumber, flaws: OwnershipFlaws, bounds: QuestionBounds = QuestionBounds()
  ) {
    (self.name, self.boot, self.process, self.flaws, self.bounds) = (name, boot, process, flaws, bounds)
    watch = Watch(flaws.patience ?? OwnershipTimes.fences)
  }

  /// Something has happened. What follows is to be carried out in order.
  public mutating func apply(_ input: OwnershipInput, at now: Instant) -> [OwnershipEffect] {
    var effects: [OwnershipEffect] = []
    settle(at: now, &effects)
    switch input {
    case .connected: connected(at: now, &effects)
    case .broken: broken(at: now)
    case .answered(let id, let answer):
      if let asked = line.take(id) { hear(answer, to: asked, at: now, &effects) }
    case .want(let name): want(name, at: now, &effects)
    case .giveBack(let name):
      if holdings.dropPending(name) { break }
      if let epoch = holdings.giveBack(name) { returnLease(name, epoch, at: now, &effects) }
    case .threwAway(let permit): if heart.isGoingOn(permit.node) { beginAnew(at: now, &effects) }
    }
    heart.tell(at: now, &effects)
    return effects
  }

  /// Time has passed.
  public mutating func poll(at now: Instant) -> [OwnershipEffect] {
    var effects: [OwnershipEffect] = []
    settle(at: now, &effects)
    switch line.state {
    case .down(let until) where now >= until:
      line.state = .dialling(since: now)
      effects.append(.connect)
    case .up where !isOverdue(at: now): askWhatIsDue(at: now, &effects)
    case .dialling, .up: if isOverdue(at: now) { disconnect(at: now, &effects) }
    case .down: break
    }
    return effects
  }

  /// When `poll` has something to do.
  public var nextDeadline: Instant? {
    var next = line.deadline
    func consider(_ instant: Instant?) { next = [next, instant].compactMap { $0 }.min() }
    if !heart.isFrozen { consider(heart.until) }
    consider(holdings.pending.values.map(\.until).min())
    guard line.isUp else { return next }
    if heart.row == nil || heart.isRegistering {
      if !line.isEntering { consider(heart.due) }
    } else {
      if !line.isBeating { consider(heart.due) }
      consider(watch.deadline)
    }
    return next
  }

  /// What ends by time alone.
  private mutating func settle(at now: Instant, _ effects: inout [OwnershipEffect]) {
    heart.tell(at: now, &effects)
    if heart.isRegistering, !heart.decides(at: now) { beginAnew(at: now, &effects) }
    effects += holdings.dropLapsed(at: now).map(OwnershipEffect.lost)
  }

  // MARK: - Looks

  /// The node's own epoch; nil before it has entered.
  public var epoch: NodeEpoch? { heart.row?.epoch }
  /// Questions that the store has not answered.
  public var unanswered: Int { line.asked.count }

  /// Leases of others that it remembers.
  package var remembered: Int { directory.count }

  /// What the node may say about a lease.
  public func verdict(on name: LeaseName, at now: Instant) -> Verdict {
    if let pending = holdings.pending[name], now < pending.until { return .decides(pending.epoch) }
    guard heart.decides(at: now), !holdings.isUnsure else { return .frozen }
    return holdings.held[name].map(Verdict.decides) ?? .elsewhere(directory[name])
  }

  /// Lets a commit be made; nil where the node may not decide. - Parameter now: the clock, read for this commit.
  public func permit(for name: LeaseName, at now: Instant) -> Permit? {
    guard case .decides(let epoch) = verdict(on: name, at: now), let node = heart.row?.epoch else { return nil }
    return Permit(name: name, node: node, epoch: epoch)
  }

  /// Whether effects of a commit may leave. Where not, they are to be thrown away, and that is to be told.
  /// - Parameter now: the clock, read for these effects.
  public func holds(_ permit: Permit, at now: Instant) -> Bool { self.permit(for: permit.name, at: now) == permit }
}
