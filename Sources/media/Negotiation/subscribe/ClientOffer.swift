// Reads the offer of a client that wants to be sent media (WHEP): what may go out on each of its lines.

import Basics
import RTP
import SDP

/// One offered line that the server takes.
struct PlayableLine {
  let offered: MediaDescription
  let mid: String
  let kind: MediaKind
  /// Whether the client wants to receive on it.
  let receives: Bool
  /// Header extensions that the server will send, as the answer lists them and by their ids.
  let extensions: (lines: [HeaderExtension], ids: HeaderExtensionIDs)
  /// All that both ends know.
  let known: [PayloadMapping]

  /// What both ends know of these codecs, best first; of all when nothing is known of what will be sent.
  func payloads(_ wanted: [CodecProfile]) -> [PayloadMapping] {
    let ofKind = wanted.filter { $0.kind == kind }
    if ofKind.isEmpty { return known }
    var left = known
    return ofKind.compactMap { profile in
      left.firstIndex { $0.codec == profile }.map { left.remove(at: $0) }
    }
  }

  /// The answer's codecs, with Opus of this format. Audio goes without `nack`, as in offers of the server: `CodecProfile.offered` says why.
  func codecs(_ payloads: [PayloadMapping], opus: OpusFormat = OpusFormat()) -> [Codec] {
    let transport: [Feedback] = extensions.ids.transportSequence != 0 ? [.transportCC] : []
    let feedback = kind == .video ? transport + [.fir, .nack, .pli] : transport
    return payloads.flatMap { offered.answer($0, feedback: feedback, opus: opus.sent) }
  }

  /// The answer's line without direction, codecs, source and transport.
  var answer: MediaDescription {
    var line = MediaDescription(offered.type, mid: mid, port: 9, protocolName: offered.protocolName)
    line.rtp.extensions = extensions.lines
    line.rtp.extmapAllowMixed = offered.rtp.extmapAllowMixed
    line.rtp.reducedSizeRTCP = offered.rtp.reducedSizeRTCP
    return line
  }
}

/// The whole offer.
struct ClientOffer {
  let description: SessionDescription
  /// Lines by their positions; nil for one that is rejected.
  private(set) var lines: [PlayableLine?] = []
  /// Positions of the lines that are taken, the one that carries the bundle first. Never empty.
  let order: [Int]
  /// The client's end.
  let remote: RemoteTransport

  /// - Throws: 4003 for too many lines, 4004 when no line has a codec that the server sends, 4005 for everything else.
  init(_ text: String, before: [OfferShape.Line], options: SubscribeOptions, most: Int) throws(NegotiationError) {
    let offer: SessionDescription
    do throws(SDPError) {
      offer = try SessionDescription.parse(text)
    } catch {
      throw NegotiationError("The offer is not valid SDP: \(error).")
    }
    try OfferShape.check(offer, before: before, most: most, live: \.receives)
    var lines: [PlayableLine?] = []
    var taken: [Int] = []
    var bundle = BundleClaims()
    for (index, line) in offer.media.enumerated() {
      let playable = try Self.read(line, of: offer, isFirst: taken.isEmpty, options, &bundle)
      if playable != nil { taken.append(index) }
      lines.append(playable)
    }
    guard !taken.isEmpty else {
      throw NegotiationError(.noCommonCodec, "No media line of the offer has a codec that the server sends.")
    }
    description = offer
    self.lines = lines
    order = OfferShape.bundleOrder(taken, of: offer)
    remote = try RemoteTransport(offer, lines: order.map { offer.media[$0] }, in: "offer")
  }

  /// Whether a line wants to receive this, whether it is taken or not.
  func wants(_ kind: MediaKind) -> Bool {
    description.media.contains { line in
      !line.isRejected && MediaKind(line.type) == kind && description.direction(of: line).receives
    }
  }

  private static func read(
    _ line: MediaDescription, of offer: SessionDescription, isFirst: Bool, _ options: SubscribeOptions,
    _ bundle: inout BundleClaims
  ) throws(NegotiationError) -> PlayableLine? {
    guard !line.isRejected, let mid = line.mid, let kind = MediaKind(line.type),
      OfferShape.refusal(of: line, in: offer, isFirst: isFirst) == nil
    else { return nil }
    let result = PlayableLine(
      offered: line, mid: mid, kind: kind, receives: offer.direction(of: line).receives,
      extensions: KnownExtension.sent(
        of: offer.extensions + line.rtp.extensions, for: kind, transportCC: options.transportCC,
        mixed: offer.extmapAllowMixed || line.rtp.extmapAllowMixed, in: &bundle),
      known: line.payloads(of: kind, in: CodecProfile.allCases.filter { $0.kind == kind }, &bundle))
    guard !result.known.isEmpty else { return nil }
    try OfferShape.checkMux(line)
    return result
  }
}
