// The format of sound is negotiated: what a publisher offers is answered within the room's bound, and receivers are told of it.

import Negotiation
import RTP
import SDP
import TestSupport
import Testing

@Suite struct OpusTests {
  /// The format of Opus in the answer to an offer of sound with this one, as name and value.
  private func answered(_ format: String, _ change: (inout PublishOptions) -> Void = { _ in }) throws -> [String:
    String]
  {
    var options = PublishOptions()
    change(&options)
    var negotiation = Server.publish(options)
    return try parameters(of: negotiation.take(offer(format), [both[0]]).parsed())
  }

  private func offer(_ format: String) -> String {
    var client = Offerer()
    client.audio("0")
    client.lines[0].rtp.codecs = [.opus(109, format: FormatParameters(format))]
    return client.text
  }

  private func parameters(of description: SessionDescription, line: Int = 0) throws -> [String: String] {
    let opus = try #require(description.media[line].rtp.codecs.first { $0.isNamed("opus") })
    let pairs = opus.format.text.split(separator: ";").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0[1]) })
  }

  @Test(arguments: [
    // Speech, as browsers offer it.
    ("minptime=10;useinbandfec=1", "minptime=10;useinbandfec=1;usedtx=1"),
    ("", "minptime=10;useinbandfec=1;usedtx=1"),
    // Music.
    (
      "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1;maxaveragebitrate=96000;usedtx=0",
      "minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=96000;usedtx=0"
    ),
    ("stereo=1;maxaveragebitrate=96000", "minptime=10;useinbandfec=1;stereo=1;maxaveragebitrate=96000"),
    ("sprop-stereo=1", "minptime=10;useinbandfec=1;stereo=1"),
    // What it can play says nothing about what it sends.
    ("stereo=1", "minptime=10;useinbandfec=1;stereo=1;usedtx=1"),
    ("sprop-stereo=1;cbr=1", "minptime=10;useinbandfec=1;stereo=1;cbr=1"),
    ("stereo=1;usedtx=1", "minptime=10;useinbandfec=1;stereo=1;usedtx=1"),
    ("usedtx=0", "minptime=10;useinbandfec=1;usedtx=0"),
    (" STEREO = 1 ; CBR=0;;useinbandfec=0", "minptime=10;useinbandfec=0;stereo=1;usedtx=1"),
    ("minptime=20;maxplaybackrate=16000", "minptime=20;useinbandfec=1;usedtx=1"),
    // What is out of range, or nonsense, is as if it were not there; a rate is brought into its range.
    ("maxaveragebitrate=1000", "minptime=10;useinbandfec=1;maxaveragebitrate=6000;usedtx=1"),
    ("maxaveragebitrate=4000000000", "minptime=10;useinbandfec=1;maxaveragebitrate=128000;usedtx=1"),
    (
      "maxaveragebitrate=99999999999999999999;stereo=2;usedtx=x;cbr;minptime=-1;maxplaybackrate=0;sprop-stereo",
      "minptime=10;useinbandfec=1;usedtx=1"
    ),
    ("maxaveragebitrate=0;stereo=01", "minptime=10;useinbandfec=1;usedtx=1"),
  ]) func soundIsAnsweredAsOffered(offered: String, expected: String) throws {
    let wanted = FormatParameters(expected)
    let answer = try answered(offered)
    #expect(answer.count == expected.split(separator: ";").count, "\(answer)")
    for (name, value) in answer { #expect(wanted[name] == value, "\(name)=\(value) for \(offered)") }
  }

  /// Firefox says of every microphone that it can play stereo: its speech pauses in silence all the same.
  @Test func firefoxSpeechPausesInSilence() throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.take(Fixture.text("firefox-offer"), [AnnouncedTrack(mid: "0", kind: .audio)])
    let answer = try parameters(of: prepared.parsed())
    #expect(answer == ["minptime": "10", "useinbandfec": "1", "stereo": "1", "usedtx": "1"])
  }

  @Test func receiversAreNotToldWhatThePublisherCanPlay() throws {
    var publisher = Server.publish()
    let agreed = try publisher.take(offer("maxplaybackrate=16000"), [both[0]]).added[0].opus
    var subscriber = Server.subscribe()
    var speech = subscription(1, .audio, codecs: [.opus])
    speech.opus = agreed
    try subscriber.add(speech)
    let offered = try SessionDescription.parse(subscriber.newOffer().sdp)
    #expect(try parameters(of: offered) == ["minptime": "10", "useinbandfec": "1"])
  }

  @Test func theRoomBoundsTheRateOfSound() throws {
    let music = "stereo=1;maxaveragebitrate=256000"
    #expect(try answered(music)["maxaveragebitrate"] == "128000")
    #expect(try answered(music) { $0.maxAudioBitsPerSecond = 510_000 }["maxaveragebitrate"] == "256000")
    #expect(try answered(music) { $0.maxAudioBitsPerSecond = 24_000 }["maxaveragebitrate"] == "24000")
    // Said unasked only where encoders would send more by themselves: Chromium takes it for what it shall send.
    #expect(try answered("") { $0.maxAudioBitsPerSecond = 24_000 }["maxaveragebitrate"] == "24000")
    #expect(try answered("") { $0.maxAudioBitsPerSecond = 48_000 }["maxaveragebitrate"] == nil)
    #expect(try answered("stereo=1") { $0.maxAudioBitsPerSecond = 48_000 }["maxaveragebitrate"] == "48000")
  }

  @Test func redundantSoundKeepsItsFormat() throws {
    var client = Offerer()
    client.audio("0")
    client.lines[0].rtp.codecs = [.red(63, for: 111), .opus(111, format: "stereo=1;usedtx=0")]
    var negotiation = Server.publish()
    let answer = try negotiation.take(client.text, [both[0]]).parsed()
    #expect(answer.media[0].rtp.codecs.map(\.payloadType) == [63, 111])
    #expect(try parameters(of: answer)["stereo"] == "1")
    #expect(negotiation.tracks.map(\.opus.isStereo) == [true])
  }

  @Test func receiversAreOfferedWhatThePublisherSends() throws {
    var publisher = Server.publish()
    let agreed = try publisher.take(offer("stereo=1;usedtx=0;maxaveragebitrate=256000;cbr=1"), [both[0]]).added[0].opus
    var subscriber = Server.subscribe()
    var music = subscription(1, .audio, codecs: [.opus])
    music.opus = agreed
    try subscriber.add(music)
    try subscriber.add(subscription(2, .audio, stream: "ben", codecs: [.opus]))
    let offer = try subscriber.newOffer()
    let description = try SessionDescription.parse(offer.sdp)
    #expect(
      try parameters(of: description) == [
        "minptime": "10", "useinbandfec": "1", "stereo": "1", "sprop-stereo": "1", "maxaveragebitrate": "128000",
        "usedtx": "0", "cbr": "1",
      ])
    let speech = try #require(description.media.lastIndex { $0.type == .audio })
    #expect(try parameters(of: description, line: speech) == ["minptime": "10", "useinbandfec": "1"])

    // The publisher goes over to speech: that is offered again, and its line says so.
    _ = try subscriber.handle(answer: Answerer().answer(offer.sdp), offerID: offer.id)
    #expect(subscriber.offersNothing)
    subscriber.setCodecs([.opus], of: 1)
    let next = try SessionDescription.parse(try subscriber.newOffer().sdp)
    #expect(try parameters(of: next) == ["minptime": "10", "useinbandfec": "1"])
  }

  /// Lines that were swapped say in the next offer what they carry then.
  @Test func aSwapTakesTheFormatAlong() throws {
    var subscriber = Server.subscribe()
    var music = subscription(1, .audio, codecs: [.opus])
    music.opus.isStereo = true
    try subscriber.add(music)
    try subscriber.add(subscription(2, .audio, stream: "ben", codecs: [.opus]))
    let offer = try subscriber.newOffer()
    _ = try subscriber.handle(answer: Answerer().answer(offer.sdp), offerID: offer.id)
    try subscriber.swap(1, 2)
    #expect(subscriber.offersNothing, "a swap asks for no offer")
    try subscriber.add(subscription(3, .video))
    let next = try SessionDescription.parse(try subscriber.newOffer().sdp)
    let stereo = try next.media.indices.filter { next.media[$0].type == .audio }
      .map { try parameters(of: next, line: $0)["sprop-stereo"] }
    #expect(stereo == [nil, "1"])
  }
}
