// The I/O shell of one worker: an epoll loop around `WorkerState`, which knows nothing of sockets, clocks or threads.
//
//   wait ─▶ read the clocks ─▶ datagrams ─▶ commands ─▶ poll ─▶ flush ─▶ events to the control plane ─▶ wait
//
// While packets wait for company it rests: only a command wakes it before the first of them is due.

internal import CLinux
import Basics
import Crypto
import Media
import Synchronization

/// One worker thread with its UDP port. Commands go in, events come out; nothing else is shared.
public final class MediaWorker: Sendable {
  /// How a worker is set up.
  public struct Options: Sendable {
    /// The worker's number, for its thread's name.
    public var index = 0
    /// Addresses to bind, IPv4 and IPv6; a port of 0 takes any free one.
    public var addresses: [SocketAddress]
    /// Kernel buffer sizes asked for, in bytes.
    public var receiveBuffer = 4 << 20
    /// Likewise for sending.
    public var sendBuffer = 4 << 20
    /// CPU to bind the thread to; nil leaves it to the system.
    public var cpu: Int?
    /// What the sans-IO state needs to know.
    public var settings = WorkerState.Settings()

    /// A worker bound to `addresses`.
    public init(addresses: [SocketAddress]) { self.addresses = addresses }
  }

  enum Message: Sendable {
    case command(WorkerCommand)
    case counters(@Sendable (WorkerCounters) -> Void)
    case stop
  }

  /// CPUs that this process may use.
  public static var cpuCount: Int { Int(clinux_cpu_count()) }

  /// Where the sockets are bound.
  public let addresses: [SocketAddress]
  private let mailbox: Mailbox<Message>
  private let thread: OwnerThread

  /// Opens the sockets and starts the thread. `deliver` is called on the worker's thread with what happened and
  /// must not block.
  public init(
    options: Options, certificate: Certificate, deliver: @escaping @Sendable ([WorkerEvent]) -> Void
  ) throws(SocketError) {
    let sockets = try UDPSockets(
      addresses: options.addresses, receiveBuffer: options.receiveBuffer, sendBuffer: options.sendBuffer)
    addresses = (0..<sockets.count).map { sockets.boundAddress($0) }
    let mailbox = Mailbox<Message>()
    self.mailbox = mailbox
    let handover = Mutex<UDPSockets?>(sockets)
    thread = OwnerThread(name: "worker-\(options.index)") {
      guard let sockets = handover.withLock({ $0.take() }) else { return }
      if let cpu = options.cpu { _ = clinux_thread_pin(Int32(cpu)) }
      _ = clinux_thread_punctual()
      var loop = WorkerLoop(
        index: options.index, sockets: sockets, mailbox: mailbox, certificate: certificate, settings: options.settings,
        deliver: deliver)
      loop.run()
    }
  }

  /// Hands commands to the worker, in order.
  public func post(_ commands: [WorkerCommand]) { mailbox.post(commands.map { .command($0) }) }

  /// Asks for the worker's counters; `reply` is called on its thread.
  public func counters(_ reply: @escaping @Sendable (WorkerCounters) -> Void) { mailbox.post(.counters(reply)) }

  /// Closes every transport and ends the thread; returns when it has ended. Call it once.
  public func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// What lives on the worker's thread.
struct WorkerLoop: ~Copyable {
  /// Datagrams taken from one socket before timers and sends get their turn; the last batch may bring more.
  static let datagramsPerTurn = 256
  /// What stands for the mailbox among the numbers of the sockets.
  private static let mail = UInt64.max

  private let index: Int
  private var sockets: UDPSockets
  private var meter = LoadMeter()
  private let mailbox: Mailbox<MediaWorker.Message>
  private let deliver: @Sendable ([WorkerEvent]) -> Void
  private var state: WorkerState
  private var messages: [MediaWorker.Message] = []
  private var isStopping = false
  /// Whether a socket was left with datagrams in it, so that other sockets and timers get their turn.
  private var hasMore = false
  /// Watches the sockets and the mailbox.
  private let epoll: Int32
  /// Watches the mailbox alone.
  private let resting: Int32
  private var arrivals: ArrivalClock

