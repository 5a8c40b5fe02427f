// What the server takes of one offered media line: codecs, feedback, extensions, layers, and the answer that says so.

import Basics
import RTP
import SDP

struct ReceivedLine {
  /// What media lives by.
  let parameters: ReceiveParameters
  /// The answer's line, without direction and transport.
  let answer: MediaDescription

  /// Nil when no codec of the line is one the server takes. `paused`: layers that the server has asked for a pause of. What clashes with
  /// other lines of the `bundle` is left out.
  init?(
    _ offered: MediaDescription, kind: MediaKind, options: PublishOptions, session: SessionDescription,
    paused: Set<String>, _ bundle: inout BundleClaims
  ) {
    let chosen = offered.payloads(of: kind, in: options.codecs, &bundle)
    guard !chosen.isEmpty, let mid = offered.mid else { return nil }
    let (extensions, ids) = KnownExtension.accepted(
      of: session.extensions + offered.rtp.extensions, for: kind, codec: chosen.first?.codec, in: &bundle)
    let layers = Layers(
      offered.streams, hasRIDs: ids.rid != 0, payloads: chosen, options: options, paused: paused, &bundle)
    // Not goog-remb: nothing here estimates a publisher's bandwidth for it. One without transport-cc goes by the loss in
    // the server's receiver reports.
    let feedback: [Feedback] = (ids.transportSequence != 0 ? [.transportCC] : []) + [.fir, .nack, .pli]
    let opus =
      chosen.first { $0.codec == .opus }.flatMap { offered.rtp.codec(payloadType: $0.payloadType) }
      .map { OpusFormat(offered: $0.format).bounded(by: options.maxAudioBitsPerSecond) } ?? OpusFormat()

    var line = MediaDescription(
      offered.type, mid: mid, port: 9, protocolName: offered.protocolName)
    line.rtp.extensions = extensions
    line.rtp.extmapAllowMixed = offered.rtp.extmapAllowMixed
    line.rtp.reducedSizeRTCP = offered.rtp.reducedSizeRTCP
    line.rtp.codecs = chosen.flatMap {
      offered.answer($0, feedback: feedback, opus: opus.answered(dtx: options.opusDTX))
    }
    line.streams.rids = layers.rids
    line.streams.simulcast = layers.simulcast
    if kind == .video, let limit = options.maxBitsPerSecond {
      line.bandwidths = [Attribute("TIAS", String(limit))]
    }
    answer = line
    var parameters = ReceiveParameters(
      mid: mid, kind: kind, payloads: chosen, extensions: ids, encodings: layers.encodings,
      nack: line.rtp.codecs.contains { $0.feedback.contains(.nack) }, opus: opus)
    parameters.parameterSets = Self.parameterSets(chosen, of: offered)
    self.parameters = parameters
  }
}

extension ReceivedLine {
  /// Units and bytes of parameter sets that are taken of a description.
  private static let mostSets = 16
  private static let mostSetBytes = 1_024

  /// The parameter sets of H264 that a line says beside its stream (RFC 6184 §8.1): of the first of its payload types that has any.
  fileprivate static func parameterSets(_ chosen: [PayloadMapping], of offered: MediaDescription) -> [[UInt8]] {
    for payload in chosen where payload.codec.isH264 {
      guard let said = offered.rtp.codec(payloadType: payload.payloadType)?.format["sprop-parameter-sets"] else {
        continue
      }
      var (sets, bytes) = ([[UInt8]](), 0)
      for text in said.utf8.split(separator: UInt8(ascii: ",")).prefix(mostSets) {
        guard let end = text.lastIndex(where: { $0 != UInt8(ascii: "=") }),
          let unit = Base64.standard.decode(text[...end]),
          bytes + unit.count <= mostSetBytes
        else { continue }
        sets.append(unit)
        bytes += unit.count
      }
      if !sets.isEmpty { return sets }
    }
    return []
  }
}

/// The encodings of an offered line, and the rid and simulcast lines that take them.
private struct Layers {
  var encodings: [EncodingParameters] = []
  var rids: [RestrictionID] = []
  var simulcast: Simulcast?

