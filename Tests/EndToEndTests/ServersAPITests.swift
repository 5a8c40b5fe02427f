// An application's own server at a running Roost: over HTTP, with a key and without.

import Basics
import Configuration
import Foundation
import Glibc
import Names
import RoostAdmin
import RoostClient
import RoostProtocol
import Server
import TestSupport
import Testing
import TinyHTTP

extension EndToEnd {
  @Suite struct TheAPI {
    private static let secret = "0123456789abcdefghijklmnopqrstuvwxyz"
    private static let token = "a long random text"

    /// What asks the API.
    private struct Asker {
      let server: TestServer
      let base: String

      func callAsFunction(
        _ method: String, _ path: String, _ secret: String, _ content: String? = nil, ifMatch: String? = nil
      ) async throws -> HTTPAnswer {
        var headers = ["Authorization": "Bearer \(secret)"]
        headers["If-Match"] = ifMatch
        if content != nil { headers["Content-Type"] = "application/json" }
        return try await server.ask("/api/v1\(path)", method: method, headers: headers, content: content, at: base)
      }
    }

    /// A server with the API, a key of `default` and one of `clinic`, and what asks it.
    private func with(
      change: @escaping (inout ServerConfiguration, URL) -> Void = { _, _ in },
      _ body: (TestServer, Asker) async throws -> Void
    ) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "api-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let clinic = try #require(Realm("clinic"))
      let keys = try [(name: "shop", realm: Realm.default), (name: "clinic", realm: clinic)].map { key in
        let file = folder.appending(path: key.name)
        try Data("\(key.name)-\(Self.secret)\n".utf8).write(to: file)
        return ServerConfiguration.API.Key(name: key.name, secretFile: file.path, realm: key.realm)
      }
      let port = try freePort()
      try await TestServer.calls({
        ($0.admin.token, $0.api.port, $0.api.keys) = (Self.token, port, keys)
        $0.realms[clinic] = RealmSettings(unknownRooms: .create(kind: "group"))
        change(&$0, folder)
      }) { server in
        #expect(server.server.apiPort == port)
        try await body(server, Asker(server: server, base: "http://127.0.0.1:\(port)"))
      }
    }

    private static let shop = "shop-\(secret)"
    private static let clinic = "clinic-\(secret)"

    @Test func anApplicationSeesItsRealmAndEndsRoomsAndCalls() async throws {
      try await with { server, ask in
        let (anna, ben) = (try await server.phone("anna"), try await server.phone("ben"))
        for one in [anna, ben] { _ = try await one.session.join(room: "A/B") }
        let seen = try await ask("GET", "/rooms/A%2FB", Self.shop)
        #expect(seen.status == 200 && seen.body.contains(#""user":"ben""#) && seen.body.contains(#""door":"native""#))
        #expect(try await ask("GET", "/rooms/A%2FB", Self.clinic).isProblem(404, "ROOM_NOT_FOUND"), "another realm")
        #expect(try await ask("GET", "/rooms/A%2FB", Self.token).body.contains(#""user":"ben""#))
        #expect(try await ask("GET", "/rooms/A%2FB?realm=clinic", Self.token).status == 404)
        #expect(try await ask("GET", "/rooms?realm=clinic", Self.shop).isProblem(403))
        #expect(try await ask("DELETE", "/rooms/A%2FB/participants/ben", Self.shop).body == "{\"removed\":1}\n")
        #expect(try await ben.hears(\.closedRoom).reason == .removed)
        #expect(try await ask("DELETE", "/rooms/A%2FB", Self.shop).body == "{\"removed\":1}\n")
        #expect(try await anna.hears(\.closedRoom).reason == .closed)

        let call = try await anna.start(["ben"]).call.callId
        #expect(try await ask("GET", "/calls/\(call)", Self.shop).body.contains(#""caller""#))
        #expect(try await ask("GET", "/calls", Self.clinic).body == "{\"calls\":[]}\n")
        #expect(try await ask("DELETE", "/calls/\(call)", Self.clinic).status == 404)
        #expect(try await ask("DELETE", "/calls/\(call)", Self.shop).status == 200)
        #expect(try await anna.hears(\.ended, of: call).reason == .stopped)
        #expect(try await ask("GET", "/calls/\(call)", Self.shop).body.contains(#""reason":"stopped""#))
        #expect(try await ask("GET", "/calls/\(call)", Self.clinic).isProblem(404, "CALL_NOT_FOUND"))
        let user = try await ask("GET", "/users/ben", Self.shop).body
        #expect(user == #"{"devices":1,"missed":1,"online":true,"reachable":true,"user":"ben"}"# + "\n")
        #expect(try await ask("GET", "/users/ben", Self.clinic).body.contains(#""online":false"#))
        #expect(try await ask("GET", "/users/ben/calls", Self.shop).body.contains(call))
        #expect(try await ask("GET", "/users/ben/calls", Self.clinic).body == "{\"records\":[]}\n")
        #expect(try await ask("DELETE", "/users/ben/missed", Self.shop).body == "{\"seen\":1}\n")
        let lines = server.log.all.filter { $0.contains("operator_action") && $0.contains("room.close") }
        #expect(lines.count == 1 && lines[0].contains("by=shop"), "\(lines)")
        await [anna, ben].close()
      }
    }

