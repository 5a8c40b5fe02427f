// Participants who are lost and come back, and the state of their media.

import Basics
import Members
import RoostProtocol

extension Seating {
  /// The seat's session has lost its connection.
  mutating func seatDisconnected(_ id: SeatID, _ step: inout Step) {
    table.setMediaGrace(of: id, until: nil)
    announcePresence(id, &step)
  }

  /// The seat's session has a connection again. Lost media gets the whole grace from here, for its ICE restart.
  mutating func seatResumed(_ id: SeatID, _ step: inout Step) {
    if table.seats[id]?.isMediaLost == true {
      table.setMediaGrace(of: id, until: step.now.instant + rules.grace(of: id, table))
    }
    announcePresence(id, &step)
  }

  /// Tells the others when a seat has been lost or found since they were told last.
  private mutating func announcePresence(_ id: SeatID, _ step: inout Step) {
    guard let seat = table.seats[id], table.isLost(seat) != seat.isAnnouncedLost else { return }
    table.update(id) { $0.health.isAnnouncedLost.toggle() }
    let event = seat.event(in: self)
    let isBack = seat.isAnnouncedLost
    step.tell(
      isBack ? .participantReconnected(event) : .participantReconnecting(event), in: seat.room, of: table, except: id)
    step.log(isBack ? "reconnected" : "reconnecting", ["room": event.room, "user": seat.user])
  }

  // MARK: - Media

  /// A media connection did not come up, or broke; where that is final, what wants it is refused from now on.
  mutating func mediaFailed(
    _ connection: MediaConnectionID, _ failure: MediaFailure, isFinal: Bool, of id: SeatID, _ step: inout Step
  ) {
    if isFinal { table.update(id) { $0.health.failures[connection] = failure } }
    guard let seat = table.seats[id] else { return }
    step.count(.mediaFailed(connection.pc))
    step.log(
      "media_failed",
      table.mediaFields(connection, of: seat) + [("step", failure.step.rawValue), ("reason", failure.reason)],
      level: .warning)
    step.tell(failure, of: connection, to: seat.session)
  }

  /// The client has closed a media connection in order.
  private mutating func mediaClosed(
    _ connection: MediaConnectionID, reason: String, of id: SeatID, _ step: inout Step
  ) {
    let failure = MediaFailure(step: .dtls, reason: reason)
    table.update(id) { $0.health.failures[connection] = failure }
    guard let seat = table.seats[id] else { return }
    step.log("media_closed", table.mediaFields(connection, of: seat))
    step.tell(failure, of: connection, to: seat.session)
  }

  /// Consent of a media connection is gone, or the client has `closed` it, for this reason. Whether that is news: until now nothing of the
  /// seat was lost.
  mutating func mediaLost(
    _ connection: MediaConnectionID, closed: String? = nil, of id: SeatID, _ step: inout Step
  ) -> Bool {
    if let closed {
      mediaClosed(connection, reason: closed, of: id, &step)
      guard table.seats[id]?.misses(connection, media) == true else { return false }
    } else {
      let reason = "Nothing was heard from the client for too long; restart ICE."
      mediaFailed(connection, MediaFailure(step: .consent, reason: reason), isFinal: false, of: id, &step)
    }
    guard let seat = table.seats[id] else { return false }
    table.update(id) { $0.health.lostMedia.insert(connection) }
    if seat.isMediaLost { return false }
    // While the socket is lost too, the session's grace counts; the media's begins when it is back.
    if seat.member.presence.isConnected {
      table.setMediaGrace(of: id, until: step.now.instant + rules.grace(of: id, table))
    }
    announcePresence(id, &step)
    return true
  }

  /// A media connection is heard. Whether that is news: until now something of the seat was lost, and nothing is any more.
  mutating func mediaFound(_ connection: MediaConnectionID, of id: SeatID, _ step: inout Step) -> Bool {
    guard let seat = table.seats[id], seat.lostMedia.contains(connection) else { return false }
    table.update(id) { $0.health.lostMedia.remove(connection) }
    guard seat.lostMedia.count == 1 else { return false }
    table.setMediaGrace(of: id, until: nil)
    announcePresence(id, &step)
    return true
  }

  // MARK: - Speakers

