// One HTTP request without TLS on a connection of its own (RFC 9112): what WHEP takes, for load tests on one machine.

import Glibc
import Threads

package enum PlainHTTP {
  /// How long a request may take.
  private static let patience = timeval(tv_sec: 60, tv_usec: 0)
  /// The longest answer that is read, in bytes.
  private static let longest = 1 << 20

  package struct Answer: Sendable {
    package var status: Int
    /// By their names in small letters.
    package var headers: [String: String]
    package var body: String
  }

  /// Sends a request to `http://ADDRESS:PORT/PATH`, the address an IPv4 one, and waits for the answer on a thread of its own.
  package static func ask(
    _ method: String, _ url: String, _ headers: [String: String], _ body: String
  ) async throws(SyntheticError) -> Answer {
    guard let target = Target(url) else { throw .state("\(url) is not http://ADDRESS:PORT/PATH, ADDRESS being IPv4") }
    var lines = ["\(method) \(target.path) HTTP/1.1", "Host: \(target.host):\(target.port)", "Connection: close"]
    lines += headers.map { "\($0): \($1)" } + ["Content-Length: \(body.utf8.count)"]
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    let bytes = await withCheckedContinuation { continuation in
      _ = OwnerThread(name: "http") { continuation.resume(returning: exchange(target, Array(text.utf8))) }
    }
    guard let answer = bytes.flatMap(read) else { throw .state("\(method) \(url): no answer") }
    return answer
  }

  private struct Target: Sendable {
    var host: String
    var port: UInt16
    var path: String

    init?(_ url: String) {
      guard url.hasPrefix("http://") else { return nil }
      let rest = url.dropFirst(7)
      let slash = rest.firstIndex(of: "/") ?? rest.endIndex
      let parts = rest[..<slash].split(separator: ":")
      guard let first = parts.first, let port = parts.count > 1 ? UInt16(parts[1]) : 80 else { return nil }
      host = first == "localhost" ? "127.0.0.1" : String(first)
      self.port = port
      path = slash == rest.endIndex ? "/" : String(rest[slash...])
    }
  }

  /// All that comes until the server closes; nil where nothing could be exchanged.
  private static func exchange(_ target: Target, _ request: [UInt8]) -> [UInt8]? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = target.port.bigEndian
    guard inet_pton(AF_INET, target.host, &address.sin_addr) == 1 else { return nil }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var time = patience
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0, sendAll(request, descriptor) else { return nil }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while answer.count < longest {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count == 0 { return answer }
      guard count > 0 else { return nil }
      answer += buffer[..<count]
    }
    return nil
  }

  private static func sendAll(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func read(_ bytes: [UInt8]) -> Answer? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    guard let first = lines.first?.split(separator: " "), first.count > 1, let status = Int(first[1]) else {
      return nil
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
    }
    return Answer(status: status, headers: headers, body: String(text[end.upperBound...]))
  }
}
