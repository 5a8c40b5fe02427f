// What follows from a change, whatever made it: nobody left to answer, nobody left to talk to, media up at both ends.

import Basics
import RoostProtocol

extension Tables {
  /// Ends a step: draws the consequences of what it has changed.
  /// - Returns: everything that came out of it.
  mutating func finish(_ step: consuming Step) -> [CallEffect] {
    settle(&step)
    return step.end()
  }

  /// Draws the consequences for every call that has changed, until nothing follows any more.
  mutating func settle(_ step: inout Step) {
    while !step.isSettled {
      for id in step.takeTouched() { Consequences(id: id).draw(&self, &step) }
      // What ends meanwhile rings nobody any more.
      guard step.isUntouched else { continue }
      for user in step.takeMoved() { noteWaiting(user, &step) }
    }
  }

  /// A user who is rung has come into another call, or is in it no more: those who wait for the answer are told.
  private mutating func noteWaiting(_ user: String, _ step: inout Step) {
    let state = legs.ringState(user)
    for call in calls.ringing(user) {
      guard let member = call[user], member.ring?.isAcknowledged == true, member.state != state else { continue }
      calls.update(user, in: call.id) { $0.state = state }
      tellMember(user, in: call.id, &step) { .memberState($0) }
    }
  }

  /// Answers with the call as it stands after the step, ended or not.
  mutating func replyWithCall(_ id: CallID, _ step: inout Step) {
    settle(&step)
    let user = step.actor.flatMap { devices[$0]?.user }
    let running = calls[id].map { calls.wire($0, for: user, at: step.now) }
    if let call = running ?? archive.tombstone(id, at: step.now) { step.reply(.call(call)) }
  }

  /// People talk from now on.
  mutating func activate(_ id: CallID, _ listeners: [DeviceID], _ step: inout Step) {
    calls.update(id) { $0.activate(at: step.now) }
    for member in calls[id]?.joined ?? [] where member.isMediaUp { calls.cancel(.connect(id, member.user)) }
    let startedAt = step.now.wallMilliseconds
    step.tell(listeners, .callActive(CallActive(callId: id.text, rev: calls.bump(id, &step), startedAt: startedAt)))
    hook(.callActive, id, &step)
  }
}

/// What follows for one call from a change of it.
private struct Consequences {
  let id: CallID

  func draw(_ tables: inout Tables, _ step: inout Step) {
    noteMedia(&tables, &step)
    guard let call = tables.calls[id] else { return }
    if let end = end(of: call) { return end.commit(&tables, &step) }
    tables.chooseHost(of: id, &step)
    guard let call = tables.calls[id] else { return }
    watchLoneliness(call, &tables, at: step.now)
    if tables.rules.keepsCalls { step.emit(.keepCall(KeptCall(call, wire: tables.calls.wire(call, at: step.now)))) }
  }

  /// Media up: two begin to talk when both have it; in a group each has joined who has it.
  private func noteMedia(_ tables: inout Tables, _ step: inout Step) {
    guard let call = tables.calls[id] else { return }
    if !call.isGroup {
      let isUp = call.joined.count >= 2 && call.joined.allSatisfy(\.isMediaUp)
      if call.state == .connecting, isUp { return tables.activate(id, tables.audience(call), &step) }
      guard call.state == .active else { return }
    }
    for member in call.joined where member.isMediaUp {
      tables.calls.cancel(.connect(id, member.user))
      guard member.state == .connecting else { continue }
      tables.calls.update(member.user, in: id) { $0.state = .joined }
      tables.tellMember(member.user, in: id, &step) { .memberState($0) }
    }
  }

  /// The end of a call that nobody can answer any more, or in which one of two is left alone.
  private func end(of call: LiveCall) -> CallEnd? {
    guard call.ringing.isEmpty else { return nil }
    guard call.isAnswered else {
      let end = call.unansweredEnd
      return CallEnd(id, end.reason, by: end.by)
    }
    guard !call.isGroup, call.joined.count < 2 else { return nil }
    let departure = call.departure ?? Departure(reason: .hangup, by: call.caller)
    return CallEnd(id, departure.reason, by: departure.by, text: departure.text)
  }

  /// A group with one person and nobody ringing ends after a while; they are warned in the last minute or half.
  private func watchLoneliness(_ call: LiveCall, _ tables: inout Tables, at now: Now) {
    let timeout = tables.rules.aloneTimeout
    guard call.isLonely, timeout > .zero else {
      tables.calls.cancel(.alone(id))
      return tables.calls.cancel(.aloneWarning(id))
    }
    guard tables.calls.timers[.alone(id)] == nil else { return }
    let notice = min(TimeDelta.seconds(60), timeout / 2)
    tables.calls.set(.alone(id), at: now.instant + timeout)
    tables.calls.set(.aloneWarning(id), at: now.instant + (timeout - notice))
  }
}
