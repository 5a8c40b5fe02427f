// What a call was to each of its users, and what those hear who missed it.

import Basics
import RoostProtocol

// MARK: - Missed calls

extension Callee {
  /// The user was rung and had no chance to answer, or did not take it. They hear of it unless somebody answered in their
  /// stead, or `isTold` is false: then it stands in their list alone. Who has been in the call has missed nothing.
  func miss(_ why: Reason, _ ring: Ring?, isTold: Bool = true, _ tables: inout Tables, _ step: inout Step) {
    guard !isHidden(tables), let call = tables.calls[id] else { return }
    tables.keepRecord(of: user, in: id, .missed, why, ring, &step)
    guard isTold, why != .answeredByOther, !call.hasHad(user) else { return }
    tellMissed(tables.calls.wire(call, for: user, at: step.now), why, ring, tables, &step)
  }

  /// Tells the user's devices, and the push provider where that is not enough.
  func tellMissed(_ call: Call, _ why: Reason, _ ring: Ring?, _ tables: Tables, _ step: inout Step) {
    step.tell(tables.devices.all(of: user), .callMissed(CallMissed(callId: call.callId, why: why, call: call)))
    if !hears(ring, tables.devices) { push(.missed, call, ring, why, tables.rules, &step) }
  }

  /// Whether an open socket is enough to tell a user: not where phones had to be woken and no device that rings has said
  /// since that it does.
  private func hears(_ ring: Ring?, _ devices: DeviceTable) -> Bool {
    guard devices.isConnected(user) else { return false }
    guard let ring, ring.terms.isPushed else { return true }
    return devices.isHeard(ring)
  }
}

// MARK: - Records

extension Tables {
  /// The record of a user whose part is over while the call goes on. A ring leaves that of one who has been in it as it is.
  mutating func keepRecord(
    of user: String, in id: CallID, _ result: CallResult, _ why: Reason?, _ ring: Ring?, _ step: inout Step
  ) {
    guard let call = calls[id], let reason = call[user]?.reason ?? why else { return }
    if result != .answered, call.hasHad(user) { return }
    keep([call.record(of: user, result, result == .missed ? why : nil, ring, reason, at: step.now)], &step)
  }

  /// The one place where records are made to last.
  mutating func keep(_ records: [UserRecord], _ step: inout Step) {
    guard !records.isEmpty else { return }
    for record in records { archive.keep(record) }
    step.emit(.records(records))
  }
}

extension LiveCall {
  /// The record of a user who was in the call when it ended for this reason.
  func legRecord(of user: String, _ reason: Reason, at now: Now) -> UserRecord {
    let (result, why) = legResult(reason)
    return record(of: user, result, why, nil, reason, at: now)
  }

  private func legResult(_ reason: Reason) -> (CallResult, Reason?) {
    let wasActive = startedAt != nil && isAnswered
    if wasActive { return (.answered, nil) }
    switch reason {
    case .rejected: return (.declined, nil)
    // Who has accepted has missed nothing, and who was accepted was not left without an answer.
    case .cancelled, .callerLost: return isAnswered ? (.failed, reason) : (.missed, .cancelled)
    case .busy, .noAnswer: return (.missed, reason)
    case .hangup: return isAnswered ? (.answered, nil) : (.failed, reason)
    case .answeredElsewhere, .answeredByOther, .rejectedElsewhere, .rejectedByOther, .unreachable, .connectFailed,
      .disconnected, .stopped, .removed, .replaced, .switchedCall, .networkChanged, .background, .callEnded:
      return (.failed, reason)
    }
  }

  /// What the call was to one of its members, as it stands now.
  func record(
    of user: String, _ result: CallResult, _ why: Reason?, _ ring: Ring?, _ reason: Reason, at now: Now
  ) -> UserRecord {
    let member = self[user]
    // Of a call that its caller has not picked up they know as somebody who was called.
    let isCaller = user == caller && arrangement == nil
    let begun = result == .answered ? (isCaller ? answered : member?.terms.answered) : nil
    let record = CallRecord(
      callId: id.text, direction: isCaller ? .outgoing : .incoming, result: result, why: why,
      elsewhere: false, startedAt: ring?.terms.startedAt ?? createdAt,
      answeredAt: begun?.wallMilliseconds, endedAt: now.wallMilliseconds,
      durationMs: begun.map { now.milliseconds(since: $0) } ?? 0,
      peers: order.filter { $0 != user } + (arrangement?.callees ?? []), kind: kind, media: media,
      inviter: member?.invitedBy,
      reason: reason)
    return UserRecord(user: user, device: member?.terms.actorName, record: record)
  }
}

extension Now {
  /// How long ago that was, whatever became of the wall clock since.
  func milliseconds(since then: Now) -> Int64 { max((instant - then.instant).milliseconds, 0) }
}
