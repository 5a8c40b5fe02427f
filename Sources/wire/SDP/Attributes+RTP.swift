// Reads rtpmap, fmtp (RFC 8866 §6), rtcp-fb (RFC 4585 §4.2), extmap (RFC 8285 §5) and rtcp-rsize.

extension RTPAttributes {
  mutating func parse(_ name: String, _ value: Fields) -> AttributeVerdict {
    switch name {
    case "rtpmap": return .when(takeMapping(value))
    case "fmtp": return .when(takeFormat(value))
    case "rtcp-fb": return .when(takeFeedback(value))
    case "extmap": return extensions.parse(value)
    case "extmap-allow-mixed": extmapAllowMixed = true
    case "rtcp-rsize": reducedSizeRTCP = true
    default: return .unknown
    }
    return .taken
  }

  /// Position of a payload type; nil for one that the `m=` line does not list, whose attributes mean nothing.
  private func index(_ payloadType: UInt8) -> Int? { codecs.firstIndex { $0.payloadType == payloadType } }

  /// `<payload type> <name>/<clock rate>[/<channels>]`
  private mutating func takeMapping(_ value: Fields) -> Bool {
    var value = value
    guard let payloadType = value.number(UInt8.self), payloadType < 128, var encoding = value.next().map(Fields.init)
    else { return false }
    let name = encoding.next(until: 0x2f)
    guard !name.isEmpty, name.allSatisfy(\.isToken), let rate: UInt32 = encoding.next(until: 0x2f).number(), rate > 0
    else { return false }
    let channels: UInt8? = encoding.rest.number()
    guard encoding.isEmpty || channels != nil else { return false }
    guard let index = index(payloadType) else { return true }
    codecs[index].name = String(decoding: name, as: UTF8.self)
    codecs[index].clockRate = rate
    codecs[index].channels = channels
    return true
  }

  /// `<payload type> <parameters>`; a second line of one payload type adds to the first.
  private mutating func takeFormat(_ value: Fields) -> Bool {
    var value = value
    guard let payloadType = value.number(UInt8.self), payloadType < 128 else { return false }
    guard let index = index(payloadType) else { return true }
    let text = value.text.trimmed
    let known = codecs[index].format.text
    codecs[index].format.text = known.isEmpty ? text : known + ";" + text
    return true
  }

  /// `<payload type or *> <type>[ <parameter>]`
  private mutating func takeFeedback(_ value: Fields) -> Bool {
    var value = value
    guard let target = value.next(), let type = value.token() else { return false }
    let rest = value.text.trimmed
    let feedback = Feedback(type, rest.isEmpty ? nil : rest)
    if target.elementsEqual([0x2a]) {
      wildcardFeedback.append(feedback)
      return true
    }
    guard let payloadType: UInt8 = target.number(), payloadType < 128 else { return false }
    if let index = index(payloadType) { codecs[index].feedback.append(feedback) }
    return true
  }
}

extension [HeaderExtension] {
  /// `<id>[/<direction>] <uri>[ <attributes>]`
  mutating func parse(_ value: Fields) -> AttributeVerdict {
    var value = value
    guard var head = value.next().map(Fields.init), let id: UInt16 = head.next(until: 0x2f).number(),
      (1...255).contains(id) || (4096...4351).contains(id), let uri = value.word()
    else { return .malformed }
    let direction = Direction(rawValue: head.text)
    guard head.isEmpty || direction != nil else { return .malformed }
    let attributes = value.text.trimmed
    append(HeaderExtension(id: id, uri: uri, direction: direction, attributes: attributes.isEmpty ? nil : attributes))
    return .taken
  }
}
