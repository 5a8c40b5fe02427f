// What a worker's loop sleeps on: its sockets and its mailbox, or while it rests the mailbox alone.

internal import CLinux
import Basics

/// The two epoll descriptors of a loop, and the timers of its beats. Made before its thread, so that whoever starts it hears of a failure.
struct LoopWaits: ~Copyable {
  /// What stands for the mailbox among the numbers of the sockets.
  private static let mail = UInt64.max

  /// Watches the sockets and the mailbox.
  private let all: Int32
  /// Watches the mailbox alone.
  private let resting: Int32
  private(set) var beats: BeatTimers

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
    beats = BeatTimers()
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

  /// Waits for a message alone, until `beat`, a multiple of `interval` that the next one will follow.
  mutating func rest(until beat: Instant, every interval: TimeDelta) -> Ready {
    beats.prepare(for: beat, every: interval)
    return rest(nanoseconds: max(0, beat.nanoseconds - clinux_monotonic_ns()))
  }

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

/// Timers of which nobody is told: they have the CPU wake up at the next beats, whoever sleeps until then.
///
/// A CPU's clock is set to the earliest of its timers. Who sleeps for a while sets it, which in a virtual machine costs several
/// microseconds, unless another timer goes off before. So the timer of each beat is set a beat ahead, when that of the beat before is
/// still to come, and a worker that then sleeps until that one finds its CPU's clock set.
struct BeatTimers: ~Copyable {
  /// One for the beats of even number, one for those of odd; negative where there is none.
  let timers: InlineArray<2, Int32> = [clinux_timer_create(), clinux_timer_create()]
  private var times: InlineArray<2, Instant> = [.zero, .zero]

  deinit { for index in timers.indices { _ = clinux_close(timers[index]) } }

  /// Sets the timers of `beat`, a multiple of `interval`, and of the one after it.
  mutating func prepare(for beat: Instant, every interval: TimeDelta) {
    set(beat, number: beat.nanoseconds / interval.nanoseconds)
    set(beat + interval, number: beat.nanoseconds / interval.nanoseconds + 1)
  }

  /// A timer that cannot be had or set spares nothing; whoever sleeps wakes all the same.
  private mutating func set(_ time: Instant, number: Int64) {
    let index = Int(number & 1)
    guard times[index] != time else { return }
    times[index] = time
    _ = clinux_timer_set(timers[index], time.nanoseconds)
  }
}
