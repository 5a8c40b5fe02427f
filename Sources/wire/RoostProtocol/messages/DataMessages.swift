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