    /// Whoever was away asks for what it has missed: nothing listens at the address of its webhooks.
    @Test func scenario57EventsAreReadAgainFromANumberOn() async throws {
      let port = try freePort()
      let events = ServerConfiguration.Webhooks.Endpoint(url: "http://127.0.0.1:\(port)", secret: Self.token)
      try await with(change: {
        $0.storage.path = $1.appending(path: "roost.db").path
        $0.webhooks.events = events
      }) { server, ask in
        struct Page: Decodable {
          struct Event: Decodable {
            var number: Int
            var type: String
            var user: String?
          }
          var events: [Event]
          var last: Int
        }
        func page(after: Int) async throws -> Page {
          let answer = try await ask("GET", "/events?after=\(after)", Self.shop)
          #expect(answer.status == 200, "\(answer.body)")
          return try JSONDecoder().decode(Page.self, from: Data(answer.body.utf8))
        }
        let anna = try await server.phone("anna")
        for _ in 0..<3 { try await anna.session.join(room: "A").leave() }
        #expect(await eventually { (try? await page(after: 0))?.last == 13 })
        let all = try await page(after: 0)
        #expect(all.events.map(\.number) == Array(1...13) && all.events.first?.type == "server.started")
        #expect(all.events.count { $0.type == "room.left" && $0.user == "anna" } == 3)
        #expect(try await page(after: 10).events.map(\.number) == [11, 12, 13])
        #expect(try await page(after: 13).events.isEmpty)
        #expect(try await ask("GET", "/events", Self.clinic).isProblem(409, "INVALID_STATE"), "another realm")
        #expect(try await ask("GET", "/events?realm=none", Self.token).isProblem(409, "INVALID_STATE"))
        await [anna].close()
      }
    }

    @Test func withoutARecordFileThereAreNoEvents() async throws {
      try await with { _, ask in
        let answer = try await ask("GET", "/events", Self.shop)
        #expect(answer.isProblem(409, "INVALID_STATE"), "\(answer.body)")
      }
    }

    @Test func scenario58AServerCallsTwoUsersToEachOther() async throws {
      try await with { server, ask in
        let (anna, ben) = (try await server.phone("anna"), try await server.phone("ben"))
        let wish = #"{"from": "anna", "to": ["ben"], "media": "audio", "extra": {"order": 1}}"#
        let made = try await ask("POST", "/calls", Self.shop, wish)
        #expect(made.status == 201 && made.body.contains(#""caller":"anna""#))
        let ring = try await anna.hears(\.incoming)
        #expect(ring.from == "ben" && ring.call.caller == "anna")
        let id = ring.call.callId
        #expect(try await ask("POST", "/calls/\(id)/invitations", Self.shop, #"{"users": ["x"]}"#).isProblem(409))
        _ = try await anna.accept(id)
        #expect(try await ben.hears(\.incoming).from == "anna")
        let data = #"{"topic": "notice", "data": {"at": 1.50}}"#
        #expect(try await ask("POST", "/calls/\(id)/data", Self.shop, data).body == "{\"delivered\":1}\n")
        let told = await eventually {
          await anna.log.messages.contains { message in
            guard case .messageReceived(let sent) = message.event else { return false }
            return sent.callId == id && sent.from.isEmpty && sent.data.text == #"{"at": 1.50}"#
          }
        }
        #expect(told)
        #expect(try await ask("POST", "/calls/\(id)/data", Self.clinic, data).status == 404, "another realm")
        #expect(try await ask("POST", "/calls", Self.shop, wish).isProblem(409, "SELF_BUSY"))
        #expect(try await ask("DELETE", "/calls/\(id)/invitations/ben", Self.clinic).status == 404, "another realm")
        #expect(try await ask("DELETE", "/calls/\(id)/invitations/ben", Self.shop).body == "{\"removed\":1}\n")
        #expect(try await anna.hears(\.ended, of: id).reason == .cancelled)
        await [anna, ben].close()
      }
    }

