// Two realms at a running server, by real tokens of two keys: the same names everywhere, by each door, and nobody of one meets anybody of the
// other.

import Configuration
import Foundation
import Names
import RoostClient
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP
import Tokens

private let clinic = Realm("clinic") ?? .default
private let keys = [
  Realm.default: "the default realm's key of 40 bytes: 71", clinic: "the clinic realm's key of 39 bytes: 7181",
]
private let hookSecret = "a secret of the test"

/// What tells the requests of two realms apart.
private func realmToken(_ user: String, in realm: Realm, id: String? = nil, signedBy other: Realm? = nil) throws
  -> String
{
  let now = Int64(Date().timeIntervalSince1970 * 1000)
  let claims = TokenClaims(user: user, grants: everyGrant, id: id, expiresAt: now + 600_000)
  let secret = Array((keys[other ?? realm] ?? "").utf8)
  return try TokenSigner(id: realm.name, secret: secret).sign(claims)
}

extension TestServer {
  fileprivate static func withRealms(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
  ) async throws {
    try await with(
      { configuration in
        configuration.realms[clinic] = RealmSettings(unknownRooms: .create(kind: "group"))
        configuration.access.keys = [Realm.default, clinic].map { realm in
          .init(kid: realm.name, algorithm: .hs256, source: .secret(keys[realm] ?? ""), realm: realm)
        }
        configuration.admin.token = "the token of an operator"
        change(&configuration)
      }, body)
  }

  fileprivate func person(_ user: String, in realm: Realm) async throws -> RoostSession {
    try await connect(user, token: realmToken(user, in: realm))
  }

  fileprivate func operate(_ method: String, _ path: String) async throws -> HTTPAnswer {
    try await ask(path, method: method, headers: ["Authorization": "Bearer the token of an operator"])
  }

  /// An encoder in a room; the path of its session.
  fileprivate func encode(_ room: String, by token: String) async throws -> String {
    let answer = try await send(
      "POST", "/whip/\(room)", ffmpegOffer,
      headers: ["Content-Type": "application/sdp", "Authorization": "Bearer \(token)"])
    #expect(answer.status == 201)
    return try path(of: answer, in: "/")
  }
}

extension EndToEnd {
  @Suite struct Realms {
    @Test func scenario53TwoApplicationsNeverMeet() async throws {
      let port = try freePort()
      try await TestServer.withRealms({
        $0.flashphoner.port = port
      }) { server in
        var rooms: [Realm: RoomSession] = [:]
        var sessions: [Realm: RoostSession] = [:]
        for realm in [Realm.default, clinic] {
          let anna = try await server.person("anna", in: realm)
          (sessions[realm], rooms[realm]) = (anna, try await anna.join(room: "hall"))
        }
        // An encoder and an app, of the clinic alone.
        let encoder = try await server.encode("hall", by: realmToken("studio", in: clinic))
        // A player finds what is published in its realm (whose codec this one does not take), and in the other nothing.
        for realm in [Realm.default, clinic] {
          let headers = [
            "Authorization": "Bearer \(try realmToken("player", in: realm))", "Content-Type": "application/sdp",
          ]
          let answer = try await server.send("POST", "/whep/hall", playerOffer, headers: headers)
          #expect(answer.body.contains("NO_COMMON_CODEC") == (realm == clinic), "\(answer.status) \(answer.body)")
          #expect((400..<500).contains(answer.status))
        }
        let app = try await FlashphonerComer("carl", port: port, token: realmToken("carl", in: clinic))
        #expect(try await app.join("hall") == nil)
        #expect(try await app.say("hello", to: []))
        let there = await eventually {
          await sessions[clinic]?.snapshot(of: "hall")?.participants.map(\.user).sorted() == ["anna", "carl", "studio"]
        }
        #expect(there)
        #expect(await sessions[.default]?.snapshot(of: "hall")?.participants.map(\.user) == ["anna"])
        #expect(await eventually { await sessions[clinic]?.snapshot(of: "hall")?.chat.map(\.text) == ["hello"] })
        #expect(await sessions[.default]?.snapshot(of: "hall")?.chat.isEmpty == true)
        // The encoder's session is nobody else's, whoever is called the same.
        let stranger = ["Authorization": "Bearer \(try realmToken("studio", in: .default))"]
        #expect(try await server.ask(encoder, method: "DELETE", headers: stranger).status == 403)
        let owner = ["Authorization": "Bearer \(try realmToken("studio", in: clinic))"]
        #expect(try await server.ask(encoder, method: "DELETE", headers: owner).status == 200)
        // A call rings where it is meant to, and nowhere else.
        let (ben, otherBen) = (
          try await server.person("ben", in: clinic), try await server.person("ben", in: .default)
        )
        let heard = await Recorder(otherBen)
        let started = try await sessions[clinic]?.startCall(
          CallStartParams(to: ["ben"], kind: .oneToOne, media: .audio))
        let call = try #require(started?.call.callId)
        try await ben.call(call).accept()
        #expect(try await refused { _ = try await otherBen.call(call).refresh() }?.code == .callNotFound)
        #expect(await heard.messages.isEmpty)
        await server.shows([
          "roost_participants": 1, #"roost_participants{realm="clinic"}"#: 3, "roost_calls": 0,
          #"roost_calls{realm="clinic"}"#: 1,
        ])
        await app.close()
        for session in [ben, otherBen] + sessions.values { await session.close() }
      }
    }

