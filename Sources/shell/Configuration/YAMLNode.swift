// A YAML document as a small tree. What configuration files do not need is refused, so that nothing can grow on the
// way: anchors, aliases, tags, several documents, keys that are not plain text.

/// One value with the place where it stands.
package struct YAMLNode {
  package indirect enum Content {
    /// `isPlain`: written without quotes, so that it may stand for a number, a boolean or nothing.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  package struct Entry {
    package var key: String
    package var keyMark: YAMLMark
    package var value: YAMLNode
  }

  package var content: Content
  package var mark: YAMLMark

  /// Whether it stands for "nothing given": an empty value, `~` or `null`.
  var isNull: Bool {
    guard case .scalar(let text, true) = content else { return false }
    return text.isEmpty || text == "~" || text == "null"
  }

  /// What it is, in words for an error message.
  package var described: String {
    switch content {
    case .scalar where isNull: "nothing"
    case .scalar(let text, let isPlain): isPlain ? text.shortened : "the text \"\(text.shortened)\""
    case .sequence: "a list"
    case .mapping: "a block of keys"
    }
  }
}

/// A place in a file, both counted from 1.
package struct YAMLMark: Hashable {
  package var line: Int
  package var column: Int
}

/// Why a text is not a document that we take.
struct YAMLError: Error {
  var mark: YAMLMark
  var message: String
}

/// Bounds of a document.
enum YAMLBounds {
  /// Bytes. libyaml holds a few times as much while it parses.
  static let bytes = 1 << 20
  /// Nested sequences and mappings; ours needs five.
  static let depth = 16
  /// Nodes: scalars, sequences and mappings together.
  static let nodes = 50_000
}

extension String {
  /// The text on one line, cut to a length that fits an error message.
  var shortened: String {
    // By scalars: a character may be as long as it likes.
    let start = String(unicodeScalars.prefix(60))
    let line = String(start.map { $0.isNewline ? " " : $0 })
    return start.utf8.count < utf8.count ? line + "…" : line
  }
}

extension Collection<String> {
  /// Names in an error message, in their order; of many the first ones, as many as fit into a few lines.
  var listed: String {
    var bytes = 0
    let shown = map(\.shortened).prefix { name in
      bytes += name.utf8.count + 2
      return bytes <= 600
    }
    let all = shown.joined(separator: ", ")
    return shown.count < count ? "\(all) and \(count - shown.count) more" : all
  }
}
