// A thread that sends datagrams at a pace, as a stranger with many ports would.

import Basics
import CLinux
import Glibc
import Threads

/// A flood that runs until it is stopped.
public final class Flood: Sendable {
  private let thread: OwnerThread
  private let state: Locked<(isOver: Bool, sent: Int)>

  /// Sends `perSecond` of these datagrams, from the first to the last and again, from so many ports of `address`. Nil where these
  /// cannot be had.
  public init?(
    _ datagrams: [[UInt8]], to server: SocketAddress, perSecond: Int, from address: SocketAddress, ports: Int = 16
  ) {
    let sockets = (0..<ports).map { _ in Self.open(address) }
    guard !datagrams.isEmpty, sockets.allSatisfy({ $0 >= 0 }) else {
      for socket in sockets where socket >= 0 { close(socket) }
      return nil
    }
    let state = Locked((isOver: false, sent: 0))
    self.state = state
    thread = OwnerThread(name: "flood") {
      let start = MonotonicClock.now()
      let to = clinux_address(high: server.high, low: server.low, port: server.port)
      var (tried, sent) = (0, 0)
      while !state.withLock({ $0.isOver }) {
        let due = Int((MonotonicClock.now() - start).seconds * Double(perSecond))
        while tried < due {
          let result = datagrams[tried % datagrams.count].withUnsafeBufferPointer {
            clinux_udp_send(sockets[tried % sockets.count], $0.baseAddress, $0.count, to)
          }
          if result >= 0 { sent += 1 }
          tried += 1
        }
        let now = sent
        state.withLock { $0.sent = now }
        OwnerThread.sleep(milliseconds: 1)
      }
      for socket in sockets { close(socket) }
    }
  }

  /// Datagrams that the kernel took.
  public var sent: Int { state.withLock { $0.sent } }

  /// Stops it; returns when it has stopped.
  public func stop() {
    state.withLock { $0.isOver = true }
    thread.join()
  }

  private static func open(_ address: SocketAddress) -> Int32 {
    var options = clinux_udp_options()
    options.send_buffer = 4 << 20
    return clinux_udp_open(clinux_address(high: address.high, low: address.low, port: 0), options)
  }
}
