// Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1), writing: arrivals
// in, chunks and deltas out.

import Basics

extension RTCPBuilder {
  /// What `appendTransportFeedback` is to report: `statusCount` packets from `baseSequence` on.
  public struct TransportFeedbackReport: Sendable {
    /// Who reports.
    public var sender: UInt32
    /// A stream of the transport.
    public var media: UInt32
    /// Number of the first packet.
    public var baseSequence: UInt16
    /// 1 … 65,535. At least one of them arrived, or nothing is written.
    public var statusCount: Int
    /// Counts this sender's feedback packets; wraps.
    public var feedbackCount: UInt8
    /// Longest packet to write; at least 64.
    public var maximumLength: Int

    /// All of it.
    public init(
      sender: UInt32, media: UInt32, baseSequence: UInt16, statusCount: Int, feedbackCount: UInt8,
      maximumLength: Int = 1_100
    ) {
      self.sender = sender
      self.media = media
      self.baseSequence = baseSequence
      self.statusCount = statusCount
      self.feedbackCount = feedbackCount
      self.maximumLength = maximumLength
    }
  }

  /// Appends one feedback packet and returns how many statuses it covers: fewer than asked for when the packet would become
  /// too long, or when two arrivals lie more than 8 s apart. The caller goes on with the rest in another packet.
  /// Returns 0, with nothing written, when none of the packets arrived.
  ///
  /// `arrival` gives a packet's arrival in ticks of 250 µs by its index 0 ..< `statusCount`, nil when it did not arrive.
  public static func appendTransportFeedback(
    to buffer: inout [UInt8], _ report: TransportFeedbackReport, arrival: (Int) -> Int64?
  ) -> Int {
    let total = min(report.statusCount, 0xffff)
    guard let first = firstArrival(total, arrival) else { return 0 }
    let reference = first >> 8
    let start = open(15, RTCPType.transportFeedback, &buffer)
    buffer.append(bigEndian: report.sender)
    buffer.append(bigEndian: report.media)
    buffer.append(bigEndian: report.baseSequence)
    buffer.append(bigEndian: 0 as UInt16)
    buffer.append(bigEndian24: UInt32(truncatingIfNeeded: reference))
    buffer.append(report.feedbackCount)
    var chunker = StatusChunker(total: total, last: reference << 8, budget: max(report.maximumLength, 64) - 24)
    while let chunk = chunker.next(arrival) { buffer.append(bigEndian: chunk) }
    let covered = chunker.covered
    buffer[start + 14] = UInt8(truncatingIfNeeded: covered >> 8)
    buffer[start + 15] = UInt8(truncatingIfNeeded: covered)
    appendDeltas(to: &buffer, covered: covered, last: reference << 8, arrival: arrival)
    // Zeroes without the padding bit: readers know from the statuses how many deltas there are, and only the last packet of
    // a compound may be padded (RFC 3550 §6.4.1).
    close(start, &buffer)
    return covered
  }

  private static func firstArrival(_ total: Int, _ arrival: (Int) -> Int64?) -> Int64? {
    var index = 0
    while index < total {
      if let ticks = arrival(index) { return ticks }
      index += 1
    }
    return nil
  }

  private static func appendDeltas(
    to buffer: inout [UInt8], covered: Int, last: Int64, arrival: (Int) -> Int64?
  ) {
    var last = last
    for index in 0..<covered {
      guard let ticks = arrival(index) else { continue }
      let delta = ticks - last
      last = ticks
      if (0...255).contains(delta) {
        buffer.append(UInt8(truncatingIfNeeded: delta))
      } else {
        buffer.append(bigEndian: UInt16(truncatingIfNeeded: delta))
      }
    }
  }
}

/// Cuts a row of statuses into chunks, as long as their chunks and deltas fit into a budget of bytes.
struct StatusChunker {
  let total: Int
  /// Arrival of the last packet covered, from which the next delta counts.
  var last: Int64
  /// Bytes left for chunks and deltas.
  var budget: Int
  private(set) var covered = 0

  init(total: Int, last: Int64, budget: Int) {
    self.total = total
    self.last = last
    self.budget = budget
  }

  /// The next chunk; nil at the end, when the budget is used up, or when the next delta does not fit into 16 bits.
  mutating func next(_ arrival: (Int) -> Int64?) -> UInt16? {
    guard covered < total, budget >= 2 + 2 * 14 else { return nil }
    guard let (symbol, run) = run(arrival), run > 0 else { return nil }
    // A run as long as a two-bit vector (of all that is left, too) costs no more and often covers more.
    if run >= 14 || run == total - covered || (symbol == .large && run >= 7) {
      encode(run, arrival)
      return symbol.rawValue << 13 | UInt16(run)
    }
    return vector(arrival)
  }

  /// The status of the next packet and how many after it have the same; nil when its delta is out of range.
  private func run(_ arrival: (Int) -> Int64?) -> (PacketStatus, Int)? {
    var last = last
    guard let symbol = Self.status(arrival(covered), &last) else { return nil }
    var limit = min(total - covered, StatusChunk.longestRun)
    if symbol != .lost { limit = min(limit, (budget - 2) / symbol.deltaLength) }
    var count = 1
    while count < limit, Self.status(arrival(covered + count), &last) == symbol { count += 1 }
    return (symbol, count)
  }

  /// Fourteen one-bit symbols if no large delta is among the next fourteen, otherwise seven two-bit ones. It ends early,
  /// and with it the packet, where a delta is out of range.
  private mutating func vector(_ arrival: (Int) -> Int64?) -> UInt16 {
    var oneBit: UInt16 = 0x8000
    var twoBit: UInt16 = 0xc000
    var last = last
    var count = 0
    var hasLarge = false
    while count < min(14, total - covered), let symbol = Self.status(arrival(covered + count), &last) {
      if symbol == .large { hasLarge = true }
      if hasLarge && count >= 7 { break }
      if count < 7 { twoBit |= symbol.rawValue << UInt16(12 - 2 * count) }
      oneBit |= (symbol.rawValue & 1) << UInt16(13 - count)
      count += 1
    }
    // With a large delta behind the first seven, the two-bit chunk leaves it to the next one.
    encode(hasLarge ? min(count, 7) : count, arrival)
    return hasLarge ? twoBit : oneBit
  }

  private mutating func encode(_ count: Int, _ arrival: (Int) -> Int64?) {
    budget -= 2
    for index in covered..<(covered + count) {
      budget -= Self.status(arrival(index), &last)?.deltaLength ?? 0
    }
    covered += count
  }

  /// The status of a packet that came at `arrival` after one at `last`, which moves on; nil when 16 bits do not hold the delta.
  private static func status(_ arrival: Int64?, _ last: inout Int64) -> PacketStatus? {
    guard let arrival else { return .lost }
    let delta = arrival - last
    guard (-32_768...32_767).contains(delta) else { return nil }
    last = arrival
    return (0...255).contains(delta) ? .small : .large
  }
}
