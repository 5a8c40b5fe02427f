// Somebody who comes by one of the doors, in that door's words: what the table of scenarios says once for all doors.

import Foundation
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

/// A way into a room.
enum WayIn: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case native, whip, whep, flashphoner
  var testDescription: String { rawValue }
}

/// Somebody at a door. What a door has no word for is not asked of it: the table says so.
protocol Comer: Sendable {
  /// Nil where there is a seat, else the core's name of the refusal.
  func join(_ room: String) async throws -> String?
  /// Whether the door's answer is a success.
  func leave() async throws -> Bool
  /// Whether what was said was taken.
  func say(_ text: String, to: [String]) async throws -> Bool
  /// What others have said, as `who: what`.
  func heard() async -> [String]
  /// Publishes sound and pictures, or has done so by coming.
  func publish() async throws
  func setMuted(_ isMuted: Bool) async throws
  func close() async
}

struct NoWord: Error {}

extension Comer {
  func say(_ text: String, to: [String]) async throws -> Bool { throw NoWord() }
  func heard() async -> [String] { [] }
  func publish() async throws {}
  func setMuted(_ isMuted: Bool) async throws { throw NoWord() }
}

/// By Roost's own protocol.
final class NativeComer: Comer {
  let name: String
  private let client: Client
  private let participant: SyntheticParticipant

  /// `name` is what others see; whoever publishes does so with media.
  init(_ name: String, url: String, driver: MediaDriver) async throws {
    self.name = name
    client = try await Client(url, name)
    var plan = SyntheticConfiguration(url: url, room: "demo", user: name)
    plan.video = [.light]
    participant = try SyntheticParticipant(plan, driver: driver)
  }

  func join(_ room: String) async throws -> String? {
    try await refused { try await client.session.join(room: room) }?.code.name
  }

  func leave() async throws -> Bool {
    let room = await client.session.currentRoom?.room ?? "demo"
    return try await refused { try await client.session.request(.room(.leave(RoomParams(room: room)))) } == nil
  }

  func say(_ text: String, to: [String]) async throws -> Bool {
    let params = ChatSendParams(room: "demo", text: text, to: to.isEmpty ? nil : to)
    return try await refused { try await client.session.request(.chat(.send(params))) } == nil
  }

  func heard() async -> [String] { await client.heard.story().filter { $0.contains(": ") } }

  /// The one with media takes the seat of the one without.
  func publish() async throws {
    _ = try await leave()
    try await participant.join()
  }

  func setMuted(_ isMuted: Bool) async throws { try await participant.setMuted("microphone", isMuted) }

  func close() async {
    await participant.leave()
    await client.session.close()
  }
}

/// By WHIP or WHEP: one POST, one DELETE.
actor HTTPComer: Comer {
  let name: String
  private let door: WayIn
  private let server: TestServer
  private let sound: Bool
  private var path: String?

  /// `sound`: whether the offer is of sound alone.
  init(_ name: String, _ door: WayIn, _ server: TestServer, sound: Bool = false) {
    (self.name, self.door, self.server, self.sound) = (name, door, server, sound)
  }

  /// A publisher of Opus and VP8, or of Opus alone.
  private var offer: String {
    if door == .whep { return sound ? whepOffer(audio: true, video: []) : playerOffer }
    return whipOffer(lines: sound ? [ffmpegAudio] : [ffmpegAudio, vp8Video])
  }

  func join(_ room: String) async throws -> String? {
    let answer = try await server.send(
      "POST", "/\(door.rawValue)/\(room)?name=\(name)", offer, headers: ["Content-Type": "application/sdp"])
    guard answer.status == 201 else {
      let problem = try? JSONDecoder().decode(JSONValue.self, from: Data(answer.bytes))
      return problem?["code"].string ?? "\(answer.status) \(answer.body)"
    }
    path = try server.path(of: answer, in: "/")
    return nil
  }

  func leave() async throws -> Bool {
    guard let path else { return false }
    return try await server.ask(path, method: "DELETE").status == 200
  }

  func close() async { _ = try? await leave() }
}

