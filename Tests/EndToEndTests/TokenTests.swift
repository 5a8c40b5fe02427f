// Tokens at a running server: who is let in where, and what becomes of what runs when a grant is taken back.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import RoostClient
import RoostProtocol
import DoorKit
import SyntheticParticipant
import TestSupport
import Testing
import Tokens

/// How soon what is taken back has ended, and everybody knows it.
private let soon = Duration.milliseconds(200 * slowness)

private let secret = Array("an end-to-end key of 38 bytes: 7d61f0".utf8)

/// All that a token may grant.
let everyGrant = Set(Grant.known)

/// A token of a user with these grants.
func token(
  _ user: String, _ grants: Set<Grant>, room: RoomScope? = nil, name: String? = nil, id: String? = nil,
  life: Int64 = 600_000, issuedAfter seconds: Int64? = nil
) throws -> String {
  let now = Int64(Date().timeIntervalSince1970 * 1000)
  var claims = TokenClaims(user: user, name: name, room: room, grants: grants, id: id, expiresAt: now + life)
  claims.issuedAt = seconds.map { now + $0 * 1_000 }
  return try TokenSigner(id: nil, secret: secret).sign(claims)
}

extension TestServer {
  /// A server that asks for tokens.
  static func withTokens(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
  ) async throws {
    try await with(
      {
        $0.access.keys = [
          .init(kid: nil, algorithm: .hs256, source: .secret(String(decoding: secret, as: UTF8.self)))
        ]
        change(&$0)
      }, body)
  }

  /// The status of an encoder's offer.
  fileprivate func publish(in room: String, _ authorization: String?) async throws -> Int {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)/whip/\(room)")))
    request.httpMethod = "POST"
    request.allHTTPHeaderFields = ["Content-Type": "application/sdp"]
    if let authorization { request.setValue(authorization, forHTTPHeaderField: "Authorization") }
    request.httpBody = Data(ffmpegOffer.utf8)
    let (_, response) = try await URLSession.shared.data(for: request)
    return (response as? HTTPURLResponse)?.statusCode ?? 0
  }

  /// Anna, who publishes, and Ben, who only receives, in one room; both may do everything.
  func publisherAndReceiver(
    _ driver: MediaDriver
  ) async throws -> (anna: SyntheticParticipant, ben: SyntheticParticipant) {
    var plan = SyntheticConfiguration.light(self, room: "demo", user: "anna")
    plan.token = try token("anna", everyGrant)
    let anna = try SyntheticParticipant(plan, driver: driver)
    (plan.user, plan.video, plan.audio, plan.token) = ("ben", [], nil, try token("ben", everyGrant))
    let ben = try SyntheticParticipant(plan, driver: driver)
    try await anna.join()
    try await ben.join()
    return (anna, ben)
  }

  /// A session that shows a token, and does not come back when it is cut.
  func connect(_ user: String, token: String?) async throws -> RoostSession {
    var options = SessionOptions()
    options.reconnect = nil
    return try await RoostSession.connect(to: url, hello: HelloParams(user: user, token: token), options: options)
  }
}

extension EndToEnd {
  @Suite struct TokensAtTheDoor {
    @Test func onlyWhoShowsATokenIsLetIn() async throws {
      try await TestServer.withTokens { server in
        let cases: [(user: String, token: String?, reason: String?)] = [
          ("anna", nil, "token_missing"), ("anna", "a.b.c", "token_invalid"),
          ("boss", try token("anna", everyGrant), "token_user"),
          ("anna", try token("anna", everyGrant, life: -120_000), "token_expired"),
          ("anna", try token("anna", everyGrant), nil),
        ]
        for (user, token, reason) in cases {
          let error = try await refused { try await server.connect(user, token: token) }
          #expect(error?.code == (reason == nil ? nil : .authFailed) && error?.data.reason == reason)
        }
        #expect(
          server.log.all.contains {
            $0.contains("token_refused") && $0.contains("malformed") && $0.contains("127.0.0.1")
          })
        #expect(!server.log.all.contains { $0.contains("a.b.c") }, "a token is never written down")
      }
    }

