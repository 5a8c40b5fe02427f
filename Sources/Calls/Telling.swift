// Who hears what. Joined members hear every change; others what is theirs.

import Basics
import RoostProtocol

extension Switchboard {
  // MARK: - Listeners

  /// Those who hear every change: the legs' devices, and all devices of the caller while he is in.
  func audience(_ call: LiveCall) -> [DeviceID] {
    var listeners = Set(call.joined.compactMap(\.device))
    if call[call.caller]?.isJoined == true { listeners.formUnion(devicesByUser[call.caller] ?? []) }
    return listeners.sorted()
  }

  /// All devices of those who left, declined or missed it.
  func formerDevices(_ call: LiveCall) -> [DeviceID] { call.gone.flatMap { devicesByUser[$0.user] ?? [] } }

  /// Those who are out and yet hear the end: in a group everybody; of two, who left the other with an invitee that rings.
  func formerListeners(_ call: LiveCall) -> [DeviceID] {
    if call.isGroup { return formerDevices(call) }
    guard let leaver = call.departure?.by, call[leaver]?.isGone == true else { return [] }
    return devicesByUser[leaver] ?? []
  }

  /// Devices that ring for a call.
  func ringingDevices(_ call: LiveCall) -> [DeviceID] { call.ringing.flatMap { ringingDevices($0) } }

  /// A member's devices that ring, those included that were told to be silent: they have to know that it is over.
  func ringingDevices(_ member: CallMember) -> [DeviceID] { member.ring?.devices.sorted() ?? [] }

  // MARK: - Ways out

  /// Sends an event; the one who acts hears it after his reply.
  mutating func tell(_ listeners: [DeviceID], _ event: Event) {
    var others = listeners
    if let actor, let index = others.firstIndex(of: actor) {
      others.remove(at: index)
      deferred.append(.tell([actor], event))
    }
    if !others.isEmpty { effects.append(.tell(others, event)) }
  }

  /// Answers the request, then lets the one who acts hear the rest.
  mutating func reply(_ reply: CallReply) {
    effects.append(.reply(reply))
    effects += deferred
    (deferred, actor) = ([], nil)
  }

  /// Tells of a member, as a change of its own.
  mutating func tellMember(
    _ user: String, in id: CallID, to listeners: [DeviceID]? = nil, by: String? = nil, text: String? = nil,
    push: Bool? = nil, _ event: (MemberEvent) -> Event
  ) {
    let rev = bump(id)
    guard let call = calls[id], let member = call[user] else { return }
    let params = MemberEvent(callId: id.text, rev: rev, member: member.wire, by: by, text: text, push: push)
    tell(listeners ?? audience(call), event(params))
  }

  /// Tells devices to stop ringing, as part of change `rev`.
  mutating func tellStopped(
    _ listeners: [DeviceID], _ id: CallID, rev: Int, _ reason: Reason, by: String? = nil, text: String? = nil
  ) {
    guard !listeners.isEmpty else { return }
    tell(listeners, .callStopped(CallStopped(callId: id.text, rev: rev, reason: reason, by: by, text: text)))
  }

  /// Something that happened to a call; what it looks like on the wire only where somebody wants to see it.
  mutating func hook(_ type: WebhookEvent.Kind, _ id: CallID, user: String? = nil, reason: Reason? = nil) {
    guard let call = calls[id] else { return }
    hook(type, id, user, reason, rules.isFollowed ? wire(call) : nil)
  }

  mutating func hook(_ type: WebhookEvent.Kind, _ id: CallID, _ user: String?, _ reason: Reason?, _ call: Call?) {
    effects.append(
      .webhook(
        WebhookEvent(
          type: type, at: now.wallMilliseconds, room: roomName(id), user: user, reason: reason?.rawValue, call: call)))
  }

  mutating func count(_ counter: CallCounter) { effects.append(.count(counter)) }

  // MARK: - The call on the wire

  /// Name of the room that a call owns.
  func roomName(_ id: CallID) -> String { ProtocolLimits.callRoomPrefix + id.text }

  /// The call as this user may see it: one who is being rung sees his own ring's end and what came with it, everybody
  /// else when the last ring ends. What one of two asks the other for is theirs, who hear what becomes of it.
  func wire(_ call: LiveCall, for user: String? = nil) -> Call {
    let own = user.flatMap { call[$0]?.ring?.terms }
    let isInside = user.map { call[$0]?.isJoined == true } ?? true
    let end = own?.expiresAt ?? call.ringing.compactMap { $0.ring?.terms.expiresAt }.max()
    return Call(
      callId: call.id.text, room: roomName(call.id), kind: call.kind, media: call.media,
      answerPolicy: call.answerPolicy, rejectPolicy: call.rejectPolicy, busyPolicy: call.busyPolicy,
      state: call.state, rev: call.rev, caller: call.caller, members: call.members.map(\.wire),
      mediaRequest: isInside ? call.mediaRequest : nil, extra: own?.extra ?? call.extra, createdAt: call.createdAt,
      startedAt: call.startedAt, expiresAt: end,
      remainingMs: end.map { remaining(until: $0, call, for: own.flatMap { _ in user }) })
  }

  /// How long it rings on, for one user or for the last of them: by the timer that ends it, as the wall clock may be set.
  private func remaining(until end: Int64, _ call: LiveCall, for user: String?) -> Int64 {
    let users = user.map { [$0] } ?? call.ringing.map(\.user)
    let due = users.compactMap { deadlines[.ring(call.id, $0)] }.max()
    return max(due.map { ($0 - now.instant).milliseconds } ?? end - now.wallMilliseconds, 0)
  }
}
