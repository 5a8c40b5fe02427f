// What each change of a call means, by the rules of docs/calls.md: who is in it, whose phones have to stop and why, what goes
// into whose list, and how a call can end.

import Basics
import RoostProtocol

@testable import Calls

extension Witness {
  /// - Returns: which devices have to be told to stop ringing, and why.
  func change(_ id: String, by event: Event) -> [SeenStop: Set<DeviceID>] {
    switch event {
    case .callAccepted(let accepted): return accept(id, accepted.user)
    case .memberRinging(let told):
      hold(calls[id]?.people[told.member.user]?.ring?.isTold == false, "that one rings is told once a ring")
      calls[id]?.people[told.member.user]?.ring?.isTold = true
      calls[id]?.people[told.member.user]?.state = told.member.state
    case .memberState(let told): return state(id, told)
    case .memberDeclined(let told):
      hold(told.by == told.member.user && told.member.reason == declineReason)
      return stop(id, told.member.user, SeenStop(reason: .rejectedElsewhere, by: told.by), .declined)
    case .memberNoAnswer(let told) where told.member.reason == .stopped:
      let devices = calls[id]?.rung[told.member.user]?.devices ?? []
      ringDied(told.member.user, id)
      return devices.isEmpty ? [:] : [SeenStop(reason: .stopped): devices]
    case .memberNoAnswer(let told): return stop(id, told.member.user, SeenStop(reason: .noAnswer), .noAnswer)
    case .memberRemoved(let told) where told.member.state == .removed: depart(id, told)
    case .memberRemoved(let told):
      return stop(id, told.member.user, SeenStop(reason: .cancelled, by: told.by), .cancelled)
    case .memberBusy(let told): return stop(id, told.member.user, SeenStop(reason: .busy), .busy)
    case .memberLeft(let told): depart(id, told)
    case .callInvited(let told): for user in told.users { invite(id, user, told.inviter) }
    case .callTypeChanged(let told):
      hold(told.to == .group && told.from == calls[id]?.kind)
      hold(calls[id]?.becomesGroup == true, "two become a group when a third joins")
      calls[id]?.kind = .group
      calls[id]?.becomesGroup = false
      calls[id]?.departure = nil
    case .callActive: calls[id]?.isActive = true
    case .callMediaChanged(let told): if told.result == .accepted { calls[id]?.media = told.media }
    case .callEnded(let told): return end(id, told)
    default: break
    }
    return [:]
  }

  private func accept(_ id: String, _ user: String) -> [SeenStop: Set<DeviceID>] {
    guard let call = calls[id], let person = call.people[user], let actor = step.actor else {
      hold(false, "a stranger accepts")
      return [:]
    }
    hold(person.place == .rung && actor.user == user && step.entered?.callId == id, "an accept without a ring")
    var stops: [SeenStop: Set<DeviceID>] = [:]
    let others = (person.ring?.devices ?? []).subtracting([actor.id])
    if !others.isEmpty { stops[SeenStop(reason: .answeredElsewhere, by: user)] = others }
    takeBack(person.ring, user, id, .answeredElsewhere)
    join(id, user, actor.id)
    // An invitee of two makes a group of them; of several who are called the first is the second of two, whoever asked him.
    calls[id]?.becomesGroup =
      switch call.kind {
      case .oneToOne: !person.isOriginal
      case .oneToMany: call.isAnswered
      default: false
      }
    guard !call.isAnswered, call.kind == .oneToMany else { return stops }
    for (other, ring) in call.rung where other != user {
      end(ring: other, id, .answeredByOther)
      takeBack(ring, other, id, .answeredByOther)
      record(other, id, .missed, .answeredByOther, .answeredByOther)
      if !ring.devices.isEmpty {
        stops[SeenStop(reason: .answeredByOther, by: user), default: []].formUnion(ring.devices)
      }
    }
    return stops
  }

  /// Somebody is out who was in, and the call goes on.
  private func depart(_ id: String, _ told: MemberEvent) {
    let (user, reason) = (told.member.user, told.member.reason ?? .hangup)
    if calls[id]?.kind != .group { calls[id]?.departure = (reason, user) }
    hold((told.member.state == .removed) == (reason == .removed))
    if let said = departureReason, step.actor?.user == user { hold(reason == said, "\(said), not \(reason)") }
    leave(id, user, told.member.state, reason)
  }

