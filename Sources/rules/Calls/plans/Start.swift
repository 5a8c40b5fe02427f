// call.start: one call rings for everybody it is meant for, or nothing changes.

import Basics
import RoostProtocol

extension Switchboard {
  /// Starts a call as `id`, unless the caller has named one that exists, or the callee is just calling the caller.
  /// - Throws: −32602, 5001, 3012, 3014, 3011, 1006, 5002; 3002 and 2004 where the named call is over or on another device.
  public mutating func start(
    _ params: CallStartParams, as id: CallID, from device: DeviceID, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    serve(try Start(params, as: id, from: device, tables, at: now), from: device, at: now)
  }
}

/// What `call.start` comes to.
private enum Start: Plan {
  case new(NewCall)
  case meet(Meeting)
  case again(StartAgain)

  init(
    _ params: CallStartParams, as id: CallID, from device: DeviceID, _ tables: Tables, at now: Now
  ) throws(ErrorObject) {
    let user = try tables.devices.user(of: device)
    if let known = tables.call(named: params.clientCallId, by: user, at: now) {
      self = .again(try StartAgain(known, device, tables, at: now))
      return
    }
    let callees = try params.callees(of: user)
    let policies = try CallPolicies(params)
    guard !tables.isDraining else { throw ErrorObject(.draining) }
    let limit = tables.rules.seats(params.media)
    guard callees.count < limit else { throw .limit(.tooManyInvitees, limit: limit, count: callees.count + 1) }
    if let old = tables.legs[user], params.replace != true { throw ErrorObject(.selfBusy) { $0.reason = old.text } }
    if let other = tables.calls.met(by: user, calling: callees) {
      self = .meet(Meeting(params, membership: try tables.membership(other.id.text, device, at: now)))
      return
    }
    let tooOften = try tables.rungTooOften(callees, by: user, at: now)
    guard tables.calls.count < tables.rules.maxCalls else { throw .full(of: "calls", limit: tables.rules.maxCalls) }
    self = .new(
      NewCall(
        params: params, id: id, user: user, device: device, callees: callees, tooOften: tooOften, policies: policies))
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    switch self {
    case .new(let plan): plan.commit(&tables, &step)
    case .meet(let plan): plan.commit(&tables, &step)
    case .again(let plan): plan.commit(&tables, &step)
    }
  }
}

extension CallStartParams {
  /// Whom a user calls with it: everybody once, and not oneself.
  /// - Throws: 3012 where nobody is left, −32602 where the kind has one and there are more.
  func callees(of user: String) throws(ErrorObject) -> [String] {
    let callees = to.unique(except: user)
    guard !callees.isEmpty else { throw ErrorObject(.cannotCallSelf) }
    if kind == .oneToOne, callees.count > 1 { throw .parameter("to", expected: "one user for one_to_one") }
    return callees
  }
}

extension CallTable {
  /// The call that a start calls back while it rings: one of the other's, of whatever kind. Who calls several calls nobody back. One that
  /// the other is in goes before one that a server has arranged: in that they would be busy.
  func met(by user: String, calling callees: [String]) -> LiveCall? {
    guard callees.count == 1, let other = callees.first else { return nil }
    let rings = ringing(user).filter { $0.rings(user, for: other) }
    return rings.first { $0.arrangement == nil } ?? rings.first
  }
}

extension Switchboard {
  /// The call that a start is an answer to: it rings for the device's user, and a seat is held for them.
  public func met(by params: CallStartParams, from device: DeviceID) -> CallID? {
    guard let user = tables.devices[device]?.user else { return nil }
    return tables.calls.met(by: user, calling: params.to.unique(except: user))?.id
  }

  /// The call that a start leads into, where it makes none: one of this name that its user is in, or else one that it is an answer to.
  public func entered(by params: CallStartParams, from device: DeviceID) -> CallID? {
    guard let user = tables.devices[device]?.user, let name = params.clientCallId,
      let id = tables.calls.named(ClientCall(user: user, clientCallId: name)), let call = tables.calls[id]
    else { return met(by: params, from: device) }
    return call[user]?.isJoined == true ? id : nil
  }
}

// MARK: - The same call twice

/// Somebody calls back who is being called: their start is an accept.
private struct Meeting: Plan {
  private let name: ClientCall?
  private let push: RawJSON?
  private let answer: Answer

  init(_ params: CallStartParams, membership: Membership) {
    name = params.clientCallId.map { ClientCall(user: membership.user, clientCallId: $0) }
    push = params.push
    answer = Answer(membership: membership, media: params.media, isGlare: true)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let id = answer.membership.id
    if let name { tables.calls.claim(name, ofGlareIn: id) }
    step.setPayload(push, for: id)
    answer.commit(&tables, &step)
  }
}

/// A start of a call that exists under its caller's name, by somebody who is in it.
private struct StartAgain: Plan {
  private let membership: Membership

  /// - Throws: 3002 and its kin; 3006 for one who is not in it, 2004 where another device has the leg.
  init(_ id: CallID, _ device: DeviceID, _ tables: Tables, at now: Now) throws(ErrorObject) {
    membership = try tables.membership(id.text, device, at: now)
    guard membership.member.isJoined else { throw ErrorObject(.notInCall) }
    guard !membership.isElsewhere else { throw ErrorObject(.alreadyJoined) }
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    // After a restart nobody has the leg until they come back.
    guard let old = membership.member.device else {
      return Return(membership: membership, media: nil, reply: .started).commit(&tables, &step)
    }
    if membership.isSuccession { Leg(membership.user, in: membership.id).takeUp(membership, from: old, &tables, &step) }
    step.reply(tables.startedAgain(tables.calls[membership.id] ?? membership.call, at: step.now))
  }
}

