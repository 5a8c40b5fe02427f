// What a publisher may send: the bound at n and n + 1, and a publisher far above it beside others.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct PublisherBoundTests {
  private let start = Instant.zero + .seconds(100)

  /// Bytes that a class takes at once from rest, in packets of `size`.
  private func most(of kind: IntakeClass, _ bounds: inout PublisherBounds, size: Int, at now: Instant) -> Int {
    var packets = 0
    while packets < 100_000, bounds.admits(size, of: kind, at: now) {
      bounds.take(size, of: kind, at: now)
      packets += 1
    }
    return packets * size
  }

  @Test func aSecondOfVideoAtOnceAndNoPacketMore() {
    var bounds = PublisherBounds(videoBitsPerSecond: 4_096_000)
    bounds.count(sounds: 1, videos: 1)
    #expect(most(of: .video, &bounds, size: 1_024, at: start) == 512_000)
    #expect(!bounds.admits(1_024, of: .video, at: start))
    // A packet takes two milliseconds to earn.
    #expect(!bounds.admits(1_024, of: .video, at: start + .microseconds(1_999)))
    #expect(bounds.admits(1_024, of: .video, at: start + .milliseconds(2)))
    #expect(most(of: .video, &bounds, size: 1_024, at: start + .seconds(1)) == 512_000)
    #expect(most(of: .video, &bounds, size: 1_024, at: start + .seconds(60)) == 512_000, "rest earns no more")
  }

  /// Two tracks may bring twice as much; what one does not use the other may.
  @Test func theBoundFollowsTheNumberOfTracks() {
    var bounds = PublisherBounds(videoBitsPerSecond: 4_096_000)
    for videos in 1...3 {
      bounds.count(sounds: 0, videos: videos)
      let now = start + .seconds(10 * videos)
      #expect(abs(most(of: .video, &bounds, size: 1_000, at: now) - videos * 512_000) <= 1_000)
    }
  }

  @Test func noClassTakesFromAnother() {
    var bounds = PublisherBounds(videoBitsPerSecond: 4_096_000)
    bounds.count(sounds: 1, videos: 1)
    for (kind, bytes) in [
      (IntakeClass.video, 512_000), (.sound, PublisherBounds.burstBytes), (.unrouted, PublisherBounds.burstBytes),
      (.control, 1_000_000),
    ] {
      #expect(abs(most(of: kind, &bounds, size: 1_024, at: start) - bytes) <= 1_024, "\(kind)")
    }
  }

  /// Small packets cost as much work as large ones: their number is bounded too.
  @Test func aSmallPacketCountsAsMuchAsTheLeast() {
    var bounds = PublisherBounds(videoBitsPerSecond: 1_024_000)
    bounds.count(sounds: 0, videos: 1)
    let packets = most(of: .video, &bounds, size: 20, at: start) / 20
    #expect(packets == PublisherBounds.burstBytes / PublisherBounds.leastBytes)
  }

  @Test func withoutABoundEverythingComesIn() {
    var bounds = PublisherBounds(videoBitsPerSecond: nil)
    bounds.count(sounds: 1, videos: 1)
    for kind in [IntakeClass.video, .sound, .unrouted, .control] {
      #expect(most(of: kind, &bounds, size: 1_200, at: start) == 100_000 * 1_200)
    }
  }

  /// Streams of one connection that are known: sixty-four, and not one more. A video track has two.
  @Test func sixtyFourStreamsAreKnown() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let id = try #require(call.worker.directory.transports[anna.key])
    for tracks in 1...33 {
      let track = call.publish(anna, .video)
      let known = call.worker.ends.transports[id].routes.incoming.count
      #expect(known == min(2 * tracks, Routes.maximumIncoming))
      let ssrc = try #require(call.layers(track).first).ssrc
      let isKnown = call.worker.ends.transports[id].routes.findIncoming(ssrc) != nil
      #expect(isKnown == (tracks <= 32))
    }
  }

  /// Anna sends sixty Mbit/s of video where two and a half are asked for. In the control nothing bounds it, and it all gets through.
  @Test(arguments: [true, false]) func aPublisherFarAboveTheBound(isBound: Bool) throws {
    var settings = WorkerState.Settings()
    if !isBound { settings.videoBitsPerSecond = nil }
    let call = try Call(settings: settings)
    let (anna, bert, cleo) = (try call.join("anna"), try call.join("bert"), try call.join("cleo", room: 2))
    let dora = try call.join("dora", room: 2)
    let (flood, sound) = (call.publish(anna, .video, layers: [250]), call.publish(anna, .audio))
    let other = call.publish(cleo, .video, layers: [3])
    let (seen, heard) = (call.subscribe(bert, to: flood), call.subscribe(bert, to: sound))
    let beside = call.subscribe(dora, to: other)
    for peer in call.peers {
      for stream in peer.streams.indices { peer.streams[stream].asksAgain = false }
    }
    call.run(.seconds(4))

    let dropped = call.worker.counters.drops[.overBitrate]
    let received = try #require(call.stream(seen)).ordered
    let rate = received.reduce(0) { $0 + $1.length * 8 } / 4
    if isBound {
      // A second at once, and what four seconds bring.
      #expect((2_500_000...6_600_000).contains(rate), "\(rate) bits a second")
      #expect(dropped > 15_000)
    } else {
      #expect(rate > 40_000_000 && dropped == 0, "\(rate) bits a second, \(dropped) dropped")
    }
    // Anna's sound is whole, and so is what others send.
    let voice = try #require(call.stream(heard))
    #expect(voice.problems == [] && voice.ordered.count > 180)
    let gaps = voice.ordered.compactMap(\.stamp?.frame)
    #expect(zip(gaps, gaps.dropFirst()).allSatisfy { $0 + 1 == $1 })
    let picture = try #require(call.stream(beside))
    #expect(picture.problems == [] && picture.frames.count > 100)
  }

  /// What is dropped on purpose is not asked for: it would make what is too much still more. In the control packets are lost on the way,
  /// and Anna is asked for them.
  @Test(arguments: [true, false]) func whatIsCutIsNotAskedFor(isCut: Bool) throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let video = call.publish(anna, .video, layers: [isCut ? 60 : 8])
    let seen = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    if !isCut { anna.uplink.loss = 0.02 }
    call.run(.seconds(1))
    let dropped = call.worker.counters.drops[.overBitrate]
    let told = call.events.compactMap {
      if case .transportExceeds(let key, let what, let limit) = $0.event { (key, what, limit) } else { nil }
    }
    if isCut {
      #expect(dropped > 800 && anna.nackedByServer == 0, "\(dropped) dropped, \(anna.nackedByServer) asked for")
      #expect(told.count == 1 && told[0] == (anna.key, .video, 5_000_000), "said once a minute")
    } else {
      #expect(dropped == 0 && anna.nackedByServer > 0 && told.isEmpty)
    }
    #expect(try #require(call.stream(seen)).ordered.count > 300, "what is within the bound gets through")
  }

  @Test func itIsToldOnceAMinute() {
    var bounds = PublisherBounds(videoBitsPerSecond: 4_000_000)
    bounds.count(sounds: 2, videos: 3)
    #expect(bounds.takeNews(of: .video, at: start) == 12_000_000)
    #expect(bounds.takeNews(of: .sound, at: start + .seconds(1)) == nil)
    #expect(bounds.takeNews(of: .video, at: start + .milliseconds(59_999)) == nil)
    #expect(bounds.takeNews(of: .sound, at: start + .seconds(60)) == 3_200_000)
    #expect(bounds.takeNews(of: .control, at: start + .seconds(120)) == 8_000_000)
    #expect(bounds.takeNews(of: .unrouted, at: start + .seconds(180)) == 1_000_000)
  }

  /// Who forges Anna's address takes nothing from what Anna may send: only what is authentic counts.
  @Test func forgedPacketsTakeNothingFromTheBound() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let video = call.publish(anna, .video, layers: [3])
    let seen = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    let ssrc = try #require(call.layers(video).first).ssrc
    var forged = [UInt8](repeating: 0xa5, count: 1_200)
    forged[0] = 0x80
    forged[1] = 96
    for index in 0..<4 { forged[8 + index] = UInt8(truncatingIfNeeded: ssrc >> UInt32(24 - 8 * index)) }
    let before = call.worker.counters.drops
    for turn in 0..<200 {
      for number in 0..<50 {
        let sequence = turn * 50 + number
        (forged[2], forged[3]) = (UInt8(truncatingIfNeeded: sequence >> 8), UInt8(truncatingIfNeeded: sequence))
        call.inject(forged, from: anna.path)
      }
      call.run(.milliseconds(5))
    }
    let after = call.worker.counters.drops
    #expect(after[.overBitrate] == before[.overBitrate])
    #expect(after[.authentication] + after[.replayed] - before[.authentication] - before[.replayed] == 10_000)
    let stream = try #require(call.stream(seen))
    #expect(stream.problems == [] && stream.frames.count >= 55)
  }
}
