// What waits to be delivered to one web server: in order within a lane, lanes side by side, retried with backoff, and
// looked at again before each attempt. Pure: time and the outcome of attempts come in as arguments.
//
//   enqueue ─▶ lane: first ─▶ next(at:) ─▶ on its way ─▶ finished ─▶ settled
//                     ▲                                      │
//                     └────────── backoff with jitter ◀──────┤
//                        what the disk has, after some attempts └─▶ returned, until `reopen`

import Basics

/// Bounds and times of a queue.
public struct DeliveryLimits: Hashable, Sendable {
  /// Messages that may wait. More cost their memory and a longer flood when the server is back.
  public var waiting = 10_000
  /// Messages on their way at once. More load the server more and let slow answers hold up less.
  public var atOnce = 4

  /// Those of them that were sent before and not taken: the other places are for what was not. One of one place, which both have in turn.
  var mostAgain: Int { max(1, atOnce / 2) }

  /// The wait after the first failure; it doubles …
  public var firstRetry = TimeDelta.seconds(1)
  /// … up to this.
  public var longestRetry = TimeDelta.seconds(300)

  /// Which answers end a message.
  public enum Answers: Hashable, Sendable {
    /// 410 and every other refusal that is not likely to pass.
    case everyRefusal
    /// 410 alone.
    case goneAlone
  }

  /// Which answers end a message that was not taken.
  public var ending = Answers.everyRefusal
  /// Attempts after which a message that is on disk waits there. More keep a lane that fails in memory for longer; fewer read more from disk.
  public var attemptsInHand = 3

  /// The defaults of docs/webhooks.md.
  public init() {}
}

/// What waits to be delivered to one web server.
public struct DeliveryQueue: Sendable {
  private struct Lane: Sendable {
    var waiting: [Delivery] = []
    var attempts = 0
    var last: HTTPOutcome?
    var due: Instant
    var isOnItsWay = false
    /// When the first message came, where its lane was returned since.
    var since: Instant?
  }

  private let limits: DeliveryLimits
  private var random: any RandomNumberGenerator & Sendable
  /// By their names, of which a part is a user's: compared by bytes.
  private var lanes: [ExactText: Lane] = [:]
  /// Lanes whose first messages were not sent yet.
  private var due = Basics.DeadlineQueue<ExactText>()
  /// Those that have failed.
  private var dueAgain = Basics.DeadlineQueue<ExactText>()
  private var onTheirWay: [String: ExactText] = [:]
  /// Those on their way that have failed before.
  private var again: Set<String> = []
  /// Whether the latest that left was one of them.
  private var wasAgain = false
  /// Lanes whose ring may have arrived, until it ends.
  private var rung: [ExactText: Int64] = [:]
  /// Cancels that an earlier process left: it knew that their rings may have arrived.
  private var owed: Set<String> = []
  private var settled: [SettledDelivery] = []
  private var returned: [ReturnedLane] = []
  /// Lanes that were returned, since when their first messages wait. What comes of them was handed over before that was known.
  private var away = Deadlines<ExactText>()
  /// When messages came that wait or are on their way.
  private var arrivals = Deadlines<String>()
  /// Messages that wait or are on their way.
  public private(set) var count = 0

  /// An empty queue; `random` spreads retries.
  public init(_ limits: DeliveryLimits, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
    self.limits = limits
    self.random = random
  }

  /// Takes a message; false when too many wait already.
  public mutating func enqueue(_ delivery: Delivery, at now: Now) -> Bool {
    guard count < limits.waiting else { return false }
    add(delivery, at: now)
    return true
  }

  private mutating func add(_ delivery: Delivery, at now: Now) {
    count += 1
    let name = ExactText(delivery.lane)
    arrivals.set(delivery.id, at: lanes[name]?.since ?? now.instant)
    if lanes[name] == nil {
      lanes[name] = Lane(due: now.instant)
      due.push(now.instant, name)
    }
    lanes[name]?.since = nil
    lanes[name]?.waiting.append(delivery)
    if delivery.part == .cancel { stopRetrying(name, at: now) }
  }

