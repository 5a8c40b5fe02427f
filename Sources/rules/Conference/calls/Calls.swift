// Calls in the conference: requests go to the switchboard, and what it says is carried out on sessions, rooms and seats
// within the same step. The rules of calls are in `Sources/rules/Calls`; what is here only translates.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  // MARK: - Requests

  /// Serves a request about calls. The result; nil where it has gone out already, or comes later.
  mutating func perform(
    _ request: CallRequest, _ key: RequestKey, _ silence: MediaSilence?, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let (device, now) = (key.device, step.now)
    guard let session = sessions.facts(of: key.session) else { throw ErrorObject(.notLoggedIn) }
    let wish = LegWish(request)
    var mayTake = wish?.isProved(session, calls, sessions) ?? false
    if !mayTake, let wish, let returner = wish.returner(session, silence, calls, sessions, rules, at: now.instant) {
      // Who may not come in now has not been asked about, and so waits for no workers: what they say is not asked about any more.
      try CallEntry.check(wish.callId, session, self, at: now)
      let refusal = ErrorObject(.forbidden, "Show the resumeToken of the device that has the call.") {
        $0.reason = "resume_token"
      }
      if let seat = try returner.seatToAsk(orRefuse: refusal, rules, &step) {
        step.send(.actions(.awaitSilence(Action(.call(request), key), about: seat)))
        return nil
      }
      mayTake = true
    }
    switch request {
    case .get(let params):
      // Those who are rung, or have answered, need no right.
      if !calls.hasSeat(params.callId, device) { try session.checkCall() }
      return .call(CallResultObject(call: try calls.get(params, from: device, at: now)))
    case .current: return .callCurrent(CallCurrentResult(call: calls.current(of: session.user, at: now)))
    case .available:
      // They are there to be joined.
      let isAllowed = session.identity.rights.contains(.call)
      return .calls(CallListResult(calls: isAllowed ? calls.available(to: session.user, at: now) : []))
    case .history(let params):
      try session.checkCall()
      return storing.history(
        params, calls.history(params, from: device), key, of: session.user,
        on: sessions.device(of: key.session) ?? "", &step)
    case .start(let params):
      let again = try checkStart(params, session, now)
      try proceed(key, request, in: again, mayTakeOver: mayTake, SeatWish(params), &step)
    case .accept(let params):
      // Who is rung needs no right to answer, and a seat is held for them. Anything else that gets a seat is joining. What is neither the
      // switchboard refuses.
      if calls.wouldJoin(params, device, at: now) { try CallEntry.check(params.callId, session, self, at: now) }
      if calls.opensRoom(params.callId) { try CallEntry.checkRoom(of: session, self) }
      try RoomQuotas.checkSeat(session, inCall: params.callId, rooms)
      try proceed(key, request, in: params.callId, mayTakeOver: mayTake, SeatWish(params), &step)
    case .join(let params):
      try CallEntry.check(params.callId, session, self, at: now)
      try RoomQuotas.checkSeat(session, inCall: params.callId, rooms)
      try proceed(key, request, in: params.callId, mayTakeOver: mayTake, SeatWish(params), &step)
    case .invite(let params):
      try session.checkInvite()
      try session.checkCap(calls.current(of: session.user, at: now), adding: params.users)
      try carryOut(request, key, mayTakeOver: mayTake, SeatWish(), &step)
    case .ringing, .reject, .cancel, .hangup, .cancelInvite, .mediaChange, .end:
      try carryOut(request, key, mayTakeOver: mayTake, SeatWish(), &step)
    }
    return nil
  }

  /// Whoever says something else of the seat that they have in the call pays for that first.
  private mutating func proceed(
    _ key: RequestKey, _ request: CallRequest, in call: String?, mayTakeOver: Bool, _ wish: SeatWish, _ step: inout Step
  ) throws(ErrorObject) {
    if let call, rooms.isSeated(key.session, inCall: call) {
      step.send(.rooms(.renew(key, request, callId: call, wish, mayTakeOver: mayTakeOver)))
    } else {
      try carryOut(request, key, mayTakeOver: mayTakeOver, wish, &step)
    }
  }

  /// Lets the switchboard serve a request that may be asked.
  private mutating func carryOut(
    _ request: CallRequest, _ key: RequestKey, mayTakeOver: Bool, _ wish: SeatWish, _ step: inout Step
  ) throws(ErrorObject) {
    let (device, now) = (key.device, step.now)
    let effects: [CallEffect]
    switch request {
    case .start(let params):
      effects = try calls.start(params, as: CallID(using: &step.numbers.random), from: device, at: now)
    case .accept(let params): effects = try calls.accept(params, from: device, mayTakeOver: mayTakeOver, at: now)
    case .join(let params): effects = try calls.join(params, from: device, mayTakeOver: mayTakeOver, at: now)
    case .ringing(let params): effects = try calls.ringing(params, from: device, at: now)
    case .reject(let params): effects = try calls.reject(params, from: device, at: now)
    case .cancel(let params): effects = try calls.cancel(params, from: device, at: now)
    case .hangup(let params): effects = try calls.hangup(params, from: device, at: now)
    case .invite(let params): effects = try calls.invite(params, from: device, at: now)
    case .cancelInvite(let params): effects = try calls.cancelInvite(params, from: device, at: now)
    case .mediaChange(let params): effects = try calls.mediaChange(params, from: device, at: now)
    case .end(let params): effects = try calls.endForAll(params, from: device, at: now)
    case .get, .current, .available, .history: return
    }
    serve(effects, key, wish: wish, &step)
  }

  /// A request has paid for what it says of a seat, and goes on.
  mutating func proceed(
    _ key: RequestKey, _ request: CallRequest, mayTakeOver: Bool, _ wish: SeatWish, _ step: inout Step
  ) {
    do throws(ErrorObject) {
      try carryOut(request, key, mayTakeOver: mayTakeOver, wish, &step)
    } catch {
      step.refuse(.call(request), key, error)
    }
  }

  /// Carries out what the switchboard says to a request; where that gives no seat, the one there is takes the wish.
  mutating func serve(
    _ effects: [CallEffect], _ key: RequestKey, wish: SeatWish = SeatWish(), _ step: inout Step
  ) {
    if !effects.contains(where: \.givesSeat) { step.send(.rooms(.renewSeat(key.session, wish))) }
    carry(effects, for: key, wish: wish, &step)
  }

  /// Whether somebody may start a call. The call of theirs that it is, where it was asked for before.
  private func checkStart(
    _ params: CallStartParams, _ session: MemberFacts, _ now: Now
  ) throws(ErrorObject) -> String? {
    try session.checkCall()
    try session.checkCap(calling: params.to)
    let device = session.session.device
    let isKnown = calls.isRunning(named: params.clientCallId, by: device)
    if !isKnown, let met = calls.met(by: params, from: device) {
      // Who calls back answers: their seat is held, in a room that is there unless a server has arranged the call.
      try RoomQuotas.checkSeat(session, inCall: met.description, rooms)
      if calls.opensRoom(met.text) { try CallEntry.checkRoom(of: session, self) }
    } else if !isKnown {
      try CallEntry.checkSpace(self)
      try RoomQuotas.checkSeat(session, inCall: nil, rooms)
      try rooms.checkShare(of: session)
    }
    return isKnown ? calls.current(of: session.user, at: now)?.callId : nil
  }

  // MARK: - Effects

  /// Sends on what the switchboard says. `key` is the request that is being served, `wish` what it says of a seat that comes of it;
  /// records are told last. Mutating, so that calls are changed before it begins: else there were two of their tables for that long.
  mutating func carry(
    _ effects: [CallEffect], for key: RequestKey? = nil, reply: Reply? = nil, wish: SeatWish = SeatWish(),
    _ step: inout Step
  ) {
    if effects.isEmpty { return }
    for case .closeRoom(let call, _) in effects { step.send(.rooms(.callOver(call))) }
    var records: [UserRecord] = []
    var changes: [StoreChange] = []
    var rings: [PushNotice] = []
    for effect in effects {
      switch effect {
      case .tell(let devices, let event):
        step.send(.sessions(.tellOfCall(event, devices.map { SessionID($0) })))
      case .ring(let device, let incoming):
        step.send(.sessions(.reconsider([SessionID(device)])))
        step.send(.rooms(.ring(SessionID(device), incoming)))
      case .reply(let result):
        guard let key else { continue }
        step.send(.sessions(.reconsider([key.session])))
        if let reply {
          step.answer(key, .success(reply))
        } else {
          step.send(.rooms(.callReply(key, sessions.facts(of: key.session), result)))
        }
      case .seat(let device, let call, let media): seat(SessionID(device), in: call, media, wish, &step)
      case .unseat(let device, let reason):
        step.send(.rooms(.unseat(SessionID(device), reason, isActing: key?.session.device == device)))
      case .moveSeat(let old, let new):
        guard let member = sessions.facts(of: SessionID(new)) else { continue }
        step.send(.rooms(.moveSeat(from: SessionID(old), to: member, wish)))
      case .closeRoom(let call, let actor):
        step.send(.rooms(.closeCallRoom(call, except: actor.map { SessionID($0) })))
      case .setMedia(let call, let media): step.send(.rooms(.setMedia(call, media)))
      case .setHost(let call, let user): step.send(.rooms(.setHost(call, user)))
      case .push(let notice): if notice.type == .ring { rings.append(notice) } else { step.add(.push(notice)) }
      case .webhook(let event): step.send(.publish(event))
      case .records(let more): records += more
      case .recordSeen(let record): changes.append(.record(KeptRecord(entry: record, isUnseen: false)))
      case .keepCall(let call): changes.append(.call(call))
      case .forgetCall(let call): changes += [.forgetCall(call.text), .forgetRoom(CallRoom.name(call.text))]
      case .tombstone(let call): changes.append(.tombstone(call))
      case .keepBlock(let block, let isOn): changes.append(isOn ? .block(block) : .forgetBlock(block))
      case .count(let counter): step.count(.call(counter))
      }
    }
    if !records.isEmpty || !changes.isEmpty || !rings.isEmpty { step.send(.keep(records, changes, rings: rings)) }
  }

  private func seat(
    _ session: SessionID, in call: CallID, _ media: MediaClass, _ wish: SeatWish, _ step: inout Step
  ) {
    guard let member = sessions.facts(of: session) else { return step.send(.rooms(.leave(session))) }
    let seat = CallSeat(in: call, media, host: calls.host(of: call), isRunning: calls.isRunning(call))
    step.send(.rooms(.sit(member, seat, wish)))
  }

  /// A line in the log where it is about a call, and a message to webhook subscribers.
  func publish(_ event: WebhookEvent, _ step: inout Step) {
    if let room = event.room, CallRoom.isName(room) {
      step.log(
        event.type.rawValue,
        ["call": CallRoom.callId(room), "user": event.user ?? "", "reason": event.reason ?? ""],
        orOf: subject(ofCall: event))
    }
    if rules.hasWebhooks { step.add(.webhook(event)) }
  }
}

