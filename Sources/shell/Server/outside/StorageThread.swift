// The one owner of the record file: a thread that writes what has collected in its mailbox in one transaction, and then
// says of each ticket whether it is on disk. Whoever waits for that waits in the conference's state, not in a thread.
//
//   conference ──tickets──▶ mailbox ──▶ one transaction, one fsync ──▶ stored(ticket, true or false)

import Basics
import Logging
import Members
import Names
import RoostProtocol
import Storage
import Threads

/// The thread's handle.
final class StorageThread: Sendable {
  /// Tickets that may wait for the disk. Raising it lets a disk that hangs take so many more messages' memory.
  static let patience = 16_384

  fileprivate enum Input: Sendable {
    case store(Ticket, [StoreChange], Realm)
    case outbox(OutboxChange)
    case message(WebhookMessage)
    case follow(Realm, EventSink)
    case settled
    case flush(Promise<Bool>)
    case fetch(Ticket, RecordQuery, Realm)
    case replay(EventQuery, Realm, @Sendable (EventPage?) -> Void)
    case stop
  }

  private let mailbox: Mailbox<Input>
  private let thread: OwnerThread
  private let shared: Locked<StorageFigures>
  private let inbox: EventInbox

  private init(mailbox: Mailbox<Input>, thread: OwnerThread, figures: Locked<StorageFigures>, inbox: EventInbox) {
    self.mailbox = mailbox
    self.thread = thread
    (shared, self.inbox) = (figures, inbox)
  }

  /// What it has done and has yet to do.
  var figures: StorageFigures { shared.withLock { $0 } }

  /// What an earlier process left in one realm.
  struct Restored: Sendable {
    var state = RestoredState()
    var deliveries: [StoredDelivery] = []
  }

  /// Opens the file and reads what an earlier process left in it, of messages for web servers the oldest `deliveries`. Where
  /// that fails, the log says why, and the server goes on without: nil. Of tickets no more than `patience` wait.
  static func start(
    path: String, rules: [Realm: ConferenceRules], keeping: StorageRetention, deliveries: Int, log: Logger,
    patience: Int = StorageThread.patience,
    answer: @escaping @Sendable (Command) -> Void
  ) -> (thread: StorageThread, restored: [Realm: Restored])? {
    let mailbox = Mailbox<Input>(capacity: patience)
    let opened = Promise<[Realm: Restored]?>()
    let figures = Locked(StorageFigures(isOn: true))
    let inbox = EventInbox()
    let thread = OwnerThread(name: "storage") {
      do throws(StorageError) {
        var loop = try StorageLoop(
          path: path, keeping: keeping, log: log, figures: figures, inbox: inbox, answer: answer)
        opened.give(try loop.restore(rules, deliveries: deliveries))
        loop.run(mailbox)
      } catch {
        log.error(
          "storage_off",
          [
            "path": LogValue(path), "reason": LogValue("\(error)"), "effect": "nothing is kept beyond this process",
            "remedy": LogValue(error.remedy),
          ])
        opened.give(nil)
      }
    }
    guard let restored = opened.take() else {
      thread.join()
      return nil
    }
    return (StorageThread(mailbox: mailbox, thread: thread, figures: figures, inbox: inbox), restored)
  }

  /// Takes changes of a realm to be written; false when too many wait already.
  /// The same transaction writes `events`, which tell of them.
  func store(
    _ ticket: Ticket, _ changes: [StoreChange], of realm: Realm = .default, toldBy events: [WebhookMessage] = []
  ) -> Bool {
    if post(events.map { .message($0) } + [.store(ticket, changes, realm)]) { return true }
    for event in events { inbox.miss(in: event.realm) }
    return false
  }

  /// Takes a change of what waits to be delivered. One that does not fit is lost for the next process only.
  func keep(_ change: OutboxChange) { _ = post([.outbox(change)]) }

  /// Takes a message that waits to be delivered; the same holds. An event that does not fit is lost: it gets a number all the same, so that this
  /// is told.
  func keep(_ message: WebhookMessage) {
    if message.part != .ring, !post([.message(message)]), message.endpoint == .events {
      inbox.miss(in: message.realm)
    }
  }

  /// From now on events of a realm go to `sink` once they are on disk, first those that earlier processes left.
  func follow(_ realm: Realm, _ sink: @escaping EventSink) { mailbox.post(.follow(realm, sink)) }

  /// Says what became of events that were handed over.
  func settle(_ news: EventNews) {
    // Where there is no space for it the thread has other reasons to wake up.
    if inbox.add(news) { mailbox.post(.settled) }
  }

