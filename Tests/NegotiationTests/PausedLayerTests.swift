// Layers that are paused stay so: by their publisher (`~`, RFC 8853), and by the server (`track.layers`).

import Basics
import Negotiation
import RTP
import SDP
import Testing

@Suite struct PausedLayerTests {
  private static let track = [AnnouncedTrack(mid: "0", kind: .video)]

  private static func offer(_ simulcast: String, _ rids: [String] = ["l send", "m send", "h send"]) -> String {
    var offerer = Offerer()
    offerer.video("0")
    offerer.lines[0].rtp.extensions.append(
      HeaderExtension(id: 10, uri: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"))
    return offerer.text + (rids.map { "a=rid:\($0)" } + ["a=simulcast:send \(simulcast)"]).joined(separator: "\r\n")
      + "\r\n"
  }

  private static func paused(_ prepared: PublishNegotiation.Prepared) throws -> [String] {
    let simulcast = try #require(try prepared.parsed().media[0].streams.simulcast)
    #expect(simulcast.receive.joined().map(\.rid) == ["l", "m", "h"])
    return simulcast.receive.joined().filter(\.isPaused).map(\.rid)
  }

  @Test func whatTheOfferPausesStaysPaused() throws {
    var negotiation = Server.publish()
    #expect(try Self.paused(try negotiation.take(Self.offer("l;m;~h"), Self.track)) == ["h"])
    #expect(try Self.paused(try negotiation.take(Self.offer("l;~m;h"))) == ["m"])
    #expect(try Self.paused(try negotiation.take(Self.offer("l;m;h"))) == [])
  }

  /// Clients pause by other means than their descriptions, too.
  @Test func whatTheServerPausedStaysPaused() throws {
    var negotiation = Server.publish()
    _ = try negotiation.take(Self.offer("l;m;h"), Self.track)
    negotiation.pause(["m", "h"], mid: "0")
    #expect(try Self.paused(try negotiation.take(Self.offer("l;m;h"))) == ["m", "h"])
    negotiation.pause(["h"], mid: "0")
    #expect(try Self.paused(try negotiation.take(Self.offer("l;m;h"))) == ["h"])
    // Another track on the line begins with all of its layers.
    negotiation.endTrack(mid: "0")
    #expect(try Self.paused(try negotiation.take(Self.offer("l;m;h"), Self.track)) == [])
  }

  /// Where all layers say how large they are, the order of the line says nothing.
  @Test func sizesInSDPOrderTheLayers() throws {
    var negotiation = Server.publish()
    let rids = [
      "l send max-width=320;max-height=180", "m send max-width=640;max-height=360",
      "h send max-width=1280;max-height=720",
    ]
    let prepared = try negotiation.take(Self.offer("h;m;l", rids), Self.track)
    #expect(prepared.added[0].encodings.map(\.rid) == ["l", "m", "h"])
    let answered = try prepared.parsed().media[0].streams.simulcast?.receive.joined().map(\.rid)
    #expect(answered == ["h", "m", "l"], "the answer keeps the order of the offer")
    var other = Server.publish()
    #expect(try other.take(Self.offer("h;m;l"), Self.track).added[0].encodings.map(\.rid) == ["h", "m", "l"])
  }
}
