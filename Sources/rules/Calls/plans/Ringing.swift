// A callee's ring: how they can be reached, delivery, acknowledgement, and what follows when nobody can be reached.

import Basics
import RoostProtocol

/// How a user can be reached who is to be rung.
enum Reach: Equatable {
  /// A device is connected, or may come back in a moment, or phones can be woken.
  case ringing
  /// The same, and the user is in another call.
  case waiting
  /// In another call, or too many ring already.
  case busy
  case unreachable
  /// Others ring them too often. To who asks it looks as if they were unreachable, and they are not disturbed.
  case tooOften

  var rings: Bool { self == .ringing || self == .waiting }
  var isBusy: Bool { self == .busy || self == .waiting }
  var isUnreachable: Bool { self == .unreachable || self == .tooOften }
}

extension Tables {
  /// Whoever is blocked is told what others are told: their rings, which the user does not hear, are as many at once.
  private func reach(_ user: String, from caller: String, busy policy: BusyPolicy) -> Reach {
    let rings = blocks.has(user, blocked: caller) ? calls.hiddenRings(user) : calls.ringing(user).count
    if rings >= rules.maxRings { return .busy }
    let isBusy = legs.isBusy(user)
    if isBusy, policy == .reject { return .busy }
    guard rules.hasPush || !devices.callable(user).isEmpty else { return .unreachable }
    return isBusy ? .waiting : .ringing
  }

  func reaches(
    _ users: [String], from caller: String, busy policy: BusyPolicy, except tooOften: Set<String>
  ) -> [(user: String, reach: Reach)] {
    users.map { ($0, tooOften.contains($0) ? .tooOften : reach($0, from: caller, busy: policy)) }
  }
}

/// What a caller or inviter asks for, of everybody who is rung with one request.
struct RingRequest {
  let from: String
  /// Whether others talk already.
  let inProgress: Bool
  /// How long it rings.
  let time: TimeDelta
  /// What is sent along; opaque.
  let extra: RawJSON?
  let push: RawJSON?

  fileprivate func terms(at now: Now) -> RingTerms {
    RingTerms(
      from: from, inProgress: inProgress, extra: extra, push: push, startedAt: now.wallMilliseconds,
      expiresAt: now.wallMilliseconds + time.milliseconds)
  }
}

/// One user who is asked into one call, and what becomes of their ring. The call's state is in the tables.
struct Callee {
  let user: String
  let id: CallID

  init(_ user: String, in id: CallID) { (self.user, self.id) = (user, id) }

  /// Whether the user hears nothing of it, as they have blocked who asks them. It looks as if nobody looked at the phone.
  func isHidden(_ tables: Tables) -> Bool { tables.calls[id]?[user]?.isHidden ?? false }

  /// The ring, while there is one.
  func ring(_ tables: Tables) -> Ring? { tables.calls[id]?[user]?.ring }

  /// Begins the ring, and the clock runs from here; or the user is what they stay, as they are not to be rung. The call is seen so from
  /// its first word on, and what `reached` tells is no news of it.
  func begin(_ request: RingRequest, _ reach: Reach, _ calls: inout CallTable, at now: Now) {
    switch reach {
    case .ringing, .waiting:
      calls.beginRing(user, in: id, request.terms(at: now), until: now.instant + request.time)
    case .busy: calls.update(user, in: id) { ($0.state, $0.reason) = (.busy, .busy) }
    case .unreachable, .tooOften:
      calls.update(user, in: id) { ($0.state, $0.reason) = (.unreachable, .unreachable) }
    }
  }

  /// Delivers the ring to these devices, those among them that take calls and were not told to be silent.
  func deliver(to devices: [DeviceID], _ tables: inout Tables, _ step: inout Step) {
    guard !isHidden(tables), let call = tables.calls[id], let ring = call[user]?.ring else { return }
    let incoming = CallIncoming(
      call: tables.calls.wire(call, for: user, at: step.now), from: ring.terms.from,
      inProgress: ring.terms.inProgress, waiting: tables.legs.isBusy(user))
    let targets = tables.devices.targets(of: ring, among: devices)
    tables.calls.update(user, in: id) { $0.ring?.devices.formUnion(targets) }
    for device in targets { step.emit(.ring(device, incoming)) }
  }

