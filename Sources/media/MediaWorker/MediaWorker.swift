// The I/O shell of one worker: a poll loop around `WorkerState`, which knows nothing of sockets, clocks or threads.
//
//   wait ─▶ read the clocks ─▶ datagrams ─▶ look at pipes ─▶ commands ─▶ read pipes ─▶ poll ─▶ write pipes ─▶ flush
//     ▲─────────────────────── events to the control plane ◀───────────────────────────────────────────────────┘
//
// Pipes are looked at before commands are taken, and read behind them: so a track is known here before another worker asks for it.
// While packets wait for company it rests, and commands wait too, until the first of them is due. Where much comes it rests until
// the next beat each time, unless that went by during the turn.

internal import CLinux
import Basics
import Crypto
import Media
import Synchronization
import Threads

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
    /// CPU to bind the thread to, by its place in `MediaWorker.cpus`; nil leaves it to the system.
    public var cpu: Int?
    /// What the sans-IO state needs to know.
    public var settings = WorkerState.Settings()

    /// A worker bound to `addresses`.
    public init(addresses: [SocketAddress]) { self.addresses = addresses }
  }

  enum Message: Sendable {
    case command(WorkerCommand)
    case attach(PipeKey, PipeEnd)
    case detach(PipeKey)
    case counters(@Sendable (WorkerCounters) -> Void)
    case stop
  }

  /// CPUs that this process may use, by the system's numbers; never empty.
  public static var cpus: [Int] { (0..<clinux_cpu_count()).map { Int(max(clinux_cpu_number($0), 0)) } }

  /// Where the sockets are bound.
  public let addresses: [SocketAddress]
  private let mailbox: Mailbox<Message>
  let bell: Bell
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
    let bell = Bell { mailbox.wake() }
    self.bell = bell
    let handover = Mutex<Handover?>(
      Handover(waits: LoopWaits(sockets, mailbox: mailbox.descriptor), sockets: sockets))
    thread = OwnerThread(name: "worker-\(options.index)") {
      guard let handover = handover.withLock({ $0.take() }) else { return }
      if let cpu = options.cpu { _ = clinux_thread_pin(Int32(cpu)) }
      _ = clinux_thread_punctual()
      var loop = WorkerLoop(
        index: options.index, handover, mailbox: mailbox, bell: bell, certificate: certificate,
        settings: options.settings, deliver: deliver)
      loop.run()
    }
  }

  /// Hands commands to the worker, in order.
  public func post(_ commands: [WorkerCommand]) { mailbox.post(commands.map { .command($0) }) }

  func attach(_ end: PipeEnd, as key: PipeKey) {
    mailbox.post([.attach(key, end), .command(.openPipe(key))])
  }

  func detach(_ key: PipeKey) { mailbox.post([.command(.closePipe(key)), .detach(key)]) }

  /// Asks for the worker's counters; `reply` is called on its thread.
  public func counters(_ reply: @escaping @Sendable (WorkerCounters) -> Void) { mailbox.post(.counters(reply)) }

  /// Commands that the worker's full mailbox refused: it hangs.
  public var refusedMessages: UInt64 { mailbox.refused }

  /// Closes every transport and ends the thread; returns when it has ended. Call it once.
  public func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// What the thread takes over from who starts it.
struct Handover: ~Copyable {
  let waits: LoopWaits
  let sockets: UDPSockets
}

/// What lives on the worker's thread.
struct WorkerLoop: ~Copyable {
  /// Datagrams taken from one socket before timers and sends get their turn; the last batch may bring more.
  static let datagramsPerTurn = 256

  private let index: Int
  var sockets: UDPSockets
  private var meter: LoadMeter
  let bell: Bell
  var pipes = WorkerPipes()
  private let mailbox: Mailbox<MediaWorker.Message>
  private let deliver: @Sendable ([WorkerEvent]) -> Void
  var state: WorkerState
  private var messages: [MediaWorker.Message] = []
  private var isStopping = false
  /// Whether a socket was left with datagrams in it, so that other sockets and timers get their turn.
  private(set) var hasMore = false
  var waits: LoopWaits
  private var arrivals: ArrivalClock
  /// Time that this turn has spent on sending in the middle of what it reads.
  var early = TimeDelta.zero
  /// When the last turn ended.
  private var end = Instant.zero

  /// What the loop has done.
  var counters: LoopCounters { meter.counters }
  /// Datagrams that have come.
  var datagrams: UInt64 { state.counters.packetsIn }

  init(
    index: Int, _ handover: consuming Handover, mailbox: Mailbox<MediaWorker.Message>, bell: Bell,
    certificate: Certificate, settings: WorkerState.Settings, deliver: @escaping @Sendable ([WorkerEvent]) -> Void
  ) {
    var random = SystemRandomNumberGenerator()
    state = WorkerState(certificate: certificate, settings: settings, seed: random.next())
    meter = LoadMeter()
    arrivals = ArrivalClock(at: MonotonicClock.now())
    waits = handover.waits
    sockets = handover.sockets
    self.index = index
    (self.mailbox, self.bell) = (mailbox, bell)
    self.deliver = deliver
  }

  mutating func run() {
    end = MonotonicClock.now()
    while !isStopping { turn() }
  }

