// A call as it is kept beyond the process, and what becomes of it after a restart: a group goes on, if its people come
// back in time; any other call is over.

import Basics
import RoostProtocol

/// A running call as it is kept.
public struct KeptCall: Codable, Hashable, Sendable {
  /// What is not seen on the wire of a member.
  struct Member: Codable, Hashable, Sendable {
    var user: String
    /// The devices that rang are those of a process that is no more.
    var ring: RingTerms?
    // The member's `MemberTerms`.
    private(set) var answeredAt: Int64?
    private(set) var isOriginal: Bool
    private(set) var actorName: String?
    private(set) var isBlocking: Bool?
    private(set) var isPutOut: Bool?

    init(_ member: CallMember) {
      (user, ring) = (member.user, member.ring?.terms)
      answeredAt = member.terms.answeredAt
      isOriginal = member.terms.isOriginal
      actorName = member.terms.actorName
      isBlocking = member.terms.isBlocking ? true : nil
      isPutOut = member.terms.isPutOut ? true : nil
    }

    /// Whether nobody was woken for their ring.
    var isSpared: Bool { isBlocking ?? false }

    func terms(at now: Now) -> MemberTerms {
      MemberTerms(
        answered: answeredAt.map { now.back(to: $0) }, isOriginal: isOriginal, actorName: actorName,
        isBlocking: isSpared, isPutOut: isPutOut ?? false)
    }
  }

  /// The call as it stands.
  public var call: Call
  var answeredAt: Int64?
  var clientCallId: String?
  var glareName: ClientCall?
  var members: [Member]
  /// Those of more who called back; earlier versions know of one.
  private(set) var glareNames: [ClientCall]?

  init(_ call: LiveCall, wire: Call) {
    self.call = wire
    (answeredAt, clientCallId) = (call.answeredAt, call.origin.clientCallId)
    (glareName, glareNames) = call.glareNames.kept
    members = call.members.map { Member($0) }
  }

  /// All names in it: of users, and of the call as those call it who started it.
  public var names: [String] { call.names + ClientCall.said(clientCallId, glares) + members.map(\.user) }

  fileprivate var glares: [ClientCall] { [ClientCall](kept: glareName, glareNames) }

  /// Whose phones have been woken for a ring that was on, and when it ends.
  public var pushedRings: [(user: String, expiresAt: Int64)] {
    members.filter { !$0.isSpared }.compactMap { member in
      member.ring.flatMap { $0.isPushed ? (member.user, $0.expiresAt) : nil }
    }
  }
}

/// An ended call as it is kept.
public struct KeptTombstone: Codable, Hashable, Sendable {
  /// The call, with its reason and its end.
  public var call: Call
  /// The caller's own name for it.
  public var clientCallId: String?
  /// That of the first who called back while it rang …
  var glareName: ClientCall?
  /// … and those of the others.
  private(set) var glareNames: [ClientCall]?

  /// An ended call.
  public init(call: Call, clientCallId: String?) {
    self.call = call
    self.clientCallId = clientCallId
  }

  init(_ call: LiveCall, final: Call) {
    (self.call, clientCallId) = (final, call.origin.clientCallId)
    (glareName, glareNames) = call.glareNames.kept
  }

  /// All names in it, as of `KeptCall`.
  public var names: [String] { call.names + ClientCall.said(clientCallId, glares) }

  private var glares: [ClientCall] { [ClientCall](kept: glareName, glareNames) }

  /// What those who started it called it.
  var startedAs: [ClientCall] {
    ClientCall.all(by: call.caller, clientCallId, glares)
  }
}

/// A record as it is kept.
public struct KeptRecord: Codable, Hashable, Sendable {
  /// The record and whose it is.
  public var entry: UserRecord
  /// A missed call that its user has not looked at.
  public var isUnseen: Bool

  /// A record.
  public init(entry: UserRecord, isUnseen: Bool) {
    self.entry = entry
    self.isUnseen = isUnseen
  }
}

/// What an earlier process left of its calls.
public struct KeptCalls: Sendable {
  /// Calls that ran when it ended.
  public var running: [KeptCall] = []
  /// Ended calls, in the order of their end.
  public var tombstones: [KeptTombstone] = []
  /// Records, oldest first.
  public var records: [KeptRecord] = []

  /// Nothing.
  public init() {}
}

