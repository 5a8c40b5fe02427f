// The number of a run's trace: what was answered, told and shown is in it, not only when.

import Basics
import Testing

@testable import ClusterSimulator
@testable import Ownership

@Suite struct TraceTests {
  private static func hash(_ note: (inout Trace) -> Void) -> UInt64 {
    var trace = Trace()
    note(&trace)
    return trace.hash
  }

  private static func hash(of answer: StoreAnswer) -> UInt64 {
    let answered = QuestionAnswered(question: QuestionID(1), answer: answer)
    return hash { $0.note(.zero, .fromStore(machine: 0, connection: 1, answered)) }
  }

  private static func row(_ epoch: UInt32, beat: UInt64, changes: UInt64 = 0) -> NodeRow {
    var row = NodeRow(name: "n", boot: "b", process: ProcessNumber(1), epoch: NodeEpoch(epoch))
    (row.beat, row.changes) = (beat, changes)
    return row
  }

  private static func lease(_ name: String, _ holder: UInt32?, _ epoch: UInt64) -> Lease {
    Lease(.room(name), holder: holder.map(NodeEpoch.init), epoch: LeaseEpoch(epoch))
  }

  @Test func answersOfOneMomentAreToldApart() {
    let leases = [("room1", 1, 1), ("room2", 1, 1), ("room1", 2, 1), ("room1", 1, 2)].map { Self.lease($0, $1, $2) }
    var answers: [StoreAnswer] = [
      .beaten([Self.row(1, beat: 5)]), .beaten([Self.row(1, beat: 6)]), .beaten([Self.row(2, beat: 5)]),
      .beaten([Self.row(1, beat: 5, changes: 1)]), .fenced(NodeEpoch(1)), .fenced(NodeEpoch(2)), .done,
      .refused(.notActive), .refused(.gone), .refused(.wentBack), .refused(.beatMoved), .refused(.moved(nil)),
    ]
    answers += leases.flatMap { [.lease($0), .leases([$0]), .refused(.held($0)), .refused(.moved($0))] }
    #expect(Set(answers.map { Self.hash(of: $0) }).count == answers.count)
    #expect(Self.hash(of: .done) == Self.hash(of: .done), "the control")
  }

  @Test func whatIsToldAndShownIsInIt() {
    let effects: [OwnershipEffect] = [
      .connect, .disconnect, .frozen, .thawed, .beginAnew, .lost(.room("room1")), .lost(.room("room2")),
      .holds(Self.lease("room1", 1, 1)), .holds(Self.lease("room1", 1, 2)), .elsewhere(.room("room1"), nil),
      .elsewhere(.room("room1"), NodeEpoch(1)), .ask(QuestionID(1), .holder(.room("room1"))),
      .ask(QuestionID(1), .holder(.room("room2"))),
    ]
    #expect(Set(effects.map { effect in Self.hash { $0.note(effect) } }).count == effects.count)
    let permits = [(1, 1), (1, 2), (2, 1)].map { (node: UInt32, epoch: UInt64) in
      Permit(name: .room("room1"), node: NodeEpoch(node), epoch: LeaseEpoch(epoch))
    }
    let shown = permits.flatMap { permit in
      [true, false].map { isShown in Self.hash { $0.note(permit, isShown: isShown) } }
    }
    #expect(Set(shown).count == 6)
  }
}
