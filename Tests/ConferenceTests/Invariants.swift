// What must hold after every step, whatever came before.

import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

enum Invariants {
  static func check(_ scene: Scene) {
    guard scene.steps % scene.stateInterval == 0 else { return }
    let core = scene.core
    checkRooms(core)
    checkCaps(scene)
    checkLedger(core, scene.ledger)
    checkSessions(core)
    checkShares(core)
    checkSubscriptions(core)
    checkCalls(core)
    checkWaiting(scene)
    hold(
      core.rooms.publishing.pending.isEmpty && core.rooms.subscribing.answers.isEmpty
        && core.rooms.subscribing.swaps.isEmpty)
    hold(scene.ledger.negotiating.isEmpty)
    guard scene.steps % scene.beliefInterval == 0 else { return }
    for client in scene.clients.values { checkBelief(of: client, core) }
  }

  /// What the doors were told is so: of all sessions, though it is told of those alone that something happened to.
  private static func checkWaiting(_ scene: Scene) {
    for (connection, id) in scene.core.sessions.table.connections {
      let isWaiting = scene.core.sessions.table[id]?.seat == nil && !scene.core.calls.concerns(id.device)
      hold(scene.clients[connection].map { $0.isWaiting == isWaiting } ?? true, "who only waits is known to the door")
    }
  }

  private static func checkRooms(_ core: ConferenceCore) {
    hold(
      core.rooms.table.all.values.reduce(0) { $0 + $1.members.count } == core.rooms.table.seats.count,
      "count equals seats")
    for (key, room) in core.rooms.table.all {
      let players = room.members.count { core.rooms.table.seats[$0]?.isPlayer == true }
      hold(room.players == players, "those beside the seats are counted")
      checkBook(of: room, core)
      hold(room.isNamed || !room.members.isEmpty || room.callRuns, "an empty room vanishes")
      let callRuns = room.isOfCall && core.calls.isRunning(CallID(CallRoom.callId(room.name)))
      hold(room.callRuns == callRuns, "rooms know which calls are over")
      hold(core.rooms.table.keys[room.name] == key)
      let seats = room.members.compactMap { core.rooms.table.seats[$0] }
      hold(seats.count == room.members.count && seats.allSatisfy { $0.room == key })
      hold(Set(seats.map(\.user)).count == seats.count, "a user sits once in a room")
      let isCall = room.name.hasPrefix(ProtocolLimits.callRoomPrefix)
      let looks = seats.map(\.looks)
      let areDifferent = looks.indices.allSatisfy { index in !looks[..<index].contains { $0.isSame(as: looks[index]) } }
      hold(isCall || areDifferent, "names differ")
      hold(Set(seats.map(\.participant)).count == seats.count)
      checkDoor(of: room, seats, core)
      if room.media == .audio {
        hold(seats.allSatisfy { core.rooms.media.tracks(of: $0.id).allSatisfy { $0.wire.kind == .audio } })
      }
    }
    hold(core.rooms.table.keys.count == core.rooms.table.all.count)
    checkNothingIsLeft(core.rooms.table)
    // Else more sessions could be had than there may be: these do not count.
    let sessions = core.sessions.table
    hold(sessions.superseded.allSatisfy { sessions.all[$0] != nil }, "nobody is superseded who is gone")
  }

  /// Nobody is in a room, or publishes there, beyond what its rules say. Where they say less than before, there are no more than there were.
  private static func checkCaps(_ scene: Scene) {
    let core = scene.core
    var counts: [String: RoomCounts] = [:]
    for room in core.rooms.table.all.values {
      let (now, before) = (RoomCounts(of: room, core.rooms), scene.counts[room.name] ?? RoomCounts())
      let rules = room.rules
      holdCap(now.players, rules.players ?? 0, before.players, "players")
      holdCap(now.occupied, rules.seats(room.effectiveMedia), before.occupied, "seats")
      if let limit = rules.publishers { holdCap(now.publishers, limit, before.publishers, "publishers") }
      for (seat, count) in now.tracks {
        holdCap(count, rules.tracksPerParticipant, before.tracks[seat] ?? 0, "tracks")
      }
      holdCap(now.keptPlaces, rules.publishers ?? 0, before.keptPlaces, "places that are kept")
      counts[room.name] = now
    }
    scene.counts = counts
  }

