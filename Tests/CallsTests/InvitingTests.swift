// Invitations into a running call, and coming back: rows 19 to 23 of the transition table of docs/calls.md.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct InvitingTests {
  // 19
  @Test func anInviteRingsWhoIsNotThereYet() throws {
    let board = Board { $0.videoSeats = 4 }
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let e = board.phone("e")
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(b, id)
    #expect(board.code(c, .call(.reject(CallRejectParams(callId: id)))) == nil)
    for phone in [a, b, c, d] { _ = phone.take() }
    let request = { (users: [String]) in Request.call(.invite(CallInviteParams(callId: id, users: users))) }
    #expect(board.code(c, request(["d"])) == .notInCall && board.code(e, request(["d"])) == .notInCall)
    let full = board.error(a, request(["c", "d", "e"]))
    #expect(full?.code == .callFull && full?.data.limit == 4 && full?.data.joined == 2 && full?.data.ringing == 0)
    #expect([a, b, c, d, e].allSatisfy { $0.take().isEmpty }, "and nobody is rung")
    guard case .invited(let result) = try board.send(a, request(["d", "b", "a", "x"])) else {
      throw ErrorObject(.internalError)
    }
    #expect(result.invited == ["d", "b"] && result.failed.map(\.user) == ["a", "x"])
    #expect(d.names() == [.callIncoming, .callInvited])
    #expect(b.names() == [.callInvited, .memberState] && c.names() == [.callInvited])
    guard case .invited(let again) = try board.send(a, request(["d"])) else { throw ErrorObject(.internalError) }
    #expect(again.invited == ["d"] && d.take().isEmpty, "who rings is not rung again")
    guard case .invited(let anew) = try board.send(b, request(["c"])) else { throw ErrorObject(.internalError) }
    #expect(anew.invited == ["c"] && c.names() == [.callIncoming, .callInvited])
    #expect(board.state("c", id) == .inviting)
  }

  /// A ring is told of, but does not make a missed or declined call of a conversation.
  @Test(arguments: ["declined", "missed", "busy", "taken back", "ended"])
  func whoHasTalkedKeepsHisRecordWhateverBecomesOfLaterRings(_ how: String) throws {
    let board = Board { $0.keepsCalls = true }
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group) { $0.busyPolicy = .reject }.call.callId
    for phone in [b, c] { try board.accept(phone, id) }
    board.mediaUp(a, b, c)
    board.advance(10)
    #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    let talked = try #require(board.records["b"]?.last)
    #expect(talked.result == .answered && talked.durationMs == 10_000)
    board.advance(10)
    if how == "busy" { _ = try board.talk(b, board.phone("e")) }
    _ = b.take()
    let policy: BusyPolicy? = how == "busy" ? .reject : nil
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"], busyPolicy: policy)))) == nil)
    switch how {
    case "declined": #expect(board.code(b, .call(.reject(CallRejectParams(callId: id)))) == nil)
    case "missed": board.advance(30)
    case "taken back":
      #expect(board.code(a, .call(.cancelInvite(CallCancelInviteParams(callId: id, users: ["b"])))) == nil)
    case "ended": #expect(board.code(a, .call(.end(CallParams(callId: id)))) == nil)
    default: break
    }
    #expect(!b.names().contains(.callMissed), "who has talked has missed nothing, and is told so")
    #expect(board.records["b"]?.filter { $0.callId == id } == [talked])
    #expect(board.board.tables.archive.record(id, of: "b")?.record == talked && board.board.missed("b") == 0)
    guard how != "ended", how != "busy" else { return }
    // One who comes back goes on with what he answered first.
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    try board.accept(b, id)
    board.advance(5)
    #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil)
    let later = try #require(board.records["b"]?.last)
    #expect(later.result == .answered && later.answeredAt == talked.answeredAt)
    #expect(later.endedAt == board.now.wallMilliseconds && later.durationMs == (how == "missed" ? 55_000 : 25_000))
  }

  /// Which device declined a ring says nothing of the next one.
  @Test func aRingThatIsMissedIsNotElsewhereForAnEarlierReject() throws {
    let board = Board { $0.keepsCalls = true }
    let (a, b, tablet) = (board.phone("a"), board.phone("b"), board.phone("b", "tablet"))
    let c = board.phone("c")
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(c, id)
    #expect(board.code(b, .call(.reject(CallRejectParams(callId: id)))) == nil)
    let elsewhere = { (phone: Phone) in
      board.board.history(CallHistoryParams(), from: phone.id).records.map(\.elsewhere)
    }
    #expect(elsewhere(b) == [false] && elsewhere(tablet) == [true])
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    board.advance(31)
    #expect(board.records["b"]?.map(\.result) == [.missed])
    #expect(elsewhere(b) == [false] && elsewhere(tablet) == [false])
  }

  // 20
  @Test func anInvitationCanBeTakenBack() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(b, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    _ = (a.take(), b.take(), c.take())
    #expect(board.code(b, .call(.cancelInvite(CallCancelInviteParams(callId: id, users: ["c", "x"])))) == nil)
    #expect(c.names() == [.callStopped, .callMissed] && a.names() == [.memberRemoved] && b.names() == [.memberRemoved])
    #expect(try board.get(a, id).kind == .oneToOne && board.board.count == 1)
    #expect(board.code(c, .call(.join(CallJoinParams(callId: id)))) == .invalidState)
  }

  // 21
  @Test func anInviteeWhoJoinsMakesItAGroup() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    _ = (a.take(), b.take(), c.take())
    let seats = board.seats
    let joined = try board.accept(c, id)
    #expect(joined.kind == .group && joined.answerPolicy == .everyone && joined.rejectPolicy == .ignore)
    #expect(a.names() == [.callAccepted, .callTypeChanged] && b.names() == [.callAccepted, .callTypeChanged])
    #expect(board.seats.filter { seats[$0.key] != nil } == seats, "nobody's seat has changed")
    board.mediaUp(c)
    #expect(a.names() == [.memberState] && c.names() == [.memberState])
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    #expect(board.board.count == 1, "the starter may go now")
  }

  // 22
  @Test func anInviteeWhoDeclinesChangesNothing() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    _ = (a.take(), b.take())
    #expect(board.code(c, .call(.reject(CallRejectParams(callId: id)))) == nil)
    #expect(a.names() == [.memberDeclined] && b.names() == [.memberDeclined])
    #expect(try board.get(a, id).kind == .oneToOne && board.board.count == 1)
  }

  // 23
  @Test func whoeverWasAskedMayComeBack() throws {
    let board = Board { $0.videoSeats = 3 }
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(b, id)
    #expect(board.code(c, .call(.reject(CallRejectParams(callId: id)))) == nil)
    #expect(board.board.available(to: "c", at: board.now).map(\.callId) == [id])
    for _ in 0..<2 {
      #expect(board.code(c, .call(.join(CallJoinParams(callId: id)))) == nil)
      #expect(board.code(c, .call(.join(CallJoinParams(callId: id)))) == nil, "who is in is in")
      #expect(board.code(c, .call(.hangup(CallHangupParams()))) == nil)
    }
    let d = board.phone("d")
    #expect(board.code(d, .call(.join(CallJoinParams(callId: id)))) == .notInvited)
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["d"])))) == nil)
    let full = board.error(c, .call(.join(CallJoinParams(callId: id))))
    #expect(full?.code == .callFull && full?.data.joined == 2 && full?.data.ringing == 1)
    try board.accept(d, id)
    #expect(board.board.tables.calls[CallID(id)]?.members.count == 4)
  }

  /// The caller has left the two-party call, and is asked again while somebody else still rings.
  @Test func aCallerWhoComesBackHearsOnAllDevicesThatItIsAGroup() throws {
    let board = Board()
    let (a, tablet) = (board.phone("a"), board.phone("a", "tablet"))
    let (b, c) = (board.phone("b"), board.phone("c"))
    let id = try board.talk(a, b)
    for (phone, user) in [(a, "c"), (b, "a")] {
      if phone === b { #expect(board.code(a, .call(.hangup(CallHangupParams(callId: id)))) == nil) }
      #expect(board.code(phone, .call(.invite(CallInviteParams(callId: id, users: [user])))) == nil)
    }
    _ = (tablet.take(), c.take())
    try board.accept(a, id)
    #expect(tablet.names() == [.callStopped, .callTypeChanged])
    #expect(!a.names().contains(.callTypeChanged), "his reply has it")
  }

  /// Somebody who is asked into a ringing call calls the one who asks him.
  @Test func aGlareThatMakesAGroupTellsNothingBehindItsReply() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = board.phone("c")
    let id = try board.start(a, ["c"]).call.callId
    #expect(board.code(a, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    _ = b.take()
    let met = try board.start(b, ["a"])
    #expect(met.glare && met.call.callId == id && met.call.kind == .group)
    #expect(b.take().allSatisfy { $0.change.map { $0.rev > met.call.rev } ?? true })
  }
}
