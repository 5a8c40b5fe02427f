// What one who is inside, with keys, can make a live server do: the others hear and see as if nothing were.

import Basics
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Storms {
    private static let rounds = 100
    private static let datagramsARound = 60

    @Test func aParticipantsStormsHarmNobodyElse() async throws {
      try await TestServer.with { server in
        let (driver, other) = (MediaDriver(), MediaDriver())
        let anna = try SyntheticParticipant(.light(server, room: "demo", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "demo", user: "ben"), driver: driver)
        let mallory = try SyntheticParticipant(.light(server, room: "demo", user: "mallory"), driver: other)
        for one in [anna, ben, mallory] { try await one.join() }
        for one in [anna, ben, mallory] { #expect(await one.waitUntilConnected()) }
        #expect(await eventually { await mallory.received("anna", "camera").frames >= 5 })
        #expect(await eventually { await ben.received("anna", "camera").frames >= 5 })

        let (before, memory, start) = (try await server.metrics(), residentBytes(), MediaDriver.now)
        let asked = await anna.statistics.publish.keyframeRequests
        for _ in 0..<Self.rounds {
          for storm in Storm.allCases {
            await mallory.send(storm, count: Self.datagramsARound)
            // Not to fill the kernel's buffer: what is lost there the server never sees.
            try await Task.sleep(for: .milliseconds(8))
          }
        }
        let sent = await mallory.statistics
        #expect(sent.subscribe.datagramsSent + sent.publish.datagramsSent > 30_000)

        for (one, other) in [(anna, "ben"), (ben, "anna"), (anna, "mallory"), (ben, "mallory")] {
          let frames = await one.received(other, "camera").frames
          #expect(await eventually { await one.received(other, "camera").frames >= frames + 5 })
        }
        let after = try await server.metrics()
        for one in [anna, ben] { await expectUntouched(one) }
        expectBounded(before, after, seconds: (MediaDriver.now - start).seconds)
        let requests = await anna.statistics.publish.keyframeRequests - asked
        #expect(Double(requests) <= 2 * (MediaDriver.now - start).seconds + 14, "twelve, and one in half a second")
        #expect(residentBytes() - memory < mostGrowth)
        for one in [anna, ben, mallory] { await one.leave() }
        driver.stop()
        other.stop()
      }
    }

    /// Each packet that was lost came again, and none was late: five hundred times as late as usual would be.
    private func expectUntouched(_ one: SyntheticParticipant) async {
      #expect(
        await eventually { await one.statistics.received.filter(\.isActive).allSatisfy { $0.missing == 0 } })
      let seen = await one.statistics
      for stream in seen.received where stream.isActive { #expect(stream.isClean, "\(stream)") }
      #expect(seen.audioLatency.percentile(0.99) < 1_000_000 && seen.videoLatency.percentile(0.99) < 1_000_000)
      #expect(await one.incidents.allSatisfy { $0.kind == .connected })
    }

    private func expectBounded(_ before: [String: Double], _ after: [String: Double], seconds: Double) {
      func grown(_ name: String) -> Double {
        func sum(_ page: [String: Double]) -> Double {
          page.filter { $0.key == name || $0.key.hasPrefix(name + "{") }.reduce(0) { $0 + $1.value }
        }
        return sum(after) - sum(before)
      }
      func dropped(_ reason: String) -> Double { grown("roost_packets_dropped_total{reason=\"\(reason)\"}") }
      let repeated = grown("roost_packets_retransmitted_total")
      let streams = 3.0 * 2 * 2
      #expect(repeated <= grown("roost_packets_forwarded_total") + 512 * streams, "a packet sent earns one repetition")
      #expect(grown("roost_nacks_received_total") <= 3 * 20_000 * (seconds + 1), "no more is looked up")
      // A tenth of what was sent is less than any kernel loses.
      let enough = Double(Self.rounds * Self.datagramsARound) / 10
      for reason in ["too_many_requests", "malformed", "bad_stun"] {
        #expect(dropped(reason) > enough, "\(reason): \(dropped(reason))")
      }
      #expect(dropped("retransmission_limit") + dropped("not_in_cache") > enough)
    }
  }
}
