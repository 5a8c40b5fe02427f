// What sessions and rooms tell calls, delivered.

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

extension ConferenceCore {
  /// Delivers what sessions and rooms tell calls.
  mutating func tellCalls(_ message: CallMessage, _ step: inout Step) {
    switch message {
    case .checkLeg(var hello, let old):
      hello.hasLeg = calls.hasLeg(old.device)
      step.send(.sessions(.begin(hello, insteadOf: old)))
    case .arrived(let arrival): arrived(arrival, &step)
    case .greet(let session, let request): greet(session, request, &step)
    case .resync(let session, let request, let connection): resync(session, request, on: connection, &step)
    case .replaced(let session): carry(calls.replaced(session.device, at: step.now), &step)
    case .connected(let session, let isAnew):
      carry(calls.connected(session.device, isAnew: isAnew, at: step.now), &step)
    case .disconnected(let session): carry(calls.disconnected(session.device, at: step.now), &step)
    case .gone(let session, let reason): carry(calls.gone(session.device, reason, at: step.now), &step)
    case .setMayCall(let session, let mayCall): calls.setMayCall(session.device, mayCall)
    case .drain: carry(calls.drain(at: step.now), &step)
    case .carry(let effects): carry(effects, &step)
    case .keep(let records, let changes, let rings):
      storing.keep(records, changes, &step)
      storing.wake(rings, &step)
    case .publish(let event): publish(event, &step)
    case .vacate(let session): vacate(session, &step)
    case .hangUp(let key, let room): hangUp(key, room: room, &step)
    case .proceed(let key, let request, let mayTakeOver, let wish):
      proceed(key, request, mayTakeOver: mayTakeOver, wish, &step)
    case .mediaUp(let session): carry(calls.mediaUp(on: session.device, at: step.now), &step)
    case .mediaLost(let session, let isLost): carry(calls.mediaLost(isLost, on: session.device, at: step.now), &step)
    case .legLost(let session): carry(calls.legLost(on: session.device, at: step.now), &step)
    case .end(let call, let user): carry((try? calls.end(call, by: user, at: step.now)) ?? [], &step)
    case .remove(let user, let call, let host):
      carry((try? calls.remove(user, from: call, by: host, at: step.now)) ?? [], &step)
    case .endForbidden(let member, let lost): endForbidden(member, lost: lost, &step)
    }
  }

  /// A device is there. It hears of its calls in the reply to its hello, and of what rings behind that.
  private mutating func arrived(_ arrival: Arrival, _ step: inout Step) {
    let rings = calls.arrived(
      arrival.session.device, user: arrival.user, name: arrival.device, displayName: arrival.displayName,
      isCallable: arrival.isCallable, mayCall: arrival.mayCall, predecessor: arrival.predecessor?.device, at: step.now)
    if let old = arrival.old { step.send(.sessions(.replace(old, hasLeg: calls.hasLeg(old.device)))) }
    step.send(.greet(arrival.session, arrival.request))
    if !rings.isEmpty { step.send(.carry(rings)) }
  }

  private func greet(_ session: SessionID, _ request: RequestID, _ step: inout Step) {
    guard let user = sessions.identity(of: session)?.user, let device = sessions.device(of: session) else { return }
    let overview = CallOverview(
      ringing: calls.ringing(for: user, on: device, at: step.now), current: calls.current(of: user, at: step.now),
      missed: calls.missed(user))
    step.send(.sessions(.welcome(session, request, overview)))
  }

  /// What a session is told of rooms and calls that has lost events.
  private func resync(_ session: SessionID, _ request: RequestID, on connection: ConnectionID, _ step: inout Step) {
    guard let user = sessions.identity(of: session)?.user, let device = sessions.device(of: session) else { return }
    let current = calls.current(of: user, at: step.now)
    let isHere = calls.hasLeg(session.device)
    let room = rooms.seat(of: session).flatMap { $0.snapshot(in: rooms, at: step.now.wallMilliseconds) }
    let resync = Resync(
      seq: 0, room: room, call: isHere ? current : nil, current: isHere ? nil : current,
      ringing: calls.ringing(for: user, on: device, at: step.now))
    step.send(.sessions(.resynced(session, request, connection, resync)))
  }

  // MARK: - What hangs on a seat, or a right

  /// The seat goes first: those who give it up themselves need not be told that it is gone.
  private mutating func vacate(_ session: SessionID, _ step: inout Step) {
    let effects = calls.leave(session.device, at: step.now)
    for case .closeRoom(let call, _) in effects { step.send(.rooms(.callOver(call))) }
    step.send(.rooms(.leave(session)))
    carry(effects, &step)
  }

  /// `room.leave` on a call's room.
  private mutating func hangUp(_ key: RequestKey, room: String, _ step: inout Step) {
    do throws(ErrorObject) {
      let params = CallHangupParams(callId: CallRoom.callId(room))
      carry(try calls.hangup(params, from: key.session.device, at: step.now), for: key, reply: .empty, &step)
    } catch {
      step.refuse(.room(.leave(RoomParams(room: room))), key, error)
    }
  }

  /// The call that one is in on this device, whether it rings or runs, and those whom one has invited and who still ring.
  private mutating func endForbidden(_ member: MemberFacts, lost: Rights, _ step: inout Step) {
    guard calls.hasLeg(member.session.device), let call = calls.current(of: member.user, at: step.now) else { return }
    let gone =
      lost.contains(.call)
      ? [member.user] : call.members.filter { $0.invitedBy == member.user && $0.isBeingRung }.map(\.user)
    for user in gone {
      carry((try? calls.remove(user, from: call.callId, isPutOut: false, at: step.now)) ?? [], &step)
    }
  }
}
