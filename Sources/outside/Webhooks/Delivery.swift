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
    /// Says which events will not come.
    case lost
  }

  /// Names it for the receiver, who may get it more than once.
  public var id: String
  /// Its place among the events of its endpoint; nil for what is not numbered.
  public var number: Int64?
  /// Deliveries of one lane arrive in order.
  public var lane: String
  /// What it is in its lane.
  public var part: Part
  /// JSON.
  public var body: [UInt8]
  /// It is not sent after this, in milliseconds since 1970.
  public var expiresAt: Int64

  /// A message.
  public init(id: String, number: Int64? = nil, lane: String, part: Part = .plain, body: [UInt8], expiresAt: Int64) {
    (self.id, self.number, self.lane) = (id, number, lane)
    (self.part, self.body, self.expiresAt) = (part, body, expiresAt)
  }

  /// Whether the record file has it until it is settled, and can hand it over again.
  var isOnDisk: Bool { number != nil || part == .lost }
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

  /// Whether it failed in a way that is likely to pass in a moment, while somebody waits for an answer.
  public var mayPass: Bool {
    switch self {
    case .answered(408, _), .answered(425, _), .answered(429, _), .answered(500...599, _), .failed: true
    case .answered: false
    }
  }

  /// Whether the server took it.
  public var isSuccess: Bool {
    if case .answered(200...299, _) = self { true } else { false }
  }

  /// Whether the server is there and does not want this one, as it says: 4xx, but not that it has no time (408, 425, 429).
  var isRefusal: Bool {
    switch self {
    case .answered(408, _), .answered(425, _), .answered(429, _): false
    case .answered(400...499, _): true
    case .answered, .failed: false
    }
  }

  var mayHaveArrived: Bool {
    switch self {
    case .answered: true
    case .failed(_, let mayHaveArrived): mayHaveArrived
    }
  }

  enum Verdict { case delivered, again, never }

  /// What it says of a delivery, which has hours. 2xx is success. A redirect and 404 are what a server says that is being moved or begun again.
  func verdict(_ answers: DeliveryLimits.Answers) -> Verdict {
    switch (self, answers) {
    case (.answered(200...299, _), _): .delivered
    case (.answered(410, _), _): .never
    case (.answered(300...399, _), _), (.answered(404, _), _): .again
    case _ where mayPass: .again
    case (_, .everyRefusal): .never
    case (_, .goneAlone): .again
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

/// A lane whose first message was not taken and is on disk: it waits there for the next attempt, with all that is behind it.
public struct ReturnedLane: Hashable, Sendable {
  /// Which.
  public var lane: ExactText
  /// How often its first message was sent.
  public var attempts: Int
  /// When it is to be sent again.
  public var due: Instant
  /// Whether the server said that it does not want this one, which says nothing of others.
  public var isRefused: Bool

  /// This one.
  public init(lane: ExactText, attempts: Int, due: Instant, isRefused: Bool = false) {
    (self.lane, self.attempts, self.due, self.isRefused) = (lane, attempts, due, isRefused)
  }
}
