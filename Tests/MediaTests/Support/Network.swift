// A network between virtual peers and one worker: per direction a delay, and by seeded chance loss, duplicates and reordering.

import Basics
import Forwarding
import Media

/// What one direction of a peer's access does to datagrams.
struct Link {
  var delay = TimeDelta.milliseconds(10)
  var loss = 0.0
  var duplication = 0.0
  /// Chance of coming `reorderDelay` later than the others.
  var reordering = 0.0
  var reorderDelay = TimeDelta.milliseconds(15)
  /// Nothing passes.
  var isCut = false
  /// Bits a second that pass; nil for as many as come. What waits longer than `queue` is dropped.
  var rate: Int64?
  var queue = TimeDelta.milliseconds(300)
  /// Bytes that pass at once after a pause: a token bucket.
  var bucket = 0
  /// When the bottleneck has sent all that waits.
  fileprivate(set) var busyUntil = Instant.zero
  fileprivate(set) var last = Instant.zero

  static let good = Link()
  static func losing(_ loss: Double) -> Link { Link(loss: loss) }
  static let rough = Link(loss: 0.03, duplication: 0.03, reordering: 0.05)

  /// When the copies of a datagram sent now arrive: none when it is lost.
  mutating func arrivals(of bytes: Int, at now: Instant, _ dice: inout SplitMix64, isMedia: Bool) -> [Instant] {
    if isCut || (isMedia && dice.chance(loss)) { return [] }
    guard let sent = passBottleneck(bytes, at: now) else { return [] }
    var due = max(sent + delay, last + TimeDelta(nanoseconds: 1))
    if isMedia && dice.chance(reordering) { due = sent + delay + reorderDelay } else { last = due }
    return isMedia && dice.chance(duplication) ? [due, due + .milliseconds(3)] : [due]
  }
}

extension Link {
  /// When the last bit of a datagram has left the bottleneck; nil when its queue is full.
  private mutating func passBottleneck(_ bytes: Int, at now: Instant) -> Instant? {
    guard let rate else { return now }
    let start = max(now - TimeDelta(nanoseconds: Int64(bucket) * 8_000_000_000 / rate), busyUntil)
    guard start - now <= queue else { return nil }
    busyUntil = start + TimeDelta(nanoseconds: Int64(bytes + 28) * 8_000_000_000 / rate)
    return max(now, busyUntil)
  }
}

/// A datagram under way.
struct Flight {
  enum Direction {
    /// From a peer's path; with what the sender knows of the packet inside.
    case toServer(Path, peer: Int, SentPacket?)
    case toPeer(Path)
  }
  var direction: Direction
  var bytes: [UInt8]
}

/// Takes the worker's datagrams apart again, and holds it to the rules of UDP_SEGMENT.
struct CollectingSink: DatagramSink {
  private(set) var datagrams: [(path: Path, bytes: [UInt8])] = []
  private(set) var calls = 0
  /// Calls that broke a rule: too many or too long segments, or nothing at all.
  private(set) var violations = 0
  /// What the socket says instead of sending.
  var refusal: DropReason?

  mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
    if let refusal { return refusal }
    calls += 1
    guard segment > 0, !bytes.isEmpty, bytes.count <= 65_487, (bytes.count + segment - 1) / segment <= 64 else {
      violations += 1
      return nil
    }
    var start = 0
    while start < bytes.count {
      let end = min(start + segment, bytes.count)
      datagrams.append((path, Array(bytes[start..<end])))
      start = end
    }
    return nil
  }

  mutating func takeDatagrams() -> [(path: Path, bytes: [UInt8])] {
    defer { datagrams.removeAll(keepingCapacity: true) }
    return datagrams
  }
}
