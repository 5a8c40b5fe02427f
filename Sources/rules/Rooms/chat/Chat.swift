// Chat: to all or to some of a room, in one order for everybody, with as much history as the room keeps.

import Calls
import Members
import RoostProtocol

/// What was said in a room.
struct ChatLog: Sendable {
  /// Messages that were sent with a name by their client, whose results are remembered.
  static let remembered = 512

  private struct Sender: Hashable {
    var user: String
    var clientMsgId: String
  }

  /// What is known of a message that its client has named.
  enum Known: Sendable {
    /// Its sender has been told this.
    case sent(ChatSendResult)
    /// It is on its way to the disk.
    case beingStored(Ticket)
  }

  /// Bytes of all messages that are kept, for each that may be: texts are as long as the protocol allows, or names take as much.
  static let bytesEach = ProtocolLimits.textBytes + 1024

  private var capacity: Int
  private var messages: [(number: UInt64, message: Message)] = []
  private var bytes = 0
  /// The number up to which messages are gone here, and may be on disk.
  private var gone: UInt64?
  private var results: [Sender: Known] = [:]
  private var order: [Sender] = []
  private var oldest = 0

  /// A log that keeps `capacity` messages.
  init(capacity: Int) { self.capacity = capacity }

  /// A log with what was kept of it. As much as it keeps was read: there may be older messages on disk.
  init(capacity: Int, restored: [StoredMessage]) {
    self.init(capacity: capacity)
    if restored.count >= capacity, let first = restored.first, first.number > 0 { gone = first.number - 1 }
    for stored in restored {
      append(stored.message, number: stored.number)
      let result = ChatSendResult(
        msgId: stored.message.msgId, ts: stored.message.ts, delivered: stored.delivered, stored: true)
      remember(.sent(result), user: stored.message.from, clientMsgId: stored.clientMsgId)
    }
  }

  /// Whether it keeps anything at all.
  var keepsMessages: Bool { capacity > 0 }

  /// The name of a message on the wire.
  static func name(_ number: UInt64) -> String { "m\(number)" }

  /// Keeps a message in place of the oldest ones, and returns the number up to which messages are gone; nil where none are. It says so with each
  /// message, as one may not come to the disk.
  @discardableResult
  mutating func append(_ message: Message, number: UInt64) -> UInt64? {
    guard capacity > 0 else { return nil }
    messages.append((number, message))
    bytes += message.size
    dropOldest()
    return gone
  }

  /// From now on it keeps so many messages.
  mutating func keep(_ capacity: Int) {
    self.capacity = capacity
    dropOldest()
  }

  /// Drops what there is no space for. They may be very many, and those behind them are moved once.
  private mutating func dropOldest() {
    var count = 0
    func isTooMuch(_ left: Int) -> Bool { left > capacity || (bytes > capacity * Self.bytesEach && left > 1) }
    while count < messages.count, isTooMuch(messages.count - count) {
      bytes -= messages[count].message.size
      gone = messages[count].number
      count += 1
    }
    if count > 0 { messages.removeFirst(count) }
  }

  /// What became of a message that this user has sent under this name before.
  func known(user: String, clientMsgId: String?) -> Known? {
    clientMsgId.flatMap { results[Sender(user: user, clientMsgId: $0)] }
  }

  /// Remembers what becomes of a message.
  mutating func remember(_ known: Known, user: String, clientMsgId: String?) {
    guard let clientMsgId else { return }
    let sender = Sender(user: user, clientMsgId: clientMsgId)
    guard results.updateValue(known, forKey: sender) == nil else { return }
    if order.count < Self.remembered {
      order.append(sender)
    } else {
      results[order[oldest]] = nil
      order[oldest] = sender
      oldest = (oldest + 1) % Self.remembered
    }
  }

  /// The last messages that a user may see, oldest first; with `before` only older ones. Of long ones fewer than `limit`, so
  /// that they fit in one answer, but one at least: the client asks on from the oldest.
  func messages(visibleTo user: String, before: UInt64 = .max, limit: Int = .max) -> [Message] {
    var found: [Message] = []
    var bytes = 0
    for entry in messages.reversed() where entry.number < before && entry.message.isVisible(to: user) {
      bytes += entry.message.size
      if found.count == limit || (bytes > ProtocolLimits.historyBytes && !found.isEmpty) { break }
      found.append(entry.message)
    }
    return found.reversed()
  }
}

extension Message {
  fileprivate func isVisible(to user: String) -> Bool { to.map { from == user || $0.contains(user) } ?? true }

  /// Bytes of its texts and names, with some for what is around them.
  fileprivate var size: Int { 256 + bytes(of: text, for: to) }
}

/// Bytes of a text and of the names that it is for.
private func bytes(of text: String, for names: [String]?) -> Int {
  (names ?? []).reduce(text.utf8.count) { $0 + $1.utf8.count }
}

