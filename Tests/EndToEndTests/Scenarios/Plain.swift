// HTTP as small as it gets, on blocking sockets of loopback: one GET, and a receiver of webhooks.

import Basics
import Foundation
import Glibc
import RoostProtocol
import TestSupport
import TinyHTTP

extension Loopback {
  /// The whole answer to a GET.
  static func get(_ path: String, port: UInt16) throws -> String {
    let descriptor = try connect(port)
    defer { close(descriptor) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8)
    guard write(descriptor, request, request.count) == request.count else { throw Failure(step: "write") }
    return String(decoding: readAll(descriptor), as: UTF8.self)
  }

  private static func readAll(_ descriptor: Int32) -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { result += buffer.prefix(count) }
    return result
  }
}

extension TestServer {
  /// All metrics, by name and labels as they stand: `roost_packets_dropped_total{reason="malformed"}`.
  func metrics() async throws -> [String: Int] {
    let port = server.port
    let page = try await Task.detached { try Loopback.get("/metrics", port: port) }.value
    var result: [String: Int] = [:]
    for line in page.split(whereSeparator: \.isNewline) where line.hasPrefix("roost_") {
      guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
      result[String(line[..<space])] = Int(value)
    }
    return result
  }

  /// The value of a metric without labels; −1 when there is none.
  func metric(_ name: String) async throws -> Int { try await metrics()[name] ?? -1 }
}

/// Receives webhooks and remembers them in the order in which they were taken.
final class HookReceiver: Sendable {
  /// One POST.
  struct Hook: Sendable {
    var request: TinyRequest

    var path: String { request.path }
    var headers: [String: String] { request.headers }
    var body: [UInt8] { request.body }
    var json: JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: Data(body)) }
    subscript(_ key: String) -> String? {
      guard case .object(let object) = json, case .string(let text)? = object[key] else { return nil }
      return text
    }
  }

  private let hooks = Locked<[Hook]>([])
  private let status = Locked(200)
  private let server: TinyServer

  init() throws {
    server = try TinyServer { [hooks, status] request in
      let code = status.withLock { $0 }
      if code == 200 { hooks.withLock { $0.append(Hook(request: request)) } }
      return "\(code) Fine"
    }
  }

  /// What came, in order.
  var all: [Hook] { hooks.withLock { $0 } }
  var url: String { "http://127.0.0.1:\(server.port)/hooks" }

  /// What to answer from now on.
  func answers(_ code: Int) { status.withLock { $0 = code } }

  /// Waits for the first that is wanted.
  func first(_ isWanted: @Sendable (Hook) -> Bool) async -> Hook? {
    _ = await eventually(within: .seconds(60)) { all.contains(where: isWanted) }
    return all.first(where: isWanted)
  }

  func stop() { server.stop() }
}
