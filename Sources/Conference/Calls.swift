// Calls in the conference: requests go to the switchboard, and what it says is carried out on sessions, rooms and seats
// within the same step. The rules of calls are in `Sources/Calls`; what is here only translates.

import Basics
import Calls
import RoostProtocol

extension SessionID {
  /// The session as the switchboard knows it.
  var device: DeviceID { DeviceID(rawValue) }
  init(_ device: DeviceID) { self.init(device.rawValue) }
}

extension ConferenceCore {
  // MARK: - Requests

  /// Serves a request about calls. The result; nil where it has gone out already, or comes later.
  mutating func perform(_ request: CallRequest, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    let device = key.device
    switch request {
    case .get(let params): return .call(CallResultObject(call: try calls.get(params, from: device, at: now)))
    case .current: return .callCurrent(CallCurrentResult(call: calls.current(of: user(of: key), at: now)))
    case .available: return .calls(CallListResult(calls: calls.available(to: user(of: key), at: now)))
    case .history(let params): return callHistory(params, key)
    case .start(let params): serve(try start(params, device), key, SeatWish(params))
    case .ringing(let params): serve(try calls.ringing(params, from: device, at: now), key)
    case .accept(let params):
      let may = mayTakeLeg(params.callId, device, params.resumeToken)
      serve(try calls.accept(params, from: device, mayTakeOver: may, at: now), key, SeatWish(params))
    case .join(let params): serve(try join(params, device), key, SeatWish(params))
    case .reject(let params): serve(try calls.reject(params, from: device, at: now), key)
    case .cancel(let params): serve(try calls.cancel(params, from: device, at: now), key)
    case .hangup(let params): serve(try calls.hangup(params, from: device, at: now), key)
    case .invite(let params): serve(try calls.invite(params, from: device, at: now), key)
    case .cancelInvite(let params): serve(try calls.cancelInvite(params, from: device, at: now), key)
    case .mediaChange(let params): serve(try calls.mediaChange(params, from: device, at: now), key)
    case .end(let params): serve(try calls.endForAll(params, from: device, at: now), key)
    }
    return nil
  }

  /// Carries out what the switchboard says to a request; where that gives no seat, the one there is takes the wish.
  private mutating func serve(_ effects: [CallEffect], _ key: RequestKey, _ wish: SeatWish = SeatWish()) {
    if !effects.contains(where: \.givesSeat) { renewSeat(of: key.session, wish) }
    carry(effects, key, wish: wish)
  }

  private mutating func start(_ params: CallStartParams, _ device: DeviceID) throws(ErrorObject) -> [CallEffect] {
    let isKnown = calls.isRunning(named: params.clientCallId, by: device)
    guard mediaLoad.admits(to: nil) || isKnown else { throw ErrorObject(.overloaded) }
    return try calls.start(params, as: CallID(using: &random), from: device, at: now)
  }

  /// A seat is held for one who is rung, and for one who has lost their leg; who comes by themselves can wait.
  private mutating func join(_ params: CallJoinParams, _ device: DeviceID) throws(ErrorObject) -> [CallEffect] {
    let room = roomNames[ProtocolLimits.callRoomPrefix + params.callId]
    guard mediaLoad.admits(to: room) || calls.hasSeat(params.callId, device) else { throw ErrorObject(.overloaded) }
    let may = mayTakeLeg(params.callId, device, params.resumeToken)
    return try calls.join(params, from: device, mayTakeOver: may, at: now)
  }

  private func user(of key: RequestKey) -> String { sessions[key.session]?.user ?? "" }

  private func mayTakeLeg(_ callId: String, _ device: DeviceID, _ token: String?) -> Bool {
    calls.legToTakeOver(callId, by: device).map { mayReplace(SessionID($0), token: token) } ?? false
  }

  // MARK: - Effects

