// A server behind Debian's haproxy: people and encoders come by it, over HTTP and by the PROXY protocol, from addresses of their own.

import Basics
import Configuration
import Foundation
import Glibc
import TestSupport
import Testing

/// What one client says and hears, from an address of loopback that is not the proxy's.
private struct Visitor {
  /// What comes back until the connection ends, or it is enough.
  static func ask(
    _ port: UInt16, from last: UInt8, _ request: String, frames: [UInt8] = [],
    until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
  ) async throws -> String {
    let descriptor = try connect(port, from: last)
    return await withCheckedContinuation { continuation in
      DispatchQueue(label: "visitor").async {
        let bytes = Array(request.utf8) + frames
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isEnough(String(decoding: answer, as: UTF8.self)) {
          let got = recv(descriptor, &buffer, buffer.count, 0)
          if got <= 0 { break }
          answer += buffer.prefix(got)
        }
        close(descriptor)
        continuation.resume(returning: String(decoding: answer, as: UTF8.self))
      }
    }
  }

  /// A connection from 127.0.0.`last`, with a patience of half a minute.
  static func connect(_ port: UInt16, from last: UInt8) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    func address(_ host: UInt32, _ port: UInt16) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      (address.sin_addr.s_addr, address.sin_port) = (host.bigEndian, port.bigEndian)
      return address
    }
    func apply(_ address: sockaddr_in, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
      withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
    }
    guard apply(address(0x7f00_0000 | UInt32(last), 0), { bind(descriptor, $0, $1) }) == 0,
      apply(address(0x7f00_0001, port), { Glibc.connect(descriptor, $0, $1) }) == 0
    else {
      close(descriptor)
      throw Loopback.Failure(step: "connect from 127.0.0.\(last)")
    }
    return descriptor
  }
}

/// Debian's haproxy in front of a server, while `body` runs.
private func withHAProxy(_ sections: String, _ body: () async throws -> Void) async throws {
  let folder = try TemporaryFolder()
  let file = folder.path("haproxy.cfg")
  let common = "defaults\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  timeout tunnel 60s\n"
  try Data((common + sections).utf8).write(to: URL(filePath: file))
  let process = Process()
  process.executableURL = URL(filePath: "/usr/sbin/haproxy")
  process.arguments = ["-db", "-q", "-f", file]
  try process.run()
  defer {
    process.terminate()
    process.waitUntilExit()
  }
  try await body()
}

private func isUp(_ port: UInt16) async -> Bool {
  await eventually {
    guard let descriptor = try? Loopback.connect(port) else { return false }
    close(descriptor)
    return true
  }
}

private func get(_ path: String, _ more: String = "") -> String {
  "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(more)\r\n"
}

private let handshake =
  "GET /rtc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

/// A hello as a frame.
private func hello(_ user: String) -> [UInt8] {
  RawSocket.frame(1, Array(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"\#(user)"}}"#.utf8))
}

extension EndToEnd {
  @Suite struct Proxies {
    private static let proxy = AddressRange("127.0.0.1").map { [$0] } ?? []

