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

  /// How long what comes behind waits for the one in hand at most.
  static let patience = TimeDelta.seconds(10)
  /// When that is over; nil then.
  var firstUntil: Instant?

  /// Whether what comes behind waits for it. Who does not take it is told the rest.
  var isFirst: Bool { attempts == 0 && (id == nil ? mayBeMore && !isAfterEvents : firstUntil != nil) }

  func isDue(at now: Instant) -> Bool { mayBeMore && id == nil && due.map { $0 <= now } ?? true }
}

/// The events of one realm.
struct EventFeed {
  /// Lanes in a row that were not taken, after which few new ones are begun: the web server may be down.
  static let patience = 256

  /// Events that are begun each second then.
  static let trials = 16

  private let realm: Realm
  private let keep: EventKeep
  private let sink: EventSink
  private var window: EventWindow
  /// What there was no space for.
  private var unsent = EventSupply()
  private var notice = LossNotice()
  /// Lanes that were not taken since an event was, and of which the web server did not say that it does not want them.
  private var refusals = 0
  /// Events that were begun since the last pause.
  private var begun = 0
  private var nextTrial: Instant?
  /// Events that are not delivered yet, on disk and in hand.
  private(set) var waiting: Int

  /// Begins with what earlier processes left in the file.
  init(
    _ realm: Realm, keep: EventKeep, file: inout RecordFile, mostResting: Int = EventWindow.mostResting,
    sink: @escaping EventSink
  ) throws(StorageError) {
    (self.realm, self.keep, self.sink) = (realm, keep, sink)
    let figures = try file.eventFigures(of: realm)
    waiting = figures.waiting
    window = EventWindow(last: figures.last, mostResting: mostResting)
    unsent.dropped = try file.droppedEvents(of: realm).map { DroppedDelivery(id: $0.id, number: $0.number) }
  }

  /// Numbers of events that must stay on disk.
  var inHand: Set<Int64> { window.inHand }

  /// When there is more to be handed over: `now` or before it where that is at once. Nil where something else must happen first.
  func nextPump(at now: Instant) -> Instant? {
    guard unsent.isEmpty else { return nil }
    if notice.isDue(at: now) { return now }
    if notice.id != nil, notice.isFirst { return notice.firstUntil }
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

  /// Whether the web server may be down.
  private var isTrial: Bool { refusals >= Self.patience }

  /// A lane was not taken: it rests on disk. Where too many do, gives what is given up for it: not while the web server may be down, which
  /// will take what waits.
  mutating func returned(_ lane: ReturnedLane) -> EventChange? {
    // What there was no space for of it is on disk as well.
    unsent.deliveries.removeAll { lane.lane.text.isExactly($0.lane) }
    if lane.lane == LossNotice.lane {
      (notice.id, notice.attempts, notice.due) = (nil, max(lane.attempts, 1), lane.due)
      return nil
    }
    if !lane.isRefused { refusals += 1 }
    if !window.rest(lane.lane, attempts: lane.attempts, until: lane.due) { unsent.reopened[lane.lane] = 0 }
    guard !isTrial, let end = window.giveUp() else { return nil }
    unsent.reopened[end.lane] = 0
    waiting = max(0, waiting - 1)
    return .expired(realm, end.number)
  }

  // MARK: - Handing over

  /// Hands over what there is space for. Reads one step at the most.
  mutating func pump(_ file: inout RecordFile, at now: Instant) throws(StorageError) {
    // Also where the file cannot be read.
    defer { if !unsent.isEmpty, sink(unsent) { unsent = EventSupply() } }
    if let end = notice.firstUntil, end <= now { notice.firstUntil = nil }
    try tellLost(&file, at: now)
    if notice.id == nil || !notice.isFirst { try read(&file, at: now) }
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
    let events = try file.waitingEvents(after: window.seen, limit: EventWindow.step, of: realm)
    nextTrial = nil
    for event in events {
      switch offer(event) {
      case .full: return
      case .behind: continue
      case .inHand: begun += 1
      }
      if isTrial, begun >= Self.trials {
        (begun, nextTrial) = (0, now + .seconds(1))
        return
      }
    }
    if !isTrial { begun = 0 }
    if events.count < EventWindow.step { window.skip(to: last) }
  }

  @discardableResult
  private mutating func offer(_ event: StoredEvent) -> EventWindow.Place {
    let place = window.offer(event.number, lane: event.lane)
    if place == .inHand { unsent.deliveries.append(delivery(event)) }
    return place
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
    (notice.id, notice.due, notice.firstUntil) = (lost.id, nil, notice.attempts == 0 ? now + LossNotice.patience : nil)
    let body =
      "{\"type\":\"lost\",\"id\":\"\(lost.id)\",\"from\":\(lost.from),\"to\":\(lost.to),\"realm\":\"\(realm.name)\"}"
    unsent.deliveries.append(
      Delivery(id: lost.id, lane: LossNotice.lane.text, part: .lost, body: Array(body.utf8), expiresAt: .max))
  }
}