  /// Waits, and does what there is to do then.
  mutating func turn() {
    // Timers may be late by as much as a rest is long; none of ours minds that.
    let leftPackets = pipes.hasMore
    let rest = hasMore || leftPackets ? .zero : state.rest(at: end)
    let due = rest > .zero ? end + rest : min(min(state.nextDeadline, meter.nextDeadline), pipesDue(at: end))
    let ready = rest > .zero ? wait(rest: rest, from: end) : sleep(from: end, until: due)
    let now = MonotonicClock.now()
    arrivals.turn(at: now, wall: WallClock.nanoseconds())
    (hasMore, early) = (false, .zero)
    for socket in 0..<sockets.count where ready.has(socket) { receive(socket, at: now) }
    // What is written from now on is read in the next turn.
    let hasCrossed = !pipes.isEmpty && pipes.look()
    let received = MonotonicClock.now()
    let receiving = received - now - early
    let used = now >= state.useDue ? WorkerUse(processor: Self.cpuTime(), dropped: sockets.dropped()) : nil
    state.noteTurn(
      waited: arrivals.longestWait, leaves: hasMore || leftPackets, busy: meter.counters.busyNanoseconds, used: used,
      at: now)
    if ready.mail || hasCrossed { takeMessages(at: now) }
    if hasCrossed { readPipes(at: now) }
    state.poll(at: now)
    if !pipes.isEmpty { pipes.drain(&state) }
    let polled = MonotonicClock.now()
    state.flush(at: now, into: &sockets)
    // What was due before the loop went to sleep is the last turn's length, not a late waking.
    let expected = max(due, end)
    end = MonotonicClock.now()
    let sent = sockets.takeSent()
    meter.spent(
      receiving: receiving, flushing: end - polled + early, sending: sent.time, calls: sent.calls)
    let events = state.takeEvents()
    if !events.isEmpty {
      deliver(events)
      end = MonotonicClock.now()
    }
    if meter.turn(due: expected, from: now, to: end) {
      meter.judge(cpu: Self.cpuTime(), at: end)
      deliver([.load(worker: index, percent: meter.counters.percent)])
    }
  }

  /// Rests after a turn that ended at `end`, until the next beat where one is kept. All sockets have to be looked at then, since
  /// nobody has watched them.
  mutating func wait(rest: TimeDelta, from end: Instant) -> LoopWaits.Ready {
    switch state.beat(at: end) {
    case let beat?: waits.rest(until: beat.next, every: beat.interval)
    case nil: waits.rest(until: end + rest)
    }
    return LoopWaits.Ready(sockets: .max, mail: mailbox.count > 0)
  }

  /// CPU time of this thread.
  private static func cpuTime() -> TimeDelta {
    var usage = clinux_usage()
    _ = clinux_thread_usage(&usage)
    return TimeDelta(nanoseconds: usage.user_ns + usage.system_ns)
  }

  private mutating func receive(_ socket: Int, at now: Instant) {
    var count = 0
    while count < Self.datagramsPerTurn {
      let slots = sockets.receive(socket)
      count += passOnBatch(slots, of: socket, at: now)
      if slots < UDPSockets.batch { return }
      if early > .zero || state.isFull { break }
    }
    hasMore = true
  }

  /// Takes what came with one system call, and returns how many datagrams it were. One of them may leave a thousand times, and a
  /// call brings two thousand: where the queue fills up it is sent at once, so that there is space for what comes behind, of other
  /// rooms too.
  private mutating func passOnBatch(_ slots: Int, of socket: Int, at now: Instant) -> Int {
    var datagrams = 0
    for slot in 0..<slots {
      datagrams += Self.passOnSlot(slot, of: socket, sockets: sockets, arrivals: &arrivals, state: &state)
      if state.isNearlyFull { Self.flushEarly(&state, through: &sockets, early: &early, at: now) }
    }
    meter.received(datagrams)
    return datagrams
  }

  static func flushEarly(
    _ state: inout WorkerState, through sockets: inout UDPSockets, early: inout TimeDelta, at now: Instant
  ) {
    let start = MonotonicClock.now().nanoseconds
    state.flush(at: now, into: &sockets)
    early = early + TimeDelta(nanoseconds: MonotonicClock.now().nanoseconds - start)
  }

  private static func passOnSlot(
    _ slot: Int, of socket: Int, sockets: borrowing UDPSockets, arrivals: inout ArrivalClock, state: inout WorkerState
  ) -> Int {
    sockets.forEachDatagram(in: slot) { bytes, source, stamp in
      state.receive(
        bytes, from: Path(remote: source, socket: UInt8(truncatingIfNeeded: socket)), at: arrivals.arrival(stamp))
    }
  }

  private mutating func takeMessages(at now: Instant) {
    mailbox.drain(into: &messages)
    for message in messages {
      switch message {
      case .command(let command): state.apply(command, at: now)
      case .attach(let key, let end): pipes.attach(key, end)
      case .detach(let key): pipes.detach(key)
      case .counters(let reply):
        var counters = state.counters
        counters.loop = meter.counters
        counters.lines = state.lines
        counters.drops[.receiveQueueFull] = sockets.dropped()
        reply(counters)
      case .stop:
        state.closeAll(at: now)
        isStopping = true
      }
    }
    messages.removeAll(keepingCapacity: true)
  }
}
