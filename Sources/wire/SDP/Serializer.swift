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

extension RTPAttributes {
  /// The same with its codecs and extensions as text beside them, until they are changed: for what many descriptions say.
  public func written() -> RTPAttributes {
    var (written, codecs, extensions) = (self, Writer(), Writer())
    for codec in self.codecs { codecs.put(codec) }
    extensions.put(self.extensions)
    (written.codecLines.text, written.extensionLines.text) = (codecs.bytes, extensions.bytes)
    return written
  }
}

private struct Writer {
  var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(4096) }

  /// What would end a line, and begin another.
  private static func breaks(_ byte: UInt8) -> Bool { byte == 0 || byte == 0x0a || byte == 0x0d }

  /// Adds a part of a line. A room with many tracks makes thousands of these for each offer: nothing is put together before.
  private mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      if utf8.contains(where: Self.breaks) {
        bytes.append(contentsOf: utf8.filter { !Self.breaks($0) })
      } else {
        bytes.append(contentsOf: utf8)
      }
    }
  }

  /// Adds a text of ours.
  private mutating func add(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

  private mutating func add(_ number: some FixedWidthInteger & UnsignedInteger) {
    var left = number
    let start = bytes.count
    repeat {
      let (rest, digit) = left.quotientAndRemainder(dividingBy: 10)
      bytes.append(0x30 + UInt8(truncatingIfNeeded: digit))
      left = rest
    } while left > 0
    // Within the array: a slice that is changed would be a copy of everything.
    var (low, high) = (start, bytes.count - 1)
    while low < high {
      bytes.swapAt(low, high)
      low += 1
      high -= 1
    }
  }

  private mutating func end() {
    bytes.append(0x0d)
    bytes.append(0x0a)
  }

  mutating func line(_ text: String) {
    add(text)
    end()
  }

  mutating func attribute(_ name: String, _ value: String? = nil) {
    begin(name)
    if let value {
      bytes.append(0x3a)
      add(value)
    }
    end()
  }

  /// Begins an attribute's line.
  private mutating func begin(_ name: String) {
    add("a=" as StaticString)
    add(name)
  }

  private mutating func begin(_ name: StaticString) {
    add("a=" as StaticString)
    add(name)
  }

  mutating func flag(_ name: String, _ isSet: Bool) {
    if isSet { attribute(name) }
  }

  mutating func put(_ attributes: [Attribute]) {
    for other in attributes { attribute(other.name, other.value) }
  }

  mutating func put(_ media: MediaDescription) {
    putFirstLine(of: media)
    if let address = media.connectionAddress {
      line("c=IN \(address.utf8.contains(0x3a) ? "IP6" : "IP4") \(address)")
    }
    for bandwidth in media.bandwidths { line("b=\(bandwidth.name):\(bandwidth.value ?? "0")") }
    put(media.transport)
    if let mid = media.mid { attribute("mid", mid) }
    flag("bundle-only", media.isBundleOnly)
    if let lines = media.rtp.extensionLines.text { bytes += lines } else { put(media.rtp.extensions) }
    flag("extmap-allow-mixed", media.rtp.extmapAllowMixed)
    if let direction = media.direction { attribute(direction.rawValue) }
    for id in media.streams.msids { attribute("msid", id.track.map { "\(id.stream) \($0)" } ?? id.stream) }
    flag("rtcp-rsize", media.rtp.reducedSizeRTCP)
    for feedback in media.rtp.wildcardFeedback { put(feedback, of: nil) }
    if let lines = media.rtp.codecLines.text { bytes += lines } else { for codec in media.rtp.codecs { put(codec) } }
    put(media.streams)
    put(media.otherAttributes)
  }

  private mutating func putFirstLine(of media: MediaDescription) {
    add("m=" as StaticString)
    add(media.type.token)
    add(" " as StaticString)
    add(media.port)
    add(" " as StaticString)
    add(media.protocolName)
    if media.isRTP {
      for codec in media.rtp.codecs {
        add(" " as StaticString)
        add(codec.payloadType)
      }
    } else {
      for format in media.otherFormats {
        add(" " as StaticString)
        add(format)
      }
    }
    end()
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
      begin("extmap:" as StaticString)
      add(one.id)
      if let direction = one.direction {
        add("/" as StaticString)
        add(direction.rawValue)
      }
      add(" " as StaticString)
      add(one.uri)
      if let attributes = one.attributes {
        add(" " as StaticString)
        add(attributes)
      }
      end()
    }
  }

  mutating func put(_ codec: Codec) {
    guard !codec.name.isEmpty else { return putDetails(codec) }
    begin("rtpmap:" as StaticString)
    add(codec.payloadType)
    add(" " as StaticString)
    add(codec.name)
    add("/" as StaticString)
    add(codec.clockRate)
    if let channels = codec.channels {
      add("/" as StaticString)
      add(channels)
    }
    end()
    putDetails(codec)
  }

  private mutating func putDetails(_ codec: Codec) {
    for feedback in codec.feedback { put(feedback, of: codec.payloadType) }
    if codec.format.text.isEmpty { return }
    begin("fmtp:" as StaticString)
    add(codec.payloadType)
    add(" " as StaticString)
    add(codec.format.text)
    end()
  }

  /// Feedback of one payload type, or of all (nil).
  mutating func put(_ feedback: Feedback, of payloadType: UInt8?) {
    begin("rtcp-fb:" as StaticString)
    if let payloadType { add(payloadType) } else { add("*" as StaticString) }
    add(" " as StaticString)
    add(feedback.type)
    if let parameter = feedback.parameter {
      add(" " as StaticString)
      add(parameter)
    }
    end()
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
        begin("ssrc:" as StaticString)
        add(source.ssrc)
        add(" " as StaticString)
        add(one.name)
        if let value = one.value {
          add(":" as StaticString)
          add(value)
        }
        end()
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
