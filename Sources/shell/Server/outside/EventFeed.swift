// Hands events that are on disk to the thread that tells a web server of them, as many as it can use, and what is lost before what comes
// after it. Lives on the storage thread.

import Basics
import Names
import Storage
import Webhooks

/// What the thread that tells is given.
struct EventSupply: Sendable {
  /// Lanes that had been returned, with the attempts that there were: what is delivered of them comes next.
  var reopened: [ExactText: Int] = [:]
  /// To be delivered, in this order within each lane.
  var deliveries: [Delivery] = []
  /// What an earlier process was told not to send again.
  var dropped: [DroppedDelivery] = []

  var isEmpty: Bool { reopened.isEmpty && deliveries.isEmpty && dropped.isEmpty }
}

/// Takes a supply; false when there is no space for it.
typealias EventSink = @Sendable (EventSupply) -> Bool

/// The message about lost events: one at a time.
private struct LossNotice: Sendable {
  static let lane = ExactText("")

  /// The one in hand.
  var id: String?
  var mayBeMore = true
  /// How often it was not taken, where it has been returned.
  var attempts = 0
  /// When it is to be sent again.
  var due: Instant?
  /// Events are read before the next one: where more is lost all the time, a web server would be told of nothing else.
  var isAfterEvents = false

  /// Whether what comes behind waits for it. Who does not take it is told the rest.
  var isFirst: Bool { attempts == 0 && (id != nil || mayBeMore && !isAfterEvents) }

  func isDue(at now: Instant) -> Bool { mayBeMore && id == nil && due.map { $0 <= now } ?? true }
}

/// The events of one realm.
struct EventFeed {
  /// Lanes in a row that were not taken, after which few new ones are begun: the web server may be down.
  static let patience = 256

  /// Events that are read each second then.
  static let trials = 16

  private let realm: Realm
  private let keep: EventKeep
  private let sink: EventSink
  private var window: EventWindow
  /// What there was no space for.
  private var unsent = EventSupply()
  private var notice = LossNotice()
  /// Lanes that were not taken since an event was.
  private var refusals = 0
  private var nextTrial: Instant?
  /// Events that are not delivered yet, on disk and in hand.
  private(set) var waiting: Int

  /// Begins with what earlier processes left in the file.
  init(
    _ realm: Realm, keep: EventKeep, file: inout RecordFile, sink: @escaping EventSink
  ) throws(StorageError) {
    (self.realm, self.keep, self.sink) = (realm, keep, sink)
    let figures = try file.eventFigures(of: realm)
    waiting = figures.waiting
    window = EventWindow(last: figures.last)
    unsent.dropped = try file.droppedEvents(of: realm).map { DroppedDelivery(id: $0.id, number: $0.number) }
  }

  /// Numbers of events that must stay on disk.
  var inHand: Set<Int64> { window.inHand }

  /// When there is more to be handed over: `now` or before it where that is at once. Nil where something else must happen first.
  func nextPump(at now: Instant) -> Instant? {
    guard unsent.isEmpty else { return nil }
    if notice.isDue(at: now) { return now }
    if notice.id != nil, notice.isFirst { return nil }
    if window.wanted(at: now) != nil { return now }
    return [notice.due, window.nextDue, window.wantsMore ? nextTrial ?? now : nil].compactMap { $0 }.min()
  }

  /// Events have been written. They are handed over as they are where none before them is still to be read.
  mutating func written(_ events: [StoredEvent]) {
    waiting += events.count
    for event in events {
      let isNext = window.seen == window.last && !notice.isFirst
      window.note(last: event.number)
      if isNext { offer(event) }
    }
  }

  /// So many that waited on disk are lost.
  mutating func lost(_ count: Int) {
    waiting = max(0, waiting - count)
    notice.mayBeMore = true
  }

  /// The file is another one, in which so many wait.
  mutating func begunAnew(waiting count: Int) {
    waiting = count + window.count
    notice.mayBeMore = true
  }

  // MARK: - What the thread that tells says

