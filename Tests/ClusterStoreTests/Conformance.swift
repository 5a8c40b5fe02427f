// What every store of a cluster has to do, whatever it is made of. One suite for all of them.

import Names
import Ownership

/// A store under test.
protocol TestedStore {
  var mark: StoreMark { get }
  mutating func apply(_ statement: StoreStatement) -> StoreAnswer
}

/// One look at a store: a fresh one for each.
struct Conformance<Store: TestedStore> {
  /// What the store has done otherwise.
  private var wrong: [String] = []
  private static var room: LeaseName { .room("hall") }

  private var store: Store
  private var mark: StoreMark { store.mark }

  init(_ store: Store) { self.store = store }

  /// Looks at everything that a store has to do. - Returns: what it does otherwise.
  static func wrong(_ make: () -> Store) -> [String] {
    looks.flatMap { look in
      var conformance = Conformance(make())
      do { try look(&conformance) } catch { conformance.wrong.append("\(error)") }
      return conformance.wrong
    }
  }

  private mutating func want(_ isRight: Bool, _ words: String = "", _ line: Int = #line) {
    if !isRight { wrong.append("line \(line): \(words)") }
  }

  private mutating func refuses(_ statement: StoreStatement, _ refusal: StoreRefusal, _ line: Int = #line) {
    let answer = store.apply(statement)
    want(answer == .refused(refusal), "\(statement): \(answer)", line)
  }

  private static var looks: [(inout Conformance) throws -> Void] {
    [
      { try $0.epochsGrow() }, { try $0.beatsRaiseARowAndReadAll() }, { try $0.onlyABeatThatStandsIsFenced() },
      { try $0.whoIsFencedMayNothing() }, { try $0.aLeaseHasOneHolder() }, { try $0.aFencedHolderLosesItsLeases() },
      { try $0.aLeaseIsGivenBackUnderItsEpochAlone() }, { try $0.changesAreCountedForBoth() },
      { try $0.anotherMarkIsRefused() }, { try $0.looksChangeNothing() },
    ]
  }

  // MARK: - Words

  private mutating func enter(_ name: String, above: UInt32 = 0) throws -> NodeEpoch {
    let answer = store.apply(.enter(name: name, boot: "boot", above: NodeEpoch(above)))
    guard case .entered(let row, let rows, let mark) = answer else { throw Unexpected(answer: answer) }
    want(row.name == name && row.boot == "boot" && !row.isFenced && rows.contains(row) && mark == self.mark)
    return row.epoch
  }

  private mutating func rows(_ by: NodeEpoch) throws -> [NodeRow] {
    let answer = store.apply(.beat(by, knows: by, under: mark))
    guard case .beaten(let rows) = answer else { throw Unexpected(answer: answer) }
    return rows
  }

  private mutating func row(_ node: NodeEpoch) throws -> NodeRow {
    try rows(node).first { $0.epoch == node } ?? NodeRow(name: "", boot: "", epoch: .none)
  }

  private mutating func acquire(_ by: NodeEpoch, _ name: LeaseName = room) throws -> Lease {
    let answer = store.apply(.acquire(name, by: by, under: mark))
    guard case .lease(let lease) = answer else { throw Unexpected(answer: answer) }
    return lease
  }

  // MARK: - Looks

