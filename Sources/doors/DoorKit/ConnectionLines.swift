// Log lines about people who have no session: a stranger can cause any number of them, and chooses some of their text.
import Basics
import Logging
import Threads

/// Writes such lines, so many for each network and so many in all. What was left out is counted, and a line tells the number.
///
///     lines.write(.info, "connection opened", of: peer.address) { ["peer": …] }
///     lines.tell()  // now and then
public final class ConnectionLines: Sendable {
  /// Lines about one network at once, and in the long run.
  public static let networkBurst = 200
  static let networkPerSecond = 2.0
  /// Lines about all of them. Raising it lets strangers fill a disk faster.
  public static let burst = 2_000
  static let perSecond = 50.0
  private struct State {
    var networks = NetworkBuckets(burst: ConnectionLines.networkBurst, perSecond: ConnectionLines.networkPerSecond)
    var all: TokenBucket
    var leftOut = LinesLeftOut()
  }

  private let log: Logger
  private let door: String
  private let clock: @Sendable () -> Instant
  private let state: Locked<State>

  /// Writes to `log`; `door` names the door that the lines are about.
  public init(_ log: Logger, door: String, clock: @escaping @Sendable () -> Instant = MonotonicClock.now) {
    (self.log, self.door, self.clock) = (log, door, clock)
    state = Locked(State(all: TokenBucket(perSecond: Self.perSecond, burst: Self.burst, now: clock())))
  }

  /// Writes a line about somebody of this address, unless there were too many.
  public func write(
    _ level: LogLevel, _ message: @autoclosure () -> String, of peer: SocketAddress?, _ fields: () -> LogFields
  ) {
    guard log.isEnabled(level) else { return }
    let now = clock()
    let passes = state.withLock { state in
      // One network's do not use up what all have.
      let isOne = state.networks.take(PeerNetwork(peer), at: now) == nil && state.all.take(at: now) == nil
      if !isOne { state.leftOut.count() }
      return isOne
    }
    if passes { log.log(level, message(), fields()) }
    tell()
  }

  /// Says how many lines were left out, once a minute at most.
  public func tell() {
    let now = clock()
    let count = state.withLock { $0.leftOut.toTell(at: now) }
    guard count > 0 else { return }
    log.warning("connection_lines_left_out", ["door": LogValue(door), "count": LogValue(count)])
  }
}

/// Lines that were left out and have not been told of.
struct LinesLeftOut: Sendable {
  /// How often it is told how many.
  static let tellingInterval = TimeDelta.seconds(60)

  private var left: UInt64 = 0
  private var told: Instant?

  mutating func count() { left += 1 }

  /// How many there were, where it is time to tell; else 0.
  mutating func toTell(at now: Instant) -> UInt64 {
    guard left > 0 else { return 0 }
    if let told, now - told < Self.tellingInterval { return 0 }
    defer { (left, told) = (0, now) }
    return left
  }
}
