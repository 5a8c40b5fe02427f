// What two ends have agreed on for one media line, as values: SDP negotiation produces them, producers and consumers
// live by them. Modelled on the RTCRtpParameters of W3C WebRTC.

/// What a track carries.
public enum MediaKind: UInt8, Sendable, Hashable, CaseIterable {
  case audio, video
}

/// A codec together with the format parameters that decide whether two ends mean the same thing. Everything the server
/// forwards is one of these; each has one payload type in every offer the server makes.
public enum CodecProfile: UInt8, Sendable, Hashable, CaseIterable {
  case opus, vp8, vp9Profile0, vp9Profile2
  /// H264 constrained baseline (42e01f), packetization mode 1 / 0.
  case h264ConstrainedBaseline, h264ConstrainedBaselineMode0
  /// H264 baseline (42001f), packetization mode 1 / 0.
  case h264Baseline, h264BaselineMode0
  /// H264 main (4d001f) and high (64001f), packetization mode 1.
  case h264Main, h264High
  case av1
  /// H264 main and high, packetization mode 0.
  case h264MainMode0, h264HighMode0

  /// Whether it is H264 of any profile.
  public var isH264: Bool {
    switch self {
    case .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
      .h264High, .h264MainMode0, .h264HighMode0:
      true
    case .opus, .vp8, .vp9Profile0, .vp9Profile2, .av1: false
    }
  }

  /// Whether a packet may hold several NAL units of H264 (packetization mode 1, RFC 6184 §6.3).
  public var aggregates: Bool {
    switch self {
    case .h264ConstrainedBaseline, .h264Baseline, .h264Main, .h264High: true
    case .opus, .vp8, .vp9Profile0, .vp9Profile2, .av1, .h264ConstrainedBaselineMode0, .h264BaselineMode0,
      .h264MainMode0, .h264HighMode0:
      false
    }
  }
}

/// Header extension identifiers (RFC 8285) agreed on for a media line; 0 where an extension was not agreed on.
public struct HeaderExtensionIDs: Sendable, Hashable {
  /// urn:ietf:params:rtp-hdrext:sdes:mid
  public var mid: UInt8 = 0
  /// urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
  public var rid: UInt8 = 0
  /// urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
  public var repairedRid: UInt8 = 0
  /// http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
  public var absSendTime: UInt8 = 0
  /// http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
  public var transportSequence: UInt8 = 0
  /// urn:ietf:params:rtp-hdrext:ssrc-audio-level (RFC 6464)
  public var audioLevel: UInt8 = 0
  /// urn:3gpp:video-orientation
  public var videoOrientation: UInt8 = 0
  /// https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension
  public var dependencyDescriptor: UInt8 = 0

  /// None agreed on.
  public init() {}
}

/// One payload type of a media line and the codec it stands for.
public struct PayloadMapping: Sendable, Hashable {
  /// 0 … 127.
  public var payloadType: UInt8
  /// The codec this payload type carries.
  public var codec: CodecProfile
  /// Payload type of its retransmissions (RFC 4588), where agreed on.
  public var rtxPayloadType: UInt8?
  /// Payload type of its packets with earlier ones inside (RFC 2198), where agreed on. Opus alone has one.
  public var redPayloadType: UInt8?

  /// A mapping; `rtxPayloadType` nil where retransmission was not agreed on, `redPayloadType` where redundancy was not.
  public init(payloadType: UInt8, codec: CodecProfile, rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil) {
    self.payloadType = payloadType
    self.codec = codec
    self.rtxPayloadType = rtxPayloadType
    self.redPayloadType = redPayloadType
  }
}

/// One encoding of a track: a whole track, or one simulcast layer (RFC 8853).
public struct EncodingParameters: Sendable, Hashable {
  /// The restriction identifier (RFC 8851) that its packets carry until its SSRC is known.
  public var rid: String?
  /// The media SSRC where the SDP said it.
  public var ssrc: UInt32?
  /// The SSRC of its retransmissions where the SDP said it (FID group).
  public var rtxSSRC: UInt32?

  /// An encoding; nil for what the SDP left open.
  public init(rid: String? = nil, ssrc: UInt32? = nil, rtxSSRC: UInt32? = nil) {
    self.rid = rid
    self.ssrc = ssrc
    self.rtxSSRC = rtxSSRC
  }
}

/// What the server will receive on one media line of a publisher.
public struct ReceiveParameters: Sendable, Hashable {
  /// The media line's identification tag (RFC 5888).
  public var mid: String
  /// Audio or video.
  public var kind: MediaKind
  /// Payload types the publisher may use, best first.
  public var payloads: [PayloadMapping]
  /// Header extensions the publisher may send.
  public var extensions: HeaderExtensionIDs
  /// Lowest layer first when there are several; one entry without a rid for an ordinary track.
  public var encodings: [EncodingParameters]
  /// Whether the publisher answers generic NACKs (RFC 4585).
  public var nack: Bool
  /// How it sends Opus; says nothing of video.
  public var opus: OpusFormat
  /// Parameter sets of H264 that the description brings (`sprop-parameter-sets`), as NAL units; few and short.
  public var parameterSets: [[UInt8]] = []

  /// All of it.
  public init(
    mid: String, kind: MediaKind, payloads: [PayloadMapping], extensions: HeaderExtensionIDs,
    encodings: [EncodingParameters], nack: Bool, opus: OpusFormat = OpusFormat()
  ) {
    self.mid = mid
    self.kind = kind
    self.payloads = payloads
    self.extensions = extensions
    self.encodings = encodings
    self.nack = nack
    self.opus = opus
  }
}

/// What the server will send on one media line of a subscriber.
public struct SendParameters: Sendable, Hashable {
  /// The media line's identification tag.
  public var mid: String
  /// Audio or video.
  public var kind: MediaKind
  /// The SSRC of this consumer's one clean stream.
  public var ssrc: UInt32
  /// The SSRC of its retransmissions, where agreed on.
  public var rtxSSRC: UInt32?
  /// Codecs the subscriber accepted, with the payload types to send them under.
  public var payloads: [PayloadMapping]
  /// Header extensions the subscriber accepted.
  public var extensions: HeaderExtensionIDs
  /// Whether the subscriber sends generic NACKs.
  public var nack: Bool

  /// All of it.
  public init(
    mid: String, kind: MediaKind, ssrc: UInt32, rtxSSRC: UInt32?, payloads: [PayloadMapping],
    extensions: HeaderExtensionIDs, nack: Bool
  ) {
    self.mid = mid
    self.kind = kind
    self.ssrc = ssrc
    self.rtxSSRC = rtxSSRC
    self.payloads = payloads
    self.extensions = extensions
    self.nack = nack
  }
}
