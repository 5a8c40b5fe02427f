// What moderators do in a room, and raised hands (docs/access.md).
import RoostProtocol

extension RoomSession {
  /// Does what a moderator does: mute, kick, ban, lock, admit, give roles, go on without video, end. In the room of a group call the host
  /// does, who has neither doors nor bans (1009 UNSUPPORTED).
  ///
  ///     try await room.moderate(.mute, user: "ben", hold: true)
  ///
  /// - Throws: `.refused` with 1005 FORBIDDEN for who does not moderate the room, or the user is above them.
  public func moderate(
    _ action: ModerationAction, user: String? = nil, kind: TrackKind? = nil, role: RoomRole? = nil,
    until: Int64? = nil, hold: Bool? = nil, address: Bool? = nil, media: MediaClass? = nil
  ) async throws(RoostError) {
    let params = ModerateParams(
      room: await currentName, action: action, user: user, kind: kind, role: role, until: until, hold: hold,
      address: address, media: media)
    _ = try await session.request(.room(.moderate(params)))
  }

  /// Raises one's hand, or lowers it.
  public func raiseHand(_ raised: Bool = true) async throws(RoostError) {
    _ = try await session.request(.room(.raiseHand(RaiseHandParams(room: await currentName, raised: raised))))
  }
}
