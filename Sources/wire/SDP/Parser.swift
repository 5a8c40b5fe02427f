// Reads a session description (RFC 8866 §9) in one pass over its bytes. What an attribute means is decided in
// `Attributes+….swift`; here is the frame of lines and sections.

extension SessionDescription {
  /// Parses a description. Lines end in LF or CRLF. Unknown lines and attributes are kept, and those that
  /// cannot be read are passed over, as in browsers (`passedOver` says which), but not what a transport is recognised by: ICE credentials,
  /// fingerprints, DTLS roles, and the tags of media lines. Limits are `SDPLimits`.
  public static func parse(_ bytes: [UInt8]) throws(SDPError) -> SessionDescription {
    guard bytes.count <= SDPLimits.bytes else { throw SDPError(line: 0, reason: .tooLarge) }
    var parser = Parser()
    var rest = bytes[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 0x0a) ?? rest.endIndex
      try parser.parse(line: rest[..<end])
      rest = rest[end...].dropFirst()
    }
    return try parser.finish()
  }

  /// Parses a description given as borrowed bytes.
  public static func parse(_ bytes: Span<UInt8>) throws(SDPError) -> SessionDescription {
    guard bytes.count <= SDPLimits.bytes else { throw SDPError(line: 0, reason: .tooLarge) }
    var copy: [UInt8] = []
    copy.reserveCapacity(bytes.count)
    for index in bytes.indices { copy.append(bytes[index]) }
    return try parse(copy)
  }

  /// Parses a description given as text.
  public static func parse(_ text: String) throws(SDPError) -> SessionDescription {
    guard text.utf8.count <= SDPLimits.bytes else { throw SDPError(line: 0, reason: .tooLarge) }
    return try parse(Array(text.utf8))
  }
}

private struct Parser {
  var number = 0
  var sawVersion = false
  var session: SessionDescription?
  var current: MediaDescription?
  var linesInSection = 0
  var mids: Set<String> = []

  /// Takes one line, without its LF.
  mutating func parse(line: ArraySlice<UInt8>) throws(SDPError) {
    number += 1
    var line = line.last == 0x0d ? line.dropLast() : line
    try check(line)
    // Blanks at the end mean nothing: RFC 8866 has none, and people's own code does.
    while let last = line.last, last == 0x20 || last == 0x09 { line = line.dropLast() }
    guard !line.isEmpty else { return }
    guard line.count >= 2, line[line.startIndex + 1] == 0x3d, let type = line.first, (0x61...0x7a).contains(type)
    else { throw error(.notALine) }
    let value = Fields(line.dropFirst(2))
    guard sawVersion else {
      guard type == UInt8(ascii: "v"), value.text == "0" else { throw error(.missingVersion) }
      sawVersion = true
      return
    }
    guard session != nil else {
      guard type == UInt8(ascii: "o") else { throw error(.missingOrigin) }
      // Nothing of a client's origin is used.
      let origin = Origin(value)
      session = SessionDescription(origin: origin ?? Origin(sessionID: 0))
      if origin == nil { passOver("o=") }
      return
    }
    try parse(type, value)
  }

  mutating func finish() throws(SDPError) -> SessionDescription {
    guard sawVersion else { throw SDPError(line: 0, reason: .missingVersion) }
    guard var result = session else { throw SDPError(line: 0, reason: .missingOrigin) }
    if let current { result.media.append(current) }
    return result
  }

  private func error(_ reason: SDPError.Reason) -> SDPError { SDPError(line: number, reason: reason) }

  private func check(_ line: ArraySlice<UInt8>) throws(SDPError) {
    guard line.count <= SDPLimits.bytesPerLine else { throw error(.lineTooLong) }
    var isASCII = true
    for byte in line {
      if byte == 0 || byte == 0x0d { throw error(.illegalByte) }
      if byte >= 0x80 { isASCII = false }
    }
    if !isASCII, String(validating: line, as: UTF8.self) == nil { throw error(.illegalByte) }
  }

  private mutating func parse(_ type: UInt8, _ value: Fields) throws(SDPError) {
    linesInSection += 1
    guard linesInSection <= SDPLimits.linesPerSection else { throw error(.tooManyAttributes) }
    switch type {
    case UInt8(ascii: "m"): try beginMedia(value)
    case UInt8(ascii: "a"): try takeAttribute(value)
    case UInt8(ascii: "s"): if current == nil { session?.name = value.text }
    case UInt8(ascii: "c"):
      guard let address = Self.connectionAddress(value) else { return passOver("c=") }
      current?.connectionAddress = address
    case UInt8(ascii: "b"):
      guard let bandwidth = Self.bandwidth(value) else { return passOver("b=") }
      current?.bandwidths.append(bandwidth)
    case UInt8(ascii: "v"), UInt8(ascii: "o"): passOver("\(Character(Unicode.Scalar(type)))=", "in the wrong place")
    default: break  // t= and the obsolete rest say nothing that WebRTC uses.
    }
  }

