// Hands events that are on disk to the thread that tells a web server of them, as many as it can use, and what is lost before what comes
// after it. Lives on the storage thread.

import Basics
import Names
import Storage
import Webhooks

/// What the thread that tells is given.
struct EventSupply: Sendable {
  /// To be delivered, in this order within each lane.
  var deliveries: [Delivery] = []
  /// What an earlier process was told not to send again.
  var dropped: [DroppedDelivery] = []

  var isEmpty: Bool { deliveries.isEmpty && dropped.isEmpty }
}

/// Takes a supply; false when there is no space for it.
typealias EventSink = @Sendable (EventSupply) -> Bool

/// The events of one realm.
struct EventFeed {
  private let realm: Realm
  private let keep: EventKeep
  private let sink: EventSink
  private var window: EventWindow
  /// What there was no space for.
  private var unsent = EventSupply()
  /// The message about lost events that is in hand.
  private var notice: String?
  private var mayHaveLost = true
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

  /// Whether there is more to be handed over at once.
  var isBusy: Bool {
    unsent.isEmpty && notice == nil && (mayHaveLost || window.wanted != nil || window.wantsMore)
  }

  /// Events have been written. They are handed over as they are where none before them is still to be read.
  mutating func written(_ events: [StoredEvent]) {
    waiting += events.count
    for event in events {
      let isNext = window.seen == window.last && notice == nil && !mayHaveLost
      window.note(last: event.number)
      if isNext { offer(event) }
    }
  }

  /// So many that waited on disk are lost.
  mutating func lost(_ count: Int) {
    waiting = max(0, waiting - count)
    mayHaveLost = true
  }

  /// What the thread that tells says.
  mutating func settled(_ change: EventChange) {
    switch change {
    case .delivered(_, let number), .expired(_, let number): settled(number)
    case .dropped(_, let event): settled(event.number)
    case .toldLost(_, let id): if notice == id { (notice, mayHaveLost) = (nil, true) }
    case .add, .missed, .toldDropped: break
    }
  }

  private mutating func settled(_ number: Int64) {
    if window.settle(number) { waiting = max(0, waiting - 1) }
  }

  /// Hands over what there is space for. Reads one step at the most.
  mutating func pump(_ file: inout RecordFile) throws(StorageError) {
    try tellLost(&file)
    if notice == nil { try read(&file) }
    guard !unsent.isEmpty, sink(unsent) else { return }
    unsent = EventSupply()
  }

  private mutating func read(_ file: inout RecordFile) throws(StorageError) {
    if let wanted = window.wanted {
      let events = try file.waitingEvents(
        ofLane: wanted.lane, after: wanted.after, through: window.seen, limit: wanted.limit, of: realm)
      window.take(events.map(\.number), ofLane: wanted.lane, wanted: wanted.limit)
      unsent.deliveries += events.map(delivery)
    } else if window.wantsMore {
      let last = window.last
      let events = try file.waitingEvents(after: window.seen, limit: EventWindow.step, of: realm)
      for event in events where !offer(event) { return }
      if events.count < EventWindow.step { window.skip(to: last) }
    }
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

  /// One message at a time, and nothing else before it is taken: what is lost is told before what comes after it.
  private mutating func tellLost(_ file: inout RecordFile) throws(StorageError) {
    guard mayHaveLost, notice == nil else { return }
    guard let lost = try file.lostEvents(of: realm) else { return mayHaveLost = false }
    notice = lost.id
    let body =
      "{\"type\":\"lost\",\"id\":\"\(lost.id)\",\"from\":\(lost.from),\"to\":\(lost.to),\"realm\":\"\(realm.name)\"}"
    unsent.deliveries.append(
      Delivery(id: lost.id, lane: "", part: .lost, body: Array(body.utf8), expiresAt: .max))
  }
}
