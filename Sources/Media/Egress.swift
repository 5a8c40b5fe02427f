// The way out of a worker: where datagrams go, and the buffer in which those of one receiver become runs of equal size.

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

/// The buffer in which one receiver's packets are written one behind the other, and sent in runs of equal size.
struct SegmentBuffer: ~Copyable {
  /// What one UDP datagram with segments may hold together, less IP and UDP headers.
  static let capacity = 65_000
  /// Segments in one call: the kernel's limit is 64 (UDP_MAX_SEGMENTS before 6.7).
  static let maximumSegments = 64

  /// RTP padding (RFC 3550 §5.1) that a packet may get so that it is as long as others of its run. A call costs as much as
  /// several kilobytes; raise it and more packets share one, for more bytes on the wire. docs/performance.md has the curve.
  static let mostPadding = 32

  /// Space that is always left for writing one more packet.
  static let reserve = 4_096

  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private var start = 0
  private var end = 0
  /// Size of the run's segments; 0 when no run is open.
  private(set) var segment = 0
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
    let size = segment
    // A shorter segment can only be the last.
    if length < segment { send(to: path, sink: &sink, report: report) }
    // Where no other of its size fits behind it, a run is over; the next one begins at the front instead of being cut short.
    if end + size > Self.capacity { finish(to: path, sink: &sink, report: report) }
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
    segment = 0
  }
}
