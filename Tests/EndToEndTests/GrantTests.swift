// Grants that are taken back while they are in use, each by itself: what runs ends in time, the next try is refused, and others see it.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing
import Tokens

private let soon = Duration.milliseconds(200 * slowness)

extension EndToEnd {
  @Suite struct EachGrantTakenBack {
    /// How long it took until something is so; very long where it never was.
    private func takes(_ start: ContinuousClock.Instant, _ isSo: @Sendable () async -> Bool) async -> Duration {
      let isThere = await eventually(every: .milliseconds(2)) { await isSo() }
      return isThere ? ContinuousClock.now - start : .seconds(1000)
    }

    private func come(_ user: String, to server: TestServer, _ grants: Set<Grant> = everyGrant) async throws
      -> RoostSession
    {
      try await server.connect(user, token: token(user, grants))
    }

    @Test func subscribe() async throws {
      try await TestServer.withTokens { server in
        let driver = MediaDriver()
        let (anna, viewer) = try await server.publisherAndReceiver(driver)
        let (ben, carl) = (try #require(await viewer.session), try await come("carl", to: server))
        let heard = (await Recorder(ben), await Recorder(carl))
        _ = try await carl.join(room: "demo")
        let tracks = Set(await anna.trackIds.values)
        #expect(await eventually { await Set(viewer.statistics.received.map(\.trackId)) == tracks })
        #expect(tracks.count == 2)

        let start = ContinuousClock.now
        try await ben.renew(token: token("ben", everyGrant.subtracting([.subscribe])))
        let ended = await takes(start) { await heard.0.count(\.isSubscriptionEnded) == 2 }
        #expect(ended < soon, "\(ended)")
        let track = try #require(tracks.first)
        let again = try await refused {
          try await ben.request(.subscription(.subscribe(SubscribeParams(trackId: track))))
        }
        #expect(again?.code == .forbidden && again?.data.reason == "subscribe")
        // It is nobody else's matter.
        #expect(await heard.1.count { $0.isSubscriptionEnded || $0.isLeft } == 0)
        #expect(await carl.currentRoom?.participants.count == 3)
        for one in [anna, viewer] { await one.leave() }
        await carl.close()
        driver.stop()
      }
    }

    @Test func chat() async throws {
      try await TestServer.withTokens { server in
        let (anna, ben) = (try await come("anna", to: server), try await come("ben", to: server))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }
        let heard = await Recorder(ben)
        @Sendable func say(_ text: String) async throws -> ErrorObject? {
          try await refused { try await anna.request(.chat(.send(ChatSendParams(room: "demo", text: text)))) }
        }
        #expect(try await say("before") == nil)
        let start = ContinuousClock.now
        try await anna.renew(token: token("anna", everyGrant.subtracting([.chat])))
        let refusal = try await say("after")
        let time = ContinuousClock.now - start
        #expect(refusal?.code == .forbidden && refusal?.data.reason == "chat" && time < soon, "\(time)")
        try await anna.renew(token: token("anna", everyGrant))
        #expect(try await say("again") == nil)
        #expect(await eventually { await heard.words.last == "again" })
        #expect(await heard.words == ["before", "again"])
        for one in [anna, ben] { await one.close() }
      }
    }

    /// Who still rings by it rings no more, and those who have answered stay.
    @Test func invite() async throws {
      try await TestServer.withTokens { server in
        let (anna, ben) = (try await come("anna", to: server), try await come("ben", to: server))
        let (carl, dora) = (try await come("carl", to: server), try await come("dora", to: server))
        let heard = (await Recorder(ben), await Recorder(carl), await Recorder(dora))
        let started = try await anna.request(.call(.start(CallStartParams(to: ["ben"], kind: .group, media: .audio))))
        guard case .callStarted(let result) = started else {
          Issue.record("no call")
          return
        }
        let id = result.call.callId
        _ = try await ben.request(.call(.accept(CallAcceptParams(callId: id))))
        _ = try await anna.request(.call(.invite(CallInviteParams(callId: id, users: ["carl"]))))
        #expect(await eventually { await heard.1.count(\.isIncoming) == 1 })

        let start = ContinuousClock.now
        try await anna.renew(token: token("anna", everyGrant.subtracting([.invite])))
        let stopped = await takes(start) { await heard.1.count(\.isRingingOver) > 0 }
        let seen = await takes(start) { await heard.0.count { $0.removed == "carl" } == 1 }
        #expect(stopped < soon && seen < soon, "\(stopped), \(seen)")
        let again = try await refused {
          try await anna.request(.call(.invite(CallInviteParams(callId: id, users: ["dora"]))))
        }
        #expect(again?.code == .forbidden && again?.data.reason == "invite")
        #expect(await heard.2.count(\.isIncoming) == 0)
        #expect(await ben.currentRoom?.participants.count == 2, "the call goes on")
        for one in [anna, ben, carl, dora] { await one.close() }
      }
    }

