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

/// Matches feedback against the send history. A packet is reported as received once and as lost once at most.
struct FeedbackMatcher {
  /// Feedback that reports arrivals this long before what is known already was under way for minutes. Its numbers mean
  /// other packets by now.
  static let longestStep = TimeDelta.seconds(5)
  /// So many in a row that look old mean that the receiver's clock jumped.
  static let jumpAfter = 3
  private static let nanosecondsPerTick: Int64 = 250_000

  /// What the last feedback said arrived, in order of number.
  private(set) var received: [ReceivedPacket] = []
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

  /// Reads one feedback packet into the properties. False when it was passed over as too old.
  mutating func match(
    _ feedback: TransportFeedback, _ bytes: Span<UInt8>, _ history: inout SendHistory, at now: Instant
  ) -> Bool {
    clear()
    guard acceptsAge(feedback) else { return false }
    let base = guarded ? Self.unwrap(feedback.baseSequence, near: history.next - 1) : Int64(feedback.baseSequence)
    var newest: Int64?
    var ticks = newestTicks ?? 0
    feedback.forEachReceived(bytes) { sequence, arrival in
      let number = base + Int64(sequence &- feedback.baseSequence)
      ticks = Self.unwrap(arrival, near: ticks)
      newestTicks = max(newestTicks ?? ticks, ticks)
      if take(number, ticks, &history) { newest = number }
    }
    countLost(from: base, count: feedback.statusCount, &history)
    if let newest {
      let sent = history[newest].sentAt
      newestSent = max(newestSent ?? sent, sent)
      roundTrip = max(now - sent, .zero)
    }
    return true
  }

  private mutating func clear() {
    received.removeAll(keepingCapacity: true)
    lost = 0
    lostSize = .zero
    late = 0
    roundTrip = nil
  }

  /// Notes one arrival. False when it was known, or the number was never sent.
  private mutating func take(_ number: Int64, _ ticks: Int64, _ history: inout SendHistory) -> Bool {
    guard history.knows(number) else { return false }
    let packet = history[number]
    guard packet.fate != .received else { return false }
    if packet.fate == .lost { late += 1 }
    history[number].fate = .received
    received.append(
      ReceivedPacket(
        sentAt: packet.sentAt, arrivedAt: TimeDelta(nanoseconds: ticks &* Self.nanosecondsPerTick),
        size: ByteCount(Int(packet.size)), kind: packet.kind, cluster: packet.cluster))
    return true
  }

  /// What a feedback covers and does not name is lost. Each number is looked at once, so that a report on 65,535 packets
  /// costs no more than those that were sent.
  private mutating func countLost(from base: Int64, count: Int, _ history: inout SendHistory) {
    var number = max(base, undecided ?? base, history.oldest)
    let end = min(base + Int64(count), history.next)
    while number < end {
      if history[number].fate == .underWay {
        history[number].fate = .lost
        lost += 1
        lostSize += ByteCount(Int(history[number].size))
      }
      number += 1
    }
    undecided = max(undecided ?? end, end)
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
