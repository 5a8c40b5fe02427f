// Somebody is moved to another room. Whether they may be there is asked as of a join, before anything changes; whether their connections can
// go on there, the media side knows.
//
//   move ─▶ may they join? ─▶ MediaEffect.askMove ─▶ Command.mayMove ─▶ on the same worker: out of the room and into the other, with all they publish
//                                                                  └──▶ on another one: they leave and join, and connect anew

import Basics
import Members
import RoostProtocol

extension Rooms {
  /// Moves a user to another room. Whether they were anywhere else.
  /// - Throws: 3008 for who is not in the room, 3003 for who came by another protocol, and what their join would be refused with: 2008 where
  ///   they would have to wait in a lobby.
  mutating func move(
    _ user: String, from key: RoomKey, to name: String, _ step: inout Step
  ) throws(ErrorObject) -> Bool {
    guard let seat = table.seat(ofUser: user, in: key) else {
      throw ErrorObject(.userNotFound, "This user is not in the room.")
    }
    let entrance = seat.member.identity.entrance
    guard entrance == .native else {
      throw ErrorObject(.invalidState, "This user came by \(entrance.rawValue), whose clients cannot be moved.")
    }
    let media = table[key]?.effectiveMedia ?? .video
    let params = RoomJoinParams(room: name, displayName: seat.displayName, media: media)
    let member = seat.member.moved(to: name)
    switch try entry(params, member, isMove: true, step.now) {
    case .rejoin: return false
    case .takeOver: throw ErrorObject(.alreadyJoined)
    case .knock: throw ErrorObject(.inLobby)
    case .free(let room, let rules):
      let target = room ?? addRoom(name: name, rules: rules, isNamed: false, &step)
      if member.mayDecideMedia(of: name) { RoomMedia.decide(media, of: target, &seating, &step) }
      step.add(.askMove(seat.id, to: target))
    }
    return true
  }

  /// The media side has said whether a seat's connections can go on in the other room. Nothing has happened since that was asked.
  mutating func carryOn(_ id: SeatID, to target: RoomKey, keepsConnections: Bool, _ step: inout Step) {
    guard let old = table.seats[id], table[target] != nil else { return }
    let from = table.name(of: old.room)
    if table.stays[old.session]?.knocksAt == table.name(of: target) {
      Doors.leaveLobby(old.session, &seating.table, &step)
    }
    step.log(
      "moved", ["room": from, "user": old.user, "to": table.name(of: target)], orOf: LineSubject(old.member.identity))
    let moved: SeatID
    if keepsConnections {
      moved = id
      seating.carry(old, to: target, &step)
    } else {
      let views = media[id].views.count { media.subscriptions[$0]?.view?.kind == .video }
      let params = RoomJoinParams(
        room: table.name(of: target), displayName: old.displayName, metadata: old.metadata,
        autoSubscribe: old.autoSubscribe, views: views == 0 ? nil : views)
      seating.leave(id, .moved, &step)
      moved = seating.take(old.member.moved(to: params.room), in: target, params, &step)
      // The others see how it is with them in what they hear of their coming.
      seating.table.update(moved) { $0.health.isAnnouncedLost = !old.member.presence.isConnected }
    }
    guard let snapshot = moved.snapshot(in: self, at: step.now.wallMilliseconds) else { return }
    step.tell(
      .roomSwitched(RoomSwitched(from: from, snapshot: snapshot, reconnect: keepsConnections ? nil : true)),
      to: old.session)
    if keepsConnections { seating.introduce(id, &step) }
  }
}

