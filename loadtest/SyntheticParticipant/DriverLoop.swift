// What lives on a driver thread: an epoll loop over one socket per connection, and their deadlines. Plain blocking sockets
// without UDP_GRO, as browsers have.

import Basics
import CLinux
import Threads

struct DriverLoop: ~Copyable {
  /// Datagrams a read; the others wait for the next turn, so that no connection starves another.
  private static let batch = 32
  private static let stride = 2_048
  /// Bytes that are read of a datagram of which only the header matters: RTP's with all extensions, and whole messages of
  /// STUN. RTCP that is longer is left out; it comes again.
  private static let header = 256
  /// Reads in a row of a connection that looks rarely: more than its socket's buffer holds.
  private static let mostReads = 64
  /// Connections whose time has come that have their turn between two reads.
  private static let pollsBetweenReads = 8
  /// Kernel buffers: a keyframe from each of fifteen senders at once is about 500 datagrams.
  private static let socketBuffer: Int32 = 1 << 20

  private struct Slot: ~Copyable {
    let key: ConnectionKey
    var descriptor: Int32
    var connection: PeerConnection
    let events: @Sendable (ConnectionEvent) -> Void
    /// The earliest deadline of this slot that stands in the queue.
    var scheduled = Instant.distantFuture
    /// While in the future, the socket is left alone.
    var readAgain = Instant.zero
  }

  private let epoll: Int32
  /// Takes all commands that wait.
  private let takeCommands: () -> [DriverCommand]
  private var slots = SlotMap<Slot>(minimumCapacity: 32)
  private var ids: [ConnectionKey: SlotMap<Slot>.ID] = [:]
  private var deadlines = DeadlineQueue<ConnectionKey>()
  private let slab: UnsafeMutablePointer<UInt8>
  private let datagrams: UnsafeMutablePointer<clinux_datagram>
  private let ready: UnsafeMutablePointer<clinux_event>
  private var isStopping = false
  /// Wall clock less monotonic clock, in nanoseconds; read anew each turn, since the wall clock may be set.
  private var wallAhead: Int64 = 0
  /// Sums over connections that are closed, and what is about all of them.
  private var retired = DriverTotals()

  /// A loop that looks for commands when it reads, and while the descriptor `wake` is readable. `takeCommands` makes it unreadable.
  init(wake: Int32, takeCommands: @escaping () -> [DriverCommand]) {
    self.takeCommands = takeCommands
    epoll = clinux_epoll_create()
    precondition(epoll >= 0, "epoll: no file descriptor left; raise the limit of open files")
    // 0 is no connection's key.
    _ = clinux_epoll_add(epoll, wake, clinux_readable, 0)
    slab = .allocate(capacity: Self.batch * Self.stride)
    datagrams = .allocate(capacity: Self.batch)
    datagrams.initialize(repeating: clinux_datagram(), count: Self.batch)
    ready = .allocate(capacity: 64)
    ready.initialize(repeating: clinux_event(), count: 64)
  }

  deinit {
    slab.deallocate()
    datagrams.deallocate()
    ready.deallocate()
    _ = clinux_close(epoll)
  }

  /// Runs until told to stop.
  mutating func run() {
    while !isStopping {
      let timeout = deadlines.next == .distantFuture ? -1 : max(0, (deadlines.next - MediaDriver.now).nanoseconds)
      let count = Int(clinux_epoll_wait(epoll, ready, 64, timeout))
      let now = MediaDriver.now
      readWallClock(after: now)
      for index in 0..<max(0, count) {
        let key = ready[index].data
        if key != 0 {
          let read = read(key)
          // Between reads, or frames would leave late whenever much has come. But few, or little would be read whenever
          // much is due.
          if deadlines.next <= read { pollDue(at: read, most: Self.pollsBetweenReads) }
          continue
        }
        applyCommands(at: now)
      }
      pollDue(at: MediaDriver.now, most: .max)
    }
    for key in Array(ids.keys) { close(key, politely: false) }
  }

  /// Between two looks at one clock the other is read; where the thread was held up meanwhile, what was known before is better.
  private mutating func readWallClock(after now: Instant) {
    let wall = WallClock.nanoseconds()
    let taken = MediaDriver.now - now
    guard taken < .microseconds(20) || wallAhead == 0 else { return }
    wallAhead = wall - now.nanoseconds - taken.nanoseconds / 2
  }

