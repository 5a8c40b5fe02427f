// The bench with the kernel in it: datagrams leave through a UDP socket to one plain socket a seat, on loopback, where a
// thread sleeps until something comes and reads it. The CPU time of sending includes delivery, as loopback has it.

import Basics
import CLinux
import Forwarding
import Glibc
import Media
import Threads

/// The seats' sockets and the thread that reads them.
final class Receivers: Sendable {
  let addresses: [clinux_address]
  private let descriptors: [Int32]
  private let epoll = clinux_epoll_create()

  init(_ count: Int) {
    var options = clinux_udp_options()
    options.receive_buffer = 1 << 20
    descriptors = (0..<count).map { _ in
      clinux_udp_open(clinux_address(high: 0, low: 0xffff_7f00_0001, port: 0), options)
    }
    addresses = descriptors.map {
      var address = clinux_address()
      _ = clinux_socket_address($0, &address)
      return address
    }
    for (index, descriptor) in descriptors.enumerated() {
      _ = clinux_epoll_add(epoll, descriptor, clinux_readable, UInt64(index))
    }
  }

  /// Reads for ever.
  func start() {
    _ = OwnerThread(name: "receivers") { self.read() }
  }

  private func read() {
    var slab = [UInt8](repeating: 0, count: 64 * 2_048)
    var datagrams = [clinux_datagram](repeating: clinux_datagram(), count: 64)
    var ready = [clinux_event](repeating: clinux_event(), count: 64)
    while true {
      let count = clinux_epoll_wait(epoll, &ready, 64, -1)
      for event in ready.prefix(max(0, Int(count))) {
        while clinux_udp_receive(descriptors[Int(event.data)], &slab, 2_048, 64, &datagrams) == 64 {}
      }
    }
  }
}

/// Sends to the seats' sockets, whatever address the worker believes they have.
struct SocketSink: DatagramSink {
  /// What is done otherwise than a worker does it, in every other turn.
  enum Other {
    /// A system call for each run.
    case oneByOne
    /// Each datagram by itself, without segments; one system call for all.
    case single
  }

  let receivers: Receivers
  let descriptor: Int32
  let other: Other
  var calls = 0
  var packets = 0
  var refused = 0
  /// What sending itself took, turn by turn as a worker does it and in the other way.
  var usual = Spent()
  var otherwise = Spent()
  private var isUsual = false
  private var entries = [clinux_outgoing](repeating: clinux_outgoing(), count: Int(CLINUX_BATCH))

  struct Spent {
    var nanoseconds: Int64 = 0
    /// Runs of datagrams, and datagrams.
    var runs = 0
    var packets = 0
    var text: String { "\(Int(nanoseconds) / max(runs, 1)) a run, \(Int(nanoseconds) / max(packets, 1)) a packet" }
  }

  init(_ receivers: Receivers, other: Other) {
    self.receivers = receivers
    self.other = other
    var options = clinux_udp_options()
    options.send_buffer = 4 << 20
    options.unfragmented = 1
    descriptor = clinux_udp_open(clinux_address(high: 0, low: 0xffff_7f00_0001, port: 0), options)
  }

  /// Every other turn with one system call for runs of segments, as a worker does; those between in the other way.
  mutating func send(_ runs: Span<OutgoingRun>, _ told: (OutgoingRun, DropReason?) -> Void) {
    isUsual.toggle()
    let before = threadNanoseconds()
    switch (isUsual, other) {
    case (true, _): sendTogether(runs, told)
    case (_, .oneByOne): sendOneByOne(runs, told)
    case (_, .single): sendSingly(runs, told)
    }
    let spent = threadNanoseconds() - before
    if isUsual { usual.add(spent, runs) } else { otherwise.add(spent, runs) }
  }