  private mutating func epochsGrow() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let c = try enter("c", above: 100)
    let (d, again) = (try enter("d"), try enter("a"))
    want(a > .none && a < b && c > NodeEpoch(100) && c < d && d < again)
    let last = try enter("z", above: .max - 1)
    want(last.rawValue == .max)
    want(store.apply(.enter(name: "y", boot: "", above: .none)) == .refused(.noneLeft))
  }

  private mutating func beatsRaiseARowAndReadAll() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let first = try row(a)
    let rows = try rows(a)
    want(rows.map(\.epoch) == [a, b])
    want(rows.first?.beat == first.beat + 1 && rows.last?.beat == 0)
    want(store.apply(.beat(a, knows: b, under: mark)) != .refused(.notActive))
    try want(self.rows(b).first?.knows == b)
  }

  private mutating func onlyABeatThatStandsIsFenced() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let seen = try row(a).beat
    _ = try row(a)
    want(store.apply(.fence(a, at: seen, by: b, under: mark)) == .refused(.beatMoved))
    want(store.apply(.fence(a, at: seen + 1, by: b, under: mark)) == .fenced(a))
    try want(rows(b).map(\.epoch) == [b])
    want(store.apply(.fence(a, at: seen, by: b, under: mark)) == .fenced(a), "once more")
    want(store.apply(.fence(NodeEpoch(99), at: 0, by: b, under: mark)) == .fenced(NodeEpoch(99)), "who is gone")
  }

  private mutating func whoIsFencedMayNothing() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(store.apply(.fence(a, at: 0, by: b, under: mark)) == .fenced(a))
    let statements: [StoreStatement] = [
      .beat(a, knows: b, under: mark), .fence(b, at: 0, by: a, under: mark), .acquire(Self.room, by: a, under: mark),
      .giveBack(Self.room, lease.epoch, by: a, under: mark), .held(by: a), .beat(NodeEpoch(99), knows: a, under: mark),
    ]
    for statement in statements { refuses(statement, .notActive) }
    try want(rows(b).map(\.epoch) == [b])
  }

  private mutating func aLeaseHasOneHolder() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(lease == Lease(Self.room, holder: a, epoch: LeaseEpoch(1)))
    for node in [a, b] { want(store.apply(.acquire(Self.room, by: node, under: mark)) == .refused(.held(lease))) }
    try want(acquire(b, .switchboard(of: .default)).holder == b, "another name")
    try want(acquire(b, .room("HALL")).holder == b, "names are told apart by their bytes")
  }

  private mutating func aFencedHolderLosesItsLeases() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(store.apply(.fence(a, at: 0, by: b, under: mark)) == .fenced(a))
    want(store.apply(.holder(Self.room)) == .lease(Lease(Self.room, holder: nil, epoch: lease.epoch)))
    try want(acquire(b) == Lease(Self.room, holder: b, epoch: lease.epoch.next))
  }

  private mutating func aLeaseIsGivenBackUnderItsEpochAlone() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let nobodys = store.apply(.giveBack(Self.room, LeaseEpoch(1), by: a, under: mark))
    want(nobodys == .refused(.moved(nil)))
    let first = try acquire(a)
    want(store.apply(.giveBack(Self.room, first.epoch, by: b, under: mark)) == .refused(.moved(first)))
    want(store.apply(.giveBack(Self.room, first.epoch, by: a, under: mark)) == .done)
    let second = try acquire(a)
    want(second.epoch == first.epoch.next, "the epoch of a name that was given back stays")
    want(store.apply(.giveBack(Self.room, first.epoch, by: a, under: mark)) == .refused(.moved(second)), "late")
  }

  private mutating func changesAreCountedForBoth() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    try want(row(a).changes == 1)
    want(store.apply(.acquire(Self.room, by: a, under: mark)) == .refused(.held(lease)))
    try want(row(a).changes == 1, "what is refused is no change")
    want(store.apply(.giveBack(Self.room, lease.epoch, by: a, under: mark)) == .done)
    try want(row(a).changes == 2)
    _ = try acquire(b)
    try want(row(a).changes == 2 && row(b).changes == 1)
  }

  private mutating func anotherMarkIsRefused() throws {
    let a = try enter("a")
    var other = mark
    other.timeline += 1
    let statements: [StoreStatement] = [
      .beat(a, knows: a, under: other), .fence(a, at: 0, by: a, under: other), .acquire(Self.room, by: a, under: other),
      .giveBack(Self.room, LeaseEpoch(1), by: a, under: other),
    ]
    for statement in statements { refuses(statement, .mark(mark)) }
    try want(row(a).beat == 1)
  }

  private mutating func looksChangeNothing() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let names = [LeaseName.room("b"), .room("a"), .switchboard(of: .default)]
    let leases = try names.map { try acquire(a, $0) }
    want(store.apply(.held(by: a)) == .leases(leases.sorted { $0.name < $1.name }))
    want(store.apply(.held(by: b)) == .leases([]))
    want(store.apply(.holder(names[0])) == .lease(leases[0]))
    let nobodys = store.apply(.holder(Self.room))
    want(nobodys == .lease(Lease(Self.room, holder: nil, epoch: LeaseEpoch(0))))
    try want(row(a).changes == 3 && row(a).beat == 2)
  }
}

/// An answer of another kind than was due.
private struct Unexpected: Error {
  let answer: StoreAnswer
}
