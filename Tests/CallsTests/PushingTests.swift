// What whoever wakes phones is given: the word of the request that led to it, else what came with the ring.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct PushingTests {
  private func board() -> Board { Board { $0.hasPush = true } }

  /// What was handed on since the last time: to whom, what for, with which word.
  private func take(_ board: Board) -> [String] {
    defer { board.pushes = [] }
    return board.pushes.map { "\($0.to) \($0.type) \(word($0.push))" }
  }

  private func word(_ push: JSONValue?) -> String {
    guard case .object(let fields) = push, case .string(let word) = fields["say"] else { return "-" }
    return word
  }

  @Test func theRequestsWordCountsElseTheRings() throws {
    let board = board()
    let a = board.phone("a")
    let call = try board.start(a, ["b"]) { $0.push = ["say": "start"] }.call.callId
    #expect(take(board) == ["b ring start"])
    _ = try board.send(a, .callCancel(CallCancelParams(callId: call, push: ["say": "cancel"])))
    #expect(take(board) == ["b cancel cancel", "b missed cancel"])

    let again = try board.start(a, ["b"]) { $0.push = ["say": "start"] }.call.callId
    _ = try board.send(a, .callHangup(CallHangupParams(callId: again)))
    #expect(take(board) == ["b ring start", "b cancel start", "b missed start"], "nothing newer was said")

    _ = try board.start(a, ["b"]) { $0.push = ["say": "start"] }
    board.advance(30)
    #expect(take(board) == ["b ring start", "b cancel start", "b missed start"], "nobody said anything")
  }

  /// Nobody acknowledged the ring by the time at which it ends.
  @Test func aRingThatIsOverWakesNobody() throws {
    let board = board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let call = try board.start(a, ["b"]) { $0.ringTimeoutMs = 5_000 }.call.callId
    board.advance(5)
    #expect(take(board).isEmpty && b.names() == [.callIncoming, .callStopped, .callMissed])
    #expect(try board.get(a, call).reason == .noAnswer)
  }

  /// An open socket behind which nobody rings may belong to an app that sleeps.
  @Test func aMissIsPushedToPhonesThatNeverSaidThatTheyRing() throws {
    let board = board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    var call = try board.start(a, ["b"]).call.callId
    board.advance(30)
    #expect(take(board) == ["b ring -", "b cancel -", "b missed -"] && b.names().last == .callMissed)

    call = try board.start(a, ["b"]).call.callId
    board.advance(6)
    #expect(board.code(b, .callRinging(CallParams(callId: call))) == nil, "it was woken")
    board.advance(24)
    #expect(take(board) == ["b ring -", "b cancel -"] && b.names().last == .callMissed)

    call = try board.start(a, ["b"]).call.callId
    #expect(board.code(a, .callCancel(CallCancelParams(callId: call))) == nil)
    #expect(take(board).isEmpty, "nobody had to be woken yet")
  }

  @Test func aMissIsPushedWhereOnlyOtherDevicesAreLeft() throws {
    let board = board()
    let (a, phone) = (board.phone("a"), board.phone("b"))
    let page = board.phone("b", "page", callable: false)
    let call = try board.start(a, ["b"]).call.callId
    #expect(board.code(phone, .callRinging(CallParams(callId: call))) == nil)
    board.cut(phone)
    board.advance(30)
    #expect(take(board) == ["b ring -", "b cancel -", "b missed -"] && page.names() == [.callMissed])
  }

  @Test func anInviteeIsNeverGivenWhatOthersWereRungWith() throws {
    let board = board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let call = try board.start(a, ["b"]) { $0.push = ["say": "start"] }.call.callId
    try board.accept(b, call)
    board.mediaUp(a, b)
    #expect(take(board).isEmpty)
    _ = try board.send(b, .callInvite(CallInviteParams(callId: call, users: ["c"], push: ["say": "invite"])))
    #expect(take(board) == ["c ring invite"])
    board.advance(30)
    #expect(take(board) == ["c cancel invite", "c missed invite"])

    _ = try board.send(b, .callInvite(CallInviteParams(callId: call, users: ["c"])))
    _ = try board.send(a, .callEnd(CallParams(callId: call)))
    #expect(take(board) == ["c ring -", "c cancel -", "c missed -"], "the start's word was for b")
  }

  @Test func theAnswersWordGoesToThePhonesThatStop() throws {
    let board = board()
    let a = board.phone("a")
    let call = try board.start(a, ["b", "c"], .oneToMany) { $0.push = ["say": "start"] }.call.callId
    #expect(take(board) == ["b ring start", "c ring start"])
    let b = board.phone("b")
    _ = try board.send(b, .callAccept(CallAcceptParams(callId: call, push: ["say": "accept"])))
    #expect(take(board) == ["b cancel accept", "c cancel accept"])
  }

  @Test func theWordOfOneCallIsNotSaidInAnother() throws {
    let board = board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.talk(a, b)
    _ = try board.send(a, .callInvite(CallInviteParams(callId: first, users: ["x"], push: ["say": "invite"])))
    let d = board.phone("d")
    let second = try board.start(d, ["b"]) { $0.busyPolicy = .ring }.call.callId
    _ = take(board)
    _ = try board.send(b, .callAccept(CallAcceptParams(callId: second, push: ["say": "accept"])))
    _ = try board.send(a, .callHangup(CallHangupParams()))
    #expect(
      take(board) == ["x cancel invite", "x missed invite"], "b left for another call, and its word stayed there")
  }

  @Test func nobodyIsShownWhatNobodyFollows() throws {
    let quiet = Board()
    let (a, b) = (quiet.phone("a"), quiet.phone("b"))
    _ = try quiet.talk(a, b)
    #expect(quiet.hooks.map(\.type) == [.callStarted, .callAccepted, .callActive])
    #expect(quiet.hooks.allSatisfy { $0.call == nil && $0.room.hasPrefix("call:") })

    let followed = Board { $0.isFollowed = true }
    let (c, d) = (followed.phone("c"), followed.phone("d"))
    let call = try followed.talk(c, d)
    _ = try followed.send(c, .callHangup(CallHangupParams()))
    #expect(followed.hooks.allSatisfy { $0.call?.callId == call })
    #expect(followed.hooks.last?.call?.state == .ended)
  }
}
