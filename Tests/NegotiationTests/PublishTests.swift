// Answers to offers of real clients, and rounds of renegotiation.

import Basics
import Negotiation
import RTP
import SDP
import TestSupport
import Testing

@Suite struct PublishGoldenTests {
  struct Expectation: Sendable, CustomTestStringConvertible {
    var name: String
    var audio: String
    var video: String
    var codecs: [CodecProfile]
    var mid: UInt8
    var transportSequence: UInt8
    var testDescription: String { name }
  }

  static let expectations = [
    Expectation(
      name: "chromium-offer", audio: "0", video: "1",
      codecs: [
        .vp8, .vp9Profile0, .av1, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline,
        .h264BaselineMode0, .h264Main, .h264MainMode0, .vp9Profile2,
      ], mid: 4, transportSequence: 3),
    Expectation(
      name: "chromium-max-compat-offer", audio: "0", video: "1",
      codecs: [
        .vp8, .vp9Profile0, .av1, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline,
        .h264BaselineMode0, .h264Main, .h264MainMode0, .vp9Profile2,
      ], mid: 4, transportSequence: 3),
    Expectation(
      name: "firefox-offer", audio: "0", video: "1", codecs: [.vp8, .vp9Profile0, .av1], mid: 3, transportSequence: 7),
    Expectation(
      name: "aiortc-offer", audio: "0", video: "1", codecs: [.vp8, .h264ConstrainedBaseline, .h264Baseline], mid: 1,
      transportSequence: 0),
    Expectation(
      name: "safari-offer", audio: "0", video: "1",
      codecs: [.vp8, .vp9Profile0, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264High, .h264HighMode0],
      mid: 4,
      transportSequence: 3),
    Expectation(
      name: "pion-offer", audio: "1", video: "0",
      codecs: [
        .vp8, .vp9Profile0, .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0,
        .h264High,
      ], mid: 0, transportSequence: 1),
    Expectation(
      name: "gstreamer-offer", audio: "audio1", video: "video0", codecs: [.vp8], mid: 0, transportSequence: 0),
  ]

  @Test(arguments: expectations)
  func takesAudioAndVideo(expected: Expectation) throws {
    var negotiation = Server.publish()
    let offer = try Fixture.parsed(expected.name)
    let prepared = try negotiation.take(
      try Fixture.text(expected.name),
      [AnnouncedTrack(mid: expected.audio, kind: .audio), AnnouncedTrack(mid: expected.video, kind: .video)])
    #expect(prepared.declined.isEmpty && prepared.removed.isEmpty && prepared.changed.isEmpty)
    #expect(negotiation.tracks == prepared.added)
    let audio = try #require(prepared.added.first { $0.mid == expected.audio })
    let video = try #require(prepared.added.first { $0.mid == expected.video })
    #expect(audio.payloads.map(\.codec) == [.opus])
    #expect(video.payloads.map(\.codec) == expected.codecs)
    try checkRetransmission(of: video, in: offer, try prepared.parsed())
    #expect(video.extensions.mid == expected.mid)
    #expect(video.extensions.transportSequence == expected.transportSequence)
    #expect(video.encodings.count == 1 && video.encodings[0].ssrc != nil && audio.encodings[0].ssrc != nil)
    try checkAnswer(try prepared.parsed(), to: offer)
    let transport = try #require(prepared.transport)
    #expect(transport.role == .server && !transport.isICERestart && transport.local == Server.credentials)
    #expect(transport.remote.ufrag == offer.media[0].transport.iceUfrag)
    #expect(transport.fingerprints.contains { $0.algorithm == .sha256 })
  }

