// WebSocket frames as a client writes and reads them (RFC 6455 §5.2): no extensions, and what is written is masked.

/// The kinds of frames.
enum Opcode: UInt8 {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10
}

/// A frame that the server sent.
struct ServerFrame: Equatable {
  var opcode: Opcode
  var isFinal: Bool
  /// Where its payload stands.
  var payload: Range<Int>
}

enum Frames {
  /// No message of the server is longer: a snapshot of a full room is far below.
  private static let longest = 8 << 20

  /// What stands at `start`.
  enum Found: Equatable {
    case frame(ServerFrame)
    /// Its end has not come yet.
    case part
    /// No frame of a server that keeps to the rules.
    case broken
  }

  /// Reads the frame that begins at `start`.
  static func read(_ bytes: [UInt8], at start: Int) -> Found {
    guard bytes.count - start >= 2 else { return .part }
    let (first, second) = (bytes[start], bytes[start + 1])
    // Reserved bits, and a mask, which only clients have.
    guard first & 0x70 == 0, second & 0x80 == 0, let opcode = Opcode(rawValue: first & 0x0f) else { return .broken }
    var length = Int(second)
    var head = start + 2
    if length >= 126 {
      let extra = length == 126 ? 2 : 8
      guard bytes.count - head >= extra else { return .part }
      length = bytes[head..<(head + extra)].reduce(0) { ($0 & (.max >> 9)) << 8 | Int($1) }
      head += extra
    }
    guard length <= longest else { return .broken }
    guard bytes.count - head >= length else { return .part }
    return .frame(ServerFrame(opcode: opcode, isFinal: first & 0x80 != 0, payload: head..<(head + length)))
  }

  /// Adds a whole message or a control frame. `mask` is another for each.
  static func append(_ opcode: Opcode, _ payload: some Collection<UInt8>, mask: UInt32, to output: inout [UInt8]) {
    output.append(0x80 | opcode.rawValue)
    let length = payload.count
    switch length {
    case ..<126: output.append(0x80 | UInt8(length))
    case ..<65_536: output += [0x80 | 126, UInt8(length >> 8), UInt8(length & 0xff)]
    default:
      output.append(0x80 | 127)
      output += (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
    }
    let key = (0..<4).map { UInt8(truncatingIfNeeded: mask >> (24 - $0 * 8)) }
    output += key
    var index = 0
    for byte in payload {
      output.append(byte ^ key[index & 3])
      index += 1
    }
  }
}
