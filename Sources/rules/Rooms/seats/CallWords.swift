// What calls say to clients, with the room of the call in it.

import Basics
import Calls
import Members
import RoostProtocol

extension Rooms {
  /// The reply of the switchboard with the room of the one who asked.
  func wire(_ reply: CallReply, _ member: MemberFacts?, _ now: Now) -> Reply {
    let seat = member.flatMap { table.currentSeat(of: $0.session) }
    let room = seat.flatMap { $0.id.snapshot(in: self, at: now.wallMilliseconds) }
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
  func withParticipants(_ incoming: CallIncoming) -> CallIncoming {
    var incoming = incoming
    if incoming.inProgress {
      incoming.participants =
        table[named: incoming.call.room].map { table.members(of: $0).map { $0.seen(in: seating) } } ?? []
    }
    return incoming
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

extension RoomSnapshot {
  /// What stands in a result where the seat was gone before it: never in practice, as both are one step.
  fileprivate static func none(_ call: Call) -> RoomSnapshot {
    RoomSnapshot(
      room: call.room, kind: "", media: call.media, limit: 0, count: 0, seq: 0, selfId: "", participants: [], chat: [])
  }
}
