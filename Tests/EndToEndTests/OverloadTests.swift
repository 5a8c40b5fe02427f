// A worker that has no room for newcomers: who is refused, who is not, and that it ends. The bound is set so low that a few people
// reach it: a full CPU cannot be had where the tests run.

import Basics
import RoostClient
import RoostProtocol
import Server
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Overload {
    /// On one worker all are refused who would bring it more to do; of two workers the other takes them.
    @Test(arguments: [1, 2]) func newcomersAreRefusedUntilThoseInsideHaveLeft(_ workers: Int) async throws {
      try await TestServer.with({
        $0.media.workers = workers
        $0.media.fullAbove = 4
      }) { server in
        let hasRoom = workers > 1
        let driver = MediaDriver(threads: 1)
        let watcher = try await Client(server.url, "watcher")
        _ = try await watcher.session.join(room: "busy")
        let late = try await Client(server.url, "late")
        var people: [SyntheticParticipant] = []
        // They come without a sound. Joining alone is too much for a moment, and refused then.
        for number in 0..<8 {
          let isIn = try await eventually {
            let one = try quiet(server, "user\(number)", driver)
            let refusal = try await refused { try await one.join() }
            if refusal == nil { people.append(one) }
            return refusal == nil
          }
          try #require(isIn)
        }
        for one in people { #expect(await one.waitUntilConnected(timeout: .seconds(60))) }
        for one in people {
          for label in one.labels { try await one.setMuted(label, false) }
        }
        #expect(await eventually { server.log.all.contains { $0.contains("newcomers are refused") } })

        let refusal = try await refused { try await late.session.join(room: "busy") }
        #expect(refusal?.code == .overloaded && refusal?.data.retryable == true)
        let isRefused = try await late.refusal { try await late.session.join(room: "empty").leave() }
        #expect(isRefused == (hasRoom ? nil : 5002))
        let call = CallStartParams(to: ["watcher"], kind: .oneToOne, media: .audio)
        #expect(try await late.refusal { try await late.session.startCall(call) } == (hasRoom ? nil : 5002))

        // Who is inside has what he came for, on another device too.
        let token = await watcher.session.hello.resumeToken
        let phone = try await Client(server.url, "watcher", device: "phone")
        let room = try await phone.session.join(RoomJoinParams(room: "busy", takeover: true, resumeToken: token))
        _ = try await room.chat("still here")
        for one in people {
          #expect(await eventually { await one.statistics.received.count { $0.frames > 0 } == 2 * (people.count - 1) })
        }

        for one in people { await one.leave() }
        driver.stop()
        #expect(await eventually { server.log.all.contains { $0.contains("takes newcomers again") } })
        let newcomer = try await Client(server.url, "newcomer")
        #expect(try await eventually { try await refused { _ = try await newcomer.session.join(room: "busy") } == nil })
        #expect(await newcomer.session.currentRoom?.participants.map(\.user).sorted() == ["newcomer", "watcher"])
      }
    }

    /// How many workers one per CPU are, the file does not say.
    @Test func aPortThatTheLastWorkerCannotHaveIsTold() throws {
      let error = #expect(throws: StartError.self) {
        try TestServer { ($0.media.workers, $0.media.port) = (2, 65_535) }.stop()
      }
      #expect(error?.key == "media.port" && error?.message.contains("last of 2 workers") == true)
    }

    /// One who sends nothing until he is unmuted, and then so much that eight of them take a tenth of a CPU.
    private func quiet(_ server: TestServer, _ user: String, _ driver: MediaDriver) throws -> SyntheticParticipant {
      var plan = SyntheticConfiguration.light(server, room: "busy", user: user)
      plan.sendsWhileMuted = false
      plan.audio?.startsMuted = true
      plan.video[0].startsMuted = true
      plan.video[0].framesPerSecond = 30 / slowness
      plan.video[0].layers[0].packetsPerFrame = 8
      return try SyntheticParticipant(plan, driver: driver)
    }
  }
}

extension SyntheticParticipant {
  fileprivate nonisolated var labels: [String] { configuration.video.map(\.label) + [configuration.audio?.label ?? ""] }
}
