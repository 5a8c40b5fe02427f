// A look at the JSON object of a header or of claims before it is decoded. Decoders take the first or the last of two members with
// one name; a token whose readers could disagree is refused (RFC 7515 §4, RFC 7519 §4).

/// How a text must look to be decoded.
enum ObjectShape {
  /// Arrays and objects inside each other. Ours have two; the decoder recurses with them.
  private static let depth = 4
  /// Members of the object.
  private static let members = 64

  /// Whether the text is an object of valid UTF-8, not too deep, whose members have different names. Names with a backslash are refused:
  /// no claim needs one, and `\u0065xp` would be another way to say `exp`. It does not check the rest of the grammar (RFC 8259).
  static func isAcceptable(_ text: [UInt8]) -> Bool {
    guard String(validating: text, as: UTF8.self) != nil, text.first == UInt8(ascii: "{") else { return false }
    var names: Set<ArraySlice<UInt8>> = []
    var (level, index, expectsName) = (0, 0, false)
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        level += 1
        guard level <= depth else { return false }
        expectsName = level == 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): level -= 1
      case UInt8(ascii: ","): expectsName = level == 1
      case UInt8(ascii: "\""):
        guard let end = endOfString(text, from: index + 1) else { return false }
        if level == 1, expectsName {
          let name = text[(index + 1)..<end]
          guard !name.contains(UInt8(ascii: "\\")), names.count < members, names.insert(name).inserted else {
            return false
          }
          expectsName = false
        }
        index = end
      default: break
      }
      index += 1
    }
    return level == 0
  }

  /// Where the string ends that began before `start`; nil where it does not.
  private static func endOfString(_ text: [UInt8], from start: Int) -> Int? {
    var index = start
    while index < text.count, text[index] != UInt8(ascii: "\"") { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return index < text.count ? index : nil
  }
}
