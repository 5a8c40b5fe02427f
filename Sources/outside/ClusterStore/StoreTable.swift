// The store in memory: what its transactions see and change, one at a time. Tests and the simulator have it in the place of a database.

import Ownership

/// Nodes and leases of a cluster. Nothing in it depends on a clock: whoever changes something says what it has seen.
public struct StoreTable: Hashable, Sendable {
  /// Rows that are fenced and still kept, for people who look. One that is gone counts as fenced.
  public static let mostFenced = 64

  /// What tells it from another store.
  public private(set) var mark: StoreMark
  private var rows: [NodeEpoch: NodeRow] = [:]
  /// All that were ever taken: names are not dropped yet.
  private var leases: [LeaseName: Lease] = [:]
  /// Under which mark each lease was written.
  private var marks: [LeaseName: StoreMark] = [:]
  private var newest = NodeEpoch.none
  private let flaws: StoreFlaws

  /// An empty one.
  public init(mark: StoreMark) { self.init(mark: mark, flaws: []) }

  package init(mark: StoreMark, flaws: StoreFlaws) { (self.mark, self.flaws) = (mark, flaws) }

  /// Rows that are not fenced, by their epochs.
  public var active: [NodeRow] { rows.values.filter { !$0.isFenced }.sorted { $0.epoch < $1.epoch } }
  /// How many rows there are, fenced ones too.
  public var rowCount: Int { rows.count }
  /// How many names there are.
  package var leaseCount: Int { leases.count }
  /// Who holds a lease, or held it last; nil where nobody ever has.
  public func lease(_ name: LeaseName) -> Lease? { leases[name] }
  /// Whether a node is neither fenced nor gone.
  public func isActive(_ node: NodeEpoch) -> Bool { rows[node].map { !$0.isFenced } ?? false }

  /// The same under another mark, as a replica or a backup has it.
  package func marked(_ mark: StoreMark) -> StoreTable {
    var copy = self
    copy.mark = mark
    return copy
  }

  /// Carries a statement out, wholly or not at all.
  public mutating func apply(_ statement: StoreStatement) -> StoreAnswer {
    switch statement {
    case .enter(let name, let boot, let process, let above): enter(name, boot, process, above: above)
    case .beat(let by, let knows): refusal(of: by) ?? beat(by.node, knows)
    case .fence(let node, let beat, let by): refusal(of: by) ?? fence(node, at: beat)
    case .acquire(let name, let by): refusal(of: by) ?? acquire(name, by: by.node)
    case .giveBack(let name, let epoch, let by): refusal(of: by) ?? giveBack(name, epoch, by: by.node)
    case .register(let name, let seen, let above, let old, let by):
      refusal(of: by) ?? register(name, seen, above: above, instead: old, by: by.node)
    case .held(let by): refusal(of: by) ?? .leases(held(by: by.node))
    case .holder(let name): .lease(seen(name))
    }
  }

  /// Why somebody may not change anything.
  private func refusal(of asker: Asker) -> StoreAnswer? {
    guard asker.mark == mark else { return .refused(.mark(mark)) }
    guard let row = rows[asker.node] else { return .refused(.gone) }
    guard row.process == asker.process else { return .refused(.wentBack) }
    if flaws.contains(.thawsAfterFence) { return nil }
    guard !row.isFenced else { return .refused(.notActive) }
    return row.beat < asker.beat ? .refused(.wentBack) : nil
  }

  private func held(by node: NodeEpoch) -> [Lease] {
    leases.values.filter { $0.holder == node }.sorted { $0.name < $1.name }
  }

  /// A lease whose holder is out is nobody's.
  private func seen(_ name: LeaseName) -> Lease {
    var lease = leases[name] ?? Lease(name, holder: nil, epoch: LeaseEpoch(0))
    if let holder = lease.holder, !isActive(holder) { lease.holder = nil }
    return lease
  }

  private mutating func enter(_ name: String, _ boot: String, _ process: ProcessNumber, above: NodeEpoch) -> StoreAnswer
  {
    guard let epoch = max(newest, above).next else { return .refused(.noneLeft) }
    newest = epoch
    let row = NodeRow(name: name, boot: boot, process: process, epoch: epoch)
    rows[epoch] = row
    let fenced = rows.values.filter(\.isFenced).map(\.epoch).sorted()
    for old in fenced.dropLast(Self.mostFenced) { rows[old] = nil }
    return .entered(row, active, mark)
  }

  private mutating func beat(_ node: NodeEpoch, _ knows: NodeEpoch) -> StoreAnswer {
    rows[node]?.beat &+= 1
    rows[node]?.knows = knows
    return .beaten(flaws.contains(.thawsAfterFence) ? thawed(node) : active)
  }

  /// The flaw: a node that was put out is told that it is still there.
  private func thawed(_ node: NodeEpoch) -> [NodeRow] {
    rows.values.filter { !$0.isFenced || $0.epoch == node }.sorted { $0.epoch < $1.epoch }
  }

  private mutating func fence(_ node: NodeEpoch, at beat: UInt64) -> StoreAnswer {
    guard let row = rows[node], !row.isFenced else { return .fenced(node) }
    guard row.beat == beat else { return .refused(.beatMoved) }
    rows[node]?.isFenced = true
    return .fenced(node)
  }

  private mutating func acquire(_ name: LeaseName, by node: NodeEpoch) -> StoreAnswer {
    let before = seen(name)
    let mayRob = flaws.contains(.acquiresFromLiving) && before.holder != node
    if before.holder != nil, !mayRob { return .refused(.held(before)) }
    return write(Lease(name, holder: node, epoch: before.epoch.next))
  }

  /// Both whom a lease leaves and whom it comes to are told by their rows.
  private mutating func write(_ lease: Lease) -> StoreAnswer {
    if let old = leases[lease.name]?.holder { rows[old]?.changes &+= 1 }
    if let new = lease.holder { rows[new]?.changes &+= 1 }
    leases[lease.name] = lease
    marks[lease.name] = mark
    return .lease(lease)
  }

  private mutating func register(
    _ name: LeaseName, _ epoch: LeaseEpoch, above: LeaseEpoch, instead old: NodeEpoch, by node: NodeEpoch
  ) -> StoreAnswer {
    let before = seen(name)
    guard before.epoch == epoch else { return .refused(.moved(leases[name])) }
    if let holder = before.holder, holder != old, marks[name] == mark { return .refused(.held(before)) }
    return write(Lease(name, holder: node, epoch: max(before.epoch, above).next))
  }

  private mutating func giveBack(_ name: LeaseName, _ epoch: LeaseEpoch, by node: NodeEpoch) -> StoreAnswer {
    guard let lease = leases[name], lease.holder == node, lease.epoch == epoch else {
      return .refused(.moved(leases[name]))
    }
    leases[name]?.holder = nil
    rows[node]?.changes &+= 1
    return .done
  }
}
