// What a call was to each of its users, and what the missed ones hear.

import Basics
import RoostProtocol

extension Switchboard {
  /// One who was rung and had no chance to answer, or did not take it. He hears of it unless somebody answered or rejected
  /// in his stead.
  mutating func miss(_ user: String, in id: CallID, _ why: Reason, _ ring: Ring? = nil) {
    guard let call = calls[id] else { return }
    keepRecord(of: user, in: id, .missed, why, ring)
    if why != .answeredByOther { tellMissed(user, wire(call, for: user), why, ring) }
  }

  mutating func tellMissed(_ user: String, _ call: Call, _ why: Reason, _ ring: Ring?) {
    tell(devicesByUser[user] ?? [], .callMissed(CallMissed(callId: call.callId, why: why, call: call)))
    if !hears(user, ring) { push(.missed, to: user, call, ring, why) }
  }

  /// Whether an open socket is enough to tell a user: not where his phones had to be woken and no device that rings has
  /// said since that it does.
  private func hears(_ user: String, _ ring: Ring?) -> Bool {
    guard isConnected(user) else { return false }
    guard let ring, ring.terms.isPushed else { return true }
    return isHeard(ring)
  }

  // MARK: - Records

  /// The record of one whose part is over while the call goes on. A ring leaves that of one who has been in it as it is.
  mutating func keepRecord(of user: String, in id: CallID, _ result: CallResult, _ why: Reason?, _ ring: Ring?) {
    guard let call = calls[id], let reason = call[user]?.reason ?? why else { return }
    if result != .answered, call[user]?.hasBeenIn == true { return }
    keep([record(of: user, in: call, result, result == .missed ? why : nil, ring, reason)])
  }

  /// The one place where records are made to last.
  mutating func keep(_ records: [UserRecord]) {
    guard !records.isEmpty else { return }
    for record in records { archive.keep(record) }
    effects.append(.records(records))
  }

  /// The record of one who was in the call when it ended.
  func legRecord(of user: String, in call: LiveCall, _ reason: Reason) -> UserRecord {
    let (result, why) = legResult(of: user, in: call, reason)
    return record(of: user, in: call, result, why, nil, reason)
  }

  private func legResult(of user: String, in call: LiveCall, _ reason: Reason) -> (CallResult, Reason?) {
    let wasActive = call.startedAt != nil && call.isAnswered
    if wasActive { return (.answered, nil) }
    switch reason {
    case .rejected: return (.declined, nil)
    case .cancelled, .callerLost: return (.missed, .cancelled)
    case .busy, .noAnswer: return (.missed, reason)
    case .hangup where call.isAnswered: return (.answered, nil)
    default: return (.failed, reason)
    }
  }

  func record(
    of user: String, in call: LiveCall, _ result: CallResult, _ why: Reason?, _ ring: Ring?, _ reason: Reason
  ) -> UserRecord {
    let member = call[user]
    let isCaller = user == call.caller
    let answered = result == .answered ? (isCaller ? call.answered : member?.terms.answered) : nil
    let record = CallRecord(
      callId: call.id.text, direction: isCaller ? .outgoing : .incoming, result: result, why: why,
      elsewhere: false, startedAt: ring?.terms.startedAt ?? call.createdAt,
      answeredAt: answered?.wallMilliseconds, endedAt: now.wallMilliseconds,
      durationMs: answered.map { milliseconds(since: $0) } ?? 0,
      peers: call.order.filter { $0 != user }, kind: call.kind, media: call.media, inviter: member?.invitedBy,
      reason: reason)
    return UserRecord(user: user, device: member?.terms.actorName, record: record)
  }

  /// How long ago that was, whatever became of the wall clock since.
  func milliseconds(since then: Now) -> Int64 { max((now.instant - then.instant).milliseconds, 0) }
}