  private mutating func beginMedia(_ value: Fields) throws(SDPError) {
    if let current { session?.media.append(current) }
    guard (session?.media.count ?? 0) < SDPLimits.mediaSections else { throw error(.tooManyMediaSections) }
    guard let media = MediaDescription(line: value) else { throw error(.malformed("m=")) }
    current = media
    linesInSection = 0
    if media.isRTP, let problem = media.formatProblem(in: value) { passOver("m=", problem) }
  }

  private mutating func takeAttribute(_ value: Fields) throws(SDPError) {
    var value = value
    let colon = value.rest.contains(0x3a)
    let name = String(decoding: value.next(until: 0x3a), as: UTF8.self)
    guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else { return passOver("a=") }
    let verdict: AttributeVerdict
    if current != nil {
      verdict = current?.parse(name, value) ?? .unknown
    } else {
      verdict = session?.parse(name, value) ?? .unknown
    }
    switch verdict {
    case .taken:
      if name == "mid", let mid = current?.mid, !mids.insert(mid).inserted { throw error(.duplicate("a=mid:\(mid)")) }
    case .malformed where Self.strict.contains(name): throw error(.malformed("a=\(name)"))
    case .duplicate where Self.strict.contains(name): throw error(.duplicate("a=\(name)"))
    case .malformed: passOver("a=\(name)")
    case .duplicate: passOver("a=\(name)", "there twice")
    case .tooMany: throw error(.tooManyAttributes)
    case .unknown:
      let attribute = Attribute(name, colon ? value.text : nil)
      if current != nil {
        current?.otherAttributes.append(attribute)
      } else {
        session?.otherAttributes.append(attribute)
      }
    }
  }

  /// What a transport is recognised by, and what ties media lines to it: a guess would connect to nobody, or to somebody else.
  private static let strict: Set = ["fingerprint", "ice-ufrag", "ice-pwd", "setup", "mid"]

  private mutating func passOver(_ name: String, _ problem: String = "malformed") {
    let media = current == nil ? nil : session?.media.count
    session?.passedOver.add(number, media: media, name, problem)
  }

  private static func connectionAddress(_ value: Fields) -> String? {
    var value = value
    guard let net = value.word(), net == "IN", let type = value.word(), type == "IP4" || type == "IP6" else {
      return nil
    }
    return value.word()
  }

  private static func bandwidth(_ value: Fields) -> Attribute? {
    var value = value
    let type = String(decoding: value.next(until: 0x3a), as: UTF8.self)
    guard !type.isEmpty, let _: UInt64 = value.rest.number() else { return nil }
    return Attribute(type, value.text)
  }
}

extension Origin {
  init?(_ value: Fields) {
    var value = value
    guard let username = value.word(), let session = value.number(UInt64.self), let version = value.number(UInt64.self),
      value.word() == "IN", let type = value.word(), let address = value.word()
    else { return nil }
    self.init(
      sessionID: session, sessionVersion: version, username: username, addressType: type, address: address)
  }
}

extension MediaDescription {
  /// `<media> <port>[/<count>] <proto> <fmt> …`; payload types that are none, or there twice, are passed over.
  init?(line value: Fields) {
    var value = value
    guard let type = value.token(), var ports = value.next().map(Fields.init),
      let port: UInt16 = ports.next(until: 0x2f).number(),
      let name = value.word()
    else { return nil }
    self.init(MediaType(type), mid: nil, port: port, protocolName: name, connectionAddress: nil)
    guard isRTP else {
      otherFormats = value.words()
      return
    }
    var seen: Set<UInt8> = []
    while let format = value.next() {
      guard let payloadType: UInt8 = format.number(), payloadType < 128, seen.insert(payloadType).inserted
      else { continue }
      rtp.codecs.append(Codec(payloadType, "", 0))
    }
    if rtp.codecs.isEmpty { return nil }
  }

  /// What is wrong with the payload types of such a line; nil where nothing is.
  fileprivate func formatProblem(in line: Fields) -> String? {
    var line = line
    let formats = line.words().dropFirst(3)
    if formats.count == rtp.codecs.count { return nil }
    return Set(formats).count < formats.count ? "a payload type is there twice" : "a payload type is none"
  }
}
