// The UDP sockets of one worker: batches in, segmented sends out.

internal import CLinux
import Basics
import Forwarding
import Media
import Threads

/// What could not be opened, in words for the operator.
public struct SocketError: Error, Sendable, CustomStringConvertible {
  /// The address that was asked for.
  public let address: SocketAddress
  /// The system's error number.
  public let code: Int32

  /// A sentence with what to do.
  public var description: String {
    switch code {
    case 23, 24: "No file descriptor is left: raise the limit of open files (LimitNOFILE=)"
    case 98: "UDP \(address) is in use: another process has the port; choose another `media.port`"
    case 99: "UDP \(address): this machine has no such address; correct `media.addresses`"
    case 13: "UDP \(address): not allowed; ports below 1024 need a privilege, choose a higher `media.port`"
    case 97: "UDP \(address): this machine has no IPv6; leave it out of `media.addresses`"
    default: "UDP \(address): error \(code) while opening the socket"
    }
  }
}

/// Open sockets and the slab that they receive into. Owned by the worker's thread.
struct UDPSockets: ~Copyable {
  /// Slots a batch; more amortise the system call, fewer bound the time that one wake-up takes.
  static let batch = 32
  /// Bytes a slot: what the kernel joins at most (UDP_GRO). Pages that nothing was written to take no memory.
  static let stride = 65_536
  /// Datagrams longer than this are nobody's: larger than any that WebRTC sends.
  static let longestDatagram = 2_048

  private var descriptors: [Int32] = []
  private let slab: UnsafeMutableBufferPointer<UInt8>
  private let datagrams: UnsafeMutableBufferPointer<clinux_datagram>
  private let outgoing: UnsafeMutableBufferPointer<clinux_outgoing>
  private var segmentation = SegmentationMemory()
  /// Nanoseconds spent in sending, and system calls for it, since that was taken last.
  private var sent = (nanoseconds: Int64(0), calls: 0)
  /// What the kernel has dropped because a socket was full: as each socket said last, which begins anew at 2³², and in all.
  private var drops = (last: [UInt32](), total: UInt64(0))

  /// Opens one socket an address. Throws for the first that does not open.
  init(addresses: [SocketAddress], receiveBuffer: Int, sendBuffer: Int) throws(SocketError) {
    slab = .allocate(capacity: Self.batch * Self.stride)
    datagrams = .allocate(capacity: Self.batch)
    datagrams.initialize(repeating: clinux_datagram())
    outgoing = .allocate(capacity: Self.runsPerCall)
    outgoing.initialize(repeating: clinux_outgoing())
    for address in addresses {
      var options = clinux_udp_options()
      options.receive_buffer = Int32(clamping: receiveBuffer)
      options.send_buffer = Int32(clamping: sendBuffer)
      options.v6_only = 1
      options.gro = 1
      options.timestamps = 1
      options.unfragmented = 1
      let descriptor = clinux_udp_open(
        clinux_address(high: address.high, low: address.low, port: address.port), options)
      guard descriptor >= 0 else { throw SocketError(address: address, code: -descriptor) }
      descriptors.append(descriptor)
      drops.last.append(0)
    }
  }

  deinit {
    for descriptor in descriptors { _ = clinux_close(descriptor) }
    slab.deallocate()
    datagrams.deallocate()
    outgoing.deallocate()
  }

  /// How long sending has taken since this was asked last, and in how many system calls.
  mutating func takeSent() -> (time: TimeDelta, calls: Int) {
    defer { sent = (0, 0) }
    return (TimeDelta(nanoseconds: sent.nanoseconds), sent.calls)
  }

  /// Datagrams that came and were dropped by the kernel since the sockets were opened: there was no room for them, or their
  /// checksum was wrong. Those that it had joined (UDP_GRO) may count as one.
  mutating func dropped() -> UInt64 {
    for (socket, descriptor) in descriptors.enumerated() {
      var now: UInt32 = 0
      guard clinux_udp_dropped(descriptor, &now) == 0 else { continue }
      drops.total &+= UInt64(now &- drops.last[socket])
      drops.last[socket] = now
    }
    return drops.total
  }

  var count: Int { descriptors.count }
  func descriptor(_ socket: Int) -> Int32 { descriptors[socket] }

  /// Where a socket is bound, with the port the system chose if it was to choose.
  func boundAddress(_ socket: Int) -> SocketAddress {
    var address = clinux_address()
    _ = clinux_socket_address(descriptors[socket], &address)
    return SocketAddress(high: address.high, low: address.low, port: address.port)
  }

  /// Receives one batch. Returns how many slots it filled, which are to be handed out before the next: fewer than `batch` mean that
  /// nothing is left.
  mutating func receive(_ socket: Int) -> Int {
    let count = clinux_udp_receive(
      descriptors[socket], slab.baseAddress, Self.stride, Int32(Self.batch), datagrams.baseAddress)
    return max(0, Int(count))
  }

