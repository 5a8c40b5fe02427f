// Log lines about those who have a session: they too can cause any number of them, by coming and going, or by being refused.
import Basics
import Logging
import Members
import Names
import Threads

/// Writes such lines, so many of each user and of each network, whatever door they come by. What was left out is counted, and a line tells
/// the number.
///
///     lines.write(.info, "join", of: subject) { ["room": …] }
///     lines.tell()  // now and then
public final class SessionLines: Sendable {
  /// Lines about one user at once, and in the long run. Raising it lets one guest fill a disk faster.
  public static let userBurst = 200
  static let userPerSecond = 2.0
  /// The same of all from one network: a class that comes at nine leaves a line or three each.
  public static let networkBurst = 1_000
  static let networkPerSecond = 10.0

  /// One user: of the same name there may be one in each realm.
  private struct Holder: Hashable {
    let realm: Realm
    let user: ClaimedUser
  }

  private struct State {
    var users = KeyedBuckets<Holder>(
      burst: SessionLines.userBurst, perSecond: SessionLines.userPerSecond, most: NetworkBuckets.mostNetworks)
    var networks = NetworkBuckets(burst: SessionLines.networkBurst, perSecond: SessionLines.networkPerSecond)
    var leftOut = LinesLeftOut()

    /// What is too much for one of the two takes from neither.
    mutating func take(_ subject: LineSubject, at now: Instant) -> Bool {
      let holder = subject.user.map { Holder(realm: subject.realm, user: $0) }
      let isFree =
        subject.network.map { networks.wait(of: $0, at: now) == nil } ?? true
        && holder.map { users.wait(of: $0, at: now) == nil } ?? true
      guard isFree else {
        leftOut.count()
        return false
      }
      if let network = subject.network { _ = networks.take(network, at: now) }
      if let holder { _ = users.take(holder, at: now) }
      return true
    }
  }

  private let log: Logger
  private let clock: @Sendable () -> Instant
  private let state = Locked(State())

  /// Writes to `log`. All doors and the conference share one.
  public init(_ log: Logger, clock: @escaping @Sendable () -> Instant = MonotonicClock.now) {
    (self.log, self.clock) = (log, clock)
  }

  /// Writes a line that is somebody's doing, unless there were too many of theirs.
  public func write(
    _ level: LogLevel, _ message: @autoclosure () -> String, of subject: LineSubject, _ fields: () -> LogFields
  ) {
    guard log.isEnabled(level) else { return }
    let now = clock()
    if state.withLock({ $0.take(subject, at: now) }) { log.log(level, message(), fields()) }
  }

  /// Says how many lines were left out, once a minute at most.
  public func tell() {
    let now = clock()
    let count = state.withLock { $0.leftOut.toTell(at: now) }
    if count > 0 { log.warning("session_lines_left_out", ["count": LogValue(count)]) }
  }
}
