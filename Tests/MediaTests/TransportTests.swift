// Paths, handshakes and their ends: who may send where, and what is told of it.

import Basics
import Crypto
import Forwarding
import RTP
import Testing

@testable import Media

struct TransportTests {
  @Test(arguments: PathScenarios.all) func paths(_ scenario: Scenario) throws { try scenario.play() }
  @Test(arguments: HandshakeScenarios.all) func handshakes(_ scenario: Scenario) throws { try scenario.play() }

  /// A watcher of anna with another role or another order of events.
  static func watched(_ call: Call) throws -> ProducerKey {
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    call.run(.milliseconds(500))
    return video
  }

  @Test func serverInTheClientRoleShakesHandsAsSoonAsThereIsAPath() throws {
    let call = try Call()
    let video = try Self.watched(call)
    let bert = try call.join("bert", serverRole: .client)
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    #expect(bert.isConnected && call.isConnected(bert))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 15)
  }

  /// The ClientHello follows the first authentic check: a peer that nominates late, or never, need not wait for it.
  @Test func serverInTheClientRoleWaitsForNoNomination() throws {
    let call = try Call()
    let video = try Self.watched(call)
    let bert = try call.join("bert", serverRole: .client) { $0.nominates = false }
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    #expect(bert.isConnected && call.isConnected(bert))
    #expect(call.stream(consumer)?.problems == [] && call.stream(consumer)?.frames.isEmpty == false)
  }

  /// Nobody answers on a path that was checked: the ClientHello goes out again and again, with doubling waits.
  @Test func serverInTheClientRoleSendsItsHelloAgain() throws {
    let call = try Call()
    let bert = try call.join("bert", serverRole: .client) { $0.shakesHands = false }
    var sentAt: [Int64] = []
    call.onDatagram = { path, bytes in
      if path == bert.path, PacketClass.classify(bytes.span) == .dtls {
        sentAt.append(call.now.nanoseconds / 1_000_000)
      }
    }
    call.run(.seconds(1))
    let waits = zip(sentAt.dropFirst(), sentAt).map { $0 - $1 }
    #expect(waits == [50, 100, 200, 400])
  }

  @Test func wrongFingerprintFailsAndNeverAMediaPacketPasses() throws {
    let call = try Call()
    let video = try Self.watched(call)
    let eve = try call.join("eve", remote: .wrongFingerprint)
    let own = call.publish(eve, .video)
    call.subscribe(eve, to: video)
    let forwarded = call.worker.counters.forwarded
    var mediaToEve = 0
    call.onDatagram = { path, bytes in
      if path == eve.path, [.rtp, .rtcp].contains(PacketClass.classify(bytes.span)) { mediaToEve += 1 }
    }
    let watcher = try call.join("bert")
    let consumer = call.subscribe(watcher, to: own)
    call.run(.seconds(3))
    #expect(
      call.count { if case .transportFailed(eve.key, .fingerprintMismatch) = $0 { true } else { false } } == 1)
    #expect(!call.isConnected(eve))
    #expect(mediaToEve == 0 && eve.rtpReceived == 0 && eve.mediaBeforeKeys == 0)
    #expect(call.stream(consumer)?.packets.isEmpty == true)
    // Her side believes in the handshake and sends: all of it ends at the server.
    #expect(call.worker.counters.drops[.notReady] > 20)
    #expect(call.worker.counters.forwarded == forwarded)
  }

  @Test func answerAfterTheHandshakeStillDecidesAboutMedia() throws {
    let call = try Call()
    let video = try Self.watched(call)
    let bert = try call.join("bert", remote: .later)
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    #expect(bert.dtlsIsConnected && !call.isConnected(bert))
    #expect(bert.mediaBeforeKeys == 0 && bert.rtpReceived == 0)
    call.answer(bert)
    #expect(call.isConnected(bert))
    call.run(.seconds(1))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 15)
  }

  @Test func aWrongAnswerAfterTheHandshakeFails() throws {
    let call = try Call()
    let eve = try call.join("eve", remote: .later)
    call.run(.seconds(1))
    call.answer(eve, fingerprint: try #require(Call.serverCertificate).sha256Fingerprint)
    #expect(
      call.count { if case .transportFailed(eve.key, .fingerprintMismatch) = $0 { true } else { false } } == 1)
    #expect(!call.isConnected(eve))
  }

  /// Mallory has a transport of her own and forges anna's address: her checks are authentic, but the path is anna's.
  @Test func aLivePathCannotBeTakenByAnotherTransportsCheck() throws {
    let call = try Call()
    let video = try Self.watched(call)
    let anna = call.peers[0]
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: video)
    let mallory = try call.join("mallory")
    call.run(.seconds(1))
    let before = call.worker.counters.drops[.badSTUN]
    let spoofed = mallory.address
    mallory.move(to: anna.address, at: call.now)
    call.run(.seconds(2))
    #expect(call.worker.counters.drops[.badSTUN] > before)
    #expect(call.worker.directory.paths[anna.path] == call.worker.directory.transports[anna.key])
    #expect(call.worker.counters.drops[.authentication] == 0)
    mallory.move(to: spoofed, at: call.now)
    call.run(.milliseconds(500))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 90)
  }

  /// NAT gives a dead client's address to another one.
  @Test func aDeadTransportsPathGoesToWhoeverComesNext() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    call.run(.seconds(1))
    anna.checksConsent = false
    call.run(.seconds(9))
    call.forgetEvents()
    let address = anna.address
    anna.move(to: SocketAddress(v4: 0x0a00_0900, port: 1), at: call.now, announces: false)
    call.move(bert, to: address)
    call.run(.seconds(3))
    #expect(call.worker.directory.paths[bert.path] == call.worker.directory.transports[bert.key])
    #expect(call.count { if case .transportLost(anna.key) = $0 { true } else { false } } == 1)
    // Ending the former owner takes nothing from the new one.
    call.apply(.closeTransport(anna.key))
    #expect(call.worker.directory.paths[bert.path] == call.worker.directory.transports[bert.key])
    let video = call.publish(bert, .video)
    let cleo = try call.join("cleo")
    let consumer = call.subscribe(cleo, to: video)
    call.run(.seconds(1))
    #expect(try #require(call.stream(consumer)).frames.count > 10)
  }

  @Test func manyAddressesOfOnePeerStayBounded() throws {
    let call = try Call()
    let anna = try call.join("anna")
    call.run(.seconds(1))
    for port in 1...60 as ClosedRange<UInt16> {
      call.move(anna, to: SocketAddress(v4: 0x0a00_0800, port: port))
      call.run(.milliseconds(60))
    }
    let id = try #require(call.worker.directory.transports[anna.key])
    #expect(call.worker.ends.transports[id].paths.count == 16)
    #expect(call.worker.directory.paths.count == call.worker.ends.transports[id].paths.count)
    #expect(call.worker.ends.transports[id].path == anna.path)
  }
}

