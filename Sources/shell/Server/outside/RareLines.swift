// Log lines about what may happen for each message: they come once in a while, and say how often it was. Pure.

import Basics

/// Counts what a line is about.
struct RareLine: Sendable {
  /// From one line to the next, where nothing else is said. Shorter fills the disk with lines; longer says later how often it was.
  static let pause = TimeDelta.seconds(60)

  private let pause: TimeDelta
  private var count = 0
  private var next: Instant?

  /// One line in so long at most.
  init(pause: TimeDelta = RareLine.pause) { self.pause = pause }

  /// It has happened so often.
  mutating func add(_ times: Int = 1) { count += times }

  /// How often it was since the line before, where a line is to be written now.
  mutating func take(at now: Instant) -> Int? {
    guard count > 0, next.map({ $0 <= now }) ?? true else { return nil }
    defer { count = 0 }
    next = now + pause
    return count
  }

  /// When there is a line to be written; nil while nothing has happened since the last one.
  var deadline: Instant? { count > 0 ? next : nil }
}

/// Whether a web server takes what it is sent, as the log says it. Where it takes some and others not, each of both lines comes once a minute.
struct FailureLines: Sendable {
  /// What the log is to say.
  enum Line: Hashable {
    /// It does not take what it is sent: so many attempts failed since the line before.
    case failing(attempts: Int)
    /// It does again.
    case recovered
  }

  private var failures = RareLine()
  /// What the last line said.
  private var isFailing = false

  /// An attempt is over.
  mutating func note(isTaken: Bool, at now: Instant) -> Line? {
    if isTaken {
      defer { isFailing = false }
      return isFailing ? .recovered : nil
    }
    failures.add()
    guard !isFailing, let attempts = failures.take(at: now) else { return nil }
    isFailing = true
    return .failing(attempts: attempts)
  }
}
