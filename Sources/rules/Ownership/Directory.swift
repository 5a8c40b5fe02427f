// Who holds what elsewhere, as it was heard last.

/// Holders by lease. The oldest entry makes room where there are too many.
struct Directory: Sendable {
  static let most = 4_096

  private struct Entry: Sendable {
    let holder: NodeEpoch
    let number: UInt64
  }

  private var entries: [LeaseName: Entry] = [:]
  /// In the order in which they came; with some that are in `entries` no more, or under a later number.
  private var order: [(name: LeaseName, number: UInt64)] = []
  /// Where the oldest stands in `order`.
  private var first = 0
  private var last: UInt64 = 0

  var count: Int { entries.count }
  subscript(name: LeaseName) -> NodeEpoch? { entries[name]?.holder }

  mutating func note(_ name: LeaseName, _ holder: NodeEpoch) {
    last &+= 1
    entries[name] = Entry(holder: holder, number: last)
    order.append((name, last))
    while entries.count > Self.most, first < order.count {
      let old = order[first]
      first += 1
      if entries[old.name]?.number == old.number { entries[old.name] = nil }
    }
    guard order.count > Self.most * 4 else { return }
    order = order[first...].filter { entries[$0.name]?.number == $0.number }
    first = 0
  }

  mutating func forget(_ name: LeaseName) { entries[name] = nil }
  /// A node is out, and with it all that it held.
  mutating func forget(holder: NodeEpoch) { entries = entries.filter { $0.value.holder != holder } }
  /// Forgets whoever is not among these.
  mutating func keep(_ isActive: (NodeEpoch) -> Bool) { entries = entries.filter { isActive($0.value.holder) } }
}
