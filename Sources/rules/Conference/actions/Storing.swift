// What is kept beyond the process, and how that is waited for: a change goes out with a ticket, and the requests that it
// was promised to are answered when the ticket comes back.

import Basics
import Calls
import Members
import RoostProtocol

/// The newer part of a page of records, which waits for the older part.
struct UnreadHistory: Sendable {
  let request: RequestKey
  let device: String
  let newer: [CallRecord]
  let missing: Int
}

/// What waits for the disk or for the application.
struct Storing: Sendable {
  /// How long a phone that is to be woken waits for the disk. Longer and people wait for a disk that hangs; shorter and a ring
  /// leaves that the next process would know nothing of, so that nobody would take it back.
  static let ringPatience = TimeDelta.seconds(1)

  let rules: ConferenceRules
  /// All that is out.
  var tickets = Tickets()

  /// Nothing is stored, and nobody waits.
  init(rules: ConferenceRules) { self.rules = rules }

  var waiters: [Ticket: Waiter] { tickets.waiters }

  /// When the patience of somebody is over; nil when nothing waits.
  var nextDeadline: Instant? { tickets.next }

  // MARK: - Tickets

  /// Sends changes to the disk; with a waiter, `stored` or the end of its patience wakes it.
  @discardableResult
  mutating func write(_ changes: [StoreChange], waiter: Waiter? = nil, _ step: inout Step) -> Ticket {
    let ticket = makeTicket(waiter, &step)
    step.add(.write(ticket, changes))
    return ticket
  }

  /// A new ticket, and who waits for it.
  private mutating func makeTicket(_ waiter: Waiter?, _ step: inout Step) -> Ticket {
    let ticket = step.makeTicket()
    if let waiter { wait(waiter, for: ticket, step.now) }
    return ticket
  }

  /// Somebody waits for a ticket.
  mutating func wait(_ waiter: Waiter, for ticket: Ticket, _ now: Now) {
    let patience = if case .rings = waiter { Self.ringPatience } else { rules.storePatience }
    tickets.add(ticket, waiter, patience, now)
  }

  /// A change is on disk, or could not be written, or took too long. Only the first of these counts.
  mutating func stored(
    _ ticket: Ticket, _ isOnDisk: Bool, _ calls: Switchboard, _ step: inout Step
  ) {
    // An action's ticket is the application's to settle. Taken here, it would leave the queue behind the action for good.
    if case .action? = waiters[ticket] { return }
    switch tickets.settle(ticket) {
    case .message(let message): settle(message, isOnDisk: isOnDisk, &step)
    case .records(let records): tell(records, isOnDisk: isOnDisk, &step)
    case .history(let history): finish(history, with: nil, &step)
    case .rings(let rings): for ring in rings where calls.isOn(ring) { step.add(.push(ring)) }
    case .action, nil: break
    }
  }

  // MARK: - Chat

  /// The same message came again before it was on disk: both requests get its result.
  mutating func wait(_ key: RequestKey, for ticket: Ticket) {
    guard case .message(var message) = waiters[ticket] else { return }
    message.requests.append(key)
    tickets.replace(ticket, .message(message))
  }

  private func settle(_ message: UnstoredMessage, isOnDisk: Bool, _ step: inout Step) {
    var result = message.result
    result.stored = isOnDisk
    step.send(.rooms(.chatStored(message, isOnDisk: isOnDisk)))
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
    let ticket = makeTicket(.history(unread), &step)
    let before = result.records.last?.callId ?? params.before
    step.add(.read(ticket, RecordQuery(user: user, before: before, limit: missing)))
    return nil
  }

  /// What the disk has; nil where it does not answer.
  mutating func fetched(
    _ ticket: Ticket, _ records: [UserRecord]?, _ step: inout Step
  ) {
    guard case .history(let history) = waiters[ticket] else { return }
    _ = tickets.settle(ticket)
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
}
