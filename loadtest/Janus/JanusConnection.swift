// One session with a Janus gateway over its WebSocket (Janus API, "janus-protocol"): requests and their replies by transaction,
// and events of its handles.

import Basics
import FoundationEssentials
import RoostClient
import RoostProtocol

/// Why a request to Janus failed.
struct JanusError: Error, CustomStringConvertible {
  /// What the video room says where a room is to be made that there is.
  static let roomExists: Int64 = 427
  /// A sentence.
  let description: String
  /// Janus's or its plugin's number; nil where neither said no.
  var code: Int64?
}

/// What a handle's plugin says: its data, and a session description where there is one.
struct JanusMessage: Sendable {
  var handle: Int64
  var data: JSONValue
  var sdp: String?
}

/// A session with Janus. Messages of handles that answer nothing come as `events`, in order.
actor JanusConnection {
  nonisolated let events: AsyncStream<JanusMessage>
  private nonisolated let tellEvent: AsyncStream<JanusMessage>.Continuation
  private static let closed = JanusError(description: "Janus closed the connection")
  private let socket: any MessageTransport
  private let ended: @Sendable () -> Void
  private var waiting: [String: CheckedContinuation<Result<JSONValue, JanusError>, Never>] = [:]
  private var session: Int64?
  private var transactions = 0
  private var isOver = false

  /// `socket` is not open yet; `ended` is called when it has been closed.
  init(_ socket: any MessageTransport, ended: @escaping @Sendable () -> Void) {
    (self.socket, self.ended) = (socket, ended)
    (events, tellEvent) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(4_096))
  }

  /// Opens the socket and a session.
  func open() async throws(RoostError) {
    try await socket.open()
    Task { await self.read() }
    do {
      session = try await request(["janus": "create"])["data"]["id"].integer
      guard session != nil else { throw JanusError(description: "Janus's session has no number") }
    } catch {
      close()
      throw .unreachable("\(error)")
    }
  }

  /// A new handle on the video room plugin.
  func attach() async throws -> Int64 {
    let reply = try await request(["janus": "attach", "plugin": "janus.plugin.videoroom"])
    guard let handle = reply["data"]["id"].integer else { throw JanusError(description: "attached to nothing") }
    return handle
  }

  /// Sends a message to a handle's plugin and returns what it says to it.
  func tell(_ handle: Int64, _ body: JSONValue, sdp: String? = nil, type: String = "offer") async throws -> JanusMessage
  {
    var fields: [String: JSONValue] = ["janus": "message", "handle_id": .integer(handle), "body": body]
    if let sdp { fields["jsep"] = ["type": .string(type), "sdp": .string(sdp)] }
    let reply = try await request(fields)
    let data = reply["plugindata"]["data"]
    if let problem = data["error"].string {
      throw JanusError(description: problem, code: data["error_code"].integer)
    }
    return JanusMessage(handle: handle, data: data, sdp: reply["jsep"]["sdp"].string)
  }

  func close() { socket.close(code: 1000, reason: "") }

  private func request(_ fields: [String: JSONValue]) async throws -> JSONValue {
    if isOver { throw Self.closed }
    transactions += 1
    let transaction = String(transactions)
    var fields = fields
    fields["transaction"] = .string(transaction)
    if let session { fields["session_id"] = .integer(session) }
    socket.send(Array(try JSONEncoder().encode(JSONValue.object(fields))))
    return try await withCheckedContinuation { waiting[transaction] = $0 }.get()
  }

  private func read() async {
    for await event in socket.received {
      if case .text(let bytes) = event, let message = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) {
        take(message)
      }
    }
    isOver = true
    for (_, continuation) in waiting { continuation.resume(returning: .failure(Self.closed)) }
    waiting = [:]
    tellEvent.finish()
    ended()
  }

  private func take(_ message: JSONValue) {
    let kind = message["janus"].string
    if let transaction = message["transaction"].string {
      // First comes that the message was taken, then what became of it.
      if kind == "ack" { return }
      let continuation = waiting.removeValue(forKey: transaction)
      if kind == "error" {
        continuation?.resume(
          returning: .failure(JanusError(description: message["error"]["reason"].string ?? "an error without reason")))
      } else {
        continuation?.resume(returning: .success(message))
      }
    } else if kind == "event", let handle = message["sender"].integer {
      let event = JanusMessage(handle: handle, data: message["plugindata"]["data"], sdp: message["jsep"]["sdp"].string)
      // Without it somebody would not be seen.
      if case .dropped = tellEvent.yield(event) { close() }
    }
  }
}
