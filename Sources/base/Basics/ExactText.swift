// Texts as keys and words to compare, by their bytes. Swift's own `==` takes texts for equal whose letters are: the sign for kelvin is a K.

/// A text that is equal to another where their bytes of UTF-8 are: as issuers compare names (RFC 7519 §7.3), and as SQLite does.
public struct ExactText: Hashable, Sendable {
  /// The text.
  public let text: String
  /// A text as a key.
  public init(_ text: String) { self.text = text }
  /// By bytes.
  public static func == (a: ExactText, b: ExactText) -> Bool { a.text.isExactly(b.text) }
  /// Over bytes, and how many they are.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(text.utf8.count)
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension StringProtocol {
  /// Whether both are the same bytes.
  public func isExactly(_ other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether its first bytes are those of another text, wherever a letter ends.
  public func begins(with start: some StringProtocol) -> Bool { utf8.starts(with: start.utf8) }
}
