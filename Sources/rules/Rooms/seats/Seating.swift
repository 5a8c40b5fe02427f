// Who sits where and what goes to whom, and what always goes together when that changes: a seat takes its tracks and subscriptions along,
// and those concerned are told. Who is let in, and what may be asked, is decided before (`Rooms`).

import Basics
import Calls
import Members
import RoostProtocol

/// Rooms with their seats, and what those publish and receive.
struct Seating: Sendable {
  /// The rules that the conference was made with.
  let rules: ConferenceRules
  var table = RoomTable()
  var media: TrackTable
  var publishing = Publishing()
  var subscribing = Subscribing()
  var messages: DataMessages

  /// No rooms.
  init(_ rules: ConferenceRules) {
    self.rules = rules
    media = TrackTable(rules)
    messages = DataMessages(rules)
  }

  // MARK: - Telling

  /// Tells the others how somebody is seen now, and themselves too where `toAll`.
  func announce(_ id: SeatID, toAll: Bool = false, _ step: inout Step) {
    guard let seat = table.seats[id] else { return }
    step.tell(.participantUpdated(seat.event(in: self)), in: seat.room, of: table, except: toAll ? nil : id)
  }

  /// Tells webhook subscribers of a room that is no call's, and of who leaves a call.
  mutating func publishRoom(
    _ type: WebhookEvent.Kind, _ key: RoomKey, of seat: Seat? = nil, reason: String? = nil, _ step: inout Step
  ) {
    guard rules.hasWebhooks, let isOfCall = table[key]?.isOfCall, !isOfCall || type == .roomLeft else { return }
    // Not by its places: those of people who leave together are freed together.
    let count = isOfCall ? nil : table.members(of: key).count { !$0.isPlayer }
    var event = WebhookEvent.of(key, type, seat, reason: reason, count: count, table, at: step.now)
    if type == .roomLeft, let seat {
      table.update(key) { event.stay = $0.stays.end(seat.participant, at: step.now.instant) }
    }
    step.add(.webhook(event))
  }

  // MARK: - Seats

  /// Seats a session that has no seat, and tells the others. The room must have space.
  @discardableResult
  mutating func take(_ member: MemberFacts, in room: RoomKey, _ params: RoomJoinParams, _ step: inout Step) -> SeatID {
    var seat = Seat(
      id: SeatID(step.makeNumber()), participant: ParticipantID(step.makeNumber()), room: room,
      member: member.settled(in: table.name(of: room)), displayName: params.displayName ?? member.displayName,
      metadata: params.metadata ?? .emptyObject)
    seat.autoSubscribe = params.autoSubscribe ?? true
    seat.isPlayer = member.isPlayer(in: room, table)
    seat.holder = ShareHolder(member.identity)
    if table[room]?.members.isEmpty == true { publishRoom(.roomOpened, room, &step) }
    open(seat, views: params.views, &step)
    step.count(.joined)
    step.log("join", table.fields(seat))
    step.tell(.participantJoined(seat.event(in: self)), in: room, of: table, except: seat.id)
    publishRoom(.roomJoined, room, of: seat, &step)
    return seat.id
  }

  /// Puts another session of the same user in the place of a seat that has been closed, and tells the others.
  mutating func fill(
    _ position: Int?, of old: Seat, with member: MemberFacts, _ params: RoomJoinParams, _ step: inout Step
  ) -> SeatID {
    var seat = Seat(
      id: SeatID(step.makeNumber()), participant: old.participant, room: old.room,
      member: member.settled(in: table.name(of: old.room)), displayName: params.displayName ?? old.displayName,
      metadata: params.metadata ?? old.metadata)
    seat.autoSubscribe = params.autoSubscribe ?? true
    seat.isPlayer = old.isPlayer
    seat.holder = ShareHolder(member.identity)
    seat.handRaisedAt = old.handRaisedAt
    open(seat, at: position, views: params.views, &step)
    step.log("takeover", table.fields(seat))
    announce(seat.id, &step)
    return seat.id
  }

  /// Changes what is said of a seat, where it is given; the others hear of what they can see.
  mutating func renew(
    _ id: SeatID, displayName: String, _ metadata: RawJSON?, _ autoSubscribe: Bool?, _ step: inout Step
  ) {
    guard let old = table.seats[id] else { return }
    table.update(id) { seat in
      seat.displayName = displayName
      seat.metadata = metadata ?? seat.metadata
      seat.autoSubscribe = autoSubscribe ?? seat.autoSubscribe
    }
    if autoSubscribe == true { Subscribing.toAll(id, &media, table, &step) }
    guard let seat = table.seats[id], Renewals.changes(old, displayName: seat.displayName, seat.metadata) else {
      return
    }
    announce(seat.id, &step)
  }

