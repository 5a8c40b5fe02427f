// The devices' thread: what is ready, what is due, and how connections come about.

import Basics
import CLinux
import Glibc
import SyntheticParticipant
import TLSClient
import Threads

struct FleetLoop: ~Copyable {
  /// What waits for its time.
  enum Due {
    /// A device tries to connect.
    case connect(Int)
    /// A call of this device has taken too long.
    case call(Int, count: Int)
  }

  private static let mailboxMark = UInt64.max
  private static let publishEvery = TimeDelta.milliseconds(50)

  let plan: FleetPlan
  private let mailbox: Mailbox<DeviceFleet.Command>
  private let published: Locked<FleetFigures>
  private let epoll = clinux_epoll_create()
  private let context: TLSClientContext?
  private var isOver = false
  private var publishedAt = Instant.zero

  var devices: [Device]
  var figures = FleetFigures()
  var due = DeadlineQueue<Due>()
  var opening = 0
  /// Devices that may connect as soon as fewer are on their way.
  var queue: [Int] = []
  var queued = 0
  var random = SplitMix64(seed: 1)
  var scratch = [UInt8](repeating: 0, count: 65_536)
  var pace = CallPace()
  /// The device that had the latest part in a call.
  var cursor = 0

  init(_ plan: FleetPlan, mailbox: Mailbox<DeviceFleet.Command>, published: Locked<FleetFigures>) {
    (self.plan, self.mailbox, self.published) = (plan, mailbox, published)
    devices = Array(repeating: Device(), count: plan.count)
    context = plan.isTLS ? TLSClientContext() : nil
    if plan.isTLS, context == nil { figures.note("OpenSSL refuses a context for TLS") }
    queue = Array(devices.indices)
  }

  deinit { _ = clinux_close(epoll) }

  static var now: Instant { Instant(nanoseconds: clinux_monotonic_ns()) }

  mutating func run() {
    _ = clinux_epoll_add(epoll, mailbox.descriptor, clinux_readable, Self.mailboxMark)
    var events = [clinux_event](repeating: clinux_event(), count: Int(CLINUX_BATCH))
    while !isOver {
      let now = Self.now
      turn(at: now)
      publish(at: now)
      let count = Int(clinux_epoll_wait(epoll, &events, CLINUX_BATCH, wait(from: now)))
      for event in events.prefix(max(0, count)) { handle(event) }
    }
    for index in devices.indices where devices[index].socket >= 0 { close(index) }
    publish(at: Self.now + Self.publishEvery)
  }

  private func wait(from now: Instant) -> Int64 {
    // A call that is due, while nobody is free, waits a moment.
    let call = pace.isDue(at: now) ? now + .milliseconds(1) : pace.next
    let next = min(due.next, call, publishedAt + Self.publishEvery)
    return max(0, (next - now).nanoseconds)
  }

  private mutating func turn(at now: Instant) {
    while let element = due.pop(at: now) {
      switch element {
      case .connect(let index): queue.append(index)
      case .call(let index, let count): giveUp(index, count: count)
      }
    }
    while opening < plan.atOnce, queued < queue.count {
      connect(queue[queued])
      queued += 1
    }
    if queued == queue.count {
      queue.removeAll(keepingCapacity: true)
      queued = 0
    }
    while pace.isDue(at: now), startCall(at: now) {}
  }

  private mutating func publish(at now: Instant) {
    guard now - publishedAt >= Self.publishEvery else { return }
    publishedAt = now
    var usage = clinux_usage()
    if clinux_thread_usage(&usage) == 0 { figures.threadTime = TimeDelta(nanoseconds: usage.user_ns + usage.system_ns) }
    published.withLock { $0 = figures }
  }

  private mutating func handle(_ event: clinux_event) {
    guard event.data != Self.mailboxMark else { return obey() }
    let (index, socket) = (Int(event.data & 0xffff_ffff), Int32(event.data >> 32))
    // An event of a socket that was closed earlier in this batch.
    guard devices[index].socket == socket else { return }
    advance(index, events: event.events)
  }

  private mutating func obey() {
    for command in mailbox.drain() {
      switch command {
      case .call(let perSecond): pace = CallPace(perSecond: perSecond, from: Self.now)
      case .stop: isOver = true
      }
    }
  }

  // MARK: Connections

  func user(_ index: Int) -> String { "device-\(plan.run)-\(index)" }

  private mutating func connect(_ index: Int) {
    let socket = openSocket(index)
    guard socket >= 0 else { return again(index) }
    devices[index].socket = socket
    devices[index].phase = .connecting
    devices[index].watchesWrites = true
    opening += 1
    let data = UInt64(index) | UInt64(socket) << 32
    if clinux_epoll_add(epoll, socket, clinux_readable | clinux_writable, data) < 0 { lose(index) }
  }

  /// A socket on its way to the server. Devices come from several addresses, for one has 28,000 ports, and those of lost
  /// connections are not free at once.
  private mutating func openSocket(_ index: Int) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(AF_INET, kind, 0)
    guard socket >= 0 else {
      figures.note("no socket for a device: errno \(errno); the limit of open files may be too low")
      return -1
    }
    var one: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
    setsockopt(socket, Int32(IPPROTO_IP), Self.bindAddressOnly, &one, size)
    let own = Self.address(0x7f00_0002 + UInt32(index % 8), port: 0)
    let server = Self.address(0x7f00_0001, port: plan.port)
    guard Self.with(own, { bind(socket, $0, $1) }) == 0 else {
      _ = clinux_close(socket)
      return -1
    }
    guard Self.with(server, { Glibc.connect(socket, $0, $1) }) == 0 || errno == EINPROGRESS else {
      _ = clinux_close(socket)
      return -1
    }
    return socket
  }

  /// IP_BIND_ADDRESS_NO_PORT: the port is chosen with the connection, so that each address has all of them for each server.
  private static let bindAddressOnly: Int32 = 24

  private static func address(_ ip: UInt32, port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = ip.bigEndian
    return address
  }

  private static func with(_ address: sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// TLS on a socket that has connected; false when it cannot be had.
  mutating func secure(_ index: Int) -> Bool {
    guard let context else { return false }
    devices[index].tls = TLSClientStream(context, socket: devices[index].socket)
    return devices[index].tls != nil
  }

  /// Watches for what can be written, or no longer.
  mutating func watch(_ index: Int, writes: Bool) {
    guard devices[index].watchesWrites != writes else { return }
    devices[index].watchesWrites = writes
    let socket = devices[index].socket
    let events = clinux_readable | (writes ? clinux_writable : 0)
    _ = clinux_epoll_modify(epoll, socket, events, UInt64(index) | UInt64(socket) << 32)
  }

  /// The connection is gone; the device comes back after a moment.
  mutating func lose(_ index: Int) {
    if devices[index].phase == .ready {
      figures.ready -= 1
      figures.lost += 1
    } else {
      figures.refused += 1
    }
    if devices[index].isOpening { opening -= 1 }
    close(index)
    again(index)
  }

  private mutating func close(_ index: Int) {
    abandonCall(index)
    _ = clinux_close(devices[index].socket)
    devices[index].socket = -1
    devices[index].phase = .away
    devices[index].tls = nil
    devices[index].input = []
    devices[index].output = []
    devices[index].fragments = []
    devices[index].awaited = nil
  }

  /// Tries again after 250 to 750 ms.
  private mutating func again(_ index: Int) {
    let wait = TimeDelta.milliseconds(250 + Int(random.next() % 500))
    due.push(Self.now + wait, .connect(index))
  }
}
