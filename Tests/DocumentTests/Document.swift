// docs/protocol.md as data: its marked blocks, its tables.

import Foundation

/// The document, read once.
struct Document {
  /// A fenced block of JSON that is marked as a message.
  struct Example: CustomStringConvertible {
    /// `request`, `reply`, `error` or `event`.
    var kind: String
    /// The method or event.
    var name: String
    /// The client of the recorded session; nil elsewhere.
    var client: String?
    /// The line of the document.
    var line: Int
    var text: String
    var description: String { "line \(line): \(kind) \(name)" }
  }

  let lines: [String]
  private(set) var examples: [Example] = []
  /// Session descriptions by name, with CRLF line ends.
  private(set) var descriptions: [String: String] = [:]

  static let shared: Document = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.md")
      .standardized
    return Document((try? String(contentsOf: file, encoding: .utf8)) ?? "")
  }()

  init(_ text: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var open: (mark: String, line: Int, body: [String])?
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        if let block = open { take(block.mark, block.line, block.body) }
        open = open == nil ? (String(line.dropFirst(3)), index + 1, []) : nil
      } else {
        open?.body.append(line)
      }
    }
  }

  private mutating func take(_ mark: String, _ line: Int, _ body: [String]) {
    let words = mark.split(separator: " ").map(String.init)
    switch words.first {
    case "sdp" where words.count == 2: descriptions[words[1]] = body.map { $0 + "\r\n" }.joined()
    case "json" where words.count >= 3:
      examples.append(
        Example(
          kind: words[1], name: words[2], client: words.count > 3 ? words[3] : nil, line: line,
          text: body.joined(separator: "\n")))
    default: break
    }
  }

  /// The message with its session description in place.
  func message(_ example: Example) throws -> [String: Any] {
    guard var frame = try JSONSerialization.jsonObject(with: Data(example.text.utf8)) as? [String: Any] else {
      throw Problem("\(example) is no object")
    }
    for key in ["params", "result"] {
      guard var body = frame[key] as? [String: Any], let text = body["sdp"] as? String else { continue }
      guard text.hasPrefix("{{sdp "), let sdp = descriptions[String(text.dropFirst(6).dropLast(2))] else {
        throw Problem("\(example) names no description: \(text)")
      }
      body["sdp"] = sdp
      frame[key] = body
    }
    return frame
  }

  func bytes(_ example: Example) throws -> [UInt8] { try JSON.bytes(message(example)) }

  /// Rows of tables under a heading, as trimmed cells without backticks; header and rule left out.
  func rows(under heading: String) -> [[String]] {
    guard let start = lines.firstIndex(of: heading) else { return [] }
    let level = heading.prefix { $0 == "#" }.count
    let section = lines[(start + 1)...].prefix { line in
      let hashes = line.prefix { $0 == "#" }.count
      return hashes == 0 || hashes > level
    }
    let table = section.filter { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
    }
    return table.filter { !($0.first ?? "").hasPrefix("---") }
  }

  /// Rows whose first cell is a number.
  func numberedRows(under heading: String) -> [[String]] { rows(under: heading).filter { Int($0[0]) != nil } }
}

struct Problem: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

enum JSON {
  static func bytes(_ object: [String: Any]) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]))
  }

  static func object(_ bytes: [UInt8]) throws -> [String: Any] {
    guard let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else {
      throw Problem("not an object")
    }
    return object
  }

  /// Equal but for the order of keys.
  static func canonical(_ bytes: [UInt8]) throws -> String {
    String(decoding: try Self.bytes(object(bytes)), as: UTF8.self)
  }

  /// Paths of all keys with the types of their values; elements of arrays count as one each.
  static func shape(_ value: Any, _ path: String = "") -> Set<String> {
    switch value {
    case let object as [String: Any]:
      object.reduce(into: [path + "{}"]) { $0.formUnion(shape($1.value, path + "." + $1.key)) }
    case let array as [Any]:
      array.enumerated().reduce(into: [path + "[]"]) { $0.formUnion(shape($1.element, path + "[\($1.offset)]")) }
    case is String: [path + " string"]
    case let number as NSNumber: [path + (CFGetTypeIDIsBool(number) ? " boolean" : " number")]
    default: [path + " null"]
    }
  }

  private static func CFGetTypeIDIsBool(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
