// A room as a client knows it: the snapshot of its join, kept up to date by events. Pure.
import RoostProtocol

/// Applies the room's events to its snapshot.
struct RoomState: Sendable, Hashable {
  /// Messages of chat kept; raise it and long rooms cost their clients more.
  static let chatLength = 500

  private(set) var snapshot: RoomSnapshot

  init(_ snapshot: RoomSnapshot) { self.snapshot = snapshot }

  /// - Returns: false when the room is over for this client.
  mutating func apply(_ message: EventMessage) -> Bool {
    guard message.seq > snapshot.seq else { return true }
    snapshot.seq = message.seq
    switch message.event {
    case .participantJoined(let event) where event.room == snapshot.room: put(event.participant)
    case .participantUpdated(let event) where event.room == snapshot.room: put(event.participant)
    case .participantReconnecting(let event) where event.room == snapshot.room: put(event.participant)
    case .participantReconnected(let event) where event.room == snapshot.room: put(event.participant)
    case .participantLeft(let event) where event.room == snapshot.room:
      if let place = place(of: event.participantId) { snapshot.participants.remove(at: place) }
      snapshot.count = snapshot.participants.count
    case .trackPublished(let event) where event.room == snapshot.room: publish(event)
    case .trackUnpublished(let event) where event.room == snapshot.room:
      change(event.participantId) { $0.tracks.removeAll { $0.trackId == event.trackId } }
    case .trackMuted(let event) where event.room == snapshot.room: mute(event, true)
    case .trackUnmuted(let event) where event.room == snapshot.room: mute(event, false)
    case .chatMessage(let chat) where chat.room == snapshot.room: append(chat)
    case .roomModerated(let event) where event.room == snapshot.room: moderated(event)
    case .roomClosed(let event) where event.room == snapshot.room: return false
    case .roomSwitched(let event) where event.from == snapshot.room: snapshot = event.snapshot
    default: break
    }
    return true
  }

  /// Whether an event changes what one may do in the room, or how one is shown to the others, who alone are told the latter
  /// (`room.participantUpdated`): the server has to be asked then.
  func isAboutOneself(_ event: Event) -> Bool {
    switch event {
    case .sessionGrants: true
    case .roomModerated(let event) where event.room == snapshot.room && [.role, .lowerHand].contains(event.action):
      event.user == nil || place(of: snapshot.selfId).map { snapshot.participants[$0].user } == event.user
    default: false
    }
  }

  /// Who waits, who is held and who is banned is moderators' business, who are told of each; here is what everybody sees.
  private mutating func moderated(_ event: RoomModerated) {
    var moderation = snapshot.moderation ?? RoomModeration()
    switch event.action {
    case .lock: (moderation.locked, moderation.lobby) = (true, nil)
    case .unlock: (moderation.locked, moderation.lobby) = (nil, nil)
    case .lobby: (moderation.locked, moderation.lobby) = (nil, true)
    case .disableChat: moderation.chatDisabled = true
    case .enableChat: moderation.chatDisabled = nil
    case .media:
      snapshot.media = event.media ?? snapshot.media
      snapshot.limit = event.limit ?? snapshot.limit
    case .mute, .stopVideo, .kick, .ban, .unban, .admit, .deny, .role, .lowerHand, .end: return
    }
    snapshot.moderation = moderation.isUsual ? nil : moderation
  }

  private mutating func put(_ participant: Participant) {
    if let place = place(of: participant.participantId) {
      snapshot.participants[place] = participant
    } else {
      snapshot.participants.append(participant)
    }
    snapshot.count = snapshot.participants.count
  }

  private mutating func change(_ participantId: String, _ body: (inout Participant) -> Void) {
    guard let place = place(of: participantId) else { return }
    body(&snapshot.participants[place])
  }

  /// By places, not by elements: a closure over elements copies each, and among five hundred people each sees five
  /// hundred come.
  private func place(of participantId: String) -> Int? {
    snapshot.participants.indices.first { snapshot.participants[$0].participantId == participantId }
  }

  private mutating func publish(_ event: TrackPublished) {
    change(event.participantId) { participant in
      if let index = participant.tracks.firstIndex(where: { $0.trackId == event.track.trackId }) {
        participant.tracks[index] = event.track
      } else {
        participant.tracks.append(event.track)
      }
    }
  }

  private mutating func mute(_ event: TrackChange, _ muted: Bool) {
    change(event.participantId) { participant in
      guard let index = participant.tracks.firstIndex(where: { $0.trackId == event.trackId }) else { return }
      participant.tracks[index].muted = muted
    }
  }

  private mutating func append(_ chat: Message) {
    snapshot.chat.append(chat)
    if snapshot.chat.count > Self.chatLength { snapshot.chat.removeFirst(snapshot.chat.count - Self.chatLength) }
  }
}
