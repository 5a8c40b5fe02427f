// Scenario 26: however a call ends, nobody stays busy; and who is busy has a live leg, at all times.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd.CallScenarios {
  @Test func scenario26NobodyStaysBusyHoweverHisCallEnds() async throws {
    // Servers of their own at once, since they wait most of the time.
    try await withThrowingTaskGroup(of: Void.self) { group in
      // No time that is up may be what frees somebody who says that he goes.
      for (grace, farewells) in [(TimeDelta.seconds(600), Farewell.spoken), (.milliseconds(300), Farewell.killed)] {
        group.addTask { try await withGrace(grace) { try await nobodyStaysBusy(after: farewells, $0) } }
      }
      for seed in 1...2 as ClosedRange<UInt64> {
        group.addTask {
          try await withGrace(.milliseconds(300)) { try await theBusyAreThoseWithALiveLeg($0, seed: seed) }
        }
      }
      group.addTask { try await nobodyStaysBusyWhenMediaAreLost() }
      try await group.waitForAll()
    }
    // By itself, since he who answers must do so in time.
    try await nobodyStaysBusyWhenTimeIsUp()
  }

  private func withGrace(_ grace: TimeDelta, _ body: (TestServer) async throws -> Void) async throws {
    try await TestServer.calls(
      {
        ($0.calls.resumeGrace, $0.calls.callerGrace, $0.sessions.resumeGrace) = (grace, grace, grace)
        ($0.calls.connectTimeout, $0.calls.ringTimeout) = (.seconds(600), .seconds(180))
      }, body)
  }

  // MARK: Every end

  /// ben and carl call each other, either way round; one of them goes in each way, before the answer and after it. Then anna
  /// calls ben: it rings, and he can answer.
  private func nobodyStaysBusy(after farewells: [Farewell], _ server: TestServer) async throws {
    let (anna, dora) = (try await server.phone("anna"), try await server.phone("dora"))
    for farewell in farewells {
      for (isBenCaller, isAnswered, isBens) in Self.turns {
        let what = "\(farewell) by \(isBens ? "ben" : "carl"), calls: \(isBenCaller), answered: \(isAnswered)"
        // Before the answer a callee ends the call with a reject alone.
        let isCaller = isBens == isBenCaller
        let endsCall = isAnswered || isCaller || farewell.isReject
        if !endsCall, isBenCaller { continue }
        if farewell.isForCaller, !isCaller { continue }
        let ben = try await Caller(server, "ben")
        let carl = try await Caller(server, "carl")
        let (caller, callee) = isBenCaller ? (ben.phone, carl.phone) : (carl.phone, ben.phone)
        let id = try await caller.start([callee.user]).call.callId
        try await callee.rings(id)
        if isAnswered { try await callee.accept(id) }
        try await (isBens ? ben : carl).goes(farewell, from: id, dora.user)

        let free = endsCall ? [ben.phone.user, carl.phone.user] : [ben.phone.user]
        let isOver = try await eventually { try await anna.session.presence(of: free).allSatisfy { !$0.inCall } }
        #expect(isOver, "\(what)")
        let isGone = isBens && farewell.endsSession
        let again = isGone ? try await server.phone(ben.phone.user, device: "new") : ben.phone
        let next = try await anna.start([again.user]) { $0.busyPolicy = .reject }
        #expect(next.busy == [] && next.unreachable == [], "\(what)")
        try await again.rings(next.call.callId)
        try await again.accept(next.call.callId)
        try await anna.hangup(next.call.callId)
        for one in [ben, carl] { one.proxy.stop() }
      }
    }
  }

  /// Who called, whether it was answered, who goes.
  private static let turns = [true, false].flatMap { caller in
    [true, false].flatMap { answered in [true, false].map { (caller, answered, $0) } }
  }

  /// Ends that nobody makes: no answer, no media.
  private func nobodyStaysBusyWhenTimeIsUp() async throws {
    try await TestServer.calls({
      $0.calls.ringTimeout = .milliseconds(500)
      $0.calls.connectTimeout = .milliseconds(800)
    }) { server in
      let three = try await server.phones(["anna", "ben", "carl"])
      for isBenCaller in [true, false] {
        let two = isBenCaller ? [three[1], three[2]] : [three[2], three[1]]
        let silent = try await two[0].start([two[1].user]).call.callId
        #expect(try await two[0].hears(\.ended, of: silent).reason == .noAnswer)
        try await rings(three[1], calledBy: three[0])
        let still = try await two[0].start([two[1].user]).call.callId
        try await two[1].accept(still)
        for phone in two { #expect(try await phone.hears(\.ended, of: still).reason == .connectFailed) }
        try await rings(three[1], calledBy: three[0])
      }
    }
  }

  private func nobodyStaysBusyWhenMediaAreLost() async throws {
    try await TestServer.calls({ $0.calls.mediaTimeout = .milliseconds(6_500) }) { server in
      let both = try await server.talkers(["ben", "carl"], sends: true)
      let anna = try await server.phone("anna")
      let id = try await both[1].start(["ben"]).call.callId
      try await both[0].accept(id)
      _ = try await both[1].hears(\.active, of: id)
      var silence = Impairments()
      silence.isBlackout = true
      await both[1].media?.setImpairments(silence)
      #expect(try await both[0].hears(\.ended, of: id).reason == .disconnected)
      try await rings(both[0], calledBy: anna)
      await both.close()
    }
  }

  private func rings(_ ben: Phone, calledBy anna: Phone) async throws {
    let next = try await anna.start(["ben"]) { $0.busyPolicy = .reject }
    #expect(next.busy == [] && next.unreachable == [])
    _ = try await ben.hears(\.incoming, of: next.call.callId)
    try await anna.cancel(next.call.callId)
  }

  // MARK: At all times

  /// Eight users do what they like, all at once; after every round the server's busy set is that of the live legs, as the
  /// phones know them from what they were answered and heard.
  private func theBusyAreThoseWithALiveLeg(_ server: TestServer, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let users = (0..<8).map { "user\($0)" }
    var callers: [Caller] = []
    for user in users { callers.append(try await Caller(server, user, isNamed: true)) }
    let watcher = try await server.phone("watcher")
    var legs: [String: String] = [:]
    var most = (people: 0, calls: 0)
    for round in 0..<40 {
      let changes = try await everybodyDoesSomething(callers.map(\.phone), users, &random)
      for (user, change) in changes { legs[user] = change.leg(before: legs[user]) }
      for caller in callers {
        try await caller.phone.settle()
        guard let leg = legs[caller.phone.user] else { continue }
        if await !caller.phone.heard(\.ended, of: leg).isEmpty { legs[caller.phone.user] = nil }
      }
      let busy = try await watcher.session.presence(of: users).filter(\.inCall).map(\.user)
      #expect(Set(busy) == Set(legs.keys), "seed \(seed), round \(round)")
      for caller in callers {
        let current = try await caller.phone.current()
        #expect(current?.callId == legs[caller.phone.user], "\(caller.phone.user), seed \(seed), round \(round)")
        let own = current?.members.first { $0.user == caller.phone.user }?.state
        #expect(current == nil || own == .joined || own == .connecting)
      }
      most = (max(most.people, legs.count), max(most.calls, Set(legs.values).count))
      if round % 3 == 2 { try await oneDies(&callers, server, watcher, &legs, &random) }
    }
    #expect(most.people >= 4 && most.calls >= 2, "there were calls beside each other: \(most), seed \(seed)")
    for caller in callers { caller.proxy.stop() }
  }

  private func everybodyDoesSomething(
    _ phones: [Phone], _ users: [String], _ random: inout SplitMix64
  ) async throws -> [(String, LegChange)] {
    try await withThrowingTaskGroup(of: (String, LegChange).self) { tasks in
      for phone in phones {
        let seed = random.next()
        tasks.addTask { (phone.user, try await phone.doesSomething(with: users, seed: seed)) }
      }
      return try await tasks.reduce(into: []) { $0.append($1) }
    }
  }

  /// A device is killed, and its leg goes with the grace; the user comes back with the next.
  private func oneDies(
    _ callers: inout [Caller], _ server: TestServer, _ watcher: Phone, _ legs: inout [String: String],
    _ random: inout SplitMix64
  ) async throws {
    let index = Int.random(in: callers.indices, using: &random)
    let user = callers[index].phone.user
    callers[index].proxy.kill()
    #expect(try await eventually { try await watcher.session.presence(of: [user]).allSatisfy { !$0.inCall } })
    legs[user] = nil
    callers[index].proxy.stop()
    callers[index] = try await Caller(server, user, isNamed: true)
  }
}

