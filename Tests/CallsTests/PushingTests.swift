// What whoever wakes phones is given: the word of the request that led to it, else what came with the ring.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct PushingTests {
  /// What a request wants handed on is about its own call; another call that ends by it keeps the words it was rung with.
  @Test func whatIsHandedOnIsAboutOneCall() throws {
    let board = Board { $0.hasPush = true }
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = try board.start(a, ["away"]) { $0.push = ["title": "first"] }
    let second = try board.start(b, ["a"]) { ($0.busyPolicy, $0.push) = (.ring, ["title": "second"]) }.call.callId
    let accept = CallAcceptParams(callId: second, push: ["title": "accepted"])
    #expect(board.code(a, .call(.accept(accept))) == nil)
    #expect(board.pushes.map(\.type) == [.ring, .cancel, .missed])
    #expect(board.pushes.allSatisfy { $0.to == "away" && $0.push == ["title": "first"] })
  }

  private func board() -> Board { Board { $0.hasPush = true } }

  /// What was handed on since the last time: to whom, what for, with which word.
  private func take(_ board: Board) -> [String] {
    defer { board.pushes = [] }
    return board.pushes.map { "\($0.to) \($0.type) \(word($0.push))" }
  }

  private func word(_ push: RawJSON?) -> String {
    guard case .object(let fields) = push?.value, case .string(let word) = fields["say"] else { return "-" }
    return word
  }

  @Test func theRequestsWordCountsElseTheRings() throws {
    let board = board()
    let a = board.phone("a")
    let call = try board.start(a, ["b"]) { $0.push = ["say": "start"] }.call.callId
    #expect(take(board) == ["b ring start"])
    _ = try board.send(a, .call(.cancel(CallCancelParams(callId: call, push: ["say": "cancel"]))))
    #expect(take(board) == ["b cancel cancel", "b missed cancel"])

    let again = try board.start(a, ["b"]) { $0.push = ["say": "start"] }.call.callId
    _ = try board.send(a, .call(.hangup(CallHangupParams(callId: again))))
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
    #expect(board.code(b, .call(.ringing(CallParams(callId: call)))) == nil, "it was woken")
    board.advance(24)
    #expect(take(board) == ["b ring -", "b cancel -"] && b.names().last == .callMissed)

    call = try board.start(a, ["b"]).call.callId
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: call)))) == nil)
    #expect(take(board).isEmpty, "nobody had to be woken yet")
  }

  /// The device that said so is gone; the other one has yet to say anything.
  @Test func anAcknowledgementCountsAsLongAsItsDeviceIsThere() throws {
    let board = board()
    let (a, first, second) = (board.phone("a"), board.phone("b", "first"), board.phone("b", "second"))
    let call = try board.start(a, ["b"]).call.callId
    #expect(board.code(first, .call(.ringing(CallParams(callId: call)))) == nil)
    board.advance(10)
    #expect(take(board).isEmpty)
    board.cut(first)
    board.advance(4)
    #expect(take(board).isEmpty, "the other one may still say that it rings")
    board.advance(1)
    #expect(take(board) == ["b ring -"])
    _ = second
  }

  @Test func anotherDeviceThatRingsIsEnough() throws {
    let board = board()
    let (a, first, second) = (board.phone("a"), board.phone("b", "first"), board.phone("b", "second"))
    let call = try board.start(a, ["b"]).call.callId
    for phone in [first, second] { #expect(board.code(phone, .call(.ringing(CallParams(callId: call)))) == nil) }
    board.gone(first)
    board.advance(10)
    board.cut(second)
    #expect(take(board) == ["b ring -"], "nobody is left")

    let back = try board.start(board.phone("c"), ["b"]) { $0.busyPolicy = .ring }.call.callId
    #expect(take(board) == ["b ring -"])
    board.back(second, isAnew: true)
    #expect(board.code(second, .call(.ringing(CallParams(callId: back)))) == nil)
    board.advance(9)
    #expect(take(board).isEmpty, "one that was woken is not woken again")
  }

  @Test func oneThatLostItsSocketForAMomentStillRings() throws {
    let board = board()
    let (a, first, _) = (board.phone("a"), board.phone("b", "first"), board.phone("b", "second"))
    let call = try board.start(a, ["b"]).call.callId
    #expect(board.code(first, .call(.ringing(CallParams(callId: call)))) == nil)
    board.cut(first)
    board.advance(3)
    board.back(first)
    board.advance(10)
    #expect(take(board).isEmpty)
  }

  /// Whoever ignores a call on one device may want to take it on another.
  @Test func aDeviceThatIsToldToBeSilentWakesTheOthers() throws {
    let board = board()
    let ignore = { (call: String) in Request.call(.reject(CallRejectParams(callId: call, scope: .thisDevice))) }
    let (a, tablet) = (board.phone("a"), board.phone("b", "tablet"))
    let call = try board.start(a, ["b"]).call.callId
    #expect(board.code(tablet, .call(.ringing(CallParams(callId: call)))) == nil && take(board).isEmpty)
    #expect(board.code(tablet, ignore(call)) == nil)
    #expect(board.pushes.map(\.silenced) == [["tablet"]], "and is not woken with them")
    #expect(take(board) == ["b ring -"])
    #expect(board.code(a, .call(.cancel(CallCancelParams(callId: call)))) == nil)
    #expect(take(board) == ["b cancel -", "b missed -"], "nobody who rings has heard of it")

    let page = board.phone("b", "page")
    let again = try board.start(a, ["b"]).call.callId
    for phone in [tablet, page] { #expect(board.code(phone, .call(.ringing(CallParams(callId: again)))) == nil) }
    #expect(board.code(tablet, ignore(again)) == nil)
    board.advance(10)
    #expect(take(board).isEmpty, "the page rings")
    #expect(board.code(page, ignore(again)) == nil)
    #expect(take(board) == ["b ring -"])
  }

  @Test func aMissIsPushedWhereOnlyOtherDevicesAreLeft() throws {
    let board = board()
    let (a, phone) = (board.phone("a"), board.phone("b"))
    let page = board.phone("b", "page", callable: false)
    let call = try board.start(a, ["b"]).call.callId
    #expect(board.code(phone, .call(.ringing(CallParams(callId: call)))) == nil)
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
    _ = try board.send(b, .call(.invite(CallInviteParams(callId: call, users: ["c"], push: ["say": "invite"]))))
    #expect(take(board) == ["c ring invite"])
    board.advance(30)
    #expect(take(board) == ["c cancel invite", "c missed invite"])

    _ = try board.send(b, .call(.invite(CallInviteParams(callId: call, users: ["c"]))))
    _ = try board.send(a, .call(.end(CallParams(callId: call))))
    #expect(take(board) == ["c ring -", "c cancel -", "c missed -"], "the start's word was for b")
  }

  @Test func theAnswersWordGoesToThePhonesThatStop() throws {
    let board = board()
    let a = board.phone("a")
    let call = try board.start(a, ["b", "c"], .oneToMany) { $0.push = ["say": "start"] }.call.callId
    #expect(take(board) == ["b ring start", "c ring start"])
    let b = board.phone("b")
    _ = try board.send(b, .call(.accept(CallAcceptParams(callId: call, push: ["say": "accept"]))))
    #expect(take(board) == ["b cancel accept", "c cancel accept"])
  }

  @Test func theWordOfOneCallIsNotSaidInAnother() throws {
    let board = board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.talk(a, b)
    _ = try board.send(a, .call(.invite(CallInviteParams(callId: first, users: ["x"], push: ["say": "invite"]))))
    let d = board.phone("d")
    let second = try board.start(d, ["b"]) { $0.busyPolicy = .ring }.call.callId
    _ = take(board)
    _ = try board.send(b, .call(.accept(CallAcceptParams(callId: second, push: ["say": "accept"]))))
    _ = try board.send(a, .call(.hangup(CallHangupParams())))
    #expect(
      take(board) == ["x cancel invite", "x missed invite"], "b left for another call, and its word stayed there")
  }

  @Test func nobodyIsShownWhatNobodyFollows() throws {
    let quiet = Board()
    let (a, b) = (quiet.phone("a"), quiet.phone("b"))
    _ = try quiet.talk(a, b)
    #expect(quiet.hooks.map(\.type) == [.callStarted, .callAccepted, .callActive])
    #expect(quiet.hooks.allSatisfy { $0.call == nil && $0.room?.hasPrefix("call:") == true })

    let followed = Board { $0.isFollowed = true }
    let (c, d) = (followed.phone("c"), followed.phone("d"))
    let call = try followed.talk(c, d)
    _ = try followed.send(c, .call(.hangup(CallHangupParams())))
    #expect(followed.hooks.allSatisfy { $0.call?.callId == call })
    #expect(followed.hooks.last?.call?.state == .ended)
  }
}