  func join(_ id: String, _ user: String, _ device: DeviceID) {
    if let person = calls[id]?.people[user], person.place == .gone {
      hold(person.state != .cancelled && person.state != .removed, "\(user) is not wanted, and comes back")
    }
    if calls[id]?.answeredAt == nil, user != calls[id]?.caller { calls[id]?.answeredAt = now }
    calls[id]?.people[user]?.place = .joined(device)
    calls[id]?.people[user]?.actor = step.actor?.name
    calls[id]?.people[user]?.ring = nil
    calls[id]?.people[user]?.hasBeenIn = false
    if calls[id]?.people[user]?.answeredAt == nil { calls[id]?.people[user]?.answeredAt = now }
  }

  private func state(_ id: String, _ told: MemberEvent) -> [SeenStop: Set<DeviceID>] {
    let member = told.member
    switch member.state {
    case .unreachable: return stop(id, member.user, SeenStop(reason: .unreachable), .unreachable)
    case .connecting, .joined, .reconnecting:
      // Of one who is in it, back after a restart or not, it is that they are the host, or that their media is up.
      guard calls[id]?.inside.contains(member.user) == false || step.actor?.user == member.user else { return [:] }
      guard calls[id]?.joined[member.user] == nil else { return [:] }
      guard let actor = step.actor, actor.user == member.user else {
        hold(false, "somebody comes back without having asked")
        return [:]
      }
      hold(calls[id]?.kind == .group, "one comes back to a group alone")
      join(id, member.user, actor.id)
    case .ringing, .busyRinging:
      let person = calls[id]?.people[member.user]
      hold(person?.ring?.isTold == true, "\(member.user) changes how he rings, and does not ring")
      hold(told.push == true || person?.state != member.state, "nothing has changed")
      calls[id]?.people[member.user]?.state = member.state
    default: break
    }
    return [:]
  }

  private func invite(_ id: String, _ user: String, _ inviter: String) {
    hold(calls[id]?.people[user].map { $0.place == .gone } ?? true, "one who is in or rings is not rung again")
    hold(inviter == step.actor?.user && calls[id]?.joined[inviter] == step.actor?.id, "only who is in invites")
    let old = calls[id]?.people[user]
    calls[id]?.people[user] = SeenCall.Person(
      place: .rung, isOriginal: false, state: .inviting,
      ring: SeenCall.Ring(from: inviter, inProgress: true, until: ringEnd, push: step.request?.push),
      answeredAt: old?.answeredAt, hasBeenIn: old?.hasBeenIn ?? false)
  }

  /// A ring ends, or it turns out that there is none.
  private func stop(_ id: String, _ user: String, _ stop: SeenStop, _ state: MemberState) -> [SeenStop: Set<DeviceID>] {
    let ring = calls[id]?.people[user]?.ring
    hold(calls[id]?.inside.contains(user) == false, "\(state) of one who is in")
    if calls[id]?.people[user] == nil {
      // Invited in vain: the first that is heard of him.
      calls[id]?.people[user] = SeenCall.Person(place: .gone, isOriginal: false, state: state)
    }
    end(ring: user, id, state)
    calls[id]?.people[user]?.actor = state == .declined ? step.actor?.name : nil
    takeBack(ring, user, id, stop.reason)
    switch state {
    case .declined: record(user, id, .declined, nil, declineReason)
    default: miss(user, id, stop.reason, ring)
    }
    let acting = state == .declined ? Set([step.actor?.id].compactMap(\.self)) : []
    let devices = (ring?.devices ?? []).subtracting(acting)
    return devices.isEmpty ? [:] : [stop: devices]
  }

  private func end(ring user: String, _ id: String, _ state: MemberState) {
    calls[id]?.people[user]?.ring = nil
    calls[id]?.people[user]?.place = .gone
    calls[id]?.people[user]?.state = state
  }

  /// A phone that was woken is told that it is over.
  private func takeBack(_ ring: SeenCall.Ring?, _ user: String, _ id: String, _ reason: Reason) {
    guard let ring, ring.isPushed else { return }
    expected.pushes.insert(
      SeenPush(type: .cancel, user: user, callId: id, reason: reason, push: handedOn(id) ?? ring.push))
  }

  /// What the request that is served wants said about this call to whoever wakes phones.
  func handedOn(_ id: String) -> RawJSON? {
    let about = step.request?.callId ?? step.entered?.callId
    return about == id ? step.request?.push : nil
  }

