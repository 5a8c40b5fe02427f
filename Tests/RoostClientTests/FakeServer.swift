// The other end of the wire: a server that a test writes the lines of.
import Basics
import Foundation
import RoostProtocol
import WebSockets

@testable import RoostClient

/// Answers each request by a script, and remembers what came.
final class FakeServer: Sendable {
  /// What a script may do with a request.
  struct Call: Sendable {
    /// Which keeps its calls, so they must not keep it.
    weak var server: FakeServer?
    var connection: WebSocketID
    var id: RequestID
    var request: Request

    func reply(_ reply: Reply) { server?.send(.reply(id, reply), to: connection) }
    func refuse(_ error: ErrorObject) { server?.send(.failure(id, error), to: connection) }
    func event(_ seq: Int, _ event: Event) {
      server?.send(.event(EventMessage(seq: seq, serverTime: 0, event: event)), to: connection)
    }
    func hangUp(code: UInt16 = 1011) { server?.web.withLock { $0 }?.close(connection, code: code, reason: "script") }
  }
  typealias Script = @Sendable (Call) -> Void

  let web = Locked<WebServer?>(nil)
  private let calls = Locked<[Call]>([])
  private let closures = Locked<[WebSocketClosure]>([])
  let url: String

  /// `script` sees every request that `hello` and `ping` do not answer by themselves; it returns false for those.
  init(_ script: @escaping @Sendable (Call) -> Bool) throws {
    let box = Box()
    let server = try WebServer.start(
      WebServerConfiguration(addresses: [SocketAddress(v4: 0x7f00_0001, port: 0)])
    ) { event in
      guard let fake = box.fake.withLock({ $0.value }) else { return }
      switch event {
      case .text(let connection, let bytes): fake.take(bytes, connection, script)
      case .closed(_, let closure): fake.closures.withLock { $0.append(closure) }
      default: break
      }
    }
    url = "ws://127.0.0.1:\(server.port)/rtc"
    web.withLock { $0 = server }
    box.fake.withLock { $0.value = self }
  }
  deinit { stop() }

  func stop() {
    let server = web.withLock { web in
      defer { web = nil }
      return web
    }
    server?.stop()
  }

  private func take(_ bytes: [UInt8], _ connection: WebSocketID, _ script: (Call) -> Bool) {
    guard case .request(let id, let request) = ClientFrame.decode(bytes) else { return }
    let call = Call(server: self, connection: connection, id: id, request: request)
    calls.withLock { $0.append(call) }
    if script(call) { return }
    switch request {
    case .session(.hello(let params)): call.reply(.hello(Self.hello(params.user)))
    case .session(.resume): call.reply(.resumed(.replayed(0)))
    default: call.reply(.empty)
    }
  }

  func send(_ frame: ServerFrame, to connection: WebSocketID) {
    guard let bytes = try? frame.encode() else { return }
    web.withLock { $0 }?.send(bytes, to: connection)
  }

  var requests: [Request] { calls.withLock { $0.map(\.request) } }
  var ids: [RequestID] { calls.withLock { $0.map(\.id) } }
  var latest: Call? { calls.withLock { $0.last } }
  var closed: [WebSocketClosure] { closures.withLock { $0 } }

  static func hello(_ user: String, token: String = "secret", idlePingMs: Int64? = nil) -> HelloResult {
    HelloResult(
      sessionId: "s1", resumeToken: token, user: user, deviceId: "d", serverTime: 0,
      limits: ServerLimits(
        messageBytes: 1, chatBytes: 1, metadataBytes: 1, tracks: 8, replayEvents: 512, resumeGraceMs: 15_000,
        idlePingMs: idlePingMs),
      iceServers: [], ringing: [], missed: 0)
  }

  private final class Box: Sendable {
    struct Reference { weak var value: FakeServer? }
    let fake = Locked(Reference())
  }
}

func participant(_ id: String, tracks: [Track] = []) -> Participant {
  Participant(
    participantId: id, user: "user-\(id)", displayName: id, state: .joined, metadata: .emptyObject, tracks: tracks)
}

func snapshot(_ room: String, seq: Int = 0, participants: [Participant] = [participant("p1")]) -> RoomSnapshot {
  RoomSnapshot(
    room: room, kind: "demo", media: .video, limit: 3, count: participants.count, seq: seq, selfId: "p1",
    participants: participants, chat: [])
}

/// Gathers what a stream brings.
final class Gathered: Sendable {
  private let events = Locked<[SessionEvent]>([])
  var all: [SessionEvent] { events.withLock { $0 } }

  init(_ stream: AsyncStream<SessionEvent>) {
    Task { for await event in stream { self.events.withLock { $0.append(event) } } }
  }
  var seqs: [Int] { all.compactMap { if case .event(let message) = $0 { message.seq } else { nil } } }
  var end: SessionEnd? { all.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first }
  func contains(_ test: (SessionEvent) -> Bool) -> Bool { all.contains(where: test) }
}

func quick(_ change: (inout SessionOptions) -> Void = { _ in }) -> SessionOptions {
  var options = SessionOptions()
  options.requestTimeout = .seconds(5)
  options.reconnect = ReconnectPolicy(firstDelay: .milliseconds(20), longestDelay: .milliseconds(100), attempts: 20)
  change(&options)
  return options
}
