// Offers of clients that want to be sent media, as browsers, GStreamer and FFmpeg write them, and what hostile ones come to.

import Basics
import Negotiation
import RTP
import SDP
import TestSupport
import Testing

extension SubscribeNegotiation {
  /// A negotiation of a client that offers, with these tracks waiting.
  static func player(_ tracks: [Negotiation.Subscription], _ options: SubscribeOptions = SubscribeOptions()) throws
    -> Self
  {
    var result = SubscribeNegotiation(
      options: options, transport: Server.transport, sessionID: 79, offerer: .client)
    for track in tracks { try result.add(track) }
    return result
  }

  mutating func take(offer: String) throws(NegotiationError) -> Answered {
    var random = SplitMix64(seed: 3)
    return try answer(offer: offer, using: &random) { Server.fresh }
  }

  /// The refusal of an offer, which must have changed nothing; nil when it would be taken.
  func refusal(offer: String) -> NegotiationError? {
    var copy = self
    do throws(NegotiationError) {
      _ = try copy.take(offer: offer)
      return nil
    } catch {
      return error
    }
  }
}

extension SubscribeNegotiation.Answered {
  func parsed() throws -> SessionDescription { try SessionDescription.parse(sdp) }
  var rejectedCodes: [UInt64: NegotiationError.Code] {
    Dictionary(uniqueKeysWithValues: applied.rejected.map { ($0.subscriptionID, $0.code) })
  }
}

/// What a stack offers, and under which payload types it is sent Opus and this video codec.
struct Player: Sendable, CustomTestStringConvertible {
  let fixture: String
  let audio: UInt8
  var red: UInt8?
  let video: (codec: CodecProfile, payloadType: UInt8, rtx: UInt8?)
  var nack = true
  var extensions: (audio: HeaderExtensionIDs, video: HeaderExtensionIDs)
  var role = DTLSRole.server

  var testDescription: String { fixture }

  static let all = [
    Player(
      fixture: "chromium-whep-offer", audio: 111, red: 63, video: (.vp8, 96, 97),
      extensions: (
        .init(mid: 4, absSendTime: 2, transportSequence: 3, audioLevel: 1),
        .init(mid: 4, absSendTime: 2, transportSequence: 3, videoOrientation: 13)
      )),
    Player(
      fixture: "firefox-whep-offer", audio: 109, video: (.vp8, 120, 124),
      extensions: (
        .init(mid: 3, transportSequence: 7, audioLevel: 1), .init(mid: 3, absSendTime: 4, transportSequence: 7)
      )),
    Player(
      fixture: "gstreamer-whep-offer", audio: 97, video: (.vp8, 96, nil), nack: false,
      extensions: (.init(), .init())),
    Player(
      fixture: "ffmpeg-whep-offer", audio: 111, video: (.h264ConstrainedBaseline, 106, nil), nack: false,
      extensions: (.init(), .init()), role: .client),
  ]
}

extension HeaderExtensionIDs {
  fileprivate init(
    mid: UInt8 = 0, absSendTime: UInt8 = 0, transportSequence: UInt8 = 0, audioLevel: UInt8 = 0,
    videoOrientation: UInt8 = 0
  ) {
    self.init()
    self.transportSequence = transportSequence
    (self.mid, self.absSendTime, self.audioLevel) = (mid, absSendTime, audioLevel)
    self.videoOrientation = videoOrientation
  }
}

@Suite struct ClientOfferTests {
  private func tracks(_ video: [CodecProfile] = [.vp8]) -> [Negotiation.Subscription] {
    [subscription(1, .audio, codecs: [.opus]), subscription(2, .video, codecs: video)]
  }

  /// An offer that wants to receive on lines of these kinds.
  private func offerer(_ kinds: [MediaKind]) -> NegotiationTests.Offerer {
    var offerer = NegotiationTests.Offerer()
    for (index, kind) in kinds.enumerated() {
      if kind == .audio { offerer.audio("\(index)", .receiveOnly) } else { offerer.video("\(index)", .receiveOnly) }
    }
    return offerer
  }

