// Sentences of RFC 9725 and of draft-ietf-wish-whep-03 that the scenarios of both doors pass by; a test for each few.

import Configuration
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct WhipClauses {
    private static let sdp = ["Content-Type": "application/sdp"]
    private static let fragment = ["Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"]

    /// A publisher of Opus and VP8 in `studio`, or a player there: the answer, and the path of its session.
    private func begin(_ door: WayIn, _ server: TestServer) async throws -> (created: HTTPAnswer, path: String) {
      let studio = whipOffer(lines: [ffmpegAudio, vp8Video])
      let published = try await server.send("POST", "/whip/studio", studio, headers: Self.sdp)
      if door == .whip { return (published, try server.path(of: published, in: "/whip/")) }
      let created = try await server.send("POST", "/whep/studio", playerOffer, headers: Self.sdp)
      return (created, try server.path(of: created, in: "/whep-sessions/"))
    }

    private func lines(_ answer: HTTPAnswer) -> [Substring] { answer.body.split(whereSeparator: \.isNewline) }

    @Test("§4.1, §4.3: GET, HEAD and OPTIONS of a session, and a DELETE whose If-Match says nothing")
    func sessionsAnswer() async throws {
      for door in [WayIn.whip, .whep] {
        try await TestServer.with { server in
          let (_, path) = try await begin(door, server)
          for method in ["GET", "HEAD", "OPTIONS"] {
            let answer = try await server.ask(path, method: method)
            #expect(answer.status == 204 && answer.bytes.isEmpty, "\(method) by \(door.rawValue)")
          }
          #expect(try await server.ask(path, method: "POST", headers: ["Content-Length": "0"]).status == 405)
          #expect(try await server.ask(path, method: "DELETE", headers: ["If-Match": "\"0\""]).status == 200)
          for method in ["GET", "HEAD", "OPTIONS"] {
            #expect(try await server.ask(path, method: method).status == 404)
          }
        }
      }
    }

    @Test("§4.3: bad types and bodies of a PATCH, and candidates that the server cannot use")
    func fragments() async throws {
      for door in [WayIn.whip, .whep] {
        try await TestServer.with { server in
          let (_, path) = try await begin(door, server)
          let own =
            door == .whip
            ? "a=ice-ufrag:5ffa60c9\r\na=ice-pwd:c08740dd59be51a08ed2ff4091e072c2\r\n"
            : "a=ice-ufrag:zjkk\r\na=ice-pwd:bPXJMM09aR8AiX1jdukzR6Y5\r\n"
          let type = Self.fragment.merging(["Content-Type": "text/plain"]) { $1 }
          #expect(try await server.send("PATCH", path, own, headers: type).isProblem(415))
          #expect(try await server.send("PATCH", path, "hello", headers: Self.fragment).isProblem(400))
          for candidate in [
            "1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active", "2 1 udp 1 f0e1d2c3.local 61764 typ host",
            "3 1 udp 1 2001:db8::1 61764 typ host", "4 1 sctp 1 nowhere.invalid 1 typ x",
          ] {
            let trickle = "\(own)m=audio 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:\(candidate)\r\na=end-of-candidates\r\n"
            let answer = try await server.send("PATCH", path, trickle, headers: Self.fragment)
            #expect(answer.status == 204, "\(candidate): \(answer.status) \(answer.body)")
          }
        }
      }
    }

    /// Who restarts too often is refused; nothing else changes.
    @Test("§4.3.3: a restart that fails keeps the session and its ICE", arguments: [WayIn.whip, .whep])
    func failedRestarts(door: WayIn) async throws {
      try await TestServer.with { server in
        let (created, path) = try await begin(door, server)
        var (tag, body, refusal) = (created.header("ETag") ?? "", "", created)
        for number in 10..<70 {
          let restart = "a=ice-ufrag:try\(number)\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
          refusal = try await server.send("PATCH", path, restart, headers: Self.fragment)
          guard refusal.status == 200 else { break }
          #expect(refusal.header("ETag").map { $0 != tag } == true, "another each time")
          (tag, body) = (refusal.header("ETag") ?? "", restart)
        }
        #expect(refusal.isProblem(429, "RATE_LIMITED"), "\(refusal.status) \(refusal.body)")
        #expect(refusal.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        #expect(try await server.ask(path).status == 204)
        let headers = Self.fragment.merging(["If-Match": tag]) { $1 }
        #expect(try await server.send("PATCH", path, body, headers: headers).status == 204, "these are its credentials")
      }
    }

    @Test("§4.2, §4.4: both ends of DTLS, one port for all, and a line that might send too")
    func answers() async throws {
      try await TestServer.with { server in
        for (setup, answered) in [("passive", "active"), ("active", "passive"), ("actpass", "passive")] {
          let offer = ffmpegOffer.replacing("a=setup:passive", with: "a=setup:\(setup)")
          let created = try await server.send("POST", "/whip/\(setup)", offer, headers: Self.sdp)
          #expect(lines(created).count { $0 == "a=setup:\(answered)" } == 2, "\(created.body)")
          #expect(lines(created).count { $0 == "a=rtcp-mux" } == 2)
          // RFC 8858, section 4, forbids it in an answer.
          #expect(!lines(created).contains("a=rtcp-mux-only"))
        }
        _ = try await begin(.whip, server)
        let both = whepOffer(audio: true, video: ["VP8"], direction: "sendrecv")
        let player = try await server.send("POST", "/whep/studio", both, headers: Self.sdp)
        #expect(player.status == 201 && lines(player).count { $0 == "a=sendonly" } == 2, "\(player.body)")
        #expect(lines(player).count { $0 == "a=rtcp-mux" } == 2)
      }
    }

    @Test("§4.6: a Link for each URL, and credentials where there are some")
    func iceServers() async throws {
      let stun = ServerConfiguration.ICEServer(urls: ["stun:a.example:3478", "stun:b.example:3478"])
      let turn = ServerConfiguration.ICEServer(urls: ["turn:t.example:3478"], username: "u", credential: "c")
      try await TestServer.with({ $0.iceServers = [stun, turn] }) { server in
        let links = try #require(try await begin(.whip, server).created.header("Link"))
        #expect(links.ranges(of: "rel=\"ice-server\"").count == 3, "\(links)")
        #expect(links.ranges(of: "credential-type=\"password\"").count == 1)
        #expect(links.ranges(of: "username=").count == 1)
        for url in stun.urls + turn.urls { #expect(links.contains("<\(url)>; rel=\"ice-server\""), "\(links)") }
      }
    }

    @Test("§4.7: a token with each request but a preflight; a session is its owner's")
    func tokens() async throws {
      try await TestServer.withTokens { server in
        let grants: Set<Grant> = [.join, .publishAudio, .publishVideo]
        let own = ["Authorization": "Bearer \(try token("studio", grants))"]
        let other = ["Authorization": "Bearer \(try token("other", grants))"]
        let created = try await server.send(
          "POST", "/whip/studio", ffmpegOffer, headers: Self.sdp.merging(own) { $1 })
        let path = try server.path(of: created, in: "/whip/")
        let origin = "http://127.0.0.1:\(server.server.port)"
        for place in ["/whip/studio", path] {
          let preflight = ["Origin": origin, "Access-Control-Request-Method": "PATCH"]
          let answer = try await server.ask(place, method: "OPTIONS", headers: preflight)
          #expect(answer.status == 204 && answer.header("Access-Control-Allow-Origin") == origin)
          for method in ["OPTIONS", "GET", "HEAD"] {
            let refused = try await server.ask(place, method: method)
            #expect(refused.status == 401 && refused.header("WWW-Authenticate") == "Bearer", "\(method) \(place)")
          }
        }
        let strangers: [([String: String], Int)] = [([:], 401), (other, 403)]
        for (headers, status) in strangers {
          let patch = try await server.send(
            "PATCH", path, "a=x\r\n", headers: Self.fragment.merging(headers) { $1 })
          #expect(patch.isProblem(status))
          #expect(try await server.ask(path, method: "DELETE", headers: headers).isProblem(status))
        }
        #expect(try await server.ask(path, headers: own).status == 204, "nobody else could end it")
        #expect(try await server.ask(path, method: "DELETE", headers: own).status == 200)
      }
    }

    @Test("WHEP: streams of events end with their session")
    func eventStreams() async throws {
      try await TestServer.with { server in
        let (_, path) = try await begin(.whep, server)
        let json = ["Content-Type": "application/json"]
        let listening = try await server.send("POST", "\(path)/sse", "[]", headers: json)
        let stream = try server.path(of: listening, in: "\(path)/sse/")
        #expect(try await server.ask(stream, method: "OPTIONS").status == 204, "it is there")
        #expect(try await server.ask(path, method: "DELETE").status == 200)
        #expect(try await server.ask(stream, method: "OPTIONS").status == 404)
        #expect(try await server.ask(stream).isProblem(404))
      }
    }
  }
}
