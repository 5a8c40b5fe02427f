// Swift code as a compiler for Apple's platforms takes it, near enough to look for words in it: without comments and texts, and of `#if`
// only what may be compiled there.

/// A file's code, line by line as in the file; what is left out is blank.
struct AppleCode {
  private(set) var lines: [String]
  /// Whether it was understood to its end: no text, comment or `#if` is open there.
  private(set) var isWhole: Bool

  /// - Parameter absent: modules that cannot be imported there.
  init(_ text: String, absent: Set<String> = []) {
    var bare = Blanking(text)
    bare.run()
    isWhole = bare.isWhole
    lines = String(decoding: bare.out, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
    leaveOutBranches(Platform(absent: absent))
  }

  private mutating func leaveOutBranches(_ platform: Platform) {
    var open: [(wasOn: Bool, isDone: Bool, isOn: Bool)] = []
    for index in lines.indices {
      let line = lines[index].trimmingPrefix { $0 == " " }
      let isOn = open.last?.isOn ?? true
      if line.starts(with: "#if ") {
        let value = platform.value(of: String(line.dropFirst(4)))
        open.append((isOn, value == true, isOn && value != false))
      } else if line.starts(with: "#elseif "), let last = open.popLast() {
        let value = platform.value(of: String(line.dropFirst(8)))
        open.append((last.wasOn, last.isDone || value == true, last.wasOn && !last.isDone && value != false))
      } else if line.starts(with: "#else"), let last = open.popLast() {
        open.append((last.wasOn, true, last.wasOn && !last.isDone))
      } else if line.starts(with: "#endif") {
        if open.popLast() == nil { isWhole = false }
      } else if isOn {
        continue
      }
      lines[index] = ""
    }
    if !open.isEmpty { isWhole = false }
  }
}

/// Puts blanks in place of comments and of what texts say. What is interpolated into a text is code.
private struct Blanking {
  private enum Place {
    /// `depth`: parentheses that are open in an interpolation.
    case code(depth: Int)
    case text(hashes: Int, isLong: Bool)
  }

  private let bytes: [UInt8]
  private(set) var out: [UInt8]
  private var at = 0
  private var places: [Place] = [.code(depth: 0)]
  private(set) var isWhole = true

  init(_ text: String) {
    bytes = Array(text.utf8)
    out = bytes
  }

  mutating func run() {
    while at < bytes.count {
      switch places[places.count - 1] {
      case .code(let depth): code(depth)
      case .text(let hashes, let isLong): text(hashes, isLong)
      }
    }
    if places.count != 1 { isWhole = false }
  }

  private func has(_ word: String, at place: Int) -> Bool {
    // Most places are none: comparing all of a word takes its time.
    guard place < bytes.count, bytes[place] == word.utf8.first else { return false }
    return bytes[place...].starts(with: word.utf8)
  }

  private mutating func blank(_ count: Int) {
    for place in at..<min(at + count, bytes.count) where bytes[place] != UInt8(ascii: "\n") {
      out[place] = UInt8(ascii: " ")
    }
    at += count
  }

  private mutating func code(_ depth: Int) {
    if has("//", at: at) { return blank(bytes[at...].prefix { $0 != UInt8(ascii: "\n") }.count) }
    if has("/*", at: at) { return comment() }
    let hashes = bytes[at...].prefix { $0 == UInt8(ascii: "#") }.count
    if has("\"", at: at + hashes) {
      let isLong = has("\"\"\"", at: at + hashes)
      places.append(.text(hashes: hashes, isLong: isLong))
      return blank(hashes + (isLong ? 3 : 1))
    }
    switch bytes[at] {
    case UInt8(ascii: "("): places[places.count - 1] = .code(depth: depth + 1)
    case UInt8(ascii: ")") where depth == 0 && places.count > 1: places.removeLast()
    case UInt8(ascii: ")"): places[places.count - 1] = .code(depth: depth - 1)
    default: break
    }
    at += max(hashes, 1)
  }

  private mutating func comment() {
    var depth = 0
    repeat {
      let step = has("/*", at: at) ? 1 : has("*/", at: at) ? -1 : 0
      depth += step
      blank(step == 0 ? 1 : 2)
    } while depth > 0 && at < bytes.count
    if depth > 0 { isWhole = false }
  }

  private mutating func text(_ hashes: Int, _ isLong: Bool) {
    let mark = String(repeating: "#", count: hashes)
    let end = (isLong ? "\"\"\"" : "\"") + mark
    if has("\\" + mark, at: at) {
      blank(1 + hashes)
      if has("(", at: at) { places.append(.code(depth: 0)) }
      return blank(1)
    }
    if has(end, at: at) || (!isLong && has("\n", at: at)) {
      if has("\n", at: at) { isWhole = false }
      places.removeLast()
      return blank(has("\n", at: at) ? 1 : end.utf8.count)
    }
    blank(1)
  }
}

/// What a condition of `#if` is on Apple's platforms.
private struct Platform {
  let absent: Set<String>
  private static let elsewhere: Set<String> = [
    "Android", "Bionic", "FoundationEssentials", "FoundationNetworking", "Glibc", "Musl", "WASILibc", "WinSDK",
  ]

  /// nil: on some of them it is so, or nobody knows.
  func value(of condition: String) -> Bool? {
    var words = condition.matches(of: /\w+\s*\([^()]*\)|&&|\|\||[!()]|[\w.]+/).map { String($0.0) }[...]
    return either(&words)
  }

  private func either(_ words: inout ArraySlice<String>) -> Bool? {
    var value = both(&words)
    while words.first == "||" {
      words.removeFirst()
      let other = both(&words)
      value = value == true || other == true ? true : value == nil || other == nil ? nil : false
    }
    return value
  }

  private func both(_ words: inout ArraySlice<String>) -> Bool? {
    var value = one(&words)
    while words.first == "&&" {
      words.removeFirst()
      let other = one(&words)
      value = value == false || other == false ? false : value == nil || other == nil ? nil : true
    }
    return value
  }

  private func one(_ words: inout ArraySlice<String>) -> Bool? {
    guard let word = words.popFirst() else { return nil }
    switch word {
    case "!": return one(&words).map { !$0 }
    case "(":
      let value = either(&words)
      if words.first == ")" { words.removeFirst() }
      return value
    case "true": return true
    case "false": return false
    default: break
    }
    guard let call = word.wholeMatch(of: /(\w+)\s*\(\s*(\w+)[^()]*\)/) else { return nil }
    switch (call.1, String(call.2)) {
    case ("canImport", let name) where absent.contains(name) || Self.elsewhere.contains(name): return false
    case ("canImport", "Darwin"), ("canImport", "Foundation"), ("canImport", "Dispatch"): return true
    case ("os", "Linux"), ("os", "Windows"), ("os", "Android"), ("os", "FreeBSD"), ("os", "OpenBSD"), ("os", "WASI"):
      return false
    default: return nil
    }
  }
}