  init(
    _ streams: StreamAttributes, hasRIDs: Bool, payloads: [PayloadMapping], options: PublishOptions,
    paused: Set<String>, _ bundle: inout BundleClaims
  ) {
    if options.simulcast, hasRIDs { takeRIDs(streams, payloads, paused, limit: options.maxEncodings) }
    if encodings.isEmpty { takeSources(streams, limit: options.simulcast ? options.maxEncodings : 1, &bundle) }
    if encodings.isEmpty { encodings = [EncodingParameters()] }
  }

  /// Layers stand in the order of `a=simulcast`, which is the sender's preference (RFC 8853 §5.2): browsers write it in
  /// the order of `sendEncodings`, lowest first by custom. Where all of them say how large they are, they stand in that order.
  private mutating func takeRIDs(
    _ streams: StreamAttributes, _ payloads: [PayloadMapping], _ paused: Set<String>, limit: Int
  ) {
    let offered = streams.rids.filter(\.sends)
    let wanted: [[String]]
    // What is not sent for now is not asked for by the answer either (RFC 8853 §5.3).
    var resting = paused
    if let simulcast = streams.simulcast {
      wanted = simulcast.send.map { $0.map(\.rid) }
      resting.formUnion(simulcast.send.joined().filter(\.isPaused).map(\.rid))
    } else {
      wanted = offered.count == 1 ? [[offered[0].id]] : []
    }
    for alternatives in wanted where rids.count < limit {
      let known = alternatives.lazy.compactMap { id in offered.first { $0.id == id } }
      guard let rid = known.compactMap({ Self.answer($0, payloads) }).first,
        !rids.contains(where: { $0.id == rid.id })
      else { continue }
      rids.append(rid)
      encodings.append(EncodingParameters(rid: rid.id))
    }
    if streams.simulcast != nil, !rids.isEmpty {
      simulcast = Simulcast(
        receive: rids.map { [Simulcast.Alternative(rid: $0.id, isPaused: resting.contains($0.id))] })
    }
    let sizes = rids.map(\.mostPixels)
    if sizes.allSatisfy({ $0 != nil }) {
      encodings = encodings.indices.sorted { (sizes[$0] ?? 0, $0) < (sizes[$1] ?? 0, $1) }.map { encodings[$0] }
    }
  }

  /// The rid as received: payload types narrowed to the accepted ones; nil when that leaves none (RFC 8851 §6.3).
  private static func answer(_ rid: RestrictionID, _ payloads: [PayloadMapping]) -> RestrictionID? {
    var result = rid
    result.sends = false
    guard !rid.payloadTypes.isEmpty else { return result }
    result.payloadTypes = rid.payloadTypes.filter { type in payloads.contains { $0.payloadType == type } }
    return result.payloadTypes.isEmpty ? nil : result
  }

  /// SSRCs where the SDP says them: a SIM group (lowest first), else the first source; FID gives retransmissions.
  private mutating func takeSources(_ streams: StreamAttributes, limit: Int, _ bundle: inout BundleClaims) {
    // Layers told apart by rid have SSRCs that no line ties to them.
    guard streams.simulcast == nil else { return }
    var rtx: [UInt32: UInt32] = [:]
    for group in streams.sourceGroups where group.semantics == "FID" && group.ssrcs.count == 2 {
      rtx[group.ssrcs[0]] = group.ssrcs[1]
    }
    let layers = streams.sourceGroups.first { $0.semantics == "SIM" && !$0.ssrcs.isEmpty }?.ssrcs
    let main = streams.sourceGroups.first { $0.semantics == "FID" }?.ssrcs.first ?? streams.sources.first?.ssrc
    for ssrc in (layers ?? main.map { [$0] } ?? []).prefix(limit) where ssrc != 0 {
      let isOwn = bundle.claim(source: ssrc)
      let repairs = rtx[ssrc].flatMap { bundle.claim(source: $0) ? $0 : nil }
      encodings.append(EncodingParameters(ssrc: isOwn ? ssrc : nil, rtxSSRC: repairs))
    }
  }
}

extension RestrictionID {
  /// How many pixels a picture has at most (RFC 8851 §5); nil where that is not said.
  fileprivate var mostPixels: Int? {
    func value(_ name: String) -> Int? {
      restrictions.first { $0.name == name }?.value.flatMap { Int($0) }.flatMap { (1...65_535).contains($0) ? $0 : nil }
    }
    if let width = value("max-width"), let height = value("max-height") { return width * height }
    return restrictions.first { $0.name == "max-fs" }?.value.flatMap { Int($0) }
  }
}
