// How rooms tell people: everybody in a room, or one of what has become of their media.

import Members
import RoostProtocol

extension Step {
  /// Tells everybody in a room but one.
  mutating func tell(
    _ event: Event, in room: RoomKey, of table: RoomTable, except seat: SeatID? = nil
  ) {
    // By their numbers: no seat is copied for it.
    tell(event, to: (table.all[room]?.members ?? []).compactMap { $0 == seat ? nil : table.seats[$0]?.session })
  }

  /// Tells the client of a connection that the room protocol has a name for. Others have a front door that tells of them.
  mutating func tell(
    _ failure: MediaFailure, of connection: MediaConnectionID, to session: SessionID
  ) {
    guard let pc = connection.pc else { return }
    tell(.mediaFailed(MediaEvent(pc: pc, step: failure.step, reason: failure.reason)), to: session)
  }
}
