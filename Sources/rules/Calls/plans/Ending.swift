// The end of a call, and what its reason means for those who ring, those who are in it and those who have missed it.

import Basics
import RoostProtocol

/// A call that ends: everybody who rings stops, everybody who is in it leaves, and it is remembered.
struct CallEnd: Plan {
  let id: CallID
  let reason: Reason
  /// By whose doing.
  let by: String?
  let text: String?

  init(_ id: CallID, _ reason: Reason, by: String? = nil, text: String? = nil) {
    (self.id, self.reason, self.by, self.text) = (id, reason, by, text)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    guard let call = tables.calls[id] else { return }
    let rev = tables.calls.bump(id, &step)
    let listeners = Set(tables.audience(call) + tables.formerListeners(call))
    let rings = call.ringing.filter { !$0.isHidden }.map { (user: $0.user, ring: $0.ring) }
    stop(call, &tables, &step)
    guard let over = tables.calls[id] else { return }
    let final = finalWire(over, tables.calls, at: step.now)
    bury(over, final, &tables, &step)
    let records = records(rings, over, call.joined, at: step.now)
    for (user, ring) in rings {
      step.tellStopped(ring?.devices.sorted() ?? [], id, rev: rev, reason.asStop, by: by, text: text)
      Callee(user, in: id).cancelPush(ring, reason.asStop, final: final, tables, &step)
    }
    tellEnded(over, final, listeners, records, tables, &step)
    for (user, ring) in rings where reason.asStop != .rejectedByOther && !over.hasHad(user) {
      Callee(user, in: id).tellMissed(final, reason.asMiss, ring, tables, &step)
    }
    step.emit(.closeRoom(id, except: step.actor))
    tables.keep(records, &step)
    step.count(.ended(reason))
    step.hook(.callEnded, id, by, reason, tables.rules.isFollowed ? final : nil)
  }

  /// Nobody rings any more, and nobody is in it.
  private func stop(_ call: LiveCall, _ tables: inout Tables, _ step: inout Step) {
    for member in call.ringing { tables.calls.stopRing(member.user, in: id, .cancelled, reason.asStop) }
    for member in call.joined {
      Leg(member.user, in: id).end(member.user == by ? reason.asOutcome : .left, reason, &tables, &step)
    }
    tables.calls.update(id) { $0.end() }
  }

  private func finalWire(_ call: LiveCall, _ calls: CallTable, at now: Now) -> Call {
    calls.wire(call, endedBy: by, reason, at: now)
  }

  /// Takes the call out of everything that runs.
  private func bury(_ call: LiveCall, _ final: Call, _ tables: inout Tables, _ step: inout Step) {
    tables.calls.remove(id)
    step.forget(id)
    tables.bury(final, names: call.names, at: step.now)
    step.emit(.tombstone(KeptTombstone(call, final: final)))
    if tables.rules.keepsCalls { step.emit(.forgetCall(id)) }
  }

  /// The records of those who rang and have never been in it, then of those who were in it.
  private func records(
    _ rings: [(user: String, ring: Ring?)], _ over: LiveCall, _ joined: [CallMember], at now: Now
  ) -> [UserRecord] {
    let missed = rings.filter { !over.hasHad($0.user) }
      .map { over.record(of: $0.user, .missed, reason.asMiss, $0.ring, reason, at: now) }
    return missed + joined.map { over.legRecord(of: $0.user, reason, at: now) }
  }

  /// The end as each user hears it: the same, with their own record.
  private func tellEnded(
    _ call: LiveCall, _ final: Call, _ listeners: Set<DeviceID>, _ records: [UserRecord], _ tables: Tables,
    _ step: inout Step
  ) {
    let own = Dictionary(records.map { ($0.user, $0) }) { first, _ in first }
    let duration = call.answered.map { step.now.milliseconds(since: $0) } ?? 0
    for id in listeners.sorted() {
      guard let device = tables.devices[id] else { continue }
      let record = own[device.user] ?? tables.archive.record(final.callId, of: device.user)
      let ended = CallEnded(
        callId: final.callId, rev: final.rev, reason: reason, code: reason.code, by: final.by, text: text,
        durationMs: duration, record: record?.seen(from: device.name))
      step.tell([id], .callEnded(ended))
    }
  }
}

extension CallTable {
  /// A call that is over, as it is remembered.
  fileprivate func wire(_ call: LiveCall, endedBy user: String?, _ reason: Reason, at now: Now) -> Call {
    var final = wire(call, at: now)
    (final.endedAt, final.reason, final.by) = (now.wallMilliseconds, reason, user)
    return final
  }

  /// A call that has just been started, as it stays: over, where nobody rings for it. Its ring has an end in either case.
  func wireAsItStays(_ call: LiveCall, at now: Now) -> Call {
    guard call.ringing.isEmpty else { return wire(call, at: now) }
    let (reason, by) = call.unansweredEnd
    var over = call
    for member in call.joined { over.update(member.user) { $0.endLeg(.left, reason, at: now) } }
    over.end()
    var shown = wire(over, endedBy: by, reason, at: now)
    (shown.expiresAt, shown.remainingMs) = (now.wallMilliseconds, 0)
    return shown
  }
}

// MARK: - What the reason means

extension Reason {
  /// Why phones stop ringing when a call ends for this reason.
  fileprivate var asStop: Reason {
    switch self {
    case .cancelled, .callerLost, .stopped: self
    case .rejected: .rejectedByOther
    case .hangup, .busy, .noAnswer, .answeredElsewhere, .answeredByOther, .rejectedElsewhere, .rejectedByOther,
      .unreachable, .connectFailed, .disconnected, .removed, .replaced, .switchedCall, .networkChanged, .background,
      .callEnded:
      .callEnded
    }
  }

  /// Why a call was missed whose ring stopped as it ended for this reason.
  fileprivate var asMiss: Reason { asStop == .rejectedByOther ? .rejectedByOther : .cancelled }

  /// What becomes of the member by whose doing a call ends for this reason.
  fileprivate var asOutcome: LegOutcome {
    switch self {
    case .disconnected: .lost
    case .removed: .removed
    case .hangup, .rejected, .busy, .noAnswer, .cancelled, .answeredElsewhere, .answeredByOther, .rejectedElsewhere,
      .rejectedByOther, .unreachable, .connectFailed, .stopped, .replaced, .switchedCall, .callerLost, .networkChanged,
      .background, .callEnded:
      .left
    }
  }
}
