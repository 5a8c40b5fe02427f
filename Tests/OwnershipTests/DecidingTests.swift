// When a node may decide, and when others may put it out.

import Basics
import ClusterStore
import Ownership
import Testing

@Suite struct DecidingTests {
  @Test func aLeaseIsNobodysUntilItIsCommitted() throws {
    let bench = Bench(1)
    #expect(bench.heard[0] == [.thawed] && bench.verdict(0) == .elsewhere(nil))
    bench.slow = [0]
    bench.want(0)
    #expect(bench.table.lease(Bench.hall)?.holder == bench.nodes[0].epoch, "the store has it")
    #expect(bench.verdict(0) == .elsewhere(nil), "the node does not know yet")
    bench.answer()
    #expect(bench.verdict(0) == .decides(LeaseEpoch(1)))
    let permit = try #require(bench.nodes[0].permit(for: Bench.hall, at: bench.now))
    #expect(bench.nodes[0].holds(permit, at: bench.now + .milliseconds(3_999)))
    #expect(!bench.nodes[0].holds(permit, at: bench.now + .seconds(4)))
  }

  /// The answer to a beat comes after 2.5 s: the four seconds are counted from before it.
  @Test(arguments: [(OwnershipFlaws(), false), (OwnershipFlaws.untilFromAnswer, true)])
  func untilCountsFromTheSending(_ flaws: OwnershipFlaws, isLate: Bool) {
    let bench = Bench([flaws])
    bench.slow = [0]
    bench.advance(.seconds(1))
    bench.deaf = [0]
    bench.advance(.milliseconds(2_500))
    bench.answer()
    bench.advance(.milliseconds(1_450))
    #expect(bench.verdict(0) != .frozen)
    bench.advance(.milliseconds(100))
    #expect((bench.verdict(0) != .frozen) == isLate)
  }

  @Test func aNodeFreezesFourSecondsAfterItsLastBeatWasSent() {
    let bench = Bench(1)
    bench.want(0)
    bench.advance(.milliseconds(1_500))
    bench.deaf = [0]
    bench.forgetHeard()
    bench.advance(.milliseconds(3_450))
    #expect(bench.verdict(0) == .decides(LeaseEpoch(1)) && bench.heard[0] == [])
    bench.advance(.milliseconds(50))
    #expect(bench.verdict(0) == .frozen && bench.heard[0] == [.frozen])
    bench.deaf = []
    bench.advance(.seconds(4))
    #expect(bench.heard[0] == [.frozen, .thawed])
    #expect(bench.verdict(0) == .decides(LeaseEpoch(1)), "nobody has put it out: what it held it holds")
  }

  @Test func fencedItBeginsAnew() {
    let bench = Bench(2)
    bench.want(0)
    let first = bench.nodes[0].epoch
    bench.deaf = [0]
    bench.advance(.seconds(8))
    bench.want(1)
    #expect(bench.verdict(1) == .decides(LeaseEpoch(2)) && bench.verdict(0) == .frozen)
    bench.forgetHeard()
    bench.deaf = []
    bench.advance(.seconds(4))
    #expect(bench.heard[0] == [.lost(Bench.hall), .beginAnew, .thawed])
    #expect(bench.verdict(0) == .elsewhere(nil), "it holds nothing")
    #expect(bench.nodes[0].epoch != first && bench.decides(1))
    bench.want(0)
    #expect(bench.verdict(0) == .elsewhere(bench.nodes[1].epoch))
  }

  /// Node 1 sees a beat of node 0 for the last time. - Returns: after how many seconds it has been put out.
  private static func patience(_ flaws: OwnershipFlaws = [], breaks: Bool = false) -> Double? {
    let bench = Bench([[], flaws])
    bench.advance(.seconds(2))
    bench.deaf = [0]
    let begun = bench.now
    if breaks {
      bench.advance(.seconds(5))
      bench.breakConnection(1)
    }
    while bench.now - begun < .seconds(20) {
      bench.advance(.milliseconds(50))
      if bench.table.active.count == 1 { return (bench.now - begun).seconds }
    }
    return nil
  }

  @Test func sixSecondsWithoutABeatAreNeeded() throws {
    let patience = try #require(Self.patience())
    #expect((6.0...6.1).contains(patience))
    #expect((3.0...3.1).contains(try #require(Self.patience(.fencesAfter3s))), "the control")
  }

  @Test func aBrokenConnectionBeginsTheSixSecondsAnew() throws {
    let patience = try #require(Self.patience(breaks: true))
    #expect((11.2...11.4).contains(patience), "five seconds, a pause, and six")
  }

  /// A turn of a thousand inputs, each with a commit. - Returns: how many were shown.
  private static func turn(stopsAt place: Int, looksOnce: Bool) -> Int {
    let bench = Bench(2)
    bench.want(0)
    let begun = bench.now
    var shown = 0
    for input in 0..<1_000 {
      guard let permit = bench.nodes[0].permit(for: Bench.hall, at: looksOnce ? begun : bench.now) else { break }
      if input == place {
        bench.advance(.seconds(10), stopped: [0])
        bench.want(1)
        #expect(bench.decides(1))
      }
      guard bench.nodes[0].holds(permit, at: looksOnce ? begun : bench.now) else { break }
      shown += 1
    }
    return shown
  }

  @Test func aProcessStoppedInsideATurnShowsNothing() {
    for place in stride(from: 0, to: 1_000, by: 25) { #expect(Self.turn(stopsAt: place, looksOnce: false) == place) }
    #expect(Self.turn(stopsAt: 500, looksOnce: true) == 1_000, "the control: the clock is read once a turn")
  }

  @Test func whoThrewEffectsAwayBeginsAnew() throws {
    let bench = Bench(1)
    bench.want(0)
    bench.forgetHeard()
    bench.apply(.threwAway(try #require(bench.nodes[0].permit(for: Bench.hall, at: bench.now))), at: 0)
    #expect(bench.heard[0] == [.lost(Bench.hall), .beginAnew, .thawed])
    #expect(bench.nodes[0].epoch == NodeEpoch(2) && !bench.decides(0))
  }

  /// A process stops behind a turn of a thousand commits, and none of them may be shown.
  @Test func whoThrewAThousandAwayBeginsAnewOnce() throws {
    let bench = Bench(1)
    bench.want(0)
    let permit = try #require(bench.nodes[0].permit(for: Bench.hall, at: bench.now))
    bench.advance(.seconds(5), stopped: [0])
    bench.forgetHeard()
    bench.slow = [0]
    for _ in 0..<1_000 where !bench.nodes[0].holds(permit, at: bench.now) { bench.apply(.threwAway(permit), at: 0) }
    #expect(bench.heard[0].filter { $0 == .beginAnew }.count == 1)
    #expect(bench.nodes[0].unanswered == 1 && bench.table.active.count == 2, "one row more")
    bench.answer()
    bench.apply(.threwAway(permit), at: 0)
    #expect(bench.nodes[0].epoch == NodeEpoch(2), "it is of an earlier epoch")
  }
}
