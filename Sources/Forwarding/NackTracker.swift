// What the server itself misses of an encoding, and when to ask the publisher for it (RFC 4585 §6.2.1).
// A gap is asked for at once; each missing packet is asked for again after a round trip, a few times, and then given up.

import Basics

/// Tracks missing sequence numbers of one encoding. Bounded: a gap wider than `capacity` asks for a keyframe instead.
public struct NackTracker: Sendable {
  struct Missing: Sendable {
    var sequence: Int64
    var tries: UInt8
    var nextTry: Instant
  }

  /// Missing packets remembered; more than these mean that retransmission cannot help and a keyframe is cheaper.
  static let capacity = 128
  /// Requests for one packet before it is given up.
  static let maximumTries: UInt8 = 8
  /// Age at which a missing packet is given up, counted from its first request.
  static let retryFloor = TimeDelta.milliseconds(20)

  private var missing: [Missing] = []
  private var newest: Int64?
  /// How long to wait before asking again; one round trip to the publisher, when known.
  public var roundTrip: TimeDelta = .milliseconds(60)

  /// A tracker that has seen nothing.
  public init() { missing.reserveCapacity(Self.capacity) }

  /// What `received` found out.
  public enum Outcome: Sendable, Equatable {
    /// The next in order.
    case inOrder
    /// A gap was opened before this packet; `nextDeadline` is now.
    case gap
    /// A packet that was missing has come.
    case recovered
    /// Seen before, or given up before.
    case old
    /// More is missing than can be asked for: a keyframe is needed.
    case tooManyMissing
  }

  /// Notes the arrival of a packet.
  public mutating func received(_ sequence: Int64, at now: Instant) -> Outcome {
    guard let newest else {
      self.newest = sequence
      return .inOrder
    }
    if sequence <= newest {
      guard let index = missing.firstIndex(where: { $0.sequence == sequence }) else { return .old }
      missing.remove(at: index)
      return .recovered
    }
    self.newest = sequence
    let gap = sequence - newest - 1
    if gap == 0 { return .inOrder }
    if gap + Int64(missing.count) > Int64(Self.capacity) {
      missing.removeAll(keepingCapacity: true)
      return .tooManyMissing
    }
    for lost in (newest + 1)..<sequence { missing.append(Missing(sequence: lost, tries: 0, nextTry: now)) }
    return .gap
  }

  /// When `due` has something to ask for; `distantFuture` when nothing is missing.
  public var nextDeadline: Instant {
    var first = Instant.distantFuture
    for entry in missing where entry.nextTry < first { first = entry.nextTry }
    return first
  }

  /// Missing packets not given up yet.
  public var missingCount: Int { missing.count }

  /// Appends the sequence numbers to ask for now, oldest first, and schedules the next try of each. Returns how many
  /// were given up.
  public mutating func due(at now: Instant, into numbers: inout [UInt16]) -> Int {
    let before = missing.count
    missing.removeAll { $0.tries >= Self.maximumTries && $0.nextTry <= now }
    for index in missing.indices where missing[index].nextTry <= now {
      missing[index].tries += 1
      missing[index].nextTry = now + max(roundTrip, Self.retryFloor)
      numbers.append(UInt16(truncatingIfNeeded: missing[index].sequence))
    }
    return before - missing.count
  }

  /// Forgets what is missing before `sequence`.
  public mutating func forget(before sequence: Int64) {
    if !missing.isEmpty { missing.removeAll { $0.sequence < sequence } }
  }
}
