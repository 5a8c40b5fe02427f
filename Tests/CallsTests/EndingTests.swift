// How calls end: rows 15 to 18, 30 and 32 of the transition table of docs/calls.md.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct EndingTests {
  @Test func aCallerWhoHangsUpWhileConnectingHasCancelled() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    try board.accept(b, id)
    let cancel = board.error(a, .call(.cancel(CallCancelParams(callId: id))))
    #expect(cancel?.code == .invalidState && cancel?.data.reason == "answered" && cancel?.data.by == "b")
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    #expect(b.names().contains(.callEnded) && board.graves.last?.reason == .cancelled)
    #expect(board.records["b"]?.last?.why == .cancelled)
  }

  /// What is said of a ring would turn a conversation into a call that was missed or declined.
  @Test(arguments: Reason.said) func whoLeavesSaysNoMoreThanThat(_ reason: Reason) throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    try board.accept(b, id)
    #expect(board.code(b, .call(.hangup(CallHangupParams(reason: reason)))) == nil)
    #expect(board.graves.last?.reason == ([.networkChanged, .background].contains(reason) ? reason : .hangup))
    #expect(board.records["b"]?.last?.result != .declined && board.records["b"]?.last?.why != .busy)
  }

  // 15
  @Test func aCallerWhoIsLostHasAGrace() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    var id = try board.start(a, ["b"]).call.callId
    _ = b.take()
    board.cut(a)
    board.advance(7.9)
    board.back(a)
    board.advance(1)
    #expect(b.take().isEmpty && board.board.count == 1, "a resume inside the grace is invisible")
    board.cut(a)
    board.advance(8)
    guard case .callStopped(let stopped) = b.take().first else {
      Issue.record("b rings on")
      return
    }
    #expect(stopped.reason == .callerLost && stopped.code == 6013)
    // An accept inside the grace counts, and then the connect timeout does.
    board.back(a)
    id = try board.start(a, ["b"]).call.callId
    board.cut(a)
    board.advance(5)
    try board.accept(b, id)
    board.advance(14)
    #expect(board.board.count == 1)
    board.advance(1)
    #expect(board.graves.last?.reason == .connectFailed)
  }

  // 16
  @Test func aHangUpEndsACallOfTwo() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = try board.talk(a, b)
    board.advance(10)
    #expect(board.code(a, .call(.hangup(CallHangupParams(text: "bye")))) == nil)
    for phone in [a, b] {
      guard case .callEnded(let ended) = phone.take().first else {
        Issue.record("\(phone) does not know")
        return
      }
      #expect(ended.code == 6000 && ended.durationMs == 10_000 && ended.by == "a" && ended.text == "bye")
      #expect(ended.record?.result == .answered && ended.record?.durationMs == 10_000)
    }
    #expect(board.board.tables.legs.calls.isEmpty && board.seats.isEmpty && board.board.nextDeadline == nil)
  }

  @Test func whoeverIsLeftKeepsTheCallWhileAnInviteeRings() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    #expect(board.code(b, .call(.hangup(CallHangupParams(text: "bye")))) == nil)
    #expect(board.board.count == 1 && board.state("b", id) == .left)
    #expect(a.names() == [.callInvited, .memberLeft])
    _ = (b.take(), c.take())
    board.advance(30)
    #expect(c.names() == [.callStopped, .callMissed])
    guard case .callEnded(let ended) = a.take().last else {
      Issue.record("a waits for ever")
      return
    }
    #expect(ended.reason == .hangup && ended.by == "b" && ended.text == "bye")
    guard case .callEnded(let end) = b.take().last else {
      Issue.record("b, who left, takes the call for a running one")
      return
    }
    #expect(end.rev == ended.rev && end.reason == .hangup && end.by == "b")
    #expect(end.record?.result == .answered && end.record?.durationMs == 0, "his own record is that of when he left")
  }

  @Test func oneWhoLeftAndRingsAgainHearsOnlyThatItStops() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    _ = (b.take(), c.take())
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    #expect(b.names() == [.callStopped] && c.names() == [.callStopped, .callMissed])
  }

  // 17, 18
  @Test func aGroupRunsWhileAnybodyIsIn() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let id = try board.start(a, ["b", "c", "d"], .group).call.callId
    for phone in [b, c] { try board.accept(phone, id) }
    board.mediaUp(a, b, c)
    for phone in [a, b, c, d] { _ = phone.take() }
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    #expect(a.take().isEmpty, "the reply has told him")
    #expect(b.names() == [.memberLeft, .memberState] && d.names() == [.memberLeft])
    #expect(board.code(a, .call(.hangup(CallHangupParams(callId: id)))) == nil, "twice is once")
    #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    _ = (a.take(), b.take(), c.take(), d.take())
    #expect(board.code(c, .call(.hangup(CallHangupParams()))) == nil)
    #expect([a, b, c].allSatisfy { $0.names() == [.callEnded] })
    guard case .callStopped(let stopped) = d.take().first else {
      Issue.record("d rings on")
      return
    }
    #expect(stopped.reason == .callEnded && board.board.available(to: "a", at: board.now).isEmpty)
    #expect(board.records.values.allSatisfy { $0.count == 1 } && board.records.count == 4)
  }

  // 30
  @Test func theServerEndsCalls() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let id = try board.talk(a, b)
    let (effects, over) = try board.board.stop(id, at: board.now)
    board.carry(effects)
    #expect(over.state == .ended && over.reason == .stopped)
    #expect(a.names() == [.callEnded] && b.names() == [.callEnded] && board.graves.last?.reason == .stopped)
    let group = try board.start(c, ["d"], .group).call.callId
    try board.accept(d, group)
    #expect(board.code(d, .call(.end(call(group)))) == .forbidden)
    #expect(board.code(c, .call(.end(call(group)))) == nil && board.board.count == 0)
    // 32
    for phone in [c, d] {
      let late = board.error(phone, .call(.end(call(group))))
      #expect(late?.code == .callEnded && late?.data.reason == "stopped" && late?.data.by == "c")
      #expect(late?.data.endedAt == board.now.wallMilliseconds)
    }
  }

  /// Whatever becomes of the wall clock: an hour back, an hour forth.
  @Test(arguments: [-3_600_000, 3_600_000] as [Int64]) func durationsAreNoMatterOfTheWallClock(set: Int64) throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    let answeredAt = board.now.wallMilliseconds
    board.advance(7)
    board.now.wallMilliseconds += set
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    let ringing = try #require(
      c.take().compactMap { if case .callIncoming(let incoming) = $0 { incoming.call } else { nil } }.first)
    #expect(ringing.remainingMs == 30_000)
    board.now.wallMilliseconds -= 2 * set
    #expect(try board.get(c, id).remainingMs == 30_000)
    board.advance(3)
    #expect(try board.get(c, id).remainingMs == 27_000)
    #expect(board.code(a, .call(.end(call(id)))) == nil)
    for phone in [a, b] {
      let ended = phone.take().compactMap { if case .callEnded(let ended) = $0 { ended } else { nil } }.last
      #expect(phone === a || ended?.durationMs == 10_000)
      let record = try #require(board.records[phone.user]?.last)
      #expect(record.durationMs == 10_000 && record.answeredAt == answeredAt)
    }
  }

  // 30
  @Test func aServerThatStopsStopsRingsAndSparesTheGroupsThatItKeeps() throws {
    let board = Board {
      $0.keepsCalls = true
      $0.hasPush = true
    }
    let (a, b, c, d, e) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"), board.phone("e"))
    let group = try board.start(c, ["d", "e", "asleep"], .group).call.callId
    try board.accept(d, group)
    board.mediaUp(c, d)
    let ringing = try board.start(a, ["b"]).call.callId
    let alone = try board.start(board.phone("f"), ["b"], .group).call.callId
    for phone in [a, b, c, d, e] { _ = phone.take() }
    board.pushes = []
    board.drain()
    #expect(
      board.board.tables.calls.running.keys.map(\.text) == [group]
        && Set(board.graves.map(\.callId)) == [ringing, alone])
    #expect(a.names() == [.callEnded] && b.names() == [.callStopped, .callMissed, .callStopped, .callMissed])
    #expect(c.names() == [.memberNoAnswer, .memberNoAnswer] && d.names() == [.memberNoAnswer, .memberNoAnswer])
    let heard = e.take()
    guard case .callStopped(let stopped) = heard.first, case .callMissed(let missed) = heard.last else {
      Issue.record("e rings on: \(heard)")
      return
    }
    #expect(heard.count == 2 && stopped.reason == .stopped && missed.call.state == .active && missed.why == .noAnswer)
    #expect(board.records["e"]?.last?.result == .missed && board.records["e"]?.last?.reason == .stopped)
    #expect(board.records["c"] == nil && board.records["d"] == nil, "they are still in it")
    #expect(
      board.pushes.map { "\($0.to) \($0.type) \($0.reason?.rawValue ?? "-")" } == [
        "asleep cancel stopped", "asleep missed no_answer",
      ])
    #expect(board.kept[CallID(group)]?.call.members.map(\.state) == [.joined, .joined, .noAnswer, .noAnswer])
    #expect(board.kept.count == 1 && board.code(e, .call(.join(CallJoinParams(callId: group)))) == .draining)
    #expect(board.code(a, .call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .audio)))) == .draining)
  }

  // 30
  @Test func aServerThatKeepsNothingEndsItsGroupsAsItStops() throws {
    let board = Board { $0.hasPush = true }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let group = try board.start(a, ["b", "asleep"], .group).call.callId
    try board.accept(b, group)
    board.mediaUp(a, b)
    _ = (a.take(), b.take())
    board.advance(7)
    board.drain()
    for phone in [a, b] {
      guard case .callEnded(let ended) = phone.take().last else {
        Issue.record("\(phone) does not know")
        return
      }
      #expect(ended.reason == .stopped && ended.durationMs == 7_000 && ended.record?.result == .answered)
    }
    #expect(board.board.count == 0 && board.seats.isEmpty && board.records["asleep"]?.last?.result == .missed)
    #expect(board.pushes.map(\.type) == [.ring, .cancel, .missed])
  }

  // 32
  @Test func anEndedCallAnswersForADay() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    let requests: [Request] = [
      .call(.ringing(call(id))), .call(.accept(CallAcceptParams(callId: id))),
      .call(.reject(CallRejectParams(callId: id))),
      .call(.join(CallJoinParams(callId: id))), .call(.invite(CallInviteParams(callId: id, users: ["c"]))),
      .call(.mediaChange(MediaChangeParams(callId: id, action: .request, media: .audio))),
    ]
    for request in requests {
      let error = board.error(b, request)
      #expect(error?.code == .callEnded && error?.data.reason == "hangup" && error?.data.by == "a")
      #expect(error?.data.endedAt == board.now.wallMilliseconds)
      #expect(board.code(c, request) == .callNotFound, "strangers learn nothing")
    }
    #expect(board.code(b, .call(.hangup(CallHangupParams(callId: id)))) == nil)
    board.advance(86_400)
    #expect(try board.get(b, id).reason == .hangup)
    board.advance(1)
    #expect(throws: ErrorObject.self) { try board.get(b, id) }
  }

  @Test func oneWhoIsAloneInAGroupIsWarned() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"], .group).call.callId
    try board.accept(b, id)
    board.mediaUp(a, b)
    #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    _ = a.take()
    board.advance(240)
    guard case .callAlone(let alone) = a.take().last else {
      Issue.record("no warning")
      return
    }
    #expect(alone.remainingMs == 60_000)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    board.advance(31)
    #expect(board.board.count == 1, "a ring stops the clock")
    board.advance(300)
    #expect(board.board.count == 0 && board.graves.last?.reason == .stopped)
  }
}
