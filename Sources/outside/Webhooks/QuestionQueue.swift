// Questions to a web server that has to answer soon: so many at once, a bounded number behind them, and a deadline for each. Nobody has more
// than a share of either.

import Basics

/// Bounds of the questions to one web server.
public struct QuestionLimits: Hashable, Sendable {
  /// Requests at once.
  public var atOnce = 16
  /// Questions that wait for one of those to end.
  public var waiting = 1_000
  /// Of one asker.
  public var waitingOfOne = 64
  /// Bytes of all questions without an answer.
  public var bytes = 8 << 20
  /// How often one question is sent.
  public var attempts = 2
  /// How long a question is waited for, all its attempts together.
  public var timeout = TimeDelta.seconds(2)

  /// The defaults.
  public init() {}

  /// Into so many parts those at once are divided, of which an asker has one.
  public static let parts = 4
  /// Requests of one asker at once.
  public var atOnceOfOne: Int { max(1, atOnce / Self.parts) }
}

/// Questions that wait, and those that are on their way. Pure.
public struct QuestionQueue: Sendable {
  /// From a failure to the next attempt.
  private static let pause = TimeDelta.milliseconds(50)
  /// What an attempt has of time at least; with less it is not made.
  private static let shortest = TimeDelta.milliseconds(20)

  /// What becomes of a question that is asked.
  public enum Place: Hashable, Sendable {
    case taken
    /// Too many wait, or too many of this asker, or its time is over.
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
    let asker: QuestionAsker
    let probe: Int?
    let deadline: Instant
    var attempts = 0
    var isOnItsWay = false
    var last = QuestionFailure.unanswered
  }

  /// One that is to be sent, and not before.
  private struct Waiting: Sendable {
    let id: String
    let asker: QuestionAsker
    let notBefore: Instant
    let deadline: Instant
  }

  private struct Share: Sendable {
    var onTheirWay = 0
    var waiting = 0
  }

  private let limits: QuestionLimits
  private var breaker = CircuitBreaker()
  private var entries: [String: Entry] = [:]
  /// In order.
  private var line: [Waiting] = []
  private var shares: [QuestionAsker: Share] = [:]
  private var onTheirWay = 0
  private var bytes = 0
  private var deadlines = Deadlines<String>()

  /// Nothing is asked.
  public init(_ limits: QuestionLimits) { self.limits = limits }

  /// Questions without an answer.
  public var count: Int { entries.count }
  /// Whether the server is taken for one that is down.
  public var isDown: Bool { breaker.isOpen }
  /// For how long it is left alone still, about.
  public func breakLeft(at now: Instant) -> TimeDelta { breaker.left(at: now) }

  /// Takes a question that somebody has had since `since`, unless it is to be answered at once in the server's place.
  public mutating func ask(
    _ id: String, _ body: [UInt8], of asker: QuestionAsker, since: Instant, at now: Instant
  ) -> Place {
    let deadline = since + limits.timeout
    guard line.count < limits.waiting, shares[asker]?.waiting ?? 0 < limits.waitingOfOne,
      bytes + body.count <= limits.bytes, deadline - now >= Self.shortest
    else { return .full }
    let probe: Int?
    switch breaker.verdict(for: asker, at: now) {
    case .no: return .down
    case .yes: probe = nil
    case .probe(let number): probe = number
    }
    bytes += body.count
    entries[id] = Entry(body: body, asker: asker, probe: probe, deadline: deadline)
    enqueue(Waiting(id: id, asker: asker, notBefore: now, deadline: deadline))
    deadlines.set(id, at: deadline)
    return .taken
  }

  /// The next that may be sent: the oldest of one who has less than a share on its way. But for its last attempt it has half of its time, so
  /// that there is time for another.
  public mutating func next(at now: Instant) -> Attempt? {
    guard let index = line.firstIndex(where: { $0.notBefore <= now && isOpen(to: $0, at: now) }) else { return nil }
    let id = line[index].id
    leaveLine(index)
    guard var entry = entries[id] else { return nil }
    (entry.attempts, entry.isOnItsWay) = (entry.attempts + 1, true)
    entries[id] = entry
    onTheirWay += 1
    shares[entry.asker, default: Share()].onTheirWay += 1
    let left = entry.deadline - now
    let timeout = entry.attempts < limits.attempts ? max(left / 2, Self.shortest) : left
    return Attempt(id: id, body: entry.body, number: entry.attempts, timeout: timeout)
  }

