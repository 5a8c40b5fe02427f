// Leases whose statements were carried out and not answered, or late; and what is bounded.

import Basics
import ClusterStore
import Names
import Testing

@testable import Ownership

@Suite struct LeaseTests {
  /// The store has taken the lease for a node that never heard of it. The count of changes in its row tells.
  @Test(arguments: [(OwnershipFlaws(), true), (OwnershipFlaws.forgetsLostAnswers, false)])
  func aLeaseWhoseAnswerIsLostIsFound(_ flaws: OwnershipFlaws, isFound: Bool) {
    let bench = Bench([flaws])
    bench.slow = [0]
    bench.want(0)
    bench.breakConnection(0)
    bench.slow = []
    #expect(!bench.decides(0))
    bench.advance(.seconds(2))
    #expect(bench.decides(0) == isFound)
    bench.want(0)
    #expect(bench.decides(0) == isFound, "by asking again")
  }

  /// Until the leases have been read, nothing is decided.
  @Test func whoIsUnsureDecidesNothing() {
    let bench = Bench(1)
    bench.apply(.want(.room("other")), at: 0)
    bench.slow = [0]
    bench.want(0)
    bench.breakConnection(0)
    bench.slow = []
    bench.advance(.milliseconds(150))
    #expect(bench.nodes[0].verdict(on: .room("other"), at: bench.now) == .decides(LeaseEpoch(1)))
    bench.slow = [0]
    bench.advance(.milliseconds(100))
    bench.answer()
    #expect(bench.nodes[0].verdict(on: .room("other"), at: bench.now) == .frozen)
    bench.answer()
    #expect(bench.nodes[0].verdict(on: .room("other"), at: bench.now) == .decides(LeaseEpoch(1)) && bench.decides(0))
  }

  /// A lease is given back, and the statement hangs. The node wants it again before it is carried out.
  /// - Returns: whether two decide then.
  private static func afterGiveBack(_ flaws: OwnershipFlaws) -> Bool {
    let bench = Bench([flaws, []])
    bench.want(0)
    bench.deaf = [0]
    bench.apply(.giveBack(Bench.hall), at: 0)
    bench.breakConnection(0)
    bench.deaf = []
    bench.advance(.milliseconds(6_500))
    bench.want(0)
    bench.carryOutLate()
    bench.want(1)
    return bench.decides(0) && bench.decides(1)
  }

  @Test func whatWasGivenBackIsNotDecidedAbout() {
    #expect(!Self.afterGiveBack([]))
    #expect(Self.afterGiveBack(.decidesAfterGiveBack), "the control")
  }

  @Test func whatWasGivenBackComesWithTheNextEpoch() {
    let bench = Bench(1)
    bench.want(0)
    bench.deaf = [0]
    bench.apply(.giveBack(Bench.hall), at: 0)
    #expect(!bench.decides(0))
    bench.breakConnection(0)
    bench.deaf = []
    bench.advance(.seconds(1))
    #expect(bench.table.lease(Bench.hall)?.holder == nil, "it was given back again")
    bench.advance(.seconds(6))
    bench.want(0)
    #expect(bench.verdict(0) == .decides(LeaseEpoch(2)))
    bench.carryOutLate()
    #expect(bench.table.lease(Bench.hall)?.holder == bench.nodes[0].epoch, "the first statement is of another epoch")
  }

  @Test func anAnswerThatNobodyAskedForIsDropped() {
    let bench = Bench(1)
    bench.apply(
      .answered(QuestionID(999), .lease(Lease(Bench.hall, holder: NodeEpoch(1), epoch: LeaseEpoch(5)))), at: 0)
    #expect(!bench.decides(0))
  }

  @Test func aStoreThatAnswersSomethingElseIsLeft() throws {
    var node = Ownership(name: "n", boot: "b", process: ProcessNumber(1))
    #expect(node.poll(at: .zero) == [.connect])
    let effects = node.apply(.connected, at: .zero)
    guard case .ask(let question, _) = try #require(effects.first) else {
      Issue.record("\(effects)")
      return
    }
    #expect(node.apply(.answered(question, .done), at: .zero) == [.disconnect])
    #expect(node.nextDeadline == Instant.zero + OwnershipTimes.pause)
  }

  @Test func aStoreThatDoesNotAnswerIsLeftAfterThreeSeconds() {
    let bench = Bench(1)
    bench.deaf = [0]
    bench.advance(.milliseconds(3_950))
    #expect(bench.nodes[0].unanswered == 1)
    bench.advance(.milliseconds(50))
    #expect(bench.nodes[0].unanswered == 0)
  }

  @Test func questionsAreBounded() {
    let bench = Bench(1)
    bench.fillLine(of: 0)
    let most = QuestionBounds().names
    #expect(bench.nodes[0].unanswered == most)
    bench.want(0)
    #expect(bench.nodes[0].unanswered == most)
    bench.advance(.seconds(1))
    #expect(bench.nodes[0].unanswered == most + 1, "a beat is asked all the same")
    let control = Bench([.asksWithoutBound])
    control.fillLine(of: 0)
    #expect(control.nodes[0].unanswered == 100, "the control")
  }

  /// Node 0 is dead, and node 1 has no room for further questions when its time is over.
  @Test func aFenceIsAskedWhereTheLineIsFull() {
    let bench = Bench(2)
    bench.deaf = [0]
    bench.advance(.milliseconds(5_900))
    bench.fillLine(of: 1)
    #expect(bench.table.active.count == 2)
    bench.advance(.seconds(1))
    #expect(bench.table.active.map(\.epoch) == [bench.nodes[1].epoch])
  }

  @Test func theDirectoryIsBounded() {
    var directory = Directory()
    for turn in 0..<3 {
      for number in 0...Directory.most { directory.note(.room("r\(number)"), NodeEpoch(UInt32(turn))) }
      #expect(directory.count == Directory.most)
      #expect(directory[.room("r0")] == nil && directory[.room("r1")] == NodeEpoch(UInt32(turn)))
    }
    directory.note(.room("r1"), NodeEpoch(7))
    directory.note(.room("new"), NodeEpoch(8))
    #expect(directory[.room("r1")] == NodeEpoch(7) && directory[.room("r2")] == nil, "the oldest makes room")
    directory.forget(holder: NodeEpoch(2))
    #expect(directory.count == 2)
  }
}
