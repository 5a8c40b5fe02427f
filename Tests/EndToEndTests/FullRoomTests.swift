// Scenario 5 of docs/scenarios.md with media: a full room, everybody receiving everybody's Opus and VP8, encoded beforehand.

import Basics
import RealMedia
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct FullRooms {
    @Test func sixteenSeeAndHearEachOtherAndTheSeventeenthIsRefused() async throws {
      try await fillRoom(seats: 16, media: .video)
    }

    @Test func thirtyTwoHearEachOtherAndTheThirtyThirdIsRefused() async throws {
      try await fillRoom(seats: 32, media: .audio)
    }

    private func fillRoom(seats: Int, media: MediaClass) async throws {
      try await TestServer.with { server in
        let driver = MediaDriver(threads: 2)
        var people: [SyntheticParticipant] = []
        for number in 0..<seats { people.append(try participant(number, media, server, driver)) }
        for one in people { try await one.join() }
        let late = try participant(seats, media, server, driver)
        let refusal = try await refused { try await late.join() }
        #expect(refusal?.code == .roomFull)
        #expect(refusal?.data.limit == seats && refusal?.data.count == seats)

        for one in people { #expect(await one.waitUntilConnected(timeout: .seconds(60))) }
        let tracks = (seats - 1) * (media == .video ? 2 : 1)
        let everybody = people
        #expect(
          await eventually(within: .seconds(120), every: .milliseconds(200)) {
            await everybody.all { streams in streams.count == tracks && streams.allSatisfy { $0.frames >= 15 } }
          })
        // A second more with everybody there.
        try await Task.sleep(for: .seconds(1))
        for (number, one) in people.enumerated() { try await check(one, number, tracks: tracks, seats: seats) }
        for one in people { await one.leave() }
        driver.stop()
      }
    }

    private func participant(
      _ number: Int, _ media: MediaClass, _ server: TestServer, _ driver: MediaDriver
    ) throws -> SyntheticParticipant {
      var plan = SyntheticConfiguration.light(server, room: "everybody", user: "user\(number)")
      plan.roomMedia = media
      // 240 × 18 and 992 × 4 packets a second: what two cores forward and check in a debug build beside other work.
      plan.audio?.packetMilliseconds = media == .video ? 120 : 240
      let voice = PayloadStamp.identity(user: plan.user, label: plan.audio?.label ?? "")
      plan.audio?.clip = try RealMedia.sound(identity: voice, bitsPerSecond: 24_000)
      if media == .audio { plan.video = [] }
      for index in plan.video.indices {
        let face = PayloadStamp.identity(user: plan.user, label: plan.video[index].label)
        plan.video[index].clips = try plan.video[index].layers.map {
          try RealMedia.pictures(identity: face, layer: $0, framesPerSecond: plan.video[index].framesPerSecond)
        }
      }
      return try SyntheticParticipant(plan, driver: driver)
    }

    private func check(_ one: SyntheticParticipant, _ number: Int, tracks: Int, seats: Int) async throws {
      let statistics = await one.statistics
      let streams = statistics.received.filter(\.isActive)
      #expect(streams.count == tracks)
      let others = Set((0..<seats).map { "user\($0)" }).subtracting(["user\(number)"])
      #expect(Set(streams.compactMap(\.user)) == others)
      for stream in streams {
        // The last packet of each frame says whose it is.
        #expect(stream.isClean && stream.packets - stream.unstamped >= stream.frames, "\(stream)")
      }
      #expect(statistics.subscribe.unopened == 0 && statistics.subscribe.unknownSSRC == 0)
      #expect(await one.problems == [])
    }
  }
}
