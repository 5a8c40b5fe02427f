// What belongs to the bundle is judged for the bundle: identifiers of header extensions, payload types, SSRCs.

import Basics
import RTP
import SDP
import TestSupport
import Testing

@testable import Negotiation

@Suite struct BundleTests {
  private static let levels = HeaderExtension(id: 4, uri: "urn:ietf:params:rtp-hdrext:ssrc-audio-level")
  private static let mid = HeaderExtension(id: 5, uri: "urn:ietf:params:rtp-hdrext:sdes:mid")

  @Test func anIdentifierMeansOneThing() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    // 4 is the level of sound on one line, and the MID on the other.
    offer.media[0].rtp.extensions = [Self.levels]
    let prepared = try negotiation.take(offer.serialized(), both)
    let answer = try prepared.parsed()
    #expect(answer.media[0].rtp.extensions.map(\.id) == [4])
    #expect(answer.media[1].rtp.extensions.isEmpty && answer.media[1].direction == .receiveOnly)
    #expect(prepared.added.map(\.extensions.mid) == [0, 0])
    #expect(prepared.declined.map(\.mid) == ["1"] && prepared.declined[0].reason.contains("extmap:4"))
    #expect(prepared.declined.map(\.attribute) == ["a=extmap"], "the line is taken")
  }

  @Test func anExtensionHasOneIdentifier() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    offer.media[0].rtp.extensions = [Self.mid]
    let prepared = try negotiation.take(offer.serialized(), both)
    #expect(prepared.added.map(\.extensions.mid) == [5, 0])
    #expect(try prepared.parsed().media[1].rtp.extensions.isEmpty)
    #expect(prepared.declined.map(\.mid) == ["1"])
  }

  @Test func aPayloadTypeMeansOneThing() throws {
    var negotiation = Server.publish()
    var offerer = Offerer()
    offerer.video("0", codecs: Codec.video(96, "VP8", rtx: 97))
    offerer.video("1", codecs: Codec.video(96, "VP9", rtx: 98) + Codec.video(99, "VP8", rtx: 97))
    offerer.video("2", codecs: Codec.video(97, "VP8", rtx: nil))
    let tracks = (0...2).map { AnnouncedTrack(mid: "\($0)", kind: .video) }
    let prepared = try negotiation.take(offerer.text, tracks)
    #expect(prepared.added.map(\.mid) == ["0", "1"])
    #expect(prepared.added[1].payloads == [PayloadMapping(payloadType: 99, codec: .vp8)], "97 repeats 96 here")
    #expect(try prepared.parsed().media[1].rtp.codecs.map(\.payloadType) == [99])
    #expect(try prepared.parsed().media[2].isRejected)
    #expect(prepared.declined.map(\.mid) == ["1", "2"])
    #expect(prepared.declined.map(\.code) == [.negotiationFailed, .noCommonCodec])
    #expect(prepared.declined.map(\.attribute) == ["a=rtpmap", nil])
    #expect(prepared.declined[0].reason.contains("96") && prepared.declined[0].reason.contains("97"))
  }

  /// What goes on keeps its numbers; what begins makes room, wherever its line stands.
  @Test func whatGoesOnIsFirst() throws {
    var negotiation = Server.publish()
    var offerer = Offerer()
    offerer.video("0", .inactive, codecs: Codec.video(96, "VP9", rtx: 97))
    offerer.video("1", codecs: Codec.video(96, "VP8", rtx: 97))
    let first = try negotiation.take(offerer.text, [AnnouncedTrack(mid: "1", kind: .video)])
    #expect(first.added.map(\.mid) == ["1"])
    offerer.lines[0].direction = .sendOnly
    let refusal = negotiation.refusal(offerer.text, [AnnouncedTrack(mid: "0", kind: .video)])
    #expect(refusal?.code == .noCommonCodec && refusal?.mid == "0" && refusal?.message.contains("96") == true)
    offerer.audio("2")
    let audio = AnnouncedTrack(mid: "2", kind: .audio)
    let second = try negotiation.take(offerer.text, [AnnouncedTrack(mid: "0", kind: .video), audio])
    #expect(second.added.map(\.mid) == ["2"] && second.removed.isEmpty && second.changed.isEmpty)
    #expect(second.declined.map(\.mid) == ["0"])
  }

  @Test func anSSRCIsOfOneLine() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    for index in 0...1 { offer.media[index].streams.sources = [Source(ssrc: 77)] }
    let prepared = try negotiation.take(offer.serialized(), both)
    #expect(prepared.added.map { $0.encodings[0].ssrc } == [77, nil])
    #expect(prepared.declined.map(\.mid) == ["1"] && prepared.declined.map(\.attribute) == ["a=ssrc"])
  }

  /// Each kind of line that is left out is said for itself.
  @Test func whatClashesIsSaidByAttribute() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    offer.media[0].rtp.extensions = [Self.mid]
    for index in 0...1 { offer.media[index].streams.sources = [Source(ssrc: 77)] }
    let prepared = try negotiation.take(offer.serialized(), both)
    #expect(prepared.added.count == 2)
    #expect(prepared.declined.map(\.mid) == ["1", "1"])
    #expect(Set(prepared.declined.map(\.attribute)) == ["a=extmap", "a=ssrc"])
  }

  /// However much of a line is left out, few sentences tell it.
  @Test func whatIsLeftOutIsToldInFewWords() throws {
    var negotiation = Server.publish()
    var offer = Offerer.usual.description
    offer.extmapAllowMixed = true
    offer.media[0].rtp.extensions = [Self.mid]
    offer.media[1].rtp.extensions = (16...215).map { HeaderExtension(id: $0, uri: Self.mid.uri) }
    let prepared = try negotiation.take(offer.serialized(), both)
    let reason = try #require(prepared.declined.first).reason
    #expect(prepared.declined.count == 1 && reason.utf8.count < 1_000, "\(reason.utf8.count)")
    #expect(reason.hasSuffix("Of a=extmap, 192 more are left out."))
  }

  /// The offers of browsers and of other stacks clash nowhere.
  @Test(arguments: [
    "aiortc", "chromium-max-bundle-data", "chromium-max-compat", "chromium", "chromium-simulcast", "firefox",
    "firefox-simulcast", "gstreamer", "pion", "safari",
  ]) func realOffersClashNowhere(_ name: String) throws {
    let text = try Fixture.text("\(name)-offer")
    var negotiation = Server.publish()
    let tracks = try SessionDescription.parse(text).media.compactMap { line in
      line.mid.flatMap { mid in MediaKind(line.type).map { AnnouncedTrack(mid: mid, kind: $0) } }
    }
    let prepared = try negotiation.take(text, tracks)
    let said = prepared.declined.filter { line in prepared.added.contains { $0.mid == line.mid } }
    #expect(said == [], "what is taken is taken whole")
  }

  /// Several tracks on one line (Plan B) are refused with a word; one that is described as Plan B does it is a track.
  @Test func planBIsRefused() throws {
    let negotiation = Server.publish()
    var offer = Offerer.usual.description
    func source(_ ssrc: UInt32, _ track: String) -> Source {
      Source(ssrc: ssrc, attributes: [Attribute("cname", "c"), Attribute("msid", "stream \(track)")])
    }
    offer.media[1].streams.sources = [
      source(1, "camera"), source(2, "camera"), source(3, "screen"), source(4, "screen"),
    ]
    let refusal = try #require(negotiation.refusal(offer.serialized(), both))
    #expect(refusal.code == .negotiationFailed && refusal.mid == "1" && refusal.message.contains("Plan B"))
    offer.media[1].streams.sources.removeLast(2)
    #expect(negotiation.refusal(offer.serialized(), both) == nil)
  }

  /// Who may nominate more than one path is known by what the offer does not say.
  @Test(arguments: [("trickle", true), ("trickle ice2", false), ("trickle renomination", false), ("", true)])
  func whoNominatesAllIsKnown(_ options: String, _ nominatesAll: Bool) throws {
    let negotiation = Server.publish()
    var offer = Offerer.usual.description
    for index in 0...1 { offer.media[index].transport.iceOptions = options.split(separator: " ").map(String.init) }
    let prepared = try negotiation.prepare(offer: offer.serialized(), tracks: both) { Server.fresh }
    #expect(prepared.transport?.nominatesAll == nominatesAll)
  }

  /// Who offers what they want to be sent (WHEP) is not sent two meanings either.
  @Test func playersAreSentOneMeaning() throws {
    var options = SubscribeOptions()
    options.beginsWithOneOfEachKind = false
    var negotiation = SubscribeNegotiation(
      options: options, transport: Server.transport, sessionID: 78, offerer: .client)
    try negotiation.add(subscription(1, .video, codecs: [.vp8, .vp9Profile0]))
    try negotiation.add(subscription(2, .video, codecs: [.vp8, .vp9Profile0]))
    var offerer = Offerer()
    offerer.video("0", .receiveOnly, codecs: Codec.video(96, "VP8", rtx: 97))
    offerer.video("1", .receiveOnly, codecs: Codec.video(96, "VP9", rtx: 98) + Codec.video(99, "VP8", rtx: nil))
    var random = SplitMix64(seed: 1)
    let answer = try negotiation.answer(offer: offerer.text, using: &random) { Server.fresh }
    let lines = try SessionDescription.parse(answer.sdp).media.map { $0.rtp.codecs.map(\.payloadType) }
    #expect(lines == [[96, 97], [99]])
  }
}
