// How often one may have others rung: each bound at n and n + 1, and without it.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct RingPaceTests {
  /// Rings `callee` and gives up, `count` times.
  private func ring(_ board: Board, _ caller: Phone, _ callee: String, count: Int) throws {
    for _ in 0..<count {
      let id = try board.start(caller, [callee]).call.callId
      _ = try board.send(caller, .call(.cancel(CallCancelParams(callId: id))))
    }
  }

  private func refusal(_ board: Board, _ caller: Phone, _ callees: String...) -> ErrorObject? {
    board.error(caller, .call(.start(CallStartParams(to: callees, kind: .group, media: .audio))))
  }

  @Test func onePairRingsTenTimesAndNotAnEleventh() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = board.phone("c")
    try ring(board, a, "b", count: 10)
    let refused = try #require(refusal(board, a, "b"))
    #expect(refused.code == .rateLimited && refused.data.retryable && refused.data.reason == "pair")
    #expect(refused.data.retryAfterMs == 6_000)
    // Others may, the callee may call back, and the caller others.
    try ring(board, a, "c", count: 1)
    try ring(board, b, "a", count: 1)
    board.advance(5.9)
    #expect(refusal(board, a, "b") != nil)
    board.advance(0.1)
    try ring(board, a, "b", count: 1)
    #expect(refusal(board, a, "b") != nil)
  }

  /// Nobody is rung where one of several may not be.
  @Test func oneOfSeveralTooOftenIsNobody() throws {
    let board = Board()
    let (a, c) = (board.phone("a"), board.phone("c"))
    _ = board.phone("b")
    try ring(board, a, "b", count: 10)
    #expect(refusal(board, a, "c", "b")?.data.reason == "pair")
    #expect(c.take().isEmpty && board.board.tables.calls.count == 0)
  }

  @Test func aCalleeIsRungSixtyTimesAMinuteByAllTogether() throws {
    let board = Board()
    let victim = board.phone("victim")
    let callers = (0..<7).map { board.phone("stranger \($0)") }
    for caller in callers.prefix(6) { try ring(board, caller, "victim", count: 10) }
    #expect(victim.take().count { $0.isRing } == 60)
    let refused = try #require(refusal(board, callers[6], "victim"))
    #expect(refused.code == .rateLimited && refused.data.reason == "callee" && refused.data.retryAfterMs == 1_000)
    #expect(victim.take().isEmpty)
    board.advance(1)
    try ring(board, callers[6], "victim", count: 1)
  }

  @Test func aCallerRingsAHundredAndTwentyAMinute() throws {
    let board = Board()
    let a = board.phone("a")
    for number in 0..<120 { try ring(board, a, "callee \(number)", count: 1) }
    #expect(refusal(board, a, "one more")?.data.reason == "caller")
    board.advance(0.5)
    try ring(board, a, "one more", count: 1)
    // All who are named are counted.
    board.advance(60)
    let thirty = (0..<30).map { "guest \($0)" }
    for _ in 0..<4 {
      let id = try board.start(a, thirty, .group, .audio).call.callId
      _ = try? board.send(a, .call(.cancel(CallCancelParams(callId: id))))
    }
    #expect(refusal(board, a, "nobody")?.data.reason == "caller")
  }

  @Test func invitationsAreRings() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let c = board.phone("c")
    let call = try board.talk(a, b)
    for _ in 0..<10 {
      _ = try board.send(a, .call(.invite(CallInviteParams(callId: call, users: ["c"]))))
      _ = try board.send(a, .call(.cancelInvite(CallCancelInviteParams(callId: call, users: ["c"]))))
    }
    #expect(c.take().count { $0.isRing } == 10)
    let again = Request.call(.invite(CallInviteParams(callId: call, users: ["c"])))
    #expect(board.error(a, again)?.data.reason == "pair")
    #expect(board.code(b, again) == nil, "the other one has not rung yet")
  }

  @Test func noBoundIsNone() throws {
    let board = Board { ($0.ringsPerCaller, $0.ringsPerCallee, $0.ringsPerPair) = (0, 0, 0) }
    let a = board.phone("a")
    _ = board.phone("b")
    try ring(board, a, "b", count: 500)
  }

  /// The memory of it is bounded.
  @Test func moreUsersThanAreRemembered() {
    let now = Now(instant: .zero + .seconds(9), wallMilliseconds: 0)
    var buckets = KeyedBuckets<String>(burst: 2, perSecond: 1, most: 100)
    for number in 0..<100 { _ = buckets.take("\(number)", at: now.instant) }
    #expect(buckets.count == 100)
    // Those that have waited long enough make space, and the others are remembered.
    _ = buckets.take("50", at: now.instant + .seconds(1))
    _ = buckets.take("50", at: now.instant + .seconds(1))
    _ = buckets.take("one more", at: now.instant + .seconds(1))
    #expect(buckets.count == 2 && buckets.wait(of: "50", at: now.instant + .seconds(1)) != nil)
  }
}
