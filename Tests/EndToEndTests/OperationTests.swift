// What an operator sees of a server in use: one log line for what happens, numbers that are those of what happened, who may
// read them, and whether it takes people in.

import Configuration
import Foundation
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing
import WebClient

extension EndToEnd {
  @Suite struct Operation {
    /// What is done in each of these tests: anna and ben fill a room, carl is refused, mallory fails, all leave.
    private func evening(_ server: TestServer, during: () async throws -> Void = {}) async throws {
      let driver = MediaDriver()
      let anna = try SyntheticParticipant(.light(server, room: "pair", user: "anna"), driver: driver)
      let ben = try SyntheticParticipant(.light(server, room: "pair", user: "ben"), driver: driver)
      var plan = SyntheticConfiguration.light(server, room: "elsewhere", user: "mallory")
      plan.misbehaviour = [.wrongFingerprint]
      let mallory = try SyntheticParticipant(plan, driver: driver)
      for one in [anna, ben, mallory] { try await one.join() }
      let carl = try await Client(server.url, "carl")
      #expect(try await carl.refusal { try await carl.session.join(room: "pair") } == 2002)
      #expect(try await carl.refusal { try await carl.session.join(room: "nowhere") } == 2001)
      for (one, other) in [(anna, "ben"), (ben, "anna")] {
        #expect(await eventually { await one.received(other, "camera").frames >= 5 })
      }
      for connection in [PeerConnection.publish, .subscribe] {
        #expect(await eventually { await mallory.mediaFailures.contains { $0.pc == connection } })
      }
      try await during()
      for one in [mallory, ben, anna] { await one.leave() }
      driver.stop()
    }

    private func rooms(_ configuration: inout ServerConfiguration) {
      var pair = RoomSettings(kind: "pair")
      pair.videoLimit = 2
      configuration.rooms = ["pair": pair, "elsewhere": .group]
      configuration.unknownRooms = .refuse
      // A machine that is slow has not failed.
      (configuration.calls.connectTimeout, configuration.calls.mediaTimeout) = (.seconds(600), .seconds(600))
    }

    /// The lines about one thing, as their fields.
    private func lines(_ log: LogLines, _ format: ServerConfiguration.Log.Format, _ event: String) throws -> [[String:
      String]]
    {
      try log.all.compactMap { line in
        let fields = try format == .json ? json(line) : text(line)
        return fields["msg"] == event ? fields.filter { $0.key != "msg" && $0.key != "ts" } : nil
      }
    }

    private func json(_ line: String) throws -> [String: String] {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return try #require(object, "\(line)").mapValues { "\($0)" }
    }

    /// `2026-01-31T12:00:00.123Z info join room=pair user=anna …`.
    private func text(_ line: String) throws -> [String: String] {
      let head = try #require(line.firstMatch(of: /^(\S+Z) ([a-z]+) (.*?)(?: [a-z_]+=.*)?\n$/), "\(line)")
      var fields = ["ts": String(head.1), "level": String(head.2), "msg": String(head.3)]
      for pair in line.matches(of: #/ ([a-z_]+)=(?:"([^"]*)"|(\S+))/#) {
        fields[String(pair.1)] = (pair.2 ?? pair.3).map(String.init)
      }
      return fields
    }

