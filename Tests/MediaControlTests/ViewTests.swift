// Views between the conference and the worker: a line that takes all codecs, and what is shown on it.

import Media
import MediaPeer
import Negotiation
import RTP
import RoostProtocol
import SDP
import Testing

@testable import Members
@testable import MediaControl

@Suite struct ViewTests {
  /// Anna (seat 1) publishes tracks 11 (VP8, two layers) and 12 (H264 alone), a shared screen; Bert (seat 2) opens the view 21.
  private func scene() throws -> Desk {
    let desk = Desk(seats: 2)
    var anna = Browser()
    anna.simulcast("0", ["l", "h"])
    let h264 = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
    anna.video("1", codecs: Codec.video(102, "H264", format: FormatParameters(h264), rtx: 103))
    try desk.publish(1, anna.offer, ["0": .video, "1": .video], first: 11, heights: [180, 360], screens: ["1"])
    desk.openView(21, seat: 2)
    return desk
  }

  @Test func aViewsLineTakesWhateverPublishersSend() throws {
    let desk = try scene()
    let offer = try #require(desk.offer(2))
    let line = try #require(
      try SessionDescription.parse(offer.sdp).media.last { $0.type == .video && $0.direction == .sendOnly })
    let offered = Set(line.rtp.codecs.filter { !$0.isRTX }.map(\.payloadType))
    #expect(offered == Set(PublishOptions().codecs.filter { $0 != .opus }.map(\.serverPayloadType)))
    #expect(line.streams.msids.map(\.track) == ["view-s21"])
    _ = desk.commands()
    try desk.answer(2, offer)
    let added = desk.commands().compactMap { command -> ProducerKey?? in
      if case .addConsumer(ConsumerKey(21), let producer, _, _, _, _, _) = command { .some(producer) } else { nil }
    }
    #expect(added == [nil], "it shows nothing yet")
  }

  @Test func whatIsShownChangesWithoutAnOffer() throws {
    let desk = try scene()
    try desk.answer(2, try #require(desk.offer(2)))
    _ = desk.commands()
    var wish = SubscriptionWish()
    (wish.maxHeight, wish.priority) = (180, 3)
    try desk.update(21, wish)
    _ = desk.commands()
    for track in [11, 12, nil] as [UInt64?] { try desk.show(21, track) }
    let shows = desk.commands().shows
    #expect(shows.map(\.producer) == [ProducerKey(11), ProducerKey(12), nil])
    #expect(shows.map(\.layer) == [0, nil, nil], "the layer that its place needs, of each track")
    #expect(shows[0].priority > 0 && shows[1].priority > shows[0].priority, "a shared screen goes first")
    #expect(desk.offer(2) == nil && desk.news.isEmpty)
  }

  /// Shown before the client has accepted the line: the consumer begins with it.
  @Test func whatIsShownEarlyBeginsWithTheLine() throws {
    let desk = try scene()
    try desk.show(21, 11)
    #expect(desk.commands().shows.isEmpty)
    try desk.answer(2, try #require(desk.offer(2)))
    let producers = desk.commands().compactMap {
      if case .addConsumer(_, let producer, _, _, _, _, _) = $0 { producer } else { nil }
    }
    #expect(producers == [ProducerKey(11)])
  }

  @Test func aCodecThatTheClientHasNotTakenIsNotShown() throws {
    for isEarly in [true, false] {
      let desk = try scene()
      if isEarly { try desk.show(21, 12) }
      try desk.answer(2, try #require(desk.offer(2))) { line, _ in
        line.rtp.codecs.removeAll { $0.name.uppercased() == "H264" }
      }
      if !isEarly { try desk.show(21, 12) }
      #expect(desk.commands().shows.isEmpty)
      guard case .subscription(SubscriptionID(21), .cannotShow)? = desk.news.first, desk.news.count == 1 else {
        Issue.record("\(desk.news)")
        continue
      }
    }
  }
}
