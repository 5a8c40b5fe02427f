// A server that reads one request a connection and answers with a status line: the other side of the wire in tests.

import Basics
import Foundation
import TestSupport

/// One request as it was read.
public struct TinyRequest: Sendable {
  /// With its query.
  public var path: String
  /// By lower-case name.
  public var headers: [String: String]
  /// All of it.
  public var body: [UInt8]
}

/// A server on loopback, a thread for each connection.
public final class TinyServer: Sendable {
  /// Where it listens.
  public let port: UInt16
  private let listener: Int32
  private let isStopped = Locked(false)

  /// `answer` gives the status and further header lines; nil never answers. Port 0 takes any.
  public init(port wanted: UInt16 = 0, _ answer: @escaping @Sendable (TinyRequest) -> String?) throws {
    (listener, port) = try Loopback.listen(port: wanted)
    Thread.detachNewThread { [listener, isStopped] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0, !isStopped.withLock({ $0 }) else { break }
        Thread.detachNewThread { Self.serve(connection, answer) }
      }
    }
  }

  /// Takes no further connection.
  public func stop() {
    isStopped.withLock { $0 = true }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func serve(_ connection: Int32, _ answer: (TinyRequest) -> String?) {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let request = parse(bytes) {
        guard let status = answer(request) else {
          // Silent until the other side gives up.
          while read(connection, &chunk, chunk.count) > 0 {}
          break
        }
        let text = "HTTP/1.1 \(status)\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        _ = Array(text.utf8).withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
        break
      }
      let count = read(connection, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    close(connection)
  }

  private static func parse(_ bytes: [UInt8]) -> TinyRequest? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    let body = Array(text[end.upperBound...].utf8)
    guard body.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
    return TinyRequest(path: String(lines[0].split(separator: " ")[1]), headers: headers, body: body)
  }
}

/// An HTTP server that remembers what it was sent.
public final class Receiver: Sendable {
  private let requests = Locked<[TinyRequest]>([])
  private let server: TinyServer

  /// `answer` gives the status and further header lines.
  public init(port: UInt16 = 0, _ answer: @escaping @Sendable (TinyRequest) -> String = { _ in "200 OK" }) throws {
    server = try TinyServer(port: port) { [requests] request in
      requests.withLock { $0.append(request) }
      return answer(request)
    }
  }

  /// Where it listens.
  public var port: UInt16 { server.port }
  /// Its root.
  public var url: String { "http://127.0.0.1:\(port)" }
  /// What it was sent, in order.
  public var all: [TinyRequest] { requests.withLock { $0 } }
  /// Takes no further connection.
  public func stop() { server.stop() }
}
