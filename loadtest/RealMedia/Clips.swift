// Clips of real media: generated pictures and tones, encoded once and replayed, so that sending them costs no more than
// sending anything else. A clip begins with its only keyframe and can be begun anew at any time.

import OpusCodec
import SyntheticParticipant
import VP8Codec

/// Makes the clips of a person's tracks.
public enum RealMedia {
  /// Pictures of a clip, then it begins anew: two seconds at 30 a second.
  private static let pictures = 60
  /// Packets of a sound; at 40 ms every pitch has come round.
  private static let sounds = 50

  /// The sound of `identity`: Opus at `bitsPerSecond`, each packet with room for a stamp in its padding.
  public static func sound(identity: UInt64, bitsPerSecond: Int) throws(OpusError) -> MediaClip {
    var encoder = try OpusEncoder(bitsPerSecond: bitsPerSecond)
    var frames: [[UInt8]] = []
    for number in 0..<sounds {
      let packet = try encoder.encode(TestTone.samples(identity, number: number))
      // One byte more than the stamp: the length of the padding, which stands before it.
      frames.append(try opusPadded(packet, to: packet.count + PayloadStamp.length + 2))
    }
    return MediaClip(frames: frames)
  }

  /// The pictures of `identity`: VP8 in the size and at the bitrate of a layer.
  public static func pictures(identity: UInt64, layer: VideoLayer, framesPerSecond: Int) throws(VP8Error) -> MediaClip {
    let (width, height) = (Int(layer.width), Int(layer.height))
    let bitsPerSecond = layer.packetsPerFrame * layer.packetBytes * 8 * framesPerSecond
    var encoder = try VP8Encoder(
      width: width, height: height, framesPerSecond: framesPerSecond, bitsPerSecond: bitsPerSecond)
    var frames: [[UInt8]] = []
    for number in 0..<pictures {
      let label = TestPicture.Label(identity: identity, number: UInt32(number))
      frames.append(try encoder.encode(TestPicture.draw(label, width: width, height: height)))
    }
    return MediaClip(frames: frames)
  }
}
