// Questions to a web server that has to answer soon: so many at once, a bounded number behind them, and a deadline for each.

import Basics

/// Bounds of the questions to one web server.
public struct QuestionLimits: Hashable, Sendable {
  /// Requests at once.
  public var atOnce = 16
  /// Questions that wait for one of those to end.
  public var waiting = 1_000
  /// How often one question is sent.
  public var attempts = 2
  /// How long a question is waited for, all its attempts together.
  public var timeout = TimeDelta.seconds(2)

  /// The defaults.
  public init() {}
}

/// Questions that wait, and those that are on their way. Pure.
public struct QuestionQueue: Sendable {
  /// From a failure to the next attempt.
  private static let pause = TimeDelta.milliseconds(50)

  /// What becomes of a question that is asked.
  public enum Place: Hashable, Sendable {
    case taken
    /// Too many wait.
    case full
    /// The server is taken for one that is down.
    case down
  }

  /// What has come of a failure.
  public enum Failure: Hashable, Sendable {
    /// It is tried again.
    case again
    /// It is given up after so many attempts. `down`: for how long the server is left alone from now on.
    case over(attempts: Int, down: TimeDelta?)
    /// Nobody waits for it.
    case unknown
  }

  /// A request that is to be sent.
  public struct Attempt: Hashable, Sendable {
    /// Of which question.
    public var id: String
    /// What it asks.
    public var body: [UInt8]
    /// From 1.
    public var number: Int
    /// For the whole request.
    public var timeout: TimeDelta
  }

  private struct Entry: Sendable {
    let body: [UInt8]
    let isProbe: Bool
    let deadline: Instant
    var attempts = 0
    var isOnItsWay = false
  }

  private let limits: QuestionLimits
  private var breaker = CircuitBreaker()
  private var entries: [String: Entry] = [:]
  /// Those that are to be sent, in order, and not before.
  private var line: [(id: String, notBefore: Instant)] = []
  private var onTheirWay = 0
  private var deadlines = Deadlines<String>()

  /// Nothing is asked.
  public init(_ limits: QuestionLimits) { self.limits = limits }

  /// Questions without an answer.
  public var count: Int { entries.count }
  /// Whether the server is taken for one that is down.
  public var isDown: Bool { breaker.isOpen }

  /// Takes a question, unless it is to be answered at once in the server's place.
  public mutating func ask(_ id: String, _ body: [UInt8], at now: Instant) -> Place {
    guard line.count < limits.waiting else { return .full }
    let verdict = breaker.verdict(at: now)
    if verdict == .no { return .down }
    let deadline = now + limits.timeout
    entries[id] = Entry(body: body, isProbe: verdict == .probe, deadline: deadline)
    line.append((id, now))
    deadlines.set(id, at: deadline)
    return .taken
  }

  /// The next that may be sent.
  public mutating func next(at now: Instant) -> Attempt? {
    guard onTheirWay < limits.atOnce, let index = line.firstIndex(where: { $0.notBefore <= now }) else { return nil }
    let id = line.remove(at: index).id
    guard var entry = entries[id] else { return nil }
    (entry.attempts, entry.isOnItsWay) = (entry.attempts + 1, true)
    entries[id] = entry
    onTheirWay += 1
    return Attempt(id: id, body: entry.body, number: entry.attempts, timeout: entry.deadline - now)
  }

  /// When something is to be looked at again.
  public var nextDeadline: Instant? {
    let next = onTheirWay < limits.atOnce ? line.lazy.map(\.notBefore).min() : nil
    return [next, deadlines.next].compactMap(\.self).min()
  }

  /// One was answered. Whether the server is back with that; nil where nobody waits for it.
  public mutating func answered(_ id: String) -> Bool? {
    guard remove(id) != nil else { return nil }
    return breaker.succeeded()
  }

  /// An attempt has failed, which may be made again.
  public mutating func failed(_ id: String, mayPass: Bool, at now: Instant) -> Failure {
    guard var entry = entries[id], entry.isOnItsWay else { return .unknown }
    let again = now + Self.pause
    guard mayPass, entry.attempts < limits.attempts, again < entry.deadline, !isDown || entry.isProbe else {
      return giveUp(id, at: now)
    }
    entry.isOnItsWay = false
    entries[id] = entry
    onTheirWay -= 1
    line.append((id, again))
    return .again
  }

  /// The next whose time is over.
  public mutating func popExpired(at now: Instant) -> (id: String, Failure)? {
    guard let id = deadlines.popDue(at: now) else { return nil }
    return (id, giveUp(id, at: now))
  }

  /// Where the server is down, those that wait are not asked any more.
  public mutating func takeWaiting() -> [String] {
    let waiting = line.map(\.id)
    for id in waiting { _ = remove(id) }
    return waiting
  }

  private mutating func giveUp(_ id: String, at now: Instant) -> Failure {
    guard let entry = remove(id) else { return .unknown }
    return .over(attempts: entry.attempts, down: breaker.failed(wasProbe: entry.isProbe, at: now))
  }

  private mutating func remove(_ id: String) -> Entry? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    deadlines.cancel(id)
    if entry.isOnItsWay { onTheirWay -= 1 } else { line.removeAll { $0.id == id } }
    return entry
  }
}