  /// Carries out what the switchboard says. `key` is the request that is being served, `wish` what it says of a
  /// seat that comes of it; records are told last.
  mutating func carry(
    _ effects: [CallEffect], _ key: RequestKey? = nil, reply: Reply? = nil, wish: SeatWish = SeatWish()
  ) {
    var records: [UserRecord] = []
    var changes: [StoreChange] = []
    var rings: [PushNotice] = []
    for effect in effects {
      switch effect {
      case .tell(let devices, let event): send(event, to: devices.map { SessionID($0) })
      case .ring(let device, let incoming): ring(SessionID(device), incoming)
      case .reply(let result): if let key { finish(key, .success(reply ?? wire(result, key.session))) }
      case .seat(let device, let call, let media): sit(SessionID(device), in: call, media, wish)
      case .unseat(let device, let reason): unseat(SessionID(device), reason, isActing: key?.session.device == device)
      case .moveSeat(let old, let new): moveSeat(from: SessionID(old), to: SessionID(new), wish)
      case .closeRoom(let call, let actor): closeRoom(of: call, except: actor.map { SessionID($0) })
      case .setMedia(let call, let media): setMedia(media, of: call)
      case .push(let notice):
        if notice.type == .ring { rings.append(notice) } else { self.effects.append(.outside(.push(notice))) }
      case .webhook(let event): publish(event)
      case .records(let more): records += more
      case .keepCall(let call): changes.append(.call(call))
      case .forgetCall(let call):
        changes += [.forgetCall(call.text), .forgetRoom(ProtocolLimits.callRoomPrefix + call.text)]
      case .tombstone(let call): changes.append(.tombstone(call))
      case .count(let counter): count(.call(counter))
      }
    }
    keep(records, changes)
    wake(rings)
  }

  private func wire(_ reply: CallReply, _ session: SessionID) -> Reply {
    let room = sessions[session]?.seat.flatMap(snapshot)
    switch reply {
    case .started(let call, let busy, let unreachable, let isGlare):
      return .callStarted(
        CallStartResult(
          call: call, room: room ?? .none(call), busy: busy.map { BusyUser(user: $0) },
          unreachable: unreachable.map { BusyUser(user: $0) }, glare: isGlare ? true : nil))
    case .joined(let call): return .callRoom(CallRoomResult(call: call, room: room ?? .none(call)))
    case .call(let call): return .call(CallResultObject(call: call))
    case .invited(let result): return .callInvited(result)
    case .done: return .empty
    }
  }

  private mutating func ring(_ session: SessionID, _ incoming: CallIncoming) {
    var incoming = incoming
    if incoming.inProgress {
      let members = roomNames[incoming.call.room].flatMap { rooms[$0]?.members } ?? []
      incoming.participants = members.compactMap { seats[$0].map(participant) }
    }
    send(.callIncoming(incoming), to: session)
  }

  /// Every device of a user hears of what goes into his list, and where it is not on disk, that.
  mutating func tell(_ records: [UserRecord], isOnDisk: Bool) {
    for entry in records {
      for id in (users[entry.user] ?? []).sorted() {
        let record = entry.seen(from: sessions[id]?.deviceId)
        send(.callRecord(CallRecordEvent(record: record, stored: isOnDisk ? nil : false)), to: id)
      }
    }
  }

  /// A line in the log, and a word to those outside who asked for it.
  mutating func publish(_ event: WebhookEvent) {
    if isCallRoom(event.room) {
      let callId = String(event.room.dropFirst(ProtocolLimits.callRoomPrefix.count))
      log(event.type.rawValue, ["call": callId, "user": event.user ?? "", "reason": event.reason ?? ""])
    }
    if rules.hasWebhooks { effects.append(.outside(.webhook(event))) }
  }

  /// Tells those outside of a room that is no call's.
  mutating func publishRoom(_ type: WebhookEvent.Kind, _ room: RoomKey, user: String? = nil, reason: String? = nil) {
    guard rules.hasWebhooks, let name = rooms[room]?.name, !name.hasPrefix(ProtocolLimits.callRoomPrefix) else {
      return
    }
    publish(WebhookEvent(type: type, at: now.wallMilliseconds, room: name, user: user, reason: reason))
  }
}

extension CallEffect {
  fileprivate var givesSeat: Bool {
    switch self {
    case .seat, .moveSeat: true
    case .tell, .ring, .reply, .unseat, .closeRoom, .setMedia, .push, .webhook, .records, .keepCall, .forgetCall,
      .tombstone, .count:
      false
    }
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
