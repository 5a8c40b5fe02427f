// What the server refuses of an offer, and how it chooses codecs, feedback, extensions and layers.

import Basics
import Negotiation
import RTP
import SDP
import TestSupport
import Testing

/// A way to spoil an offer, with what must be said about it.
struct Spoiled: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var says: String
  var mid: String?
  var code = NegotiationError.Code.negotiationFailed
  var tracks = both
  var spoil: @Sendable (inout SessionDescription) -> Void
}

@Suite struct PublishRefusalTests {
  static let cases: [Spoiled] = [
    Spoiled(testDescription: "no rtcp-mux", says: "a=rtcp-mux", mid: "1") { $0.media[1].transport.rtcpMux = false },
    Spoiled(testDescription: "no fingerprint", says: "a=fingerprint", mid: "0") {
      for index in 0...1 { $0.media[index].transport.fingerprints = [] }
    },
    Spoiled(testDescription: "weak fingerprint", says: "a=fingerprint", mid: "0") {
      for index in 0...1 { $0.media[index].transport.fingerprints = [.filled(with: 1, .sha1)] }
    },
    Spoiled(testDescription: "no ICE", says: "a=ice-ufrag", mid: "0") {
      for index in 0...1 { $0.media[index].transport.iceUfrag = nil }
    },
    Spoiled(testDescription: "ICE-lite client", says: "ice-lite") { $0.isICELite = true },
    Spoiled(testDescription: "holdconn", says: "holdconn") {
      for index in 0...1 { $0.media[index].transport.setup = .holdconn }
    },
    Spoiled(testDescription: "line without mid", says: "Media line 2 (video) has no a=mid") {
      $0.media[1].mid = nil
    },
    Spoiled(
      testDescription: "announced line is not there", says: "no such media line", mid: "5",
      tracks: [.init(mid: "5", kind: .audio)]
    ) { _ in },
    Spoiled(
      testDescription: "announced kind differs", says: "announced as audio", mid: "1",
      tracks: [.init(mid: "1", kind: .audio)]
    ) { _ in },
    Spoiled(testDescription: "announced line does not send", says: "does not send", mid: "1") {
      $0.media[1].direction = .receiveOnly
    },
    Spoiled(testDescription: "announced twice", says: "announced twice", mid: "1", tracks: [both[1], both[1]]) { _ in },
    Spoiled(testDescription: "only codec unknown", says: "No codec", mid: "1", code: .noCommonCodec, tracks: [both[1]])
    {
      $0.media[1].rtp.codecs = [Codec(96, "H265", 90_000)]
    },
    Spoiled(testDescription: "too many lines", says: "65 media lines in use", code: .tooManyTracks) { offer in
      for index in 2..<65 {
        var line = offer.media[0]
        line.mid = "x\(index)"
        offer.add(line)
      }
    },
    Spoiled(
      testDescription: "too many tracks", says: "9 tracks", code: .tooManyTracks,
      tracks: both + (2..<9).map { .init(mid: "x\($0)", kind: .video) }
    ) { offer in
      for index in 2..<9 {
        var line = offer.media[1]
        line.mid = "x\(index)"
        offer.add(line)
      }
    },
  ]

