// The one table of payload types and header extension ids that all offers of the server use. Since it never changes, a
// publisher that switches codecs needs no new negotiation with its subscribers.
//
//   codec                     media  rtx        extension          id
//   Opus, with RED 63          111    –         audio level         1
//   VP8                         96    97        abs-send-time       2
//   VP9 profile 0 / 2       98, 100  99, 101    transport-cc        3
//   H264 CB mode 1 / 0     102, 104  103, 105   mid                 4
//   H264 B mode 1 / 0      106, 108  107, 109   video orientation  13
//   H264 main mode 1 / 0   112, 116  113, 117
//   H264 high mode 1 / 0   114, 118  115, 119
//   AV1                         45    46

import RTP

extension CodecProfile {
  /// Payload type of this codec in every offer of the server.
  public var serverPayloadType: UInt8 {
    switch self {
    case .opus: 111
    case .vp8: 96
    case .vp9Profile0: 98
    case .vp9Profile2: 100
    case .h264ConstrainedBaseline: 102
    case .h264ConstrainedBaselineMode0: 104
    case .h264Baseline: 106
    case .h264BaselineMode0: 108
    case .h264Main: 112
    case .h264High: 114
    case .h264MainMode0: 116
    case .h264HighMode0: 118
    case .av1: 45
    }
  }

  /// Payload type of Opus with earlier packets inside (RFC 2198) in every offer of the server; nil for video.
  public var serverREDPayloadType: UInt8? { self == .opus ? 63 : nil }

  /// Payload type of its retransmissions in every offer of the server; nil for audio.
  public var serverRTXPayloadType: UInt8? { kind == .video ? serverPayloadType + 1 : nil }
}