    @Test func aTokenIsGoodForItsRoom() async throws {
      try await TestServer.withTokens { server in
        let scope = RoomScope("team-*")
        let anna = try await server.connect(
          "anna", token: token("anna", everyGrant, room: scope, name: "Anna of the token"))
        let error = try await refused { try await anna.join(room: "demo", displayName: "Boss") }
        #expect(error?.code == .forbidden && error?.data.reason == "room")
        let room = try await anna.join(room: "team-a", displayName: "Boss")
        #expect(await anna.snapshot(of: room.name)?.participants.map(\.displayName) == ["Anna of the token"])
        #expect(try await anna.rooms().map(\.name) == ["team-a"])
        await anna.close()
      }
    }

    @Test func encodersShowOneToo() async throws {
      try await TestServer.withTokens { server in
        let studio = try token("studio", [.join, .publishAudio, .publishVideo], room: .exactly("stage"))
        let silent = try token("silent", [.join, .publishAudio])
        let cases = [
          ("stage", nil, 401), ("stage", "Bearer \(studio.dropLast())", 401), ("demo", "Bearer \(studio)", 403),
          ("stage", "bearer \(studio)", 201), ("stage", "BEARER \(studio)", 201), ("stage", "Bearer \(silent)", 403),
        ]
        for (room, authorization, status) in cases {
          #expect(try await server.publish(in: room, authorization) == status, "\(room) \(authorization ?? "")")
        }
      }
    }

    /// Behind a proxy everybody seems to be on this machine.
    @Test func aServerThatIsOpenByItsPlaceTakesNothingFromAProxy() async throws {
      let headers = ["X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "Via": "1.1 proxy"]
      try await TestServer.with { server in
        let direct = try await server.ask("/")
        #expect(direct.status == 200)
        for (name, value) in headers {
          let answer = try await server.ask("/", headers: [name: value])
          #expect(answer.status == 403, "\(name)")
        }
        let lines = server.log.all.filter { $0.contains("proxy_refused") }
        #expect(lines.count == 1 && lines[0].contains("access: open"), "once a minute: \(lines)")
      }
      try await TestServer.with({ $0.access.isOpen = true }) { server in
        for (name, value) in headers {
          let answer = try await server.ask("/", headers: [name: value])
          #expect(answer.status == 200, "\(name)")
        }
      }
    }
  }

  @Suite struct GrantsTakenBack {
    /// Waits for what is to be so soon; how long it took.
    private func takes(_ start: ContinuousClock.Instant, _ isSo: @Sendable () async -> Bool) async -> Duration {
      let isThere = await eventually(every: .milliseconds(2)) { await isSo() }
      return isThere ? ContinuousClock.now - start : .seconds(1000)
    }

    /// The labels of a user's tracks as a session sees them.
    private func labels(_ user: String, seenBy session: RoostSession) async -> Set<String> {
      let room = await session.currentRoom
      return Set(room?.participants.first { $0.user == user }?.tracks.map(\.label) ?? [])
    }

