// What happens when time is up.

import Basics
import RoostProtocol

extension Tables {
  /// Carries out what this timer was set for.
  mutating func expire(_ timer: CallTimer, _ step: inout Step) {
    switch timer {
    case .ring(let id, let user): Callee(user, in: id).ringExpired(&self, &step)
    case .deliver(let id, let user): Callee(user, in: id).deliveryExpired(&self, &step)
    case .connect(let id, let user): connectExpired(user, in: id, &step)
    case .absence(let id, let user):
      Leg(user, in: id).depart(LegEnd(reason: .disconnected, outcome: .lost), &self, &step)
    case .callerGrace(let id):
      if let caller = calls[id]?.caller { CallEnd(id, .callerLost, by: caller).commit(&self, &step) }
    case .mediaChange(let id): finishMedia(id, .timeout, &step)
    case .aloneWarning(let id): warnAlone(id, &step)
    case .alone(let id): CallEnd(id, .stopped).commit(&self, &step)
    }
  }

  /// Answered, but media did not come up: two end, a group loses this member.
  private mutating func connectExpired(_ user: String, in id: CallID, _ step: inout Step) {
    guard let call = calls[id], let member = call[user], member.isJoined else { return }
    // The other one of two may have left meanwhile: then this one waits for an invitee who rings.
    let isAlone = member.isMediaUp && call.joined.count < 2
    if !call.isGroup, call.state == .connecting, !isAlone { return CallEnd(id, .connectFailed).commit(&self, &step) }
    guard !member.isMediaUp else { return }
    Leg(user, in: id).depart(LegEnd(reason: .connectFailed, outcome: .lost), &self, &step)
  }

  private mutating func warnAlone(_ id: CallID, _ step: inout Step) {
    guard let end = calls.timers[.alone(id)] else { return }
    let remaining = max((end - step.now.instant).milliseconds, 0)
    let rev = calls.bump(id, &step)
    guard let call = calls[id] else { return }
    let endsAt = step.now.wallMilliseconds + remaining
    step.tell(
      audience(call), .callAlone(CallAlone(callId: id.text, rev: rev, endsAt: endsAt, remainingMs: remaining)))
  }
}
