// What is said of a seat once more: others read each change, as they read a message of the chat. So it needs the same rights, and counts as one.

import Basics
import Members
import RoostProtocol

package enum Renewals {
  /// Counts a change of what the others see of a seat. What changes nothing costs nothing, and everybody may.
  /// - Throws: 1005 for who may not write there, 1006 where the user changes it too often.
  static func take(
    _ seat: Seat, displayName: String, _ metadata: RawJSON?, _ chats: inout ChatLimits, _ table: RoomTable,
    at now: Instant
  ) throws(ErrorObject) {
    guard try check(seat, displayName: displayName, metadata, table) else { return }
    try chats.take(of: seat.member.identity, "changing what others see of you", at: now)
  }

  /// Whether others would see something else, as far as rights go.
  /// - Throws: 1005 for who may not write there.
  static func check(
    _ seat: Seat, displayName: String, _ metadata: RawJSON?, _ table: RoomTable
  ) throws(ErrorObject) -> Bool {
    guard changes(seat, displayName: displayName, metadata) else { return false }
    try Access.checkChat(seat, table)
    try Access.checkChatOpen(seat, table)
    return true
  }

  /// Whether others in a call would see something else of who is in it and accepts, joins or starts it once more.
  /// - Throws: 1005 for who may not write there.
  package static func check(
    of id: SessionID, in callId: String, _ metadata: RawJSON?, _ rooms: Rooms
  ) throws(ErrorObject) -> Bool {
    guard let seat = seat(of: id, in: callId, rooms.table) else { return false }
    return try check(seat, displayName: seat.displayName, metadata, rooms.table)
  }

  /// Whether others would see something else.
  static func changes(_ seat: Seat, displayName: String, _ metadata: RawJSON?) -> Bool {
    !displayName.isExactly(seat.displayName) || metadata ?? seat.metadata != seat.metadata
  }

  /// What others see of a seat that another session of its user takes. Who may not write there keeps both: to refuse them
  /// would cost them the seat.
  static func taken(
    _ seat: Seat, by session: MemberFacts, _ params: RoomJoinParams, _ table: RoomTable
  ) -> (displayName: String, metadata: RawJSON) {
    guard Access.mayWrite(session, on: seat, table) else { return (seat.displayName, seat.metadata) }
    return (params.displayName ?? seat.displayName, params.metadata ?? seat.metadata)
  }

  /// Counts what accepting, joining or starting a call once more would change of the seat that is there.
  /// - Throws: 1005 for who may not write there, 1006 where the user changes it too often.
  static func take(
    of id: SessionID, in callId: String, _ wish: SeatWish, _ chats: inout ChatLimits, _ table: RoomTable,
    at now: Instant
  ) throws(ErrorObject) {
    guard let seat = seat(of: id, in: callId, table) else { return }
    try take(seat, displayName: seat.displayName, wish.metadata, &chats, table, at: now)
  }

  /// The seat that a session has in the room of a call.
  private static func seat(of id: SessionID, in callId: String, _ table: RoomTable) -> Seat? {
    guard let seat = table.currentSeat(of: id), table.name(of: seat.room) == CallRoom.name(callId) else { return nil }
    return seat
  }
}
