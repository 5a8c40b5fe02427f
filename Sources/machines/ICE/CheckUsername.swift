// USERNAME of a connectivity check (RFC 8445 §7.2.2): which agent it is for.

import STUN

/// A user name fragment of up to 16 bytes as a small value, to look transports up by without allocating.
public struct UfragKey: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64
  private let count: UInt8

  /// Nil when the text is empty or longer than 16 bytes.
  public init?(_ ufrag: String) {
    let bytes = Array(ufrag.utf8)
    self.init(bytes.span, 0..<bytes.count)
  }

  /// The key of the bytes at `range`; nil when it is empty, longer than 16 bytes or outside.
  public init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    guard (1...16).contains(range.count), range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
    var (high, low) = (UInt64(0), UInt64(0))
    for index in range {
      high = high << 8 | low >> 56
      low = low << 8 | UInt64(bytes[index])
    }
    self.high = high
    self.low = low
    count = UInt8(range.count)
  }

  /// Whose check this is: the part of USERNAME before the colon, which names the agent that receives it. Nil when there is no
  /// such part.
  public init?(recipientOf message: MessageView, _ bytes: Span<UInt8>) {
    guard let username = message.username, let colon = CheckUsername.colon(bytes, username) else { return nil }
    self.init(bytes, username.lowerBound..<colon)
  }
}

/// USERNAME of a check: the receiver's fragment, a colon, the sender's.
enum CheckUsername {
  static func colon(_ bytes: Span<UInt8>, _ username: Range<Int>) -> Int? {
    guard username.upperBound <= bytes.count else { return nil }
    for index in username where bytes[index] == UInt8(ascii: ":") { return index }
    return nil
  }

  /// Whether `fragment` is exactly the bytes at `range`.
  static func matches(_ fragment: [UInt8], _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard fragment.count == range.count, range.upperBound <= bytes.count else { return false }
    for index in 0..<fragment.count where fragment[index] != bytes[range.lowerBound + index] { return false }
    return true
  }
}
