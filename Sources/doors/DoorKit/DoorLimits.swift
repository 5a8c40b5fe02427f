// How much one connection may ask for, and how often it may be wrong.
import Basics

/// Limits of each connection at the front door. Rights and seats are not its business.
public struct DoorLimits: Sendable, Hashable {
  /// Requests that a connection may make per second in the long run, counted by their weight (`Request.weight`).
  public var requestsPerSecond: Double
  /// Requests that it may make at once after a quiet time.
  public var burst: Int
  /// Custom messages of a connection in a second in the long run. They count as nothing else.
  public var dataPerSecond = 100.0
  /// Custom messages that it may send at once after a quiet time.
  public var dataBurst = 200
  /// Custom messages that may wait for their replies, beside other requests: all that may come at once, and the answers that one waits for.
  public var dataUnanswered = 256
  /// Requests that may wait for their replies.
  public var unanswered: Int
  /// Messages in a row that are no good requests before the connection is closed.
  public var badInARow: Int
  /// How many more requests may come too fast than in time, before the connection is closed: one that does not heed 1006 will not learn.
  public var mostTooFast: Int
  /// How long a connection may be open without a session.
  public var helloTimeout: TimeDelta
  /// Requests a second, by weight, of a connection that has no session: what an address may ask for is this by the connections that it
  /// may have, so it is little.
  public var strangersPerSecond = 5.0
  /// The same at once: five hellos.
  public var strangersBurst = 25
  /// How many more of a stranger's requests may come too fast than in time, before the connection is closed. Lower it, and who floods
  /// comes back by new connections sooner, and takes them from others at their address.
  public var strangersTooFast = 100

  /// The limits with their defaults, far above what a person's client does.
  public init(
    requestsPerSecond: Double = 50, burst: Int = 100, unanswered: Int = 64, badInARow: Int = 10,
    mostTooFast: Int = 500, helloTimeout: TimeDelta = .milliseconds(30_000)
  ) {
    self.requestsPerSecond = requestsPerSecond
    self.burst = burst
    self.unanswered = unanswered
    self.badInARow = badInARow
    self.mostTooFast = mostTooFast
    self.helloTimeout = helloTimeout
  }
}
