// Codecs of an offered line that both ends know, and how the answer says them (RFC 3264 §6.1).

import RTP
import SDP

extension MediaDescription {
  /// Codecs that this line offers and the server knows, in the order of `wanted`; of two payload types for one profile the
  /// first.
  func payloads(of kind: MediaKind, in wanted: [CodecProfile]) -> [PayloadMapping] {
    var first: [CodecProfile: UInt8] = [:]
    for codec in rtp.codecs {
      guard let profile = CodecProfile(codec), profile.kind == kind, first[profile] == nil else { continue }
      first[profile] = codec.payloadType
    }
    return wanted.compactMap { profile in
      guard let payloadType = first.removeValue(forKey: profile) else { return nil }
      return PayloadMapping(
        payloadType: payloadType, codec: profile, rtxPayloadType: rtp.rtx(for: payloadType)?.payloadType)
    }
  }

  /// The answer's codecs for one of them: the media, with the offered part of `feedback`, then its retransmissions.
  func answer(_ payload: PayloadMapping, feedback: [Feedback], opus: String) -> [Codec] {
    guard var codec = rtp.codec(payloadType: payload.payloadType) else { return [] }
    let known = rtp.feedback(of: codec)
    codec.feedback = feedback.filter(known.contains)
    if payload.codec == .opus { codec.format = FormatParameters(opus) }
    let rtx = payload.rtxPayloadType.flatMap { rtp.codec(payloadType: $0) }
    return [codec] + (rtx.map { [.rtx($0.payloadType, for: payload.payloadType)] } ?? [])
  }
}
