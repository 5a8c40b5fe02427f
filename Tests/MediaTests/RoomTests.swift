// Whole rooms in virtual time: people who see and hear each other, come late, mute, pause, swap and leave.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct RoomTests {
  @Test(arguments: RoomScenarios.everyday) func everyday(_ scenario: Scenario) throws { try scenario.play() }
  @Test(arguments: RoomScenarios.changes) func changes(_ scenario: Scenario) throws { try scenario.play() }
  @Test(arguments: RoomScenarios.codecs) func codecs(_ scenario: Scenario) throws { try scenario.play() }
}

enum RoomScenarios {
  /// They come one after the other, seven milliseconds apart.
  private static let fifteenWatchAnna = Step("fifteen watch anna") { stage in
    try stage.join("anna")
    try stage.publish("anna", .video)
    for number in 1...15 {
      try stage.join("p\(number)")
      try stage.subscribe("p\(number)", "anna.video")
      stage.call.run(.milliseconds(7))
    }
  }

  /// anna publishes both kinds, bert watches.
  static let pair = Step("anna publishes, bert subscribes") { stage in
    try stage.join("anna")
    try stage.join("bert")
    try stage.publish("anna", .audio)
    try stage.publish("anna", .video)
    try stage.subscribe("bert", "anna.audio")
    try stage.subscribe("bert", "anna.video")
    stage.call.run(.seconds(1))
    stage.expectCleanStreams()
    #expect(try stage.stream("bert", "anna.video").frames.count > 20)
  }

