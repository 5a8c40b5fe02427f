// A request for the leg that another device of its user has in a call.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

/// A request for the leg that another device of its user has in a call.
struct LegWish {
  let callId: String
  let isTakeover: Bool
  let token: String?

  /// Nil for a request that wants none.
  init?(_ request: CallRequest) {
    switch request {
    case .accept(let params):
      (callId, isTakeover, token) = (params.callId, params.takeover == true, params.resumeToken)
    case .join(let params):
      (callId, isTakeover, token) = (params.callId, params.takeover == true, params.resumeToken)
    case .get, .current, .available, .history, .start, .ringing, .reject, .cancel, .hangup, .invite, .cancelInvite,
      .mediaChange, .end:
      return nil
    }
  }

  /// The session that has the leg; nil where it is no other's, or the session's own predecessor's.
  private func holder(_ member: MemberFacts, _ calls: Switchboard) -> SessionID? {
    calls.legToTakeOver(callId, by: member.session.device).map { SessionID($0) }
  }

  /// Whether its token shows that it may have the leg.
  func isProved(_ member: MemberFacts, _ calls: Switchboard, _ sessions: Sessions) -> Bool {
    holder(member, calls).map { sessions.mayReplace($0, member.identity, token: token) } ?? false
  }

  /// Who comes back to it without such proof; nil where there is nothing to ask about, and the switchboard decides.
  func returner(
    _ member: MemberFacts, _ silence: MediaSilence?, _ calls: Switchboard, _ sessions: Sessions,
    _ rules: ConferenceRules, at now: Instant
  ) -> Returner? {
    guard isTakeover, let id = holder(member, calls), sessions.predecessor(of: member.session) != id,
      let old = sessions.facts(of: id)
    else { return nil }
    let returner = Returner(
      identity: member.identity, network: member.presence.reachedFrom, old: old, seat: sessions.place(of: id)?.seat,
      silence: silence)
    if case .no = Comeback(returner, rules.takeoverSilence, at: now) { return nil }
    return returner
  }
}
