// What a worker's loop sleeps on: its sockets and its mailbox, or while it rests the clock alone.

internal import CLinux
import Basics

/// What a loop waits for, and the timers of its beats.
///
/// The loop polls instead of keeping an epoll set: descriptors are few, and a socket that is in such a set has each of its sends wake
/// the set up, which nobody waits for.
struct LoopWaits: ~Copyable {
  /// The mailbox, and behind it the sockets.
  private let watched: UnsafeMutableBufferPointer<clinux_watch>
  private(set) var beats: BeatTimers

  /// What there is to look at after a wait.
  struct Ready {
    /// Sockets as bits; those beyond the 63rd share the last.
    var sockets: UInt64 = 0
    var mail = false

    /// What must be looked at that nobody told of.
    static let everything = Ready(sockets: .max, mail: true)

    mutating func add(_ socket: Int) { sockets |= 1 << UInt64(min(socket, 63)) }
    func has(_ socket: Int) -> Bool { sockets & 1 << UInt64(min(socket, 63)) != 0 }
  }

  init(_ sockets: borrowing UDPSockets, mailbox: Int32) {
    beats = BeatTimers()
    watched = .allocate(capacity: 1 + sockets.count)
    for index in watched.indices {
      let descriptor = index == 0 ? mailbox : sockets.descriptor(index - 1)
      watched.initializeElement(
        at: index, to: clinux_watch(fd: descriptor, events: Int16(clinux_readable), ready: 0))
    }
  }

  deinit { watched.deallocate() }

  /// Waits for a datagram or a message; without end where `nanoseconds` is negative.
  func wait(nanoseconds: Int64) -> Ready {
    let count = clinux_poll(watched.baseAddress, Int32(watched.count), nanoseconds)
    // Where the system could not say it, everything is looked at.
    if count < 0 { return .everything }
    if count == 0 { return Ready() }
    var ready = Ready(mail: watched[0].ready != 0)
    for index in 1..<watched.count where watched[index].ready != 0 { ready.add(index - 1) }
    return ready
  }

  /// Waits for nothing but the time: who rests looks at everything afterwards.
  func rest(until time: Instant) { _ = clinux_sleep_until(time.nanoseconds) }

  /// The same until `beat`, a multiple of `interval` that the next one will follow.
  mutating func rest(until beat: Instant, every interval: TimeDelta) {
    beats.prepare(for: beat, every: interval)
    rest(until: beat)
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
