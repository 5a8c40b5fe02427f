// What a realm may have of seats and rooms.

import Calls
import Members
import RoostProtocol

extension Rooms {
  /// Rooms that are not configured, those that operators have made included, without those of calls.
  package var unnamed: Int { table.names.all.count - rules.rooms.count }
  /// Calls that run in other realms.
  package var callsElsewhere: Int { others.calls }
}

/// The bounds of quotas.
package enum RoomQuotas {
  /// Whether there is a seat for one more of the realm. Who has one gives it up for the new one, and who comes for another of their devices
  /// takes its place.
  /// - Throws: 5002.
  static func checkSeat(_ member: MemberFacts, in room: RoomKey?, _ rooms: Rooms) throws(ErrorObject) {
    let table = rooms.table
    guard let quota = rooms.rules.quotas.participants, table.seats.count >= quota else { return }
    if table.currentSeat(of: member.session) != nil { return }
    if let room, table.seat(ofUser: member.user, in: room) != nil { return }
    throw .quota(.participants, quota, wait: rooms.rules.resumeGrace.milliseconds)
  }

  /// The same for a seat in a call; nil: in one that is yet to begin.
  /// - Throws: 5002.
  package static func checkSeat(_ member: MemberFacts, inCall call: String?, _ rooms: Rooms) throws(ErrorObject) {
    try checkSeat(member, in: call.flatMap { rooms.table[named: CallRoom.name($0)] }, rooms)
  }

  /// Whether there may be one room more, on the server and of the realm. Of the realm's so many are free then.
  /// - Throws: 5002.
  static func checkSpace(_ rooms: Rooms, freed: Int = 0) throws(ErrorObject) {
    let rules = rooms.rules
    let unnamed = rooms.table.all.count - rules.rooms.count + rooms.others.rooms
    if unnamed >= rules.maxRooms { throw .full(of: "rooms", limit: rules.maxRooms) }
    guard let quota = rules.quotas.rooms, rooms.unnamed - freed >= quota else { return }
    throw .quota(.rooms, quota)
  }

  /// The same for somebody who joins. The room that they leave for it, where nobody else is in it, is free then.
  /// - Throws: 5002.
  static func checkRoom(_ member: MemberFacts, _ rooms: Rooms) throws(ErrorObject) {
    let table = rooms.table
    let left = table.currentSeat(of: member.session).flatMap { table[$0.room] }
    let isFreed = left.map { !$0.isNamed && !$0.isOfCall && $0.members.count == 1 } ?? false
    try checkSpace(rooms, freed: isFreed ? 1 : 0)
  }
}