extension CallMember {
  /// Somebody whom a call is meant for, before they are rung.
  init(callee user: String, of caller: String, _ tables: Tables) {
    self.init(user: user, displayName: tables.devices.displayName(of: user), state: .inviting)
    terms.isOriginal = true
    terms.isBlocking = tables.blocks.has(user, blocked: caller)
  }
}

extension Tables {
  /// The reply to a start of a call that runs already.
  func startedAgain(_ call: LiveCall, at now: Now) -> CallReply {
    let busy = call.members.filter { $0.state == .busy || $0.isRinging && legs.isBusy($0.user) }.map(\.user)
    let unreachable = call.members.filter { $0.state == .unreachable }.map(\.user)
    return .started(calls.wire(call, at: now), busy: busy, unreachable: unreachable, glare: false)
  }
}

// MARK: - A new call

/// A call that is yet to be.
private struct NewCall: Plan {
  let params: CallStartParams
  let id: CallID
  let user: String
  let device: DeviceID
  let callees: [String]
  /// Those among them whom others ring too often.
  let tooOften: Set<String>
  let policies: CallPolicies

  func commit(_ tables: inout Tables, _ step: inout Step) {
    if let old = tables.legs[user] {
      Leg(user, in: old).depart(LegEnd(reason: .switchedCall), &tables, &step)
    }
    tables.count(rings: callees, by: user, at: step.now)
    step.setPayload(params.push, for: id)
    placeCall(&tables, &step)
    open(&tables, &step)
  }

  private func placeCall(_ tables: inout Tables, _ step: inout Step) {
    var call = call(number: tables.calls.makeNumber(), at: step.now)
    call.put(caller(tables.devices, at: step.now))
    for callee in callees { call.put(CallMember(callee: callee, of: user, tables)) }
    tables.calls.add(call)
    tables.legs.set(user, id, &step)
    tables.devices.beginLeg(on: device)
    step.touch(id)
  }

  private func call(number: UInt64, at now: Now) -> LiveCall {
    let isGroup = params.kind == .group
    let origin = CallOrigin(
      id: id, number: number, caller: user, extra: params.extra, clientCallId: params.clientCallId,
      createdAt: now.wallMilliseconds)
    var call = LiveCall(
      origin, kind: params.kind, media: params.media, policies: policies, state: isGroup ? .active : .ringing)
    if isGroup { call.startedAt = origin.createdAt }
    return call
  }

  private func caller(_ devices: DeviceTable, at now: Now) -> CallMember {
    var caller = CallMember(user: user, displayName: devices[device]?.displayName, state: .joined)
    (caller.media, caller.joinedAt) = (params.media, now.wallMilliseconds)
    caller.beginLeg(on: device, devices[device]?.name)
    caller.isHost = params.kind == .group
    return caller
  }

  private func open(_ tables: inout Tables, _ step: inout Step) {
    let rings = Rings(
      id, tables.reaches(callees, from: user, busy: policies.busy, except: tooOften))
    rings.begin(RingRequest(params, from: user, tables.rules), &tables.calls, at: step.now)
    guard let call = tables.calls[id] else { return }
    let shown = tables.calls.wireAsItStays(call, at: step.now)
    step.emit(.seat(device, id, call.media))
    step.reply(.started(shown, busy: rings.busy, unreachable: rings.unreachable, glare: false))
    step.tell(tables.devices.hearing(of: user).filter { $0 != device }, .callCreated(CallEvent(call: shown)))
    step.count(.started(call.kind))
    tables.hook(.callStarted, id, user: user, &step)
    rings.deliver(&tables, &step)
  }
}

/// The rings of those whom a call is meant for, as its caller comes into it.
struct Rings {
  private let id: CallID
  private let reach: [(user: String, reach: Reach)]

  init(_ id: CallID, _ reach: [(user: String, reach: Reach)]) { (self.id, self.reach) = (id, reach) }

  /// Begins them. Nobody is told before `deliver`.
  func begin(_ request: RingRequest, _ calls: inout CallTable, at now: Now) {
    for (user, reach) in reach { Callee(user, in: id).begin(request, reach, &calls, at: now) }
  }

  /// Those among them who are in another call.
  var busy: [String] { reach.filter { $0.reach.isBusy }.map(\.user) }
  /// Those without a device.
  var unreachable: [String] { reach.filter(\.reach.isUnreachable).map(\.user) }

  /// Rings their devices, and says what becomes of who cannot be rung.
  func deliver(_ tables: inout Tables, _ step: inout Step) {
    for (user, reach) in reach where reach.rings {
      Callee(user, in: id).deliver(to: tables.devices.callable(user), &tables, &step)
    }
    for (user, reach) in reach { Callee(user, in: id).reached(reach, &tables, &step) }
  }
}

extension RingRequest {
  /// What a call rings with that begins now.
  init(_ params: CallStartParams, from user: String, _ rules: CallRules) {
    self.init(
      from: user, inProgress: false, time: rules.ringTime(params.ringTimeoutMs), extra: params.extra,
      push: params.push)
  }
}