  // MARK: Commands

  private mutating func applyCommands(at now: Instant) {
    for command in takeCommands() { apply(command, at: now) }
  }

  private mutating func apply(_ command: DriverCommand, at now: Instant) {
    switch command {
    case .open(let key, let setup, let address, let events): open(key, setup, address, events)
    case .tell(let key, let command):
      guard let id = ids[key] else { return }
      slots[id].connection.apply(command, at: now)
      settle(id, at: now)
    case .rebind(let key, let address): rebind(key, address, at: now)
    case .close(let key, let politely): close(key, politely: politely)
    case .statistics(let keys, let answer): answer(report(keys))
    case .usage(let answer):
      var usage = clinux_usage()
      _ = clinux_thread_usage(&usage)
      answer(TimeDelta(nanoseconds: usage.user_ns + usage.system_ns))
    case .totals(let answer): answer(totals())
    case .latestPackets(let track, let answer): answer(latestPackets(track))
    case .forgetDelays:
      (retired.latency, retired.lateness) = (LatencyHistogram(), LatencyHistogram())
      retired.readDelay = LatencyHistogram()
      for id in ids.values { slots[id].connection.forgetDelays() }
    case .holdSenders: for id in ids.values { slots[id].connection.holdSender() }
    case .stop: isStopping = true
    }
  }

  private mutating func open(
    _ key: ConnectionKey, _ setup: ConnectionSetup, _ address: SocketAddress,
    _ events: @escaping @Sendable (ConnectionEvent) -> Void
  ) {
    let descriptor = Self.socket(address)
    guard descriptor >= 0 else { return events(.failed("no UDP socket: error \(-descriptor)")) }
    do {
      let slot = Slot(key: key, descriptor: descriptor, connection: try PeerConnection(setup), events: events)
      ids[key] = slots.insert(slot)
      _ = clinux_epoll_add(epoll, descriptor, clinux_readable, key)
    } catch {
      _ = clinux_close(descriptor)
      events(.failed("\(error)"))
    }
  }

  private static func socket(_ address: SocketAddress) -> Int32 {
    var options = clinux_udp_options()
    options.receive_buffer = socketBuffer
    options.send_buffer = socketBuffer
    options.timestamps = 1
    return clinux_udp_open(clinux_address(high: address.high, low: address.low, port: address.port), options)
  }

  private mutating func rebind(_ key: ConnectionKey, _ address: SocketAddress, at now: Instant) {
    guard let id = ids[key] else { return }
    let descriptor = Self.socket(address)
    guard descriptor >= 0 else { return }
    _ = clinux_epoll_remove(epoll, slots[id].descriptor)
    _ = clinux_close(slots[id].descriptor)
    slots[id].descriptor = descriptor
    _ = clinux_epoll_add(epoll, descriptor, clinux_readable, key)
    slots[id].connection.localAddressChanged(at: now)
    settle(id, at: now)
  }

  private mutating func close(_ key: ConnectionKey, politely: Bool) {
    guard let id = ids.removeValue(forKey: key) else { return }
    if politely {
      slots[id].connection.close()
      flush(id, at: MediaDriver.now)
    }
    var sum = retired
    slots[id].connection.addTotals(to: &sum)
    sum.streamsSeen = 0
    retired = sum
    _ = clinux_epoll_remove(epoll, slots[id].descriptor)
    _ = clinux_close(slots[id].descriptor)
    _ = slots.remove(id)
  }

  private func report(_ keys: [ConnectionKey]) -> [ConnectionKey: ConnectionReport] {
    var result: [ConnectionKey: ConnectionReport] = [:]
    for key in keys {
      guard let id = ids[key] else { continue }
      var report = ConnectionReport()
      report.connection = slots[id].connection.connectionStatistics
      slots[id].connection.addStatistics(to: &report.media)
      result[key] = report
    }
    return result
  }

  private func totals() -> DriverTotals {
    var result = retired
    for id in ids.values { slots[id].connection.addTotals(to: &result) }
    var usage = clinux_usage()
    _ = clinux_thread_usage(&usage)
    result.threadTimes = [TimeDelta(nanoseconds: usage.user_ns + usage.system_ns)]
    return result
  }

  private func latestPackets(_ track: String) -> [Instant] {
    ids.values.flatMap { slots[$0].connection.latestPackets(ofTrack: track) }
  }

