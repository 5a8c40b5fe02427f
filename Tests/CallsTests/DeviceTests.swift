// One user with several devices, connections and calls: rows 24 to 29 of the transition table of docs/calls.md.

import Basics
import RoostProtocol
import Testing

@testable import Calls

@Suite struct DeviceTests {
  // 24
  @Test func aSecondDeviceMayTakeOver() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.talk(a, b1)
    #expect(board.code(b2, .call(.join(CallJoinParams(callId: id)))) == .alreadyJoined)
    #expect(board.code(b2, .call(.join(CallJoinParams(callId: id, takeover: true)))) == nil)
    #expect(board.seats[b2.id] == CallID(id) && board.seats[b1.id] == nil && board.seats.count == 2)
    guard case .callStopped(let stopped) = b1.take().last else {
      Issue.record("the old device does not know")
      return
    }
    #expect(stopped.reason == .replaced && a.names() == [.memberState] && board.state("b", id) == .joined)
    #expect(board.code(b1, .call(.hangup(CallHangupParams(callId: id)))) == .answeredElsewhere)
    board.mediaUp(b2)
    board.advance(60)
    #expect(board.board.count == 1)
    let effects = try board.board.join(
      CallJoinParams(callId: id, takeover: true), from: b2.id, mayTakeOver: false, at: board.now)
    #expect(effects.count == 1, "the device that has it needs no token")
    #expect(throws: ErrorObject.self) {
      try board.board.join(CallJoinParams(callId: id, takeover: true), from: b1.id, mayTakeOver: false, at: board.now)
    }
  }

  // 25, 26
  @Test func aLostLegKeepsItsSeat() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b)
    board.cut(b)
    #expect(board.state("b", id) == .reconnecting && board.seats.count == 2)
    board.back(b)
    #expect(board.state("b", id) == .joined)
    board.mediaLost(true, b)
    #expect(board.state("b", id) == .reconnecting)
    board.mediaLost(false, b)
    #expect(board.state("b", id) == .joined && a.take().isEmpty, "the room tells of it")
  }

  /// What was lost in a call that is over, or before another device took over, is lost no more.
  @Test func aLegBeginsWithNothingLost() throws {
    let board = Board()
    let (a, b, tablet) = (board.phone("a"), board.phone("b"), board.phone("a", "tablet"))
    let blink = { (phone: Phone) in
      board.cut(phone)
      board.back(phone)
    }
    _ = try board.talk(a, b)
    board.mediaLost(true, a)
    #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
    let id = try board.talk(a, b)
    blink(a)
    #expect(board.state("a", id) == .joined, "he started a new call")

    board.mediaLost(true, a)
    for phone in [tablet, a] {
      #expect(board.code(phone, .call(.join(CallJoinParams(callId: id, takeover: true)))) == nil)
      board.mediaUp(phone)
      blink(phone)
      #expect(board.state("a", id) == .joined, "\(phone) has taken over")
    }
  }

  // 27
  @Test func aLegThatDoesNotComeBackIsLost() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    var id = try board.talk(a, b)
    board.gone(b, .lost)
    guard case .callEnded(let ended) = a.take().last else {
      Issue.record("a waits for ever")
      return
    }
    #expect(ended.code == 6009 && ended.by == "b")
    let again = board.phone("b")
    id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(again, id)
    try board.accept(c, id)
    board.carry(board.board.legLost(on: c.id, at: board.now))
    #expect(board.state("c", id) == .lost && c.names().last == .memberLeft && board.board.count == 1)
  }

  // 28
  @Test func twoWhoCallEachOtherHaveOneCall() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let first = try board.start(a, ["b"])
    let second = try board.start(b, ["a"]) { $0.media = .audio }
    #expect(second.glare && second.call.callId == first.call.callId && second.call.state == .connecting)
    #expect(a.names() == [.callAccepted] && b.names() == [.callIncoming, .callAccepted])
    #expect(board.board.count == 1 && board.records.isEmpty)
    board.mediaUp(a, b)
    #expect(try board.get(a, first.call.callId).state == .active)
  }

  @Test func whatTheSecondOfTwoCalledItsCallIsForgottenWithIt() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    for name in ["1", "2"] {
      let id = try board.start(a, ["b"]) { $0.clientCallId = "a\(name)" }.call.callId
      #expect(try board.start(b, ["a"]) { $0.clientCallId = "b\(name)" }.glare)
      #expect(try board.start(b, ["a"]) { $0.clientCallId = "b\(name)" }.call.callId == id, "the same call twice")
      #expect(board.code(a, .call(.hangup(CallHangupParams()))) == nil)
      #expect(board.board.tables.calls.names.count == 2 && Set(board.board.tables.calls.names.values) == [CallID(id)])
      board.advance(90_000)
    }
  }

  // 29
  @Test func acceptingAnotherCallLeavesTheFirst() throws {
    let board = Board()
    let (a, b, c, d) = (board.phone("a"), board.phone("b"), board.phone("c"), board.phone("d"))
    let group = try board.start(a, ["b", "d"], .group).call.callId
    for phone in [b, d] { try board.accept(phone, group) }
    let other = try board.start(c, ["b"]) { $0.busyPolicy = .ring }.call.callId
    _ = (a.take(), b.take())
    #expect(try board.accept(b, other).state == .connecting)
    guard case .memberLeft(let left) = a.take().last else {
      Issue.record("a does not know")
      return
    }
    #expect(left.member.reason == .switchedCall && board.seats[b.id] == CallID(other) && board.board.count == 2)
    #expect(b.take().isEmpty)
  }

  // MARK: - This device alone is silent

  private func ignore(_ id: String) -> Request { .call(.reject(CallRejectParams(callId: id, scope: .thisDevice))) }

  @Test func aSilencedDeviceStaysSilentThroughResyncAndHello() throws {
    let board = Board()
    let (a, b1, b2) = (board.phone("a"), board.phone("b"), board.phone("b", "d2"))
    let id = try board.start(a, ["b"]).call.callId
    for phone in [b1, b2] { #expect(board.code(phone, .call(.ringing(call(id)))) == nil) }
    #expect(board.code(b1, ignore(id)) == nil && board.code(b1, ignore(id)) == nil)
    _ = (a.take(), b1.take(), b2.take())
    for phone in [b1, b2] { board.cut(phone) }
    for phone in [b1, b2] { board.back(phone, isAnew: true) }
    #expect(b1.take().isEmpty && b2.names() == [.callIncoming], "the other device rings on")
    board.gone(b1, .replaced)
    let again = board.phone("b", "d1")
    #expect(again.take().isEmpty && board.phone("b", "d3").names() == [.callIncoming])
    #expect(board.board.ringing(for: "b", on: "d1", at: board.now).isEmpty)
    #expect(board.board.ringing(for: "b", on: "d2", at: board.now).map(\.callId) == [id])
    #expect(a.take().isEmpty && board.state("b", id) == .ringing, "the caller notices nothing")
    #expect(try board.accept(again, id).state == .connecting, "it may answer after all")
    #expect(b2.names() == [.callStopped])
  }

  @Test func aNewRingReachesASilencedDevice() throws {
    let board = Board()
    let (a, b, c) = (board.phone("a"), board.phone("b"), board.phone("c"))
    let id = try board.start(a, ["b", "c"], .group).call.callId
    try board.accept(c, id)
    board.mediaUp(a, c)
    #expect(board.code(b, ignore(id)) == nil)
    board.advance(31)
    #expect(board.state("b", id) == .noAnswer && b.names().contains(.callStopped), "it hears of the end")
    #expect(board.code(c, .call(.invite(CallInviteParams(callId: id, users: ["b"])))) == nil)
    #expect(b.names().contains(.callIncoming))
    #expect(board.board.ringing(for: "b", on: "d1", at: board.now).map(\.callId) == [id])
    let other = try board.start(board.phone("d"), ["b"]).call.callId
    #expect(board.code(b, ignore(other)) == nil)
    #expect(board.board.ringing(for: "b", on: "d1", at: board.now).map(\.callId) == [id], "each ring for itself")
  }

  /// A caller's app may bring up its media when somebody answers, whether it was started anew meanwhile or not.
  @Test func aCallerWhoStartsAgainMayRingOn() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.start(a, ["b"]).call.callId
    let again = board.again(a)
    guard case .joined = try board.send(again, .call(.join(CallJoinParams(callId: id)))) else {
      throw ErrorObject(.internalError)
    }
    board.advance(20)
    #expect(board.state("b", id) == .inviting && board.seats == [again.id: CallID(id)])
    try board.accept(b, id)
    board.advance(15)
    #expect(board.graves.first?.reason == .connectFailed, "from then on it is waited for")
  }

  @Test func aLegThatIsTakenUpConnectsAnew() throws {
    let board = Board()
    let (a, b) = (board.phone("a"), board.phone("b"))
    let id = try board.talk(a, b)
    let again = board.again(b)
    guard case .joined = try board.send(again, .call(.join(CallJoinParams(callId: id)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(board.phones[b.id] == nil, "what kept the leg goes")
    board.advance(15)
    #expect(board.graves.first?.reason == .connectFailed && board.graves.first?.by == "b")
  }

  @Test func madeUpNamesAreNotRememberedWithoutEnd() throws {
    let board = Board { $0.hasPush = true }
    let id = try board.start(board.phone("a"), ["b"]).call.callId
    for number in 0..<Ring.mostSilenced + 9 {
      let phone = board.phone("b", "d\(number)")
      #expect(board.code(phone, ignore(id)) == nil)
      board.gone(phone)
    }
    #expect(board.board.tables.calls[CallID(id)]?["b"]?.ring?.silenced.count == Ring.mostSilenced)
  }
}
