// Joins transport-wide feedback with what was sent (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
//
//   feedback ─▶ too old? ─▶ numbers unwrapped ─▶ history ─▶ results: received, in order of number · lost · late

import Basics
import RTP

/// A packet of which feedback says that it arrived.
struct ReceivedPacket {
  var sentAt: Instant
  /// On the receiver's clock, whose zero means nothing.
  var arrivedAt: TimeDelta
  var size: ByteCount
  var kind: PacketKind
  var cluster: UInt16
}

extension ReceivedPacket {
  /// A packet and its arrival.
  init(_ packet: SentPacket, _ arrivedAt: TimeDelta) {
    self.init(
      sentAt: packet.sentAt, arrivedAt: arrivedAt, size: ByteCount(Int(packet.size)), kind: packet.kind,
      cluster: packet.cluster)
  }
}

/// What one feedback said of the packets that arrived, taken together.
struct ArrivalSummary {
  var packets = 0
  var size = ByteCount.zero
  /// Size of the first packet, in order of number.
  var firstSize = ByteCount.zero
  /// On the receiver's clock.
  var firstArrived = TimeDelta(nanoseconds: .max)
  var lastArrived = TimeDelta(nanoseconds: .min)
  /// The shortest time that a packet was under way. The zero of the receiver's clock is unknown: only differences mean something.
  var leastDelay = TimeDelta(nanoseconds: .max)
  /// Departure of the packet with the highest number.
  var sentAt = Instant.zero

  /// Adds one more, in order of number.
  @inline(__always)
  mutating func add(_ packet: SentPacket, _ arrivedAt: TimeDelta) {
    let size = ByteCount(Int(packet.size))
    if packets == 0 { firstSize = size }
    packets &+= 1
    self.size += size
    firstArrived = min(firstArrived, arrivedAt)
    lastArrived = max(lastArrived, arrivedAt)
    leastDelay = min(leastDelay, TimeDelta(nanoseconds: arrivedAt.nanoseconds &- packet.sentAt.nanoseconds))
    sentAt = packet.sentAt
  }
}

/// Matches feedback against the send history. A packet is reported as received once and as lost once at most.
struct FeedbackMatcher {
  /// Feedback that reports arrivals this long before what is known already was under way for minutes. Its numbers mean
  /// other packets by now.
  static let longestStep = TimeDelta.seconds(5)
  /// So many in a row that look old mean that the receiver's clock jumped.
  static let jumpAfter = 3
  private static let nanosecondsPerTick: Int64 = 250_000

  /// What the last feedback said arrived, in order of number; empty when only the sum was asked for.
  private(set) var received: [ReceivedPacket] = []
  /// The same, taken together.
  private(set) var sum = ArrivalSummary()
  /// Packets that the last feedback said are missing, and their bytes.
  private(set) var lost = 0
  private(set) var lostSize = ByteCount.zero
  /// Packets called lost earlier that arrived after all.
  private(set) var late = 0
  /// Time from the newest packet's departure to its feedback; nil when the last feedback brought nothing new.
  private(set) var roundTrip: TimeDelta?
  /// Departure of the newest packet that is known to have arrived.
  private(set) var newestSent: Instant?
  /// Feedback that was passed over.
  private(set) var ignored = 0

  /// First number on which nothing was said yet.
  private var undecided: Int64?
  /// Newest arrival in ticks of 250 µs, unwrapped.
  private var newestTicks: Int64?
  private var suspects = 0
  /// Off in a control run: numbers are taken as they are on the wire, and age is not looked at.
  private let guarded: Bool

  /// A matcher that has seen nothing.
  init(guarded: Bool) {
    self.guarded = guarded
    received.reserveCapacity(256)
  }

