// Session descriptions as a browser writes them: the offer of the publish connection, the answer of the subscribe
// connection, and what is read from their counterparts (RFC 8829).

import Basics
import RTP
import RoostProtocol
import SDP

/// Why a description of the server cannot be used.
public struct DescriptionError: Error, Sendable, CustomStringConvertible {
  /// A sentence.
  public let description: String
}

/// Header extensions that synthetic participants know, with their ids in offers of their own.
enum SyntheticExtension: CaseIterable {
  case audioLevel, absSendTime, transportSequence, mid, rid, repairedRid

  var uri: String {
    switch self {
    case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    case .absSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    case .transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
    case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    case .repairedRid: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    }
  }

  private var id: UInt16 {
    switch self {
    case .audioLevel: 1
    case .absSendTime: 2
    case .transportSequence: 3
    case .mid: 4
    case .rid: 10
    case .repairedRid: 11
    }
  }

  private var field: WritableKeyPath<HeaderExtensionIDs, UInt8> {
    switch self {
    case .audioLevel: \.audioLevel
    case .absSendTime: \.absSendTime
    case .transportSequence: \.transportSequence
    case .mid: \.mid
    case .rid: \.rid
    case .repairedRid: \.repairedRid
    }
  }

  static func offered(_ kind: TrackKind) -> [HeaderExtension] {
    let wanted: [SyntheticExtension] =
      kind == .audio
      ? [.audioLevel, .absSendTime, .transportSequence, .mid]
      : [.absSendTime, .transportSequence, .mid, .rid, .repairedRid]
    return wanted.map { HeaderExtension(id: $0.id, uri: $0.uri) }
  }

  /// Those of a line that are known here.
  static func known(_ extensions: [HeaderExtension]) -> [HeaderExtension] {
    extensions.filter { one in allCases.contains { $0.uri == one.uri } }
  }

  static func ids(_ extensions: [HeaderExtension]) -> HeaderExtensionIDs {
    var result = HeaderExtensionIDs()
    for one in extensions {
      guard let known = allCases.first(where: { $0.uri == one.uri }), let id = UInt8(exactly: one.id) else { continue }
      result[keyPath: known.field] = id
    }
    return result
  }
}

/// This end of a connection, as descriptions say it.
struct LocalEnd {
  var credentials: ICECredentials
  var fingerprint: CertificateFingerprint
  var role = DTLSRole.client

  var attributes: TransportAttributes {
    TransportAttributes(
      credentials: credentials, fingerprint: fingerprint, setup: role == .client ? .active : .passive)
  }
}

extension RemoteEnd {
  /// The server's end: credentials and fingerprints of the first line that has them, candidates of all.
  init(_ description: SessionDescription) throws(DescriptionError) {
    let lines = description.media.filter { !$0.isRejected }.map { description.transport(of: $0) }
    guard let line = lines.first(where: { $0.credentials != nil }), let credentials = line.credentials else {
      throw DescriptionError(description: "the server's description has no ICE credentials")
    }
    self.credentials = credentials
    fingerprints = line.fingerprints
    candidates = lines.flatMap(\.candidates).filter { $0.component == 1 && $0.transport.lowercased() == "udp" }
      .sorted { $0.priority > $1.priority }
      .compactMap { SocketAddress(host: $0.address, port: $0.port) }
    guard !candidates.isEmpty else { throw DescriptionError(description: "the server's description has no candidate") }
  }
}

// MARK: - Publishing

enum PublishOffer {
  static let opus: UInt8 = 111
  static let vp8: UInt8 = 96
  static let rtx: UInt8 = 97

  /// The offer for these tracks; a browser's second offer differs from its first in the version alone.
  static func text(_ tracks: [SendTrack], _ end: LocalEnd, user: String, sessionID: UInt64, version: UInt64) -> String {
    var offer = SessionDescription(origin: Origin(sessionID: sessionID, sessionVersion: version))
    offer.extmapAllowMixed = true
    for track in tracks { offer.add(line(track, end, user: user)) }
    return offer.serialized()
  }

  private static func line(_ track: SendTrack, _ end: LocalEnd, user: String) -> MediaDescription {
    var line: MediaDescription
    if track.kind == .audio {
      var codec = Codec.opus(opus)
      codec.feedback = [.transportCC, .nack]
      line = .audio(mid: track.mid, .sendOnly, end.attributes, [codec])
    } else {
      line = .video(mid: track.mid, .sendOnly, end.attributes, Codec.video(vp8, "VP8", rtx: rtx))
    }
    line.rtp.extensions = SyntheticExtension.offered(track.kind)
    line.streams.msids = [MediaStreamID(stream: "synthetic", track: track.mid)]
    let rids = track.streams.compactMap(\.statistics.rid)
    if rids.isEmpty {
      for stream in track.streams {
        line.declare(ssrc: stream.ssrc, rtx: track.kind == .video ? stream.rtxSSRC : nil, cname: user)
      }
    } else {
      line.streams.rids = rids.map { RestrictionID(id: $0, sends: true) }
      line.streams.simulcast = Simulcast(send: rids.map { [Simulcast.Alternative(rid: $0)] })
    }
    return line
  }

