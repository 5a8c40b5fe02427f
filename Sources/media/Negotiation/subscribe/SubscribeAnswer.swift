// Reads the answer to an offer of the server, line by line. Stacks answer in many ways; what is sound is taken, and the
// subset that both ends know is what counts.

import RTP
import SDP

struct SubscribeAnswer {
  /// What the client made of one line.
  enum Verdict {
    /// Port 0.
    case rejected
    /// Taken, but nothing is received on it.
    case inactive
    /// Taken and received.
    case receiving(Received)
  }

  /// What the client receives on a line.
  struct Received {
    var payloads: [PayloadMapping]
    var extensions: HeaderExtensionIDs
    var nack: Bool
  }

  private(set) var verdicts: [Verdict] = []
  private(set) var transport: RemoteTransport?

  init(_ text: String, to offer: SessionDescription) throws(NegotiationError) {
    let answer: SessionDescription
    do throws(SDPError) {
      answer = try SessionDescription.parse(text)
    } catch {
      throw NegotiationError("The answer is not valid SDP: \(error).")
    }
    guard answer.media.count == offer.media.count else {
      throw NegotiationError(
        "The answer has \(answer.media.count) media lines where the offer has \(offer.media.count).")
    }
    for (offered, answered) in zip(offer.media, answer.media) {
      try Self.checkPair(offered, answered)
      verdicts.append(Self.verdict(on: answered, to: offered, session: answer))
    }
    try takeTransport(of: answer, offer)
  }

  /// Lines pair by position (RFC 3264 §6); tag, kind and profile must agree where the answer says them.
  private static func checkPair(_ offered: MediaDescription, _ answered: MediaDescription) throws(NegotiationError) {
    let mid = offered.mid ?? ""
    guard answered.type == offered.type else {
      throw NegotiationError(
        "Media line \(mid) is \(offered.type.token) in the offer and \(answered.type.token) in the answer.", mid: mid)
    }
    // Some stacks do not say port 0 for a line that was offered so.
    if answered.isRejected || offered.isRejected { return }
    guard answered.mid == nil || answered.mid == offered.mid else {
      throw NegotiationError(
        "The answer has media line \(answered.mid ?? "") where the offer has \(mid); lines must keep their order.",
        mid: mid)
    }
    guard answered.isRTP else {
      throw NegotiationError("Media line \(mid) is answered as \(answered.protocolName), not as RTP.", mid: mid)
    }
    guard answered.transport.rtcpMux || answered.transport.rtcpMuxOnly else {
      throw NegotiationError("Media line \(mid) is answered without a=rtcp-mux; the server requires it.", mid: mid)
    }
  }

  private static func verdict(
    on answered: MediaDescription, to offered: MediaDescription, session: SessionDescription
  ) -> Verdict {
    if answered.isRejected || offered.isRejected { return .rejected }
    guard offered.direction == .sendOnly, session.direction(of: answered).receives else { return .inactive }
    let payloads = payloads(of: answered, to: offered)
    let nack = payloads.contains { mapping in
      answered.rtp.codec(payloadType: mapping.payloadType).map { answered.rtp.feedback(of: $0).contains(.nack) }
        ?? false
    }
    return .receiving(
      Received(
        payloads: payloads,
        extensions: KnownExtension.taken(
          by: session.extensions + answered.rtp.extensions, of: offered.rtp.extensions,
          mixed: session.extmapAllowMixed || answered.rtp.extmapAllowMixed),
        nack: nack))
  }

  /// Offered codecs that the answer keeps, in its order and under its payload types (RFC 3264 §6.1 lets them differ).
  private static func payloads(of answered: MediaDescription, to offered: MediaDescription) -> [PayloadMapping] {
    var result: [PayloadMapping] = []
    for codec in answered.rtp.codecs {
      guard let profile = profile(of: codec, in: offered), !result.contains(where: { $0.codec == profile })
      else { continue }
      result.append(
        PayloadMapping(
          payloadType: codec.payloadType, codec: profile,
          rtxPayloadType: rtx(for: codec.payloadType, profile, in: answered),
          redPayloadType: profile == .opus ? answered.rtp.red(for: codec.payloadType)?.payloadType : nil))
    }
    return result
  }

  /// The offered profile an answered payload type stands for. Under our own payload type the name is enough (an answer
  /// may leave out rtpmap or fmtp); under another one everything must fit.
  private static func profile(of codec: Codec, in offered: MediaDescription) -> CodecProfile? {
    if let ours = offered.rtp.codec(payloadType: codec.payloadType), !ours.isRTX,
      codec.name.isEmpty || (codec.isNamed(ours.name) && codec.clockRate == ours.clockRate),
      let profile = CodecProfile(ours)
    {
      return profile
    }
    guard let profile = CodecProfile(codec), offered.rtp.codecs.contains(where: { CodecProfile($0) == profile })
    else { return nil }
    return profile
  }

  private static func rtx(
    for payloadType: UInt8, _ profile: CodecProfile, in answered: MediaDescription
  ) -> UInt8? {
    if let said = answered.rtp.rtx(for: payloadType) { return said.payloadType }
    guard payloadType == profile.serverPayloadType, let usual = profile.serverRTXPayloadType,
      let codec = answered.rtp.codec(payloadType: usual), codec.isRTX || codec.name.isEmpty, codec.format["apt"] == nil
    else { return nil }
    return usual
  }

  private mutating func takeTransport(
    of answer: SessionDescription, _ offer: SessionDescription
  ) throws(NegotiationError) {
    let open = verdicts.indices.filter { if case .rejected = verdicts[$0] { false } else { true } }
    guard let first = open.first else { return }
    let bundled = Set(answer.bundle?.mids ?? [])
    if open.count > 1, let loose = open.first(where: { !bundled.contains(offer.media[$0].mid ?? "") }) {
      let mid = offer.media[loose].mid ?? ""
      throw NegotiationError(
        "Media line \(mid) is not in the answer's BUNDLE group; the server has one transport.", mid: mid)
    }
    let carrier = answer.bundle?.mids.first.flatMap { mid in open.first { offer.media[$0].mid == mid } } ?? first
    let order = [carrier] + open.filter { $0 != carrier }
    transport = try RemoteTransport(answer, lines: order.map { answer.media[$0] }, in: "answer")
  }
}
