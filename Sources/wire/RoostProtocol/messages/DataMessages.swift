// What applications tell each other in a room or call, and the server only hands on: `message.*`.

/// Params of `message.send`: a room, or a call.
public struct MessageSendParams: Codable, Hashable, Sendable {
  /// The room one is in; this or `callId`.
  public var room: String?  // name
  /// The call one is in; this or `room`.
  public var callId: String?  // id
  /// Users it is for; all others when absent or empty.
  public var to: [String]?  // names, none to users
  /// What it is about: a word of the application's, 1 to 64 bytes. `dtmf` is that of tones.
  public var topic: String  // shown name, at most topicBytes
  /// Any JSON of at most 8 KiB but `null`, handed on byte for byte.
  public var data: RawJSON  // shown opaque, at most dataBytes

  /// All fields, in the order of the protocol.
  public init(room: String? = nil, callId: String? = nil, to: [String]? = nil, topic: String, data: RawJSON) {
    self.room = room
    self.callId = callId
    self.to = to
    self.topic = topic
    self.data = data
  }
}

/// Result of `message.send`.
public struct MessageSendResult: Codable, Hashable, Sendable {
  /// How many others it went to at once.
  public var delivered: Int

  /// All fields, in the order of the protocol.
  public init(delivered: Int) { self.delivered = delivered }
}

/// Payload of `message.received`.
public struct MessageReceived: Codable, Hashable, Sendable {
  /// The room it was sent in; absent in a call.
  public var room: String?
  /// The call it was sent in; absent in a room.
  public var callId: String?
  /// The user who sent it, as the server knows them; empty where the application did, by the server's API.
  public var from: String
  /// What the sender is called.
  public var displayName: String?
  /// What it is about.
  public var topic: String
  /// What was sent, byte for byte.
  public var data: RawJSON

  /// All fields, in the order of the protocol.
  public init(
    room: String? = nil, callId: String? = nil, from: String, displayName: String? = nil, topic: String, data: RawJSON
  ) {
    self.room = room
    self.callId = callId
    self.from = from
    self.displayName = displayName
    self.topic = topic
    self.data = data
  }
}

/// Params of `message.request`: a room, or a call.
public struct MessageRequestParams: Codable, Hashable, Sendable {
  /// The room one is in; this or `callId`.
  public var room: String?  // name
  /// The call one is in; this or `room`.
  public var callId: String?  // id
  /// The user who is asked.
  public var to: String  // name
  /// What it is about: a word of the application's, 1 to 64 bytes.
  public var topic: String  // shown name, at most topicBytes
  /// Any JSON of at most 8 KiB but `null`, handed on byte for byte.
  public var data: RawJSON  // shown opaque, at most dataBytes
  /// How long the answer may take, in milliseconds, 1,000 to 60,000; 10,000 when absent.
  public var timeoutMs: Int?  // 1000...answerMilliseconds

  /// All fields, in the order of the protocol.
  public init(
    room: String? = nil, callId: String? = nil, to: String, topic: String, data: RawJSON, timeoutMs: Int? = nil
  ) {
    self.room = room
    self.callId = callId
    self.to = to
    self.topic = topic
    self.data = data
    self.timeoutMs = timeoutMs
  }
}

/// Result of `message.request`, when the answer is there.
public struct MessageAnswered: Codable, Hashable, Sendable {
  /// The user who has answered.
  public var from: String
  /// The answer, byte for byte.
  public var data: RawJSON

  /// All fields, in the order of the protocol.
  public init(from: String, data: RawJSON) {
    self.from = from
    self.data = data
  }
}

/// Params of `message.answer`.
public struct MessageAnswerParams: Codable, Hashable, Sendable {
  /// What is answered, as `message.requested` says.
  public var requestId: String  // id
  /// Any JSON of at most 8 KiB but `null`, handed on byte for byte.
  public var data: RawJSON  // shown opaque, at most dataBytes

  /// All fields, in the order of the protocol.
  public init(requestId: String, data: RawJSON) {
    self.requestId = requestId
    self.data = data
  }
}

/// Payload of `message.requested`.
public struct MessageRequested: Codable, Hashable, Sendable {
  /// What `message.answer` names.
  public var requestId: String
  /// The room it was sent in; absent in a call.
  public var room: String?
  /// The call it was sent in; absent in a room.
  public var callId: String?
  /// The user who asks, as the server knows them.
  public var from: String
  /// What they are called.
  public var displayName: String?
  /// What it is about.
  public var topic: String
  /// What was sent, byte for byte.
  public var data: RawJSON
  /// Until when an answer is taken, milliseconds since 1970.
  public var expiresAt: Int64
  /// How long that is from now, in milliseconds.
  public var remainingMs: Int64

  /// All fields, in the order of the protocol.
  public init(
    requestId: String, room: String? = nil, callId: String? = nil, from: String, displayName: String? = nil,
    topic: String, data: RawJSON, expiresAt: Int64, remainingMs: Int64
  ) {
    self.requestId = requestId
    self.room = room
    self.callId = callId
    self.from = from
    self.displayName = displayName
    self.topic = topic
    self.data = data
    self.expiresAt = expiresAt
    self.remainingMs = remainingMs
  }
}
