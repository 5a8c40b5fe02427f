// An address that an operator has banned, at each door of a running server. A trusted proxy says who comes from where; from this
// machine itself nobody is banned.

import Basics
import Configuration
import Foundation
import RoostProtocol
import TestSupport
import Testing

private let bearer = ["Authorization": "Bearer a long random text"]

/// People who are brought by a proxy on this machine, from an address.
private struct Comers: Sendable {
  let server: TestServer
  let flashphonerPort: UInt16
  let address: String

  /// `in`, or the refusal; what is neither as it came.
  func come(_ name: String, by door: WayIn) async throws -> String {
    switch door {
    case .native: try await native(name)
    case .whip: try await post(name, "whip", whipOffer(lines: [ffmpegAudio, vp8Video]))
    case .whep: try await post(name, "whep", playerOffer)
    case .flashphoner: try await flashphoner(name)
    }
  }

  private func post(_ name: String, _ door: String, _ offer: String) async throws -> String {
    let answer = try await server.send(
      "POST", "/\(door)/hall?name=\(name)", offer,
      headers: ["Content-Type": "application/sdp", "X-Forwarded-For": address])
    if answer.status == 201 { return "in" }
    return answer.isProblem(403, "BANNED") ? "banned" : "\(answer.status) \(answer.body)"
  }

  private func socket(_ port: UInt16, _ path: String) throws -> RawSocket {
    let socket = try RawSocket(port: port)
    socket.upgrade(path: path, headers: "X-Forwarded-For: \(address)\r\n")
    return socket
  }

  /// The first message that has this in it.
  private func answer(_ socket: RawSocket, _ mark: String) async -> String {
    _ = await eventually { socket.texts.contains { $0.contains(mark) } || socket.isOver }
    return socket.texts.first { $0.contains(mark) } ?? "nothing but \(socket.texts)"
  }

  private func native(_ name: String) async throws -> String {
    let socket = try socket(server.server.port, "/rtc")
    socket.say(#"{"jsonrpc":"2.0","id":1,"method":"session.hello","params":{"user":"\#(name)"}}"#)
    _ = await answer(socket, "resumeToken")
    socket.say(#"{"jsonrpc":"2.0","id":2,"method":"room.join","params":{"room":"hall"}}"#)
    let answer = await answer(socket, #""id":2"#)
    if answer.contains(#""self":"#) { return "in" }
    return answer.contains(#""code":2009"#) && answer.contains(#""reason":"address""#) ? "banned" : answer
  }

  private func flashphoner(_ name: String) async throws -> String {
    let socket = try socket(flashphonerPort, "/")
    socket.say(
      #"{"message":"connection","data":[{"appKey":"roomApp","mediaProviders":["WebRTC"],"custom":{"login":"\#(name)"}}]}"#
    )
    _ = await answer(socket, "getUserData")
    let join = #"{"command":"join","options":{"name":"hall"}}"#
    socket.say(#"{"message":"sendData","data":[{"operationId":"join","payload":\#(join)}]}"#)
    let answer = await answer(socket, "DataStatusEvent")
    if answer.contains("ACCEPTED") { return "in" }
    return answer.contains("You are not let into this room.") ? "banned" : answer
  }
}

extension EndToEnd {
  @Suite struct AddressBans {
    @Test func noDoorLetsABannedAddressIn() async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.access.isOpen = true
        $0.admin.token = "a long random text"
        $0.listen.trustedProxies = AddressRange("127.0.0.1").map { [$0] } ?? []
        $0.flashphoner.port = port
      }) { server in
        func comers(_ address: String) -> Comers { Comers(server: server, flashphonerPort: port, address: address) }
        let (banned, others) = (comers("203.0.113.7"), comers("203.0.113.8"))
        #expect(try await others.come("studio", by: .whip) == "in", "players need something to play")
        let put = try await server.ask("/admin/bans?address=203.0.113.7", method: "PUT", headers: bearer)
        #expect(put.status == 200 && put.body.hasPrefix(#"{"bans":[{"address":"203.0.113.7","until":"#), "\(put.body)")
        for door in WayIn.allCases {
          #expect(try await banned.come("a-\(door)", by: door) == "banned", "\(door)")
          #expect(try await others.come("b-\(door)", by: door) == "in", "\(door)")
        }
        // This machine and its proxy are not to be banned: they bring everybody.
        for address in ["127.0.0.1", "127.0.0.2", "::1", "10.0.0.0/8", "nowhere"] {
          let path = "/admin/bans?address=\(address)"
          #expect(try await server.ask(path, method: "PUT", headers: bearer).status == 400, "\(address)")
        }
        let lift = "/admin/bans?address=203.0.113.7"
        #expect(try await server.ask(lift, method: "DELETE", headers: bearer).body == "{\"lifted\":1}\n")
        #expect(try await server.ask(lift, method: "DELETE", headers: bearer).status == 404)
        for door in WayIn.allCases { #expect(try await banned.come("c-\(door)", by: door) == "in", "\(door)") }
        let lines = server.log.all
        #expect(
          lines.contains { $0.contains("address_banned") } && lines.contains { $0.contains("address_ban_lifted") })
      }
    }
  }
}
