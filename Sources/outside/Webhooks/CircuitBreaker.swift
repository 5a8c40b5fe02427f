// Leaves a web server alone that fails again and again, and looks now and then whether it is back.
//
//   closed ── so many failures in a row ──▶ open ── a while ──▶ one probe ── success ──▶ closed
//                                            ▲                     │
//                                            └── twice as long ────┘ failure
//
// What a question contains is its asker's to choose, and so is whether the server fails on it. So no asker opens it alone, and whoever was
// asked about in vain is not the next probe where there is another.

import Basics

/// Who asks, as far as shares and failures go.
public enum QuestionAsker: Hashable, Sendable {
  /// A user, where it is proved that they are this one.
  case user(String)
  /// All from one network, where names cost nothing.
  case network(PeerNetwork)
}

/// What a failure says.
public enum QuestionFailure: Hashable, Sendable {
  /// The server was not reached, whatever was asked.
  case unreachable
  /// The server gave no good answer; that may be for what was asked.
  case unanswered
  /// The server does not like what was asked. It lives.
  case disliked
}

/// Whether a web server is asked at all. Pure.
public struct CircuitBreaker: Hashable, Sendable {
  /// Failures in a row that open it. Fewer take a hiccup for the end; more keep so many people waiting.
  public static let failures = 5
  /// Of so many askers at least, where the server was reached. Fewer let somebody open it for all who make the server fail.
  public static let askers = 3
  /// How long it is open at first.
  public static let firstBreak = TimeDelta.seconds(2)
  /// How long it is open at most.
  public static let longestBreak = TimeDelta.seconds(60)
  /// How much longer than others an asker has to wait for being the probe whom the server has failed before; never longer than a break.
  public static let precedence = TimeDelta.seconds(5)
  /// As many such askers are remembered.
  private static let mostSuspects = 64

  /// Whether something may be asked.
  public enum Verdict: Hashable, Sendable {
    /// As always.
    case yes
    /// To find out whether the server is back; the number of the probe.
    case probe(Int)
    case no
  }

  private enum State: Hashable, Sendable {
    /// `others`: of the failures, those that are nobody's.
    case closed(failures: Int, others: Int)
    case open(until: Instant, TimeDelta)
    case probing(Int, TimeDelta)
  }

  private var state = State.closed(failures: 0, others: 0)
  /// Whose questions failed since the last success.
  private var suspects: Set<QuestionAsker> = []
  private var probes = 0

  /// Closed.
  public init() {}

  /// Whether the server is taken for one that is down.
  public var isOpen: Bool { if case .closed = state { false } else { true } }

  /// How long until it may be asked again, by one who was not asked about in vain; while a probe is on its way that is a guess.
  public func left(at now: Instant) -> TimeDelta {
    switch state {
    case .closed: .zero
    case .open(let until, _): max(until - now, .zero)
    case .probing: Self.firstBreak
    }
  }

  /// Whether it may be asked now. Whoever gets `probe` has to say what has come of it.
  public mutating func verdict(for asker: QuestionAsker, at now: Instant) -> Verdict {
    switch state {
    case .closed: return .yes
    case .probing: return .no
    case .open(let until, let length):
      let more = suspects.contains(asker) ? min(length, Self.precedence) : .zero
      guard until + more <= now else { return .no }
      probes &+= 1
      state = .probing(probes, length)
      return .probe(probes)
    }
  }

  /// Something was answered. Whether that closes it.
  public mutating func succeeded() -> Bool {
    defer { (state, suspects) = (.closed(failures: 0, others: 0), []) }
    return isOpen
  }

  /// A probe was never sent: the next question is one.
  public mutating func giveBack(_ probe: Int?, at now: Instant) {
    if case .probing(probe, let length) = state { state = .open(until: now, length) }
  }

  /// Something was not answered. For how long it is open from now on; nil where it is not this that has opened it. What was asked before it
  /// opened says nothing new.
  public mutating func failed(
    _ failure: QuestionFailure, of asker: QuestionAsker, probe: Int?, at now: Instant
  ) -> TimeDelta? {
    if failure == .disliked {
      // It lives. Whether it is well others find out; nobody is kept waiting by one that answers.
      if case .probing(probe, _) = state { _ = succeeded() }
      return nil
    }
    if failure == .unanswered, suspects.count < Self.mostSuspects { suspects.insert(asker) }
    let length: TimeDelta
    switch state {
    case .closed(var failures, var others):
      failures = min(failures + 1, Self.failures)
      others = min(others + (failure == .unreachable ? 1 : 0), Self.failures)
      guard failures == Self.failures, others + suspects.count >= Self.askers else {
        state = .closed(failures: failures, others: others)
        return nil
      }
      length = Self.firstBreak
    case .probing(probe, let before): length = min(before * 2, Self.longestBreak)
    case .probing, .open: return nil
    }
    state = .open(until: now + length, length)
    return length
  }
}
