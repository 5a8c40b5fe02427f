// Answers of real stacks, answers that are odd but sound, and answers that are wrong.

import Basics
import Negotiation
import RTP
import SDP
import TestSupport
import Testing

@Suite struct SubscribeAnswerTests {
  /// One audio line and two video lines, as the recordings answer them.
  private func three(_ options: SubscribeOptions = Server.allAtOnce) throws -> (
    SubscribeNegotiation, SubscribeNegotiation.Offer
  ) {
    var negotiation = Server.subscribe(options)
    try negotiation.add(subscription(1, .audio))
    for id in 2...3 as ClosedRange<UInt64> {
      try negotiation.add(subscription(id, .video, codecs: [.vp8, .vp9Profile0, .av1, .h264ConstrainedBaseline]))
    }
    let offer = try negotiation.newOffer()
    return (negotiation, offer)
  }

  /// Dependency descriptors may take elements of the two-byte form, so both sides have to allow it. Only AV1 needs them.
  @Test(arguments: [true, false]) func dependencyDescriptorsNeedMixedElements(isMixed: Bool) throws {
    var (negotiation, offer) = try three()
    let extmap =
      "a=extmap:12 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension\r\n"
    #expect(offer.sdp.ranges(of: extmap).count == 2, "a line for each picture")
    let recorded = try Fixture.text("chromium-subscribe-answer").replacing("a=extmap-allow-mixed\r\n", with: "")
    let answer = recorded.replacing("a=rtcp-mux\r\n", with: "a=rtcp-mux\r\n" + extmap)
      .replacing("t=0 0\r\n", with: isMixed ? "t=0 0\r\na=extmap-allow-mixed\r\n" : "t=0 0\r\n")
    let applied = try negotiation.handle(answer: answer, offerID: offer.id)
    let ids = applied.started.map(\.parameters.extensions.dependencyDescriptor)
    #expect(ids == (isMixed ? [0, 12, 12] : [0, 0, 0]))
    var without = Server.subscribe()
    try without.add(subscription(1, .video, codecs: [.vp8, .h264ConstrainedBaseline]))
    #expect(try !without.newOffer().sdp.contains(extmap))
  }

  struct Recording: Sendable, CustomTestStringConvertible {
    var name: String
    var codecs: [CodecProfile]
    var hasRTX = true
    var nack = true
    var mid: UInt8 = 4
    var testDescription: String { name }
  }

  @Test(
    arguments: [
      Recording(name: "chromium-subscribe-answer", codecs: [.vp8, .vp9Profile0, .av1, .h264ConstrainedBaseline]),
      Recording(name: "firefox-subscribe-answer", codecs: [.vp8, .vp9Profile0, .av1]),
      Recording(name: "aiortc-subscribe-answer", codecs: [.vp8, .h264ConstrainedBaseline]),
      Recording(name: "pion-subscribe-answer", codecs: [.vp8], mid: 0),
      Recording(name: "gstreamer-subscribe-answer", codecs: [.vp8], hasRTX: false, nack: false, mid: 0),
    ])
  func recordings(recording: Recording) throws {
    var (negotiation, offer) = try three()
    let applied = try negotiation.handle(answer: try Fixture.text(recording.name), offerID: offer.id)
    #expect(applied.rejected.isEmpty && applied.changed.isEmpty)
    #expect(applied.started.map(\.subscriptionID) == [1, 2, 3])
    #expect(applied.started.map(\.parameters.mid) == ["0", "1", "2"])
    #expect(applied.transport?.role == .server && applied.transport?.local == Server.credentials)
    let audio = applied.started[0].parameters
    #expect(audio.payloads == [PayloadMapping(payloadType: 111, codec: .opus)] && audio.rtxSSRC == nil)
    let sources = try SessionDescription.parse(offer.sdp).media.map(\.streams.sources)
    for started in applied.started.dropFirst() {
      let video = started.parameters
      #expect(video.payloads.map(\.codec) == recording.codecs)
      #expect(video.payloads.allSatisfy { $0.payloadType == $0.codec.serverPayloadType })
      #expect(video.payloads.allSatisfy { ($0.rtxPayloadType != nil) == recording.hasRTX })
      #expect((video.rtxSSRC != nil) == recording.hasRTX)
      #expect(video.nack == recording.nack && video.extensions.mid == recording.mid)
      #expect(sources[started.subscriptionID == 2 ? 1 : 2].map(\.ssrc).contains(video.ssrc))
    }
  }

