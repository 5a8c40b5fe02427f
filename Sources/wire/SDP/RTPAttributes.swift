// Codecs, feedback and header extensions of a media line: rtpmap and fmtp (RFC 8866 §6), rtcp-fb (RFC 4585, 5104),
// retransmission (RFC 4588), extmap (RFC 8285).

/// Lines that were written before. They follow from what they stand beside, so that all are equal.
struct WrittenLines: Sendable, Hashable {
  var text: [UInt8]?

  static func == (_: Self, _: Self) -> Bool { true }
  func hash(into _: inout Hasher) {}
}

/// What a media line says about its RTP.
public struct RTPAttributes: Sendable, Hashable {
  /// One entry per payload type, in the order of the `m=` line: best first.
  public var codecs: [Codec] = [] { didSet { codecLines.text = nil } }
  /// `a=rtcp-fb:*`: holds for every codec.
  public var wildcardFeedback: [Feedback] = []
  /// `a=extmap` lines.
  public var extensions: [HeaderExtension] = [] { didSet { extensionLines.text = nil } }
  /// `a=extmap-allow-mixed` (RFC 8285 §6).
  public var extmapAllowMixed = false
  /// `a=rtcp-rsize` (RFC 5506).
  public var reducedSizeRTCP = false

  /// What the two are as lines, where that has been written before.
  var codecLines = WrittenLines()
  var extensionLines = WrittenLines()

  /// Nothing said.
  public init() {}

  /// The codec with this payload type.
  public func codec(payloadType: UInt8) -> Codec? { codecs.first { $0.payloadType == payloadType } }

  /// The retransmission codec for this payload type (RFC 4588 §8.1).
  public func rtx(for payloadType: UInt8) -> Codec? {
    codecs.first { $0.isRTX && $0.associatedPayloadType == payloadType }
  }

  /// The codec that carries packets of this audio payload type with earlier ones inside (RFC 2198 §5): its format names that type for
  /// each block.
  public func red(for payloadType: UInt8) -> Codec? {
    guard let inside = codec(payloadType: payloadType) else { return nil }
    return codecs.first { codec in
      guard codec.isNamed("red"), codec.clockRate == inside.clockRate, codec.channels == inside.channels else {
        return false
      }
      let blocks = codec.format.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      return blocks.count >= 2 && blocks.allSatisfy { UInt8(String(Substring($0)).trimmed) == payloadType }
    }
  }

  /// Feedback that holds for a codec: its own and the wildcard's.
  public func feedback(of codec: Codec) -> [Feedback] {
    codec.feedback + wildcardFeedback.filter { !codec.feedback.contains($0) }
  }
}

/// A payload type and what it stands for.
public struct Codec: Sendable, Hashable {
  /// 0 … 127.
  public var payloadType: UInt8
  /// Encoding name as written; empty where the line has no rtpmap. Compare with `isNamed`.
  public var name: String
  /// Hz; 0 where the line has no rtpmap.
  public var clockRate: UInt32
  /// Audio channels where said.
  public var channels: UInt8?
  /// The `a=fmtp` line's parameters.
  public var format: FormatParameters
  /// `a=rtcp-fb` lines of this payload type.
  public var feedback: [Feedback]

  /// A codec.
  public init(
    _ payloadType: UInt8, _ name: String, _ clockRate: UInt32, channels: UInt8? = nil, format: FormatParameters = "",
    feedback: [Feedback] = []
  ) {
    self.payloadType = payloadType
    self.name = name
    self.clockRate = clockRate
    self.channels = channels
    self.format = format
    self.feedback = feedback
  }

  /// Whether this is the named encoding; case does not count (RFC 8866 §6.6).
  public func isNamed(_ other: String) -> Bool { name.equalsIgnoringCase(other) }
  /// Whether this carries retransmissions (RFC 4588).
  public var isRTX: Bool { isNamed("rtx") }
  /// The payload type whose retransmissions this carries (`apt`).
  public var associatedPayloadType: UInt8? { format["apt"].flatMap { UInt8($0) } }
}

/// The parameters of an `a=fmtp` line, kept as written.
public struct FormatParameters: Sendable, Hashable, ExpressibleByStringLiteral {
  /// Such as `minptime=10;useinbandfec=1`.
  public var text: String

  /// From the text after the payload type.
  public init(_ text: String) { self.text = text }
  /// From the text after the payload type.
  public init(stringLiteral value: String) { text = value }

  /// Value of a parameter, case of its name aside; empty for a bare name, nil where it is absent.
  public subscript(_ name: String) -> String? {
    for part in text.utf8.split(separator: UInt8(ascii: ";")) {
      let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = pair.first, String(Substring(key)).trimmed.equalsIgnoringCase(name) else { continue }
      return pair.count == 2 ? String(Substring(pair[1])).trimmed : ""
    }
    return nil
  }
}

/// One kind of RTCP feedback (RFC 4585 §4.2).
public struct Feedback: Sendable, Hashable {
  /// `nack`, `ccm`, `transport-cc` …
  public var type: String
  /// `pli`, `fir` …; nil where there is none.
  public var parameter: String?

  /// A feedback type with its parameter.
  public init(_ type: String, _ parameter: String? = nil) {
    self.type = type
    self.parameter = parameter
  }

  /// Generic NACK.
  public static let nack = Feedback("nack")
  /// Picture loss indication.
  public static let pli = Feedback("nack", "pli")
  /// Full intra request (RFC 5104).
  public static let fir = Feedback("ccm", "fir")
  /// Transport-wide congestion control.
  public static let transportCC = Feedback("transport-cc")
  /// Receiver estimated maximum bitrate.
  public static let remb = Feedback("goog-remb")
}

/// An `a=extmap` line (RFC 8285 §5).
public struct HeaderExtension: Sendable, Hashable {
  /// 1 … 255 in packets; 4096 … 4351 in offers that leave the choice to the answerer.
  public var id: UInt16
  /// What the extension is.
  public var uri: String
  /// Restricts which end sends it; nil for both.
  public var direction: Direction?
  /// Extension attributes after the URI; nil where there are none.
  public var attributes: String?

  /// An extension under a local identifier.
  public init(id: UInt16, uri: String, direction: Direction? = nil, attributes: String? = nil) {
    self.id = id
    self.uri = uri
    self.direction = direction
    self.attributes = attributes
  }
}