  init(
    index: Int, sockets: consuming UDPSockets, mailbox: Mailbox<MediaWorker.Message>, certificate: Certificate,
    settings: WorkerState.Settings, deliver: @escaping @Sendable ([WorkerEvent]) -> Void
  ) {
    var random = SystemRandomNumberGenerator()
    state = WorkerState(certificate: certificate, settings: settings, seed: random.next())
    arrivals = ArrivalClock(at: Instant(nanoseconds: clinux_monotonic_ns()))
    epoll = clinux_epoll_create()
    resting = clinux_epoll_create()
    for index in 0..<sockets.count {
      _ = clinux_epoll_add(epoll, sockets.descriptor(index), clinux_readable, UInt64(index))
    }
    for waiting in [epoll, resting] {
      _ = clinux_epoll_add(waiting, mailbox.descriptor, clinux_readable, Self.mail)
    }
    self.index = index
    self.sockets = sockets
    self.mailbox = mailbox
    self.deliver = deliver
  }

  deinit {
    _ = clinux_close(epoll)
    _ = clinux_close(resting)
  }

  mutating func run() {
    var end = Instant(nanoseconds: clinux_monotonic_ns())
    while !isStopping {
      let due = min(state.nextDeadline, meter.nextDeadline)
      let ready = wait(from: end, due: due)
      let now = Instant(nanoseconds: clinux_monotonic_ns())
      arrivals.turn(at: now, wall: clinux_wall_ns())
      hasMore = false
      for socket in 0..<sockets.count where ready.has(socket) { receive(socket) }
      if ready.mail { takeMessages(at: now) }
      state.poll(at: now)
      state.flush(at: now, into: &sockets)
      let events = state.takeEvents()
      if !events.isEmpty { deliver(events) }
      // What was due before the loop went to sleep is the last turn's length, not a late waking.
      let expected = max(due, end)
      end = Instant(nanoseconds: clinux_monotonic_ns())
      if meter.turn(due: expected, from: now, to: end), meter.judge(cpu: Self.cpuTime(), at: end) {
        deliver([.overload(worker: index, meter.counters.isOverloaded)])
      }
    }
  }

  /// What there is to look at after a wait.
  private struct Ready {
    /// Sockets as bits; those beyond the 63rd share the last.
    var sockets: UInt64 = 0
    var mail = false

    mutating func add(_ socket: UInt64) { sockets |= 1 << min(socket, 63) }
    func has(_ socket: Int) -> Bool { sockets & 1 << UInt64(min(socket, 63)) != 0 }
  }

  private func wait(from now: Instant, due: Instant) -> Ready {
    let rest = state.rest(at: now)
    if rest > .zero && !hasMore {
      // Timers may be late by as much as the rest is long; none of ours minds that.
      return Ready(sockets: .max, mail: wait(on: resting, rest.nanoseconds).mail)
    }
    return wait(on: epoll, due == .distantFuture ? -1 : max(0, (due - now).nanoseconds))
  }

  private func wait(on epoll: Int32, _ timeout: Int64) -> Ready {
    var events = InlineArray<16, clinux_event>(repeating: clinux_event())
    var span = events.mutableSpan
    let count = span.withUnsafeMutableBufferPointer { clinux_epoll_wait(epoll, $0.baseAddress, 16, timeout) }
    var ready = Ready()
    for index in 0..<max(0, Int(count)) {
      if events[index].data == Self.mail { ready.mail = true } else { ready.add(events[index].data) }
    }
    return ready
  }

  /// CPU time of this thread.
  private static func cpuTime() -> TimeDelta {
    var usage = clinux_usage()
    _ = clinux_thread_usage(&usage)
    return TimeDelta(nanoseconds: usage.user_ns + usage.system_ns)
  }

  private mutating func receive(_ socket: Int) {
    var count = 0
    while count < Self.datagramsPerTurn {
      let batch = Self.receiveBatch(socket, sockets: &sockets, arrivals: &arrivals, state: &state)
      meter.received()
      count += batch.datagrams
      if batch.slots < UDPSockets.batch { return }
    }
    hasMore = true
  }

  private static func receiveBatch(
    _ socket: Int, sockets: inout UDPSockets, arrivals: inout ArrivalClock, state: inout WorkerState
  ) -> UDPSockets.Batch {
    sockets.receive(socket) { bytes, source, stamp in
      state.receive(
        bytes, from: Path(remote: source, socket: UInt8(truncatingIfNeeded: socket)), at: arrivals.arrival(stamp))
    }
  }

  private mutating func takeMessages(at now: Instant) {
    mailbox.drain(into: &messages)
    for message in messages {
      switch message {
      case .command(let command): state.apply(command, at: now)
      case .counters(let reply):
        var counters = state.counters
        counters.loop = meter.counters
        reply(counters)
      case .stop:
        state.closeAll(at: now)
        isStopping = true
      }
    }
    messages.removeAll(keepingCapacity: true)
  }
}
