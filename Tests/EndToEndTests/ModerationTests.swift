// Moderation at a running server, with real tokens: who may do what to whom, by WebSocket and by WHIP, and over a restart.

import Basics
import Configuration
import Foundation
import FoundationNetworking
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing
import Tokens

private let secret = Array("another end-to-end key of 42 bytes: 9c41e7".utf8)
private let guest = everyGrant.subtracting([.moderate, .record, .admin])

/// A token of a user with these grants.
private func pass(_ user: String, _ grants: Set<Grant> = guest) throws -> String {
  let end = Int64(Date().timeIntervalSince1970 * 1000) + 600_000
  return try TokenSigner(id: nil, secret: secret).sign(
    TokenClaims(user: user, name: nil, room: nil, grants: grants, expiresAt: end))
}

private let operatorToken = "a long random text"

extension TestServer {
  fileprivate static func asking(
    storage: String? = nil, behind proxy: String? = nil, _ body: (TestServer) async throws -> Void
  ) async throws {
    let key = ServerConfiguration.Access.Key(
      kid: nil, algorithm: .hs256, source: .secret(String(decoding: secret, as: UTF8.self)))
    try await with(
      {
        $0.access.keys = [key]
        $0.admin.token = operatorToken
        $0.storage.path = storage
        $0.listen.trustedProxies = proxy.flatMap { AddressRange($0) }.map { [$0] } ?? []
      }, body)
  }

  fileprivate func come(_ user: String, device: String? = nil, _ grants: Set<Grant> = guest) async throws
    -> RoostSession
  {
    var options = SessionOptions()
    options.reconnect = nil
    let hello = HelloParams(user: user, token: try pass(user, grants), deviceId: device)
    return try await RoostSession.connect(to: url, hello: hello, options: options)
  }

  /// The status of an encoder's offer, which a proxy brings from an address where one is given.
  fileprivate func encode(_ user: String, in room: String, from address: String? = nil) async throws -> Int {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)/whip/\(room)")))
    request.httpMethod = "POST"
    request.allHTTPHeaderFields = ["Content-Type": "application/sdp", "Authorization": "Bearer \(try pass(user))"]
    if let address { request.setValue(address, forHTTPHeaderField: "X-Forwarded-For") }
    request.httpBody = Data(ffmpegOffer.utf8)
    let (_, response) = try await URLSession.shared.data(for: request)
    return (response as? HTTPURLResponse)?.statusCode ?? 0
  }
}

extension EndToEnd {
  @Suite struct Moderation {
    private let host = guest.union([.moderate])

    private func users(_ session: RoostSession) async -> [String] {
      await session.currentRoom?.participants.map(\.user) ?? []
    }

    private func operate(_ server: TestServer, _ method: String, _ query: String) async throws -> HTTPAnswer {
      try await server.ask(
        "/admin/bans?\(query)", method: method, headers: ["Authorization": "Bearer \(operatorToken)"])
    }

    @Test func aPersonWithoutTheGrantCanDoNoneOfIt() async throws {
      try await TestServer.asking { server in
        let (anna, ben) = (try await server.come("anna", host), try await server.come("ben"))
        let rooms = [try await anna.join(room: "hall"), try await ben.join(room: "hall")]
        for action in ModerationAction.allCases {
          let error = try await refused {
            try await rooms[1].moderate(
              action, user: "anna", role: .moderator, hold: true, media: action == .media ? .audio : nil)
          }
          #expect(error?.code == .forbidden && error?.data.reason == "moderate", "\(action)")
        }
        // Nor do any of the words that a client may say of itself make somebody a moderator.
        let metadata: RawJSON = ["role": "moderator", "moderate": true]
        _ = try await ben.join(RoomJoinParams(room: "hall", metadata: metadata))
        let error = try await refused { try await rooms[1].moderate(.end) }
        #expect(error?.data.reason == "moderate")
        #expect(await users(anna) == ["anna", "ben"])
        try await rooms[0].moderate(.role, user: "ben", role: .moderator)
        try await rooms[1].moderate(.lock)
        #expect(await eventually { await anna.currentRoom?.moderation?.locked == true })
        await anna.close()
        await ben.close()
      }
    }