    /// Servers of one application make and change a room. It is there again when this server was away, until it is taken back.
    @Test func scenario59RoomsAreMadeChangedAndKept() async throws {
      let place = try TemporaryFolder()
      let change: @Sendable (inout ServerConfiguration, URL) -> Void = { configuration, _ in
        configuration.unknownRooms = .refuse
        configuration.storage.path = place.path("roost.db")
      }
      let settings = "/rooms/standup/settings"
      let wider = #"{"kind": "group", "videoLimit": 3, "audioLimit": 3}"#
      var version = ""
      try await with(change: change) { server, ask in
        let people = try await server.phones(["anna", "ben", "carl"])
        #expect(try await refused { try await people[0].session.join(room: "standup") }?.code == .roomNotFound)
        let wish = #"{"room": "standup", "kind": "group", "videoLimit": 2, "audioLimit": 2}"#
        let made = try await ask("POST", "/rooms", Self.shop, wish)
        #expect(made.status == 201 && made.body.contains(#""origin":"made""#))
        let first = try #require(made.header("ETag"))
        #expect(try await ask("POST", "/rooms", Self.shop, wish).isProblem(409, "INVALID_STATE"))
        let room = try await people[0].session.join(room: "standup")
        _ = try await people[1].session.join(room: "standup")
        #expect(try await refused { try await people[2].session.join(room: "standup") }?.code == .roomFull)
        #expect(try await ask("PUT", settings, Self.shop, wider).isProblem(428))
        let put = try await ask("PUT", settings, Self.shop, wider, ifMatch: first)
        version = try #require(put.header("ETag"))
        #expect(put.status == 200 && version != first)
        // Who has read it before hears that somebody else was first, and with what.
        let late = try await ask("PUT", settings, Self.shop, wider, ifMatch: first)
        #expect(late.isProblem(412) && late.header("ETag") == version)
        _ = try await people[2].session.join(room: "standup")
        #expect(try await room.chat("hello").stored)
        #expect(try await ask("GET", settings, Self.clinic).isProblem(404, "ROOM_NOT_FOUND"), "another realm")
      }
      try await with(change: change) { server, ask in
        let anna = try await server.phone("anna")
        _ = try await anna.session.join(room: "standup")
        #expect(await anna.session.snapshot(of: "standup")?.chat.map(\.text) == ["hello"])
        #expect(try await ask("GET", settings, Self.shop).header("ETag") == version)
        #expect(try await ask("DELETE", settings, Self.shop, ifMatch: "\"another\"").isProblem(412))
        let over = try await ask("DELETE", settings, Self.shop, ifMatch: version)
        #expect(over.body == "{\"removed\":1}\n")
        #expect(try await anna.hears(\.closedRoom).reason == .closed)
        #expect(try await ask("GET", settings, Self.shop).isProblem(404, "ROOM_NOT_FOUND"))
        #expect(try await refused { try await anna.session.join(room: "standup") }?.code == .roomNotFound)
        await [anna].close()
      }
    }

    @Test func aKeyMakesNoRoomsForOthers() async throws {
      try await with { _, ask in
        let wish = #"{"room": "ward", "kind": "broadcast"}"#
        #expect(try await ask("POST", "/rooms?realm=clinic", Self.shop, wish).isProblem(403))
        let made = try await ask("POST", "/rooms", Self.clinic, wish)
        #expect(made.status == 201)
        let settings = "/rooms/ward/settings"
        for method in ["GET", "DELETE"] {
          #expect(try await ask(method, settings, Self.shop).isProblem(404, "ROOM_NOT_FOUND"), "\(method)")
        }
        let kind = #"{"kind": "group"}"#
        #expect(try await ask("PUT", settings + "?realm=clinic", Self.shop, kind, ifMatch: "*").isProblem(403))
        #expect(try await !ask("GET", "/settings", Self.shop).body.contains("ward"))
        // The same name is another room.
        #expect(try await ask("POST", "/rooms", Self.shop, wish).status == 201)
        #expect(try await ask("DELETE", settings, Self.shop).status == 200)
        #expect(try await ask("GET", settings + "?realm=clinic", Self.token).body.contains(#""kind":"broadcast""#))
      }
    }