  /// Waits until what has been taken is written, and events of it are handed over. False where there is no space to ask.
  @discardableResult
  func flush() -> Bool {
    let isDone = Promise<Bool>()
    return mailbox.post(.flush(isDone)) && isDone.take()
  }

  /// Counted before it is posted: the thread may be done with it at once.
  private func post(_ inputs: [Input]) -> Bool {
    let now = MonotonicClock.now().nanoseconds
    shared.withLock { $0.posted(inputs.count, at: now) }
    if mailbox.post(inputs) { return true }
    shared.withLock { $0.done(inputs.count) }
    return false
  }

  /// Takes a question, answered in order with the changes; false when too many wait already.
  func fetch(_ ticket: Ticket, _ query: RecordQuery, of realm: Realm = .default) -> Bool {
    mailbox.post(.fetch(ticket, query, realm))
  }

  /// Reads events of a realm again, behind the changes that were taken before; nil where the disk does not answer. It is given on this thread.
  /// False when too many wait already.
  func replay(_ query: EventQuery, of realm: Realm, _ answer: @escaping @Sendable (EventPage?) -> Void) -> Bool {
    mailbox.post(.replay(query, realm, answer))
  }

  /// Ends the thread after what has been taken is written.
  func stop() {
    // A full mailbox empties as fast as the disk allows, which may be never; then the system ends the thread.
    while !mailbox.post(.stop) { OwnerThread.sleep(milliseconds: 10) }
    thread.join()
  }
}

/// How long things are kept, and how many of them.
struct StorageRetention: Sendable {
  var records: TimeDelta
  var tombstones: TimeDelta
  /// Records of all users, and of one.
  var mostRecords: Int
  var mostRecordsOfUser: Int
  /// Events of each realm.
  var events: [Realm: EventKeep] = [:]

  func at(_ wallMilliseconds: Int64) -> Retention {
    Retention(
      recordsBefore: wallMilliseconds - records.milliseconds,
      tombstonesBefore: wallMilliseconds - tombstones.milliseconds, records: mostRecords,
      recordsOfUser: mostRecordsOfUser)
  }
}

/// What lives on the thread.
private struct StorageLoop: ~Copyable {
  /// Tickets in one transaction. More make the first of them wait longer, fewer cost more fsyncs.
  static let batch = 256

  /// From the beginning of one transaction to that of the next, in nanoseconds. What comes meanwhile shares the next one and its fsync;
  /// what comes after a quiet moment is written at once. Longer saves more CPU of a busy server, and acknowledges later.
  static let gathering: Int64 = 4_000_000

  /// How often old records are looked for, in milliseconds.
  static let tidying: Int64 = 3_600_000

  /// Or after how many records and ended calls: so many more than may be kept are in the file.
  static let tidyingAfter = 2_000

  /// How often what the disk did not take is tried again.
  static let retrying: Int64 = 1_000_000_000

  /// How often the file is looked at while nothing is written to it: sooner than the five seconds that are promised.
  static let looking: Int64 = 2_000_000_000

  /// What collects for the next transaction.
  private struct Batch {
    var tickets: [Ticket] = []
    var changes: [RealmChange] = []
    var outbox: [OutboxChange] = []
    var events: [EventChange] = []
    /// What of it came by the mailbox.
    var posted = 0
    var isEmpty: Bool { tickets.isEmpty && outbox.isEmpty && events.isEmpty }
    var count: Int { tickets.count + outbox.count + events.count }
  }

  private var file: RecordFile
  private let path: String
  private let log: Logger
  private let keeping: StorageRetention
  private let figures: Locked<StorageFigures>
  private var events: EventFeeds
  private let answer: @Sendable (Command) -> Void
  private var nextTidying: Int64 = 0
  /// Records and ended calls that were written since.
  private var untidied = 0
  /// When the latest transaction began, monotonic nanoseconds.
  private var latestBegan: Int64 = 0
  /// Why the last transaction failed; nil while all is well.
  private var trouble: StorageError?
  private var unwritten = UnwrittenChanges()
  private var nextRetry: Int64 = 0
  private var nextLook: Int64 = 0
  private var isStopping = false

  init(
    path: String, keeping: StorageRetention, log: Logger, figures: Locked<StorageFigures>,
    inbox: EventInbox, answer: @escaping @Sendable (Command) -> Void
  ) throws(StorageError) {
    file = try RecordFile(path: path, wallMilliseconds: WallClock.milliseconds())
    self.path = path
    self.log = log
    self.keeping = keeping
    self.figures = figures
    events = EventFeeds(inbox, keep: keeping.events, log: log)
    self.answer = answer
    report()
  }

