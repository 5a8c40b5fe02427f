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
  /// Reports that stay away for this long after the first halving are silence: the line may carry nothing at all.
  static let silence = TimeDelta.milliseconds(500)
  /// What a line that answers again is believed to carry until the next answer, of what it carried before.
  static let returning = 0.5

  /// Nil when nothing is held back.
  private(set) var cap: BitRate?
  /// Packets that left since the last answer or step.
  private var unanswered = 0
  private var nextStep = Instant.distantFuture
  private var lastSlowStep: Instant?
  /// Halvings since the last answer.
  private var steps = 0
  private var silentAt = Instant.distantFuture
  /// Whether reports have stayed away for so long that the line may be dark.
  private(set) var isSilent = false

  /// Nothing is awaited.
  init() {}

  /// When `poll` has something to do.
  var nextDeadline: Instant { min(nextStep, silentAt) }

  /// Whether the cap stands for want of answers: what was lost meanwhile says nothing of the rate that the line carries.
  var isUnanswered: Bool { steps > 0 }

  /// What layers are chosen by, as `cap`: not the first halving, which a moment without packets brings too. The pacer holds back then.
  var layerCap: BitRate? { steps == 1 && !isSilent ? nil : cap }

  /// A packet left; `roundTrip` is the newest one known.
  @inline(__always)
  mutating func sent(at now: Instant, roundTrip: TimeDelta) {
    unanswered &+= 1
    if nextStep == .distantFuture { expect(at: now + Self.patience + roundTrip * 2) }
  }

  /// Feedback came that confirmed something new; `healthy` when it shows no overuse.
  mutating func answered(roundTrip: TimeDelta, target: BitRate, healthy: Bool, at now: Instant) {
    let missed = steps
    answered()
    if roundTrip > Self.longestRoundTrip {
      if let lastSlowStep, now - lastSlowStep < Self.interval { return }
      lastSlowStep = now
      cap = (cap ?? target) * Self.slowBackOff
    } else if missed > 1, let held = cap {
      cap = max(held, target * Self.returning)
    } else if missed == 1, healthy {
      cap = nil
    } else if let held = cap, healthy {
      cap = held * 2 >= target ? nil : held * 2
    }
  }

  /// Halves when nothing has answered for too long. True when it did.
  mutating func poll(target: BitRate, at now: Instant) -> Bool {
    if now >= silentAt { (silentAt, isSilent) = (.distantFuture, steps > 0) }
    guard now >= nextStep else { return false }
    guard isSilent || unanswered >= Self.fewest else {
      answered()
      // So little is sent that nothing answers: the cap would stay for ever, and with it what keeps that little.
      if let held = cap {
        cap = held * 2 >= target ? nil : held * 2
        nextStep = cap == nil ? .distantFuture : now + Self.interval
      }
      return false
    }
    unanswered = 0
    steps += 1
    cap = min(cap ?? target, target) * Self.share
    nextStep = now + Self.interval
    return true
  }

  /// Nothing is awaited any more.
  mutating func answered() {
    (unanswered, steps) = (0, 0)
    (nextStep, silentAt, isSilent) = (.distantFuture, .distantFuture, false)
  }

  /// Something else than a report says that the line carries packets again; `target` is what it carried before.
  mutating func returned(target: BitRate) {
    answered()
    cap = target * Self.returning
  }

  @inline(never)
  private mutating func expect(at deadline: Instant) {
    (nextStep, silentAt) = (deadline, deadline + Self.silence)
  }
}
