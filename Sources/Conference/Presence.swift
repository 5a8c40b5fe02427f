// Who is there: users and their devices, participants who are lost and come back, and the state of their media.

import Basics
import RoostProtocol

extension ConferenceCore {
  /// What is known of each of these users.
  func presence(of names: [String]) -> UserQueryResult {
    UserQueryResult(
      users: names.map { name in
        let devices = (users[name] ?? []).sorted().compactMap { sessions[$0] }.filter { $0.connection != nil }
        return UserPresence(
          user: name, reachable: devices.contains { $0.isCallable }, inCall: calls.isBusy(name), devices: devices.count,
          capabilities: devices.compactMap(\.capabilities))
      })
  }

  /// Whether a seat's socket or media is lost.
  func isLost(_ seat: Seat) -> Bool { seat.isMediaLost || sessions[seat.session]?.connection == nil }

  /// The seat's session has lost its connection.
  mutating func seatDisconnected(_ id: SeatID) {
    deadlines.cancel(.media(id))
    announcePresence(id)
  }

  /// Tells the others when a seat has been lost or found since they were told last.
  mutating func announcePresence(_ id: SeatID) {
    guard let seat = seats[id], isLost(seat) != seat.isAnnouncedLost else { return }
    seats[id]?.isAnnouncedLost.toggle()
    let event = event(seat)
    let isBack = seat.isAnnouncedLost
    broadcast(isBack ? .participantReconnected(event) : .participantReconnecting(event), in: seat.room, except: id)
    log(isBack ? "reconnected" : "reconnecting", ["room": event.room, "user": seat.user])
  }

  /// The seat's session has a connection again. Lost media gets the whole grace from here, for its ICE restart.
  mutating func seatResumed(_ id: SeatID) {
    if seats[id]?.isMediaLost == true { deadlines.set(.media(id), at: now.instant + grace(of: id)) }
    announcePresence(id)
  }

  /// A media connection came up, failed, was lost or found.
  mutating func mediaChanged(_ change: MediaChange, _ connection: PeerConnection, of id: SeatID) {
    guard let session = seats[id]?.session else { return }
    switch change {
    case .connected:
      seats[id]?.failures[connection] = nil
      mediaFound(connection, of: id)
      send(.mediaConnected(MediaEvent(pc: connection)), to: session)
      guard connection == .subscribe else { return }
      tellSpeakers(to: id)
      carry(calls.mediaUp(on: session.device, at: now))
    case .failed(let step, let reason, let isFinal):
      if isFinal { seats[id]?.failures[connection] = MediaFailure(step: step, reason: reason) }
      mediaFailed(connection, step, reason, of: id)
    case .closed(let reason):
      seats[id]?.failures[connection] = MediaFailure(step: .dtls, reason: reason)
      log("media_closed", mediaFields(connection, of: id))
      send(.mediaFailed(MediaEvent(pc: connection, step: .dtls, reason: reason)), to: session)
    case .lost:
      mediaFailed(connection, .consent, "Nothing was heard from the client for too long; restart ICE.", of: id)
      let wasLost = seats[id]?.isMediaLost == true
      seats[id]?.lostMedia.insert(connection)
      if wasLost { return }
      // While the socket is lost too, the session's grace counts; the media's begins when it is back.
      if sessions[session]?.connection != nil { deadlines.set(.media(id), at: now.instant + grace(of: id)) }
      announcePresence(id)
      noteMedia(isLost: true, of: id)
    case .recovered:
      mediaFound(connection, of: id)
      send(.mediaConnected(MediaEvent(pc: connection)), to: session)
    }
  }

  private mutating func mediaFailed(_ connection: PeerConnection, _ step: MediaStep, _ reason: String, of id: SeatID) {
    guard let seat = seats[id] else { return }
    count(.mediaFailed(connection))
    log(
      "media_failed", mediaFields(connection, of: id) + [("step", step.rawValue), ("reason", reason)], level: .warning)
    send(.mediaFailed(MediaEvent(pc: connection, step: step, reason: reason)), to: seat.session)
  }

  private func mediaFields(_ connection: PeerConnection, of id: SeatID) -> [(String, String)] {
    guard let seat = seats[id] else { return [] }
    return [("room", rooms[seat.room]?.name ?? ""), ("user", seat.user), ("pc", connection.rawValue)]
  }

  private mutating func mediaFound(_ connection: PeerConnection, of id: SeatID) {
    guard seats[id]?.lostMedia.remove(connection) != nil, seats[id]?.isMediaLost == false else { return }
    deadlines.cancel(.media(id))
    announcePresence(id)
    noteMedia(isLost: false, of: id)
  }

  /// Lost media did not come back in the grace.
  mutating func mediaExpired(_ id: SeatID) {
    guard let seat = seats[id] else { return }
    if isInCall(seat) { return carry(calls.legLost(on: seat.session.device, at: now)) }
    let room = rooms[seat.room]?.name ?? ""
    leave(id, .lost)
    send(.roomClosed(RoomClosed(room: room, reason: .lost)), to: seat.session)
  }

  /// Tells a room who speaks.
  mutating func activeSpeakers(_ levels: [SpeakerLevel], in room: RoomKey) {
    guard let name = rooms[room]?.name else { return }
    let speakers = levels.compactMap { level -> Speaker? in
      guard let seat = seats[level.seat], seat.room == room else { return nil }
      return Speaker(participantId: "\(seat.participant)", level: min(max(level.level, 0), 127))
    }
    rooms[room]?.speakers = speakers
    broadcast(.activeSpeakers(ActiveSpeakers(room: name, speakers: speakers)), in: room)
  }

  /// The list goes out when it changes: who begins to hear needs what it was last.
  private mutating func tellSpeakers(to id: SeatID) {
    guard let seat = seats[id], let room = rooms[seat.room], !room.speakers.isEmpty else { return }
    send(.activeSpeakers(ActiveSpeakers(room: room.name, speakers: room.speakers)), to: seat.session)
  }
}