  /// What became of something that was handed over.
  mutating func settled(_ change: EventChange) {
    switch change {
    case .delivered(_, let number): settled(number, isTaken: true)
    case .dropped(_, let event): settled(event.number, isTaken: true)
    case .expired(_, let number): settled(number, isTaken: false)
    case .toldLost(_, let id):
      if notice.id == id { (notice, refusals, nextTrial) = (LossNotice(isAfterEvents: true), 0, nil) }
    case .add, .missed, .toldDropped: break
    }
  }

  private mutating func settled(_ number: Int64, isTaken: Bool) {
    if window.settle(number) { waiting = max(0, waiting - 1) }
    if isTaken { (refusals, nextTrial) = (0, nil) }
  }

  /// A lane was not taken: it rests on disk.
  mutating func returned(_ lane: ReturnedLane) {
    // What there was no space for of it is on disk as well.
    unsent.deliveries.removeAll { lane.lane.text.isExactly($0.lane) }
    if lane.lane == LossNotice.lane {
      (notice.id, notice.attempts, notice.due) = (nil, max(lane.attempts, 1), lane.due)
      return
    }
    refusals += 1
    if !window.rest(lane.lane, attempts: lane.attempts, until: lane.due) { unsent.reopened[lane.lane] = 0 }
  }

  // MARK: - Handing over

  /// Hands over what there is space for. Reads one step at the most.
  mutating func pump(_ file: inout RecordFile, at now: Instant) throws(StorageError) {
    try tellLost(&file, at: now)
    if notice.id == nil || !notice.isFirst { try read(&file, at: now) }
    guard !unsent.isEmpty, sink(unsent) else { return }
    unsent = EventSupply()
  }

  private mutating func read(_ file: inout RecordFile, at now: Instant) throws(StorageError) {
    if let wanted = window.wanted(at: now) {
      let events = try file.waitingEvents(
        ofLane: wanted.lane.text, after: wanted.after, through: window.seen, limit: wanted.limit, of: realm)
      window.take(events.map(\.number), of: wanted)
      if wanted.attempts > 0 { unsent.reopened[wanted.lane] = events.isEmpty ? 0 : wanted.attempts }
      unsent.deliveries += events.map(delivery)
    } else if window.wantsMore, nextTrial ?? now <= now {
      try readOn(&file, at: now)
    }
    notice.isAfterEvents = false
  }

  private mutating func readOn(_ file: inout RecordFile, at now: Instant) throws(StorageError) {
    let last = window.last
    let isTrial = refusals >= Self.patience
    let step = isTrial ? Self.trials : EventWindow.step
    let events = try file.waitingEvents(after: window.seen, limit: step, of: realm)
    nextTrial = isTrial ? now + .seconds(1) : nil
    for event in events where !offer(event) { return }
    if events.count < step { window.skip(to: last) }
  }

  /// False where there is no space for it.
  @discardableResult
  private mutating func offer(_ event: StoredEvent) -> Bool {
    switch window.offer(event.number, lane: event.lane) {
    case .inHand: unsent.deliveries.append(delivery(event))
    case .behind: break
    case .full: return false
    }
    return true
  }

  private func delivery(_ event: StoredEvent) -> Delivery {
    let (end, isOver) = event.at.addingReportingOverflow(keep.time.milliseconds)
    return Delivery(
      id: event.id, number: event.number, lane: event.lane, body: Array(event.body.utf8),
      expiresAt: isOver ? .max : end)
  }

  /// What is lost is told before what comes after it, and nothing else is read until it is taken, or has failed for some attempts.
  private mutating func tellLost(_ file: inout RecordFile, at now: Instant) throws(StorageError) {
    guard notice.isDue(at: now), !notice.isAfterEvents else { return }
    let lost = try file.lostEvents(of: realm)
    if notice.attempts > 0 { unsent.reopened[LossNotice.lane] = notice.attempts }
    guard let lost else { return notice = LossNotice(mayBeMore: false) }
    (notice.id, notice.due) = (lost.id, nil)
    let body =
      "{\"type\":\"lost\",\"id\":\"\(lost.id)\",\"from\":\(lost.from),\"to\":\(lost.to),\"realm\":\"\(realm.name)\"}"
    unsent.deliveries.append(
      Delivery(id: lost.id, lane: LossNotice.lane.text, part: .lost, body: Array(body.utf8), expiresAt: .max))
  }
}
