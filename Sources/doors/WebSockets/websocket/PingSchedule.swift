// When sockets are pinged, and when a silent one is given up. Pure: a heap of moments, so that nothing is ever looked for among all.
import Basics

/// How often a socket is pinged, and for how long nothing may come from it.
struct PingPace: Equatable {
  var interval: TimeDelta
  var silence: TimeDelta
  /// For how long it may owe the answer to a ping before somebody is told.
  var answer = TimeDelta.seconds(5)

  /// Sockets of an interval share moments so far apart. Less, and more wake-ups; more, and more pings at once.
  static let moment = TimeDelta.milliseconds(50)
  /// Moments of an interval at most: an interval may be endless.
  static let mostMoments: Int64 = 4096

  /// When the next ping of socket `number` is due: at the last of its moments until `interval` after `now`, so never later, and
  /// earlier the first time and after a late look. Sockets of numbers in a row have moments in a row: the pings are spread evenly.
  func ping(after now: Instant, number: UInt64) -> Instant {
    let interval = max(interval.nanoseconds, 1)
    let moments = min(max(interval / Self.moment.nanoseconds, 1), Self.mostMoments)
    let phase = Int64(number % UInt64(moments)) * (interval / moments)
    let latest = (now + self.interval).nanoseconds
    return max(now, Instant(nanoseconds: latest - (latest - phase) % interval))
  }
}

/// What one socket's pings go by.
struct PingState {
  var pace: PingPace
  /// When something came last, or the pace changed.
  private(set) var lastReceived: Instant
  private(set) var nextPing: Instant
  /// When it is looked at next; another entry of the schedule is an old one.
  fileprivate var nextLook = Instant.distantFuture
  /// What the thread had missed when something came last.
  private var missedBefore = TimeDelta.zero
  /// When the first ping went out since something came, and what the thread had missed by then.
  private var owed: (since: Instant, missed: TimeDelta)?
  /// Whether it was said that it owes an answer for too long.
  private(set) var isOverdue = false

  init(pace: PingPace, now: Instant) {
    self.pace = pace
    (lastReceived, nextPing) = (now, now)
  }

  fileprivate func end(_ missed: TimeDelta) -> Instant { lastReceived + pace.silence + (missed - missedBefore) }

  /// When it owes an answer for too long; `.distantFuture` where that was said, or it owes none.
  fileprivate func overdueAt(_ missed: TimeDelta) -> Instant {
    guard let owed, !isOverdue else { return .distantFuture }
    return owed.since + pace.answer + (missed - owed.missed)
  }

  fileprivate mutating func heard(at now: Instant, _ missed: TimeDelta) {
    (lastReceived, missedBefore) = (now, missed)
    (owed, isOverdue) = (nil, false)
  }

  fileprivate mutating func owes(since now: Instant, _ missed: TimeDelta) { owed = owed ?? (now, missed) }

  fileprivate mutating func noteOverdue() { isOverdue = true }

  fileprivate mutating func pinged(at now: Instant, number: UInt64) { nextPing = pace.ping(after: now, number: number) }
}

/// The moments of all sockets of a thread. Each has one entry that counts; what it costs to keep is the depth of the heap.
struct PingSchedule {
  /// What is to be done about a socket that is due.
  enum Due: Equatable {
    case nothing
    case ping
    /// It owes the answer to a ping for too long. Said once, until it is heard.
    case overdue
    /// Nothing has come for so long.
    case silent(TimeDelta)
  }

  /// Who looks by so much later than it meant to has been kept from it.
  static let stall = TimeDelta.milliseconds(20)

  private var queue = DeadlineQueue<WebSocketID>()
  /// For how long the thread could not look, in all: nothing could be seen to come then. A stalled machine is no silent peer.
  private var missed = TimeDelta.zero

  /// When somebody is to be looked at; `.distantFuture` for nobody.
  var next: Instant { queue.next }
  /// Entries, old ones included.
  var count: Int { queue.count }

  /// Something has come, or is taken to have.
  func heard(_ state: inout PingState, at now: Instant) { state.heard(at: now, missed) }

  /// It is pinged at its pace from now on, as if something had come now.
  mutating func begin(_ state: inout PingState, _ id: WebSocketID, _ pace: PingPace, at now: Instant) {
    state.pace = pace
    state.heard(at: now, missed)
    state.pinged(at: now, number: id.rawValue)
    plan(&state, id)
  }

  /// A look that was meant for `due` comes at `now`.
  mutating func woke(due: Instant, at now: Instant) { if now - due > Self.stall { missed = missed + (now - due) } }

  /// Who is due at `now`, and at which moment; nil when nobody is any more. To be given to `look`.
  mutating func nextDue(at now: Instant) -> (id: WebSocketID, moment: Instant)? {
    guard let first = queue.first, let id = queue.pop(at: now) else { return nil }
    return (id, first.deadline)
  }

  /// What is to be done about a socket of which `nextDue` has told.
  mutating func look(_ state: inout PingState, _ id: WebSocketID, _ moment: Instant, at now: Instant) -> Due {
    guard moment == state.nextLook else { return .nothing }
    if now >= state.end(missed) { return .silent(now - state.lastReceived) }
    // Where a ping is due as well, it is looked at again at once.
    let isOverdue = now >= state.overdueAt(missed)
    let isDue = !isOverdue && now >= state.nextPing
    if isOverdue { state.noteOverdue() }
    if isDue {
      state.owes(since: now, missed)
      state.pinged(at: now, number: id.rawValue)
    }
    state.nextLook = .distantFuture
    plan(&state, id)
    return isOverdue ? .overdue : isDue ? .ping : .nothing
  }

  /// Where it is to be looked at sooner than it would be, it gets another entry.
  private mutating func plan(_ state: inout PingState, _ id: WebSocketID) {
    let next = min(state.nextPing, min(state.end(missed), state.overdueAt(missed)))
    guard next < state.nextLook else { return }
    state.nextLook = next
    queue.push(next, id)
  }
}
