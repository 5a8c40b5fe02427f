// What strangers send: noise, cut datagrams, floods, forged alerts.

import Basics
import Crypto
import DTLS
import Testing

@Suite struct HostileInputTests {
  @Test(
    arguments: [
      [], [22], [22, 0xfe, 0xfd], Array(repeating: 0, count: 13), Array(repeating: 0xff, count: 1_500),
      // An encrypted record too short for its nonce and tag, an empty one, a good one followed by noise.
      [23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 9, 0, 23] + Array(repeating: 7, count: 23), record(type: 22, number: 0, []),
      record(type: 22, number: 0, [1, 2, 3]) + [1],
      // A record that says it is longer than the datagram, TLS over UDP, an unknown type.
      record(type: 22, number: 0, [1, 2, 3]).dropLast(), [22, 3, 3, 0, 100] + Array(repeating: 1, count: 100),
      record(type: 99, number: 0, [1, 2, 3]),
    ] as [[UInt8]])
  func whatIsNotDTLSIsCountedAndIgnored(_ datagram: [UInt8]) throws {
    let network = try Network()
    network.server.handle(datagram, at: .zero)
    #expect(network.server.ignoredDatagrams == 1)
    #expect(network.server.state == .handshaking)
    #expect(network.server.drain().isEmpty)
    #expect(network.server.nextDeadline == .distantFuture)
    #expect(network.run())
  }

