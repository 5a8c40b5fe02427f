// Events in the record file: their numbers, what waits, what is lost when there is no time or space for it, and the question for all after a
// number.

import Basics
import Members
import Names
import Testing

@testable import Storage

@Suite struct EventTests {
  private func event(_ id: String, lane: String = "demo", at: Int64 = 1000, padding: Int = 0) -> EventChange {
    let body = "{\"type\":\"room.joined\",\"x\":\"\(String(repeating: "x", count: padding))\"}"
    return .add(NewEvent(id: id, lane: lane, at: at, body: body))
  }

  private func waiting(_ file: inout RecordFile) throws -> [Int64] {
    try file.waitingEvents(after: 0, limit: 10_000, of: .default).map(\.number)
  }

  @Test func numbersHaveNoGapsAndEachRealmHasItsOwn() throws {
    let folder = try Folder()
    let clinic = try #require(Realm("clinic"))
    try folder.open { file in
      let other = EventChange.add(NewEvent(id: "c", lane: "demo", at: 1, body: "{\"a\":1}", realm: clinic))
      let outcome = try file.apply([], events: [event("a"), other, event("b")], wallMilliseconds: 0)
      #expect(outcome.numbered.map(\.number) == [1, 1, 2])
      #expect(outcome.numbered[1].body == #"{"id":"c","number":1,"a":1}"#)
    }
    try folder.open { file in
      #expect(try file.apply([], events: [event("d")], wallMilliseconds: 0).numbered.map(\.number) == [3])
      #expect(try waiting(&file) == [1, 2, 3])
      try file.apply([], events: [.delivered(.default, 2)], wallMilliseconds: 0)
      #expect(try waiting(&file) == [1, 3] && file.eventFigures(of: .default) == (2, 3))
      #expect(try file.events(EventQuery(after: 0)).events.map(\.id) == ["a", "b", "d"], "what is delivered stays")
    }
  }

