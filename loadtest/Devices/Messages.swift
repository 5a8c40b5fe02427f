// The few texts that a device says, and what it must know of those it hears: which reply or event it is, and a name or two in it.
// Messages are walked, not decoded, so that a device costs the machine as little as can be beside the server.

/// What a message of the server is.
enum Heard: Equatable {
  /// A reply to the request of this id; `code` where it is an error.
  case reply(id: Int, code: Int?)
  case event(String)
  /// Neither.
  case other
}

enum Messages {
  /// Which message `bytes[range]` is.
  static func kind(_ bytes: [UInt8], _ range: Range<Int>) -> Heard {
    var id: Int?
    var isError = false
    var method: String?
    walk(bytes, range) { key, value in
      switch key {
      case Keys.id: id = Int(String(decoding: bytes[value], as: UTF8.self))
      case Keys.method: method = String(decoding: bytes[value].dropFirst().dropLast(), as: UTF8.self)
      case Keys.error: isError = true
      default: break
      }
    }
    if let method { return .event(method) }
    guard let id else { return .other }
    return .reply(id: id, code: isError ? number("\"code\":", bytes, range) ?? 0 : nil)
  }

  /// The text behind the first `"name":"`, which has no escapes in what it is used for.
  static func text(_ name: String, _ bytes: [UInt8], _ range: Range<Int>) -> String? {
    guard let start = find(Array("\"\(name)\":\"".utf8), bytes, range) else { return nil }
    guard let end = bytes[start..<range.upperBound].firstIndex(of: Keys.quote) else { return nil }
    return String(decoding: bytes[start..<end], as: UTF8.self)
  }

  /// The whole number behind the first `label`, such as `"seq":`.
  static func number(_ label: String, _ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    guard let start = find(Array(label.utf8), bytes, range) else { return nil }
    let digits = bytes[start..<range.upperBound].prefix { $0 == 0x2d || (0x30...0x39).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// The place behind the first `pattern`.
  private static func find(_ pattern: [UInt8], _ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    guard let first = pattern.first, pattern.count <= range.count else { return nil }
    for start in range.lowerBound...(range.upperBound - pattern.count) where bytes[start] == first {
      if bytes[start..<(start + pattern.count)].elementsEqual(pattern) { return start + pattern.count }
    }
    return nil
  }

  /// Calls `found` with each key of the outermost object, and where its value begins; of a number, a word or a text it ends there
  /// too. What is not JSON gives no sense, and no harm.
  private static func walk(_ bytes: [UInt8], _ range: Range<Int>, _ found: (ArraySlice<UInt8>, Range<Int>) -> Void) {
    var depth = 0
    var at = range.lowerBound
    while at < range.upperBound {
      switch bytes[at] {
      case Keys.quote:
        let end = endOfText(bytes, at, range.upperBound)
        if depth == 1, end + 1 < range.upperBound, bytes[end] == 0x3a {
          let value = end + 1
          found(bytes[(at + 1)..<(end - 1)], value..<endOfScalar(bytes, value, range.upperBound))
        }
        at = end
      case 0x7b, 0x5b:
        depth += 1
        at += 1
      case 0x7d, 0x5d:
        depth -= 1
        at += 1
      default: at += 1
      }
    }
  }

  /// The place behind the text that begins at `start`, or the end.
  private static func endOfText(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Int {
    var at = start + 1
    while at < end, bytes[at] != Keys.quote { at += bytes[at] == 0x5c ? 2 : 1 }
    return min(at + 1, end)
  }

  private static func endOfScalar(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Int {
    if bytes[start] == Keys.quote { return endOfText(bytes, start, end) }
    return bytes[start..<end].firstIndex { $0 == 0x2c || $0 == 0x7d || $0 == 0x5d } ?? end
  }

  private enum Keys {
    static let quote: UInt8 = 0x22
    static let id = Array("id".utf8)[...]
    static let method = Array("method".utf8)[...]
    static let error = Array("error".utf8)[...]
  }

  // MARK: What a device says

  /// The request that opens a WebSocket (RFC 6455 §4.1).
  static func upgrade(host: String, key: String) -> String {
    "GET /rtc HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n\r\n"
  }

  static func hello(id: Int, user: String, token: String?) -> String {
    let resume = token.map { ",\"resumeToken\":\"\($0)\"" } ?? ""
    return request(id, "session.hello", "\"user\":\"\(user)\",\"deviceId\":\"phone\"\(resume)")
  }

  static func resume(id: Int, token: String, lastSeq: Int) -> String {
    request(id, "session.resume", "\"resumeToken\":\"\(token)\",\"lastSeq\":\(lastSeq)")
  }

  static func start(id: Int, to user: String) -> String {
    request(id, "call.start", "\"to\":[\"\(user)\"],\"kind\":\"one_to_one\",\"media\":\"audio\"")
  }

  static func ringing(id: Int, call: String) -> String { request(id, "call.ringing", "\"callId\":\"\(call)\"") }

  static func reject(id: Int, call: String) -> String { request(id, "call.reject", "\"callId\":\"\(call)\"") }

  private static func request(_ id: Int, _ method: String, _ params: String) -> String {
    "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":{\(params)}}"
  }
}