  /// Reads one feedback packet into the properties; into `received` only with `details`. False when it was passed over as too old.
  mutating func match(
    _ feedback: TransportFeedback, _ bytes: Span<UInt8>, _ history: inout SendHistory, details: Bool = true,
    at now: Instant
  ) -> Bool {
    clear()
    guard acceptsAge(feedback) else { return false }
    let base = guarded ? Self.unwrap(feedback.baseSequence, near: history.next - 1) : Int64(feedback.baseSequence)
    let decided = max(base, undecided ?? base, history.oldest)
    let end = min(base + Int64(feedback.statusCount), history.next)
    let answered = walk(feedback, bytes, from: base, decided: decided, &history, details)
    if decided < end {
      // Where all of them arrived there is nothing to look for.
      if end - decided > answered { countLost(decided..<end, &history) }
    }
    undecided = max(undecided ?? end, end)
    if sum.packets > 0 {
      newestSent = max(newestSent ?? sum.sentAt, sum.sentAt)
      roundTrip = max(now - sum.sentAt, .zero)
    }
    return true
  }

  private mutating func clear() {
    received.removeAll(keepingCapacity: true)
    sum = ArrivalSummary()
    lost = 0
    lostSize = .zero
    late = 0
    roundTrip = nil
  }

  /// Notes all arrivals, each once at most. Returns how many of them nothing was said of before, from the number `decided` on.
  private mutating func walk(
    _ feedback: TransportFeedback, _ bytes: Span<UInt8>, from base: Int64, decided: Int64, _ history: inout SendHistory,
    _ details: Bool
  ) -> Int {
    let oldest = history.oldest
    let next = history.next
    let mask = history.ring.count - 1
    var ring = history.ring.mutableSpan
    var cursor = TransportFeedback.ArrivalCursor(feedback)
    var sum = ArrivalSummary()
    var answered = 0
    // The reference time wraps; within one feedback it does not.
    let reference = Int64(feedback.referenceTime) * TransportFeedback.ticksPerReference
    let offset = Self.unwrap(reference, near: newestTicks ?? 0) &- reference
    var newest = newestTicks ?? Int64.min
    while let arrival = cursor.next(bytes) {
      let ticks = arrival.ticks &+ offset
      newest = max(newest, ticks)
      let number = base &+ Int64(arrival.index)
      guard number >= oldest, number < next else { continue }
      let packet = ring[Int(truncatingIfNeeded: number) & mask]
      guard packet.fate != .received else { continue }
      if packet.fate == .lost { late += 1 } else if number >= decided { answered += 1 }
      ring[Int(truncatingIfNeeded: number) & mask].fate = .received
      let arrivedAt = TimeDelta(nanoseconds: ticks &* Self.nanosecondsPerTick)
      sum.add(packet, arrivedAt)
      if details { received.append(ReceivedPacket(packet, arrivedAt)) }
    }
    if newest != .min { newestTicks = newest }
    self.sum = sum
    return answered
  }

  /// What a feedback covers and does not name is lost. Each number is looked at once, so that a report on 65,535 packets
  /// costs no more than those that were sent.
  private mutating func countLost(_ numbers: Range<Int64>, _ history: inout SendHistory) {
    var number = numbers.lowerBound
    while number < numbers.upperBound {
      if history[number].fate == .underWay {
        history[number].fate = .lost
        lost += 1
        lostSize += ByteCount(Int(history[number].size))
      }
      number += 1
    }
  }

  private mutating func acceptsAge(_ feedback: TransportFeedback) -> Bool {
    guard guarded, let newestTicks else { return true }
    let ticks = Self.unwrap(Int64(feedback.referenceTime) * TransportFeedback.ticksPerReference, near: newestTicks)
    let behind = TimeDelta(nanoseconds: (newestTicks - ticks) &* Self.nanosecondsPerTick)
    guard behind > Self.longestStep else {
      suspects = 0
      return true
    }
    suspects += 1
    ignored += 1
    guard suspects >= Self.jumpAfter else { return false }
    suspects = 0
    self.newestTicks = nil
    return true
  }

  private static func unwrap(_ number: UInt16, near newest: Int64) -> Int64 {
    newest + Int64(number.distance(from: UInt16(truncatingIfNeeded: newest)))
  }

  /// The reference time has 24 bits of 64 ms, so ticks wrap at 32 bits.
  private static func unwrap(_ ticks: Int64, near newest: Int64) -> Int64 {
    newest &+ Int64(Int32(truncatingIfNeeded: ticks &- newest))
  }
}
