// Subscribers that wish for a layer of a simulcast track: who gets which, when it changes, and whom it costs a keyframe.

import Basics
import Forwarding
import Media
import RTP
import Testing

struct LayerTests {
  @Test(arguments: LayerScenarios.all) func layers(_ scenario: Scenario) throws { try scenario.play() }
}

enum LayerScenarios {
  /// Layers told to the control plane, in order.
  static func told(_ stage: Stage, _ name: String, _ track: String = "anna.video") throws -> [Int] {
    let consumer = try stage.consumer(name, track)
    return stage.call.events.compactMap {
      if case .consumerLayer(consumer, let layer, _) = $0.event { layer } else { nil }
    }
  }

  static func set(_ stage: Stage, _ name: String, _ layer: Int?) throws {
    stage.call.apply(.setLayer(try stage.consumer(name, "anna.video"), layer))
  }

  static let begin = Step("anna sends three layers; bert wishes for the lowest, cleo for the second, dora for none") {
    stage in
    for name in ["anna", "bert", "cleo", "dora"] { try stage.join(name) }
    stage.call.run(.milliseconds(500))
    try stage.publish("anna", .video, layers: [1, 2, 5])
    try stage.subscribe("bert", "anna.video", layer: 0)
    try stage.subscribe("cleo", "anna.video", layer: 1)
    try stage.subscribe("dora", "anna.video")
    stage.call.run(.seconds(2))
  }

  static let all: [Scenario] = [
    Scenario(
      "everybody gets what he wishes for, from the first keyframe on",
      begin,
      Step("one layer each; dora climbs to the best") { stage in
        #expect(try stage.stream("bert", "anna.video").layers == [0])
        #expect(try stage.stream("cleo", "anna.video").layers == [1])
        #expect(try stage.stream("dora", "anna.video").layers.last == 2)
        #expect(try told(stage, "bert") == [0] && told(stage, "cleo") == [1])
        for name in ["bert", "cleo", "dora"] {
          let consumer = try stage.consumer(name, "anna.video")
          let started = stage.call.count { if case .consumerStarted(consumer, _, _) = $0 { true } else { false } }
          #expect(started == 1)
          #expect(try stage.stream(name, "anna.video").ordered.first?.info.startsKeyframe == true)
        }
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "a change of wish switches at a keyframe of that layer, and only that layer is asked for one",
      begin,
      Step("bert wishes for the highest") { stage in
        for layer in 0...2 { stage.notes["requests \(layer)"] = try stage.layer("anna.video", layer).requests }
        stage.notes["frames"] = try stage.stream("bert", "anna.video").frames.count
        try set(stage, "bert", 2)
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").layers == [0, 2])
        #expect(try told(stage, "bert") == [0, 2])
        for layer in 0...2 {
          let requests = try stage.layer("anna.video", layer).requests - (stage.notes["requests \(layer)"] ?? 0)
          #expect(requests == (layer == 2 ? 1 : 0), "layer \(layer)")
        }
        // Nothing is left out on the way: 30 frames a second, whichever layer they are of.
        #expect(try stage.stream("bert", "anna.video").frames.count - (stage.notes["frames"] ?? 0) >= 29)
      },
      Step("then for the second, the lowest, and whatever is best") { stage in
        for layer in [1, 0, nil] {
          try set(stage, "bert", layer)
          stage.call.run(.seconds(1))
        }
        #expect(try stage.stream("bert", "anna.video").layers == [0, 2, 1, 0, 2])
        #expect(try told(stage, "bert") == [0, 2, 1, 0, 2])
        #expect(try stage.stream("cleo", "anna.video").layers == [1])
        stage.expectCleanStreams()
        let error = try #require(try stage.stream("bert", "anna.video").captureError())
        #expect(error < .milliseconds(40))
      }
    ),
    Scenario(
      "the old layer goes on until the new one has its keyframe",
      begin,
      Step("anna does not answer requests for a while") { stage in
        try stage.change("anna.video") { $0.obeysKeyframeRequests = false }
        try set(stage, "cleo", 2)
        stage.notes["frames"] = try stage.stream("cleo", "anna.video").frames.count
        stage.call.run(.seconds(2))
        #expect(try stage.stream("cleo", "anna.video").layers == [1])
        #expect(try stage.stream("cleo", "anna.video").frames.count - (stage.notes["frames"] ?? 0) >= 58)
        try stage.change("anna.video") { $0.obeysKeyframeRequests = true }
        stage.call.run(.seconds(2))
        #expect(try stage.stream("cleo", "anna.video").layers == [1, 2])
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "while the wished layer does not arrive it is the next lower one, and that layer again when it does",
      begin,
      Step("the second stops") { stage in
        try stage.change("anna.video") { $0.layers[1].isActive = false }
        stage.call.run(.milliseconds(2_500))
        #expect(try stage.stream("cleo", "anna.video").layers == [1, 0])
      },
      Step("it comes back") { stage in
        try stage.change("anna.video") { $0.layers[1].isActive = true }
        stage.call.run(.milliseconds(2_500))
        #expect(try stage.stream("cleo", "anna.video").layers == [1, 0, 1])
      },
      Step("the lowest stops: bert gets the next higher one") { stage in
        try stage.change("anna.video") { $0.layers[0].isActive = false }
        stage.call.run(.milliseconds(2_500))
        #expect(try stage.stream("bert", "anna.video").layers == [0, 1])
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "wishes under loss stay one clean stream",
      begin,
      Step("bad networks") { stage in
        try stage.person("anna").uplink = .rough
        try stage.person("bert").downlink = .rough
        for turn in 0..<9 {
          try set(stage, "bert", [2, 0, 1][turn % 3])
          stage.call.run(.milliseconds(400))
        }
        try stage.person("anna").uplink = .good
        try stage.person("bert").downlink = .good
        stage.call.run(.seconds(2))
        #expect(try stage.stream("bert", "anna.video").layers.last == 1)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "wishes while muted or paused count afterwards",
      begin,
      Step("muted, then paused") { stage in
        let (track, bert) = (try stage.track("anna.video"), try stage.consumer("bert", "anna.video"))
        stage.call.apply(.setMuted(track, true))
        stage.call.run(.milliseconds(300))
        try set(stage, "bert", 2)
        stage.call.run(.milliseconds(300))
        stage.call.apply(.setMuted(track, false))
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").layers == [0, 2])
        stage.call.apply(.setPaused(bert, true))
        try set(stage, "bert", 1)
        stage.call.run(.milliseconds(300))
        stage.call.apply(.setPaused(bert, false))
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").layers == [0, 2, 1])
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "a wish goes along with a swap, and one that a track cannot meet means its highest layer",
      begin,
      Step("anna's other picture has one layer; bert swaps") { stage in
        try stage.join("emil")
        stage.call.run(.milliseconds(500))
        try stage.publish("emil", .video)
        try stage.subscribe("cleo", "emil.video", layer: 7)
        stage.call.run(.seconds(1))
        #expect(try stage.stream("cleo", "emil.video").frames.count > 25)
        let (a, b) = (try stage.consumer("cleo", "anna.video"), try stage.consumer("cleo", "emil.video"))
        stage.call.apply(.swap(a, b))
        stage.call.run(.seconds(2))
        #expect(try stage.stream("cleo", "emil.video").ordered.last?.stamp?.layer == 2)
        #expect(try stage.stream("cleo", "anna.video").ordered.last?.stamp?.layer == 0)
        #expect(try stage.stream("cleo", "anna.video").ordered.last?.stamp?.producer == stage.track("emil.video").value)
        stage.expectCleanStreams()
      }
    ),
  ]
}
