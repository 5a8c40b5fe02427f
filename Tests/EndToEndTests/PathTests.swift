// What happens below media: addresses that change, ICE that restarts, consent that runs out, handshakes in pieces.

import Basics
import Configuration
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Paths {
    @Test func mediaGoesOnFromAnotherAddress() async throws {
      try await withPair { _, anna, ben in
        let before = await anna.statistics.publish.datagramsSent
        await anna.changeAddress()
        await ben.changeAddress()
        try await expectMoreMedia(between: anna, ben)
        #expect(await anna.statistics.publish.datagramsSent > before)
        #expect(await anna.incidents.count { $0.kind == .connected } == 2)
        #expect(await ben.incidents.allSatisfy { $0.kind == .connected })
      }
    }

    @Test(arguments: PeerRole.allCases)
    func mediaGoesOnOverAnICERestart(_ role: PeerRole) async throws {
      try await withPair { _, anna, ben in
        for _ in 0..<2 {
          for one in [anna, ben] { try await one.restartICE(role) }
          try await expectMoreMedia(between: anna, ben)
        }
        for one in [anna, ben] {
          #expect(await one.incidents.allSatisfy { $0.kind == .connected })
          #expect(await one.problems == [])
        }
      }
    }

    @Test func anICERestartFromAnotherAddressIsTheSamePerson() async throws {
      try await withPair { server, anna, ben in
        let watcher = try await Client(server.url, "watcher")
        _ = try await watcher.session.join(room: "demo")
        await anna.changeAddress()
        try await anna.restartICE(.publish)
        try await anna.restartICE(.subscribe)
        try await expectMoreMedia(between: anna, ben)
        #expect(await watcher.heard.count(\.isLeft) == 0)
        #expect(await watcher.heard.count(\.isJoined) == 0)
      }
    }

    @Test func aClientHelloMayComeInTwoDatagrams() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.misbehaviour = [.splitClientHello]
        let anna = try SyntheticParticipant(plan, driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await anna.waitUntilConnected())
        try await expectMoreMedia(between: anna, ben)
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    /// Who says `a=setup:passive` waits for the server's ClientHello, on both connections.
    @Test func aParticipantMayBeTheDTLSServer() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.dtlsRole = .server
        let anna = try SyntheticParticipant(plan, driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await anna.waitUntilConnected())
        try await expectMoreMedia(between: anna, ben)
        #expect(await anna.incidents.allSatisfy { $0.kind == .connected })
        for one in [anna, ben] {
          #expect(await one.problems == [])
          await one.leave()
        }
        driver.stop()
      }
    }

    @Test func lostConsentIsToldAndComesBack() async throws {
      try await withPair({
        $0.calls.mediaTimeout = .milliseconds(6_500)
        $0.sessions.resumeGrace = .seconds(60)
      }) { server, anna, ben in
        let watcher = try await Client(server.url, "watcher")
        _ = try await watcher.session.join(room: "demo")
        var network = Impairments()
        network.isBlackout = true
        await anna.setImpairments(network)
        #expect(await eventually(within: .seconds(60)) { await watcher.heard.count(\.isReconnecting) == 1 })
        await anna.setImpairments(Impairments())
        #expect(await eventually(within: .seconds(60)) { await watcher.heard.count(\.isReconnected) == 1 })
        #expect(await watcher.heard.count(\.isLeft) == 0)
        #expect(await watcher.heard.count(\.isReconnecting) == 1)
        // What was not sent meanwhile has no numbers: sound goes on as after a pause.
        try await expectMoreMedia(between: anna, ben, afterOutage: true)
      }
    }

    @Test func aVanishedParticipantIsGoneAfterTheGrace() async throws {
      try await withPair { server, anna, ben in
        let watcher = try await Client(server.url, "watcher")
        _ = try await watcher.session.join(room: "demo")
        await anna.vanish()
        #expect(await eventually { await watcher.heard.count(\.isReconnecting) == 1 })
        #expect(await eventually { await watcher.heard.count(\.isLeft) == 1 })
        #expect(await eventually { await ben.statistics.received.allSatisfy { !$0.isActive } })
      }
    }

    // MARK: helpers

    private func withPair(
      _ change: (inout ServerConfiguration) -> Void = { _ in },
      _ body: (TestServer, SyntheticParticipant, SyntheticParticipant) async throws -> Void
    ) async throws {
      try await TestServer.with(change) { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        try await expectMoreMedia(between: anna, ben)
        try await body(server, anna, ben)
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    /// Whether both get whole frames of the other from now on.
    private func expectMoreMedia(
      between anna: SyntheticParticipant, _ ben: SyntheticParticipant, afterOutage: Bool = false
    ) async throws {
      let ways = [(anna, "ben"), (ben, "anna")].flatMap { one, other in
        ["camera", "microphone"].map { (one: one, other: other, label: $0) }
      }
      var before: [UInt64] = []
      for way in ways { before.append(await way.one.received(way.other, way.label).frames) }
      for (way, start) in zip(ways, before) {
        #expect(
          await eventually { await way.one.received(way.other, way.label).frames >= start + 5 },
          "\(way.other)'s \(way.label)")
        let stream = await way.one.received(way.other, way.label)
        #expect(stream.wrongStream == 0 && stream.malformedFrames == 0, "\(stream)")
        #expect(stream.unmarkedGaps <= (afterOutage && stream.kind == .audio ? 1 : 0), "\(stream)")
      }
    }
  }
}
