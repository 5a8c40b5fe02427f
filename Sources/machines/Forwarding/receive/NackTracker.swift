// What the server itself misses of an encoding, and when to ask the publisher for it (RFC 4585 §6.2.1).
// A gap is asked for at once; each missing packet is asked for again when the answer would have been there, a few times and each
// time more patiently, and then given up.

import Basics

/// Tracks missing sequence numbers of one encoding. Bounded: a gap wider than `capacity` asks for a keyframe instead.
public struct NackTracker: Sendable {
  struct Missing: Sendable {
    var sequence: Int64
    var tries: UInt8 = 0
    /// When it was asked for first.
    var asked = Instant.zero
    var nextTry: Instant
  }

  /// Missing packets remembered; more than these mean that retransmission cannot help and a keyframe is cheaper.
  static let capacity = 128
  /// Requests for one packet before it is given up.
  static let maximumTries: UInt8 = 8
  /// Time after its first request at which a packet is given up: whoever plays it has gone on long since.
  static let longestWait = TimeDelta.seconds(1)
  /// No packet is asked for again sooner, however near the publisher is: he answers when he gets to it.
  static let shortestRetry = TimeDelta.milliseconds(20)

  /// Numbers ahead of the newest whose packets are remembered as dropped on purpose.
  static let dropWindow = 1_024

  private var missing: [Missing] = []
  /// One bit for each number ahead of the newest whose packet came and was dropped on purpose; made with the first.
  private var dropped: [UInt64] = []
  private var droppedCount = 0
  private var newest: Int64?
  /// From a request to its answer, as the publisher's answers say; a guess before the first. Nothing else tells it:
  /// the publisher is sent no sender reports that he could echo.
  private(set) var roundTrip: TimeDelta

  /// A tracker that has seen nothing.
  public init() { self.init(roundTrip: .milliseconds(60)) }

  private init(roundTrip: TimeDelta) {
    self.roundTrip = roundTrip
    missing.reserveCapacity(Self.capacity)
  }

  /// A tracker for another stream on the same path.
  func restarted() -> NackTracker { NackTracker(roundTrip: roundTrip) }

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

  /// Notes the arrival of a packet. `isAnswer`: it came because it was asked for, and is not only late.
  public mutating func received(_ sequence: Int64, isAnswer: Bool, at now: Instant) -> Outcome {
    guard let newest else {
      self.newest = sequence
      return .inOrder
    }
    if sequence <= newest {
      guard let index = missing.firstIndex(where: { $0.sequence == sequence }) else { return .old }
      let entry = missing.remove(at: index)
      if isAnswer && entry.tries > 0 { learn(now - entry.asked) }
      return .recovered
    }
    self.newest = sequence
    if droppedCount > 0 { return note(after: newest, to: sequence, at: now) }
    let gap = sequence - newest - 1
    if gap == 0 { return .inOrder }
    if gap + Int64(missing.count) > Int64(Self.capacity) {
      missing.removeAll(keepingCapacity: true)
      return .tooManyMissing
    }
    for lost in (newest + 1)..<sequence { missing.append(Missing(sequence: lost, nextTry: now)) }
    return .gap
  }

  /// A packet came and was dropped on purpose: it is not asked for, as it would be dropped again. It may be anybody's, since nobody has
  /// looked whether it is authentic; so it moves nothing, and all that it can do is to have its number not asked for.
  public mutating func drop(_ sequence: UInt16) {
    guard let newest else { return }
    let ahead = Int64(Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: newest)))
    guard ahead > 0 else { return missing.removeAll { $0.sequence == newest + ahead } }
    guard ahead < Int64(Self.dropWindow) else { return }
    if dropped.isEmpty { dropped = [UInt64](repeating: 0, count: Self.dropWindow / 64) }
    let (word, bit) = Self.place(of: newest + ahead)
    guard dropped[word] & bit == 0 else { return }
    dropped[word] |= bit
    droppedCount += 1
  }

  private static func place(of sequence: Int64) -> (word: Int, bit: UInt64) {
    let index = Int(sequence & Int64(dropWindow - 1))
    return (index >> 6, 1 << UInt64(index & 63))
  }

  /// Whether the packet of this number was dropped on purpose; from now on its place is that of a later one.
  private mutating func takeDropped(_ sequence: Int64) -> Bool {
    let (word, bit) = Self.place(of: sequence)
    guard dropped[word] & bit != 0 else { return false }
    dropped[word] &= ~bit
    droppedCount -= 1
    return true
  }

  /// The newest is `sequence` now. What is between is missing, but for what was dropped.
  private mutating func note(after newest: Int64, to sequence: Int64, at now: Instant) -> Outcome {
    guard sequence - newest < Int64(Self.dropWindow) else {
      (dropped, droppedCount) = ([], 0)
      missing.removeAll(keepingCapacity: true)
      return .tooManyMissing
    }
    var outcome = Outcome.inOrder
    for number in (newest + 1)...sequence where !takeDropped(number) && number < sequence {
      if outcome == .inOrder { outcome = .gap }
      guard outcome == .gap else { continue }
      if missing.count == Self.capacity {
        missing.removeAll(keepingCapacity: true)
        outcome = .tooManyMissing
      } else {
        missing.append(Missing(sequence: number, nextTry: now))
      }
    }
    return outcome
  }

  /// When `due` has something to ask for; `distantFuture` when nothing is missing.
  public var nextDeadline: Instant {
    var first = Instant.distantFuture
    for entry in missing where entry.nextTry < first { first = entry.nextTry }
    return first
  }

  /// Missing packets not given up yet.
  public var missingCount: Int { missing.count }

  /// Appends the sequence numbers to ask for now, oldest first, and schedules the next try of each. What was asked for often
  /// enough is given up.
  public mutating func due(at now: Instant, into numbers: inout [UInt16]) {
    missing.removeAll {
      $0.nextTry <= now && $0.tries > 0 && ($0.tries >= Self.maximumTries || now - $0.asked >= Self.longestWait)
    }
    for index in missing.indices where missing[index].nextTry <= now {
      if missing[index].tries == 0 { missing[index].asked = now }
      missing[index].tries += 1
      missing[index].nextTry = now + patience(missing[index].tries)
      numbers.append(UInt16(truncatingIfNeeded: missing[index].sequence))
    }
  }

  /// How long the answer to a request may take: a round trip and a quarter, and half of that longer with each request before.
  private func patience(_ tries: UInt8) -> TimeDelta {
    max(roundTrip * 5 / 4, Self.shortestRetry) * Int64(tries + 1) / 2
  }

  /// The first answer to arrive is the first request's, unless that or its answer was lost; then it says too much, which the
  /// next answers mend.
  private mutating func learn(_ sample: TimeDelta) {
    let bounded = min(max(sample, .milliseconds(1)), Self.longestWait)
    roundTrip = roundTrip + (bounded - roundTrip) / 4
  }

  /// Forgets what is missing before `sequence`.
  public mutating func forget(before sequence: Int64) {
    if !missing.isEmpty { missing.removeAll { $0.sequence < sequence } }
  }
}
