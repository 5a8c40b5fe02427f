// Which rooms there are, for one who is in none yet.
import RoostProtocol

extension RoostSession {
  /// Rooms that are configured or have somebody in them, by name; calls are none. Asks for page after page until it has all.
  public func rooms() async throws(RoostError) -> [RoomInfo] {
    var (all, next) = ([RoomInfo](), String?.none)
    repeat {
      let page = try await rooms(after: next)
      all += page.rooms
      next = page.next
    } while next != nil
    return all
  }

  /// One page of the same: at most 100 rooms behind `after`, which is `next` of the page before.
  public func rooms(after: String?, limit: Int? = nil) async throws(RoostError) -> RoomListResult {
    let params = RoomListParams(after: after, limit: limit)
    guard case .rooms(let result) = try await request(.room(.list(params))) else { throw .unexpectedReply(.roomList) }
    return result
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
