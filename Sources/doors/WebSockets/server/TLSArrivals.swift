// Connections of a TLS server whose handshake has not begun: it costs a millisecond of the thread, so it has to wait for its turn. They
// are libwebsockets' no sooner than their ClientHello is there and its turn has come.
//
//   accepted ──▶ first record whole ──▶ FairTurns ──▶ begun ──▶ handshake over
//                    │ too late             │ too many    │ └ until then it is half open
//                    ▼                      ▼             ▼ too many: the oldest of its network
//                  closed                 closed        closed
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// Connections that come to a TLS server. On the service thread alone.
final class TLSArrivals {
  /// An address that may have so many connections has the bounds below; one that may have more has them in proportion.
  static let usualConnections = 1_000
  /// Handshakes of one network that begin in the long run. Raise it, and one address can take more of the thread.
  static let perSecond = 50.0
  /// The same at once after a pause.
  static let burst = 200
  /// Handshakes of all networks that begin in the long run: half of what a thread can do.
  static let allPerSecond = 500.0
  /// The same in one go. Nobody else is served in that time.
  static let allBurst = 8
  /// Handshakes of one network that have begun and are not over. With one more the oldest of them gives way.
  static let mostHalfOpen = 100

  private struct Arrival {
    let peer: SocketAddress?
    let source: ProxyHeader.Source?
    let network: PeerNetwork
    let deadline: Instant
    var watch: ReadableWatch?
    /// Bytes that were there when it was woken last.
    var there: Int32 = -1
    var ticket: TurnTicket?
  }

  private var arrivals: [Int32: Arrival] = [:]
  private var turns: FairTurns<Int32>
  /// When those are closed whose first record does not come. All have one patience.
  private var deadlines = DeadlineQueue<Int32>()
  /// Connections whose handshakes are under way.
  private var begun: [Int32: (network: PeerNetwork, connection: OpaquePointer?)] = [:]
  /// Those of each network, in the order in which they began.
  private var halfOpen: [PeerNetwork: [Int32]] = [:]
  /// How many there are of each network, handshake begun or not.
  private var byNetwork: [PeerNetwork: Int] = [:]
  private var alarm: Alarm?
  private let loop: EventLoop
  private let patience: TimeDelta
  private let mostHalfOpen: Int
  private let begin: (Int32, SocketAddress?, ProxyHeader.Source?) -> OpaquePointer?
  private let end: (OpaquePointer) -> Void
  private let refused: () -> Void

  /// `begin` is given each connection whose turn it is, and `end` what it made of one that has to give way; `refused` is told of each
  /// that was closed.
  init(
    _ loop: EventLoop, patience: TimeDelta, most: Int, ofAddress: Int,
    begin: @escaping (Int32, SocketAddress?, ProxyHeader.Source?) -> OpaquePointer?,
    end: @escaping (OpaquePointer) -> Void, refused: @escaping () -> Void
  ) {
    (self.loop, self.patience, self.begin, self.end, self.refused) = (loop, patience, begin, end, refused)
    let times = max(1, Double(ofAddress) / Double(Self.usualConnections))
    mostHalfOpen = Int(Double(Self.mostHalfOpen) * times)
    let limits = TurnLimits(
      perSecond: Self.perSecond * times, burst: Int(Double(Self.burst) * times), allPerSecond: Self.allPerSecond,
      allBurst: Self.allBurst,
      patience: patience, mostOfNetwork: most, most: most)
    turns = FairTurns(limits: limits, now: MonotonicClock.now())
    alarm = Alarm(loop) { [unowned self] _ in look() }
  }

  /// Those whose handshake has not begun.
  var count: Int { arrivals.count }

  /// The same of one network.
  func count(of network: PeerNetwork) -> Int { byNetwork[network, default: 0] }

  /// Somebody has connected. The descriptor is this object's until it is given on.
  func add(_ descriptor: Int32, _ peer: SocketAddress?, _ source: ProxyHeader.Source?) {
    let now = MonotonicClock.now()
    let network = PeerNetwork(peer)
    arrivals[descriptor] = Arrival(peer: peer, source: source, network: network, deadline: now + patience)
    byNetwork[network, default: 0] += 1
    // Else FIONREAD counts the bytes before an urgent one alone, and epoll all of them.
    setOption(descriptor, SOL_SOCKET, SO_OOBINLINE, 1)
    guard case .part = progress(of: descriptor) else { return ask(descriptor, now) }
    arrivals[descriptor]?.watch = ReadableWatch(descriptor, loop) { [unowned self] in isReadable(descriptor) }
    deadlines.push(now + patience, descriptor)
    if alarm?.due ?? .distantFuture > deadlines.next { arm(now) }
  }

  /// The handshake of a connection is over: it is finished, or the connection is closed.
  func isOver(_ descriptor: Int32) {
    guard let network = begun.removeValue(forKey: descriptor)?.network else { return }
    halfOpen[network]?.removeAll { $0 == descriptor }
    if halfOpen[network]?.isEmpty == true { halfOpen[network] = nil }
  }

