// Resume tokens: the session's number and a secret of 256 bits. The number finds the session, so that the secret alone
// has to be compared in constant time.

/// What a client must show to resume a session or to take its place.
package struct ResumeToken: Hashable, Sendable {
  package let session: SessionID
  private let secret: [UInt8]

  /// A new token for a session.
  package init(session: SessionID, random: inout some RandomNumberGenerator) {
    self.session = session
    secret = (0..<4).flatMap { _ in
      let word = random.next()
      return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
  }

  /// Reads what a client shows; nil when it cannot be a token.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1)
    guard parts.count == 2, let number = wireNumber(String(parts[0]), prefix: "r"), let secret = Self.bytes(parts[1])
    else { return nil }
    session = SessionID(number)
    self.secret = secret
  }

  /// The token as clients see it.
  package var text: String {
    let digits = secret.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return "r\(session.rawValue)." + digits.joined()
  }

  /// Whether both are the same, in a time that does not tell where they differ.
  package static func == (a: ResumeToken, b: ResumeToken) -> Bool {
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