    /// A key makes tokens of its realm and of no other.
    @Test func nobodyMakesTokensOfAnotherRealm() async throws {
      try await TestServer.withRealms { server in
        let forged = try realmToken("anna", in: clinic, signedBy: .default)
        let error = try await refused { _ = try await server.connect("anna", token: forged) }
        #expect(error?.data.reason == "token_invalid")
      }
    }

    @Test func operatorsNameTheRealm() async throws {
      try await TestServer.withRealms { server in
        let (anna, other) = (try await server.person("anna", in: .default), try await server.person("anna", in: clinic))
        _ = (try await anna.join(room: "hall"), try await other.join(room: "hall"))
        let gone = try await server.operate("DELETE", "/admin/rooms?room=hall&realm=clinic")
        #expect(gone.status == 200 && gone.body == "{\"realm\":\"clinic\",\"removed\":1}\n")
        #expect(
          try await server.operate("DELETE", "/admin/rooms?room=hall&realm=clinic").body.contains("\"removed\":0")
            == false)
        #expect(try await server.operate("GET", "/admin/rooms").body.contains("\"anna\""))
        #expect(try await !server.operate("GET", "/admin/rooms?realm=clinic").body.contains("\"anna\""))
        #expect(try await server.operate("GET", "/admin/rooms?realm=elsewhere").status == 400)
        #expect(try await server.operate("GET", "/admin/rooms?realm=the%20clinic").status == 400)
        for session in [anna, other] { await session.close() }
      }
    }

    /// What is taken back in one realm is good in the other, at each door.
    @Test func tokensAreTakenBackInTheirRealm() async throws {
      try await TestServer.withRealms { server in
        #expect(try await server.operate("PUT", "/admin/revoked?jti=t-1&realm=clinic").status == 200)
        let gone = try realmToken("anna", in: clinic, id: "t-1")
        #expect(try await refused { _ = try await server.connect("anna", token: gone) }?.code == .authFailed)
        let good = try realmToken("anna", in: .default, id: "t-1")
        await (try await server.connect("anna", token: good)).close()
        _ = try await server.encode("hall", by: realmToken("studio", in: .default, id: "t-1"))
      }
    }

