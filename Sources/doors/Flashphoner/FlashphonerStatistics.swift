// What the door counts.

/// Numbers of a door for Flashphoner's apps.
public struct FlashphonerStatistics: Sendable, Hashable {
  /// Sessions of the core that its clients have now: one for each room and stream without a room, and for the next room one that was
  /// left.
  public var members = 0
  /// Clients whose sockets broke and who may come back to their seats.
  public var kept = 0
  /// Messages refused at the door.
  public var refused: UInt64 = 0
  /// Connections closed because they were wrong, or too fast, too often.
  public var closedForAbuse: UInt64 = 0
  /// Connections closed because they did not say who they are in time.
  public var closedIdle: UInt64 = 0
}
