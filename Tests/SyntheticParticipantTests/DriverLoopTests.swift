import Basics
import CLinux
import Crypto
import Foundation
import ICE
import TestSupport
import Testing
import Threads

@testable import SyntheticParticipant

@Suite("Driver thread") struct DriverLoopTests {
  @Test("What was told before a datagram was sent comes before it, though the wake-up names the socket alone")
  func commandsComeBeforeDatagrams() async throws {
    let peer = try Peer()
    let box = try CommandBox()
    let setup = ConnectionSetup(
      certificate: try Certificate(wallMilliseconds: 1_700_000_000_000), credentials: Self.credentials, user: "anna",
      seed: 1, wallOrigin: 0)
    let remote = RemoteEnd(credentials: Self.credentials, fingerprints: [], candidates: [peer.address])
    let anywhere = SocketAddress(v4: 0x7f00_0001, port: 0)
    box.put([
      .open(1, setup, bind: anywhere, events: { _ in }), .tell(1, .begin(remote, local: Self.credentials)),
    ])
    box.signal()
    box.start()
    defer { box.stop() }
    // Its first check tells where its socket is.
    var source: SocketAddress?
    _ = await eventually {
      source = peer.receive()
      return source != nil
    }

    let early = Locked<UInt64?>(nil)
    box.put([.statistics([1]) { reports in early.withLock { $0 = reports[1]?.connection.datagramsReceived } }])
    // Nobody signals, as if that came too late for this turn's events.
    peer.send([1, 2, 3], to: try #require(source, "the connection sends no checks"))

    #expect(await eventually(within: .seconds(10)) { early.withLock { $0 } != nil }, "no command is taken")
    #expect(early.withLock { $0 } == 0, "the datagram was handled before the command")
  }

  private static var credentials: ICECredentials {
    var random = SecureRandomGenerator()
    return .random(using: &random)
  }
}

/// A loop on a thread of its own, and what it is told.
private final class CommandBox: Sendable {
  private let waiting = Locked<[DriverCommand]>([])
  private let wake: WakeEvent

  init() throws { wake = try WakeEvent() }

  func put(_ commands: [DriverCommand]) { waiting.withLock { $0 += commands } }
  func signal() { wake.signal() }

  func start() {
    Thread {
      var loop = DriverLoop(wake: self.wake.descriptor) {
        self.wake.drain()
        return self.waiting.withLock { waiting in
          defer { waiting = [] }
          return waiting
        }
      }
      loop.run()
    }.start()
  }

  func stop() {
    put([.stop])
    signal()
  }
}

/// A socket that a connection takes for the server's.
private final class Peer {
  private let socket: Int32
  let address: SocketAddress

  init() throws {
    socket = clinux_udp_open(clinux_address(high: 0, low: 0xffff_7f00_0001, port: 0), clinux_udp_options())
    try #require(socket >= 0)
    var bound = clinux_address()
    try #require(clinux_socket_address(socket, &bound) == 0)
    address = SocketAddress(high: bound.high, low: bound.low, port: bound.port)
  }

  deinit { _ = clinux_close(socket) }

  /// Where a datagram that waits came from; nil when none does.
  func receive() -> SocketAddress? {
    var slab = [UInt8](repeating: 0, count: 2_048)
    var datagram = clinux_datagram()
    guard clinux_udp_receive(socket, &slab, 2_048, 1, &datagram) == 1 else { return nil }
    return SocketAddress(high: datagram.source_high, low: datagram.source_low, port: datagram.source_port)
  }

  func send(_ bytes: [UInt8], to address: SocketAddress) {
    _ = clinux_udp_send(
      socket, bytes, bytes.count, clinux_address(high: address.high, low: address.low, port: address.port))
  }
}
