// Leaves a web server alone that fails again and again, and looks now and then whether it is back.
//
//   closed ── so many failures in a row ──▶ open ── a while ──▶ one probe ── success ──▶ closed
//                                            ▲                     │
//                                            └── twice as long ────┘ failure

import Basics

/// Whether a web server is asked at all. Pure.
public struct CircuitBreaker: Hashable, Sendable {
  /// Failures in a row that open it. Fewer take a hiccup for the end; more keep so many people waiting.
  public static let failures = 5
  /// How long it is open at first.
  public static let firstBreak = TimeDelta.seconds(2)
  /// How long it is open at most.
  public static let longestBreak = TimeDelta.seconds(60)

  /// Whether something may be asked.
  public enum Verdict: Hashable, Sendable {
    /// As always.
    case yes
    /// To find out whether the server is back.
    case probe
    case no
  }

  private enum State: Hashable, Sendable {
    case closed(failures: Int)
    case open(until: Instant, TimeDelta)
    case probing(TimeDelta)
  }

  private var state = State.closed(failures: 0)

  /// Closed.
  public init() {}

  /// Whether the server is taken for one that is down.
  public var isOpen: Bool { if case .closed = state { false } else { true } }

  /// Whether it may be asked now. Whoever gets `probe` has to say what has come of it.
  public mutating func verdict(at now: Instant) -> Verdict {
    switch state {
    case .closed: return .yes
    case .probing: return .no
    case .open(let until, let length):
      guard until <= now else { return .no }
      state = .probing(length)
      return .probe
    }
  }

  /// Something was answered. Whether that closes it.
  public mutating func succeeded() -> Bool {
    defer { state = .closed(failures: 0) }
    return isOpen
  }

  /// Something was not answered. For how long it is open from now on; nil where it is not this that has opened it. What was asked before it
  /// opened says nothing new.
  public mutating func failed(wasProbe: Bool, at now: Instant) -> TimeDelta? {
    let length: TimeDelta
    switch state {
    case .closed(let failures) where failures + 1 < Self.failures:
      state = .closed(failures: failures + 1)
      return nil
    case .closed: length = Self.firstBreak
    case .probing(let before) where wasProbe: length = min(before * 2, Self.longestBreak)
    case .probing, .open: return nil
    }
    state = .open(until: now + length, length)
    return length
  }
}
