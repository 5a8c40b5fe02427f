// What real clients send: everything is understood, and writing it again loses nothing.

import SDP
import Testing

@Suite struct GoldenTests {
  @Test(arguments: Fixture.names)
  func survivesWritingAndReading(name: String) throws {
    let text = try Fixture.text(name)
    let parsed = try SessionDescription.parse(text)
    #expect(parsed.media.count >= 2)
    #expect(try SessionDescription.parse(parsed.serialized()) == parsed)
    #expect(try SessionDescription.parse(text.replacing("\r\n", with: "\n")) == parsed)
    #expect(try SessionDescription.parse(Array(text.utf8).span) == parsed)
  }

  /// No line of a recording is lost: what the model does not know stays as it stood.
  @Test(arguments: Fixture.names)
  func keepsEveryAttribute(name: String) throws {
    let text = try Fixture.text(name)
    let written = try SessionDescription.parse(text).serialized()
    func lines(_ text: String) -> Set<String> {
      Set(text.split(whereSeparator: \.isNewline).map(String.init).filter { $0.hasPrefix("a=") })
    }
    let lost = lines(text).subtracting(lines(written)).filter { $0.firstRange(of: "network-id") == nil }
    #expect(lost.isEmpty, "\(lost)")
  }

  @Test func chromiumOffer() throws {
    let offer = try SessionDescription.parse(try Fixture.text("chromium-offer"))
    #expect(offer.bundle?.mids == ["0", "1"])
    #expect(offer.extmapAllowMixed)
    #expect(offer.otherAttributes.first?.name == "msid-semantic")
    let audio = offer.media[0]
    let video = offer.media[1]
    #expect(audio.type == .audio && video.type == .video)
    #expect(audio.direction == .sendOnly)
    #expect(audio.rtp.codecs.map(\.payloadType) == [111, 63, 9, 0, 8, 13, 110, 126])
    let opus = try #require(audio.rtp.codec(payloadType: 111))
    #expect(opus.isNamed("OPUS") && opus.clockRate == 48_000 && opus.channels == 2)
    #expect(opus.format["useinbandfec"] == "1" && opus.format["MinPTime"] == "10" && opus.format["usedtx"] == nil)
    #expect(audio.transport.setup == .actpass)
    #expect(audio.transport.rtcpMux)
    #expect(audio.transport.fingerprints.first?.bytes.count == 32)
    #expect(audio.transport.candidates.count == 8)
    #expect(audio.transport.candidates[0].transport == "udp")
    #expect(video.rtp.rtx(for: 96)?.payloadType == 97)
    #expect(video.rtp.codecs[0].feedback == [.remb, .transportCC, .fir, .nack, .pli])
    #expect(video.rtp.extensions.first { $0.uri == "urn:3gpp:video-orientation" }?.id == 13)
    #expect(video.streams.sourceGroups.first?.semantics == "FID")
    #expect(video.streams.msids.first?.track != nil)
  }

  @Test func chromiumSimulcastOffer() throws {
    let video = try SessionDescription.parse(try Fixture.text("chromium-simulcast-offer")).media[1]
    #expect(video.streams.rids.map(\.id) == ["l", "m", "h"])
    #expect(video.streams.rids.allSatisfy { $0.sends })
    #expect(video.streams.simulcast?.send == ["l", "m", "h"].map { [Simulcast.Alternative(rid: $0)] })
  }

  @Test func dataChannelLine() throws {
    let offer = try SessionDescription.parse(try Fixture.text("chromium-max-bundle-data-offer"))
    let data = try #require(offer.media.first { $0.type == .application })
    #expect(!data.isRTP)
    #expect(data.otherFormats == ["webrtc-datachannel"])
    #expect(data.otherAttributes.contains(Attribute("sctp-port", "5000")))
  }

  @Test func sessionLevelFingerprintHoldsForEveryLine() throws {
    let offer = try SessionDescription.parse(try Fixture.text("pion-offer"))
    #expect(offer.media[1].transport.fingerprints.isEmpty)
    #expect(offer.transport(of: offer.media[1]).fingerprints.first?.algorithm == .sha256)
    #expect(offer.transport(of: offer.media[1]).iceUfrag == "kQwErTyUiOpAsDfG")
  }

  @Test func bundleOnlyLineIsNotRejected() throws {
    let audio = try SessionDescription.parse(try Fixture.text("gstreamer-offer")).media[1]
    #expect(audio.port == 0 && audio.isBundleOnly && !audio.isRejected)
  }
}