  private mutating func sendTogether(_ runs: Span<OutgoingRun>, _ told: (OutgoingRun, DropReason?) -> Void) {
    var next = 0
    while next < runs.count {
      let count = min(runs.count - next, entries.count)
      for index in 0..<count {
        entries[index] = entry(runs[next + index].bytes, runs[next + index].segment, runs[next + index].path)
      }
      let sent = clinux_udp_send_batch(descriptor, entries, Int32(count))
      for index in next..<(next + max(1, Int(sent))) { told(runs[index], note(sent, runs[index].count)) }
      next += max(1, Int(sent))
    }
  }

  private mutating func sendOneByOne(_ runs: Span<OutgoingRun>, _ told: (OutgoingRun, DropReason?) -> Void) {
    for index in runs.indices {
      told(runs[index], send(runs[index].bytes, segment: runs[index].segment, to: runs[index].path))
    }
  }

  private mutating func sendSingly(_ runs: Span<OutgoingRun>, _ told: (OutgoingRun, DropReason?) -> Void) {
    var count = 0
    for index in runs.indices {
      let run = runs[index]
      for start in stride(from: 0, to: run.bytes.count, by: max(run.segment, 1)) {
        let end = min(start + run.segment, run.bytes.count)
        entries[count] = entry(UnsafeRawBufferPointer(rebasing: run.bytes[start..<end]), 0, run.path)
        count += 1
        if count == entries.count { sendEntries(&count) }
      }
      told(run, nil)
    }
    sendEntries(&count)
  }

  private mutating func sendEntries(_ count: inout Int) {
    if count > 0 {
      let sent = clinux_udp_send_batch(descriptor, entries, Int32(count))
      (calls, packets, refused) = (calls + count, packets + count, refused + count - Int(max(0, sent)))
    }
    count = 0
  }

  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    var one = entry(bytes, segment, path)
    return note(clinux_udp_send_one(descriptor, &one), (bytes.count + segment - 1) / max(segment, 1))
  }

  private func entry(_ bytes: UnsafeRawBufferPointer, _ segment: Int, _ path: Path) -> clinux_outgoing {
    var entry = clinux_outgoing()
    entry.bytes = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    entry.length = UInt32(bytes.count)
    entry.segment_size = UInt16(segment)
    entry.to = receivers.addresses[Int(path.remote.low & 0xff_ffff) - 1]
    return entry
  }

  private mutating func note(_ status: Int32, _ count: Int) -> DropReason? {
    calls += 1
    packets += count
    if status > 0 { return nil }
    refused += 1
    return .sendFailed
  }
}

extension SocketSink.Spent {
  mutating func add(_ nanoseconds: Int64, _ runs: Span<OutgoingRun>) {
    self.nanoseconds += nanoseconds
    self.runs += runs.count
    for index in runs.indices { packets += runs[index].count }
  }
}

extension Bench {
  /// As `forward`, in real time: the thread sleeps until something arrives or is due, as a worker's does, and so do those who
  /// receive. Returns nanoseconds of CPU time a packet.
  func forward(_ arrivals: [Arrival], through sink: inout SocketSink) -> Double {
    let (before, forwarded) = (threadNanoseconds(), worker.counters.forwarded)
    var next = arrivals.startIndex
    _ = clinux_thread_punctual()
    let offset = MonotonicClock.now().nanoseconds - now.nanoseconds
    while next < arrivals.endIndex {
      let rest = worker.rest(at: now)
      sleep(until: offset + (rest > .zero ? now + rest : min(arrivals[next].at, worker.nextDeadline)).nanoseconds)
      advance(to: Instant(nanoseconds: MonotonicClock.now().nanoseconds - offset))
      while next < arrivals.endIndex, arrivals[next].at <= now {
        worker.receive(arrivals[next].bytes, from: arrivals[next].path, at: arrivals[next].at)
        next += 1
      }
      worker.poll(at: now)
      worker.flush(at: now, into: &sink)
    }
    _ = worker.takeEvents()
    return Double(threadNanoseconds() - before) / Double(worker.counters.forwarded - forwarded)
  }

  private func sleep(until monotonic: Int64) {
    var time = timespec(tv_sec: Int(monotonic / 1_000_000_000), tv_nsec: Int(monotonic % 1_000_000_000))
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
  }
}
