// A call that is not over: its members, what holds for all of them, and what follows from that.

import Basics
import RoostProtocol

/// A call that is not over.
struct LiveCall: Equatable, Sendable {
  let origin: CallOrigin
  private(set) var kind: CallKind
  private(set) var media: MediaClass
  private(set) var policies: CallPolicies
  private(set) var state: CallState
  /// Grows by one with each change.
  var rev = 1
  /// What those called it who called back while it rang for them, oldest first.
  private(set) var glareNames: [ClientCall] = []
  /// When people began to talk, milliseconds since 1970.
  var startedAt: Int64?
  /// When somebody answered first, on both clocks: the wall clock says when, the other one how long ago.
  var answered: Now?
  /// Who left a call between two while an invitee rang, and why: what the call ends with if that ring fails.
  var departure: Departure?
  /// A change of media that waits for the other's answer.
  var mediaRequest: MediaRequest?
  /// Whom it is meant for, while its caller has yet to pick up.
  private(set) var arrangement: Arrangement?
  /// In the order of coming.
  private(set) var order: [String] = []
  private var byUser: [String: CallMember] = [:]

  init(
    _ origin: CallOrigin, kind: CallKind, media: MediaClass, policies: CallPolicies, state: CallState,
    _ arrangement: Arrangement? = nil
  ) {
    (self.origin, self.kind, self.media, self.policies, self.state) = (origin, kind, media, policies, state)
    self.arrangement = arrangement
  }

  var id: CallID { origin.id }
  var number: UInt64 { origin.number }
  var caller: String { origin.caller }
  var createdAt: Int64 { origin.createdAt }

  /// What those who started it called it.
  var names: [ClientCall] { ClientCall.all(by: caller, origin.clientCallId, glareNames) }

  // MARK: - Members

  /// A member by their user.
  subscript(user: String) -> CallMember? { byUser[user] }

  /// Everybody it ever had, in the order of coming.
  var members: [CallMember] { members { _ in true } }
  var joined: [CallMember] { members { $0.isJoined } }
  var ringing: [CallMember] { members { $0.isRinging } }
  var gone: [CallMember] { members { $0.isGone } }

  private func members(where isWanted: (CallMember) -> Bool) -> [CallMember] {
    var members: [CallMember] = []
    members.reserveCapacity(order.count)
    for user in order { if let member = byUser[user], isWanted(member) { members.append(member) } }
    return members
  }

  /// How many seats are taken or held.
  var held: Int { byUser.values.count { $0.isJoined || $0.isRinging } }
  var count: Int { byUser.count }
  /// Whether somebody has been in it and left: they miss nothing of it any more.
  func hasHad(_ user: String) -> Bool { byUser[user]?.hasBeenIn ?? false }

  /// Puts a member in; a new one comes last. Once the call is in the table, `CallTable.enrol` is the way.
  mutating func put(_ member: CallMember) {
    if byUser[member.user] == nil { order.append(member.user) }
    byUser[member.user] = member
  }

  /// Changes a member in place.
  mutating func update(_ user: String, _ change: (inout CallMember) -> Void) { byUser[user]?.apply(change) }

  /// - Throws: 3013 when there are not so many seats more.
  func checkSeats(_ rules: CallRules, more: Int, media: MediaClass? = nil) throws(ErrorObject) {
    let limit = rules.seats(media ?? self.media)
    guard held + more > limit else { return }
    throw ErrorObject(.callFull) { ($0.limit, $0.joined, $0.ringing) = (limit, joined.count, ringing.count) }
  }

  // MARK: - How it stands

  /// Whether it is a call of this other user's that rings `user`: they are in it, and have started it or asked the user into it, or it is
  /// meant for them once the user has picked up.
  func rings(_ user: String, for other: String) -> Bool {
    guard let ring = byUser[user]?.ring else { return false }
    if let arrangement { return arrangement.callees.contains(other) }
    guard byUser[other]?.isJoined == true else { return false }
    return caller == other || ring.terms.from == other
  }

  /// When somebody answered first, milliseconds since 1970.
  var answeredAt: Int64? { answered?.wallMilliseconds }
  /// Whether anybody has ever answered.
  var isAnswered: Bool { answered != nil }
  /// Who answered first; the caller is in it without an answer.
  var answerer: String? {
    members.filter { $0.user != caller && $0.terms.answered != nil }
      .min { ($0.terms.answered?.instant ?? .distantFuture) < ($1.terms.answered?.instant ?? .distantFuture) }?.user
  }
  var isGroup: Bool { kind == .group }
  /// Whether a third member makes it a group: where several are called that is so once one of them has answered.
  var isBetweenTwo: Bool { kind == .oneToOne || kind == .oneToMany && isAnswered }
  /// Whether one person is alone in a group, and nobody rings who might come.
  var isLonely: Bool { isGroup && isAnswered && joined.count == 1 && ringing.isEmpty }

