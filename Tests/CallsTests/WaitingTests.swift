// One who is in a call and is rung for another: whether he waits is what is so, not what was so when the ring began.

import Basics
import Foundation
import RoostProtocol
import Testing

@testable import Calls

@Suite struct WaitingTests {
  /// B talks to C, and A calls him all the same.
  private struct Case {
    let board = Board()
    let a: Phone
    let b: Phone
    let c: Phone
    let talk: String
    let id: String

    init() throws {
      (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
      talk = try board.talk(b, c)
      id = try board.start(a, ["b"]) { $0.busyPolicy = .ring }.call.callId
      _ = (a.take(), b.take(), c.take())
    }

    /// What the caller has heard of the callee's state since the last time.
    func told() -> [MemberState] {
      a.take().compactMap {
        switch $0 {
        case .memberRinging(let event), .memberState(let event): event.member.state
        default: nil
        }
      }
    }
  }

  @Test(arguments: ["hung up", "ended by the other", "lost", "turned to a room"])
  func whoWaitsNoMoreJustRings(_ how: String) throws {
    let test = try Case()
    let (board, a, b) = (test.board, test.a, test.b)
    #expect(board.code(b, .call(.ringing(call(test.id)))) == nil && test.told() == [.busyRinging])
    let rev = try board.get(a, test.id).rev
    switch how {
    case "hung up": #expect(board.code(b, .call(.hangup(CallHangupParams(callId: test.talk)))) == nil)
    case "ended by the other": #expect(board.code(test.c, .call(.hangup(CallHangupParams()))) == nil)
    case "lost": board.carry(board.board.legLost(on: b.id, at: board.now))
    default: board.carry(board.board.leave(b.id, at: board.now))
    }
    #expect(!board.board.isBusy("b") && test.told() == [.ringing])
    #expect(try board.get(a, test.id).rev == rev + 1 && board.state("b", test.id) == .ringing)
  }

  @Test func whoIsInNoCallAnyMoreIsNotSaidToBe() throws {
    let test = try Case()
    let (board, b) = (test.board, test.b)
    #expect(board.code(test.c, .call(.hangup(CallHangupParams()))) == nil)
    #expect(test.told().isEmpty, "nobody has said yet that he rings")
    let tablet = board.phone("b", "tablet")
    guard case .callIncoming(let incoming) = tablet.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(!incoming.waiting)
    #expect(board.code(b, .call(.ringing(call(test.id)))) == nil && test.told() == [.ringing])
  }

  @Test func whoEntersACallWhileHeRingsWaits() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    _ = board.phone("c")
    let id = try board.start(a, ["b"]) { $0.clientCallId = "x" }.call.callId
    #expect(board.code(b, .call(.ringing(call(id)))) == nil && a.names() == [.memberRinging])
    _ = try board.start(b, ["c"])
    #expect(board.state("b", id) == .busyRinging && a.names() == [.memberState])
    #expect(try board.start(a, ["b"]) { $0.clientCallId = "x" }.busy == ["b"], "the same call again says so, too")
    guard case .callIncoming(let incoming) = board.phone("b", "tablet").take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.waiting)
  }

  /// From one call to the next he is in a call all the time.
  @Test func whoSwitchesCallsWaitsAllTheTime() throws {
    let test = try Case()
    let (board, b) = (test.board, test.b)
    let d = board.phone("d")
    #expect(board.code(b, .call(.ringing(call(test.id)))) == nil && test.told() == [.busyRinging])
    let other = try board.start(d, ["b"]) { $0.busyPolicy = .ring }.call.callId
    try board.accept(b, other)
    #expect(board.state("b", test.id) == .busyRinging && test.told().isEmpty)
  }

  /// What a version writes the one before it and the one after it can read.
  @Test(arguments: [true, false]) func aKeptRingIsReadAcrossVersions(_ isWaiting: Bool) throws {
    let old = """
      {"from": "a", "inProgress": false, "isWaiting": \(isWaiting), "startedAt": 1, "expiresAt": 2, "isPushed": false}
      """
    let terms = try JSONDecoder().decode(RingTerms.self, from: Data(old.utf8))
    #expect(terms.from == "a" && terms.expiresAt == 2)
    let new = try JSONDecoder().decode([String: JSONValue].self, from: JSONEncoder().encode(terms))
    #expect(new["isWaiting"] != nil, "the version before cannot do without it")
  }
}
