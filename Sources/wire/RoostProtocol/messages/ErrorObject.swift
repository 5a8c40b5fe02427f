// The error object of a JSON-RPC response (JSON-RPC 2.0, section 5.1) with the data that Roost adds.

/// A refusal as the client sees it. It can be thrown.
public struct ErrorObject: Error, Hashable, Sendable {
  /// What kind of refusal it is.
  public var code: ErrorCode
  /// A sentence for people.
  public var message: String
  /// What a program may want to know.
  public var data: ErrorData

  /// A refusal with its usual sentence unless `message` says more.
  public init(_ code: ErrorCode, _ message: String? = nil, _ fill: (inout ErrorData) -> Void = { _ in }) {
    self.code = code
    self.message = message ?? code.message
    data = ErrorData(name: code.name, retryable: code.isRetryable)
    fill(&data)
  }

  /// 5002: there are as many `rooms`, or `calls`, as the server may have.
  public static func full(of what: String, limit: Int) -> ErrorObject {
    ErrorObject(.overloaded) { ($0.reason, $0.limit) = (what, limit) }
  }

  /// A refusal because a number is reached: `data {limit, count}`.
  public static func limit(_ code: ErrorCode, limit: Int, count: Int? = nil) -> ErrorObject {
    ErrorObject(code) {
      $0.limit = limit
      $0.count = count
    }
  }

  /// A refusal for now (1006): `data {retryAfterMs}`. `what` one is doing.
  public static func tooOften(_ what: String, _ milliseconds: Int64) -> ErrorObject {
    ErrorObject(.rateLimited, "You are \(what) too often; wait a moment.") { $0.retryAfterMs = milliseconds }
  }

  /// A parameter that is not as it must be (−32602): `data {field, expected}`.
  public static func parameter(_ field: String, expected: String) -> ErrorObject {
    ErrorObject(.invalidParams, "\(field): expected \(expected).") {
      $0.field = field
      $0.expected = expected
    }
  }

  /// A parameter beyond its bound (1010): `data {field, limit, count}`, both in bytes or elements.
  public static func tooLarge(_ field: String, limit: Int, count: Int) -> ErrorObject {
    ErrorObject(.tooLarge, "\(field): \(count) is more than \(limit).") {
      $0.field = field
      $0.limit = limit
      $0.count = count
    }
  }
}

/// `data` of an error object. What does not belong to an error is absent.
public struct ErrorData: Codable, Hashable, Sendable {
  /// The code's name.
  public var name: String
  /// Whether the same request may succeed later with nobody doing anything; with 4006 once there is another media
  /// connection.
  public var retryable: Bool
  /// How long to wait before that.
  public var retryAfterMs: Int64?
  /// The step of media setup at fault.
  public var step: MediaStep?
  /// The parameter at fault, such as `tracks[0].mid`.
  public var field: String?
  /// What belongs there.
  public var expected: String?
  /// The media line at fault, where one is.
  public var mid: String?
  /// The bound that was reached.
  public var limit: Int?
  /// How many there are.
  public var count: Int?
  /// How many have a seat in a call.
  public var joined: Int?
  /// For how many a seat is held in a call.
  public var ringing: Int?
  /// Tells causes of one code apart: `device_in_use`, `resume_token`, `publishers`, `moderate`, `moderator`, `self`,
  /// `address`, `held`, `chat_disabled`, `denied`, `id_taken`, `reply_gone`, `caller`, `callee`, `pair`; for calls what
  /// has become of them; with 1011 the application's own word.
  public var reason: String?
  /// Who ended or answered a call.
  public var by: String?
  /// When a call ended, milliseconds since 1970.
  public var endedAt: Int64?
  /// When a ban ends, milliseconds since 1970.
  public var until: Int64?

  /// The two fields that every error has.
  public init(name: String, retryable: Bool) {
    self.name = name
    self.retryable = retryable
  }
}

extension ErrorObject: Codable {
  private enum Key: String, CodingKey { case code, message, data }

  /// A code that this version does not know becomes `internalError`; `data.name` still tells.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    code = ErrorCode(rawValue: try container.decode(Int.self, forKey: .code)) ?? .internalError
    message = try container.decode(String.self, forKey: .message)
    data =
      try container.decodeIfPresent(ErrorData.self, forKey: .data)
      ?? ErrorData(name: code.name, retryable: code.isRetryable)
  }

  /// `{code, message, data}`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(code.rawValue, forKey: .code)
    try container.encode(message, forKey: .message)
    try container.encode(data, forKey: .data)
  }
}
