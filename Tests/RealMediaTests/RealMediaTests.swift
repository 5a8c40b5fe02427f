// Pictures and tones survive their codecs with what they say, and a decoder notices what is not its sender's.

import OpusCodec
import SyntheticParticipant
import Testing
import VP8Codec

@testable import RealMedia

private let anna = PayloadStamp.identity(user: "anna", label: "camera")
private let ben = PayloadStamp.identity(user: "ben", label: "camera")

@Suite struct PictureTests {
  @Test(arguments: [(320, 180), (640, 360), (1_280, 720)])
  func saysWhoseItIs(_ width: Int, _ height: Int) {
    for number: UInt32 in [0, 1, 59, .max] {
      let label = TestPicture.Label(identity: anna, number: number)
      #expect(TestPicture.read(TestPicture.draw(label, width: width, height: height)) == label)
    }
  }

  @Test func nothingIsReadFromOtherPictures() {
    #expect(TestPicture.read(Picture(width: 640, height: 360)) == nil)
    #expect(TestPicture.read(Picture(width: 16, height: 16)) == nil)
  }

  @Test func qualityIsMeasured() throws {
    let a = Picture(width: 64, height: 64)
    var b = a
    #expect(TestPicture.psnr(a, b) == .infinity)
    b.bytes[0] = 129
    // One of 4,096 pixels is off by one: 10 log10(255² × 4096).
    let quality = try #require(TestPicture.psnr(a, b))
    #expect(abs(quality - 84.254) < 0.01)
    #expect(TestPicture.psnr(a, Picture(width: 32, height: 32)) == nil)
  }

  @Test func survivesVP8() throws {
    var encoder = try VP8Encoder(width: 320, height: 180, framesPerSecond: 30, bitsPerSecond: 300_000)
    var decoder = try VP8Decoder()
    for number: UInt32 in 0..<20 {
      let label = TestPicture.Label(identity: anna, number: number)
      let original = TestPicture.draw(label, width: 320, height: 180)
      let frame = try encoder.encode(original, keyframe: number == 10)
      #expect((frame[0] & 1 == 0) == (number == 0 || number == 10), "bit 0 says that a frame is no keyframe")
      let decoded = try decoder.decode(frame)
      let picture = try #require(decoded)
      #expect(TestPicture.read(picture) == label)
      #expect((TestPicture.psnr(original, picture) ?? 0) > 25)
    }
  }

  @Test func trailingBytesDoNotMatterToVP8() throws {
    let label = TestPicture.Label(identity: anna, number: 1)
    var encoder = try VP8Encoder(width: 320, height: 180, framesPerSecond: 30, bitsPerSecond: 300_000)
    let frame = try encoder.encode(TestPicture.draw(label, width: 320, height: 180))
    var plain = try VP8Decoder()
    var stamped = try VP8Decoder()
    let one = try plain.decode(frame)
    let two = try stamped.decode(frame + Array(repeating: 0xa5, count: PayloadStamp.length))
    #expect(one == two && one != nil)
  }

  @Test func rubbishIsRefused() throws {
    var decoder = try VP8Decoder()
    #expect(throws: VP8Error.malformed) { _ = try decoder.decode([1, 2, 3]) }
    #expect(throws: VP8Error.malformed) { _ = try decoder.decode([]) }
    var encoder = try VP8Encoder(width: 64, height: 64, framesPerSecond: 30, bitsPerSecond: 100_000)
    #expect(throws: VP8Error.malformed) { _ = try encoder.encode(Picture(width: 32, height: 32)) }
  }
}

@Suite struct ToneTests {
  @Test func isAtItsOwnPitch() throws {
    for number in [0, 1, 7] {
      let share = try #require(TestTone.share(of: anna, in: TestTone.samples(anna, number: number)))
      #expect(share > 0.9)
    }
    #expect(TestTone.frequency(anna) != TestTone.frequency(ben))
    let foreign = try #require(TestTone.share(of: ben, in: TestTone.samples(anna, number: 3)))
    #expect(foreign < 0.2)
    #expect(TestTone.share(of: anna, in: Array(repeating: 0, count: 960)) == nil)
  }

  /// One identity for each pitch.
  @Test(arguments: (0..<24).map { UInt64($0) << 7 })
  func survivesOpusWithAStampInItsPadding(_ identity: UInt64) throws {
    let clip = try RealMedia.sound(identity: identity, bitsPerSecond: 32_000)
    var decoder = try OpusDecoder()
    for (number, packet) in clip.frames.enumerated() {
      var stamped = packet
      for index in (stamped.count - PayloadStamp.length)..<stamped.count { stamped[index] = 0xa5 }
      let samples = try decoder.decode(stamped)
      #expect(samples.count == opusFrameLength)
      guard number > 5 else { continue }
      #expect((TestTone.share(of: identity, in: samples) ?? 0) > 0.5, "packet \(number)")
    }
  }

  @Test func rubbishIsRefused() throws {
    var encoder = try OpusEncoder(bitsPerSecond: 32_000)
    #expect(throws: OpusError.malformed) { _ = try encoder.encode([1, 2, 3]) }
    #expect(throws: OpusError.malformed) { _ = try opusPadded([1, 2, 3], to: 2) }
    var decoder = try OpusDecoder()
    #expect(throws: OpusError.malformed) { _ = try decoder.decode([0xff, 0xff, 0xff]) }
  }
}

@Suite struct StreamDecoderTests {
  private static let layer = VideoLayer(width: 320, height: 180, packetsPerFrame: 2, packetBytes: 600)

  @Test func findsNothingWrongWithAnHonestStream() throws {
    let pictures = StreamDecoder(isAudio: false)
    let clip = try RealMedia.pictures(identity: anna, layer: Self.layer, framesPerSecond: 30)
    for frame in clip.frames + clip.frames { pictures.take(frame, identity: anna, isContinuous: true) }
    #expect(pictures.findings.decoded == UInt64(clip.frames.count) * 2)
    #expect(pictures.findings.wrongIdentity == 0 && pictures.findings.undecodable == 0)
    #expect((pictures.findings.lowestPSNR ?? 0) > 25)

    let sound = StreamDecoder(isAudio: true)
    let tone = try RealMedia.sound(identity: ben, bitsPerSecond: 32_000)
    for frame in tone.frames + tone.frames { sound.take(frame, identity: ben, isContinuous: true) }
    #expect(sound.findings.wrongIdentity == 0 && sound.findings.decoded == UInt64(tone.frames.count) * 2)
  }

  @Test func noticesAnothersPicturesAndTones() throws {
    let pictures = StreamDecoder(isAudio: false)
    for frame in try RealMedia.pictures(identity: ben, layer: Self.layer, framesPerSecond: 30).frames {
      pictures.take(frame, identity: anna, isContinuous: true)
    }
    #expect(pictures.findings.wrongIdentity == pictures.findings.decoded && pictures.findings.decoded > 0)
    let sound = StreamDecoder(isAudio: true)
    for frame in try RealMedia.sound(identity: ben, bitsPerSecond: 32_000).frames {
      sound.take(frame, identity: anna, isContinuous: true)
    }
    #expect(sound.findings.wrongIdentity > 40)
  }

  @Test func countsWhatCannotBeDecoded() {
    let pictures = StreamDecoder(isAudio: false)
    pictures.take([9, 9, 9], identity: nil, isContinuous: true)
    #expect(pictures.findings.undecodable == 1 && pictures.findings.decoded == 0)
  }
}
