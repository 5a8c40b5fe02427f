// What a front door counts.
import RoostProtocol

/// Counters of a front door.
public struct SignallingStatistics: Sendable, Equatable {
  /// Requests given to the core, by method.
  public var requests: [Method: UInt64] = [:]
  /// Messages refused at the door, by error.
  public var refused: [ErrorCode: UInt64] = [:]
  /// Connections closed because they were wrong, or too fast, too often.
  public var closedForAbuse: UInt64 = 0
  /// Connections closed because they had no session for too long.
  public var closedIdle: UInt64 = 0
}