  /// Each codec keeps the RTX that it was offered with (RFC 4588 §8.1), and the answer says so.
  private func checkRetransmission(
    of video: ReceiveParameters, in offer: SessionDescription, _ answer: SessionDescription
  ) throws {
    let offered = try #require(offer.media.first { $0.mid == video.mid }).rtp.codecs
    let answered = try #require(answer.media.first { $0.mid == video.mid }).rtp.codecs
    for payload in video.payloads {
      let rtx = offered.first { $0.isRTX && $0.associatedPayloadType == payload.payloadType }
      #expect(payload.rtxPayloadType == rtx?.payloadType)
      #expect(
        answered.first { $0.isRTX && $0.associatedPayloadType == payload.payloadType }?.payloadType
          == rtx?.payloadType)
    }
  }

  /// What RFC 3264 and RFC 8829 ask of any answer.
  private func checkAnswer(_ answer: SessionDescription, to offer: SessionDescription) throws {
    #expect(answer.isICELite)
    #expect(answer.media.count == offer.media.count)
    #expect(answer.bundle?.mids == offer.bundle?.mids)
    for (mine, theirs) in zip(answer.media, offer.media) {
      #expect(mine.mid == theirs.mid && mine.type == theirs.type && mine.protocolName == theirs.protocolName)
      #expect(mine.direction == .receiveOnly && mine.port == 9)
      #expect(mine.transport.setup == .passive && mine.transport.rtcpMux)
      #expect(mine.transport.iceUfrag == Server.credentials.ufrag)
      #expect(mine.transport.candidates == answer.media[0].transport.candidates)
      #expect(mine.transport.candidates.count == 3 && mine.transport.endOfCandidates)
      for codec in mine.rtp.codecs {
        let offered = try #require(theirs.rtp.codec(payloadType: codec.payloadType))
        #expect(codec.isNamed(offered.name) && codec.associatedPayloadType == offered.associatedPayloadType)
        #expect(codec.feedback.allSatisfy { theirs.rtp.feedback(of: offered).contains($0) })
      }
      for one in mine.rtp.extensions {
        #expect(theirs.rtp.extensions.contains { $0.id == one.id && $0.uri == one.uri })
      }
    }
  }

  /// A client says with the order whether it wants to send redundant sound, and with the format what is inside.
  @Test(
    arguments: [
      ([Codec.opus(109), .red(63, for: 109)], [109, 63], 63), ([.red(63, for: 109), .opus(109)], [63, 109], 63),
      ([.opus(109), .red(63, for: 111)], [109], nil),
      ([.opus(109), Codec(63, "red", 48_000, channels: 2)], [109], nil),
      ([.opus(109), Codec(63, "red", 48_000, channels: 2, format: "109/0")], [109], nil),
      ([.opus(109), Codec(63, "red", 48_000, channels: 2, format: "109")], [109], nil),
      ([.opus(109), Codec(63, "red", 90_000, channels: 2, format: "109/109")], [109], nil),
      ([.opus(109), Codec(63, "red", 8_000, format: "109/109")], [109], nil),
    ] as [([Codec], [UInt8], UInt8?)])
  func redundantSoundIsTakenWhereItHoldsOpus(_ offered: [Codec], _ answered: [UInt8], _ payloadType: UInt8?) throws {
    var offerer = Offerer()
    offerer.audio("0")
    offerer.lines[0].rtp.codecs = offered
    var negotiation = Server.publish()
    let prepared = try negotiation.take(offerer.text, [AnnouncedTrack(mid: "0", kind: .audio)])
    #expect(try prepared.parsed().media[0].rtp.codecs.map(\.payloadType) == answered)
    #expect(
      prepared.added.map(\.payloads) == [
        [PayloadMapping(payloadType: 109, codec: .opus, redPayloadType: payloadType)]
      ])
  }

  @Test func chromiumAnswerInDetail() throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.take(try Fixture.text("chromium-offer"), both)
    let answer = try prepared.parsed()
    let opus = answer.media[0].rtp.codecs[0]
    #expect(answer.media[0].rtp.codecs.map(\.payloadType) == [111, 63])
    #expect(prepared.added[0].payloads == [PayloadMapping(payloadType: 111, codec: .opus, redPayloadType: 63)])
    #expect(opus.format.text == "minptime=10;useinbandfec=1;usedtx=1" && opus.feedback == [.transportCC])
    let video = answer.media[1].rtp
    #expect(video.codecs.prefix(4).map(\.payloadType) == [96, 97, 98, 99])
    #expect(video.codecs[0].feedback == [.transportCC, .fir, .nack, .pli])
    #expect(prepared.added[1].payloads[0] == PayloadMapping(payloadType: 96, codec: .vp8, rtxPayloadType: 97))
    #expect(prepared.added[1].nack && !prepared.added[0].nack)
    #expect(prepared.added[1].encodings[0].rtxSSRC != nil)
    let expected = HeaderExtensionIDs(
      mid: 4, rid: 10, repairedRid: 11, absSendTime: 2, transportSequence: 3, videoOrientation: 13)
    #expect(prepared.added[1].extensions == expected)
    #expect(prepared.added[0].extensions.audioLevel == 1)
    let candidates = answer.media[0].transport.candidates
    #expect(candidates.map(\.address) == ["192.0.2.1", "2001:db8::1", "203.0.113.5"])
    #expect(candidates.map(\.port) == [40_000, 40_000, 50_000])
    #expect(candidates.map(\.priority) == [2_130_706_431, 2_130_706_175, 2_130_705_919])
    #expect(Set(candidates.map(\.foundation)).count == 3)
    #expect(candidates.allSatisfy { $0.component == 1 && $0.transport == "udp" && $0.type == "host" })
    #expect(answer.origin.sessionID == 77 && answer.extmapAllowMixed)
  }

  @Test(arguments: ["chromium-simulcast-offer", "firefox-simulcast-offer"])
  func simulcast(name: String) throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.take(try Fixture.text(name), both)
    let video = try #require(prepared.added.last)
    #expect(video.encodings == ["l", "m", "h"].map { EncodingParameters(rid: $0) })
    #expect(prepared.answer.contains("a=rid:l recv\r\na=rid:m recv\r\na=rid:h recv\r\na=simulcast:recv l;m;h\r\n"))
  }

  @Test func dataChannelsAreDeclined() throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.take(try Fixture.text("chromium-max-bundle-data-offer"), both)
    #expect(prepared.added.count == 2)
    #expect(prepared.declined.map(\.mid) == ["2"])
    let answer = try prepared.parsed()
    #expect(answer.media[2].port == 0 && answer.media[2].otherFormats == ["webrtc-datachannel"])
    #expect(answer.bundle?.mids == ["0", "1"])
  }
}

