// Events that a web server does not take hold up no others, in virtual time: the feed of a file, the queue behind it, and a server that answers.

import Basics
import Names
import TestSupport
import Testing

@testable import Server
@testable import Storage
@testable import Webhooks

@Suite struct RefusedEventTests {
  /// From a record file to a web server.
  private final class Line {
    let folder: TemporaryFolder
    var file: RecordFile
    var feed: EventFeed
    var queue: DeliveryQueue
    var now = Now(instant: .zero, wallMilliseconds: 1000)
    /// What was taken, in order.
    var taken: [Delivery] = []
    var tries = 0
    var trim = EventTrim()
    private let supplied: Locked<[EventSupply]>

    /// `attemptsInHand` says when what is not taken goes back to disk.
    init(
      _ events: [EventChange], attemptsInHand: Int = DeliveryLimits().attemptsInHand,
      mostResting: Int = EventWindow.mostResting
    ) throws {
      folder = try TemporaryFolder()
      file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
      try file.apply([], events: events, wallMilliseconds: 0)
      let supplied = Locked<[EventSupply]>([])
      self.supplied = supplied
      feed = try EventFeed(.default, keep: EventKeep(), file: &file, mostResting: mostResting) { supply in
        supplied.withLock { $0.append(supply) }
        return true
      }
      var limits = DeliveryLimits()
      (limits.ending, limits.attemptsInHand) = (.goneAlone, attemptsInHand)
      queue = DeliveryQueue(limits)
    }

    /// Goes on for so long; `answer` gives the status for a message.
    func run(_ time: TimeDelta, until isDone: () -> Bool = { false }, answer: (Delivery) throws -> Int) throws {
      let end = now.instant + time
      while !isDone() {
        try feed.pump(&file, at: now.instant)
        for supply in takeSupplied() {
          for (lane, attempts) in supply.reopened { queue.reopen(lane, attempts: attempts, at: now) }
          for delivery in supply.deliveries { queue.restore(delivery, at: now) }
        }
        while let (delivery, _) = queue.next(at: now) {
          tries += 1
          let status = try answer(delivery)
          if status == 200 { taken.append(delivery) }
          queue.finished(delivery.id, .answered(status: status, retryAfter: nil), at: now)
        }
        if try settle() { continue }
        let deadlines = [feed.nextPump(at: now.instant), queue.nextDeadline].compactMap { $0 }
        guard let next = deadlines.min(), next <= end else { return }
        if next > now.instant { now = now.advanced(by: next - now.instant) }
      }
    }

    private func takeSupplied() -> [EventSupply] {
      supplied.withLock { all in
        defer { all = [] }
        return all
      }
    }

    /// True where something came back.
    private func settle() throws -> Bool {
      var changes: [EventChange] = []
      for settled in queue.takeSettled() {
        if settled.delivery.part == .lost {
          changes.append(.toldLost(.default, id: settled.delivery.id))
        } else if let number = settled.delivery.number {
          changes.append(.delivered(.default, number))
        }
      }
      for change in changes { feed.settled(change) }
      let returned = queue.takeReturned()
      changes += returned.compactMap { feed.returned($0) }
      if !changes.isEmpty { try write(changes) }
      return !changes.isEmpty || !returned.isEmpty
    }

    func write(_ events: [EventChange]) throws {
      var trim = trim
      trim.inHand = [.default: feed.inHand]
      let outcome = try file.apply([], events: events, trim: trim, wallMilliseconds: 1000)
      for (_, count) in outcome.lost { feed.lost(count) }
      feed.written(outcome.numbered)
    }
  }

  private func events(_ count: Int, from first: Int = 1, lane: (Int) -> String = { "\($0)" }) -> [EventChange] {
    (first..<first + count).map {
      .add(NewEvent(id: "e\($0)", lane: lane($0), at: 1000, body: "{\"type\":\"x\"}"))
    }
  }

  @Test func whateverIsRefusedOthersAreTaken() throws {
    func reaches(_ attempts: Int) throws -> Bool {
      let line = try Line(events(1100) + events(1, from: 1101) { _ in "good" }, attemptsInHand: attempts)
      try line.run(.seconds(60), until: { !line.taken.isEmpty }) { $0.lane == "good" ? 200 : 422 }
      return line.taken.map(\.lane) == ["good"]
    }
    #expect(try reaches(DeliveryLimits().attemptsInHand))
    #expect(try !reaches(.max), "in hand for good, as a control")
  }

  /// After a restart what is refused is read first. It does not look like a server that is down.
  @Test func whatIsRefusedIsPassedQuickly() throws {
    func time(_ status: Int) throws -> TimeDelta {
      let line = try Line(events(1500) + events(1, from: 1501) { _ in "good" })
      try line.run(.seconds(600), until: { !line.taken.isEmpty }) { $0.lane == "good" ? 200 : status }
      return line.now.instant - .zero
    }
    #expect(try time(422) < .seconds(15))
    #expect(try time(503) > .seconds(40), "sixteen a second, as a control")
  }

  /// While the server may be down few are begun, but what waits behind others is passed.
  @Test func whatIsOnlyReadIsNoTrial() throws {
    let line = try Line(events(3000) { "\($0 % 300)" } + events(1, from: 3001) { _ in "good" })
    try line.run(.seconds(30), until: { !line.taken.isEmpty }) { $0.lane == "good" ? 200 : 503 }
    #expect(line.taken.map(\.lane) == ["good"])
  }