  /// Hands each datagram of a slot to `body`, those that the kernel has joined one by one. `stamp` is the wall clock at its arrival in
  /// nanoseconds, 0 where the kernel does not tell. Returns how many there were.
  func forEachDatagram(
    in slot: Int, _ body: (_ bytes: UnsafeMutableRawBufferPointer, _ source: SocketAddress, _ stamp: Int64) -> Void
  ) -> Int {
    let datagram = datagrams[slot]
    if datagram.truncated != 0 { return 0 }
    let start = slot * Self.stride
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: UnsafeMutableRawBufferPointer(slab)[start..<(start + min(Int(datagram.length), Self.stride))])
    let source = SocketAddress(high: datagram.source_high, low: datagram.source_low, port: datagram.source_port)
    return Self.split(bytes, segment: Int(datagram.segment_size)) { body($0, source, datagram.arrival_ns) }
  }

  /// Hands out the datagrams that lie one behind the other, each of `segment` bytes but the last, which may be shorter; 0
  /// stands for one datagram. Returns how many there were; what is too long for one is left out.
  static func split(
    _ bytes: UnsafeMutableRawBufferPointer, segment: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void
  ) -> Int {
    let size = segment > 0 ? segment : bytes.count
    var (start, count) = (0, 0)
    repeat {
      let end = min(start + size, bytes.count)
      if end - start <= longestDatagram { body(UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])) }
      count += 1
      start = end
    } while start < bytes.count
    return count
  }
}

extension UDPSockets: DatagramSink {
  /// Entries of one call: a system call has its own price, and many runs share it.
  static let runsPerCall = Int(CLINUX_BATCH)

  mutating func send(_ runs: Span<OutgoingRun>, _ told: (_ run: OutgoingRun, _ failure: DropReason?) -> Void) {
    let start = MonotonicClock.now().nanoseconds
    defer { sent.nanoseconds += MonotonicClock.now().nanoseconds - start }
    var next = 0
    // Behind one that failed others may fail as well: until one has left, each is tried by itself.
    var most = Self.runsPerCall
    while next < runs.count {
      let count = fill(from: runs, at: next, most: most)
      guard count > 0 else {
        told(runs[next], sendSingly(runs[next]))
        next += 1
        continue
      }
      let status = clinux_udp_send_batch(
        descriptors[Int(runs[next].path.socket)], outgoing.baseAddress, Int32(count))
      sent.calls += 1
      // Where the first of them failed, the status says why; where a later one did, the next call begins with it.
      if status <= 0 {
        told(runs[next], outcome(min(status, -1), of: runs[next]))
      }
      for index in next..<(next + max(0, Int(status))) { told(runs[index], nil) }
      most = Int(status) == count ? Self.runsPerCall : 1
      next += max(1, Int(status))
    }
  }

  /// Prepares as many of the runs from `first` on as may leave with one call, of one socket and at most `most`, and returns
  /// how many.
  private mutating func fill(from runs: Span<OutgoingRun>, at first: Int, most: Int) -> Int {
    let socket = runs[first].path.socket
    guard Int(socket) < descriptors.count else { return 0 }
    var count = 0
    while count < most && first + count < runs.count {
      let run = runs[first + count]
      guard run.path.socket == socket, run.count == 1 || segmentation.allows(run.path) else { break }
      outgoing[count] = Self.entry(run.bytes, segment: run.count > 1 ? run.segment : 0, to: run.path)
      count += 1
    }
    return count
  }

  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    let count = (bytes.count + segment - 1) / max(segment, 1)
    var result: DropReason?
    send([OutgoingRun(path: path, bytes: bytes, segment: segment, count: count)].span) { result = $1 }
    return result
  }

  /// What became of a run that the kernel refused: datagrams that cannot be sent as segments go out singly,
  /// and one that is longer than its path carries in fragments.
  private mutating func outcome(_ status: Int32, of run: OutgoingRun) -> DropReason? {
    if status == -11 || status == -105 { return .sendQueueFull }
    if run.count == 1 { return status == -90 ? sendSingly(run) : .sendFailed }
    return segmentation.refused(status, run.path) == .sendSingly ? sendSingly(run) : .sendFailed
  }

  private mutating func sendSingly(_ run: OutgoingRun) -> DropReason? {
    guard Int(run.path.socket) < descriptors.count else { return .sendFailed }
    let descriptor = descriptors[Int(run.path.socket)]
    var start = 0
    while start < run.bytes.count {
      let end = min(start + run.segment, run.bytes.count)
      var one = Self.entry(UnsafeRawBufferPointer(rebasing: run.bytes[start..<end]), segment: 0, to: run.path)
      var status = clinux_udp_send_one(descriptor, &one)
      sent.calls += 1
      if status == -90 {
        // Longer than the path's MTU. That this socket fragments from now on costs a number a send, and nobody a packet.
        _ = clinux_udp_allow_fragments(descriptor)
        status = clinux_udp_send_one(descriptor, &one)
        sent.calls += 1
      }
      if status == -11 || status == -105 { return .sendQueueFull }
      if status < 0 { return .sendFailed }
      start = end
    }
    return nil
  }

  private static func entry(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> clinux_outgoing {
    var entry = clinux_outgoing()
    entry.bytes = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    entry.length = UInt32(bytes.count)
    entry.segment_size = UInt16(segment)
    entry.to = clinux_address(high: path.remote.high, low: path.remote.low, port: path.remote.port)
    return entry
  }
}
