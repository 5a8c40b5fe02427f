// The sample of an app on a phone (Samples/Phone) in a room of a running server, with real media: what it sends and receives, and how
// it comes back from a lost network and a lost session.

import Basics
import Configuration
import PhoneSample
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct PhoneRooms {
    @Test func itSendsReceivesMutesLeavesAndComesBack() async throws {
      try await with { app, anna, _ in
        try await app.publishBoth()
        #expect(await app.talks(with: anna))
        let annas = try #require(await anna.room?.selfId)
        #expect(app.tracks.map(\.participantId) == [annas, annas] && Set(app.tracks.map(\.kind)) == [.audio, .video])
        for side in PeerConnection.allCases { #expect(app.states(side).last == .connected) }
        for label in ["microphone", "camera"] {
          let stream = await anna.received("phone", label)
          #expect(stream.isClean, "\(stream)")
        }

        try await app.media.setMuted(.audio, true)
        #expect(await anna.falls(silent: "phone", "microphone"))
        #expect(await eventually { await anna.mutes(of: "phone") == [true, false] })
        try await app.media.setMuted(.audio, false)
        #expect(await app.talks(with: anna))
        #expect(await eventually { await anna.mutes(of: "phone") == [false, false] })

        await app.media.leave()
        #expect(await eventually { await anna.room?.count == 1 })
        #expect(await app.engine.open.isEmpty && app.engine.connections.count == 2)
        try await app.media.join(RoomJoinParams(room: "hall"))
        try await app.publishBoth()
        #expect(await app.talks(with: anna))
        #expect(app.problems == [])
      }
    }

    /// The socket and the media's way are gone together, as where a phone goes from one network to another.
    @Test func itGoesOnInAnotherNetwork() async throws {
      let change = { (configuration: inout ServerConfiguration) in
        // The server has no word in it.
        configuration.calls.mediaTimeout = .seconds(3600)
        configuration.sessions.resumeGrace = .seconds(60)
      }
      try await with(change) { app, anna, proxy in
        try await app.publishBoth()
        #expect(await app.talks(with: anna))
        let seat = await app.media.room?.selfId
        await app.engine.loseNetwork()
        proxy.cut()
        #expect(await anna.falls(silent: "phone", "microphone"), "without a restart nothing comes")
        #expect(await app.engine.restarts == [0, 0])
        proxy.mend()
        #expect(await app.talks(with: anna))
        #expect(await app.engine.restarts.allSatisfy { $0 > 0 } && app.engine.connections.count == 2)
        for side in PeerConnection.allCases {
          #expect(app.states(side) == [.connected], "before ICE itself has noticed")
        }
        let phone = await anna.room?.participants.first { $0.user == "phone" }
        #expect(phone?.participantId == seat, "the same seat")
        #expect(app.problems == [])
      }
    }

    /// The socket stays, and the server says that it hears no media any more.
    @Test func itRestartsICEWhereTheServerHearsNothing() async throws {
      let change = { (configuration: inout ServerConfiguration) in
        configuration.calls.mediaTimeout = .milliseconds(2_500)
        configuration.sessions.resumeGrace = .seconds(60)
      }
      try await with(change) { app, anna, _ in
        try await app.publishBoth()
        #expect(await app.talks(with: anna))
        await app.engine.loseNetwork()
        #expect(await anna.falls(silent: "phone", "microphone"), "without a restart nothing comes")
        #expect(await app.talks(with: anna))
        #expect(await app.engine.restarts.allSatisfy { $0 > 0 } && app.engine.connections.count == 2)
        for side in PeerConnection.allCases {
          #expect(app.states(side) == [.connected], "before ICE itself has noticed")
        }
        #expect(app.problems == [])
      }
    }

    /// Away for longer than the server keeps a seat: what was published is published again, and who was muted stays so.
    @Test func itTakesANewSeatWhereTheOldOneIsGone() async throws {
      try await with { app, anna, proxy in
        try await app.publishBoth()
        try await app.media.setMuted(.audio, true)
        #expect(await app.talks(with: anna, sending: ["camera"]))
        let seat = await app.media.room?.selfId
        proxy.cut()
        #expect(await eventually { await anna.room?.count == 1 })
        proxy.mend()
        #expect(await eventually { await anna.mutes(of: "phone") == [true, false] })
        #expect(await app.talks(with: anna, sending: ["camera"]))
        #expect(await app.media.room?.selfId != seat)
        #expect(await app.engine.open.count == 2 && app.engine.connections.count == 4)
        try await app.media.setMuted(.audio, false)
        #expect(await app.talks(with: anna))
        #expect(app.problems == [])
      }
    }

    @Test func aRefusedPictureDoesNotHoldUpTheSound() async throws {
      try await with(media: .audio) { app, anna, _ in
        try await app.media.publish(.audio)
        let refusal = try await refused { try await app.media.publish(.video) }
        #expect(refusal?.code == .mediaNotAllowed)
        #expect(await app.talks(with: anna, ["microphone"]))
        // A restart offers again what is sent. With the refused line in it, it would be refused as well.
        for connection in app.engine.connections { await connection.tellLost() }
        #expect(await eventually { await app.engine.restarts == [1, 1] })
        #expect(await app.talks(with: anna, ["microphone"]))
        #expect(app.problems == [])
      }
    }

    @Test func theEndOfTheSessionIsTold() async throws {
      try await with { app, anna, _ in
        try await app.media.publish(.audio)
        #expect(await app.talks(with: anna, sending: ["microphone"]))
        await app.session.close()
        #expect(await eventually { app.isOver })
        #expect(await app.media.room == nil)
        #expect(await app.engine.open.isEmpty)
        #expect(try await refused { try await app.media.publish(.video) }?.code == .notJoined)
      }
    }

    // MARK: helpers

    /// Anna, whose media the load test drives, and an app, whose media the sample drives, in one room. The app's socket goes through a
    /// proxy.
    private func with(
      media: MediaClass = .video, _ change: (inout ServerConfiguration) -> Void = { _ in },
      _ body: (App, SyntheticParticipant, CuttableProxy) async throws -> Void
    ) async throws {
      try await TestServer.with(change) { server in
        let proxy = try CuttableProxy(to: server.server.port)
        defer { proxy.stop() }
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "hall", user: "anna")
        plan.roomMedia = media
        plan.video[0].framesPerSecond = 15
        if media == .audio { plan.video = [] }
        let anna = try SyntheticParticipant(plan, driver: driver)
        try await anna.join()
        let app = try await App("ws://127.0.0.1:\(proxy.port)/rtc", driver)
        try await app.media.join(RoomJoinParams(room: "hall"))
        try await body(app, anna, proxy)
        await app.media.leave()
        await app.session.close()
        await anna.leave()
        driver.stop()
      }
    }
  }
}

