// What a front door counts.
import DoorKit
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

extension FrontDoor {
  /// What it has counted, as `/metrics` shows it.
  public var metrics: [Metric] {
    let statistics = self.statistics
    let requests = statistics.requests.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
    let refused = statistics.refused.map { ($0.key.name.lowercased(), $0.value) }.sorted { $0.0 < $1.0 }
    return [
      Metric(
        "roost_requests_total", .counter, help: "Requests taken, by method.",
        requests.map { .init($0.1, ["method": $0.0]) }),
      Metric(
        "roost_messages_refused_total", .counter, help: "Messages refused at the front door, by error.",
        refused.map { .init($0.1, ["error": $0.0]) }),
    ] + Metric.closings(forAbuse: statistics.closedForAbuse, idle: statistics.closedIdle)
  }
}