  /// Takes a message that an earlier process left, or one that the record file has, however many wait: it has been accepted. The rings of that
  /// process are over; what takes them back is sent.
  public mutating func restore(_ delivery: Delivery, at now: Now) {
    guard delivery.part != .ring, away[ExactText(delivery.lane)] == nil else { return }
    if delivery.part == .cancel { owed.insert(delivery.id) }
    add(delivery, at: now)
  }

  /// What comes of a lane from now on is what comes next of it. It was returned after so many attempts.
  public mutating func reopen(_ name: ExactText, attempts: Int, at now: Now) {
    guard let since = away[name] else { return }
    away.cancel(name)
    lanes[name] = Lane(attempts: attempts, due: now.instant, since: since)
    push(now.instant, name, isAgain: attempts > 0)
  }

  private mutating func push(_ instant: Instant, _ name: ExactText, isAgain: Bool) {
    if isAgain { dueAgain.push(instant, name) } else { due.push(instant, name) }
  }

  /// A lane that may be due. Where both kinds are, they come in turn.
  private mutating func pop(at now: Instant) -> (name: ExactText, isAgain: Bool)? {
    let mayBeAgain = again.count < limits.mostAgain && dueAgain.next <= now
    if mayBeAgain, !wasAgain || due.next > now { return dueAgain.pop(at: now).map { ($0, true) } }
    return due.pop(at: now).map { ($0, false) }
  }

  /// An earlier process has sent a ring in this lane, which may have arrived and ends then: what takes it back is sent.
  public mutating func noteRing(in lane: String, until end: Int64) { rung[ExactText(lane)] = end }

  /// The next message to send now, with the number of the attempt; nil when there is none. Its outcome must be given to
  /// `finished`.
  public mutating func next(at now: Now) -> (delivery: Delivery, attempt: Int)? {
    while onTheirWay.count < limits.atOnce, let (name, isAgain) = pop(at: now.instant) {
      guard var lane = lanes[name], !lane.isOnItsWay, lane.due <= now.instant else { continue }
      dropPointless(&lane, name, at: now)
      guard let first = lane.waiting.first else {
        lanes[name] = nil
        continue
      }
      guard isAgain == (lane.attempts > 0) else {
        lanes[name] = lane
        push(lane.due, name, isAgain: !isAgain)
        continue
      }
      if isAgain { again.insert(first.id) }
      wasAgain = isAgain
      lane.isOnItsWay = true
      lane.attempts += 1
      lanes[name] = lane
      onTheirWay[first.id] = name
      return (first, lane.attempts)
    }
    return nil
  }

  /// Whether this message waits for the outcome of an attempt.
  public func isOnItsWay(_ id: String) -> Bool { onTheirWay[id] != nil }

  /// Says what came of an attempt.
  public mutating func finished(_ id: String, _ outcome: HTTPOutcome, at now: Now) {
    again.remove(id)
    guard let name = onTheirWay.removeValue(forKey: id), var lane = lanes[name], let first = lane.waiting.first else {
      return
    }
    if first.part == .ring, outcome.mayHaveArrived { rung[name] = first.expiresAt }
    lane.isOnItsWay = false
    lane.last = outcome
    lane.due = now.instant
    switch outcome.verdict(limits.ending) {
    case .delivered: settle(&lane, .delivered)
    case .never: settle(&lane, .refused(outcome))
    case .again where first.part == .ring && lane.waiting.contains { $0.part == .cancel }:
      settle(&lane, .pointless)
    case .again:
      let wait = pause(after: lane.attempts, outcome)
      if now.wallMilliseconds + wait.milliseconds >= first.expiresAt {
        settle(&lane, .expired(last: outcome))
      } else if first.isOnDisk, lane.attempts >= limits.attemptsInHand {
        return giveBack(lane, name, due: now.instant + wait)
      } else {
        lane.due = now.instant + wait
      }
    }
    lanes[name] = lane
    push(lane.due, name, isAgain: lane.attempts > 0)
  }

