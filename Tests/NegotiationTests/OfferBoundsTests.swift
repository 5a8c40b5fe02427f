// Offers of which less is taken than of others: codecs, layers, and what a video may use.

import Negotiation
import RTP
import SDP
import Testing

@Suite struct OfferBoundsTests {
  private static let bounds = OfferBounds(codecs: [.av1, .opus, .vp9Profile0], encodings: 2, bitsPerSecond: 600_000)

  private static func take(
    _ negotiation: inout PublishNegotiation, _ offer: String, _ tracks: [AnnouncedTrack] = [], _ bounds: OfferBounds?
  ) throws(NegotiationError) -> PublishNegotiation.Prepared {
    let prepared = try negotiation.prepare(offer: offer, tracks: tracks, bounds: bounds) { Server.fresh }
    negotiation.commit(prepared)
    return prepared
  }

  /// As a browser offers. Without bounds all of it is taken.
  @Test(arguments: [true, false]) func aBrowserIsBound(isBound: Bool) throws {
    var negotiation = Server.publish()
    let prepared = try Self.take(
      &negotiation, try Fixture.text("chromium-offer"), both, isBound ? Self.bounds : nil)
    let answer = try prepared.parsed()
    let codecs = prepared.added.map { $0.payloads.map(\.codec) }
    #expect(codecs.first == [.opus])
    #expect(isBound ? codecs.last == [.vp9Profile0, .av1] : codecs.last?.first == .vp8, "in the server's order")
    let names = Set(answer.media[1].rtp.codecs.filter { !$0.isRTX }.map(\.name))
    #expect(names == (isBound ? ["VP9", "AV1"] : ["VP8", "VP9", "AV1", "H264"]))
    #expect(answer.media[1].bandwidths.map(\.value) == (isBound ? ["600000"] : []))
    #expect(answer.media[0].bandwidths.isEmpty, "of sound the room says it")
  }

  @Test func whatHasNoCodecLeftIsDeclined() throws {
    var negotiation = Server.publish()
    let sound = OfferBounds(codecs: [.opus], encodings: nil, bitsPerSecond: nil)
    let prepared = try Self.take(&negotiation, Offerer.usual.text, both, sound)
    #expect(prepared.added.map(\.mid) == ["0"] && prepared.declined.map(\.code) == [.noCommonCodec])
    let none = OfferBounds(codecs: [.h264Main], encodings: nil, bitsPerSecond: nil)
    let error = #expect(throws: NegotiationError.self) {
      var negotiation = Server.publish()
      _ = try Self.take(&negotiation, Offerer.usual.text, both, none)
    }
    #expect(error?.code == .noCommonCodec)
    // A later offer that is bound otherwise: pictures begin, and end again with their codec.
    #expect(try Self.take(&negotiation, Offerer.usual.text, both, nil).added.map(\.mid) == ["1"])
    #expect(try Self.take(&negotiation, Offerer.usual.text, [], sound).removed == ["1"])
  }

  /// A track keeps the layers that it began with, whatever is said of later offers.
  @Test(arguments: ["chromium-simulcast-offer", "firefox-simulcast-offer"]) func layers(name: String) throws {
    let offer = try Fixture.text(name)
    let rounds: [(OfferBounds?, OfferBounds?)] = [(Self.bounds, nil), (nil, Self.bounds)]
    for (first, second) in rounds {
      var negotiation = Server.publish()
      let most = first == nil ? 3 : 2
      let begun = try Self.take(&negotiation, offer, both, first).added
      let rids = begun.last?.encodings.map(\.rid)
      #expect(begun.last?.kind == .video && rids == Array(["l", "m", "h"].prefix(most)))
      let later = try Self.take(&negotiation, offer, [], second)
      #expect(negotiation.tracks.last?.encodings.map(\.rid) == rids)
      #expect(try later.parsed().media[1].streams.simulcast?.receive.count == most)
    }
  }
}
