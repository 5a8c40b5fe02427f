// What later offers and answers change about tracks that run: codecs, payload types, header extensions, SSRCs.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct AgreementTests {
  @Test(arguments: AgreementScenarios.all) func agreements(_ scenario: Scenario) throws { try scenario.play() }

  @Test func anotherSSRCIsAnotherStreamAndRefused() throws {
    var consumer = Consumer(parameters: AgreementScenarios.parameters(ssrc: 7), seed: 1)
    let before = consumer.parameters
    let changed = { (consumer: inout Consumer) in consumer.update(AgreementScenarios.parameters(ssrc: 8)) }
    #expect(!changed(&consumer) && consumer.parameters == before)
  }
}

enum AgreementScenarios {
  static func parameters(ssrc: UInt32) -> SendParameters {
    SendParameters(
      mid: "0", kind: .video, ssrc: ssrc, rtxSSRC: nil, payloads: Agreed.payloads(Agreed.subscriber, .video),
      extensions: Agreed.subscriberExtensions, nack: true)
  }

  /// Bert's client answers again.
  static func answer(_ stage: Stage, _ change: (inout SendParameters) -> Void) throws {
    let key = try stage.consumer("bert", "anna.video")
    let id = try #require(stage.call.worker.directory.consumers[key])
    var parameters = stage.call.worker.forwarder.consumers[id].consumer.parameters
    change(&parameters)
    let bert = try stage.person("bert")
    for index in bert.streams.indices where bert.streams[index].consumer == key {
      bert.streams[index].payloads = parameters.payloads
    }
    stage.call.apply(.updateConsumer(key, parameters: parameters))
  }

  static let all: [Scenario] = [
    Scenario(
      "other payload types go on under the same SSRC and numbers, from a keyframe",
      PathScenarios.pair,
      Step("bert answers with others") { stage in
        try answer(stage) {
          $0.payloads = [PayloadMapping(payloadType: 120, codec: .vp8, rtxPayloadType: 121)]
          $0.mid = "other"
        }
        stage.marks["answered"] = stage.call.now
        stage.call.run(.seconds(1))
        let answered = try #require(stage.marks["answered"])
        let stream = try stage.stream("bert", "anna.video")
        let after = stream.ordered.filter { $0.arrival > answered + .milliseconds(11) && !$0.isRepaired }
        #expect(after.count > 30 && after.allSatisfy { $0.payloadType == 120 })
        #expect(after.first?.info.startsKeyframe == true)
        let late = stream.unexpected.filter { $0 != "payload type 100" }
        #expect(late == [])
      },
      Step("and a loss is repaired under the new ones") { stage in
        try stage.person("bert").downlink = .losing(0.2)
        stage.call.run(.seconds(1))
        try stage.person("bert").downlink = .good
        stage.call.run(.milliseconds(500))
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.repaired > 3 && stream.problems.filter { $0 != "payload type 100" } == [])
      }
    ),
    Scenario(
      "a codec that the answer drops stops, and goes on with a keyframe when it is taken back",
      PathScenarios.pair,
      Step("bert takes H264 only; anna sends VP8") { stage in
        try answer(stage) { $0.payloads.removeAll { $0.codec == .vp8 } }
        stage.call.run(.milliseconds(100))
        stage.notes["packets"] = try stage.stream("bert", "anna.video").packets.count
        stage.call.run(.milliseconds(500))
        #expect(try stage.stream("bert", "anna.video").packets.count == stage.notes["packets"])
        #expect(stage.call.worker.counters.drops[.codecNotAccepted] > 10)
      },
      Step("bert takes both") { stage in
        try answer(stage) { $0.payloads = Agreed.payloads(Agreed.subscriber, .video) }
        stage.marks["back"] = stage.call.now
        stage.call.run(.milliseconds(600))
        let back = try #require(stage.marks["back"])
        let first = try stage.stream("bert", "anna.video").ordered.first { $0.arrival > back }
        #expect(first?.info.startsKeyframe == true)
        #expect(try stage.stream("bert", "anna.video").problems.allSatisfy { $0.hasPrefix("payload type") })
      }
    ),
    Scenario(
      "other header extensions and no RTX",
      PathScenarios.pair,
      Step("bert answers without retransmissions and extensions; what he had asked for finds nothing") { stage in
        let keyframes = try stage.layer("anna.video").keyframes
        let consumer = try stage.consumer("bert", "anna.video")
        let rtx = try #require(try stage.stream("bert", "anna.video").rtxSSRC)
        try answer(stage) {
          $0.rtxSSRC = nil
          $0.extensions = HeaderExtensionIDs()
        }
        let transport = try #require(stage.call.worker.directory.transports[try stage.person("bert").key])
        #expect(stage.call.worker.ends.transports[transport].routes.findOutgoing(rtx) == nil)
        try answer(stage) { $0.rtxSSRC = rtx }
        #expect(
          stage.call.worker.ends.transports[transport].routes.findOutgoing(rtx)
            == stage.call.worker.directory.consumers[consumer])
        stage.call.run(.milliseconds(500))
        // The codecs are the same: no keyframe was needed.
        #expect(try stage.layer("anna.video").keyframes == keyframes)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "an SSRC that a later offer tells is found without MID",
      PathScenarios.pair,
      Step("anna's sender has another SSRC and says it in SDP only") { stage in
        let (anna, key) = (try stage.person("anna"), try stage.track("anna.video"))
        let ssrc = stage.call.makeSSRC()
        stage.call.track(key) {
          $0.restart(0, ssrc: ssrc, &stage.call.dice)
          $0.taggedPackets = 0
        }
        let layer = try stage.layer("anna.video")
        stage.call.run(.milliseconds(300))
        #expect(stage.call.worker.counters.drops[.unknownStream] > 5)
        stage.call.apply(
          .updateProducer(
            key,
            parameters: ReceiveParameters(
              mid: "0", kind: .video, payloads: Agreed.payloads(Agreed.publisher, .video),
              extensions: Agreed.publisherExtensions,
              encodings: [EncodingParameters(ssrc: ssrc, rtxSSRC: layer.rtxSSRC)], nack: true)))
        stage.marks["told"] = stage.call.now
        stage.call.run(.milliseconds(600))
        let told = try #require(stage.marks["told"])
        let after = try stage.stream("bert", "anna.video").ordered.filter { $0.arrival > told + .milliseconds(11) }
        #expect(after.count > 15 && after.first?.info.startsKeyframe == true)
        #expect(anna.failure == nil)
        stage.expectCleanStreams()
      }
    ),
  ]
}