@Suite struct PublishSequenceTests {
  @Test func sameOfferAgainChangesNothing() throws {
    var negotiation = Server.publish()
    let first = try negotiation.take(Offerer.usual.text, both)
    for tracks in [[], both] {
      let again = try negotiation.take(Offerer.usual.text, tracks)
      #expect(again.answer == first.answer)
      #expect(again.added.isEmpty && again.changed.isEmpty && again.removed.isEmpty)
      #expect(again.transport == first.transport)
    }
  }

  @Test func prepareChangesNothing() throws {
    let negotiation = Server.publish()
    _ = try negotiation.prepare(offer: Offerer.usual.text, tracks: both) { Server.fresh }
    #expect(negotiation.tracks.isEmpty)
  }

  @Test func aPreparationIsGoodOnce() throws {
    var negotiation = Server.publish()
    let prepared = try negotiation.prepare(offer: Offerer.usual.text, tracks: both) { Server.fresh }
    let outcomes = [negotiation.commit(prepared), negotiation.commit(prepared)]
    #expect(outcomes == [true, false])
    #expect(negotiation.tracks.count == 2)
  }

  @Test func aTrackEndedWithoutAnOfferMayBeginAgainOnItsLine() throws {
    var negotiation = Server.publish()
    _ = try negotiation.take(Offerer.usual.text, both)
    negotiation.endTrack(mid: "1")
    #expect(negotiation.tracks.map(\.mid) == ["0"])
    let silent = try negotiation.take(Offerer.usual.text)
    #expect(silent.added.isEmpty && silent.removed.isEmpty)
    #expect(try silent.parsed().media[1].direction == .inactive)
    #expect(try negotiation.take(Offerer.usual.text, [.init(mid: "1", kind: .video)]).added.map(\.mid) == ["1"])
  }

  @Test func tracksComeAndGo() throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    let first = try negotiation.take(offerer.text, both)
    offerer.video("2")
    #expect(try negotiation.take(offerer.text, [.init(mid: "2", kind: .video)]).added.map(\.mid) == ["2"])

    offerer.lines[1].direction = .inactive
    let inactive = try negotiation.take(offerer.text)
    #expect(inactive.removed == ["1"] && inactive.added.isEmpty)
    #expect(try inactive.parsed().media[1].direction == .inactive)
    #expect(try inactive.parsed().origin.sessionVersion > (try first.parsed().origin.sessionVersion))

    offerer.lines[1].direction = .sendOnly
    let unannounced = try negotiation.take(offerer.text)
    #expect(unannounced.added.isEmpty && unannounced.declined.map(\.mid) == ["1"])
    #expect(try negotiation.take(offerer.text, [both[1]]).added.map(\.mid) == ["1"])

    offerer.lines[2] = .rejection(of: offerer.lines[2])
    let stopped = try negotiation.take(offerer.text)
    #expect(stopped.removed == ["2"])
    #expect(try stopped.parsed().media[2].port == 0)
    #expect(try stopped.parsed().bundle?.mids == ["0", "1"])