    /// The Swift package asks for the same.
    @Test func theSwiftPackageDoesIt() async throws {
      try await with { server, ask in
        let anna = try await server.phone("anna")
        _ = try await anna.session.join(room: "A/B")
        let roost = AdminClient(at: ask.base, secret: Self.shop + "\n")
        let room = try await roost.readRoom(room: "A/B")
        #expect(room.participants.map(\.participant.user) == ["anna"] && room.participants[0].door == "native")
        let notice = MessageWish(topic: "notice", data: ["at": 5], displayName: "House")
        #expect(try await roost.sendMessage(room: "A/B", notice).delivered == 1)
        let told = MessageReceived(room: "A/B", from: "", displayName: "House", topic: "notice", data: ["at": 5])
        #expect(await eventually { await anna.log.messages.contains { $0.event == .messageReceived(told) } })
        await #expect { try await roost.sendCallMessage(call: "none", notice) } throws: {
          ($0 as? AdminError)?.problem?.name == "CALL_NOT_FOUND"
        }
        #expect(try await roost.changeRoom(room: "A/B", RoomChange(locked: true)).locked)
        let ban = BanWish(address: "203.0.113.7")
        #expect(try await roost.banAddress(ban, once: "k").bans == roost.banAddress(ban, once: "k").bans)
        #expect(try await roost.liftAddress(address: "203.0.113.7").lifted == 1)
        #expect(try await roost.removeParticipant(room: "A/B", user: "anna") == RemovedCount(removed: 1))
        #expect(try await anna.hears(\.closedRoom).reason == .removed)
        let made = try await roost.makeRoom(RoomWish(room: "standup", kind: "group", lobby: true), once: "standup")
        #expect(try await roost.readRoom(room: "standup").lobby)
        #expect(try await roost.readSettings(room: "standup") == made)
        let settings = RoostAdmin.RoomSettings(kind: "group", audioLimit: 8, chatHistory: 5)
        let changed = try await roost.replaceSettings(room: "standup", settings, ifMatch: .version(made.version))
        #expect(changed.settings == settings && changed.version != made.version && changed.served)
        await #expect {
          try await roost.replaceSettings(room: "standup", made.settings, ifMatch: .version(made.version))
        } throws: { error in
          guard case .refused(let refusal)? = error as? AdminError else { return false }
          return refusal.problem.status == 412 && refusal.version == changed.version
        }
        #expect(try await roost.listSettings().rooms.contains(changed))
        #expect(try await roost.takeBackSettings(room: "standup", ifMatch: .any) == RemovedCount(removed: 0))
        // What is refused, and another realm: the controls.
        await #expect { try await roost.readRoom(room: "nowhere") } throws: { error in
          let problem = (error as? AdminError)?.problem
          return problem?.status == 404 && problem?.name == "ROOM_NOT_FOUND"
        }
        let clinic = AdminClient(at: ask.base, secret: Self.token, realm: "clinic")
        #expect(try await clinic.listRooms().rooms.allSatisfy { $0.room != "A/B" })
        let stranger = AdminClient(at: ask.base, secret: "none")
        await #expect { try await stranger.listRooms() } throws: { ($0 as? AdminError)?.problem?.status == 401 }
        await [anna].close()
      }
    }

    @Test func adminSaysWhereItHasGone() async throws {
      try await with { server, ask in
        let answer = try await server.ask("/admin/locks?room=demo", method: "PUT")
        #expect(answer.status == 410 && answer.body.contains("docs/api.md"))
        #expect(try await ask("GET", "/admin/rooms", Self.shop).isProblem(404), "it is not under the API")
      }
    }

    /// Each request that changes something ends its connection: so many may be opened as may be asked.
    @Test func anApplicationAsksAsOftenAsItMay() async throws {
      try await with { _, ask in
        for number in 0..<300 {
          let answer = try await ask("DELETE", "/calls/none\(number)", Self.shop)
          #expect(answer.status == 404, "\(number)")
        }
      }
    }

    /// The control: without an API it serves.
    @Test func withoutAnAPIAdminServes() async throws {
      try await TestServer.with({ $0.admin.token = Self.token }) { server in
        let headers = ["Authorization": "Bearer \(Self.token)"]
        let answer = try await server.ask("/admin/rooms", headers: headers)
        #expect(answer.status == 200 && server.server.apiPort == nil)
      }
    }
  }
}
