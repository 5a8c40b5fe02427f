// What a seat publishes: what an offer makes of its tracks, mute, and their end. Offers that SDP negotiation works on are
// kept here; nothing is changed before it has said yes.

import Basics
import Calls
import Members
import RoostProtocol

/// A publish offer that is being negotiated.
struct PendingPublish: Sendable {
  let seat: SeatID
  let room: RoomKey
  let connection: MediaConnectionID
  let params: PublishOfferParams

  /// What the client has said of the track on a line.
  func announced(_ mid: String) -> AnnouncedTrack? { params.tracks?.first { $0.mid == mid } }
}

/// Publish offers on their way, and the rules of published tracks.
struct Publishing: Sendable {
  private(set) var pending: [RequestKey: PendingPublish] = [:]

  // MARK: - Offer and answer

  /// Hands an offer to SDP negotiation, unless it is clear already that it must be refused. `limits`: what is taken of it.
  mutating func negotiate(
    _ params: PublishOfferParams, _ key: RequestKey, on connection: MediaConnectionID = .publish,
    _ limits: PublishLimits?, _ rooms: Seating, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let seat = try rooms.table.seat(of: key.session)
    do throws(ErrorObject) {
      try check((params.tracks ?? []).map { ($0.kind, $0.source) }, seat, rooms, step.now)
    } catch {
      refuse(error, seat, rooms, &step)
      throw error
    }
    pending[key] = PendingPublish(seat: seat.id, room: seat.room, connection: connection, params: params)
    step.add(
      connection == .publish
        ? .negotiatePublish(key, seat.id, params, limits)
        : .stream(.negotiate(key, seat.id, connection, params, limits)))
    return nil
  }

  /// Commits what negotiation has prepared, or says why not. A stream for which there is nothing to commit is over.
  static func prepared(
    _ key: RequestKey, _ result: Result<PublishChange, ErrorObject>, _ rooms: inout Seating, _ step: inout Step
  ) {
    guard let pending = rooms.publishing.pending.removeValue(forKey: key) else { return }
    let publishing = rooms.publishing
    if publishing.prepared(key, result, pending, &rooms, &step) { return }
    Streams.close(pending.connection, of: pending.seat, &rooms, &step)
  }

  /// Whether it is committed.
  private func prepared(
    _ key: RequestKey, _ result: Result<PublishChange, ErrorObject>, _ pending: PendingPublish,
    _ rooms: inout Seating, _ step: inout Step
  ) -> Bool {
    do throws(ErrorObject) {
      let change = try result.get()
      guard let seat = rooms.table.seats[pending.seat] else { throw ErrorObject(.notJoined) }
      if !change.isNewConnection { try seat.checkMedia(pending.connection, "Publish from a new peer connection.") }
      try check(change.added.map { ($0.kind, pending.announced($0.mid)?.source) }, seat, rooms, step.now)
      try checkTrackCount(change, pending.connection, seat, rooms)
      commit(change, pending, key, &rooms, &step)
      return true
    } catch {
      if case .success = result { step.add(.discardPublish(key, pending.seat)) }
      if let seat = rooms.table.seats[pending.seat] { refuse(error, seat, rooms, &step) }
      step.answer(key, .failure(error))
      return false
    }
  }

  /// Whether the room takes these tracks, and the seat may publish them.
  /// - Throws: 3016 for video in an audio room, 1005 without the right, or where only so many may publish.
  private func check(
    _ tracks: [(kind: TrackKind, source: TrackSource?)], _ seat: Seat, _ rooms: Seating, _ now: Now
  ) throws(ErrorObject) {
    if rooms.table[seat.room]?.effectiveMedia == .audio, tracks.contains(where: { $0.kind == .video }) {
      throw ErrorObject(.mediaNotAllowed)
    }
    try Access.checkPublish(tracks, from: seat, rooms, at: now.instant)
  }

