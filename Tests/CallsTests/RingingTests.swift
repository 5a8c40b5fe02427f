// How calls begin and ring: rows 1 to 6 and 12 to 14 of the transition table of docs/calls.md.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct RingingTests {
  // 1
  @Test func startRingsEveryDeviceAndTellsTheCallersOthers() throws {
    let board = Board()
    let (a1, a2) = (board.phone("a"), board.phone("a", "d2"))
    let (b1, b2) = (board.phone("b"), board.phone("b", "d2"))
    let silent = board.phone("b", "d3", callable: false)
    let started = try board.start(a1, ["b"]) { $0.extra = ["n": 1] }
    #expect(started.call.state == .ringing && started.call.rev == 1 && started.call.remainingMs == 30_000)
    #expect(started.busy.isEmpty && started.unreachable.isEmpty && !started.glare)
    #expect(started.call.members.map(\.state) == [.joined, .inviting])
    #expect(a1.take().isEmpty && silent.take().isEmpty)
    #expect(a2.names() == [.callCreated])
    for phone in [b1, b2] {
      guard case .callIncoming(let incoming) = phone.take().first else {
        Issue.record("no ring")
        return
      }
      #expect(incoming.from == "a" && !incoming.inProgress && !incoming.waiting && incoming.call.extra == ["n": 1])
    }
    #expect(board.seats == [a1.id: CallID(started.call.callId)] && board.hooks.map(\.type) == [.callStarted])
    #expect(started.call.callId.count == 36 && started.call.room == "call:" + started.call.callId)
  }

  @Test func startIsRefusedForReasons() throws {
    let board = Board { ($0.videoSeats, $0.audioSeats) = (3, 4) }
    let a = board.phone("a")
    for user in ["b", "c", "d", "e"] { _ = board.phone(user) }
    func refusal(_ to: [String], _ kind: CallKind, _ media: MediaClass = .video) -> ErrorObject? {
      board.error(a, .call(.start(CallStartParams(to: to, kind: kind, media: media))))
    }
    #expect(refusal(["a"], .group)?.code == .cannotCallSelf)
    #expect(refusal(["b", "c"], .oneToOne)?.data.field == "to")
    #expect(refusal(["b", "c", "d"], .group)?.data.limit == 3)
    #expect(refusal(["b", "c", "d", "e"], .group, .audio)?.code == .tooManyInvitees)
    #expect(
      board.code(a, .call(.start(CallStartParams(to: ["b"], kind: .group, media: .audio, answerPolicy: .firstWins))))
        == .invalidParams)
    #expect(try board.start(a, ["a", "b", "b", "c"], .group).call.members.map(\.user) == ["a", "b", "c"])
    #expect(refusal(["d"], .oneToOne)?.code == .selfBusy)
    let next = try board.start(a, ["d"]) { $0.replace = true }
    #expect(board.board.tables.calls.running.keys.map(\.text) == [next.call.callId])
    #expect(board.graves.map(\.reason) == [.cancelled])
  }

  @Test func theSameNameIsTheSameCall() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.start(a, ["b"]) { $0.clientCallId = "x" }
    let second = try board.start(a, ["b"]) { $0.clientCallId = "x" }
    #expect(first.call.callId == second.call.callId && b.names() == [.callIncoming])
    #expect(
      board.code(
        board.phone("a", "d2"),
        .call(
          .start(
            CallStartParams(
              to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x")))) == .alreadyJoined)
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: first.call.callId)))) == nil)
    let over = board.error(
      a, .call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x"))))
    #expect(over?.code == .callEnded && over?.data.reason == "cancelled")
  }

  /// As long as an ended call says what became of it, its name is taken; then it is free.
  @Test func aNameLastsAsLongAsItsTombstone() throws {
    let board = Board { $0.tombstone = .seconds(600) }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let start = Request.call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x")))
    let first = try board.start(a, ["b"]) { $0.clientCallId = "x" }.call.callId
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: first)))) == nil)
    board.advance(600)
    #expect(board.error(a, start)?.code == .callEnded)
    board.advance(1)
    _ = b.take()
    let second = try board.start(a, ["b"]) { $0.clientCallId = "x" }.call.callId
    #expect(second != first && b.names() == [.callIncoming])
    // The first one is forgotten altogether with the end of the next call, and its name is not its own any more.
    _ = try board.talk(board.phone("c"), board.phone("d"))
    let c = try #require(board.phones.values.first { $0.user == "c" })
    #expect(board.code(c, .call(.hangup(CallHangupParams()))) == nil)
    #expect(board.board.tables.archive.tombstones == 1)
    #expect(try board.start(a, ["b"]) { $0.clientCallId = "x" }.call.callId == second && b.names().isEmpty)
  }

  // 2
  @Test func whoHasNoDeviceIsPushedAtOnceAndWhoIsSilentLater() throws {
    let board = Board { $0.hasPush = true }
    let (a, c) = (board.phone("a"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group) { $0.push = "hi" }.call.callId
    #expect(board.pushes.map(\.to) == ["b"] && board.pushes.first?.push == "hi")
    #expect(a.names() == [.memberState])
    board.advance(4.9)
    #expect(board.pushes.count == 1)
    board.advance(0.2)
    #expect(board.pushes.map(\.to) == ["b", "c"] && board.pushes.allSatisfy { $0.type == .ring })
    guard case .memberState(let event) = a.take().last else {
      Issue.record("the caller does not know of the push")
      return
    }
    #expect(event.push == true && event.member.user == "c")
    try board.accept(c, id)
    #expect(board.pushes.last?.type == .cancel && board.pushes.last?.to == "c")
  }

  @Test func withoutPushOneWithoutADeviceIsUnreachable() throws {
    let board = Board()
    let a = board.phone("a")
    let started = try board.start(a, ["b"])
    #expect(started.unreachable == ["b"])
    #expect(a.names() == [.memberState, .callEnded])
    #expect(board.graves.first?.reason == .unreachable && board.records["b"]?.first?.why == .unreachable)
    // One whose device may come back in a moment is given that moment.
    let b = board.phone("b")
    board.cut(b)
    let again = try board.start(a, ["b"])
    #expect(again.unreachable.isEmpty && board.board.count == 1)
    board.advance(5.1)
    #expect(board.graves.last?.reason == .unreachable)
  }

  // 3
  @Test func ringingIsToldOnce() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.start(a, ["b"]).call.callId
    for phone in [b1, b2, b1] { #expect(board.code(phone, .call(.ringing(call(id)))) == nil) }
    #expect(a.names() == [.memberRinging] && board.state("b", id) == .ringing)
    #expect(board.code(board.phone("c"), .call(.ringing(call(id)))) == .notInvited)
    #expect(board.code(a, .call(.ringing(call("nothing")))) == .callNotFound)
  }

  // 4
  @Test func aLateDeviceRingsForTheTimeThatIsLeft() throws {
    let board = Board { $0.hasPush = true }
    let a = board.phone("a")
    let id = try board.start(a, ["b"]).call.callId
    board.advance(10)
    let b = board.phone("b")
    guard case .callIncoming(let incoming) = b.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.call.callId == id && incoming.call.remainingMs == 20_000)
    #expect(board.board.ringing(for: "b", on: "d1", at: board.now).first?.remainingMs == 20_000)
    board.advance(20)
    #expect(b.names() == [.callStopped, .callMissed])
    #expect(board.phone("b", "d2").take().isEmpty)
  }

  // 5
  @Test func busyIsReportedAndMissed() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.talk(b, c)
    let started = try board.start(a, ["b"])
    #expect(started.busy == ["b"])
    #expect(a.names() == [.memberBusy, .callEnded] && b.names() == [.callMissed])
    #expect(board.graves.last?.reason == .busy && !board.board.isBusy("a"))
    #expect(board.records["b"]?.map(\.why) == [.busy] && board.board.missed("b") == 1)
    _ = board.board.history(CallHistoryParams(), from: b.id)
    #expect(board.board.missed("b") == 0)
  }

  // 6
  @Test func aBusyOneWaitsWhereTheCallerWantsIt() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.talk(b, c)
    let started = try board.start(a, ["b"]) { $0.busyPolicy = .ring }
    #expect(started.busy == ["b"])
    guard case .callIncoming(let incoming) = b.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.waiting && board.code(b, .call(.ringing(call(started.call.callId)))) == nil)
    #expect(board.state("b", started.call.callId) == .busyRinging)
  }

  // 12, 13
  @Test func aRingThatNobodyAnswersStops() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]) { $0.ringTimeoutMs = 7_000 }.call.callId
    _ = b.take()
    board.advance(6.9)
    #expect(board.board.count == 1)
    board.advance(0.1)
    #expect(b.names() == [.callStopped, .callMissed] && a.names() == [.memberNoAnswer, .callEnded])
    #expect(try board.get(b, id).reason == .noAnswer && board.board.tables.legs.calls.isEmpty)
    #expect(board.records["a"]?.last?.why == .noAnswer && board.records["b"]?.last?.why == .noAnswer)
  }

  // 14
  @Test func aCancelStopsTheRing() throws {
    let board = Board { $0.hasPush = true }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b", "c"], .oneToMany).call.callId
    _ = b.take()
    #expect(board.code(b, .call(.cancel(CallCancelParams(callId: id)))) == .forbidden)
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: id)))) == nil)
    #expect(b.names() == [.callStopped, .callMissed] && board.records["b"]?.last?.why == .cancelled)
    #expect(board.pushes.map(\.type) == [.ring, .cancel, .missed] && board.pushes.allSatisfy { $0.to == "c" })
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: id)))) == nil, "twice is once")
    #expect(board.code(a, .call(.hangup(CallHangupParams(callId: id)))) == nil)
    let late = board.error(b, .call(.accept(CallAcceptParams(callId: id))))
    #expect(late?.code == .callEnded && late?.data.reason == "cancelled" && late?.data.by == "a")
    #expect(board.error(b, .call(.accept(CallAcceptParams(callId: "x"))))?.code == .callNotFound)
  }
}