extension SeatWish {
  init(_ params: CallStartParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
  init(_ params: CallAcceptParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
  init(_ params: CallJoinParams) { self.init(metadata: params.metadata, autoSubscribe: params.autoSubscribe) }
}

/// Who may come into a call.
enum CallEntry {
  /// Whether there is room for one more call, whoever starts it.
  /// - Throws: 5002.
  static func checkSpace(_ core: ConferenceCore) throws(ErrorObject) {
    guard core.rooms.admits(toCall: nil) else { throw .mediaFull }
    let most = core.calls.rules.maxCalls
    guard core.calls.count + core.rooms.callsElsewhere < most else { throw .full(of: "calls", limit: most) }
    if let quota = core.rules.quotas.calls, core.calls.count >= quota { throw .quota(.calls, quota) }
  }

  /// Whether the caller of a call that a server has arranged may open its room: they are the first in it.
  /// - Throws: 5002.
  static func checkRoom(of session: MemberFacts, _ core: ConferenceCore) throws(ErrorObject) {
    guard core.rooms.admits(toCall: nil) else { throw .mediaFull }
    try core.rooms.checkShare(of: session)
  }

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
    guard core.rooms.admits(toCall: callId) else { throw .mediaFull }
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

extension RequestKey {
  var device: DeviceID { session.device }
}
