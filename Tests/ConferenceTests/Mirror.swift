// A room as a client believes it to be: the snapshot with every event laid over it. It must equal the core's own view.

import RoostProtocol
import Testing

/// What a client believes of its room.
struct Mirror {
  var room: RoomSnapshot?

  /// What the client's own requests tell it.
  mutating func learn(_ request: Request, _ result: Result<Reply, ErrorObject>) {
    switch (request, result) {
    case (_, .success(.room(let snapshot))): room = snapshot
    case (.room(.leave(let params)), .success) where params.room == room?.room: room = nil
    case (_, .success(.callStarted(let result))): room = result.room
    case (_, .success(.callRoom(let result))): room = result.room
    case (.call(.hangup), .success(.call(let result))) where result.call.room == room?.room: room = nil
    case (.call(.cancel), .success(.call(let result))) where result.call.room == room?.room: room = nil
    case (.call(.end), .success(.call(let result))) where result.call.room == room?.room: room = nil
    case (.session(.hello), .success): room = nil
    default: break
    }
  }

  mutating func apply(_ event: Event, seq: Int, owner: String) {
    if let name = Self.roomName(event) {
      #expect(room?.room == name, "\(owner) hears of a room that they are not in: \(event.name)")
      #expect(room.map { $0.seq < seq } ?? true, "a delta comes after its snapshot")
    }
    switch event {
    case .participantJoined(let params):
      #expect(index(params.participant.participantId) == nil, "\(owner) hears a join once")
      room?.participants.append(params.participant)
    case .participantUpdated(let params), .participantReconnecting(let params), .participantReconnected(let params):
      let index = index(params.participant.participantId)
      #expect(index != nil, "\(owner) knows whom it is about")
      if let index { room?.participants[index] = params.participant }
    case .participantLeft(let params):
      #expect(index(params.participantId) != nil, "\(owner) hears a leave once")
      room?.participants.removeAll { $0.participantId == params.participantId }
    case .trackPublished(let params): change(params.participantId) { $0.tracks.append(params.track) }
    case .trackUnpublished(let params):
      change(params.participantId) { $0.tracks.removeAll { $0.trackId == params.trackId } }
    case .trackMuted(let params): setMuted(true, params)
    case .trackUnmuted(let params): setMuted(false, params)
    case .roomModerated(let params): moderated(params)
    case .roomClosed: room = nil
    case .roomSwitched(let params): room = params.snapshot
    default: break
    }
  }

  private func index(_ participant: String) -> Int? {
    room?.participants.firstIndex { $0.participantId == participant }
  }

  private mutating func change(_ participant: String, _ body: (inout Participant) -> Void) {
    guard let index = index(participant), var changed = room?.participants[index] else {
      Issue.record("an event about a stranger")
      return
    }
    body(&changed)
    room?.participants[index] = changed
  }

  private mutating func moderated(_ params: RoomModerated) {
    guard params.room == room?.room, let media = params.media, let limit = params.limit else { return }
    room?.media = media
    room?.limit = limit
  }

  private mutating func setMuted(_ muted: Bool, _ params: TrackChange) {
    // What a moderator does to one's own tracks. Those are known from one's own requests, which are not followed here.
    guard params.participantId != room?.selfId else { return }
    change(params.participantId) { participant in
      guard let track = participant.tracks.firstIndex(where: { $0.trackId == params.trackId }) else {
        Issue.record("a track nobody was told of")
        return
      }
      #expect(participant.tracks[track].muted != muted, "a mute is told once")
      participant.tracks[track].muted = muted
    }
  }

  private static func roomName(_ event: Event) -> String? {
    switch event {
    case .participantJoined(let params), .participantUpdated(let params), .participantReconnecting(let params),
      .participantReconnected(let params):
      params.room
    case .participantLeft(let params): params.room
    case .trackPublished(let params): params.room
    case .trackUnpublished(let params), .trackMuted(let params), .trackUnmuted(let params): params.room
    case .activeSpeakers(let params): params.room
    case .roomQuality(let params): params.room
    case .chatMessage(let message): message.room
    case .messageReceived(let message): message.room
    case .messageRequested(let request): request.room
    case .roomClosed(let params): params.room
    case .roomSwitched(let params): params.from
    default: nil
    }
  }
}
