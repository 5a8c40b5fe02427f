// Records to bytes. Values may come from the network, so a value can neither end its line nor pose as another field.

/// Log lines as bytes, newline included. Values longer than `maximumValueBytes` are cut.
enum LineFormat {
  /// Raise it and one hostile name may fill a disk faster.
  static let maximumValueBytes = 1024

  static func text(time: String, level: LogLevel, message: String, fields: LogFields) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(128)
    line += time.utf8
    line.append(UInt8(ascii: " "))
    line += level.rawValue.utf8
    line.append(UInt8(ascii: " "))
    appendEscaped(message, quote: false, to: &line)
    for (key, value) in fields.pairs {
      line.append(UInt8(ascii: " "))
      appendKey(key, to: &line)
      line.append(UInt8(ascii: "="))
      appendTextValue(value, to: &line)
    }
    line.append(UInt8(ascii: "\n"))
    return line
  }

  static func json(time: String, level: LogLevel, message: String, fields: LogFields) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(160)
    line += "{\"ts\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"msg\":".utf8
    appendEscaped(message, quote: true, to: &line)
    for (key, value) in fields.pairs {
      line.append(UInt8(ascii: ","))
      appendEscaped(key, quote: true, to: &line)
      line.append(UInt8(ascii: ":"))
      appendJSONValue(value, to: &line)
    }
    line += "}\n".utf8
    return line
  }

  private static func appendKey(_ key: String, to line: inout [UInt8]) {
    for byte in key.utf8.prefix(64) {
      line.append(byte > 0x20 && byte < 0x7f && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\"") ? byte : 0x5f)
    }
  }

  private static func appendTextValue(_ value: LogValue, to line: inout [UInt8]) {
    switch value {
    case .string(let text): appendEscaped(text, quote: needsQuotes(text), to: &line)
    case .integer(let number): line += String(number).utf8
    case .unsigned(let number): line += String(number).utf8
    case .double(let number): line += String(number).utf8
    case .bool(let flag): line += (flag ? "true" : "false").utf8
    }
  }

  private static func appendJSONValue(_ value: LogValue, to line: inout [UInt8]) {
    switch value {
    case .string(let text): appendEscaped(text, quote: true, to: &line)
    case .double(let number) where !number.isFinite: appendEscaped(String(number), quote: true, to: &line)
    default: appendTextValue(value, to: &line)
    }
  }

  private static func needsQuotes(_ text: String) -> Bool {
    text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == 0x22 || $0 == 0x3d || $0 == 0x5c || $0 >= 0x7f }
  }

  /// JSON escapes, which serve the text form too. Everything outside printable ASCII becomes `\u`: a terminal's
  /// control codes, and right-to-left marks, must not reach the reader.
  private static func appendEscaped(_ text: String, quote: Bool, to line: inout [UInt8]) {
    if quote { line.append(UInt8(ascii: "\"")) }
    var written = 0
    for scalar in text.unicodeScalars {
      written += UTF8.width(scalar)
      if written > maximumValueBytes {
        line += "...".utf8
        break
      }
      switch scalar {
      case "\"" where quote: line += "\\\"".utf8
      case "\\": line += "\\\\".utf8
      case "\n": line += "\\n".utf8
      case "\r": line += "\\r".utf8
      case "\t": line += "\\t".utf8
      case " "..."~": line.append(UInt8(truncatingIfNeeded: scalar.value))
      default: for unit in UTF16.encode(scalar) ?? .init(repeating: 0xfffd, count: 1) { appendUnicode(unit, to: &line) }
      }
    }
    if quote { line.append(UInt8(ascii: "\"")) }
  }

  private static func appendUnicode(_ unit: UInt16, to line: inout [UInt8]) {
    let digits = String(unit, radix: 16)
    line += "\\u".utf8
    line += String(repeating: "0", count: 4 - digits.utf8.count).utf8
    line += digits.utf8
  }
}