    /// People, encoders and operators by HTTP: `option forwardfor` adds a header of its own behind what a client says.
    @Test func haproxyBringsWhomItSays() async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.access.isOpen = true
        $0.listen.trustedProxies = Self.proxy
        $0.limits.connectionsPerAddress = 3
      }) { server in
        let sections = """
          frontend public
            mode http
            bind 127.0.0.1:\(port)
            option forwardfor
            http-request set-header X-Forwarded-Proto https
            default_backend roost
          backend roost
            mode http
            http-reuse always
            server roost 127.0.0.1:\(server.server.port)

          """
        try await withHAProxy(sections) {
          #expect(await isUp(port))
          // A WebSocket, and what the log says of its client.
          let said = try await Visitor.ask(port, from: 9, handshake, frames: hello("anna")) {
            $0.contains("resumeToken")
          }
          #expect(said.hasPrefix("HTTP/1.1 101 ") && said.contains("resumeToken"), "\(said)")
          #expect(server.log.all.contains { $0.contains("connection opened") && $0.contains("127.0.0.9") })
          // An encoder, whose session is where the proxy is reached.
          let offer = ffmpegOffer
          let post =
            "POST /whip/stage HTTP/1.1\r\nHost: conf.localhost\r\nConnection: close\r\nContent-Type: application/sdp\r\n"
            + "Content-Length: \(offer.utf8.count)\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n\(offer)"
          let created = try await Visitor.ask(port, from: 8, post)
          #expect(created.hasPrefix("HTTP/1.1 201 "), "\(created.prefix(300))")
          #expect(created.lowercased().contains("\r\nlocation: https://conf.localhost/whip/stage/"), "\(created)")
          #expect(server.log.all.contains { $0.contains("session_offered door=whip") && $0.contains("127.0.0.8") })
          #expect(!server.log.all.contains { $0.contains("203.0.113.1") }, "nobody chooses their address")

          // Ten people with three connections each, and none has a fourth.
          var held: [Int32] = []
          defer { for descriptor in held { close(descriptor) } }
          for last in UInt8(20)..<30 {
            for _ in 0..<3 {
              let descriptor = try Visitor.connect(port, from: last)
              held.append(descriptor)
              let bytes = Array(handshake.utf8)
              _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
              var head = [UInt8](repeating: 0, count: 12)
              _ = recv(descriptor, &head, head.count, Int32(MSG_WAITALL))
              #expect(String(decoding: head, as: UTF8.self) == "HTTP/1.1 101", "\(last)")
            }
          }
          for (last, status) in [(20, "429"), (29, "429"), (30, "200")] as [(UInt8, String)] {
            let answer = try await Visitor.ask(port, from: last, get("/healthz"))
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(last): \(answer)")
          }
        }
      }
    }

    /// A proxy that lets nobody through to some paths compares them as they are written, and so does the server.
    @Test func noSpellingOfAPathGetsAroundARuleOfTheProxy() async throws {
      let port = try freePort()
      let token = "a long random text"
      try await TestServer.with({ ($0.access.isOpen, $0.admin.token) = (true, token) }) { server in
        let sections = """
          frontend public
            mode http
            option accept-invalid-http-request
            bind 127.0.0.1:\(port)
            http-request deny if { path_beg /metrics /admin }
            default_backend roost
          backend roost
            mode http
            server roost 127.0.0.1:\(server.server.port)

          """
        try await withHAProxy(sections) {
          #expect(await isUp(port))
          let bearer = "Authorization: Bearer \(token)\r\n"
          for path in ["metrics", "admin/rooms"] {
            let direct = try await Visitor.ask(server.server.port, from: 1, get("/\(path)", bearer))
            #expect(direct.hasPrefix("HTTP/1.1 200 "), "it is there: \(direct)")
            let plain = try await Visitor.ask(port, from: 1, get("/\(path)", bearer))
            #expect(plain.hasPrefix("HTTP/1.1 403 "), "the rule holds")
            let first = String(path.prefix(1)), rest = path.dropFirst()
            let escaped = "%" + String(first.utf8.first ?? 0, radix: 16)
            for other in [
              "/x/../\(path)", "//\(path)", "/./\(path)", "/%2e/\(path)", "/x/%2e%2e/\(path)", "/x#/../\(path)",
              "/x/..?/\(path)", "/..%3f/\(path)", "/..%23/\(path)", "/\(escaped)\(rest)", "/%2f\(path)", "/\\\(path)",
              "/;/\(path)", "/%0a\(path)", "/\(first.uppercased())\(rest)",
            ] {
              let answer = try await Visitor.ask(port, from: 1, get(other, bearer))
              let isRefused = ["400", "403", "404"].contains { answer.hasPrefix("HTTP/1.1 \($0) ") }
              #expect(isRefused && !answer.contains("roost_") && !answer.contains("\"rooms\""), "\(other): \(answer)")
            }
          }
          #expect(try await Visitor.ask(port, from: 1, get("/healthz")).hasPrefix("HTTP/1.1 200 "))
        }
      }
    }

    /// Both versions of the PROXY protocol, the second before TLS that Roost itself speaks.
    @Test func haproxySaysItByThePROXYProtocol() async throws {
      let folder = try TemporaryFolder()
      try folder.makeCertificate()
      let files = ServerConfiguration.TLSFiles(
        certificate: folder.path("certificate.pem"), key: folder.path("key.pem"))
      for (word, isSecure) in [("send-proxy", false), ("send-proxy-v2", false), ("send-proxy-v2", true)] {
        let port = try freePort()
        try await TestServer.with({
          $0.access.isOpen = true
          $0.listen.trustedProxies = Self.proxy
          $0.listen.proxyProtocol = true
          $0.listen.tls = isSecure ? files : nil
        }) { server in
          let section =
            "listen public\n  mode tcp\n  bind 127.0.0.1:\(port)\n  server roost 127.0.0.1:\(server.server.port) \(word)\n"
          try await withHAProxy(section) {
            #expect(await isUp(port))
            var answer = ""
            if isSecure {
              answer = try openssl(
                ["s_client", "-quiet", "-bind", "127.0.0.9:0", "-connect", "127.0.0.1:\(port)"],
                saying: get("/metrics"))
              #expect(
                answer.hasPrefix("HTTP/1.1 200 "), "whom the header names is on this machine: \(answer.prefix(300))")
              #expect(answer.contains("strict-transport-security: max-age="), "\(answer)")
            } else {
              answer = try await Visitor.ask(port, from: 9, handshake, frames: hello("anna")) {
                $0.contains("resumeToken")
              }
              #expect(answer.hasPrefix("HTTP/1.1 101 ") && answer.contains("resumeToken"), "\(word): \(answer)")
              #expect(server.log.all.contains { $0.contains("connection opened") && $0.contains("127.0.0.9") })
            }
            // Whoever comes past the proxy says no header, and is not served.
            let direct = try await Visitor.ask(server.server.port, from: 1, get("/healthz"))
            #expect(direct == "")
            #expect(await eventually { server.log.all.contains { $0.contains("proxy_header_missing") } })
          }
        }
      }
    }

    /// Limits, logs and "from this machine" go by whom a trusted proxy brings, and by nobody else's word.
    @Test func whatGoesByTheAddressGoesByTheClients() async throws {
      let token = "a long random text"
      try await TestServer.with({
        $0.admin.token = token
        $0.listen.trustedProxies = Self.proxy
      }) { server in
        // The server is open by its place: strangers are refused, also where they say that they are none.
        let cases: [(String?, Int)] = [
          (nil, 403), ("127.0.0.1", 200), ("203.0.113.9", 403), ("127.0.0.1, 203.0.113.9", 403), ("unknown", 403),
        ]
        for (list, status) in cases {
          let answer = try await server.ask("/metrics", headers: list.map { ["X-Forwarded-For": $0] } ?? [:])
          #expect(answer.status == status, "\(list ?? "")")
        }
      }
      try await TestServer.with({
        ($0.access.isOpen, $0.admin.token) = (true, token)
        $0.listen.trustedProxies = Self.proxy
      }) { server in
        let guess = ["Authorization": "Bearer a guess"]
        for list in ["203.0.113.9", "127.0.0.1, 203.0.113.9", "unknown", nil] {
          let answer = try await server.ask("/metrics", headers: list.map { ["X-Forwarded-For": $0] } ?? [:])
          #expect(answer.status == 404, "\(list ?? "a proxy that forgets the header")")
        }
        #expect(await eventually { server.log.all.contains { $0.contains("forwarded_for_missing") } })
        #expect(try await server.ask("/metrics", headers: ["X-Forwarded-For": "127.0.0.1"]).status == 200)
        // Guesses of one client do not slow another.
        var statuses: [Int] = []
        for index in 0..<12 {
          let headers = guess.merging(["X-Forwarded-For": "198.51.100.\(index), 203.0.113.9"]) { $1 }
          statuses.append(try await server.ask("/admin/rooms", headers: headers).status)
        }
        #expect(statuses.prefix(10).allSatisfy { $0 == 403 } && statuses.last == 429, "\(statuses)")
        let other = guess.merging(["X-Forwarded-For": "203.0.113.10"]) { $1 }
        #expect(try await server.ask("/admin/rooms", headers: other).status == 403)
        let lines = server.log.all.filter { $0.contains("admin_token_refused") }
        #expect(lines.count { $0.contains("203.0.113.9:") } >= 10 && lines.count { $0.contains("203.0.113.10:") } == 1)
        #expect(!lines.contains { $0.contains("198.51.100") || $0.contains("127.0.0.1") })
      }
    }
  }
}