  /// As many rooms rest as may: others are begun all the same. What is given up is told as lost, and kept.
  @Test func tooManyThatAreRefusedHoldUpNothing() throws {
    func line(_ status: Int) throws -> Line {
      let line = try Line(events(800) + events(1, from: 801) { _ in "good" }, mostResting: 260)
      try line.run(.seconds(100), until: { line.taken.contains { $0.lane == "good" } }) {
        $0.lane == "good" || $0.part == .lost ? 200 : status
      }
      return line
    }
    let up = try line(422)
    try up.run(.seconds(20)) { $0.part == .lost ? 200 : 422 }
    #expect(up.taken.contains { $0.lane == "good" })
    var told: Set<Int> = []
    for notice in up.taken where notice.part == .lost {
      let body = String(decoding: notice.body, as: UTF8.self)
      let range = try #require(body.firstMatch(of: /"from":(\d+),"to":(\d+)/))
      told.formUnion(try #require(Int(range.1))...(try #require(Int(range.2))))
    }
    #expect(up.feed.waiting == 259 && told.count == 800 - 259, "\(up.feed.waiting), \(told.count)")
    #expect(try up.file.lostEvents(of: .default) == nil)
    #expect(try up.file.events(EventQuery(after: 0)).events.count == 801, "they are kept for who asks")
    // Not while the server may be down: it will take what waits.
    let down = try line(503)
    #expect(try down.taken.isEmpty && down.feed.waiting == 801 && down.file.lostEvents(of: .default) == nil)
    try down.run(.seconds(900)) { _ in 200 }
    #expect(down.taken.count == 801)
  }

  /// Their attempts go on with longer pauses, and when they are taken at last each room has its order.
  @Test func whatWasRefusedComesInOrder() throws {
    let line = try Line(events(600) { "\($0 % 60)" })
    try line.run(.seconds(900)) { _ in 503 }
    #expect(line.taken.isEmpty && line.feed.inHand.count <= EventWindow.most)
    #expect(line.tries < 60 * 14, "\(line.tries) tries: the pauses grow to five minutes")
    try line.write(events(60, from: 601) { "\($0 % 60)" })
    try line.run(.seconds(900)) { _ in 200 }
    #expect(line.taken.count == 660 && line.feed.waiting == 0 && line.feed.inHand.isEmpty)
    for (_, lane) in Dictionary(grouping: line.taken, by: \.lane) {
      let numbers = lane.compactMap(\.number)
      #expect(numbers == numbers.sorted() && numbers.count == 11)
    }
  }

  /// A server that is down is not asked about one room after the other without a pause.
  @Test func fewAreTriedWhileNothingIsTaken() throws {
    #expect(EventFeed.patience == 256 && EventFeed.trials == 16)
    let line = try Line(events(1400))
    var lanes: Set<String> = []
    try line.run(.seconds(10)) { delivery in
      lanes.insert(delivery.lane)
      return 503
    }
    // Those that were in hand at first, and some each second. Without a pause it would be all.
    #expect((EventWindow.most / 2..<1250).contains(lanes.count), "\(lanes.count) rooms")
    try line.run(.seconds(60), until: { lanes.count == 1400 }) { delivery in
      lanes.insert(delivery.lane)
      return 200
    }
    #expect(lanes.count == 1400 && line.now.instant < .zero + .seconds(20), "and not when it takes something again")
  }

  /// A receiver of earlier days does not know what `lost` is.
  @Test func aLossThatIsRefusedHoldsUpNothing() throws {
    func taken(_ attempts: Int) throws -> Int {
      let line = try Line([.missed(.default, 3)] + events(2000), attemptsInHand: attempts)
      try line.run(.seconds(3600), until: { line.taken.count == 2000 }) { $0.part == .lost ? 422 : 200 }
      try line.write(events(1, from: 2001))
      try line.run(.seconds(3600), until: { line.taken.count == 2001 }) { $0.part == .lost ? 422 : 200 }
      #expect(try line.file.lostEvents(of: .default) != nil)
      return line.taken.count
    }
    #expect(try taken(DeliveryLimits().attemptsInHand) == 2001)
    #expect(try taken(.max) == 2001, "however long its attempts take")
    let line = try Line([.missed(.default, 3)] + events(20), attemptsInHand: .max)
    try line.run(.milliseconds(9900)) { $0.part == .lost ? 422 : 200 }
    #expect(line.taken.isEmpty, "nothing comes before it for ten seconds, as a control")
  }

  @Test func aLossThatIsTakenLaterIsToldOnce() throws {
    let line = try Line([.missed(.default, 3)] + events(10))
    try line.run(.seconds(100)) { $0.part == .lost ? 422 : 200 }
    #expect(line.taken.count == 10)
    try line.run(.seconds(600)) { _ in 200 }
    #expect(line.taken.count == 11 && line.taken.last?.part == .lost)
    #expect(try line.file.lostEvents(of: .default) == nil)
  }

  /// The file is at its limit, and the server slower than what happens: it gets events all the same.
  @Test func betweenTwoLossesEventsAreTaken() throws {
    let size = Int64(#"{"id":"e1000","number":1000,"type":"x"}"#.utf8.count)
    let line = try Line(events(1200) { "\($0 % 500)" })
    line.trim.keep = [.default: EventKeep(time: .seconds(1_000_000), size: 1000 * size)]
    var (next, lost) = (1201, 0)
    try line.run(.seconds(60), until: { line.taken.count > 1000 }) { delivery in
      // Meanwhile more happens than fits.
      try line.write(events(4, from: next) { "\($0 % 500)" })
      next += 4
      if delivery.part == .lost { lost += 1 }
      return 200
    }
    #expect(lost > 1)
    #expect(line.taken.count { $0.part == .plain } > 20 * lost, "\(lost) losses, \(line.taken.count) messages")
  }
}