  @Test func everyPrefixOfEveryDatagramIsHarmless() throws {
    // A prefix that still begins with whole records is part of the handshake; it must not end it.
    let network = try Network()
    network.passes = { [unowned network] toServer, datagram in
      let receiver = toServer ? network.server : network.client
      for length in 0..<datagram.count { receiver.handle(Array(datagram[..<length]), at: network.now) }
      return true
    }
    #expect(network.run(), "client \(network.client.state), server \(network.server.state)")
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func damagedHandshakesEndInAStateOrInSuccess(seed: UInt64) throws {
    // Unencrypted handshake messages may be forged by anybody on the path, so a connection may fail here. It must not
    // crash, agree on keys that differ, or stay undecided beyond its time.
    var generator = SplitMix64(seed: seed)
    let network = try Network(seed: seed)
    var damaged: [[UInt8]] = []
    network.passes = { [unowned network] toServer, datagram in
      guard generator.chance(0.5) else { return true }
      var copy = datagram
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        copy[Int.random(in: 0..<copy.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      damaged.append(copy)
      (toServer ? network.server : network.client).handle(copy, at: network.now)
      return generator.chance(0.5)
    }
    _ = network.run { $0.client.state != .handshaking && $0.server.state != .handshaking }
    #expect(network.client.state != .handshaking)
    guard network.bothConnected else { return }
    let client = try network.client.keys([network.server.certificate.sha256Fingerprint])
    let server = try network.server.keys([network.client.certificate.sha256Fingerprint])
    #expect(client.local == server.remote && client.remote == server.local)
  }

  @Test func aFloodEndsTheHandshakeAndAnswersStayBounded() throws {
    let server = try Peer(.server)
    let client = try Peer(.client)
    client.poll(at: .zero)
    let hello = client.drain()[0]
    server.handle(hello, at: .zero)
    // Nobody takes datagrams from the server meanwhile, and its timer runs.
    var fed = 1
    while server.state == .handshaking, fed < 5_000 {
      fed += 1
      let now = Instant(nanoseconds: 1_000_000 * Int64(fed))
      server.handle(record(type: 22, number: UInt64(fed), Array(repeating: 7, count: 40)), at: now)
      server.poll(at: now)
    }
    #expect(server.state == .failed(.flooded) || server.state != .handshaking)
    #expect(fed <= 1_001)
    #expect(server.drain().count <= 32)
  }

  @Test func undecipherableRecordsCountTowardsTheFloodBound() throws {
    let server = try Peer(.server)
    // Records of a later epoch are dropped without harm, so only the bound ends this.
    var datagram = record(type: 22, number: 1, Array(repeating: 7, count: 40))
    datagram[4] = 9
    for _ in 0..<1_000 { server.handle(datagram, at: .zero) }
    #expect(server.state == .handshaking)
    server.handle(datagram, at: .zero)
    #expect(server.state == .failed(.flooded))
    // Bytes are bounded too.
    let other = try Peer(.server)
    var large = record(type: 22, number: 1, Array(repeating: 7, count: 1_400))
    large[4] = 9
    var fed = 0
    while other.state == .handshaking, fed < 1_000 {
      other.handle(large, at: .zero)
      fed += 1
    }
    #expect(fed == 186)
    #expect(other.state == .failed(.flooded))
  }

  /// To the byte: what makes up exactly as many goes on, and one byte more ends it.
  @Test func soManyBytesAreAHandshakeAndNotOneMore() throws {
    func noise(_ bytes: Int) -> [UInt8] {
      var datagram = record(type: 22, number: 1, Array(repeating: 7, count: bytes - 13))
      // Of a later epoch: it is dropped without harm.
      datagram[4] = 9
      return datagram
    }
    for (last, state) in [(1_024, DTLSConnection.State.handshaking), (1_025, .failed(.flooded))] {
      let server = try Peer(.server)
      for _ in 0..<255 { server.handle(noise(1_024), at: .zero) }
      #expect(server.state == .handshaking)
      server.handle(noise(last), at: .zero)
      #expect(server.state == state)
      #expect(server.ignoredDatagrams == 0, "each was counted")
    }
  }

  /// It counts after a while: anybody can forge it.
  @Test func aFatalAlertIsTheReason() throws {
    let network = try Network()
    network.client.poll(at: .zero)
    _ = network.client.drain()
    network.client.handle(record(type: 21, number: 0, [2, 40]), at: .zero)
    network.client.handle(record(type: 21, number: 1, [2, 80]), at: .zero + .milliseconds(100))
    let due = Instant.zero + DTLSTiming().alertWait
    network.client.poll(at: due - .milliseconds(1))
    #expect(network.client.state == .handshaking && network.client.nextDeadline <= due)
    network.client.poll(at: due)
    #expect(network.client.state == .failed(.alert(40)))
    #expect(DTLSError.alert(40).description.contains("handshake failure"))
    #expect(network.client.nextDeadline == .distantFuture)
    let before = network.client.ignoredDatagrams
    network.client.handle(record(type: 21, number: 2, [2, 40]), at: due)
    #expect(network.client.ignoredDatagrams == before + 1)
  }

  /// Alerts in another's name, by themselves and behind other records, to both and all the time: the handshake is done.
  @Test func forgedAlertsHinderNoHandshake() throws {
    let network = try Network()
    let alert = record(type: 21, number: 1 << 40, [2, 40])
    var unread = record(type: 22, number: 1 << 41, [7])
    unread[4] = 9
    unread += [UInt8](repeating: 0, count: 23)
    unread[12] = 24
    for peer in [network.client, network.server] {
      peer.handle(alert, at: network.now)
      peer.handle(unread + alert, at: network.now)
    }
    #expect(network.run())
    #expect(network.client.state == .connected && network.server.state == .connected)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func noiseAfterTheHandshakeIsHarmless(seed: UInt64) throws {
    let network = try Network(seed: seed)
    #expect(network.run())
    var generator = SplitMix64(seed: seed)
    for _ in 0..<500 {
      let length = Int.random(in: 0...64, using: &generator)
      // Any epoch, and any length: some are too short to be encrypted.
      var datagram = record(
        type: UInt8.random(in: 20...25, using: &generator), number: UInt64.random(in: 0..<1 << 48, using: &generator),
        (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
      datagram[4] = UInt8.random(in: 0...2, using: &generator)
      network.server.handle(datagram, at: network.now)
      network.client.handle(datagram, at: network.now)
    }
    #expect(network.bothConnected)
    #expect(try network.server.keys([network.client.certificate.sha256Fingerprint]).profile == .aeadAES128GCM)
  }
}