  /// What is not on disk has no number, and neither has what it tells of a place there.
  @Test func aNumberIsGivenWithTheCommit() throws {
    let folder = try Folder()
    try folder.open { file in
      try Database(path: folder.file).execute(
        "CREATE TRIGGER refusal BEFORE INSERT ON event WHEN NEW.id = 'b' BEGIN SELECT RAISE(ABORT, 'no space'); END")
      let change = RealmChange(.message(StoredMessage(1), forgetting: nil))
      #expect(throws: StorageError.self) {
        try file.apply([change], events: [event("a"), event("b")], wallMilliseconds: 0)
      }
      #expect(try waiting(&file) == [] && file.restore { _, _ in 9 }.chats.isEmpty)
      try Database(path: folder.file).execute("DROP TRIGGER refusal")
      let outcome = try file.apply([change], events: [event("b"), event("c")], wallMilliseconds: 0)
      #expect(outcome.numbered.map(\.number) == [1, 2] && outcome.numbered.map(\.id) == ["b", "c"])
    }
  }

  @Test func aFileThatIsBegunAnewGoesOnCounting() throws {
    let folder = try Folder()
    try folder.open { file in
      try file.apply([], events: [event("a"), event("b")], wallMilliseconds: 0)
      try Database(path: folder.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
      try folder.write(String(repeating: "x", count: 8192), to: "roost.db")
      #expect(throws: StorageError.self) { try file.apply([], events: [event("c")], wallMilliseconds: 0) }
      let outcome = try file.apply([], events: [event("c")], wallMilliseconds: 0)
      #expect(outcome.numbered.map(\.number) == [3])
      // What only the other file had is told as lost.
      let lost = try #require(try file.lostEvents(of: .default))
      #expect(lost.from == 1 && lost.to == 2)
    }
  }

  /// It is told with the next look at the file, also where nothing happens any more in that realm.
  @Test func whatOnlyTheOtherFileHeldIsToldAtOnce() throws {
    let folder = try Folder()
    try folder.open { file in
      try file.apply([], events: [event("a"), event("b")], wallMilliseconds: 0)
      try file.setAside(because: StorageError(.damaged, "a page"), wallMilliseconds: 0)
      #expect(try file.lostEvents(of: .default) == nil)
      #expect(try file.apply([], trim: EventTrim(), wallMilliseconds: 0).lost == [.default: 0])
      let lost = try #require(try file.lostEvents(of: .default))
      #expect(lost.from == 1 && lost.to == 2 && file.takeNotices().count == 1)
      #expect(try file.apply([], trim: EventTrim(), wallMilliseconds: 0).lost == [:], "once")
    }
  }

  /// What a transaction adds it does not take away again: it is handed over.
  @Test func whatIsAddedStaysForATransaction() throws {
    let folder = try Folder()
    try folder.open { file in
      try file.apply([], events: (1...5).map { event("\($0)", padding: 1000) }, wallMilliseconds: 1000)
      let trim = EventTrim(
        keep: [.default: EventKeep(time: .seconds(1000), size: 2000)], inHand: [.default: [1, 2, 3]])
      let outcome = try file.apply([], events: [event("6", padding: 1000)], trim: trim, wallMilliseconds: 1000)
      #expect(outcome.numbered.map(\.number) == [6] && outcome.lost == [.default: 2])
      #expect(try waiting(&file) == [1, 2, 3, 6])
      #expect(try file.apply([], trim: trim, wallMilliseconds: 1000).lost == [.default: 1])
    }
  }

  @Test func whatIsOldGoesAndWhatWaitedIsLost() throws {
    let folder = try Folder()
    let keep = EventTrim(keep: [.default: EventKeep(time: .seconds(10), size: 1 << 30)])
    try folder.open { file in
      let events = (1...6).map { event("\($0)", at: Int64($0) * 1000) }
      try file.apply([], events: events + [.delivered(.default, 1)], wallMilliseconds: 0)
      #expect(try file.apply([], trim: keep, wallMilliseconds: 11_000).lost == [:], "ten seconds are not over")
      #expect(try file.apply([], trim: keep, wallMilliseconds: 14_500).lost == [.default: 3])
      #expect(try waiting(&file) == [5, 6] && file.events(EventQuery(after: 0)).lost == 1...4)
      let lost = try #require(try file.lostEvents(of: .default))
      #expect(lost.from == 2 && lost.to == 4)
      // More is lost behind it: it is told as one, by a message of another name.
      try file.apply([], trim: keep, wallMilliseconds: 15_500)
      let more = try #require(try file.lostEvents(of: .default))
      #expect(more.from == 2 && more.to == 5 && more.id != lost.id)
      try file.apply([], events: [.toldLost(.default, id: lost.id)], wallMilliseconds: 0)
      #expect(try file.lostEvents(of: .default) == more)
      try file.apply([], events: [.toldLost(.default, id: more.id)], wallMilliseconds: 0)
      #expect(try file.lostEvents(of: .default) == nil)
    }
    #expect(try folder.open { try $0.apply([], events: [event("7")], wallMilliseconds: 0).numbered[0].number } == 7)
  }

  /// Roost did not write it, and it is as old as can be: it does not keep what comes after it for ever.
  @Test func aRowWithoutATimeGoes() throws {
    let folder = try Folder()
    let keep = EventTrim(keep: [.default: EventKeep(time: .seconds(10), size: 1 << 30)])
    try folder.open { file in
      try file.apply([], events: [event("a"), event("b", at: 50_000)], wallMilliseconds: 0)
      try file.connection?.execute("UPDATE event SET at = x'00' WHERE number = 1")
      #expect(try file.apply([], trim: keep, wallMilliseconds: 55_000).lost == [.default: 1])
      #expect(try waiting(&file) == [2])
      #expect(try file.apply([], trim: keep, wallMilliseconds: 65_000).lost == [.default: 1])
    }
  }

  /// A range has nothing in it that may still come.
  @Test func whatIsBeingSentStaysAndPartsWhatIsLost() throws {
    let folder = try Folder()
    let keep = EventTrim(
      keep: [.default: EventKeep(time: .seconds(1), size: 1 << 30)], inHand: [.default: [3]])
    try folder.open { file in
      try file.apply([], events: (1...5).map { event("\($0)") }, wallMilliseconds: 0)
      #expect(try file.apply([], trim: keep, wallMilliseconds: 60_000).lost == [.default: 4])
      let first = try #require(try file.lostEvents(of: .default))
      #expect(try waiting(&file) == [3] && first.from == 1 && first.to == 2)
      try file.apply([], events: [.toldLost(.default, id: first.id)], wallMilliseconds: 0)
      let second = try #require(try file.lostEvents(of: .default))
      #expect(second.from == 4 && second.to == 5)
    }
  }

  @Test func soManyBytesStay() throws {
    let folder = try Folder()
    try folder.open { file in
      var outcome = EventOutcome()
      let size = Int64(event("x", padding: 1000).bytes)
      let keep = EventTrim(keep: [.default: EventKeep(time: .seconds(1000), size: 10 * size)])
      for number in 0..<1200 {
        try file.apply([], events: [event("\(number % 10)", padding: 1000)], wallMilliseconds: 1000)
      }
      // In steps, so that nothing waits for long.
      outcome = try file.apply([], trim: keep, wallMilliseconds: 1000)
      #expect(outcome.hasMore && outcome.lost == [.default: EventLog.step])
      while outcome.hasMore { outcome = try file.apply([], trim: keep, wallMilliseconds: 1000) }
      let left = try file.events(EventQuery(after: 0)).events
      #expect((8...10).contains(left.count) && left.last?.number == 1200)
      #expect(try file.lostEvents(of: .default)?.to == 1200 - Int64(left.count))
    }
  }

  /// What found no space before it had a number gets one, and is lost.
  @Test func whatWasMissedIsNumberedAndLost() throws {
    let folder = try Folder()
    try folder.open { file in
      let outcome = try file.apply(
        [], events: [event("a"), .missed(.default, 3), event("b")], wallMilliseconds: 0)
      #expect(outcome.numbered.map(\.number) == [1, 5] && outcome.lost == [.default: 0])
      let lost = try #require(try file.lostEvents(of: .default))
      #expect(lost.from == 2 && lost.to == 4)
      #expect(try file.events(EventQuery(after: 1)).lost == 2...4)
    }
  }

  @Test func aQuestionHasBounds() throws {
    #expect(EventQuery.mostEvents == 1000 && EventQuery.mostBytes == 1 << 20)
    #expect(EventQuery(after: -5, limit: 0) == EventQuery(after: 0, limit: 1))
    #expect(EventQuery(after: 0, limit: 100_000).limit == 1000)
    let folder = try Folder()
    try folder.open { file in
      try file.apply([], events: (1...1500).map { event("\($0)") }, wallMilliseconds: 0)
      let first = try file.events(EventQuery(after: 0))
      #expect(first.events.map(\.number) == Array(1...1000) && first.last == 1500 && first.lost == nil)
      let second = try file.events(EventQuery(after: 1000))
      #expect(second.events.map(\.number) == Array(1001...1500))
      let none = try file.events(EventQuery(after: 1500))
      #expect(none.events.isEmpty && none.last == 1500 && none.lost == nil)
      #expect(try file.events(EventQuery(after: 9999)).lost == nil)
      #expect(try file.events(EventQuery(after: 0, limit: 7)).events.count == 7)
      let large = (1...3).map { event("large\($0)", padding: 700_000) }
      try file.apply([], events: large + [event("huge", padding: 2_000_000)], wallMilliseconds: 0)
      #expect(try file.events(EventQuery(after: 1500)).events.map(\.number) == [1501])
      #expect(try file.events(EventQuery(after: 1503)).events.map(\.number) == [1504], "one always fits")
      let clinic = try #require(Realm("clinic"))
      #expect(try file.events(EventQuery(after: 0), of: clinic).events.isEmpty)
    }
  }

  @Test func soManyDropsAreRemembered() throws {
    #expect(EventLog.mostDrops == 100)
    let folder = try Folder()
    try folder.open { file in
      let drops = (1...103).map { EventChange.dropped(.default, DroppedEvent(id: "\($0)", number: Int64($0))) }
      try file.apply([], events: (1...103).map { event("\($0)") } + drops, wallMilliseconds: 0)
      #expect(try file.droppedEvents(of: .default).map(\.number) == Array(4...103) && waiting(&file) == [])
      try file.apply([], events: [.toldDropped(.default, Array(4...102))], wallMilliseconds: 0)
    }
    #expect(try folder.open { try $0.droppedEvents(of: .default) } == [DroppedEvent(id: "103", number: 103)])
  }

  /// A million that wait cost no memory, and neither the next transaction nor the next page has to do with them.
  @Test func whatOneLaneHasIsFoundAmongMany() throws {
    let folder = try Folder()
    try folder.open { file in
      let events = (1...3000).map { event("\($0)", lane: $0 % 1000 == 0 ? "rare" : "busy") }
      try file.apply([], events: events, wallMilliseconds: 0)
      let rare = try file.waitingEvents(ofLane: "rare", after: 1000, through: 2999, limit: 9, of: .default)
      #expect(rare.map(\.number) == [2000] && rare.map(\.lane) == ["rare"])
    }
  }
}

extension EventChange {
  /// Of the body as it is kept under number 1000.
  fileprivate var bytes: Int { if case .add(let new) = self { new.numbered(1000).body.utf8.count } else { 0 } }
}
