// How a session behaves when the network does not.

/// Settings of a session; the defaults suit an app.
public struct SessionOptions: Sendable {
  /// How long a request waits for its reply.
  public var requestTimeout: Duration = .seconds(10)
  /// How often `ping` is sent when nothing else is, but not more often than the server pings while one only waits; an unanswered one counts as a lost connection. nil: never, the
  /// transport's own pings must do.
  public var keepAlive: Duration? = .seconds(20)
  /// Whether and how to come back after a lost connection.
  public var reconnect: ReconnectPolicy? = ReconnectPolicy()
  /// Whether to begin a new session, with the same `session.hello`, when the old one cannot be resumed.
  public var helloAgain = true
  /// Gets the next token when the session's is over in a minute (event `sessionExpiring`), and one for each new session whose hello has
  /// none. nil: the app hears the event, and calls `renew(token:)`.
  public var token: TokenSource?
  /// A source that failed is asked again after so long. The server takes a token for a minute after its end.
  var tokenPause: Duration = .seconds(5)
  /// Events that may wait for each reader of `events()`; beyond that the oldest are dropped.
  public var eventBuffer = 4096
  /// Makes the connections.
  public var transport: TransportFactory = defaultTransport

  /// The defaults.
  public init() {}
}

/// How to come back: each attempt waits twice as long as the one before, with some chance in it so that a thousand clients
/// do not come back in the same moment.
public struct ReconnectPolicy: Sendable, Hashable {
  /// The wait before the second attempt; the first is made at once.
  public var firstDelay: Duration
  /// The longest wait.
  public var longestDelay: Duration
  /// Attempts in a row before the session is given up.
  public var attempts: Int

  /// Attempts at once, then after 0.25 s, 0.5 s … 8 s.
  public init(firstDelay: Duration = .milliseconds(250), longestDelay: Duration = .seconds(8), attempts: Int = 30) {
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.attempts = attempts
  }

  /// The wait before attempt `n`, counted from 0. `chance` is from 0 to 1.
  func delay(before attempt: Int, chance: Double) -> Duration {
    guard attempt > 0 else { return .zero }
    let doubled = firstDelay * (1 << min(attempt - 1, 20))
    return min(doubled, longestDelay) * (0.5 + chance / 2)
  }
}
