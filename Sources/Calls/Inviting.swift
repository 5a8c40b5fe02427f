// call.invite: into a running call, at once for all or not at all where there are not enough seats.

import Basics
import RoostProtocol

extension Switchboard {
  /// Rings users for a call that one is in. Who is in it or rings already is listed and not rung again.
  /// - Throws: 3001, 3002; 3006 for one who is not joined; 3013 without enough seats; 3014 when the call has had too many.
  public mutating func invite(_ params: CallInviteParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.joinedPlace(params.callId, device)
      guard !board.isDraining else { throw ErrorObject(.draining) }
      let users = board.unique(params.users)
      let new = users.filter { $0 != place.user && place.call[$0]?.isGone ?? true }
      try board.checkSeats(place.call, more: new.count)
      let strangers = new.count { place.call[$0] == nil }
      guard place.call.count + strangers <= board.rules.maxMembers else {
        throw .limit(.tooManyInvitees, limit: board.rules.maxMembers, count: place.call.count + strangers)
      }
      board.handOn(params.push, place.id)
      board.invite(users, new, place, params)
    }
  }

  /// The place of one who is joined on this very device.
  /// - Throws: 3006 otherwise, 3001, 3002.
  func joinedPlace(_ callId: String, _ device: DeviceID) throws(ErrorObject) -> Place {
    let place = try place(callId, device, stranger: .notInCall)
    guard place.member.isJoined, place.member.device == device else { throw ErrorObject(.notInCall) }
    return place
  }

  private mutating func invite(_ users: [String], _ new: [String], _ place: Place, _ params: CallInviteParams) {
    let reach = reaches(new, busy: place.call.busyPolicy)
    let listeners = audience(place.call)
    let former = formerDevices(place.call).filter { !new.contains(devices[$0]?.user ?? "") }
    for user in new { enrol(user, place) }
    let rung = reach.filter(\.reach.rings).map(\.user)
    for user in rung {
      begin(
        user, in: place.id, for: rules.ringTime(params.ringTimeoutMs), from: place.user, inProgress: true,
        params.extra, params.push)
    }
    reply(.invited(result(users, reach, place)))
    if !rung.isEmpty { announce(rung, place, Set(listeners + former).sorted()) }
    for (user, reach) in reach { reached(user, in: place.id, reach) }
  }

  /// A member for somebody who is asked, again or for the first time.
  private mutating func enrol(_ user: String, _ place: Place) {
    var member = place.call[user] ?? CallMember(user: user, displayName: displayName(user), state: .inviting)
    (member.invitedBy, member.terms.isOriginal, member.reason) = (place.user, false, nil)
    // Which device answered or rejected before says nothing of this ring.
    (member.actor, member.terms.actorName) = (nil, nil)
    calls[place.id]?[user] = member
    memberships[user, default: []].insert(place.id)
  }

  private func result(
    _ users: [String], _ reach: [(user: String, reach: Reach)], _ place: Place
  ) -> CallInviteResult {
    let reaches = Dictionary(uniqueKeysWithValues: reach)
    let failed = users.compactMap { user -> InviteFailure? in
      if user == place.user { return InviteFailure(user: user, error: ErrorObject(.cannotCallSelf)) }
      guard reaches[user] == .unreachable else { return nil }
      let error = ErrorObject(.invalidState, "No device of this user is connected.") { $0.reason = "unreachable" }
      return InviteFailure(user: user, error: error)
    }
    let isListed = { (user: String) in user != place.user && reaches[user]?.rings ?? true }
    return CallInviteResult(
      invited: users.filter(isListed), busy: reach.filter(\.reach.isBusy).map { BusyUser(user: $0.user) },
      failed: failed)
  }

  /// One change, told to those who are in, who were in, and who are asked.
  private mutating func announce(_ rung: [String], _ place: Place, _ listeners: [DeviceID]) {
    let rev = bump(place.id)
    for user in rung { ring(user, in: place.id, on: callable(user)) }
    let asked = rung.flatMap { callable($0) }
    let invited = CallInvited(callId: place.id.text, rev: rev, inviter: place.user, users: rung)
    tell(Set(listeners + asked).sorted(), .callInvited(invited))
    hook(.callInvited, place.id, user: place.user)
  }
}