  private static func holdCap(_ count: Int, _ limit: Int, _ before: Int, _ what: String) {
    if count > max(limit, before) { hold(false, "\(what): \(count), but \(limit) may be, and \(before) were") }
  }

  /// A room that stays follows what is said of it, whoever has said it.
  private static func checkBook(of room: Room, _ core: ConferenceCore) {
    let book = core.rooms.book
    guard !room.isOfCall else { return }
    hold(room.isNamed == (book.origin(of: room.name) != .joined), "what is named stays")
    if room.isNamed, let rules = book.rules(forRoom: room.name) {
      let next = core.rooms.table.keys[room.name].flatMap { core.rooms.table.nexts[$0] }
      hold((next ?? room.rules) == rules, "and is like that when it is empty")
      hold(next == nil || !room.members.isEmpty, "an empty room waits for nothing")
    }
  }

  /// What is kept of rooms and seats beside them goes with them.
  private static func checkNothingIsLeft(_ rooms: RoomTable) {
    hold(rooms.nexts.keys.allSatisfy { rooms.all[$0] != nil }, "a room that is gone waits for nothing")
    let listed = rooms.all.values.filter { !$0.isOfCall }.map(\.name)
    hold(
      rooms.names.all.count == listed.count && Set(rooms.names.all) == Set(listed), "who is gone is listed nowhere")
    for room in rooms.all.values {
      hold(room.speaking.seats.allSatisfy(room.members.contains), "who has left has not spoken last")
    }
    hold(
      rooms.all.keys.count { rooms.turns[$0] != nil } == rooms.turns.count, "nobody's turn of speaking is waited for")
    hold(rooms.seats.keys.count { rooms.mediaGraces[$0] != nil } == rooms.mediaGraces.count, "nor lost media of nobody")
  }

  /// Who waits can be told of it, and nobody is where they are not let in.
  private static func checkDoor(of room: Room, _ seats: [Seat], _ core: ConferenceCore) {
    for knocker in room.moderation.lobby.waiting {
      hold(core.sessions.table.facts(of: knocker.session).map(knocker.member.isSame) == true, "and of who waits")
      let session = core.sessions.table[knocker.session]
      hold(
        core.rooms.table.stays[knocker.session]?.knocksAt == room.name && session?.user == knocker.user,
        "who waits is there")
    }
    for seat in seats {
      let held = core.rooms.media.tracks(of: seat.id).filter { Access.isHeld(seat, $0.wire.kind, core.rooms.table) }
      hold(held.allSatisfy(\.wire.muted), "who may not unmute is muted")
    }
  }

  private static func checkLedger(_ core: ConferenceCore, _ ledger: Ledger) {
    hold(Set(ledger.seats.keys) == Set(core.rooms.table.seats.keys))
    hold(Set(ledger.tracks.keys) == Set(core.rooms.media.tracks.keys))
    hold(Set(ledger.subscriptions.keys) == Set(core.rooms.media.subscriptions.keys))
    for (id, seat) in core.rooms.table.seats {
      hold(ledger.streams[id] ?? [] == seat.streams && seat.streams.count <= core.rules.maxStreams)
      let used =
        core.rooms.media.tracks(of: id).map(\.connection)
        + core.rooms.media[id].views.compactMap { core.rooms.media.subscriptions[$0]?.connection }
      hold(used.allSatisfy { $0.pc != nil || seat.streams.contains($0) }, "what a stream carries ends with it")
      hold(seat.lostMedia.union(seat.failures.keys).allSatisfy { $0.pc != nil || seat.streams.contains($0) })
    }
    hold(ledger.running == Set(core.rooms.media.subscriptions.values.filter(\.isAgreed).map(\.id)))
    hold(ledger.muted == Set(core.rooms.media.tracks.values.filter(\.wire.muted).map(\.id)))
    for (id, subscription) in ledger.subscriptions {
      hold(
        core.rooms.media.subscriptions[id]?.track == subscription.track
          && core.rooms.media.subscriptions[id]?.wish == subscription.wish)
    }
  }