  /// Why a call ends whose last callee is gone before anyone answered, and by whose doing.
  var unansweredEnd: (reason: Reason, by: String?) {
    let callees = members.filter { $0.user != caller || arrangement != nil }
    let outcomes: [(MemberState, Reason)] = [
      (.declined, .rejected), (.busy, .busy), (.noAnswer, .noAnswer), (.cancelled, .cancelled),
    ]
    let reason = outcomes.first { outcome in callees.contains { $0.state == outcome.0 } }?.1 ?? .unreachable
    return (reason, reason == .rejected ? callees.last { $0.state == .declined }?.user : nil)
  }

  // MARK: - Change

  /// Changes it in place.
  mutating func apply(_ change: (inout Self) -> Void) { change(&self) }

  /// Takes a name of one who has called back. Beyond `ClientCall.mostGlares` the oldest goes, and is returned.
  mutating func addName(_ name: ClientCall) -> ClientCall? {
    glareNames.append(name)
    return glareNames.count > ClientCall.mostGlares ? glareNames.removeFirst() : nil
  }

  /// Its caller has picked up, and it goes on as if they had started it now.
  mutating func pickUp(at now: Now) {
    arrangement = nil
    guard isGroup else { return }
    (state, startedAt) = (.active, now.wallMilliseconds)
    update(caller) { $0.isHost = true }
  }

  /// Somebody has answered for the first time.
  mutating func answer(at now: Now) {
    answered = now
    if state == .ringing { state = .connecting }
  }

  /// People talk from now on: members with media are joined.
  mutating func activate(at now: Now) {
    (state, startedAt) = (.active, now.wallMilliseconds)
    for member in joined where member.isMediaUp { update(member.user) { $0.state = .joined } }
  }

  /// A third member joins two: from here on it is a group, with the policies of one.
  mutating func becomeGroup() {
    kind = .group
    policies = CallPolicies(answer: .everyone, reject: .ignore, busy: .ring)
    departure = nil
  }

  /// Carries something else from now on, and so does everybody who is in it.
  mutating func carry(_ media: MediaClass) {
    self.media = media
    for member in joined { update(member.user) { $0.media = media } }
  }

  /// Is over.
  mutating func end() { (state, mediaRequest) = (.ended, nil) }
}

/// What never changes of a call.
struct CallOrigin: Equatable, Sendable {
  let id: CallID
  /// Older calls are smaller.
  let number: UInt64
  let caller: String
  /// What the caller sent along; opaque.
  let extra: RawJSON?
  let clientCallId: String?
  /// Milliseconds since 1970.
  let createdAt: Int64
}

/// Whom a call is meant for that nobody of its users has started.
struct Arrangement: Equatable, Sendable {
  /// What was asked for.
  let params: CallStartParams
  /// Who is rung once the caller has picked up.
  let callees: [String]
  /// Those among them whom others ring too often.
  let tooOften: Set<String>
}

/// Who left and why.
struct Departure: Equatable, Sendable {
  var reason: Reason
  var by: String
  var text: String?
}

/// The three policies of a call.
struct CallPolicies: Equatable, Sendable {
  var answer: AnswerPolicy
  var reject: RejectPolicy
  let busy: BusyPolicy

  /// What the client asks for, or else what belongs to the kind.
  /// - Throws: −32602 for an answer policy or a group's reject policy that does not fit the kind.
  init(_ params: CallStartParams) throws(ErrorObject) {
    let isGroup = params.kind == .group
    answer = isGroup ? .everyone : .firstWins
    reject = params.rejectPolicy ?? (isGroup ? .ignore : .anyEnds)
    busy = params.busyPolicy ?? (isGroup ? .ring : .reject)
    if let asked = params.answerPolicy, asked != answer {
      throw .parameter("answerPolicy", expected: "\(answer.rawValue) for this kind")
    }
    if isGroup, reject != .ignore { throw .parameter("rejectPolicy", expected: "ignore for a group") }
  }

  /// Those of a call that was kept.
  init(answer: AnswerPolicy, reject: RejectPolicy, busy: BusyPolicy) {
    (self.answer, self.reject, self.busy) = (answer, reject, busy)
  }
}
