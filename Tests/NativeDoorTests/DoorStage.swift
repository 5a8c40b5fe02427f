// What tests of the front door begin with: a door over real sockets, a scripted core behind it, and its clients.
import Basics
import Foundation
import Logging
import Members
import RoostProtocol
import TestSupport
import Testing
import Threads
import WebSockets

@testable import DoorKit
@testable import NativeDoor

/// A door, its server, and what the core would have heard.
final class Stage: Sendable {
  private let heard = Locked<[Command]>([])
  private let lines = Locked<[String]>([])
  let server: WebServer
  let door: FrontDoor

  init(
    limits: DoorLimits = DoorLimits(), webLimits: WebSocketLimits = WebSocketLimits(),
    clock: @escaping @Sendable () -> Instant = MonotonicClock.now,
    isOverloaded: @escaping @Sendable (SocketAddress?) -> Bool = { _ in false },
    verifier: any IdentityVerifier = OpenAccess(), tokenLimits: TurnLimits = TokenGate.limits,
    holdsStrangers: Bool = false, strangersBytes: Int? = nil,
    level: LogLevel = .debug,
    core: @escaping @Sendable (Command) -> [ClientEffect] = { _ in [] }
  ) throws {
    struct Late { weak var stage: Stage? }
    final class Box: Sendable { let late = Locked(Late()) }
    let box = Box()
    var limits = limits
    if !holdsStrangers { limits.strangersPerSecond = limits.requestsPerSecond }
    if !holdsStrangers { (limits.strangersBurst, limits.strangersTooFast) = (limits.burst, limits.mostTooFast) }
    let log = Logger(level: level) { line in
      box.late.withLock { $0.stage }?.lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    door = FrontDoor(
      limits: limits, log: log, clock: clock, tokens: TokenGate(verifier, log: log, clock: clock, limits: tokenLimits),
      isOverloaded: isOverloaded
    ) { command in
      guard let stage = box.late.withLock({ $0.stage }) else { return }
      stage.heard.withLock { $0.append(command) }
      for effect in core(command) { stage.door.carryOut(effect) }
    }
    var configuration = WebServerConfiguration(
      addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)], limits: webLimits)
    if let strangersBytes {
      (configuration.strangersBytesAtOnce, configuration.strangersBytesPerSecond) = (strangersBytes, 1)
    }
    server = try WebServer.start(configuration, makeHandler: door.handler)
    box.late.withLock { $0.stage = self }
  }
  deinit { server.stop() }

  var commands: [Command] { heard.withLock { $0 } }
  var log: [String] { lines.withLock { $0 } }
  var requests: [(ConnectionID, RequestID, Request)] {
    commands.compactMap { if case .request(let c, let i, let r) = $0 { (c, i, r) } else { nil } }
  }
  var closures: [Bool] { commands.compactMap { if case .connectionClosed(_, let clean) = $0 { clean } else { nil } } }

  func connect() throws -> Peer {
    let peer = Peer()
    peer.client.withLock { client in
      client = try? WebSocketClient.connect(
        to: WebSocketURL("ws://127.0.0.1:\(server.port)/rtc"), limits: WebSocketLimits(maximumQueuedBytes: 1 << 24),
        handler: { event in peer.take(event) })
    }
    return peer
  }
}

/// A client that says anything and keeps what it hears.
final class Peer: Sendable {
  let client = Locked<WebSocketClient?>(nil)
  private let events = Locked<[WebSocketEvent]>([])

  func take(_ event: WebSocketEvent) { events.withLock { $0.append(event) } }
  func say(_ text: String) { client.withLock { $0 }?.send(Array(text.utf8)) }
  func ask(_ id: Int, _ method: String, _ params: String = "{}") {
    say(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#)
  }
  func close(code: UInt16) { client.withLock { $0 }?.close(code: code) }

  var texts: [String] {
    events.withLock { $0 }.compactMap {
      if case .text(_, let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }
  var closure: WebSocketClosure? {
    events.withLock { $0 }.lazy.compactMap { if case .closed(_, let closure) = $0 { closure } else { nil } }.first
  }
  /// The errors that came, as `(id, code)`.
  var errors: [(id: String, code: Int)] {
    texts.compactMap { text in
      guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
        let error = object["error"] as? [String: Any], let code = error["code"] as? Int
      else { return nil }
      return (object["id"].map { $0 is NSNull ? "null" : "\($0)" } ?? "absent", code)
    }
  }
}

/// Knows one token.
struct Doorkeeper: IdentityVerifier {
  static let anna = Identity(
    user: "anna@example.org", device: nil, displayName: "Anna", rights: [.join, .chat], isVerified: true)

  static func anna(of network: PeerNetwork) -> Identity {
    var anna = anna
    anna.network = network
    return anna
  }

  func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    guard hello.token == "good" else { throw UnprovenIdentity(.signature) }
    return Self.anna
  }

  func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? {
    guard token == "good" else { throw UnprovenIdentity(.expired) }
    return Self.anna
  }
}

/// Answers everything with `{}`.
let obliging: @Sendable (Command) -> [ClientEffect] = { command in
  guard case .request(let connection, let id, _) = command else { return [] }
  return [.reply(connection, id, .success(.empty))]
}
