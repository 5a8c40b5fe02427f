// A picture in one encoding with temporal layers, on lines that do not carry all of it.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct SubLayerTests {
  /// 30 pictures a second, a quarter of them in the base layer, of about 600 kbit/s.
  private static let size = [2_400]

  /// The line carries half of what is published: fewer pictures, and no pause.
  @Test func aThinLineIsSentFewerPictures() throws {
    let room = try LayerRoom(bert: 3_000_000, packets: Self.size)
    room.call.run(.seconds(8))
    #expect(room.frames(room.bert, last: .seconds(4)) > 110, "of 120")
    room.bert.downlink.rate = 380_000
    room.call.run(.seconds(4))
    #expect(room.longestGap(room.bert, last: .seconds(4)) < .milliseconds(1_500))
    room.call.run(.seconds(16))
    let frames = room.frames(room.bert, last: .seconds(14))
    #expect((100...300).contains(frames), "7 to 20 a second: \(frames)")
    #expect(room.longestGap(room.bert, last: .seconds(14)) < .milliseconds(500))
    #expect(room.pauses == 0)
    #expect(room.frames(room.cleo, last: .seconds(16)) > 470, "a good line is sent all")
    let keyframes = room.keyframes
    room.bert.downlink.rate = 3_000_000
    room.call.run(.seconds(15))
    #expect(room.frames(room.bert, last: .seconds(3)) > 85, "whole again")
    #expect(room.keyframes == keyframes, "pictures come back without a keyframe")
    #expect(room.gaps(room.bert).isEmpty)
  }

  /// As Chromium shares 500 kbit/s out: two fifths, one fifth and two fifths, and a keyframe as large as seven pictures.
  @Test func aPictureAsChromiumMakesItIsThinned() throws {
    let room = try LayerRoom(bert: 3_000_000, packets: [1_660])
    room.call.track(room.picture) { track in
      track.layers[0].baseExtra = 2
      track.layers[0].keyframeExtra = 14
    }
    room.call.run(.seconds(8))
    room.bert.downlink.rate = 380_000
    room.call.run(.seconds(20))
    #expect(room.longestGap(room.bert, last: .seconds(20)) < .milliseconds(1_500))
    #expect(room.frames(room.bert, last: .seconds(14)) > 100, "7 a second or more")
    #expect(room.pauses == 0)
  }

  /// Of the lowest encoding each rate of pictures is a step, of those above all of them or half.
  @Test func theStepsOfATrackAreMeasured() throws {
    let one = try LayerRoom(bert: 20_000_000, packets: Self.size)
    one.call.run(.seconds(3))
    let single = try #require(one.ladder)
    #expect(single.steps.map(\.limit.temporal) == [0, 1, 7] && single.enough == 0)
    for (rate, share) in zip(single.rates, [0.25, 0.5, 1]) {
      #expect(abs(rate.bitsPerSecond / 600_000 - share) < 0.15, "\(rate)")
    }
    let three = try LayerRoom(bert: 20_000_000, packets: [600, 2_400, 8_000])
    three.call.run(.seconds(3))
    let steps = try #require(three.ladder)
    #expect(steps.steps.map(\.layer) == [0, 0, 0, 1, 1, 2, 2])
    #expect(steps.steps.map(\.limit.temporal) == [0, 1, 7, 1, 7, 1, 7])
    #expect(steps.enough == 2 && steps.whole(1) == 4 && steps.whole(2) == 6)
    #expect(
      steps.rates(isThinned: false, sent: nil).map { $0 > .zero } == [false, false, true, false, true, false, true])
    #expect(steps.index(of: LayerStep(layer: 1, limit: LayerLimit(temporal: 2))) == 3)
    #expect(steps.index(of: LayerStep(layer: 3)) == nil)
  }

  /// What half of the pictures take goes up and down with the picture. A step up goes by the most of the last seconds, and not by the
  /// share of a moment.
  @Test func aPartIsJudgedByWhatItTookItself() throws {
    let room = try LayerRoom(bert: 20_000_000, packets: [600, 2_400, 8_000])
    room.call.track(room.picture) { $0.layers[2].baseExtra = 8 }
    room.call.run(.seconds(5))
    let before = try #require(room.ladder)
    #expect(before.steps.map(\.layer) == [0, 0, 0, 1, 1, 2, 2])
    let (half, whole) = (before.usual[5].bitsPerSecond, before.rates[6].bitsPerSecond)
    // As many bytes, more evenly.
    room.call.track(room.picture) { ($0.layers[2].baseExtra, $0.layers[2].packetsPerFrame) = (0, 9) }
    room.call.run(.seconds(2))
    let after = try #require(room.ladder)
    #expect(after.rates[5].bitsPerSecond < half * 0.85)
    #expect(abs(after.rates[6].bitsPerSecond / whole - 1) < 0.1)
    #expect(after.usual[5].bitsPerSecond > half * 0.95)
    room.call.run(.seconds(8))
    let later = try #require(room.ladder)
    #expect(later.usual[5].bitsPerSecond < half * 0.9, "not for ever: \(later.usual[5].bitsPerSecond / half)")
  }

  /// The control: a picture of the same rate with nothing to leave out.
  @Test func aPictureWithoutLayersIsPaused() throws {
    let room = try LayerRoom(bert: 3_000_000, packets: Self.size, isLayered: false)
    room.call.run(.seconds(8))
    room.bert.downlink.rate = 380_000
    room.call.run(.seconds(20))
    #expect(room.pauses > 0)
    #expect(room.frames(room.bert, last: .seconds(14)) < 100)
  }

  /// A line that has shown no limit is sent all, from the first picture on.
  @Test func aGoodLineIsNotThinned() throws {
    let room = try LayerRoom(bert: 20_000_000, packets: Self.size)
    room.call.run(.seconds(20))
    #expect(room.frames(room.bert, last: .seconds(20)) > 590)
    #expect(room.consumer(room.bert)?.limit == .all)
  }

  /// What a client says of its line by itself follows what it is sent: what is thinned by it would never be whole again.
  @Test func withoutFeedbackNothingIsThinned() throws {
    let room = try LayerRoom(bert: 20_000_000, packets: Self.size, reports: false)
    for estimate in [200_000, 200_000, 200_000, 20_000_000, 20_000_000] as [UInt64] {
      room.bert.sendEstimate(bitsPerSecond: estimate)
      room.call.run(.seconds(2))
      #expect(room.consumer(room.bert)?.limit == .all)
    }
    #expect(room.frames(room.bert, last: .seconds(8)) > 220)
  }

  /// A picture that was held comes back as what fits, not whole.
  @Test func aHeldPictureComesBackAsWhatFits() throws {
    let room = try LayerRoom(bert: 3_000_000, packets: Self.size, hasSound: true)
    room.call.run(.seconds(5))
    room.bert.downlink.rate = 90_000
    room.call.run(.seconds(15))
    #expect(room.isHeld(room.bert))
    room.bert.downlink.rate = 380_000
    var limits: [LayerLimit] = []
    for _ in 0..<200 {
      room.call.run(.milliseconds(100))
      if !room.isHeld(room.bert), let limit = room.consumer(room.bert)?.limit { limits.append(limit) }
    }
    #expect(!limits.isEmpty)
    #expect(limits.allSatisfy { $0 != .all })
    #expect(room.frames(room.bert, last: .seconds(4)) > 25)
  }

  /// Who is shown small, on a line that has shown a limit and carries it all: the lower layer, and every picture of it.
  @Test func aSmallPictureIsSentWhole() throws {
    let room = try LayerRoom(bert: 1_000_000, packets: [600, 2_400, 8_000])
    room.call.run(.seconds(5))
    #expect(room.layers(room.bert, last: .seconds(2)) == [1], "the line has shown a limit")
    room.call.apply(.setLayer(room.pictures[0], 0))
    room.call.run(.seconds(10))
    #expect(room.layers(room.bert, last: .seconds(3)) == [0])
    #expect(room.frames(room.bert, last: .seconds(3)) > 85)
  }
}