  /// Registers a seat, opens its media and its views, and subscribes it to what there is.
  private mutating func open(_ seat: Seat, at position: Int? = nil, views: Int?, _ step: inout Step) {
    table.insert(seat, at: position)
    step.tellSeated(seat.session, on: seat.id, in: table.name(of: seat.room), left: seat.member.stay?.rights)
    table.grantReplacesRole(of: seat)
    let kind = table[seat.room]?.effectiveMedia ?? .video
    step.add(
      .openSeat(
        seat.id, room: seat.room, participant: seat.participant, media: kind,
        sound: table[seat.room]?.rules.sound ?? SoundRules(), sends: SendingRights(of: seat, kind, table),
        capabilities: seat.member.capabilities))
    if let views, kind == .video { Viewing.open(views, on: seat, &media, table, &step) }
    if seat.autoSubscribe { Subscribing.toAll(seat.id, &media, table, &step) }
  }

  /// Closes the media of a seat and forgets it. The place in the room is the caller's to fill or free.
  mutating func close(_ seat: Seat, _ step: inout Step) {
    let carried = media[seat.id]
    // A room of which nothing is left on its worker says nothing of its speakers.
    if step.isFollowed { table.update(seat.room) { $0.stays.stop(seat.participant, at: step.now.instant) } }
    for subscription in carried.received { Subscribing.remove(subscription, &media, &step) }
    for track in carried.tracks { Publishing.end(track, &media, table, &step) }
    media.forget(seat.id)
    table.remove(seat.id)
    step.add(.closeSeat(seat.id))
    messages.left(seat.id, &step)
    step.tellUnseated(seat.session)
  }
}

// Functions, and no initialisers: those would be handed copies of all rooms.
extension WebhookEvent {
  /// What is told of a room; of that of a call that somebody has left it.
  static func of(
    _ key: RoomKey, _ type: Kind, _ seat: Seat? = nil, reason: String? = nil, count: Int?, _ table: RoomTable,
    at now: Now
  ) -> WebhookEvent {
    WebhookEvent(
      type: table[key]?.isOfCall == true ? .callLegEnded : type, at: now.wallMilliseconds, room: table.name(of: key),
      user: seat?.user, participantId: seat.map { "\($0.participant)" }, count: count, reason: reason)
  }
}

extension Seat {
  /// How others see it.
  func seen(in rooms: Seating) -> Participant {
    Participant(
      participantId: "\(participant)", user: user, displayName: displayName,
      state: rooms.table.isLost(self) ? .reconnecting : .joined, metadata: metadata,
      tracks: rooms.media.tracks(of: id).map(\.wire), role: Access.role(of: self, rooms.table),
      handRaisedAt: handRaisedAt)
  }

  /// The params of an event about it.
  func event(in rooms: Seating) -> ParticipantEvent {
    ParticipantEvent(room: rooms.table.name(of: room), participant: seen(in: rooms))
  }
}

extension RoomTable {
  /// What the log says of one who has a seat now.
  fileprivate func fields(_ seat: Seat) -> KeyValuePairs<String, String> {
    [
      "room": name(of: seat.room), "user": seat.user, "participant": "\(seat.participant)",
      "count": "\(self[seat.room]?.occupied ?? 0)",
    ]
  }
}

extension ConferenceRules {
  /// How long a seat is kept whose media is lost.
  func grace(of seat: SeatID, _ table: RoomTable) -> TimeDelta {
    table.seats[seat].map { table.isInCall($0) } == true ? calls.resumeGrace : resumeGrace
  }
}

extension SendingRights {
  /// What a seat may come to send.
  init(of seat: Seat, _ media: MediaClass, _ table: RoomTable) {
    self.init()
    guard let room = table[seat.room] else { return }
    publishers = room.rules.publishers ?? Self.senders(media)
    if seat.member.identity.onlyPlays { return }
    let rights = seat.member.rights(in: table.name(of: seat.room))
    sound = rights.contains(.publishAudio)
    pictures = media == .video && rights.contains(.publishVideo)
  }
}
