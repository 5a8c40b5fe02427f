// What somebody may do is another: what they may not do any more ends at once (docs/access.md).

import Basics
import Members
import RoostProtocol

extension Rooms {
  /// Ends what runs and needs a right that was lost, the greatest first: with a seat all goes that hangs on it, and with a call.
  mutating func rightsChanged(_ change: RightsChange, _ step: inout Step) {
    let session = change.member.session
    let role = table.currentSeat(of: session).flatMap { Access.role(of: $0, table) }
    seating.table.note(change.member)
    if let seat = table.currentSeat(of: session) { seating.table.grantReplacesRole(of: seat) }
    guard change.isNews else { return }
    endSeat(of: session, &step)
    Doors.leaveForbidden(change.member, allOfUser: change.sessions, &seating.table, &step)
    if !change.lost.isDisjoint(with: [.call, .invite]) { step.send(.endForbidden(change.member, lost: change.lost)) }
    step.send(.rooms(.enforce(change, from: role)))
  }

  /// A seat in a room that one may not be in any more. Those of calls are the calls' matter.
  private mutating func endSeat(of id: SessionID, _ step: inout Step) {
    guard let seat = table.currentSeat(of: id), !table.isInCall(seat) else { return }
    let room = table.name(of: seat.room)
    // A ban holds for whoever has the grant `moderate` no more.
    let isBanned = (try? Doors.checkBan(seat.member, in: room, self, step.now)) == nil
    guard isBanned || !seat.member.mayBeIn(room) else { return }
    Eviction.putOut(seat, &seating, &step)
  }
}

extension Seating {
  /// What is left is the room's. Who receives everything unasked does so again, and others see who moderates.
  mutating func enforce(_ change: RightsChange, from role: RoomRole?, _ step: inout Step) {
    guard let seat = table.currentSeat(of: change.member.session) else { return }
    endForbiddenTracks(of: seat, &step)
    if change.lost.contains(.subscribe) { endSubscriptions(of: seat.id, &step) }
    if change.gained.contains(.subscribe), seat.autoSubscribe { Subscribing.toAll(seat.id, &media, table, &step) }
    guard let seat = table.seats[seat.id], Access.role(of: seat, table) != role else { return }
    Moderating.roleChanged(of: seat, &self, &step)
  }

  /// Tracks that their publisher may not publish any more. They hear of it too, as it was not their doing.
  fileprivate mutating func endForbiddenTracks(of seat: Seat, _ step: inout Step) {
    let rights = Access.rights(of: seat, table)
    for track in media.tracks(of: seat.id)
    where !rights.isSuperset(of: .toPublish(track.wire.kind, track.wire.source)) {
      Publishing.end(track.id, &media, table, &step)
      Publishing.announceEnd(of: track.id, seat: seat.id, toAll: true, table, &step)
    }
  }

  /// All that a seat receives, its views too.
  fileprivate mutating func endSubscriptions(of id: SeatID, _ step: inout Step) {
    for subscription in media[id].received {
      Subscribing.end(subscription, .forbidden, &media, table, &step)
    }
  }
}
