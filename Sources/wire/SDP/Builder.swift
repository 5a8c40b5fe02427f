// Shorthands for building descriptions by hand:
//
//   var offer = SessionDescription(origin: Origin(sessionID: 1))
//   let transport = TransportAttributes(credentials: …, fingerprint: …, setup: .actpass)
//   offer.add(.audio(mid: "0", .sendOnly, transport, [.opus(111)]))
//   offer.add(.video(mid: "1", .sendOnly, transport, Codec.video(96, "VP8", rtx: 97)))
//   let text = offer.serialized()

import Basics

extension SessionDescription {
  /// Appends a media line and puts it into the BUNDLE group, unless it is rejected.
  public mutating func add(_ line: MediaDescription) {
    media.append(line)
    guard let mid = line.mid, !line.isRejected else { return }
    if let index = groups.firstIndex(where: { $0.semantics == "BUNDLE" }) {
      groups[index].mids.append(mid)
    } else {
      groups.append(Group(semantics: "BUNDLE", mids: [mid]))
    }
  }
}

extension TransportAttributes {
  /// What every line of a bundled WebRTC description says about its transport, rtcp-mux included.
  public init(credentials: ICECredentials, fingerprint: CertificateFingerprint, setup: SetupRole) {
    self.init()
    iceUfrag = credentials.ufrag
    icePwd = credentials.password
    fingerprints = [fingerprint]
    self.setup = setup
    rtcpMux = true
  }
}

extension MediaDescription {
  /// An audio line.
  public static func audio(
    mid: String, _ direction: Direction, _ transport: TransportAttributes, _ codecs: [Codec]
  ) -> MediaDescription {
    rtp(.audio, mid: mid, direction, transport, codecs)
  }

  /// A video line.
  public static func video(
    mid: String, _ direction: Direction, _ transport: TransportAttributes, _ codecs: [Codec]
  ) -> MediaDescription {
    rtp(.video, mid: mid, direction, transport, codecs)
  }

  private static func rtp(
    _ type: MediaType, mid: String, _ direction: Direction, _ transport: TransportAttributes, _ codecs: [Codec]
  ) -> MediaDescription {
    var line = MediaDescription(type, mid: mid, direction: direction)
    line.transport = transport
    line.rtp.codecs = codecs
    line.rtp.reducedSizeRTCP = true
    return line
  }

  /// The answer that rejects an offered line: port 0, same profile and formats, nothing agreed on (RFC 3264 §6).
  public static func rejection(of offered: MediaDescription) -> MediaDescription {
    var line = MediaDescription(
      offered.type, mid: offered.mid, direction: .inactive, port: 0, protocolName: offered.protocolName)
    line.otherFormats = offered.otherFormats
    line.rtp.codecs = offered.rtp.codecs.prefix(1).map { codec in
      var bare = codec
      bare.feedback = []
      bare.format = ""
      return bare
    }
    return line
  }

  /// Declares a source with its retransmissions (RFC 5576, FID) and their common CNAME.
  public mutating func declare(ssrc: UInt32, rtx: UInt32?, cname: String) {
    if let rtx { streams.sourceGroups.append(SourceGroup(semantics: "FID", ssrcs: [ssrc, rtx])) }
    for source in [ssrc, rtx].compactMap({ $0 }) {
      streams.sources.append(Source(ssrc: source, attributes: [Attribute("cname", cname)]))
    }
  }
}

extension Codec {
  /// Opus, stereo by its definition (RFC 7587 §7).
  public static func opus(_ payloadType: UInt8, format: FormatParameters = "minptime=10;useinbandfec=1") -> Codec {
    Codec(payloadType, "opus", 48_000, channels: 2, format: format, feedback: [])
  }

  /// Opus with earlier packets inside (RFC 2198), as browsers name it.
  public static func red(_ payloadType: UInt8, for associated: UInt8) -> Codec {
    Codec(payloadType, "red", 48_000, channels: 2, format: FormatParameters("\(associated)/\(associated)"))
  }

  /// A video codec with the feedback that WebRTC uses, and its retransmissions where `rtx` gives them a payload type.
  public static func video(
    _ payloadType: UInt8, _ name: String, format: FormatParameters = "", rtx: UInt8? = nil,
    feedback: [Feedback] = [.transportCC, .fir, .nack, .pli]
  ) -> [Codec] {
    let media = Codec(payloadType, name, 90_000, format: format, feedback: feedback)
    return [media] + (rtx.map { [.rtx($0, for: payloadType)] } ?? [])
  }

  /// Retransmissions of a payload type (RFC 4588 §8.6).
  public static func rtx(_ payloadType: UInt8, for associated: UInt8, clockRate: UInt32 = 90_000) -> Codec {
    Codec(payloadType, "rtx", clockRate, format: FormatParameters("apt=\(associated)"))
  }
}
