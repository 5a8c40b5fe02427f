// What keeps a path: anything authentic that comes on it, while media flows. Peers here send no connectivity checks once they
// are connected, as libnice does.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct LivenessTests {
  private let call: Call

  init() throws { call = try Call() }

  private func isLost(_ peer: VirtualPeer) -> Bool {
    call.count { if case .transportLost(peer.key) = $0 { true } else { false } } > 0
  }

  /// Somebody who is connected and from now on sends no checks.
  private func joinWithoutChecks(_ name: String) throws -> VirtualPeer {
    let peer = try call.join(name)
    call.run(.seconds(1))
    #expect(call.isConnected(peer))
    peer.checksConsent = false
    return peer
  }

  /// A receiver report about nothing.
  private func report(from peer: VirtualPeer) {
    var compound: [UInt8] = []
    let none: [ReportBlock] = []
    RTCPBuilder.appendReceiverReport(to: &compound, ssrc: 7, blocks: none.span)
    peer.sendRTCP(compound)
  }

  @Test func aPublisherLivesByItsMediaAlone() throws {
    let anna = try joinWithoutChecks("anna")
    call.publish(anna, .video)
    call.run(.seconds(60))
    #expect(!isLost(anna))
    (anna.uplink.isCut, anna.downlink.isCut) = (true, true)
    call.run(.milliseconds(9_900))
    #expect(!isLost(anna))
    call.run(.milliseconds(1_200))
    #expect(isLost(anna))
  }

  @Test func aSubscriberLivesByItsReportsAlone() throws {
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    let bert = try joinWithoutChecks("bert")
    let consumer = call.subscribe(bert, to: video)
    for _ in 0..<12 {
      call.run(.seconds(5))
      report(from: bert)
    }
    #expect(!isLost(bert))
    #expect(try #require(call.stream(consumer)).problems == [])
    call.run(.seconds(11))
    #expect(isLost(bert), "nothing authentic in eleven seconds")
    let received = bert.rtpReceived
    call.run(.seconds(5))
    #expect(bert.rtpReceived == received, "and so nothing more is sent there")
  }

  @Test func whereNothingFlowsSilenceIsNotJudged() throws {
    let bert = try joinWithoutChecks("bert")
    call.run(.seconds(600))
    #expect(!isLost(bert))
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    call.subscribe(bert, to: video)
    call.run(.seconds(9))
    #expect(!isLost(bert))
    #expect(bert.rtpReceived > 100)
    call.run(.seconds(3))
    #expect(isLost(bert), "sent to for over ten seconds, without a word")
  }

  @Test func aMutedPublisherMayBeSilent() throws {
    let anna = try joinWithoutChecks("anna")
    let video = call.publish(anna, .video)
    call.run(.seconds(5))
    call.apply(.setMuted(video, true))
    anna.uplink.isCut = true
    call.run(.seconds(120))
    #expect(!isLost(anna))
    call.apply(.setMuted(video, false))
    call.run(.seconds(9))
    #expect(!isLost(anna), "it has just been unmuted")
    call.run(.milliseconds(2_200))
    #expect(isLost(anna))
  }

  @Test func whatHasEndedIsNotMissed() throws {
    let anna = try joinWithoutChecks("anna")
    let video = call.publish(anna, .video)
    call.run(.seconds(5))
    anna.sendBye(call.layers(video).map(\.ssrc))
    call.track(video) { $0.next = .distantFuture }
    anna.tracks.removeAll()
    call.run(.seconds(120))
    #expect(!isLost(anna))
  }

  /// Somebody on the path records what Anna sends and goes on sending it when she is gone.
  @Test func replayedMediaKeepsNothingAlive() throws {
    let anna = try joinWithoutChecks("anna")
    call.publish(anna, .video)
    call.run(.seconds(5))
    (anna.uplink.isCut, anna.downlink.isCut) = (true, true)
    let recorded = call.recent.filter { $0.path == anna.path && PacketClass.classify($0.bytes.span) != .stun }
    #expect(recorded.count > 50)
    for _ in 0..<12 {
      for datagram in recorded { call.inject(datagram.bytes, from: datagram.path) }
      call.run(.seconds(1))
    }
    #expect(call.worker.counters.drops[.replayed] > 500)
    #expect(isLost(anna))
  }
}