    @Test(arguments: ServerConfiguration.Log.Format.allCases)
    func eachJoinLeaveRefusalAndFailureIsOneLine(_ format: ServerConfiguration.Log.Format) async throws {
      var log: LogLines?
      try await TestServer.with({
        rooms(&$0)
        $0.log.format = format
      }) { server in
        log = server.log
        try await evening(server)
      }
      let all = try #require(log)
      for user in ["anna", "ben", "mallory"] {
        let room = user == "mallory" ? "elsewhere" : "pair"
        let joins = try lines(all, format, "join").filter { $0["user"] == user }
        #expect(joins.count == 1 && joins.first?["room"] == room && joins.first?["level"] == "info", "\(joins)")
        #expect(joins.first?["participant"]?.isEmpty == false)
        #expect(joins.first?["count"] == (user == "ben" ? "2" : "1"))
        let leaves = try lines(all, format, "leave").filter { $0["user"] == user }
        #expect(leaves == [["level": "info", "reason": "left", "room": room, "user": user]])
      }
      #expect(try lines(all, format, "join").count == 3 && lines(all, format, "leave").count == 3)
      #expect(
        try lines(all, format, "join_refused") == [
          ["level": "warning", "room": "pair", "user": "carl", "code": "ROOM_FULL"],
          ["level": "warning", "room": "nowhere", "user": "carl", "code": "ROOM_NOT_FOUND"],
        ])
      let failures = try lines(all, format, "media_failed")
      #expect(failures.compactMap { $0["pc"] }.sorted() == ["publish", "subscribe"])
      #expect(
        failures.allSatisfy {
          $0["user"] == "mallory" && $0["room"] == "elsewhere" && $0["level"] == "warning" && $0["step"] == "dtls"
            && $0["reason"]?.contains("fingerprint") == true
        }, "\(failures)")
    }

    @Test func aLevelKeepsTheLinesBelowItOut() async throws {
      var log: LogLines?
      try await TestServer.with({
        rooms(&$0)
        $0.log.level = .warning
      }) { server in
        log = server.log
        try await evening(server)
      }
      let all = try #require(log)
      let levels = Set(try all.all.map { try text($0)["level"] })
      #expect(levels == ["warning"], "\(all.all)")
      #expect(try lines(all, .text, "join_refused").count == 2 && lines(all, .text, "media_failed").count == 2)
    }

    // MARK: numbers

    @Test func metricsAreThoseOfWhatHappened() async throws {
      try await TestServer.with({ rooms(&$0) }) { server in
        let driver = MediaDriver()
        let anna = try SyntheticParticipant(.light(server, room: "pair", user: "anna"), driver: driver)
        let ben = try SyntheticParticipant(.light(server, room: "pair", user: "ben"), driver: driver)
        for one in [anna, ben] { try await one.join() }
        let carl = try await Client(server.url, "carl")
        for _ in 0..<2 { #expect(try await carl.refusal { try await carl.session.join(room: "pair") } == 2002) }
        #expect(try await carl.refusal { try await carl.session.join(room: "nowhere") } == 2001)
        for (one, other) in [(anna, "ben"), (ben, "anna")] {
          #expect(await eventually { await one.received(other, "camera").frames >= 5 })
        }
        // What is lost so often is not repaired in time: a keyframe is asked for.
        var network = Impairments()
        network.sendLoss = 0.1
        network.receiveLoss = 0.9
        await ben.setImpairments(network)
        let worker = "{worker=\"0\"}"
        let repairs = ["nacks_received", "nacks_sent", "keyframe_requests_received", "keyframe_requests_sent"]
        await server.shows(
          Dictionary(uniqueKeysWithValues: repairs.map { ("roost_\($0)_total\(worker)", 1) }), >=)
        await server.shows(
          [
            "roost_rooms": 1, "roost_participants": 2, "roost_sessions": 3, "roost_tracks": 4, "roost_subscriptions": 4,
            "roost_websockets": 3, "roost_worker_transports\(worker)": 4, "roost_worker_producers\(worker)": 4,
            "roost_worker_consumers\(worker)": 4, "roost_joins_refused_total{reason=\"room_full\"}": 2,
            "roost_joins_refused_total{reason=\"room_not_found\"}": 1, "roost_events_total{event=\"joined\"}": 2,
          ])

        // Each part of the work has taken time.
        await server.shows(
          Dictionary(
            uniqueKeysWithValues: ["receive", "seal", "send"].map {
              ("roost_worker_phase_microseconds_total{worker=\"0\",phase=\"\($0)\"}", 1)
            }), >=)

        // The counts grow meanwhile: what was heard by now the server has sent, and what it took in was sent by then.
        let heard = await datagrams(anna, ben) { $0.datagramsReceived }
        var later: [String: Double] = [:]
        #expect(
          await eventually(every: .milliseconds(200)) {
            later = (try? await server.metrics()) ?? [:]
            return later["roost_packets_sent_total\(worker)"] ?? 0 >= heard
          }, "the participants heard \(heard)")
        let sent = await datagrams(anna, ben) { $0.datagramsSent }
        let taken = try #require(later["roost_packets_received_total\(worker)"])
        let given = try #require(later["roost_packets_sent_total\(worker)"])
        #expect(heard > 0 && taken > 0 && taken <= sent, "the server took in \(taken) of \(sent)")
        // The calls by size are all of them; those of a turn share system calls; nothing found a queue full.
        for way in ["receive", "send"] {
          let sizes = later.filter { $0.key.hasPrefix("roost_\(way)_calls_by_datagrams_total") }
          let calls = try #require(later["roost_\(way)_calls_total\(worker)"])
          #expect(sizes.count >= 7 && sizes.values.reduce(0, +) == calls && calls > 0)
        }
        let systemCalls = try #require(later["roost_send_system_calls_total\(worker)"])
        #expect(systemCalls > 0 && systemCalls <= later["roost_send_calls_total\(worker)"] ?? 0)
        #expect(later["roost_packets_dropped_total{reason=\"receive_queue_full\"}"] == 0)
        #expect(later["roost_worker_refused_messages_total\(worker)"] == 0)
        for (direction, packets) in [("received", taken), ("sent", given)] {
          let bytes = try #require(later["roost_bytes_\(direction)_total{worker=\"0\"}"])
          // Light participants send nothing below an empty STUN message, and nothing above a full datagram.
          #expect(bytes >= packets * 20 && bytes <= packets * 1_500)
        }
        for one in [anna, ben] { await one.leave() }
        driver.stop()
        await server.shows(
          [
            "roost_participants": 0, "roost_tracks": 0, "roost_rooms": 0, "roost_leaves_total{reason=\"left\"}": 2,
            "roost_worker_transports\(worker)": 0,
          ])
        let after = try await server.metrics()
        #expect(!after.keys.contains { $0.contains("media_failed") }, "who leaves in order has not failed")
      }
    }

    private func datagrams(
      _ people: SyntheticParticipant..., count: (ConnectionStatistics) -> UInt64
    ) async -> Double {
      var sum = 0.0
      for one in people {
        let statistics = await one.statistics
        sum += Double(count(statistics.publish) + count(statistics.subscribe))
      }
      return sum
    }

    @Test(arguments: [(ServerConfiguration.Admin.Audience.local, 200), (.everyone, 200), (.nobody, 404)])
    func theFileSaysWhoMayReadMetrics(_ audience: ServerConfiguration.Admin.Audience, _ status: Int) async throws {
      try await TestServer.with({ $0.admin.metrics = audience }) { server in
        let answer = try await server.ask("/metrics")
        #expect(answer.status == status && answer.body.contains("roost_process_") == (status == 200))
        #expect(try await server.ask("/healthz").status == 200, "which is everybody's")
        #expect(try await server.ask("/readyz").status == 200)
      }
    }

    /// Every file comes over HTTP as it is embedded, under the policy that keeps it to itself.
    @Test func everyFileOfThePageHasItsPolicy() async throws {
      try await TestServer.with { server in
        for (path, asset) in WebClient.assets {
          let answer = try await server.ask(path)
          #expect(answer.status == 200 && answer.bytes == asset.bytes, "\(path)")
          for (name, value) in asset.headers { #expect(answer.header(name) == value, "\(path)") }
          // Scripts alone are for pages from elsewhere too.
          let readers = answer.header("Access-Control-Allow-Origin")
          #expect(readers == (path.hasSuffix(".js") ? "*" : nil), "\(path)")
          #expect(answer.header("Content-Type") == asset.contentType)
        }
        #expect(try await server.ask("/nothing.js").status == 404)
      }
    }

    /// Over HTTP too: whoever takes gzip gets it, and nobody is sent again what they have.
    @Test func filesTravelCompressed() async throws {
      try await TestServer.with { server in
        let asset = try #require(WebClient.asset(path: "/room.js"))
        for field in ["gzip", "identity"] {
          let wanted = asset.representation(accepting: field)
          let answer = try await server.ask("/room.js", headers: ["Accept-Encoding": field])
          #expect(
            answer.status == 200 && answer.header("ETag") == wanted.etag && answer.header("Vary") == "Accept-Encoding")
          let known = ["Accept-Encoding": field, "If-None-Match": wanted.etag]
          #expect(try await server.ask("/room.js", headers: known).status == 304)
        }
      }
    }

    /// While the last requests are answered, a balancer is told to send nobody else.
    @Test func itIsNotReadyWhileItStops() async throws {
      // The server waits for who is still there, and this guest says nothing.
      let port = try freePort()
      let server = try TestServer {
        ($0.admin.token, $0.admin.port) = ("an operator's long random text", port)
        $0.sessions.helloTimeout = .seconds(3_600)
        ($0.sessions.pingInterval, $0.sessions.deadAfter) = (.seconds(1_800), .seconds(3_600))
      }
      #expect(try await server.ask("/readyz").status == 200)
      let guest = try RawSocket(port: server.server.port)
      guest.upgrade()
      let stopping = Task.detached { server.server.stop(answering: .seconds(600)) }
      #expect(await eventually { (try? await server.ask("/readyz").status) == 503 })
      // Why is for operators: with their token, and at their port.
      let token = "an operator's long random text"
      for (headers, base, body) in [
        ([:], nil, #"{"status":"not ready"}"#),
        (["Authorization": "Bearer another"], nil, #"{"status":"not ready"}"#),
        (["Authorization": "Bearer \(token)"], nil, #"{"status":"draining","reason":"the server is stopping"}"#),
        ([:], "http://127.0.0.1:\(port)", #"{"status":"draining","reason":"the server is stopping"}"#),
      ] as [([String: String], String?, String)] {
        let answer = try await server.ask("/readyz", headers: headers, at: base)
        #expect(answer.status == 503 && answer.body == body + "\n", "\(headers) \(base ?? "")")
      }
      #expect(try await server.ask("/healthz").status == 200, "it works still")
      guest.reset()
      await stopping.value
    }
  }
}
