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
  /// Realms whose events cannot be read.
  private var troubles: [Realm: Trouble] = [:]

  private struct Trouble {
    /// What was said of it.
    var told: StorageError?
    var nextTry: Instant
  }

  /// What the log has to say of each realm: events that are kept no more, and those that were given up for others.
  private var lost: [Realm: RareLine] = [:]
  private var givenUp: [Realm: RareLine] = [:]

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
    return Set(feeds.keys).union(unopened.keys).compactMap { realm in
      guard let next = unopened[realm] == nil ? feeds[realm]?.nextPump(at: now) : now else { return nil }
      return max(next, troubles[realm]?.nextTry ?? next)
    }.min()
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
      case .returned(let realm, let lane):
        guard let change = feeds[realm]?.returned(lane) else { continue }
        changes.append(change)
        givenUp[realm, default: RareLine()].add()
      }
    }
    return changes
  }

  /// A transaction is on disk. What is lost comes first: it is told before what comes after it.
  mutating func committed(_ outcome: EventOutcome) {
    for (realm, count) in outcome.lost {
      feeds[realm]?.lost(count)
      lost[realm, default: RareLine()].add(count)
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

  /// Writes the lines that are due.
  mutating func say(at now: Instant) {
    for realm in lost.keys {
      guard let events = lost[realm]?.take(at: now) else { continue }
      log.warning("webhook_events_lost", ["realm": LogValue(realm.name), "events": LogValue(events)])
    }
    for realm in givenUp.keys {
      guard let events = givenUp[realm]?.take(at: now) else { continue }
      log.warning(
        "webhook_events_given_up",
        [
          "realm": LogValue(realm.name), "events": LogValue(events),
          "reason": "too many rooms and calls have an event that is not taken",
        ])
    }
  }

  /// Hands over what there is space for. Gives what is new of trouble with the file, which one realm may have and others not.
  mutating func pump(_ file: inout RecordFile, at now: Instant) -> StorageError? {
    say(at: now)
    var news: StorageError?
    for realm in Set(feeds.keys).union(unopened.keys) {
      if let nextTry = troubles[realm]?.nextTry, now < nextTry { continue }
      do throws(StorageError) {
        try pump(realm, &file, at: now)
        troubles[realm] = nil
      } catch {
        let isNews = news == nil && !troubles.values.contains { $0.told == error }
        troubles[realm] = Trouble(told: isNews ? error : troubles[realm]?.told, nextTry: now + Self.pause)
        if isNews { news = error }
      }
    }
    return news
  }

  private mutating func pump(_ realm: Realm, _ file: inout RecordFile, at now: Instant) throws(StorageError) {
    if let sink = unopened[realm] {
      feeds[realm] = try EventFeed(realm, keep: keep[realm] ?? EventKeep(), file: &file, sink: sink)
      unopened[realm] = nil
    }
    try feeds[realm]?.pump(&file, at: now)
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
