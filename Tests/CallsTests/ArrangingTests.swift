// Calls that an application wants between users: the caller is rung first, and the others once the caller has picked up.

import Basics
import RoostProtocol
import Testing

@testable import Calls

extension Board {
  /// Calls users for one of them. The call as it rings.
  fileprivate func arrange(
    _ to: [String], of caller: String? = nil, _ kind: CallKind = .oneToOne,
    _ fill: (inout CallStartParams) -> Void = { _ in }
  ) throws(ErrorObject) -> Call {
    var params = CallStartParams(to: to, kind: kind, media: .video)
    fill(&params)
    let before = board
    do throws(ErrorObject) {
      let (effects, call) = try board.arrange(params, of: caller, as: CallID(using: &random), at: now)
      carry(effects)
      return call
    } catch {
      #expect(board.tables == before.tables, "what is refused changes nothing")
      throw error
    }
  }

  fileprivate func refusal(_ to: [String], of caller: String? = nil, _ kind: CallKind = .oneToOne) -> ErrorObject? {
    do throws(ErrorObject) {
      _ = try arrange(to, of: caller, kind)
      return nil
    } catch { return error }
  }
}

/// Why something is refused; nil where it is not.
private func code(_ body: () throws(ErrorObject) -> Void) -> ErrorCode? {
  do throws(ErrorObject) {
    try body()
    return nil
  } catch { return error.code }
}

@Suite struct ArrangingTests {
  @Test(arguments: CallKind.allCases) func theOthersRingOnceTheCallerHasPickedUp(_ kind: CallKind) throws {
    let board = Board()
    let (a, a2, b) = (board.phone("a"), board.phone("a", "d2"), board.phone("b"))
    let id = try board.arrange(["b"], of: "a", kind) { $0.extra = ["ticket": 7] }.callId
    guard case .callIncoming(let ring) = try #require(a.take().first) else { throw ErrorObject(.internalError) }
    #expect(ring.from == "b" && ring.call.caller == "a" && ring.call.extra?.text == #"{"ticket":7}"#)
    #expect(ring.call.members.map(\.user) == ["a"] && ring.call.state == .ringing)
    #expect(a2.names() == [.callIncoming] && b.take().isEmpty)

    let call = try board.accept(a, id)
    #expect(call.members.map(\.state) == [.joined, .inviting] && call.state == (kind == .group ? .active : .ringing))
    #expect(a2.names() == [.callStopped, .callCreated])
    guard case .callIncoming(let second) = try #require(b.take().first) else { throw ErrorObject(.internalError) }
    #expect(second.from == "a" && second.call.extra?.text == #"{"ticket":7}"#)
    #expect(a.take().isEmpty && board.seats[a.id]?.text == id)

    try board.accept(b, id)
    board.mediaUp(a, b)
    board.advance(10)
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    if kind == .group { #expect(board.code(b, .call(.hangup(CallHangupParams()))) == nil) }
    let (own, other) = (try #require(board.records["a"]?.last), try #require(board.records["b"]?.last))
    #expect(own.direction == .outgoing && other.direction == .incoming)
    #expect([own, other].allSatisfy { $0.result == .answered && $0.durationMs == 10_000 })
    #expect(board.board.tables.calls.count == 0 && board.hooks.first?.type == .callStarted)
    #expect(board.hooks.filter { $0.type == .callAccepted }.map(\.user) == ["a", "b"])
  }

  /// The control is the test above: who picks up has others rung.
  @Test(arguments: ["rejected", "not answered", "ended"]) func nobodyHearsOfACallThatItsCallerDoesNotWant(_ how: String)
    throws
  {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.arrange(["a", "b"]).callId
    #expect(a.names() == [.callIncoming])
    switch how {
    case "rejected": #expect(board.code(a, .call(.reject(CallRejectParams(callId: id)))) == nil)
    case "not answered": board.advance(31)
    default: board.carry(try board.board.stop(id, at: board.now).effects)
    }
    #expect(b.take().isEmpty && board.records["b"] == nil && board.board.tables.calls.count == 0)
    let record = try #require(board.records["a"]?.last)
    #expect(record.direction == .incoming && record.peers == ["b"])
    #expect(record.result == (how == "rejected" ? .declined : .missed))
    let reason: [String: Reason] = ["rejected": .rejected, "not answered": .noAnswer, "ended": .stopped]
    #expect(board.graves.last?.reason == reason[how] && board.board.missed("a") == (how == "rejected" ? 0 : 1))
    #expect(board.seats.isEmpty)
  }

  @Test func whoCannotPickUpIsNotRung() throws {
    let board = Board { ($0.videoSeats, $0.maxRings) = (3, 1) }
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    #expect(board.refusal(["a"])?.code == .cannotCallSelf && board.refusal(["a"], of: "a")?.code == .cannotCallSelf)
    #expect(board.refusal(["b", "c"], of: "a")?.data.field == "to")
    #expect(board.refusal(["b", "c", "d"], of: "a", .group)?.code == .tooManyInvitees)
    #expect(board.refusal(["a"], of: "nobody")?.data.reason == "unreachable")
    let own = try board.start(b, ["a"]).call.callId
    #expect(board.refusal(["b"], of: "a")?.data.reason == own, "they call each other already")
    #expect(board.refusal(["c"], of: "b")?.code == .selfBusy && board.refusal(["c"], of: "a")?.code == .selfBusy)
    #expect(board.code(b, .call(.cancel(CallCancelParams(callId: own)))) == nil)
    // The control.
    #expect(board.refusal(["c"], of: "a") == nil && c.take().isEmpty && a.names().last == .callIncoming)
    board.drain()
    #expect(board.refusal(["c"], of: "b")?.code == .draining && board.board.tables.calls.count == 0)
  }

  /// Callees who are in another call, have no device, or are rung by others meanwhile: as after `call.start`.
  @Test func calleesAreReportedAsOfAnyCall() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    _ = try board.talk(b, c)
    let busy = try board.arrange(["b"], of: "a").callId
    let shown = try board.accept(a, busy)
    #expect(shown.state == .ended && shown.reason == .busy && board.records["b"]?.last?.why == .busy)
    #expect(a.names().contains(.callEnded) && board.seats[a.id] == nil)
    let gone = try board.arrange(["x"], of: "a").callId
    #expect(try board.accept(a, gone).reason == .unreachable)
    #expect(board.refusal(["b"], of: "a", .group) == nil)
  }

  @Test func whoCallsBackPicksUp() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.arrange(["b"], of: "a").callId
    #expect(c.take().isEmpty)
    // The control: who calls somebody else makes a call of their own, and is rung beside it.
    let other = try board.start(a, ["c"])
    #expect(other.call.callId != id && !other.glare)
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    let met = try board.start(a, ["b"])
    #expect(met.call.callId == id && met.glare && b.names() == [.callIncoming])
  }

