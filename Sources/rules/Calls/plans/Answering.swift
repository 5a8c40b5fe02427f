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
    let membership = try tables.membership(params.callId, device, at: now)
    if membership.isElsewhere, params.takeover != true { throw membership.outcome }
    let entry = try Entry(membership, media: params.media, push: params.push, mayTakeOver: mayTakeOver, tables)
    return serve(entry, from: device, at: now)
  }

  /// The same by somebody who is not being rung.
  /// - Throws: as `accept`, but 2004 where another device has the leg.
  public mutating func join(
    _ params: CallJoinParams, from device: DeviceID, mayTakeOver: Bool, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    let membership = try tables.membership(params.callId, device, at: now)
    if membership.isElsewhere, params.takeover != true { throw ErrorObject(.alreadyJoined) }
    let entry = try Entry(membership, media: params.media, push: nil, mayTakeOver: mayTakeOver, tables)
    return serve(entry, from: device, at: now)
  }

  /// The device that has the user's leg in a call, where it is another one.
  public func legToTakeOver(_ callId: String, by device: DeviceID) -> DeviceID? {
    guard let user = tables.devices[device]?.user, let member = tables.calls[CallID(callId)]?[user], member.isJoined,
      member.device != device
    else { return nil }
    return member.device
  }
}

/// What `call.accept` and `call.join` come to.
private struct Entry: Plan {
  private enum Way {
    case isIn
    case takeOver(from: DeviceID)
    case answer
    case comeBack
  }

  private let membership: Membership
  private let media: MediaClass?
  private let push: RawJSON?
  private let way: Way

  /// - Throws: 5001, 1005, 3003 and its kin, 3007, 3013.
  init(
    _ membership: Membership, media: MediaClass?, push: RawJSON?, mayTakeOver: Bool, _ tables: Tables
  ) throws(ErrorObject) {
    (self.membership, self.media, self.push) = (membership, media, push)
    way = try Self.way(membership, mayTakeOver, tables)
  }

  private static func way(_ membership: Membership, _ mayTakeOver: Bool, _ tables: Tables) throws(ErrorObject) -> Way {
    if membership.member.isJoined, membership.member.device == membership.device { return .isIn }
    guard !tables.isDraining else { throw ErrorObject(.draining) }
    if membership.member.isJoined {
      // After a restart nobody has the leg until they come back.
      guard let old = membership.member.device else { return .comeBack }
      guard mayTakeOver || membership.isSuccession else { throw mustShowToken }
      return .takeOver(from: old)
    }
    if membership.member.isRinging { return .answer }
    try checkReturn(membership, tables.rules)
    return .comeBack
  }

  private static var mustShowToken: ErrorObject {
    ErrorObject(.forbidden, "Show the resumeToken of the device that has the call.") { $0.reason = "resume_token" }
  }

  /// - Throws: 3003 and its kin where the call is none to come back to, 3007 for one who is not wanted, 3013.
  private static func checkReturn(_ membership: Membership, _ rules: CallRules) throws(ErrorObject) {
    guard membership.call.isGroup else { throw membership.outcome }
    guard membership.member.mayComeBack else {
      throw ErrorObject(.notInvited) { $0.reason = membership.member.state.rawValue }
    }
    try membership.call.checkSeats(rules, more: 1)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    step.setPayload(push, for: membership.id)
    switch way {
    case .isIn: step.reply(.joined(tables.calls.wire(membership.call, at: step.now)))
    case .takeOver(let old):
      Leg(membership.user, in: membership.id).takeUp(membership, from: old, &tables, &step)
      if let call = tables.calls[membership.id] { step.reply(.joined(tables.calls.wire(call, at: step.now))) }
    case .answer: Answer(membership: membership, media: media).commit(&tables, &step)
    case .comeBack: Return(membership: membership, media: media).commit(&tables, &step)
    }
  }
}

// MARK: - Answer

/// An answer to a ring: the first to answer decides, the others hear what has become of it.
struct Answer: Plan {
  let membership: Membership
  let media: MediaClass?
  /// Whether it is a start that has met the call of the one who was to be called.
  var isGlare = false

