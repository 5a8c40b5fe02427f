// A look at a frame before it is decoded: how deep and how large it is. The decoder recurses with the depth. Its time grows with the
// number of values, and with the square of a key's length: it hashes keys, and to hash a letter with many accents they are sorted.
// So all three are bounded first. It does not check the grammar (RFC 8259).

/// Depth, size and longest key of a JSON text.
struct MessageShape: Equatable {
  /// Arrays and objects inside each other at the deepest place.
  var depth = 0
  /// At least the number of values and keys.
  var values = 1
  /// Bytes of the longest key, as it is written.
  var longestKey = 0

  /// Looks once over the bytes.
  init(_ bytes: [UInt8]) {
    var level = 0
    var index = 0
    // Bytes of the string that ended last; what comes before a colon is a key.
    var string = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        let start = index + 1
        index = Self.endOfString(bytes, from: start)
        string = index - start
      case UInt8(ascii: ":"):
        longestKey = max(longestKey, string)
        values += 1
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        level += 1
        depth = max(depth, level)
        values += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): level -= 1
      case UInt8(ascii: ","): values += 1
      default: break
      }
      index += 1
    }
  }

  /// Whether the server decodes it.
  var isAcceptable: Bool {
    depth <= ProtocolLimits.messageDepth && values <= ProtocolLimits.messageValues
      && longestKey <= ProtocolLimits.keyBytes
  }

  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var index = start
    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return index
  }
}
