// How seats and rooms go.

import Basics
import Members
import RoostProtocol

extension Seating {
  /// Puts another session of the same user in a seat's place.
  @discardableResult
  mutating func move(_ old: Seat, to session: MemberFacts, _ params: RoomJoinParams, _ step: inout Step) -> SeatID {
    let position = table[old.room]?.members.firstIndex(of: old.id)
    let room = table[old.room]?.name ?? params.room
    close(old, &step)
    step.tell(.roomClosed(RoomClosed(room: room, reason: .replaced)), to: old.session)
    return fill(position, of: old, with: session, params, &step)
  }

  /// Frees a seat, once, and tells those who stay.
  mutating func leave(_ id: SeatID, _ reason: LeaveReason, _ step: inout Step) {
    guard let seat = table.seats[id] else { return }
    let left = ParticipantLeft(
      room: table.name(of: seat.room), participantId: "\(seat.participant)", user: seat.user, reason: reason)
    free(seat, reason, &step)
    table.freePlace(of: seat)
    step.tell(.participantLeft(left), in: seat.room, of: table)
    if table[seat.room]?.members.isEmpty == true { emptied(seat.room, &step) }
  }

  /// Takes all seats of a room away and tells who had them, but one.
  mutating func empty(_ key: RoomKey, _ reason: LeaveReason, except actor: SessionID? = nil, _ step: inout Step) {
    guard let room = table[key] else { return }
    for seat in table.members(of: key) {
      free(seat, reason, &step)
      guard seat.session != actor else { continue }
      let closed = RoomClosed(room: room.name, reason: .closed)
      step.tell(.roomClosed(closed), to: seat.session)
    }
    table.freePlaces(of: key)
    emptied(key, &step)
  }

  /// What goes with a seat whatever the reason: its tracks and paths, a line in the log, a count, a message to webhook
  /// subscribers.
  private mutating func free(_ seat: Seat, _ reason: LeaveReason, _ step: inout Step) {
    step.log(
      "leave", ["reason": reason.rawValue, "room": table.name(of: seat.room), "user": seat.user],
      orOf: LineSubject(seat.member.identity))
    step.count(.left(reason))
    close(seat, &step)
    publishRoom(.roomLeft, seat.room, of: seat, reason: reason.rawValue, &step)
  }

  // MARK: - The rooms there are

  /// Makes an empty room.
  @discardableResult
  mutating func addRoom(name: String, rules: RoomRules, isNamed: Bool, _ step: inout Step) -> RoomKey {
    let key = RoomKey(step.makeNumber())
    table.insert(Room(name: name, rules: rules, isNamed: isNamed), key)
    return key
  }

  /// A named room starts anew under another key, with its chat, and so does that of a call that still runs, as it does
  /// after a restart while nobody is back; any other vanishes.
  mutating func emptied(_ key: RoomKey, _ step: inout Step) {
    publishRoom(.roomClosed, key, &step)
    let later = table.nexts[key]
    guard let room = table.remove(key) else { return }
    media.setLoudest(nil, in: key)
    step.add(.closeRoom(key))
    guard room.isNamed || room.callRuns else {
      // A call's chat goes in the same change as the call: a crash must not come between them.
      if room.chat.keepsMessages, !room.isOfCall {
        step.keep([.forgetRoom(room.name)])
      }
      Doors.forget(room, &table, &step)
      return
    }
    let next = addRoom(name: room.name, rules: later ?? room.rules, isNamed: room.isNamed, &step)
    table.update(next) {
      ($0.chat, $0.isLocked, $0.moderation) = (room.chat, room.isLocked, room.moderation.whenEmpty)
      $0.keptPlaces = room.keptPlaces
    }
    Doors.limitAdmissions(next, until: step.now.instant + rules.resumeGrace, &table)
  }

  // MARK: - Sessions that go, or come back

  /// The offer that waits for an answer may be among the events that are gone, and so may pauses and layers.
  mutating func repeatState(to session: SessionID, _ step: inout Step) {
    guard let seat = table.currentSeat(of: session) else { return }
    if let offer = seat.outstandingOffer { step.tell(.pcOffer(offer), to: session) }
    subscribing.tellPauses(of: seat.id, &media, table, &step)
    publishing.tellLayers(of: seat.id, self, &step)
  }

  /// A session is over.
  mutating func forget(_ session: SessionID, _ reason: LeaveReason, _ step: inout Step) {
    if let seat = table.currentSeat(of: session) { leave(seat.id, reason, &step) }
    Doors.leaveLobby(session, &table, &step)
    table.forget(session)
  }
}
