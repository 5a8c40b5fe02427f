// What the core wants kept beyond the process, and how it waits for that: a change goes out with a ticket, and whoever
// was promised it is answered when the ticket comes back. Nothing else waits.

import Basics
import Calls
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
  /// A record of a user, in place of his earlier one of the same call.
  indirect case record(KeptRecord)
  /// A user has looked at his missed calls.
  case seen(user: String)
  /// An ended call.
  indirect case tombstone(KeptTombstone)
  /// A running call, in place of how it stood.
  indirect case call(KeptCall)
  /// A call that runs no more.
  case forgetCall(String)
}

/// A page of a user's records, newest first.
public struct RecordQuery: Hashable, Sendable {
  /// Whose.
  public var user: String
  /// Only what is older than the record of this call; nil: the newest.
  public var before: String?
  /// How many at most.
  public var limit: Int

  /// A page.
  public init(user: String, before: String?, limit: Int) {
    (self.user, self.before, self.limit) = (user, before, limit)
  }
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
  /// What is left of calls.
  public var calls = KeptCalls()

  /// Nothing.
  public init() {}
}

/// Who is to be told when a ticket comes back.
enum StoreWaiter: Sendable {
  case message(UnstoredMessage)
  case records([UserRecord])
  case history(UnreadHistory)
  case rings([PushNotice])
}

/// The newer part of a page of records, which waits for the older part.
struct UnreadHistory: Sendable {
  let request: RequestKey
  let device: String
  let newer: [CallRecord]
  let missing: Int
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
    let ticket = takeTicket(waiter)
    effects.append(.store(.write(ticket, changes)))
    return ticket
  }

  /// A new ticket, and who waits for it.
  private mutating func takeTicket(_ waiter: StoreWaiter?) -> StoreTicket {
    lastTicket += 1
    let ticket = StoreTicket(lastTicket)
    if let waiter {
      storing[ticket] = waiter
      let patience = if case .rings = waiter { Self.ringPatience } else { rules.storePatience }
      deadlines.set(.store(ticket), at: now.instant + patience)
    }
    return ticket
  }

  /// A change is on disk, or could not be written, or took too long. Only the first of these counts.
  mutating func stored(_ ticket: StoreTicket, _ isOnDisk: Bool) {
    deadlines.cancel(.store(ticket))
    switch storing.removeValue(forKey: ticket) {
    case .message(let message): settle(message, isOnDisk: isOnDisk)
    case .records(let records): tell(records, isOnDisk: isOnDisk)
    case .history(let history): finish(history, with: nil)
    case .rings(let rings): for ring in rings where calls.isOn(ring) { effects.append(.outside(.push(ring))) }
    case nil: break
    }
  }

  /// How long a phone that is to be woken waits for the disk. Longer and people wait for a disk that hangs; shorter and a ring
  /// leaves that the next process would know nothing of, so that nobody would take it back.
  static let ringPatience = TimeDelta.seconds(1)

  /// Wakes phones once it is on disk that they ring: behind the changes of the calls.
  mutating func wake(_ rings: [PushNotice]) {
    guard !rings.isEmpty else { return }
    guard rules.storesRecords, rules.calls.keepsCalls else { return effects += rings.map { .outside(.push($0)) } }
    store([], waiter: .rings(rings))
  }

  private mutating func settle(_ message: UnstoredMessage, isOnDisk: Bool) {
    var result = message.result
    result.stored = isOnDisk
    if let room = roomNames[message.room] {
      rooms[room]?.chat.remember(.sent(result), user: message.user, clientMsgId: message.clientMsgId)
    }
    for request in message.requests { finish(request, .success(.chatSent(result))) }
  }

  // MARK: - Call records

  /// Keeps what has changed of calls, and tells users of their records when those are on disk.
  mutating func keep(_ records: [UserRecord], _ changes: [StoreChange]) {
    guard rules.storesRecords else { return tell(records, isOnDisk: false) }
    guard !records.isEmpty || !changes.isEmpty else { return }
    let kept = records.map { StoreChange.record(KeptRecord(entry: $0, isUnseen: $0.record.isMissed)) }
    store(kept + changes, waiter: records.isEmpty ? nil : .records(records))
  }

  /// A page of a user's records; nil where part of it is to be read from the disk first.
  mutating func callHistory(_ params: CallHistoryParams, _ key: RequestKey) -> Reply? {
    var result = calls.history(params, from: key.session.device)
    guard rules.storesRecords, let session = sessions[key.session] else { return .records(result) }
    if params.before == nil { store([.seen(user: session.user)]) }
    let missing = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page) - result.records.count
    guard result.next == nil else { return .records(result) }
    guard missing > 0 else {
      // Memory ends with this page; the disk may go on.
      result.next = result.records.last?.callId
      return .records(result)
    }
    let unread = UnreadHistory(request: key, device: session.deviceId, newer: result.records, missing: missing)
    let ticket = takeTicket(.history(unread))
    let before = result.records.last?.callId ?? params.before
    effects.append(.store(.read(ticket, RecordQuery(user: session.user, before: before, limit: missing))))
    return nil
  }

  /// What the disk has; nil where it does not answer.
  mutating func fetched(_ ticket: StoreTicket, _ records: [UserRecord]?) {
    guard case .history(let history) = storing[ticket] else { return }
    storing[ticket] = nil
    deadlines.cancel(.store(ticket))
    finish(history, with: records)
  }

  private mutating func finish(_ history: UnreadHistory, with older: [UserRecord]?) {
    let records = history.newer + (older ?? []).map { $0.seen(from: history.device) }
    let isLast = (older?.count ?? 0) < history.missing
    finish(
      history.request,
      .success(.records(CallHistoryResult(records: records, next: isLast ? nil : records.last?.callId))))
  }

  // MARK: - After a restart

  /// Numbers that are left out: an earlier process may have sent messages with so many more before they were written. Much more
  /// than what may wait for the disk.
  private static let unwritten: UInt64 = 100_000

  /// Takes what an earlier process left. Calls that cannot outlive it end now. Rooms that are configured have their chat at once; others when somebody joins
  /// them within `restoredChatTime`, then what was said there is forgotten.
  mutating func take(_ restored: RestoredState) {
    if restored.lastNumber > 0 { lastNumber = max(lastNumber, restored.lastNumber + Self.unwritten) }
    restoredChats = restored.chats
    for (name, key) in roomNames { adoptRestoredChat(key, name: name) }
    if !restoredChats.isEmpty { deadlines.set(.restoredChats, at: now.instant + rules.restoredChatTime) }
    carry(calls.restore(restored.calls, at: now))
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
