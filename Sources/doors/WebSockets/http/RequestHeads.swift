// The heads of a connection's requests (RFC 9112 §2 to §5) as they came, read before the library's parser has them. Pure.
//
// libwebsockets 4.1 loses the line after a header whose name is a proper prefix of one that it knows, be it `Origin`. So what a
// decision hangs on is read here, and names that nobody needs are changed on the way: the library knows none of them then.

/// What the server decides by.
package struct RequestHead: Equatable, Sendable {
  /// The values of `Host`: a good request has one.
  package var hosts: [String] = []
  /// The values of `Origin`: at most one.
  package var origins: [String] = []
  /// HTTP/1.0, which needs no `Host`.
  package var isOld = false
  /// The method is HEAD: no answer has a body, whatever is wrong with the request.
  package var isBodiless = false
  /// The second word of the request line, as it came (`RequestTarget`).
  package var target = ""
  /// Its path, without the query, as it came.
  var path: String { String(decoding: target.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self) }
  /// All headers, names in small letters.
  package var headers: [HTTPHeader] = []
  /// How its content is framed.
  package var framing = ContentFraming.absent
  /// The client waits for a word before it sends its content (RFC 9110 §10.1.1).
  package var expectsContinue = false
  /// The frames of a WebSocket follow.
  fileprivate(set) var isUpgrade = false
  /// There is an upgrade to something else, which the library does not see.
  fileprivate var passesOverUpgrade = false

  /// A head of which nothing was read.
  package init() {}

  /// A header that a proxy has added (RFC 7239 §4, RFC 9110 §7.6.3), or that is commonly added by one; nil where there is none.
  package var proxyHeader: String? { headers.first { Self.proxyHeaders.contains($0.name) }?.name }

  private static let proxyHeaders: Set<String> = [
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
  ]

  func values(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }

  /// What its headers say.
  /// - Throws: 400 for an upgrade to WebSocket that is said twice, or with something else.
  fileprivate mutating func settle() throws(RequestHeads.Fault) {
    let upgrades = values("upgrade")
    // The library answers others itself on a connection that has served a request, and then they are answered here too.
    guard upgrades.isEmpty || upgrades.map({ $0.lowercased() }) == ["websocket"] && !passesOverUpgrade else {
      throw .malformed("only an upgrade to websocket is served, said once")
    }
    isUpgrade = !upgrades.isEmpty
    (hosts, origins) = (values("host"), values("origin"))
    expectsContinue = !isOld && values("expect").contains { $0.lowercased() == "100-continue" }
    framing = ContentFraming(
      lengths: values("content-length"), isEncoded: !values("transfer-encoding").isEmpty, isOld: isOld)
  }
}

