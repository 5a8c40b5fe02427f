// Rooms as they are now, and what always goes together when they change: a seat takes its tracks and subscriptions along, and those
// concerned are told. They know nothing of calls, and of sessions what has come with requests (`MemberFacts`).

import Basics
import Calls
import Members
import RoostProtocol

/// All of rooms: who is in them, who is kept out, and what may still be asked there.
struct Rooms: Sendable {
  /// The rules that the conference was made with.
  let rules: ConferenceRules
  var table = RoomTable()
  var media: TrackTable
  var bans = BanTable()
  var addressBans = AddressBanTable()
  var knocks: KnockLimits
  /// What users may still ask for as moderators.
  var moderations: KeyedBuckets<ClaimedUser>
  var chats: ChatLimits

  init(rules: ConferenceRules) {
    self.rules = rules
    knocks = KnockLimits(rules)
    moderations = KeyedBuckets(
      burst: rules.moderationBurst, perSecond: rules.moderationsPerSecond, most: NetworkBuckets.mostNetworks)
    chats = ChatLimits(rules)
    media = TrackTable(rules)
  }

  // MARK: - Looking

  /// The seat that a session has now; nil where it has none.
  func currentSeat(of session: SessionID) -> Seat? { table.currentSeat(of: session) }

  /// How long a seat is kept whose socket or media is lost.
  func grace(of seat: SeatID?) -> TimeDelta {
    guard let seat = seat.flatMap({ table.seats[$0] }), table.isInCall(seat) else { return rules.resumeGrace }
    return rules.calls.resumeGrace
  }

  /// How others see a seat.
  func participant(_ seat: Seat) -> Participant {
    Participant(
      participantId: "\(seat.participant)", user: seat.user, displayName: seat.displayName,
      state: table.isLost(seat) ? .reconnecting : .joined, metadata: seat.metadata,
      tracks: media.tracks(of: seat.id).map(\.wire), role: Access.role(of: seat, table), handRaisedAt: seat.handRaisedAt
    )
  }

  /// The params of an event about a participant.
  func event(_ seat: Seat) -> ParticipantEvent {
    ParticipantEvent(room: table.name(of: seat.room), participant: participant(seat))
  }

  /// The room as the one on this seat may see it. At which event of their session it stands, that one says (`SessionTable.stamped`).
  func snapshot(_ id: SeatID, at wallMilliseconds: Int64) -> RoomSnapshot? {
    guard let seat = table.seats[id], let room = table[seat.room] else { return nil }
    let isModerator = Access.role(of: seat, table) == .moderator
    var moderation = room.seen(room.moderation.seen(by: seat.user, isModerator: isModerator))
    if isModerator { moderation.bans = bans.shown(in: room.name, at: wallMilliseconds) }
    let views = media[id].views
    return RoomSnapshot(
      room: room.name, kind: room.rules.kind, media: room.effectiveMedia, limit: room.info.limit, count: room.occupied,
      seq: 0, selfId: "\(seat.participant)", participants: table.members(of: seat.room).map(participant),
      chat: room.chat.messages(visibleTo: seat.user),
      views: views.isEmpty ? nil : views.map(\.description), moderation: moderation.isUsual ? nil : moderation
    )
  }

  // MARK: - Telling

  /// Tells the others how somebody is seen now, and themselves too where `toAll`.
  func announce(_ id: SeatID, toAll: Bool = false, _ step: inout Step) {
    guard let seat = table.seats[id] else { return }
    step.tell(.participantUpdated(event(seat)), in: seat.room, of: table, except: toAll ? nil : id)
  }

  /// Tells webhook subscribers of a room that is no call's.
  func publishRoom(
    _ type: WebhookEvent.Kind, _ room: RoomKey, user: String? = nil, reason: String? = nil, _ step: inout Step
  ) {
    guard rules.hasWebhooks, let room = table[room], !room.isOfCall else { return }
    step.add(
      .webhook(WebhookEvent(type: type, at: step.now.wallMilliseconds, room: room.name, user: user, reason: reason)))
  }

  // MARK: - Seats

