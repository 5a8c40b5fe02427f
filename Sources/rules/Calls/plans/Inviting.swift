// call.invite: into a running call, at once for all or not at all where there are not enough seats.

import Basics
import RoostProtocol

extension Switchboard {
  /// Rings users for a call that one is in. Who is in it or rings already is listed and not rung again.
  /// - Throws: 3001, 3002; 3006 for one who is not joined; 3013 without enough seats; 3014 when the call has had too many; 1006.
  public mutating func invite(_ params: CallInviteParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    let membership = try tables.joinedMembership(params.callId, device, at: now)
    return serve(try Invitation(params, by: membership, tables, at: now), from: device, at: now)
  }

  /// The same for an application: as `user`, or else as the host, the caller or who has been in it longest.
  /// - Returns: what follows, and what the inviter would be told.
  /// - Throws: as above, but 3008 where the user is not in it on any device, and 3003 where nobody is.
  public mutating func invite(
    _ params: CallInviteParams, as user: String?, at now: Now
  ) throws(ErrorObject) -> (effects: [CallEffect], result: CallInviteResult) {
    let inviter = try tables.runningCall(params.callId, at: now).inviter(user, tables.devices)
    let plan = try Invitation(params, by: inviter, tables, at: now)
    let effects = move(now) { tables, step in plan.commit(&tables, &step) }
    for case .reply(.invited(let result)) in effects { return (effects, result) }
    throw ErrorObject(.internalError)
  }

  /// Takes an invitation back for an application: this user stops ringing.
  /// - Throws: 3001, 3002; 3008 for one who does not ring.
  public mutating func withdraw(_ user: String, from callId: String, at now: Now) throws(ErrorObject) -> [CallEffect] {
    let call = try tables.runningCall(callId, at: now)
    guard call[user]?.isRinging == true else {
      throw ErrorObject(.userNotFound, "This user is not rung for the call.")
    }
    return move(now) { tables, step in Callee(user, in: call.id).withdraw(by: nil, &tables, &step) }
  }
}

extension LiveCall {
  /// Who asks others into it for an application.
  fileprivate func inviter(_ user: String?, _ devices: DeviceTable) throws(ErrorObject) -> Membership {
    let present = joined.filter { $0.device != nil }
    let longest = present.min { ($0.joinedAt ?? .max) < ($1.joinedAt ?? .max) }
    let host = present.first(where: \.isHost) ?? present.first { $0.user == caller } ?? longest
    guard let chosen = user.map({ user in present.first { $0.user == user } }) ?? host, let device = chosen.device
    else {
      throw user == nil
        ? ErrorObject(.invalidState, "Nobody is in the call who could ask others into it.")
        : ErrorObject(.userNotFound, "This user is not in the call.")
    }
    return Membership(call: self, member: chosen, device: device, predecessor: devices[device]?.predecessor)
  }
}

/// `call.invite`.
private struct Invitation: Plan {
  private let membership: Membership
  private let params: CallInviteParams
  /// Everybody who is named, once.
  private let users: [String]
  /// Those who are neither in it nor rung.
  private let new: [String]
  /// Those among them whom others ring too often.
  private let tooOften: Set<String>

