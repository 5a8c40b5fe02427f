// The end of a leg: hang-up, loss, switching. What it means for the call is decided by the call's kind.

import Basics
import RoostProtocol

/// Why and how a leg ends.
struct LegEnd: Sendable {
  var reason: Reason
  /// What becomes of the member.
  var state = MemberState.left
  var text: String?
}

extension Switchboard {
  /// Hangs up; for one who is being rung that is a reject. Again, and after the end of the call, it succeeds.
  /// - Throws: 3001, 3007; 3006 without a call; 3004 where another device has the leg.
  public mutating func hangup(_ params: CallHangupParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let user = try board.user(of: device)
      guard let callId = params.callId ?? board.legs[user]?.text else { throw ErrorObject(.notInCall) }
      if try board.replyIfEnded(callId, device) { return }
      let place = try board.place(callId, device)
      board.handOn(params.push, place.id)
      if place.member.isJoined {
        guard !place.isElsewhere || (place.user == place.call.caller && !place.call.isAnswered) else {
          throw board.outcome(place)
        }
        board.depart(
          place.user, from: place.id, LegEnd(reason: params.reason?.asDeparture ?? .hangup, text: params.text))
      } else if place.member.isRinging {
        board.decline(place, params.reason, params.text)
      }
      board.replyWithCall(place.id)
    }
  }

  /// Ends a user's leg, and the call where it cannot go on without him.
  mutating func depart(_ user: String, from id: CallID, _ leg: LegEnd) {
    guard let call = calls[id], call[user]?.isJoined == true else { return }
    let isOwnWish = leg.state == .left
    let isLast = call.joined.count == 1
    if !call.isAnswered {
      end(id, isOwnWish ? .cancelled : leg.state == .removed ? .removed : .callerLost, by: user, text: leg.text)
    } else if call.isGroup {
      if isLast { end(id, isOwnWish ? .hangup : leg.reason, by: user, text: leg.text) } else { leave(user, id, leg) }
    } else if call.state == .connecting, user == call.caller, isOwnWish {
      end(id, .cancelled, by: user, text: leg.text)
    } else if isLast || call.ringing.isEmpty {
      end(id, leg.reason, by: user, text: leg.text)
    } else {
      calls[id]?.departure = Departure(reason: leg.reason, by: user, text: leg.text)
      leave(user, id, leg)
    }
  }

  /// Somebody leaves, and the call goes on.
  private mutating func leave(_ user: String, _ id: CallID, _ leg: LegEnd) {
    guard let call = calls[id], let member = call[user] else { return }
    let listeners = Set(audience(call) + ringingDevices(call)).filter { $0 != actor }.sorted()
    endLeg(user, in: id, leg.state, leg.reason)
    if let device = member.device { effects.append(.unseat(device, leg.state.leaveReason)) }
    let isRemoved = leg.state == .removed
    tellMember(user, in: id, to: listeners, by: isRemoved ? nil : user, text: leg.text) {
      isRemoved ? .memberRemoved($0) : .memberLeft($0)
    }
    // One of the two who had to agree is gone, whichever asked.
    dropMediaChange(id)
    keepRecord(of: user, in: id, .answered, leg.reason, nil)
    hook(.callMemberLeft, id, user: user, reason: leg.reason)
  }

  /// The leg in the state of things.
  mutating func endLeg(_ user: String, in id: CallID, _ state: MemberState, _ reason: Reason) {
    guard var member = calls[id]?[user] else { return }
    (member.state, member.reason, member.leftAt) = (state, reason, now.wallMilliseconds)
    (member.device, member.isLost, member.isMediaUp) = (nil, false, false)
    calls[id]?[user] = member
    setLeg(user, nil)
    deadlines.cancel(.connect(id, user))
    deadlines.cancel(.absence(id, user))
  }

  /// Ends a call for everybody. The caller may, as he is its host, unless an operator has put him out.
  /// - Throws: 3001, 3007; 3002 where it is over; 1005 for anybody else.
  public mutating func endForAll(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.place(params.callId, device)
      guard place.user == place.call.caller, place.member.state != .removed else {
        throw ErrorObject(.forbidden, "Only who started a call ends it for all.")
      }
      board.end(place.id, .stopped, by: place.user)
      board.replyWithCall(place.id)
    }
  }
}

extension MemberState {
  /// What the others in the room hear of one whose leg ended so.
  fileprivate var leaveReason: LeaveReason {
    switch self {
    case .lost: .lost
    case .removed: .removed
    default: .left
    }
  }
}
