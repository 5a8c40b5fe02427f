// A call that is not over: its members and what holds for all of them.

import Basics
import RoostProtocol

/// A call that is not over.
struct LiveCall: Sendable {
  let id: CallID
  /// Older calls are smaller.
  let number: UInt64
  var kind: CallKind
  var media: MediaClass
  var answerPolicy: AnswerPolicy
  var rejectPolicy: RejectPolicy
  let busyPolicy: BusyPolicy
  var state: CallState
  /// Grows by one with each change.
  var rev = 1
  let caller: String
  let extra: JSONValue?
  let clientCallId: String?
  /// What the other one called it who called back at the same time.
  var glareName: Switchboard.ClientCall?
  let createdAt: Int64
  var startedAt: Int64?
  /// When somebody answered first, on both clocks: the wall clock says when, the other one how long ago.
  var answered: Now?
  /// Who left a call between two while an invitee rang, and why: what the call ends with if that ring fails.
  var departure: Departure?
  /// A change of media that waits for the other's answer.
  var mediaRequest: MediaRequest?
  /// In the order of coming.
  private(set) var order: [String] = []
  private var byUser: [String: CallMember] = [:]

  init(
    id: CallID, number: UInt64, kind: CallKind, media: MediaClass, policies: CallPolicies, state: CallState,
    caller: String, extra: JSONValue?, clientCallId: String?, createdAt: Int64
  ) {
    (self.id, self.number, self.kind, self.media, self.state) = (id, number, kind, media, state)
    (answerPolicy, rejectPolicy, busyPolicy) = (policies.answer, policies.reject, policies.busy)
    (self.caller, self.extra) = (caller, extra)
    (self.clientCallId, self.createdAt) = (clientCallId, createdAt)
  }

  /// What those who started it called it.
  var names: [Switchboard.ClientCall] { Switchboard.ClientCall.all(by: caller, clientCallId, glareName) }

  /// A member by his name; setting one who is new puts him last.
  subscript(user: String) -> CallMember? {
    get { byUser[user] }
    set {
      if byUser[user] == nil, newValue != nil { order.append(user) }
      byUser[user] = newValue
    }
  }

  /// Everybody it ever had, in the order of coming.
  var members: [CallMember] { order.compactMap { byUser[$0] } }
  var joined: [CallMember] { members.filter(\.isJoined) }
  var ringing: [CallMember] { members.filter(\.isRinging) }
  var gone: [CallMember] { members.filter(\.isGone) }
  /// How many seats are taken or held.
  var held: Int { byUser.values.count { $0.isJoined || $0.isRinging } }
  var count: Int { byUser.count }
  /// When somebody answered first.
  var answeredAt: Int64? { answered?.wallMilliseconds }
  /// Whether anybody has ever answered.
  var isAnswered: Bool { answered != nil }
  /// Who answered first; the caller is in it without an answer.
  var answerer: String? {
    members.filter { $0.user != caller && $0.terms.answered != nil }
      .min { ($0.terms.answered?.instant ?? .distantFuture) < ($1.terms.answered?.instant ?? .distantFuture) }?.user
  }
  var isGroup: Bool { kind == .group }
  /// Whether a third one makes it a group: where several are called that is so once one of them has answered.
  var isBetweenTwo: Bool { kind == .oneToOne || kind == .oneToMany && isAnswered }
}

/// Who left and why.
struct Departure: Sendable {
  var reason: Reason
  var by: String
  var text: String?
}

/// The three policies of a call.
struct CallPolicies: Sendable {
  var answer: AnswerPolicy
  var reject: RejectPolicy
  var busy: BusyPolicy

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

  /// Those of a group.
  init(busy: BusyPolicy) { (answer, reject, self.busy) = (.everyone, .ignore, busy) }
}