  private static func checkSessions(_ core: ConferenceCore) {
    for (connection, id) in core.sessions.table.connections {
      hold(core.sessions.table.all[id]?.connection == connection)
    }
    hold(core.sessions.table.connections.count == core.sessions.table.all.values.count { $0.connection != nil })
    for (id, session) in core.sessions.table.all {
      hold(core.sessions.table.users[session.user]?.contains(id) == true)
      hold((core.sessions.table.proofs[id] != nil) == (session.identity.endsAt != nil), "a proof ends its session")
      hold((core.sessions.table.graces[id] != nil) == (session.connection == nil), "a grace for each lost session")
      hold(
        (core.sessions.table.waiting[id] != nil) == waits(session, core),
        "who has neither socket nor seat may make space")
      hold(
        !core.sessions.table.superseded.contains(id) || core.calls.hasLeg(id.device),
        "who made way keeps a leg for the next")
      if let seat = session.seat { hold(core.rooms.table.seats[seat]?.session == id) }
    }
    hold(core.sessions.table.proofs.count == core.sessions.table.all.values.count { $0.identity.endsAt != nil })
    hold(core.sessions.table.waiting.count == core.sessions.table.all.values.count { waits($0, core) })
    hold(core.sessions.table.superseded.count * 2 <= core.sessions.table.all.count, "each has a successor of its own")
    hold(core.sessions.table.all.count - core.sessions.table.superseded.count <= core.rules.maxSessions)
    for (id, seat) in core.rooms.table.seats {
      hold(core.sessions.table.all[seat.session]?.seat == id, "one seat a session")
      hold(core.rooms.table.isLost(seat) == seat.isAnnouncedLost, "the others know who is lost")
      hold(core.sessions.table.facts(of: seat.session).map(seat.member.isSame) == true, "rooms know of it what is so")
      let waits = seat.isMediaLost && core.sessions.table.all[seat.session]?.connection != nil
      hold((core.rooms.table.mediaGraces[id] != nil) == waits)
    }
    hold(core.sessions.table.users.values.reduce(0) { $0 + $1.count } == core.sessions.table.all.count)
    hold((core.rooms.addressBans.nextEnd == nil) == (core.rooms.addressBans.count == 0), "each of these bans ends")
    hold(
      (core.sessions.revocations.nextEnd == nil) == (core.sessions.revocations.count == 0), "each of them is forgotten")
    hold((core.sessions.narrowings.nextEnd == nil) == (core.sessions.narrowings.count == 0), "each of these, too")
    for session in core.sessions.table.all.values { checkRights(session, core) }
    let questions = core.rooms.seating.messages.questions
    hold(questions.ofSeat.keys.allSatisfy { core.rooms.table.seats[$0] != nil }, "a question ends with its seats")
    hold((questions.nextEnd == nil) == (questions.count == 0), "and has an end")
    let seats = core.rooms.table.seats
    hold(questions.pairs.allSatisfy { seats[$0.asker]?.room == seats[$0.asked]?.room }, "in one room")
    checkStays(core)
    hold(
      (core.nextDeadline == nil)
        == (core.sessions.table.graces.count == 0 && core.sessions.table.proofs.count == 0
          && core.rooms.table.mediaGraces.count == 0 && core.rooms.table.empties.count == 0
          && core.rooms.addressBans.count == 0
          && core.sessions.revocations.nextEnd == nil && core.sessions.narrowings.nextEnd == nil
          && core.rooms.table.turns.count == 0 && core.rooms.restored.end == nil
          && core.rooms.book.nextEnd == nil && core.storing.nextDeadline == nil
          && core.rooms.seating.messages.questions.nextEnd == nil
          && core.calls.nextDeadline == nil))
  }

  /// Rooms remember nobody who is gone, and sessions where they are.
  private static func checkStays(_ core: ConferenceCore) {
    let stays = core.rooms.table.stays
    hold(stays.values.count { $0.seat != nil } == core.rooms.table.seats.count, "one stay for each seat")
    for (id, stay) in stays {
      hold(core.sessions.table[id] != nil, "nobody is remembered who is gone")
      hold(core.sessions.table[id]?.seat == stay.seat, "sessions know where they sit")
    }
  }

  /// Nobody has more than their token gives and operators have left, and their client knows.
  private static func checkRights(_ session: Session, _ core: ConferenceCore) {
    let rights = core.sessions.table.rightsNow(of: session.id)
    hold(rights.isSubset(of: session.identity.rights) && session.identity.rights.isSubset(of: session.grants.granted))
    hold(session.grants.told == rights, "the client knows what it may do")
    if let stay = session.grants.stay {
      hold(stay.room == session.place?.room && rights.isSubset(of: stay.rights), "what is left holds where it sits")
    }
  }

