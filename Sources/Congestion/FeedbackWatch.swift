// What to do when feedback stays away or round trips take seconds: the line may be dark, so send less until it answers.

import Basics

/// A cap on the target, halved while nothing answers and doubled with each answer.
struct FeedbackWatch {
  /// Feedback is missing after this plus two round trips. A receiver reports each 50 – 100 ms.
  static let patience = TimeDelta.milliseconds(350)
  /// From one halving to the next.
  static let interval = TimeDelta.seconds(1)
  /// What is left after each interval without an answer.
  static let share = 0.45
  /// Fewer packets than this may all be lost on a good line.
  static let fewest = 5
  /// A round trip above this is as bad as none.
  static let longestRoundTrip = TimeDelta.seconds(3)
  /// What is left after each interval of such round trips.
  static let slowBackOff = 0.8

  /// Nil when nothing is held back.
  private(set) var cap: BitRate?
  /// Packets that left since the last answer or step.
  private var unanswered = 0
  private var nextStep = Instant.distantFuture
  private var lastSlowStep: Instant?

  /// Nothing is awaited.
  init() {}

  /// When `poll` has something to do.
  var nextDeadline: Instant { nextStep }

  /// A packet left; `roundTrip` is the newest one known.
  @inline(__always)
  mutating func sent(at now: Instant, roundTrip: TimeDelta) {
    unanswered &+= 1
    if nextStep == .distantFuture { nextStep = now + Self.patience + roundTrip * 2 }
  }

  /// Feedback came that confirmed something new; `healthy` when it shows no overuse.
  mutating func answered(roundTrip: TimeDelta, target: BitRate, healthy: Bool, at now: Instant) {
    answered()
    if roundTrip > Self.longestRoundTrip {
      if let lastSlowStep, now - lastSlowStep < Self.interval { return }
      lastSlowStep = now
      cap = (cap ?? target) * Self.slowBackOff
    } else if let held = cap, healthy {
      cap = held * 2 >= target ? nil : held * 2
    }
  }

  /// Halves when nothing has answered for too long. True when it did.
  mutating func poll(target: BitRate, at now: Instant) -> Bool {
    guard now >= nextStep else { return false }
    guard unanswered >= Self.fewest else {
      answered()
      // So little is sent that nothing answers: the cap would stay for ever, and with it what keeps that little.
      if let held = cap {
        cap = held * 2 >= target ? nil : held * 2
        nextStep = cap == nil ? .distantFuture : now + Self.interval
      }
      return false
    }
    unanswered = 0
    cap = min(cap ?? target, target) * Self.share
    nextStep = now + Self.interval
    return true
  }

  /// Nothing is awaited any more.
  mutating func answered() {
    unanswered = 0
    nextStep = .distantFuture
  }
}
