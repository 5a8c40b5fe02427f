// What happens when time is up.

import Basics
import RoostProtocol

extension Switchboard {
  mutating func expire(_ timer: Timer) {
    switch timer {
    case .ring(let id, let user): ringExpired(user, in: id)
    case .deliver(let id, let user): deliveryExpired(user, in: id)
    case .connect(let id, let user): connectExpired(user, in: id)
    case .absence(let id, let user): depart(user, from: id, LegEnd(reason: .disconnected, state: .lost))
    case .callerGrace(let id): if let caller = calls[id]?.caller { end(id, .callerLost, by: caller) }
    case .mediaChange(let id): finishMedia(id, .timeout)
    case .aloneWarning(let id): warnAlone(id)
    case .alone(let id): end(id, .stopped)
    }
  }

  /// Answered, but media did not come up: two end, a group loses him.
  private mutating func connectExpired(_ user: String, in id: CallID) {
    guard let call = calls[id], let member = call[user], member.isJoined else { return }
    // The other one of two may have left meanwhile: then this one waits for an invitee who rings.
    let isAlone = member.isMediaUp && call.joined.count < 2
    if !call.isGroup, call.state == .connecting, !isAlone { return end(id, .connectFailed) }
    if !member.isMediaUp { depart(user, from: id, LegEnd(reason: .connectFailed, state: .lost)) }
  }

  private mutating func warnAlone(_ id: CallID) {
    guard let end = deadlines[.alone(id)] else { return }
    let remaining = max((end - now.instant).milliseconds, 0)
    let rev = bump(id)
    guard let call = calls[id] else { return }
    tell(
      audience(call),
      .callAlone(
        CallAlone(callId: id.text, rev: rev, endsAt: now.wallMilliseconds + remaining, remainingMs: remaining)))
  }

  /// A group with one person and nobody ringing ends after a while; he is warned in the last minute or half.
  mutating func watchLoneliness(_ call: LiveCall) {
    let isAlone = call.isGroup && call.isAnswered && call.joined.count == 1 && call.ringing.isEmpty
    guard isAlone, rules.aloneTimeout > .zero else {
      deadlines.cancel(.alone(call.id))
      return deadlines.cancel(.aloneWarning(call.id))
    }
    guard deadlines[.alone(call.id)] == nil else { return }
    let notice = min(TimeDelta.seconds(60), rules.aloneTimeout / 2)
    deadlines.set(.alone(call.id), at: now.instant + rules.aloneTimeout)
    deadlines.set(.aloneWarning(call.id), at: now.instant + (rules.aloneTimeout - notice))
  }
}
