// Scenarios 18 to 20 and 50: phones that have to be woken over a webhook, and one that is down.

import Basics
import Configuration
import RoostClient
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP

extension EndToEnd.CallScenarios {
  private func withPush(
    _ change: @escaping (inout ServerConfiguration) -> Void = { _ in },
    _ body: (TestServer, Receiver) async throws -> Void
  ) async throws {
    let receiver = try Receiver()
    defer { receiver.stop() }
    try await TestServer.calls({
      $0.push(to: receiver.url)
      // One at a time, so that a message says what came before it.
      $0.webhooks.atOnce = 1
      change(&$0)
    }) { try await body($0, receiver) }
  }

  /// Returns when all that was to be pushed before now has been. The third ring from here on comes behind three messages of
  /// one call to one user, which wait for each other.
  private func everythingIsPushed(_ server: TestServer, _ receiver: Receiver) async throws {
    for number in 1...3 {
      let (caller, callee) = (try await server.phone("fence \(number)"), "nobody \(number)")
      try await caller.start([callee])
      _ = try #require(await receiver.first { $0["to"] == callee })
    }
  }

  @Test func scenario18APhoneThatIsWokenRingsForTheTimeThatIsLeft() async throws {
    try await withPush({ $0.calls.ringTimeout = .seconds(6) }) { server, receiver in
      let anna = try await server.phone("anna")
      let started = try await anna.start(["ben"]) {
        $0.push = ["title": "Anna calls"]
        $0.extra = ["ticket": "7"]
      }
      let id = started.call.callId
      #expect(started.unreachable == [], "he can be reached by push")
      let ring = try #require(await receiver.first { $0["type"] == "ring" })
      #expect(ring["callId"] == id && ring["to"] == "ben" && ring["from"] == "anna" && ring["kind"] == "one_to_one")
      let createdAt = started.call.createdAt
      let expiresAt = try #require(started.call.expiresAt)
      #expect(expiresAt - createdAt == 6_000)
      // All of it, and nothing besides.
      var body: [String: JSONValue] = [
        "type": .string("ring"), "callId": .string(id), "to": .string("ben"), "from": .string("anna"),
        "kind": .string("one_to_one"), "media": .string("video"), "inProgress": .bool(false),
        "createdAt": .integer(createdAt), "expiresAt": .integer(expiresAt),
        "push": .object(["title": .string("Anna calls")]), "extra": .object(["ticket": .string("7")]),
        "realm": .string("default"),
      ]
      #expect(ring.value == .object(body))
      let told = try await anna.hears(\.memberState, of: id) { $0.push == true }
      #expect(told.member.user == "ben" && told.member.state == .inviting)

      // He comes when a third of the time is over.
      try await Task.sleep(for: .seconds(2))
      let ben = try await server.phone("ben")
      let late = try #require(await ben.session.hello.ringing.first)
      #expect(late.callId == id && late.expiresAt == started.call.expiresAt)
      let left = try #require(late.remainingMs)
      #expect(left > 0 && left <= 4_000)
      let saidAt = await ben.session.hello.serverTime
      #expect(abs(left - (expiresAt - saidAt)) <= 2, "what is left, by the server's clock")
      #expect(late.state == .ringing)
      try await ben.ringing(id)
      let stop = try await ben.hears(\.stopped, of: id)
      #expect(stop.reason == .noAnswer && stop.code == 6003)
      let stoppedAt = await ben.log.time { $0.stopped != nil }
      expectTime(try #require(stoppedAt) - createdAt, 6_000, "for the time that was left, and no longer")
      #expect(try await ben.hears(\.missed, of: id).why == .noAnswer)
      #expect(try await anna.hears(\.ended, of: id).reason == .noAnswer)
      try await ben.settle()
      #expect(await ben.heard(\.missed).count == 1)
      #expect(await ben.heard(\.stopped).count == 1)
      #expect(try await server.phone("ben").session.hello.missed == 1)
      let records = try await ben.session.callHistory().records
      #expect(records.map(\.callId) == [id] && records.first?.result == .missed)
      // He was told by his connection: it is not pushed as well.
      try await everythingIsPushed(server, receiver)
      #expect(receiver.pushes(to: "ben") == ["ring", "cancel"])
      let cancel = try #require(receiver.all.first { $0["type"] == "cancel" && $0["to"] == "ben" })
      (body["type"], body["reason"]) = (.string("cancel"), .string("no_answer"))
      #expect(cancel.value == .object(body))
    }
  }

  @Test(arguments: [Reason.cancelled, .noAnswer])
  func scenario19AStalePushIsToldWhatHappened(_ why: Reason) async throws {
    let ringTime = TimeDelta.seconds(why == .noAnswer ? 2 : 30)
    try await withPush({ $0.calls.ringTimeout = ringTime }) { server, receiver in
      let anna = try await server.phone("anna")
      let id = try await anna.start(["ben"]).call.callId
      let push = try #require(await receiver.first { $0["type"] == "ring" })
      if why == .cancelled { try await anna.cancel(id) }
      let over = try await anna.hears(\.ended, of: id)
      // The phone wakes up now, and asks about what it was woken for.
      let ben = try await server.phone("ben")
      #expect(await ben.session.hello.ringing == [], "nothing rings")
      let call = try await ben.get(try #require(push["callId"]))
      #expect(call.callId == id && call.state == .ended && call.reason == why && call.endedAt != nil)
      #expect(call.by == (why == .cancelled ? "anna" : nil) && call.rev == over.rev)
      let refusal = try await refused { try await ben.accept(id) }
      #expect(refusal?.code == .callEnded && refusal?.data.reason == why.rawValue)
      try await ben.settle()
      #expect(await ben.heard(\.incoming).isEmpty)
    }
  }

  @Test func scenario20ACancelIsPushedOnlyWhereARingWas() async throws {
    try await withPush({ $0.calls.deliverTimeout = .seconds(3600) }) { server, receiver in
      let three = try await server.phones(["anna", "carl", "dora"])
      let (anna, carl, dora) = (three[0], three[1], three[2])
      // Ben has no device; carl's rings and says so; dora's was told, and would be pushed if it kept silent for long.
      let id = try await anna.start(["ben", "carl", "dora"], .oneToMany).call.callId
      try await carl.rings(id)
      _ = try await dora.hears(\.incoming, of: id)
      let ring = try #require(await receiver.first { $0["type"] == "ring" })
      #expect(ring["callId"] == id && ring["to"] == "ben")
      try await anna.cancel(id)
      let cancel = try #require(await receiver.first { $0["type"] == "cancel" })
      #expect(cancel["callId"] == id && cancel["to"] == "ben" && cancel["reason"] == "cancelled")
      for one in [carl, dora] { #expect(try await one.hears(\.stopped, of: id).reason == .cancelled) }

      try await everythingIsPushed(server, receiver)
      #expect(receiver.pushes(to: "ben") == ["ring", "cancel", "missed"])
      for user in ["anna", "carl", "dora"] { #expect(receiver.pushes(to: user) == []) }
      #expect(receiver.all.filter { $0["to"] == "ben" }.allSatisfy { $0["callId"] == id })
    }
    try await aCancelThatMeetsTheRingOnItsWay()
  }

  /// The caller thinks better of it while the ring is on its way to the phones, a little sooner or later each time. Whoever was woken is
  /// told that it is over, and at once; who was not is not told so.
  private func aCancelThatMeetsTheRingOnItsWay() async throws {
    try await withPush { server, receiver in
      let anna = try await server.phone("anna")
      var cancelledAt: [String: (user: String, at: ContinuousClock.Instant)] = [:]
      for round in 0..<40 {
        let user = "sleeper \(round)"
        let id = try await anna.start([user]).call.callId
        switch round % 4 {
        case 0: break
        case 1: await Task.yield()
        case 2: try await Task.sleep(for: .milliseconds(round / 4))
        default: _ = try #require(await receiver.first { $0["type"] == "ring" && $0["to"] == user })
        }
        cancelledAt[id] = (user, .now)
        try await anna.cancel(id)
        if round % 4 == 3 {
          _ = try #require(await receiver.first { $0["type"] == "cancel" && $0["callId"] == id })
          let late = ContinuousClock.now - (cancelledAt[id]?.at ?? .now)
          #expect(late < .seconds(10), "long before the ring would have been over: \(late)")
        }
      }
      try await everythingIsPushed(server, receiver)
      var woken = 0
      for (id, (user, _)) in cancelledAt {
        let told = receiver.pushes(to: user)
        #expect(told == ["ring", "cancel", "missed"] || told == ["missed"], "\(user): \(told)")
        #expect(receiver.all.filter { $0["to"] == user }.allSatisfy { $0["callId"] == id })
        if told.count == 3 { woken += 1 }
      }
      #expect(woken >= 10, "those for whose ring was waited, at least")
    }
  }

  @Test func scenario50NobodyWaitsForASlowClientOrAWebhook() async throws {
    try await nobodyWaitsForAClientThatStopsReading()
    let down = try Receiver()
    down.stop()
    try await nobodyWaitsForWebhooks(at: down.url)
    try await whatCannotBeToldIsDroppedWithAReason(at: down.url)
    // It takes connections and requests, and never answers.
    let asked = Locked(0)
    let silent = try TinyServer { _ in
      asked.withLock { $0 += 1 }
      return nil
    }
    defer { silent.stop() }
    try await nobodyWaitsForWebhooks(at: "http://127.0.0.1:\(silent.port)/hooks")
    #expect(asked.withLock { $0 } > 0)
  }

  /// What nobody takes is tried again, and given up once a further attempt would come too late; a line says why.
  private func whatCannotBeToldIsDroppedWithAReason(at url: String) async throws {
    try await TestServer.calls({
      $0.webhooks.events = ServerConfiguration.Webhooks.Endpoint(url: url, secret: "a secret of the scenarios")
      $0.webhooks.giveUpAfter = .seconds(3)
    }) { server in
      let anna = try await server.phone("anna")
      try await anna.cancel(try await anna.start(["ben"]).call.callId)
      let told = ContinuousClock.now
      #expect(await eventually { server.log.all.contains { $0.contains("webhook_dropped") } })
      let late = ContinuousClock.now - told
      #expect(late < .seconds(6), "it may wait for three seconds: \(late)")
      let dropped = server.log.all.filter { $0.contains("webhook_dropped") }
      #expect(dropped.allSatisfy { $0.contains("too late: ") && $0.contains("endpoint=events") }, "\(dropped)")
      // What waited behind it in its lane may have had one attempt, or none.
      let first = dropped.first ?? ""
      #expect(!first.contains("attempts=1 ") && !first.contains("attempts=0 "), "it was tried again: \(dropped)")
      await server.shows([#"roost_webhook_messages_total{endpoint="events",outcome="expired"}"#: 1], >=)
    }
  }

  /// Twenty calls, each with somebody to be woken, take less time than one request to the web server may.
  private func nobodyWaitsForWebhooks(at url: String) async throws {
    try await TestServer.calls({
      $0.push(to: url)
      $0.webhooks.events = $0.webhooks.push
      $0.webhooks.timeout = .seconds(60)
    }) { server in
      let both = try await server.phones(["anna", "ben"])
      let start = ContinuousClock.now
      for _ in 1...20 {
        let id = try await both[0].start(["ben", "nobody"], .oneToMany) { $0.rejectPolicy = .ignore }.call.callId
        try await both[1].rings(id)
        try await both[1].accept(id)
        try await both[0].hangup(id)
        _ = try await both[1].hears(\.ended, of: id)
      }
      #expect(ContinuousClock.now - start < .seconds(60))
      #expect(try await both[0].current() == nil)
      // What is to be told is not lost for that: it waits.
      await server.shows([#"roost_webhook_waiting{endpoint="events"}"#: 20], >=)
      for endpoint in ["push", "events"] {
        await server.shows([#"roost_webhook_messages_total{endpoint="\#(endpoint)",outcome="delivered"}"#: 0])
      }
    }
  }
}

extension Receiver {
  /// The types of what was pushed to a user, in order.
  fileprivate func pushes(to user: String) -> [String] { all.compactMap { $0["to"] == user ? $0["type"] : nil } }
}

extension ServerConfiguration {
  /// Phones are woken there.
  fileprivate mutating func push(to url: String) {
    webhooks.push = Webhooks.Endpoint(url: url, secret: "a secret of the scenarios")
  }
}
