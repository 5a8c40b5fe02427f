// One message for a web server outside, and what can become of it.

import Basics

/// One message for a web server outside.
public struct Delivery: Hashable, Sendable {
  /// What it is to those before and behind it in its lane.
  public enum Part: String, Hashable, Sendable {
    /// Wakes somebody; worthless once a `cancel` follows.
    case ring
    /// Takes a ring back; worthless when the ring cannot have arrived.
    case cancel
    /// Stands for itself.
    case plain
  }

  /// Names it for the receiver, who may get it more than once.
  public var id: String
  /// Deliveries of one lane arrive in order.
  public var lane: String
  /// What it is in its lane.
  public var part: Part
  /// JSON.
  public var body: [UInt8]
  /// It is not sent after this, in milliseconds since 1970.
  public var expiresAt: Int64

  /// A message.
  public init(id: String, lane: String, part: Part = .plain, body: [UInt8], expiresAt: Int64) {
    (self.id, self.lane, self.part, self.body, self.expiresAt) = (id, lane, part, body, expiresAt)
  }
}

/// What came of one attempt.
public enum HTTPOutcome: Hashable, Sendable {
  /// The server answered with this status; it may say when to come again.
  case answered(status: Int, retryAfter: TimeDelta?)
  /// There was no answer. `mayHaveArrived`: it is not certain that the server got nothing.
  case failed(String, mayHaveArrived: Bool)

  /// In words, for the log.
  public var words: String {
    switch self {
    case .answered(let status, _): "HTTP \(status)"
    case .failed(let reason, _): reason
    }
  }

  /// Whether the server took it.
  public var isSuccess: Bool { verdict == .delivered }

  var mayHaveArrived: Bool {
    switch self {
    case .answered: true
    case .failed(_, let mayHaveArrived): mayHaveArrived
    }
  }

  enum Verdict { case delivered, again, never }

  /// 2xx is success. What is likely to pass is tried again; a refusal (any other status, redirects included) is not.
  var verdict: Verdict {
    switch self {
    case .answered(200...299, _): .delivered
    case .answered(408, _), .answered(425, _), .answered(429, _), .answered(500...599, _), .failed: .again
    case .answered: .never
    }
  }
}

/// A delivery that is over, one way or another.
public struct SettledDelivery: Hashable, Sendable {
  /// How it ended.
  public enum End: Hashable, Sendable {
    /// The server took it.
    case delivered
    /// It was not needed any more: a ring that is over, or the cancel of a ring that never went out.
    case pointless
    /// It was not taken in time.
    case expired(last: HTTPOutcome?)
    /// The server refused it.
    case refused(HTTPOutcome)
  }

  /// The message.
  public var delivery: Delivery
  /// How it ended.
  public var end: End
  /// How often it was sent.
  public var attempts: Int
}
