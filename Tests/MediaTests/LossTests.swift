// Loss on either side of the server, and what repairs it.

import Basics
import Forwarding
import Media
import RTP
import Testing

struct LossTests {
  @Test(arguments: LossScenarios.repair) func repair(_ scenario: Scenario) throws { try scenario.play() }
  @Test(arguments: LossScenarios.keyframes) func keyframes(_ scenario: Scenario) throws { try scenario.play() }
  @Test(arguments: [Link.good, .losing(0.1), .rough], [1, 2] as [UInt64])
  func transportWideFeedbackIsRight(_ uplink: Link, seed: UInt64) throws { try checkFeedback(uplink, seed: seed) }

  /// A publisher far away answers requests when 128 packets and more have been sent behind what was lost.
  @Test(arguments: [true, false]) func whatComesVeryLateGoesOutOnTheRTXStream(_ hasRTX: Bool) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let video = call.publish(anna, .video, layers: [12])
    let consumer = call.subscribe(bert, to: video, hasRTX: hasRTX)
    call.run(.seconds(1))
    anna.uplink.delay = .milliseconds(350)
    anna.downlink.delay = .milliseconds(350)
    call.run(.seconds(1))
    anna.uplink.loss = 0.02
    call.run(.seconds(5))
    anna.uplink.loss = 0
    call.run(.seconds(3))
    let drops = call.worker.counters.drops
    #expect(drops[.sealTooOld] == 0 && drops[.sealReplayed] == 0 && drops[.sealFailed] == 0)
    let stream = try #require(call.stream(consumer))
    #expect(hasRTX ? stream.repaired > 20 && drops[.tooLate] == 0 : drops[.tooLate] > 20)
    if hasRTX { #expect(stream.problems == []) }
  }

  private func checkFeedback(_ uplink: Link, seed: UInt64) throws {
    let call = try Call(seed: seed)
    let anna = try call.join("anna")
    call.publish(anna, .audio)
    call.publish(anna, .video, layers: [3])
    call.run(.milliseconds(500))
    anna.uplink = uplink
    call.run(.seconds(3))
    anna.uplink = .good
    call.run(.milliseconds(300))
    let cutoff = call.now - .milliseconds(150)
    let arrivals = try #require(call.arrivals[anna.index])
    let due = arrivals.filter { $0.value < cutoff }
    #expect(due.count > 300)
    #expect(anna.feedbacks > 25)
    let unreported = due.keys.filter { anna.reported[$0] == nil }
    #expect(unreported.isEmpty)
    let invented = anna.reported.keys.filter { arrivals[$0] == nil }
    #expect(invented.isEmpty)
    // Ticks of 250 µs on one clock: the reference time carries 64 ms units of it.
    for (number, ticks) in anna.reported {
      let arrival = try #require(arrivals[number]).nanoseconds / 250_000
      #expect(abs(ticks - arrival) <= 1, "number \(number)")
    }
  }
}

enum LossScenarios {
  static func pair(_ body: @escaping @Sendable (Stage) throws -> Void) -> Step {
    Step("anna publishes, bert subscribes, the network is bad") { stage in
      try stage.join("anna")
      try stage.join("bert")
      try stage.publish("anna", .audio)
      try stage.publish("anna", .video, layers: [3])
      try stage.subscribe("bert", "anna.audio")
      try stage.subscribe("bert", "anna.video")
      try body(stage)
    }
  }

