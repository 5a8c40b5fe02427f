// The calls of the sample of an app on a phone (Samples/Phone) at a running server, with real media.

import Basics
import Configuration
import PhoneSample
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing
import TinyHTTP

extension EndToEnd {
  @Suite struct PhoneCallTests {
    @Test func itIsCalledAnswersMutesAndIsHungUpOn() async throws {
      try await with { server, phone, engine, screen in
        try await phone.connect()
        let anna = try await Phone(talking: server.url, "anna", sends: true)
        let id = try await anna.start(["phone"]).call.callId
        #expect(await eventually { await screen.said == ["anna rings with video"] })
        _ = try await anna.hears(\.ringing, of: id)
        try await phone.answer(id)
        #expect(await eventually { await screen.said.last == "connected" })
        let media = try #require(anna.media)
        for label in ["microphone", "camera"] {
          #expect(await engine.receives("anna", label), "\(label)")
          #expect(await media.goesOnReceiving("phone", label), "\(label)")
        }
        try await phone.setMuted(id, true)
        #expect(await media.falls(silent: "phone", "microphone"))
        #expect(await media.goesOnReceiving("phone", "camera"))

        try await anna.hangup(id)
        #expect(await eventually { await screen.said.last == "ended: hangup" })
        #expect(await engine.open.isEmpty && engine.connections.count == 2)
        await anna.close()
      }
    }

    /// The app's own server takes Roost's webhook and wakes the phone; here the test does both.
    @Test func itIsWokenByAPushMessage() async throws {
      let receiver = try Receiver()
      defer { receiver.stop() }
      try await with({ $0.webhooks.push = .init(url: receiver.url, secret: "a secret of the test") }) {
        server, phone, engine, screen in
        let anna = try await Phone(talking: server.url, "anna", speaks: true)
        let id = try await anna.start(["phone"], .oneToOne, .audio).call.callId
        let push = try #require(await receiver.first { $0["type"] == "ring" })
        #expect(push["callId"] == id)
        await phone.pushed(id, from: try #require(push["from"]), isVideo: push["media"] == "video")
        #expect(await screen.said.first == "anna rings")
        try await phone.answer(id)
        #expect(await eventually { await screen.said.last == "connected" })
        #expect(await engine.receives("anna", "microphone"))
        #expect(await anna.media?.goesOnReceiving("phone", "microphone") == true)
        try await phone.end(id)
        #expect(await eventually { await screen.said.last == "ended: hangup" })
        #expect(try await anna.hears(\.ended, of: id).reason == .hangup)

        // One that comes late: it rings, as it has to, and is over at once.
        await phone.pushed(id, from: "anna", isVideo: false)
        #expect(await screen.said.suffix(2) == ["anna rings", "ended: hangup"])
        #expect(await engine.open.isEmpty)
        await anna.close()
      }
    }

    @Test func itDeclinesAndIsGivenUp() async throws {
      try await with { server, phone, engine, screen in
        try await phone.connect()
        let ben = try await server.phone("ben")
        let declined = try await ben.start(["phone"]).call.callId
        #expect(await eventually { await screen.said == ["ben rings with video"] })
        try await phone.end(declined)
        #expect(try await ben.hears(\.ended, of: declined).reason == .rejected)
        #expect(await eventually { await screen.said.last == "ended: rejected" })

        let cancelled = try await ben.start(["phone"], .oneToOne, .audio).call.callId
        #expect(await eventually { await screen.said.last == "ben rings" })
        try await ben.cancel(cancelled)
        #expect(await eventually { await screen.said.last == "ended: cancelled" })
        #expect(engine.connections.isEmpty, "no microphone was opened")
        await ben.close()
      }
    }

    @Test func itCallsAndGivesUp() async throws {
      try await with { server, phone, engine, screen in
        let ben = try await server.phone("ben")
        let id = try await phone.start("ben", .audio)
        try await ben.rings(id)
        #expect(await engine.open.count > 0)
        try await phone.end(id)
        #expect(try await ben.hears(\.stopped, of: id).reason == .cancelled)
        #expect(await eventually { await screen.said == ["ended: cancelled"] })
        #expect(await engine.open.isEmpty)
        await ben.close()
        // It may be over before there is any media.
        _ = try? await phone.start("nobody", .video)
        #expect(await eventually { await screen.said.last == "ended: unreachable" })
        #expect(await eventually { await engine.open.isEmpty })
      }
    }

    /// A certificate that is not the one in the description is never taken: such a connection is over for good.
    @Test func aCallWithoutMediaIsEnded() async throws {
      try await with(isForger: true) { server, phone, engine, screen in
        try await phone.connect()
        let anna = try await Phone(talking: server.url, "anna", speaks: true)
        let id = try await anna.start(["phone"], .oneToOne, .audio).call.callId
        #expect(await eventually { await screen.said == ["anna rings"] })
        try await phone.answer(id)
        _ = try await anna.hears(\.ended, of: id)
        #expect(await eventually { await screen.said.last?.hasPrefix("ended") == true })
        #expect(await !screen.said.contains("connected"))
        #expect(await engine.open.isEmpty)
        await anna.close()
      }
    }

    /// The sample at a server whose calls wait for media as long as it takes.
    private func with(
      isForger: Bool = false, _ change: (inout ServerConfiguration) -> Void = { _ in },
      _ body: (TestServer, PhoneCalls, SyntheticEngine, ScriptedScreen) async throws -> Void
    ) async throws {
      try await TestServer.calls(change) { server in
        let engine = SyntheticEngine("phone", Phone.driver, isForger: isForger)
        let screen = ScriptedScreen()
        let phone = PhoneCalls(server.url, HelloParams(user: "phone", deviceId: "p"), engine, screen)
        try await body(server, phone, engine, screen)
        try await phone.connect().close()
      }
    }
  }
}

/// Writes down what the system's call screen is told.
private actor ScriptedScreen: CallScreen {
  private(set) var said: [String] = []
  func ring(_ callId: String, from: String, isVideo: Bool) {
    said.append("\(from) rings\(isVideo ? " with video" : "")")
  }
  func connected(_ callId: String) { said.append("connected") }
  func ended(_ callId: String, _ reason: Reason?) { said.append("ended: \(reason?.rawValue ?? "")") }
}
