// What the record file's thread has to do with events of all realms, and what comes to it of them.

import Basics
import Logging
import Names
import TestSupport
import Testing
import Webhooks

@testable import Server
@testable import Storage

@Suite struct EventFeedsTests {
  private func event(_ id: String) -> EventChange {
    .add(NewEvent(id: id, lane: id, at: 1000, body: "{\"type\":\"x\"}"))
  }

  private func deliveries(_ supplies: Locked<[EventSupply]>) -> [Delivery] {
    supplies.withLock { $0.flatMap(\.deliveries) }
  }

  private func followed(
    _ supplies: Locked<[EventSupply]>, inbox: EventInbox = EventInbox(), log: Logger = .disabled
  ) -> EventFeeds {
    var feeds = EventFeeds(inbox, keep: [:], log: log)
    feeds.follow(.default) { supply in
      supplies.withLock { $0.append(supply) }
      return true
    }
    return feeds
  }

  @Test func aFileThatCannotBeReadIsLeftAloneForAMoment() throws {
    let folder = try TemporaryFolder()
    var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
    try file.apply([], events: [event("a")], wallMilliseconds: 0)
    let supplies = Locked<[EventSupply]>([])
    var feeds = followed(supplies)
    var now = Instant.zero
    func fails(without table: String) throws {
      try file.connection?.execute("ALTER TABLE \(table) RENAME TO elsewhere")
      #expect(feeds.nextDeadline(at: now) == now && feeds.pump(&file, at: now) != nil)
      #expect(feeds.nextDeadline(at: now) == now + .seconds(1))
      #expect(feeds.pump(&file, at: now) == nil, "nothing is read before")
      now = now + .seconds(1)
      #expect(feeds.pump(&file, at: now) == nil, "it is said once")
      #expect(feeds.nextDeadline(at: now) == now + .seconds(1))
      try file.connection?.execute("ALTER TABLE elsewhere RENAME TO \(table)")
      now = now + .seconds(1)
      #expect(feeds.pump(&file, at: now) == nil)
    }
    // The first look at a realm's events is tried again as well.
    try fails(without: "event_series")
    #expect(deliveries(supplies).map(\.id) == ["a"])
    feeds.committed(try file.apply([], events: [.missed(.default, 1)], wallMilliseconds: 0))
    try fails(without: "lost_events")
    #expect(deliveries(supplies).map(\.part) == [.plain, .lost])
  }

  /// What cannot be read of one realm keeps nothing from others, nor what is in hand of its own.
  @Test func aRealmThatCannotBeReadIsAloneWithThat() throws {
    let folder = try TemporaryFolder()
    let clinic = try #require(Realm("clinic"))
    var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
    let new = NewEvent(id: "b", lane: "b", at: 1000, body: "{\"type\":\"x\"}", realm: clinic)
    let gone = EventChange.dropped(clinic, DroppedEvent(id: "gone", number: 7))
    try file.apply([], events: [event("a"), .add(new), gone], wallMilliseconds: 0)
    try file.connection?.execute("ALTER TABLE event RENAME TO whole")
    // The least integer has no absolute value: that is an error of SQLite.
    try file.connection?.execute(
      """
      CREATE VIEW event AS SELECT realm, number, id, lane, at, size,
        CASE realm WHEN 'clinic' THEN abs(-9223372036854775807 - (number > 0)) ELSE body END AS body FROM whole
      """)
    let (supplies, others) = (Locked<[EventSupply]>([]), Locked<[EventSupply]>([]))
    var feeds = followed(supplies)
    feeds.follow(clinic) { supply in
      others.withLock { $0.append(supply) }
      return true
    }
    for second in 0..<5 {
      let now = Instant.zero + .seconds(second)
      for step in 0..<4 {
        let trouble = feeds.pump(&file, at: now)
        #expect((trouble == nil) == (second + step > 0), "it is said once")
      }
    }
    #expect(deliveries(supplies).map(\.id) == ["a"] && deliveries(others).isEmpty)
    #expect(others.withLock { $0.flatMap(\.dropped).map(\.id) } == ["gone"])
    #expect(feeds.nextDeadline(at: .zero + .seconds(4)) == .zero + .seconds(5))
  }

  /// One transaction has lost some and added others: the loss is told first.
  @Test func aLossIsToldBeforeWhatTheSameTransactionAdds() throws {
    let folder = try TemporaryFolder()
    var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
    let supplies = Locked<[EventSupply]>([])
    var feeds = followed(supplies)
    while let next = feeds.nextDeadline(at: .zero), next <= .zero { #expect(feeds.pump(&file, at: .zero) == nil) }
    feeds.committed(try file.apply([], events: [.missed(.default, 3), event("a")], wallMilliseconds: 0))
    #expect(feeds.pump(&file, at: .zero) == nil)
    #expect(deliveries(supplies).map(\.part) == [.lost])
  }

  /// While the file is at its limit each transaction loses some.
  @Test func lossesAreLoggedOnceAMinute() throws {
    let folder = try TemporaryFolder()
    var file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
    let lines = Locked<[String]>([])
    let log = Logger(sink: { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
    var feeds = followed(Locked<[EventSupply]>([]), log: log)
    var outcome = EventOutcome()
    outcome.lost = [.default: 2]
    for second in 0..<130 {
      feeds.committed(outcome)
      let trouble = feeds.pump(&file, at: .zero + .seconds(second))
      #expect(trouble == nil)
    }
    feeds.say(at: .distantFuture)
    let events = lines.withLock { $0 }.filter { $0.contains("webhook_events_lost") }.compactMap {
      $0.split(separator: " ").last { $0.hasPrefix("events=") }.flatMap { Int($0.dropFirst(7).prefix { $0.isNumber }) }
    }
    #expect(events == [2, 120, 120, 18])
  }

  /// There is more to be taken away, and the disk does not let it: it is not tried all the time.
  @Test func whatCannotBeTakenAwayIsLeftForAMoment() {
    var feeds = EventFeeds(EventInbox(), keep: [:], log: .disabled)
    var outcome = EventOutcome()
    outcome.hasMore = true
    feeds.committed(outcome)
    #expect(feeds.nextDeadline(at: .zero) == .zero)
    feeds.failed()
    #expect(feeds.nextDeadline(at: .zero) == nil)
  }

  /// However many find no space while the disk hangs, they are a number each realm.
  @Test func whatFindsNoSpaceIsCounted() throws {
    let clinic = try #require(Realm("clinic"))
    let inbox = EventInbox()
    for _ in 0..<10_000 {
      inbox.miss(in: .default)
      inbox.miss(in: clinic)
    }
    #expect(inbox.add(.change(.delivered(.default, 7))) && !inbox.add(.change(.delivered(.default, 8))))
    var feeds = EventFeeds(inbox, keep: [:], log: .disabled)
    let changes = feeds.takeNews()
    #expect(Set(changes.prefix(2)) == [.missed(.default, 10_000), .missed(clinic, 10_000)])
    #expect(changes.dropFirst(2) == [.delivered(.default, 7), .delivered(.default, 8)] && feeds.takeNews().isEmpty)
  }
}