  /// Each way to say that they do not want it: they have missed nothing, and nobody else has heard of it.
  @Test(arguments: ["cancel", "end"]) func whoEndsTheirOwnRingHasNotMissedIt(_ how: String) throws {
    let board = Board { $0.hasPush = true }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.arrange(["b"], of: "a").callId
    _ = a.take()
    let request: CallRequest = how == "cancel" ? .cancel(CallCancelParams(callId: id)) : .end(CallParams(callId: id))
    #expect(board.code(a, .call(request)) == nil)
    #expect(!a.names().contains(.callMissed) && b.take().isEmpty && board.board.tables.calls.count == 0)
    #expect(board.board.missed("a") == 0 && board.records["a"]?.last?.result == .declined)
    #expect(!board.pushes.contains { $0.type == .missed })
  }

  /// Both are wanted by each other at once: they talk, whichever of them asks first and however.
  @Test func whoReachForEachOtherMeet() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let arranged = try board.arrange(["b"], of: "a").callId
    #expect(board.refusal(["a"], of: "b")?.data.reason == arranged, "the same the other way round")
    // b calls on their own meanwhile, and a dials b: it is b's call that they are in, where b is.
    let own = try board.start(b, ["a"]).call.callId
    let met = try board.start(a, ["b"])
    #expect(met.call.callId == own && met.glare && own != arranged)
    #expect(board.state("b", own) == .joined && board.state("a", own) == .connecting)
  }

  /// Phones of who is called are woken with what the application said, and not with what the caller says to phones of their own.
  @Test func phonesAreWokenWithWhatTheApplicationSaid() throws {
    let board = Board { $0.hasPush = true }
    let a = board.phone("a")
    let id = try board.arrange(["b"], of: "a") { $0.push = ["title": "The clinic calls"] }.callId
    #expect(board.code(a, .call(.accept(CallAcceptParams(callId: id, push: ["title": "stop"])))) == nil)
    let ring = try #require(board.pushes.last { $0.type == .ring })
    #expect(ring.to == "b" && ring.push?.text.contains("clinic") == true)
  }

  @Test func whoIsRungTooOftenIsSparedAlsoFromServers() throws {
    let board = Board { $0.ringsPerPair = 2 }
    let (a, b) = (board.phone("a"), board.phone("b"))
    for _ in 0..<2 {
      let id = try board.arrange(["b"], of: "a").callId
      try board.accept(a, id)
      #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    }
    _ = b.take()
    #expect(board.refusal(["b"], of: "a")?.code == .rateLimited && b.take().isEmpty)
    board.advance(61)
    #expect(board.refusal(["b"], of: "a") == nil)
  }

  @Test func aServerAsksOthersInAndTakesThatBack() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.arrange(["b"], of: "a").callId
    let params = CallInviteParams(callId: id, users: ["c", "x"])
    #expect(
      code { () throws(ErrorObject) in _ = try board.board.invite(params, as: nil, at: board.now) } == .invalidState)
    try board.accept(a, id)
    try board.accept(b, id)
    #expect(
      code { () throws(ErrorObject) in _ = try board.board.invite(params, as: "c", at: board.now) } == .userNotFound)
    for (inviter, shown) in [(nil, "a"), ("b", "b")] as [(String?, String)] {
      let (effects, result) = try board.board.invite(params, as: inviter, at: board.now)
      board.carry(effects)
      #expect(result.invited == ["c"] && result.failed.map(\.user) == ["x"])
      guard case .callIncoming(let ring) = try #require(c.take().first) else { throw ErrorObject(.internalError) }
      #expect(ring.from == shown && ring.inProgress)
      board.carry(try board.board.withdraw("c", from: id, at: board.now))
      #expect(c.names().contains(.callStopped) && board.state("c", id) == .cancelled)
      #expect(
        code { () throws(ErrorObject) in _ = try board.board.withdraw("c", from: id, at: board.now) } == .userNotFound)
    }
    #expect(b.names().contains(.memberRemoved))
  }
}