  mutating func restore(
    _ rules: [Realm: ConferenceRules], deliveries: Int
  ) throws(StorageError) -> [Realm: StorageThread.Restored] {
    let wall = WallClock.milliseconds()
    // A disk that is full now may have space later, and what is on it can be read.
    if commit(Batch()) { nextTidying = wall + Self.tidying }
    var restored: [Realm: StorageThread.Restored] = [:]
    let process = try file.countProcess()
    for (realm, rules) in rules.sorted(by: { $0.key < $1.key }) {
      var own = StorageThread.Restored()
      own.state = try file.restore(realm) { rules.messages(ofRoom: $0, $1) }
      own.state.process = process
      own.deliveries = try file.deliveries(of: realm, limit: deliveries)
      restored[realm] = own
    }
    report()
    return restored
  }

  mutating func run(_ mailbox: Mailbox<StorageThread.Input>) {
    var inputs: [StorageThread.Input] = []
    while !isStopping {
      mailbox.wait(nanoseconds: patience)
      gather()
      let drained = MonotonicClock.now().nanoseconds
      mailbox.drain(into: &inputs)
      var batch = Batch()
      batch.events = events.takeNews()
      for input in inputs { take(input, &batch) }
      write(&batch)
      retry()
      look()
      pump()
      figures.withLock { $0.caughtUp(to: drained) }
    }
    events.say(at: .distantFuture)
  }

  private var patience: Int64 {
    guard unwritten.isEmpty else { return Self.retrying }
    let now = MonotonicClock.now()
    guard let next = events.nextDeadline(at: now) else { return Self.looking }
    return min(max(0, (next - now).nanoseconds), Self.looking)
  }

  private mutating func take(_ input: StorageThread.Input, _ batch: inout Batch) {
    switch input {
    case .store(let ticket, let changes, let realm):
      batch.tickets.append(ticket)
      batch.changes += changes.map { RealmChange($0, of: realm) }
      batch.posted += 1
    case .outbox(let change):
      batch.outbox.append(change)
      batch.posted += 1
    case .message(let message):
      batch.posted += 1
      if let event = message.newEvent {
        batch.events.append(.add(event))
        // What it tells of comes next, and is written with it.
        return
      }
      if let stored = message.stored { batch.outbox.append(.keep(stored)) }
    case .fetch(let ticket, let query, let realm):
      write(&batch)
      read(ticket, query, of: realm)
    case .replay(let query, let realm, let answer):
      write(&batch)
      answer(replay(query, of: realm))
    case .follow(let realm, let sink): events.follow(realm, sink)
    case .settled: break
    case .flush(let isDone):
      write(&batch)
      pump()
      isDone.give(unwritten.isEmpty)
    case .stop: isStopping = true
    }
    if batch.count >= Self.batch { write(&batch) }
  }

  // MARK: - Events

  /// Nothing is read while something waits for the disk: what came of it would wait as well.
  private mutating func pump() {
    guard unwritten.isEmpty else { return }
    if let error = events.pump(&file, at: MonotonicClock.now()) {
      if error.kind == .damaged { setAside(because: error) }
      tell(error)
    }
    let waiting = events.waiting
    figures.withLock { $0.events = waiting }
  }

  /// Damage was found by reading.
  private mutating func setAside(because error: StorageError) {
    do throws(StorageError) {
      try file.setAside(because: error, wallMilliseconds: WallClock.milliseconds())
    } catch {
      note(error)
    }
    report()
  }

  /// Lets a moment pass, if the last transaction has only just begun.
  private func gather() {
    let left = latestBegan + Self.gathering - MonotonicClock.now().nanoseconds
    if left > 0 { OwnerThread.sleep(milliseconds: Int((left + 999_999) / 1_000_000)) }
  }

  private mutating func read(_ ticket: Ticket, _ query: RecordQuery, of realm: Realm) {
    do throws(StorageError) {
      answer(.fetched(ticket, try file.records(query, of: realm)))
    } catch {
      note(error)
      answer(.fetched(ticket, nil))
    }
  }

  private mutating func replay(_ query: EventQuery, of realm: Realm) -> EventPage? {
    do throws(StorageError) {
      return try file.events(query, of: realm)
    } catch {
      note(error)
      return nil
    }
  }

