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

  /// Whether a ring that phones are to be woken for has not ended meanwhile.
  public func isOn(_ notice: PushNotice) -> Bool {
    guard let terms = calls[CallID(notice.callId)]?[notice.to]?.ring?.terms else { return false }
    return terms.isPushed && terms.startedAt == notice.createdAt
  }

  /// A device rings no more, for whatever reason. Where no other one has said that it does, phones are woken: at once where
  /// none could, else unless one says so in time.
  mutating func noteUnheard(_ user: String, in id: CallID) {
    guard rules.hasPush, let ring = calls[id]?[user]?.ring, !ring.terms.isPushed, !isHeard(ring) else { return }
    guard isReachable(user, by: ring) else { return pushRing(user, in: id) }
    guard deadlines[.deliver(id, user)] == nil else { return }
    deadlines.set(.deliver(id, user), at: now.instant + rules.deliverTimeout)
  }

  /// Time is up for a device to say that it rings.
  mutating func deliveryExpired(_ user: String, in id: CallID) {
    guard let ring = calls[id]?[user]?.ring else { return }
    if rules.hasPush, !isHeard(ring) { return pushRing(user, in: id) }
    if !rules.hasPush, !ring.isAcknowledged, !isReachable(user) { becomeUnreachable(user, in: id) }
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
    // Not `handOn.flatMap`: there, nil would be the JSON value null.
    let word = handOn?.call.text == call.callId ? handOn?.push : nil
    effects.append(
      .push(
        PushNotice(
          type: type, callId: call.callId, to: user, from: terms?.from ?? call.caller, kind: call.kind,
          media: call.media, inProgress: terms?.inProgress ?? false, createdAt: terms?.startedAt ?? call.createdAt,
          expiresAt: terms?.expiresAt ?? now.wallMilliseconds, reason: reason,
          silenced: type == .ring ? ring?.silencedNames : nil, push: word ?? terms?.push,
          extra: terms?.extra ?? call.extra)))
  }
}
