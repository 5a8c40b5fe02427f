// What a worker's loop sleeps on: its sockets and its mailbox, or while it rests the mailbox alone.

internal import CLinux
import Basics

/// The two epoll descriptors of a loop. Made before its thread, so that whoever starts it hears of a failure.
struct LoopWaits: ~Copyable {
  /// What stands for the mailbox among the numbers of the sockets.
  private static let mail = UInt64.max

  /// Watches the sockets and the mailbox.
  private let all: Int32
  /// Watches the mailbox alone.
  private let resting: Int32

  /// What there is to look at after a wait.
  struct Ready {
    /// Sockets as bits; those beyond the 63rd share the last.
    var sockets: UInt64 = 0
    var mail = false

    mutating func add(_ socket: UInt64) { sockets |= 1 << min(socket, 63) }
    func has(_ socket: Int) -> Bool { sockets & 1 << UInt64(min(socket, 63)) != 0 }
  }

  init(_ sockets: borrowing UDPSockets, mailbox: Int32) throws(SocketError) {
    all = clinux_epoll_create()
    resting = clinux_epoll_create()
    for index in 0..<sockets.count {
      try Self.check(clinux_epoll_add(all, sockets.descriptor(index), clinux_readable, UInt64(index)))
    }
    for waiting in [all, resting] {
      try Self.check(waiting)
      try Self.check(clinux_epoll_add(waiting, mailbox, clinux_readable, Self.mail))
    }
  }

  private static func check(_ status: Int32) throws(SocketError) {
    if status < 0 { throw SocketError(address: nil, code: -status) }
  }

  deinit {
    _ = clinux_close(all)
    _ = clinux_close(resting)
  }

  /// Waits for a datagram or a message; without end where `nanoseconds` is negative.
  func wait(nanoseconds: Int64) -> Ready { Self.wait(on: all, nanoseconds) }

  /// Waits for a message alone.
  func rest(nanoseconds: Int64) -> Ready { Self.wait(on: resting, nanoseconds) }

  private static func wait(on epoll: Int32, _ timeout: Int64) -> Ready {
    var events = InlineArray<16, clinux_event>(repeating: clinux_event())
    var span = events.mutableSpan
    let count = span.withUnsafeMutableBufferPointer { clinux_epoll_wait(epoll, $0.baseAddress, 16, timeout) }
    var ready = Ready()
    for index in 0..<max(0, Int(count)) {
      if events[index].data == mail { ready.mail = true } else { ready.add(events[index].data) }
    }
    return ready
  }
}
