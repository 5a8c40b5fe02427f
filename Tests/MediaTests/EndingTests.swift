// Ends of streams: BYE both ways, and what must be forgotten or remembered when streams come and go for days.

import Basics
import Forwarding
import RTP
import SRTP
import Testing

@testable import Media

struct EndingTests {
  @Test(arguments: EndingScenarios.all) func endings(_ scenario: Scenario) throws { try scenario.play() }

  private func sendingStreams(_ call: Call, _ peer: VirtualPeer) throws -> Int {
    let id = try #require(call.worker.directory.transports[peer.key])
    return call.worker.ends.transports[id].security.sendingStreams
  }

  /// Each subscription has an SSRC of its own, and each was sent on.
  @Test func subscriptionsThatComeAndGoLeaveNothingBehind() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let audio = call.publish(anna, .audio)
    call.run(.milliseconds(500))
    for _ in 0..<300 {
      let consumer = call.subscribe(bert, to: audio)
      call.run(.milliseconds(60))
      bert.retired.formUnion(bert.streams.map(\.ssrc))
      bert.streams.removeAll()
      call.apply(.removeConsumer(consumer))
    }
    // What is left is the reporter's.
    #expect(try sendingStreams(call, bert) <= 1)
    #expect(bert.rtpReceived > 600)
    #expect(bert.replays == 0 && bert.unopened == 0)
    let last = call.subscribe(bert, to: audio)
    call.run(.milliseconds(500))
    #expect(try #require(call.stream(last)).frames.count > 20)
    #expect(call.worker.counters.drops[.sealFailed] == 0)
  }

  /// A camera switched on and off, each time with new SSRCs: more of them than the server keeps replay windows for.
  @Test func tracksThatComeAndGoGoOnWorking() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    call.run(.milliseconds(500))
    for round in 0..<300 {
      let video = call.publish(anna, .video)
      let consumer = call.subscribe(bert, to: video)
      call.run(.milliseconds(70))
      #expect(call.stream(consumer)?.packets.isEmpty == false, "round \(round)")
      bert.retired.formUnion(bert.streams.map(\.ssrc) + bert.streams.compactMap(\.rtxSSRC))
      bert.streams.removeAll()
      call.stopPublishing(video)
    }
    #expect(call.brokenRules() == [])
  }
}

enum EndingScenarios {
  static let all: [Scenario] = [
    Scenario(
      "a receiver hears BYE for what ends, and for everything when the seat does",
      PathScenarios.pair,
      Step("bert also hears anna, and then unsubscribes from her picture") { stage in
        try stage.publish("anna", .audio)
        try stage.subscribe("bert", "anna.audio")
        stage.call.run(.milliseconds(1_500))
        let video = try stage.stream("bert", "anna.video")
        stage.call.apply(.removeConsumer(try stage.consumer("bert", "anna.video")))
        stage.call.run(.milliseconds(50))
        #expect(try stage.person("bert").byes == [video.ssrc, try #require(video.rtxSSRC)])
        #expect(try stage.person("bert").names[video.ssrc] == "anna")
      },
      Step("anna's microphone is unpublished") { stage in
        let audio = try stage.stream("bert", "anna.audio")
        stage.call.stopPublishing(try stage.track("anna.audio"))
        stage.call.run(.milliseconds(50))
        #expect(try stage.person("bert").byes.suffix(1) == [audio.ssrc])
      },
      Step("bert's seat is closed: the server's own reports end too") { stage in
        try stage.subscribe("bert", "anna.video")
        stage.call.run(.milliseconds(500))
        let (bert, video) = (try stage.person("bert"), try stage.stream("bert", "anna.video"))
        stage.call.apply(.closeTransport(bert.key))
        stage.call.run(.milliseconds(50))
        let last = Array(bert.byes.suffix(3))
        #expect(last.prefix(2) == [video.ssrc, try #require(video.rtxSSRC)] && bert.byes.count == 6)
        #expect(bert.isClosedByServer)
      }
    ),
    Scenario(
      "a publisher is told who reports to it",
      PathScenarios.pair,
      Step("after the first reports") { stage in
        stage.call.run(.milliseconds(1_500))
        let names = Set(try stage.person("anna").names.values)
        #expect(names == ["roost"])
      }
    ),
    Scenario(
      "a publisher's BYE ends the SSRC and not the track",
      PathScenarios.pair,
      Step("anna says BYE, and her sender begins anew at once under another SSRC") { stage in
        let (anna, key) = (try stage.person("anna"), try stage.track("anna.video"))
        anna.sendBye([try stage.layer("anna.video").ssrc])
        let ssrc = stage.call.makeSSRC()
        stage.call.track(key) { $0.restart(0, ssrc: ssrc, &stage.call.dice) }
        stage.call.run(.milliseconds(150))
        let after = try stage.stream("bert", "anna.video").ordered.filter { ($0.stamp?.frame ?? 0) > 1_000 }
        #expect(after.count >= 6 && after.first?.info.startsKeyframe == true)
        stage.call.run(.milliseconds(500))
        stage.expectCleanStreams()
      },
      Step("a sender that says BYE and goes on goes on") { stage in
        let frames = try stage.stream("bert", "anna.video").frames.count
        let anna = try stage.person("anna")
        anna.sendBye([try stage.layer("anna.video").ssrc])
        stage.call.run(.milliseconds(500))
        #expect(try stage.stream("bert", "anna.video").frames.count >= frames + 14)
        stage.expectCleanStreams()
      },
      Step("BYE for what is nobody's, and thirty-one times over, changes nothing") { stage in
        let anna = try stage.person("anna")
        let ssrc = try stage.layer("anna.video").ssrc
        let repair = try #require(try stage.layer("anna.video").rtxSSRC)
        for _ in 0..<100 { anna.sendBye(Array(repeating: ssrc, count: 20) + [repair, 1, 2, 3, 0]) }
        anna.sendBye([])
        let frames = try stage.stream("bert", "anna.video").frames.count
        stage.call.run(.milliseconds(500))
        #expect(try stage.stream("bert", "anna.video").frames.count >= frames + 14)
        #expect(stage.call.brokenRules() == [])
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "a layer that says BYE is followed by the next one down",
      SimulcastScenarios.begin,
      Step("the highest ends") { stage in
        try stage.person("anna").sendBye([try stage.layer("anna.video", 2).ssrc])
        try stage.change("anna.video") { $0.layers[2].isActive = false }
        stage.marks["ended"] = stage.call.now
        stage.call.run(.milliseconds(1_500))
        let ended = try #require(stage.marks["ended"])
        let stream = try stage.stream("bert", "anna.video")
        #expect(stream.layers.last == 1)
        let resumed = try #require(stream.ordered.first { $0.stamp?.layer == 1 && $0.arrival > ended })
        #expect(resumed.arrival - ended < .milliseconds(700))
        stage.expectCleanStreams()
      }
    ),
  ]
}