  /// Why one who declines in this step does so: as he says, or else because he rejects it.
  private var declineReason: Reason { step.request?.saidReason ?? .rejected }

  /// Why one leaves who hangs up in this step: of what he may say of a ring nothing counts.
  private var departureReason: Reason? {
    guard case .call(.hangup(let params)) = step.request else { return nil }
    return params.reason == .networkChanged || params.reason == .background ? params.reason : .hangup
  }

  func leave(_ id: String, _ user: String, _ state: MemberState, _ reason: Reason) {
    hold(calls[id]?.inside.contains(user) == true, "\(user) leaves what he is not in")
    hold(state == .left || state == .lost || state == .removed)
    calls[id]?.people[user]?.place = .gone
    calls[id]?.people[user]?.state = state
    calls[id]?.people[user]?.hasBeenIn = true
    record(user, id, .answered, nil, reason)
  }

  /// A ring that was lost with the process.
  func ringDied(_ user: String, _ id: String) {
    let ring = calls[id]?.people[user]?.ring
    takeBack(ring, user, id, .stopped)
    end(ring: user, id, .noAnswer)
    miss(user, id, .noAnswer, ring, .stopped)
  }

  // MARK: - The end of a call

  func end(_ id: String, _ ended: CallEnded) -> [SeenStop: Set<DeviceID>] {
    guard let call = calls.removeValue(forKey: id) else { return [:] }
    endings[id] = SeenStop(reason: ended.reason, by: ended.by)
    hold(ended.code == ended.reason.code)
    hold(ended.durationMs == (call.answeredAt.map { now - $0 } ?? 0), "the call lasted from the first answer")
    checkReason(ended, call)
    let reason = Self.stopReason(ended.reason)
    var stops: [SeenStop: Set<DeviceID>] = [:]
    for (user, ring) in call.rung {
      takeBack(ring, user, id, reason)
      if reason == .rejectedByOther {
        record(user, in: call, id, .missed, .rejectedByOther, ended.reason)
      } else {
        record(user, in: call, id, .missed, .cancelled, ended.reason)
        tellMissed(user, in: call, id, .cancelled, ring)
      }
      if !ring.devices.isEmpty { stops[SeenStop(reason: reason, by: ended.by), default: []].formUnion(ring.devices) }
    }
    for user in call.inside { recordLeg(user, call, id, ended.reason) }
    return stops
  }

  private static func stopReason(_ reason: Reason) -> Reason {
    switch reason {
    case .cancelled, .callerLost, .stopped: reason
    case .rejected: .rejectedByOther
    default: .callEnded
    }
  }

  /// What one who was in it to the end has in his list: in a call that was active, or that was answered and hung up, he
  /// talked; else it is as it ended.
  private func recordLeg(_ user: String, _ call: SeenCall, _ id: String, _ reason: Reason) {
    switch reason {
    case _ where call.isActive && call.isAnswered, .hangup where call.isAnswered:
      record(user, in: call, id, .answered, nil, reason)
    case .rejected: record(user, in: call, id, .declined, nil, reason)
    case .cancelled where call.isAnswered: record(user, in: call, id, .failed, .cancelled, reason)
    case .cancelled, .callerLost: record(user, in: call, id, .missed, .cancelled, reason)
    case .busy, .noAnswer: record(user, in: call, id, .missed, reason, reason)
    default: record(user, in: call, id, .failed, reason, reason)
    }
  }