  @Test(arguments: cases)
  func refusesAndChangesNothing(spoiled: Spoiled) throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    spoiled.spoil(&offer)
    let refusal = try #require(negotiation.refusal(offer.serialized(), spoiled.tracks))
    #expect(refusal.code == spoiled.code && refusal.mid == spoiled.mid)
    #expect(refusal.message.contains(spoiled.says), "\(refusal.message)")
    #expect(refusal.message.hasSuffix("."))
    #expect(try negotiation.take(Offerer.usual.text, both).added.count == 2)
  }

  @Test func soManyLinesAreTakenAndNotOneMore() throws {
    for (count, code) in [(64, nil), (65, .tooManyTracks)] as [(Int, NegotiationError.Code?)] {
      var offer = Offerer.usual.description
      for index in 2..<count {
        var line = offer.media[0]
        line.mid = "x\(index)"
        offer.add(line)
      }
      // Those that have ended do not count.
      for index in 0..<40 {
        offer.media.append(.rejection(of: .audio(mid: "y\(index)", .inactive, .init(), [.opus(1)])))
      }
      var negotiation = Server.publish()
      let refusal = negotiation.refusal(offer.serialized(), both)
      #expect(refusal?.code == code && refusal?.excess?.limit == code.map { _ in 64 })
      if code == nil { #expect(try negotiation.take(offer.serialized(), both).parsed().media.count == 104) }
    }
  }

  @Test func textThatIsNotSDP() {
    let refusal = Server.publish().refusal("v=0\no=- 1 1 IN IP4 0.0.0.0\nnonsense")
    #expect(refusal?.message == "The offer is not valid SDP: line 3: not of the form <letter>=<value>.")
    #expect(Server.publish().refusal(String(repeating: "\u{0}", count: 200_000))?.code == .negotiationFailed)
  }

  @Test func linesKeepTheirPlaces() throws {
    var negotiation = Server.publish()
    let offerer = Offerer.usual
    _ = try negotiation.take(offerer.text, both)
    var fewer = offerer
    fewer.lines.removeLast()
    #expect(negotiation.refusal(fewer.text)?.message.contains("not disappear") == true)
    var swapped = offerer
    swapped.lines.swapAt(0, 1)
    #expect(negotiation.refusal(swapped.text)?.message.contains("changed its place") == true)
    var other = Offerer()
    other.video("0")
    other.video("1")
    #expect(negotiation.refusal(other.text)?.message.contains("was audio before") == true)
  }

  @Test func withoutBundleOnlyTheFirstLine() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    offer.groups = []
    let prepared = try negotiation.take(offer.serialized(), both)
    #expect(prepared.added.map(\.mid) == ["0"])
    #expect(prepared.declined.map(\.mid) == ["1"])
    #expect(prepared.declined[0].reason.contains("BUNDLE"))
    #expect(try prepared.parsed().media.map(\.port) == [9, 0])
    #expect(try prepared.parsed().groups.isEmpty)
  }

  @Test func lineOutsideTheBundle() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    offer.groups = [Group(semantics: "BUNDLE", mids: ["1"])]
    let prepared = try negotiation.take(offer.serialized(), both)
    #expect(prepared.added.map(\.mid) == ["1"] && prepared.declined.map(\.mid) == ["0"])
    #expect(try prepared.parsed().bundle?.mids == ["1"])
    #expect(try prepared.parsed().media[1].transport.candidates.count == 3)
  }

  @Test func oneTrackWithoutCodecDoesNotSpoilTheOther() throws {
    var negotiation = Server.publish()
    var offerer = Offerer()
    offerer.audio("0")
    offerer.video("1", codecs: Codec.video(96, "H265"))
    let prepared = try negotiation.take(offerer.text, both)
    #expect(prepared.added.map(\.mid) == ["0"])
    #expect(prepared.declined.map(\.code) == [.noCommonCodec])
    let line = try prepared.parsed().media[1]
    #expect(line.isRejected && line.saysItsTransport)
  }

  @Test func truncatedAndMangledOffersNeverTrap() throws {
    let bytes = Array(try Fixture.text("chromium-simulcast-offer").utf8)
    let negotiation = Server.publish()
    var random = SplitMix64(seed: 3)
    var taken = 0
    for round in 0..<150 {
      var bent = round < 60 ? Array(bytes[..<(bytes.count * round / 60)]) : bytes
      for _ in 0..<(round < 60 ? 0 : 4) {
        bent[Int.random(in: 0..<bent.count, using: &random)] = UInt8.random(in: 32...126, using: &random)
      }
      let text = String(decoding: bent, as: UTF8.self)
      if let prepared = try? negotiation.prepare(offer: text, tracks: [], freshCredentials: { Server.fresh }) {
        taken += 1
        #expect(throws: Never.self) { try prepared.parsed() }
      }
    }
    #expect(taken > 0)
  }
}

@Suite struct PublishChoiceTests {
  @Test(
    arguments: [
      ("42e01f", "1", .h264ConstrainedBaseline), ("42c00d", "1", .h264ConstrainedBaseline),
      ("4d801f", "1", .h264ConstrainedBaseline), ("58c01f", "1", .h264ConstrainedBaseline),
      ("42e01f", "0", .h264ConstrainedBaselineMode0), ("42001f", "1", .h264Baseline), ("58801f", "1", .h264Baseline),
      ("42001f", "0", .h264BaselineMode0), ("4d001f", "1", .h264Main), ("4D001F", "1", .h264Main),
      ("4d001f", "0", .h264MainMode0), ("64001f", "1", .h264High), ("640c1f", "1", .h264High),
      ("64001f", "0", .h264HighMode0),
      ("f4001f", "1", nil), ("6e001f", "1", nil), ("42e01f", "2", nil), ("xyz", "1", nil), ("1234567890", "1", nil),
    ] as [(String, String, CodecProfile?)])
  func h264Profiles(id: String, mode: String, profile: CodecProfile?) throws {
    try expect(
      Codec(100, "h264", 90_000, format: FormatParameters("profile-level-id=\(id);packetization-mode=\(mode)")), profile
    )
  }

