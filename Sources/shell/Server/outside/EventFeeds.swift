// What the thread of the record file has to do with events: whom it hands them to, and when it looks for more of them.

import Basics
import Logging
import Names
import Storage

/// The events of all realms.
struct EventFeeds {
  /// How long the file is left alone after events could not be read from it.
  static let pause = TimeDelta.seconds(1)

  private let inbox: EventInbox
  private let keep: [Realm: EventKeep]
  private let log: Logger
  private var feeds: [Realm: EventFeed] = [:]
  /// Realms whose events could not be looked at yet.
  private var unopened: [Realm: EventSink] = [:]
  /// Whether events are left that are too old or too much.
  private(set) var hasMoreToTrim = false
  /// Why events could not be read; nil while they can.
  private var trouble: StorageError?
  private var nextTry: Instant?

  init(_ inbox: EventInbox, keep: [Realm: EventKeep], log: Logger) {
    (self.inbox, self.keep, self.log) = (inbox, keep, log)
  }

  /// Events that are not delivered yet, by realm.
  var waiting: [Realm: Int] { feeds.mapValues(\.waiting) }

  /// What is to be taken away, and what not.
  var trim: EventTrim { EventTrim(keep: keep, inHand: feeds.mapValues(\.inHand)) }

  /// When there is something to do: `now` or before it where that is at once.
  func nextDeadline(at now: Instant) -> Instant? {
    if hasMoreToTrim { return now }
    let next = feeds.values.compactMap { $0.nextPump(at: now) } + (unopened.isEmpty ? [] : [now])
    guard let first = next.min() else { return nil }
    return max(first, nextTry ?? first)
  }

  /// From now on events of a realm go there.
  mutating func follow(_ realm: Realm, _ sink: @escaping EventSink) { unopened[realm] = sink }

  /// What the thread that tells has said. The result is for the file.
  mutating func takeNews() -> [EventChange] {
    var changes: [EventChange] = []
    for news in inbox.takeAll() {
      switch news {
      case .change(let change):
        changes.append(change)
        if let realm = change.settledIn { feeds[realm]?.settled(change) }
      case .returned(let realm, let lane): feeds[realm]?.returned(lane)
      }
    }
    return changes
  }

  /// A transaction is on disk. What is lost comes first: it is told before what comes after it.
  mutating func committed(_ outcome: EventOutcome) {
    for (realm, count) in outcome.lost {
      feeds[realm]?.lost(count)
      if count > 0 {
        log.warning("webhook_events_lost", ["realm": LogValue(realm.name), "events": LogValue(count)])
      }
    }
    for (realm, events) in Dictionary(grouping: outcome.numbered, by: \.realm) { feeds[realm]?.written(events) }
    hasMoreToTrim = outcome.hasMore
  }

  /// A transaction was not taken: the next one may come when it would.
  mutating func failed() { hasMoreToTrim = false }

  /// The file is another one.
  mutating func begunAnew(_ file: inout RecordFile) {
    for realm in feeds.keys {
      if let figures = try? file.eventFigures(of: realm) { feeds[realm]?.begunAnew(waiting: figures.waiting) }
    }
  }

  /// Hands over what there is space for. Gives what is new of trouble with the file.
  mutating func pump(_ file: inout RecordFile, at now: Instant) -> StorageError? {
    if let nextTry, now < nextTry { return nil }
    do throws(StorageError) {
      for (realm, sink) in unopened {
        feeds[realm] = try EventFeed(realm, keep: keep[realm] ?? EventKeep(), file: &file, sink: sink)
        unopened[realm] = nil
      }
      for realm in feeds.keys { try feeds[realm]?.pump(&file, at: now) }
      (trouble, nextTry) = (nil, nil)
      return nil
    } catch {
      nextTry = now + Self.pause
      defer { trouble = error }
      return error == trouble ? nil : error
    }
  }
}

extension EventChange {
  /// The realm in which it says what became of something that was handed over.
  fileprivate var settledIn: Realm? {
    switch self {
    case .delivered(let realm, _), .dropped(let realm, _), .toldDropped(let realm, _), .expired(let realm, _),
      .toldLost(let realm, _):
      realm
    case .add, .missed: nil
    }
  }
}
