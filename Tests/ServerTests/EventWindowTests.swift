// Which events are in hand, and what a web server is handed of a file in which many wait.

import Basics
import Names
import TestSupport
import Testing
import Webhooks

@testable import Server
@testable import Storage

@Suite struct EventWindowTests {
  /// A file with a feed, and what came of it.
  private final class Desk {
    let folder: TemporaryFolder
    var file: RecordFile
    var feed: EventFeed
    private let supplied = Locked<[EventSupply]>([])
    private let isFull = Locked(false)

    init(_ events: [EventChange], keep: EventKeep = EventKeep()) throws {
      folder = try TemporaryFolder()
      file = try RecordFile(path: folder.path("roost.db"), wallMilliseconds: 0)
      try file.apply([], events: events, wallMilliseconds: 0)
      let (supplied, isFull) = (supplied, isFull)
      feed = try EventFeed(.default, keep: keep, file: &file) { supply in
        if isFull.withLock({ $0 }) { return false }
        supplied.withLock { $0.append(supply) }
        return true
      }
    }

    var isBusy: Bool { feed.nextPump(at: .zero).map { $0 <= .zero } ?? false }

    func fill(_ isFull: Bool) { self.isFull.withLock { $0 = isFull } }

    /// What is handed over until there is no more to be done.
    func pump() throws -> [Delivery] {
      supplied.withLock { $0 = [] }
      repeat { try feed.pump(&file, at: .zero) } while isBusy
      return supplied.withLock { $0.flatMap(\.deliveries) }
    }

    func deliver(_ numbers: [Int64]) throws {
      for number in numbers {
        feed.settled(.delivered(.default, number))
        try file.apply([], events: [.delivered(.default, number)], wallMilliseconds: 0)
      }
    }

    func write(_ events: [EventChange], trim: EventTrim? = nil, at time: Int64 = 0) throws {
      let outcome = try file.apply([], events: events, trim: trim, wallMilliseconds: time)
      for (_, count) in outcome.lost { feed.lost(count) }
      feed.written(outcome.numbered)
    }
  }

  private func events(_ count: Int, from first: Int = 1, lane: (Int) -> String = { "\($0 % 500)" }) -> [EventChange] {
    (first..<first + count).map {
      .add(NewEvent(id: "e\($0)", lane: lane($0), at: 1000, body: "{\"type\":\"room.joined\"}"))
    }
  }

  /// However many wait, so many are in memory; all come, in order, as others are taken.
  @Test func soManyAreInHandAndTheRestFollowsInOrder() throws {
    #expect(EventWindow.most == 1024 && EventWindow.step == 256)
    let desk = try Desk(events(5000))
    var all = try desk.pump().compactMap(\.number)
    #expect(all.count > EventWindow.most / 2 && all.count <= EventWindow.most && desk.feed.waiting == 5000)
    var open = all
    while !open.isEmpty {
      try desk.deliver(Array(open.prefix(100)))
      open.removeFirst(min(100, open.count))
      let more = try desk.pump().compactMap(\.number)
      open += more
      all += more
      #expect(open.count <= EventWindow.most && desk.feed.inHand == Set(open))
    }
    #expect(all == Array(1...5000) && desk.feed.waiting == 0 && !desk.isBusy)
    // From now on they are handed over without being read.
    try desk.write(events(3, from: 5001))
    #expect(try desk.pump().compactMap(\.number) == [5001, 5002, 5003])
  }

  /// A room that the web server does not take holds up no other, and comes in order when it is taken.
  @Test func soManyOfOneLaneAreInHand() throws {
    #expect(EventWindow.mostOfLane == 64)
    let desk = try Desk(events(4000) { $0 <= 3000 ? "stuck" : "\($0)" })
    let first = try desk.pump()
    #expect(first.count { $0.lane == "stuck" } == 64 && first.compactMap(\.number).contains(3500))
    try desk.deliver(first.filter { $0.lane != "stuck" }.compactMap(\.number))
    var stuck = first.filter { $0.lane == "stuck" }.compactMap(\.number)
    var taken: [Int64] = []
    while let number = stuck.first {
      stuck.removeFirst()
      taken.append(number)
      try desk.deliver([number])
      let more = try desk.pump()
      stuck += more.filter { $0.lane == "stuck" }.compactMap(\.number)
      try desk.deliver(more.filter { $0.lane != "stuck" }.compactMap(\.number))
    }
    #expect(taken == Array(1...3000) && desk.feed.waiting == 0)
  }

