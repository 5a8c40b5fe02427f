// WHEP at a running server: what the draft asks of each request, and that a player is one of the room. Media is shown with browsers
// and other stacks.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import Glibc
import RoostClient
import RoostProtocol
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Whep {
    private static let sdp = ["Content-Type": "application/sdp"]
    /// A publisher of Opus and VP8.
    private static let studio = whipOffer(lines: [ffmpegAudio, vp8Video])

    private func post(
      _ server: TestServer, _ path: String, _ body: String = playerOffer, headers: [String: String] = sdp
    ) async throws -> HTTPAnswer {
      try await server.send("POST", path, body, headers: headers)
    }

    private func publish(_ server: TestServer, _ path: String = "/whip/studio?name=Studio") async throws {
      #expect(try await post(server, path, Self.studio).status == 201)
    }

    private func session(_ answer: HTTPAnswer, _ server: TestServer) throws -> String {
      try server.path(of: answer, in: "/whep-sessions/")
    }

    private func people(_ server: TestServer) async throws -> Double? {
      try await server.metrics()["roost_participants"]
    }

    @Test("P1–P6: nothing published is 409; then an offer is answered, and its sender has a seat until DELETE")
    func playsAndLeaves() async throws {
      try await TestServer.with { server in
        for path in ["/whep/studio", "/whep/studio/Studio", "/whep/studio/Studio/camera"] {
          let early = try await post(server, path)
          #expect(early.isProblem(409), "\(path): \(early.status) \(early.body)")
          #expect(early.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        }
        #expect(try await people(server) == 0)
        try await publish(server)
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "studio")
        let created = try await post(server, "/whep/studio?name=Viewer")
        #expect(created.status == 201 && created.header("Content-Type") == "application/sdp", "\(created.body)")
        #expect(created.header("ETag")?.hasPrefix("\"") == true, "a strong one")
        let lines = created.body.split(whereSeparator: \.isNewline)
        #expect(lines.count { $0 == "a=sendonly" } == 2 && !lines.contains("a=inactive"), "\(created.body)")
        #expect(lines.contains("a=group:BUNDLE 0 1") && lines.contains("a=ice-lite"))
        #expect(lines.contains { $0.hasPrefix("a=candidate:") } && lines.contains("a=setup:passive"))
        let streams = Set(lines.filter { $0.hasPrefix("a=msid:") }.compactMap { $0.split(separator: " ").first })
        #expect(streams.count == 1, "one MediaStream: \(streams)")

        let path = try session(created, server)
        #expect(path.split(separator: "/").last?.utf8.count == 32, "128 bits that nobody guesses")
        #expect(try await people(server) == 3)
        #expect(try await server.ask(path).status == 204)
        #expect(try await server.ask(path, method: "DELETE").status == 200)
        #expect(await eventually { (try? await people(server)) == 2 })
        #expect(try await server.ask(path, method: "DELETE").isProblem(404))
        await anna.session.close()
      }
    }

    @Test("P7–P13: what is no offer is refused for what it is, and leaves nobody in the room")
    func refusesWhatIsNoOffer() async throws {
      try await TestServer.with { server in
        let room = "/whep/studio"
        try await publish(server)
        #expect(try await post(server, room, headers: ["Content-Type": "text/plain"]).isProblem(415))
        #expect(try await post(server, room, headers: Self.sdp.merging(["Accept": "text/html"]) { $1 }).isProblem(406))
        #expect(try await post(server, room, "hello").isProblem(400))
        let sending = whepOffer(audio: true, video: ["VP8"], direction: "sendonly")
        #expect(try await post(server, room, sending).isProblem(400))
        #expect(try await post(server, "\(room)?name=%07").isProblem(400, "INVALID_PARAMS"))
        let codec = try await post(server, room, whepOffer(audio: false, video: ["H261"]))
        #expect(codec.isProblem(422, "NO_COMMON_CODEC"), "\(codec.status) \(codec.body)")
        // The publisher sends VP8.
        let other = try await post(server, room, whepOffer(audio: true, video: ["H264"]))
        #expect(other.isProblem(422, "NO_COMMON_CODEC"), "\(other.status) \(other.body)")
        let early = try await post(server, "\(room)/Nobody")
        #expect(early.isProblem(409), "\(early.status) \(early.body)")
        #expect(await eventually { (try? await people(server)) == 1 })
        #expect(try await post(server, room, whepOffer(audio: true, video: [])).status == 201, "sound alone")
      }
    }

    @Test("P14–P17: the core's rules hold: a full room is 503 with Retry-After, a taken name 403, an unknown room 404")
    func theRulesAreTheCores() async throws {
      try await TestServer.with({ $0.unknownRooms = .refuse }) { server in
        #expect(try await post(server, "/whep/demo").isProblem(409))
        try await publish(server, "/whip/demo?name=Studio")
        let taken = try await post(server, "/whep/demo?name=Studio")
        #expect(taken.isProblem(403), "\(taken.status) \(taken.body)")
        for _ in 0..<2 { #expect(try await post(server, "/whep/demo").status == 201) }
        let full = try await post(server, "/whep/demo")
        #expect(full.isProblem(503, "ROOM_FULL"), "\(full.status) \(full.body)")
        #expect(full.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
        #expect(try await post(server, "/whep/nowhere").isProblem(404, "ROOM_NOT_FOUND"))
      }
    }

    /// Whether a player takes a seat, the room's kind says (`players`).
    @Test(arguments: [nil, 1]) func aPlayerTakesASeatOrNone(_ players: Int?) async throws {
      try await TestServer.with({
        var kind = RoomSettings.demo
        kind.players = players
        $0.rooms["demo"] = kind
      }) { server in
        try await publish(server, "/whip/demo?name=Studio")
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "demo")
        #expect(try await post(server, "/whep/demo").status == 201)
        let ben = try await Client(server.url, "ben")
        let isSeatless = players != nil
        #expect(try await ben.refusal { try await ben.session.join(room: "demo") } == (isSeatless ? nil : 2002))
        #expect(try await post(server, "/whep/demo").isProblem(503, "ROOM_FULL"), "and players are bounded too")
        #expect(try await anna.info("demo").count == 3)
        for one in [anna, ben] { await one.session.close() }
      }
    }

    @Test("P18–P21: other methods, pages, and the extensions")
    func otherMethodsAndExtensions() async throws {
      try await TestServer.with { server in
        let room = "/whep/studio"
        try await publish(server)
        for method in ["GET", "HEAD"] {
          let answer = try await server.ask(room, method: method)
          #expect(answer.status == 200 && answer.bytes.isEmpty && answer.header("Content-Type") == "application/sdp")
        }
        let options = try await server.ask(room, method: "OPTIONS")
        #expect(options.status == 204 && options.header("Accept-Post") == "application/sdp")
        let own = "http://127.0.0.1:\(server.server.port)"
        let asking = ["Origin": own, "Access-Control-Request-Method": "POST"]
        #expect(
          try await server.ask(room, method: "OPTIONS", headers: asking).header("Access-Control-Allow-Origin") == own)
        let stranger = Self.sdp.merging(["Origin": "https://evil.example"]) { $1 }
        #expect(try await post(server, room, headers: stranger).isProblem(403))
        let created = try await post(server, room)
        let links = try #require(created.header("Link"))
        let path = try session(created, server)
        #expect(links.contains("\(path)/sse>; rel=\"urn:ietf:params:whep:ext:core:server-sent-events\""))
        #expect(links.contains("events=\"active,inactive,layers,viewercount\""))
        #expect(links.contains("\(path)/layer>; rel=\"urn:ietf:params:whep:ext:core:layer\""))
      }
    }

    @Test("P22–P26: candidates and restarts of ICE by PATCH")
    func patches() async throws {
      try await TestServer.with { server in
        try await publish(server)
        let created = try await post(server, "/whep/studio")
        let path = try session(created, server)
        func patch(_ body: String, _ tag: String?) async throws -> HTTPAnswer {
          var headers = ["Content-Type": "application/trickle-ice-sdpfrag"]
          headers["If-Match"] = tag
          return try await server.send("PATCH", path, body, headers: headers)
        }
        let own = "a=ice-ufrag:zjkk\r\na=ice-pwd:bPXJMM09aR8AiX1jdukzR6Y5\r\n"
        #expect(try await patch(own, "*").status == 204)
        #expect(try await patch(own, nil).isProblem(428))
        #expect(try await patch(own, "\"0\"").isProblem(412))
        let restarted = try await patch("a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n", "*")
        #expect(restarted.status == 200 && restarted.header("ETag") != created.header("ETag"), "\(restarted.body)")
        #expect(restarted.body.contains("a=ice-ufrag:") && restarted.body.contains("a=candidate:"))
        let name = restarted.body.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=ice-ufrag:") }
        #expect(name.map { !created.body.contains($0) } == true, "the server's own are new")
      }
    }

    @Test("P27–P33: events and layers are asked for at the session's URL, and end with it")
    func eventsAndLayers() async throws {
      try await TestServer.with { server in
        try await publish(server)
        let path = try session(try await post(server, "/whep/studio"), server)
        let json = ["Content-Type": "application/json"]
        #expect(try await server.send("POST", "\(path)/sse", "{}", headers: json).isProblem(400))
        let listening = try await server.send("POST", "\(path)/sse", #"["viewercount"]"#, headers: json)
        #expect(listening.status == 201, "\(listening.body)")
        let stream = try server.path(of: listening, in: "\(path)/sse/")
        #expect(try firstLines(server, stream, 2) == ["event: viewercount", #"data: {"viewercount":1}"#])
        #expect(try await server.ask(stream, method: "DELETE").status == 200)
        #expect(try await server.ask(stream).isProblem(404))
        for _ in 0..<4 { #expect(try await server.send("POST", "\(path)/sse", "[]", headers: json).status == 201) }
        #expect(try await server.send("POST", "\(path)/sse", "[]", headers: json).isProblem(429), "four of a session")

        #expect(try await server.send("POST", "\(path)/layer", #"{"mediaId":"1"}"#, headers: json).status == 200)
        let unknown = try await server.send("POST", "\(path)/layer", #"{"rid":"low"}"#, headers: json)
        #expect(unknown.isProblem(404), "nothing is shown yet: \(unknown.body)")
        let long = String(repeating: " ", count: 5_000)
        #expect(try await server.send("POST", "\(path)/layer", long, headers: json).status == 413)
        #expect(try await server.ask(path, method: "DELETE").status == 200)
        #expect(try await server.send("POST", "\(path)/sse", "[]", headers: json).isProblem(404))
        #expect(try await server.send("POST", "\(path)/layer", "{}", headers: json).isProblem(404))
      }
    }

    /// The first lines of a stream of events, behind the head of the answer.
    private func firstLines(_ server: TestServer, _ path: String, _ count: Int) throws -> [String] {
      let socket = try Loopback.connect(server.server.port)
      defer { close(socket) }
      var patience = timeval(tv_sec: 20, tv_usec: 0)
      setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      let head = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.server.port)\r\n\r\n".utf8)
      guard send(socket, head, head.count, Int32(MSG_NOSIGNAL)) == head.count else { return [] }
      var read: [UInt8] = []
      while true {
        let parts = String(decoding: read, as: UTF8.self).split(separator: "\r\n\r\n", maxSplits: 1)
        let lines = parts.dropFirst().joined().split(whereSeparator: \.isNewline).filter { !$0.hasPrefix(":") }
        if lines.count >= count { return lines.prefix(count).map(String.init) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let size = recv(socket, &buffer, buffer.count, 0)
        guard size > 0 else { return [] }
        read += buffer.prefix(size)
      }
    }

    @Test("P34: a player whose media never come up is put out")
    func sessionsEndWithTheirSeats() async throws {
      try await TestServer.with({ $0.calls.connectTimeout = .milliseconds(500) }) { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "studio")
        try await publish(server)
        let path = try session(try await post(server, "/whep/studio?name=silent"), server)
        #expect(await eventually { (try? await server.ask(path).status) == 404 })
        #expect(await eventually { (try? await people(server)) == 1 })
        await anna.session.close()
      }
    }
  }
}
