// The store in memory does what every store has to do, and keeps few rows of nodes that are out.

import Names
import Ownership
import Testing

@testable import ClusterStore

private let mark = StoreMark(system: 7, timeline: 2, incarnation: 3)

extension StoreTable: TestedStore {}

@Suite struct StoreTableTests {
  @Test func itDoesWhatStoresHaveToDo() { #expect(Conformance.wrong { StoreTable(mark: mark) } == []) }

  /// The control: stores with a flaw do not pass.
  @Test(arguments: [StoreFlaws.acquiresFromLiving, .thawsAfterFence])
  func aStoreWithAFlawDoesNotPass(_ flaw: StoreFlaws) {
    #expect(!Conformance.wrong { StoreTable(mark: mark, flaws: flaw) }.isEmpty)
  }

  @Test func rowsThatAreFencedGoAtLast() {
    var table = StoreTable(mark: mark)
    guard case .entered(let first, _, _) = table.apply(.enter(name: "a", boot: "", process: one, above: .none)) else {
      Issue.record("refused")
      return
    }
    _ = table.apply(.acquire(.room("hall"), by: Asker(NodeEpoch(1), of: one, beat: 0, under: mark)))
    for number in 1..<200 as Range<UInt32> {
      _ = table.apply(.enter(name: "a", boot: "", process: one, above: .none))
      _ = table.apply(.fence(NodeEpoch(number), at: 0, by: Asker(NodeEpoch(number + 1), of: one, beat: 0, under: mark)))
    }
    #expect(
      table.rowCount == StoreTable.mostFenced + 2, "the active one, and one that was fenced behind the last arrival")
    #expect(!table.isActive(first.epoch) && table.active.map(\.epoch) == [NodeEpoch(200)])
    #expect(table.apply(.beat(Asker(first.epoch, of: one, beat: 0, under: mark), knows: .none)) == .refused(.gone))
    #expect(table.apply(.holder(.room("hall"))) == .lease(Lease(.room("hall"), holder: nil, epoch: LeaseEpoch(1))))
  }
}