  // MARK: Sockets and time

  /// Takes what has come for a connection, and returns when that was.
  private mutating func read(_ key: ConnectionKey) -> Instant {
    var now = MediaDriver.now
    guard let id = ids[key] else { return now }
    let pause = slots[id].connection.impairments.readPause
    // Whoever looks rarely takes all that waits then, or it would only become more.
    var reads = pause > .zero ? Self.mostReads : 1
    var isBehind = true
    while reads > 0 && isBehind {
      isBehind = readBatch(id, at: &now) == Self.batch
      reads -= 1
    }
    // A command may have closed it.
    guard slots.contains(id) else { return now }
    slots[id].connection.note(isBehind: isBehind, at: now)
    if pause > .zero {
      slots[id].readAgain = now + pause
      _ = clinux_epoll_modify(epoll, slots[id].descriptor, 0, key)
    }
    settle(id, at: now)
    return now
  }

  /// Reads once and handles what came; how many datagrams that were. `now` becomes the moment of the read.
  private mutating func readBatch(_ id: SlotMap<Slot>.ID, at now: inout Instant) -> Int {
    let opens = slots[id].connection.opensNextPackets()
    let stride = opens ? Self.stride : Self.header
    let count = Int(clinux_udp_receive(slots[id].descriptor, slab, stride, Int32(Self.batch), datagrams))
    now = MediaDriver.now
    // What was told before a datagram was sent counts for it: a stream is known before its first packet is asked for.
    applyCommands(at: now)
    guard count > 0, slots.contains(id) else { return 0 }
    retired.readDelay.record(now - arrival(datagrams[0], by: now), times: count)
    for index in 0..<count {
      let datagram = datagrams[index]
      let source = SocketAddress(high: datagram.source_high, low: datagram.source_low, port: datagram.source_port)
      let buffer = UnsafeMutableBufferPointer(start: slab + index * stride, count: Int(datagram.length))
      var bytes = buffer.mutableSpan
      let arrived = arrival(datagram, by: now)
      if opens {
        if datagram.truncated != 0 { continue }
        slots[id].connection.handle(&bytes, from: source, arrived: arrived, at: now)
      } else {
        slots[id].connection.glance(&bytes, of: Int(datagram.whole_length), from: source, arrived: arrived, at: now)
      }
    }
    return count
  }

  /// When the kernel put a datagram into its socket: what came later than that is this thread's doing.
  private func arrival(_ datagram: clinux_datagram, by now: Instant) -> Instant {
    datagram.arrival_ns > 0 ? min(now, Instant(nanoseconds: datagram.arrival_ns - wallAhead)) : now
  }

  private mutating func pollDue(at now: Instant, most: Int) {
    var polls = 0
    while polls < most, let key = deadlines.pop(at: now) {
      polls += 1
      guard let id = ids[key] else { continue }
      slots[id].scheduled = .distantFuture
      if slots[id].readAgain > .zero, slots[id].readAgain <= now {
        slots[id].readAgain = .zero
        _ = clinux_epoll_modify(epoll, slots[id].descriptor, clinux_readable, key)
      }
      // A clock read each: frames are stamped with it, and the hundredth connection's turn comes later than the first's.
      let turn = MediaDriver.now
      if slots[id].connection.nextDeadline <= turn { slots[id].connection.poll(at: turn) }
      settle(id, at: turn)
    }
  }

  /// Sends what waits, tells what happened and notes the next deadline.
  private mutating func settle(_ id: SlotMap<Slot>.ID, at now: Instant) {
    flush(id, at: now)
    for event in slots[id].connection.takeEvents() { slots[id].events(event) }
    var deadline = slots[id].connection.nextDeadline
    if slots[id].readAgain > .zero { deadline = min(deadline, slots[id].readAgain) }
    guard deadline < slots[id].scheduled else { return }
    slots[id].scheduled = deadline
    deadlines.push(deadline, slots[id].key)
  }

  private mutating func flush(_ id: SlotMap<Slot>.ID, at now: Instant) {
    let descriptor = slots[id].descriptor
    slots[id].connection.flush(at: now) { datagram, address in
      datagram.withUnsafeBufferPointer {
        clinux_udp_send(
          descriptor, $0.baseAddress, $0.count,
          clinux_address(high: address.high, low: address.low, port: address.port)) >= 0
      }
    }
  }
}