  /// When something is to be looked at again.
  public func nextDeadline(at now: Instant) -> Instant? {
    let next = line.lazy.filter { isOpen(to: $0, at: now) }.map(\.notBefore).min()
    return [next, deadlines.next].compactMap(\.self).min()
  }

  /// One was answered. Whether the server is back with that; nil where nobody waits for it.
  public mutating func answered(_ id: String) -> Bool? {
    guard remove(id) != nil else { return nil }
    return breaker.succeeded()
  }

  /// An attempt has failed, which may be made again.
  public mutating func failed(
    _ id: String, _ failure: QuestionFailure, mayPass: Bool, at now: Instant
  ) -> Failure {
    guard var entry = entries[id], entry.isOnItsWay else { return .unknown }
    entry.last = failure
    entries[id] = entry
    let again = now + Self.pause
    guard mayPass, entry.attempts < limits.attempts, again + Self.shortest <= entry.deadline,
      !isDown || entry.probe != nil
    else { return giveUp(id, at: now) }
    comeBack(entry)
    entry.isOnItsWay = false
    entries[id] = entry
    enqueue(Waiting(id: id, asker: entry.asker, notBefore: again, deadline: entry.deadline))
    return .again
  }

  /// The next whose time is over.
  public mutating func popExpired(at now: Instant) -> (id: String, Failure)? {
    guard let id = deadlines.popDue(at: now) else { return nil }
    return (id, giveUp(id, at: now))
  }

  /// Nobody waits for it any more. Whether it is gone; one that is on its way is not taken back.
  public mutating func takeBack(_ id: String, at now: Instant) -> Bool {
    guard let entry = entries[id], !entry.isOnItsWay, remove(id) != nil else { return false }
    breaker.giveBack(entry.probe, at: now)
    return true
  }

  /// Where the server is down, those that wait are not asked any more.
  public mutating func takeWaiting() -> [String] {
    let waiting = line.map(\.id)
    for id in waiting { _ = remove(id) }
    return waiting
  }

  // MARK: - Shares

  /// Whether one in the line may be sent as soon as its pause is over.
  private func isOpen(to waiting: Waiting, at now: Instant) -> Bool {
    onTheirWay < limits.atOnce && shares[waiting.asker]?.onTheirWay ?? 0 < limits.atOnceOfOne
      && waiting.deadline - now >= Self.shortest
  }

  private mutating func enqueue(_ waiting: Waiting) {
    line.append(waiting)
    shares[waiting.asker, default: Share()].waiting += 1
  }

  private mutating func leaveLine(_ index: Int) {
    let asker = line.remove(at: index).asker
    shares[asker]?.waiting -= 1
    forget(asker)
  }

  private mutating func comeBack(_ entry: Entry) {
    onTheirWay -= 1
    shares[entry.asker]?.onTheirWay -= 1
    forget(entry.asker)
  }

  private mutating func forget(_ asker: QuestionAsker) {
    if let share = shares[asker], share.onTheirWay + share.waiting == 0 { shares[asker] = nil }
  }

  // MARK: - Ends

  /// One that was never sent says nothing of the server.
  private mutating func giveUp(_ id: String, at now: Instant) -> Failure {
    guard let entry = remove(id) else { return .unknown }
    guard entry.attempts > 0 else {
      breaker.giveBack(entry.probe, at: now)
      return .over(attempts: 0, down: nil)
    }
    let down = breaker.failed(entry.last, of: entry.asker, probe: entry.probe, at: now)
    return .over(attempts: entry.attempts, down: down)
  }

  private mutating func remove(_ id: String) -> Entry? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    deadlines.cancel(id)
    bytes -= entry.body.count
    if entry.isOnItsWay {
      comeBack(entry)
    } else if let index = line.firstIndex(where: { $0.id == id }) {
      leaveLine(index)
    }
    return entry
  }
}
