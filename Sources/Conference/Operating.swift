// What an operator may do from outside: look, close and lock rooms, put people out, end calls.

import Basics
import Calls
import RoostProtocol

/// An operator's wish.
public enum OperatorAction: Hashable, Sendable {
  /// Shows rooms and calls, and who is in them.
  case look
  /// Puts everybody out of a room.
  case closeRoom(String)
  /// Lets nobody more into a room, or lets people in again. Who is in it stays, and may come back from a lost connection.
  case setLocked(Bool, room: String)
  /// Puts a user out of a room.
  case remove(user: String, room: String)
  /// Puts a user out of a call, or stops ringing him.
  case removeFromCall(user: String, call: String)
  /// Ends a call for everybody.
  case endCall(String)
}

/// What has come of an operator's wish; encoded as one JSON object.
public enum OperatorAnswer: Encodable, Hashable, Sendable {
  case overview(OperatorOverview)
  /// How many people were put out.
  case removed(Int)
  case locked(Bool)
  /// The call as it ended.
  case ended(Call)

  private enum Key: CodingKey { case removed, locked, call }

  /// `{"rooms": […], "calls": […]}`, `{"removed": 2}`, `{"locked": true}` or `{"call": {…}}`.
  public func encode(to encoder: any Encoder) throws {
    if case .overview(let overview) = self { return try overview.encode(to: encoder) }
    var container = encoder.container(keyedBy: Key.self)
    switch self {
    case .overview: break
    case .removed(let count): try container.encode(count, forKey: .removed)
    case .locked(let isLocked): try container.encode(isLocked, forKey: .locked)
    case .ended(let call): try container.encode(call, forKey: .call)
    }
  }
}

/// What there is, as an operator sees it.
public struct OperatorOverview: Encodable, Hashable, Sendable {
  /// One room that is configured or has somebody in it; calls' rooms are none.
  public struct Room: Encodable, Hashable, Sendable {
    /// Name of the room.
    public var room: String
    /// Its kind, as configured.
    public var kind: String
    /// Audio or video.
    public var media: MediaClass
    /// Seats.
    public var limit: Int
    /// Whether nobody more is let in.
    public var locked: Bool
    /// Who is in it, in the order of joining.
    public var participants: [Participant]
  }

  /// Rooms, by name.
  public var rooms: [Room]
  /// Calls that ring or run, oldest first.
  public var calls: [Call]
}

extension ConferenceCore {
  /// Carries out an operator's wish as one step.
  /// - Returns: what has come of it, and what follows: 2001 or 3001 where there is no such room or call, 3002 for a call that is
  ///   over, 3008 for a user who is not there.
  public mutating func operate(
    _ action: OperatorAction, at now: Now
  ) -> (answer: Result<OperatorAnswer, ErrorObject>, effects: [Effect]) {
    var answer = Result<OperatorAnswer, ErrorObject>.failure(ErrorObject(.internalError))
    let effects = step(now) { core in
      do throws(ErrorObject) {
        answer = .success(try core.perform(action))
      } catch {
        answer = .failure(error)
      }
    }
    return (answer, effects)
  }

  private mutating func perform(_ action: OperatorAction) throws(ErrorObject) -> OperatorAnswer {
    switch action {
    case .look: return .overview(overview())
    case .closeRoom(let name): return .removed(try closeRoom(try namedRoom(name)))
    case .setLocked(let isLocked, let name):
      rooms[try namedRoom(name)]?.isLocked = isLocked
      log(isLocked ? "room_locked" : "room_unlocked", ["room": name])
      return .locked(isLocked)
    case .remove(let user, let name): return .removed(try remove(user, from: try namedRoom(name)))
    case .removeFromCall(let user, let call):
      carry(try calls.remove(user, from: call, at: now))
      log("removed", ["call": call, "user": user])
      return .removed(1)
    case .endCall(let id):
      let (effects, call) = try calls.stop(id, at: now)
      carry(effects)
      return .ended(call)
    }
  }

  private mutating func overview() -> OperatorOverview {
    let named = rooms.values.filter { !isCallRoom($0.name) }.sorted { $0.name < $1.name }
    return OperatorOverview(
      rooms: named.map { room in
        OperatorOverview.Room(
          room: room.name, kind: room.rules.kind, media: room.effectiveMedia, limit: room.info.limit,
          locked: room.isLocked, participants: room.members.compactMap { seats[$0].map(participant) })
      }, calls: calls.running(at: now))
  }

  private func namedRoom(_ name: String) throws(ErrorObject) -> RoomKey {
    guard !isCallRoom(name), let key = roomNames[name] else { throw ErrorObject(.roomNotFound) }
    return key
  }

  /// Everybody in the room is told, and has no seat any more.
  private mutating func closeRoom(_ key: RoomKey) throws(ErrorObject) -> Int {
    guard let room = rooms[key], !room.members.isEmpty else { return 0 }
    log("room_closed", ["room": room.name])
    for session in room.members.compactMap({ seats[$0]?.session }) {
      sessions[session]?.putOut = RoomClosed(room: room.name, reason: .closed)
    }
    empty(key, .removed)
    return room.members.count
  }

  private mutating func remove(_ user: String, from key: RoomKey) throws(ErrorObject) -> Int {
    guard let seat = rooms[key]?.members.compactMap({ seats[$0] }).first(where: { $0.user == user }) else {
      throw ErrorObject(.userNotFound, "This user is not in the room.")
    }
    let closed = RoomClosed(room: rooms[key]?.name ?? "", reason: .removed)
    log("removed", ["room": closed.room, "user": user])
    leave(seat.id, .removed)
    sessions[seat.session]?.putOut = closed
    send(.roomClosed(closed), to: seat.session)
    return 1
  }
}
