// Published tracks: what an offer makes of them, mute, and their end.

import RoostProtocol

/// One published track.
struct PublishedTrack: Sendable {
  let id: TrackID
  let seat: SeatID
  /// Its media line.
  let mid: String
  /// As others see it.
  var wire: Track
  /// Who receives it.
  var subscribers: Set<SubscriptionID> = []
}

/// A publish offer that is being negotiated.
struct PendingPublish: Sendable {
  let seat: SeatID
  let params: PublishOfferParams
}

extension ConferenceCore {
  // MARK: - Offer and answer

  /// Hands an offer to SDP negotiation, unless it is clear already that it must be refused.
  mutating func negotiatePublish(_ params: PublishOfferParams, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    let seat = try seat(of: key.session)
    if let wait = sessions[key.session]?.offerRate.take(at: now.instant) {
      throw ErrorObject(.rateLimited, "You are negotiating too often; wait a moment.") { $0.retryAfterMs = wait }
    }
    do throws(ErrorObject) {
      try checkPublish(kinds: (params.tracks ?? []).map(\.kind), seat)
    } catch {
      refuse(error, seat)
      throw error
    }
    pendingPublishes[key] = PendingPublish(seat: seat.id, params: params)
    effects.append(.media(.negotiatePublish(key, seat.id, params)))
    return nil
  }

  /// Commits what negotiation has prepared, or says why not.
  mutating func publishPrepared(_ key: RequestKey, _ result: Result<PublishChange, ErrorObject>) {
    guard let pending = pendingPublishes.removeValue(forKey: key) else { return }
    do throws(ErrorObject) {
      let change = try result.get()
      guard let seat = seats[pending.seat] else { throw ErrorObject(.notJoined) }
      if !change.isNewConnection { try seat.checkMedia(.publish, "Publish from a new peer connection.") }
      try checkPublish(kinds: change.added.map(\.kind), seat)
      try checkTrackCount(change, seat)
      commit(change, pending, key)
    } catch {
      if case .success = result { effects.append(.media(.discardPublish(key, pending.seat))) }
      if let seat = seats[pending.seat] { refuse(error, seat) }
      finish(key, .failure(error))
    }
  }

  /// Whether the room takes tracks of these kinds from this seat.
  /// - Throws: 3016 for video in an audio room, 1005 where only so many may publish.
  private func checkPublish(kinds: [TrackKind], _ seat: Seat) throws(ErrorObject) {
    guard let room = rooms[seat.room], !kinds.isEmpty else { return }
    if room.effectiveMedia == .audio, kinds.contains(.video) { throw ErrorObject(.mediaNotAllowed) }
    guard let limit = room.rules.publishers, seat.tracks.isEmpty else { return }
    let publishing = room.members.count { seats[$0]?.tracks.isEmpty == false }
    guard publishing >= limit else { return }
    throw ErrorObject(.forbidden, "This room takes no further publisher.") {
      $0.reason = "publishers"
      $0.limit = limit
      $0.count = publishing
    }
  }

  private func checkTrackCount(_ change: PublishChange, _ seat: Seat) throws(ErrorObject) {
    let limit = rooms[seat.room]?.rules.tracksPerParticipant ?? 0
    let kept = seat.tracks.count { track in !change.removed.contains { $0 == tracks[track]?.mid } }
    guard kept + change.added.count <= limit || change.added.isEmpty else {
      throw .limit(.tooManyTracks, limit: limit, count: kept + change.added.count)
    }
  }

  private mutating func commit(_ change: PublishChange, _ pending: PendingPublish, _ key: RequestKey) {
    let ended = track(of: pending.seat, onAnyOf: change.removed + change.added.map(\.mid))
    for track in ended { endTrack(track) }
    if change.isNewConnection { seats[pending.seat]?.failures[.publish] = nil }
    let begun = change.added.map { makeTrack($0, pending) }
    effects.append(
      .media(
        .commitPublish(
          key, pending.seat, begun.map { CommittedTrack(mid: $0.mid, track: $0.id, kind: $0.wire.kind) })))
    for track in begun where track.wire.muted { effects.append(.media(.setMuted(track.id, true))) }
    let lines = (seats[pending.seat]?.tracks ?? []).compactMap { id in
      tracks[id].map { PublishedLine(mid: $0.mid, trackId: "\(id)") }
    }
    let declined = change.declined.isEmpty ? nil : change.declined
    finish(key, .success(.published(PublishResult(sdp: change.answer, tracks: lines, declined: declined))))
    for track in ended { announceEnd(of: track, seat: pending.seat) }
    for track in begun { announce(track) }
  }

