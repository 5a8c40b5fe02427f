// What a client has heard of its rooms, in a few words an event: tests compare the whole of it, so that nothing can be heard
// besides.

import RoostProtocol
import TestSupport
import Testing

extension Event {
  /// The room of an event about rooms or chat, and what it tells.
  fileprivate var telling: (room: String, words: String)? {
    switch self {
    case .participantJoined(let event): (event.room, "\(event.participant.user) joined")
    case .participantUpdated(let event): (event.room, "\(event.participant.user) updated")
    case .participantReconnecting(let event): (event.room, "\(event.participant.user) reconnecting")
    case .participantReconnected(let event): (event.room, "\(event.participant.user) reconnected")
    case .participantLeft(let event): (event.room, "\(event.user) \(event.reason.rawValue)")
    case .trackPublished(let event): (event.room, "\(event.track.trackId) published")
    case .trackUnpublished(let event): (event.room, "\(event.trackId) unpublished")
    case .trackMuted(let event): (event.room, "\(event.trackId) muted")
    case .trackUnmuted(let event): (event.room, "\(event.trackId) unmuted")
    case .roomClosed(let event): (event.room, "closed: \(event.reason.rawValue)")
    case .chatMessage(let message): (message.room, "\(message.from): \(message.text)")
    default: nil
    }
  }
}

extension Recorder {
  /// What was heard of one room, or of all, in order.
  func story(of room: String? = nil) -> [String] {
    messages.compactMap { $0.event.telling }.filter { room == nil || $0.room == room }.map(\.words)
  }
}

extension Client {
  /// Returns when everything that was sent to this client before now is written down: a reply comes behind all events of
  /// earlier commits.
  func settle() async throws {
    _ = try await session.request(.session(.ping))
    let seq = await session.lastSeq
    #expect(await eventually { await heard.lastSeq >= seq })
  }

  /// Waits until this much was heard, and expects it to be this and nothing else.
  func hears(_ story: [String], of room: String? = nil, at location: SourceLocation = #_sourceLocation) async throws {
    _ = await eventually { await heard.story(of: room).count >= story.count }
    try await settle()
    let told = await heard.story(of: room)
    #expect(told == story, sourceLocation: location)
  }

  /// Joins, and returns the reply as it came: later events do not change it.
  func enter(_ room: String) async throws -> RoomSnapshot {
    let reply = try await session.request(.room(.join(RoomJoinParams(room: room))))
    guard case .room(let snapshot) = reply else { throw Phone.Wrong.reply }
    return snapshot
  }

  /// What anybody may ask about a room.
  func info(_ room: String) async throws -> RoomInfo {
    let reply = try await session.request(.room(.info(RoomParams(room: room))))
    guard case .roomInfo(let info) = reply else { throw Phone.Wrong.reply }
    return info
  }

  /// The messages of a room that one may see.
  func history(_ room: String) async throws -> [Message] {
    let reply = try await session.request(.chat(.history(ChatHistoryParams(room: room, limit: 100))))
    guard case .messages(let result) = reply else { throw Phone.Wrong.reply }
    return result.messages
  }
}

extension [Client] {
  func settle() async throws { for client in self { try await client.settle() } }
}

extension TestServer {
  /// People without media, in `demo` in this order.
  func inDemo(_ users: [String]) async throws -> [Client] {
    var clients: [Client] = []
    for user in users {
      let client = try await Client(url, user)
      _ = try await client.session.join(room: "demo")
      clients.append(client)
    }
    return clients
  }
}