/// The requests of one connection, in order.
package struct RequestHeads {
  /// What is wrong with a request that the library must not see.
  package struct Fault: Error, Equatable {
    var status: Int
    var reason: String
    static func malformed(_ reason: String) -> Fault { Fault(status: 400, reason: reason) }
  }

  /// Bytes of a head. Raise it with `max_http_header_data`, which holds what the library keeps of it.
  static let headBytes = 8192
  /// Header lines of a head. Each costs some fifty bytes beside its text, for as long as the request waits.
  package static let mostLines = 100
  /// Requests that may be read before the first of them is answered.
  package static let mostWaiting = 16
  /// Parts of a query, between `&` and `;`. The library has ninety places for them and for the header lines that it needs; where they
  /// do not suffice it hangs up without a word.
  static let mostParts = 32
  /// Header lines that the library needs. The same places are for them.
  static let mostNeeded = 32
  /// What the library needs to see by name. It knows them all; of every other it could know a longer one.
  private static let needed: Set<String> = [
    "host", "origin", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions",
    "content-length", "transfer-encoding",
  ]

  private enum State {
    case requestLine
    case name
    /// The byte that stands for the colon of a name that is not needed.
    case colon
    case value
    /// After CR: LF must follow.
    case lineEnd(isHeadEnd: Bool)
    /// Content that is still to come.
    case content(left: Int)
    /// Content of no known end: none of ours.
    case rest
    /// What a WebSocket's client sent before it was answered.
    case frames
  }

  private var state = State.requestLine
  private var line: [UInt8] = []
  private var name = ""
  /// Whether an upgrade is passed over, as nobody needs to take one (RFC 9110 §7.8): to HTTP/2, of every Java client and of `curl
  /// --http2`, or to anything else that does not begin as WebSocket does. The library sees blanks in its place.
  private var isUpgradePassedOver = false
  private var bytes = 0
  private var neededLines = 0
  /// Of the query that is being read; 0 before it.
  private var parts = 0
  private var head = RequestHead()
  /// `isBehind`: it began in the midst of what was read.
  private var waiting: [(head: RequestHead, isBehind: Bool)] = []
  /// Whether the head that is being read is that of a HEAD request.
  var isBodiless: Bool {
    if case .requestLine = state { return line.starts(with: "HEAD ".utf8) }
    return head.isBodiless
  }
  /// The handshake that is being answered: the WebSocket is told its origin. Of other requests nothing is kept.
  private(set) var current: RequestHead?
  /// What has come behind a handshake.
  package private(set) var frames = FrameHeads()

  /// Whether the request that is being answered came alone: nothing of it was read together with one before. Else the library may keep
  /// bytes of its own, and not stop reading.
  private(set) var isAlone = true
  /// The same of the head that is being read.
  private var isBehind = false
  /// Requests that were read, and whose answers have not left yet.
  private var unanswered = 0

  /// Whether more was read than the request that is being answered.
  var hasMore: Bool {
    if !waiting.isEmpty || bytes > 0 { return true }
    if case .requestLine = state { return !line.isEmpty }
    return false
  }

  /// A connection of which nothing was read.
  package init() {}

  /// The library has read one head: this is it. Nil when none was seen to end, so nothing is known of it.
  package mutating func next() -> RequestHead? {
    let next = waiting.isEmpty ? nil : waiting.removeFirst()
    isAlone = next?.isBehind != true
    current = next?.head.isUpgrade == true ? next?.head : nil
    return next?.head
  }

  /// The answer to one of them has left.
  mutating func answered() { unanswered = max(0, unanswered - 1) }

  /// Reads what has come, and changes the names that the library must not know.
  /// - Returns: how many of the bytes the library gets: not those behind the content of a request, with whose answer the connection
  ///   ends.
  @discardableResult
  package mutating func read(_ piece: UnsafeMutableBufferPointer<UInt8>) throws(Fault) -> Int {
    for index in piece.indices {
      switch state {
      case .rest: return piece.count
      case .frames:
        return index + frames.read(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(piece)[index...]))
      case .content(let left):
        let taken = min(left, piece.count - index)
        state = .content(left: left - taken)
        return index + taken
      case .requestLine, .name, .colon, .value, .lineEnd: break
      }
      bytes += 1
      guard bytes <= Self.headBytes else {
        throw Fault(status: 431, reason: "the head of a request has \(Self.headBytes) bytes at most")
      }
      let heads = waiting.count
      if let changed = try take(piece[index]) { piece[index] = changed }
      if waiting.count > heads { isBehind = index + 1 < piece.count }
    }
    return piece.count
  }

  /// - Returns: what the library is to see instead.
  private mutating func take(_ byte: UInt8) throws(Fault) -> UInt8? {
    switch state {
    case .requestLine:
      try countParts(byte)
      if byte == 13 { try endRequestLine() } else { try collect(byte) }
    case .name: return try takeName(byte)
    case .colon:
      guard byte != 10 else { throw .malformed("a line of a head ends with CR LF") }
      if byte == 13 {
        try endValue()
      } else {
        // Never of an upgrade, which is needed.
        state = .value
        // A blank as a rule, which is none of the value.
        try collect(byte)
      }
      return UInt8(ascii: ":")
    case .value:
      if byte == 13 {
        try endValue()
      } else {
        try collect(byte)
        return seen(byte)
      }
    case .lineEnd(let isHeadEnd):
      guard byte == 10 else { throw .malformed("a line of a head ends with CR LF") }
      if isHeadEnd { try endHead() } else { begin(.name) }
    case .content, .rest, .frames: break
    }
    return nil
  }

  private mutating func begin(_ next: State) {
    state = next
    line = []
  }

  /// What the library sees of a byte of a value.
  private mutating func seen(_ byte: UInt8) -> UInt8? {
    guard name == "upgrade" else { return nil }
    if !isUpgradePassedOver, byte != 0x20, byte != 9 {
      let first = line.first { $0 != 0x20 && $0 != 9 }
      isUpgradePassedOver = first != UInt8(ascii: "w") && first != UInt8(ascii: "W")
    }
    // The library skips spaces alone.
    return isUpgradePassedOver || byte == 9 ? 0x20 : nil
  }

  private mutating func collect(_ byte: UInt8) throws(Fault) {
    guard byte >= 0x20 && byte != 0x7f || byte == 9 else { throw .malformed("a control character in a head") }
    line.append(byte)
  }

  /// While they come: the library has what has come of a line before its end is there.
  private mutating func countParts(_ byte: UInt8) throws(Fault) {
    switch byte {
    case UInt8(ascii: "?") where parts == 0: parts = 1
    // The library begins a part at each of them, in the path as well.
    case UInt8(ascii: "&"), UInt8(ascii: ";"): parts += 1
    default: break
    }
    guard parts <= Self.mostParts else {
      throw Fault(status: 414, reason: "the path and query of a request have \(Self.mostParts) parts at most")
    }
  }

  private mutating func endRequestLine() throws(Fault) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    let version = words.last.map { String(decoding: $0, as: UTF8.self) }
    head.isOld = version == "HTTP/1.0"
    head.isBodiless = line.starts(with: "HEAD ".utf8)
    guard head.isOld || version == "HTTP/1.1" else { throw Fault(status: 505, reason: "HTTP/1.1 is spoken here") }
    guard words.count == 3, words[0].isToken else {
      throw .malformed("a request begins with a method, a path and a version (RFC 9112, section 3)")
    }
    if let objection = RequestTarget.objection(to: words[1]) { throw .malformed(objection) }
    guard HTTPMethod(rawValue: String(decoding: words[0], as: UTF8.self)) != nil else {
      throw Fault(status: 501, reason: "no resource here has this method (RFC 9110, section 9)")
    }
    head.target = String(decoding: words[1], as: UTF8.self)
    state = .lineEnd(isHeadEnd: false)
  }

  private mutating func takeName(_ byte: UInt8) throws(Fault) -> UInt8? {
    if byte == 13, line.isEmpty {
      state = .lineEnd(isHeadEnd: true)
      return nil
    }
    guard byte == UInt8(ascii: ":") else {
      guard byte.isTokenByte else { throw .malformed("a header's name has a character that no name has") }
      line.append(byte)
      return nil
    }
    guard !line.isEmpty else { throw .malformed("a header has no name") }
    guard head.headers.count < Self.mostLines else {
      throw Fault(status: 431, reason: "the head of a request has \(Self.mostLines) header lines at most")
    }
    name = String(decoding: line, as: UTF8.self).lowercased()
    let isNeeded = Self.needed.contains(name)
    if isNeeded { neededLines += 1 }
    guard neededLines <= Self.mostNeeded else {
      throw Fault(status: 431, reason: "the head of a request has too many lines of \(name)")
    }
    begin(isNeeded ? .value : .colon)
    // No name that the library knows has it. The colon comes one byte later, in the place of a space as a rule.
    return isNeeded ? nil : UInt8(ascii: "~")
  }

  private mutating func endValue() throws(Fault) {
    if isUpgradePassedOver {
      head.passesOverUpgrade = true
      (name, isUpgradePassedOver) = ("", false)
      state = .lineEnd(isHeadEnd: false)
      return
    }
    // The library compares these bytes as they are, but for blanks before them; another upgrade than to WebSocket it answers itself.
    guard name != "upgrade" || line.drop(while: { $0 == 0x20 }).allSatisfy(\.isTokenByte) else {
      throw .malformed("Upgrade has one word, and nothing behind it")
    }
    head.headers.append(HTTPHeader(name, HeaderValue.text(of: line)))
    name = ""
    state = .lineEnd(isHeadEnd: false)
  }

  private mutating func endHead() throws(Fault) {
    guard waiting.count < Self.mostWaiting else { throw .malformed("too many requests before the first answer") }
    try head.settle()
    // libwebsockets 4.1 takes a head that it has kept for the content of its own request, and looks for the rest for ever.
    guard !head.framing.mayHaveContent || unanswered == 0 && !isBehind else {
      throw .malformed("a request with content waits for the answer to the one before")
    }
    unanswered += 1
    waiting.append((head, isBehind))
    switch head.framing {
    case .absent, .length(0): begin(head.isUpgrade ? .frames : .requestLine)
    case .length(let bytes): begin(head.isUpgrade ? .rest : .content(left: bytes))
    case .encoded, .malformed: begin(.rest)
    }
    head = RequestHead()
    (bytes, neededLines, parts) = (0, 0, 0)
  }
}

extension ArraySlice<UInt8> {
  /// A token (RFC 9110 §5.6.2).
  fileprivate var isToken: Bool { !isEmpty && allSatisfy(\.isTokenByte) }
}

extension UInt8 {
  /// A character of a token (RFC 9110 §5.6.2).
  fileprivate var isTokenByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
  }
}
