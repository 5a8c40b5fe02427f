// What a probe cluster showed: how fast its packets left, and how fast they arrived.

import Basics

/// A probe cluster's result.
struct ProbeResult {
  var cluster: UInt16
  /// What was tried.
  var wished: BitRate
  /// What the line carries, as far as the cluster shows.
  var rate: BitRate
  /// The packets arrived clearly slower than they left: the line is full at `rate`.
  var full: Bool
  /// All of the cluster has been reported. Until then the rest may still show less.
  var isWhole = true
}

/// Gathers the arrivals of the newest clusters.
struct ProbeEstimator {
  /// A cluster counts when so much of it is back, in packets and in bytes.
  static let quorum = 0.8
  /// Arriving slower than this share of the departures: the line is full.
  static let fullBelow = 0.9
  /// Of a full line so much is taken.
  static let fullShare = 0.95
  /// Arriving faster than this multiple of the departures means that the packets waited together somewhere.
  static let absurd = 2.0
  static let longest = TimeDelta.seconds(1)
  /// Clusters under way at once.
  static let capacity = 8

  private struct Cluster {
    var id: UInt16 = 0
    var wished = BitRate.zero
    var least = ProbeSize(packets: 0, size: .zero)
    var packets = 0
    var size = ByteCount.zero
    var firstSent = Instant.distantFuture
    var lastSent = Instant.zero
    var firstArrived = TimeDelta(nanoseconds: .max)
    var lastArrived = TimeDelta(nanoseconds: .min)
    var lastSentSize = ByteCount.zero
    var firstArrivedSize = ByteCount.zero
    /// What had come when half of the packets had (of five, the third), and two thirds of the bytes; when; and when the last of them had
    /// left.
    var headSize = ByteCount.zero
    var headArrived = TimeDelta.zero
    var headSent = Instant.zero
  }
  private var clusters = Array(repeating: Cluster(), count: capacity)

  /// No clusters.
  init() {}

  /// A cluster begins.
  mutating func begin(_ probe: Probe) {
    var cluster = Cluster()
    cluster.id = probe.id
    cluster.wished = probe.rate
    cluster.least = probe.least
    clusters[Int(probe.id) % Self.capacity] = cluster
  }

  /// A packet of a cluster arrived. Returns a result as soon as, and whenever, enough of the cluster is there. `isCautious`: the line has
  /// shown a limit and little is sent, so that a probe which is slowed down has met a line, and not a busy receiver.
  mutating func add(_ packet: ReceivedPacket, isCautious: Bool = false) -> ProbeResult? {
    let slot = Int(packet.cluster) % Self.capacity
    guard packet.cluster != 0, clusters[slot].id == packet.cluster else { return nil }
    Self.note(packet, &clusters[slot])
    return Self.result(clusters[slot], isCautious)
  }

  private static func note(_ packet: ReceivedPacket, _ cluster: inout Cluster) {
    cluster.packets += 1
    cluster.size += packet.size
    cluster.firstSent = min(cluster.firstSent, packet.sentAt)
    if packet.sentAt >= cluster.lastSent {
      cluster.lastSent = packet.sentAt
      cluster.lastSentSize = packet.size
    }
    if packet.arrivedAt < cluster.firstArrived {
      cluster.firstArrived = packet.arrivedAt
      cluster.firstArrivedSize = packet.size
    }
    cluster.lastArrived = max(cluster.lastArrived, packet.arrivedAt)
    let isHead =
      cluster.packets >= (cluster.least.packets + 1) / 2 && cluster.size.bytes * 3 >= cluster.least.size.bytes * 2
    if isHead && cluster.headSize == .zero {
      (cluster.headSize, cluster.headArrived, cluster.headSent) = (cluster.size, cluster.lastArrived, cluster.lastSent)
    }
  }

  private static func result(_ cluster: Cluster, _ isCautious: Bool) -> ProbeResult? {
    guard Double(cluster.packets) >= quorum * Double(cluster.least.packets),
      Double(cluster.size.bytes) >= quorum * Double(cluster.least.size.bytes)
    else { return nil }
    let sentIn = cluster.lastSent - cluster.firstSent
    let arrivedIn = cluster.lastArrived - cluster.firstArrived
    guard sentIn > .zero, arrivedIn > .zero, sentIn < longest, arrivedIn < longest else { return nil }
    let sent = BitRate(cluster.size - cluster.lastSentSize, in: sentIn)
    let arrived = BitRate(cluster.size - cluster.firstArrivedSize, in: arrivedIn)
    guard arrived < sent * absurd else { return nil }
    let full = arrived < sent * fullBelow
    let carried = isCautious ? min(arrived, tail(cluster) ?? arrived) : arrived
    return ProbeResult(
      cluster: cluster.id, wished: cluster.wished, rate: full ? carried * fullShare : min(sent, arrived), full: full,
      isWhole: cluster.packets >= cluster.least.packets && cluster.size >= cluster.least.size)
  }

  /// The rate of what came behind the head, one packet at least, where that was slowed down, too. Lines let some kilobytes through at
  /// once after a pause (token buckets): a line of 600 kbit/s looked like one of 1.1 Mbit/s by its first packets.
  private static func tail(_ cluster: Cluster) -> BitRate? {
    let sentIn = cluster.lastSent - cluster.headSent
    let arrivedIn = cluster.lastArrived - cluster.headArrived
    let size = cluster.size - cluster.headSize
    guard cluster.headSize > .zero, size > .zero, sentIn > .zero, arrivedIn > .zero else { return nil }
    let arrived = BitRate(size, in: arrivedIn)
    return arrived < BitRate(size, in: sentIn) * fullBelow ? arrived : nil
  }
}