  static let everyday: [Scenario] = [
    Scenario(
      "three participants hear and see each other as one clean stream each",
      Step("all join, publish both kinds and subscribe to the others") { stage in
        let names = ["anna", "bert", "cleo"]
        for name in names {
          try stage.join(name)
          try stage.publish(name, .audio)
          try stage.publish(name, .video)
        }
        for name in names {
          for other in names where other != name {
            try stage.subscribe(name, "\(other).audio")
            try stage.subscribe(name, "\(other).video")
          }
        }
      },
      .wait(4_000),
      Step("twelve clean streams, each of its publisher alone") { stage in
        stage.expectCleanStreams()
        for (key, subscription) in stage.call.subscriptions {
          let stream = try #require(stage.call.stream(key))
          #expect(stream.frames.count > (stream.kind == .audio ? 170 : 100))
          #expect(stream.producers == [try #require(subscription.producer).value])
          #expect(stream.duplicates == 0)
        }
        for person in stage.people.values { #expect(person.mediaBeforeKeys == 0) }
      }
    ),
    Scenario(
      "a late joiner gets a keyframe within one request",
      pair,
      Step("cleo joins and subscribes before her handshake is done") { stage in
        stage.notes["keyframes"] = try stage.layer("anna.video").keyframes
        stage.notes["requests"] = try stage.layer("anna.video").requests
        try stage.join("cleo")
        try stage.subscribe("cleo", "anna.video")
        try stage.subscribe("cleo", "anna.audio")
      },
      .wait(900),
      Step("she started with a keyframe, soon, and anna made no more than two") { stage in
        let stream = try stage.stream("cleo", "anna.video")
        #expect(stream.problems == [])
        #expect(stream.frames.count > 10)
        let first = try #require(stream.ordered.first)
        #expect(first.info.startsKeyframe)
        let layer = try stage.layer("anna.video")
        #expect(layer.keyframes - (stage.notes["keyframes"] ?? 0) <= 2)
        #expect(layer.requests - (stage.notes["requests"] ?? 0) <= 2)
        let started = try stage.consumer("cleo", "anna.video")
        let times = stage.call.events.compactMap {
          if case .consumerStarted(started, _, _) = $0.event { $0.at } else { nil }
        }
        #expect(times.count == 1)
        // The event tells of a packet that went out: no earlier than one network delay before its arrival.
        #expect(first.arrival - (times.first ?? .zero) < .milliseconds(12))
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "mute stops the track at the server, unmute starts with a keyframe and without a gap",
      pair,
      Step("anna is muted but goes on sending") { stage in
        stage.marks["muted"] = stage.call.now
        stage.call.apply(.setMuted(try stage.track("anna.video"), true))
        stage.call.apply(.setMuted(try stage.track("anna.audio"), true))
      },
      .wait(1_000),
      Step("unmuted") { stage in
        stage.marks["unmuted"] = stage.call.now
        stage.call.apply(.setMuted(try stage.track("anna.video"), false))
        stage.call.apply(.setMuted(try stage.track("anna.audio"), false))
      },
      .wait(1_000),
      Step("nothing of the muted time came through, and the streams go on cleanly") { stage in
        let (muted, unmuted) = (try #require(stage.marks["muted"]), try #require(stage.marks["unmuted"]))
        for track in ["anna.audio", "anna.video"] {
          let captures = try stage.stream("bert", track).ordered.compactMap { $0.stamp?.capture }
          let leaked = captures.filter { $0 > muted.nanoseconds && $0 < (unmuted - .milliseconds(11)).nanoseconds }
          #expect(leaked.isEmpty, "\(track)")
          let after = captures.filter { $0 > unmuted.nanoseconds }
          #expect(after.count > (track == "anna.audio" ? 45 : 50), "\(track)")
        }
        stage.expectCleanStreams()
        let resumed = try stage.stream("bert", "anna.video").ordered.first {
          ($0.stamp?.capture ?? 0) > (unmuted - .milliseconds(11)).nanoseconds
        }
        #expect(resumed?.info.startsKeyframe == true)
        #expect(stage.call.worker.counters.drops[.muted] > 50)
      }
    ),
    Scenario(
      "pause and resume of one subscription touch nobody else",
      pair,
      Step("cleo watches too; bert pauses") { stage in
        try stage.join("cleo")
        try stage.subscribe("cleo", "anna.video")
        stage.call.run(.seconds(1))
        stage.marks["paused"] = stage.call.now
        stage.call.apply(.setPaused(try stage.consumer("bert", "anna.video"), true))
      },
      .wait(700),
      Step("bert resumes") { stage in
        let paused = try #require(stage.marks["paused"])
        let late = try stage.stream("bert", "anna.video").ordered.filter { $0.arrival > paused + .milliseconds(11) }
        #expect(late.isEmpty)
        stage.call.apply(.setPaused(try stage.consumer("bert", "anna.video"), false))
      },
      .wait(600),
      Step("both streams are clean, and bert's moves again") { stage in
        stage.expectCleanStreams()
        let arrival = try #require(try stage.stream("bert", "anna.video").ordered.last?.arrival)
        #expect(stage.call.now - arrival < .milliseconds(60))
        #expect(try stage.stream("cleo", "anna.video").frames.count > 40)
      }
    ),
    Scenario(
      "a subscription that begins paused sends nothing until it is resumed",
      pair,
      Step("cleo subscribes paused") { stage in
        try stage.join("cleo")
        try stage.subscribe("cleo", "anna.video", paused: true)
      },
      .wait(700),
      Step("nothing came; resumed it starts with a keyframe") { stage in
        #expect(try stage.stream("cleo", "anna.video").packets.isEmpty)
        stage.call.apply(.setPaused(try stage.consumer("cleo", "anna.video"), false))
        stage.call.run(.milliseconds(500))
        #expect(try stage.stream("cleo", "anna.video").frames.count > 5)
        stage.expectCleanStreams()
      }
    ),
  ]

  static let changes: [Scenario] = [
    Scenario(
      "two consumers swap without a gap",
      Step("anna and bert publish, cleo watches both") { stage in
        for name in ["anna", "bert", "cleo"] { try stage.join(name) }
        for name in ["anna", "bert"] {
          try stage.publish(name, .video)
          try stage.publish(name, .audio)
          try stage.subscribe("cleo", "\(name).video")
          try stage.subscribe("cleo", "\(name).audio")
        }
      },
      .wait(1_000),
      Step("swapped, four times") { stage in
        for kind in ["video", "audio"] {
          for _ in 0..<4 {
            stage.call.apply(
              .swap(try stage.consumer("cleo", "anna.\(kind)"), try stage.consumer("cleo", "bert.\(kind)")))
            stage.call.run(.milliseconds(400))
          }
        }
      },
      Step("every stream showed both and is clean") { stage in
        let both = Set(try ["anna.video", "bert.video"].map { try stage.track($0).value })
        for name in ["anna.video", "bert.video"] {
          #expect(try stage.stream("cleo", name).producers == both)
          #expect(try stage.stream("cleo", name).frames.count > 60)
        }
        stage.expectCleanStreams()
      },
      Step("a swap of different kinds is refused") { stage in
        let before = stage.call.worker.counters.staleCommands
        stage.call.apply(.swap(try stage.consumer("cleo", "anna.video"), try stage.consumer("cleo", "anna.audio")))
        #expect(stage.call.worker.counters.staleCommands == before + 1)
      },
      Step("a subscription to pictures as sound is refused") { stage in
        let (before, consumers) = (stage.call.worker.counters.staleCommands, stage.call.worker.counters.consumers)
        let parameters = SendParameters(
          mid: "x", kind: .audio, ssrc: 77, rtxSSRC: nil, payloads: Agreed.payloads(Agreed.subscriber, .audio),
          extensions: Agreed.subscriberExtensions, nack: false)
        stage.call.apply(
          .addConsumer(
            ConsumerKey(77_777), producer: try stage.track("anna.video"), transport: stage.call.peers[2].key,
            parameters: parameters, paused: false))
        #expect(stage.call.worker.counters.staleCommands == before + 1)
        #expect(stage.call.worker.counters.consumers == consumers)
      }
    ),
    Scenario(
      "a producer is removed while its packets are under way",
      pair,
      Step("removed, with packets in the air both ways") { stage in
        try stage.person("bert").retired = [try stage.stream("bert", "anna.video").ssrc]
        stage.call.apply(.removeProducer(try stage.track("anna.video")))
        stage.marks["removed"] = stage.call.now
      },
      .wait(500),
      Step("what came later found no stream; the audio did not notice") { stage in
        let removed = try #require(stage.marks["removed"])
        let late = try stage.stream("bert", "anna.video").ordered.filter { $0.arrival > removed + .milliseconds(11) }
        #expect(late.isEmpty)
        #expect(stage.call.worker.counters.drops[.unknownStream] > 10)
        #expect(stage.call.worker.counters.consumers == 1)
        #expect(stage.call.worker.counters.producers == 1)
        stage.expectCleanStreams()
        #expect(try stage.stream("bert", "anna.audio").frames.count > 60)
      }
    ),
    Scenario(
      "fifteen receivers' keyframe requests become one",
      fifteenWatchAnna,
      .wait(2_500),
      Step("all ask at once") { stage in
        stage.notes["requests"] = try stage.layer("anna.video").requests
        stage.notes["keyframes"] = try stage.layer("anna.video").keyframes
        for number in 1...15 {
          try stage.person("p\(number)").requestKeyframe(try stage.consumer("p\(number)", "anna.video"))
        }
      },
      .wait(400),
      Step("anna was asked once") { stage in
        let layer = try stage.layer("anna.video")
        #expect(layer.requests - (stage.notes["requests"] ?? 0) == 1)
        #expect(layer.keyframes - (stage.notes["keyframes"] ?? 0) == 1)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "reports to all receivers leave at moments that they share",
      fifteenWatchAnna,
      .wait(2_500),
      Step("each was told twice at least, all so long behind a multiple of the beat") { stage in
        let reports = try (1...15).flatMap { try stage.stream("p\($0)", "anna.video").reports }
        #expect(reports.count >= 30)
        let phases = Set(reports.map { $0.at.nanoseconds % Reporting.beat.nanoseconds / 1_000_000 })
        #expect(phases.count == 1, "\(phases) ms")
      }
    ),
    Scenario(
      "the loudest are the active speakers",
      pair,
      Step("anna speaks, bert whispers") { stage in
        try stage.publish("bert", .audio)
        try stage.change("bert.audio") { $0.level = 100 }
        stage.call.run(.seconds(1))
        #expect(try stage.call.lastSpeakers == [stage.track("anna.audio").value])
      },
      Step("bert speaks too, louder") { stage in
        try stage.change("bert.audio") { $0.level = 15 }
        stage.call.run(.seconds(1))
        #expect(
          try stage.call.lastSpeakers == [stage.track("bert.audio").value, stage.track("anna.audio").value])
      },
      Step("bert is muted") { stage in
        stage.call.apply(.setMuted(try stage.track("bert.audio"), true))
        stage.call.run(.seconds(1))
        #expect(try stage.call.lastSpeakers == [stage.track("anna.audio").value])
      },
      Step("anna leaves") { stage in
        stage.call.apply(.closeTransport(try stage.person("anna").key))
        stage.call.run(.seconds(1))
        #expect(stage.call.lastSpeakers == [])
      }
    ),
    Scenario(
      "sound and picture of one participant keep in step at the receiver",
      pair,
      .wait(2_500),
      Step("each stream's sender reports tell when it was captured") { stage in
        for track in ["anna.audio", "anna.video"] {
          let stream = try stage.stream("bert", track)
          #expect(stream.reports.count >= 2)
          let error = try #require(stream.captureError())
          #expect(error < .milliseconds(2), "\(track)")
        }
      },
      .wait(14_000),
      Step("what is known is told less often") { stage in
        for track in ["anna.audio", "anna.video"] {
          let times = try stage.stream("bert", track).reports.map(\.at)
          let gaps = zip(times.dropFirst(), times).map { ($0 - $1).milliseconds }
          #expect(gaps.prefix(2) == [1_000, 1_000] && gaps.count >= 4, "\(track): \(gaps)")
          #expect(gaps.dropFirst(3).allSatisfy { $0 == 5_000 }, "\(track): \(gaps)")
          stage.notes[track] = times.count
        }
      },
      Step("also after a mute") { stage in
        for track in ["anna.audio", "anna.video"] { stage.call.apply(.setMuted(try stage.track(track), true)) }
        stage.call.run(.seconds(1))
        for track in ["anna.audio", "anna.video"] { stage.call.apply(.setMuted(try stage.track(track), false)) }
        stage.call.run(.milliseconds(2_500))
        for track in ["anna.audio", "anna.video"] {
          let stream = try stage.stream("bert", track)
          #expect(stream.reports.count - (stage.notes[track] ?? 0) >= 2, "it begins anew, and so do its reports")
          let error = try #require(stream.captureError())
          #expect(error < .milliseconds(2), "\(track)")
        }
      }
    ),
    Scenario(
      "a publisher that restarts its sender under another SSRC goes on in the same stream",
      pair,
      Step("new SSRCs, new numbers, new time stamps") { stage in
        var dice = SplitMix64(seed: 5)
        let ssrcs = (stage.call.makeSSRC(), stage.call.makeSSRC())
        try stage.change("anna.video") { $0.restart(0, ssrc: ssrcs.0, &dice) }
        try stage.change("anna.audio") { $0.restart(0, ssrc: ssrcs.1, &dice) }
        stage.notes["video"] = try stage.stream("bert", "anna.video").frames.count
        stage.notes["audio"] = try stage.stream("bert", "anna.audio").frames.count
      },
      .wait(1_500),
      Step("both go on, cleanly") { stage in
        let video = try stage.stream("bert", "anna.video").frames.count
        #expect(video - (stage.notes["video"] ?? 0) > 35)
        let audio = try stage.stream("bert", "anna.audio").frames.count
        #expect(audio - (stage.notes["audio"] ?? 0) > 60)
        stage.expectCleanStreams()
      }
    ),
  ]

  static let codecs: [Scenario] = [
    Scenario(
      "a codec switch mid-stream reaches who accepts both, and passes over who accepts one",
      Step("anna sends VP8; bert takes VP8 and H264, cleo VP8 only, dora H264 only") { stage in
        for name in ["anna", "bert", "cleo", "dora"] { try stage.join(name) }
        try stage.publish("anna", .video)
        try stage.subscribe("bert", "anna.video")
        try stage.subscribe("cleo", "anna.video", codecs: [.vp8])
        try stage.subscribe("dora", "anna.video", codecs: [.h264ConstrainedBaseline])
      },
      .wait(1_000),
      Step("H264") { stage in
        #expect(try stage.stream("dora", "anna.video").packets.isEmpty)
        try stage.change("anna.video") {
          $0.codec = .h264ConstrainedBaseline
          $0.layers[0].wantsKeyframe = true
        }
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").codecs == [.vp8, .h264ConstrainedBaseline])
        #expect(try stage.stream("dora", "anna.video").frames.count > 20)
      },
      Step("VP8 again") { stage in
        try stage.change("anna.video") {
          $0.codec = .vp8
          $0.layers[0].wantsKeyframe = true
        }
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").codecs == [.vp8, .h264ConstrainedBaseline, .vp8])
        #expect(try stage.stream("cleo", "anna.video").codecs == [.vp8])
        #expect(try stage.stream("cleo", "anna.video").frames.count > 50)
        stage.expectCleanStreams()
      }
    )
  ]
}
