// Publishers that send no RTCP, and receivers who ask for more keyframes than they may.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ReportlessTests {
  /// Receivers are told when something came by the server's clock: sound and pictures are in step as they were sent.
  @Test func aPublisherWithoutReportsIsInStep() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    anna.sendsReports = false
    anna.uplink = .rough
    let consumers = [
      call.subscribe(bert, to: call.publish(anna, .audio)), call.subscribe(bert, to: call.publish(anna, .video)),
    ]
    call.run(.milliseconds(2_900))
    #expect(consumers.allSatisfy { call.stream($0)?.reports.isEmpty == true }, "a report may still come")
    call.run(.seconds(6))
    for consumer in consumers {
      let stream = try #require(call.stream(consumer))
      #expect(stream.reports.count > 2)
      let error = try #require(stream.captureError())
      // What came earliest counts, not what the jitter made of the last.
      #expect(error > .milliseconds(-8) && error < .milliseconds(8), "\(error)")
    }
  }

  /// Nothing is made up for who reports, late as the first report may be.
  @Test func whoReportsIsBelieved() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    anna.clockAhead = .seconds(7_200)
    let consumer = call.subscribe(bert, to: call.publish(anna, .video))
    call.run(.seconds(6))
    let stream = try #require(call.stream(consumer))
    let error = try #require(stream.captureError())
    #expect(stream.reports.count > 2 && error > .milliseconds(-8) && error < .milliseconds(8))
  }

  /// The fifth wish in a row is heard two seconds after the first at the latest, and once.
  @Test func aWishBeyondTheAllowanceIsPutOff() throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let video = call.publish(anna, .video)
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(10))
    for _ in 0..<4 {
      bert.requestKeyframe(consumer)
      call.run(.milliseconds(340))
    }
    let before = call.layers(video)[0].keyframes
    for _ in 0..<5 { bert.requestKeyframe(consumer) }
    call.run(.milliseconds(300))
    #expect(call.layers(video)[0].keyframes == before, "its allowance is used up")
    call.run(.milliseconds(1_800))
    #expect(call.layers(video)[0].keyframes == before + 1, "and holds")
  }

  /// What another receiver had asked for meanwhile will do.
  @Test func aWishThatHasComeTrueIsForgotten() throws {
    let call = try Call()
    let (anna, bert, cleo) = (try call.join("anna"), try call.join("bert"), try call.join("cleo"))
    let video = call.publish(anna, .video)
    let (consumer, other) = (call.subscribe(bert, to: video), call.subscribe(cleo, to: video))
    call.run(.seconds(10))
    for _ in 0..<4 {
      bert.requestKeyframe(consumer)
      call.run(.milliseconds(340))
    }
    bert.requestKeyframe(consumer)
    call.run(.milliseconds(100))
    cleo.requestKeyframe(other)
    call.run(.milliseconds(100))
    let before = call.layers(video)[0].keyframes
    call.run(.seconds(3))
    #expect(call.layers(video)[0].keyframes == before)
  }
}
