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

        try await people.receiveEachOther(media)
        for one in people { await one.leave() }
        driver.stop()
      }
    }

    private func participant(
      _ number: Int, _ media: MediaClass, _ server: TestServer, _ driver: MediaDriver
    ) throws -> SyntheticParticipant {
      var plan = SyntheticConfiguration.light(server, room: "everybody", user: "user\(number)")
      plan.roomMedia = media
      try plan.showClips(media)
      return try SyntheticParticipant(plan, driver: driver)
    }
  }
}

extension SyntheticConfiguration {
  /// Sends Opus and, where there is video, VP8 of its own, so little that two cores forward and check it to and from 16
  /// (240 × 18 packets a second) or 32 (992 × 4) in a debug build beside other work, and a quarter of it where that is slow.
  mutating func showClips(_ media: MediaClass) throws {
    audio?.packetMilliseconds = (media == .video ? 120 : 240) * slowness
    let voice = PayloadStamp.identity(user: user, label: audio?.label ?? "")
    audio?.clip = try RealMedia.sound(identity: voice, bitsPerSecond: 24_000)
    if media == .audio { video = [] }
    for index in video.indices {
      video[index].framesPerSecond = max(1, video[index].framesPerSecond / slowness)
      let face = PayloadStamp.identity(user: user, label: video[index].label)
      video[index].clips = try video[index].layers.map {
        try RealMedia.pictures(identity: face, layer: $0, framesPerSecond: video[index].framesPerSecond)
      }
    }
  }
}

extension [SyntheticParticipant] {
  /// That every one of them receives all tracks of all others, clean and from whom it says it is, and goes on receiving.
  func receiveEachOther(_ media: MediaClass) async throws {
    for one in self { #expect(await one.waitUntilConnected(timeout: .seconds(60))) }
    let tracks = (count - 1) * (media == .video ? 2 : 1)
    let isThere = await eventually(within: .seconds(120), every: .milliseconds(200)) {
      await all { streams in streams.count == tracks && streams.allSatisfy { $0.frames >= 15 } }
    }
    #expect(isThere)
    // A second more with everybody there.
    try await Task.sleep(for: .seconds(1))
    let users = Set(map(\.configuration.user))
    for one in self { await one.checkReceived(tracks, of: users.subtracting([one.configuration.user])) }
  }
}

extension SyntheticParticipant {
  fileprivate nonisolated func checkReceived(_ tracks: Int, of others: Set<String>) async {
    let statistics = await statistics
    let streams = statistics.received.filter(\.isActive)
    #expect(streams.count == tracks)
    #expect(Set(streams.compactMap(\.user)) == others)
    for stream in streams {
      // The last packet of each frame says whose it is.
      #expect(stream.isClean && stream.packets - stream.unstamped >= stream.frames, "\(stream)")
    }
    #expect(statistics.subscribe.unopened == 0 && statistics.subscribe.unknownSSRC == 0)
    #expect(await problems == [])
  }
}
