// Calls in the conference: requests go to the switchboard, and what it says is carried out on sessions, rooms and seats
// within the same step. The rules of calls are in `Sources/rules/Calls`; what is here only translates.

import Basics
import Calls
import Members
import RoostProtocol

extension SessionID {
  /// The session as the switchboard knows it.
  var device: DeviceID { DeviceID(rawValue) }
  init(_ device: DeviceID) { self.init(device.rawValue) }
}

extension ConferenceCore {
  // MARK: - Requests

  /// Serves a request about calls. The result; nil where it has gone out already, or comes later.
  mutating func perform(
    _ request: CallRequest, _ key: RequestKey, _ silence: MediaSilence?, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let (device, now) = (key.device, step.now)
    guard let session = sessions.table[key.session] else { throw ErrorObject(.notLoggedIn) }
    let wish = LegWish(request)
    var mayTake = wish?.isProved(session, calls, sessions.table) ?? false
    if !mayTake, let returner = wish?.returner(session, silence, calls, sessions.table, rules, at: now.instant) {
      let refusal = ErrorObject(.forbidden, "Show the resumeToken of the device that has the call.") {
        $0.reason = "resume_token"
      }
      let isAdmitted = try takeovers.admits(
        returner, .request(key), refusal: refusal, { .request(.call(request), about: $0) }, rules, &step)
      guard isAdmitted == true else { return nil }
      mayTake = true
    }
    switch request {
    case .get(let params):
      // Those who are rung, or have answered, need no right.
      if !calls.hasSeat(params.callId, device) { try session.facts.checkCall() }
      return .call(CallResultObject(call: try calls.get(params, from: device, at: now)))
    case .current: return .callCurrent(CallCurrentResult(call: calls.current(of: session.user, at: now)))
    case .available:
      // They are there to be joined.
      let isAllowed = session.identity.rights.contains(.call)
      return .calls(CallListResult(calls: isAllowed ? calls.available(to: session.user, at: now) : []))
    case .history(let params):
      try session.facts.checkCall()
      return storing.history(
        params, calls.history(params, from: device), key, of: session.user, on: session.deviceId, &step)
    case .start(let params): serve(try start(params, session.facts, now), key, wish: SeatWish(params), &step)
    case .ringing(let params): serve(try calls.ringing(params, from: device, at: now), key, &step)
    case .accept(let params): serve(try accept(params, session.facts, mayTake, now), key, wish: SeatWish(params), &step)
    case .join(let params): serve(try join(params, session.facts, mayTake, now), key, wish: SeatWish(params), &step)
    case .reject(let params): serve(try calls.reject(params, from: device, at: now), key, &step)
    case .cancel(let params): serve(try calls.cancel(params, from: device, at: now), key, &step)
    case .hangup(let params): serve(try calls.hangup(params, from: device, at: now), key, &step)
    case .invite(let params):
      try session.facts.checkInvite()
      try session.facts.checkCap(calls.current(of: session.user, at: now), adding: params.users)
      serve(try calls.invite(params, from: device, at: now), key, &step)
    case .cancelInvite(let params): serve(try calls.cancelInvite(params, from: device, at: now), key, &step)
    case .mediaChange(let params): serve(try calls.mediaChange(params, from: device, at: now), key, &step)
    case .end(let params): serve(try calls.endForAll(params, from: device, at: now), key, &step)
    }
    return nil
  }

  /// Carries out what the switchboard says to a request; where that gives no seat, the one there is takes the wish.
  mutating func serve(
    _ effects: [CallEffect], _ key: RequestKey, wish: SeatWish = SeatWish(), _ step: inout Step
  ) {
    if !effects.contains(where: \.givesSeat) { rooms.renewSeat(of: key.session, wish, &step) }
    carry(effects, for: key, wish: wish, &step)
  }

  private mutating func start(
    _ params: CallStartParams, _ session: MemberFacts, _ now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try session.checkCall()
    try session.checkCap(calling: params.to)
    let device = session.session.device
    let isKnown = calls.isRunning(named: params.clientCallId, by: device)
    // Who calls back answers: their seat is held, in a room that is there.
    if !isKnown, !calls.isMet(by: params, from: device) {
      guard mediaLoad.admits(to: nil) else { throw ErrorObject(.overloaded) }
      try Shares.checkRoom(session, rooms)
    }
    if isKnown, let call = calls.current(of: session.user, at: now) {
      try Renewals.take(
        of: session.session, in: call.callId, SeatWish(params), &rooms.chats, rooms.table, at: now.instant)
    }
    return try calls.start(params, as: CallID(using: &random), from: device, at: now)
  }

