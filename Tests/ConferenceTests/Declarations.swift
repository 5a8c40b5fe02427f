// Declarations of Swift, read from sources: enough for tests of who may reach what. It knows scopes, access, wrapped lines, attributes and
// accessors, and nothing of what is inside of functions.

import Foundation

/// What is declared in a file or in a type.
struct Declaration {
  /// All of it up to its body, on one line, without attributes and without what stands in strings.
  let head: String
  /// What stands in its braces, or behind its first brace where a value is set; nil without any.
  let body: String?
  /// The type, or the one that is extended, that it is declared in; nil for what is in no type.
  let scope: String?
  /// Its words before the keyword.
  let modifiers: Set<String>
  /// `func`, `var`, `extension` and the like.
  let keyword: String
  let name: String
  /// Whether other targets can see it, by its own words or by those of the extension around it.
  let isOpen: Bool

  static let types: Set<String> = ["struct", "enum", "class", "actor", "extension", "protocol"]
  private static let modifierWords: Set<String> = [
    "public", "package", "internal", "private", "fileprivate", "open", "static", "final", "mutating", "nonmutating",
    "indirect", "override", "lazy", "weak", "unowned", "dynamic", "nonisolated", "borrowing", "consuming", "required",
    "convenience", "prefix", "postfix", "infix", "isolated",
  ]

  var isProperty: Bool { keyword == "var" || keyword == "let" }

  /// Whether it keeps something: no accessors, or observers alone.
  var isStored: Bool {
    guard isProperty, !modifiers.contains("static") else { return false }
    return body == nil || head.contains(" = ") || hasAccessor("didSet|willSet")
  }

  /// Whether what it stands for can be set where it is seen.
  var isSettable: Bool {
    let limits = ["private(set)", "fileprivate(set)", "internal(set)"]
    return modifiers.isDisjoint(with: limits) && hasAccessor("set|_modify|modify|didSet|willSet|mutating get")
  }

  /// What stands behind a type's colon.
  var conformances: Set<String> {
    guard Self.types.contains(keyword), let colon = head.firstIndex(of: ":") else { return [] }
    let list = head[head.index(after: colon)...].components(separatedBy: " where ")[0]
    return Set(list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
  }

  private func hasAccessor(_ words: String) -> Bool {
    guard let body else { return false }
    let pattern = #"(?:^|[\s{};])(?:\#(words))\s*(?:\(\s*\w+\s*\)\s*)?(?:\{|$)"#
    return body.range(of: pattern, options: .regularExpression) != nil
      || body.trimmingCharacters(in: .whitespacesAndNewlines) == "get set"
  }

  fileprivate init?(_ text: String, _ body: String?, in scope: Declaration?) {
    let joined = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    head = Self.withoutAttributes(joined)
    self.body = body
    self.scope = scope.map { $0.keyword == "extension" ? String($0.name.split(separator: ".").last ?? "") : $0.name }
    var words = head.split(separator: " ")[...]
    var modifiers: Set<String> = []
    while let word = words.first {
      let plain = word.prefix { $0 != "(" }
      let isClassMember = word == "class" && ["func", "var", "subscript"].contains(words.dropFirst().first ?? "")
      guard Self.modifierWords.contains(String(plain)) || isClassMember else { break }
      modifiers.insert(String(word))
      words.removeFirst()
    }
    guard let first = words.first, !first.hasPrefix("#") else { return nil }
    self.modifiers = modifiers
    keyword = String(first.prefix { $0.isLetter })
    let rest = words.dropFirst().first ?? ""
    name =
      keyword == "subscript" || keyword == "init"
      ? keyword : String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
    let open: Set<String> = ["public", "package", "open"]
    let isHidden = !modifiers.isDisjoint(with: ["private", "fileprivate", "internal"])
    // Members of an extension, and what a protocol asks for, are as open as these are.
    let inherited = scope.map { ["extension", "protocol"].contains($0.keyword) && $0.isOpen } ?? false
    isOpen = !modifiers.isDisjoint(with: open) || (inherited && !isHidden)
  }

  fileprivate static func withoutAttributes(_ text: String) -> String {
    text.replacingOccurrences(of: #"@\w+(?:\([^)]*\))?\s*"#, with: "", options: .regularExpression)
  }

  fileprivate static func isUnfinished(_ text: String) -> Bool {
    let words = withoutAttributes(text).split(whereSeparator: \.isWhitespace)
    if words.allSatisfy({ modifierWords.contains(String($0.prefix { $0 != "(" })) }) { return true }
    return ["=", "->", ",", ":", "where", "&"].contains { words.last?.hasSuffix($0) ?? false }
  }

  /// All declarations of a source.
  static func all(in source: String) -> [Declaration] {
    var reader = Reader(source)
    return reader.members(of: nil)
  }
}

/// Walks through a source.
private struct Reader {
  private let text: [UInt8]
  private var at = 0

  /// Leaves out comments, and what stands in strings.
  init(_ source: String) {
    var stripped: [UInt8] = []
    let bytes = Array(source.utf8)
    var at = 0
    while at < bytes.count {
      let (byte, next) = (bytes[at], at + 1 < bytes.count ? bytes[at + 1] : 0)
      if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") {
        while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
      } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
        at += 2
        while at + 1 < bytes.count, bytes[at] != UInt8(ascii: "*") || bytes[at + 1] != UInt8(ascii: "/") { at += 1 }
        at += 2
      } else if byte == UInt8(ascii: "\"") {
        at = Self.end(ofStringAt: at, in: bytes)
        stripped += Array("\"\"".utf8)
      } else {
        stripped.append(byte)
        at += 1
      }
    }
    text = stripped
  }

