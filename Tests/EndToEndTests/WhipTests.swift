// WHIP at a running server: what RFC 9725 asks of each request, and that a publisher is one of the room. Numbers are those of the
// report; media is shown with FFmpeg, in the browser tests.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Whip {
    private static let sdp = ["Content-Type": "application/sdp"]

    private func post(
      _ server: TestServer, _ path: String, _ body: String = ffmpegOffer, headers: [String: String] = sdp
    ) async throws -> HTTPAnswer {
      try await server.send("POST", path, body, headers: headers)
    }

    /// The path of the session that a POST has made.
    private func session(_ answer: HTTPAnswer, _ server: TestServer) throws -> String {
      try server.path(of: answer, in: "/whip/")
    }

    private func people(_ client: Client, in room: String) async throws -> [Participant] {
      guard case .room(let snapshot) = try await client.session.request(.room(.join(RoomJoinParams(room: room)))) else {
        return []
      }
      return snapshot.participants
    }

    /// Who stops on purpose keeps no place for coming back, though others are still there; the next one has another name.
    @Test func whoStopsLeavesTheirPlace() async throws {
      try await TestServer.with({ $0.rooms["stage"] = .broadcast }) { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "stage")
        for _ in 0..<2 {
          let created = try await post(server, "/whip/stage")
          #expect(created.status == 201, "\(created.body)")
          #expect(try await post(server, "/whip/stage").isProblem(403), "one at a time")
          #expect(try await server.ask(try session(created, server), method: "DELETE").status == 200)
        }
        await anna.session.close()
      }
    }

    @Test("W1–W4: an offer is answered, and its sender is a participant until DELETE")
    func publishesAndLeaves() async throws {
      try await TestServer.with { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "studio")
        let created = try await post(server, "/whip/studio?name=Camera%201")
        #expect(created.status == 201 && created.header("Content-Type") == "application/sdp", "\(created.body)")
        #expect(created.header("ETag")?.hasPrefix("\"") == true, "a strong one")
        #expect(created.body.contains("a=recvonly") && !created.body.contains("a=sendrecv"))
        #expect(created.body.contains("a=setup:active"), "FFmpeg waits for the handshake")
        #expect(created.body.contains("a=candidate:") && created.body.contains("a=end-of-candidates"))
        #expect(created.body.contains("a=group:BUNDLE 0 1") && created.body.contains("a=ice-lite"))

        let seen = try await people(anna, in: "studio")
        let camera = try #require(seen.first { $0.displayName == "Camera 1" }, "\(seen)")
        #expect(seen.count == 2 && camera.tracks.map(\.kind) == [.audio, .video])

        let path = try session(created, server)
        #expect(path.split(separator: "/").last?.utf8.count == 32, "128 bits that nobody guesses")
        #expect(try await server.ask(path).status == 204)
        #expect(try await server.ask("/whip/other/\(path.split(separator: "/").last ?? "")").status == 404)
        #expect(try await server.ask(path, method: "DELETE").status == 200)
        #expect(try await people(anna, in: "studio").count == 1, "the seat is free by the time of the answer")
        let again = try await server.ask(path, method: "DELETE")
        #expect(again.isProblem(404), "\(again.status) \(again.body)")
        await anna.session.close()
      }
    }

    @Test("W5–W11: what is no offer is refused for what it is, and leaves nobody in the room")
    func refusesWhatIsNoOffer() async throws {
      try await TestServer.with { server in
        let (anna, room) = (try await Client(server.url, "anna"), "/whip/studio")
        _ = try await anna.session.join(room: "studio")
        let type = try await post(server, room, headers: ["Content-Type": "text/plain"])
        #expect(type.isProblem(415))
        let accept = try await post(server, room, headers: Self.sdp.merging(["Accept": "text/html"]) { $1 })
        #expect(accept.isProblem(406))
        #expect((try await post(server, room, "hello")).isProblem(400))
        let name = try await post(server, "\(room)?name=%07")
        #expect(name.isProblem(400, "INVALID_PARAMS"), "\(name.status) \(name.body)")
        let codec = try await post(
          server, room, whipOffer(lines: [ffmpegAudio.replacing("opus/48000/2", with: "x/8000")]))
        #expect(codec.isProblem(422, "NO_COMMON_CODEC"), "\(codec.status) \(codec.body)")
        // Half of it could be taken.
        let half = try await post(
          server, room, whipOffer(lines: [ffmpegAudio, ffmpegVideo.replacing("H264/90000", with: "H261/90000")]))
        #expect(half.isProblem(422), "\(half.status) \(half.body)")
        for (bytes, status) in [(64 << 10, 400), (64 << 10 + 1, 413)] {
          #expect(try await post(server, room, String(repeating: "x", count: bytes)).status == status, "\(bytes)")
        }
        #expect(try await people(anna, in: "studio").count == 1)
        #expect(try await post(server, room).status == 201, "the same request in order")
        await anna.session.close()
      }
    }

    @Test("W12–W14: the core's rules hold: a full room is 503 with Retry-After, a taken name 403, an unknown room 404")
    func theRulesAreTheCores() async throws {
      try await TestServer.with({ $0.unknownRooms = .refuse }) { server in
        let people = [try await Client(server.url, "anna"), try await Client(server.url, "ben")]
        for one in people { _ = try await one.session.join(room: "demo") }
        let taken = try await post(server, "/whip/demo?name=anna")
        #expect(taken.isProblem(403), "\(taken.status) \(taken.body)")
        #expect(try await post(server, "/whip/demo").status == 201)
        let full = try await post(server, "/whip/demo")
        #expect(full.isProblem(503, "ROOM_FULL"), "\(full.status) \(full.body)")
        #expect(full.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        #expect((try await post(server, "/whip/nowhere")).isProblem(404, "ROOM_NOT_FOUND"))
        for one in people { await one.session.close() }
      }
    }

    @Test("W15–W20: other methods, and pages")
    func otherMethodsAndPages() async throws {
      let turn = ServerConfiguration.ICEServer(urls: ["turn:t.example:3478"], username: "u\"", credential: "c")
      try await TestServer.with({ $0.iceServers = [turn] }) { server in
        let room = "/whip/studio"
        for method in ["GET", "HEAD"] {
          let answer = try await server.ask(room, method: method)
          #expect(answer.status == 204 && answer.bytes.isEmpty)
        }
        for method in ["PUT", "PATCH", "DELETE"] {
          let answer = try await server.ask(room, method: method, headers: ["Content-Length": "0"])
          #expect(answer.status == 405 && answer.header("Allow")?.contains("POST") == true, "\(method)")
        }
        let link =
          #"<turn:t.example:3478>; rel="ice-server"; username="u\""; credential="c"; credential-type="password""#
        let options = try await server.ask(room, method: "OPTIONS")
        #expect(options.status == 204 && options.header("Accept-Post") == "application/sdp")
        #expect(options.header("Link") == link)
        #expect(try await post(server, room).header("Link") == link)

        let own = "http://127.0.0.1:\(server.server.port)"
        let asking = ["Origin": own, "Access-Control-Request-Method": "POST"]
        let preflight = try await server.ask(room, method: "OPTIONS", headers: asking)
        #expect(preflight.status == 204 && preflight.header("Access-Control-Allow-Origin") == own)
        #expect(preflight.header("Access-Control-Allow-Methods")?.contains("POST") == true)
        #expect(preflight.header("Link") == nil, "no secrets before a token was shown")
        let page = try await post(server, room, headers: Self.sdp.merging(["Origin": own]) { $1 })
        #expect(page.status == 201 && page.header("Access-Control-Expose-Headers")?.contains("location") == true)
        let stranger = try await post(
          server, room, headers: Self.sdp.merging(["Origin": "https://evil.example"]) { $1 })
        #expect(stranger.isProblem(403) && stranger.header("Access-Control-Allow-Origin") == nil)
      }
    }

    @Test("W23–W31: candidates and restarts of ICE by PATCH")
    func patches() async throws {
      try await TestServer.with { server in
        let created = try await post(server, "/whip/studio?name=Studio")
        let (path, first) = (try session(created, server), try #require(created.header("ETag")))
        let type = ["Content-Type": "application/trickle-ice-sdpfrag"]
        func patch(_ body: String, _ tag: String?, headers: [String: String] = type) async throws -> HTTPAnswer {
          var all = headers
          all["If-Match"] = tag
          return try await server.send("PATCH", path, body, headers: all)
        }
        let own = "a=ice-ufrag:5ffa60c9\r\na=ice-pwd:c08740dd59be51a08ed2ff4091e072c2\r\n"
        let trickle = own + "m=audio 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n"
        let restart = "a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
        #expect((try await patch(trickle, first, headers: ["Content-Type": "application/sdp"])).isProblem(415))
        #expect((try await patch(trickle, nil)).isProblem(428))
        #expect((try await patch(trickle, "\"0\"")).isProblem(412))
        #expect((try await patch("hello", first)).isProblem(400))
        for tag in [first, "*", "\"*\""] {
          let taken = try await patch(trickle, tag)
          #expect(taken.status == 204 && taken.bytes.isEmpty && taken.header("ETag") == nil, "\(tag)")
        }
        let restarted = try await patch(restart, "*")
        #expect(restarted.status == 200, "\(restarted.status) \(restarted.body)")
        #expect(restarted.header("Content-Type") == "application/trickle-ice-sdpfrag")
        let second = try #require(restarted.header("ETag"))
        #expect(second != first && second.hasPrefix("\""))
        func line(_ text: String, _ name: String) -> Substring? {
          text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) }
        }
        for name in ["a=ice-ufrag:", "a=ice-pwd:"] {
          let new = line(restarted.body, name)
          #expect(new != nil && new != line(created.body, name), "\(restarted.body)")
        }
        #expect(line(restarted.body, "a=candidate:") != nil && line(restarted.body, "a=fingerprint") == nil)
        #expect((try await patch(trickle, first)).isProblem(412), "the first ICE session is over")
        #expect(try await patch(restart, second).status == 204, "these are its credentials now")
        #expect(try await server.ask(path).status == 204, "the session goes on")
        let other = try await server.send("PATCH", "/whip/studio/0123", restart, headers: type)
        #expect(other.isProblem(404))
        let long = try await patch(String(repeating: "a=x\r\n", count: 4000), "*")
        #expect(long.status == 413)
      }
    }

    @Test(
      "W32–W34: OBS's offers: one layer, three, and AV1", arguments: [(1, "H264"), (3, "H264"), (1, "AV1"), (3, "AV1")])
    func takesOBS(layers: Int, codec: String) async throws {
      try await TestServer.with { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "studio")
        let created = try await post(server, "/whip/studio?name=OBS", obsOffer(layers: layers, codec: codec))
        #expect(created.status == 201 && !created.body.isEmpty, "\(created.status) \(created.body)")
        let lines = created.body.split(whereSeparator: \.isNewline)
        #expect(
          lines.contains { $0.hasPrefix("a=rtpmap:96 \(codec)/90000") }
            && lines.contains { $0.hasPrefix("a=rtpmap:111 opus") })
        if layers > 1 {
          // Where fewer are taken OBS does not go live.
          #expect(lines.contains("a=simulcast:recv 0;1;2"), "\(created.body)")
          for rid in 0..<3 { #expect(lines.contains("a=rid:\(rid) recv")) }
        }
        let seen = try #require(try await people(anna, in: "studio").first { $0.displayName == "OBS" })
        #expect(seen.tracks.map(\.kind) == [.audio, .video])
        #expect(try await server.ask(try session(created, server), method: "DELETE").status == 200)
        await anna.session.close()
      }
    }

    @Test("W21: who offers too often is told when to come again")
    func offersAreCounted() async throws {
      try await TestServer.with { server in
        var last = try await post(server, "/whip/studio", "hello")
        for _ in 0..<80 where last.status != 429 { last = try await post(server, "/whip/studio", "hello") }
        #expect(last.isProblem(429, "RATE_LIMITED"), "\(last.status) \(last.body)")
        #expect(last.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
      }
    }

    @Test("W35: who ends sessions too often is told when to come again, and may still offer")
    func endingsAreCounted() async throws {
      try await TestServer.with { server in
        var path = ""
        var refused: HTTPAnswer?
        // On a busy machine one more may be let through between two requests, twenty a second: then anew.
        for attempt in 0..<10 where refused?.status != 429 {
          path = try session(try await post(server, "/whip/studio?name=anna\(attempt)"), server)
          var found: [Int] = []
          for guess in 0..<800 where found.last != 429 {
            let other = "/whip/studio/\(String(repeating: "0", count: 29))\(guess + 100)"
            found.append(try await server.ask(other, method: "DELETE").status)
          }
          #expect(found.last == 429 && found.dropLast().allSatisfy { $0 == 404 }, "\(found.count)")
          #expect(attempt > 0 || found.count > 200, "\(found.count)")
          refused = try await server.ask(path, method: "DELETE")
        }
        #expect(refused?.isProblem(429, "RATE_LIMITED") == true)
        #expect(try await server.ask(path).status == 204)
        _ = try session(try await post(server, "/whip/studio?name=bert"), server)
        #expect(await eventually { (try? await server.ask(path, method: "DELETE").status) == 200 })
      }
    }

    @Test("W22: who never sends is put out, and an operator can put anybody out")
    func sessionsEndWithTheirSeats() async throws {
      try await TestServer.with({ configuration in
        configuration.calls.connectTimeout = .milliseconds(500)
        configuration.admin.token = "t"
      }) { server in
        let path = try session(try await post(server, "/whip/studio?name=silent"), server)
        #expect(await eventually { (try? await server.ask(path).status) == 404 })
        #expect(await eventually { (try? await server.metrics()["roost_participants"]) == 0 })
      }
      try await TestServer.with({ $0.admin.token = "t" }) { server in
        let path = try session(try await post(server, "/whip/studio?name=guest"), server)
        let out = try await server.ask(
          "/admin/people?room=studio&user=guest", method: "DELETE", headers: ["Authorization": "Bearer t"])
        #expect(out.status == 200)
        #expect(await eventually { (try? await server.ask(path).status) == 404 })
      }
    }
  }
}
