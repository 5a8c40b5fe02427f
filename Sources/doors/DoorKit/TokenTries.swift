// What the tokens of one connection have come to: its rank among those that wait, and when it is enough. Pure.
import Basics

/// Tries of one connection.
public struct TokenTries: Hashable, Sendable {
  /// What a try has come to.
  public enum Outcome: Hashable, Sendable {
    case believed
    /// Not accepted: forged, over, taken back, somebody else's, missing.
    case failed
    /// Not looked at.
    case sentAway
  }

  /// Whether one waits to be looked at. There is one at most.
  public private(set) var isWaiting = false
  /// What waits at the gate.
  public var ticket: TurnTicket?
  private var tries = TurnTries()

  /// A connection that has tried nothing.
  public init() {}

  /// Its rank among those that wait.
  public var rank: TurnRank { tries.rank }

  /// One is given to the gate.
  public mutating func begin() { isWaiting = true }

  /// The gate has said what has come of it.
  /// - Returns: whether the connection is to end.
  public mutating func end(_ outcome: Outcome) -> Bool {
    (isWaiting, ticket) = (false, nil)
    switch outcome {
    case .believed: tries.succeed()
    case .sentAway: break
    case .failed: return fail()
    }
    return false
  }

  /// One was not accepted in the end, also where the gate had believed it: it was taken back meanwhile.
  /// - Returns: whether the connection is to end.
  public mutating func fail() -> Bool { tries.fail() }
}