  @Test(
    arguments: [
      (Codec(100, "vp8", 90_000), .vp8), (Codec(100, "VP9", 90_000), .vp9Profile0),
      (Codec(100, "VP9", 90_000, format: "profile-id=2"), .vp9Profile2),
      (Codec(100, "VP9", 90_000, format: "profile-id=1"), nil), (Codec(100, "AV1", 90_000), .av1),
      (Codec(100, "AV1", 90_000, format: "profile=1"), nil), (Codec(100, "VP8", 8_000), nil),
      (Codec(100, "opus", 48_000, channels: 2), nil), (Codec(100, "H264", 90_000), .h264BaselineMode0),
      (Codec(100, "", 0), nil),
    ] as [(Codec, CodecProfile?)])
  func videoCodecs(codec: Codec, profile: CodecProfile?) throws {
    try expect(codec, profile)
  }

  private func expect(_ codec: Codec, _ profile: CodecProfile?) throws {
    var negotiation = Server.publish()
    var offerer = Offerer()
    offerer.video("1", codecs: [codec])
    guard let profile else {
      #expect(negotiation.refusal(offerer.text, [both[1]])?.code == .noCommonCodec)
      return
    }
    let prepared = try negotiation.take(offerer.text, [both[1]])
    #expect(prepared.added[0].payloads == [PayloadMapping(payloadType: 100, codec: profile)])
    #expect(try prepared.parsed().media[0].rtp.codecs[0].format == codec.format)
  }

  @Test func theServerOrdersCodecs() throws {
    var options = PublishOptions()
    options.codecs = [.opus, .h264ConstrainedBaseline, .vp8]
    options.opusDTX = false
    var negotiation = Server.publish(options)
    let prepared = try negotiation.take(try Fixture.text("chromium-offer"), both)
    #expect(prepared.added[1].payloads.map(\.codec) == [.h264ConstrainedBaseline, .vp8])
    #expect(try prepared.parsed().media[1].rtp.codecs.map(\.payloadType) == [108, 109, 96, 97])
    #expect(try prepared.parsed().media[0].rtp.codecs[0].format.text == "minptime=10;useinbandfec=1")
  }

  /// Nothing estimates a publisher's bandwidth for REMB, so it is not agreed to.
  @Test func rembIsNotAnswered() throws {
    let everything: [Feedback] = [.remb, .transportCC, .fir, .nack, .pli, Feedback("nack", "rpsi")]
    func answered(_ extensions: [HeaderExtension]) throws -> [Feedback] {
      var offerer = Offerer()
      offerer.video("1", codecs: Codec.video(96, "VP8", feedback: everything))
      offerer.lines[0].rtp.extensions = extensions
      var negotiation = Server.publish()
      return try negotiation.take(offerer.text, [both[1]]).parsed().media[0].rtp.codecs[0].feedback
    }
    let uri = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    #expect(try answered([HeaderExtension(id: 3, uri: uri)]) == [.transportCC, .fir, .nack, .pli])
    #expect(try answered([]) == [.fir, .nack, .pli])
  }