extension ChatSendParams {
  /// As how many messages it counts: one for each 4 KiB of its text and of the names in `to`.
  fileprivate var weight: Int { max(1, (bytes(of: text, for: to) + 4095) / 4096) }
}

extension WebhookEvent {
  fileprivate init(_ message: Message, from seat: Seat) {
    self.init(
      type: .chatMessage, at: message.ts, room: message.room, user: seat.user, participantId: "\(seat.participant)",
      message: message)
  }
}

extension Rooms {
  /// Bytes that a message may have.
  var chatBytes: Int { rules.mostChatBytes }

  /// Sends a message to those in the room whom it is for. Where chat is kept, the reply waits for the disk; they do not.
  /// - Throws: 2005 outside the room, 1010 for one that is too long, 1006 for one too many.
  mutating func sendChat(
    _ params: ChatSendParams, _ key: RequestKey, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let seat = try table.seat(of: key.session, inRoom: params.room)
    try Access.checkChat(seat, table)
    try Access.checkChatOpen(seat, table)
    let size = params.text.utf8.count
    guard size <= chatBytes else { throw .tooLarge("text", limit: chatBytes, count: size) }
    switch table[seat.room]?.chat.known(user: seat.user, clientMsgId: params.clientMsgId) {
    case .sent(let result): return .chatSent(result)
    case .beingStored(let ticket):
      step.send(.actions(.awaitToo(key, ticket)))
      return nil
    case nil: break
    }
    try chats.take(params.weight, of: seat.member.identity, "writing", at: step.now.instant)
    step.count(.chatMessage)
    return takeChat(params, key, from: seat, &step)
  }

  private mutating func takeChat(
    _ params: ChatSendParams, _ key: RequestKey, from seat: Seat, _ step: inout Step
  ) -> Reply? {
    let number = step.makeMessageNumber()
    let message = Message(
      msgId: ChatLog.name(number), room: table.name(of: seat.room), ts: step.now.wallMilliseconds, from: seat.user,
      displayName: seat.displayName, to: params.to.flatMap { $0.isEmpty ? nil : $0 }, text: params.text)
    let delivered = deliver(message, in: seat.room, from: seat.id, &step)
    let result = ChatSendResult(msgId: message.msgId, ts: message.ts, delivered: delivered, stored: false)
    // Before the message goes to disk: with it.
    if rules.hasWebhooks, rules.tellsChat { step.add(.webhook(WebhookEvent(message, from: seat))) }
    var forgotten: UInt64?
    seating.table.update(seat.room) { forgotten = $0.chat.append(message, number: number) }
    var outcome = ChatLog.Known.sent(result)
    if rules.storesRecords, table[seat.room]?.chat.keepsMessages == true {
      let stored = StoredMessage(
        number: number, message: message, clientMsgId: params.clientMsgId, delivered: delivered)
      let waiter = UnstoredMessage(
        requests: [key], result: result, room: message.room, user: seat.user, clientMsgId: params.clientMsgId)
      let change = StoreChange.message(stored, forgetting: forgotten)
      let ticket = step.makeTicket()
      step.send(.actions(.awaitStored(ticket, waiter)))
      step.add(.write(ticket, [change]))
      outcome = .beingStored(ticket)
    }
    seating.table.update(seat.room) { $0.chat.remember(outcome, user: seat.user, clientMsgId: params.clientMsgId) }
    return if case .sent = outcome { .chatSent(result) } else { nil }
  }

  /// Sends a message and returns how many got it at once.
  func deliver(_ message: Message, in room: RoomKey, from seat: SeatID?, _ step: inout Step) -> Int {
    let to = message.to.map(Set.init)
    let receivers = table.members(of: room).filter { $0.id != seat && to?.contains($0.user) ?? true }
    step.tell(.chatMessage(message), to: receivers.map(\.session))
    return receivers.count(where: \.member.presence.isConnected)
  }

  /// A message is on disk, or is not: whoever sends it again is told the same.
  mutating func chatStored(_ message: UnstoredMessage, isOnDisk: Bool) {
    guard let room = table[named: message.room] else { return }
    var result = message.result
    result.stored = isOnDisk
    seating.table.update(room) { $0.chat.remember(.sent(result), user: message.user, clientMsgId: message.clientMsgId) }
  }

  /// A page of what was said before.
  /// - Throws: 2005 outside the room, −32602 for a `before` that is no message.
  package func chatHistory(_ params: ChatHistoryParams, _ session: SessionID) throws(ErrorObject) -> ChatHistoryResult {
    let seat = try table.seat(of: session, inRoom: params.room)
    var before = UInt64.max
    if let name = params.before {
      guard let number = wireNumber(name, prefix: "m") else { throw .parameter("before", expected: "a msgId") }
      before = number
    }
    let limit = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page)
    let messages = table[seat.room]?.chat.messages(visibleTo: seat.user, before: before, limit: limit)
    return ChatHistoryResult(messages: messages ?? [])
  }
}