  static let repair: [Scenario] = [
    Scenario(
      "ten percent lost by the publisher are asked for and come on RTX",
      pair { stage in
        stage.call.run(.seconds(1))
        try stage.person("anna").uplink = .losing(0.1)
      },
      Step("keyframes come in between: what was lost before one is repaired all the same") { stage in
        let (bert, video) = (try stage.person("bert"), try stage.consumer("bert", "anna.video"))
        for _ in 0..<7 {
          bert.requestKeyframe(video)
          stage.call.run(.milliseconds(571))
        }
      },
      Step("the picture is whole: bert had to ask for nothing that the server did not get") { stage in
        try stage.person("anna").uplink = .good
        stage.call.run(.milliseconds(700))
        stage.expectCleanStreams("anna.video")
        #expect(try stage.stream("bert", "anna.video").frames.count > 130)
        #expect(stage.call.worker.counters.nacksSent > 20)
        #expect(try stage.person("anna").nackedByServer > 20)
        // Sound has no RTX: what is lost is lost, and nothing else.
        #expect(try stage.stream("bert", "anna.audio").frames.count > 180)
      }
    ),
    Scenario(
      "ten percent lost by the subscriber are repaired from the cache",
      pair { try $0.person("bert").downlink = .losing(0.1) },
      .wait(4_000),
      Step("repaired, and anna never heard of it") { stage in
        try stage.person("bert").downlink = .good
        stage.call.run(.milliseconds(700))
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.problems == [])
        #expect(stream.repaired > 20)
        #expect(try stage.person("anna").nackedByServer == 0)
        #expect(stage.call.worker.counters.retransmitted >= UInt64(stream.repaired))
        #expect(try stage.layer("anna.video").keyframes <= 2)
      }
    ),
    Scenario(
      "loss, duplicates and reordering on both sides at once",
      pair { stage in
        stage.call.run(.seconds(1))
        try stage.person("anna").uplink = .rough
        try stage.person("bert").downlink = .rough
      },
      .wait(4_000),
      Step("whole in the end") { stage in
        try stage.person("anna").uplink = .good
        try stage.person("bert").downlink = .good
        stage.call.run(.milliseconds(700))
        stage.expectCleanStreams("anna.video")
        #expect(try stage.stream("bert", "anna.video").frames.count > 130)
      }
    ),
    Scenario(
      "probing padding and useless repetitions on RTX are dropped and disturb nothing",
      pair { $0.call.run(.seconds(1)) },
      Step("anna probes: padding alone, empty packets, old packets again") { stage in
        let anna = try stage.person("anna")
        let before = stage.call.worker.counters.drops[.uselessRetransmission]
        for turn in 0..<30 {
          let layer = try stage.layer("anna.video")
          let again = anna.tracks[1].again(layer.sequence &- 3, layer: 0)
          var probe = try #require(again)
          if turn % 3 == 1 { probe.body = [] }
          if turn % 3 == 2 { probe.body = [0] }
          anna.send(probe, at: stage.call.now)
          stage.call.run(.milliseconds(20))
        }
        stage.call.run(.milliseconds(200))
        #expect(stage.call.worker.counters.drops[.uselessRetransmission] == before + 30)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "an empty packet keeps its place in the numbering",
      pair { $0.call.run(.seconds(1)) },
      Step("anna pads her media stream itself") { stage in
        let anna = try stage.person("anna")
        for _ in 0..<10 {
          try stage.change("anna.video") { track in
            let now = stage.call.now
            track.next = now
            guard var padding = track.due(at: now).first else { return }
            track.layers[0].sequence = padding.header.sequenceNumber &+ 1
            track.layers[0].wantsKeyframe = true
            padding.body = []
            padding.sent.stamp = nil
            anna.send(padding, at: now)
          }
          stage.call.run(.milliseconds(50))
        }
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.ordered.count { $0.length == 0 } >= 10)
        #expect(stream.problems.allSatisfy { !$0.hasPrefix("missing") })
      }
    ),
    Scenario(
      "what was captured while muted does not come through when it is repaired after the unmute",
      pair { $0.call.run(.seconds(1)) },
      Step("the last packets of the muted time are lost and asked for") { stage in
        let video = try stage.track("anna.video")
        stage.call.apply(.setMuted(video, true))
        stage.marks["muted"] = stage.call.now
        stage.call.run(.milliseconds(300))
        var lost = 0
        stage.call.loses = { _, sent in
          guard sent.stamp?.producer == video.value, !sent.isRetransmission, sent.stamp?.index == 1, lost < 2 else {
            return false
          }
          lost += 1
          return true
        }
        // A keyframe among them, so that a leak could begin a stream.
        try stage.change("anna.video") { $0.layers[0].wantsKeyframe = true }
        stage.call.run(.milliseconds(68))
        stage.call.apply(.setMuted(video, false))
        stage.marks["unmuted"] = stage.call.now
        stage.call.run(.seconds(1))
        #expect(lost == 2)
        let (muted, unmuted) = (try #require(stage.marks["muted"]), try #require(stage.marks["unmuted"]))
        let leaked = try stage.stream("bert", "anna.video").ordered.filter {
          let capture = Instant(nanoseconds: $0.stamp?.capture ?? 0)
          return capture > muted && capture < unmuted - .milliseconds(11)
        }
        #expect(leaked.isEmpty)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "reordered sound is not thrown away, though nobody may ask for it again",
      pair { try $0.person("anna").uplink = Link(reordering: 0.2, reorderDelay: .milliseconds(50)) },
      .wait(3_000),
      Step("all of it arrived") { stage in
        try stage.person("anna").uplink = .good
        stage.call.run(.milliseconds(200))
        stage.expectCleanStreams("anna.audio")
        #expect(stage.call.worker.counters.keyframeRequestsSent <= 3)
      }
    ),
    Scenario(
      "a long hole in the sound asks nobody for a keyframe",
      pair { $0.call.run(.seconds(1)) },
      Step("four seconds of nothing") { stage in
        let before = try stage.layer("anna.audio").requests
        try stage.person("anna").uplink.isCut = true
        stage.call.run(.seconds(4))
        try stage.person("anna").uplink.isCut = false
        stage.call.run(.seconds(3))
        #expect(try stage.layer("anna.audio").requests == before)
        let arrival = try #require(try stage.stream("bert", "anna.audio").ordered.last?.arrival)
        #expect(stage.call.now - arrival < .milliseconds(60))
      }
    ),
  ]

  static let keyframes: [Scenario] = [
    Scenario(
      "a keyframe whose first packet comes late still starts the stream with all of it",
      pair { $0.call.run(.seconds(1)) },
      Step("cleo joins; the first packet of the keyframe for her is lost once") { stage in
        try stage.join("cleo")
        stage.call.run(.seconds(1))
        var lost = 0
        stage.call.loses = { _, sent in
          guard lost == 0, let stamp = sent.stamp, stamp.isKeyframe, stamp.count > 1, stamp.index == 0 else {
            return false
          }
          lost += 1
          return true
        }
        try stage.subscribe("cleo", "anna.video")
        stage.call.run(.milliseconds(300))
        #expect(lost == 1)
      },
      Step("the whole keyframe reached her without her asking again") { stage in
        let stream = try stage.stream("cleo", "anna.video")
        #expect(stream.problems == [])
        #expect(stream.frames.count > 2)
        #expect(stream.repaired == 0)
      }
    ),
    Scenario(
      "a keyframe request that is lost is sent again",
      pair { $0.call.run(.seconds(1)) },
      Step("the way to anna is cut when cleo subscribes") { stage in
        try stage.comes("cleo", whileAnnaIsDeafFor: .milliseconds(800))
        #expect(try stage.stream("cleo", "anna.video").packets.isEmpty)
        stage.call.run(.milliseconds(800))
        #expect(try stage.stream("cleo", "anna.video").frames.count > 2)
        #expect(try stage.stream("cleo", "anna.video").problems == [])
      }
    ),
    Scenario(
      "too much lost to ask for: a keyframe mends it",
      pair { $0.call.run(.seconds(1)) },
      Step("two seconds of nothing") { stage in
        try stage.person("anna").uplink.isCut = true
        stage.call.run(.seconds(2))
        try stage.person("anna").uplink.isCut = false
        let before = try stage.layer("anna.video").keyframes
        stage.call.run(.seconds(1))
        #expect(try stage.layer("anna.video").keyframes > before)
        #expect(stage.call.worker.nextDeadline > stage.call.now)
      }
    ),
  ]
}
