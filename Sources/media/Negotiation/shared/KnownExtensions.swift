// The header extensions (RFC 8285) that the server agrees to, each with its URI and its id in the server's own offers.

import RTP
import SDP

enum KnownExtension: CaseIterable {
  case audioLevel, absSendTime, transportSequence, mid, rid, repairedRid, videoOrientation
  /// What the frames of AV1 refer to. Chromium shows no AV1 with spatial layers without it.
  case dependencyDescriptor

  var uri: String {
    switch self {
    case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    case .absSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    case .transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
    case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    case .repairedRid: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    case .videoOrientation: "urn:3gpp:video-orientation"
    case .dependencyDescriptor:
      "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
    }
  }

  /// Id in offers of the server; nil for what the server never sends.
  var serverID: UInt16? {
    switch self {
    case .audioLevel: 1
    case .absSendTime: 2
    case .transportSequence: 3
    case .mid: 4
    case .videoOrientation: 13
    case .dependencyDescriptor: 12
    case .rid, .repairedRid: nil
    }
  }

  var field: WritableKeyPath<HeaderExtensionIDs, UInt8> {
    switch self {
    case .audioLevel: \.audioLevel
    case .absSendTime: \.absSendTime
    case .transportSequence: \.transportSequence
    case .mid: \.mid
    case .rid: \.rid
    case .repairedRid: \.repairedRid
    case .videoOrientation: \.videoOrientation
    case .dependencyDescriptor: \.dependencyDescriptor
    }
  }

  func makesSense(for kind: MediaKind) -> Bool {
    switch self {
    case .audioLevel: kind == .audio
    case .rid, .repairedRid, .videoOrientation, .dependencyDescriptor: kind == .video
    case .absSendTime, .transportSequence, .mid: true
    }
  }

  init?(uri: String) {
    guard let known = Self.allCases.first(where: { $0.uri == uri }) else { return nil }
    self = known
  }

  /// What the server offers on a line that it sends in these codecs.
  static func offered(for kind: MediaKind, _ codecs: [CodecProfile], transportCC: Bool) -> [HeaderExtension] {
    allCases.compactMap { known in
      guard let id = known.serverID, known.makesSense(for: kind), transportCC || known != .transportSequence,
        known != .dependencyDescriptor || codecs.contains(.av1)
      else { return nil }
      return HeaderExtension(id: id, uri: known.uri)
    }
  }

  /// What the server takes of an offered line, with the offerer's ids. Ids that clash in the `bundle` or that the offerer leaves open are
  /// passed over, and so is what the offerer would not send. The dependency descriptor is taken where AV1 comes first alone: with
  /// it, Chromium leaves out of its VP8 payload descriptors which layer a packet is of (RFC 7741 §4.2: TID, picture ID).
  static func accepted(
    of offered: [HeaderExtension], for kind: MediaKind, codec: CodecProfile?, in bundle: inout BundleClaims
  ) -> (lines: [HeaderExtension], ids: HeaderExtensionIDs) {
    var ids = HeaderExtensionIDs()
    var lines: [HeaderExtension] = []
    for one in offered {
      guard let known = KnownExtension(uri: one.uri), known.makesSense(for: kind), (1...255).contains(one.id),
        known != .dependencyDescriptor || codec == .av1,
        one.direction?.sends ?? true, bundle.claim(known, one.id), ids[keyPath: known.field] == 0
      else { continue }
      ids[keyPath: known.field] = UInt8(one.id)
      lines.append(HeaderExtension(id: one.id, uri: one.uri, direction: one.direction?.reversed))
    }
    return (lines, ids)
  }

  /// Identifiers that fit into a one-byte element (RFC 8285 §4.2), which is what the server writes.
  private static let writable: ClosedRange<UInt16> = 1...14

  /// What the server will send of an offered line, with the offerer's ids. Ids that clash, that need two-byte elements or that
  /// the offerer leaves open are passed over, and so is what the offerer would not receive. Dependency descriptors may take two-byte
  /// elements, so they are sent only to who allows both forms in one stream (`mixed`, RFC 8285 §6).
  static func sent(
    of offered: [HeaderExtension], for kind: MediaKind, transportCC: Bool, mixed: Bool, in bundle: inout BundleClaims
  ) -> (lines: [HeaderExtension], ids: HeaderExtensionIDs) {
    var ids = HeaderExtensionIDs()
    var lines: [HeaderExtension] = []
    for one in offered {
      guard let known = KnownExtension(uri: one.uri), known.serverID != nil, known.makesSense(for: kind),
        transportCC || known != .transportSequence, mixed || known != .dependencyDescriptor,
        writable.contains(one.id), one.direction?.receives ?? true, bundle.claim(known, one.id),
        ids[keyPath: known.field] == 0
      else { continue }
      ids[keyPath: known.field] = UInt8(one.id)
      lines.append(HeaderExtension(id: one.id, uri: one.uri, direction: one.direction?.reversed))
    }
    return (lines, ids)
  }

  /// What a subscriber took of the server's offer: the same id for the same URI, anything else does not count. `mixed` is as in `sent`.
  static func taken(by answered: [HeaderExtension], of offered: [HeaderExtension], mixed: Bool) -> HeaderExtensionIDs {
    var ids = HeaderExtensionIDs()
    for one in answered where one.direction?.receives ?? true {
      guard let known = KnownExtension(uri: one.uri), mixed || known != .dependencyDescriptor,
        offered.contains(where: { $0.id == one.id && $0.uri == one.uri })
      else { continue }
      ids[keyPath: known.field] = UInt8(one.id)
    }
    return ids
  }
}
