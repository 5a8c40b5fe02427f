// What somebody's stay in a room or call was like, as webhook subscribers are told at its end.

/// What the server measured of one person's media, and for how long they spoke.
public struct StayFigures: Codable, Hashable, Sendable {
  /// One direction.
  public struct Way: Codable, Hashable, Sendable {
    /// Packets that should have come.
    public var packets = 0
    /// Those of them that did not, after the first try.
    public var lost = 0

    /// Nothing.
    public init() {}
  }

  /// For how long they were among the active speakers, in milliseconds.
  public var spokenMs: Int64 = 0
  /// For how long media was measured, in milliseconds.
  public var measuredMs: Int64 = 0
  /// What they sent.
  public var up = Way()
  /// What they were sent.
  public var down = Way()
  /// The worst by which the time between packets that they sent varied, in milliseconds.
  public var worstJitter = 0
  /// There and back in milliseconds, on average; nil where nothing measured it.
  public var roundTrip: Int?
  /// The longest of it.
  public var worstRoundTrip: Int?
  /// For how long a video that they were sent stood still, in milliseconds.
  public var frozenMs: Int64 = 0
  /// For how long one was paused since their line did not carry it, in milliseconds.
  public var pausedMs: Int64 = 0
  /// For how long nothing came from them on one of their connections, in milliseconds.
  public var silentMs: Int64 = 0

  /// Nothing.
  public init() {}
}