  /// Closes all of them.
  func stop() {
    for descriptor in Array(arrivals.keys) where remove(descriptor) != nil { close(descriptor) }
    alarm = nil
  }

  private func isReadable(_ descriptor: Int32) {
    switch progress(of: descriptor) {
    case .whole:
      arrivals[descriptor]?.watch?.stop()
      ask(descriptor, MonotonicClock.now())
    case .part(let bytes):
      // Where the kernel wakes for nothing it does so all the time.
      guard let last = arrivals[descriptor]?.there, bytes > last else { return refuse(descriptor) }
      arrivals[descriptor]?.there = bytes
    }
  }

  /// How far the first record of a connection has come.
  private enum Progress {
    /// All of it is there, or there is none to wait for: what is no TLS is the library's to refuse.
    case whole
    /// So many bytes are.
    case part(Int32)
  }

  private func progress(of descriptor: Int32) -> Progress {
    var head = [UInt8](repeating: 0, count: 5)
    let got = recv(descriptor, &head, head.count, Int32(MSG_PEEK | MSG_DONTWAIT))
    if got < 0 && (errno == EAGAIN || errno == EINTR) { return .part(0) }
    // 22: a handshake (RFC 8446 §5.1).
    guard got > 0, head[0] == 22 else { return .whole }
    let wanted = got < head.count ? head.count : head.count + Int(head[3]) << 8 + Int(head[4])
    guard wanted <= 5 + 1 << 14 else { return .whole }
    var there: Int32 = 0
    guard ioctl(descriptor, UInt(FIONREAD), &there) == 0, there < wanted else { return .whole }
    // It is not asked again before all of it is there.
    setOption(descriptor, SOL_SOCKET, SO_RCVLOWAT, Int32(wanted))
    // Where the rest will never come it could be read from all the time: then it is given on, and the library closes it.
    return hasEnded(descriptor) ? .whole : .part(there)
  }

  /// Whether the other side will send no more.
  private func hasEnded(_ descriptor: Int32) -> Bool {
    // POLLRDHUP, which Glibc shows to GNU's sources alone.
    let ended: Int16 = 0x2000
    var state = pollfd(fd: descriptor, events: ended, revents: 0)
    return poll(&state, 1, 0) > 0 && state.revents & (ended | Int16(POLLHUP) | Int16(POLLERR)) != 0
  }

  private func ask(_ descriptor: Int32, _ now: Instant) {
    guard let network = arrivals[descriptor]?.network else { return }
    switch turns.ask(descriptor, of: network, rank: TurnRank(), at: now) {
    case .now: start(descriptor)
    case .waits(let ticket):
      arrivals[descriptor]?.ticket = ticket
      arm(now)
    case .notNow: refuse(descriptor)
    }
  }

  private func start(_ descriptor: Int32) {
    guard let arrival = remove(descriptor) else { return }
    makeSpace(in: arrival.network)
    begun[descriptor] = (arrival.network, nil)
    halfOpen[arrival.network, default: []].append(descriptor)
    setOption(descriptor, SOL_SOCKET, SO_RCVLOWAT, 1)
    let connection = begin(descriptor, arrival.peer, arrival.source)
    begun[descriptor]?.connection = connection
  }

  /// Where a network has as many as it may, its oldest gives way: who never goes on has the oldest, and whoever else comes from there
  /// gets on.
  private func makeSpace(in network: PeerNetwork) {
    guard let line = halfOpen[network], line.count >= mostHalfOpen, let oldest = line.first else { return }
    let connection = begun[oldest]?.connection
    isOver(oldest)
    if let connection { end(connection) }
    refused()
  }

  private func look() {
    let now = MonotonicClock.now()
    while let (descriptor, outcome) = turns.next(at: now) {
      if outcome == .turn { start(descriptor) } else { refuse(descriptor) }
    }
    while let descriptor = deadlines.pop(at: now) {
      // A later connection may have its number.
      if let deadline = arrivals[descriptor]?.deadline, deadline <= now { refuse(descriptor) }
    }
    arm(now)
  }

  private func arm(_ now: Instant) {
    let next = min(turns.nextTurn(after: now), deadlines.next)
    if next != .distantFuture { alarm?.set(next, now: now) }
  }

  private func refuse(_ descriptor: Int32) {
    guard remove(descriptor) != nil else { return }
    close(descriptor)
    refused()
  }

  private func remove(_ descriptor: Int32) -> Arrival? {
    guard let gone = arrivals.removeValue(forKey: descriptor) else { return nil }
    gone.watch?.stop()
    if let ticket = gone.ticket { turns.withdraw(ticket) }
    byNetwork[gone.network, default: 1] -= 1
    if byNetwork[gone.network] == 0 { byNetwork[gone.network] = nil }
    return gone
  }
}
