// A client that says what it likes: text frames as they are, well-formed or not.

import Basics
import Foundation
import RoostClient
import RoostProtocol
import TestSupport
import Testing

/// A WebSocket of the test's own, with the texts that came.
final class RawClient: Sendable {
  private let transport: any MessageTransport
  private let texts = Locked<[[UInt8]]>([])
  private let closure = Locked<UInt16??>(nil)

  init(_ url: String) throws { transport = try defaultTransport(url) }

  /// Connects and begins to read.
  func open() async throws {
    try await transport.open()
    let received = transport.received
    Task { [self] in
      for await event in received {
        switch event {
        case .text(let bytes): texts.withLock { $0.append(bytes) }
        case .closed(let code, _): closure.withLock { $0 = .some(code) }
        }
      }
    }
  }

  func say(_ text: String) async throws { transport.send(Array(text.utf8)) }

  func close(code: UInt16) { transport.close(code: code, reason: "") }

  var isClosed: Bool { closure.withLock { $0 != nil } }

  /// The texts that came so far.
  var all: [String] { texts.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }

  /// How many replies with this id came.
  func replies(to id: Int) -> [String] { all.filter { $0.contains("\"id\":\(id),") || $0.contains("\"id\":\(id)}") } }

  /// The codes of all errors that came, in order.
  var errorCodes: [Int] {
    struct Failure: Decodable {
      struct Body: Decodable { var code: Int }
      var error: Body?
    }
    return all.compactMap { try? JSONDecoder().decode(Failure.self, from: Data($0.utf8)).error?.code }
  }

  /// The first reply with this id.
  func reply(to id: Int) async throws -> String {
    _ = await eventually(within: .seconds(60)) { !replies(to: id).isEmpty || isClosed }
    return try #require(replies(to: id).first, "no reply to \(id), \(isClosed ? "closed" : "open"), among \(all)")
  }
}
