// The buffer in which the datagrams of each receiver become runs of equal size, and what became of them.

import Basics
import Forwarding

/// The buffer in which packets are written and sealed one behind the other, and which of its bytes leave in which call.
///
/// Sealing for many receivers first and sending after keeps our code and their keys in the CPU's caches, and then the
/// kernel's: a system call leaves little of ours there.
struct SegmentBuffer: ~Copyable {
  /// What one UDP datagram with segments may hold together, less IP and UDP headers.
  static let longestRun = 65_000
  /// Bytes that are sealed before they are sent: more than a room's turn, less than a CPU's second cache.
  static let capacity = 3 * longestRun
  /// Segments in one send: the kernel's limit is 64 (UDP_MAX_SEGMENTS before 6.7).
  static let maximumSegments = 64

  /// RTP padding (RFC 3550 §5.1) that a packet may get so that it is as long as others of its run. A send costs as much as
  /// several kilobytes; raise it and more packets share one, for more bytes on the wire. docs/performance.md has the curve.
  static let mostPadding = PacketCache.longestPadding

  /// The largest packet that a receiver is sent, before sealing: what fits an Ethernet frame over IPv6 with room for the tag.
  static let longestPacket = 1_436

  /// Space that is always left for writing one more packet.
  static let reserve = 4_096

  /// Bytes that leave together.
  private struct Run {
    var path: Path
    var start: Int
    var end: Int
    /// Size of the segments; the last may be shorter.
    var segment: Int
    /// How many there are; none in a run that is not open.
    var segments: Int

    func fits(_ length: Int) -> Bool {
      length <= segment && segments < maximumSegments && end - start + length <= longestRun
    }
  }

  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private var complete: [OutgoingRun] = []
  /// The run that is being written. Whenever there is one, it may grow to `longestRun`.
  private var open = Run(
    path: Path(remote: SocketAddress(v4: 0, port: 0), socket: 0), start: 0, end: 0, segment: 0, segments: 0)
  private var end = 0

  init() {
    bytes = .allocate(capacity: Self.capacity + Self.reserve)
    bytes.initialize(repeating: 0)
    complete.reserveCapacity(1_024)
  }
  deinit { bytes.deallocate() }

  /// Free space for the next packet.
  var free: UnsafeMutableBufferPointer<UInt8> { UnsafeMutableBufferPointer(rebasing: bytes[end...]) }

  /// Size of the open run's segments; 0 when none is open.
  var segment: Int { open.segments > 0 ? open.segment : 0 }

  /// Whether a packet of `length` bytes would be the open run's shorter end.
  func isEnded(by length: Int) -> Bool { open.segments > 0 && length < open.segment && open.fits(length) }

  /// Takes the `length` bytes just written to `free` into the receiver's run, or begins another where they do not fit.
  mutating func append<Sink: DatagramSink & ~Copyable>(
    _ length: Int, to path: Path, sink: inout Sink, report: inout SendReport
  ) {
    if open.segments > 0 && !open.fits(length) {
      let written = end
      finish(sink: &sink, report: &report)
      if end < written { move(length, from: written) }
    }
    if open.segments == 0 { open = Run(path: path, start: end, end: end, segment: length, segments: 0) }
    end += length
    open.end = end
    open.segments += 1
    // A shorter segment can only be the last.
    if length < open.segment { finish(sink: &sink, report: &report) }
  }

  /// Takes a datagram that is whole already, as a run of its own; false for one that is empty or does not fit.
  mutating func append<Sink: DatagramSink & ~Copyable>(
    _ datagram: Span<UInt8>, to path: Path, sink: inout Sink, report: inout SendReport
  ) -> Bool {
    finish(sink: &sink, report: &report)
    // With no run open there is space for the longest.
    let space = free
    guard !datagram.isEmpty, datagram.count <= space.count else { return false }
    datagram.withUnsafeBufferPointer { _ = space.update(fromContentsOf: $0) }
    append(datagram.count, to: path, sink: &sink, report: &report)
    finish(sink: &sink, report: &report)
    return true
  }

  /// The buffer was emptied under a packet that is written already: it goes to the front.
  private func move(_ length: Int, from start: Int) {
    guard let base = bytes.baseAddress else { return }
    base.update(from: base + start, count: length)
  }

  /// Ends the open run: what comes next is for another receiver.
  mutating func finish<Sink: DatagramSink & ~Copyable>(sink: inout Sink, report: inout SendReport) {
    guard open.segments > 0 else { return }
    complete.append(
      OutgoingRun(
        path: open.path,
        bytes: UnsafeRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[open.start..<open.end])),
        segment: open.segment, count: open.segments))
    open.segments = 0
    if end > Self.capacity - Self.longestRun { send(into: &sink, report: &report) }
  }

  /// Sends all complete runs, and starts over at the front.
  mutating func send<Sink: DatagramSink & ~Copyable>(into sink: inout Sink, report: inout SendReport) {
    if complete.isEmpty { return }
    sink.send(complete.span) { run, failure in report.add(run.count, bytes: run.bytes.count, failure) }
    complete.removeAll(keepingCapacity: true)
    end = 0
  }
}

/// What a few sends did.
struct SendReport {
  var sends: UInt64 = 0
  var packets: UInt64 = 0
  var bytes: UInt64 = 0
  var queueFull: UInt64 = 0
  var failed: UInt64 = 0
  /// As `WorkerCounters.sendsBySegments`.
  var bySegments = InlineArray<7, UInt64>(repeating: 0)

  mutating func add(_ count: Int, bytes length: Int, _ failure: DropReason?) {
    sends += 1
    bySegments[min(6, Int.bitWidth - (max(count, 1) - 1).leadingZeroBitCount)] += 1
    switch failure {
    case nil:
      packets += UInt64(count)
      bytes += UInt64(length)
    case .sendQueueFull: queueFull += UInt64(count)
    default: failed += UInt64(count)
    }
  }
}
