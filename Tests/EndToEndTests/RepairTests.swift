// Lost packets: a publisher's are asked for by the server, a subscriber's are answered from the server's cache.

import Basics
import RoostProtocol
import SRTP
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Repair {
    @Test(arguments: SRTPBackend.available)
    func aLossyPublisherIsRepairedByTheServersNACKs(_ backend: SRTPBackend) async throws {
      try await converse(backend) { anna, _ in
        var network = Impairments()
        network.sendLoss = 0.05
        await anna.setImpairments(network)
      } check: { anna, ben in
        let sent = await anna.statistics
        #expect(sent.publish.nacks > 0)
        #expect(sent.sent.contains { $0.kind == .video && $0.retransmissions > 0 })
        #expect(sent.sent.allSatisfy { $0.unanswered == 0 })
        // Sound is repaired too: without an RTX stream the very same packet comes again.
        let sound = await ben.received("anna", "microphone")
        #expect(sound.isClean, "\(sound)")
        // What the server repaired arrives behind what came after it, or was asked for by ben as well.
        let picture = await ben.received("anna", "camera")
        #expect(picture.reordered + picture.repaired > 0, "\(picture)")
      }
    }

    @Test(arguments: SRTPBackend.available)
    func aLossySubscriberIsRepairedFromTheCache(_ backend: SRTPBackend) async throws {
      try await converse(backend) { _, ben in
        var network = Impairments()
        network.receiveLoss = 0.05
        await ben.setImpairments(network)
      } check: { anna, ben in
        let picture = await ben.received("anna", "camera")
        #expect(picture.nacksSent > 0)
        #expect(picture.repaired > 0)
        // One subscriber's losses are not the publisher's business.
        #expect(await anna.statistics.publish.nacks == 0)
      }
    }

    /// Anna sends to ben over a bad network until it has been bad for long enough; then it heals, and nothing may be missing.
    private func converse(
      _ backend: SRTPBackend,
      spoil: (SyntheticParticipant, SyntheticParticipant) async -> Void,
      check: (SyntheticParticipant, SyntheticParticipant) async throws -> Void
    ) async throws {
      try await TestServer.with(backend) { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.video[0].framesPerSecond = 20
        plan.video[0].layers[0].packetsPerFrame = 4
        let anna = try SyntheticParticipant(plan, driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await eventually { await ben.received("anna", "camera").frames >= 10 })
        await spoil(anna, ben)
        let start = await ben.received("anna", "camera").frames
        #expect(await eventually(within: .seconds(60)) { await ben.received("anna", "camera").frames >= start + 80 })
        for one in [anna, ben] { await one.setImpairments(Impairments()) }
        let healed = await ben.received("anna", "camera").frames
        #expect(
          await eventually {
            let now = await ben.received("anna", "camera")
            return now.frames >= healed + 20 && now.missing == 0
          })
        let picture = await ben.received("anna", "camera")
        #expect(picture.isClean, "\(picture)")
        try await check(anna, ben)
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    @Test func aKeyframeIsSentWhenOneIsAskedFor() async throws {
      try await TestServer.with { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        try await anna.join()
        #expect(await anna.waitUntilConnected())
        // More pictures behind the first keyframe than a newcomer is sent from the cache.
        #expect(await eventually { (await anna.statistics.sent.last?.frames ?? 0) >= 60 })
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await ben.join()
        #expect(await eventually { await ben.received("anna", "camera").frames >= 5 })
        let picture = await ben.received("anna", "camera")
        #expect(!picture.startedWithoutKeyframe && picture.keyframes >= 1)
        #expect(await anna.statistics.publish.keyframeRequests >= 1)
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }
  }
}
