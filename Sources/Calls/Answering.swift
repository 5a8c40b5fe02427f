// call.accept and call.join: the first to answer, everybody who comes (back) to a group, a leg that changes its device.

import Basics
import RoostProtocol

extension Switchboard {
  /// Answers a ring, or joins a group that one was in or invited to.
  /// - Parameter mayTakeOver: whether the device has shown that it may take the place of the user's other device.
  /// - Throws: 3001, 3002, 3007, 5001; 3004, 3005 or 3003 with what has become of the ring; 3013 without a free seat; 1005.
  public mutating func accept(
    _ params: CallAcceptParams, from device: DeviceID, mayTakeOver: Bool, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.place(params.callId, device)
      if place.isElsewhere, params.takeover != true { throw board.outcome(place) }
      board.handOn(params.push, place.id)
      try board.enter(place, media: params.media, isTakeover: mayTakeOver)
    }
  }

  /// The same by somebody who is not being rung.
  /// - Throws: as `accept`, but 2004 where another device has the leg.
  public mutating func join(
    _ params: CallJoinParams, from device: DeviceID, mayTakeOver: Bool, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.place(params.callId, device)
      if place.isElsewhere, params.takeover != true { throw ErrorObject(.alreadyJoined) }
      try board.enter(place, media: params.media, isTakeover: mayTakeOver)
    }
  }

  /// The device that has the user's leg in a call, where it is another one.
  public func legToTakeOver(_ callId: String, by device: DeviceID) -> DeviceID? {
    guard let user = devices[device]?.user, let member = calls[CallID(callId)]?[user], member.isJoined,
      member.device != device
    else { return nil }
    return member.device
  }

  private mutating func enter(_ place: Place, media: MediaClass?, isTakeover: Bool) throws(ErrorObject) {
    if place.member.isJoined, place.member.device == place.device { return reply(.joined(wire(place.call))) }
    guard !isDraining else { throw ErrorObject(.draining) }
    if place.member.isJoined {
      if place.member.device == nil { return comeBack(place, media) }
      return try takeOver(place, isTakeover || place.isSuccession)
    }
    if place.member.isRinging { return answer(place, media: media) }
    try checkReturn(place)
    comeBack(place, media)
  }

  // MARK: - Answer

  /// The commit of an answer: the first to answer decides, the rest hears what has become of it.
  mutating func answer(_ place: Place, media: MediaClass?, isGlare: Bool = false) {
    let (id, user, device) = (place.id, place.user, place.device)
    switchCalls(user, to: id)
    let listeners = audience(place.call)
    let former = formerDevices(place.call)
    let isFirst = !place.call.isAnswered
    let isUpgrade = place.call.isBetweenTwo && !place.member.terms.isOriginal
    let ring = stopRing(user, in: id, .connecting, nil)
    sit(user, on: device, in: id, media)
    if isFirst { answered(id) }
    let rev = bump(id)
    let accepted = CallAccepted(callId: id.text, rev: rev, user: user, media: calls[id]?[user]?.media ?? .audio)
    // Where more follows, his reply shows the call as it is after that, and what is older must not come behind it.
    tell(isGlare && !isUpgrade ? listeners + [device] : listeners, .callAccepted(accepted))
    let others = (ring?.devices ?? []).filter { $0 != device }.sorted()
    tellStopped(others, id, rev: rev, .answeredElsewhere, by: user)
    cancelPush(user, in: id, ring, .answeredElsewhere)
    if place.call.kind == .oneToMany, isFirst { stopOthers(id, rev: rev, by: user) }
    // A caller who had left is in again, and all of his devices hear what follows.
    if isUpgrade, let call = calls[id] { upgrade(id, audience(call).filter { $0 != device }, former) }
    seat(device, id)
    guard let call = calls[id] else { return }
    reply(
      isGlare ? .started(wire(call), busy: [], unreachable: [], glare: true) : .joined(wire(call)))
    count(.joined)
    hook(.callAccepted, id, user: user)
  }

  private mutating func answered(_ id: CallID) {
    calls[id]?.answered = now
    if calls[id]?.state == .ringing { calls[id]?.state = .connecting }
    deadlines.cancel(.callerGrace(id))
    // While it rang there was nobody whom the caller's media could have kept waiting.
    if let call = calls[id], call[call.caller]?.isMediaUp == false { awaitMedia(of: call.caller, in: id) }
  }

  /// The call is between the caller and him from now on. Whoever else rings has been answered for, called at first or asked
  /// since: until now all of them were called to the same one place.
  private mutating func stopOthers(_ id: CallID, rev: Int, by user: String) {
    for member in calls[id]?.ringing ?? [] {
      let ring = stopRing(member.user, in: id, .answeredByOther, .answeredByOther)
      tellStopped(ring?.devices.sorted() ?? [], id, rev: rev, .answeredByOther, by: user)
      cancelPush(member.user, in: id, ring, .answeredByOther)
      miss(member.user, in: id, .answeredByOther, ring)
    }
  }

  /// A third one joins two: from here on it is a group. Seats and media of the two stay as they are.
  private mutating func upgrade(_ id: CallID, _ listeners: [DeviceID], _ former: [DeviceID]) {
    guard let from = calls[id]?.kind else { return }
    let policies = CallPolicies(busy: .ring)
    calls[id]?.kind = .group
    calls[id]?.answerPolicy = policies.answer
    calls[id]?.rejectPolicy = policies.reject
    calls[id]?.departure = nil
    let changed = CallTypeChanged(callId: id.text, rev: bump(id), from: from, to: .group)
    tell(Set(listeners + former).sorted(), .callTypeChanged(changed))
    dropMediaChange(id)
    if calls[id]?.state != .active { activate(id, listeners) }
    count(.upgraded)
    hook(.callTypeChanged, id)
  }

  /// People talk from now on.
  mutating func activate(_ id: CallID, _ listeners: [DeviceID]) {
    calls[id]?.state = .active
    calls[id]?.startedAt = now.wallMilliseconds
    for member in calls[id]?.joined ?? [] where member.isMediaUp {
      calls[id]?[member.user]?.state = .joined
      deadlines.cancel(.connect(id, member.user))
    }
    tell(listeners, .callActive(CallActive(callId: id.text, rev: bump(id), startedAt: now.wallMilliseconds)))
    hook(.callActive, id)
  }

  // MARK: - Come back

  /// - Throws: 3003 and its kin where the call is none to come back to, 3007 for one who is not wanted, 3013.
  private func checkReturn(_ place: Place) throws(ErrorObject) {
    guard place.call.isGroup else { throw outcome(place) }
    guard place.member.mayComeBack else {
      throw ErrorObject(.notInvited) { $0.reason = place.member.state.rawValue }
    }
    try checkSeats(place.call, more: 1)
  }

  /// - Throws: 3013 when there are not so many seats more.
  func checkSeats(_ call: LiveCall, more: Int, media: MediaClass? = nil) throws(ErrorObject) {
    let limit = rules.seats(media ?? call.media)
    guard call.held + more > limit else { return }
    throw ErrorObject(.callFull) {
      ($0.limit, $0.joined, $0.ringing) = (limit, call.joined.count, call.ringing.count)
    }
  }

  /// Takes a seat in a group without having been rung. `answer` is the reply, of the call as it is then.
  mutating func comeBack(
    _ place: Place, _ media: MediaClass?, _ answer: (Switchboard, LiveCall) -> CallReply = { .joined($0.wire($1)) }
  ) {
    let (id, user) = (place.id, place.user)
    switchCalls(user, to: id)
    let listeners = audience(place.call).filter { $0 != place.device }
    deadlines.cancel(.absence(id, user))
    calls[id]?[user]?.state = .connecting
    calls[id]?[user]?.reason = nil
    sit(user, on: place.device, in: id, media)
    if calls[id]?.isAnswered == false, user != place.call.caller { answered(id) }
    tellMember(user, in: id, to: listeners) { .memberState($0) }
    seat(place.device, id)
    if let call = calls[id] { reply(answer(self, call)) }
    count(.joined)
    hook(.callAccepted, id, user: user)
  }

  // MARK: - The leg

  private mutating func sit(_ user: String, on device: DeviceID, in id: CallID, _ media: MediaClass?) {
    guard var member = calls[id]?[user], let carried = calls[id]?.media else { return }
    (member.device, member.actor, member.terms.actorName) = (device, device, devices[device]?.name)
    member.displayName = devices[device]?.displayName ?? member.displayName
    member.media = carried == .audio ? .audio : media ?? carried
    (member.joinedAt, member.leftAt) = (now.wallMilliseconds, nil)
    member.terms.answered = member.terms.answered ?? now
    (member.isMediaUp, member.isLost) = (false, false)
    calls[id]?[user] = member
    setLeg(user, id)
    beginLeg(on: device)
    awaitMedia(of: user, in: id)
  }

  /// A leg begins on a device. What was lost of the one before is not lost of this one.
  mutating func beginLeg(on device: DeviceID) { devices[device]?.isMediaLost = false }

  /// From here on a leg has `connectTimeout` for its media to come up.
  private mutating func awaitMedia(of user: String, in id: CallID) {
    deadlines.set(.connect(id, user), at: now.instant + rules.connectTimeout)
  }

  private mutating func seat(_ device: DeviceID, _ id: CallID) {
    if let media = calls[id]?.media { effects.append(.seat(device, id, media)) }
  }

  /// Leaves the call that the user is in for another one.
  private mutating func switchCalls(_ user: String, to id: CallID) {
    if let other = legs[user], other != id { depart(user, from: other, LegEnd(reason: .switchedCall)) }
  }

  /// Another device of the user gets his leg. There is one seat all the time.
  private mutating func takeOver(_ place: Place, _ isAllowed: Bool) throws(ErrorObject) {
    guard let old = place.member.device else { throw ErrorObject(.internalError) }
    guard isAllowed else {
      throw ErrorObject(.forbidden, "Show the resumeToken of the device that has the call.") {
        $0.reason = "resume_token"
      }
    }
    takeUp(place, from: old)
    if let call = calls[place.id] { reply(.joined(wire(call))) }
  }

  /// The leg that `old` had is the acting device's from now on.
  mutating func takeUp(_ place: Place, from old: DeviceID) {
    let (id, user) = (place.id, place.user)
    let listeners = audience(place.call).filter { $0 != old && $0 != place.device }
    var member = place.member
    (member.device, member.actor, member.terms.actorName) = (place.device, place.device, devices[place.device]?.name)
    (member.isMediaUp, member.isLost) = (false, false)
    calls[id]?[user] = member
    beginLeg(on: place.device)
    if place.call.isAnswered { awaitMedia(of: user, in: id) }
    tellMember(user, in: id, to: listeners) { .memberState($0) }
    tellStopped([old], id, rev: calls[id]?.rev ?? 0, .replaced, by: user)
    effects.append(.moveSeat(from: old, to: place.device))
  }
}
