// All calls and who is in them: the rules of docs/calls.md, pure. Requests, devices that come and go, media that comes up
// and time go in; effects come out. Each is one step that nothing can come between, so the first command wins.
//
//   request ──▶ Start · Answering · Leaving · Inviting · MediaChanges ─┐
//   devices ──▶ Devices ───────────────────────────────────────────────┼─▶ settle ─▶ effects
//   time    ──▶ Timers ────────────────────────────────────────────────┘

import Basics
import RoostProtocol

/// The calls: rules and state, without I/O. It knows nothing of rooms: whoever owns it gives and takes the seats it says.
public struct Switchboard: Sendable {
  /// The rules it was made with.
  public let rules: CallRules

  var calls: [CallID: LiveCall] = [:]
  /// The one call that each busy user has a leg in.
  var legs: [String: CallID] = [:]
  /// Running calls that somebody is or was a member of.
  var memberships: [String: Set<CallID>] = [:]
  var named: [ClientCall: CallID] = [:]
  var devices: [DeviceID: Device] = [:]
  var devicesByUser: [String: [DeviceID]] = [:]
  var archive: CallArchive
  var deadlines = Deadlines<Timer>()
  var isDraining = false
  var lastNumber: UInt64 = 0

  // The step being made.
  var now = Now(instant: .zero, wallMilliseconds: 0)
  var effects: [CallEffect] = []
  /// Who acts, until his reply is out, and what he will hear after it.
  var actor: DeviceID?
  var deferred: [CallEffect] = []
  /// What the request that is being served wants handed on to whoever wakes phones.
  var handOn: HandOn?
  /// Calls that have changed in this step.
  var touched: Set<CallID> = []
  /// Users who have come into a call or out of one in this step.
  var moved: Set<String> = []

  /// What a deadline is about.
  enum Timer: Hashable, Sendable {
    case ring(CallID, String)
    case deliver(CallID, String)
    case connect(CallID, String)
    case absence(CallID, String)
    case callerGrace(CallID)
    case mediaChange(CallID)
    case aloneWarning(CallID)
    case alone(CallID)
  }

  /// A caller's own name for a call.
  struct ClientCall: Codable, Hashable, Sendable {
    var user: String
    var clientCallId: String
  }

  /// No calls and no devices.
  public init(rules: CallRules) {
    self.rules = rules
    archive = CallArchive(rules)
  }

  /// The `push` of a request, and the call that it is about.
  struct HandOn: Sendable {
    var call: CallID
    var push: JSONValue
  }

  // MARK: - Steps

  /// Makes one step. A request that is refused changes nothing.
  mutating func step(
    _ now: Now, actor: DeviceID? = nil, _ body: (inout Switchboard) throws(ErrorObject) -> Void
  ) throws(ErrorObject) -> [CallEffect] {
    (self.now, self.actor) = (now, actor)
    defer {
      (effects, deferred, touched, moved) = ([], [], [], [])
      (self.actor, handOn) = (nil, nil)
    }
    try body(&self)
    settleTouched()
    effects += deferred
    return effects
  }

  /// A step that cannot be refused.
  mutating func move(_ now: Now, _ body: (inout Switchboard) -> Void) -> [CallEffect] {
    (try? step(now) { body(&$0) }) ?? []
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? { deadlines.next }

  /// Carries out what is due.
  public mutating func poll(at now: Now) -> [CallEffect] {
    move(now) { board in
      while let timer = board.deadlines.popDue(at: now.instant) {
        board.expire(timer)
        board.settleTouched()
      }
    }
  }

  /// No new call, and what cannot outlive the process ends now: calls that will not be found again, and every ring.
  public mutating func drain(at now: Now) -> [CallEffect] {
    move(now) { board in
      board.isDraining = true
      for call in board.inOrder {
        guard board.rules.keepsCalls, call.outlivesProcess else {
          board.end(call.id, .stopped)
          continue
        }
        for member in call.ringing { board.stopRingWithProcess(member.user, in: call.id) }
      }
    }
  }

  /// Running calls, oldest first.
  var inOrder: [LiveCall] { calls.values.sorted { $0.number < $1.number } }

  mutating func makeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: - What everybody needs

  /// A call and the member that this device's user is in it.
  struct Place {
    let call: LiveCall
    let member: CallMember
    let device: DeviceID
    let predecessor: DeviceID?
    var id: CallID { call.id }
    var user: String { member.user }
    /// Whether the leg is that of the session before, and waits for this one.
    var isSuccession: Bool { predecessor != nil && member.device == predecessor }
    /// Whether another device has the user's leg.
    var isElsewhere: Bool { member.isJoined && member.device != nil && member.device != device && !isSuccession }
  }

  /// - Throws: 3001 for a call that is not known, 3002 for one that is over, `stranger` for one that is not the user's.
  func place(_ callId: String, _ device: DeviceID, stranger: ErrorCode = .notInvited) throws(ErrorObject) -> Place {
    let user = try user(of: device)
    let id = CallID(callId)
    if let call = calls[id] {
      guard let member = call[user] else { throw ErrorObject(stranger) }
      return Place(call: call, member: member, device: device, predecessor: devices[device]?.predecessor)
    }
    guard let ended = ended(callId, of: user) else { throw ErrorObject(.callNotFound) }
    throw .callEnded(ended)
  }

  /// An ended call that this user was a member of.
  func ended(_ callId: String, of user: String) -> Call? {
    guard let call = archive.tombstone(CallID(callId), at: now), call.members.contains(where: { $0.user == user })
    else { return nil }
    return call
  }

  func user(of device: DeviceID) throws(ErrorObject) -> String {
    guard let user = devices[device]?.user else { throw ErrorObject(.notLoggedIn) }
    return user
  }

  /// Why a device of this member cannot do what it asks for: what has become of the ring or the leg.
  func outcome(_ place: Place) -> ErrorObject {
    let (member, device) = (place.member, place.device)
    let isElsewhere = member.actor.map { $0 != device } ?? true
    let code: ErrorCode =
      if member.state == .answeredByOther || (member.isJoined && isElsewhere) {
        .answeredElsewhere
      } else if member.state == .declined, isElsewhere {
        .rejectedElsewhere
      } else {
        .invalidState
      }
    return ErrorObject(code) {
      $0.reason = (member.reason?.rawValue ?? member.state.rawValue)
      guard code == .answeredElsewhere else { return }
      // The same user on another device, or whoever was quicker.
      $0.by = member.isJoined ? member.user : place.call.answerer
    }
  }

  /// A user's leg is in this call from now on, or in none. What he is rung for besides follows when the step is settled, so
  /// that one who goes from one call to the next is in a call all the time.
  mutating func setLeg(_ user: String, _ id: CallID?) {
    legs[user] = id
    moved.insert(user)
  }

  /// Counts a change of a call.
  mutating func bump(_ id: CallID) -> Int {
    calls[id]?.rev += 1
    touched.insert(id)
    return calls[id]?.rev ?? 0
  }
}

extension ErrorObject {
  /// 3002 with what became of the call.
  public static func callEnded(_ call: Call) -> ErrorObject {
    ErrorObject(.callEnded) {
      $0.reason = call.reason?.rawValue
      $0.by = call.by
      $0.endedAt = call.endedAt
    }
  }
}