  /// Tells a room who speaks.
  mutating func activeSpeakers(_ levels: [SpeakerLevel], in key: RoomKey, _ step: inout Step) {
    guard let name = table[key]?.name else { return }
    let seats = levels.map(\.seat).filter { table.seats[$0]?.room == key }
    if table.heard(seats, in: key, at: step.now.instant) { Viewing.speakersChanged(in: key, &media, table, &step) }
    if step.isFollowed {
      let participants = seats.compactMap { table.seats[$0]?.participant }
      table.update(key) { $0.stays.heard(participants, at: step.now.instant) }
    }
    let speakers = levels.compactMap { level -> Speaker? in
      guard let seat = table.seats[level.seat], seat.room == key else { return nil }
      return Speaker(participantId: "\(seat.participant)", level: min(max(level.level, 0), 127))
    }
    table.update(key) { $0.speakers = speakers }
    step.tell(.activeSpeakers(ActiveSpeakers(room: name, speakers: speakers)), in: key, of: table)
  }
}

extension Seating {
  /// A media connection came up, failed, was lost or found.
  mutating func mediaChanged(_ change: MediaChange, _ connection: MediaConnectionID, of id: SeatID, _ step: inout Step)
  {
    guard let session = table.seats[id]?.session else { return }
    if change != .ended { Streams.tell(change, connection, of: id, self, &step) }
    switch change {
    case .connected:
      table.update(id) { $0.health.failures[connection] = nil }
      mediaHeard(connection, of: id, session, &step)
      guard connection == .subscribe else { return }
      table.tellSpeakers(to: id, &step)
      QualityBook.introduce(to: id, self, &step)
      step.send(.mediaUp(session))
    case .failed(let at, let reason, let isFinal):
      mediaFailed(connection, MediaFailure(step: at, reason: reason), isFinal: isFinal, of: id, &step)
    case .closed(let reason):
      guard mediaLost(connection, closed: reason, of: id, &step) else { return }
      step.send(.mediaLost(session, true))
    case .lost:
      guard mediaLost(connection, of: id, &step) else { return }
      step.send(.mediaLost(session, true))
    case .recovered: mediaHeard(connection, of: id, session, &step)
    case .strays(let reason):
      step.count(.mediaStrays)
      mediaFailed(connection, MediaFailure(step: .route, reason: reason), isFinal: false, of: id, &step)
    case .found:
      step.log("media_found", table.seats[id].map { table.mediaFields(connection, of: $0) } ?? [])
      if let pc = connection.pc { step.tell(.mediaConnected(MediaEvent(pc: pc)), to: session) }
    case .ended:
      // By who had opened it: what it was counts no more.
      table.update(id) { $0.health.failures[connection] = nil }
      guard mediaFound(connection, of: id, &step) else { return }
      step.send(.mediaLost(session, false))
    }
  }

  private mutating func mediaHeard(
    _ connection: MediaConnectionID, of id: SeatID, _ session: SessionID, _ step: inout Step
  ) {
    if mediaFound(connection, of: id, &step) {
      step.send(.mediaLost(session, false))
    }
    guard let pc = connection.pc else { return }
    step.tell(.mediaConnected(MediaEvent(pc: pc)), to: session)
  }

  /// Lost media did not come back in the grace.
  mutating func mediaExpired(_ id: SeatID, _ step: inout Step) {
    guard let seat = table.seats[id] else { return }
    if table.isInCall(seat) { return step.send(.legLost(seat.session)) }
    let room = table.name(of: seat.room)
    leave(id, .lost, &step)
    step.tell(.roomClosed(RoomClosed(room: room, reason: .lost)), to: seat.session)
  }
}

extension Excess {
  /// Somebody sends more than they may. They are not told: a client that heeds what it is asked for never does.
  func log(
    above bitsPerSecond: Int, on connection: MediaConnectionID, of id: SeatID, _ rooms: Seating,
    _ step: inout Step
  ) {
    guard let seat = rooms.table.seats[id] else { return }
    let remedy =
      self == .video
      ? "set the encoder below media.max_bitrate, or raise that or media.cut_above"
      : "find out what this client sends; media.cut_above: 0 drops nothing"
    step.log(
      "publisher_cut",
      rooms.table.mediaFields(connection, of: seat) + [
        ("what", rawValue), ("bits_per_second", "\(bitsPerSecond)"), ("remedy", remedy),
      ],
      level: .warning)
  }
}

extension RoomTable {
  func mediaFields(_ connection: MediaConnectionID, of seat: Seat) -> [(String, String)] {
    [("room", name(of: seat.room)), ("user", seat.user), ("pc", "\(connection)")]
  }

  /// The list goes out when it changes: who begins to hear needs what it was last.
  func tellSpeakers(to id: SeatID, _ step: inout Step) {
    guard let seat = seats[id], let room = self[seat.room], !room.speakers.isEmpty else { return }
    let event = ActiveSpeakers(room: room.name, speakers: room.speakers)
    step.tell(.activeSpeakers(event), to: seat.session)
  }
}
