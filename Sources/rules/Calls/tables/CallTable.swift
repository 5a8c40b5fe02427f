// Running calls and what belongs to them: who is or was a member of which, what callers named them, and their timers.

import Basics
import RoostProtocol

/// What a deadline is about.
enum CallTimer: Hashable, Sendable {
  case ring(CallID, String)
  case deliver(CallID, String)
  case connect(CallID, String)
  case absence(CallID, String)
  case callerGrace(CallID)
  case mediaChange(CallID)
  case aloneWarning(CallID)
  case alone(CallID)
}

/// The running calls. A member has a `ring` timer exactly while they are rung, a user's memberships are the running calls
/// that they are or were a member of, and no timer outlives its call.
struct CallTable: Equatable, Sendable {
  private(set) var running: [CallID: LiveCall] = [:]
  private(set) var memberships: [String: Set<CallID>] = [:]
  private(set) var timers = Deadlines<CallTimer>()
  /// Ended calls keep their names for as long as the archive remembers them.
  private(set) var names: [ClientCall: CallID] = [:]
  private var lastNumber: UInt64 = 0

  // MARK: - Look

  /// A running call.
  subscript(id: CallID) -> LiveCall? { running[id] }

  /// How many run.
  var count: Int { running.count }

  /// All of them, oldest first.
  var inOrder: [LiveCall] { running.values.sorted { $0.number < $1.number } }

  /// Those that a user is or was a member of, oldest first.
  func all(of user: String) -> [LiveCall] {
    (memberships[user] ?? []).compactMap { running[$0] }.sorted { $0.number < $1.number }
  }

  /// Those that ring for a user, oldest first; not those of callers whom they have blocked.
  func ringing(_ user: String) -> [LiveCall] {
    all(of: user).filter { call in call[user].map { $0.isRinging && !$0.isHidden } ?? false }
  }

  /// How many ring for a user whom they hear nothing of.
  func hiddenRings(_ user: String) -> Int {
    all(of: user).count { call in call[user].map { $0.isRinging && $0.isHidden } ?? false }
  }

  /// The call of this name, running or over.
  func named(_ name: ClientCall) -> CallID? { names[name] }

  // MARK: - Come and go

  /// A number for the next call.
  mutating func makeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Adds a call with its members and its names.
  mutating func add(_ call: LiveCall) {
    running[call.id] = call
    for user in call.order { memberships[user, default: []].insert(call.id) }
    claim(call.names, for: call.id)
  }

  /// Takes a call out, with its memberships and timers. Its names stay.
  mutating func remove(_ id: CallID) {
    guard let call = running.removeValue(forKey: id) else { return }
    for user in call.order {
      memberships[user]?.remove(id)
      if memberships[user]?.isEmpty == true { memberships[user] = nil }
      for timer in [CallTimer.ring(id, user), .deliver(id, user), .connect(id, user), .absence(id, user)] {
        timers.cancel(timer)
      }
    }
    for timer in [CallTimer.callerGrace(id), .mediaChange(id), .alone(id), .aloneWarning(id)] { timers.cancel(timer) }
  }

  /// Gives names to a call, which may be over. A name is that of its latest call.
  mutating func claim(_ names: [ClientCall], for id: CallID) { for name in names { self.names[name] = id } }

  /// Gives a running call the name of one who has called back.
  mutating func claim(_ name: ClientCall, ofGlareIn id: CallID) {
    var oldest: ClientCall?
    update(id) { oldest = $0.addName(name) }
    if let oldest { release([oldest], of: id) }
    claim([name], for: id)
  }

  /// Frees the names of a forgotten call, but for those that a later one has.
  mutating func release(_ names: [ClientCall], of id: CallID) {
    for name in names where self.names[name] == id { self.names[name] = nil }
  }

  // MARK: - Change

  /// Changes what holds for a whole call.
  mutating func update(_ id: CallID, _ change: (inout LiveCall) -> Void) { running[id]?.apply(change) }

  /// Changes one member.
  mutating func update(_ user: String, in id: CallID, _ change: (inout CallMember) -> Void) {
    running[id]?.update(user, change)
  }

  /// Puts a member into a call, or in the place of what was known of them there.
  mutating func enrol(_ member: CallMember, in id: CallID) {
    guard running[id] != nil else { return }
    running[id]?.put(member)
    memberships[member.user, default: []].insert(id)
  }

  /// Counts a change of a call.
  /// - Returns: the new `rev`.
  mutating func bump(_ id: CallID, _ step: inout Step) -> Int {
    running[id]?.rev += 1
    step.touch(id)
    return running[id]?.rev ?? 0
  }

  // MARK: - Rings and other timers

  /// Makes a member ring until `end`.
  mutating func beginRing(_ user: String, in id: CallID, _ terms: RingTerms, until end: Instant) {
    guard running[id]?[user] != nil else { return }
    update(user, in: id) { ($0.ring, $0.state) = (Ring(terms: terms), .inviting) }
    timers.set(.ring(id, user), at: end)
  }

  /// Ends a member's ring; telling of it is the caller's matter.
  /// - Returns: the ring as it was.
  @discardableResult
  mutating func stopRing(_ user: String, in id: CallID, _ state: MemberState, _ reason: Reason?) -> Ring? {
    let ring = running[id]?[user]?.ring
    update(user, in: id) { ($0.ring, $0.state, $0.reason) = (nil, state, reason) }
    timers.cancel(.ring(id, user))
    timers.cancel(.deliver(id, user))
    return ring
  }

  /// Sets or moves a timer.
  mutating func set(_ timer: CallTimer, at instant: Instant) { timers.set(timer, at: instant) }

  /// Cancels a timer.
  mutating func cancel(_ timer: CallTimer) { timers.cancel(timer) }

  /// Takes out the earliest timer that is due.
  mutating func popDue(at now: Instant) -> CallTimer? { timers.popDue(at: now) }
}