  /// Dependency descriptors go to players of AV1 that allow elements of both forms.
  @Test(arguments: [true, false]) func playersTakeDependencyDescriptors(isMixed: Bool) throws {
    let extmap =
      "a=extmap:9 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension\r\n"
    let text = try Fixture.text("chromium-whep-offer").replacing("a=extmap-allow-mixed\r\n", with: "")
      .replacing(
        "a=extmap:4 ", with: extmap + "a=extmap:4 ")
    let offer = isMixed ? text.replacing("t=0 0\r\n", with: "t=0 0\r\na=extmap-allow-mixed\r\n") : text
    var negotiation = try SubscribeNegotiation.player(tracks([.av1]))
    let answered = try negotiation.take(offer: offer)
    let video = try #require(negotiation.parameters(of: 2))
    #expect(video.extensions.dependencyDescriptor == (isMixed ? 9 : 0))
    #expect(answered.sdp.contains(extmap) == isMixed)
  }

  // MARK: stacks

  @Test(arguments: Player.all)
  func whatStacksOfferIsAnswered(_ player: Player) throws {
    let text = try Fixture.text(player.fixture)
    let offer = try SessionDescription.parse(text)
    var negotiation = try SubscribeNegotiation.player(tracks([player.video.codec]))
    let answered = try negotiation.take(offer: text)
    let answer = try answered.parsed()
    #expect(answer.media.map(\.mid) == offer.media.map(\.mid) && answer.media.map(\.type) == offer.media.map(\.type))
    #expect(answer.bundle?.mids == offer.bundle?.mids && answer.isICELite)
    #expect(answered.applied.started.map(\.subscriptionID) == [1, 2] && answered.applied.rejected.isEmpty)
    let (audio, video) = (answered.applied.started[0].parameters, answered.applied.started[1].parameters)
    #expect(audio.payloads == [PayloadMapping(payloadType: player.audio, codec: .opus, redPayloadType: player.red)])
    #expect(
      video.payloads == [
        PayloadMapping(
          payloadType: player.video.payloadType, codec: player.video.codec, rtxPayloadType: player.video.rtx)
      ])
    #expect(!audio.nack && video.nack == player.nack && (video.rtxSSRC != nil) == (player.video.rtx != nil))
    #expect(audio.extensions == player.extensions.audio && video.extensions == player.extensions.video)
    for line in answer.media {
      let parameters = line.type == .audio ? audio : video
      #expect(!line.isRejected && line.direction == .sendOnly && line.transport.rtcpMux)
      #expect(line.transport.setup == (player.role == .client ? .active : .passive))
      #expect(line.transport.credentials == Server.credentials && !line.transport.candidates.isEmpty)
      #expect(line.streams.sources.first?.ssrc == parameters.ssrc && line.streams.msids.map(\.stream) == ["alice"])
      #expect(line.rtp.codecs.first?.payloadType == parameters.payloads[0].payloadType)
      #expect(line.mid == parameters.mid)
    }
    #expect(answered.applied.transport?.role == player.role && answered.applied.transport?.isICERestart == false)
  }

  /// Nothing is there yet: every line is taken and rests, and a later offer of the same client is given what has come.
  @Test(arguments: Player.all)
  func anOfferBeforeThereAreTracks(_ player: Player) throws {
    let text = try Fixture.text(player.fixture)
    var negotiation = try SubscribeNegotiation.player([])
    let first = try negotiation.take(offer: text)
    #expect(
      try first.parsed().media.allSatisfy { $0.direction == .inactive && !$0.isRejected && !$0.rtp.codecs.isEmpty })
    #expect(first.applied.started.isEmpty && first.applied.transport != nil)
    for track in tracks([player.video.codec]) { try negotiation.add(track) }
    let second = try negotiation.take(offer: text)
    #expect(second.applied.started.map(\.subscriptionID) == [1, 2])
    #expect(second.applied.transport == first.applied.transport)
  }

  @Test func theServerNeverOffersHere() throws {
    var negotiation = try SubscribeNegotiation.player(tracks())
    #expect(negotiation.offersNothing)
    _ = try negotiation.take(offer: offerer([.audio, .video]).text)
    negotiation.remove(1)
    negotiation.restartICE(Server.fresh)
    #expect(negotiation.offersNothing)
    #expect(Server.subscribe().refusal(offer: offerer([.audio]).text)?.message.contains("the server offers") == true)
  }

  // MARK: lines

  /// Lines are given out in order, one a track; lines too many rest, and tracks too many wait.
  @Test func oneTrackALine() throws {
    var negotiation = try SubscribeNegotiation.player([
      subscription(1, .video), subscription(2, .video), subscription(3, .audio),
    ])
    let answered = try negotiation.take(offer: offerer([.audio, .video, .audio]).text)
    #expect(answered.applied.started.map(\.subscriptionID) == [1, 3] && answered.applied.rejected.isEmpty)
    #expect(try answered.parsed().media.map(\.direction) == [.sendOnly, .sendOnly, .inactive])
    let more = try negotiation.take(offer: offerer([.audio, .video, .audio, .video]).text)
    #expect(more.applied.started.map(\.subscriptionID) == [2] && more.applied.started[0].parameters.mid == "3")
    #expect(more.applied.changed.isEmpty)
    let ssrcs = try more.parsed().media.flatMap { $0.streams.sources.map(\.ssrc) }
    #expect(Set(ssrcs).count == ssrcs.count)
  }

  /// Only lines that receive are sent on: a client that would send gets nothing, and neither does a line at rest.
  @Test(arguments: [
    (Direction.receiveOnly, Direction.sendOnly), (.sendReceive, .sendOnly), (.sendOnly, .inactive),
    (.inactive, .inactive),
  ])
  func onlyLinesThatReceiveAreSentOn(_ offered: Direction, _ answered: Direction) throws {
    var client = NegotiationTests.Offerer()
    client.audio("0", offered)
    var negotiation = try SubscribeNegotiation.player(tracks())
    let result = try negotiation.take(offer: client.text)
    #expect(try result.parsed().media.map(\.direction) == [answered])
    #expect(result.applied.started.map(\.subscriptionID) == (answered == .sendOnly ? [1] : []))
  }

  /// A removed track's line rests for one answer before it carries another, so that the client sees the new one begin.
  @Test func aLineCarriesAnotherTrackAfterARest() throws {
    var negotiation = try SubscribeNegotiation.player(tracks())
    let client = offerer([.audio, .video])
    let first = try negotiation.take(offer: client.text)
    negotiation.remove(2)
    try negotiation.add(subscription(3, .video))
    let resting = try negotiation.take(offer: client.text)
    #expect(try resting.parsed().media.map(\.direction) == [.sendOnly, .inactive] && resting.applied.started.isEmpty)
    let second = try negotiation.take(offer: client.text)
    #expect(second.applied.started.map(\.subscriptionID) == [3])
    #expect(second.applied.started[0].parameters.ssrc != first.applied.started[1].parameters.ssrc)
  }

  @Test func aLineThatTheClientEndsEndsItsSubscription() throws {
    for bend in [
      { (line: MediaDescription) in
        var line = line
        line.direction = .inactive
        return line
      }, { (line: MediaDescription) in .rejection(of: line) },
    ] {
      var negotiation = try SubscribeNegotiation.player(tracks())
      var client = offerer([.audio, .video])
      _ = try negotiation.take(offer: client.text)
      client.lines[1] = bend(client.lines[1])
      let answered = try negotiation.take(offer: client.text)
      #expect(answered.rejectedCodes == [2: .negotiationFailed] && answered.applied.changed.isEmpty)
      #expect(try answered.parsed().media[1].direction == .inactive)
    }
  }

  @Test func aTrackWithoutACommonCodecIsRefused() throws {
    var negotiation = try SubscribeNegotiation.player([
      subscription(1, .video, codecs: [.h264High]), subscription(2, .video, codecs: [.av1, .vp8]),
    ])
    let answered = try negotiation.take(offer: offerer([.video]).text)
    #expect(answered.rejectedCodes == [1: .noCommonCodec])
    #expect(answered.applied.started.map { $0.parameters.payloads.map(\.codec) } == [[.vp8]])
  }

  @Test func otherCodecsInALaterOfferChangeTheConsumer() throws {
    var negotiation = try SubscribeNegotiation.player(tracks([.vp8, .vp9Profile0]))
    var client = offerer([.audio, .video])
    _ = try negotiation.take(offer: client.text)
    client.lines[1].rtp.codecs = Codec.video(98, "VP9", rtx: 99)
    let answered = try negotiation.take(offer: client.text)
    #expect(answered.applied.changed.map { $0.parameters.payloads.map(\.payloadType) } == [[98]])
    client.lines[1].rtp.codecs = Codec.video(102, "H264")
    #expect(try negotiation.take(offer: client.text).rejectedCodes == [2: .noCommonCodec])
  }

  // MARK: transport

  @Test(arguments: [
    (SetupRole.actpass, DTLSRole.server), (.active, .server), (.passive, .client),
  ])
  func theRoleFollowsTheOffer(_ setup: SetupRole, _ role: DTLSRole) throws {
    var negotiation = try SubscribeNegotiation.player(tracks())
    var client = offerer([.audio, .video])
    client.setup = setup
    let answered = try negotiation.take(offer: client.text)
    #expect(answered.applied.transport?.role == role)
    #expect(try answered.parsed().media[0].transport.setup == (role == .server ? .passive : .active))
    client.setup = role == .server ? .passive : .active
    #expect(negotiation.refusal(offer: client.text)?.message.contains("DTLS role") == true)
  }

  @Test func aRestartBringsFreshCredentials() throws {
    var negotiation = try SubscribeNegotiation.player(tracks())
    var client = offerer([.audio, .video])
    _ = try negotiation.take(offer: client.text)
    client.credentials = ICECredentials(ufrag: "next", password: "nextnextnextnextnextnext1")
    let answered = try negotiation.take(offer: client.text)
    #expect(answered.applied.transport?.isICERestart == true && answered.applied.transport?.local == Server.fresh)
    #expect(try answered.parsed().media.allSatisfy { $0.transport.credentials == Server.fresh })
    #expect(answered.applied.started.isEmpty && answered.applied.changed.isEmpty)
    client.fingerprint = .filled(with: 0x22)
    #expect(negotiation.refusal(offer: client.text)?.isNewPeerConnection == true)
  }

  // MARK: hostile offers

  @Test func manyLinesAreRefusedAndForeignOnesRejected() throws {
    var options = SubscribeOptions()
    options.maxMediaLines = 8
    let negotiation = try SubscribeNegotiation.player(tracks(), options)
    let refusal = negotiation.refusal(offer: offerer(Array(repeating: .audio, count: 9)).text)
    #expect(refusal?.code == .tooManyTracks && refusal?.excess?.limit == 8)
    #expect(negotiation.refusal(offer: offerer(Array(repeating: .audio, count: 8)).text) == nil)
    var withData = negotiation
    let text = try Fixture.text("chromium-max-bundle-data-offer")
    let answered = try withData.take(offer: text)
    for line in try answered.parsed().media where line.type == .application {
      #expect(line.isRejected && line.saysItsTransport)
    }
  }

  @Test func whatCannotBeAnsweredIsRefusedInWords() throws {
    var negotiation = try SubscribeNegotiation.player(tracks())
    let usual = offerer([.audio, .video])
    _ = try negotiation.take(offer: usual.text)
    func bent(_ bend: (inout NegotiationTests.Offerer) -> Void) -> NegotiationError? {
      var client = usual
      bend(&client)
      return negotiation.refusal(offer: client.text)
    }
    #expect(negotiation.refusal(offer: "v=0")?.message.contains("not valid SDP") == true)
    #expect(bent { $0.lines.removeLast() }?.message.contains("disappear") == true)
    #expect(bent { $0.lines.swapAt(0, 1) }?.mid == "1")
    #expect(bent { $0.lines[1].transport.rtcpMux = false }?.message.contains("rtcp-mux") == true)
    #expect(bent { $0.lines[0].mid = String(repeating: "m", count: 65) }?.message.contains("64 bytes") == true)
    let unknown = bent { client in
      for index in client.lines.indices { client.lines[index].rtp.codecs = Codec.video(35, "H265") }
    }
    #expect(unknown?.code == .noCommonCodec)
    #expect(bent { _ in } == nil)
  }

  /// Identifiers beyond 14 need elements that the server does not write, so it does not agree to them.
  @Test func extensionsThatCannotBeWrittenAreLeftOut() throws {
    var client = offerer([.video])
    client.lines[0].rtp.extensions = [
      HeaderExtension(id: 15, uri: "urn:ietf:params:rtp-hdrext:sdes:mid"),
      HeaderExtension(id: 2, uri: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"),
      HeaderExtension(id: 2, uri: "urn:3gpp:video-orientation"),
      HeaderExtension(id: 5, uri: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"),
    ]
    var negotiation = try SubscribeNegotiation.player(tracks())
    let answered = try negotiation.take(offer: client.text)
    #expect(try answered.parsed().media[0].rtp.extensions.map(\.id) == [2])
    #expect(answered.applied.started.map(\.parameters.extensions) == [.init(absSendTime: 2)])
  }
}