    @Test func aBanIsNotEvaded() async throws {
      try await TestServer.asking { server in
        let anna = try await server.come("anna", host)
        let room = try await anna.join(room: "hall")
        let ben = try await server.come("ben", device: "phone")
        _ = try await ben.join(room: "hall")
        #expect(try await server.encode("studio", in: "hall") == 201)
        #expect(await eventually { await users(anna) == ["anna", "ben", "studio"] })

        let until = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
        for user in ["ben", "studio"] { try await room.moderate(.ban, user: user, until: until) }
        #expect(await eventually { await users(anna) == ["anna"] })
        #expect(await eventually { await ben.currentRoom == nil })
        let tablet = try await server.come("ben", device: "tablet")
        for session in [ben, tablet] {
          let error = try await refused { try await session.join(RoomJoinParams(room: "hall", takeover: true)) }
          #expect(error?.code == .banned && error?.data.until == until)
        }
        for user in ["ben", "studio"] {
          #expect(try await server.encode(user, in: "hall") == 403)
          #expect(try await server.encode(user, in: "attic") == 201, "elsewhere they may be")
        }
        try await room.moderate(.unban, user: "ben")
        _ = try await tablet.join(room: "hall")
        // An operator sees the other one and takes it back; those in the room hear of it.
        let heard = await Recorder(anna)
        let bearer = ["Authorization": "Bearer \(operatorToken)"]
        let bans = try await server.ask("/admin/bans?room=hall", headers: bearer)
        #expect(bans.body == #"{"bans":[{"by":"anna","room":"hall","until":\#(until),"user":"studio"}]}"# + "\n")
        let path = "/admin/bans?room=hall&user=studio"
        #expect(try await server.ask(path, method: "DELETE", headers: bearer).body == "{\"lifted\":1}\n")
        #expect(try await server.ask(path, method: "DELETE", headers: bearer).status == 404)
        #expect(try await server.encode("studio", in: "hall") == 201)
        #expect(
          await eventually {
            await heard.messages.contains {
              if case .roomModerated(let event) = $0.event { event.action == .unban && event.by == nil } else { false }
            }
          })
        for session in [anna, ben, tablet] { await session.close() }
      }
    }

