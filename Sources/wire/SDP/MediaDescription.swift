// One media description: the `m=` line (RFC 8866 §5.14) and everything up to the next.

/// What an `m=` line carries.
public enum MediaType: Sendable, Hashable {
  case audio, video, application
  /// Any other token, such as `text`.
  case other(String)

  /// From the token of an `m=` line.
  public init(_ token: String) {
    switch token {
    case "audio": self = .audio
    case "video": self = .video
    case "application": self = .application
    default: self = .other(token)
    }
  }

  /// The token of the `m=` line.
  public var token: String {
    switch self {
    case .audio: "audio"
    case .video: "video"
    case .application: "application"
    case .other(let token): token
    }
  }
}

/// One media line with all its attributes.
public struct MediaDescription: Sendable, Hashable {
  /// Audio, video, data …
  public var type: MediaType
  /// 0 means rejected or stopped, unless `isBundleOnly`; 9 stands for "ICE will tell".
  public var port: UInt16
  /// Transport profile, such as `UDP/TLS/RTP/SAVPF`.
  public var protocolName: String
  /// Formats of a line that is not RTP (`webrtc-datachannel`); empty for RTP, whose formats are `rtp.codecs`.
  public var otherFormats: [String] = []
  /// Address of the `c=` line without its type, such as `0.0.0.0`; nil where the line is absent.
  public var connectionAddress: String?
  /// `b=` lines, such as `AS:2500`.
  public var bandwidths: [Attribute] = []
  /// Identification tag (RFC 5888).
  public var mid: String?
  /// nil where the line does not say; then the session's holds, else `sendrecv`.
  public var direction: Direction?
  /// `a=bundle-only` (RFC 8843 §6).
  public var isBundleOnly = false
  /// ICE, DTLS and rtcp-mux.
  public var transport = TransportAttributes()
  /// Codecs and header extensions.
  public var rtp = RTPAttributes()
  /// Streams, sources, restriction identifiers and simulcast.
  public var streams = StreamAttributes()
  /// Attributes this model has no field for, in order.
  public var otherAttributes: [Attribute] = []

  /// A media line without codecs.
  public init(
    _ type: MediaType, mid: String?, direction: Direction? = nil, port: UInt16 = 9,
    protocolName: String = "UDP/TLS/RTP/SAVPF", connectionAddress: String? = "0.0.0.0"
  ) {
    self.type = type
    self.mid = mid
    self.direction = direction
    self.port = port
    self.protocolName = protocolName
    self.connectionAddress = connectionAddress
  }

  /// Whether the profile is an RTP one.
  public var isRTP: Bool { Self.isRTP(protocolName) }
  /// Whether the line is out of use: port 0 and not merely waiting for its bundle (RFC 8843 §6).
  public var isRejected: Bool { port == 0 && !isBundleOnly }

  static func isRTP(_ protocolName: String) -> Bool {
    protocolName.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("RTP".utf8) }
  }
}
