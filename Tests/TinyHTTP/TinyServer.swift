// A server that reads one request a connection and answers with a status line: the other side of the wire in tests.

import Basics
import Dispatch
import Foundation
import Glibc
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

/// What it is answered.
public struct TinyAnswer: Sendable {
  /// The status and further header lines.
  public var status: String
  /// What follows them.
  public var body: [UInt8]

  /// An answer, with this text for its body.
  public init(_ status: String, _ body: String = "") { (self.status, self.body) = (status, Array(body.utf8)) }
}

/// A server on loopback, a thread for each connection.
public final class TinyServer: Sendable {
  /// Where it listens.
  public let port: UInt16
  private let listener: Int32
  private let isStopped = Locked(false)
  private let hasEnded = DispatchSemaphore(value: 0)

  /// `answer` gives the status and further header lines; nil never answers, and an empty one closes the connection. Port 0 takes any.
  public convenience init(
    port wanted: UInt16 = 0, keepsAlive: Bool = false, _ answer: @escaping @Sendable (TinyRequest) -> String?
  ) throws {
    try self.init(wanted, keepsAlive, { request in answer(request).map { TinyAnswer($0) } })
  }

  /// The same with bodies.
  public static func answering(
    _ answer: @escaping @Sendable (TinyRequest) -> TinyAnswer?
  ) throws -> TinyServer { try TinyServer(0, false, answer) }

  private init(
    _ wanted: UInt16, _ keepsAlive: Bool, _ answer: @escaping @Sendable (TinyRequest) -> TinyAnswer?
  ) throws {
    (listener, port) = try Loopback.listen(port: wanted)
    Thread.detachNewThread { [listener, isStopped, hasEnded] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0, !isStopped.withLock({ $0 }) else {
          if connection >= 0 { close(connection) }
          break
        }
        Thread.detachNewThread { Self.serve(connection, keepsAlive, answer) }
      }
      // Closed here alone: were it closed while this thread is about to wait, it would wait at whatever gets the number next.
      close(listener)
      hasEnded.signal()
    }
  }

  /// Takes no further connection, and gives the port back.
  public func stop() {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    guard isFirst else { return }
    shutdown(listener, Int32(SHUT_RDWR))
    hasEnded.wait()
  }

  private static func serve(_ connection: Int32, _ keepsAlive: Bool, _ answer: (TinyRequest) -> TinyAnswer?) {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let end = keepsAlive ? "" : "connection: close\r\n"
    while true {
      if let (request, length) = parse(bytes) {
        bytes.removeFirst(length)
        guard let answer = answer(request) else {
          // Silent until the other side gives up.
          while read(connection, &chunk, chunk.count) > 0 {}
          break
        }
        if answer.status.isEmpty { break }
        let head = "HTTP/1.1 \(answer.status)\r\ncontent-length: \(answer.body.count)\r\n\(end)\r\n"
        send(Array(head.utf8) + answer.body, to: connection)
        if !keepsAlive { break }
        continue
      }
      let count = read(connection, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    close(connection)
  }

  /// Until all is sent, or nobody reads it.
  private static func send(_ bytes: [UInt8], to connection: Int32) {
    bytes.withUnsafeBytes { all in
      var done = 0
      while done < all.count {
        let count = Glibc.send(
          connection, all.baseAddress.map { $0 + done }, all.count - done, Int32(MSG_NOSIGNAL))
        guard count > 0 else { return }
        done += count
      }
    }
  }

  /// The first request and its length; nil until it is whole.
  private static func parse(_ bytes: [UInt8]) -> (TinyRequest, Int)? {
    let end = bytes.indices.first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
    guard let end else { return nil }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    let body = bytes[(end + 4)...].prefix(Int(headers["content-length"] ?? "0") ?? 0)
    guard body.count == Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
    let path = String(lines[0].split(separator: " ")[1])
    return (TinyRequest(path: path, headers: headers, body: Array(body)), end + 4 + body.count)
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
