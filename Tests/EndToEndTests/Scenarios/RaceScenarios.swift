// Scenarios 15, 27 and 28: two commands at once, and the same command twice.

import Basics
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  /// Forty pairs play twenty-five rounds each, all in one server.
  @Test func scenario15CancelAndAcceptAtOnceHaveOneOutcome() async throws {
    try await TestServer.calls { server in
      let outcomes = try await pairs(40, on: server) { anna, ben in
        var outcomes: [Bool] = []
        for _ in 1...25 { outcomes.append(try await cancelMeetsAccept(anna, ben)) }
        return outcomes
      }
      #expect(outcomes.joined().count == 1_000)
      #expect(Set(outcomes.joined()) == [true, false], "both have come first")
      await server.shows(["roost_rooms": 0])
    }
  }

  /// - Returns: whether the accept came first.
  private func cancelMeetsAccept(_ anna: Phone, _ ben: Phone) async throws -> Bool {
    let id = try await anna.start([ben.user]).call.callId
    _ = try await ben.hears(\.incoming, of: id)
    async let cancelled = refused { try await anna.cancel(id) }
    async let accepted = refused { try await ben.accept(id) }
    let (lostCancel, lostAccept) = (try await cancelled, try await accepted)
    let (one, other) = (try await anna.get(id), try await ben.get(id))
    #expect(one.state == other.state && one.reason == other.reason && one.rev == other.rev && one.by == other.by)
    try await [anna, ben].settle()
    if let lostAccept {
      #expect(lostCancel == nil)
      #expect(lostAccept.code == .callEnded && lostAccept.data.reason == "cancelled")
      #expect(one.state == .ended && one.reason == .cancelled)
      let (end, stop) = (try await anna.hears(\.ended, of: id), try await ben.hears(\.stopped, of: id))
      #expect(stop.reason == .cancelled && end.reason == stop.reason && end.code == stop.code)
      #expect(end.rev == one.rev && stop.rev == one.rev && end.by == anna.user && stop.by == anna.user)
      #expect(await anna.heard(\.accepted, of: id).isEmpty)
      #expect(await ben.heard(\.ended, of: id).isEmpty)
    } else {
      #expect(await anna.heard(\.accepted, of: id).count == 1)
      #expect(await ben.heard(\.missed, of: id).isEmpty)
      // There is something to hang up now, and nothing to cancel any more.
      #expect(lostCancel?.code == .invalidState && lostCancel?.data.reason == "answered")
      #expect(lostCancel?.data.by == ben.user)
      try await anna.hangup(id)
      let over = try await anna.get(id)
      for phone in [anna, ben] {
        let end = try await phone.hears(\.ended, of: id)
        #expect(end.reason == over.reason && end.code == over.reason?.code && end.rev == over.rev && end.by == over.by)
      }
      #expect(await ben.heard(\.stopped, of: id).isEmpty)
    }
    for phone in [anna, ben] { #expect(try await phone.current() == nil) }
    let presence = try await anna.session.presence(of: [anna.user, ben.user])
    #expect(presence.map(\.inCall) == [false, false])
    return lostAccept == nil
  }

  @Test func scenario27BothCallEachOtherAndItIsOneCall() async throws {
    try await TestServer.calls { server in
      let rounds = try await pairs(25, on: server) { anna, ben in
        for _ in 1...20 { try await glare(anna, ben) }
        for phone in [anna, ben] {
          let again = try await server.phone(phone.user, device: "another")
          #expect(await again.session.hello.missed == 0)
          let records = try await again.session.callHistory(limit: 100).records
          #expect(records.count == 20 && records.allSatisfy { $0.result == .answered && $0.reason == .hangup })
        }
        return 20
      }
      #expect(rounds.reduce(0, +) == 500)
      await server.shows(["roost_rooms": 0])
    }
  }

  private func glare(_ anna: Phone, _ ben: Phone) async throws {
    async let mine = anna.start([ben.user])
    async let his = ben.start([anna.user])
    let (one, other) = (try await mine, try await his)
    let id = one.call.callId
    #expect(other.call.callId == id)
    #expect([one.glare == true, other.glare == true].count { $0 } == 1)
    #expect(one.busy == [] && other.busy == [])
    let second = one.glare == true ? anna : ben
    for phone in [anna, ben] { #expect(try await phone.hears(\.accepted, of: id).user == second.user) }
    #expect(try await anna.current()?.callId == id)
    #expect(try await ben.current()?.callId == id)
    // By who was called: the caller's hang-up before media is up would be a cancel.
    try await second.hangup(id)
    for phone in [anna, ben] {
      #expect(try await phone.hears(\.ended, of: id).reason == .hangup)
      #expect(try await phone.hears(\.record, of: id).result == .answered)
    }
    try await [anna, ben].settle()
    for phone in [anna, ben] {
      #expect(await phone.heard(\.missed).isEmpty)
      #expect(await phone.heard(\.busy).isEmpty)
      #expect(await phone.heard(\.accepted, of: id).count == 1)
      #expect(try await phone.current() == nil)
    }
  }

  @Test func scenario28TheSameCallTwiceIsOneCall() async throws {
    try await TestServer.calls { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      let (anna, ben) = (three[0], three[1])
      let first = try await anna.start(["ben"]) { $0.clientCallId = "mine" }
      let second = try await anna.start(["ben"]) { $0.clientCallId = "mine" }
      #expect(first.call.callId == second.call.callId)
      try await three.settle()
      #expect(await ben.heard(\.incoming).count == 1)
      #expect(try await refused { try await ben.start(["ben"]) }?.code == .cannotCallSelf)
      #expect(try await refused { try await anna.start(["carl"]) }?.code == .selfBusy)
      try await three.settle()
      #expect(await three[2].heard(\.incoming).isEmpty)

      let instead = try await anna.start(["carl"]) { $0.replace = true }
      #expect(try await ben.hears(\.stopped, of: first.call.callId).reason == .cancelled)
      _ = try await three[2].hears(\.incoming, of: instead.call.callId)
      #expect(try await anna.current()?.callId == instead.call.callId)
      try await anna.cancel(instead.call.callId)
      try await namedTwiceAtOnce(anna, ben)
    }
  }

  /// Both starts are on their way before either is answered.
  private func namedTwiceAtOnce(_ anna: Phone, _ ben: Phone) async throws {
    for round in 1...50 {
      let starts = try await withThrowingTaskGroup(of: CallStartResult.self) { tasks in
        for _ in 1...3 { tasks.addTask { try await anna.start(["ben"]) { $0.clientCallId = "round \(round)" } } }
        return try await tasks.reduce(into: []) { $0.append($1) }
      }
      let id = starts[0].call.callId
      #expect(starts.allSatisfy { $0.call.callId == id && $0.room.selfId == starts[0].room.selfId })
      try await anna.cancel(id)
      _ = try await ben.hears(\.stopped, of: id)
      #expect(await ben.heard(\.incoming, of: id).count == 1, "one ring")
      #expect(
        try await refused { try await anna.start(["ben"]) { $0.clientCallId = "round \(round)" } }?.code == .callEnded)
    }
    try await ben.settle()
    #expect(await ben.heard(\.incoming).count == 51)
  }

  // MARK: Many at once

  private func pairs<T: Sendable>(
    _ count: Int, on server: TestServer, _ body: @escaping @Sendable (Phone, Phone) async throws -> T
  ) async throws -> [T] {
    try await withThrowingTaskGroup(of: T.self) { group in
      for number in 0..<count {
        let both = try await server.phones(["anna\(number)", "ben\(number)"])
        group.addTask { try await body(both[0], both[1]) }
      }
      var results: [T] = []
      for try await result in group { results.append(result) }
      return results
    }
  }
}