  /// Seats a session that has no seat, and tells the others. The room must have space.
  @discardableResult
  mutating func take(_ member: MemberFacts, in room: RoomKey, _ params: RoomJoinParams, _ step: inout Step) -> SeatID {
    var seat = Seat(
      id: SeatID(step.makeNumber()), participant: ParticipantID(step.makeNumber()), room: room, member: member,
      displayName: params.displayName ?? member.displayName,
      metadata: params.metadata ?? .emptyObject)
    seat.autoSubscribe = params.autoSubscribe ?? true
    seat.isPlayer = member.isPlayer(in: room, table)
    seat.holder = ShareHolder(member.identity)
    if table[room]?.members.isEmpty == true { publishRoom(.roomOpened, room, &step) }
    open(seat, views: params.views, &step)
    step.count(.joined)
    step.log("join", fields(seat))
    step.tell(.participantJoined(event(seat)), in: room, of: table, except: seat.id)
    publishRoom(.roomJoined, room, user: seat.user, &step)
    return seat.id
  }

  /// Puts another session of the same user in the place of a seat that has been closed, and tells the others.
  mutating func fill(
    _ position: Int?, of old: Seat, with member: MemberFacts, _ params: RoomJoinParams, _ step: inout Step
  ) -> SeatID {
    var seat = Seat(
      id: SeatID(step.makeNumber()), participant: old.participant, room: old.room, member: member,
      displayName: params.displayName ?? old.displayName, metadata: params.metadata ?? old.metadata)
    seat.autoSubscribe = params.autoSubscribe ?? true
    seat.isPlayer = old.isPlayer
    seat.holder = ShareHolder(member.identity)
    seat.handRaisedAt = old.handRaisedAt
    open(seat, at: position, views: params.views, &step)
    step.log("takeover", fields(seat))
    announce(seat.id, &step)
    return seat.id
  }

  /// Changes what is said of a seat, where it is given; the others hear of what they can see.
  mutating func renew(
    _ id: SeatID, displayName: String, _ metadata: JSONValue?, _ autoSubscribe: Bool?, _ step: inout Step
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
    step.tellSeated(seat.session, on: seat.id, in: table.name(of: seat.room))
    table.grantReplacesRole(of: seat)
    let kind = table[seat.room]?.effectiveMedia ?? .video
    step.add(
      .openSeat(
        seat.id, room: seat.room, participant: seat.participant, media: kind,
        sound: table[seat.room]?.rules.sound ?? SoundRules(), capabilities: seat.member.capabilities))
    if let views, kind == .video { Viewing.open(views, on: seat, &media, table, &step) }
    if seat.autoSubscribe { Subscribing.toAll(seat.id, &media, table, &step) }
  }

  /// Closes the media of a seat and forgets it. The place in the room is the caller's to fill or free.
  mutating func close(_ seat: Seat, _ step: inout Step) {
    let carried = media[seat.id]
    for subscription in carried.received { Subscribing.remove(subscription, &media, &step) }
    for track in carried.tracks { Publishing.end(track, &media, table, &step) }
    media.forget(seat.id)
    table.remove(seat.id)
    step.tellUnseated(seat.session)
    step.add(.closeSeat(seat.id))
  }

  private func fields(_ seat: Seat) -> KeyValuePairs<String, String> {
    [
      "room": table.name(of: seat.room), "user": seat.user, "participant": "\(seat.participant)",
      "count": "\(table[seat.room]?.occupied ?? 0)",
    ]
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

extension RoomTable {
  /// The session's seat in the room of this name.
  /// - Throws: 2005 when it is not in that room, 2006 where an operator put it out.
  func seat(of session: SessionID, inRoom name: String) throws(ErrorObject) -> Seat {
    guard let seat = currentSeat(of: session), self.name(of: seat.room) == name else {
      let putOut = stays[session]?.putOut
      throw putOut?.room == name ? .putOut(putOut) : ErrorObject(.notJoined)
    }
    return seat
  }

  /// The session's seat in whatever room.
  /// - Throws: 2005 when it has none, 2006 where an operator took it away.
  func seat(of session: SessionID) throws(ErrorObject) -> Seat {
    guard let seat = currentSeat(of: session) else { throw .putOut(stays[session]?.putOut) }
    return seat
  }

  /// Whether a seat is in a call's room.
  func isInCall(_ seat: Seat) -> Bool { self[seat.room]?.isOfCall ?? false }

  /// Whether a seat's socket or media is lost.
  func isLost(_ seat: Seat) -> Bool { seat.isMediaLost || !seat.member.presence.isConnected }

  /// Who moderates by their grant has no role beside it: what was given to them before would outlive the grant.
  mutating func grantReplacesRole(of seat: Seat) {
    guard Access.moderatesByGrant(seat, self) else { return }
    update(seat.room) { $0.moderation.setRole(.participant, of: seat.user) }
  }

}
