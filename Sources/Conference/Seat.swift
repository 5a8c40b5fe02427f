// A seat: one person in a room with his two media connections, and how others see him.

import RoostProtocol

/// One person in a room.
struct Seat: Sendable {
  let id: SeatID
  /// The place, which outlives the seat when another device takes over.
  let participant: ParticipantID
  let room: RoomKey
  let session: SessionID
  let user: String
  var displayName: String
  var metadata: JSONValue
  var autoSubscribe: Bool
  /// What it publishes, oldest first.
  var tracks: [TrackID] = []
  /// What it receives, by track.
  var subscriptions: [TrackID: SubscriptionID] = [:]
  /// The subscribe offer that waits for its answer.
  var outstandingOffer: SubscribeOffer?
  /// Media connections that will never come up again, with the reason.
  var failures: [PeerConnection: MediaFailure] = [:]
  /// Media connections without consent for too long. One that comes back says nothing of the other.
  var lostMedia: Set<PeerConnection> = []
  /// Whether the others were told that it is reconnecting.
  var isAnnouncedLost = false

  var isMediaLost: Bool { !lostMedia.isEmpty }

  /// - Throws: 4006 when this media connection has failed for good.
  func checkMedia(_ connection: PeerConnection, _ advice: String) throws(ErrorObject) {
    guard let failure = failures[connection] else { return }
    throw ErrorObject(.transportFailed, "\(failure.reason) \(advice)") {
      $0.step = failure.step
    }
  }

  /// Names are taken whatever their case, and whatever invisible characters they hold: those make no other person.
  static func nameKey(_ displayName: String) -> String {
    var visible = String.UnicodeScalarView()
    visible.append(contentsOf: displayName.unicodeScalars.lazy.filter { !$0.properties.isDefaultIgnorableCodePoint })
    return String(visible).lowercased()
  }
}

/// Why a media connection is over.
struct MediaFailure: Sendable {
  let step: MediaStep
  let reason: String
}

extension ConferenceCore {
  /// The session's seat in the room of this name.
  /// - Throws: 2005 when it is not in that room, 2006 where an operator put it out.
  func seat(of session: SessionID, inRoom name: String) throws(ErrorObject) -> Seat {
    guard let seat = sessions[session]?.seat.flatMap({ seats[$0] }), rooms[seat.room]?.name == name else {
      let putOut = sessions[session]?.putOut
      throw putOut?.room == name ? .putOut(putOut) : ErrorObject(.notJoined)
    }
    return seat
  }

  /// The session's seat in whatever room.
  /// - Throws: 2005 when it has none, 2006 where an operator took it away.
  func seat(of session: SessionID) throws(ErrorObject) -> Seat {
    guard let seat = sessions[session]?.seat.flatMap({ seats[$0] }) else {
      throw .putOut(sessions[session]?.putOut)
    }
    return seat
  }

  /// How others see a seat.
  func participant(_ seat: Seat) -> Participant {
    Participant(
      participantId: "\(seat.participant)", user: seat.user, displayName: seat.displayName,
      state: isLost(seat) ? .reconnecting : .joined, metadata: seat.metadata,
      tracks: seat.tracks.compactMap { tracks[$0]?.wire })
  }

  /// The room as the one on this seat may see it, at the event number that his session stands at.
  func snapshot(_ id: SeatID) -> RoomSnapshot? {
    guard let seat = seats[id], let room = rooms[seat.room], let session = sessions[seat.session] else { return nil }
    return RoomSnapshot(
      room: room.name, kind: room.rules.kind, media: room.effectiveMedia, limit: room.info.limit, count: room.occupied,
      seq: session.log.seq, selfId: "\(seat.participant)",
      participants: room.members.compactMap { seats[$0].map(participant) },
      chat: room.chat.messages(visibleTo: seat.user))
  }

  /// Seats somebody: registers the seat, opens its media and subscribes it to what there is. The room must have space.
  mutating func open(_ seat: Seat, at position: Int? = nil) {
    seats[seat.id] = seat
    sessions[seat.session]?.seat = seat.id
    sessions[seat.session]?.putOut = nil
    waiting.cancel(seat.session)
    if let position { rooms[seat.room]?.members[position] = seat.id } else { rooms[seat.room]?.members.append(seat.id) }
    let media = rooms[seat.room]?.effectiveMedia ?? .video
    effects.append(.media(.openSeat(seat.id, room: seat.room, participant: seat.participant, media: media)))
    if seat.autoSubscribe { subscribeToAll(seat.id) }
  }

  /// Closes the media of a seat and forgets it. The place in the room is the caller's to fill or free.
  mutating func close(_ id: SeatID) {
    guard let seat = seats[id] else { return }
    for subscription in seat.subscriptions.values.sorted() { removeSubscription(subscription) }
    for track in seat.tracks { endTrack(track) }
    seats[id] = nil
    sessions[seat.session]?.seat = nil
    noteWaiting(seat.session)
    deadlines.cancel(.media(id))
    effects.append(.media(.closeSeat(id)))
    if madeWay.contains(seat.session) { end(seat.session, .replaced) }
  }
}

extension ErrorObject {
  /// Why a session has no seat: 2006 where an operator took it away, else 2005.
  fileprivate static func putOut(_ closed: RoomClosed?) -> ErrorObject {
    guard let closed else { return ErrorObject(.notJoined) }
    let message = closed.reason == .removed ? "You were removed from this room." : nil
    return ErrorObject(.roomClosed, message) { $0.reason = closed.reason.rawValue }
  }
}
