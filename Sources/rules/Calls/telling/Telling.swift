// Who hears what. Joined members hear every change; others what is theirs.

import Basics
import RoostProtocol

extension Tables {
  // MARK: - Listeners

  /// Those who hear every change: the legs' devices, and all devices of the caller while the caller is in, but those that may not call.
  func audience(_ call: LiveCall) -> [DeviceID] {
    var listeners = Set(call.joined.compactMap(\.device))
    if call[call.caller]?.isJoined == true { listeners.formUnion(devices.hearing(of: call.caller)) }
    return listeners.sorted()
  }

  /// All devices of those who left, declined or missed it, and may still call. Who was put out hears no more of it.
  func formerDevices(_ call: LiveCall) -> [DeviceID] {
    call.gone.filter { $0.isAware && !($0.state == .removed && $0.terms.isPutOut) }.flatMap {
      devices.hearing(of: $0.user)
    }
  }

  /// Those who are out and yet hear the end: in a group everybody; of two, who left the other with an invitee that rings.
  func formerListeners(_ call: LiveCall) -> [DeviceID] {
    if call.isGroup { return formerDevices(call) }
    guard let leaver = call.departure?.by, call[leaver]?.isGone == true else { return [] }
    return devices.hearing(of: leaver)
  }

  // MARK: - Ways out

  /// Tells of a member, as a change of its own.
  mutating func tellMember(
    _ user: String, in id: CallID, to listeners: [DeviceID]? = nil, by: String? = nil, text: String? = nil,
    push: Bool? = nil, _ step: inout Step, _ event: (MemberEvent) -> Event
  ) {
    let rev = calls.bump(id, &step)
    guard let call = calls[id], let member = call[user] else { return }
    let params = MemberEvent(callId: id.text, rev: rev, member: member.wire, by: by, text: text, push: push)
    step.tell(listeners ?? audience(call), event(params))
  }

  /// Reports what happened to a running call to the webhook subscribers and the log. Only where there are subscribers is
  /// the call put into words.
  func hook(
    _ type: WebhookEvent.Kind, _ id: CallID, user: String? = nil, reason: Reason? = nil, _ step: inout Step
  ) {
    guard let call = calls[id] else { return }
    step.hook(type, id, user, reason, rules.isFollowed ? calls.wire(call, at: step.now) : nil)
  }
}

extension Step {
  /// Reports what happened to a call, shown as `call`.
  mutating func hook(_ type: WebhookEvent.Kind, _ id: CallID, _ user: String?, _ reason: Reason?, _ call: Call?) {
    emit(
      .webhook(
        WebhookEvent(
          type: type, at: now.wallMilliseconds, room: id.roomName, user: user, reason: reason?.rawValue, call: call)))
  }
}

extension LiveCall {
  /// Devices that ring for the call.
  var ringingDevices: [DeviceID] { ringing.flatMap(\.ringingDevices) }
}

extension CallMember {
  /// The devices that ring, those included that were told to be silent: they have to know that it is over.
  var ringingDevices: [DeviceID] { ring?.devices.sorted() ?? [] }
}

extension CallID {
  /// Name of the room that the call owns.
  var roomName: String { ProtocolLimits.callRoomPrefix + text }
}

// MARK: - The call on the wire

extension CallTable {
  /// The call as this user may see it: a user who is being rung sees their own ring's end and what came with it, everybody
  /// else when the last ring ends. What one of two asks the other for is theirs, who hear what becomes of it.
  func wire(_ call: LiveCall, for user: String? = nil, at now: Now) -> Call {
    let own = user.flatMap { call[$0]?.ring?.terms }
    let isInside = user.map { call[$0]?.isJoined == true } ?? true
    let end = own?.expiresAt ?? call.ringing.compactMap { $0.ring?.terms.expiresAt }.max()
    return Call(
      callId: call.id.text, room: call.id.roomName, kind: call.kind, media: call.media,
      answerPolicy: call.policies.answer, rejectPolicy: call.policies.reject, busyPolicy: call.policies.busy,
      state: call.state, rev: call.rev, caller: call.caller, members: call.members.map(\.wire),
      mediaRequest: isInside ? call.mediaRequest : nil, extra: own?.extra ?? call.origin.extra,
      createdAt: call.createdAt, startedAt: call.startedAt, expiresAt: end,
      remainingMs: end.map { remaining(until: $0, call, for: own.flatMap { _ in user }, at: now) })
  }

  /// How long it rings on, for one user or for the last of them: by the timer that ends it, as the wall clock may be set.
  private func remaining(until end: Int64, _ call: LiveCall, for user: String?, at now: Now) -> Int64 {
    let users = user.map { [$0] } ?? call.ringing.map(\.user)
    let due = users.compactMap { timers[.ring(call.id, $0)] }.max()
    return max(due.map { ($0 - now.instant).milliseconds } ?? end - now.wallMilliseconds, 0)
  }
}