    /// Whoever comes from there next is somebody else, and kept out all the same; who comes from elsewhere is not.
    @Test func anAddressIsBannedWithItsUser() async throws {
      try await TestServer.asking(behind: "127.0.0.1") { server in
        let anna = try await server.come("anna", host)
        let room = try await anna.join(room: "hall")
        let ben = try await server.come("ben")
        _ = try await ben.join(room: "hall")
        #expect(try await server.encode("studio", in: "hall", from: "203.0.113.7") == 201)
        #expect(try await server.encode("desk", in: "hall", from: "203.0.113.7") == 201)
        #expect(await eventually { await users(anna) == ["anna", "ben", "studio", "desk"] })
        let error = try await refused { try await room.moderate(.ban, user: "ben", address: true) }
        #expect(error?.code == .forbidden && error?.data.reason == "address", "the proxy does not say whence")
        try await room.moderate(.ban, user: "studio", address: true)
        #expect(await eventually { await users(anna) == ["anna", "ben", "desk"] }, "a neighbour stays")
        let comers: [(String, String, Int)] = [
          ("dora", "203.0.113.7", 403), ("studio", "203.0.113.8", 403), ("dora", "203.0.113.8", 201),
        ]
        for (user, address, status) in comers {
          #expect(try await server.encode(user, in: "hall", from: address) == status, "\(user) from \(address)")
        }
        #expect(try await server.encode("emil", in: "attic", from: "203.0.113.7") == 201, "elsewhere they may be")
        // An operator sees the address, and takes back both.
        let bearer = ["Authorization": "Bearer \(operatorToken)"]
        let bans = try await server.ask("/admin/bans?room=hall", headers: bearer).body
        #expect(
          bans.contains(#"{"address":"203.0.113.7","by":"anna","room":"hall","until":"#) && bans.contains("studio"))
        let path = "/admin/bans?room=hall&user=studio"
        #expect(try await server.ask(path, method: "DELETE", headers: bearer).body == "{\"lifted\":1}\n")
        #expect(try await server.ask("/admin/bans", headers: bearer).body == "{\"bans\":[]}\n")
        for user in ["fred", "studio"] {
          #expect(try await server.encode(user, in: "hall", from: "203.0.113.7") == 201)
        }
        for session in [anna, ben] { await session.close() }
      }
    }

    /// Nothing of the sound reaches anybody from the mute on, and its owner cannot change that.
    @Test func whoIsMutedIsNotHeard() async throws {
      try await TestServer.asking { server in
        let driver = MediaDriver()
        var plan = SyntheticConfiguration.light(server, room: "hall", user: "ben")
        (plan.video, plan.token) = ([], try pass("ben"))
        let ben = try SyntheticParticipant(plan, driver: driver)
        (plan.user, plan.audio, plan.token) = ("carl", nil, try pass("carl"))
        let carl = try SyntheticParticipant(plan, driver: driver)
        try await ben.join()
        try await carl.join()
        @Sendable func packets() async -> UInt64 { await carl.statistics.received.reduce(0) { $0 + $1.packets } }
        #expect(await eventually { await packets() > 10 })
        let anna = try await server.come("anna", host)
        let room = try await anna.join(room: "hall")
        try await room.moderate(.mute, user: "ben", hold: true)
        try await Task.sleep(for: .milliseconds(200 * slowness))
        let before = await packets()
        let session = try #require(await ben.session)
        let track = try #require(await ben.trackIds.values.first)
        let error = try await refused { try await session.request(.track(.unmute(TrackParams(trackId: track)))) }
        #expect(error?.data.reason == "held")
        try await Task.sleep(for: .milliseconds(500))
        #expect(await packets() == before)
        try await room.moderate(.mute, user: "ben", hold: false)
        _ = try await session.request(.track(.unmute(TrackParams(trackId: track))))
        #expect(await eventually { await packets() > before + 10 })
        await anna.close()
        await ben.leave()
        await carl.leave()
        driver.stop()
      }
    }

    @Test func whoKnocksIsLetIn() async throws {
      try await TestServer.asking { server in
        let (anna, dora) = (try await server.come("anna", host), try await server.come("dora"))
        let room = try await anna.join(room: "hall")
        try await room.moderate(.lobby)
        let heard = await Recorder(anna)
        let told = await Recorder(dora)
        let error = try await refused { try await dora.join(room: "hall") }
        #expect(error?.code == .inLobby)
        #expect(await eventually { await heard.count { $0.name == .roomKnock } == 1 })
        try await room.moderate(.admit, user: "dora")
        #expect(await eventually { await told.count { $0.name == .roomModerated } == 1 })
        _ = try await dora.join(room: "hall")
        #expect(await eventually { await users(anna) == ["anna", "dora"] })
        await anna.close()
        await dora.close()
      }
    }

    @Test func locksAndBansOutliveARestart() async throws {
      let folder = try TemporaryFolder()
      try await TestServer.asking(storage: folder.path("roost.db")) { server in
        let anna = try await server.come("anna", host)
        let room = try await anna.join(room: "demo")
        try await room.moderate(.ban, user: "ben")
        try await room.moderate(.lock)
        #expect(try await operate(server, "PUT", "address=203.0.113.0/24").status == 200)
        await anna.close()
      }
      try await TestServer.asking(storage: folder.path("roost.db")) { server in
        for (user, code) in [("ben", ErrorCode.banned), ("carl", .roomLocked)] {
          let session = try await server.come(user)
          let error = try await refused { try await session.join(room: "demo") }
          #expect(error?.code == code)
          await session.close()
        }
        let kept = try await operate(server, "GET", "room=demo").body
        #expect(kept.contains(#""address":"203.0.113.0/24""#) && kept.contains(#""user":"ben""#))
        #expect(try await operate(server, "DELETE", "address=203.0.113.0/24").body == "{\"lifted\":1}\n")
        let anna = try await server.come("anna", host)
        let room = try await anna.join(room: "demo")
        #expect(await room.snapshot?.moderation?.locked == true)
        for action in [ModerationAction.unlock, .unban] { try await room.moderate(action, user: "ben") }
        let ben = try await server.come("ben")
        _ = try await ben.join(room: "demo")
        await anna.close()
        await ben.close()
      }
    }
  }
}
