// An operator at a running server: over HTTP, with the token and without.

import Basics
import Foundation
import Glibc
import RoostClient
import RoostProtocol
import Server
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct Operators {
    private static let token = "a long random text"

    private func ask(
      _ server: TestServer, _ method: String, _ path: String, token: String? = token
    ) async throws -> HTTPAnswer {
      try await server.ask(
        "/admin/\(path)", method: method, headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:])
    }

    @Test func anOperatorClosesLocksRemovesAndEnds() async throws {
      try await TestServer.calls({ $0.admin.token = Self.token }) { server in
        let (anna, ben) = (try await server.phone("anna"), try await server.phone("ben"))
        let name = "A & B, 50 %"
        let query = "A%20%26%20B%2C%2050%20%25"
        for one in [anna, ben] { _ = try await one.session.join(room: name) }
        let seen = try await ask(server, "GET", "rooms")
        #expect(seen.status == 200 && seen.body.contains(name) && seen.body.contains(#""user":"ben""#))
        #expect(seen.body.contains(#""door":"native""#))

        // Ben is put out, and does not come back in.
        #expect(try await ask(server, "PUT", "locks?room=\(query)").body == "{\"locked\":true}\n")
        #expect(try await ask(server, "DELETE", "people?room=\(query)&user=ben").body == "{\"removed\":1}\n")
        #expect(try await ben.hears(\.closedRoom).reason == .removed)
        #expect(try await anna.hears(\.leftRoom).reason == .removed)
        let again = try await refused { try await ben.session.join(room: name) }
        #expect(again?.code == .roomLocked)
        #expect(try await ask(server, "DELETE", "rooms?room=\(query)").body == "{\"removed\":1}\n")
        #expect(try await anna.hears(\.closedRoom).reason == .closed)
        let late = try await refused {
          try await anna.session.request(.chat(.send(ChatSendParams(room: name, text: "?"))))
        }
        #expect(late?.code == .roomClosed)
        #expect(try await ask(server, "DELETE", "rooms?room=\(query)").status == 404, "it has vanished")

        // A call is ended; another loses one of its two.
        let call = try await anna.start(["ben"]).call.callId
        #expect(try await ask(server, "DELETE", "calls?call=\(call)").status == 200)
        #expect(try await anna.hears(\.ended, of: call).reason == .stopped)
        #expect(try await ask(server, "DELETE", "calls?call=\(call)").status == 404)
        let next = try await anna.start(["ben"]).call.callId
        try await ben.rings(next)
        try await ben.accept(next)
        #expect(try await ask(server, "DELETE", "people?call=\(next)&user=ben").status == 200)
        for one in [anna, ben] { #expect(try await one.hears(\.ended, of: next).code == 6011) }
        await [anna, ben].close()
      }
    }

    /// Where they have a port of their own there is nothing of them at the public one, whoever asks.
    @Test func operatorsHaveAPortOfTheirOwn() async throws {
      let port = try freePort()
      try await TestServer.with({ ($0.admin.token, $0.admin.port) = (Self.token, port) }) { server in
        #expect(server.server.adminPort == port)
        let own = "http://127.0.0.1:\(port)"
        for (method, path) in [
          ("GET", "/metrics"), ("GET", "/admin/rooms"), ("DELETE", "/admin/rooms?room=demo"),
          ("PUT", "/admin/locks?room=demo"), ("GET", "/admin/bans?room=demo"), ("GET", "/admin"),
        ] {
          let bearer = ["Authorization": "Bearer \(Self.token)"]
          let there = try await server.ask(path, method: method, headers: bearer)
          #expect(there.status == 404 && !there.body.contains("roost_"), "\(method) \(path)")
          guard path != "/admin" else { continue }
          let here = try await server.ask(path, method: method, headers: bearer, at: own)
          #expect(here.status == 200, "\(method) \(path): \(here.status)")
        }
        for path in ["/healthz", "/readyz"] {
          for base in [own, nil] { #expect(try await server.ask(path, at: base).status == 200, "\(path)") }
        }
        // Neither page nor WebSocket nor encoder is there, and the token is asked for.
        #expect(try await server.ask("/", at: own).status == 404)
        #expect(try await server.ask("/whip/stage", method: "POST", at: own).status == 405)
        #expect(try await server.ask("/admin/rooms", at: own).status == 401)
        await #expect(throws: RoostError.self) { try await Client("ws://127.0.0.1:\(port)/rtc", "anna") }
        let anna = try await Client(server.url, "anna")
        await anna.session.close()
      }
      // A port that is taken is said by its key.
      let (listener, taken) = try Loopback.listen()
      defer { Glibc.close(listener) }
      let error = #expect(throws: StartError.self) { try TestServer { $0.admin.port = taken } }
      #expect(error?.key == "admin.port")
    }

    /// An operator's browser may show an answer: it is JSON and says so, whatever people and rooms are called.
    @Test func hostileNamesAreTextInJSON() async throws {
      let evil = "<script>alert(\"1\")</script>'"
      try await TestServer.with({ $0.admin.token = Self.token }) { server in
        let anna = try await Client(server.url, evil, name: evil)
        _ = try await anna.session.join(room: evil)
        _ = try await anna.session.request(.block(.add(BlockParams(user: evil + "b"))))
        let room = "room=%3Cscript%3Ealert%28%221%22%29%3C%2Fscript%3E%27"
        let asked = [
          ("GET", "rooms", 200), ("GET", "blocks", 200), ("PUT", "bans?address=203.0.113.7&\(room)", 200),
          ("GET", "bans?\(room)", 200), ("DELETE", "rooms?\(room)&x=%3Cscript%3E", 400),
          ("DELETE", "rooms?\(room)x", 404),
        ]
        for (method, path, status) in asked {
          let answer = try await ask(server, method, path)
          #expect(answer.status == status, "\(path): \(answer.body)")
          #expect(answer.header("X-Content-Type-Options") == "nosniff", "\(path)")
          let type = answer.header("Content-Type") ?? ""
          #expect(
            type.hasPrefix("application/json") || status != 200 && type.hasPrefix("text/plain"), "\(path): \(type)")
          guard status == 200 else { continue }
          let value = try JSONSerialization.jsonObject(with: Data(answer.bytes))
          #expect("\(value)".contains("<script>alert"), "\(path): its name as it is")
        }
        let seen = try #require(
          try JSONSerialization.jsonObject(with: Data(try await ask(server, "GET", "rooms").bytes)) as? [String: Any])
        let rooms = try #require(seen["rooms"] as? [[String: Any]])
        #expect(rooms.contains { $0["name"] as? String == evil || $0["room"] as? String == evil }, "\(seen)")
        await anna.session.close()
      }
    }

    @Test func withoutTheTokenThereIsNothingToOperate() async throws {
      try await TestServer.with({ $0.admin.token = Self.token }) { server in
        let anna = try await Client(server.url, "anna")
        _ = try await anna.session.join(room: "demo")
        for (token, status) in [(nil, 401), ("another long text", 403), ("", 403)] as [(String?, Int)] {
          let closing = try await ask(server, "DELETE", "rooms?room=demo", token: token)
          let looking = try await ask(server, "GET", "rooms", token: token)
          #expect(closing.status == status && looking.status == status && !looking.body.contains("anna"))
        }
        #expect(await anna.session.snapshot(of: "demo") != nil)
        // Nor can a page of another origin: nobody tells its browser that it may send the token.
        let asked = ["Origin": "https://evil.example", "Access-Control-Request-Method": "DELETE"]
        let preflight = try await server.ask("/admin/rooms", method: "OPTIONS", headers: asked)
        #expect(preflight.status == 405 && preflight.header("Access-Control-Allow-Origin") == nil)
        #expect(try await ask(server, "GET", "rooms").header("Access-Control-Allow-Origin") == nil)
      }
      // The name of the scheme is written as one likes, and wrong tokens do not keep out the right one.
      try await TestServer.with({ $0.admin.token = Self.token }) { server in
        var statuses: [Int] = []
        let start = ContinuousClock.now
        for _ in 0..<12 { statuses.append(try await ask(server, "GET", "rooms", token: "a guess").status) }
        #expect(statuses.prefix(10).allSatisfy { $0 == 403 } && statuses.contains(429), "\(statuses)")
        // One more may be tried after ten seconds.
        #expect(statuses[10] == 429 || ContinuousClock.now - start >= .seconds(10), "\(statuses)")
        let told = server.log.all.filter { $0.contains("admin_token_refused") && $0.contains("127.0.0.1") }
        #expect(told.count == statuses.count { $0 == 403 } && !told.contains { $0.contains("a guess") })
        for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
          let answer = try await server.ask("/admin/rooms", headers: ["Authorization": "\(scheme) \(Self.token)"])
          #expect(answer.status == 200)
        }
      }
      try await TestServer.with { server in
        let looking = try await ask(server, "GET", "rooms")
        let closing = try await ask(server, "DELETE", "rooms?room=demo")
        #expect(looking.status == 404 && closing.status == 405)
      }
    }
  }
}
