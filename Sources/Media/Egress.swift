// What is to be sent, kept as handles until the flush and grouped per receiver, so that one system call carries many
// packets (UDP_SEGMENT) and send time and sequence numbers are stamped when they are true.
//
//   forward ─▶ entries: [packet handle, rewrite, next]      flush: for each receiver in turn
//              chains:  transport ─▶ first … last            write + seal into `buffer` ─▶ groups of equal size ─▶ sink

import Basics
import Forwarding

/// Where sealed datagrams go: the socket in the server, an array in tests.
public protocol DatagramSink: ~Copyable {
  /// Sends `bytes` to `path` as datagrams of `segment` bytes each, the last one may be shorter.
  /// Returns nil, or why nothing was sent.
  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason?
}

/// The way to a peer: his address and the local socket that he reaches us on.
public struct Path: Hashable, Sendable {
  /// The peer's address.
  public var remote: SocketAddress
  /// Index of the local socket.
  public var socket: UInt8

  /// Both ends.
  public init(remote: SocketAddress, socket: UInt8) {
    self.remote = remote
    self.socket = socket
  }
}

/// One packet for one receiver.
struct SendEntry {
  var encoding: EncodingID
  var consumer: ConsumerID
  var sequence: Int64
  var rewrite: Rewrite
  /// Set when the packet goes out again, on the RTX stream.
  var retransmission: (ssrc: UInt32, payloadType: UInt8, sequence: UInt16)?
  var next: Int32 = -1
}

/// First and last entry of one receiver; −1 when there is none.
struct SendChain {
  var first: Int32 = -1
  var last: Int32 = -1
}

/// The queue between the forwarding decision and the flush. Emptied at every flush; refuses more than `capacity`.
struct SendQueue {
  /// Packets between two flushes; more are dropped and counted, so that one wake-up stays bounded.
  static let capacity = 65_536
  private(set) var entries: [SendEntry] = []
  private(set) var receivers: [TransportID] = []

  init() {
    entries.reserveCapacity(4_096)
    receivers.reserveCapacity(1_024)
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Appends to the receiver's chain; false when the queue is full.
  mutating func append(_ entry: SendEntry, receiver: TransportID, chain: inout SendChain) -> Bool {
    guard entries.count < Self.capacity else { return false }
    let index = Int32(entries.count)
    entries.append(entry)
    if chain.last >= 0 {
      entries[Int(chain.last)].next = index
    } else {
      chain.first = index
      receivers.append(receiver)
    }
    chain.last = index
    return true
  }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    receivers.removeAll(keepingCapacity: true)
  }
}

/// The buffer in which one receiver's packets are written one behind the other, and sent in runs of equal size.
struct SegmentBuffer: ~Copyable {
  /// What one UDP datagram with segments may hold together, less IP and UDP headers.
  static let capacity = 65_000
  /// Segments in one call: the kernel's limit is 64 (UDP_MAX_SEGMENTS before 6.7).
  static let maximumSegments = 64

  /// Space that is always left for writing one more packet.
  static let reserve = 4_096

  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private var start = 0
  private var end = 0
  private var segment = 0
  private var segments = 0

  init() {
    bytes = .allocate(capacity: Self.capacity + Self.reserve)
    bytes.initialize(repeating: 0)
  }
  deinit { bytes.deallocate() }

  /// Free space for the next packet.
  var free: UnsafeMutableBufferPointer<UInt8> { UnsafeMutableBufferPointer(rebasing: bytes[end...]) }

  /// Takes the `length` bytes just written to `free` into the current run, sending the run first when they do not fit it.
  mutating func append<Sink: DatagramSink & ~Copyable>(
    _ length: Int, to path: Path, sink: inout Sink, report: (Int, Int, DropReason?) -> Void
  ) {
    let fits =
      segments > 0 && length <= segment && segments < Self.maximumSegments && end - start + length <= Self.capacity
    if segments > 0 && !fits { send(to: path, sink: &sink, report: report) }
    if segments == 0 { segment = length }
    end += length
    segments += 1
    // A shorter segment can only be the last.
    if length < segment { send(to: path, sink: &sink, report: report) }
    // Where no other of its size fits behind it, a run is over; the next one begins at the front instead of being cut short.
    if end + segment > Self.capacity { finish(to: path, sink: &sink, report: report) }
  }

  /// Sends what is left for this receiver and starts over at the front.
  mutating func finish<Sink: DatagramSink & ~Copyable>(
    to path: Path, sink: inout Sink, report: (Int, Int, DropReason?) -> Void
  ) {
    if segments > 0 { send(to: path, sink: &sink, report: report) }
    start = 0
    end = 0
  }

  private mutating func send<Sink: DatagramSink & ~Copyable>(
    to path: Path, sink: inout Sink, report: (Int, Int, DropReason?) -> Void
  ) {
    let failure = sink.send(
      UnsafeRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[start..<end])), segment: segment, to: path)
    report(segments, end - start, failure)
    start = end
    segments = 0
  }
}
