// Codecs of an offered line that both ends know, and how the answer says them (RFC 3264 §6.1).

import RTP
import SDP

extension MediaDescription {
  /// Codecs that this line offers and the server knows, in the order of `wanted`; of two payload types for one profile the
  /// first. Payload types that mean something else in the `bundle` are passed over.
  func payloads(of kind: MediaKind, in wanted: [CodecProfile], _ bundle: inout BundleClaims) -> [PayloadMapping] {
    var first: [CodecProfile: UInt8] = [:]
    for codec in rtp.codecs {
      guard let profile = CodecProfile(codec), profile.kind == kind, wanted.contains(profile), first[profile] == nil,
        bundle.claim(.media(profile), codec.payloadType)
      else { continue }
      first[profile] = codec.payloadType
    }
    var result: [PayloadMapping] = []
    for profile in wanted {
      guard let payloadType = first.removeValue(forKey: profile) else { continue }
      var mapping = PayloadMapping(payloadType: payloadType, codec: profile)
      if let rtx = rtp.rtx(for: payloadType)?.payloadType, bundle.claim(.retransmissions(of: payloadType), rtx) {
        mapping.rtxPayloadType = rtx
      }
      if profile == .opus, let red = rtp.red(for: payloadType)?.payloadType,
        bundle.claim(.redundancy(of: payloadType), red)
      {
        mapping.redPayloadType = red
      }
      result.append(mapping)
    }
    return result
  }

  /// The answer's codecs for one of them: the media, with the offered part of `feedback`, then its retransmissions. Whether redundant
  /// sound comes before plain sound is left to the client, which sends what comes first.
  func answer(_ payload: PayloadMapping, feedback: [Feedback], opus: FormatParameters) -> [Codec] {
    guard var codec = rtp.codec(payloadType: payload.payloadType) else { return [] }
    let known = rtp.feedback(of: codec)
    codec.feedback = feedback.filter(known.contains)
    if payload.codec == .opus { codec.format = opus }
    if let red = payload.redPayloadType { return answer(codec, red: red) }
    let rtx = payload.rtxPayloadType.flatMap { rtp.codec(payloadType: $0) }
    return [codec] + (rtx.map { [.rtx($0.payloadType, for: payload.payloadType)] } ?? [])
  }

  private func answer(_ opus: Codec, red payloadType: UInt8) -> [Codec] {
    let red = Codec.red(payloadType, for: opus.payloadType)
    let first = rtp.codecs.first { $0.payloadType == opus.payloadType || $0.payloadType == payloadType }
    return first?.payloadType == payloadType ? [red, opus] : [opus, red]
  }
}