  @Test func extensionsKeepTheOfferersIDs() throws {
    var offerer = Offerer()
    offerer.video("1")
    offerer.lines[0].rtp.extensions = [
      HeaderExtension(id: 9, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"),
      HeaderExtension(id: 9, uri: "urn:3gpp:video-orientation"),
      HeaderExtension(id: 200, uri: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time", direction: .sendOnly),
      HeaderExtension(id: 3, uri: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id", direction: .receiveOnly),
      HeaderExtension(id: 5, uri: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"),
      HeaderExtension(id: 4096, uri: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"),
      HeaderExtension(id: 6, uri: "urn:unknown"),
    ]
    var negotiation = Server.publish()
    let prepared = try negotiation.take(offerer.text, [both[1]])
    #expect(prepared.added[0].extensions == HeaderExtensionIDs(mid: 9, absSendTime: 200))
    #expect(try prepared.parsed().media[0].rtp.extensions.map(\.direction) == [nil, .receiveOnly])
  }

  /// With it, VP8 would no longer say in its payload which layer a packet is of.
  @Test(arguments: [("AV1", UInt8(12)), ("VP8", 0)])
  func theDependencyDescriptorIsTakenWithAV1Alone(first: String, id: UInt8) throws {
    var offerer = Offerer()
    let codecs = ["AV1", "VP8"].sorted { one, _ in one == first }
    offerer.video("1", codecs: Codec.video(96, codecs[0]) + Codec.video(98, codecs[1]))
    let uri = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
    offerer.lines[0].rtp.extensions = [HeaderExtension(id: 12, uri: uri)]
    var options = PublishOptions()
    options.codecs = first == "AV1" ? [.av1, .vp8] : [.vp8, .av1]
    var negotiation = Server.publish(options)
    let prepared = try negotiation.take(offerer.text, [both[1]])
    #expect(prepared.added[0].extensions.dependencyDescriptor == id)
    #expect(try prepared.parsed().media[0].rtp.extensions.map(\.uri) == (id == 0 ? [] : [uri]))
  }

  /// Bends the streams of a simulcast offer and returns the encodings and the answer's line.
  private func layers(
    options: PublishOptions = PublishOptions(), hasRIDs: Bool = true, _ bend: (inout StreamAttributes) -> Void
  ) throws -> ([EncodingParameters], StreamAttributes) {
    var offerer = Offerer()
    offerer.video("1")
    if hasRIDs {
      offerer.lines[0].rtp.extensions.append(
        HeaderExtension(id: 10, uri: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"))
    }
    bend(&offerer.lines[0].streams)
    var negotiation = Server.publish(options)
    let prepared = try negotiation.take(offerer.text, [both[1]])
    return (prepared.added[0].encodings, try prepared.parsed().media[0].streams)
  }

  private static func three(_ streams: inout StreamAttributes) {
    streams.rids = ["l", "m", "h"].map { RestrictionID(id: $0, sends: true) }
    streams.simulcast = Simulcast(send: [
      [.init(rid: "l", isPaused: true)], [.init(rid: "x"), .init(rid: "m")], [.init(rid: "h")],
    ])
  }

  @Test func pausedLayersAndAlternatives() throws {
    let (encodings, streams) = try layers(Self.three)
    #expect(encodings.map(\.rid) == ["l", "m", "h"])
    #expect(streams.simulcast == Simulcast(receive: ["l", "m", "h"].map { [.init(rid: $0, isPaused: $0 == "l")] }))
    #expect(streams.rids.allSatisfy { !$0.sends })
  }

  @Test func simulcastSwitchedOffOrWithoutTheExtension() throws {
    var options = PublishOptions()
    options.simulcast = false
    for (encodings, streams) in [try layers(options: options, Self.three), try layers(hasRIDs: false, Self.three)] {
      #expect(encodings == [EncodingParameters()])
      #expect(streams == StreamAttributes())
    }
  }

  @Test func layersAreLimited() throws {
    var options = PublishOptions()
    options.maxEncodings = 2
    #expect(try layers(options: options, Self.three).0.map(\.rid) == ["l", "m"])
    let names = ["a", "b", "c", "d", "e"]
    for count in 4...5 {
      let taken = try layers { streams in
        streams.rids = names.prefix(count).map { RestrictionID(id: $0, sends: true) }
        streams.simulcast = Simulcast(send: names.prefix(count).map { [.init(rid: $0)] })
      }
      #expect(taken.0.map(\.rid) == ["a", "b", "c", "d"], "of \(count)")
    }
  }

  @Test func restrictedPayloadTypes() throws {
    let (encodings, streams) = try layers { streams in
      Self.three(&streams)
      streams.rids[0].payloadTypes = [96, 120]
      streams.rids[1].payloadTypes = [120]
    }
    #expect(encodings.map(\.rid) == ["l", "h"])
    #expect(streams.rids[0].payloadTypes == [96])
  }

  @Test func oneRidWithoutSimulcast() throws {
    let (encodings, streams) = try layers { $0.rids = [RestrictionID(id: "only", sends: true)] }
    #expect(encodings == [EncodingParameters(rid: "only")])
    #expect(streams.simulcast == nil && streams.rids == [RestrictionID(id: "only", sends: false)])
  }

  @Test func simulcastBySSRCGroup() throws {
    let (encodings, _) = try layers(hasRIDs: false) { streams in
      streams.sourceGroups = [
        SourceGroup(semantics: "FID", ssrcs: [3, 30]), SourceGroup(semantics: "FID", ssrcs: [1, 10]),
        SourceGroup(semantics: "SIM", ssrcs: [1, 2, 3]),
      ]
    }
    #expect(
      encodings == [
        EncodingParameters(ssrc: 1, rtxSSRC: 10), EncodingParameters(ssrc: 2), EncodingParameters(ssrc: 3, rtxSSRC: 30),
      ])
  }
}

extension HeaderExtensionIDs {
  init(
    mid: UInt8 = 0, rid: UInt8 = 0, repairedRid: UInt8 = 0, absSendTime: UInt8 = 0, transportSequence: UInt8 = 0,
    audioLevel: UInt8 = 0, videoOrientation: UInt8 = 0
  ) {
    self.init()
    self.mid = mid
    self.rid = rid
    self.repairedRid = repairedRid
    self.absSendTime = absSendTime
    self.transportSequence = transportSequence
    self.audioLevel = audioLevel
    self.videoOrientation = videoOrientation
  }
}
