// Writes a session description with CRLF line endings, attributes in the order that browsers use.

extension SessionDescription {
  /// The description as text. CR, LF and NUL inside values are left out, so that no value can forge a line.
  public func serialized() -> String {
    var writer = Writer()
    writer.line("v=0")
    writer.line(
      "o=\(origin.username) \(origin.sessionID) \(origin.sessionVersion) IN \(origin.addressType) \(origin.address)")
    writer.line("s=\(name)")
    writer.line("t=0 0")
    for group in groups { writer.attribute("group", ([group.semantics] + group.mids).joined(separator: " ")) }
    writer.flag("ice-lite", isICELite)
    writer.flag("extmap-allow-mixed", extmapAllowMixed)
    writer.put(transport)
    writer.put(extensions)
    if let direction { writer.attribute(direction.rawValue) }
    writer.put(otherAttributes)
    for line in media { writer.put(line) }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

private struct Writer {
  var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(4096) }

  mutating func line(_ text: String) {
    for byte in text.utf8 where byte != 0 && byte != 0x0a && byte != 0x0d { bytes.append(byte) }
    bytes += [0x0d, 0x0a]
  }

  mutating func attribute(_ name: String, _ value: String? = nil) {
    line(value.map { "a=\(name):\($0)" } ?? "a=\(name)")
  }

  mutating func flag(_ name: String, _ isSet: Bool) {
    if isSet { attribute(name) }
  }

  mutating func put(_ attributes: [Attribute]) {
    for other in attributes { attribute(other.name, other.value) }
  }

  mutating func put(_ media: MediaDescription) {
    let formats = media.isRTP ? media.rtp.codecs.map { String($0.payloadType) } : media.otherFormats
    line(([("m=" + media.type.token), String(media.port), media.protocolName] + formats).joined(separator: " "))
    if let address = media.connectionAddress {
      line("c=IN \(address.utf8.contains(0x3a) ? "IP6" : "IP4") \(address)")
    }
    for bandwidth in media.bandwidths { line("b=\(bandwidth.name):\(bandwidth.value ?? "0")") }
    put(media.transport)
    if let mid = media.mid { attribute("mid", mid) }
    flag("bundle-only", media.isBundleOnly)
    put(media.rtp.extensions)
    flag("extmap-allow-mixed", media.rtp.extmapAllowMixed)
    if let direction = media.direction { attribute(direction.rawValue) }
    for id in media.streams.msids { attribute("msid", id.track.map { "\(id.stream) \($0)" } ?? id.stream) }
    flag("rtcp-rsize", media.rtp.reducedSizeRTCP)
    for feedback in media.rtp.wildcardFeedback { put(feedback, of: "*") }
    for codec in media.rtp.codecs { put(codec) }
    put(media.streams)
    put(media.otherAttributes)
  }

  mutating func put(_ transport: TransportAttributes) {
    for candidate in transport.candidates { attribute("candidate", candidate.text) }
    flag("end-of-candidates", transport.endOfCandidates)
    if let ufrag = transport.iceUfrag { attribute("ice-ufrag", ufrag) }
    if let pwd = transport.icePwd { attribute("ice-pwd", pwd) }
    if !transport.iceOptions.isEmpty { attribute("ice-options", transport.iceOptions.joined(separator: " ")) }
    for fingerprint in transport.fingerprints { attribute("fingerprint", fingerprint.description) }
    if let setup = transport.setup { attribute("setup", setup.rawValue) }
    flag("rtcp-mux", transport.rtcpMux)
    flag("rtcp-mux-only", transport.rtcpMuxOnly)
  }

  mutating func put(_ extensions: [HeaderExtension]) {
    for one in extensions {
      let direction = one.direction.map { "/" + $0.rawValue } ?? ""
      let attributes = one.attributes.map { " " + $0 } ?? ""
      attribute("extmap", "\(one.id)\(direction) \(one.uri)\(attributes)")
    }
  }

  mutating func put(_ codec: Codec) {
    guard !codec.name.isEmpty else { return putDetails(codec) }
    let channels = codec.channels.map { "/\($0)" } ?? ""
    attribute("rtpmap", "\(codec.payloadType) \(codec.name)/\(codec.clockRate)\(channels)")
    putDetails(codec)
  }

  private mutating func putDetails(_ codec: Codec) {
    for feedback in codec.feedback { put(feedback, of: String(codec.payloadType)) }
    if !codec.format.text.isEmpty { attribute("fmtp", "\(codec.payloadType) \(codec.format.text)") }
  }

  mutating func put(_ feedback: Feedback, of target: String) {
    attribute("rtcp-fb", "\(target) \(feedback.type)" + (feedback.parameter.map { " " + $0 } ?? ""))
  }

  mutating func put(_ streams: StreamAttributes) {
    for rid in streams.rids { attribute("rid", rid.text) }
    if let simulcast = streams.simulcast { attribute("simulcast", simulcast.text) }
    for group in streams.sourceGroups {
      attribute("ssrc-group", ([group.semantics] + group.ssrcs.map { String($0) }).joined(separator: " "))
    }
    for source in streams.sources {
      if source.attributes.isEmpty { attribute("ssrc", String(source.ssrc)) }
      for one in source.attributes {
        attribute("ssrc", "\(source.ssrc) \(one.name)" + (one.value.map { ":" + $0 } ?? ""))
      }
    }
  }
}

extension Candidate {
  var text: String {
    let tail = extensions.isEmpty ? "" : " " + extensions
    return "\(foundation) \(component) \(transport) \(priority) \(address) \(port) typ \(type)\(tail)"
  }
}

extension RestrictionID {
  var text: String {
    var parts = restrictions.map { one in one.value.map { "\(one.name)=\($0)" } ?? one.name }
    if !payloadTypes.isEmpty {
      parts.insert("pt=" + payloadTypes.map { String($0) }.joined(separator: ","), at: 0)
    }
    return "\(id) \(sends ? "send" : "recv")" + (parts.isEmpty ? "" : " " + parts.joined(separator: ";"))
  }
}

extension Simulcast {
  var text: String {
    func list(_ name: String, _ streams: [[Alternative]]) -> String? {
      guard !streams.isEmpty else { return nil }
      let parts = streams.map { $0.map { ($0.isPaused ? "~" : "") + $0.rid }.joined(separator: ",") }
      return name + " " + parts.joined(separator: ";")
    }
    return [list("send", send), list("recv", receive)].compactMap { $0 }.joined(separator: " ")
  }
}
