// One who plays as an app with Flashphoner's room API does: a WebSocket of text frames {"message": WORD, "data": [...]}.
//
//   connection ─▶ getUserData ─▶ join ─▶ STATE: whose streams there are ─▶ playStream ─▶ setRemoteSDP

import FoundationEssentials
import RoostClient
import RoostProtocol

/// A seat in one room with one stream that is played.
final class FlashphonerPlayer: Player {
  private static let mediaSession = "played"
  private static let pong = frame("pong", .null)
  private let plan: PlayerPlan
  private let configuration: SyntheticConfiguration
  private let transport: Result<any MessageTransport, RoostError>

  init(_ plan: PlayerPlan, _ configuration: SyntheticConfiguration) {
    (self.plan, self.configuration) = (plan, configuration)
    do throws(RoostError) {
      transport = .success(try configuration.session.transport(plan.url))
    } catch {
      transport = .failure(error)
    }
  }

  func play(_ offer: String) async throws(SyntheticError) -> String {
    let socket: any MessageTransport
    do throws(RoostError) {
      socket = try transport.get()
      try await socket.open()
    } catch {
      throw .signalling(error)
    }
    let patience = configuration.session.requestTimeout
    let watch = Task {
      try await Task.sleep(for: patience)
      socket.close(code: 1000, reason: "no answer")
    }
    defer { watch.cancel() }
    say(socket, "connection", connection)
    var last = "nothing"
    for await event in socket.received {
      guard case .text(let bytes) = event, let message = Self.read(bytes) else { continue }
      last = String(decoding: bytes, as: UTF8.self)
      if let answer = try take(message, offer, socket) {
        // Its pings are answered as long as the stream is played.
        Task { for await event in socket.received { Self.answerPing(event, socket) } }
        return answer
      }
    }
    throw .state("Flashphoner's door closed; it last said \(last)")
  }

  func stop() async { if case .success(let socket) = transport { socket.close(code: 1000, reason: "") } }

  /// Does what follows a message; the answer to the offer where it is one.
  private func take(
    _ message: Message, _ offer: String, _ socket: any MessageTransport
  ) throws(SyntheticError) -> String? {
    switch message.word {
    case "ping": socket.send(Self.pong)
    case "getUserData":
      say(
        socket, "sendData",
        ["operationId": "join", "payload": ["command": "join", "options": ["name": .string(configuration.room)]]])
    case "DataStatusEvent" where message.first["status"].string == "FAILED", "fail":
      throw .state("Flashphoner's door refused: \(message.first["info"].string ?? "no reason")")
    case "OnDataEvent" where message.first["payload"]["name"].string == "STATE":
      let streams = message.first["payload"]["info"].array
      guard let stream = streams.first(where: { $0["login"].string == plan.publisher })?["name"].string else {
        throw .state("\(plan.publisher) has no stream in \(configuration.room)")
      }
      say(
        socket, "playStream",
        [
          "mediaSessionId": .string(Self.mediaSession), "name": .string(stream), "sdp": .string(offer),
          "mediaProvider": "WebRTC", "hasAudio": true, "hasVideo": true,
          "custom": ["name": .string(configuration.room)],
        ])
    case "setRemoteSDP" where message.data.count > 1: return message.data[1].string
    default: break
    }
    return nil
  }

  private var connection: JSONValue {
    var custom: [String: JSONValue] = ["login": .string(configuration.user)]
    if let token = configuration.token { custom["token"] = .string(token) }
    return ["appKey": "roomApp", "mediaProviders": ["WebRTC"], "keepAlive": true, "custom": .object(custom)]
  }

  // MARK: Frames

  private struct Message {
    var word: String
    var data: [JSONValue]
    var first: JSONValue { data.first ?? .null }
  }

  private static func read(_ bytes: [UInt8]) -> Message? {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)), let word = value["message"].string
    else { return nil }
    return Message(word: word, data: value["data"].array)
  }

  private static func answerPing(_ event: TransportEvent, _ socket: any MessageTransport) {
    if case .text(let bytes) = event, read(bytes)?.word == "ping" { socket.send(pong) }
  }

  private static func frame(_ word: String, _ data: JSONValue) -> [UInt8] {
    let message: JSONValue = ["message": .string(word), "data": .array([data])]
    return (try? JSONEncoder().encode(message)).map(Array.init) ?? []
  }

  private func say(_ socket: any MessageTransport, _ word: String, _ data: JSONValue) {
    socket.send(Self.frame(word, data))
  }
}