  init(_ params: CallInviteParams, by membership: Membership, _ tables: Tables, at now: Now) throws(ErrorObject) {
    guard !tables.isDraining else { throw ErrorObject(.draining) }
    let users = params.users.unique()
    let new = users.filter { $0 != membership.user && membership.call[$0]?.isGone ?? true }
    try membership.call.checkSeats(tables.rules, more: new.count)
    let total = membership.call.count + new.count { membership.call[$0] == nil }
    let limit = tables.rules.maxMembers
    guard total <= limit else { throw .limit(.tooManyInvitees, limit: limit, count: total) }
    tooOften = try tables.rungTooOften(new, by: membership.user, at: now)
    (self.membership, self.params, self.users, self.new) = (membership, params, users, new)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    tables.count(rings: new, by: membership.user, at: step.now)
    step.setPayload(params.push, for: membership.id)
    // An invitee rings beside the call that they are in, whatever the call itself does with those it begins with.
    let reach = tables.reaches(new, from: membership.user, busy: params.busyPolicy ?? .ring, except: tooOften)
    let busy = busy(reach, tables)
    let listeners = listeners(tables)
    for user in new { enrol(user, &tables) }
    let rung = reach.filter(\.reach.rings).map(\.user)
    let request = RingRequest(
      from: membership.user, inProgress: true, time: tables.rules.ringTime(params.ringTimeoutMs), extra: params.extra,
      push: params.push)
    for (user, reach) in reach { Callee(user, in: membership.id).begin(request, reach, &tables.calls, at: step.now) }
    step.reply(.invited(result(reach, busy: busy)))
    if !rung.isEmpty { announce(rung, listeners, &tables, &step) }
    for (user, reach) in reach { Callee(user, in: membership.id).reached(reach, &tables, &step) }
  }

  /// Those who are in it, and those who were and are not asked now.
  private func listeners(_ tables: Tables) -> [DeviceID] {
    let former = tables.formerDevices(membership.call).filter { !new.contains(tables.devices[$0]?.user ?? "") }
    return tables.audience(membership.call) + former
  }

  /// A member for somebody who is asked, again or for the first time.
  private func enrol(_ user: String, _ tables: inout Tables) {
    var member =
      membership.call[user]
      ?? CallMember(user: user, displayName: tables.devices.displayName(of: user), state: .inviting)
    (member.invitedBy, member.terms.isOriginal, member.reason) = (membership.user, false, nil)
    // Which device answered or rejected before says nothing of this ring.
    member.setActor(nil, nil)
    member.terms.isBlocking = tables.blocks.has(user, blocked: membership.user)
    tables.calls.enrol(member, in: membership.id)
  }

  /// Those who are in another call: they ring beside it, are not rung for it, or ring since an earlier invitation.
  private func busy(_ reach: [(user: String, reach: Reach)], _ tables: Tables) -> [BusyUser] {
    let new = Set(reach.filter(\.reach.isBusy).map(\.user))
    let isBusy = { (user: String) in
      new.contains(user) || membership.call[user]?.isRinging == true && tables.legs.isBusy(user)
    }
    return users.filter(isBusy).map { BusyUser(user: $0) }
  }

  private func result(_ reach: [(user: String, reach: Reach)], busy: [BusyUser]) -> CallInviteResult {
    let reaches = Dictionary(uniqueKeysWithValues: reach)
    let failed = users.compactMap { user -> InviteFailure? in
      if user == membership.user { return InviteFailure(user: user, error: ErrorObject(.cannotCallSelf)) }
      guard reaches[user]?.isUnreachable == true else { return nil }
      let error = ErrorObject(.invalidState, "No device of this user is connected.") { $0.reason = "unreachable" }
      return InviteFailure(user: user, error: error)
    }
    let isListed = { (user: String) in user != membership.user && reaches[user]?.rings ?? true }
    return CallInviteResult(invited: users.filter(isListed), busy: busy, failed: failed)
  }

  /// One change, told to those who are in, who were in, and who are asked.
  private func announce(_ rung: [String], _ listeners: [DeviceID], _ tables: inout Tables, _ step: inout Step) {
    let rev = tables.calls.bump(membership.id, &step)
    for user in rung {
      Callee(user, in: membership.id).deliver(to: tables.devices.callable(user), &tables, &step)
    }
    let asked = rung.filter { tables.calls[membership.id]?[$0]?.isHidden == false }.flatMap {
      tables.devices.callable($0)
    }
    let invited = CallInvited(callId: membership.id.text, rev: rev, inviter: membership.user, users: rung)
    step.tell(Set(listeners + asked).sorted(), .callInvited(invited))
    tables.hook(.callInvited, membership.id, user: membership.user, &step)
  }
}