  private func checkTrackCount(
    _ change: PublishChange, _ connection: MediaConnectionID, _ seat: Seat, _ rooms: Seating
  ) throws(ErrorObject) {
    let limit = rooms.table[seat.room]?.rules.tracksPerParticipant ?? 0
    let kept = rooms.media.tracks(of: seat.id).count { $0.connection != connection || !change.removed.contains($0.mid) }
    guard kept + change.added.count <= limit || change.added.isEmpty else {
      throw .limit(.tooManyTracks, limit: limit, count: kept + change.added.count)
    }
  }

  private func commit(
    _ change: PublishChange, _ pending: PendingPublish, _ key: RequestKey, _ rooms: inout Seating,
    _ step: inout Step
  ) {
    let lines = change.removed + change.added.map(\.mid)
    let ended = own(pending, rooms).filter { lines.contains($0.mid) }.map(\.id)
    // Who publishes already has a place, also where all of it is replaced.
    let hasPlace = !rooms.media[pending.seat].tracks.isEmpty
    for track in ended { Publishing.end(track, &rooms.media, rooms.table, &step) }
    if change.isNewConnection { rooms.table.update(pending.seat) { $0.health.failures[pending.connection] = nil } }
    if !change.added.isEmpty, let seat = rooms.table.seats[pending.seat] {
      if !hasPlace { Places.take(seat, &rooms, &step) }
      RoomMedia.decide(.video, of: seat.room, &rooms, &step)
    }
    let begun = change.added.map { makeTrack($0, pending, &rooms.media, rooms.table, &step) }
    let committed = begun.map {
      CommittedTrack(mid: $0.mid, track: $0.id, kind: $0.wire.kind, isScreen: $0.wire.isScreen)
    }
    step.add(.commitPublish(key, pending.seat, committed))
    offerCodecs(of: change.recoded, own(pending, rooms), rooms, &step)
    for track in begun where track.wire.muted { step.add(.setMuted(track.id, true)) }
    let published = own(pending, rooms).map { PublishedLine(mid: $0.mid, trackId: "\($0.id)") }
    let declined = change.declined.isEmpty ? nil : change.declined
    let result = PublishResult(sdp: change.answer, tracks: published, declined: declined)
    if let seat = rooms.table.seats[pending.seat] {
      for line in change.declined where line.attribute == nil {
        step.warn("line_refused", line.error, of: seat, line: line.mid, rooms.table)
      }
      // One for all of them: an offer may have many.
      if let line = change.declined.first(where: { $0.attribute != nil }) {
        step.warn("attribute_left_out", line.error, of: seat, line: line.mid, rooms.table)
      }
    }
    step.answer(key, .success(.published(result)))
    for track in ended { Publishing.announceEnd(of: track, seat: pending.seat, rooms.table, &step) }
    for track in begun { announce(track, &rooms.media, rooms.table, &step) }
    tellHeld(begun, pending, rooms, &step)
  }

  /// What comes on the connection of an offer.
  private func own(_ pending: PendingPublish, _ rooms: Seating) -> [PublishedTrack] {
    rooms.media.tracks(of: pending.seat).filter { $0.connection == pending.connection }
  }

  /// Those who receive the tracks on these lines are offered the codecs that they may come in now.
  private func offerCodecs(
    of lines: [String], _ tracks: [PublishedTrack], _ rooms: Seating, _ step: inout Step
  ) {
    for track in tracks where lines.contains(track.mid) {
      for subscription in track.id.subscribers(rooms.media, among: rooms.table[track.room]?.members ?? [])
        .compactMap({ rooms.media.subscriptions[$0] })
      {
        step.add(.offerCodecs(subscription))
      }
    }
  }

  /// Who may not unmute hears that what they publish is muted, where they have not muted it themselves.
  private func tellHeld(
    _ begun: [PublishedTrack], _ pending: PendingPublish, _ rooms: Seating, _ step: inout Step
  ) {
    guard let seat = rooms.table.seats[pending.seat] else { return }
    for track in begun where track.wire.muted && pending.announced(track.mid)?.muted != true {
      step.tell(.trackMuted(Publishing.change(track.id, seat, rooms.table)), to: seat.session)
    }
  }

