// A store that goes back: emptied, an earlier one, or an earlier one that does not say so.

import Basics
import ClusterStore
import Ownership
import Testing

@Suite struct MarkTests {
  /// Node 0 holds the hall, and hears nothing of a store that is emptied. Node 1 does, and wants the hall.
  private static func emptied(_ flaws: OwnershipFlaws) -> Bench {
    let bench = Bench([[], flaws])
    bench.want(0)
    bench.deaf = [0]
    bench.goBack()
    bench.want(1)
    bench.advance(.milliseconds(500))
    bench.want(1)
    return bench
  }

  @Test func nobodyAcquiresForSixSeconds() {
    let bench = Self.emptied([])
    #expect(bench.decides(0) && !bench.decides(1))
    bench.advance(.milliseconds(5_400))
    bench.want(1)
    #expect(!bench.decides(0) && !bench.decides(1))
    bench.advance(.milliseconds(200))
    bench.want(1)
    #expect(bench.decides(1))
    let control = Self.emptied(.noQuietTime)
    #expect(control.decides(0) && control.decides(1), "the control")
  }

  /// It was stopped until it was out, and hears of the other store by its new row alone.
  @Test func whoBeginsAnewTakesNothingForSixSeconds() throws {
    let bench = Bench(2)
    bench.want(0)
    bench.apply(.want(.room("attic")), at: 1)
    let permit = try #require(bench.nodes[1].permit(for: .room("attic"), at: bench.now))
    bench.advance(.seconds(5), stopped: [1])
    bench.deaf = [0]
    bench.goBack()
    bench.apply(.threwAway(permit), at: 1)
    bench.want(1)
    #expect(bench.decides(0) && !bench.decides(1))
    bench.advance(.seconds(6))
    bench.want(1)
    #expect(!bench.decides(0) && bench.decides(1))
  }

  /// A replica has an earlier owner of the hall, and a higher epoch than the node's.
  @Test func whoStillDecidesRegistersAgainAboveBoth() {
    let bench = Bench(2)
    bench.want(1)
    for _ in 0..<4 {
      bench.apply(.giveBack(Bench.hall), at: 1)
      bench.want(1)
    }
    let replica = bench.table
    #expect(replica.lease(Bench.hall)?.epoch == LeaseEpoch(5))
    bench.apply(.giveBack(Bench.hall), at: 1)
    bench.want(0)
    #expect(bench.verdict(0) == .decides(LeaseEpoch(6)))
    bench.goBack(to: replica)
    bench.forgetHeard()
    let node = bench.nodes[0].epoch
    for _ in 0..<40 {
      bench.advance(.milliseconds(50))
      #expect(bench.decides(0) && !bench.decides(1))
    }
    #expect(bench.verdict(0) == .decides(LeaseEpoch(7)) && bench.nodes[0].epoch != node)
    #expect(bench.heard[0] == [.holds(Lease(Bench.hall, holder: bench.nodes[0].epoch, epoch: LeaseEpoch(7)))])
    bench.advance(.seconds(8))
    bench.want(1)
    #expect(bench.verdict(1) == .elsewhere(bench.nodes[0].epoch))
  }

  /// What was committed before the lease was written again is not shown. The node has kept it, so it begins anew.
  @Test func whatWasCommittedBeforeIsNotForgotten() throws {
    let bench = Bench(1)
    bench.want(0)
    let permit = try #require(bench.nodes[0].permit(for: Bench.hall, at: bench.now))
    bench.goBack()
    bench.advance(.seconds(2))
    #expect(bench.verdict(0) == .decides(LeaseEpoch(2)) && !bench.nodes[0].holds(permit, at: bench.now))
    #expect(!bench.heard[0].contains(.beginAnew))
    bench.apply(.threwAway(permit), at: 0)
    #expect(bench.heard[0].contains(.beginAnew) && !bench.decides(0))
  }

  /// The node is frozen when it hears of the other store, in which its row and its lease are as they were.
  @Test(arguments: [(OwnershipFlaws(), false), (OwnershipFlaws.keepsLeasesOverMarks, true)])
  func whoIsFrozenBeginsAnew(_ flaws: OwnershipFlaws, keeps: Bool) {
    let bench = Bench([flaws])
    bench.want(0)
    bench.deaf = [0]
    bench.advance(.milliseconds(4_500))
    let earlier = bench.table
    bench.goBack(to: earlier)
    bench.deaf = []
    bench.advance(.seconds(4))
    #expect(bench.decides(0) == keeps)
    #expect(bench.heard[0].contains(.beginAnew) != keeps)
  }

  /// A dump from before node 0 had the hall; the mark is the same.
  private static func restored(_ flaws: OwnershipFlaws) -> Bench {
    let bench = Bench([flaws, flaws])
    let dump = bench.table
    bench.advance(.seconds(8))
    bench.want(0)
    bench.table = dump
    bench.want(1)
    return bench
  }

  @Test func aDumpRestoredIntoTheRunningServerIsAnotherMark() {
    let bench = Self.restored([])
    #expect(bench.decides(0) && !bench.decides(1))
    bench.advance(.seconds(2))
    #expect(bench.verdict(0) == .decides(LeaseEpoch(2)), "registered again")
    bench.want(1)
    #expect(bench.decides(0) && !bench.decides(1))
    let control = Self.restored(.beatLowerIsNoMark)
    #expect(control.decides(0) && control.decides(1), "the control")
  }

  /// The store answers so slowly that the lease is not written again before the node's time is over.
  @Test func whatIsNotRegisteredInTimeIsLost() {
    let bench = Bench(1)
    bench.want(0)
    bench.goBack()
    bench.slow = [0]
    bench.advance(.seconds(1))
    bench.answer()
    bench.answer()
    #expect(bench.decides(0), "it has a row, and the time of the earlier one")
    bench.forgetHeard()
    bench.advance(.milliseconds(2_950))
    #expect(bench.decides(0))
    bench.advance(.milliseconds(50))
    #expect(!bench.decides(0) && bench.heard[0] == [.lost(Bench.hall)])
  }

  /// A store that went back has given the node's epoch to another process.
  @Test func anothersRowIsNotTakenForTheOwn() {
    let bench = Bench(1)
    bench.want(0)
    var table = StoreTable(mark: bench.table.mark)
    _ = table.apply(.enter(name: "other", boot: "b", process: ProcessNumber(99), above: .none))
    bench.table = table
    bench.advance(.seconds(2))
    #expect(bench.nodes[0].epoch == NodeEpoch(2) && bench.decides(0))
    #expect(bench.table.active.map(\.process) == [ProcessNumber(99), ProcessNumber(0)])
  }
}
