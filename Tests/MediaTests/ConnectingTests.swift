// Transports that do not come up, and how far they got; nominations that come late or from another socket.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ConnectingTests {
  private func slowness(_ call: Call, _ peer: VirtualPeer) -> [TransportProgress] {
    call.events.compactMap {
      if case .transportFailed(peer.key, .tooSlow(let progress)) = $0.event { progress } else { nil }
    }
  }

  @Test func nothingHeard() throws {
    let call = try Call()
    let anna = try call.join("anna", remote: .later) { $0.checksConsent = false }
    call.run(.seconds(30))
    #expect(slowness(call, anna) == [], "nobody is waited for before the description is there")
    call.answer(anna)
    call.run(.milliseconds(14_900))
    #expect(slowness(call, anna) == [])
    call.run(.milliseconds(200))
    #expect(slowness(call, anna) == [.unheard])
    call.run(.seconds(60))
    #expect(slowness(call, anna) == [.unheard])
    // It is late, not lost.
    anna.checksConsent = true
    call.run(.seconds(1))
    #expect(call.isConnected(anna))
    call.run(.seconds(30))
    #expect(slowness(call, anna) == [.unheard])
  }

  @Test func checkedAndNotNominated() throws {
    let call = try Call()
    let anna = try call.join("anna") { ($0.nominates, $0.shakesHands) = (false, false) }
    call.run(.seconds(40))
    #expect(slowness(call, anna) == [.checked])
  }

  @Test func nominatedAndNoHandshake() throws {
    let call = try Call()
    let anna = try call.join("anna") { $0.shakesHands = false }
    call.run(.seconds(40))
    #expect(slowness(call, anna) == [.nominated])
    anna.shakesHands = true
    call.run(.seconds(1))
    #expect(call.isConnected(anna))
  }

  @Test func theDescriptionNeverCame() throws {
    let call = try Call()
    let anna = try call.join("anna", remote: .later)
    call.run(.seconds(40))
    #expect(slowness(call, anna) == [.undescribed])
    call.answer(anna)
    #expect(call.isConnected(anna))
  }

  @Test func aFailedHandshakeIsNotCalledSlow() throws {
    let call = try Call()
    let eve = try call.join("eve", remote: .wrongFingerprint)
    call.run(.seconds(40))
    #expect(slowness(call, eve) == [])
  }

  /// The handshake may run on a path that has been checked and not nominated (RFC 8445 §12.1.1). Media begins there with the
  /// one keyframe that was asked for, and the nomination changes nothing.
  @Test func mediaBeginsOnThePathOfTheHandshakeWithOneKeyframeRequest() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    call.run(.seconds(1))
    let requests = call.layers(video)[0].requests
    let bert = try call.join("bert") { $0.nominates = false }
    let consumer = call.subscribe(bert, to: video)
    call.run(.milliseconds(500))
    #expect(call.isConnected(bert) && bert.isConnected)
    let stream = try #require(call.stream(consumer))
    #expect(stream.frames.count > 8 && stream.ordered.first?.info.startsKeyframe == true)
    bert.nominates = true
    call.run(.seconds(1))
    #expect(call.layers(video)[0].requests - requests == 1)
    #expect(try #require(call.stream(consumer)).problems == [])
  }

  /// The keyframe is asked for when the subscription is there, and is in the cache when the transport is up. The control sends so much that
  /// the cache would be too long by then, and is asked when the transport is up.
  @Test(arguments: [(2, true), (21, false)])
  func aKeyframeIsThereWhenTheTransportIs(_ packetsAFrame: Int, isPrepared: Bool) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video, layers: [packetsAFrame])
    call.track(video) { $0.layers[0].packetSize = 1_000 }
    call.run(.seconds(4))
    let requests = call.layers(video)[0].requests
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: video)
    while !bert.isConnected { call.run(.milliseconds(1)) }
    let connected = call.now
    call.run(.milliseconds(500))
    let stream = try #require(call.stream(consumer))
    let first = try #require(stream.ordered.first)
    #expect(first.info.startsKeyframe && stream.problems == [])
    #expect((first.arrival - connected < .milliseconds(15)) == isPrepared, "\(first.arrival - connected)")
    #expect(call.layers(video)[0].requests - requests == 1)
  }

  /// A server with sockets for IPv4 and IPv6, or with several addresses: the same client may come in on another one.
  @Test func aNominationOnAnotherSocketMovesMediaThere() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video)
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    bert.socket = 1
    var sockets: [UInt8] = []
    call.onDatagram = { path, bytes in
      if path.remote == bert.address, PacketClass.classify(bytes.span) == .rtp { sockets.append(path.socket) }
    }
    call.run(.seconds(5))
    #expect(sockets.first == 0 && sockets.last == 1)
    #expect(zip(sockets, sockets.dropFirst()).count { $0 != $1 } == 1)
    let id = try #require(call.worker.directory.transports[bert.key])
    #expect(call.worker.ends.transports[id].path == bert.path)
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 150)
    #expect(call.count { if case .transportLost = $0 { true } else { false } } == 0)
  }
}
