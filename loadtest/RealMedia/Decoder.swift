// What a person sees and hears: decodes one stream and checks that it is what its sender made.

import OpusCodec
import SyntheticParticipant
import VP8Codec

/// Decodes a stream's frames; belongs to the thread of its connection.
public final class StreamDecoder: FrameInspector {
  /// Every so many pictures one is compared with what it was made from.
  private static let sampling: UInt64 = 30
  /// How much of a sound must be at its sender's pitch. The first packets after a gap are not yet in tune.
  private static let tuned = 0.5

  private var opus: OpusDecoder?
  private var vp8: VP8Decoder?
  /// Sounds since the last gap: the first ones behind it are not in tune.
  private var sounds: UInt64 = 0
  /// What was found so far.
  public private(set) var findings = InspectorFindings()

  /// A decoder for one stream of sound or pictures.
  public init(isAudio: Bool) {
    if isAudio { opus = try? OpusDecoder() } else { vp8 = try? VP8Decoder() }
  }

  /// Decodes the next whole frame.
  public func take(_ frame: [UInt8], identity: UInt64?, isContinuous: Bool) {
    if !isContinuous { sounds = 0 }
    if opus != nil { takeSound(frame, identity) } else { takePicture(frame, identity) }
  }

  private func takeSound(_ packet: [UInt8], _ identity: UInt64?) {
    guard let samples = try? opus?.decode(packet) else {
      findings.undecodable += 1
      return
    }
    findings.decoded += 1
    sounds += 1
    guard let identity, sounds > 5, let share = TestTone.share(of: identity, in: samples) else { return }
    if share < Self.tuned { findings.wrongIdentity += 1 }
  }

  private func takePicture(_ frame: [UInt8], _ identity: UInt64?) {
    guard let decoded = try? vp8?.decode(frame) else {
      findings.undecodable += 1
      return
    }
    findings.decoded += 1
    guard let identity else { return }
    guard let label = TestPicture.read(decoded), label.identity == identity else {
      findings.wrongIdentity += 1
      return
    }
    if findings.decoded % Self.sampling == 0 { compare(decoded, label) }
  }

  private func compare(_ decoded: Picture, _ label: TestPicture.Label) {
    let original = TestPicture.draw(label, width: decoded.width, height: decoded.height)
    guard let quality = TestPicture.psnr(original, decoded) else { return }
    findings.lowestPSNR = min(findings.lowestPSNR ?? .infinity, quality)
  }
}