/// As an app of Flashphoner's SDKs.
actor FlashphonerComer: Comer {
  let name: String
  private let socket: any MessageTransport
  private var messages: [JSONValue] = []
  private var operations = 0
  private var room = "demo"

  init(_ name: String, port: UInt16, token: String? = nil) async throws {
    self.name = name
    socket = try defaultTransport("ws://127.0.0.1:\(port)/")
    try await socket.open()
    let events = socket.received
    Task { [weak self] in
      for await event in events {
        guard case .text(let bytes) = event, let message = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        else { continue }
        await self?.take(message)
      }
    }
    let custom: JSONValue = ["login": .string(name), "token": token.map { .string($0) } ?? .null]
    try send("connection", ["appKey": "roomApp", "mediaProviders": ["WebRTC"], "custom": custom])
    #expect(await eventually { @Sendable in await self.has("getUserData") })
  }

  /// What somebody is told who is not let in under a login, as JSON.
  static func refusal(of login: String, port: UInt16) async throws -> String {
    let socket = try defaultTransport("ws://127.0.0.1:\(port)/")
    try await socket.open()
    let wish: JSONValue = [
      "message": "connection", "data": [["appKey": "roomApp", "custom": ["login": .string(login)]]],
    ]
    socket.send(Array(try JSONEncoder().encode(wish)))
    for await event in socket.received {
      if case .text(let bytes) = event { return String(decoding: bytes, as: UTF8.self) }
    }
    return "closed"
  }

  private func take(_ message: JSONValue) { messages.append(message) }
  private func has(_ word: String) -> Bool { messages.contains { $0["message"].string == word } }

  private func send(_ word: String, _ data: JSONValue) throws {
    let message: JSONValue = ["message": .string(word), "data": .array([data])]
    socket.send(Array(try JSONEncoder().encode(message)))
  }

  /// What the door says to a command: nil where it is accepted.
  private func command(_ command: String, _ options: JSONValue) async throws -> String? {
    operations += 1
    let id = "\(name)-\(operations)"
    try send("sendData", ["operationId": .string(id), "payload": ["command": .string(command), "options": options]])
    #expect(await eventually { @Sendable in await self.status(id) != nil }, "\(command) is answered")
    let status = status(id) ?? .null
    return status["status"] == "ACCEPTED" ? nil : status["info"].string ?? "no reason"
  }

  private func status(_ operation: String) -> JSONValue? {
    messages.lazy.filter { $0["message"].string == "DataStatusEvent" }.compactMap { $0["data"].array.first }
      .first { $0["operationId"].string == operation }
  }

  /// Its words for what the core refuses.
  private static let names = [
    "Room is full": "ROOM_FULL", "Somebody in the room has this login": "NAME_TAKEN",
    "You are not in this room": "NOT_JOINED",
  ]

  func join(_ room: String) async throws -> String? {
    self.room = room
    return try await command("join", ["name": .string(room)]).map { Self.names[$0] ?? $0 }
  }

  func leave() async throws -> Bool { try await command("leave", ["name": .string(room)]) == nil }

  func say(_ text: String, to: [String]) async throws -> Bool {
    let receivers = JSONValue.array(to.map { .string($0) })
    return try await command(
      "sendMessage", ["roomConfig": ["name": .string(room)], "to": receivers, "text": .string(text)]) == nil
  }

  /// What the room's news of this name tell.
  private func news(_ name: String) -> [JSONValue] {
    messages.filter { $0["message"].string == "OnDataEvent" }.compactMap { $0["data"].array.first?["payload"] }
      .filter { $0["name"].string == name }.map { $0["info"] }
  }

  func heard() async -> [String] {
    news("MESSAGE").map { "\($0["from"].string ?? ""): \($0["text"].string ?? "")" }
  }

  /// Who else publishes, as `STATE` said.
  func state() -> [String] { news("STATE").first?.array.compactMap { $0["login"].string } ?? [] }

  func publish() async throws {
    try publish("m1", ffmpegOffer)
    #expect(await eventually { @Sendable in await self.has("setRemoteSDP") }, "the stream is answered")
  }

  private func publish(_ id: String, _ sdp: String) throws {
    try send(
      "publishStream",
      [
        "mediaSessionId": .string(id), "name": .string("\(room)-\(name)-1a2b"), "sdp": .string(sdp),
        "mediaProvider": "WebRTC", "custom": ["name": .string(room)],
      ])
  }

  /// Why a stream with this offer fails.
  func failure(of sdp: String, as id: String) async throws -> String? {
    try publish(id, sdp)
    #expect(await eventually { @Sendable in await self.failure(id) != nil }, "it fails")
    return failure(id)
  }

  private func failure(_ id: String) -> String? {
    messages.lazy.filter { $0["message"].string == "fail" }.compactMap { $0["data"].array.first }
      .first { $0["id"].string == id }?["info"].string
  }

  func setMuted(_ isMuted: Bool) throws {
    try send("sendStreamEvent", ["mediaSessionId": "m1", "type": isMuted ? "audioMuted" : "audioUnmuted"])
  }

  func close() async { socket.close(code: 1000, reason: "") }
}
