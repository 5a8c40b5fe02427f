// Chat: to all or to some of a room, in one order for everybody, with as much history as the room keeps.

import RoostProtocol

/// What was said in a room.
struct ChatLog: Sendable {
  /// Messages that were sent with a name by their client, whose results are remembered.
  static let remembered = 512

  private struct Sender: Hashable {
    var user: String
    var clientMsgId: String
  }

  private let capacity: Int
  private var messages: [(number: UInt64, message: Message)] = []
  private var results: [Sender: ChatSendResult] = [:]
  private var order: [Sender] = []
  private var oldest = 0

  /// A log that keeps `capacity` messages.
  init(capacity: Int) { self.capacity = capacity }

  /// The name of a message on the wire.
  static func name(_ number: UInt64) -> String { "m\(number)" }

  /// Keeps a message in place of the oldest.
  mutating func append(_ message: Message, number: UInt64) {
    guard capacity > 0 else { return }
    messages.append((number, message))
    if messages.count > capacity { messages.removeFirst() }
  }

  /// The result of a message that this user has sent under this name before.
  func result(user: String, clientMsgId: String?) -> ChatSendResult? {
    clientMsgId.flatMap { results[Sender(user: user, clientMsgId: $0)] }
  }

  /// Remembers a result.
  mutating func remember(_ result: ChatSendResult, user: String, clientMsgId: String?) {
    guard let clientMsgId else { return }
    let sender = Sender(user: user, clientMsgId: clientMsgId)
    results[sender] = result
    if order.count < Self.remembered {
      order.append(sender)
    } else {
      results[order[oldest]] = nil
      order[oldest] = sender
      oldest = (oldest + 1) % Self.remembered
    }
  }

  /// The last messages that a user may see, oldest first; with `before` only older ones.
  func messages(visibleTo user: String, before: UInt64 = .max, limit: Int = .max) -> [Message] {
    let visible = messages.lazy.filter { entry in
      guard entry.number < before else { return false }
      guard let to = entry.message.to else { return true }
      return entry.message.from == user || to.contains(user)
    }
    return visible.map(\.message).suffix(limit)
  }
}

extension ConferenceCore {
  /// Bytes that a message may have.
  var chatBytes: Int { min(rules.chatBytes, ProtocolLimits.textBytes) }

  /// Sends a message to those in the room whom it is for.
  /// - Throws: 2005 outside the room, 1010 for one that is too long, 1006 for one too many.
  mutating func sendChat(_ params: ChatSendParams, _ session: SessionID) throws(ErrorObject) -> ChatSendResult {
    let seat = try seat(of: session, inRoom: params.room)
    let size = params.text.utf8.count
    guard size <= chatBytes else { throw .tooLarge("text", limit: chatBytes, count: size) }
    if let earlier = rooms[seat.room]?.chat.result(user: seat.user, clientMsgId: params.clientMsgId) { return earlier }
    if let wait = sessions[session]?.chatRate.take(at: now.instant) {
      throw ErrorObject(.rateLimited, "You are writing too fast; wait a moment.") { $0.retryAfterMs = wait }
    }
    let to = params.to.flatMap { $0.isEmpty ? nil : $0 }
    let number = makeNumber()
    let message = Message(
      msgId: ChatLog.name(number), room: params.room, ts: now.wallMilliseconds, from: seat.user,
      displayName: seat.displayName, to: to, text: params.text)
    let delivered = deliver(message, from: seat)
    let result = ChatSendResult(msgId: message.msgId, ts: message.ts, delivered: delivered, stored: false)
    rooms[seat.room]?.chat.append(message, number: number)
    rooms[seat.room]?.chat.remember(result, user: seat.user, clientMsgId: params.clientMsgId)
    count(.chatMessage)
    return result
  }

  /// Sends a message and returns how many got it at once.
  private mutating func deliver(_ message: Message, from seat: Seat) -> Int {
    let to = message.to.map(Set.init)
    let members = rooms[seat.room]?.members ?? []
    let receivers = members.compactMap { member -> SessionID? in
      guard member != seat.id, let receiver = seats[member], to?.contains(receiver.user) ?? true else { return nil }
      return receiver.session
    }
    send(.chatMessage(message), to: receivers)
    return receivers.count { sessions[$0]?.connection != nil }
  }

  /// A page of what was said before.
  /// - Throws: 2005 outside the room, −32602 for a `before` that is no message.
  func chatHistory(_ params: ChatHistoryParams, _ session: SessionID) throws(ErrorObject) -> ChatHistoryResult {
    let seat = try seat(of: session, inRoom: params.room)
    var before = UInt64.max
    if let name = params.before {
      guard let number = wireNumber(name, prefix: "m") else { throw .parameter("before", expected: "a msgId") }
      before = number
    }
    let limit = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page)
    let messages = rooms[seat.room]?.chat.messages(visibleTo: seat.user, before: before, limit: limit)
    return ChatHistoryResult(messages: messages ?? [])
  }
}
