// The server's offers: their lines, and how many there may be.

import Basics
import Negotiation
import RTP
import SDP
import Testing

@Suite struct SubscribeOfferTests {
  @Test func firstOfferHasBothKindsWithNothingToSend() throws {
    var negotiation = Server.subscribe()
    let offer = try negotiation.newOffer()
    #expect(offer.id == 1 && offer.tracks.isEmpty && offer.credentials == Server.credentials)
    #expect(negotiation.outstanding == offer)
    let parsed = try SessionDescription.parse(offer.sdp)
    #expect(parsed.isICELite && parsed.bundle?.mids == ["0", "1"])
    #expect(parsed.media.map(\.type) == [.audio, .video])
    #expect(parsed.media.map(\.direction) == [.sendOnly, .sendOnly])
    #expect(parsed.media.map { $0.streams.msids.map(\.stream) } == [["-"], ["-"]])
    #expect(parsed.media.map(\.streams.sources.count) == [1, 2])
    #expect(parsed.media.map(\.transport.setup) == [.actpass, .actpass])
    #expect(parsed.media.map(\.transport.candidates.count) == [3, 3])
    #expect(parsed.media.allSatisfy { $0.transport.rtcpMux && $0.port == 9 })
    #expect(parsed.media[0].rtp.codecs.map(\.payloadType) == [111, 63])
    #expect(parsed.media[0].rtp.codecs[1].format == "111/111")
    #expect(parsed.media[0].rtp.extensions.map(\.id) == [1, 2, 3, 4])
    #expect(parsed.media[1].rtp.extensions.map(\.id) == [2, 3, 4, 13, 12])
  }

  /// A server may have more addresses than a description has space for: the best ones are told.
  @Test(arguments: [(8, 8, 8), (9, 9, 8), (32, 32, 8), (33, 32, 8)])
  func aLineHasSoManyCandidatesAndNotOneMore(addresses: Int, first: Int, other: Int) throws {
    var transport = Server.transport
    transport.addresses = (0..<addresses).map { SocketAddress(v4: 0xc000_0200 + UInt32($0), port: 40_000) }
    var negotiation = SubscribeNegotiation(options: Server.allAtOnce, transport: transport, sessionID: 78)
    let media = try SessionDescription.parse(try negotiation.newOffer().sdp).media
    #expect(media.map(\.transport.candidates.count) == [first, other])
    for (line, count) in zip(media, [first, other]) {
      #expect(line.transport.candidates.map(\.address) == transport.addresses.prefix(count).map(\.host))
    }
  }

  @Test func payloadTypesAreFixedAndDistinct() throws {
    var negotiation = Server.subscribe()
    let codecs = try SessionDescription.parse(try negotiation.newOffer().sdp).media.flatMap(\.rtp.codecs)
    #expect(Set(codecs.map(\.payloadType)).count == codecs.count)
    #expect(codecs.allSatisfy { (96...127).contains($0.payloadType) || (35...63).contains($0.payloadType) })
    #expect(codecs.filter { !$0.isRTX && !$0.isNamed("red") }.count == CodecProfile.allCases.count)
    for profile in CodecProfile.allCases {
      #expect(codecs.contains { $0.payloadType == profile.serverPayloadType && !$0.isRTX })
      guard let rtx = profile.serverRTXPayloadType else { continue }
      let codec = try #require(codecs.first { $0.payloadType == rtx })
      #expect(codec.isRTX && codec.associatedPayloadType == profile.serverPayloadType)
    }
    #expect(CodecProfile.opus.serverRTXPayloadType == nil && CodecProfile.vp8.serverREDPayloadType == nil)
    let red = try #require(codecs.first { $0.isNamed("red") })
    #expect(red.payloadType == CodecProfile.opus.serverREDPayloadType && red.channels == 2 && red.clockRate == 48_000)
  }

  /// Two people with two tracks each are there already; aiortc cannot take two lines of a kind at first.
  @Test func theFirstOfferHasOneLineOfEachKindAndTheNextTheRest() throws {
    var options = Server.allAtOnce
    options.beginsWithOneOfEachKind = true
    var negotiation = Server.subscribe(options)
    for id in 1...6 as ClosedRange<UInt64> { try negotiation.add(subscription(id, id % 2 == 0 ? .video : .audio)) }
    let first = try negotiation.newOffer()
    #expect(first.tracks.map(\.subscriptionID) == [1, 2])
    let started = try negotiation.handle(answer: Answerer().answer(first.sdp), offerID: first.id).started
    #expect(started.map(\.subscriptionID) == [1, 2])
    let next = try negotiation.newOffer()
    #expect(next.tracks.map(\.subscriptionID) == [1, 2, 3, 4, 5, 6])
    #expect(try SessionDescription.parse(next.sdp).bundle?.mids.count == 6)
  }

