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

  /// Serves a request about calls. The result; nil where it has gone out already.
  mutating func perform(call request: Request, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    switch request {
    case .callGet(let params): return .call(CallResultObject(call: try calls.get(params, from: key.device, at: now)))
    case .callCurrent: return .callCurrent(CallCurrentResult(call: calls.current(of: user(of: key), at: now)))
    case .callAvailable: return .calls(CallListResult(calls: calls.available(to: user(of: key), at: now)))
    case .callHistory(let params): return callHistory(params, key)
    default:
      let effects = try change(by: request, key)
      if !effects.contains(where: \.givesSeat) { renewSeat(of: key.session, request.seatWish) }
      carry(effects, key, wish: request.seatWish)
      return nil
    }
  }

  private mutating func change(by request: Request, _ key: RequestKey) throws(ErrorObject) -> [CallEffect] {
    let device = key.device
    switch request {
    case .callStart(let params):
      let isKnown = calls.isRunning(named: params.clientCallId, by: device)
      guard mediaLoad.admits(to: nil) || isKnown else { throw ErrorObject(.overloaded) }
      return try calls.start(params, as: CallID(using: &random), from: device, at: now)
    case .callRinging(let params): return try calls.ringing(params, from: device, at: now)
    case .callAccept(let params):
      let may = mayTakeLeg(params.callId, device, params.resumeToken)
      return try calls.accept(params, from: device, mayTakeOver: may, at: now)
    case .callJoin(let params):
      // A seat is held for one who is rung, and for one who has lost his leg; who comes by himself can wait.
      let room = roomNames[ProtocolLimits.callRoomPrefix + params.callId]
      guard mediaLoad.admits(to: room) || calls.hasSeat(params.callId, device) else { throw ErrorObject(.overloaded) }
      let may = mayTakeLeg(params.callId, device, params.resumeToken)
      return try calls.join(params, from: device, mayTakeOver: may, at: now)
    case .callReject(let params): return try calls.reject(params, from: device, at: now)
    case .callCancel(let params): return try calls.cancel(params, from: device, at: now)
    case .callHangup(let params): return try calls.hangup(params, from: device, at: now)
    case .callInvite(let params): return try calls.invite(params, from: device, at: now)
    case .callCancelInvite(let params): return try calls.cancelInvite(params, from: device, at: now)
    case .callMediaChange(let params): return try calls.mediaChange(params, from: device, at: now)
    case .callEnd(let params): return try calls.endForAll(params, from: device, at: now)
    default: throw ErrorObject(.unsupported)
    }
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
      case .reply(let result): if let key { finish(key, .success(reply ?? wire(result, key.session))) }
      case .records(let more): records += more
      case .keepCall(let call): changes.append(.call(call))
      case .forgetCall(let call):
        changes += [.forgetCall(call.text), .forgetRoom(ProtocolLimits.callRoomPrefix + call.text)]
      case .tombstone(let call): changes.append(.tombstone(call))
      case .push(let notice) where notice.type == .ring: rings.append(notice)
      default: carry(effect, key, wish)
      }
    }
    keep(records, changes)
    wake(rings)
  }

  private mutating func carry(_ effect: CallEffect, _ key: RequestKey?, _ wish: SeatWish) {
    switch effect {
    case .tell(let devices, let event): send(event, to: devices.map { SessionID($0) })
    case .ring(let device, let incoming): ring(SessionID(device), incoming)
    case .seat(let device, let call, let media): sit(SessionID(device), in: call, media, wish)
    case .unseat(let device, let reason): unseat(SessionID(device), reason, isActing: key?.session.device == device)
    case .moveSeat(let old, let new): moveSeat(from: SessionID(old), to: SessionID(new), wish)
    case .closeRoom(let call, let actor): closeRoom(of: call, except: actor.map { SessionID($0) })
    case .setMedia(let call, let media): setMedia(media, of: call)
    case .push(let notice): effects.append(.push(notice))
    case .webhook(let event): publish(event)
    case .count(let counter): count(.call(counter))
    case .reply, .records, .keepCall, .forgetCall, .tombstone: break
    }
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
    if rules.hasWebhooks { effects.append(.webhook(event)) }
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
    default: false
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