  /// What is counted as people come and go is what there is.
  private static func checkShares(_ core: ConferenceCore) {
    let (sessions, rooms) = (core.sessions.table, core.rooms.table)
    // Looking costs time, and most scenes have nobody who counts.
    guard sessions.all.values.contains(where: { $0.identity.isVerified || $0.identity.network != nil }) else { return }
    for network in Set(sessions.all.values.compactMap(\.identity.network)) {
      let own = sessions.all.values.filter { $0.identity.network == network }
      hold(sessions.keptBytes[network] == own.reduce(0) { $0 + $1.log.largeBytes }, "what is kept is counted")
    }
    let counted = sessions.all.values.filter { !sessions.superseded.contains($0.id) }
    for (user, ids) in sessions.users {
      let own = counted.filter { ids.contains($0.id) && $0.identity.isVerified }
      let clients = Set(own.compactMap(\.identity.client)).count + own.count { $0.identity.client == nil }
      hold(sessions.shares.count(of: user) == clients, "each session counts once")
    }
    for network in Set(counted.compactMap(\.identity.network)) {
      hold(sessions.shares.count(of: network) == counted.count { $0.identity.network == network })
    }
    let holders = rooms.all.values.filter { !$0.isNamed }.map { room in room.members.compactMap { rooms.seats[$0] } }
      .map { seats in Set(seats.compactMap { sessions[$0.session] }.map { ShareHolder($0.identity) }) }
    for user in Set(holders.joined().compactMap(\.user)) {
      hold(rooms.shares.count(of: user) == holders.count { Set($0.map(\.user)) == [user] }, "who holds a room alone")
    }
    for network in Set(holders.joined().compactMap(\.network)) {
      hold(rooms.shares.count(of: network) == holders.count { Set($0.map(\.network)) == [network] })
    }
  }

  private static func waits(_ session: Session, _ core: ConferenceCore) -> Bool {
    let keepsLeg = session.predecessor.map { core.sessions.table.superseded.contains($0) } ?? false
    return session.connection == nil && session.seat == nil && !keepsLeg
  }

  private static func checkSubscriptions(_ core: ConferenceCore) {
    let views = core.rooms.media.subscriptions.values.filter { $0.view != nil }
    for view in views { check(view, core) }
    for (id, subscription) in core.rooms.media.subscriptions where subscription.view == nil {
      let seat = core.rooms.table.seats[subscription.seat]
      guard let name = subscription.track else {
        hold(false, "a subscription has a track")
        continue
      }
      let track = core.rooms.media.tracks[name]
      hold(
        subscription.wish.isLeftOut == LastN.leavesOut(name, for: subscription, core.rooms.media, core.rooms.table),
        "what the room leaves out, and nothing else")
      hold(core.rooms.media[subscription.seat].subscriptions[name] == id && subscribers(of: name, core).contains(id))
      hold(track.flatMap { core.rooms.table.seats[$0.seat] }?.room == seat?.room && track?.seat != seat?.id)
    }
    let ordinary = core.rooms.media.subscriptions.count - views.count
    hold(ordinary == core.rooms.table.seats.values.reduce(0) { $0 + core.rooms.media[$1.id].subscriptions.count })
    hold(views.count == core.rooms.table.seats.values.reduce(0) { $0 + core.rooms.media[$1.id].views.count })
    hold(
      ordinary
        == core.rooms.media.tracks.keys.reduce(0) { $0 + subscribers(of: $1, core).count })
    hold(
      core.rooms.media.tracks.count
        == core.rooms.table.seats.keys.reduce(0) { $0 + core.rooms.media[$1].tracks.count })
    hold(core.rooms.media.carried.keys.allSatisfy { core.rooms.table.seats[$0] != nil }, "nobody carries nothing")
    hold(core.rooms.media.tracks.values.allSatisfy { core.rooms.table.seats[$0.seat]?.room == $0.room }, "in its room")
    hold(core.rooms.media.loudest.keys.allSatisfy { core.rooms.table[$0] != nil }, "nor is anybody loud nowhere")
  }

  private static func subscribers(of track: TrackID, _ core: ConferenceCore) -> [SubscriptionID] {
    track.subscribers(core.rooms.media, among: members(of: core.rooms.media.tracks[track], core))
  }

