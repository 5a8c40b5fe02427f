// Which coding of a file a client is sent (RFC 9110 §8.4, §12.5.3), and whether it has that one already (§13.1.2). Pure.

/// A file as it travels.
public struct WebRepresentation: Sendable, Equatable {
  /// For `Content-Encoding`; nil where the bytes are the file's own.
  public let coding: String?
  /// What is sent.
  public let bytes: [UInt8]
  /// The strong validator of these very bytes, with its quotes: each coding has its own.
  public let etag: String

  /// Whether a client that sent `field` as its `If-None-Match` has these bytes: then 304 is the answer.
  public func isKnown(_ field: String?) -> Bool {
    guard let field else { return false }
    return field.split(separator: ",").contains { part in
      let tag = part.trimmingBlanks
      return tag == "*" || tag == etag || tag == "W/" + etag
    }
  }
}

extension WebAsset {
  /// What a client gets that sent `field` as its `Accept-Encoding`: gzip where it takes that, else the file itself. The answer
  /// differs by this field, so it carries `Vary: Accept-Encoding` in either case.
  public func representation(accepting field: String?) -> WebRepresentation {
    guard let gzipped, Self.acceptsGzip(field) else { return WebRepresentation(coding: nil, bytes: bytes, etag: etag) }
    return WebRepresentation(coding: "gzip", bytes: gzipped, etag: etag.dropLast() + "-gzip\"")
  }

  /// A coding that is not named is as good as `*` says; without the field nothing is said, and the file itself is what everybody
  /// can read.
  static func acceptsGzip(_ field: String?) -> Bool {
    var other = false
    for part in (field ?? "").split(separator: ",") {
      let words = part.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingBlanks.lowercased() }
      let isWanted = !words.dropFirst().contains { weight in
        weight.hasPrefix("q=") && weight.dropFirst(2).allSatisfy { $0 == "0" || $0 == "." }
      }
      switch words.first {
      case "gzip", "x-gzip": return isWanted
      case "*": other = isWanted
      default: break
      }
    }
    return other
  }
}

extension Substring {
  /// Without blanks at both ends.
  fileprivate var trimmingBlanks: Substring {
    let front = drop { $0 == " " || $0 == "\t" }
    guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return front[...last]
  }
}