  private func track(of seat: SeatID, onAnyOf mids: [String]) -> [TrackID] {
    (seats[seat]?.tracks ?? []).filter { id in mids.contains { $0 == tracks[id]?.mid } }
  }

  private mutating func makeTrack(_ line: PublishChange.Line, _ pending: PendingPublish) -> PublishedTrack {
    let announced = pending.params.tracks?.first { $0.mid == line.mid }
    let id = TrackID(makeNumber())
    let track = PublishedTrack(
      id: id, seat: pending.seat, mid: line.mid,
      wire: Track(
        trackId: "\(id)", kind: line.kind, label: announced?.label ?? "", source: announced?.source,
        muted: announced?.muted ?? false, viewIndex: announced?.viewIndex, split: announced?.split,
        definitions: line.definitions ?? announced?.definitions ?? []))
    tracks[id] = track
    seats[pending.seat]?.tracks.append(id)
    count(.trackPublished)
    return track
  }

  private mutating func refuse(_ error: ErrorObject, _ seat: Seat) {
    count(.publishRefused(error.code))
    log(
      "publish_refused",
      ["room": rooms[seat.room]?.name ?? "", "user": seat.user, "code": error.code.name, "why": error.message],
      level: .warning)
  }

  // MARK: - What the others hear

  /// Tells the room of a new track and subscribes those who take everything.
  private mutating func announce(_ track: PublishedTrack) {
    guard let seat = seats[track.seat], let room = rooms[seat.room] else { return }
    let event = TrackPublished(room: room.name, participantId: "\(seat.participant)", track: track.wire)
    broadcast(.trackPublished(event), in: seat.room, except: seat.id)
    for member in room.members where member != seat.id && seats[member]?.autoSubscribe == true {
      addSubscription(of: member, to: track.id)
    }
  }

  /// Tells that a track is over, its publisher only where it was not his doing.
  mutating func announceEnd(of track: TrackID, seat id: SeatID, toAll: Bool = false) {
    guard let seat = seats[id] else { return }
    broadcast(.trackUnpublished(change(track, seat)), in: seat.room, except: toAll ? nil : id)
  }

  private func change(_ track: TrackID, _ seat: Seat) -> TrackChange {
    TrackChange(room: rooms[seat.room]?.name ?? "", participantId: "\(seat.participant)", trackId: "\(track)")
  }

  /// Ends a track with its subscriptions; those who received it hear that they do no longer.
  mutating func endTrack(_ id: TrackID) {
    guard let track = tracks[id] else { return }
    for subscription in track.subscribers.sorted() { endSubscription(subscription, .trackEnded) }
    tracks[id] = nil
    seats[track.seat]?.tracks.removeAll { $0 == id }
    effects.append(.media(.closeTrack(id)))
  }

  // MARK: - Requests

  /// Ends one of one's own tracks.
  mutating func unpublish(_ params: TrackParams, _ session: SessionID) throws(ErrorObject) -> Reply {
    let (seat, track) = try ownTrack(params, session)
    endTrack(track.id)
    announceEnd(of: track.id, seat: seat.id)
    return .empty
  }

  /// Mutes or unmutes one of one's own tracks; what it is already, it may be made again.
  mutating func setMuted(_ muted: Bool, _ params: TrackParams, _ session: SessionID) throws(ErrorObject) -> Reply {
    let (seat, track) = try ownTrack(params, session)
    if track.wire.muted != muted {
      tracks[track.id]?.wire.muted = muted
      effects.append(.media(.setMuted(track.id, muted)))
      let change = change(track.id, seat)
      broadcast(muted ? .trackMuted(change) : .trackUnmuted(change), in: seat.room, except: seat.id)
    }
    return .muted(MuteResult(muted: muted))
  }

  /// - Throws: 2005 without a seat, 4001 for a track that is not in the room, 1005 for somebody else's.
  private func ownTrack(_ params: TrackParams, _ session: SessionID) throws(ErrorObject) -> (Seat, PublishedTrack) {
    let seat = try seat(of: session)
    let track = try visibleTrack(params.trackId, from: seat)
    guard track.seat == seat.id else { throw ErrorObject(.forbidden, "This track is somebody else's.") }
    return (seat, track)
  }

  /// The track of this name in the seat's room.
  /// - Throws: 4001.
  func visibleTrack(_ name: String, from seat: Seat) throws(ErrorObject) -> PublishedTrack {
    guard let track = TrackID(wire: name).flatMap({ tracks[$0] }), seats[track.seat]?.room == seat.room else {
      throw ErrorObject(.trackNotFound)
    }
    return track
  }
}