  /// Its messages are on disk, and are no part of this any more.
  private mutating func giveBack(_ lane: Lane, _ name: ExactText, due: Instant) {
    away.set(name, at: lane.waiting.compactMap { arrivals[$0.id] }.min() ?? due)
    for delivery in lane.waiting { arrivals.cancel(delivery.id) }
    count -= lane.waiting.count
    lanes[name] = nil
    let isRefused = lane.last?.isRefusal ?? false
    returned.append(ReturnedLane(lane: name, attempts: lane.attempts, due: due, isRefused: isRefused))
  }

  /// Takes the lanes that were returned since the last call. What `takeSettled` has of them came before.
  public mutating func takeReturned() -> [ReturnedLane] {
    defer { returned = [] }
    return returned
  }

  /// When the oldest message came that waits or is on its way, or that has failed and waits on disk.
  public var oldest: Instant? { [arrivals.next, away.next].compactMap { $0 }.min() }

  /// Takes the messages that are over since the last call.
  public mutating func takeSettled() -> [SettledDelivery] {
    defer { settled = [] }
    return settled
  }

  /// When `next` has something; nil when it waits for outcomes or for nothing.
  public var nextDeadline: Instant? {
    guard onTheirWay.count < limits.atOnce else { return nil }
    let next = again.count < limits.mostAgain ? min(due.next, dueAgain.next) : due.next
    return next == .distantFuture ? nil : next
  }

  // MARK: - Looking again

  /// A ring that waits to be tried again is over: what is behind it need not wait.
  private mutating func stopRetrying(_ name: ExactText, at now: Now) {
    guard let lane = lanes[name], !lane.isOnItsWay, lane.waiting.first?.part == .ring, lane.due > now.instant else {
      return
    }
    lanes[name]?.due = now.instant
    due.push(now.instant, name)
  }

  /// Takes what need not be sent any more off the front of a lane.
  private mutating func dropPointless(_ lane: inout Lane, _ name: ExactText, at now: Now) {
    while let first = lane.waiting.first {
      if first.expiresAt <= now.wallMilliseconds {
        settle(&lane, .expired(last: lane.last))
      } else if first.part == .ring, lane.waiting.contains(where: { $0.part == .cancel }) {
        settle(&lane, .pointless)
      } else if first.part == .cancel, rung[name] == nil, !owed.contains(first.id) {
        settle(&lane, .pointless)
      } else {
        break
      }
    }
    if lane.waiting.isEmpty { forgetRings(at: now) }
  }

  private mutating func settle(_ lane: inout Lane, _ end: SettledDelivery.End) {
    let first = lane.waiting.removeFirst()
    settled.append(SettledDelivery(delivery: first, end: end, attempts: lane.attempts))
    (lane.attempts, lane.last) = (0, nil)
    count -= 1
    arrivals.cancel(first.id)
    // Taken back: a later cancel in this lane is about another ring.
    if first.part == .cancel, owed.remove(first.id) == nil { rung[ExactText(first.lane)] = nil }
  }

  /// A cancel may come a little after the end of its ring.
  private static let cancelSlack: Int64 = 120_000

  private mutating func forgetRings(at now: Now) {
    guard rung.count > 1024 else { return }
    rung = rung.filter { $0.value + Self.cancelSlack > now.wallMilliseconds }
  }

  /// Twice as long after each failure, shortened by chance by up to a half, so that lanes do not come all at once; not
  /// before the server wants it.
  private mutating func pause(after attempts: Int, _ outcome: HTTPOutcome) -> TimeDelta {
    let doubled = limits.firstRetry * (Int64(1) << min(attempts - 1, 20))
    let wait = TimeDelta(nanoseconds: Int64.random(in: doubled.nanoseconds / 2...doubled.nanoseconds, using: &random))
    guard case .answered(_, let wished?) = outcome else { return min(wait, limits.longestRetry) }
    return min(max(wait, wished), limits.longestRetry)
  }
}