  @Test func sendingLines() throws {
    var negotiation = Server.subscribe()
    try negotiation.add(subscription(7, .video, stream: "alice", codecs: [.vp9Profile0, .vp8, .opus, .vp8]))
    try negotiation.add(subscription(8, .audio, stream: "alice"))
    let offer = try negotiation.newOffer()
    #expect(offer.tracks.map(\.mid) == ["0", "1"] && offer.tracks.map(\.subscriptionID) == [8, 7])
    let parsed = try SessionDescription.parse(offer.sdp)
    let (audio, video) = (parsed.media[0], parsed.media[1])
    #expect(audio.direction == .sendOnly && video.direction == .sendOnly)
    #expect(video.rtp.codecs.map(\.payloadType) == [98, 99, 96, 97])
    #expect(video.rtp.codecs[0].feedback == [.transportCC, .fir, .nack, .pli])
    #expect(audio.rtp.codecs[0].feedback == [.transportCC])
    #expect(video.streams.msids == [MediaStreamID(stream: "alice", track: "t7")])
    #expect(audio.streams.msids == [MediaStreamID(stream: "alice", track: "t8")])
    #expect(video.streams.sourceGroups.map(\.semantics) == ["FID"])
    #expect(video.streams.sourceGroups[0].ssrcs == video.streams.sources.map(\.ssrc))
    #expect(video.streams.sources.allSatisfy { $0.attributes == [Attribute("cname", "alice")] })
    #expect(audio.streams.sources.count == 1 && audio.streams.sourceGroups.isEmpty)
  }

  @Test func transportCCIsAnOption() throws {
    var options = Server.allAtOnce
    options.transportCC = false
    var negotiation = Server.subscribe(options)
    let parsed = try SessionDescription.parse(try negotiation.newOffer().sdp)
    #expect(parsed.media[0].rtp.extensions.map(\.id) == [1, 2, 4])
    #expect(parsed.media[1].rtp.codecs[0].feedback == [.fir, .nack, .pli])
  }

  @Test func namesCannotBreakTheSDP() throws {
    var negotiation = Server.subscribe()
    let long = String(repeating: "x", count: 100)
    try negotiation.add(
      Subscription(id: 1, kind: .audio, trackID: "a b\r\na=x", streamID: long, codecs: []))
    try negotiation.add(Subscription(id: 2, kind: .video, trackID: "", streamID: "é", codecs: []))
    let parsed = try SessionDescription.parse(try negotiation.newOffer().sdp)
    #expect(parsed.media[0].streams.msids == [MediaStreamID(stream: String(long.prefix(64)), track: "a_b__a_x")])
    #expect(parsed.media[1].streams.msids == [MediaStreamID(stream: "__", track: "-")])
  }

  @Test func changesGatherWhileAnOfferIsOutstanding() throws {
    var negotiation = Server.subscribe()
    let client = Answerer()
    let first = try negotiation.newOffer()
    try negotiation.add(subscription(1, .audio))
    try negotiation.add(subscription(1, .audio))
    try negotiation.add(subscription(2, .video))
    try negotiation.add(subscription(3, .video))
    negotiation.remove(3)
    negotiation.remove(99)
    #expect(negotiation.offersNothing)
    let applied = try negotiation.handle(answer: try client.answer(first.sdp), offerID: 1)
    #expect(applied.started.isEmpty && applied.rejected.isEmpty && applied.transport?.role == .server)
    let second = try negotiation.newOffer()
    #expect(second.id == 2 && second.tracks.map(\.subscriptionID) == [1, 2])
    let started = try negotiation.handle(answer: try client.answer(second.sdp), offerID: 2).started
    #expect(started.map(\.subscriptionID) == [1, 2] && started.map(\.parameters.mid) == ["0", "1"])
    #expect(negotiation.offersNothing && negotiation.outstanding == nil)
  }

  @Test func noMoreThanTheLimit() throws {
    var options = Server.allAtOnce
    options.maxMediaLines = 3
    var negotiation = Server.subscribe(options)
    for id in 1...3 { try negotiation.add(subscription(UInt64(id), .video)) }
    #expect(throws: NegotiationError.self) { try negotiation.add(subscription(4, .video)) }
    let offer = try negotiation.newOffer()
    #expect(offer.tracks.map(\.subscriptionID) == [1, 2])
  }

  /// The line of sound that every first offer has is one of them.
  @Test func aHundredLinesAndNotOneMore() throws {
    var negotiation = Server.subscribe(Server.allAtOnce)
    for id in 1...100 { try negotiation.add(subscription(UInt64(id), .video)) }
    #expect(throws: NegotiationError.self) { try negotiation.add(subscription(101, .video)) }
    let offer = try negotiation.newOffer()
    #expect(offer.tracks.count == 99)
    #expect(offer.sdp.split(whereSeparator: \.isNewline).count { $0.hasPrefix("m=") } == 100)
  }
}