  @Test func whatThereIsNoSpaceForIsHandedOverLater() throws {
    let desk = try Desk(events(10))
    desk.fill(true)
    try desk.feed.pump(&desk.file, at: .zero)
    desk.fill(false)
    #expect(try desk.pump().compactMap(\.number) == Array(1...10))
  }

  /// Lanes that rest take no place, but a name each; so many and no more.
  @Test func soManyLanesRest() {
    #expect(EventWindow.mostResting == 16_384 && EventWindow.mostRetried == 64)
    var window = EventWindow(last: 20_000)
    let due = Instant.zero + .seconds(4)
    for number in 1...16_384 as ClosedRange<Int64> {
      let place = window.offer(number, lane: "\(number)")
      let rests = window.rest(ExactText("\(number)"), attempts: 3, until: due)
      #expect(place == .inHand && rests)
    }
    let place = window.offer(16_385, lane: "new")
    #expect(window.count == 0 && place == .full && !window.wantsMore)
    #expect(window.wanted(at: .zero) == nil && window.nextDue == due)
    // When they are due so many come at once, one event each.
    var retried: [Int64] = []
    while let wanted = window.wanted(at: due) {
      #expect(wanted.limit == 1 && wanted.attempts == 3)
      retried.append(wanted.after + 1)
      window.take([wanted.after + 1], of: wanted)
    }
    let after = window.offer(16_385, lane: "new")
    #expect(retried.count == 64 && after == .inHand, "there is space again")
    window.settle(retried[0])
    #expect(window.wanted(at: due) != nil)
  }

  /// Where so many rest, who has failed for longest makes space, and begins again with what comes next.
  @Test func whoHasFailedForLongestMakesSpace() throws {
    var window = EventWindow(last: 20_000)
    for number in 1...16_384 as ClosedRange<Int64> {
      let early = window.giveUp()
      #expect(early == nil)
      _ = window.offer(number, lane: "\(number)")
      _ = window.rest(ExactText("\(number)"), attempts: 3, until: .zero + .milliseconds(Int(number)))
    }
    // The first has been tried once more since, and has failed for longest all the same.
    let wanted = try #require(window.wanted(at: .zero + .milliseconds(1)))
    #expect(wanted.lane == ExactText("1"))
    window.take([1], of: wanted)
    let (isResting, behind) = (window.rest(wanted.lane, attempts: 4, until: .zero + .seconds(99)), wanted.after + 1)
    let (first, second) = (window.giveUp(), window.giveUp())
    let end = try #require(first)
    #expect(isResting && end.lane == wanted.lane && end.number == behind && second == nil)
    let next = try #require(window.wanted(at: .zero))
    #expect(next.lane == end.lane && next.after == 1 && next.attempts == 0)
    let place = window.offer(16_385, lane: "new")
    #expect(place == .inHand)
  }

  /// What is lost is told before what comes behind it, and by a message that is the only new one until it is taken.
  @Test func lossesAreToldBeforeTheNext() throws {
    let desk = try Desk(events(3000))
    let inHand = try desk.pump().compactMap(\.number)
    let trim = EventTrim(
      keep: [.default: EventKeep(time: .seconds(1), size: 1 << 30)], inHand: [.default: desk.feed.inHand])
    for _ in 0..<9 { try desk.write([], trim: trim, at: 60_000) }
    try desk.write(events(1, from: 3001))
    let notice = try desk.pump()
    #expect(notice.map(\.part) == [.lost])
    let body = String(decoding: try #require(notice.first).body, as: UTF8.self)
    #expect(body.contains("\"type\":\"lost\"") && body.contains("\"from\":\((inHand.max() ?? 0) + 1),\"to\":3000,"))
    try desk.deliver(inHand)
    #expect(try desk.pump().isEmpty, "nothing overtakes it")
    let told = EventChange.toldLost(.default, id: notice[0].id)
    try desk.file.apply([], events: [told], wallMilliseconds: 0)
    desk.feed.settled(told)
    #expect(try desk.pump().compactMap(\.number) == [3001])
  }
}
