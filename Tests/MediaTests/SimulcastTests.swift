// A publisher with three layers: its receivers see one stream, whatever layer is behind it.

import Basics
import Forwarding
import Media
import RTP
import Testing

struct SimulcastTests {
  @Test(arguments: SimulcastScenarios.layers) func layers(_ scenario: Scenario) throws { try scenario.play() }
}

enum SimulcastScenarios {
  static let begin = Step("anna sends three layers, bert watches") { stage in
    try stage.join("anna")
    try stage.join("bert")
    try stage.publish("anna", .video, layers: [1, 2, 5])
    try stage.subscribe("bert", "anna.video")
    stage.call.run(.milliseconds(2_500))
  }

  static let layers: [Scenario] = [
    Scenario(
      "the highest layer that arrives is forwarded, found by RID",
      begin,
      Step("the third") { stage in
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.layers.last == 2)
        stage.expectCleanStreams()
        let consumer = try stage.consumer("bert", "anna.video")
        let told = stage.call.events.compactMap {
          if case .consumerLayer(consumer, let layer, _) = $0.event { layer } else { nil }
        }
        #expect(told == stream.layers.map(Int.init))
      }
    ),
    Scenario(
      "a layer that stops is followed by the next one down, and taken again when it returns",
      begin,
      Step("the highest stops") { stage in
        try stage.change("anna.video") { $0.layers[2].isActive = false }
        stage.marks["stopped"] = stage.call.now
        stage.call.run(.milliseconds(2_500))
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.layers.last == 1)
        let stopped = try #require(stage.marks["stopped"])
        let resumed = try #require(stream.ordered.first { $0.stamp?.layer == 1 && $0.arrival > stopped })
        #expect(resumed.arrival - stopped < .milliseconds(1_500))
      },
      Step("the second stops too") { stage in
        try stage.change("anna.video") { $0.layers[1].isActive = false }
        stage.call.run(.milliseconds(2_500))
        #expect(try stage.stream("bert", "anna.video").layers.last == 0)
      },
      Step("both come back") { stage in
        try stage.change("anna.video") { for layer in 1...2 { $0.layers[layer].isActive = true } }
        stage.call.run(.milliseconds(2_500))
        #expect(try stage.stream("bert", "anna.video").layers.last == 2)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "switching up and down under loss both ways stays one clean stream",
      Step("bad networks") { stage in
        try stage.join("anna")
        try stage.join("bert")
        try stage.person("anna").uplink = .rough
        try stage.person("bert").downlink = .rough
        try stage.publish("anna", .video, layers: [1, 2, 5])
        try stage.subscribe("bert", "anna.video")
      },
      .wait(2_000),
      Step("up and down, three times") { stage in
        for _ in 0..<3 {
          try stage.change("anna.video") { for layer in 1...2 { $0.layers[layer].isActive = false } }
          stage.call.run(.milliseconds(1_700))
          try stage.change("anna.video") { for layer in 1...2 { $0.layers[layer].isActive = true } }
          stage.call.run(.milliseconds(1_700))
        }
        try stage.person("anna").uplink = .good
        try stage.person("bert").downlink = .good
      },
      .wait(1_000),
      Step("clean") { stage in
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.layers.count > 5)
        stage.expectCleanStreams()
        #expect(stream.repaired > 5)
      }
    ),
    Scenario(
      "a repaired stream finds its layer by its repaired RID",
      begin,
      Step("one packet of the highest layer is lost") { stage in
        stage.notes["repaired"] = 0
        let before = try stage.person("anna").nackedByServer
        var lost = false
        stage.call.loses = { _, sent in
          guard !lost, !sent.isRetransmission, sent.stamp?.layer == 2, sent.stamp?.index == 1 else { return false }
          lost = true
          return true
        }
        stage.call.run(.milliseconds(500))
        #expect(try stage.person("anna").nackedByServer == before + 1)
        stage.expectCleanStreams()
      }
    ),
  ]
}