    /// Each asks its own application, and one that has none asks nobody.
    @Test(arguments: [true, false]) func eachAsksItsOwnApplication(clinicAsks: Bool) async throws {
      let general = try Application { _, _ in TinyAnswer("204 No Content") }
      let own = try Application { _, _ in TinyAnswer("200 OK", #"{"allow": false, "code": "clinic"}"#) }
      defer { for application in [general, own] { application.stop() } }
      try await TestServer.withRealms({
        ($0.hooks.application, $0.hooks.kinds) = (general.endpoint, [.join])
        guard clinicAsks else { return }
        $0.realms[clinic]?.hooks.application = own.endpoint
        $0.realms[clinic]?.hooks.kinds = [.join]
      }) { server in
        let (anna, other) = (try await server.person("anna", in: .default), try await server.person("anna", in: clinic))
        #expect(try await refused { _ = try await anna.join(room: "hall") } == nil)
        let refusal = try await refused { _ = try await other.join(room: "hall") }
        #expect(refusal?.data.reason == (clinicAsks ? "clinic" : nil))
        func realms(_ application: Application) -> [Bool] {
          application.all.map { String(decoding: $0.body, as: UTF8.self).contains(#""realm":"clinic""#) }
        }
        #expect(realms(general) == [false] && realms(own) == (clinicAsks ? [true] : []))
        for session in [anna, other] { await session.close() }
      }
    }

    /// Bans, chat and records come back into their own realm, and web servers are told of their own.
    @Test func whatIsKeptIsKeptApart() async throws {
      let folder = try TemporaryFolder()
      let receivers = [Realm.default: try Receiver(), clinic: try Receiver()]
      defer { for receiver in receivers.values { receiver.stop() } }
      func change(_ configuration: inout ServerConfiguration) {
        configuration.storage.path = folder.path("roost.db")
        configuration.webhooks.events = .init(url: receivers[.default]?.url ?? "", secret: hookSecret)
        configuration.realms[clinic]?.webhooks.events = .init(url: receivers[clinic]?.url ?? "", secret: hookSecret)
        var hall = configuration.kinds["group"] ?? .group
        hall.chatHistory = 10
        configuration.rooms["hall"] = hall
        configuration.realms[clinic]?.rooms["hall"] = hall
      }
      var calls: [Realm: String] = [:]
      try await TestServer.withRealms(change) { server in
        for realm in [Realm.default, clinic] {
          let (anna, ben) = (try await server.person("anna", in: realm), try await server.person("ben", in: realm))
          let room = try await anna.join(room: "hall")
          #expect(try await room.chat("in \(realm)").stored)
          let started = try await anna.startCall(CallStartParams(to: ["ben"], kind: .oneToOne, media: .audio))
          if realm == clinic { try await ben.call(started.call.callId).accept() }
          calls[realm] = started.call.callId
          _ = try await started.call.hangup()
          for session in [anna, ben] { await session.close() }
        }
        _ = try await server.operate("PUT", "/admin/grants?user=anna&grants=join,subscribe,call&realm=clinic")
        _ = try await server.operate("PUT", "/admin/bans?address=203.0.113.7&room=hall&realm=clinic")
        for (realm, receiver) in receivers {
          #expect(await eventually { receiver.all.contains { $0["type"] == "call.ended" } })
          #expect(Set(receiver.all.map { $0["realm"] }) == [realm.name])
        }
      }
      try await TestServer.withRealms(change) { server in
        for realm in [Realm.default, clinic] {
          let ben = try await server.person("ben", in: realm)
          _ = try await ben.join(room: "hall")
          #expect(await ben.snapshot(of: "hall")?.chat.map(\.text) == ["in \(realm)"])
          let records = try await ben.callHistory().records
          #expect(records.map(\.callId) == [calls[realm]])
          let bans = try await server.operate("GET", "/admin/bans?realm=\(realm)").body
          #expect(bans.contains("203.0.113.7") == (realm == clinic))
          let grants = try await server.operate("GET", "/admin/grants?realm=\(realm)").body
          #expect(grants.contains("anna") == (realm == clinic))
          await ben.close()
        }
      }
    }
  }
}
