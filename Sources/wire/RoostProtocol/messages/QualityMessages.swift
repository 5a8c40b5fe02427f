// How well media goes, as the server sees it: `room.quality`.

/// How good the way of somebody's media is.
public struct QualityLevel: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Nothing is noticed.
  public static let good = Self(rawValue: "good")
  /// Something may be noticed.
  public static let fair = Self(rawValue: "fair")
  /// It disturbs.
  public static let poor = Self(rawValue: "poor")
}

/// Why it is not good.
public struct QualityReason: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Nothing comes at all.
  public static let interrupted = Self(rawValue: "interrupted")
  /// Packets get lost.
  public static let loss = Self(rawValue: "loss")
  /// The line carries less than is wished for.
  public static let bandwidth = Self(rawValue: "bandwidth")
  /// Pictures stand still.
  public static let stalled = Self(rawValue: "stalled")
  /// The way there and back takes long.
  public static let delay = Self(rawValue: "delay")
}

/// Which way is not good.
public struct QualityWay: OpenName {
  /// The word on the wire.
  public var rawValue: String
  /// Any word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// From the client to the server.
  public static let up = Self(rawValue: "up")
  /// From the server to the client.
  public static let down = Self(rawValue: "down")
}

/// One person's way up, as the others may see it.
public struct PersonQuality: Codable, Hashable, Sendable {
  /// Whose.
  public var participantId: String
  /// How good it is.
  public var level: QualityLevel
  /// Why it is not good.
  public var reason: QualityReason?

  /// All fields, in the order of the protocol.
  public init(participantId: String, level: QualityLevel, reason: QualityReason? = nil) {
    self.participantId = participantId
    self.level = level
    self.reason = reason
  }
}

/// One of one's own tracks on its way up.
public struct OwnTrackQuality: Codable, Hashable, Sendable {
  /// Which.
  public var trackId: String
  /// The share of packets that got lost, 0 to 1; repeats may have made up for it.
  public var loss: Double
  /// By how many milliseconds the time between packets varies.
  public var jitter: Int
  /// kbit/s that arrive.
  public var rate: Int

  /// All fields, in the order of the protocol.
  public init(trackId: String, loss: Double, jitter: Int, rate: Int) {
    self.trackId = trackId
    self.loss = loss
    self.jitter = jitter
    self.rate = rate
  }
}

/// What one is told of one's own ways.
public struct OwnQuality: Codable, Hashable, Sendable {
  /// How good the worse of both is: `good`, `fair` (something may be noticed) or `poor` (it disturbs).
  public var level: QualityLevel
  /// Where it is not good: `interrupted` (nothing comes), `loss`, `bandwidth` (the line carries less than is wished
  /// for), `stalled` (pictures stand still), `delay`.
  public var reason: QualityReason?
  /// Which of them is not good: `up` from the client, `down` to the client.
  public var way: QualityWay?
  /// Milliseconds there and back; absent where nothing measures it.
  public var rtt: Int?
  /// kbit/s that one's line is estimated to carry toward one; absent where it has shown no limit.
  public var estimate: Int?
  /// The share of what is sent to one that gets lost, 0 to 1.
  public var loss: Double
  /// kbit/s that are sent to one.
  public var rate: Int
  /// Videos that one's line does not carry.
  public var paused: Int
  /// Videos that stood still for two seconds.
  public var freezes: Int
  /// What one publishes: `loss` (0 to 1, before repeats), `jitter` in milliseconds, `rate` in kbit/s.
  public var tracks: [OwnTrackQuality]

  /// Good, with all figures zero.
  public init() {
    level = .good
    loss = 0
    (rate, paused, freezes) = (0, 0, 0)
    tracks = []
  }
}

/// Params of `room.quality`.
public struct RoomQuality: Codable, Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Whose way up is better or worse than was told before.
  public var people: [PersonQuality]
  /// One's own ways, where this is about them.
  public var own: OwnQuality?

  /// All fields, in the order of the protocol.
  public init(room: String, people: [PersonQuality], own: OwnQuality? = nil) {
    self.room = room
    self.people = people
    self.own = own
  }
}
