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
    let place = try tables.place(params.callId, device, at: now)
    if place.isElsewhere, params.takeover != true { throw place.outcome }
    let entry = try Entry(place, media: params.media, push: params.push, mayTakeOver: mayTakeOver, tables)
    return serve(entry, from: device, at: now)
  }

  /// The same by somebody who is not being rung.
  /// - Throws: as `accept`, but 2004 where another device has the leg.
  public mutating func join(
    _ params: CallJoinParams, from device: DeviceID, mayTakeOver: Bool, at now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    let place = try tables.place(params.callId, device, at: now)
    if place.isElsewhere, params.takeover != true { throw ErrorObject(.alreadyJoined) }
    let entry = try Entry(place, media: params.media, push: nil, mayTakeOver: mayTakeOver, tables)
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

  private let place: Place
  private let media: MediaClass?
  private let push: JSONValue?
  private let way: Way

  /// - Throws: 5001, 1005, 3003 and its kin, 3007, 3013.
  init(
    _ place: Place, media: MediaClass?, push: JSONValue?, mayTakeOver: Bool, _ tables: Tables
  ) throws(ErrorObject) {
    (self.place, self.media, self.push) = (place, media, push)
    way = try Self.way(place, mayTakeOver, tables)
  }

  private static func way(_ place: Place, _ mayTakeOver: Bool, _ tables: Tables) throws(ErrorObject) -> Way {
    if place.member.isJoined, place.member.device == place.device { return .isIn }
    guard !tables.isDraining else { throw ErrorObject(.draining) }
    if place.member.isJoined {
      // After a restart nobody has the leg until they come back.
      guard let old = place.member.device else { return .comeBack }
      guard mayTakeOver || place.isSuccession else { throw mustShowToken }
      return .takeOver(from: old)
    }
    if place.member.isRinging { return .answer }
    try checkReturn(place, tables.rules)
    return .comeBack
  }

  private static var mustShowToken: ErrorObject {
    ErrorObject(.forbidden, "Show the resumeToken of the device that has the call.") { $0.reason = "resume_token" }
  }

  /// - Throws: 3003 and its kin where the call is none to come back to, 3007 for one who is not wanted, 3013.
  private static func checkReturn(_ place: Place, _ rules: CallRules) throws(ErrorObject) {
    guard place.call.isGroup else { throw place.outcome }
    guard place.member.mayComeBack else {
      throw ErrorObject(.notInvited) { $0.reason = place.member.state.rawValue }
    }
    try place.call.checkSeats(rules, more: 1)
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    step.setPayload(push, for: place.id)
    switch way {
    case .isIn: step.reply(.joined(tables.calls.wire(place.call, at: step.now)))
    case .takeOver(let old):
      Leg(place.user, in: place.id).takeUp(place, from: old, &tables, &step)
      if let call = tables.calls[place.id] { step.reply(.joined(tables.calls.wire(call, at: step.now))) }
    case .answer: Answer(place: place, media: media).commit(&tables, &step)
    case .comeBack: Return(place: place, media: media).commit(&tables, &step)
    }
  }
}

// MARK: - Answer

/// An answer to a ring: the first to answer decides, the others hear what has become of it.
struct Answer: Plan {
  let place: Place
  let media: MediaClass?
  /// Whether it is a start that has met the call of the one who was to be called.
  var isGlare = false

  private var id: CallID { place.id }
  private var user: String { place.user }
  private var device: DeviceID { place.device }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let leg = Leg(user, in: id)
    leg.leaveOtherCall(&tables, &step)
    let listeners = tables.audience(place.call)
    let former = tables.formerDevices(place.call)
    let isFirst = !place.call.isAnswered
    let isUpgrade = place.call.isBetweenTwo && !place.member.terms.isOriginal
    let ring = tables.calls.stopRing(user, in: id, .connecting, nil)
    leg.begin(on: device, media, &tables, &step)
    if isFirst { tables.answered(id, at: step.now) }
    // Where more follows, the answerer's reply shows the call as it is after that, and what is older must not come behind it.
    tellAccepted(isGlare && !isUpgrade ? listeners + [device] : listeners, &tables, &step)
    stopOtherDevices(ring, tables, &step)
    if place.call.kind == .oneToMany, isFirst { stopOthers(&tables, &step) }
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
    tables.chooseHost(of: id, unless: place.call.caller, to: listeners, &step)
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
      Leg(call.caller, in: id).awaitMedia(&self, at: now)
    }
  }
}

// MARK: - Come back

/// Somebody takes a seat in a group without having been rung, or comes back after a restart.
struct Return: Plan {
  /// How the request is answered, with the call as it is then.
  enum Reply { case joined, started }

  let place: Place
  let media: MediaClass?
  var reply = Reply.joined

  func commit(_ tables: inout Tables, _ step: inout Step) {
    let (id, user, device) = (place.id, place.user, place.device)
    let leg = Leg(user, in: id)
    leg.leaveOtherCall(&tables, &step)
    let listeners = tables.audience(place.call).filter { $0 != device }
    tables.calls.cancel(.absence(id, user))
    tables.calls.update(user, in: id) { ($0.state, $0.reason) = (.connecting, nil) }
    leg.begin(on: device, media, since: place.member.isJoined ? place.member.joinedAt : nil, &tables, &step)
    if tables.calls[id]?.isAnswered == false, user != place.call.caller { tables.answered(id, at: step.now) }
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
