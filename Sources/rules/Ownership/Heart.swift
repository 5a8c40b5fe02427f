// A node's own row, and until when its beats let it decide.

import Basics

/// Whether the node may decide at all.
struct Heart: Sendable {
  /// The own row, as it was answered last. Nil before the node has entered.
  private(set) var row: NodeRow?
  private(set) var mark = StoreMark(system: 0, timeline: 0, incarnation: 0)
  /// The node decides before this.
  private(set) var until = Instant(nanoseconds: .min)
  /// What has been told.
  private(set) var isFrozen = true
  /// When the next beat is to be sent.
  var due = Instant(nanoseconds: .min)
  /// The node takes no lease before this.
  var quietUntil = Instant(nanoseconds: .min)
  /// Whether the store is another one, and a row in it has been asked for. The node decides on meanwhile, as long as it may.
  private(set) var isRegistering = false
  /// The highest epoch that this process has had or seen.
  private(set) var newest = NodeEpoch.none
  /// The last of the own epochs that is over, and all it held with it.
  private var over = NodeEpoch.none

  /// Whether what was held under an own epoch was kept since, be it in another store.
  func isGoingOn(_ epoch: NodeEpoch) -> Bool { epoch > over }

  func decides(at now: Instant) -> Bool { row != nil && now < until }

  /// The node has a row. - Parameter sent: when that was asked for.
  mutating func enter(_ row: NodeRow, under mark: StoreMark, sent: Instant) {
    (self.row, self.mark) = (row, mark)
    until = sent + OwnershipTimes.decides
    newest = max(newest, row.epoch)
    isRegistering = false
  }

  /// A beat was taken. - Parameter from: when it was sent.
  mutating func beaten(_ row: NodeRow, from: Instant) {
    self.row = row
    until = max(until, from + OwnershipTimes.decides)
  }

  mutating func register() { isRegistering = true }
  /// The flaw: goes on in another store as if it were the same.
  mutating func take(_ mark: StoreMark, at now: Instant) { (self.mark, due) = (mark, now) }

  mutating func see(_ rows: [NodeRow]) { newest = rows.reduce(newest) { max($0, $1.epoch) } }

  /// Says what has changed since it was told.
  mutating func tell(at now: Instant, _ effects: inout [OwnershipEffect]) {
    let isFrozen = !decides(at: now)
    guard isFrozen != self.isFrozen else { return }
    self.isFrozen = isFrozen
    effects.append(isFrozen ? .frozen : .thawed)
  }

  /// No row any more.
  mutating func stop() {
    over = max(over, row?.epoch ?? .none)
    row = nil
    until = Instant(nanoseconds: .min)
    (isFrozen, isRegistering) = (true, false)
  }
}
