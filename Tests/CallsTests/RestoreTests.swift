// What an earlier process left of its calls: groups go on, everything else is over, and the lists are as they were.

import Basics
import Foundation
import RoostProtocol
import Testing

@testable import Calls

@Suite struct RestoreTests {
  /// A board that keeps, and what the next process finds of it, by way of JSON.
  private func board() -> Board {
    Board {
      $0.keepsCalls = true
      $0.hasPush = true
    }
  }

  private func restart(_ old: Board, after seconds: Double = 5, _ fill: (inout KeptCalls) -> Void = { _ in }) throws
    -> Board
  {
    let next = board()
    next.now = old.now.advanced(by: .seconds(seconds))
    var kept = KeptCalls()
    kept.running = try JSONDecoder().decode([KeptCall].self, from: JSONEncoder().encode(Array(old.kept.values)))
    fill(&kept)
    next.carry(next.board.restore(kept, at: next.now))
    return next
  }

  @Test func aGroupGoesOnAndThoseWhoReturnFindIt() throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    let callId = try old.start(a, ["b", "c"], .group) { $0.extra = ["n": 1] }.call.callId
    try old.accept(b, callId)
    old.mediaUp(a, b)
    let before = try old.get(a, callId)
    #expect(old.pushes.map(\.type) == [.ring])

    let woken = try #require(old.kept.values.first?.pushedRings)
    #expect(woken.map(\.user) == ["c"] && woken.first?.expiresAt == old.pushes.first?.expiresAt)

    let board = try restart(old)
    let again = board.phone("a")
    let call = try #require(board.current("a"))
    #expect(call.callId == callId && call.kind == .group && call.media == .video && call.extra == ["n": 1])
    #expect(call.rev > before.rev && call.createdAt == before.createdAt && call.startedAt == before.startedAt)
    #expect(call.members.map(\.state) == [.reconnecting, .reconnecting, .noAnswer])
    #expect(board.pushes.map(\.type) == [.cancel, .missed], "the phone that was woken is told")
    #expect(board.board.missed("c") == 1)