  @Test func emptyRecording() throws {
    var negotiation = Server.subscribe()
    let offer = try negotiation.newOffer()
    let applied = try negotiation.handle(answer: try Fixture.text("chromium-subscribe-empty-answer"), offerID: offer.id)
    #expect(applied.started.isEmpty && applied.rejected.isEmpty)
    #expect(applied.transport?.fingerprints.count == 1 && applied.transport?.isICERestart == false)
  }

  /// Bends the video line 1 of an otherwise plain answer and returns what is sent on it.
  private func bent(_ bend: (inout MediaDescription) -> Void) throws -> SendParameters? {
    var (negotiation, offer) = try three()
    let text = try Answerer().answer(offer.sdp) { line, index in if index == 1 { bend(&line) } }
    let applied = try negotiation.handle(answer: text, offerID: offer.id)
    return applied.started.first { $0.subscriptionID == 2 }?.parameters
  }

  /// Who takes redundant sound says so, under what payload types it likes; who leaves it out, or names another format inside, does not.
  @Test(
    arguments: [
      ([Codec.opus(111), .red(63, for: 111)], 63), ([.opus(109), .red(62, for: 109)], 62), ([.opus(111)], nil),
      ([.opus(111), .red(63, for: 109)], nil), ([.opus(111), Codec(63, "", 0)], nil),
    ] as [([Codec], UInt8?)])
  func redundantSoundIsSentToWhoTakesIt(_ codecs: [Codec], _ payloadType: UInt8?) throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(1, .audio, codecs: [.opus]))
    let offer = try negotiation.newOffer()
    let answer = try Answerer().answer(offer.sdp) { line, index in if index == 0 { line.rtp.codecs = codecs } }
    let started = try negotiation.handle(answer: answer, offerID: offer.id).started
    #expect(started.first?.parameters.payloads.first?.redPayloadType == payloadType)
    #expect(started.first?.parameters.payloads.count == 1)
  }

  @Test func payloadTypesOfTheAnswerCount() throws {
    let video = try bent { line in
      line.rtp.codecs =
        Codec.video(120, "VP9", format: "profile-id=0", rtx: 121) + Codec.video(96, "vp8") + [Codec(63, "red", 90_000)]
    }
    #expect(
      video?.payloads == [
        PayloadMapping(payloadType: 120, codec: .vp9Profile0, rtxPayloadType: 121),
        PayloadMapping(payloadType: 96, codec: .vp8),
      ])
  }

  @Test func samePayloadTypeForAnotherCodecIsNotOurs() throws {
    let video = try bent { $0.rtp.codecs = [Codec(96, "H265", 90_000), Codec(98, "VP9", 90_000)] }
    #expect(video?.payloads.map(\.codec) == [.vp9Profile0])
  }

  @Test func answersWithoutRtpmapFmtpExtmapAndFeedback() throws {
    let video = try #require(
      try bent { line in
        line.rtp.codecs = [Codec(96, "", 0), Codec(97, "", 0), Codec(102, "H264", 90_000)]
        line.rtp.extensions = []
      })
    #expect(video.payloads.map(\.codec) == [.vp8, .h264ConstrainedBaseline])
    #expect(video.payloads[0].rtxPayloadType == 97 && video.payloads[1].rtxPayloadType == nil)
    #expect(video.extensions == HeaderExtensionIDs() && !video.nack)
  }

  @Test func extensionsUnderOtherIDsDoNotCount() throws {
    let video = try bent { line in
      line.rtp.extensions = [
        HeaderExtension(id: 9, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"),
        HeaderExtension(id: 13, uri: "urn:3gpp:video-orientation"),
        HeaderExtension(id: 2, uri: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time", direction: .sendOnly),
      ]
    }
    #expect(video?.extensions == HeaderExtensionIDs(videoOrientation: 13))
  }

  @Test func wildcardFeedbackAndSendReceiveAreSound() throws {
    let video = try bent { line in
      for index in line.rtp.codecs.indices { line.rtp.codecs[index].feedback = [] }
      line.rtp.wildcardFeedback = [.nack]
      line.direction = nil
    }
    #expect(video?.nack == true)
  }

  @Test func positionIsEnoughWhereALineHasNoMid() throws {
    var (negotiation, offer) = try three()
    var answer = try Answerer().description(offer.sdp)
    answer.media[1].mid = nil
    #expect(try negotiation.handle(answer: answer.serialized(), offerID: offer.id).started.count == 3)
  }

  @Test func silenceAboutSetupMeansActive() throws {
    var (negotiation, offer) = try three()
    let text = try Answerer().answer(offer.sdp) { line, _ in line.transport.setup = nil }
    #expect(try negotiation.handle(answer: text, offerID: offer.id).transport?.role == .server)
  }

  @Test func everyLineRejected() throws {
    var (negotiation, offer) = try three()
    let text = try Answerer().answer(offer.sdp) { line, _ in line = .rejection(of: line) }
    let applied = try negotiation.handle(answer: text, offerID: offer.id)
    #expect(applied.transport == nil && applied.rejected.map(\.subscriptionID) == [1, 2, 3])
  }

  static let refusals: [Spoiled] = [
    Spoiled(testDescription: "one line less", says: "2 media lines where the offer has 3") { $0.media.removeLast() },
    Spoiled(testDescription: "kind", says: "is video in the offer and audio", mid: "1") { $0.media[1].type = .audio },
    Spoiled(testDescription: "swapped", says: "keep their order", mid: "1") { $0.media.swapAt(1, 2) },
    Spoiled(testDescription: "no rtcp-mux", says: "a=rtcp-mux", mid: "2") { $0.media[2].transport.rtcpMux = false },
    Spoiled(testDescription: "not RTP", says: "not as RTP", mid: "1") {
      $0.media[1].protocolName = "UDP/DTLS/SCTP"
      $0.media[1].otherFormats = ["x"]
    },
    Spoiled(testDescription: "no fingerprint", says: "a=fingerprint", mid: "0") {
      for index in 0..<3 { $0.media[index].transport.fingerprints = [] }
    },
    Spoiled(testDescription: "no ICE", says: "a=ice-ufrag", mid: "0") {
      for index in 0..<3 { $0.media[index].transport.icePwd = nil }
    },
    Spoiled(testDescription: "actpass", says: "a=setup:active or a=setup:passive") {
      for index in 0..<3 { $0.media[index].transport.setup = .actpass }
    },
    Spoiled(testDescription: "ICE-lite client", says: "ice-lite") { $0.isICELite = true },
    Spoiled(testDescription: "no bundle", says: "BUNDLE", mid: "0") { $0.groups = [] },
    Spoiled(testDescription: "one line not bundled", says: "BUNDLE", mid: "2") { $0.groups[0].mids.removeLast() },
  ]

  @Test(arguments: refusals)
  func refusesAndChangesNothing(spoiled: Spoiled) throws {
    var (negotiation, offer) = try three()
    var answer = try Answerer().description(offer.sdp)
    spoiled.spoil(&answer)
    let refusal = try #require(negotiation.refusal(answer.serialized(), offer.id))
    #expect(refusal.code == .negotiationFailed && refusal.mid == spoiled.mid)
    #expect(refusal.message.contains(spoiled.says), "\(refusal.message)")
    #expect(negotiation.outstanding == offer)
    let applied = try negotiation.handle(answer: try Answerer().answer(offer.sdp), offerID: offer.id)
    #expect(applied.started.count == 3)
  }

  @Test func wrongOffers() throws {
    var (negotiation, offer) = try three()
    let answer = try Answerer().answer(offer.sdp)
    #expect(negotiation.refusal(answer, 9)?.message.contains("to offer 9, but offer 1") == true)
    #expect(
      negotiation.refusal("v=0", 1)?.message == "The answer is not valid SDP: the second line must be an origin (o=).")
    _ = try negotiation.handle(answer: answer, offerID: 1)
    #expect(negotiation.refusal(answer, 1)?.message == "No offer is waiting for an answer.")
  }

  @Test func anotherCertificateIsAnotherPeerConnection() throws {
    var (negotiation, offer) = try three()
    var client = Answerer()
    _ = try negotiation.handle(answer: try client.answer(offer.sdp), offerID: offer.id)
    negotiation.remove(1)
    let next = try negotiation.newOffer()
    client.fingerprint = .filled(with: 0x22)
    #expect(negotiation.refusal(try client.answer(next.sdp), next.id)?.isNewPeerConnection == true)
  }

  @Test func mangledAnswersNeverTrap() throws {
    let bytes = Array(try Fixture.text("chromium-subscribe-answer").utf8)
    var random = SplitMix64(seed: 11)
    var outcomes: Set<Bool> = []
    for round in 0..<150 {
      var (negotiation, offer) = try three()
      var bent = round < 60 ? Array(bytes[..<(bytes.count * round / 60)]) : bytes
      for _ in 0..<(round < 60 ? 0 : 3) {
        bent[Int.random(in: 0..<bent.count, using: &random)] = UInt8.random(in: 32...126, using: &random)
      }
      let isTaken = (try? negotiation.handle(answer: String(decoding: bent, as: UTF8.self), offerID: offer.id)) != nil
      #expect(isTaken == (negotiation.outstanding == nil))
      outcomes.insert(isTaken)
    }
    #expect(outcomes == [true, false])
  }
}
