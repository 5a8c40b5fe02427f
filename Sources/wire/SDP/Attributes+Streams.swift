// Reads msid (RFC 8830), ssrc and ssrc-group (RFC 5576), rid (RFC 8851) and simulcast (RFC 8853).

extension StreamAttributes {
  mutating func parse(_ name: String, _ value: Fields) -> AttributeVerdict {
    switch name {
    case "msid": return .when(takeStreamID(value))
    case "ssrc": return takeSource(value)
    case "ssrc-group": return .when(takeGroup(value))
    case "rid": return takeRID(value)
    case "simulcast": return takeSimulcast(value)
    default: return .unknown
    }
  }

  private mutating func takeStreamID(_ value: Fields) -> Bool {
    var value = value
    guard let stream = value.word() else { return false }
    msids.append(MediaStreamID(stream: stream, track: value.word()))
    return true
  }

  /// `<ssrc> <attribute>[:<value>]`
  private mutating func takeSource(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard let ssrc = value.number(UInt32.self) else { return .malformed }
    guard let index = indexOfSource(ssrc) else { return .tooMany }
    guard !value.isEmpty else { return .taken }
    let hasValue = value.rest.contains(0x3a)
    let name = String(decoding: value.next(until: 0x3a), as: UTF8.self)
    sources[index].attributes.append(Attribute(name, hasValue ? value.text : nil))
    return .taken
  }

  private mutating func indexOfSource(_ ssrc: UInt32) -> Int? {
    if sources.last?.ssrc == ssrc { return sources.count - 1 }
    if let index = sources.firstIndex(where: { $0.ssrc == ssrc }) { return index }
    guard sources.count < SDPLimits.sourcesPerSection else { return nil }
    sources.append(Source(ssrc: ssrc))
    return sources.count - 1
  }

  /// `<semantics> <ssrc> …`
  private mutating func takeGroup(_ value: Fields) -> Bool {
    var value = value
    guard let semantics = value.token() else { return false }
    var ssrcs: [UInt32] = []
    while let field = value.next() {
      guard let ssrc: UInt32 = field.number() else { return false }
      ssrcs.append(ssrc)
    }
    sourceGroups.append(SourceGroup(semantics: semantics, ssrcs: ssrcs))
    return true
  }

  /// `<id> send|recv [pt=<list>;<name>=<value>;…]`
  private mutating func takeRID(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard let id = value.next(), id.isRID, let direction = value.word(), direction == "send" || direction == "recv"
    else { return .malformed }
    var rid = RestrictionID(id: String(decoding: id, as: UTF8.self), sends: direction == "send")
    guard !rids.contains(where: { $0.id == rid.id && $0.sends == rid.sends }) else { return .duplicate }
    var parameters = Fields(value.rest)
    while !parameters.isEmpty {
      guard rid.parse(parameter: Fields(parameters.next(until: 0x3b))) else { return .malformed }
    }
    guard rids.count < 64 else { return .tooMany }
    rids.append(rid)
    return .taken
  }

  /// `send <streams>[ recv <streams>]`, in either order
  private mutating func takeSimulcast(_ value: Fields) -> AttributeVerdict {
    guard simulcast == nil else { return .duplicate }
    var value = value
    var result = Simulcast()
    var directions = 0
    while let direction = value.word() {
      guard let list = value.next(), let streams = Simulcast.streams(list) else { return .malformed }
      switch direction {
      case "send" where result.send.isEmpty: result.send = streams
      case "recv" where result.receive.isEmpty: result.receive = streams
      default: return .malformed
      }
      directions += 1
    }
    guard directions > 0 else { return .malformed }
    simulcast = result
    return .taken
  }
}

extension RestrictionID {
  fileprivate mutating func parse(parameter: Fields) -> Bool {
    let text = parameter.text.trimmed
    guard !text.isEmpty else { return true }
    var fields = Fields(Array(text.utf8)[...])
    let hasValue = fields.rest.contains(0x3d)
    let name = String(decoding: fields.next(until: 0x3d), as: UTF8.self)
    guard name == "pt" else {
      restrictions.append(Attribute(name, hasValue ? fields.text : nil))
      return true
    }
    while !fields.isEmpty {
      guard let payloadType: UInt8 = fields.next(until: 0x2c).number(), payloadType < 128 else { return false }
      payloadTypes.append(payloadType)
    }
    return true
  }
}

extension Simulcast {
  /// `a,~b;c`: streams between semicolons, alternatives between commas, `~` for paused.
  fileprivate static func streams(_ list: ArraySlice<UInt8>) -> [[Alternative]]? {
    var streams: [[Alternative]] = []
    for stream in list.split(separator: 0x3b, omittingEmptySubsequences: false) {
      var alternatives: [Alternative] = []
      for part in stream.split(separator: 0x2c, omittingEmptySubsequences: false) {
        let isPaused = part.first == 0x7e
        let id = isPaused ? part.dropFirst() : part
        guard id.isRID else { return nil }
        alternatives.append(Alternative(rid: String(decoding: id, as: UTF8.self), isPaused: isPaused))
      }
      streams.append(alternatives)
    }
    return streams.isEmpty ? nil : streams
  }
}

extension ArraySlice<UInt8> {
  /// RFC 8851 §10: letters, digits, `-` and `_`. At most 255 bytes, since it travels in a header extension.
  var isRID: Bool {
    (1...255).contains(count)
      && allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
        default: false
        }
      }
  }
}