/// Changes of address, restarts, silence.
enum PathScenarios {
  static let pair = Step("anna publishes, bert watches") { stage in
    try stage.join("anna")
    try stage.join("bert")
    try stage.publish("anna", .video)
    try stage.subscribe("bert", "anna.video")
    stage.call.run(.seconds(1))
  }

  static let all: [Scenario] = [
    Scenario(
      "the subscriber's address changes mid-call",
      pair,
      Step("bert is on another network") { stage in
        let bert = try stage.person("bert")
        stage.call.move(bert, to: SocketAddress(v4: 0x0a01_0002, port: 7_777))
        stage.marks["moved"] = stage.call.now
        stage.call.run(.seconds(1))
      },
      Step("the stream goes on there, whole, soon") { stage in
        let moved = try #require(stage.marks["moved"])
        let stream = try stage.stream("bert", "anna.video")
        let next = try #require(stream.ordered.first { $0.arrival > moved + .milliseconds(1) })
        #expect(next.arrival - moved < .milliseconds(80))
        stage.expectCleanStreams()
        let bert = try stage.person("bert").key
        let troubles = stage.call.count {
          if case .transportLost(bert) = $0 { true } else if case .transportFailed(bert, _) = $0 { true } else { false }
        }
        #expect(troubles == 0)
      }
    ),
    Scenario(
      "the publisher's address changes mid-call",
      pair,
      Step("anna is on another network, and later back") { stage in
        let anna = try stage.person("anna")
        let home = anna.address
        stage.call.move(anna, to: SocketAddress(v4: 0x0a01_0001, port: 7_777))
        stage.call.run(.seconds(1))
        stage.call.move(anna, to: home)
        stage.call.run(.seconds(1))
        #expect(try stage.stream("bert", "anna.video").frames.count > 80)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "an ICE restart: the old credentials hold until the first check with the new ones, and nothing stops",
      pair,
      Step("the server makes new credentials; anna does not know them yet") { stage in
        let anna = try stage.person("anna")
        let next = ICECredentials.random(using: &stage.call.dice)
        stage.call.apply(.restartICE(anna.key, credentials: next))
        let before = stage.call.worker.counters.drops[.badSTUN]
        stage.call.run(.seconds(6))
        #expect(stage.call.worker.counters.drops[.badSTUN] == before)
        let old = anna.local
        let local = ICECredentials.random(using: &stage.call.dice)
        anna.restartICE(local: local, remote: next)
        stage.call.answer(anna)
        stage.call.run(.seconds(1))
        #expect(old != anna.local)
        let events = stage.call.count { if case .transportConnected(anna.key) = $0 { true } else { false } }
        #expect(events == 1)
        #expect(stage.call.count { if case .transportLost = $0 { true } else { false } } == 0)
        #expect(try stage.stream("bert", "anna.video").frames.count > 200)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "silence for the media timeout is a lost transport, a check brings it back with a keyframe",
      pair,
      Step("bert's network is gone for eleven seconds") { stage in
        let bert = try stage.person("bert")
        stage.call.run(.seconds(1))
        (bert.uplink.isCut, bert.downlink.isCut) = (true, true)
        stage.call.run(.milliseconds(9_900))
        #expect(stage.call.count { if case .transportLost = $0 { true } else { false } } <= 1)
        stage.call.run(.milliseconds(1_500))
        #expect(stage.call.count { if case .transportLost(bert.key) = $0 { true } else { false } } == 1)
        // RFC 7675: nothing more is sent there.
        stage.notes["sent"] = 0
        stage.call.onDatagram = { [unowned stage] path, _ in
          if path == bert.path { stage.notes["sent", default: 0] += 1 }
        }
        stage.call.run(.seconds(1))
        #expect(stage.notes["sent"] == 0)
        let id = try #require(stage.call.worker.directory.transports[bert.key])
        #expect(stage.call.worker.ends.transports[id].holds(bert.path, at: stage.call.now) == false)
      },
      Step("back") { stage in
        let bert = try stage.person("bert")
        stage.marks["back"] = stage.call.now
        (bert.uplink.isCut, bert.downlink.isCut) = (false, false)
        stage.call.run(.seconds(4))
        #expect(stage.call.count { if case .transportRecovered(bert.key) = $0 { true } else { false } } == 1)
        let back = try #require(stage.marks["back"])
        let stream = try stage.stream("bert", "anna.video")
        let first = try #require(stream.ordered.first { $0.arrival > back && !$0.isRepaired })
        #expect(first.info.startsKeyframe)
        #expect(stream.frames.count > 60)
      }
    ),
    Scenario(
      "a picture begins although every request for its keyframe was lost for seven seconds",
      Step("anna publishes, nothing reaches her, and bert comes") { stage in
        try stage.join("anna")
        try stage.publish("anna", .video)
        stage.call.run(.seconds(1))
        try stage.comes("bert", whileAnnaIsDeafFor: .seconds(7))
        #expect(try stage.stream("bert", "anna.video").frames.isEmpty)
        stage.call.run(.seconds(3))
        #expect(try stage.stream("bert", "anna.video").frames.count > 25)
        stage.expectCleanStreams()
      }
    ),
    Scenario(
      "the publisher is lost and recovers",
      pair,
      Step("anna's network is gone for eleven seconds") { stage in
        let anna = try stage.person("anna")
        (anna.uplink.isCut, anna.downlink.isCut) = (true, true)
        stage.call.run(.seconds(12))
        #expect(stage.call.count { if case .transportLost(anna.key) = $0 { true } else { false } } == 1)
        (anna.uplink.isCut, anna.downlink.isCut) = (false, false)
        stage.call.run(.seconds(5))
        #expect(stage.call.count { if case .transportRecovered(anna.key) = $0 { true } else { false } } == 1)
        let arrival = try #require(try stage.stream("bert", "anna.video").ordered.last?.arrival)
        #expect(stage.call.now - arrival < .milliseconds(60))
      }
    ),
  ]
}

/// Ends of a connection.
enum HandshakeScenarios {
  static let all: [Scenario] = [
    Scenario(
      "a peer that says close_notify is closed, told once, and sent nothing more",
      PathScenarios.pair,
      Step("bert closes") { stage in
        let bert = try stage.person("bert")
        bert.sendCloseNotify()
        stage.call.run(.milliseconds(100))
        #expect(
          stage.call.count { if case .transportFailed(bert.key, .closedByPeer) = $0 { true } else { false } } == 1)
        let received = bert.rtpReceived
        stage.call.run(.seconds(1))
        #expect(bert.rtpReceived == received)
        #expect(stage.call.worker.counters.drops[.transportDown] > 20)
      }
    ),
    Scenario(
      "closing a transport says close_notify to the peer and ends what hangs on it",
      PathScenarios.pair,
      Step("the server closes anna's transport") { stage in
        let anna = try stage.person("anna")
        stage.call.apply(.closeTransport(anna.key))
        stage.call.run(.milliseconds(100))
        #expect(anna.isClosedByServer)
        let counters = stage.call.worker.counters
        #expect(counters.transports == 1 && counters.producers == 0 && counters.consumers == 0)
      }
    ),
    Scenario(
      "a handshake survives a bad network",
      Step("a third of everything is lost, in both directions") { stage in
        try stage.join("anna")
        let anna = try stage.person("anna")
        try stage.publish("anna", .video)
        for turn in 0..<40 {
          (anna.uplink.isCut, anna.downlink.isCut) = (turn % 3 == 1, turn % 3 == 2)
          stage.call.run(.milliseconds(35))
        }
        (anna.uplink.isCut, anna.downlink.isCut) = (false, false)
        stage.call.run(.seconds(4))
        #expect(stage.call.isConnected(anna) && anna.isConnected)
      }
    ),
  ]
}
