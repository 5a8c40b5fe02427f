// One callee's ring: how he can be reached, delivery, acknowledgement, push, and its end.

import Basics
import RoostProtocol

/// How somebody can be reached who is to be rung.
enum Reach: Equatable {
  /// A device is connected, or may come back in a moment, or phones can be woken.
  case ringing
  /// The same, and he is in another call.
  case waiting
  /// He is in another call, or too many ring already.
  case busy
  case unreachable

  var rings: Bool { self == .ringing || self == .waiting }
  var isBusy: Bool { self == .busy || self == .waiting }
}

extension Switchboard {
  func reach(_ user: String, busy policy: BusyPolicy) -> Reach {
    if ringingCalls(of: user).count >= rules.maxRings { return .busy }
    let isBusy = legs[user] != nil
    if isBusy, policy == .reject { return .busy }
    guard rules.hasPush || !callable(user).isEmpty else { return .unreachable }
    return isBusy ? .waiting : .ringing
  }

  func reaches(_ users: [String], busy policy: BusyPolicy) -> [(user: String, reach: Reach)] {
    users.map { ($0, reach($0, busy: policy)) }
  }

  /// Makes a member ring: the clock runs from here.
  mutating func begin(
    _ user: String, in id: CallID, for time: TimeDelta, from: String, inProgress: Bool, _ extra: JSONValue?,
    _ push: JSONValue?
  ) {
    calls[id]?[user]?.ring = Ring(
      terms: RingTerms(
        from: from, inProgress: inProgress, extra: extra, push: push, startedAt: now.wallMilliseconds,
        expiresAt: now.wallMilliseconds + time.milliseconds))
    calls[id]?[user]?.state = .inviting
    deadlines.set(.ring(id, user), at: now.instant + time)
  }

  /// Delivers the ring to these devices, those among them that take calls and were not told to be silent.
  mutating func ring(_ user: String, in id: CallID, on targets: [DeviceID]) {
    guard let call = calls[id], let ring = call[user]?.ring else { return }
    let terms = ring.terms
    let incoming = CallIncoming(
      call: wire(call, for: user), from: terms.from, inProgress: terms.inProgress, waiting: isBusy(user))
    for device in targets {
      guard let known = devices[device], known.isCallable, !ring.silenced.contains(known.name) else { continue }
      calls[id]?[user]?.ring?.devices.insert(device)
      effects.append(.ring(device, incoming))
    }
  }

  /// What follows from how somebody could be reached, once the ring has been delivered.
  mutating func reached(_ user: String, in id: CallID, _ reach: Reach) {
    switch reach {
    case .busy: becomeBusy(user, in: id)
    case .unreachable: becomeUnreachable(user, in: id)
    case .ringing, .waiting:
      if rules.hasPush, !isReachable(user) { return pushRing(user, in: id) }
      if rules.hasPush || !isReachable(user) {
        deadlines.set(.deliver(id, user), at: now.instant + rules.deliverTimeout)
      }
    }
  }

  private mutating func becomeBusy(_ user: String, in id: CallID) {
    calls[id]?[user]?.state = .busy
    calls[id]?[user]?.reason = .busy
    tellMember(user, in: id) { .memberBusy($0) }
    miss(user, in: id, .busy)
  }

  /// No device, and nobody to wake one.
  mutating func becomeUnreachable(_ user: String, in id: CallID) {
    let ring = stopRing(user, in: id, .unreachable, .unreachable)
    tellMember(user, in: id) { .memberState($0) }
    // A device that comes back after all must not ring for what it missed.
    tellStopped(ring?.devices.sorted() ?? [], id, rev: calls[id]?.rev ?? 0, .unreachable)
    miss(user, in: id, .unreachable, ring)
  }

  /// Ends a ring in the state of things; who hears of it is the caller's matter.
  /// - Returns: the ring as it was.
  @discardableResult
  mutating func stopRing(_ user: String, in id: CallID, _ state: MemberState, _ reason: Reason?) -> Ring? {
    let ring = calls[id]?[user]?.ring
    calls[id]?[user]?.ring = nil
    calls[id]?[user]?.state = state
    calls[id]?[user]?.reason = reason
    deadlines.cancel(.ring(id, user))
    deadlines.cancel(.deliver(id, user))
    return ring
  }

  // MARK: - Acknowledgement

  /// A device rings.
  /// - Throws: 3001, 3002, 3007; 3004, 3005 or 3003 with what has become of the ring.
  public mutating func ringing(_ params: CallParams, from device: DeviceID, at now: Now) throws(ErrorObject)
    -> [CallEffect]
  {
    try step(now, actor: device) { board throws(ErrorObject) in
      let place = try board.place(params.callId, device)
      guard place.member.isRinging else { throw board.outcome(place) }
      board.acknowledge(place)
      board.reply(.done)
    }
  }

  private mutating func acknowledge(_ place: Place) {
    let (id, user) = (place.id, place.user)
    guard var ring = place.member.ring else { return }
    ring.devices.insert(place.device)
    ring.acknowledged.insert(place.device)
    let isFirst = !ring.isAcknowledged
    ring.isAcknowledged = true
    calls[id]?[user]?.ring = ring
    if isHeard(ring) { deadlines.cancel(.deliver(id, user)) }
    guard isFirst else { return }
    let state = ringState(user)
    calls[id]?[user]?.state = state
    tellMember(user, in: id) { .memberRinging($0) }
  }

  // MARK: - Waiting

  /// How somebody rings who has said that he does: beside a call that he is in, or as ever.
  private func ringState(_ user: String) -> MemberState { isBusy(user) ? .busyRinging : .ringing }

  /// One who is rung has come into another call, or is in it no more: who waits for his answer is told.
  mutating func noteWaiting(_ user: String) {
    let state = ringState(user)
    for call in ringingCalls(of: user) {
      guard let member = call[user], member.ring?.isAcknowledged == true, member.state != state else { continue }
      calls[call.id]?[user]?.state = state
      tellMember(user, in: call.id) { .memberState($0) }
    }
  }
}
