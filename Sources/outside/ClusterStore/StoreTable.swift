// The store in memory: what its transactions see and change, one at a time. Tests and the simulator have it in the place of a database.

import Ownership

/// Nodes and leases of a cluster. Nothing in it depends on a clock: whoever changes something says what it has seen.
public struct StoreTable: Hashable, Sendable {
  /// Rows that are fenced and still kept, for people who look. One that is gone counts as fenced.
  public static let mostFenced = 64

  /// What tells it from another store.
  public let mark: StoreMark
  private var rows: [NodeEpoch: NodeRow] = [:]
  private var leases: [LeaseName: Lease] = [:]
  private var newest = NodeEpoch.none
  private let flaws: StoreFlaws

  /// An empty one.
  public init(mark: StoreMark) { self.init(mark: mark, flaws: []) }

  package init(mark: StoreMark, flaws: StoreFlaws) { (self.mark, self.flaws) = (mark, flaws) }

  /// Rows that are not fenced, by their epochs.
  public var active: [NodeRow] { rows.values.filter { !$0.isFenced }.sorted { $0.epoch < $1.epoch } }
  /// How many rows there are, fenced ones too.
  public var rowCount: Int { rows.count }
  /// Who holds a lease, or held it last; nil where nobody ever has.
  public func lease(_ name: LeaseName) -> Lease? { leases[name] }
  /// Whether a node is neither fenced nor gone.
  public func isActive(_ node: NodeEpoch) -> Bool { rows[node].map { !$0.isFenced } ?? false }

  /// Carries a statement out, wholly or not at all.
  public mutating func apply(_ statement: StoreStatement) -> StoreAnswer {
    switch statement {
    case .enter(let name, let boot, let above): enter(name, boot, above: above)
    case .beat(let node, let knows, let mark): refusal(of: node, mark) ?? beat(node, knows)
    case .fence(let node, let beat, let by, let mark): refusal(of: by, mark) ?? fence(node, at: beat)
    case .acquire(let name, let by, let mark): refusal(of: by, mark) ?? acquire(name, by: by)
    case .giveBack(let name, let epoch, let by, let mark): refusal(of: by, mark) ?? giveBack(name, epoch, by: by)
    case .held(let node): isActive(node) ? .leases(held(by: node)) : .refused(.notActive)
    case .holder(let name): .lease(seen(name))
    }
  }

  /// Why somebody may not change anything.
  private func refusal(of node: NodeEpoch, _ mark: StoreMark) -> StoreAnswer? {
    guard mark == self.mark else { return .refused(.mark(self.mark)) }
    if flaws.contains(.thawsAfterFence), rows[node] != nil { return nil }
    return isActive(node) ? nil : .refused(.notActive)
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

  private mutating func enter(_ name: String, _ boot: String, above: NodeEpoch) -> StoreAnswer {
    guard let epoch = max(newest, above).next else { return .refused(.noneLeft) }
    newest = epoch
    let row = NodeRow(name: name, boot: boot, epoch: epoch)
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
    if let old = leases[name]?.holder { rows[old]?.changes &+= 1 }
    rows[node]?.changes &+= 1
    let lease = Lease(name, holder: node, epoch: before.epoch.next)
    leases[name] = lease
    return .lease(lease)
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