    offerer.lines.removeLast()
    offerer.audio("9")
    let reused = try negotiation.take(offerer.text, [.init(mid: "9", kind: .audio)])
    #expect(reused.added.map(\.mid) == ["9"] && reused.added[0].kind == .audio)
    #expect(negotiation.tracks.map(\.mid) == ["0", "1", "9"])
  }

  @Test func lineTakenOverInOneRound() throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    _ = try negotiation.take(offerer.text, both)
    offerer.lines.removeLast()
    offerer.video("7")
    let prepared = try negotiation.take(offerer.text, [.init(mid: "7", kind: .video)])
    #expect(prepared.removed == ["1"] && prepared.added.map(\.mid) == ["7"])
  }

  @Test func changedParametersAreReported() throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    _ = try negotiation.take(offerer.text, both)
    offerer.lines[1].declare(ssrc: 10, rtx: 11, cname: "c")
    let changed = try negotiation.take(offerer.text).changed
    #expect(changed.map(\.mid) == ["1"])
    #expect(changed[0].encodings == [EncodingParameters(ssrc: 10, rtxSSRC: 11)])
  }

  @Test func iceRestart() throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    _ = try negotiation.take(offerer.text, both)
    offerer.credentials = ICECredentials(ufrag: "new1", password: "clientclientclientclient2")
    let restarted = try negotiation.take(offerer.text)
    let transport = try #require(restarted.transport)
    #expect(transport.isICERestart && transport.local == Server.fresh && transport.remote == offerer.credentials)
    #expect(restarted.answer.contains("a=ice-ufrag:srv2\r\n") && !restarted.answer.contains("srv1"))
    #expect(restarted.added.isEmpty && restarted.removed.isEmpty)
    let again = try negotiation.take(offerer.text)
    #expect(again.transport?.isICERestart == false && again.answer == restarted.answer)
  }

  @Test func afterTheLastLineComesANewTransport() throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    _ = try negotiation.take(offerer.text, both)
    offerer.lines = offerer.lines.map { .rejection(of: $0) }
    let ended = try negotiation.take(offerer.text)
    #expect(ended.transport == nil && ended.removed == ["0", "1"])
    var back = Offerer.usual
    back.lines[0].mid = "2"
    back.lines[1].mid = "3"
    back.fingerprint = .filled(with: 0x22)
    let prepared = try negotiation.take(back.text, [.init(mid: "2", kind: .audio), .init(mid: "3", kind: .video)])
    #expect(prepared.transport?.local == Server.fresh && prepared.transport?.isICERestart == false)
    #expect(prepared.replacesTransport && !ended.replacesTransport)
    #expect(try !negotiation.take(back.text).replacesTransport)
  }

  @Test func anotherCertificateIsAnotherPeerConnection() throws {
    var negotiation = Server.publish()
    _ = try negotiation.take(Offerer.usual.text, both)
    var other = Offerer.usual
    other.fingerprint = .filled(with: 0x22)
    let refusal = try #require(negotiation.refusal(other.text))
    #expect(refusal.isNewPeerConnection && refusal.code == .negotiationFailed)
    #expect(negotiation.tracks.count == 2)
  }

  /// A page that was loaded again may send less than before.
  @Test func anotherPeerConnectionMayHaveFewerLines() throws {
    var negotiation = Server.publish()
    _ = try negotiation.take(Offerer.usual.text, both)
    var other = Offerer()
    other.fingerprint = .filled(with: 0x22)
    other.audio("a")
    #expect(negotiation.refusal(other.text)?.isNewPeerConnection == true)
    other.fingerprint = Offerer.usual.fingerprint
    #expect(negotiation.refusal(other.text)?.isNewPeerConnection == false)
  }

  @Test(
    arguments: [
      (.actpass, .server, .passive), (.active, .server, .passive), (.passive, .client, .active),
    ] as [(SetupRole, DTLSRole, SetupRole)])
  func dtlsRoles(offered: SetupRole, role: DTLSRole, answered: SetupRole) throws {
    var negotiation = Server.publish()
    var offerer = Offerer.usual
    offerer.setup = offered
    let first = try negotiation.take(offerer.text, both)
    #expect(first.transport?.role == role)
    #expect(try first.parsed().media.map(\.transport.setup) == [answered, answered])
    offerer.setup = .actpass
    #expect(try negotiation.take(offerer.text).transport?.role == role)
    offerer.setup = role == .server ? .passive : .active
    #expect(negotiation.refusal(offerer.text)?.message.contains("DTLS role") == true)
  }
}
