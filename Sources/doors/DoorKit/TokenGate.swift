// When a token is looked at: one gate for all doors. A signature costs a tenth of a millisecond of the thread that all requests share, so
// each network has so many looks, and what is more waits for its turn (`FairTurns`).
import Basics
import Logging
import Members
import RoostProtocol
import Threads

/// Believes whom a verifier believes, so many times a second for each network. Nothing of a token is looked at before its turn.
///
///     let gate = TokenGate(TokenAccess(keys, wallClock: …), log: log)
///     gate.attach { time, body in sender.run(at: time, body) }
///     gate.verify(hello, from: peer, rank: tries.rank) { result in … }
public final class TokenGate: Sendable {
  /// Has a closure called at a time; false where it will not be.
  public typealias Timer = @Sendable (Instant, @escaping @Sendable () -> Void) -> Bool

  /// Tokens of one network that are looked at in the long run, unless something else is configured. Raise it, and strangers can take more of
  /// the thread.
  static let perSecond = 50.0
  /// The same at once after a pause, by those in a second: so many people behind one address may come back together.
  static let burstSeconds = 10
  static let burst = Int(perSecond) * burstSeconds
  /// Tokens of all networks that are looked at in the long run.
  static let allPerSecond = 4_000.0
  /// The same in one go. Others are not served in that time.
  static let allBurst = 16
  /// Milliseconds that a token waits for its turn before its client is told to come again.
  static let patience = 2_000
  /// Tokens of one network that wait.
  static let mostOfNetwork = 1_000
  /// Tokens that wait of all.
  static let mostWaiting = 4_000

  /// What the doors of a server have.
  public static let limits = limits(perSecond: Int(perSecond))

  /// The same with so many tokens of a network in a second; 0: as many as come.
  public static func limits(perSecond: Int) -> TurnLimits {
    let isBounded = perSecond > 0
    let most = 1_000_000_000
    return TurnLimits(
      perSecond: isBounded ? Double(perSecond) : Double(most), burst: isBounded ? perSecond * burstSeconds : most,
      allPerSecond: isBounded ? allPerSecond : Double(most), allBurst: isBounded ? allBurst : most,
      patience: .milliseconds(patience), mostOfNetwork: mostOfNetwork, most: mostWaiting)
  }

  private struct Asking: Sendable {
    let peer: SocketAddress?
    let look: @Sendable () -> Void
    let sendAway: @Sendable (UnprovenIdentity) -> Void
  }

  private struct State {
    var turns: FairTurns<Asking>
    /// When it is looked what is due; `.distantFuture` where nobody will.
    var due = Instant.distantFuture
    var timer: Timer?
    var statistics = TokenStatistics()
    /// Networks of which a line was written that they wait.
    var told = NetworkBuckets(burst: 1, perSecond: 1.0 / 60)
  }

  private let verifier: any IdentityVerifier
  private let log: Logger
  private let clock: @Sendable () -> Instant
  private let state: Locked<State>

  /// A gate in front of `verifier`.
  /// - Parameters:
  ///   - clock: the monotonic clock that turns are measured with.
  ///   - limits: how many turns there are.
  public init(
    _ verifier: any IdentityVerifier, log: Logger = .disabled,
    clock: @escaping @Sendable () -> Instant = MonotonicClock.now, limits: TurnLimits = limits
  ) {
    (self.verifier, self.log, self.clock) = (verifier, log, clock)
    state = Locked(State(turns: FairTurns(limits: limits, now: clock())))
  }

  /// From now on `timer` calls for what waits, on the thread of a web server. Without one nothing that waits has its turn.
  public func attach(_ timer: @escaping Timer) { state.withLock { $0.timer = timer } }

  /// Tries since the start.
  public var statistics: TokenStatistics { state.withLock { $0.statistics } }

  /// Finds out whose hello it is, and from which network: at once, or when its turn comes.
  /// - Parameters:
  ///   - rank: of the connection that it came by.
  ///   - then: called once, on this thread or later on the timer's; not after `withdraw`. Fails with 1004 for a token that is not accepted,
  ///     with 1006 for one that was not looked at.
  /// - Returns: what to `withdraw` when the connection is gone; nil where it was answered at once.
  @discardableResult
  public func verify(
    _ hello: HelloParams, from peer: SocketAddress?, rank: TurnRank,
    then: @escaping @Sendable (Result<Identity, UnprovenIdentity>) -> Void
  ) -> TurnTicket? {
    ask(costs: hello.token != nil, peer, rank, then) { verifier throws(UnprovenIdentity) in
      var identity = try verifier.verify(hello, from: peer)
      (identity.network, identity.hasAddress) = (PeerNetwork(peer), peer != nil)
      return identity
    }
  }

