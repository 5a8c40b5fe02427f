// What the push provider is told: a ring that no device has acknowledged, its end, and a call that was missed.

import Basics
import RoostProtocol

extension Callee {
  /// Wakes the user's phones where no device can tell them, once a ring. A ring that ends in this very moment wakes nobody.
  func wake(_ tables: inout Tables, _ step: inout Step) {
    tables.calls.cancel(.deliver(id, user))
    guard let end = tables.calls.timers[.ring(id, user)], end > step.now.instant else { return }
    guard tables.rules.hasPush, let call = tables.calls[id], let ring = call[user]?.ring, !ring.terms.isPushed
    else { return }
    tables.calls.update(user, in: id) { $0.ring?.terms.isPushed = true }
    if !isHidden(tables) { push(.ring, tables.calls.wire(call, at: step.now), ring, nil, tables.rules, &step) }
    tables.tellMember(user, in: id, push: true, &step) { .memberState($0) }
  }

  /// A device rings no more, for whatever reason. Where no other one has said that it does, phones are woken: at once where
  /// none could, else unless one says so in time.
  func noteUnheard(_ tables: inout Tables, _ step: inout Step) {
    guard tables.rules.hasPush, let ring = ring(tables), !ring.terms.isPushed, !tables.devices.isHeard(ring)
    else { return }
    guard tables.devices.isReachable(user, by: ring) else { return wake(&tables, &step) }
    guard tables.calls.timers[.deliver(id, user)] == nil else { return }
    awaitDelivery(&tables.calls, tables.rules, at: step.now)
  }

  /// Time is up for a device to say that it rings.
  func deliveryExpired(_ tables: inout Tables, _ step: inout Step) {
    guard let ring = ring(tables) else { return }
    let hasPush = tables.rules.hasPush
    if hasPush, !tables.devices.isHeard(ring) { return wake(&tables, &step) }
    if !hasPush, !ring.isAcknowledged, !tables.devices.isReachable(user) { becomeUnreachable(&tables, &step) }
  }

  /// Takes back a ring, if it was pushed. `final` is the call where it is over with the ring.
  func cancelPush(_ ring: Ring?, _ reason: Reason, final: Call? = nil, _ tables: Tables, _ step: inout Step) {
    guard let ring, ring.terms.isPushed, !isHidden(tables) else { return }
    guard let call = final ?? tables.calls[id].map({ tables.calls.wire($0, at: step.now) }) else { return }
    push(.cancel, call, ring, reason, tables.rules, &step)
  }

  /// Something for the push provider. The newest word counts: what the request being served gives for this call, else what
  /// came with the ring. What somebody else was rung with is never handed on.
  func push(
    _ type: PushNotice.Kind, _ call: Call, _ ring: Ring?, _ reason: Reason?, _ rules: CallRules, _ step: inout Step
  ) {
    guard rules.hasPush else { return }
    let terms = ring?.terms
    step.emit(
      .push(
        PushNotice(
          type: type, callId: call.callId, to: user, from: terms?.from ?? call.caller, kind: call.kind,
          media: call.media, inProgress: terms?.inProgress ?? false, createdAt: terms?.startedAt ?? call.createdAt,
          expiresAt: terms?.expiresAt ?? step.now.wallMilliseconds, reason: reason,
          silenced: type == .ring ? ring?.silencedNames : nil, push: step.payload(for: call.callId) ?? terms?.push,
          extra: terms?.extra ?? call.extra)))
  }
}

extension Switchboard {
  /// Whether a ring that phones are to be woken for has not ended meanwhile.
  public func isOn(_ notice: PushNotice) -> Bool {
    guard let terms = Callee(notice.to, in: CallID(notice.callId)).ring(tables)?.terms else { return false }
    return terms.isPushed && terms.startedAt == notice.createdAt
  }
}
