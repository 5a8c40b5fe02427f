// What a call was to each of its users, and what the missed ones hear.

import Basics
import RoostProtocol

extension Switchboard {
  /// One who was rung and had no chance to answer, or did not take it. He hears of it unless somebody answered or rejected
  /// in his stead.
  mutating func miss(_ user: String, in id: CallID, _ why: Reason, _ ring: Ring? = nil) {
    guard let call = calls[id] else { return }
    keepRecord(of: user, in: id, .missed, why, ring)
    if why != .answeredByOther { tellMissed(user, wire(call), why, ring) }
  }

  mutating func tellMissed(_ user: String, _ call: Call, _ why: Reason, _ ring: Ring?) {
    tell(devicesByUser[user] ?? [], .callMissed(CallMissed(callId: call.callId, why: why, call: call)))
    if rules.hasPush, !isConnected(user) { pushMissed(user, call, why, ring) }
  }

  private mutating func pushMissed(_ user: String, _ call: Call, _ why: Reason, _ ring: Ring?) {
    effects.append(
      .push(
        PushNotice(
          type: .missed, callId: call.callId, to: user, from: ring?.from ?? call.caller, kind: call.kind,
          media: call.media, inProgress: ring?.inProgress ?? false, createdAt: ring?.startedAt ?? call.createdAt,
          expiresAt: ring?.expiresAt ?? now.wallMilliseconds, reason: why, push: ring?.push,
          extra: ring?.extra ?? call.extra)))
  }

  /// Takes back a push for a call that has just ended.
  mutating func cancelPush(_ user: String, in call: LiveCall, _ ring: Ring?, _ reason: Reason) {
    guard rules.hasPush, let ring, ring.isPushed else { return }
    effects.append(
      .push(
        PushNotice(
          type: .cancel, callId: call.id.text, to: user, from: ring.from, kind: call.kind, media: call.media,
          inProgress: ring.inProgress, createdAt: ring.startedAt, expiresAt: ring.expiresAt, reason: reason,
          push: call.push ?? ring.push, extra: ring.extra ?? call.extra)))
  }

  // MARK: - Records

  /// The record of one whose part is over while the call goes on.
  mutating func keepRecord(of user: String, in id: CallID, _ result: CallResult, _ why: Reason?, _ ring: Ring?) {
    guard let call = calls[id], let reason = call[user]?.reason ?? why else { return }
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
    let answeredAt = result == .answered ? (isCaller ? call.answeredAt : member?.answeredAt) : nil
    let record = CallRecord(
      callId: call.id.text, direction: isCaller ? .outgoing : .incoming, result: result, why: why,
      elsewhere: false, startedAt: ring?.startedAt ?? call.createdAt, answeredAt: answeredAt,
      endedAt: now.wallMilliseconds, durationMs: answeredAt.map { now.wallMilliseconds - $0 } ?? 0,
      peers: call.order.filter { $0 != user }, kind: call.kind, media: call.media, inviter: member?.invitedBy,
      reason: reason)
    return UserRecord(user: user, device: member?.actorName, record: record)
  }
}