/// The sample with all that it has told.
private struct App {
  let session: RoostSession
  let engine: SyntheticEngine
  let media: PhoneSample.RoomMedia
  private let told: Locked<[RoomMediaEvent]>

  init(_ url: String, _ driver: MediaDriver) async throws {
    var options = SessionOptions()
    options.reconnect = ReconnectPolicy(
      firstDelay: .milliseconds(50), longestDelay: .milliseconds(200), attempts: 1_000)
    let told = Locked<[RoomMediaEvent]>([])
    let engine = SyntheticEngine("phone", driver)
    session = try await RoostSession.connect(to: url, hello: HelloParams(user: "phone"), options: options)
    media = PhoneSample.RoomMedia(session, engine) { event in told.withLock { $0.append(event) } }
    (self.engine, self.told) = (engine, told)
  }

  func publishBoth() async throws {
    for kind in [TrackKind.audio, .video] { try await media.publish(kind) }
  }

  /// Whether it gets anna's tracks and anna gets its, and both go on.
  func talks(with anna: SyntheticParticipant, _ labels: [String] = ["microphone", "camera"], sending: [String]? = nil)
    async -> Bool
  {
    for label in labels {
      guard await engine.receives("anna", label) else { return false }
    }
    for label in sending ?? labels {
      guard await anna.goesOnReceiving("phone", label) else { return false }
    }
    return true
  }

  private func all<T: Sendable>(_ pick: @Sendable (RoomMediaEvent) -> T?) -> [T] {
    told.withLock { $0.compactMap(pick) }
  }

  /// What comes, as it was told last.
  var tracks: [OfferedTrack] {
    all { event -> [OfferedTrack]? in if case .tracks(let tracks) = event { tracks } else { nil } }.last ?? []
  }

  func states(_ side: PeerConnection) -> [MediaState] {
    all { event -> MediaState? in if case .state(side, let state) = event { state } else { nil } }
  }

  var problems: [String] {
    all { event -> String? in
      switch event {
      case .problem(let error): "\(error)"
      case .failed(let failure): "\(failure)"
      case .state, .tracks, .over: nil
      }
    }
  }

  var isOver: Bool { told.withLock { $0.contains { if case .over = $0 { true } else { false } } } }
}

extension SyntheticEngine {
  /// How often each open connection has restarted ICE.
  fileprivate var restarts: [Int] {
    get async {
      var result: [Int] = []
      for connection in await open { result.append(await connection.restarts) }
      return result
    }
  }
}

extension SyntheticParticipant {
  /// Whether a user's track goes on coming.
  nonisolated func goesOnReceiving(_ user: String, _ label: String) async -> Bool {
    let before = await received(user, label).frames
    return await eventually { await received(user, label).frames >= before + 5 }
  }

  /// Which of a user's tracks are muted: microphone, then camera.
  fileprivate nonisolated func mutes(of user: String) async -> [Bool] {
    await room?.participants.first { $0.user == user }?.tracks.map(\.muted) ?? []
  }
}
