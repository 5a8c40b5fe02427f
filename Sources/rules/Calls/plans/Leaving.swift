// A leg from its begin to its end: on which device it is, hang-up, loss, switching. What the end of one means for the call
// is decided by the call's kind.

import Basics
import RoostProtocol

/// Why and how a leg ends.
struct LegEnd: Sendable {
  var reason: Reason
  /// What becomes of the member.
  var outcome = LegOutcome.left
  var text: String?
  /// Who has put them out.
  var by: String?
}

/// A user's part in one call. The leg's state is in the tables.
struct Leg {
  let user: String
  let id: CallID

  init(_ user: String, in id: CallID) { (self.user, self.id) = (user, id) }

  // MARK: - Begin

  /// The user comes into the call on this device; who takes up their leg is in it `since` before.
  func begin(
    on device: DeviceID, _ media: MediaClass?, since: Int64? = nil, _ tables: inout Tables, _ step: inout Step
  ) {
    guard let carried = tables.calls[id]?.media else { return }
    let known = tables.devices[device]
    tables.calls.update(user, in: id) { member in
      member.beginLeg(on: device, known?.name)
      member.displayName = known?.displayName ?? member.displayName
      member.join(media, carried: carried, since: since, at: step.now)
    }
    tables.legs.set(user, id, &step)
    tables.devices.beginLeg(on: device)
    // Who was rung in vain before has missed nothing any more; their record follows when they leave.
    if let seen = tables.archive.see(user, id.text) { step.emit(.recordSeen(seen)) }
    awaitMedia(&tables.calls, tables.rules, at: step.now)
  }

  /// From here on the leg has `connectTimeout` for its media to come up.
  func awaitMedia(_ calls: inout CallTable, _ rules: CallRules, at now: Now) {
    calls.set(.connect(id, user), at: now.instant + rules.connectTimeout)
  }

  /// The user leaves the call that they are in for this one.
  func leaveOtherCall(_ tables: inout Tables, _ step: inout Step) {
    guard let other = tables.legs[user], other != id else { return }
    Leg(user, in: other).depart(LegEnd(reason: .switchedCall), &tables, &step)
  }

  /// The leg that `old` had is the acting device's from now on. There is one seat all the time.
  func takeUp(_ membership: Membership, from old: DeviceID, _ tables: inout Tables, _ step: inout Step) {
    let device = membership.device
    let listeners = tables.audience(membership.call).filter { $0 != old && $0 != device }
    let name = tables.devices[device]?.name
    tables.calls.update(user, in: id) { $0.beginLeg(on: device, name) }
    tables.devices.beginLeg(on: device)
    if membership.call.isAnswered { awaitMedia(&tables.calls, tables.rules, at: step.now) }
    tables.tellMember(user, in: id, to: listeners, &step) { .memberState($0) }
    step.tellStopped([old], id, rev: tables.calls[id]?.rev ?? 0, .replaced, by: user)
    step.emit(.moveSeat(from: old, to: device))
  }

  // MARK: - End

  /// Ends the leg, and the call where it cannot go on without this user.
  func depart(_ end: LegEnd, _ tables: inout Tables, _ step: inout Step) {
    guard let call = tables.calls[id], call[user]?.isJoined == true else { return }
    if let over = callEnd(call, end) { return over.commit(&tables, &step) }
    if !call.isGroup {
      let departure = Departure(reason: end.reason, by: user, text: end.text)
      tables.calls.update(id) { $0.departure = departure }
    }
    leave(end, &tables, &step)
  }

  /// How the call ends with this leg; nil where it goes on.
  private func callEnd(_ call: LiveCall, _ end: LegEnd) -> CallEnd? {
    let isOwnWish = end.outcome == .left
    let isLast = call.joined.count == 1
    if !call.isAnswered { return CallEnd(id, end.outcome.unansweredReason, by: user, text: end.text) }
    if call.isGroup { return isLast ? CallEnd(id, isOwnWish ? .hangup : end.reason, by: user, text: end.text) : nil }
    if call.state == .connecting, user == call.caller, isOwnWish {
      return CallEnd(id, .cancelled, by: user, text: end.text)
    }
    return isLast || call.ringing.isEmpty ? CallEnd(id, end.reason, by: user, text: end.text) : nil
  }

