// Reads a block of keys: each key once, with its kind of value, collecting every complaint instead of stopping at the
// first. What was asked for is also what is known, so unknown keys are found without a second list.
import Basics

/// Collects what is wrong, and which keys exist.
package final class ConfigurationReport {
  let file: String
  /// The addresses of the machine that the file is for; nil where only the text counts, and neither the machine's addresses
  /// nor the files that the configuration names are looked at.
  let interfaces: [SocketAddress]?
  private(set) var issues: [ConfigurationIssue] = []
  /// Paths of all keys that the program knows; names of kinds and rooms are `*`.
  private(set) var knownKeys: Set<String> = []
  /// Those of them that the file has.
  private(set) var presentKeys: Set<String> = []
  /// Where the values of the keys stand that the file has, by their paths.
  private(set) var locations: [String: YAMLMark] = [:]

  init(file: String, interfaces: [SocketAddress]?) {
    self.file = file
    self.interfaces = interfaces
  }

  func complain(_ mark: YAMLMark, _ key: String, _ message: String) {
    issues.append(
      ConfigurationIssue(file: file, line: mark.line, column: mark.column, key: key, message: message))
  }

  fileprivate func note(known: String, isPresent: Bool) {
    knownKeys.insert(known)
    if isPresent { presentKeys.insert(known) }
  }

  fileprivate func note(_ path: String, at mark: YAMLMark) { locations[path] = mark }
}

/// Where a value stands and where to complain about it.
package struct ValueContext {
  let report: ConfigurationReport
  let path: String
  /// The path with `*` for names and no element numbers.
  let knownPath: String

  package func complain(_ node: YAMLNode, _ message: String) { report.complain(node.mark, path, message) }
  package func complain(_ node: YAMLNode, expected: String) {
    complain(node, "expected \(expected), found \(node.described)")
  }
  /// The context of one element of a list, counted from 1.
  func element(_ number: Int) -> ValueContext {
    ValueContext(report: report, path: "\(path)[\(number)]", knownPath: knownPath)
  }
}

/// A kind of value: turns a node into it, or complains and gives nil.
package struct ValueKind<Value> {
  let read: (YAMLNode, ValueContext) -> Value?

  package init(_ read: @escaping (YAMLNode, ValueContext) -> Value?) { self.read = read }
}

/// A block of keys that is being read; an absent one has no node and gives no values.
package struct Section {
  let report: ConfigurationReport
  let path: String
  private let knownPath: String
  /// Where the block begins.
  private let start: YAMLMark
  private let entries: [YAMLNode.Entry]
  private var asked: [String] = []

  /// The whole document. Complains when it is not a block of keys.
  init(root: YAMLNode?, report: ConfigurationReport) {
    self.init(node: root, path: "", knownPath: "", report: report)
  }

  /// A block that is a value itself, such as an element of a list. The caller finishes it.
  package init(element node: YAMLNode, _ context: ValueContext) {
    self.init(node: node, path: context.path + ".", knownPath: context.knownPath + ".", report: context.report)
  }

  private init(node: YAMLNode?, path: String, knownPath: String, report: ConfigurationReport) {
    (self.report, self.path, self.knownPath) = (report, path, knownPath)
    start = node?.mark ?? YAMLMark(line: 1, column: 1)
    switch node?.content {
    case .mapping(let entries)?: self.entries = entries
    case let other:
      entries = []
      guard other != nil, let node, !node.isNull else { return }
      report.complain(node.mark, String(path.dropLast()), "expected a block of keys, found \(node.described)")
    }
  }

  /// The value of a key; nil when it is absent, empty or wrong (then it has complained).
  package mutating func value<Value>(_ key: String, _ kind: ValueKind<Value>) -> Value? {
    guard let node = ask(for: key) else { return nil }
    return kind.read(node, ValueContext(report: report, path: path + key, knownPath: knownPath + key))
  }

  /// Stores the value of a key when it is there and right.
  package mutating func read<Value>(_ key: String, _ kind: ValueKind<Value>, _ target: inout Value) {
    if let value = value(key, kind) { target = value }
  }

  /// As above for a target that may also be unset.
  package mutating func read<Value>(_ key: String, _ kind: ValueKind<Value>, _ target: inout Value?) {
    if let value = value(key, kind) { target = value }
  }

  /// Reads the block under a key and complains about keys in it that nobody asked for. Runs for an absent block too.
  package mutating func section(_ key: String, _ body: (inout Section) -> Void) {
    let node = ask(for: key)
    var section = Section(node: node, path: path + key + ".", knownPath: knownPath + key + ".", report: report)
    body(&section)
    section.finish()
  }

  /// Reads a block whose keys are names; nil when it is absent. The body gets each name, where it stands, and its block.
  mutating func names<Value>(_ key: String, _ body: (String, YAMLMark, inout Section) -> Value?) -> [String: Value]? {
    let node = ask(for: key)
    let block = Section(node: node, path: path + key + ".", knownPath: knownPath + key + ".", report: report)
    var result: [String: Value] = [:]
    for entry in block.entries {
      var section = Section(
        node: entry.value, path: block.path + entry.key.shortened + ".", knownPath: block.knownPath + "*.",
        report: report)
      result[entry.key] = body(entry.key, entry.keyMark, &section)
      section.finish()
    }
    return node == nil ? nil : result
  }

  /// Whether the key stands in the file with a value, and where.
  package func mark(of key: String) -> YAMLMark? { entries.first { $0.key == key && !$0.value.isNull }?.value.mark }

  /// Whether the key's value is a single one, no list or block.
  func isScalar(_ key: String) -> Bool { entries.first { $0.key == key }?.value.text != nil && mark(of: key) != nil }

  /// Complains about a key of this section, or about its absence.
  package func complain(_ key: String, _ message: String) {
    report.complain(mark(of: key) ?? start, path + key, message)
  }

  /// Complains about every key that was never asked for.
  package func finish() {
    for entry in entries where !asked.contains(entry.key) {
      let hint = nearest(entry.key, asked).map { "did you mean \"\($0)\"?" }
      let known = "known here: " + asked.sorted().joined(separator: ", ")
      report.complain(entry.keyMark, path + entry.key.shortened, "unknown key; \(hint ?? known)")
    }
  }

  private mutating func ask(for key: String) -> YAMLNode? {
    asked.append(key)
    let entry = entries.first { $0.key == key }
    report.note(known: knownPath + key, isPresent: entry != nil)
    guard let value = entry?.value, !value.isNull else { return nil }
    report.note(path + key, at: value.mark)
    return value
  }
}

/// The candidate that `word` begins, or differs from by a slip of the finger or two; nil when none is near.
package func nearest(_ word: String, _ candidates: [String]) -> String? {
  guard word.utf8.count <= 40 else { return nil }
  let target = comparable(word)
  if target.count >= 3, let longer = candidates.first(where: { comparable($0).starts(with: target) }) { return longer }
  let scored = candidates.map { (candidate: $0, distance: editDistance(target, comparable($0))) }
  guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
  return best.distance <= max(1, min(3, word.utf8.count / 3)) ? best.candidate : nil
}

/// Case and the choice between - and _ do not count.
private func comparable(_ word: String) -> [UInt8] { word.lowercased().utf8.map { $0 == 45 ? 95 : $0 } }

/// Insertions, removals, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment).
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var rows = [Array(0...b.count)]
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
      row.append(best)
    }
    rows.append(row)
  }
  return rows[a.count][b.count]
}
