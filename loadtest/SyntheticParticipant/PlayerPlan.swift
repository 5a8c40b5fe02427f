// What one who only plays is told: by which door it comes, and whose tracks it is to be sent.

import RoostProtocol

/// One who plays what one person publishes, by a door at which the client offers and the server answers once.
public struct PlayerPlan: Sendable {
  /// A way into a room besides the native one.
  public enum Door: String, Sendable, Hashable, CaseIterable {
    /// An HTTP POST of the offer (draft-ietf-wish-whep-03 §4.2).
    case whep
    /// A WebSocket with the words of Flashphoner's room API: `connection`, `join`, `playStream`.
    case flashphoner
  }

  /// A track that is to come.
  public struct Track: Sendable, Hashable {
    /// Whether it is sound or pictures.
    public var kind: TrackKind
    /// What its publisher calls it.
    public var label: String
    /// What the room calls it.
    public var trackId: String

    /// A track of a publisher.
    public init(kind: TrackKind, label: String, trackId: String) {
      (self.kind, self.label, self.trackId) = (kind, label, trackId)
    }
  }

  /// The way in.
  public var door: Door
  /// The server's address at that door: `http://HOST:PORT` for WHEP, `ws://HOST:PORT/` for Flashphoner.
  public var url: String
  /// Whose stream is played; others see them under this name.
  public var publisher: String
  /// What they publish, one track of a kind at most.
  public var tracks: [Track]

  /// A plan to play one publisher.
  public init(door: Door, url: String, publisher: String, tracks: [Track]) {
    (self.door, self.url, self.publisher, self.tracks) = (door, url, publisher, tracks)
  }
}

/// What a door does for one who plays: it takes the client's offer and gives the server's answer.
protocol Player: Sendable {
  /// Comes in and returns the answer to `offer`. Called once.
  func play(_ offer: String) async throws(SyntheticError) -> String
  /// Ends the session, and the seat with it.
  func stop() async
}
