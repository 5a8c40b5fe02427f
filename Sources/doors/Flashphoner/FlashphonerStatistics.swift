// What the door counts.
import DoorKit

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

extension FlashphonerDoor {
  /// What it has counted, as `/metrics` shows it.
  public var metrics: [Metric] {
    let statistics = self.statistics
    return [
      .gauge(
        "roost_flashphoner_members",
        help: "Sessions that clients of Flashphoner's SDKs have: one for each room and stream without a room.",
        statistics.members),
      .gauge(
        "roost_flashphoner_waiting", help: "Clients of Flashphoner's SDKs who may come back to their seats.",
        statistics.kept),
      .counter(
        "roost_flashphoner_refused_total", help: "Messages of Flashphoner's SDKs refused at the front door.",
        statistics.refused),
    ]
      + Metric.closings(
        forAbuse: statistics.closedForAbuse, idle: statistics.closedIdle, ["listener": "flashphoner"])
  }
}
