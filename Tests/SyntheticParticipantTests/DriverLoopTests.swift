import Basics
import CLinux
import Crypto
import Foundation
import ICE
import Testing

@testable import SyntheticParticipant

@Suite("Driver thread") struct DriverLoopTests {
  @Test("What was told before a datagram was sent comes before it, though the wake-up names the socket alone")
  func commandsComeBeforeDatagrams() throws {
    let peer = try Peer()
    let box = CommandBox()
    let loopback = peer.address
    let setup = ConnectionSetup(
      certificate: try Certificate(wallMilliseconds: 1_700_000_000_000), credentials: Self.credentials, user: "anna",
      seed: 1, wallOrigin: 0)
    let remote = RemoteEnd(credentials: Self.credentials, fingerprints: [], candidates: [loopback])
    let anywhere = SocketAddress(high: loopback.high, low: loopback.low, port: 0)
    box.put([
      .open(1, setup, bind: anywhere, events: { _ in }), .tell(1, .begin(remote, local: Self.credentials)),
    ])
    box.signal()
    box.start()
    // Its first check tells where its socket is.
    let source = try #require(peer.receive(), "the connection sends no checks")

    let early = Locked<UInt64?>(nil)
    box.put([.statistics([1]) { reports in early.withLock { $0 = reports[1]?.connection.datagramsReceived } }, .stop])
    // Nobody signals, as if that came too late for this turn's events.
    peer.send([1, 2, 3], to: source)

    #expect(box.waitForEnd(), "the loop did not look for commands when it read")
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
  private let hasEnded = Locked(false)
  private let wake = clinux_eventfd_create()

  deinit { _ = clinux_close(wake) }

  func put(_ commands: [DriverCommand]) { waiting.withLock { $0 += commands } }
  func signal() { _ = clinux_eventfd_signal(wake) }

  func start() {
    Thread {
      var loop = DriverLoop(wake: self.wake) { taken in self.waiting.withLock { swap(&$0, &taken) } }
      loop.run()
      self.hasEnded.withLock { $0 = true }
    }.start()
  }

  /// Whether the loop has come to its end by itself; it has ended afterwards in any case.
  func waitForEnd() -> Bool {
    if ends(within: 10) { return true }
    signal()
    _ = ends(within: 10)
    return false
  }

  private func ends(within seconds: Double) -> Bool {
    let end = Date() + seconds
    while Date() < end {
      if hasEnded.withLock({ $0 }) { return true }
      usleep(1_000)
    }
    return false
  }
}

/// A socket that a connection takes for the server's.
private final class Peer {
  private let socket: Int32
  let address: SocketAddress

  init() throws {
    let loopback = SocketAddress(v4: 0x7f00_0001, port: 0)
    socket = clinux_udp_open(
      clinux_address(high: loopback.high, low: loopback.low, port: 0), clinux_udp_options())
    try #require(socket >= 0)
    var bound = clinux_address()
    try #require(clinux_socket_address(socket, &bound) == 0)
    address = SocketAddress(high: bound.high, low: bound.low, port: bound.port)
  }

  deinit { _ = clinux_close(socket) }

  /// Where the next datagram comes from; nil when none comes.
  func receive() -> SocketAddress? {
    var slab = [UInt8](repeating: 0, count: 2_048)
    var datagram = clinux_datagram()
    for _ in 0..<10_000 {
      if clinux_udp_receive(socket, &slab, 2_048, 1, &datagram) == 1 {
        return SocketAddress(high: datagram.source_high, low: datagram.source_low, port: datagram.source_port)
      }
      usleep(1_000)
    }
    return nil
  }

  func send(_ bytes: [UInt8], to address: SocketAddress) {
    _ = clinux_udp_send(
      socket, bytes, bytes.count, clinux_address(high: address.high, low: address.low, port: address.port))
  }
}
