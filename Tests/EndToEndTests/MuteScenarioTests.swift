// Scenarios 6 and 9 of docs/protocol.md with media: what a late joiner is told and gets, and what mute stops.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct MediaScenarios {
    @Test func scenario06ALateJoinerSeesExactlyWhatIsThere() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.audio?.startsMuted = true
        var second = VideoPlan.light
        (second.label, second.viewIndex) = ("screen", 1)
        plan.video.append(second)
        let anna = try SyntheticParticipant(plan, driver: driver)
        try await anna.join()

        let listener = try await Client(server.url, "ben")
        let room = try await listener.session.join(room: "demo")
        let joinedAt = try #require(await room.snapshot)
        let seen = try #require(joinedAt.participants.first { $0.user == "anna" })
        #expect(seen.tracks.map(\.label) == ["microphone", "camera", "screen"])
        #expect(seen.tracks.map(\.muted) == [true, false, false])
        #expect(seen.tracks.map(\.kind) == [.audio, .video, .video])
        #expect(seen.tracks.map(\.viewIndex) == [nil, nil, 1])
        try await anna.setMuted("screen", true)
        #expect(
          await eventually { await listener.heard.count { if case .trackMuted = $0 { true } else { false } } == 1 })
        let deltas = await listener.heard.messages.filter { $0.event.isOfRoom }
        #expect(deltas.allSatisfy { $0.seq > joinedAt.seq })

        // One with media gets what is not muted, and only that.
        let carl = try SyntheticParticipant(.light(server, room: "demo", user: "carl"), driver: driver)
        try await carl.join()
        #expect(await carl.waitUntilConnected())
        #expect(await eventually { await carl.received("anna", "camera").frames >= 5 })
        #expect(await carl.received("anna", "microphone").packets == 0)
        #expect(await carl.received("anna", "screen").packets == 0)
        await anna.leave()
        await carl.leave()
        driver.stop()
      }
    }

    @Test(arguments: [true, false])
    func scenario09MuteStopsATrackAtTheServer(_ sendsWhileMuted: Bool) async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.sendsWhileMuted = sendsWhileMuted
        let anna = try SyntheticParticipant(plan, driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await eventually { await ben.received("anna", "camera").frames >= 5 })

        try await anna.setMuted("camera", true)
        #expect(await ben.falls(silent: "anna", "camera"))
        let still = await ben.received("anna", "camera")
        let sound = await ben.received("anna", "microphone")
        #expect(await eventually { await ben.received("anna", "microphone").packets >= sound.packets + 50 })
        #expect(await ben.received("anna", "camera").packets == still.packets)
        if sendsWhileMuted {
          let sent = await anna.statistics.sent.first { $0.label == "camera" }
          #expect((sent?.packets ?? 0) > still.packets, "the server, not the sender, has to stop it")
        }

        // Who comes later sees the flag and gets no picture.
        let carl = try SyntheticParticipant(.light(server, room: "demo", user: "carl"), driver: driver)
        let snapshot = try await carl.join()
        let flags = snapshot.participants.first { $0.user == "anna" }?.tracks.map(\.muted)
        #expect(flags == [false, true])
        #expect(await eventually { await carl.received("anna", "microphone").packets >= 25 })
        #expect(await carl.received("anna", "camera").packets == 0)

        let keyframes = still.keyframes
        try await anna.setMuted("camera", false)
        #expect(await eventually { await ben.received("anna", "camera").frames >= still.frames + 5 })
        #expect(await eventually { await carl.received("anna", "camera").frames >= 5 })
        for one in [ben, carl] {
          // A picture that goes on without a keyframe would be an unmarked gap, or a start without one.
          for label in ["camera", "microphone"] {
            let stream = await one.received("anna", label)
            let connection = await one.statistics.subscribe
            #expect(stream.isClean, "\(connection)")
          }
        }
        #expect(await ben.received("anna", "camera").keyframes > keyframes)
        for one in [anna, ben, carl] { await one.leave() }
        driver.stop()
      }
    }

    @Test func aMutedSoundGoesOnWhereItIs() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await eventually { await ben.received("anna", "microphone").packets >= 50 })
        try await anna.setMuted("microphone", true)
        #expect(await ben.falls(silent: "anna", "microphone"))
        let before = await ben.received("anna", "microphone")
        try await anna.setMuted("microphone", false)
        #expect(await eventually { await ben.received("anna", "microphone").packets >= before.packets + 50 })
        let after = await ben.received("anna", "microphone")
        #expect(after.isClean, "\(after)")
        #expect(after.resumptions == 1)
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }
  }
}

extension SyntheticParticipant {
  /// What this participant receives of a user's track; empty counts while there is no such subscription.
  nonisolated func received(_ user: String, _ label: String) async -> ReceiveStatistics {
    let trackId = await room?.participants.first { $0.user == user }?.tracks.first { $0.label == label }?.trackId
    let found = await statistics.received.last { $0.trackId == trackId && $0.isActive }
    return found
      ?? ReceiveStatistics(subscriptionId: "", trackId: "", participantId: "", user: nil, kind: .video, ssrc: 0)
  }

  /// Whether a track's packets stop coming: none for half a second.
  nonisolated func falls(silent user: String, _ label: String) async -> Bool {
    await eventually(every: .milliseconds(10)) {
      let before = await received(user, label).packets
      try? await Task.sleep(for: .milliseconds(500))
      return await received(user, label).packets == before
    }
  }
}