  /// What follows from how the user could be reached, once the ring has been delivered.
  func reached(_ reach: Reach, _ tables: inout Tables, _ step: inout Step) {
    switch reach {
    case .busy: becomeBusy(&tables, &step)
    case .unreachable: becomeUnreachable(&tables, &step)
    case .tooOften: becomeUnreachable(isTold: false, &tables, &step)
    case .ringing, .waiting:
      let (hasPush, isReachable) = (tables.rules.hasPush, tables.devices.isReachable(user))
      if hasPush, !isReachable { return wake(&tables, &step) }
      if hasPush || !isReachable { awaitDelivery(&tables.calls, tables.rules, at: step.now) }
    }
  }

  /// From here on a device has `deliverTimeout` to say that it rings.
  func awaitDelivery(_ calls: inout CallTable, _ rules: CallRules, at now: Now) {
    calls.set(.deliver(id, user), at: now.instant + rules.deliverTimeout)
  }

  private func becomeBusy(_ tables: inout Tables, _ step: inout Step) {
    tables.tellMember(user, in: id, &step) { .memberBusy($0) }
    miss(.busy, nil, &tables, &step)
  }

  /// No device, and no push provider to wake one. `isTold`: whether the user hears at once what they have missed.
  func becomeUnreachable(isTold: Bool = true, _ tables: inout Tables, _ step: inout Step) {
    let ring = tables.calls.stopRing(user, in: id, .unreachable, .unreachable)
    tables.tellMember(user, in: id, &step) { .memberState($0) }
    // A device that comes back after all must not ring for what it missed.
    tellStopped(ring, .unreachable, tables, &step)
    miss(.unreachable, ring, isTold: isTold, &tables, &step)
  }

  /// Tells the devices that rang to stop, as part of the call's latest change.
  func tellStopped(
    _ ring: Ring?, _ reason: Reason, by: String? = nil, except device: DeviceID? = nil, _ tables: Tables,
    _ step: inout Step
  ) {
    let devices = (ring?.devices ?? []).filter { $0 != device }.sorted()
    step.tellStopped(devices, id, rev: tables.calls[id]?.rev ?? 0, reason, by: by)
  }
}

// MARK: - call.ringing

extension Switchboard {
  /// A device rings.
  /// - Throws: 3001, 3002, 3007; 3004, 3005 or 3003 with what has become of the ring.
  public mutating func ringing(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    serve(try Acknowledgement(params, from: device, tables, at: now), from: device, at: now)
  }
}

/// A device has said that it rings.
private struct Acknowledgement: Plan {
  let membership: Membership

  init(_ params: CallParams, from device: DeviceID, _ tables: Tables, at now: Now) throws(ErrorObject) {
    membership = try tables.membership(params.callId, device, at: now)
    guard membership.member.isRinging else { throw membership.outcome }
  }

  func commit(_ tables: inout Tables, _ step: inout Step) {
    acknowledge(&tables, &step)
    step.reply(.done)
  }

  private func acknowledge(_ tables: inout Tables, _ step: inout Step) {
    let (id, user) = (membership.id, membership.user)
    guard let before = membership.member.ring else { return }
    tables.calls.update(user, in: id) { $0.ring?.acknowledge(membership.device) }
    if let ring = tables.calls[id]?[user]?.ring, tables.devices.isHeard(ring) {
      tables.calls.cancel(.deliver(id, user))
    }
    guard !before.isAcknowledged else { return }
    let state = tables.legs.ringState(user)
    tables.calls.update(user, in: id) { $0.state = state }
    tables.tellMember(user, in: id, &step) { .memberRinging($0) }
  }
}