  private func makeTrack(
    _ line: PublishChange.Line, _ pending: PendingPublish, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) -> PublishedTrack {
    let announced = pending.announced(line.mid)
    let id = TrackID(step.makeNumber())
    let isHeld = table.seats[pending.seat].map { Access.isHeld($0, line.kind, table) } ?? false
    let track = PublishedTrack(
      id: id, seat: pending.seat, room: pending.room, connection: pending.connection, mid: line.mid,
      wire: Track(
        trackId: "\(id)", kind: line.kind, label: announced?.label ?? "", source: announced?.source,
        muted: isHeld || announced?.muted ?? false, viewIndex: announced?.viewIndex, split: announced?.split,
        definitions: line.definitions ?? announced?.definitions ?? []))
    media.insert(track)
    step.count(.trackPublished)
    return track
  }

  private func refuse(_ error: ErrorObject, _ seat: Seat, _ rooms: Seating, _ step: inout Step) {
    step.count(.publishRefused(error.code))
    step.warn("publish_refused", error, of: seat, rooms.table)
  }

  /// Tells the room of a new track and subscribes those who take everything.
  private func announce(_ track: PublishedTrack, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let seat = table.seats[track.seat] else { return }
    let event = TrackPublished(
      room: table.name(of: seat.room), participantId: "\(seat.participant)", track: track.wire)
    step.tell(.trackPublished(event), in: seat.room, of: table, except: seat.id)
    Publishing.report(.trackPublished, track, table, &step)
    for member in table.members(of: seat.room) where member.id != seat.id && member.takesAll(track.wire.kind, media) {
      Subscribing.add(of: member.id, to: track.id, &media, table, &step)
    }
    Viewing.speakersChanged(in: seat.room, &media, table, &step)
  }

  // MARK: - Requests about one's own tracks

  func perform(
    _ request: TrackRequest, _ session: SessionID, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    switch request {
    case .unpublish(let params): return try unpublish(params, session, &rooms.seating.media, rooms.table, &step)
    case .mute(let params): return try setMuted(true, params, session, &rooms, &step)
    case .unmute(let params): return try setMuted(false, params, session, &rooms, &step)
    }
  }

  private func unpublish(
    _ params: TrackParams, _ session: SessionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let (seat, track) = try ownTrack(params, session, media, table)
    Publishing.end(track.id, &media, table, &step)
    Publishing.announceEnd(of: track.id, seat: seat.id, table, &step)
    return .empty
  }

  /// Mutes or unmutes a track; what it is already, it may be made again.
  private func setMuted(
    _ muted: Bool, _ params: TrackParams, _ session: SessionID, _ rooms: inout Rooms, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let (seat, track) = try ownTrack(params, session, rooms.media, rooms.table)
    guard track.wire.muted != muted else { return .muted(MuteResult(muted: muted)) }
    if !muted, Access.isHeld(seat, track.wire.kind, rooms.table) {
      throw ErrorObject(.forbidden, "A moderator has muted you.") { $0.reason = "held" }
    }
    // Each change is told to everybody; to stop sending is free.
    if !muted { try rooms.chats.takeUnmute(of: seat.member.identity, at: step.now.instant) }
    Self.setMuted(muted, track, exceptFor: seat.id, &rooms.seating.media, rooms.table, &step)
    return .muted(MuteResult(muted: muted))
  }

  /// Mutes or unmutes a track. All but one hear of it.
  static func setMuted(
    _ muted: Bool, _ track: PublishedTrack, exceptFor listener: SeatID?, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let seat = table.seats[track.seat] else { return }
    media.setMuted(muted, track.id)
    step.add(.setMuted(track.id, muted))
    if muted { Viewing.muted(track, &media, table, &step) }
    if let track = media.tracks[track.id] { report(muted ? .trackMuted : .trackUnmuted, track, table, &step) }
    let change = Publishing.change(track.id, seat, table)
    step.tell(muted ? .trackMuted(change) : .trackUnmuted(change), in: seat.room, of: table, except: listener)
  }

