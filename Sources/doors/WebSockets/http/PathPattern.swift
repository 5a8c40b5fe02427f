// Paths with segments that vary (RFC 3986 §3.3): how a route names them, and what a request's path gives for them. Pure.

/// A path such as `/rooms/{room}/{id}`: what is in braces stands for one segment, which the handler is given.
public struct PathPattern: Sendable, Hashable {
  /// Bytes that a decoded segment may have. Raising it lets names be longer, up to what the head of a request holds.
  public static let longestSegment = 256

  private enum Part: Sendable, Hashable {
    case fixed([UInt8])
    case named(String)
  }
  private let parts: [Part]
  private let endsExactly: Bool

  /// The pattern `text`, which begins with `/`. Its fixed segments are written as they are: a request that escapes
  /// a character of them asks for something else. `endsExactly`: a `/` behind the last segment asks for something else, too. It is what is
  /// left of a segment `..` that clients have resolved (RFC 3986 §5.2.4).
  public init(_ text: String, endsExactly: Bool = false) {
    self.endsExactly = endsExactly
    parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
      part.hasPrefix("{") && part.hasSuffix("}")
        ? .named(String(part.dropFirst().dropLast())) : .fixed(Array(part.utf8))
    }
  }

  /// What a path is to a pattern.
  package enum Match: Equatable, Sendable {
    case other
    /// The segments by their names, decoded.
    case found([String: String])
    /// A segment that the handler must not see: empty, too long, no UTF-8, `.`, `..`, with a control character or a bad escape.
    case malformed
  }

  /// Compares a path as it came. A `/` that is escaped parts no segments.
  package func match(_ path: String) -> Match {
    let path = path.utf8
    guard path.first == UInt8(ascii: "/") else { return .other }
    var pieces = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // One `/` behind a name is no further segment: people and tools write it so.
    if !endsExactly, pieces.count > 1, pieces.last?.isEmpty == true, case .named? = parts.last { pieces.removeLast() }
    guard pieces.count == parts.count else { return .other }
    var found: [String: String] = [:]
    var isWhole = true
    for (part, piece) in zip(parts, pieces) {
      switch part {
      case .fixed(let wanted): if !piece.elementsEqual(wanted) { return .other }
      case .named(let name):
        if let text = Self.text(RequestTarget.decoded(piece)) { found[name] = text } else { isWhole = false }
      }
    }
    return isWhole ? .found(found) : .malformed
  }

  private static func text(_ bytes: [UInt8]?) -> String? {
    guard let bytes, !bytes.isEmpty, bytes.count <= longestSegment else { return nil }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }), let text = String(validating: bytes, as: UTF8.self) else {
      return nil
    }
    return text == "." || text == ".." ? nil : text
  }
}
