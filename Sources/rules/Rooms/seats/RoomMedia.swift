// Whether a room carries video. Its kind says so, or who comes first and may publish; a moderator or an operator may change it while the meeting
// lasts, and video that runs ends where there shall be none.

import Members
import RoostProtocol

extension MemberFacts {
  /// Whether it is for them to say what a room carries that nobody has said it of: who may publish nothing has no say in it.
  func mayDecideMedia(of room: String) -> Bool {
    !identity.onlyPlays
      && !rights(in: room).isDisjoint(with: [.publishAudio, .publishVideo, .publishScreen])
  }
}

/// The rules of it.
enum RoomMedia {
  /// - Throws: 2002 where more people are in the room than it takes then.
  /// - Parameter rules: those that hold then; nil: the room's.
  static func check(_ media: MediaClass, _ room: Room, _ rules: RoomRules? = nil) throws(ErrorObject) {
    let limit = (rules ?? room.rules).seats(media)
    guard room.occupied <= limit else { throw .limit(.roomFull, limit: limit, count: room.occupied) }
  }

  /// What a moderator may not: video where the room's kind is without.
  /// - Throws: 3016, and 2002 as above.
  static func checkModerator(_ media: MediaClass, _ room: Room) throws(ErrorObject) {
    if media == .video, room.rules.media == .audio {
      throw ErrorObject(.mediaNotAllowed, "Rooms of this kind are without video.")
    }
    try check(media, room)
  }

  /// Changes it. Everybody hears of it first, and then that video has ended, as when a moderator stops it.
  static func set(
    _ media: MediaClass, of key: RoomKey, by user: String?, _ rooms: inout Seating, _ step: inout Step
  ) {
    guard let room = rooms.table[key] else { return }
    rooms.table.update(key) { $0.media = media }
    let event = RoomModerated(
      room: room.name, by: user, action: .media, media: media, limit: room.rules.seats(media))
    step.tell(.roomModerated(event), in: key, of: rooms.table)
    guard media == .audio else { return }
    for seat in rooms.table.members(of: key) { endVideo(of: seat, &rooms.media, rooms.table, &step) }
  }

  /// Ends what somebody shows. They hear of it too, as it was not their doing.
  static func endVideo(of seat: Seat, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    for track in media.tracks(of: seat.id) where track.wire.kind == .video {
      Publishing.end(track.id, &media, table, &step)
      Publishing.announceEnd(of: track.id, seat: seat.id, toAll: true, table, &step)
    }
  }

  /// Somebody comes into a room, or begins to publish in it, of which nobody has said what it carries. Those who are there hear where that is
  /// something else than they were told.
  static func decide(_ media: MediaClass, of key: RoomKey, _ rooms: inout Seating, _ step: inout Step) {
    guard let room = rooms.table[key], room.media == nil else { return }
    guard media == room.effectiveMedia || room.members.isEmpty else {
      return set(media, of: key, by: nil, &rooms, &step)
    }
    rooms.table.update(key) { $0.media = media }
  }
}
