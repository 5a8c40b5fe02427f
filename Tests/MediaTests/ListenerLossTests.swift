// What publishers are told of their listeners' loss, so that their encoders add in-band FEC.

import Basics
import RTP
import Testing

@testable import Media

struct ListenerLossTests {
  /// Anna publishes sound, Bert and Cleo listen.
  private func room(reports: Bool = true, hasRED: Bool = false) throws -> (call: Call, heard: ConsumerKey) {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert") { $0.reportsArrivals = reports }
    let cleo = try call.join("cleo") { $0.reportsArrivals = true }
    let sound = call.publish(anna, .audio)
    let heard = call.subscribe(bert, to: sound, hasRED: hasRED)
    call.subscribe(cleo, to: sound)
    call.run(.seconds(8))
    return (call, heard)
  }

  private func told(_ call: Call, last: Int = 1) -> [UInt8] {
    call.peers[0].reportBlocks.suffix(last).map(\.fractionLost)
  }

  @Test func theWorstListenersLossIsTold() throws {
    let (call, _) = try room()
    #expect(told(call, last: 5) == [0, 0, 0, 0, 0])
    call.peers[1].downlink.loss = 0.12
    call.run(.seconds(20))
    #expect(
      told(call, last: 5).allSatisfy { (20...51).contains($0) },
      "about an eighth of 256, at least: \(told(call, last: 5))")
    #expect(call.peers[0].reportBlocks.last?.cumulativeLost == 0, "nothing of it was lost on the publisher's line")
    call.peers[1].downlink.loss = 0.5
    call.run(.seconds(20))
    #expect(told(call, last: 5) == [51, 51, 51, 51, 51], "a fifth at most")
    // Who leaves loses nothing.
    call.apply(.closeTransport(call.peers[1].key))
    call.run(.seconds(6))
    #expect(told(call) == [0])
  }

  /// Two bad seconds in five are none.
  @Test func aBurstIsNotTold() {
    var median = LossMedian()
    for value in [0, 90, 80, 0, 0] as [UInt8] { median.note(value) }
    #expect(median.median == 0)
    median.note(70)
    #expect(median.median == 70, "three of five are bad")
  }

  @Test(
    arguments: [
      ([], 0), ([9], 0), ([9, 9, 9], 9), ([1, 2, 3, 4, 5], 3), ([5, 4, 3, 2, 1], 3), ([7, 7, 1, 1, 7], 7),
      ([1, 2, 3, 4, 5, 6], 4),
    ] as [([UInt8], UInt8)])
  func theMiddleOneOfFive(_ values: [UInt8], _ middle: UInt8) {
    var median = LossMedian()
    for value in values { median.note(value) }
    #expect(median.median == middle)
  }

  /// What redundancy brings back is not asked for a second time.
  @Test(arguments: [true, false]) func redundancyIsTakenOff(hasRED: Bool) throws {
    let (call, _) = try room(hasRED: hasRED)
    call.peers[1].downlink.loss = 0.15
    call.run(.seconds(20))
    #expect(hasRED ? told(call)[0] <= 3 : told(call)[0] >= 25)
  }

  /// A listener with receiver reports alone reports the publisher's loss with its own.
  @Test(arguments: [(0.1, 26, 0.1), (0.0, 51, 0.2), (0.1, 77, 0.2)])
  func thePublishersOwnLossCountsOnce(_ uplink: Double, _ reported: UInt8, _ wanted: Double) throws {
    let (call, heard) = try room(reports: false)
    call.peers[0].uplink.loss = uplink
    for _ in 0..<30 {
      let blocks = [
        ReportBlock(
          ssrc: try #require(call.stream(heard)).ssrc, fractionLost: reported, cumulativeLost: 100,
          highestSequence: 100,
          jitter: 0, lastReport: 0, delay: 0)
      ]
      var compound: [UInt8] = []
      RTCPBuilder.appendReceiverReport(to: &compound, ssrc: 7, blocks: blocks.span)
      call.peers[1].sendRTCP(compound)
      call.run(.seconds(1))
    }
    let mean = Double(told(call, last: 20).reduce(0) { $0 + Int($1) }) / 20 / 256
    #expect(abs(mean - wanted) < 0.05, "\(mean)")
  }
}