  /// - Throws: 2005 without a seat, 4001 for a track that is not in the room, 1005 for somebody else's.
  private func ownTrack(
    _ params: TrackParams, _ session: SessionID, _ media: TrackTable, _ table: RoomTable
  ) throws(ErrorObject) -> (Seat, PublishedTrack) {
    let seat = try table.seat(of: session)
    let track = try media.track(named: params.trackId, visibleFrom: seat)
    try track.checkOwner(seat)
    return (seat, track)
  }

  // MARK: - The end

  /// Ends a track with its subscriptions; those who received it hear that they do no longer. Views show something else.
  /// `isKnown` says whether webhook subscribers know of it in this room.
  static func end(
    _ id: TrackID, isKnown: Bool = true, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    guard let track = media.tracks[id] else { return }
    take(track, to: nil, &media, table, &step)
    step.add(.closeTrack(id))
    if isKnown { report(.trackUnpublished, track, table, &step) }
  }

  /// Takes a track out of its room, to another one or to none: those who received it hear that they do no longer, and views show something else.
  static func take(
    _ track: PublishedTrack, to room: RoomKey?, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) {
    let members = table[track.room]?.members ?? []
    for subscription in track.id.subscribers(media, among: members) {
      Subscribing.end(subscription, .trackEnded, &media, table, &step)
    }
    let views = track.id.viewers(media, among: members)
    if let room { media.move(track.id, to: room) } else { media.remove(track.id) }
    Viewing.ended(track.id, on: views, &media, table, &step)
    LastN.update(in: track.room, &media, table, &step)
  }

  /// Tells webhook subscribers of a track, in calls as well.
  static func report(
    _ type: WebhookEvent.Kind, _ track: PublishedTrack, _ table: RoomTable, _ step: inout Step
  ) {
    guard step.isFollowed, let seat = table.seats[track.seat] else { return }
    step.add(
      .webhook(
        WebhookEvent(
          type: type, at: step.now.wallMilliseconds, room: table.name(of: track.room), user: seat.user,
          participantId: "\(seat.participant)", track: track.wire)))
  }

  /// Tells that a track is over, its publisher only where it was not their doing.
  static func announceEnd(
    of track: TrackID, seat id: SeatID, toAll: Bool = false, _ table: RoomTable, _ step: inout Step
  ) {
    guard let seat = table.seats[id] else { return }
    step.tell(.trackUnpublished(change(track, seat, table)), in: seat.room, of: table, except: toAll ? nil : id)
  }

  /// The params of an event about a track.
  static func change(_ track: TrackID, _ seat: Seat, _ table: RoomTable) -> TrackChange {
    TrackChange(room: table.name(of: seat.room), participantId: "\(seat.participant)", trackId: "\(track)")
  }

  // MARK: - Layers

  /// Tells a publisher which simulcast layers of a track to send.
  func askFor(_ layers: [Int], of id: TrackID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let seat = media.setAskedFor(layers, of: id).flatMap({ table.seats[$0] }) else { return }
    step.tell(
      .trackLayers(TrackLayersEvent(trackId: "\(id)", layers: layers)), to: seat.session)
  }

  /// Tells a client that has lost events again.
  func tellLayers(of seat: SeatID, _ rooms: Seating, _ step: inout Step) {
    guard let seat = rooms.table.seats[seat] else { return }
    for track in rooms.media.tracks(of: seat.id) {
      guard let layers = track.askedFor else { continue }
      step.tell(
        .trackLayers(TrackLayersEvent(trackId: "\(track.id)", layers: layers)), to: seat.session)
    }
  }
}
