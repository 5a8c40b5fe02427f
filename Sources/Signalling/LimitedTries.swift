// Failed tries at a token: counted, and slowed for each network that they come from.
import Basics
import Conference
import Logging
import RoostProtocol
import Threads

/// Believes whom another verifier believes. Whoever fails at it too often is told to wait, and leaves no further lines in the log. A good
/// token is believed at any time: one address may be that of many people, and somebody else's guesses must not keep them out.
public final class LimitedTries: IdentityVerifier {
  /// Failures that a network may have at once, and one more each second.
  public static let burst = 50
  static let perSecond = 1.0

  private struct State {
    var failures = NetworkBuckets(burst: LimitedTries.burst, perSecond: LimitedTries.perSecond)
    var statistics = TokenStatistics()
  }

  private let verifier: any IdentityVerifier
  private let log: Logger
  private let clock: @Sendable () -> Instant
  private let state = Locked(State())

  /// Limits the tries at `verifier`.
  /// - Parameter clock: the monotonic clock that tries are measured with.
  public init(
    _ verifier: any IdentityVerifier, log: Logger, clock: @escaping @Sendable () -> Instant = MonotonicClock.now
  ) {
    (self.verifier, self.log, self.clock) = (verifier, log, clock)
  }

  /// Tries since the start.
  public var statistics: TokenStatistics { state.withLock { $0.statistics } }

  /// Whose hello it is, and from which network.
  /// - Throws: why it is not accepted; 1006 where the peer's network has failed too often.
  public func verify(_ hello: HelloParams, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity {
    var identity = try limited(peer) { () throws(UnprovenIdentity) in try verifier.verify(hello, from: peer) }
    identity.network = PeerNetwork(peer)
    return identity
  }

  /// Whose a further token is.
  /// - Throws: as `verify`.
  public func renew(_ token: String, from peer: SocketAddress?) throws(UnprovenIdentity) -> Identity? {
    var identity = try limited(peer) { () throws(UnprovenIdentity) in try verifier.renew(token, from: peer) }
    identity?.network = PeerNetwork(peer)
    return identity
  }

  private func limited<T>(
    _ peer: SocketAddress?, _ attempt: () throws(UnprovenIdentity) -> T
  ) throws(UnprovenIdentity) -> T {
    do throws(UnprovenIdentity) {
      return try attempt()
    } catch {
      guard error.isGuess else { throw error }
      let (wait, isLast) = failed(PeerNetwork(peer), at: clock())
      if let wait { throw .tooManyTries(wait: wait) }
      if isLast {
        log.warning("tokens_slowed", ["peer": LogValue(peer?.description ?? ""), "failures": LogValue(Self.burst)])
      }
      throw error
    }
  }

  /// How long the network should have waited, in milliseconds; and whether this was the last try that it need not wait for.
  private func failed(_ network: PeerNetwork, at now: Instant) -> (wait: Int64?, isLast: Bool) {
    state.withLock { state in
      if let wait = state.failures.take(network, at: now) {
        state.statistics.slowed += 1
        return (wait, false)
      }
      state.statistics.failed += 1
      return (nil, state.failures.wait(of: network, at: now) != nil)
    }
  }
}

/// Tries at tokens that failed.
public struct TokenStatistics: Sendable, Equatable {
  /// Tokens that were not accepted, or that were missing. Those that were good once are not among them.
  public var failed: UInt64 = 0
  /// The same behind too many others: they were told to wait.
  public var slowed: UInt64 = 0
}
