// Which rooms there are, for one who is in none yet.
import RoostProtocol

extension RoostSession {
  /// Rooms that are configured or have somebody in them, by name; calls are none.
  public func rooms() async throws(RoostError) -> [RoomInfo] {
    guard case .rooms(let result) = try await request(.room(.list)) else { throw .unexpectedReply(.roomList) }
    return result.rooms
  }

  /// What a room is like, and how many are in it.
  /// - Throws: `.refused` with 2001 ROOM_NOT_FOUND.
  public func info(of room: String) async throws(RoostError) -> RoomInfo {
    guard case .roomInfo(let info) = try await request(.room(.info(RoomParams(room: room)))) else {
      throw .unexpectedReply(.roomInfo)
    }
    return info
  }
}
