// Newcomers who begin with the keyframe that somebody else has asked for.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ReplayTests {
  @Test(arguments: ReplayScenarios.all) func replay(_ scenario: Scenario) throws { try scenario.play() }
}

enum ReplayScenarios {
  /// cleo is connected, and anna has just sent a keyframe because bert asked for it.
  private static let justNow = Step("cleo is there, and anna sends a keyframe") { stage in
    try stage.join("cleo")
    stage.call.run(.milliseconds(700))
    try stage.person("bert").requestKeyframe(try stage.consumer("bert", "anna.video"))
    let before = try stage.layer("anna.video").keyframes
    stage.call.run(.milliseconds(300))
    #expect(try stage.layer("anna.video").keyframes == before + 1)
    stage.notes["requests"] = try stage.layer("anna.video").requests
    stage.notes["keyframes"] = try stage.layer("anna.video").keyframes
  }

  private static func subscribe(_ stage: Stage) throws {
    stage.marks["subscribed"] = stage.call.now
    try stage.subscribe("cleo", "anna.video")
    stage.call.run(.milliseconds(500))
  }

  static let all = [
    Scenario(
      "who subscribes right behind a keyframe begins with it, and nobody is asked for another",
      RoomScenarios.pair, justNow,
      Step("cleo subscribes") { stage in
        try subscribe(stage)
        #expect(try stage.layer("anna.video").requests == stage.notes["requests"])
        #expect(try stage.layer("anna.video").keyframes == stage.notes["keyframes"])
        let stream = try stage.stream("cleo", "anna.video")
        let first = try #require(stream.ordered.first)
        #expect(first.info.startsKeyframe)
        // One way to her and back, and no way to anna.
        #expect(first.arrival - (stage.marks["subscribed"] ?? .zero) < .milliseconds(40))
        #expect(stream.frames.count > 18)
        stage.expectCleanStreams()
      },
      Step("her picture and anna's sound are told to be of their own time") { stage in
        try stage.subscribe("cleo", "anna.audio")
        stage.call.run(.seconds(6))
        // A report tells it of the packets that are live: those of the last second.
        let live = try stage.stream("cleo", "anna.video").ordered.suffix(20)
        let report = try #require(try stage.stream("cleo", "anna.video").reports.last?.report)
        for packet in live {
          let capture = Double(try #require(packet.stamp).capture) / 1e6
          let ticks = Double(Int32(bitPattern: packet.timestamp &- report.rtpTimestamp))
          let ntp =
            Double(report.ntp.value >> 32) * 1_000 + Double(report.ntp.value & 0xffff_ffff) / 4_294_967_296 * 1_000
          // By the server's clock, which a report of anna's reaches after its way.
          let way = Link.good.delay.seconds * 1_000
          #expect(abs(ntp + ticks / 90 - way - capture) < 2)
        }
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "what was sent while a track was muted is shown to nobody",
      RoomScenarios.pair, justNow,
      Step("anna is muted, and no longer, and cleo subscribes") { stage in
        stage.call.apply(.setMuted(try stage.track("anna.video"), true))
        stage.call.run(.milliseconds(100))
        stage.call.apply(.setMuted(try stage.track("anna.video"), false))
        let unmuted = stage.call.now
        try subscribe(stage)
        let first = try #require(try stage.stream("cleo", "anna.video").ordered.first?.stamp)
        #expect(Instant(nanoseconds: first.capture) >= unmuted - .milliseconds(20))
        #expect(try stage.layer("anna.video").requests == (stage.notes["requests"] ?? 0) + 1)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "where the keyframe is too old another one is asked for",
      RoomScenarios.pair, justNow, .wait(1_500),
      Step("cleo subscribes") { stage in
        try subscribe(stage)
        #expect(try stage.layer("anna.video").requests == (stage.notes["requests"] ?? 0) + 1)
        stage.expectCleanStreams()
      }
    ),
  ]
}