extension Seating {
  /// Takes a seat out of its room and puts it into another one, with what it publishes and that room takes. Nobody there has heard of it yet.
  fileprivate mutating func carry(_ old: Seat, to target: RoomKey, _ step: inout Step) {
    let id = old.id
    for subscription in media[id].subscriptions.values.sorted() { Subscribing.remove(subscription, &media, &step) }
    step.count(.left(.moved))
    table.note(old.member.moved(to: table.name(of: target)))
    table.move(id, to: target)
    messages.left(id, &step)
    for track in media.tracks(of: id) {
      Publishing.take(track, to: target, &media, table, &step)
      Publishing.report(.trackUnpublished, track, table, &step)
    }
    publishRoom(.roomLeft, old.room, of: old, reason: LeaveReason.moved.rawValue, &step)
    for view in media[id].views { Viewing.show(nil, on: view, &media, table, &step) }
    if let seat = table.seats[id], let room = table[target] {
      step.add(
        .moveSeat(
          id, room: target, sound: room.rules.sound, sends: SendingRights(of: seat, room.effectiveMedia, table)))
    }
    let left = ParticipantLeft(
      room: table.name(of: old.room), participantId: "\(old.participant)", user: old.user, reason: .moved)
    step.tell(.participantLeft(left), in: old.room, of: table)
    if table[old.room]?.members.isEmpty == true { emptied(old.room, &step) }
    guard let seat = table.seats[id] else { return }
    step.tellSeated(seat.session, on: id, in: table.name(of: target), left: seat.member.stay?.rights)
    table.grantReplacesRole(of: seat)
    for track in Publishing.untaken(of: seat, self, at: step.now.instant) {
      Publishing.end(track, isKnown: false, &media, table, &step)
    }
    for track in media.tracks(of: id) where !track.wire.muted && Access.isHeld(seat, track.wire.kind, table) {
      media.setMuted(true, track.id)
      step.add(.setMuted(track.id, true))
    }
    if !Access.maySubscribe(seat, table) {
      for view in media[id].views { Subscribing.end(view, .forbidden, &media, table, &step) }
    }
  }

  /// Tells those in a room of one who was moved there, and lets them and those there receive each other.
  fileprivate mutating func introduce(_ id: SeatID, _ step: inout Step) {
    guard let seat = table.seats[id], let room = table[seat.room] else { return }
    if room.members.count == 1 { publishRoom(.roomOpened, seat.room, &step) }
    step.count(.joined)
    if !media.tracks(of: id).isEmpty { Places.take(seat, &self, &step) }
    step.tell(.participantJoined(seat.event(in: self)), in: seat.room, of: table, except: id)
    publishRoom(.roomJoined, seat.room, of: seat, &step)
    for track in media.tracks(of: id) { Publishing.report(.trackPublished, track, table, &step) }
    if let person = room.weak[seat.participant] {
      step.tell(
        .roomQuality(RoomQuality(room: room.name, people: [person])), in: seat.room, of: table, except: id)
    }
    table.tellSpeakers(to: id, &step)
    QualityBook.introduce(to: id, self, &step)
    for member in table.members(of: seat.room) where member.id != id {
      for track in media.tracks(of: id) where member.takesAll(track.wire.kind, media) {
        Subscribing.add(of: member.id, to: track.id, &media, table, &step)
      }
    }
    if seat.autoSubscribe { Subscribing.toAll(id, &media, table, &step) }
    Viewing.speakersChanged(in: seat.room, &media, table, &step)
  }
}

extension Publishing {
  /// What a seat publishes and may not in the room that it has come to: what there is no right, no place or no number left for.
  fileprivate static func untaken(of seat: Seat, _ rooms: Seating, at now: Instant) -> [TrackID] {
    guard let room = rooms.table[seat.room] else { return [] }
    let rights = Access.rights(of: seat, rooms.table)
    let hasPlace = Places(for: seat, rooms, at: now)?.isFree ?? true
    var left = hasPlace && !seat.isPlayer ? room.rules.tracksPerParticipant : 0
    return rooms.media.tracks(of: seat.id).filter { track in
      let isTaken =
        left > 0 && rights.isSuperset(of: .toPublish(track.wire.kind, track.wire.source))
        && (track.wire.kind == .audio || room.effectiveMedia == .video)
      if isTaken { left -= 1 }
      return !isTaken
    }.map(\.id)
  }
}
