// Meetings in which tracks come and go for hours: only lines that are in use count, and places of others are used again.

import Negotiation
import RTP
import SDP
import TestSupport
import Testing

@Suite struct LongMeetingTests {
  /// A client that never uses a line again, as one made by hand: more shares, one after another, than an offer may have lines in use.
  @Test func sharesThatEndedDoNotCount() throws {
    var negotiation = Server.publish()
    var client = Offerer()
    client.audio("0")
    _ = try negotiation.take(client.text, [both[0]])
    for share in 1...110 {
      client.video("\(share)")
      let begun = try negotiation.take(client.text, [AnnouncedTrack(mid: "\(share)", kind: .video)])
      #expect(begun.added.map(\.mid) == ["\(share)"] && begun.removed.isEmpty)
      client.lines[share].direction = share % 2 == 0 ? .inactive : .receiveOnly
      let ended = try negotiation.take(client.text)
      #expect(ended.removed == ["\(share)"])
      let answer = try ended.parsed()
      #expect(answer.media.count == share + 1 && answer.bundle?.mids.first == "0")
      #expect(answer.media.allSatisfy { $0.saysItsTransport })
    }
    #expect(negotiation.tracks.map(\.mid) == ["0"])
  }

  /// A client that uses places with port 0 again, as browsers do (RFC 8829 §5.2.2), never has many lines.
  @Test func placesAreUsedAgain() throws {
    var negotiation = Server.publish()
    var client = Offerer()
    client.audio("0")
    var rejected: [Int] = []
    for share in 1...200 {
      let mid = "s\(share)"
      client.video(mid)
      if let place = rejected.popLast() {
        client.lines[place] = client.lines.removeLast()
      }
      let begun = try negotiation.take(client.text, [AnnouncedTrack(mid: mid, kind: .video)])
      #expect(begun.added.map(\.mid) == [mid])
      for index in client.lines.indices where client.lines[index].mid == mid {
        client.lines[index].direction = .inactive
      }
      let answer = try negotiation.take(client.text).parsed()
      for index in client.lines.indices where answer.media[index].isRejected && !client.lines[index].isRejected {
        client.lines[index] = .rejection(of: client.lines[index])
        rejected.append(index)
      }
    }
    #expect(client.lines.count < 40)
  }

  /// A few lines that rest stay as they are: their clients may send on them again.
  @Test func linesThatRestAreKeptWhereTheyAreFew() throws {
    var negotiation = Server.publish()
    var client = Offerer.usual
    for mid in 2..<30 { client.video("\(mid)", .inactive) }
    let answer = try negotiation.take(client.text, both).parsed()
    #expect(answer.media.allSatisfy { !$0.isRejected })
  }

  /// Clients that show a track only where a new line brings it: more tracks than an offer has lines, each on one that was never there.
  @Test(arguments: [true, false]) func freshLinesAreNeverUsedUp(saysPortZero: Bool) throws {
    var options = Server.allAtOnce
    options.usesLinesAgain = false
    var negotiation = Server.subscribe(options)
    var mids: Set<String> = []
    var most = 0
    func round() throws -> (SessionDescription, SubscribeNegotiation.Applied) {
      let offer = try negotiation.newOffer()
      let parsed = try SessionDescription.parse(offer.sdp)
      let answer = Answerer().description(parsed) { line, index in
        guard parsed.media[index].isRejected, !saysPortZero else { return }
        line = parsed.media[index]
        (line.port, line.direction) = (9, .inactive)
        line.transport = TransportAttributes(
          credentials: Answerer().credentials, fingerprint: Answerer().fingerprint, setup: .active)
      }
      return (parsed, try negotiation.handle(answer: answer.serialized(), offerID: offer.id))
    }
    _ = try round()
    for id in 1...110 as ClosedRange<UInt64> {
      try negotiation.add(subscription(id, id % 3 == 0 ? .audio : .video))
      let (offer, applied) = try round()
      let started = try #require(applied.started.first)
      #expect(started.subscriptionID == id && mids.insert(started.parameters.mid).inserted)
      most = max(most, offer.media.count)
      #expect(offer.media.allSatisfy { $0.saysItsTransport })
      #expect(offer.bundle?.mids.first == offer.media[0].mid && !offer.media[0].isRejected)
      negotiation.remove(id)
      _ = try round()
    }
    #expect(most < 80)
  }
}

extension MediaDescription {
  /// GStreamer refuses a description where one line does not, be it used or not.
  var saysItsTransport: Bool {
    transport.credentials != nil && !transport.fingerprints.isEmpty && transport.setup != nil
  }
}