    @Test func eachSourceEndsAtOnceForEverybody() async throws {
      try await TestServer.withTokens { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        var screen = VideoPlan.light
        (screen.label, screen.source, screen.viewIndex) = ("screen", .screen, 1)
        plan.video.append(screen)
        plan.token = try token("anna", everyGrant)
        let anna = try SyntheticParticipant(plan, driver: driver)
        var viewer = SyntheticConfiguration.light(server, room: "demo", user: "ben")
        (viewer.video, viewer.audio, viewer.token) = ([], nil, try token("ben", everyGrant))
        let ben = try SyntheticParticipant(viewer, driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await ben.waitUntilConnected())
        let watcher = try await server.connect("carl", token: token("carl", everyGrant))
        _ = try await watcher.join(room: "demo")
        let (annas, ids) = (try #require(await anna.session), await anna.trackIds)
        let heard = await Recorder(annas)
        @Sendable func packets(_ label: String) async -> UInt64 {
          await ben.statistics.received.filter { $0.trackId == ids[label] }.reduce(0) { $0 + $1.packets }
        }
        for label in ids.keys { #expect(await eventually { await packets(label) > 3 }, "\(label) comes") }

        var left = everyGrant
        var labels: Set = ["microphone", "camera", "screen"]
        for (grant, label) in [
          (Grant.publishScreen, "screen"), (.publishVideo, "camera"), (.publishAudio, "microphone"),
        ] {
          left.remove(grant)
          labels.remove(label)
          let (wanted, further) = (labels, try token("anna", left))
          let start = ContinuousClock.now
          try await annas.renew(token: further)
          let seen = await takes(start) { await self.labels("anna", seenBy: watcher) == wanted }
          let told = await takes(start) { await heard.count(\.isUnpublished) == 3 - wanted.count }
          #expect(seen < soon && told < soon, "\(label) is gone after \(seen), its publisher told after \(told)")
          try await Task.sleep(until: start + soon)
          let before = await packets(label)
          try await Task.sleep(for: .milliseconds(500))
          #expect(await packets(label) == before, "nothing of \(label) comes any more")
          for other in wanted {
            let count = await packets(other)
            #expect(await eventually { await packets(other) > count }, "\(other) goes on")
          }
        }
        await anna.leave()
        await ben.leave()
        await watcher.close()
        driver.stop()
      }
    }

    @Test func whoMayNotReceiveAnyMoreReceivesNothing() async throws {
      try await TestServer.withTokens { server in
        let driver = MediaDriver()
        let (anna, ben) = try await server.publisherAndReceiver(driver)
        let session = try #require(await ben.session)
        @Sendable func packets() async -> UInt64 {
          await ben.statistics.received.reduce(0) { $0 + $1.packets }
        }
        #expect(await eventually { await packets() > 10 })
        try await session.renew(token: token("ben", everyGrant.subtracting([.subscribe])))
        try await Task.sleep(for: soon)
        let before = await packets()
        try await Task.sleep(for: .milliseconds(500))
        #expect(await packets() == before)
        try await session.renew(token: token("ben", everyGrant))
        #expect(await eventually { await packets() > before + 10 }, "and all again when it is given back")
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    @Test func seatsCallsAndWordsEndAtOnce() async throws {
      try await TestServer.withTokens { server in
        let anna = try await server.connect("anna", token: token("anna", everyGrant))
        let ben = try await server.connect("ben", token: token("ben", everyGrant))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }

        try await anna.renew(token: token("anna", everyGrant.subtracting([.chat])))
        let mute = try await refused {
          try await anna.request(.chat(.send(ChatSendParams(room: "demo", text: "hello"))))
        }
        #expect(mute?.code == .forbidden && mute?.data.reason == "chat")

        var start = ContinuousClock.now
        try await anna.renew(token: token("anna", everyGrant.subtracting([.join])))
        let gone = await takes(start) { await ben.currentRoom?.participants.map(\.user) == ["ben"] }
        let told = await takes(start) { await anna.currentRoom == nil }
        #expect(gone < soon && told < soon, "\(gone), \(told)")

        try await anna.renew(token: token("anna", everyGrant))
        let started = try await anna.request(
          .call(.start(CallStartParams(to: ["ben"], kind: .oneToOne, media: .audio))))
        guard case .callStarted(let call) = started else {
          Issue.record("no call")
          return
        }
        _ = try await ben.request(.call(.accept(CallAcceptParams(callId: call.call.callId))))
        start = ContinuousClock.now
        try await anna.renew(token: token("anna", everyGrant.subtracting([.call])))
        let over = await takes(start) {
          let rooms = [await ben.currentRoom, await anna.currentRoom]
          return rooms.allSatisfy { $0 == nil }
        }
        #expect(over < soon, "\(over)")
        await anna.close()
        await ben.close()
      }
    }

    /// Only the time is short here: clocks may be a minute apart, so the token is one that is over for nearly so long.
    @Test func aTokenThatIsOverEndsItsSession() async throws {
      try await TestServer.withTokens { server in
        let anna = try await server.connect("anna", token: token("anna", everyGrant, life: -57_000))
        let ben = try await server.connect("ben", token: token("ben", everyGrant))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }
        let heard = await Recorder(anna)
        #expect(await eventually { await heard.all.contains(.ended(.stopped("token_expired"))) })
        #expect(await eventually { await ben.currentRoom?.participants.map(\.user) == ["ben"] })
        await ben.close()
      }
    }
  }
}

extension Event {
  fileprivate var isUnpublished: Bool { if case .trackUnpublished = self { true } else { false } }
}
