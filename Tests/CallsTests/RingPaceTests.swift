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

  // MARK: - Several at once

  /// Where others ring one of several too often, the others ring: sixty are not too many, and one more is. That one hears nothing, and
  /// finds it in their list.
  @Test(arguments: [59, 60]) func whoMayNotBeRungKeepsNobodyElse(before: Int) throws {
    let board = Board()
    let (victim, ben) = (board.phone("victim"), board.phone("ben"))
    for number in 0..<6 {
      try ring(board, board.phone("stranger \(number)"), "victim", count: min(10, before - 10 * number))
    }
    _ = victim.take()
    let anna = board.phone("anna")
    let started = try board.start(anna, ["victim", "ben"], .group)
    let isFull = before == 60
    #expect(ben.take().count { $0.isRing } == 1)
    #expect(started.unreachable == (isFull ? ["victim"] : []) && started.busy.isEmpty)
    #expect(board.state("victim", started.call.callId) == (isFull ? .unreachable : .inviting))
    #expect(victim.take().isEmpty == isFull && board.pushes.isEmpty)
    #expect((board.records["victim"]?.last?.callId == started.call.callId) == isFull)
    // Nobody is left to ring: then it is refused, with the time to wait.
    let refused = refusal(board, board.phone("carl"), "victim")
    #expect(refused?.data.reason == "callee" && refused?.data.retryAfterMs == 1_000)
    try board.accept(ben, started.call.callId)
    board.mediaUp(anna, ben)
    board.advance(1)
    _ = ben.take()
    guard
      case .invited(let result) = try board.send(
        ben, .call(.invite(CallInviteParams(callId: started.call.callId, users: ["victim"]))))
    else {
      Issue.record("no answer")
      return
    }
    #expect(result.failed.isEmpty && result.invited == ["victim"])
    #expect(victim.take().count { $0.isRing } == (isFull ? 1 : 0), "a second later there is one ring more")
  }

  /// What a caller sees of somebody whom others ring too often is what they see of somebody who is not there.
  @Test(arguments: [false, true]) func itLooksAsIfNobodyWereThere(isInvited: Bool) throws {
    let seen = try [false, true].map { isFull in
      let board = Board { $0.ringsPerCallee = 1 }
      let (anna, ben, stranger) = (board.phone("anna"), board.phone("ben"), board.phone("stranger"))
      if isFull {
        let victim = board.phone("victim")
        try ring(board, stranger, "victim", count: 1)
        _ = victim.take()
      }
      var heard: [String] = []
      let started = try board.start(anna, isInvited ? ["ben"] : ["ben", "victim"], .group)
      heard.append("\(started.busy) \(started.unreachable)")
      try board.accept(ben, started.call.callId)
      board.mediaUp(anna, ben)
      if isInvited {
        _ = board.phone("carl")
        let params = CallInviteParams(callId: started.call.callId, users: ["carl", "victim"])
        guard case .invited(let result) = try board.send(anna, .call(.invite(params))) else { return ["no answer"] }
        heard.append("\(result)")
      }
      let members = try board.get(anna, started.call.callId).members
      heard.append("\(members.filter { $0.user == "victim" }.map { [$0.state.rawValue, $0.reason?.rawValue] })")
      return heard + [anna, ben].map { "\($0.names())" }
    }
    #expect(seen[0] == seen[1] && seen[0].joined().contains("unreachable"))
  }

  // MARK: - Callers who are blocked

  /// Inviting, taking it back and inviting again meets the same bound whether or not the other one hears it.
  @Test(arguments: [false, true]) func whoIsNotHeardIsCountedAllTheSame(isBlocked: Bool) throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    if isBlocked { _ = try board.send(c, .block(.add(BlockParams(user: "a")))) }
    let call = try board.talk(a, b)
    let invite = Request.call(.invite(CallInviteParams(callId: call, users: ["c"])))
    for _ in 0..<10 {
      #expect(board.code(a, invite) == nil)
      #expect(board.code(a, invite) == nil, "who rings already is not rung again")
      _ = try board.send(a, .call(.cancelInvite(CallCancelInviteParams(callId: call, users: ["c"]))))
    }
    #expect(c.take().count { $0.isRing } == (isBlocked ? 0 : 10))
    let refused = board.error(a, invite)
    #expect(refused?.code == .rateLimited && refused?.data.reason == "pair" && refused?.data.retryAfterMs == 6_000)
    // Calling instead is no way round it, either.
    _ = try board.send(a, .call(.hangup(CallHangupParams())))
    #expect(refusal(board, a, "c")?.data.reason == "pair")
    board.advance(6)
    #expect(refusal(board, a, "c") == nil)
  }

  @Test(arguments: [false, true]) func aHundredAndTwentyUnheardRingsAreAsManyAsOthers(isBlocked: Bool) throws {
    let board = Board()
    let a = board.phone("a")
    for number in 0..<13 {
      let callee = board.phone("callee \(number)")
      if isBlocked { _ = try board.send(callee, .block(.add(BlockParams(user: "a")))) }
      guard number < 12 else { break }
      try ring(board, a, callee.user, count: 10)
    }
    #expect(refusal(board, a, "callee 12")?.data.reason == "caller")
  }

  /// Of all who are blocked together a user is rung as often as of others, and it is in nobody else's way.
  @Test(arguments: [false, true]) func allWhoAreNotHeardAreCountedTogether(isBlocked: Bool) throws {
    let board = Board()
    let victim = board.phone("victim")
    for number in 0..<7 {
      let stranger = board.phone("stranger \(number)")
      if isBlocked { _ = try board.send(victim, .block(.add(BlockParams(user: stranger.user)))) }
      guard number == 6 else {
        try ring(board, stranger, "victim", count: 10)
        continue
      }
      #expect(refusal(board, stranger, "victim")?.data.reason == "callee")
    }
    #expect(victim.take().count { $0.isRing } == (isBlocked ? 0 : 60))
    #expect(refusal(board, board.phone("friend"), "victim")?.data.reason == (isBlocked ? nil : "callee"))
  }

  /// Eight ring at once and the ninth is told that the user is busy, whether or not they are heard.
  @Test(arguments: [false, true]) func eightRingsAtOnceAreEight(isBlocked: Bool) throws {
    let board = Board()
    let victim = board.phone("victim")
    for number in 0..<9 {
      let stranger = board.phone("stranger \(number)")
      if isBlocked { _ = try board.send(victim, .block(.add(BlockParams(user: stranger.user)))) }
      #expect(try board.start(stranger, ["victim"]).busy == (number < 8 ? [] : ["victim"]))
    }
    #expect(victim.take().count { $0.isRing } == (isBlocked ? 0 : 8))
    #expect(try board.start(board.phone("friend"), ["victim"]).busy == (isBlocked ? [] : ["victim"]))
  }

  @Test func noBoundIsNone() throws {
    let board = Board { ($0.ringsPerCaller, $0.ringsPerCallee, $0.ringsPerPair) = (0, 0, 0) }
    let a = board.phone("a")
    _ = board.phone("b")
    try ring(board, a, "b", count: 500)
  }

  /// On an open server a stranger rings twice as many made-up users as are remembered, each under a new name: the bounds that others have
  /// reached hold on.
  @Test func madeUpUsersDoNotLiftABound() throws {
    let now = Now(instant: .zero + .seconds(9), wallMilliseconds: 0)
    var pace = RingPace(CallRules())
    func isRefused(_ caller: String, _ callee: String) -> Bool {
      let refused = try? pace.check(caller, rings: [callee], isHidden: { _ in false }, at: now)
      return refused != []
    }
    for number in 0..<60 { pace.spend("stranger \(number)", rings: ["victim"], isHidden: { _ in false }, at: now) }
    for _ in 0..<10 { pace.spend("pest", rings: ["friend"], isHidden: { _ in false }, at: now) }
    for _ in 0..<120 { pace.spend("caller", rings: ["anybody"], isHidden: { _ in false }, at: now) }
    #expect(isRefused("somebody", "victim") && isRefused("pest", "friend") && isRefused("caller", "somebody"))
    for number in 0..<2 * RingPace.most {
      pace.spend("made up \(number)", rings: ["nobody \(number)"], isHidden: { _ in false }, at: now)
    }
    #expect(isRefused("somebody", "victim") && isRefused("pest", "friend") && isRefused("caller", "somebody"))
    #expect(!isRefused("somebody", "friend"), "the control")
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
