// What whoever wakes phones is told: a ring that no device has acknowledged, its end, and a call that was missed.

import Basics
import RoostProtocol

extension Switchboard {
  /// Remembers what a request wants handed on about its call, until the step is over.
  mutating func handOn(_ push: JSONValue?, _ id: CallID) { handOn = push.map { HandOn(call: id, push: $0) } }

  /// Wakes the phones of one whom no device of his can tell, once a ring. A ring that ends in this very moment wakes nobody.
  mutating func pushRing(_ user: String, in id: CallID) {
    deadlines.cancel(.deliver(id, user))
    guard let end = deadlines[.ring(id, user)], end > now.instant else { return }
    guard rules.hasPush, let call = calls[id], let ring = call[user]?.ring, !ring.terms.isPushed else { return }
    calls[id]?[user]?.ring?.terms.isPushed = true
    push(.ring, to: user, wire(call), ring)
    tellMember(user, in: id, push: true) { .memberState($0) }
  }

  /// Nobody acknowledged the ring in time.
  mutating func deliveryExpired(_ user: String, in id: CallID) {
    guard let ring = calls[id]?[user]?.ring, !ring.isAcknowledged else { return }
    if rules.hasPush { return pushRing(user, in: id) }
    if !isReachable(user) { becomeUnreachable(user, in: id) }
  }

  /// Takes back a ring, if it was pushed.
  mutating func cancelPush(_ user: String, in id: CallID, _ ring: Ring?, _ reason: Reason) {
    guard let call = calls[id] else { return }
    cancelPush(user, wire(call), ring, reason)
  }

  /// The same where the call is over with it.
  mutating func cancelPush(_ user: String, _ call: Call, _ ring: Ring?, _ reason: Reason) {
    if let ring, ring.terms.isPushed { push(.cancel, to: user, call, ring, reason) }
  }

  /// Something for whoever wakes phones. The newest word counts: what the request being served wants handed on about this
  /// call, else what came with the ring. What somebody else was rung with is never handed on.
  mutating func push(
    _ type: PushNotice.Kind, to user: String, _ call: Call, _ ring: Ring?, _ reason: Reason? = nil
  ) {
    guard rules.hasPush else { return }
    let terms = ring?.terms
    let word = handOn.flatMap { $0.call.text == call.callId ? $0.push : nil }
    effects.append(
      .push(
        PushNotice(
          type: type, callId: call.callId, to: user, from: terms?.from ?? call.caller, kind: call.kind,
          media: call.media, inProgress: terms?.inProgress ?? false, createdAt: terms?.startedAt ?? call.createdAt,
          expiresAt: terms?.expiresAt ?? now.wallMilliseconds, reason: reason, push: word ?? terms?.push,
          extra: terms?.extra ?? call.extra)))
  }
}
