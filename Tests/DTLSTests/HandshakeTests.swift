// Both roles against each other: good weather and bad, lost flights, time-outs, keys only after the fingerprint check.

import Basics
import Crypto
import DTLS
import Testing

/// Verifies both ends against the certificates that they really have, and that their keys are each other's.
private func expectMatchingKeys(_ network: Network) throws {
  let client = try network.client.keys([network.server.certificate.sha256Fingerprint])
  let server = try network.server.keys([network.client.certificate.sha256Fingerprint])
  #expect(client.profile == .aeadAES128GCM)
  #expect(client.local == server.remote)
  #expect(client.remote == server.local)
  #expect(client.local != client.remote)
}

@Suite struct HandshakeTests {
  @Test func aHandshakeInGoodWeatherTakesTwoRoundTrips() throws {
    let network = try Network()
    #expect(network.client.state == .handshaking)
    #expect(network.server.nextDeadline == .distantFuture)
    #expect(network.run())
    // Four flights of 10 ms, and nothing sent twice.
    #expect(network.now == .zero + .milliseconds(40))
    #expect((network.client.sent + network.server.sent).allSatisfy { $0.count <= DTLSEngine.mtu })
    #expect(network.client.nextDeadline == .distantFuture)
    #expect(network.server.nextDeadline == .distantFuture)
    try expectMatchingKeys(network)
    let cipher = network.server.cipherName
    #expect(cipher == "ECDHE-ECDSA-AES256-GCM-SHA384" || cipher == "ECDHE-ECDSA-AES128-GCM-SHA256")
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func aHandshakeInBadWeatherSucceeds(seed: UInt64) throws {
    let weather = Weather(loss: 0.3, duplication: 0.2, jitter: .milliseconds(120), truncation: 0.05, noise: 0.2)
    let network = try Network(seed: seed, weather: weather)
    #expect(network.run(), "client \(network.client.state), server \(network.server.state)")
    try expectMatchingKeys(network)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func noRecordNumberIsUsedTwice(seed: UInt64) throws {
    // Waits that double without end, since the eleventh retransmission of a flight is the last in new records.
    var timing = DTLSTiming()
    timing.longestRetransmission = .milliseconds(100_000)
    let network = try Network(seed: seed, weather: Weather(loss: 0.3, jitter: .milliseconds(60)), timing: timing)
    #expect(network.run())
    for peer in [network.client, network.server] {
      let numbers = peer.sent.flatMap(records).map { UInt64($0.epoch) << 48 | $0.number }
      #expect(Set(numbers).count == numbers.count)
    }
  }

  @Test func aLostLastFlightIsSentAgainWhenThePeerRepeatsItsOwn() throws {
    let network = try Network()
    // The server's last flight begins with ChangeCipherSpec.
    var lost = 0
    network.passes = { toServer, datagram in
      guard !toServer, records(datagram).contains(where: { $0.type == 20 }), lost < 5 else { return true }
      lost += 1
      return false
    }
    #expect(network.run { $0.server.state == .connected })
    #expect(network.client.state == .handshaking)
    #expect(network.run())
    #expect(lost == 5)
    try expectMatchingKeys(network)
  }

  @Test func flightsAreSentAgainWithDoublingWaitsUntilGivingUp() throws {
    let client = try Peer(.client)
    var now = Instant.zero
    var sentAt: [Int64] = []
    while client.state == .handshaking {
      client.poll(at: now)
      if !client.drain().isEmpty { sentAt.append(now.nanoseconds / 1_000_000) }
      now = max(now, client.nextDeadline)
    }
    #expect(Array(sentAt.prefix(7)) == [0, 50, 150, 350, 750, 1_550, 2_550])
    #expect(sentAt.count == 34)
    #expect(client.state == .failed(.timedOut))
    #expect(client.nextDeadline == .distantFuture)
    #expect(throws: DTLSError.timedOut) { try client.keys([]) }
  }

  @Test func aServerGivesUpOnAClientThatFallsSilent() throws {
    let network = try Network()
    var first = true
    network.passes = { toServer, _ in
      defer { if toServer { first = false } }
      return !toServer || first
    }
    #expect(network.run { $0.server.state == .failed(.timedOut) })
    #expect(network.now == .zero + .milliseconds(30_010))
  }

  @Test func aSplitClientHelloIsPutTogetherInEitherOrder() throws {
    for reversed in [false, true] {
      let network = try Network()
      network.client.poll(at: .zero)
      let hello = try #require(records(network.client.drain()[0]).first)
      let pieces = split(handshake: hello.fragment, into: 3).enumerated().map {
        record(type: 22, number: UInt64($0.offset), $0.element)
      }
      for piece in reversed ? pieces.reversed() : pieces {
        #expect(network.server.drain().isEmpty)
        network.server.handle(piece, at: .zero)
      }
      // The client's own numbers begin at 0 as the pieces' did: its next ones must not look repeated.
      #expect(network.run())
      try expectMatchingKeys(network)
    }
  }

  /// Handshake fragments (RFC 6347 §4.2.3) of a message that came in one.
  private func split(handshake: [UInt8], into count: Int) -> [[UInt8]] {
    let body = handshake[12...]
    let size = (body.count + count - 1) / count
    return stride(from: 0, to: body.count, by: size).map { offset in
      let part = body.dropFirst(offset).prefix(size)
      func three(_ number: Int) -> [UInt8] { [UInt8(number >> 16), UInt8(number >> 8 & 0xff), UInt8(number & 0xff)] }
      return handshake[..<6] + three(offset) + three(part.count) + part
    }
  }

  @Test func closeNotifyGoesBothWays() throws {
    for clientCloses in [true, false] {
      let network = try Network()
      #expect(network.run())
      let (closer, other) = clientCloses ? (network.client, network.server) : (network.server, network.client)
      closer.connection.close()
      #expect(closer.state == .closed)
      #expect(network.run { _ in other.state == .closed })
      #expect(throws: DTLSError.notConnected) { try other.keys([closer.certificate.sha256Fingerprint]) }
    }
  }

  @Test func closingDuringTheHandshakeSaysNothing() throws {
    let client = try Peer(.client)
    client.poll(at: .zero)
    #expect(client.drain().count == 1)
    client.connection.close()
    #expect(client.state == .closed)
    #expect(client.drain().isEmpty)
    #expect(client.nextDeadline == .distantFuture)
  }
}

@Suite struct FingerprintTests {
  @Test func keysAreNotToBeHadBeforeTheHandshakeIsOver() throws {
    let network = try Network()
    let fingerprint = network.client.certificate.sha256Fingerprint
    #expect(throws: DTLSError.notConnected) { try network.server.keys([fingerprint]) }
    #expect(network.server.fingerprint() == nil)
    #expect(network.run())
    #expect(network.server.fingerprint() == fingerprint)
    #expect(try network.server.keys([fingerprint]).profile == .aeadAES128GCM)
  }

  @Test func aWrongFingerprintFailsForGood() throws {
    let network = try Network()
    #expect(network.run())
    let wrong = network.server.certificate.sha256Fingerprint
    let right = network.client.certificate.sha256Fingerprint
    #expect(throws: DTLSError.fingerprintMismatch) { try network.server.keys([wrong]) }
    #expect(network.server.state == .failed(.fingerprintMismatch))
    #expect(throws: DTLSError.fingerprintMismatch) { try network.server.keys([right]) }
    // The peer is told.
    #expect(network.run { $0.client.state == .closed })
  }

  @Test func noFingerprintIsAWrongOne() throws {
    let network = try Network()
    #expect(network.run())
    #expect(throws: DTLSError.fingerprintMismatch) { try network.server.keys([]) }
  }

  @Test(arguments: CertificateFingerprint.Algorithm.allCases)
  func everyAlgorithmOfRFC8122(_ algorithm: CertificateFingerprint.Algorithm) throws {
    let network = try Network()
    #expect(network.run())
    let fingerprint = try #require(network.server.fingerprint(algorithm))
    #expect(fingerprint.bytes.count == algorithm.length)
    #expect(try network.server.keys([fingerprint]).profile == .aeadAES128GCM)
    var bytes = fingerprint.bytes
    bytes[0] ^= 1
    let forged = try #require(CertificateFingerprint(algorithm: algorithm, bytes: bytes))
    #expect(throws: DTLSError.fingerprintMismatch) { try network.server.keys([forged]) }
  }

  @Test func theStrongestHashDecidesAndOneOfItsValuesMustMatch() throws {
    let network = try Network()
    #expect(network.run())
    let peer = network.server.connection
      .peerFingerprint(.sha1)
    let sha1 = try #require(peer)
    let right = network.client.certificate.sha256Fingerprint
    let wrong = network.server.certificate.sha256Fingerprint
    #expect(try network.server.keys([sha1, wrong, right]).profile == .aeadAES128GCM)
    #expect(throws: DTLSError.fingerprintMismatch) { try network.server.keys([sha1, wrong]) }
  }
}
