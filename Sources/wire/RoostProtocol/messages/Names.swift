// Words that stand for a choice on the wire. A closed set is an enum, and anything else is refused with the list of what
// there is; a set that only the server writes is open, so that an old client survives a new word.

/// A closed set of words.
public protocol WireName: RawRepresentable, CaseIterable, Codable, Hashable, Sendable where RawValue == String {}

extension WireName {
  /// Refuses an unknown word with the list of those there are.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Self(rawValue: try container.decode(String.self)) else {
      let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected one of \(words)")
    }
    self = value
  }

  /// The word as a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// What a room or a call carries.
public enum MediaClass: String, WireName {
  case audio, video
}

/// What a track carries.
public enum TrackKind: String, WireName {
  case audio, video
}

/// A layer by its name; `auto` leaves the choice to the server.
public enum Definition: String, WireName {
  case low, standard, high, auto
}

/// One of the two peer connections of a seat, named by what the client does on it.
public enum PeerConnection: String, WireName {
  case publish, subscribe
}

/// Which kind of call it is.
public enum CallKind: String, WireName {
  case oneToOne = "one_to_one"
  case oneToMany = "one_to_many"
  case group
}

/// Whom an answer stops.
public enum AnswerPolicy: String, WireName {
  case firstWins = "first_wins"
  case everyone
}

/// What a reject ends.
public enum RejectPolicy: String, WireName {
  case anyEnds = "any_ends"
  case ignore
}

/// What happens to a callee who is in another call.
public enum BusyPolicy: String, WireName {
  case reject, ring
}

/// Where a reject counts.
public enum RejectScope: String, WireName {
  case everywhere
  case thisDevice = "this_device"
}

/// What a `call.mediaChange` does.
public enum MediaChangeAction: String, WireName {
  case request, accept, reject, cancel
}

/// A word of an open set: unknown ones are kept as they are.
public protocol OpenName: RawRepresentable, Codable, Hashable, Sendable, ExpressibleByStringLiteral
where RawValue == String {
  /// Any word.
  init(rawValue: String)
}

extension OpenName {
  /// Any word.
  public init(stringLiteral value: String) { self.init(rawValue: value) }
  /// Any word.
  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }
  /// The word as a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