extension Switchboard {
  /// Takes what an earlier process left. Before anybody says hello.
  public mutating func restore(_ kept: KeptCalls, at now: Now) -> [CallEffect] {
    move(now) { tables, step in
      for tombstone in kept.tombstones {
        tables.calls.claim(tombstone.startedAs, for: CallID(tombstone.call.callId))
        tables.bury(tombstone.call, names: tombstone.startedAs, at: now)
      }
      for record in kept.records { tables.archive.keep(record.entry, isUnseen: record.isUnseen) }
      for call in kept.running { tables.bringBack(call, &step) }
    }
  }
}

extension Tables {
  fileprivate mutating func bringBack(_ kept: KeptCall, _ step: inout Step) {
    let call = LiveCall(kept, number: calls.makeNumber(), at: step.now)
    let id = call.id
    calls.add(call)
    for member in call.joined { legs.set(member.user, id, &step) }
    guard call.outlivesProcess else { return CallEnd(id, .stopped).commit(&self, &step) }
    for member in call.joined { calls.set(.absence(id, member.user), at: step.now.instant + rules.resumeGrace) }
    for member in call.ringing { Callee(member.user, in: id).stopWithProcess(&self, &step) }
    _ = calls.bump(id, &step)
  }
}

extension LiveCall {
  /// Whether people find it again after a restart, where calls are kept: a group in which somebody is.
  var outlivesProcess: Bool { isGroup && isAnswered && !joined.isEmpty }

  fileprivate init(_ kept: KeptCall, number: UInt64, at now: Now) {
    let call = kept.call
    let origin = CallOrigin(
      id: CallID(call.callId), number: number, caller: call.caller, extra: call.extra,
      clientCallId: kept.clientCallId, createdAt: call.createdAt)
    self.init(
      origin, kind: call.kind, media: call.media,
      policies: CallPolicies(answer: call.answerPolicy, reject: call.rejectPolicy, busy: call.busyPolicy),
      state: call.state)
    (rev, startedAt) = (call.rev, call.startedAt)
    for name in kept.glares { _ = addName(name) }
    answered = kept.answeredAt.map { now.back(to: $0) }
    for member in call.members {
      put(CallMember(member, kept.members.first { $0.user == member.user }, at: now))
    }
  }
}

extension Call {
  /// Its users' names, and its room's.
  fileprivate var names: [String] {
    [room, caller] + members.map(\.user) + (members.map(\.invitedBy) + [by, mediaRequest?.by]).compactMap(\.self)
  }
}

extension ClientCall {
  fileprivate static func said(_ clientCallId: String?, _ glares: [Self]) -> [String] {
    [clientCallId].compactMap(\.self) + glares.flatMap { [$0.user, $0.clientCallId] }
  }
}

extension [ClientCall] {
  /// As they are kept: the first, and the rest where there are more.
  fileprivate var kept: (ClientCall?, [ClientCall]?) { (first, count > 1 ? Array(dropFirst()) : nil) }

  fileprivate init(kept first: ClientCall?, _ others: [ClientCall]?) {
    self = [first].compactMap(\.self) + (others ?? [])
  }
}

extension Now {
  /// Both clocks at a time that an earlier process has noted, whose monotonic clock is no more. Not later than now, wherever the
  /// wall clock was set meanwhile.
  fileprivate func back(to wallMilliseconds: Int64) -> Now {
    let ago = max(self.wallMilliseconds.subtractingReportingOverflow(wallMilliseconds).partialValue, 0)
    return Now(
      instant: instant - .milliseconds(Int(clamping: min(ago, Int64(Int32.max) * 1000))),
      wallMilliseconds: wallMilliseconds)
  }
}

extension CallMember {
  fileprivate init(_ member: Member, _ kept: KeptCall.Member?, at now: Now) {
    self.init(user: member.user, displayName: member.displayName, state: member.state)
    // Who was in it is away until they come back.
    if member.state == .reconnecting { state = .joined }
    (reason, media, invitedBy) = (member.reason, member.media, member.invitedBy)
    (joinedAt, leftAt, isLost) = (member.joinedAt, member.leftAt, isJoined)
    isHost = member.role == .host
    guard let kept else { return }
    terms = kept.terms(at: now)
    ring = kept.ring.map { Ring(terms: $0) }
  }
}
