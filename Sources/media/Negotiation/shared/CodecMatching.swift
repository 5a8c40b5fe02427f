// Which CodecProfile an rtpmap and its fmtp mean, and the SDP of a profile. Two H264 payload types are the same only
// with equal profile and packetization mode (RFC 6184 §8.2.2); likewise VP9 (RFC 9628 §7) and AV1 profiles.

import RTP
import SDP

extension CodecProfile {
  /// The profile that a payload type of an audio or video line stands for; nil for one the server does not forward.
  init?(_ codec: Codec) {
    if codec.isNamed("opus"), codec.clockRate == 48_000 {
      self = .opus
      return
    }
    guard codec.clockRate == 90_000 else { return nil }
    if codec.isNamed("VP8") {
      self = .vp8
    } else if codec.isNamed("VP9") {
      switch codec.format["profile-id"] ?? "0" {
      case "0": self = .vp9Profile0
      case "2": self = .vp9Profile2
      default: return nil
      }
    } else if codec.isNamed("AV1") {
      guard (codec.format["profile"] ?? "0") == "0" else { return nil }
      self = .av1
    } else if codec.isNamed("H264") {
      self.init(h264: codec.format)
    } else {
      return nil
    }
  }

  /// From `profile-level-id` and `packetization-mode`; their defaults are baseline and 0 (RFC 6184 §8.1).
  private init?(h264 format: FormatParameters) {
    guard let id = UInt32(format["profile-level-id"] ?? "42000a", radix: 16), id <= 0xff_ffff else { return nil }
    let mode = format["packetization-mode"] ?? "0"
    guard mode == "0" || mode == "1" else { return nil }
    switch (H264Profile(idc: UInt8(id >> 16), constraints: UInt8(id >> 8 & 0xff)), mode) {
    case (.constrainedBaseline, "1"): self = .h264ConstrainedBaseline
    case (.constrainedBaseline, _): self = .h264ConstrainedBaselineMode0
    case (.baseline, "1"): self = .h264Baseline
    case (.baseline, _): self = .h264BaselineMode0
    case (.main, "1"): self = .h264Main
    case (.main, _): self = .h264MainMode0
    case (.high, "1"): self = .h264High
    case (.high, _): self = .h264HighMode0
    case (nil, _): return nil
    }
  }

  var kind: MediaKind { self == .opus ? .audio : .video }

  /// The codec as people call it: `H264 packetization-mode=1;profile-level-id=42e01f`.
  var label: String { formatText.isEmpty || kind == .audio ? encodingName : "\(encodingName) \(formatText)" }

  /// Codecs of this profile for an offer of the server: the media, then its retransmissions. Opus is offered without
  /// `nack`, as browsers offer it: it has no RTX, its loss is repaired by its own FEC, and a packet sent again under its
  /// old number would have to be the same byte for byte (RFC 7714 §8.1), send time included. With it goes the format that
  /// carries earlier packets besides (RFC 2198): it mends what FEC does not. `opus` is how its publisher sends it.
  func offered(transportCC: Bool, opus format: OpusFormat) -> [Codec] {
    let transport: [Feedback] = transportCC ? [.transportCC] : []
    guard kind == .video else {
      var opus = Codec.opus(serverPayloadType, format: format.sent)
      opus.feedback = transport
      // As browsers offer it: feedback is told of Opus.
      return [opus] + (serverREDPayloadType.map { [.red($0, for: serverPayloadType)] } ?? [])
    }
    return Codec.video(
      serverPayloadType, encodingName, format: FormatParameters(formatText), rtx: serverRTXPayloadType,
      feedback: transport + [.fir, .nack, .pli])
  }

  private var encodingName: String {
    switch self {
    case .opus: "opus"
    case .vp8: "VP8"
    case .vp9Profile0, .vp9Profile2: "VP9"
    case .av1: "AV1"
    default: "H264"
    }
  }

  private var formatText: String {
    switch self {
    case .opus: OpusFormat().sent.text
    case .vp8: ""
    case .vp9Profile0: "profile-id=0"
    case .vp9Profile2: "profile-id=2"
    case .av1: "level-idx=5;profile=0;tier=0"
    case .h264ConstrainedBaseline: Self.h264Format("42e01f", mode: 1)
    case .h264ConstrainedBaselineMode0: Self.h264Format("42e01f", mode: 0)
    case .h264Baseline: Self.h264Format("42001f", mode: 1)
    case .h264BaselineMode0: Self.h264Format("42001f", mode: 0)
    case .h264Main: Self.h264Format("4d001f", mode: 1)
    case .h264MainMode0: Self.h264Format("4d001f", mode: 0)
    case .h264High: Self.h264Format("64001f", mode: 1)
    case .h264HighMode0: Self.h264Format("64001f", mode: 0)
    }
  }

  private static func h264Format(_ profileLevelID: String, mode: Int) -> String {
    "level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profileLevelID)"
  }
}

/// Profiles of H.264 by profile_idc and the constraint flags (RFC 6184 table 5). Constrained high counts as high: what
/// decodes high decodes it.
private enum H264Profile {
  case constrainedBaseline, baseline, main, high

  init?(idc: UInt8, constraints: UInt8) {
    switch idc {
    case 0x42 where constraints & 0x4f == 0x40: self = .constrainedBaseline
    case 0x42 where constraints & 0x4f == 0: self = .baseline
    case 0x4d where constraints & 0x8f == 0x80: self = .constrainedBaseline
    case 0x4d where constraints & 0xaf == 0: self = .main
    case 0x58 where constraints & 0xcf == 0xc0: self = .constrainedBaseline
    case 0x58 where constraints & 0xcf == 0x80: self = .baseline
    case 0x64 where constraints == 0 || constraints == 0x0c: self = .high
    default: return nil
    }
  }
}
