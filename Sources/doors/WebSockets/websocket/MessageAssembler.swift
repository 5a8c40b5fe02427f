// Puts the frames of a message together (RFC 6455 §5.4) under a size limit. Pure.

/// Collects the pieces of one message at a time.
enum MessageAssembler {
  case idle
  case text([UInt8])
  case discarding

  /// What a piece brought about.
  enum Outcome: Equatable {
    case more
    case message([UInt8])
    case invalidText
    case oversized
    case binary
  }

  /// Bytes that wait for the rest of their message.
  var count: Int { if case .text(let bytes) = self { bytes.count } else { 0 } }

  /// Takes the next piece. `final` marks the last piece of the message; `binary` is what the message's first frame said.
  mutating func append(_ piece: UnsafeRawBufferPointer, binary: Bool, final: Bool, limit: Int) -> Outcome {
    switch self {
    case .discarding:
      if final { self = .idle }
      return .more
    case .idle where binary:
      self = final ? .idle : .discarding
      return .binary
    case .idle:
      return append(piece, to: [], final: final, limit: limit)
    case .text(let start):
      self = .idle  // gives up this reference, so that the bytes are not copied for each piece
      return append(piece, to: start, final: final, limit: limit)
    }
  }

  private mutating func append(
    _ piece: UnsafeRawBufferPointer, to start: consuming [UInt8], final: Bool, limit: Int
  ) -> Outcome {
    var message = start
    guard piece.count <= limit - message.count else {
      self = final ? .idle : .discarding
      return .oversized
    }
    message.append(contentsOf: piece)
    guard final else {
      self = .text(message)
      return .more
    }
    self = .idle
    return message.isValidUTF8 ? .message(message) : .invalidText
  }
}

extension [UInt8] {
  /// Whether these bytes are well-formed UTF-8 (RFC 3629).
  var isValidUTF8: Bool {
    do {
      _ = try UTF8Span(validating: span)
      return true
    } catch {
      return false
    }
  }
}
