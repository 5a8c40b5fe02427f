// Sorts an attribute to the part of the model that knows it, and reads the few that belong to the line itself.

enum AttributeVerdict {
  case taken, unknown, malformed, duplicate, tooMany

  static func when(_ understood: Bool) -> AttributeVerdict { understood ? .taken : .malformed }
}

extension SessionDescription {
  mutating func parse(_ name: String, _ value: Fields) -> AttributeVerdict {
    switch name {
    case "group": return takeGroup(value)
    case "ice-lite": isICELite = true
    case "extmap-allow-mixed": extmapAllowMixed = true
    case "extmap": return extensions.parse(value)
    case "sendrecv", "sendonly", "recvonly", "inactive": direction = Direction(rawValue: name)
    default: return transport.parse(name, value)
    }
    return .taken
  }

  private mutating func takeGroup(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard let semantics = value.token() else { return .malformed }
    // What is no token (RFC 5888 §4) names no media line.
    groups.append(Group(semantics: semantics, mids: value.words().filter { $0.utf8.allSatisfy(\.isToken) }))
    return .taken
  }
}

extension MediaDescription {
  mutating func parse(_ name: String, _ value: Fields) -> AttributeVerdict {
    switch name {
    case "mid": return takeMid(value)
    case "sendrecv", "sendonly", "recvonly", "inactive": direction = Direction(rawValue: name)
    case "bundle-only": isBundleOnly = true
    default:
      var verdict = transport.parse(name, value)
      if verdict == .unknown, isRTP { verdict = rtp.parse(name, value) }
      if verdict == .unknown { verdict = streams.parse(name, value) }
      return verdict
    }
    return .taken
  }

  private mutating func takeMid(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard mid == nil else { return .duplicate }
    guard let token = value.token(), value.isEmpty else { return .malformed }
    mid = token
    return .taken
  }
}
