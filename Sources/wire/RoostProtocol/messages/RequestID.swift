// The id that ties a response to its request.

/// `id` of a request: a string or a whole number, chosen by the client, unique in its session.
public enum RequestID: Hashable, Sendable {
  case number(Int64)
  case string(String)
}

extension RequestID {
  /// Strings by their bytes, as their client does.
  public static func == (a: RequestID, b: RequestID) -> Bool {
    switch (a, b) {
    case (.number(let number), .number(let other)): number == other
    case (.string(let text), .string(let other)): text.utf8.elementsEqual(other.utf8)
    case (.number, .string), (.string, .number): false
    }
  }

  /// Over the same.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .number(let number): hasher.combine(number)
    case .string(let text): for byte in text.utf8 { hasher.combine(byte) }
    }
  }
}

extension RequestID: Codable, CustomStringConvertible {
  /// A whole number, or a string of at most `ProtocolLimits.requestIdBytes`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self), text.utf8.count <= ProtocolLimits.requestIdBytes {
      self = .string(text)
    } else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "expected a whole number or a string of at most \(ProtocolLimits.requestIdBytes) bytes")
    }
  }

  /// As it came.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    }
  }

  /// For logs.
  public var description: String {
    switch self {
    case .number(let number): String(number)
    case .string(let text): text
    }
  }
}
