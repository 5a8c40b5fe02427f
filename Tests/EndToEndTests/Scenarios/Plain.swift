// HTTP as small as it gets, on blocking sockets of loopback: one GET, and a receiver of webhooks.

import Basics
import Foundation
import Glibc
import RoostProtocol
import TestSupport

/// One TCP socket of loopback.
enum Loopback {
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  static func connect(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = address(port)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, connected == 0 else { throw CuttableProxy.Failure(step: "connect") }
    return descriptor
  }

  /// A listening socket and its port.
  static func listen(port: UInt16 = 0) throws -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = address(port)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, bound == 0, Glibc.listen(descriptor, 64) == 0 else {
      throw CuttableProxy.Failure(step: "listen")
    }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// The whole answer to a GET.
  static func get(_ path: String, port: UInt16) throws -> String {
    let descriptor = try connect(port)
    defer { close(descriptor) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8)
    guard write(descriptor, request, request.count) == request.count else { throw CuttableProxy.Failure(step: "write") }
    return String(decoding: readAll(descriptor) { _ in false }, as: UTF8.self)
  }

  /// Reads until the end, or until `isWhole`.
  static func readAll(_ descriptor: Int32, _ isWhole: ([UInt8]) -> Bool) -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !isWhole(result) {
      let count = read(descriptor, &buffer, buffer.count)
      if count <= 0 { break }
      result += buffer.prefix(count)
    }
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
    var path: String
    var headers: [String: String]
    var body: [UInt8]

    var json: JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: Data(body)) }
    subscript(_ key: String) -> String? {
      guard case .object(let object) = json, case .string(let text)? = object[key] else { return nil }
      return text
    }
  }

  private let hooks = Locked<[Hook]>([])
  private let status = Locked(200)
  private let listener: Int32
  let port: UInt16

  init() throws {
    (listener, port) = try Loopback.listen()
    let thread = Thread { [self] in accepting() }
    thread.start()
  }

  /// What came, in order.
  var all: [Hook] { hooks.withLock { $0 } }
  var url: String { "http://127.0.0.1:\(port)/hooks" }

  /// What to answer from now on.
  func answers(_ code: Int) { status.withLock { $0 = code } }

  /// Waits for the first that is wanted.
  func first(_ isWanted: @Sendable (Hook) -> Bool) async -> Hook? {
    _ = await eventually(within: .seconds(60)) { all.contains(where: isWanted) }
    return all.first(where: isWanted)
  }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func accepting() {
    while true {
      let connection = accept(listener, nil, nil)
      if connection < 0 { break }
      take(connection)
      close(connection)
    }
    close(listener)
  }

  private func take(_ connection: Int32) {
    let end = Array("\r\n\r\n".utf8)
    let bytes = Loopback.readAll(connection) { bytes in
      guard let head = bytes.firstRange(of: end) else { return false }
      return bytes.count - head.upperBound >= Self.length(of: Self.headers(Array(bytes[..<head.lowerBound])).headers)
    }
    guard let head = bytes.firstRange(of: end) else { return }
    let (path, headers) = Self.headers(Array(bytes[..<head.lowerBound]))
    let code = status.withLock { $0 }
    let answer = Array("HTTP/1.1 \(code) Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
    if code == 200 {
      let hook = Hook(path: path, headers: headers, body: Array(bytes[head.upperBound...]))
      hooks.withLock { $0.append(hook) }
    }
    _ = write(connection, answer, answer.count)
  }

  private static func length(of headers: [String: String]) -> Int { headers["content-length"].flatMap { Int($0) } ?? 0 }

  private static func headers(_ bytes: [UInt8]) -> (path: String, headers: [String: String]) {
    let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    let words = lines.first?.split(separator: " ") ?? []
    return (words.count > 1 ? String(words[1]) : "", headers)
  }
}