    /// In a room with one place to publish, which goes with the role.
    @Test func moderate() async throws {
      try await TestServer.withTokens({ $0.rooms["stage"] = .broadcast }) { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "stage", user: "anna")
        plan.token = try token("anna", everyGrant)
        let anna = try SyntheticParticipant(plan, driver: driver)
        try await anna.join()
        let ben = try await come("ben", to: server)
        let carl = try await come("carl", to: server, everyGrant.subtracting([.moderate]))
        for one in [ben, carl] { _ = try await one.join(room: "stage") }
        let annas = try #require(await anna.session)
        let heard = await Recorder(annas)
        @Sendable func shown(_ session: RoostSession) async -> Participant? {
          await session.currentRoom?.participants.first { $0.user == "anna" }
        }
        #expect(await eventually { await shown(carl)?.tracks.count == 2 })
        #expect(await shown(carl)?.role == .moderator)
        @Sendable func lock() async throws -> ErrorObject? {
          try await refused {
            try await annas.request(.room(.moderate(ModerateParams(room: "stage", action: .lock))))
          }
        }
        #expect(try await lock() == nil, "the control")
        #expect(await shown(annas)?.role == .moderator)

        let start = ContinuousClock.now
        try await annas.renew(token: token("anna", everyGrant.subtracting([.moderate])))
        for session in [ben, carl] {
          let time = await takes(start) {
            let anna = await shown(session)
            return anna != nil && anna?.role == nil && anna?.tracks.isEmpty == true
          }
          #expect(time < soon, "\(time)")
        }
        // Who loses it is told what is left to them, and that what they published has ended.
        let told = await takes(start) { await heard.count { $0.isUnpublished || $0.isGrants } == 3 }
        #expect(told < soon, "\(told)")
        let known = await takes(start) {
          let own = await shown(annas)
          return own != nil && own?.role == nil
        }
        #expect(known < soon, "\(known)")
        let again = try await lock()
        #expect(again?.code == .forbidden && again?.data.reason == "moderate")
        await anna.leave()
        for one in [ben, carl] { await one.close() }
        driver.stop()
      }
    }

    /// A further token that is good for another room alone.
    @Test func room() async throws {
      try await TestServer.withTokens { server in
        let (anna, ben) = (try await come("anna", to: server), try await come("ben", to: server))
        for one in [anna, ben] { _ = try await one.join(room: "demo") }
        let heard = await Recorder(ben)
        let start = ContinuousClock.now
        try await anna.renew(token: token("anna", everyGrant, room: .exactly("other")))
        let gone = await takes(start) { await ben.currentRoom?.participants.map(\.user) == ["ben"] }
        let told = await takes(start) { await anna.currentRoom == nil }
        #expect(gone < soon && told < soon, "\(gone), \(told)")
        #expect(await eventually { await heard.count(\.isLeft) == 1 })
        let again = try await refused { try await anna.join(room: "demo") }
        #expect(again?.code == .forbidden && again?.data.reason == "room")
        _ = try await anna.join(room: "other")
        for one in [anna, ben] { await one.close() }
      }
    }
  }
}

extension Recorder {
  /// What was written in the room.
  fileprivate var words: [String] {
    messages.compactMap { if case .chatMessage(let message) = $0.event { message.text } else { nil } }
  }
}

extension Event {
  fileprivate var isSubscriptionEnded: Bool { if case .subscriptionEnded = self { true } else { false } }
  fileprivate var isUnpublished: Bool { if case .trackUnpublished = self { true } else { false } }
  fileprivate var isGrants: Bool {
    if case .sessionGrants(let event) = self { !event.grants.contains(.moderate) } else { false }
  }
  fileprivate var isIncoming: Bool { if case .callIncoming = self { true } else { false } }
  fileprivate var isRingingOver: Bool {
    switch self {
    case .callStopped, .callEnded: true
    default: false
    }
  }
  /// Who is no member of the call any more.
  fileprivate var removed: String? { if case .memberRemoved(let event) = self { event.member.user } else { nil } }
}