  /// Finds out whose a further token is; nil where none is asked for. Otherwise as `verify`.
  @discardableResult
  public func renew(
    _ token: String, from peer: SocketAddress?, rank: TurnRank,
    then: @escaping @Sendable (Result<Identity?, UnprovenIdentity>) -> Void
  ) -> TurnTicket? {
    ask(costs: true, peer, rank, then) { verifier throws(UnprovenIdentity) in
      var identity = try verifier.renew(token, from: peer)
      identity?.network = PeerNetwork(peer)
      return identity
    }
  }

  /// Whoever waited is gone.
  public func withdraw(_ ticket: TurnTicket?) {
    guard let ticket else { return }
    state.withLock { $0.turns.withdraw(ticket) }
  }

  /// To be called now and then: a timer that took nothing for a while is asked again.
  public func lookAgain() { arm(at: clock()) }

  private func ask<Proof: Sendable>(
    costs: Bool, _ peer: SocketAddress?, _ rank: TurnRank,
    _ then: @escaping @Sendable (Result<Proof, UnprovenIdentity>) -> Void,
    _ look: @escaping @Sendable (any IdentityVerifier) throws(UnprovenIdentity) -> Proof
  ) -> TurnTicket? {
    guard costs, verifier.looksAtTokens else {
      then(looked(look))
      return nil
    }
    let now = clock()
    let verdict = state.withLock { state in
      state.turns.ask(
        Asking(
          peer: peer, look: { [weak self] in if let self { then(looked(look)) } }, sendAway: { then(.failure($0)) }),
        of: PeerNetwork(peer), rank: rank, at: now)
    }
    switch verdict {
    case .now: then(looked(look))
    case .notNow(let wait): then(.failure(sentAway(peer, wait, at: now)))
    case .waits(let ticket):
      arm(at: now)
      return ticket
    }
    return nil
  }

  private func looked<Proof>(
    _ look: (any IdentityVerifier) throws(UnprovenIdentity) -> Proof
  ) -> Result<Proof, UnprovenIdentity> {
    do throws(UnprovenIdentity) {
      return .success(try look(verifier))
    } catch {
      if error.isGuess { state.withLock { $0.statistics.failed += 1 } }
      return .failure(error)
    }
  }

  /// A token is not looked at.
  private func sentAway(_ peer: SocketAddress?, _ wait: Int64, at now: Instant) -> UnprovenIdentity {
    let isNews = state.withLock { state in
      state.statistics.slowed += 1
      return state.told.take(PeerNetwork(peer), at: now) == nil
    }
    if isNews { log.warning("tokens_slowed", ["peer": LogValue(peer?.description ?? "")]) }
    return .notNow(wait: wait)
  }

  // MARK: What waits

  /// Has the timer call when something is due, unless it will sooner.
  private func arm(at now: Instant) {
    let wish = state.withLock { state -> (Timer, Instant)? in
      let next = state.turns.nextTurn(after: now)
      guard next < state.due, let timer = state.timer else { return nil }
      state.due = next
      return (timer, next)
    }
    guard let (timer, next) = wish else { return }
    if !timer(next, { [weak self] in self?.turn(due: next) }) { state.withLock { $0.due = .distantFuture } }
  }

  /// Serves what is due, unless something sooner was waited for since: then that has served it, and goes on.
  private func turn(due: Instant) {
    let isNext = state.withLock { state in
      guard state.due == due else { return false }
      state.due = .distantFuture
      return true
    }
    guard isNext else { return }
    let now = clock()
    while let (asking, outcome) = state.withLock({ $0.turns.next(at: now) }) {
      switch outcome {
      case .turn: asking.look()
      case .tooLate(let wait): asking.sendAway(sentAway(asking.peer, wait, at: now))
      }
    }
    arm(at: clock())
  }
}

/// Tries at tokens that failed.
public struct TokenStatistics: Sendable, Equatable {
  /// Tokens that were not accepted, or that were missing. Those that were good once are not among them.
  public var failed: UInt64 = 0
  /// Tokens that nobody looked at, since too many came from there: they were told to come again.
  public var slowed: UInt64 = 0
}