/// Anna's picture goes to Bert, whose line is limited, and to Cleo.
private struct LayerRoom {
  let call: Call
  let (anna, bert, cleo): (VirtualPeer, VirtualPeer, VirtualPeer)
  let picture: ProducerKey
  let pictures: [ConsumerKey]

  /// `packets`: bytes of a frame in each encoding.
  init(bert rate: Int64, packets: [Int], isLayered: Bool = true, reports: Bool = true, hasSound: Bool = false) throws {
    call = try Call()
    anna = try call.join("anna")
    (bert, cleo) = (try call.join("bert"), try call.join("cleo"))
    (bert.reportsArrivals, cleo.reportsArrivals) = (reports, true)
    bert.downlink.rate = rate
    picture = call.publish(anna, .video, layers: packets.map { ($0 + 1_199) / 1_200 })
    call.track(picture) { track in
      track.hasTemporalLayers = isLayered
      for (index, bytes) in packets.enumerated() {
        track.layers[index].packetSize = bytes / track.layers[index].packetsPerFrame
      }
    }
    pictures = [call.subscribe(bert, to: picture, hasFeedback: reports), call.subscribe(cleo, to: picture)]
    if hasSound {
      let sound = call.publish(anna, .audio)
      for peer in [bert, cleo] { call.subscribe(peer, to: sound) }
    }
    call.run(.seconds(2))
  }

