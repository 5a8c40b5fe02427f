// SDP that cannot work, at each door: the client is told why, and whoever operates the server finds a warning with the same reason.

import Configuration
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct UnusableDescriptions {
    private static let sdp = ["Content-Type": "application/sdp"]
    private static let fragment = ["Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"]
    /// A line of pictures in a codec of 1990.
    private static let oldVideo = ffmpegVideo.replacing("H264/90000", with: "H261/90000")

    /// Warnings of this name so far.
    private func warnings(_ server: TestServer, _ event: String) -> [String] {
      server.log.all.filter { $0.contains(" warning \(event) ") }
    }

    /// The reason in a problem document.
    private func detail(_ answer: HTTPAnswer) throws -> String {
      try #require(try JSONDecoder().decode(JSONValue.self, from: Data(answer.bytes))["detail"].string)
    }

    /// What a publisher's offer may lack: the status, and what the core says of it where it has seen it.
    private static let offers: [(offer: String, status: Int, word: String?)] = [
      ("hello", 400, nil),
      (ffmpegOffer.replacing("a=sendonly", with: "a=recvonly"), 400, nil),
      (whipOffer(lines: [ffmpegVideo.replacing("a=mid:1", with: "a=mid:0"), ffmpegVideo]), 422, nil),
      (whipOffer(lines: [ffmpegAudio.replacing("opus/48000/2", with: "x/8000")]), 422, "publish_refused"),
      (
        ffmpegOffer.split(separator: "\r\n").filter { !$0.hasPrefix("a=fingerprint") }.joined(separator: "\r\n")
          + "\r\n", 400, "publish_refused"
      ),
      (whipOffer(lines: [ffmpegAudio, oldVideo]), 422, "line_refused"),
      (ffmpegOffer.replacing("a=group:BUNDLE 0 1\r\n", with: ""), 422, "line_refused"),
    ]

    @Test func byWHIP() async throws {
      try await TestServer.with { server in
        for (index, one) in Self.offers.enumerated() {
          let answer = try await server.send("POST", "/whip/studio", one.offer, headers: Self.sdp)
          #expect(answer.isProblem(one.status), "\(index): \(answer.status) \(answer.body)")
          let said = warnings(server, "door_refused door=whip")
          #expect(said.count == index + 1 && said.last?.contains("status=\(one.status)") == true, "\(said)")
          let why = try detail(answer)
          #expect(why.count > 20 && said.last?.contains(why) == true, "\(why): \(said)")
          for word in ["publish_refused", "line_refused"] {
            let wanted = Self.offers[...index].count { $0.word == word }
            #expect(warnings(server, word).count == wanted, "\(index): \(word)")
          }
        }
        let half = warnings(server, "line_refused")
        #expect(half.allSatisfy { $0.contains("mid=1") && $0.contains("room=studio") }, "\(half)")
        let created = try await server.send("POST", "/whip/studio", ffmpegOffer, headers: Self.sdp)
        let path = try server.path(of: created, in: "/whip/")
        let broken = try await server.send("PATCH", path, "hello", headers: Self.fragment)
        #expect(broken.isProblem(400))
        let why = try detail(broken)
        #expect(warnings(server, "door_refused door=whip").last?.contains(why) == true)
      }
    }

    @Test func byWHEP() async throws {
      try await TestServer.with { server in
        let studio = whipOffer(lines: [ffmpegAudio, vp8Video])
        #expect(try await server.send("POST", "/whip/studio", studio, headers: Self.sdp).status == 201)
        let offers = [
          ("hello", 400), (whepOffer(audio: true, video: ["VP8"], direction: "sendonly"), 400),
          (whepOffer(audio: false, video: ["H261"]), 422), (whepOffer(audio: true, video: ["H264"]), 422),
        ]
        for (index, (offer, status)) in offers.enumerated() {
          let answer = try await server.send("POST", "/whep/studio", offer, headers: Self.sdp)
          #expect(answer.isProblem(status), "\(index): \(answer.status) \(answer.body)")
          let (why, said) = (try detail(answer), warnings(server, "door_refused door=whep"))
          #expect(said.count == index + 1 && said.last?.contains(why) == true, "\(why): \(said)")
        }
      }
    }

    @Test func byTheRoomProtocol() async throws {
      try await TestServer.with { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "studio")
        func publish(_ sdp: String, _ tracks: [AnnouncedTrack]) async throws -> Reply {
          let params = PublishOfferParams(pc: .publish, sdp: sdp, tracks: tracks)
          return try await anna.session.request(.peerConnection(.offer(params)))
        }
        let offer = try #require(try await refused { try await publish("hello", []) })
        #expect(offer.code == .negotiationFailed && offer.message.contains("SDP"))
        #expect(warnings(server, "publish_refused").map { $0.contains(offer.message) } == [true])

        let tracks = [AnnouncedTrack(mid: "0", kind: .audio), AnnouncedTrack(mid: "1", kind: .video)]
        guard case .published(let half) = try await publish(whipOffer(lines: [ffmpegAudio, Self.oldVideo]), tracks)
        else {
          Issue.record("nothing is published")
          return
        }
        let declined = try #require(half.declined?.first)
        let last = try #require(warnings(server, "line_refused").last)
        #expect(
          last.contains("mid=1") && last.contains(declined.error.message) && last.contains("user=anna"), "\(last)")

        let offered = await eventually { await anna.heard.count { if case .pcOffer = $0 { true } else { false } } > 0 }
        #expect(offered)
        let numbers = await anna.heard.messages.compactMap { message -> Int? in
          if case .pcOffer(let offer) = message.event { offer.offerId } else { nil }
        }
        let params = SubscribeAnswerParams(offerId: try #require(numbers.last), sdp: "hello")
        let answer = try #require(
          try await refused { try await anna.session.request(.peerConnection(.answer(params))) })
        #expect(answer.code == .negotiationFailed)
        #expect(warnings(server, "subscribe_refused").map { $0.contains(answer.message) } == [true])
        await anna.session.close()
      }
    }

    @Test func byFlashphonersWire() async throws {
      let port = try freePort()
      try await TestServer.with({ $0.flashphoner.port = port }) { server in
        let flora = try await FlashphonerComer("flora", port: port)
        #expect(try await flora.join("studio") == nil)
        let why = try #require(try await flora.failure(of: "hello", as: "m1"))
        #expect(why.contains("SDP"))
        #expect(warnings(server, "door_refused door=flashphoner").map { $0.contains(why) } == [true])
        // For this one their SDKs have words; operators are told which line of what.
        let codec = whipOffer(lines: [ffmpegAudio.replacing("opus/48000/2", with: "x/8000")])
        #expect(try await flora.failure(of: codec, as: "m2") == "No common codecs")
        let said = warnings(server, "publish_refused")
        #expect(said.count == 1 && said.first?.contains("NO_COMMON_CODEC") == true, "\(said)")
        await flora.close()
      }
    }

    /// The control: what is in order leaves no warning, and a full room is ordinary.
    @Test func whatIsInOrderLeavesNone() async throws {
      try await TestServer.with { server in
        var answers: [HTTPAnswer] = []
        for _ in 0..<4 {
          answers.append(try await server.send("POST", "/whip/demo", ffmpegOffer, headers: Self.sdp))
        }
        #expect(answers.prefix(3).allSatisfy { $0.status == 201 } && answers[3].isProblem(503, "ROOM_FULL"))
        #expect(server.log.all.contains { $0.contains(" info door_refused door=whip ") && $0.contains("status=503") })
        for event in ["door_refused door=whip", "publish_refused", "line_refused", "subscribe_refused"] {
          #expect(warnings(server, event).isEmpty, "\(event)")
        }
      }
    }
  }
}
