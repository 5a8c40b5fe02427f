// The end of a call, and what follows from a change whoever made it: nobody left to answer, nobody left to talk to,
// media up at both ends.

import Basics
import RoostProtocol

extension Switchboard {
  // MARK: - What follows from a change

  /// Draws the consequences for every call that has changed, until nothing follows any more.
  mutating func settleTouched() {
    while !touched.isEmpty || !moved.isEmpty {
      let ids = touched.sorted()
      touched = []
      for id in ids { settle(id) }
      // What ends meanwhile rings nobody any more.
      guard touched.isEmpty else { continue }
      let users = moved.sorted()
      moved = []
      for user in users { noteWaiting(user) }
    }
  }

  private mutating func settle(_ id: CallID) {
    noteMedia(id)
    guard let call = calls[id] else { return }
    if call.ringing.isEmpty {
      if !call.isAnswered { return endUnanswered(call) }
      if !call.isGroup, call.joined.count < 2 {
        let departure = call.departure ?? Departure(reason: .hangup, by: call.caller)
        return end(id, departure.reason, by: departure.by, text: departure.text)
      }
    }
    watchLoneliness(call)
    if rules.keepsCalls, let call = calls[id] { effects.append(.keepCall(KeptCall(call, wire: wire(call)))) }
  }

  /// Media up: two begin to talk when both have it; in a group each has joined when he has it.
  private mutating func noteMedia(_ id: CallID) {
    guard let call = calls[id] else { return }
    if !call.isGroup {
      let isUp = call.joined.count >= 2 && call.joined.allSatisfy(\.isMediaUp)
      if call.state == .connecting, isUp { return activate(id, audience(call)) }
      guard call.state == .active else { return }
    }
    for member in call.joined where member.isMediaUp {
      deadlines.cancel(.connect(id, member.user))
      guard member.state == .connecting else { continue }
      calls[id]?[member.user]?.state = .joined
      tellMember(member.user, in: id) { .memberState($0) }
    }
  }

  /// The last callee is gone before anyone answered.
  private mutating func endUnanswered(_ call: LiveCall) {
    let callees = call.members.filter { $0.user != call.caller }
    let outcomes: [(MemberState, Reason)] = [
      (.declined, .rejected), (.busy, .busy), (.noAnswer, .noAnswer), (.cancelled, .cancelled),
    ]
    let reason = outcomes.first { outcome in callees.contains { $0.state == outcome.0 } }?.1 ?? .unreachable
    let by = reason == .rejected ? callees.last { $0.state == .declined }?.user : nil
    end(call.id, reason, by: by)
  }

  // MARK: - The end

  /// Ends a call: everybody who rings stops, everybody who is in it leaves, and it is remembered.
  mutating func end(_ id: CallID, _ reason: Reason, by: String? = nil, text: String? = nil) {
    guard let call = calls[id] else { return }
    let rev = bump(id)
    let listeners = Set(audience(call) + formerListeners(call))
    let rings = call.ringing.map { ($0.user, $0.ring) }
    let stop = Self.stopReason(reason)
    for (user, _) in rings { stopRing(user, in: id, .cancelled, stop) }
    for member in call.joined {
      endLeg(member.user, in: id, member.user == by ? Self.state(of: reason) : .left, reason)
    }
    calls[id]?.state = .ended
    calls[id]?.mediaRequest = nil
    guard let over = calls[id] else { return }
    let final = finalWire(over, reason, by)
    bury(over, final)
    var records = rings.filter { over[$0.0]?.hasBeenIn == false }
      .map { record(of: $0.0, in: over, .missed, Self.missed(stop), $0.1, reason) }
    for member in call.joined { records.append(legRecord(of: member.user, in: over, reason)) }
    for (user, ring) in rings {
      tellStopped(ring?.devices.sorted() ?? [], id, rev: rev, stop, by: by, text: text)
      cancelPush(user, final, ring, stop)
    }
    tellEnded(over, final, listeners, records, text)
    for (user, ring) in rings where stop != .rejectedByOther { tellMissed(user, final, Self.missed(stop), ring) }
    effects.append(.closeRoom(id, except: actor))
    keep(records)
    count(.ended(reason))
    hook(.callEnded, id, by, reason, rules.isFollowed ? final : nil)
  }

  /// Why phones stop ringing when a call ends for a reason.
  private static func stopReason(_ reason: Reason) -> Reason {
    switch reason {
    case .cancelled, .callerLost, .stopped: reason
    case .rejected: .rejectedByOther
    default: .callEnded
    }
  }

  /// What becomes of the one whom a call ended by.
  private static func state(of reason: Reason) -> MemberState {
    switch reason {
    case .disconnected: .lost
    case .removed: .removed
    default: .left
    }
  }

  /// Why a call was missed whose ring stopped for a reason.
  private static func missed(_ stop: Reason) -> Reason { stop == .rejectedByOther ? stop : .cancelled }

  private func finalWire(_ call: LiveCall, _ reason: Reason, _ by: String?) -> Call {
    var final = wire(call)
    (final.endedAt, final.reason, final.by) = (now.wallMilliseconds, reason, by)
    return final
  }

  /// Takes a call out of everything that runs.
  private mutating func bury(_ call: LiveCall, _ final: Call) {
    let id = call.id
    for user in call.order {
      memberships[user]?.remove(id)
      if memberships[user]?.isEmpty == true { memberships[user] = nil }
      deadlines.cancel(.ring(id, user))
      deadlines.cancel(.deliver(id, user))
      deadlines.cancel(.connect(id, user))
      deadlines.cancel(.absence(id, user))
    }
    for timer in [Timer.callerGrace(id), .mediaChange(id), .alone(id), .aloneWarning(id)] { deadlines.cancel(timer) }
    calls[id] = nil
    touched.remove(id)
    entomb(final, names: call.names)
    effects.append(.tombstone(KeptTombstone(call, final: final)))
    if rules.keepsCalls { effects.append(.forgetCall(id)) }
  }

  /// Remembers an ended call. Names of calls that are forgotten now are free, but for one that a later call has by now.
  mutating func entomb(_ final: Call, names: [ClientCall]) {
    for (id, names) in archive.bury(final, names: names, at: now) {
      for name in names where named[name] == id { named[name] = nil }
    }
  }

  /// The end as each user hears it: the same, with his own record.
  private mutating func tellEnded(
    _ call: LiveCall, _ final: Call, _ listeners: Set<DeviceID>, _ records: [UserRecord], _ text: String?
  ) {
    let own = Dictionary(records.map { ($0.user, $0) }) { first, _ in first }
    let reason = final.reason ?? .hangup
    for device in listeners.sorted() {
      guard let (user, name) = devices[device].map({ ($0.user, $0.name) }) else { continue }
      let record = own[user] ?? archive.record(final.callId, of: user)
      let ended = CallEnded(
        callId: final.callId, rev: final.rev, reason: reason, code: reason.code, by: final.by, text: text,
        durationMs: call.answered.map { milliseconds(since: $0) } ?? 0, record: record?.seen(from: name))
      tell([device], .callEnded(ended))
    }
  }
}
