// A machine that takes time: the kernel's bounded queue before a worker, and what a turn of its loop costs.

import Basics
import Media

/// The socket's queue and the worker's clock.
struct Machine {
  /// One datagram in the kernel.
  struct Datagram {
    var path: Path
    var bytes: [UInt8]
    var arrival: Instant
  }

  /// As `WorkerLoop.datagramsPerTurn`.
  static let datagramsPerTurn = 256

  /// Datagrams that the kernel keeps.
  var capacity = 1_800
  /// What a datagram that comes costs, and a packet that leaves.
  var costs = (incoming: TimeDelta.microseconds(2), outgoing: TimeDelta.microseconds(2))
  /// What each turn takes for something that is neither.
  var other = TimeDelta.zero
  /// The share of a turn's time in which the worker has the processor: other programs have it for the rest.
  var share = 1.0
  /// Whether the worker hears how long datagrams wait.
  var tells = true
  /// Whether the worker leaves its sockets alone for as long as it may.
  var rests = false
  private(set) var turns = 0
  /// What the kernel had no space for.
  private(set) var lost = 0
  /// Nanoseconds of all turns.
  private(set) var busy: UInt64 = 0
  /// How long the worker has run.
  private(set) var processor = TimeDelta.zero
  private var waiting: [Datagram] = []
  var hasMore: Bool { !waiting.isEmpty }
  var used: WorkerUse { WorkerUse(processor: processor, dropped: UInt64(lost)) }
  /// When the last turn ends, and the rest behind it.
  private(set) var free = Instant.zero

  func isFree(at now: Instant) -> Bool { free <= now }

  mutating func take(_ bytes: [UInt8], from path: Path, at now: Instant) {
    if waiting.count == capacity { lost += 1 } else { waiting.append(Datagram(path: path, bytes: bytes, arrival: now)) }
  }

  /// What a turn reads, and how long the oldest of it has waited.
  mutating func read(at now: Instant) -> ([Datagram], TimeDelta) {
    let batch = Array(waiting.prefix(Self.datagramsPerTurn))
    waiting.removeFirst(batch.count)
    return (batch, batch.first.map { now - $0.arrival } ?? .zero)
  }

  mutating func rest(_ time: TimeDelta) {
    if rests { free = free + time }
  }

  mutating func work(datagrams: Int, packets: Int, at now: Instant) {
    turns += 1
    let took = costs.incoming * Int64(datagrams) + costs.outgoing * Int64(packets) + other
    busy += UInt64(took.nanoseconds)
    processor = processor + TimeDelta(nanoseconds: Int64(Double(took.nanoseconds) * share))
    free = now + took
  }
}