  /// The reason is what happened: of calls that nobody answered, what became of those who were called.
  private func checkReason(_ ended: CallEnded, _ call: SeenCall) {
    let callees = call.people.filter { $0.key != call.caller }.values.map(\.state)
    let first = [MemberState.declined, .busy, .noAnswer, .cancelled].first { callees.contains($0) }
    let what = "\(ended.reason) by \(ended.by ?? ""), of \(call.people.mapValues(\.state))"
    switch ended.reason {
    case .rejected: hold(!call.isAnswered && first == .declined, what)
    case .busy, .noAnswer, .unreachable:
      let fitting: [MemberState?] = [ended.reason == .busy ? .busy : ended.reason == .noAnswer ? .noAnswer : nil]
      hold(!call.isAnswered && call.rung.isEmpty && fitting.contains(first), what)
    case .cancelled:
      let isTakenBack = call.rung.isEmpty && first == .cancelled && ended.by == nil
      hold((ended.by == call.caller || isTakenBack) && !(call.isActive && call.isAnswered), what)
    case .callerLost: hold(ended.by == call.caller && !call.isAnswered, what)
    case .connectFailed where call.kind != .group:
      let hasMoved = ended.by.flatMap { call.people[$0] }?.hasMoved == true
      hold(call.isAnswered && (!call.isActive || call.departure != nil || hasMoved), what)
    case .removed:
      let isTheirs = ended.by.map { call.inside.contains($0) || call.departure?.by == $0 } ?? false
      hold(isTheirs, "one who was in it is put out, and nobody else: \(what)")
    default: hold(call.isAnswered || ended.reason == .stopped, what)
    }
    if let said = departureReason, let by = ended.by, by == step.actor?.user, call.inside.contains(by), call.isAnswered,
      call.kind != .group
    {
      hold(ended.reason == (by == call.caller && !call.isActive ? .cancelled : said), "\(by) said \(said): \(what)")
    }
    let isOwn = ended.reason == .stopped || ended.reason == .connectFailed
    if call.isAnswered, call.kind != .group, !isOwn, let departure = call.departure {
      let isTheirs = ended.reason == departure.reason && ended.by == departure.by
      hold(isTheirs || call.inside.contains(ended.by ?? ""), "the end is the leaver's: \(what), not \(departure)")
    }
  }

  // MARK: - Lists

  private func miss(
    _ user: String, _ id: String, _ why: Reason, _ ring: SeenCall.Ring?, _ reason: Reason? = nil
  ) {
    record(user, id, .missed, why, reason ?? why)
    if let call = calls[id] { tellMissed(user, in: call, id, why, ring) }
  }

  private func tellMissed(_ user: String, in call: SeenCall, _ id: String, _ why: Reason, _ ring: SeenCall.Ring?) {
    if call.people[user]?.hasBeenIn == true { return }
    expected.misses.insert(SeenMiss(user: user, callId: id, why: why))
    let isUnheard = ring.map { $0.isPushed && !isHeard($0) } ?? false
    guard hasPush, !isConnected(user) || isUnheard else { return }
    expected.pushes.insert(
      SeenPush(type: .missed, user: user, callId: id, reason: why, push: handedOn(id) ?? ring?.push))
  }

  func record(_ user: String, _ id: String, _ result: CallResult, _ why: Reason?, _ reason: Reason) {
    if let call = calls[id] { record(user, in: call, id, result, why, reason) }
  }

  /// Who has been in it and left has talked, whatever becomes of later rings.
  private func record(
    _ user: String, in call: SeenCall, _ id: String, _ result: CallResult, _ why: Reason?, _ reason: Reason
  ) {
    if result != .answered, call.people[user]?.hasBeenIn == true { return }
    let answeredAt = user == call.caller ? call.answeredAt : call.people[user]?.answeredAt
    expected.records.insert(
      SeenRecord(
        user: user, callId: id, device: call.people[user]?.actor, result: result, why: why, reason: reason,
        answeredAt: result == .answered ? answeredAt : nil, endedAt: now))
  }
}

extension Request {
  /// The call that it names; none for `call.start`, which makes one.
  fileprivate var callId: String? {
    switch self {
    case .call(.accept(let params)): params.callId
    case .call(.reject(let params)): params.callId
    case .call(.cancel(let params)): params.callId
    case .call(.hangup(let params)): params.callId
    case .call(.invite(let params)): params.callId
    default: nil
    }
  }

  /// What it wants handed on; a device that is silenced has nothing to say.
  fileprivate var push: RawJSON? {
    switch self {
    case .call(.start(let params)): params.push
    case .call(.accept(let params)): params.push
    case .call(.reject(let params)): params.scope == .thisDevice ? nil : params.push
    case .call(.cancel(let params)): params.push
    case .call(.hangup(let params)): params.push
    case .call(.invite(let params)): params.push
    default: nil
    }
  }

  fileprivate var saidReason: Reason? {
    switch self {
    case .call(.reject(let params)): params.reason
    case .call(.hangup(let params)): params.reason
    default: nil
    }
  }
}

// What the model asks of a request.
extension Request {
  /// The call whose ring this ends on the device that says it.
  var answered: String? {
    switch self {
    case .call(.reject(let params)): params.callId
    case .call(.hangup(let params)): params.callId
    default: nil
    }
  }

  var silencesOne: Bool {
    if case .call(.reject(let params)) = self { params.scope == .thisDevice } else { false }
  }
}
