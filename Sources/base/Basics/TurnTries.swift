// What the credentials of one connection have come to: its rank among those that wait for a turn, and when it is enough. Pure.

/// Tries of one connection.
public struct TurnTries: Hashable, Sendable {
  /// Credentials of a connection that may fail, whatever for: with the last of them it ends. So somebody who guesses pays for a new
  /// connection each time, of which an address has only so many as well.
  public static let mostFailed = 3

  private var failures = 0
  private var turns = 0

  /// A connection that has tried nothing.
  public init() {}

  /// Its rank among those that wait.
  public var rank: TurnRank { TurnRank(failures: failures, turns: turns) }

  /// Its credentials were accepted.
  public mutating func succeed() { turns += 1 }

  /// Its credentials were not accepted.
  /// - Returns: whether the connection is to end.
  public mutating func fail() -> Bool {
    failures += 1
    return failures >= Self.mostFailed
  }
}
