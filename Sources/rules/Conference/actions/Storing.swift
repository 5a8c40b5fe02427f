// What is kept beyond the process, and how that is waited for: a change goes out with a ticket, and the requests that it
// was promised to are answered when the ticket comes back. Nothing else waits.

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
  /// A record of a user, in place of their earlier one of the same call.
  indirect case record(KeptRecord)
  /// A user has looked at their missed calls.
  case seen(user: String)
  /// An ended call.
  indirect case tombstone(KeptTombstone)
  /// A running call, in place of how it stood.
  indirect case call(KeptCall)
  /// A call that runs no more.
  case forgetCall(String)
  /// Who is kept out of a room.
  indirect case ban(KeptBan)
  /// Who is let in again.
  case forgetBan(room: String, user: String)
  /// Which address is kept out.
  indirect case addressBan(KeptAddressBan)
  /// Which address is let in again.
  indirect case forgetAddressBan(KeptAddressBan.Subject)
  /// A token that is taken back.
  case revocation(KeptRevocation)
  /// One that may be believed again, or that is over.
  case forgetRevocation(String)
  /// What an operator has left of a user's grants.
  indirect case narrowing(KeptNarrowing)
  /// What their tokens give counts again, or no token is left that it was about.
  indirect case forgetNarrowing(KeptNarrowing.Subject)
  /// Whose calls a user does not want.
  case block(KeptBlock)
  /// Whose calls they want again.
  case forgetBlock(KeptBlock)
  /// A room's door, in place of how it stood.
  case door(KeptDoor)
  /// A room's door is as usual.
  case forgetDoor(String)
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
  /// Who is kept out.
  public var bans: [KeptBan] = []
  /// Which addresses are kept out.
  public var addressBans: [KeptAddressBan] = []
  /// Tokens that are taken back.
  public var revocations: [KeptRevocation] = []
  /// What operators have left of users' grants.
  public var narrowings: [KeptNarrowing] = []
  /// Whom users have blocked.
  public var blocks: [KeptBlock] = []
  /// Doors that are not as usual.
  public var doors: [KeptDoor] = []

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

/// Tickets that are out with those who wait for them, and the chats that wait for their rooms after a restart.
struct Storing: Sendable {
  /// What a deadline is about.
  private enum Timer: Hashable, Sendable {
    case ticket(StoreTicket)
    case restoredChats
  }

  /// How long a phone that is to be woken waits for the disk. Longer and people wait for a disk that hangs; shorter and a ring
  /// leaves that the next process would know nothing of, so that nobody would take it back.
  static let ringPatience = TimeDelta.seconds(1)

  private let rules: ConferenceRules
  private(set) var waiters: [StoreTicket: StoreWaiter] = [:]
  private(set) var restoredChats: [String: [StoredMessage]] = [:]
  private(set) var restoredDoors: [String: KeptDoor] = [:]
  private var deadlines = Deadlines<Timer>()

  /// Nothing is stored, and nobody waits.
  init(rules: ConferenceRules) { self.rules = rules }

  /// When `poll` has something to do; nil when nothing waits.
  var nextDeadline: Instant? { deadlines.next }

  // MARK: - Tickets

  /// Sends changes to the disk; with a waiter, `stored` or the end of its patience wakes it.
  @discardableResult
  mutating func write(_ changes: [StoreChange], waiter: StoreWaiter? = nil, _ step: inout Step) -> StoreTicket {
    let ticket = takeTicket(waiter, &step)
    step.add(.write(ticket, changes))
    return ticket
  }

  /// A new ticket, and who waits for it.
  private mutating func takeTicket(_ waiter: StoreWaiter?, _ step: inout Step) -> StoreTicket {
    let ticket = step.makeTicket()
    if let waiter {
      waiters[ticket] = waiter
      let patience = if case .rings = waiter { Self.ringPatience } else { rules.storePatience }
      deadlines.set(.ticket(ticket), at: step.now.instant + patience)
    }
    return ticket
  }

  private mutating func takeWaiter(_ ticket: StoreTicket) -> StoreWaiter? {
    deadlines.cancel(.ticket(ticket))
    return waiters.removeValue(forKey: ticket)
  }

  /// A change is on disk, or could not be written, or took too long. Only the first of these counts.
  mutating func stored(
    _ ticket: StoreTicket, _ isOnDisk: Bool, _ calls: Switchboard, _ table: inout RoomTable, _ step: inout Step
  ) {
    switch takeWaiter(ticket) {
    case .message(let message): settle(message, isOnDisk: isOnDisk, &table, &step)
    case .records(let records): tell(records, isOnDisk: isOnDisk, &step)
    case .history(let history): finish(history, with: nil, &step)
    case .rings(let rings): for ring in rings where calls.isOn(ring) { step.add(.push(ring)) }
    case nil: break
    }
  }

  /// Carries out what is due first; false when nothing is.
  mutating func poll(_ calls: Switchboard, _ table: inout RoomTable, _ step: inout Step) -> Bool {
    switch deadlines.popDue(at: step.now.instant) {
    case .ticket(let ticket): stored(ticket, false, calls, &table, &step)
    case .restoredChats: forgetRestoredChats(&step)
    case nil: return false
    }
    return true
  }

  // MARK: - Chat

