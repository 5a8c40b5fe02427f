// How many messages a connection may send, and how often they may be wrong: the same at every front door that takes messages. Pure.
import Basics

/// The pace of one connection.
public struct MessagePace: Sendable {
  /// What a message is.
  public enum Verdict: Hashable, Sendable {
    /// One of as many as there may be.
    case inTime
    /// To be refused: one more may come after so many milliseconds.
    case tooFast(wait: Int64)
    /// The same once too often: close the connection, with this reason.
    case muchTooFast(wait: Int64, reason: String)
    /// Wrong once too often in a row: close the connection, with this reason.
    case wrongTooOften(reason: String)
  }

  private let limits: DoorLimits
  private var bucket: TokenBucket
  /// Custom messages take from this one alone.
  private var dataBucket: TokenBucket
  /// What it is held to besides while it has no session.
  private var strangers: TokenBucket?
  private var wrongInARow = 0
  /// How many more came too fast than in time. Not those in a row: a server that is busy reads so slowly that one of them is in time now
  /// and then, which is when a flood has to end.
  private var tooFast = 0

  /// The pace of a connection that is opened now, and has no session yet.
  public init(limits: DoorLimits, now: Instant) {
    self.limits = limits
    strangers = TokenBucket(perSecond: limits.strangersPerSecond, burst: limits.strangersBurst, now: now)
    bucket = TokenBucket(perSecond: limits.requestsPerSecond, burst: limits.burst, now: now)
    dataBucket = TokenBucket(perSecond: limits.dataPerSecond, burst: limits.dataBurst, now: now)
  }

  /// It has a session from now on.
  public mutating func admit() { strangers = nil }

  /// A message that can be read has come. `weight`: how many it counts as, a burst at most.
  public mutating func message(_ weight: Int = 1, at now: Instant) -> Verdict {
    wrongInARow = 0
    return take(weight, at: now)
  }

  /// A custom message has come, of a connection that has a session.
  public mutating func data(at now: Instant) -> Verdict {
    wrongInARow = 0
    return verdict(dataBucket.take(at: now))
  }

  /// An answer that somebody waits for has come: who asks has a pace, and whoever is asked must not pay for it.
  public mutating func answer() {
    wrongInARow = 0
    tooFast = max(0, tooFast - 1)
  }

  /// A message that is wrong has come. It takes its turn as well: refusing it is work.
  public mutating func wrong(at now: Instant) -> Verdict {
    wrongInARow += 1
    if wrongInARow >= limits.badInARow { return .wrongTooOften(reason: "\(wrongInARow) bad messages in a row") }
    return take(1, at: now)
  }

  /// A message has come that nobody has read, since too many bytes came from its address. The next may come after so many milliseconds.
  public mutating func unread(wait: Int64) -> Verdict { tooFast(wait) }

  private mutating func take(_ weight: Int, at now: Instant) -> Verdict {
    verdict(bucket.take(weight, at: now) ?? strangers?.take(weight, at: now))
  }

  private mutating func verdict(_ wait: Int64?) -> Verdict {
    guard let wait else {
      tooFast = max(0, tooFast - 1)
      return .inTime
    }
    return tooFast(wait)
  }

  private mutating func tooFast(_ wait: Int64) -> Verdict {
    let most = strangers == nil ? limits.mostTooFast : min(limits.mostTooFast, limits.strangersTooFast)
    tooFast += 1
    guard tooFast >= most else { return .tooFast(wait: wait) }
    return .muchTooFast(wait: wait, reason: "\(tooFast) messages too fast")
  }
}
