// Beside scenario 4: coming back to one's seat on an open server without the resume token, with sockets and media that are real.

import Basics
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd.RoomScenarios {
  /// Two people go: one whose socket is reset while the media flow on for a while, one whose machine is gone from one moment to the next.
  @Test func scenario04WhoIsSilentIsFollowedByThemselves() async throws {
    try await TestServer.with({ $0.sessions.resumeGrace = .seconds(3600) }) { server in
      let driver = MediaDriver()
      defer { driver.stop() }
      let ways = [try CuttableProxy(to: server.server.port), try CuttableProxy(to: server.server.port)]
      defer { for way in ways { way.stop() } }
      var people: [SyntheticParticipant] = []
      var places: [String] = []
      for (user, way) in zip(["anna", "ben"], ways) {
        var plan = SyntheticConfiguration.light(server, room: "demo", user: user)
        plan.url = "ws://127.0.0.1:\(way.port)/rtc"
        let one = try SyntheticParticipant(plan, driver: driver)
        places.append(try await one.join().selfId)
        #expect(await one.waitUntilConnected())
        people.append(one)
      }
      let carl = try await Client(server.url, "carl")
      _ = try await carl.session.join(room: "demo")
      let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
      let wish = RoomJoinParams(room: "demo", takeover: true)
      // Alive: the name alone is worth nothing, and the time to wait is said.
      for one in [anna, ben] {
        let refusal = try await refused { try await one.session.join(wish) }
        #expect(refusal?.code == .forbidden && refusal?.data.retryable == true)
        #expect((1...2_000).contains(refusal?.data.retryAfterMs ?? 0))
      }

      ways[0].cut()
      ways[1].freeze()
      var darkness = Impairments()
      darkness.isBlackout = true
      await people[1].setImpairments(darkness)
      let silentFrom = ContinuousClock.now
      var backAfter: Duration?
      // Anna's media flow, as long as it takes to find out that Ben is gone.
      let isBack = try await eventually(within: .seconds(60)) {
        #expect(try await refused { try await anna.session.join(wish) }?.data.retryable == true)
        guard try await refused({ try await ben.session.join(wish) }) == nil else { return false }
        backAfter = ContinuousClock.now - silentFrom
        return true
      }
      #expect(isBack && (backAfter ?? .zero) > .milliseconds(4_900), "\(String(describing: backAfter))")
      await people[0].setImpairments(darkness)
      let darkFrom = ContinuousClock.now
      let isShe = try await eventually(within: .seconds(60)) {
        try await refused { try await anna.session.join(wish) } == nil
      }
      #expect(isShe && ContinuousClock.now - darkFrom > .milliseconds(4_900))
      // Their places, and nobody heard them leave or come.
      for (one, place) in zip([anna, ben], places) { #expect(try await one.enter("demo").selfId == place) }
      #expect(await carl.heard.count(\.isLeft) == 0)
      #expect(await carl.heard.count(\.isJoined) == 0)
      for one in people { await one.vanish() }
    }
  }
}