  /// The user leaves, and the call goes on.
  private func leave(_ leg: LegEnd, _ tables: inout Tables, _ step: inout Step) {
    guard let call = tables.calls[id], let member = call[user] else { return }
    let actor = step.actor
    let listeners = Set(tables.audience(call) + call.ringingDevices).filter { $0 != actor }.sorted()
    end(leg.outcome, leg.reason, &tables, &step)
    if let device = member.device { step.emit(.unseat(device, leg.outcome.leaveReason)) }
    let isRemoved = leg.outcome == .removed
    tables.tellMember(user, in: id, to: listeners, by: isRemoved ? leg.by : user, text: leg.text, &step) {
      isRemoved ? .memberRemoved($0) : .memberLeft($0)
    }
    // One of the two who had to agree is gone, whichever asked.
    tables.finishMedia(id, .cancelled, &step)
    tables.keepRecord(of: user, in: id, .answered, leg.reason, nil, &step)
    tables.hook(.callMemberLeft, id, user: user, reason: leg.reason, &step)
  }

  /// Ends the leg; telling of it is the caller's matter.
  func end(_ outcome: LegOutcome, _ reason: Reason, _ tables: inout Tables, _ step: inout Step) {
    guard tables.calls[id]?[user] != nil else { return }
    tables.calls.update(user, in: id) { $0.endLeg(outcome, reason, at: step.now) }
    tables.legs.set(user, nil, &step)
    tables.calls.cancel(.connect(id, user))
    tables.calls.cancel(.absence(id, user))
  }
}

extension LegOutcome {
  /// Why a call ends whose caller goes so before anybody has answered.
  fileprivate var unansweredReason: Reason {
    switch self {
    case .left: .cancelled
    case .lost: .callerLost
    case .removed: .removed
    }
  }
}

// MARK: - Requests

extension Switchboard {
  /// Hangs up; for one who is being rung that is a reject. Again, and after the end of the call, it succeeds.
  /// - Throws: 3001, 3007; 3006 without a call; 3004 where another device has the leg.
  public mutating func hangup(_ params: CallHangupParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    let callId = try tables.callMeant(params.callId, by: device)
    if let call = try tables.endedBefore(callId, device, at: now) {
      return serve(Answered(reply: .call(call)), from: device, at: now)
    }
    return serve(try HangUp(params, membership: tables.membership(callId, device, at: now)), from: device, at: now)
  }

  /// Ends a call for everybody. The caller may, unless they have been put out and not been in it since, and the host of a group.
  /// - Throws: 3001, 3007; 3002 where it is over; 1005 for anybody else.
  public mutating func endForAll(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    serve(try EndForAll(membership: tables.membership(params.callId, device, at: now)), from: device, at: now)
  }
}

/// `call.hangup` in a call that is not over.
private struct HangUp: Plan {
  private let membership: Membership
  private let params: CallHangupParams

  /// - Throws: 3004 where another device has the leg, unless it is the caller who gives up.
  init(_ params: CallHangupParams, membership: Membership) throws(ErrorObject) {
    let mayGiveUp = membership.user == membership.call.caller && !membership.call.isAnswered
    if membership.isElsewhere, !mayGiveUp { throw membership.outcome }
    (self.membership, self.params) = (membership, params)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    step.setPayload(params.push, for: membership.id)
    if membership.member.isJoined {
      let end = LegEnd(reason: params.reason?.asDeparture ?? .hangup, text: params.text)
      Leg(membership.user, in: membership.id).depart(end, &tables, &step)
    } else if membership.member.isRinging {
      Decline(membership: membership, reason: params.reason, text: params.text).commit(&tables, &step)
    }
    tables.replyWithCall(membership.id, &step)
  }
}

/// `call.end`.
private struct EndForAll: Plan {
  private let membership: Membership

  init(membership: Membership) throws(ErrorObject) {
    let isPutOut = membership.member.terms.isPutOut || membership.member.state == .removed
    guard membership.user == membership.call.caller && !isPutOut || membership.member.isHost else {
      throw ErrorObject(.forbidden, "Only who started a call, or is its host, ends it for all.")
    }
    self.membership = membership
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    if membership.hasToPickUp {
      Decline(membership: membership, reason: nil, text: nil).commit(&tables, &step)
    } else {
      CallEnd(membership.id, .stopped, by: membership.user).commit(&tables, &step)
    }
    tables.replyWithCall(membership.id, &step)
  }
}
