// What one user and one address may have of sessions and rooms, at each door.

import Basics
import Configuration
import Foundation
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct SharesAtTheDoors {
    /// A server with a publisher in the configured room `demo`, for players to play. It has one session.
    private struct Scene {
      let server: TestServer
      let door: WayIn
      let port: UInt16
      let driver = MediaDriver()

      func comer(_ name: String) async throws -> any Comer {
        switch door {
        case .native: try await NativeComer(name, url: server.url, driver: driver)
        case .whip, .whep: HTTPComer(name, door, server)
        case .flashphoner: try await FlashphonerComer(name, port: port)
        }
      }
    }

    private func with(
      _ door: WayIn, _ change: @escaping (inout ServerConfiguration) -> Void, _ body: (Scene) async throws -> Void
    ) async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.flashphoner.port = port
        $0.rooms["demo"]?.videoLimit = 10
        change(&$0)
      }) { server in
        let scene = Scene(server: server, door: door, port: port)
        let studio = HTTPComer("studio", .whip, server)
        #expect(try await studio.join("demo") == nil)
        try await body(scene)
        await studio.close()
        scene.driver.stop()
      }
    }

    /// Why somebody does not come in who is one too many: at their hello, or when they join.
    private func refusal(_ scene: Scene, _ name: String, _ room: String = "demo") async throws -> String? {
      do {
        let comer = try await scene.comer(name)
        let why = try await comer.join(room)
        await comer.close()
        return why
      } catch let error as RoostError {
        return error.code.map { ErrorCode(rawValue: $0)?.name ?? "\($0)" }
      }
    }

    /// Whether they come in after a while.
    private func comesIn(_ scene: Scene, _ name: String, _ room: String = "demo") async -> Bool {
      await eventually {
        do { return try await refusal(scene, name, room) == nil } catch { return false }
      }
    }

    /// A refusal in the words of a door: codes have names, and Flashphoner's SDKs show a text.
    private func isOverload(_ why: String?) -> Bool {
      why == "OVERLOADED" || why?.contains("as one address may: ") == true
    }

    @Test(arguments: WayIn.allCases) func sessionsOfAnAddress(_ door: WayIn) async throws {
      try await with(door, { $0.limits.sessionsPerAddress = 3 }) { scene in
        let comers = [try await scene.comer("a"), try await scene.comer("b")]
        for comer in comers { #expect(try await comer.join("demo") == nil) }
        let why = try await refusal(scene, "c")
        #expect(isOverload(why), "\(why ?? "let in")")
        await comers[0].close()
        #expect(await comesIn(scene, "c"))
        await comers[1].close()
      }
    }

    /// Players come where something is published, and so open no room.
    @Test(arguments: [WayIn.native, .whip, .flashphoner]) func roomsOfAnAddress(_ door: WayIn) async throws {
      try await with(door, { $0.limits.roomsPerAddress = 2 }) { scene in
        let comers = [try await scene.comer("a"), try await scene.comer("b")]
        for (comer, room) in zip(comers, ["x", "y"]) { #expect(try await comer.join(room) == nil) }
        let why = try await refusal(scene, "c", "z")
        #expect(isOverload(why), "\(why ?? "let in")")
        for room in ["demo", "x"] { #expect(try await refusal(scene, "d", room) == nil) }
        #expect(try await comers[0].leave())
        #expect(await comesIn(scene, "c", "z"))
        for comer in comers { await comer.close() }
      }
    }

    private static func publish(
      _ server: TestServer, _ path: String, _ headers: [String: String]
    ) async throws -> HTTPAnswer {
      let type = ["Content-Type": "application/sdp"]
      return try await server.send(
        "POST", path, whipOffer(lines: [ffmpegAudio]), headers: type.merging(headers) { $1 })
    }

    /// By HTTP, with one token: an encoder for each stream.
    @Test func sessionsAndRoomsOfAUser() async throws {
      let port = try freePort()
      try await TestServer.withTokens({
        ($0.limits.sessionsPerUser, $0.limits.roomsPerUser, $0.flashphoner.port) = (3, 2, port)
      }) { server in
        let own = try token("anna", everyGrant)
        let publish = { (room: String, token: String) in
          try await Self.publish(server, "/whip/\(room)", ["Authorization": "Bearer \(token)"])
        }
        for room in ["x", "y"] { #expect(try await publish(room, own).status == 201) }
        let third = try await publish("z", own)
        #expect(third.isProblem(503, "OVERLOADED") && third.header("Retry-After") != nil, "\(third.body)")
        #expect(third.body.contains("You hold as many rooms open alone as one user may: 2"))
        // Her third session, natively; a client of Flashphoner's SDKs would be the fourth, whatever it joins.
        let session = try await server.connect("anna", token: own)
        let phone = try await FlashphonerComer("anna", port: port, token: own)
        #expect(try await phone.join("demo")?.contains("You have as many sessions as one user may: 3") == true)
        let error = try await refused { try await server.connect("anna", token: own) }
        #expect(error?.code == .overloaded && error?.data.limit == 3 && error?.data.reason == "sessions_per_user")
        #expect(try await publish("x", token("ben", everyGrant)).status == 201, "others have their own share")
        #expect(try await publish("z", own).status == 503)
        await session.close()
        // All rooms of the client are one session.
        let isIn = await eventually {
          do { return try await phone.join("demo") == nil } catch { return false }
        }
        #expect(isIn)
        #expect(try await phone.join("elsewhere") == nil, "a further room of the client is no further session")
        #expect(try await phone.join("third")?.contains("as many rooms open alone") == true)
        await phone.close()
      }
    }

    /// Whom a trusted proxy brings has a share of their own.
    @Test func behindAProxyTheAddressIsTheClients() async throws {
      let proxy = try #require(AddressRange("127.0.0.1"))
      try await TestServer.with({
        $0.access.isOpen = true
        $0.limits.sessionsPerAddress = 1
        $0.listen.trustedProxies = [proxy]
      }) { server in
        // Of IPv6 one customer has 64 bits.
        let cases: [(name: String, client: String, status: Int)] = [
          ("a", "203.0.113.1", 201), ("b", "203.0.113.1", 503), ("b", "203.0.113.2", 201),
          ("c", "2001:db8:0:1::1", 201), ("d", "2001:db8:0:1:ffff::2", 503), ("d", "2001:db8:0:2::1", 201),
        ]
        for one in cases {
          let path = "/whip/studio?name=\(one.name)"
          let status = try await Self.publish(server, path, ["X-Forwarded-For": one.client]).status
          #expect(status == one.status, "\(one)")
        }
      }
    }
  }
}