/// How somebody goes.
private enum Farewell: CaseIterable {
  case hangsUp, rejects, cancels, endsForAll, leavesTheRoom, joinsARoom, callsAnother, saysBye, closes1000, closes1001
  case isReset, isKilled

  static let killed = [isReset, isKilled]
  static var spoken: [Farewell] { allCases.filter { !killed.contains($0) } }

  var endsSession: Bool { [.saysBye, .closes1000, .closes1001, .isReset, .isKilled].contains(self) }
  var isReject: Bool { self == .hangsUp || self == .rejects }
  var isForCaller: Bool { self == .endsForAll }
}

/// A phone on a line that can be cut or closed.
private struct Caller {
  let phone: Phone
  let proxy: CuttableProxy
  private let line = Line()
  private static let numbers = Locked(0)

  /// `isNamed`: under this very name, not one of his own.
  init(_ server: TestServer, _ user: String, isNamed: Bool = false) async throws {
    proxy = try CuttableProxy(to: server.server.port)
    let number = Self.numbers.withLock { number in
      number += 1
      return number
    }
    phone = try await Phone(
      "ws://127.0.0.1:\(proxy.port)/rtc", isNamed ? user : "\(user)\(number)", transport: line.open)
  }

  func goes(_ farewell: Farewell, from callId: String, _ other: String) async throws {
    switch farewell {
    case .hangsUp: try await phone.hangup(callId)
    // A reject of what one talks in, and a cancel of what was answered, are refused: that is what hanging up is for.
    case .rejects: if try await refused({ try await phone.reject(callId) }) != nil { try await phone.hangup(callId) }
    case .cancels: if try await refused({ try await phone.cancel(callId) }) != nil { try await phone.hangup(callId) }
    case .endsForAll: _ = try await phone.session.request(.call(.end(CallParams(callId: callId))))
    case .leavesTheRoom: _ = try await phone.session.request(.room(.leave(RoomParams(room: "call:\(callId)"))))
    case .joinsARoom: _ = try await phone.session.join(room: "the garden")
    case .callsAnother:
      let next = try await phone.start([other]) { $0.replace = true }
      try await phone.cancel(next.call.callId)
    case .saysBye: await phone.session.close()
    case .closes1000: line.close(1000)
    case .closes1001: line.close(1001)
    case .isReset: proxy.cut()
    case .isKilled: proxy.kill()
    }
  }
}