  /// What the answer took, by mid.
  static func agreed(_ answer: SessionDescription) -> [String: AgreedLine] {
    var result: [String: AgreedLine] = [:]
    for line in answer.media {
      guard let mid = line.mid, !line.isRejected, answer.direction(of: line).receives else { continue }
      let name = line.type == .audio ? "opus" : "VP8"
      guard let codec = line.rtp.codecs.first(where: { $0.isNamed(name) }) else { continue }
      let rids = line.streams.rids.filter { !$0.sends }.map(\.id)
      result[mid] = AgreedLine(
        payloadType: codec.payloadType, rtxPayloadType: line.rtp.rtx(for: codec.payloadType)?.payloadType,
        extensions: SyntheticExtension.ids(line.rtp.extensions), rids: rids.isEmpty ? nil : rids)
    }
    return result
  }
}

// MARK: - Subscribing

enum SubscribeReply {
  /// The answer that takes everything that is known here.
  static func text(
    to offer: SessionDescription, _ end: LocalEnd, sessionID: UInt64, feedback: BandwidthFeedback = .twcc
  ) -> String {
    var answer = SessionDescription(
      origin: Origin(sessionID: sessionID, sessionVersion: offer.origin.sessionVersion))
    answer.extmapAllowMixed = offer.extmapAllowMixed
    for offered in offer.media { answer.add(line(offered, offer, end, feedback)) }
    return answer.serialized()
  }

  private static func line(
    _ offered: MediaDescription, _ offer: SessionDescription, _ end: LocalEnd, _ feedback: BandwidthFeedback
  ) -> MediaDescription {
    let codecs = known(offered).map { feedback.applied(to: $0) }
    guard !offered.isRejected, !codecs.isEmpty else { return .rejection(of: offered) }
    var line = MediaDescription(
      offered.type, mid: offered.mid, direction: offer.direction(of: offered).sends ? .receiveOnly : .inactive,
      protocolName: offered.protocolName)
    line.transport = end.attributes
    line.rtp.codecs = codecs
    line.rtp.extensions = SyntheticExtension.known(offered.rtp.extensions).filter {
      feedback == .twcc || $0.uri != SyntheticExtension.transportSequence.uri
    }
    line.rtp.reducedSizeRTCP = offered.rtp.reducedSizeRTCP
    return line
  }

  /// Media codecs and their retransmissions; what is forwarded need not be decoded to be checked.
  private static func known(_ line: MediaDescription) -> [Codec] {
    let media = line.rtp.codecs.filter { profile($0) != nil }
    return media + media.compactMap { line.rtp.rtx(for: $0.payloadType) }
  }

  /// The profile that decides how payloads are looked into; those of one codec are alike in that.
  private static func profile(_ codec: Codec) -> CodecProfile? {
    let known: [(String, CodecProfile)] = [
      ("opus", .opus), ("VP8", .vp8), ("VP9", .vp9Profile0), ("H264", .h264ConstrainedBaseline), ("AV1", .av1),
    ]
    return known.first { codec.isNamed($0.0) }?.1
  }

  /// What will come on the lines that carry tracks. Whose they are, `RoomView` adds.
  static func lines(of offer: SessionDescription, tracks: [OfferedTrack]) -> [ReceiveLine] {
    tracks.compactMap { track in
      guard let index = offer.indexOfMedia(mid: track.mid), offer.direction(of: offer.media[index]).sends,
        let ssrc = mediaSSRC(offer.media[index])
      else { return nil }
      let line = offer.media[index]
      var codecs: [UInt8: CodecProfile] = [:]
      var repairs: [UInt8: UInt8] = [:]
      for codec in line.rtp.codecs {
        if let profile = profile(codec) { codecs[codec.payloadType] = profile }
        if codec.isRTX, let media = codec.associatedPayloadType { repairs[codec.payloadType] = media }
      }
      let group = line.streams.sourceGroups.first { $0.semantics == "FID" && $0.ssrcs.first == ssrc }
      return ReceiveLine(
        mid: track.mid, subscriptionId: track.subscriptionId, trackId: track.trackId,
        participantId: track.participantId, kind: track.kind, ssrc: ssrc, rtxSSRC: group?.ssrcs.last, codecs: codecs,
        repairs: repairs, extensions: SyntheticExtension.ids(line.rtp.extensions))
    }
  }

  private static func mediaSSRC(_ line: MediaDescription) -> UInt32? {
    line.streams.sourceGroups.first { $0.semantics == "FID" }?.ssrcs.first ?? line.streams.sources.first?.ssrc
  }
}

extension BandwidthFeedback {
  /// The codec with the feedback that this kind of client has.
  fileprivate func applied(to codec: Codec) -> Codec {
    var codec = codec
    switch self {
    case .twcc: return codec
    case .remb:
      let had = codec.feedback.contains(.transportCC)
      codec.feedback.removeAll { $0 == .transportCC }
      if had { codec.feedback.append(.remb) }
    case .none: codec.feedback.removeAll { $0 == .transportCC || $0 == .remb }
    }
    return codec
  }
}
