// What may be sent in a handshake toward an address that somebody has forged: four flights for a datagram.

import Basics
import DTLS
import ICE
import RTP
import Testing

@testable import Media

struct FlightBoundTests {
  private let call: Call
  private let victim = Path(remote: SocketAddress(v4: 0x0b00_0001, port: 4_000), socket: 0)

  init() throws { call = try Call() }

  /// Mallory, who forges a victim's address and does nothing else.
  private func mallory(_ serverRole: DTLSRole) throws -> VirtualPeer {
    try call.join("mallory", serverRole: serverRole) {
      $0.checksConsent = false
      $0.shakesHands = false
    }
  }

  private func check(_ peer: VirtualPeer, nominates: Bool = true) throws -> [UInt8] {
    try #require(PlainCheck.make(from: peer.local, to: peer.remote, nominates: nominates))
  }

  private func clientHello() throws -> [UInt8] {
    var client = try DTLSConnection(role: .client, certificate: try #require(Call.peerCertificate))
    client.poll(at: call.now)
    let datagram = client.nextDatagram()
    return try #require(datagram)
  }

  /// Flights and bytes of DTLS toward the victim in a minute.
  private func flights(_ begin: () throws -> Void) rethrows -> (count: Int, bytes: Int) {
    var (moments, bytes) = (Set<Int64>(), 0)
    call.onDatagram = { [call, victim] path, datagram in
      guard path == victim, PacketClass.classify(datagram.span) == .dtls else { return }
      moments.insert(call.now.nanoseconds)
      bytes += datagram.count
    }
    defer { call.onDatagram = nil }
    try begin()
    call.turn()
    call.run(.seconds(60))
    return (moments.count, bytes)
  }

  /// The server answers a ClientHello: four times, whatever it is that the check has begun.
  @Test(arguments: [true, false]) func aForgedHelloIsAnsweredFourTimes(nominates: Bool) throws {
    let peer = try mallory(.server)
    let (first, hello) = (try check(peer, nominates: nominates), try clientHello())
    let sent = flights {
      call.inject(first, from: victim)
      call.inject(hello, from: victim)
    }
    #expect(sent.count == 4)
    #expect(sent.bytes < 20 * (first.count + hello.count), "\(sent.bytes) for \(first.count + hello.count)")
  }

  /// The server begins where its peer is passive.
  @Test func aForgedCheckBringsFourHellos() throws {
    let peer = try mallory(.client)
    let first = try check(peer)
    #expect(flights { call.inject(first, from: victim) }.count == 4)
  }

  /// A check moves where DTLS goes: nobody gets more by it than four for each datagram in their name.
  @Test func aCheckInTheMiddleBringsFourMore() throws {
    let peer = try mallory(.server)
    let (own, hello) = (try check(peer), try clientHello())
    call.inject(own, from: peer.path)
    call.inject(hello, from: peer.path)
    call.run(.milliseconds(500))
    let first = try check(peer)
    #expect(flights { call.inject(first, from: victim) }.count == 4)
  }

  /// What is no flight shows nobody who waits for one, and costs whoever forges it next to nothing.
  @Test func shortDatagramsBringNoMore() throws {
    let peer = try mallory(.server)
    let (first, hello) = (try check(peer), try clientHello())
    let sent = flights {
      call.inject(first, from: victim)
      call.inject(hello, from: victim)
      for _ in 0..<30 {
        call.inject([20, 0], from: victim)
        call.run(.seconds(1))
      }
    }
    #expect((1...4).contains(sent.count), "\(sent.count)")
  }

  /// Who is there and unlucky is answered as long as they send something: the control that the bound is none of time.
  @Test func whoSendsOnIsAnsweredOn() throws {
    let peer = try mallory(.client)
    let more = try (0..<20).map { _ in try check(peer) }
    let sent = flights {
      for check in more {
        call.inject(check, from: victim)
        call.run(.seconds(1))
      }
    }
    #expect(sent.count > 20)
  }

  /// Four flights are lost, and the handshake comes about all the same.
  @Test(arguments: [DTLSRole.server, .client]) func aHandshakeSurvivesThatItsFirstFlightsAreLost(_ role: DTLSRole)
    throws
  {
    let bert = try call.join("bert", serverRole: role)
    bert.downlink.isCut = true
    call.run(.seconds(3))
    bert.downlink.isCut = false
    #expect(call.run(atMost: .seconds(10)) { bert.isConnected && call.isConnected(bert) })
  }
}