/// The connection under a session, to be closed without a word.
private final class Line: Sendable {
  private let transport = Locked<(any MessageTransport)?>(nil)

  var open: TransportFactory {
    { [transport] (url) throws(RoostError) in
      let new = try defaultTransport(url)
      transport.withLock { $0 = new }
      return new
    }
  }

  func close(_ code: UInt16) { transport.withLock { $0 }?.close(code: code, reason: "") }
}

/// What a command did to the leg of the one who gave it.
private enum LegChange {
  case none, left
  case entered(String)
  case leftCall(String)

  func leg(before: String?) -> String? {
    switch self {
    case .none: before
    case .left: nil
    case .entered(let call): call
    case .leftCall(let call): before == call ? nil : before
    }
  }
}

extension Phone {
  /// A command that makes sense about as often as not; refusals are part of it.
  fileprivate func doesSomething(with users: [String], seed: UInt64) async throws -> LegChange {
    var random = SplitMix64(seed: seed)
    let others = users.filter { $0 != user }.shuffled(using: &random)
    let callId = await log.all { $0.incoming?.call.callId }.suffix(3).randomElement(using: &random) ?? "none"
    let kind = CallKind.allCases.randomElement(using: &random) ?? .group
    let some = Array(others.prefix(kind == .oneToOne ? 1 : Int.random(in: 1...3, using: &random)))
    let replaces = Bool.random(using: &random)
    let choice = Int.random(in: 0..<12, using: &random)
    var change = LegChange.none
    _ = try await refused {
      switch choice {
      case 0...2: change = .entered(try await start(some, kind) { $0.replace = replaces }.call.callId)
      case 3...6: change = .entered(try await accept(callId).call.callId)
      case 7: try await reject(callId)
      case 8:
        try await hangup(callId)
        change = .leftCall(callId)
      case 9:
        try await hangup()
        change = .left
      case 10: change = .entered(try await join(callId).call.callId)
      default:
        if let current = try await current() { try await invite(current.callId, some) }
      }
    }
    return change
  }
}
