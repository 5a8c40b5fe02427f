// Bounds of calls that run: as much as may be is taken, and one more is not.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct CallBoundTests {
  private func start(_ to: [String], _ media: MediaClass = .video) -> Request {
    .call(.start(CallStartParams(to: to, kind: .group, media: media)))
  }

  @Test func soManyCallsAndNotOneMore() throws {
    let board = Board { $0.maxCalls = 3 }
    let callers = (1...4).map { board.phone("a\($0)") }
    _ = board.phone("b")
    let calls = try callers.prefix(3).map { try board.start($0, ["b"]).call.callId }
    #expect(board.board.count == 3)
    #expect(board.code(callers[3], start(["b"])) == .overloaded)
    #expect(board.code(callers[0], .call(.cancel(CallCancelParams(callId: calls[0])))) == nil)
    #expect(board.code(callers[3], start(["b"])) == nil, "one that is over makes space")
  }

  @Test func soManyCallsRingAUserAndNotOneMore() throws {
    let board = Board()
    let callers = (1...9).map { board.phone("a\($0)") }
    let b = board.phone("b")
    for caller in callers.prefix(8) { #expect(try board.start(caller, ["b"]).busy.isEmpty) }
    #expect(b.take().count { $0.isRing } == 8)
    #expect(try board.start(callers[8], ["b"]).busy == ["b"])
    #expect(b.take().count { $0.isRing } == 0)
  }

  /// Those who have left or declined count as well.
  @Test func soManyUsersInOneCallAndNotOneMore() throws {
    let board = Board { $0.maxMembers = 4 }
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"], .group).call.callId
    try board.accept(b, id)
    board.mediaUp(a, b)
    func invite(_ user: String) -> ErrorObject? {
      board.error(a, .call(.invite(CallInviteParams(callId: id, users: [user]))))
    }
    for user in ["c", "d"] {
      let phone = board.phone(user)
      #expect(invite(user) == nil)
      #expect(board.code(phone, .call(.reject(CallRejectParams(callId: id)))) == nil)
    }
    let refusal = invite("e")
    #expect(refusal?.code == .tooManyInvitees && refusal?.data.limit == 4 && refusal?.data.count == 5)
    #expect(invite("c") == nil, "who was asked before is counted already")
  }

  @Test(arguments: [(MediaClass.video, 16), (.audio, 32)])
  func soManyPeopleAtOnceAndNotOneMore(media: MediaClass, seats: Int) {
    // Whoever has no phone here is woken, and rings.
    let board = Board { $0.hasPush = true }
    let a = board.phone("a")
    func refusal(others: Int) -> ErrorObject? { board.error(a, start((0..<others).map { "u\($0)" }, media)) }
    let tooMany = refusal(others: seats)
    #expect(tooMany?.code == .tooManyInvitees && tooMany?.data.limit == seats && tooMany?.data.count == seats + 1)
    #expect(refusal(others: seats - 1) == nil)
  }

  /// What is asked for, and how long it rings, in milliseconds.
  /// The protocol refuses less and more; here they become what may be.
  @Test(arguments: [(Int64(4_999), Int64(5_000)), (5_000, 5_000), (180_000, 180_000), (180_001, 180_000)])
  func itRingsForSoLongAndNoLonger(wanted: Int64, rings: Int64) throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    #expect(try board.start(a, ["b"]) { $0.ringTimeoutMs = wanted }.call.remainingMs == rings)
    #expect(b.names() == [.callIncoming])
    board.advance(Double(rings - 1) / 1_000)
    #expect(board.board.count == 1)
    board.advance(0.001)
    #expect(board.board.count == 0 && b.names() == [.callStopped, .callMissed])
  }
}