  /// The same message came again before it was on disk: both requests get its result.
  mutating func wait(_ key: RequestKey, for ticket: StoreTicket) {
    guard case .message(var message) = waiters[ticket] else { return }
    message.requests.append(key)
    waiters[ticket] = .message(message)
  }

  private func settle(
    _ message: UnstoredMessage, isOnDisk: Bool, _ table: inout RoomTable, _ step: inout Step
  ) {
    var result = message.result
    result.stored = isOnDisk
    if let room = table[named: message.room] {
      table.update(room) {
        $0.chat.remember(.sent(result), user: message.user, clientMsgId: message.clientMsgId)
      }
    }
    for request in message.requests { step.answer(request, .success(.chatSent(result))) }
  }

  // MARK: - Calls

  /// The push provider wakes phones once it is on disk that they ring: behind the changes of the calls.
  mutating func wake(_ rings: [PushNotice], _ step: inout Step) {
    guard !rings.isEmpty else { return }
    if rules.storesRecords, rules.calls.keepsCalls {
      write([], waiter: .rings(rings), &step)
    } else {
      for ring in rings { step.add(.push(ring)) }
    }
  }

  /// Keeps what has changed of calls, and tells users of their records when those are on disk.
  mutating func keep(
    _ records: [UserRecord], _ changes: [StoreChange], _ step: inout Step
  ) {
    guard rules.storesRecords else { return tell(records, isOnDisk: false, &step) }
    guard !records.isEmpty || !changes.isEmpty else { return }
    let kept = records.map { StoreChange.record(KeptRecord(entry: $0, isUnseen: $0.record.isMissed)) }
    write(kept + changes, waiter: records.isEmpty ? nil : .records(records), &step)
  }

  private func tell(_ records: [UserRecord], isOnDisk: Bool, _ step: inout Step) {
    for record in records { step.tell(record, isStored: isOnDisk) }
  }

  /// A page of a user's records, of which memory has `page`; nil where part of it is to be read from the disk first.
  mutating func history(
    _ params: CallHistoryParams, _ page: CallHistoryResult, _ key: RequestKey, of user: String, on device: String,
    _ step: inout Step
  ) -> Reply? {
    var result = page
    guard rules.storesRecords else { return .records(result) }
    if params.before == nil { write([.seen(user: user)], &step) }
    let missing = min(params.limit ?? ProtocolLimits.defaultPage, ProtocolLimits.page) - result.records.count
    guard result.next == nil else { return .records(result) }
    guard missing > 0 else {
      // Memory ends with this page; the disk may go on.
      result.next = result.records.last?.callId
      return .records(result)
    }
    let unread = UnreadHistory(request: key, device: device, newer: result.records, missing: missing)
    let ticket = takeTicket(.history(unread), &step)
    let before = result.records.last?.callId ?? params.before
    step.add(.read(ticket, RecordQuery(user: user, before: before, limit: missing)))
    return nil
  }

  /// What the disk has; nil where it does not answer.
  mutating func fetched(
    _ ticket: StoreTicket, _ records: [UserRecord]?, _ step: inout Step
  ) {
    guard case .history(let history) = waiters[ticket] else { return }
    _ = takeWaiter(ticket)
    finish(history, with: records, &step)
  }

  private func finish(
    _ history: UnreadHistory, with older: [UserRecord]?, _ step: inout Step
  ) {
    let records = history.newer + (older ?? []).map { $0.seen(from: history.device) }
    let isLast = (older?.count ?? 0) < history.missing
    let page = CallHistoryResult(records: records, next: isLast ? nil : records.last?.callId)
    step.answer(history.request, .success(.records(page)))
  }

  // MARK: - After a restart

  /// Takes what was said before a restart. Rooms take theirs when they are made.
  mutating func restore(_ chats: [String: [StoredMessage]], _ doors: [KeptDoor]) {
    restoredChats = chats
    restoredDoors = Dictionary(doors.map { ($0.room, $0) }) { _, later in later }
  }

  /// What no room has taken yet is forgotten after `restoredChatTime`.
  mutating func limitRestoredChats(_ step: Step) {
    if !restoredChats.isEmpty || !restoredDoors.isEmpty {
      deadlines.set(.restoredChats, at: step.now.instant + rules.restoredChatTime)
    }
  }

  /// What was said before the restart in the room of this name, if anything: it is the room's from now on.
  mutating func takeRestoredChat(of room: String) -> [StoredMessage]? { restoredChats.removeValue(forKey: room) }

  /// The door of the room of this name, where it was not as usual before the restart.
  mutating func takeRestoredDoor(of room: String) -> KeptDoor? { restoredDoors.removeValue(forKey: room) }

  /// Changes the door of a room that nobody has come back to.
  mutating func putRestoredDoor(_ door: KeptDoor) { restoredDoors[door.room] = door.isUsual ? nil : door }

  /// Nobody came back to these rooms.
  private mutating func forgetRestoredChats(_ step: inout Step) {
    let names = restoredChats.keys.sorted()
    let doors = restoredDoors.keys.sorted()
    (restoredChats, restoredDoors) = ([:], [:])
    let changes = names.map { StoreChange.forgetRoom($0) } + doors.map { .forgetDoor($0) }
    if !changes.isEmpty { write(changes, &step) }
  }
}
