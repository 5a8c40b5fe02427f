// call.start: one call rings for everybody it is meant for, or nothing changes.

import Basics
import RoostProtocol

extension Switchboard {
  /// Starts a call as `id`, unless the caller has named one that exists, or the callee is just calling him.
  /// - Throws: −32602, 5001, 3012, 3014, 3011, 5002; 3002 and 2004 where the named call is over or on another device.
  public mutating func start(
    _ params: CallStartParams, as id: CallID, from device: DeviceID, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try step(now, actor: device) { board throws(ErrorObject) in try board.start(params, id, device) }
  }

  private mutating func start(_ params: CallStartParams, _ id: CallID, _ device: DeviceID) throws(ErrorObject) {
    let user = try user(of: device)
    if let known = call(named: params.clientCallId, by: user) { return try startAgain(known, device) }
    let callees = try callees(params, of: user)
    let policies = try CallPolicies(params)
    guard !isDraining else { throw ErrorObject(.draining) }
    let limit = rules.seats(params.media)
    guard callees.count < limit else { throw .limit(.tooManyInvitees, limit: limit, count: callees.count + 1) }
    if legs[user] != nil, params.replace != true { throw selfBusy(user) }
    if let other = glare(params, callees, user) { return try meet(other, params, device) }
    guard calls.count < rules.maxCalls else { throw ErrorObject(.overloaded) }
    if let old = legs[user] { depart(user, from: old, LegEnd(reason: .switchedCall)) }
    handOn(params.push, id)
    place(LiveCall(params, id, number: makeNumber(), policies, caller: user, at: now), callees, device)
    open(id, params, callees, device)
  }

  private func selfBusy(_ user: String) -> ErrorObject {
    ErrorObject(.selfBusy) { $0.reason = legs[user]?.text }
  }

  /// Everybody once, and not oneself.
  private func callees(_ params: CallStartParams, of user: String) throws(ErrorObject) -> [String] {
    let callees = unique(params.to, except: user)
    guard !callees.isEmpty else { throw ErrorObject(.cannotCallSelf) }
    if params.kind == .oneToOne, callees.count > 1 { throw .parameter("to", expected: "one user for one_to_one") }
    return callees
  }

  /// The first of each, in order.
  func unique(_ users: [String], except: String? = nil) -> [String] {
    var seen = Set([except].compactMap(\.self))
    return users.filter { seen.insert($0).inserted }
  }

  // MARK: - The same call twice

  /// The call that a user has given this name, if it runs or still says what became of it. Otherwise the name is free.
  func call(named name: String?, by user: String) -> CallID? {
    guard let id = name.flatMap({ named[ClientCall(user: user, clientCallId: $0)] }) else { return nil }
    return isRunning(id) || archive.tombstone(id, at: now) != nil ? id : nil
  }

  private mutating func startAgain(_ id: CallID, _ device: DeviceID) throws(ErrorObject) {
    let place = try place(id.text, device)
    guard place.member.isJoined else { throw ErrorObject(.notInCall) }
    let answer = { (board: Switchboard, call: LiveCall) in
      let busy = call.members.filter { $0.state == .busy || $0.isRinging && board.isBusy($0.user) }.map(\.user)
      let unreachable = call.members.filter { $0.state == .unreachable }.map(\.user)
      return CallReply.started(board.wire(call), busy: busy, unreachable: unreachable, glare: false)
    }
    // After a restart nobody has the leg until he comes back.
    guard place.member.device != nil else { return comeBack(place, nil, answer) }
    guard place.member.device == device || place.isSuccession else { throw ErrorObject(.alreadyJoined) }
    if place.isSuccession, let old = place.member.device { takeUp(place, from: old) }
    reply(answer(self, calls[id] ?? place.call))
  }

  /// The call that one calls back while it rings.
  private func glare(_ params: CallStartParams, _ callees: [String], _ user: String) -> LiveCall? {
    guard params.kind == .oneToOne, let callee = callees.first else { return nil }
    return ringingCalls(of: user).first { $0.kind == .oneToOne && $0.caller == callee && !$0.isAnswered }
  }

  /// Both call each other: the second start is an accept of the first.
  private mutating func meet(_ call: LiveCall, _ params: CallStartParams, _ device: DeviceID) throws(ErrorObject) {
    let user = try user(of: device)
    if let name = params.clientCallId.map({ ClientCall(user: user, clientCallId: $0) }) {
      named[name] = call.id
      calls[call.id]?.glareName = name
    }
    let place = try place(call.id.text, device)
    handOn(params.push, call.id)
    answer(place, media: params.media, isGlare: true)
  }

  // MARK: - A new call

  private mutating func place(_ call: LiveCall, _ callees: [String], _ device: DeviceID) {
    var call = call
    var caller = CallMember(user: call.caller, displayName: devices[device]?.displayName, state: .joined)
    (caller.media, caller.device, caller.joinedAt) = (call.media, device, now.wallMilliseconds)
    (caller.actor, caller.terms.actorName) = (device, devices[device]?.name)
    call[call.caller] = caller
    for callee in callees {
      var member = CallMember(user: callee, displayName: displayName(callee), state: .inviting)
      member.terms.isOriginal = true
      call[callee] = member
    }
    calls[call.id] = call
    setLeg(call.caller, call.id)
    beginLeg(on: device)
    for user in call.order { memberships[user, default: []].insert(call.id) }
    if let name = call.clientCallId { named[ClientCall(user: call.caller, clientCallId: name)] = call.id }
    touched.insert(call.id)
  }

  /// What somebody is called on his first device.
  func displayName(_ user: String) -> String? {
    devicesByUser[user]?.first.flatMap { devices[$0]?.displayName }
  }

  private mutating func open(_ id: CallID, _ params: CallStartParams, _ callees: [String], _ device: DeviceID) {
    let reach = reaches(callees, busy: calls[id]?.busyPolicy ?? .reject)
    let time = rules.ringTime(params.ringTimeoutMs)
    guard let caller = calls[id]?.caller else { return }
    for (user, reach) in reach where reach.rings {
      begin(user, in: id, for: time, from: caller, inProgress: false, params.extra, params.push)
    }
    guard let call = calls[id] else { return }
    effects.append(.seat(device, id, call.media))
    reply(
      .started(
        wire(call), busy: reach.filter { $0.reach.isBusy }.map(\.user),
        unreachable: reach.filter { $0.reach == .unreachable }.map(\.user), glare: false))
    tell(devicesByUser[caller]?.filter { $0 != device } ?? [], .callCreated(CallEvent(call: wire(call))))
    count(.started(call.kind))
    hook(.callStarted, id, user: caller)
    for (user, reach) in reach where reach.rings { ring(user, in: id, on: callable(user)) }
    for (user, reach) in reach { reached(user, in: id, reach) }
  }
}

extension LiveCall {
  fileprivate init(
    _ params: CallStartParams, _ id: CallID, number: UInt64, _ policies: CallPolicies, caller: String, at now: Now
  ) {
    let isGroup = params.kind == .group
    self.init(
      id: id, number: number, kind: params.kind, media: params.media, policies: policies,
      state: isGroup ? .active : .ringing, caller: caller, extra: params.extra,
      clientCallId: params.clientCallId, createdAt: now.wallMilliseconds)
    if isGroup { startedAt = createdAt }
  }
}
