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

  private func recoveries(of peer: VirtualPeer) -> Int {
    call.count { if case .transportRecovered(peer.key) = $0 { true } else { false } }
  }

  /// Somebody who is connected and from now on sends no checks.
  private func joinWithoutChecks(_ name: String) throws -> VirtualPeer {
    let peer = try call.join(name)
    call.run(.seconds(1))
    #expect(call.isConnected(peer))
    peer.checksConsent = false
    return peer
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
      bert.sendReport()
    }
    #expect(!isLost(bert))
    #expect(try #require(call.stream(consumer)).problems == [])
    call.run(.seconds(11))
    #expect(isLost(bert), "nothing authentic in eleven seconds")
    let received = bert.rtpReceived
    call.run(.seconds(5))
    #expect(bert.rtpReceived == received, "and so nothing more is sent there")
  }

  /// Reports come up to six seconds apart: where one is lost, more than ten may pass. Such a peer sends no check that would
  /// bring it back.
  @Test func aSubscriberIsBackWithItsNextReport() throws {
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    let bert = try joinWithoutChecks("bert")
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(12))
    #expect(isLost(bert))
    let received = bert.rtpReceived
    call.run(.milliseconds(300))
    #expect(bert.rtpReceived == received)
    let back = call.now
    bert.sendReport()
    call.run(.seconds(2))
    #expect(recoveries(of: bert) == 1)
    let first = try #require(call.stream(consumer)?.ordered.first { $0.arrival > back && !$0.isRepaired })
    #expect(first.info.startsKeyframe && first.arrival - back < .milliseconds(400))
    // It is as before: lost again after as long a silence, and back again.
    call.run(.seconds(10))
    bert.sendReport()
    call.run(.seconds(1))
    #expect(recoveries(of: bert) == 2)
    #expect(call.worker.directory.paths[bert.path] == call.worker.directory.transports[bert.key])
  }

  @Test func aPublisherIsBackWithItsNextPacket() throws {
    let anna = try joinWithoutChecks("anna")
    let video = call.publish(anna, .video)
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(2))
    anna.uplink.isCut = true
    call.run(.seconds(11))
    #expect(isLost(anna))
    anna.uplink.isCut = false
    let back = call.now
    call.run(.seconds(2))
    #expect(recoveries(of: anna) == 1)
    let stream = try #require(call.stream(consumer))
    #expect(stream.ordered.filter { $0.arrival > back }.count > 30)
  }

  /// Another's address while it was away: NAT has given it to somebody else.
  @Test func theWayBackIsGoneWhereThePathIsAnothers() throws {
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    let bert = try joinWithoutChecks("bert")
    call.subscribe(bert, to: video)
    call.run(.seconds(12))
    #expect(isLost(bert))
    let cleo = try call.join("cleo")
    call.run(.seconds(1))
    call.move(cleo, to: bert.address)
    call.run(.seconds(1))
    #expect(call.worker.directory.paths[bert.path] == call.worker.directory.transports[cleo.key])
    bert.sendReport()
    call.run(.seconds(1))
    #expect(recoveries(of: bert) == 0)
    #expect(call.worker.counters.drops[.authentication] > 0)
  }

  /// What was recorded before the silence, and what comes from elsewhere, brings nothing back.
  @Test func onlyNewMediaFromTheOldAddressBringsItBack() throws {
    let anna = try joinWithoutChecks("anna")
    call.publish(anna, .video)
    call.run(.seconds(5))
    let home = anna.address
    let recorded = call.recent.filter { $0.path == anna.path && PacketClass.classify($0.bytes.span) != .stun }
    anna.uplink.isCut = true
    call.run(.seconds(11))
    #expect(isLost(anna))
    for datagram in recorded { call.inject(datagram.bytes, from: datagram.path) }
    anna.move(to: SocketAddress(v4: 0x0a00_0700, port: 9), at: call.now, announces: false)
    anna.uplink.isCut = false
    call.run(.seconds(3))
    #expect(recoveries(of: anna) == 0)
    anna.move(to: home, at: call.now, announces: false)
    call.run(.seconds(1))
    #expect(recoveries(of: anna) == 1)
  }

  @Test func aCheckFromElsewhereClosesTheWayBack() throws {
    let anna = try joinWithoutChecks("anna")
    call.publish(anna, .video)
    call.run(.seconds(2))
    let old = anna.path
    anna.uplink.isCut = true
    call.run(.seconds(11))
    #expect(isLost(anna))
    anna.uplink.isCut = false
    anna.checksConsent = true
    call.move(anna, to: SocketAddress(v4: 0x0a00_0701, port: 9))
    call.run(.seconds(1))
    #expect(recoveries(of: anna) == 1)
    #expect(call.worker.directory.paths[old] == nil)
    let id = try #require(call.worker.directory.transports[anna.key])
    #expect(call.worker.ends.transports[id].path == anna.path)
  }

  @Test func closingALostTransportLeavesNoPathBehind() throws {
    let anna = try joinWithoutChecks("anna")
    call.publish(anna, .video)
    call.run(.seconds(2))
    anna.uplink.isCut = true
    call.run(.seconds(11))
    #expect(isLost(anna))
    call.apply(.closeTransport(anna.key))
    #expect(call.worker.directory.paths.isEmpty)
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

  // MARK: peers that refresh consent

  /// Who only listens, in a call where nobody sends, and goes without a word: checks came until then.
  @Test(arguments: [6, 30, 300]) func aListenerWhoStopsCheckingIsMissed(after time: Int) throws {
    let bert = try call.join("bert")
    call.run(.seconds(time))
    #expect(call.isConnected(bert) && !isLost(bert))
    bert.checksConsent = false
    call.run(.milliseconds(6_900))
    #expect(!isLost(bert), "the last check may be three seconds old")
    call.run(.milliseconds(3_200))
    #expect(isLost(bert))
    call.run(.seconds(5))
    bert.checksConsent = true
    call.run(.seconds(4))
    #expect(recoveries(of: bert) == 1)
  }

  /// Receiver reports are a sign of life as good as a check.
  @Test func aListenerWhoStopsCheckingAndReportsIsThere() throws {
    let bert = try call.join("bert")
    call.run(.seconds(30))
    bert.checksConsent = false
    for _ in 0..<10 {
      call.run(.seconds(6))
      bert.sendReport()
    }
    #expect(!isLost(bert))
    call.run(.seconds(11))
    #expect(isLost(bert))
  }

  /// Checks sent again, and copies by others, are no new ones: a peer that checks no more is not waited for by them.
  @Test func copiesOfChecksPromiseNoOthers() throws {
    let bert = try joinWithoutChecks("bert")
    let check = try #require(call.recent.last { PacketClass.classify($0.bytes.span) == .stun && $0.path == bert.path })
    for _ in 0..<10 {
      call.run(.seconds(2))
      call.inject(check.bytes, from: check.path)
    }
    call.run(.seconds(60))
    #expect(!isLost(bert))
  }

  /// Of a connection that never came up no consent is missed: it has its own time.
  @Test func whoNeverCameUpIsNotMissed() throws {
    let bert = try call.join("bert") { $0.shakesHands = false }
    call.run(.seconds(12))
    bert.checksConsent = false
    call.run(.seconds(60))
    #expect(!isLost(bert) && !call.isConnected(bert))
  }

  // MARK: connections that are closed

  private func closings(of peer: VirtualPeer) -> Int {
    call.count { if case .transportFailed(peer.key, .closedByPeer) = $0 { true } else { false } }
  }

  /// Said once, at once, and final: neither the silence that follows is told nor what still comes.
  @Test(arguments: [true, false]) func aClosedConnectionIsOver(goesOnChecking: Bool) throws {
    let bert = try call.join("bert")
    call.run(.seconds(20))
    bert.sendCloseNotify()
    call.run(.milliseconds(100))
    #expect(closings(of: bert) == 1)
    bert.checksConsent = goesOnChecking
    call.run(.seconds(30))
    bert.checksConsent = true
    call.run(.seconds(30))
    #expect(closings(of: bert) == 1 && !isLost(bert) && recoveries(of: bert) == 0)
  }

  /// A publisher's tracks flow until then.
  @Test func aClosedConnectionWithTracksIsNotMissedBesides() throws {
    let anna = try call.join("anna")
    call.publish(anna, .video)
    call.run(.seconds(5))
    anna.sendCloseNotify()
    anna.checksConsent = false
    call.run(.seconds(30))
    #expect(closings(of: anna) == 1 && !isLost(anna))
  }

  /// An alert that anybody can forge closes nothing: not while the handshake runs, nor behind it.
  @Test func aForgedAlertClosesNothing() throws {
    let plain: [UInt8] = [21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 1, 0]
    let bert = try call.join("bert")
    while call.worker.directory.paths[bert.path] == nil { call.run(.milliseconds(1)) }
    #expect(!call.isConnected(bert))
    for epoch in [0, 1] as [UInt8] {
      var alert = plain
      alert[4] = epoch
      call.inject(alert, from: bert.path)
    }
    call.run(.seconds(5))
    #expect(call.isConnected(bert))
    for epoch in [0, 1] as [UInt8] {
      for description in [0, 40] as [UInt8] {
        var alert = plain
        (alert[4], alert[14]) = (epoch, description)
        call.inject(alert, from: bert.path)
      }
    }
    call.run(.seconds(5))
    #expect(closings(of: bert) == 0)
    #expect(call.count { if case .transportFailed = $0 { true } else { false } } == 0)
    // The control: its own alert.
    bert.sendCloseNotify()
    call.run(.milliseconds(100))
    #expect(closings(of: bert) == 1)
  }
}
