// Media between participants, as it should be, with each library that encrypts it.

import Basics
import Configuration
import RoostProtocol
import SRTP
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Conversation {
    @Test(arguments: SRTPBackend.available) func twoHearAndSeeEachOther(_ backend: SRTPBackend) async throws {
      try await TestServer.with(backend) { server in
        #expect(server.log.all.contains { $0.contains(backend.described) }, "it says so: \(server.log.all)")
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await anna.waitUntilConnected())
        #expect(await ben.waitUntilConnected())
        let both = [anna, ben]
        #expect(await eventually { await both.all { $0.count == 2 && $0.allSatisfy { $0.frames >= 10 } } })
        for one in both {
          let statistics = await one.statistics
          for stream in statistics.received { #expect(stream.isClean, "\(stream)") }
          #expect(statistics.subscribe.unopened == 0)
          #expect(statistics.publish.transportFeedback > 0)
          #expect(await one.problems == [])
        }
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    /// Each worker has a port of its own, which those in its rooms are told; packets to another's would be nobody's.
    @Test func roomsOfTwoWorkersHaveMediaSideBySide() async throws {
      try await TestServer.with({ $0.media.workers = 2 }) { server in
        #expect(Set(server.server.mediaAddresses.flatMap { $0 }.map(\.port)).count == 2)
        let driver = MediaDriver()
        var people: [SyntheticParticipant] = []
        for (room, user) in [("one", "anna"), ("two", "carl"), ("one", "ben"), ("two", "dora")] {
          people.append(try SyntheticParticipant(.light(server, room: room, user: user), driver: driver))
          try await people[people.count - 1].join()
        }
        let everybody = people
        #expect(await eventually { await everybody.all { $0.count == 2 && $0.allSatisfy { $0.frames >= 10 } } })
        for worker in 0...1 {
          await server.shows(["roost_worker_producers{worker=\"\(worker)\"}": 4])
        }
        let others = await everybody[1].statistics.received.map(\.user)
        #expect(Set(others) == ["dora"])
        for one in people { await one.leave() }
        driver.stop()
      }
    }

    /// Until layers are chosen per subscriber, the highest that arrives is forwarded.
    @Test(arguments: SRTPBackend.available)
    func aSimulcastSendersHighestLayerArrives(_ backend: SRTPBackend) async throws {
      try await TestServer.with(backend) { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "anna")
        plan.video = [.simulcast]
        plan.video[0].framesPerSecond = 10
        let anna = try SyntheticParticipant(plan, driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(
          await eventually {
            let picture = await ben.received("anna", "camera")
            return picture.layer == 2 && picture.frames >= 20
          })
        let picture = await ben.received("anna", "camera")
        #expect(picture.isClean, "\(picture)")
        let sent = await anna.statistics.sent.filter { $0.kind == .video }
        #expect(sent.map(\.rid) == ["l", "m", "h"])
        #expect(sent.allSatisfy { $0.packets > 0 })
        await anna.leave()
        await ben.leave()
        driver.stop()
      }
    }

    @Test func mediaFlowsOverIPv6() async throws {
      let loopback = SocketAddress(high: 0, low: 1, port: 0)
      try await TestServer.with({ $0.media.addresses = [loopback] }) { server in
        let driver = MediaDriver()
        var people: [SyntheticParticipant] = []
        for user in ["anna", "ben"] {
          var plan = SyntheticConfiguration.light(server, room: "demo", user: user)
          plan.bindAddress = SocketAddress(high: 0, low: 0, port: 0)
          people.append(try SyntheticParticipant(plan, driver: driver))
        }
        for one in people { try await one.join() }
        let both = people
        #expect(await eventually { await both.all { $0.count == 2 && $0.allSatisfy { $0.frames >= 5 && $0.isClean } } })
        for one in people { await one.leave() }
        driver.stop()
      }
    }

    @Test(arguments: SRTPBackend.available)
    func whoLeavesIsGoneAndWhoComesLateGetsEverything(_ backend: SRTPBackend) async throws {
      try await TestServer.with(backend) { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        try await anna.join()
        try await ben.join()
        #expect(await eventually { await ben.received("anna", "camera").frames >= 5 })
        await anna.leave()
        #expect(await eventually { await ben.statistics.received.allSatisfy { !$0.isActive } })
        // The line that anna's track had carries carl's now.
        for user in ["carl", "dora"] {
          let late = try SyntheticParticipant(.light(server, room: "demo", user: user), driver: driver)
          try await late.join()
          for label in ["camera", "microphone"] {
            #expect(await eventually { await ben.received(user, label).frames >= 5 })
            #expect(await eventually { await late.received("ben", label).frames >= 5 })
            let stream = await ben.received(user, label)
            #expect(stream.isClean, "\(stream)")
          }
          await late.leave()
        }
        #expect(await ben.problems == [])
        await ben.leave()
        driver.stop()
      }
    }

    /// One who reads rarely loses only his own packets.
    @Test(arguments: SRTPBackend.available)
    func aSlowReaderIsNobodyElsesTrouble(_ backend: SRTPBackend) async throws {
      try await TestServer.with(backend) { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "demo", user: "snail")
        plan.impairments.readPause = .milliseconds(200)
        let snail = try SyntheticParticipant(plan, driver: driver)
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        for one in [snail, anna, ben] { try await one.join() }
        for (one, other) in [(anna, "ben"), (ben, "anna"), (anna, "snail"), (snail, "anna")] {
          #expect(await eventually { await one.received(other, "camera").frames >= 10 })
        }
        for (one, other) in [(anna, "ben"), (ben, "anna"), (anna, "snail")] {
          let stream = await one.received(other, "camera")
          #expect(stream.isClean, "\(stream)")
        }
        for one in [snail, anna, ben] { await one.leave() }
        driver.stop()
      }
    }
  }
}

extension [SyntheticParticipant] {
  /// Whether `condition` holds for what each of them receives.
  func all(_ condition: ([ReceiveStatistics]) -> Bool) async -> Bool {
    for one in self {
      let statistics = await one.statistics
      if !condition(statistics.received.filter(\.isActive)) { return false }
    }
    return true
  }
}