  /// Who is rung needs no right to answer, and a seat is held for them. Anything else that gets a seat is joining. What is neither the
  /// switchboard refuses.
  private mutating func accept(
    _ params: CallAcceptParams, _ session: MemberFacts, _ mayTake: Bool, _ now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    let device = session.session.device
    if calls.wouldJoin(params, device, at: now) { try CallEntry.check(params.callId, session, self, at: now) }
    try Renewals.take(
      of: session.session, in: params.callId, SeatWish(params), &rooms.chats, rooms.table, at: now.instant)
    return try calls.accept(params, from: device, mayTakeOver: mayTake, at: now)
  }

  private mutating func join(
    _ params: CallJoinParams, _ session: MemberFacts, _ mayTake: Bool, _ now: Now
  ) throws(ErrorObject) -> [CallEffect] {
    try CallEntry.check(params.callId, session, self, at: now)
    try Renewals.take(
      of: session.session, in: params.callId, SeatWish(params), &rooms.chats, rooms.table, at: now.instant)
    return try calls.join(params, from: session.session.device, mayTakeOver: mayTake, at: now)
  }

  // MARK: - Effects

  /// Carries out what the switchboard says. `key` is the request that is being served, `wish` what it says of a
  /// seat that comes of it; records are told last.
  mutating func carry(
    _ effects: [CallEffect], for key: RequestKey? = nil, reply: Reply? = nil, wish: SeatWish = SeatWish(),
    _ step: inout Step
  ) {
    var records: [UserRecord] = []
    var changes: [StoreChange] = []
    var rings: [PushNotice] = []
    for effect in effects {
      switch effect {
      case .tell(let devices, let event):
        for device in devices { sessions.table.reconsider(SessionID(device)) }
        step.tell(event, to: devices.map { SessionID($0) })
      case .ring(let device, let incoming):
        sessions.table.reconsider(SessionID(device))
        step.tell(.callIncoming(rooms.withParticipants(incoming)), to: SessionID(device))
      case .reply(let result):
        guard let key else { continue }
        sessions.table.reconsider(key.session)
        step.answer(key, .success(reply ?? rooms.wire(result, sessions.table.facts(of: key.session), step.now)))
      case .seat(let device, let call, let media): sit(SessionID(device), in: call, media, wish, &step)
      case .unseat(let device, let reason):
        unseat(SessionID(device), reason, isActing: key?.session.device == device, &step)
      case .moveSeat(let old, let new): moveSeat(from: SessionID(old), to: SessionID(new), wish, &step)
      case .closeRoom(let call, let actor): closeRoom(of: call, except: actor.map { SessionID($0) }, &step)
      case .setMedia(let call, let media): rooms.setMedia(media, of: call, &step)
      case .setHost(let call, let user):
        guard let room = rooms.table[named: CallRoom.name(call.text)], rooms.table[room]?.host != user else { continue }
        rooms.table.update(room) { $0.host = user }
        // They moderate it, and the others see that.
        if let seat = rooms.table.seat(ofUser: user, in: room) { Moderating.roleChanged(of: seat, &rooms, &step) }
      case .push(let notice):
        if notice.type == .ring { rings.append(notice) } else { step.add(.push(notice)) }
      case .webhook(let event): publish(event, &step)
      case .records(let more): records += more
      case .recordSeen(let record): changes.append(.record(KeptRecord(entry: record, isUnseen: false)))
      case .keepCall(let call): changes.append(.call(call))
      case .forgetCall(let call): changes += [.forgetCall(call.text), .forgetRoom(CallRoom.name(call.text))]
      case .tombstone(let call): changes.append(.tombstone(call))
      case .keepBlock(let block, let isOn): changes.append(isOn ? .block(block) : .forgetBlock(block))
      case .count(let counter): step.count(.call(counter))
      }
    }
    storing.keep(records, changes, &step)
    storing.wake(rings, &step)
  }

