// How much of the machine one realm may have.

import RoostProtocol

/// Bounds of one realm, below those of the machine; nil: as much as there is.
public struct Quotas: Hashable, Sendable {
  /// Sessions at once, those that wait to be resumed included.
  public var sessions: Int?
  /// Seats at once, in rooms and calls.
  public var participants: Int?
  /// Rooms at once that are neither configured nor calls'.
  public var rooms: Int?
  /// Calls at once that ring or run.
  public var calls: Int?

  /// No bounds but the machine's.
  public init() {}
}

/// What one realm has, or several have together, of what there is for all.
package struct RealmShare: Hashable, Sendable {
  /// Sessions.
  package var sessions = 0
  /// Rooms that are not configured, without those of calls.
  package var rooms = 0
  /// Calls that run.
  package var calls = 0

  /// Nothing, unless said otherwise.
  package init(sessions: Int = 0, rooms: Int = 0, calls: Int = 0) {
    (self.sessions, self.rooms, self.calls) = (sessions, rooms, calls)
  }

  package static func + (a: RealmShare, b: RealmShare) -> RealmShare {
    RealmShare(sessions: a.sessions + b.sessions, rooms: a.rooms + b.rooms, calls: a.calls + b.calls)
  }

  package static func - (a: RealmShare, b: RealmShare) -> RealmShare {
    RealmShare(sessions: a.sessions - b.sessions, rooms: a.rooms - b.rooms, calls: a.calls - b.calls)
  }
}

/// Quotas by their keys in rooms.yaml.
package enum Quota: String {
  case sessions, participants, rooms, calls
}

extension ErrorObject {
  /// A realm has as much as it may.
  package static func quota(_ quota: Quota, _ limit: Int, wait milliseconds: Int64? = nil) -> ErrorObject {
    ErrorObject(.overloaded, "This realm has as many \(quota.rawValue) as it may: \(limit).") {
      ($0.reason, $0.limit, $0.retryAfterMs) = ("realm_\(quota.rawValue)", limit, milliseconds.map { max($0, 1) })
    }
  }
}
