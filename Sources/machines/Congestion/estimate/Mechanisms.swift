// The parts of the estimator that can be switched off. A server leaves all of them on.

/// Which mechanisms work. `make networks` switches one off in each control run, which must then miss its bar.
public struct Mechanisms: OptionSet, Sendable {
  /// One bit for each mechanism.
  public let rawValue: UInt32
  /// The mechanisms with these bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Backing off when the one-way delay grows.
  public static let delay = Mechanisms(rawValue: 1 << 0)
  /// The overuse threshold follows what is usual on the line.
  public static let adaptiveThreshold = Mechanisms(rawValue: 1 << 1)
  /// Small steps near the known capacity of the line.
  public static let additive = Mechanisms(rawValue: 1 << 2)
  /// The target outlives a pause. Without it the target fades while little is sent, as a TCP window would (RFC 7661).
  public static let memory = Mechanisms(rawValue: 1 << 3)
  /// A return to the known capacity as soon as the queue has drained.
  public static let resume = Mechanisms(rawValue: 1 << 4)
  /// Loss that is there at any rate is told from loss by congestion.
  public static let inherentLoss = Mechanisms(rawValue: 1 << 5)
  /// Sending faster for some milliseconds, to find out what the line carries.
  public static let probing = Mechanisms(rawValue: 1 << 6)
  /// Nothing is concluded from little being sent.
  public static let applicationLimit = Mechanisms(rawValue: 1 << 7)
  /// Halving when feedback stays away or takes seconds.
  public static let feedbackWatch = Mechanisms(rawValue: 1 << 8)
  /// Numbers are unwrapped, and feedback that is minutes late is passed over.
  public static let feedbackGuard = Mechanisms(rawValue: 1 << 9)
  /// Loss is taken from transport-wide feedback, and not from receiver reports, which count what was lost before the server.
  public static let lossFromFeedback = Mechanisms(rawValue: 1 << 10)

  /// Holding its own beside flows that fill the queue.
  public static let competition = Mechanisms(rawValue: 1 << 11)
  /// After a step up of a layer that failed, the next one waits.
  public static let stepBackOff = Mechanisms(rawValue: 1 << 12)
  /// Where not all videos can be sent, those of one priority take turns.
  public static let turns = Mechanisms(rawValue: 1 << 13)

  /// All of them.
  public static let all = Mechanisms(rawValue: (1 << 14) - 1)

  /// Each by itself, with its name.
  public static let named: [(String, Mechanisms)] = [
    ("delay", .delay), ("adaptiveThreshold", .adaptiveThreshold), ("additive", .additive), ("memory", .memory),
    ("resume", .resume), ("inherentLoss", .inherentLoss), ("probing", .probing),
    ("applicationLimit", .applicationLimit),
    ("feedbackWatch", .feedbackWatch), ("feedbackGuard", .feedbackGuard), ("lossFromFeedback", .lossFromFeedback),
    ("competition", .competition), ("stepBackOff", .stepBackOff),
    ("turns", .turns),
  ]
}
