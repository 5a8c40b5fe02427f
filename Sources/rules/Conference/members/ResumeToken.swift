// Resume tokens: the session's number and a secret of 256 bits. The number finds the session, so that the secret alone
// has to be compared in constant time.

/// What a client must show to resume a session or to take its place.
struct ResumeToken: Hashable, Sendable {
  let session: SessionID
  private let secret: [UInt8]

  /// A new token for a session.
  init(session: SessionID, random: inout some RandomNumberGenerator) {
    self.session = session
    secret = (0..<4).flatMap { _ in
      let word = random.next()
      return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
  }

  /// Reads what a client shows; nil when it cannot be a token.
  init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1)
    guard parts.count == 2, let number = wireNumber(String(parts[0]), prefix: "r"), let secret = Self.bytes(parts[1])
    else { return nil }
    session = SessionID(number)
    self.secret = secret
  }

  /// The token as clients see it.
  var text: String {
    let digits = secret.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return "r\(session.rawValue)." + digits.joined()
  }

  /// Whether both are the same, in a time that does not tell where they differ.
  static func == (a: ResumeToken, b: ResumeToken) -> Bool {
    guard a.session == b.session, a.secret.count == b.secret.count else { return false }
    var difference: UInt8 = 0
    for index in a.secret.indices { difference |= a.secret[index] ^ b.secret[index] }
    return difference == 0
  }

  private static func bytes(_ hex: Substring) -> [UInt8]? {
    let digits = hex.utf8.map { digit -> UInt8? in
      switch digit {
      case 48...57: digit - 48
      case 97...102: digit - 87
      default: nil
      }
    }
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

/// The last sessions that were replaced, so that their resume is told so (1008) rather than that it expired.
struct ReplacedSessions: Sendable {
  /// Raising it makes 1008 truthful for longer, at about 100 bytes each.
  static let capacity = 1024
  private var tokens: [SessionID: ResumeToken] = [:]
  private var order: [SessionID] = []
  private var oldest = 0

  /// Remembers a session, in place of the oldest when there are too many.
  mutating func insert(_ token: ResumeToken) {
    tokens[token.session] = token
    if order.count < Self.capacity {
      order.append(token.session)
    } else {
      tokens[order[oldest]] = nil
      order[oldest] = token.session
      oldest = (oldest + 1) % Self.capacity
    }
  }

  /// Whether this is the token of a session that was replaced.
  func contains(_ token: ResumeToken) -> Bool { tokens[token.session] == token }
}