  private static func members(of track: PublishedTrack?, _ core: ConferenceCore) -> [SeatID] {
    track.flatMap { core.rooms.table[$0.room] }?.members ?? []
  }

  private static func check(_ view: Subscription, _ core: ConferenceCore) {
    let seat = core.rooms.table.seats[view.seat]
    let own = core.rooms.media[view.seat].views
    hold(own.contains(view.id) && own.count <= core.rules.maxViews)
    guard let name = view.track else { return hold(view.view?.isTold == true, "nothing needs no picture") }
    let track = core.rooms.media.tracks[name]
    let viewers = name.viewers(core.rooms.media, among: members(of: track, core))
    hold(track?.wire.kind == view.view?.kind && viewers.contains(view.id))
    hold(track.flatMap { core.rooms.table.seats[$0.seat] }?.room == seat?.room && track?.seat != view.seat)
    let hasPicture = track?.wire.muted == false && !view.wish.sendsNothing && !view.isHeldBack
    hold(view.view?.isTold == true || hasPicture, "who waits for a picture may get one")
    guard view.view?.follows == true else { return }
    let others = own.filter { $0 != view.id }.compactMap { core.rooms.media.subscriptions[$0] }
    hold(!others.contains { $0.view?.follows == true && $0.track == name }, "nobody is followed twice")
  }

  /// A connected client's view, made of its snapshot and the events since, is the core's.
  private static func checkBelief(of client: Client, _ core: ConferenceCore) {
    guard client.closed == nil,
      let session = core.sessions.table.connections[client.connection].flatMap({ core.sessions.table.all[$0] })
    else { return }
    hold(session.log.seq == client.lastSeq, "\(client.user)/\(client.device) has heard everything")
    let truth = session.seat.flatMap { $0.snapshot(in: core.rooms, at: 0) }
    let belief = client.mirror.room
    hold(belief?.room == truth?.room && belief?.selfId == truth?.selfId)
    guard let truth, let belief else { return }
    let isCall = truth.room.hasPrefix(ProtocolLimits.callRoomPrefix)
    hold(
      isCall || (belief.media == truth.media && belief.limit == truth.limit), "everybody knows what the room carries")
    hold(belief.participants.map(\.participantId) == truth.participants.map(\.participantId), "one order for all")
    for (mine, real) in zip(belief.participants, truth.participants) where real.participantId != truth.selfId {
      hold(mine == real, "\(client.user)/\(client.device) sees \(real.user) as they are")
    }
  }

  /// As `#expect`, which costs too much to be asked a million times.
  private static func hold(_ condition: Bool, _ what: String = "", line: Int = #line) {
    guard !condition else { return }
    let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
    Issue.record("does not hold: \(what)", sourceLocation: location)
  }
}

/// What a room has of what its rules bound.
struct RoomCounts {
  var (occupied, players, publishers, keptPlaces) = (0, 0, 0, 0)
  var tracks: [SeatID: Int] = [:]

  init() {}

  init(of room: Room, _ rooms: Rooms) {
    for seat in room.members { tracks[seat] = rooms.media[seat].tracks.count }
    (occupied, players, keptPlaces) = (room.occupied, room.players, room.keptPlaces.count)
    publishers = tracks.values.count { $0 > 0 }
  }
}

extension Invariants {
  /// A seat in a call's room is a leg, and the other way round.
  static func checkCalls(_ core: ConferenceCore) {
    let seated = core.rooms.table.seats.values.filter { core.rooms.table.isInCall($0) }
    let legs = core.sessions.table.all.keys.filter { core.calls.hasLeg($0.device) }
    guard Set(seated.map(\.session)) != Set(legs) else { return }
    Issue.record("seats in calls are not the legs")
  }
}

extension MemberFacts {
  /// Whether rooms and the session say the same.
  fileprivate func isSame(as other: MemberFacts) -> Bool {
    let (ours, theirs) = (presence, other.presence)
    return session == other.session && identity == other.identity && roomRights == other.roomRights
      && stay == other.stay && given == nil
      && capabilities == other.capabilities && ours.isConnected == theirs.isConnected
      && ours.reachedFrom == theirs.reachedFrom && ours.isOverdue == theirs.isOverdue && ours.lostAt == theirs.lostAt
  }
}