  /// Behind the string that begins there. An interpolation may have strings of its own.
  private static func end(ofStringAt start: Int, in bytes: [UInt8]) -> Int {
    let quote = UInt8(ascii: "\"")
    let isLong = start + 2 < bytes.count && bytes[start + 1] == quote && bytes[start + 2] == quote
    var at = start + (isLong ? 3 : 1)
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "\\") {
        at += 1
        guard at < bytes.count, bytes[at] == UInt8(ascii: "(") else {
          at += 1
          continue
        }
        var depth = 0
        repeat {
          if bytes[at] == UInt8(ascii: "(") { depth += 1 }
          if bytes[at] == UInt8(ascii: ")") { depth -= 1 }
          at = bytes[at] == quote ? end(ofStringAt: at, in: bytes) : at + 1
        } while depth > 0 && at < bytes.count
      } else if bytes[at] == quote {
        if !isLong { return at + 1 }
        if at + 2 < bytes.count, bytes[at + 1] == quote, bytes[at + 2] == quote { return at + 3 }
        at += 1
      } else {
        at += 1
      }
    }
    return at
  }

  private func string(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }

  /// Reads up to the end of a type, or of the source. What types declare comes behind them.
  mutating func members(of scope: Declaration?) -> [Declaration] {
    var all: [Declaration] = []
    while true {
      skipSpace()
      guard at < text.count else { return all }
      if text[at] == UInt8(ascii: "}") {
        at += 1
        return all
      }
      let start = at
      let hasBody = readHead()
      let head = string(start..<at)
      guard hasBody else {
        if let found = Declaration(head, nil, in: scope) { all.append(found) }
        if at < text.count, text[at] == UInt8(ascii: ";") { at += 1 }
        continue
      }
      at += 1
      if let type = Declaration(head, nil, in: scope), Declaration.types.contains(type.keyword) {
        all.append(type)
        all += members(of: type)
      } else {
        let body = readBody()
        if let found = Declaration(head, body, in: scope) { all.append(found) }
      }
    }
  }

  private mutating func skipSpace() {
    while at < text.count, text[at] == UInt8(ascii: " ") || text[at] == UInt8(ascii: "\n") { at += 1 }
  }

  /// Up to the brace of a body, or the end of what has none.
  /// - Returns: whether it stands before a brace.
  private mutating func readHead() -> Bool {
    let start = at
    var depth = 0
    while at < text.count {
      switch text[at] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "{") where depth == 0: return true
      case UInt8(ascii: "{"):
        at += 1
        _ = readBraces()
        continue
      case UInt8(ascii: "}"), UInt8(ascii: ";"): if depth == 0 { return false }
      case UInt8(ascii: "\n") where depth == 0: if !goesOn(from: start) { return false }
      default: break
      }
      at += 1
    }
    return false
  }

  /// Whether what ends a line here is to be read on.
  private func goesOn(from start: Int) -> Bool {
    if Declaration.isUnfinished(string(start..<at)) { return true }
    var next = at
    while next < text.count, text[next] == UInt8(ascii: " ") || text[next] == UInt8(ascii: "\n") { next += 1 }
    let line = string(next..<min(next + 10, text.count))
    return ["->", "throws", "rethrows", "async", "where ", "= ", "{", ".", "? ", ": ", "&", "|", "+"]
      .contains { line.hasPrefix($0) }
  }

  /// Behind the brace that ends what has begun; what stands in it.
  private mutating func readBraces() -> String {
    let start = at
    var depth = 1
    while at < text.count, depth > 0 {
      if text[at] == UInt8(ascii: "{") { depth += 1 }
      if text[at] == UInt8(ascii: "}") { depth -= 1 }
      at += 1
    }
    return string(start..<max(start, at - 1))
  }

  /// A body, and what follows it on the same line: a value that closures are part of, and its observers.
  private mutating func readBody() -> String {
    var body = readBraces()
    while at < text.count, text[at] != UInt8(ascii: "\n"), text[at] != UInt8(ascii: "}"), text[at] != UInt8(ascii: ";")
    {
      if text[at] == UInt8(ascii: "{") {
        at += 1
        body += " { " + readBraces() + " }"
      } else {
        body.append(Character(UnicodeScalar(text[at])))
        at += 1
      }
    }
    return body
  }
}