  private func stream(_ peer: VirtualPeer) -> ReceivedStream? { peer.streams.first }

  /// What the worker decides for the peer.
  func consumer(_ peer: VirtualPeer) -> Consumer? {
    guard let key = stream(peer)?.consumer, let id = call.worker.directory.consumers[key] else { return nil }
    return call.worker.forwarder.consumers[id].consumer
  }

  var ladder: LayerLadder? {
    call.worker.directory.producers[picture].map { call.worker.tracks.producers[$0].ladder }
  }

  func isHeld(_ peer: VirtualPeer) -> Bool { consumer(peer)?.isPaused ?? false }

  /// How often it was said that Bert's picture is paused.
  var pauses: Int {
    call.events.count { if case .consumerPaused(pictures[0], true) = $0.event { true } else { false } }
  }

  var keyframes: Int { call.layers(picture).map(\.keyframes).reduce(0, +) }

  func layers(_ peer: VirtualPeer, last: TimeDelta) -> Set<UInt8> {
    let since = call.now - last
    return Set(stream(peer)?.packets.values.filter { $0.arrival >= since }.compactMap { $0.stamp?.layer } ?? [])
  }

  func frames(_ peer: VirtualPeer, last: TimeDelta) -> Int {
    stream(peer)?.completed(since: call.now - last).count ?? 0
  }

  func longestGap(_ peer: VirtualPeer, last: TimeDelta) -> TimeDelta {
    stream(peer)?.longestGap(since: call.now - last, until: call.now) ?? last
  }

  /// Where picture identifiers do not go on by one, or the index of the base layer does not count it.
  func gaps(_ peer: VirtualPeer) -> [String] {
    let all = stream(peer)?.packets.sorted { $0.key < $1.key } ?? []
    return zip(all, all.dropFirst()).compactMap { old, new in
      guard new.key == old.key + 1, new.value.stamp?.index == 0, let stamp = new.value.stamp, !stamp.isKeyframe,
        let before = old.value.info.pictureID?.value, let after = new.value.info.pictureID?.value,
        let base = old.value.info.tl0PictureIndex?.value, let next = new.value.info.tl0PictureIndex?.value
      else { return nil }
      let isRight = (after &- before) & 0x7fff == 1 && next &- base == (new.value.info.temporalLayer == 0 ? 1 : 0)
      return isRight ? nil : "frame \(stamp.frame): picture \(before) → \(after), base \(base) → \(next)"
    }
  }
}
