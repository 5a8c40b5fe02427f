// The leases of a node: those that it decides under, and those that it has given back without having heard an answer.

import Basics

/// What the node holds, as far as it knows.
struct Holdings: Sendable {
  private(set) var held: [LeaseName: LeaseEpoch] = [:]
  /// Given back, and not answered. The statement may be carried out at any time, so nobody decides under such an epoch again.
  private(set) var returned: [LeaseName: LeaseEpoch] = [:]
  /// Held in a store that has gone back, and not yet written again: nobody decides about them after `until`.
  private(set) var pending: [LeaseName: Pending] = [:]
  /// How often leases have come and gone, as far as answers say.
  private(set) var changes: UInt64 = 0
  /// Whether the store says that more has changed than was answered. Nothing is decided until the leases have been read.
  private(set) var isUnsure = false

  struct Pending: Hashable, Sendable {
    let epoch: LeaseEpoch
    /// The node's earlier row, under which it was held.
    let node: NodeEpoch
    let until: Instant
  }

  /// The node has a row in another store. What it holds is to be written again there.
  mutating func register(_ row: NodeRow, instead old: NodeEpoch, until: Instant) {
    var next = Holdings(changes: row.changes)
    next.pending = held.mapValues { Pending(epoch: $0, node: old, until: until) }
    for (name, lease) in pending where next.pending[name] == nil { next.pending[name] = lease }
    self = next
  }

  /// - Returns: names that were not written again in time.
  mutating func dropLapsed(at now: Instant) -> [LeaseName] {
    let gone = pending.filter { $0.value.until <= now }.keys.sorted()
    for name in gone { pending[name] = nil }
    return gone
  }

  mutating func dropPending(_ name: LeaseName) -> Bool { pending.removeValue(forKey: name) != nil }

  mutating func enter(_ row: NodeRow) { self = Holdings(changes: row.changes) }

  init(changes: UInt64 = 0) { self.changes = changes }

  /// A lease that was acquired just now.
  mutating func gain(_ lease: Lease) {
    changes &+= 1
    hold(lease)
  }

  mutating func hold(_ lease: Lease) {
    held[lease.name] = lease.epoch
    pending[lease.name] = nil
    if let old = returned[lease.name], old < lease.epoch { returned[lease.name] = nil }
  }

  /// Whether a lease was given back under this epoch, and may be gone at any time.
  func isReturned(_ lease: Lease) -> Bool { returned[lease.name] == lease.epoch }

  /// Stops deciding. - Returns: the epoch to give back; nil where it is not held.
  mutating func giveBack(_ name: LeaseName) -> LeaseEpoch? {
    guard let epoch = held.removeValue(forKey: name) else { return nil }
    returned[name] = epoch
    return epoch
  }

  /// The store has answered for a lease that was given back. - Parameter isDone: whether this statement has done it.
  mutating func answered(_ name: LeaseName, _ epoch: LeaseEpoch, isDone: Bool) {
    if isDone { changes &+= 1 }
    if returned[name] == epoch { returned[name] = nil }
  }

  /// Compares with the row. - Parameter believes: whether a difference is taken for nothing: a flaw.
  mutating func compare(_ row: NodeRow, believes: Bool) {
    guard row.changes != changes else { return }
    changes = row.changes
    isUnsure = isUnsure || !believes
  }

  /// What was read is all there is. - Returns: names that are held no more.
  mutating func read(_ leases: [Lease]) -> [LeaseName] {
    isUnsure = false
    let names = Set(leases.map(\.name))
    let gone = held.keys.filter { !names.contains($0) }.sorted()
    for name in gone { held[name] = nil }
    return gone
  }

  mutating func forgetReturned() { returned.removeAll() }
}
