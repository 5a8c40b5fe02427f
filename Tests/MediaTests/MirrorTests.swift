// What a mirror brings, and when: layers as their source has them, at once for whoever begins or goes on, with the clock of their publisher.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct MirrorTests {
  // MARK: layers

  /// Beside the publisher and behind the pipe, whoever watched a layer that comes no more is sent another one.
  @Test func aLayerThatComesNoMoreGivesWay() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [nil, 2, 2])
    let local = room.near.subscribe(try room.near.join("emil"), to: video)
    room.run(.seconds(4))
    #expect(room.far.stream(watching[0])?.ordered.last?.stamp?.layer == 2)
    room.near.track(video) { $0.layers[2].isActive = false }
    room.run(.seconds(3))
    #expect(room.age(of: local, at: room.near) < .milliseconds(500))
    for consumer in watching { #expect(room.age(of: consumer, at: room.far) < .milliseconds(500)) }
    // It comes back.
    room.near.track(video) {
      $0.layers[2].isActive = true
      $0.layers[2].wantsKeyframe = true
    }
    room.run(.seconds(3))
    for consumer in watching {
      let stream = try #require(room.far.stream(consumer))
      #expect(stream.ordered.last?.stamp?.layer == 2 && stream.problems == [])
      #expect(room.age(of: consumer, at: room.far) < .milliseconds(500))
    }
  }

  /// The publisher's line carries the lowest layer alone.
  @Test(arguments: [nil, 2, 1] as [Int?]) func whoBeginsIsSentWhatThereIs(wish: Int?) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [wish, wish, wish])
    room.near.track(video) { for layer in [1, 2] { $0.layers[layer].isActive = false } }
    let local = room.near.subscribe(try room.near.join("emil"), to: video, layer: wish)
    let begins = room.near.now
    room.run(.seconds(4))
    func first(_ consumer: ConsumerKey, at call: Call) throws -> TimeDelta {
      try #require(call.stream(consumer)?.completed(since: .zero).first) - begins
    }
    let beside = try first(local, at: room.near)
    for consumer in watching { #expect(try first(consumer, at: room.far) < beside + .milliseconds(300)) }
  }

  /// Layers of 240, 480 and 1,200 kbit/s, and a line of 400 or 600: the highest does not fit, and crosses for somebody else.
  @Test(arguments: [(400_000, true), (600_000, false)] as [(Int64, Bool)])
  func aSlowLineIsSentALowerLayer(rate: Int64, withOthers: Bool) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let anna = try room.near.join("anna")
    let bert = try room.far.join("bert")
    bert.reportsArrivals = true
    bert.downlink.rate = rate
    let video = room.near.publish(anna, .video, layers: [1, 2, 5])
    room.mirror(video, .video, publisher: anna)
    let slow = room.far.subscribe(bert, to: video)
    if withOthers { room.far.subscribe(try room.far.join("carl"), to: video) }
    room.run(.seconds(10))
    let held = room.far.count { if case .consumerPaused(slow, true) = $0 { true } else { false } }
    #expect(held == 0)
    let low = try #require(room.far.stream(slow)).packets.values.filter { $0.arrival > room.far.now - .seconds(5) }
    #expect(low.count > 100 && low.allSatisfy { $0.stamp.map { $0.layer < 2 } ?? true })
    bert.downlink.rate = 20_000_000
    room.run(.seconds(20))
    #expect(room.far.stream(slow)?.ordered.last?.stamp?.layer == 2)
    #expect(room.age(of: slow, at: room.far) < .milliseconds(500))
  }

  // MARK: at once

  /// How somebody begins to watch.
  enum Start: CaseIterable { case subscription, pause, view, unmute }

  @Test(arguments: Start.allCases) func whoeverBeginsIsBroughtTheTrackAtOnce(start: Start) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, bert) = (try room.near.join("anna"), try room.far.join("bert"))
    let video = room.near.publish(anna, .video, layers: [1])
    let sound = room.near.publish(anna, .audio)
    for (track, kind) in [(video, MediaKind.video), (sound, .audio)] { room.mirror(track, kind, publisher: anna) }
    var views: [ConsumerKey] = []
    if start == .pause { views = [video, sound].map { room.far.subscribe(bert, to: $0, paused: true) } }
    if start == .view { views = [room.far.subscribe(bert, to: nil)] }
    if start == .unmute {
      for key in [video, sound] {
        for call in [room.near, room.far] { call.apply(.setMuted(key, true)) }
        room.far.subscribe(bert, to: key)
      }
    }
    room.run(.milliseconds(30_110))
    #expect(room.packets.isEmpty)
    let requests = anna.tracks[0].layers[0].requests
    switch start {
    case .subscription: views = [video, sound].map { room.far.subscribe(bert, to: $0) }
    case .pause: for view in views { room.far.apply(.setPaused(view, false)) }
    case .view: room.far.apply(.show(views[0], video))
    case .unmute:
      for key in [video, sound] { for call in [room.near, room.far] { call.apply(.setMuted(key, false)) } }
    }
    room.run(.milliseconds(45))
    #expect(Set(room.packets.map(\.track)) == (start == .view ? [video] : [video, sound]))
    room.run(.seconds(1))
    #expect(anna.tracks[0].layers[0].requests == requests + 1)
    for stream in bert.streams { #expect(stream.frames.count > 25 && stream.problems == []) }
  }

  /// The other worker hears of a track before the publisher's does.
  @Test func aMirrorOfATrackThatIsNotThereYetIsBrought() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, bert) = (try room.near.join("anna"), try room.far.join("bert"))
    room.run(.seconds(1))
    let next = ProducerKey(room.near.makeKey() + 1)
    room.mirror(next, .video, publisher: anna, layers: 1)
    let watching = room.far.subscribe(bert, to: next)
    room.run(.milliseconds(500))
    try #require(room.near.publish(anna, .video, layers: [2]) == next)
    room.run(.seconds(2))
    #expect(room.frames(watching) > 25)
  }

  // MARK: what nobody watches

  @Test func whatNobodyWatchesIsNotLookedAt() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene(layers: [1, 2, 4])
    let sound = room.near.publish(anna, .audio)
    room.mirror(sound, .audio, publisher: anna)
    let heard = room.far.subscribe(room.far.peers[0], to: sound)
    room.run(.seconds(2))
    for consumer in watching + [heard] { room.far.apply(.removeConsumer(consumer)) }
    room.run(.seconds(30))
    room.forget()
    #expect(room.far.worker.dueCount == 0)
    room.run(.seconds(2))
    #expect(room.packets.isEmpty && room.messages.isEmpty && room.told.isEmpty)
    let again = room.far.subscribe(room.far.peers[1], to: video)
    room.run(.seconds(3))
    #expect(room.far.stream(again)?.ordered.last?.stamp?.layer == 2)
  }

  // MARK: clocks

  private func haveReports(_ call: Call, _ track: ProducerKey) -> [Bool] {
    let rows = call.worker.directory.producers[track].map { call.worker.tracks.producers[$0].declared } ?? []
    return rows.map { call.worker.tracks.encodings[$0].encoding.senderReport != nil }
  }

  /// The publisher's last report is older than what crosses.
  @Test func whatCrossesAnewHasItsClockAtOnce() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (anna, video, watching) = try room.scene(layers: [1, 2, 4], wishes: [0, 0, 0])
    room.run(.seconds(8))
    anna.sendsReports = false
    #expect(haveReports(room.near, video) == [true, true, true])
    #expect(haveReports(room.far, video) == [true, false, false])
    room.far.apply(.setLayer(watching[0], 2))
    room.run(.milliseconds(100))
    #expect(haveReports(room.far, video)[2])
    // And behind a mute.
    for muted in [true, false] {
      for call in [room.near, room.far] { call.apply(.setMuted(video, muted)) }
      room.run(.milliseconds(400))
    }
    #expect(haveReports(room.far, video)[2])
    let error = try #require(room.far.stream(watching[0])?.captureError())
    #expect(error < .milliseconds(20))
  }

  /// A publisher that sends no parameter sets describes them after its track was brought: they cross, though the mirror is not told. The
  /// control: its source is not told either.
  @Test(arguments: [true, false]) func laterParameterSetsReachMirrors(isTold: Bool) throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let anna = try room.near.join("anna")
    let bert = try room.far.join("bert")
    let video = room.near.publish(anna, .video, codec: .h264ConstrainedBaseline)
    room.near.track(video) { $0.sendsSets = false }
    room.mirror(video, .video, publisher: anna)
    let layer = room.near.layers(video)[0]
    var described = ReceiveParameters(
      mid: "0", kind: .video, payloads: Agreed.payloads(Agreed.publisher, .video),
      extensions: Agreed.publisherExtensions,
      encodings: [EncodingParameters(ssrc: layer.ssrc, rtxSSRC: layer.rtxSSRC)], nack: true)
    described.parameterSets = [TestPayload.sequenceSet, TestPayload.pictureSet]
    if isTold { room.near.apply(.updateProducer(video, parameters: described)) }
    let late = room.far.subscribe(bert, to: video)
    room.run(.seconds(2))
    let units = room.far.stream(late)?.ordered.prefix(2).map(\.info.units) ?? []
    #expect((units == [.sets, [.idr]]) == isTold, "\(units)")
    #expect(isTold == (room.frames(late) > 45))
  }

  /// A sender that begins anew while nobody hears it has another clock: it is not said of what crossed before.
  @Test func aReportIsOfTheStreamThatItIsAbout() throws {
    let room = try TwoWorkers()
    defer { room.end() }
    let (_, video, _) = try room.scene()
    room.run(.seconds(2))
    for call in [room.near, room.far] { call.apply(.setMuted(video, true)) }
    let ssrc = room.near.makeSSRC()
    room.near.track(video) { $0.restart(0, ssrc: ssrc, &room.near.dice) }
    room.run(.seconds(1))
    room.forget()
    room.run(.seconds(7))
    #expect(room.near.worker.tracks.encodings.count == 1 && haveReports(room.near, video) == [true])
    #expect(!room.told.contains { if case .report = $0 { true } else { false } })
    for call in [room.near, room.far] { call.apply(.setMuted(video, false)) }
    room.run(.milliseconds(200))
    #expect(haveReports(room.far, video) == [true])
  }
}