    guard case .joined = try board.send(again, .call(.join(CallJoinParams(callId: callId)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(board.seats == [again.id: CallID(callId)])
    board.mediaUp(again)
    board.advance(20)
    #expect(board.state("a", callId) == .joined && board.state("b", callId) == .lost, "b did not come in time")
    let late = board.phone("b")
    #expect(board.available("b").map(\.callId) == [callId])
    guard case .joined = try board.send(late, .call(.join(CallJoinParams(callId: callId)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(board.seats.count == 2)
  }

  @Test func aGroupThatNobodyReturnsToEndsAfterTheGrace() throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    let callId = try old.start(a, ["b"], .group).call.callId
    try old.accept(b, callId)
    let board = try restart(old)
    board.advance(16)
    #expect(board.board.count == 0 && board.graves.map(\.callId) == [callId])
    #expect(board.records["a"]?.last?.result == .answered && board.records["b"]?.last?.result == .answered)
    #expect(board.kept.isEmpty)
  }

  @Test func twoWhoTalkedHaveTruthfulRecords() throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    let callId = try old.talk(a, b)
    let board = try restart(old, after: 7)
    #expect(board.graves.map(\.reason) == [.stopped] && board.board.count == 0 && !board.board.isBusy("a"))
    let record = try #require(board.records["b"]?.first)
    #expect(record.result == .answered && record.reason == .stopped && record.durationMs == 7000)
    let again = board.phone("a")
    #expect(try board.get(again, callId).reason == .stopped)
    #expect(board.error(again, .call(.join(CallJoinParams(callId: callId))))?.code == .callEnded)
  }

  /// The earlier process's monotonic clock is no more, and the wall clock may be set between the two and later.
  @Test(arguments: [-3_600_000, 0, 3_600_000] as [Int64]) func durationsStaySensible(set: Int64) throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    let callId = try old.start(a, ["b", "c"], .group).call.callId
    try old.accept(b, callId)
    old.mediaUp(a, b)
    let answeredAt = old.now.wallMilliseconds
    old.advance(10)
    let board = try restart(old)
    let again = board.phone("a")
    guard case .joined = try board.send(again, .call(.join(CallJoinParams(callId: callId)))) else {
      throw ErrorObject(.internalError)
    }
    board.now.wallMilliseconds += set
    board.advance(3)
    #expect(board.code(again, .call(.end(CallParams(callId: callId)))) == nil)
    let record = try #require(board.records["a"]?.last)
    #expect(record.durationMs == 18_000 && record.answeredAt == answeredAt)
  }

  @Test func aWallClockSetBackBetweenTwoProcessesGivesNoNegativeDuration() throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    _ = try old.talk(a, b)
    old.now.wallMilliseconds -= 3_600_000
    let board = try restart(old)
    for user in ["a", "b"] { #expect(board.records[user]?.last?.durationMs == 0) }
  }

  @Test func aRingIsOverAndMissed() throws {
    let old = board()
    let a = old.phone("a")
    let callId = try old.start(a, ["b"]) { $0.clientCallId = "x" }.call.callId
    let board = try restart(old)
    #expect(board.pushes.map(\.type) == [.cancel, .missed] && board.board.missed("b") == 1)
    #expect(board.records["a"]?.first?.result == .failed || board.records["a"]?.first?.result == .missed)
    #expect(board.hooks.map(\.type) == [.callEnded])
    let again = board.phone("a")
    let answer = board.error(
      again, .call(.start(CallStartParams(to: ["b"], kind: .oneToOne, media: .video, clientCallId: "x"))))
    #expect(answer?.code == .callEnded && answer?.data.reason == Reason.stopped.rawValue, "named \(callId)")
  }

  /// Two who called each other have each a name for the one call, and asking again by it rings nobody anew.
  @Test func bothNamesOfACallLast() throws {
    let old = board()
    let (a, b, c) = (old.phone("a"), old.phone("b"), old.phone("c"))
    let named = { (to: String, name: String) in
      Request.call(.start(CallStartParams(to: [to], kind: .oneToOne, media: .audio, clientCallId: name)))
    }
    guard case .started(let call, _, _, false) = try old.send(a, named("b", "x")),
      case .started(let same, _, _, true) = try old.send(b, named("a", "y"))
    else {
      Issue.record("the two do not meet")
      return
    }
    #expect(same.callId == call.callId)
    #expect(old.code(a, .call(.invite(CallInviteParams(callId: call.callId, users: ["c"])))) == nil)
    try old.accept(c, call.callId)

    let board = try restart(old)
    let (b2, a2) = (board.phone("b"), board.phone("a"))
    _ = a2.take()
    for (phone, request) in [(b2, named("a", "y")), (a2, named("b", "x"))] {
      guard case .started(let found, _, _, let isGlare) = try board.send(phone, request) else {
        Issue.record("no call by that name")
        return
      }
      #expect(found.callId == call.callId && !isGlare && board.seats[phone.id]?.text == call.callId)
    }
    #expect(a2.names() == [.memberState] && board.board.count == 1)
    #expect(board.code(a2, .call(.end(CallParams(callId: call.callId)))) == nil)

    let kept = try #require(board.tombstone)
    let last = try restart(board) { $0.tombstones = [kept] }
    let b3 = last.phone("b")
    #expect(last.error(b3, named("a", "y"))?.code == .callEnded && last.board.count == 0)
  }

  @Test func listsAndTombstonesAreAsTheyWere() throws {
    let old = board()
    let (a, b) = (old.phone("a"), old.phone("b"))
    let callId = try old.talk(a, b)
    _ = try old.send(a, .call(.hangup(CallHangupParams(callId: callId))))
    let ended = try #require(old.graves.first)
    let entry = UserRecord(user: "b", device: "d1", record: try #require(old.records["b"]?.first))
    let missed = UserRecord(
      user: "c", device: nil,
      record: CallRecord(
        callId: "other", direction: .incoming, result: .missed, why: .noAnswer, elsewhere: false, startedAt: 1,
        endedAt: 2, durationMs: 0, peers: ["a"], kind: .oneToOne, media: .audio, reason: .noAnswer))
    let board = try restart(old) {
      $0.tombstones = [KeptTombstone(call: ended, clientCallId: "x")]
      $0.records = [
        KeptRecord(entry: entry, isUnseen: false), KeptRecord(entry: missed, isUnseen: true),
        KeptRecord(entry: UserRecord(user: "d", device: nil, record: missed.record), isUnseen: false),
      ]
    }
    let again = board.phone("b")
    #expect(board.history(again) == [entry.record])
    #expect(board.board.missed("b") == 0 && board.board.missed("c") == 1 && board.board.missed("d") == 0)
    #expect(try board.get(again, callId).reason == .hangup)
    let c = board.phone("c")
    _ = board.history(c)
    #expect(board.board.missed("c") == 0)
  }
}

extension Board {
  fileprivate func current(_ user: String) -> Call? { board.current(of: user, at: now) }
  /// The last call that ended, by way of JSON.
  fileprivate var tombstone: KeptTombstone? {
    tombstones.last.flatMap { try? JSONDecoder().decode(KeptTombstone.self, from: JSONEncoder().encode($0)) }
  }
  fileprivate func available(_ user: String) -> [Call] { board.available(to: user, at: now) }
  fileprivate func history(_ phone: Phone) -> [CallRecord] {
    board.history(CallHistoryParams(), from: phone.id).records
  }
}
