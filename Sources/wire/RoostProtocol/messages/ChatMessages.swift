// Params and results of `chat.*`.

/// Params of `chat.send`.
public struct ChatSendParams: Codable, Hashable, Sendable {
  /// The room one is in.
  public var room: String  // name
  /// The text: 1 byte to 8 KiB.
  public var text: String  // text, at most textBytes
  /// Users it is for; all when absent or empty.
  public var to: [String]?  // names, none to users
  /// The client's own name for it: sent twice, it is delivered once.
  public var clientMsgId: String?  // name

  /// All fields, in the order of the protocol.
  public init(room: String, text: String, to: [String]? = nil, clientMsgId: String? = nil) {
    self.room = room
    self.text = text
    self.to = to
    self.clientMsgId = clientMsgId
  }
}

/// Result of `chat.send`.
public struct ChatSendResult: Codable, Hashable, Sendable {
  /// Names the message.
  public var msgId: String
  /// When the server took it, milliseconds since 1970.
  public var ts: Int64
  /// How many others it went to at once.
  public var delivered: Int
  /// Whether it is on disk.
  public var stored: Bool

  /// All fields, in the order of the protocol.
  public init(msgId: String, ts: Int64, delivered: Int, stored: Bool) {
    self.msgId = msgId
    self.ts = ts
    self.delivered = delivered
    self.stored = stored
  }
}

/// Params of `chat.history`.
public struct ChatHistoryParams: Codable, Hashable, Sendable {
  /// The room one is in.
  public var room: String  // name
  /// A `msgId`: only what is older.
  public var before: String?  // id
  /// How many at most, 1 to 100; 50 when absent.
  public var limit: Int?  // 1...page

  /// All fields, in the order of the protocol.
  public init(room: String, before: String? = nil, limit: Int? = nil) {
    self.room = room
    self.before = before
    self.limit = limit
  }
}

/// Result of `chat.history`.
public struct ChatHistoryResult: Codable, Hashable, Sendable {
  /// Messages that one may see, oldest first.
  public var messages: [Message]

  /// All fields, in the order of the protocol.
  public init(messages: [Message]) {
    self.messages = messages
  }
}
