// What the core wants kept beyond the process, and how it waits for that: a change goes out with a ticket, and whoever
// was promised it is answered when the ticket comes back. Nothing else waits.

import Basics
import RoostProtocol

/// Names a change that is on its way to the disk.
public struct StoreTicket: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt64
  /// The ticket with this number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Older tickets are smaller.
  public static func < (a: StoreTicket, b: StoreTicket) -> Bool { a.rawValue < b.rawValue }
  /// The number, for logs.
  public var description: String { String(rawValue) }
}

/// One change of what is kept. Changes are made in the order of their tickets.
public enum StoreChange: Equatable, Sendable {
  /// A chat message of a room; those of the room up to number `forgetting` are not kept any more.
  indirect case message(StoredMessage, forgetting: UInt64?)
  /// Everything said in a room is forgotten.
  case forgetRoom(String)
}

/// A chat message as it is kept.
public struct StoredMessage: Hashable, Sendable {
  /// Its place in the order of all messages; the `msgId` says it.
  public var number: UInt64
  /// The message; its `room` is where it was said.
  public var message: Message
  /// Its sender's own name for it.
  public var clientMsgId: String?
  /// How many others it went to at once.
  public var delivered: Int

  /// A message with what its sender was told.
  public init(number: UInt64, message: Message, clientMsgId: String?, delivered: Int) {
    self.number = number
    self.message = message
    self.clientMsgId = clientMsgId
    self.delivered = delivered
  }
}

/// What an earlier process left behind.
public struct RestoredState: Sendable {
  /// What was said, by room, oldest first.
  public var chats: [String: [StoredMessage]] = [:]
  /// No number up to this one may be given again.
  public var lastNumber: UInt64 = 0

  /// Nothing.
  public init() {}
}

/// Who is to be told when a ticket comes back.
enum StoreWaiter: Sendable {
  case message(UnstoredMessage)
}

/// A chat message that is on its way to the disk.
struct UnstoredMessage: Sendable {
  /// The requests that wait for the result: the first, and the same message sent again meanwhile.
  var requests: [RequestKey]
  var result: ChatSendResult
  let room: String
  let user: String
  let clientMsgId: String?
}

extension ConferenceCore {
  /// Sends changes to the disk; with a waiter, `stored` or the end of `storePatience` wakes it.
  @discardableResult
  mutating func store(_ changes: [StoreChange], waiter: StoreWaiter? = nil) -> StoreTicket {
    lastTicket += 1
    let ticket = StoreTicket(lastTicket)
    if let waiter {
      storing[ticket] = waiter
      deadlines.set(.store(ticket), at: now.instant + rules.storePatience)
    }
    effects.append(.store(ticket, changes))
    return ticket
  }

  /// A change is on disk, or could not be written, or took too long. Only the first of these counts.
  mutating func stored(_ ticket: StoreTicket, _ isOnDisk: Bool) {
    deadlines.cancel(.store(ticket))
    switch storing.removeValue(forKey: ticket) {
    case .message(let message): settle(message, isOnDisk: isOnDisk)
    case nil: break
    }
  }

  private mutating func settle(_ message: UnstoredMessage, isOnDisk: Bool) {
    var result = message.result
    result.stored = isOnDisk
    if let room = roomNames[message.room] {
      rooms[room]?.chat.remember(.sent(result), user: message.user, clientMsgId: message.clientMsgId)
    }
    for request in message.requests { finish(request, .success(.chatSent(result))) }
  }

  // MARK: - After a restart

  /// Takes what an earlier process left. Rooms that are configured have their chat at once; others when somebody joins
  /// them within `restoredChatTime`, then what was said there is forgotten.
  mutating func restore(_ restored: RestoredState, at now: Now) {
    lastNumber = max(lastNumber, restored.lastNumber)
    restoredChats = restored.chats
    for (name, key) in roomNames { adoptRestoredChat(key, name: name) }
    if !restoredChats.isEmpty { deadlines.set(.restoredChats, at: now.instant + rules.restoredChatTime) }
  }

  /// Gives a room what was said in it before the restart.
  mutating func adoptRestoredChat(_ key: RoomKey, name: String) {
    guard let messages = restoredChats.removeValue(forKey: name), let rules = rooms[key]?.rules else { return }
    rooms[key]?.chat = ChatLog(capacity: rules.chatHistory, restored: messages)
  }

  /// Nobody came back to these rooms.
  mutating func forgetRestoredChats() {
    let names = restoredChats.keys.sorted()
    restoredChats = [:]
    if !names.isEmpty { store(names.map { .forgetRoom($0) }) }
  }
}
