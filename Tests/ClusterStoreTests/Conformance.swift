// What every store of a cluster has to do, whatever it is made of. One suite for all of them.

import Names
import Ownership

/// The process that all nodes of the suite are of.
let one = ProcessNumber(1)

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
      { try $0.anotherMarkIsRefused() }, { try $0.aStoreThatWentBackRefuses() },
      { try $0.aLeaseIsRegisteredAgain() }, { try $0.whoHoldsUnderThisMarkKeepsIt() }, { try $0.looksChangeNothing() },
    ]
  }

  // MARK: - Words

  private mutating func enter(_ name: String, above: UInt32 = 0) throws -> NodeEpoch {
    let answer = store.apply(.enter(name: name, boot: "boot", process: one, above: NodeEpoch(above)))
    guard case .entered(let row, let rows, let mark) = answer else { throw Unexpected(answer: answer) }
    want(row.name == name && row.boot == "boot" && !row.isFenced && rows.contains(row) && mark == self.mark)
    return row.epoch
  }

  private mutating func rows(_ by: NodeEpoch) throws -> [NodeRow] {
    let answer = store.apply(.beat(Asker(by, of: one, beat: 0, under: mark), knows: by))
    guard case .beaten(let rows) = answer else { throw Unexpected(answer: answer) }
    return rows
  }

  private mutating func row(_ node: NodeEpoch) throws -> NodeRow {
    try rows(node).first { $0.epoch == node } ?? NodeRow(name: "", boot: "", process: one, epoch: .none)
  }

  private mutating func acquire(_ by: NodeEpoch, _ name: LeaseName = room) throws -> Lease {
    let answer = store.apply(.acquire(name, by: Asker(by, of: one, beat: 0, under: mark)))
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
    want(store.apply(.enter(name: "y", boot: "", process: one, above: .none)) == .refused(.noneLeft))
  }

  private mutating func beatsRaiseARowAndReadAll() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let first = try row(a)
    let rows = try rows(a)
    want(rows.map(\.epoch) == [a, b])
    want(rows.first?.beat == first.beat + 1 && rows.last?.beat == 0)
    want(store.apply(.beat(Asker(a, of: one, beat: 0, under: mark), knows: b)) != .refused(.notActive))
    try want(self.rows(b).first?.knows == b)
  }

  private mutating func onlyABeatThatStandsIsFenced() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let seen = try row(a).beat
    _ = try row(a)
    want(store.apply(.fence(a, at: seen, by: Asker(b, of: one, beat: 0, under: mark))) == .refused(.beatMoved))
    want(store.apply(.fence(a, at: seen + 1, by: Asker(b, of: one, beat: 0, under: mark))) == .fenced(a))
    try want(rows(b).map(\.epoch) == [b])
    want(store.apply(.fence(a, at: seen, by: Asker(b, of: one, beat: 0, under: mark))) == .fenced(a), "once more")
    want(
      store.apply(.fence(NodeEpoch(99), at: 0, by: Asker(b, of: one, beat: 0, under: mark))) == .fenced(NodeEpoch(99)),
      "who is gone")
  }

  private mutating func whoIsFencedMayNothing() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(store.apply(.fence(a, at: 0, by: Asker(b, of: one, beat: 0, under: mark))) == .fenced(a))
    let statements: [StoreStatement] = [
      .beat(Asker(a, of: one, beat: 0, under: mark), knows: b),
      .fence(b, at: 0, by: Asker(a, of: one, beat: 0, under: mark)),
      .acquire(Self.room, by: Asker(a, of: one, beat: 0, under: mark)),
      .giveBack(Self.room, lease.epoch, by: Asker(a, of: one, beat: 0, under: mark)),
      .held(by: Asker(a, of: one, beat: 0, under: mark)),
    ]
    for statement in statements { refuses(statement, .notActive) }
    refuses(.beat(Asker(NodeEpoch(99), of: one, beat: 0, under: mark), knows: a), .gone)
    try want(rows(b).map(\.epoch) == [b])
  }

  private mutating func aLeaseHasOneHolder() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(lease == Lease(Self.room, holder: a, epoch: LeaseEpoch(1)))
    for node in [a, b] {
      want(store.apply(.acquire(Self.room, by: Asker(node, of: one, beat: 0, under: mark))) == .refused(.held(lease)))
    }
    try want(acquire(b, .switchboard(of: .default)).holder == b, "another name")
    try want(acquire(b, .room("HALL")).holder == b, "names are told apart by their bytes")
  }

  private mutating func aFencedHolderLosesItsLeases() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    want(store.apply(.fence(a, at: 0, by: Asker(b, of: one, beat: 0, under: mark))) == .fenced(a))
    want(store.apply(.holder(Self.room)) == .lease(Lease(Self.room, holder: nil, epoch: lease.epoch)))
    try want(acquire(b) == Lease(Self.room, holder: b, epoch: lease.epoch.next))
  }

  private mutating func aLeaseIsGivenBackUnderItsEpochAlone() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let nobodys = store.apply(.giveBack(Self.room, LeaseEpoch(1), by: Asker(a, of: one, beat: 0, under: mark)))
    want(nobodys == .refused(.moved(nil)))
    let first = try acquire(a)
    want(
      store.apply(.giveBack(Self.room, first.epoch, by: Asker(b, of: one, beat: 0, under: mark)))
        == .refused(.moved(first)))
    want(store.apply(.giveBack(Self.room, first.epoch, by: Asker(a, of: one, beat: 0, under: mark))) == .done)
    let second = try acquire(a)
    want(second.epoch == first.epoch.next, "the epoch of a name that was given back stays")
    want(
      store.apply(.giveBack(Self.room, first.epoch, by: Asker(a, of: one, beat: 0, under: mark)))
        == .refused(.moved(second)), "late")
  }

  private mutating func changesAreCountedForBoth() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    try want(row(a).changes == 1)
    want(store.apply(.acquire(Self.room, by: Asker(a, of: one, beat: 0, under: mark))) == .refused(.held(lease)))
    try want(row(a).changes == 1, "what is refused is no change")
    want(store.apply(.giveBack(Self.room, lease.epoch, by: Asker(a, of: one, beat: 0, under: mark))) == .done)
    try want(row(a).changes == 2)
    _ = try acquire(b)
    try want(row(a).changes == 2 && row(b).changes == 1)
  }

  private mutating func anotherMarkIsRefused() throws {
    let a = try enter("a")
    var other = mark
    other.timeline += 1
    let statements: [StoreStatement] = [
      .beat(Asker(a, of: one, beat: 0, under: other), knows: a),
      .fence(a, at: 0, by: Asker(a, of: one, beat: 0, under: other)),
      .acquire(Self.room, by: Asker(a, of: one, beat: 0, under: other)),
      .giveBack(Self.room, LeaseEpoch(1), by: Asker(a, of: one, beat: 0, under: other)),
    ]
    for statement in statements { refuses(statement, .mark(mark)) }
    try want(row(a).beat == 1)
  }

  private mutating func aStoreThatWentBackRefuses() throws {
    let a = try enter("a")
    let beat = try row(a).beat
    let (later, other) = (
      Asker(a, of: one, beat: beat + 1, under: mark), Asker(a, of: ProcessNumber(2), beat: beat, under: mark)
    )
    for asker in [later, other] {
      let statements: [StoreStatement] = [
        .beat(asker, knows: a), .fence(a, at: beat, by: asker), .acquire(Self.room, by: asker), .held(by: asker),
        .giveBack(Self.room, LeaseEpoch(1), by: asker),
        .register(Self.room, seen: LeaseEpoch(0), above: LeaseEpoch(1), instead: a, by: asker),
      ]
      for statement in statements { refuses(statement, .wentBack) }
    }
    want(store.apply(.beat(Asker(a, of: one, beat: beat, under: mark), knows: a)) != .refused(.wentBack))
  }

  private mutating func aLeaseIsRegisteredAgain() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let by = Asker(b, of: one, beat: 0, under: mark)
    let first = store.apply(.register(Self.room, seen: LeaseEpoch(0), above: LeaseEpoch(7), instead: a, by: by))
    want(first == .lease(Lease(Self.room, holder: b, epoch: LeaseEpoch(8))))
    let again = StoreStatement.register(Self.room, seen: LeaseEpoch(0), above: LeaseEpoch(9), instead: b, by: by)
    refuses(again, .moved(Lease(Self.room, holder: b, epoch: LeaseEpoch(8))))
    let c = try enter("c")
    let other = Asker(c, of: one, beat: 0, under: mark)
    let next = store.apply(.register(Self.room, seen: LeaseEpoch(8), above: LeaseEpoch(2), instead: b, by: other))
    want(next == .lease(Lease(Self.room, holder: c, epoch: LeaseEpoch(9))), "from its earlier row")
    want(try row(b).changes == 2 && row(c).changes == 1)
  }

  private mutating func whoHoldsUnderThisMarkKeepsIt() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let lease = try acquire(a)
    let by = Asker(b, of: one, beat: 0, under: mark)
    refuses(.register(Self.room, seen: lease.epoch, above: LeaseEpoch(5), instead: b, by: by), .held(lease))
    want(store.apply(.fence(a, at: 0, by: by)) == .fenced(a))
    let next = store.apply(.register(Self.room, seen: lease.epoch, above: LeaseEpoch(5), instead: b, by: by))
    want(next == .lease(Lease(Self.room, holder: b, epoch: LeaseEpoch(6))))
  }

  private mutating func looksChangeNothing() throws {
    let (a, b) = (try enter("a"), try enter("b"))
    let names = [LeaseName.room("b"), .room("a"), .switchboard(of: .default)]
    let leases = try names.map { try acquire(a, $0) }
    want(
      store.apply(.held(by: Asker(a, of: one, beat: 0, under: mark))) == .leases(leases.sorted { $0.name < $1.name }))
    want(store.apply(.held(by: Asker(b, of: one, beat: 0, under: mark))) == .leases([]))
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
