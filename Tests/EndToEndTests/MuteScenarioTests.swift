// Scenarios 6 and 9 of docs/scenarios.md with media: what a late joiner is told and gets, and what mute stops.

import Basics
import Foundation
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
        let annaId = try await anna.join().selfId
        let ids = await anna.trackIds
        let (sound, camera, screen) = (ids["microphone"] ?? "", ids["camera"] ?? "", ids["screen"] ?? "")
        let tracks = [
          Track(trackId: sound, kind: .audio, label: "microphone", muted: true, definitions: []),
          Track(trackId: camera, kind: .video, label: "camera", muted: false, definitions: []),
          Track(trackId: screen, kind: .video, label: "screen", muted: false, viewIndex: 1, definitions: []),
        ]

        // Ben's session has heard things before: the snapshot stands at a number of its own.
        let ben = try await Client(server.url, "ben")
        let host = try await Client(server.url, "host")
        for one in [ben, host] { _ = try await one.session.join(room: "lobby") }
        try await ben.hears(["host joined"])
        let heardBefore = await ben.session.lastSeq
        let snapshot = try await ben.enter("demo")
        #expect(snapshot.seq >= heardBefore && heardBefore > 0)
        #expect(snapshot.room == "demo" && snapshot.count == 2 && snapshot.limit == 3 && snapshot.chat == [])
        #expect(
          snapshot.participants == [
            Participant(
              participantId: annaId, user: "anna", displayName: "anna", state: .joined, metadata: .emptyObject,
              tracks: tracks),
            Participant(
              participantId: snapshot.selfId, user: "ben", displayName: "ben", state: .joined, metadata: .emptyObject,
              tracks: []),
          ])

        try await anna.setMuted("camera", true)
        try await anna.setMuted("camera", false)
        try await ben.hears(["\(camera) muted", "\(camera) unmuted"], of: "demo")
        let deltas = await ben.heard.messages.filter { $0.event.isOfRoom }.dropFirst()
        #expect(deltas.count == 2 && deltas.allSatisfy { $0.seq > snapshot.seq })
        #expect(await ben.session.snapshot(of: "demo")?.participants == snapshot.participants)
        for round in 1...50 { try await joins(ben, whileMuting: screen, of: anna, round) }
        try await joinsOnTheWire(server, whileMutingScreenOf: anna)

        // One with media gets what is not muted, and only that.
        try await anna.setMuted("screen", true)
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

    /// Joins while a track is muted or unmuted: the change is in the snapshot, or comes behind it; never both, never neither.
    private func joins(
      _ ben: Client, whileMuting screen: String, of anna: SyntheticParticipant, _ round: Int
    ) async throws {
      _ = try await ben.session.request(.room(.leave(RoomParams(room: "demo"))))
      try await ben.settle()
      let start = await ben.heard.messages.count
      let muted = !round.isMultiple(of: 2)
      async let changing: Void = anna.setMuted("screen", muted)
      let snapshot = try await ben.enter("demo")
      try await changing
      try await ben.settle()

      let shown = snapshot.participants.flatMap(\.tracks).first { $0.trackId == screen }?.muted
      let deltas = await ben.heard.messages.dropFirst(start).filter { $0.event.isOfRoom }
      #expect(deltas.allSatisfy { $0.seq > snapshot.seq }, "round \(round)")
      let change = TrackChange(
        room: "demo", participantId: snapshot.participants[0].participantId, trackId: screen)
      let missing: [Event] = shown == muted ? [] : [muted ? .trackMuted(change) : .trackUnmuted(change)]
      #expect(deltas.map(\.event) == missing, "round \(round)")
      // What he made of it is what the server would tell him now.
      let known = await ben.session.snapshot(of: "demo")?.participants
      #expect(try await ben.enter("demo").participants == known, "round \(round)")
    }

    /// The same as it goes over the wire: events are numbered without gaps, and a snapshot stands at the number of those before
    /// it, so that none of the room comes too early.
    private func joinsOnTheWire(_ server: TestServer, whileMutingScreenOf anna: SyntheticParticipant) async throws {
      let carl = try RawClient(server.url)
      try await carl.open()
      try await carl.say(#"{"id":0,"method":"session.hello","params":{"user":"carl"}}"#)
      let joins = 1...20
      for round in joins {
        async let changing: Void = anna.setMuted("screen", !round.isMultiple(of: 2))
        try await carl.say(#"{"id":\#(round),"method":"room.join","params":{"room":"demo"}}"#)
        _ = try await carl.reply(to: round)
        try await changing
        try await carl.say(#"{"id":\#(100 + round),"method":"room.leave","params":{"room":"demo"}}"#)
        _ = try await carl.reply(to: 100 + round)
      }
      carl.close(code: 1000)
      var events: [Int] = []
      var snapshots = 0
      for text in carl.all {
        let message = try JSONDecoder().decode(WireMessage.self, from: Data(text.utf8))
        if let seq = message.params?.seq { events.append(seq) }
        guard let id = message.id, joins.contains(id) else { continue }
        #expect(message.result?.seq == events.count, "join \(id)")
        snapshots += 1
      }
      #expect(snapshots == joins.count && events == Array(1...events.count))
    }

    /// The numbers in an event or in the reply to a join.
    private struct WireMessage: Decodable {
      struct Numbered: Decodable { var seq: Int? }
      var id: Int?
      var params: Numbered?
      var result: Numbered?
    }

    @Test(arguments: [true, false])
    func scenario09MuteStopsATrackAtTheServer(_ sendsWhileMuted: Bool) async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.sendsWhileMuted = sendsWhileMuted
        let anna = try SyntheticParticipant(plan, driver: driver)
        let (ben, seenByBen) = try Self.watcher("ben", server, driver)
        try await anna.join()
        try await ben.join()
        let heardByBen = await Recorder(try #require(await ben.session))
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
        let (carl, seenByCarl) = try Self.watcher("carl", server, driver)
        let snapshot = try await carl.join()
        let heardByCarl = await Recorder(try #require(await carl.session))
        let flags = snapshot.participants.first { $0.user == "anna" }?.tracks.map(\.muted)
        #expect(flags == [false, true])
        #expect(await eventually { await carl.received("anna", "microphone").packets >= 25 })
        #expect(await carl.received("anna", "camera").packets == 0)

        try await anna.setMuted("camera", false)
        #expect(await eventually { await ben.received("anna", "camera").frames >= still.frames + 5 })
        #expect(await eventually { await carl.received("anna", "camera").frames >= 5 })
        // A keyframe first: behind the pictures from before the mute, and for the late one first of all.
        #expect(seenByBen.isKeyframe(Int(still.frames)) == true)
        #expect(seenByCarl.isKeyframe(0) == true)
        for one in [ben, carl] {
          for label in ["camera", "microphone"] {
            let stream = await one.received("anna", label)
            let connection = await one.statistics.subscribe
            #expect(stream.isClean, "\(connection)")
          }
        }
        let track = try #require(await anna.trackIds["camera"])
        #expect(await eventually { await heardByCarl.story().contains("\(track) unmuted") })
        #expect(await heardByBen.story().filter { $0.hasPrefix(track) } == ["\(track) muted", "\(track) unmuted"])
        #expect(await heardByCarl.story().filter { $0.hasPrefix(track) } == ["\(track) unmuted"])
        for one in [anna, ben, carl] { await one.leave() }
        driver.stop()
      }
    }

    /// A participant, and which of the pictures that it receives were keyframes: for one who receives one track of pictures.
    private static func watcher(
      _ user: String, _ server: TestServer, _ driver: MediaDriver
    ) throws -> (SyntheticParticipant, KeyframeLog) {
      let log = KeyframeLog()
      var plan = SyntheticConfiguration.light(server, room: "demo", user: user)
      (plan.audio, plan.video) = (nil, [])
      plan.inspector = { isAudio in isAudio ? KeyframeLog() : log }
      return (try SyntheticParticipant(plan, driver: driver), log)
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

/// Which pictures of a stream of VP8 were keyframes, in order.
private final class KeyframeLog: FrameInspector, Sendable {
  private let marks = Locked<[Bool]>([])
  let findings = InspectorFindings()

  /// The lowest bit of a frame's first byte is 0 in keyframes (RFC 6386 §9.1).
  func take(_ frame: [UInt8], identity: UInt64?, isContinuous: Bool) { marks.withLock { $0.append(frame[0] & 1 == 0) } }

  /// Whether the picture with this number, from 0, was one; nil before it has come.
  func isKeyframe(_ number: Int) -> Bool? { marks.withLock { $0.indices.contains(number) ? $0[number] : nil } }
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
