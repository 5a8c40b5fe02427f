// What a session can do with calls: start one, hear of those that ring, look at those that were.
import RoostProtocol

/// A call that was started.
public struct StartedCall: Sendable {
  /// The call.
  public var call: CallSession
  /// Its room; one is in it from the start.
  public var room: RoomSession
  /// Users who are in another call.
  public var busy: [String]
  /// Users without a device.
  public var unreachable: [String]
  /// Whether it is the other's call to oneself that was joined instead, as both called at once.
  public var isGlare: Bool
}

extension RoostSession {
  /// Calls people.
  ///
  ///     let started = try await session.startCall(CallStartParams(to: ["ben"], kind: .oneToOne, media: .video))
  ///     for await update in await started.call.updates() { print(update.call.state) }
  ///
  /// - Throws: `.refused` with 3011 SELF_BUSY, 3012 CANNOT_CALL_SELF, 3014 TOO_MANY_INVITEES …
  public func startCall(_ params: CallStartParams) async throws(RoostError) -> StartedCall {
    guard case .callStarted(let result) = try await request(.call(.start(params))) else {
      throw .unexpectedReply(.callStart)
    }
    return StartedCall(
      call: CallSession(session: self, callId: result.call.callId),
      room: RoomSession(session: self, name: result.room.room, selfId: result.room.selfId),
      busy: result.busy.map(\.user), unreachable: result.unreachable.map(\.user), isGlare: result.glare ?? false)
  }

  /// A call by its id: from a push message, a record or a list.
  public nonisolated func call(_ callId: String) -> CallSession { CallSession(session: self, callId: callId) }

  /// The call this user is in, on whatever device.
  public func currentCall() async throws(RoostError) -> CallSession? {
    guard case .callCurrent(let result) = try await request(.call(.current)) else {
      throw .unexpectedReply(.callCurrent)
    }
    return result.call.map { call($0.callId) }
  }

  /// Running group calls that one was in or invited to, and may join.
  public func availableCalls() async throws(RoostError) -> [Call] {
    guard case .calls(let result) = try await request(.call(.available)) else { throw .unexpectedReply(.callAvailable) }
    return result.calls
  }

  /// A page of one's own list of calls, newest first; give `next` as `before` for the page after it.
  public func callHistory(before: String? = nil, limit: Int? = nil) async throws(RoostError) -> CallHistoryResult {
    let params = CallHistoryParams(before: before, limit: limit)
    guard case .records(let result) = try await request(.call(.history(params))) else {
      throw .unexpectedReply(.callHistory)
    }
    return result
  }

  /// Calls of this user ring here no more; they are not told.
  public func block(_ user: String) async throws(RoostError) {
    _ = try await request(.block(.add(BlockParams(user: user))))
  }

  /// Calls of this user ring again.
  public func unblock(_ user: String) async throws(RoostError) {
    _ = try await request(.block(.remove(BlockParams(user: user))))
  }

  /// Whom one has blocked.
  public func blockedUsers() async throws(RoostError) -> [String] {
    guard case .blocked(let result) = try await request(.block(.list)) else { throw .unexpectedReply(.userBlocked) }
    return result.users
  }

  /// Whether users can be reached, and what their devices can do; in the order asked.
  public func presence(of users: [String]) async throws(RoostError) -> [UserPresence] {
    guard case .users(let result) = try await request(.userQuery(UserQueryParams(users: users))) else {
      throw .unexpectedReply(.userQuery)
    }
    return result.users
  }
}