  private var id: CallID { membership.id }
  private var user: String { membership.user }
  private var device: DeviceID { membership.device }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    if let arrangement = membership.call.arrangement {
      return PickUp(answer: self, arrangement: arrangement).commit(&tables, &step)
    }
    let leg = Leg(user, in: id)
    leg.leaveOtherCall(&tables, &step)
    let listeners = tables.audience(membership.call)
    let former = tables.formerDevices(membership.call)
    let isFirst = !membership.call.isAnswered
    let isUpgrade = membership.call.isBetweenTwo && !membership.member.terms.isOriginal
    let ring = tables.calls.stopRing(user, in: id, .connecting, nil)
    leg.begin(on: device, media, &tables, &step)
    if isFirst { tables.answered(id, at: step.now) }
    // Where more follows, the answerer's reply shows the call as it is after that, and what is older must not come behind it.
    tellAccepted(isGlare && !isUpgrade ? listeners + [device] : listeners, &tables, &step)
    stopOtherDevices(ring, tables, &step)
    if membership.call.kind == .oneToMany, isFirst { stopOthers(&tables, &step) }
    // A caller who had left is in again, and all of their devices hear what follows.
    if isUpgrade, let call = tables.calls[id] {
      upgrade(from: call.kind, tables.audience(call).filter { $0 != device }, former, &tables, &step)
    }
    guard let call = tables.calls[id] else { return }
    step.emit(.seat(device, id, call.media))
    let shown = tables.calls.wire(call, at: step.now)
    step.reply(isGlare ? .started(shown, busy: [], unreachable: [], glare: true) : .joined(shown))
    step.count(.joined)
    tables.hook(.callAccepted, id, user: user, &step)
  }

  private func tellAccepted(_ listeners: [DeviceID], _ tables: inout Tables, _ step: inout Step) {
    let rev = tables.calls.bump(id, &step)
    let media = tables.calls[id]?[user]?.media ?? .audio
    step.tell(listeners, .callAccepted(CallAccepted(callId: id.text, rev: rev, user: user, media: media)))
  }

  private func stopOtherDevices(_ ring: Ring?, _ tables: Tables, _ step: inout Step) {
    let callee = Callee(user, in: id)
    callee.tellStopped(ring, .answeredElsewhere, by: user, except: device, tables, &step)
    callee.cancelPush(ring, .answeredElsewhere, tables, &step)
  }

  /// The call is between the caller and the answerer from now on. Everybody else who rings has been answered for, called at first
  /// or asked since: until now all of them were called to the same one place.
  private func stopOthers(_ tables: inout Tables, _ step: inout Step) {
    for member in tables.calls[id]?.ringing ?? [] {
      let callee = Callee(member.user, in: id)
      let ring = tables.calls.stopRing(member.user, in: id, .answeredByOther, .answeredByOther)
      callee.tellStopped(ring, .answeredByOther, by: user, tables, &step)
      callee.cancelPush(ring, .answeredByOther, tables, &step)
      callee.miss(.answeredByOther, ring, &tables, &step)
    }
  }

  /// A third member joins two: from here on it is a group. Seats and media of the two stay as they are.
  private func upgrade(
    from kind: CallKind, _ listeners: [DeviceID], _ former: [DeviceID], _ tables: inout Tables, _ step: inout Step
  ) {
    tables.calls.update(id) { $0.becomeGroup() }
    let rev = tables.calls.bump(id, &step)
    let changed = CallTypeChanged(callId: id.text, rev: rev, from: kind, to: .group)
    step.tell(Set(listeners + former).sorted(), .callTypeChanged(changed))
    // That the caller is its host goes without saying.
    tables.chooseHost(of: id, unless: membership.call.caller, to: listeners, &step)
    tables.finishMedia(id, .cancelled, &step)
    if tables.calls[id]?.state != .active { tables.activate(id, listeners, &step) }
    step.count(.upgraded)
    tables.hook(.callTypeChanged, id, &step)
  }
}

extension Tables {
  /// Somebody has answered for the first time.
  mutating func answered(_ id: CallID, at now: Now) {
    calls.update(id) { $0.answer(at: now) }
    calls.cancel(.callerGrace(id))
    // While it rang there was nobody whom the caller's media could have kept waiting.
    if let call = calls[id], call[call.caller]?.isMediaUp == false {
      Leg(call.caller, in: id).awaitMedia(&calls, rules, at: now)
    }
  }
}

// MARK: - Come back

/// Somebody takes a seat in a group without having been rung, or comes back after a restart.
struct Return: Plan {
  /// How the request is answered, with the call as it is then.
  enum Reply { case joined, started }

  let membership: Membership
  let media: MediaClass?
  var reply = Reply.joined

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let (id, user, device) = (membership.id, membership.user, membership.device)
    let leg = Leg(user, in: id)
    leg.leaveOtherCall(&tables, &step)
    let listeners = tables.audience(membership.call).filter { $0 != device }
    tables.calls.cancel(.absence(id, user))
    tables.calls.update(user, in: id) { ($0.state, $0.reason) = (.connecting, nil) }
    leg.begin(on: device, media, since: membership.member.isJoined ? membership.member.joinedAt : nil, &tables, &step)
    if tables.calls[id]?.isAnswered == false, user != membership.call.caller { tables.answered(id, at: step.now) }
    tables.tellMember(user, in: id, to: listeners, &step) { .memberState($0) }
    if let call = tables.calls[id] {
      step.emit(.seat(device, id, call.media))
      step.reply(answer(call, tables, at: step.now))
    }
    step.count(.joined)
    tables.hook(.callAccepted, id, user: user, &step)
  }

  private func answer(_ call: LiveCall, _ tables: Tables, at now: Now) -> CallReply {
    switch reply {
    case .joined: .joined(tables.calls.wire(call, at: now))
    case .started: tables.startedAgain(call, at: now)
    }
  }
}
