// A WebSocket of a client that knows nothing of the protocol: text out, text in.

import Foundation
import WebSockets

final class TestSocket: Sendable {
  private let client: WebSocketClient
  private let received: AsyncStream<[UInt8]?>
  private let arriving: AsyncStream<[UInt8]?>.Continuation

  init(port: UInt16) throws {
    let (received, arriving) = AsyncStream.makeStream(of: [UInt8]?.self)
    self.received = received
    self.arriving = arriving
    client = try WebSocketClient.connect(to: WebSocketURL("ws://127.0.0.1:\(port)/rtc")) { event in
      switch event {
      case .text(_, let bytes): arriving.yield(bytes)
      case .closed: arriving.finish()
      default: break
      }
    }
  }

  deinit { client.close(code: 1001) }

  func send(_ text: [UInt8]) { client.send(text) }

  /// The next message; nil when the socket is closed, or nothing comes for ten seconds.
  func next() async throws -> [String: Any]? {
    let timer = Task { [arriving] in
      try await Task.sleep(for: .seconds(10))
      arriving.yield(nil)
    }
    defer { timer.cancel() }
    for await bytes in received { return try bytes.map(JSON.object) }
    return nil
  }
}