  /// Nothing is written before what is older: what was forgotten would come back, and messages would leave in the wrong order.
  private mutating func write(_ batch: inout Batch) {
    guard !batch.isEmpty else { return }
    retry()
    let isOnDisk = unwritten.isEmpty && commit(batch)
    if !isOnDisk { unwritten.add(batch.changes, batch.outbox, batch.events) }
    figures.withLock { figures in
      if isOnDisk { figures.transactions += 1 } else { figures.failures += 1 }
      figures.done(batch.posted)
    }
    for ticket in batch.tickets { answer(.stored(ticket, isOnDisk)) }
    batch = Batch()
  }

  /// Tries what the disk did not take, now and then, and when the thread ends.
  private mutating func retry() {
    let now = MonotonicClock.now().nanoseconds
    guard !unwritten.isEmpty, now >= nextRetry || isStopping else { return }
    nextRetry = now + Self.retrying
    let batch = Batch(changes: unwritten.changes, outbox: unwritten.outbox, events: unwritten.events)
    if commit(batch) { unwritten = UnwrittenChanges() }
  }

  /// Looks at the file that nothing has been written to for a while.
  private mutating func look() {
    let now = MonotonicClock.now().nanoseconds
    guard unwritten.isEmpty, now >= nextLook || events.hasMoreToTrim, !isStopping else { return }
    _ = commit(Batch())
  }

  private mutating func commit(_ batch: Batch) -> Bool {
    let wall = WallClock.milliseconds()
    latestBegan = MonotonicClock.now().nanoseconds
    nextLook = latestBegan + Self.looking
    let isTidying = wall >= nextTidying || untidied >= Self.tidyingAfter
    do throws(StorageError) {
      let outcome = try file.apply(
        batch.changes, outbox: batch.outbox, events: batch.events, retention: isTidying ? keeping.at(wall) : nil,
        trim: events.trim, wallMilliseconds: wall)
      events.committed(outcome)
      if isTidying { (nextTidying, untidied) = (wall + Self.tidying, 0) }
      untidied += batch.changes.count(where: \.change.endsACall)
      if trouble != nil { log.info("storage_recovered", ["path": LogValue(path)]) }
      // The file that is written is another one than was read before.
      if trouble?.kind == .replaced { events.begunAnew(&file) }
      trouble = nil
    } catch {
      events.failed()
      note(error)
    }
    report()
    return trouble == nil
  }

  /// One line for each new trouble, not for each message that meets it.
  private mutating func note(_ error: StorageError) {
    if error != trouble { tell(error) }
    trouble = error
  }

  private func tell(_ error: StorageError) {
    log.error(
      "storage_failed", ["path": LogValue(path), "reason": LogValue("\(error)"), "remedy": LogValue(error.remedy)])
  }

  private mutating func report() {
    for notice in file.takeNotices() {
      switch notice {
      case .setAside(let name, let error):
        events.begunAnew(&file)
        log.error(
          "storage_damaged",
          [
            "path": LogValue(path), "reason": LogValue("\(error)"), "kept_as": LogValue(name),
            "effect": "a new file was begun; what the damaged one held is not shown any more",
          ])
      case .unread(let rows):
        log.warning(
          "records_unread",
          [
            "path": LogValue(path), "rows": LogValue(rows),
            "reason":
              "names stand in them that are not in Unicode form C, so that nobody can have them (docs/access.md)",
          ])
      }
    }
  }
}

extension ConferenceRules {
  /// How many messages are read of a room, of which these settings are kept. What nobody is let in to now may be served again.
  fileprivate func messages(ofRoom room: String, _ kept: KeptRoom?) -> Int {
    if room.begins(with: ProtocolLimits.callRoomPrefix) { return callRoom.chatHistory }
    guard let kept else { return rules(forRoom: room)?.chatHistory ?? 0 }
    let configured = rooms[room]
    let served = kept.plan.flatMap {
      try? $0.narrowed(to: kinds, configured: configured).rules(of: kinds, configured: configured)
    }
    if let served { return served.chatHistory }
    let most = max(RoomPlan.mostHistory, configured?.chatHistory ?? 0)
    return min(max(0, kept.plan?.chatHistory ?? max(100, configured?.chatHistory ?? 0)), most)
  }
}

extension StoreChange {
  /// Whether it is a record or an ended call: what stays in the file until it is old, or too much.
  fileprivate var endsACall: Bool {
    switch self {
    case .record, .tombstone: true
    case .message, .forgetRoom, .seen, .call, .forgetCall, .ban, .forgetBan, .addressBan, .forgetAddressBan,
      .revocation, .forgetRevocation, .narrowing, .forgetNarrowing,
      .block, .forgetBlock, .door, .forgetDoor, .room, .forgetSettings:
      false
    }
  }
}