  /// A line in the log where it is about a call, and a message to webhook subscribers.
  private func publish(_ event: WebhookEvent, _ step: inout Step) {
    if CallRoom.isName(event.room) {
      step.log(
        event.type.rawValue,
        ["call": CallRoom.callId(event.room), "user": event.user ?? "", "reason": event.reason ?? ""],
        orOf: subject(ofCall: event))
    }
    if rules.hasWebhooks { step.add(.webhook(event)) }
  }
}

/// Who may come into a call.
private enum CallEntry {
  /// Whether somebody may who is not just answering. A seat is held for one who is rung, and for one who has lost their leg; who comes by
  /// themselves can wait.
  /// - Throws: 1005, 3013 by the token's `cap`, 5002.
  static func check(
    _ callId: String, _ session: MemberFacts, _ core: ConferenceCore, at now: Now
  ) throws(ErrorObject) {
    try session.checkCall()
    let device = session.session.device
    if core.calls.hasSeat(callId, device) { return }
    if session.identity.cap != nil {
      try session.checkCap(core.calls.get(CallParams(callId: callId), from: device, at: now), adding: [])
    }
    guard core.mediaLoad.admits(to: core.rooms.table[named: CallRoom.name(callId)]) else {
      throw ErrorObject(.overloaded)
    }
  }
}

extension Rooms {
  /// The reply of the switchboard with the room of the one who asked.
  fileprivate func wire(_ reply: CallReply, _ member: MemberFacts?, _ now: Now) -> Reply {
    let seat = member.flatMap { table.currentSeat(of: $0.session) }
    let room = seat.flatMap { snapshot($0.id, at: now.wallMilliseconds) }
    switch reply {
    case .started(let call, let busy, let unreachable, let isGlare):
      return .callStarted(
        CallStartResult(
          call: call, room: room ?? .none(call), busy: busy.map { BusyUser(user: $0) },
          unreachable: unreachable.map { BusyUser(user: $0) }, glare: isGlare ? true : nil))
    case .joined(let call): return .callRoom(CallRoomResult(call: call, room: room ?? .none(call)))
    case .call(let call): return .call(CallResultObject(call: member.map(call.seen) ?? call))
    case .invited(let result): return .callInvited(result)
    case .blocked(let users): return .blocked(BlockedResult(users: users))
    case .done: return .empty
    }
  }

  /// Whom a device rings for; where the call is in progress, it hears who is in it.
  fileprivate func withParticipants(_ incoming: CallIncoming) -> CallIncoming {
    var incoming = incoming
    if incoming.inProgress {
      incoming.participants = table[named: incoming.call.room].map { table.members(of: $0).map(participant) } ?? []
    }
    return incoming
  }

  /// In an audio call nobody sends video: what is sent ends, and its publisher is told as well.
  fileprivate mutating func setMedia(_ kind: MediaClass, of call: CallID, _ step: inout Step) {
    guard let key = table[named: CallRoom.name(call.text)] else { return }
    table.update(key) { $0.media = kind }
    guard kind == .audio else { return }
    for seat in table.members(of: key) { RoomMedia.endVideo(of: seat, &media, table, &step) }
  }
}

extension CallEffect {
  fileprivate var givesSeat: Bool {
    switch self {
    case .seat, .moveSeat: true
    case .tell, .ring, .reply, .unseat, .closeRoom, .setMedia, .setHost, .push, .webhook, .records, .recordSeen,
      .keepCall, .forgetCall, .tombstone, .keepBlock, .count:
      false
    }
  }
}

extension Call {
  /// As somebody may see it who answers for nothing but their own part. Who is out of it and has not the right to call learns no more of
  /// the others.
  fileprivate func seen(by session: MemberFacts) -> Call {
    let own = members.filter { $0.user == session.user }
    let wasInUntilItsEnd = state == .ended && own.allSatisfy { $0.leftAt == nil || $0.leftAt == endedAt }
    if session.identity.rights.contains(.call) || wasInUntilItsEnd
      || own.contains(where: { $0.isThere || $0.isBeingRung })
    {
      return self
    }
    var seen = self
    seen.members = own
    return seen
  }
}

extension RequestKey {
  fileprivate var device: DeviceID { session.device }
}

extension RoomSnapshot {
  /// What stands in a result where the seat was gone before it: never in practice, as both are one step.
  fileprivate static func none(_ call: Call) -> RoomSnapshot {
    RoomSnapshot(
      room: call.room, kind: "", media: call.media, limit: 0, count: 0, seq: 0, selfId: "", participants: [], chat: [])
  }
}
