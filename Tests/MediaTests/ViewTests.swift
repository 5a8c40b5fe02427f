// A view: a stream whose track the server exchanges, or that shows nothing. Its receiver sees one stream all the while.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ViewTests {
  /// Publishers of three kinds in a room, and one who has a view.
  private struct Room {
    let call: Call
    let viewer: VirtualPeer
    let tracks: [ProducerKey]
    let view: ConsumerKey

    init(seed: UInt64 = 5) throws {
      let call = try Call(seed: seed)
      let publishers = try ["anna", "bert", "cleo"].map { try call.join($0) }
      self.call = call
      viewer = try call.join("dora")
      tracks = [
        call.publish(publishers[0], .video), call.publish(publishers[1], .video, codec: .h264ConstrainedBaseline),
        call.publish(publishers[2], .video, layers: [1, 3]),
      ]
      view = call.subscribe(viewer, to: nil)
      call.run(.seconds(1))
    }

    var stream: ReceivedStream? { call.stream(view) }
    func show(_ track: Int?) { call.apply(.show(view, track.map { tracks[$0] })) }

    /// When what a track begins with was sent to the view, and under which time stamp.
    func starts(_ track: Int) -> [(at: Instant, timestamp: UInt32)] {
      call.events.compactMap {
        guard case .consumerStarted(view, tracks[track], let timestamp) = $0.event else { return nil }
        return ($0.at, timestamp)
      }
    }
  }

  @Test func anEmptyViewCostsNothing() throws {
    let room = try Room()
    #expect(room.stream?.packets.isEmpty == true && room.call.layers(room.tracks[0])[0].requests == 0)
    room.show(0)
    room.call.run(.seconds(1))
    #expect((room.stream?.frames.count ?? 0) > 25)
    room.show(nil)
    room.call.run(.milliseconds(50))
    let count = room.stream?.packets.count
    let deaf = room.call.worker.counters.drops[.noConsumer]
    room.viewer.requestKeyframe(room.view)
    room.call.run(.seconds(1))
    #expect(room.stream?.packets.count == count && room.call.worker.counters.drops[.noConsumer] > deaf)
    #expect(room.stream?.problems == [] && room.call.brokenRules() == [])
  }

  @Test func aViewTellsWithWhichPictureATrackBegins() throws {
    let room = try Room()
    for track in [0, 1, 2, 0] {
      room.show(track)
      room.call.run(.milliseconds(700))
    }
    let packets = try #require(room.stream?.ordered)
    #expect(room.starts(0).count == 2 && room.starts(1).count == 1 && room.starts(2).count == 1)
    for track in room.tracks.indices {
      for start in room.starts(track) {
        let first = try #require(packets.first { $0.timestamp == start.timestamp })
        #expect(first.stamp?.producer == room.tracks[track].value && first.info.startsKeyframe)
        let before = packets.last { Int32(bitPattern: $0.timestamp &- start.timestamp) < 0 }
        #expect(before?.stamp?.producer != room.tracks[track].value)
      }
    }
    #expect(room.stream?.problems == [])
  }

  /// Each publisher sends keyframes only when asked. Where the newest one is too old for the cache, one is asked for.
  @Test func aThousandSwitches() throws {
    let room = try Room()
    var dice = SplitMix64(seed: 77)
    var (shown, slowest) = (0, TimeDelta.zero)
    room.show(0)
    room.call.run(.milliseconds(500))
    for _ in 0..<1_000 {
      shown = (shown + 1 + Int(dice.next() % 2)) % 3
      let (asked, before) = (room.call.now, room.starts(shown).count)
      room.show(shown)
      room.call.run(.milliseconds(80 + Int(dice.next() % 100)))
      let starts = room.starts(shown)
      guard starts.count == before + 1, let start = starts.last else {
        Issue.record("no picture of \(shown) within \(room.call.now - asked)")
        continue
      }
      slowest = max(slowest, start.at - asked)
    }
    #expect(slowest < .milliseconds(150), "\(slowest)")
    #expect(room.stream?.problems == [])
    #expect(room.stream?.codecs.count ?? 0 > 300)
    #expect(room.call.brokenRules() == [])
  }

  /// Of what a connection may cost publishers one is left: the next change is good for a keyframe, and the one after it has to wait.
  @Test func aHundredKeyframesMayBeOwedAndNotOneMore() throws {
    let call = try Call(seed: 6)
    let tracks = try (0..<2).map { call.publish(try call.join("p\($0)"), .video, layers: [5]) }
    let dora = try call.join("dora")
    let streams = tracks.map { call.subscribe(dora, to: $0) }
    // What the beginning cost is earned again.
    call.run(.seconds(30))
    let id = try #require(call.worker.directory.transports[dora.key])
    for number in 0..<99 {
      let wait = call.worker.ends.transports[id].keyframeAllowance.take(at: call.now)
      #expect(wait == nil, "\(number)")
    }
    let before = call.worker.counters.drops[.tooManyRequests]
    for (stream, refused) in zip(streams, [0, 1] as [UInt64]) {
      call.apply(.setPaused(stream, true))
      call.apply(.setPaused(stream, false))
      #expect(call.worker.counters.drops[.tooManyRequests] == before + refused)
    }
  }

  /// One receiver stops and goes on with eight pictures in turn, which are too much for the cache, ten times a second. Their publishers
  /// are asked for the keyframes of a bucket, and for four a second from then on: without it, for two of each. None of the pictures
  /// stands still for long when that is over.
  @Test func whoChangesEverythingAllTheTimeCostsFewKeyframes() throws {
    let call = try Call(seed: 6)
    let tracks = try (0..<8).map { call.publish(try call.join("p\($0)"), .video, layers: [5]) }
    let dora = try call.join("dora")
    let streams = tracks.map { call.subscribe(dora, to: $0) }
    call.run(.seconds(3))
    func requests() -> Int { tracks.reduce(0) { $0 + call.layers($1).reduce(0) { $0 + $1.requests } } }
    let before = requests()
    for _ in 0..<100 {
      for stream in streams {
        call.apply(.setPaused(stream, true))
        call.apply(.setPaused(stream, false))
      }
      call.run(.milliseconds(100))
    }
    let asked = requests() - before
    #expect(asked > 64 && asked <= 100 + 4 * 10 + tracks.count, "\(asked)")
    #expect(call.worker.counters.drops[.tooManyRequests] > 0)
    call.run(.seconds(3))
    let stopped = call.now
    call.run(.milliseconds(500))
    for stream in streams {
      let completed = try #require(call.stream(stream)).completed(since: stopped)
      #expect(completed.count > 10)
    }
    #expect(call.brokenRules() == [])
  }

  /// As above, and whenever a picture is waited for its receiver says that it cannot decode: that is not the way round the bucket.
  @Test func toAskForWhatIsOwedCostsTheSame() throws {
    let call = try Call(seed: 7)
    let tracks = try (0..<16).map { call.publish(try call.join("p\($0)"), .video, layers: [5]) }
    let dora = try call.join("dora")
    let streams = tracks.map { call.subscribe(dora, to: $0) }
    call.run(.seconds(3))
    func requests() -> Int { tracks.reduce(0) { $0 + call.layers($1).reduce(0) { $0 + $1.requests } } }
    func change() {
      for stream in streams {
        call.apply(.setPaused(stream, true))
        call.apply(.setPaused(stream, false))
      }
    }
    for _ in 0..<100 {
      change()
      call.run(.milliseconds(100))
    }
    // The bucket is empty. From now on it is four a second.
    let before = requests()
    for _ in 0..<100 {
      change()
      for stream in streams { dora.requestKeyframe(stream) }
      call.run(.milliseconds(100))
    }
    let asked = requests() - before
    #expect(asked > 20 && asked <= 4 * 10 + tracks.count, "\(asked)")
  }

  @Test func aViewShowsVideoAlone() throws {
    let room = try Room()
    let sound = room.call.publish(room.call.peers[0], .audio)
    let before = room.call.worker.counters.staleCommands
    room.call.apply(.show(room.view, sound))
    room.call.apply(.show(room.view, ProducerKey(9_999)))
    room.call.apply(.show(ConsumerKey(9_999), nil))
    #expect(room.call.worker.counters.staleCommands == before + 3)
    room.call.run(.milliseconds(500))
    #expect(room.stream?.packets.isEmpty == true)
  }

  /// A paused view is switched at no cost: its publisher is asked for nothing until it goes on.
  @Test func aPausedViewAsksForNothing() throws {
    let room = try Room()
    room.call.apply(.setPaused(room.view, true))
    room.show(2)
    room.call.run(.seconds(1))
    #expect(room.stream?.packets.isEmpty == true && room.call.layers(room.tracks[2]).allSatisfy { $0.requests == 0 })
    room.call.apply(.setPaused(room.view, false))
    room.call.run(.seconds(1))
    #expect(room.stream?.problems == [] && (room.stream?.frames.count ?? 0) > 20)
  }

  /// On a thin line the view that matters more is sent, and the other is held. One that shows nothing takes no part, and one that is
  /// emptied is held no longer.
  @Test func viewsShareAThinLineByPriority() throws {
    let call = try Call(seed: 9)
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let dora = try call.join("dora") { $0.reportsArrivals = true }
    let tracks = [call.publish(anna, .video, layers: [5]), call.publish(bert, .video, layers: [5])]
    let views = (0..<3).map { _ in call.subscribe(dora, to: nil) }
    for (index, track) in tracks.enumerated() { call.apply(.show(views[index], track, priority: index * 5)) }
    dora.downlink.rate = 1_500_000
    call.run(.seconds(20))
    func held(_ view: ConsumerKey) -> Bool? {
      call.events.compactMap { if case .consumerPaused(view, let held) = $0.event { held } else { nil } }.last
    }
    #expect(held(views[0]) == true && held(views[1]) != true && held(views[2]) == nil)
    call.apply(.show(views[0], nil))
    call.run(.milliseconds(100))
    #expect(held(views[0]) == false)
    call.run(.seconds(5))
    #expect(held(views[1]) != true && call.brokenRules() == [])
  }
}
