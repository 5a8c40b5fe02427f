// The queue in virtual time: order, retries, and what is not sent at all.

import Basics
import Testing

@testable import Webhooks

private struct Fixed: RandomNumberGenerator, Sendable {
  mutating func next() -> UInt64 { .max }
}

/// A queue with a clock.
private final class Bench {
  var queue: DeliveryQueue
  var now = Now(instant: .zero, wallMilliseconds: 1_000_000)
  /// What was sent, by id.
  var sent: [String] = []
  let ok = HTTPOutcome.answered(status: 200, retryAfter: nil)

  init(_ change: (inout DeliveryLimits) -> Void = { _ in }) {
    var limits = DeliveryLimits()
    change(&limits)
    queue = DeliveryQueue(limits, random: Fixed())
  }

  @discardableResult
  func add(_ id: String, _ lane: String = "l", _ part: Delivery.Part = .plain, seconds: Int64 = 86_400) -> Bool {
    queue.enqueue(
      Delivery(id: id, lane: lane, part: part, body: [1], expiresAt: now.wallMilliseconds + seconds * 1000), at: now)
  }

  /// Takes everything that may go out now.
  @discardableResult
  func take() -> [String] {
    var taken: [String] = []
    while let (delivery, _) = queue.next(at: now) { taken.append(delivery.id) }
    sent += taken
    return taken
  }

  func finish(_ id: String, _ outcome: HTTPOutcome? = nil) { queue.finished(id, outcome ?? ok, at: now) }

  func advance(_ delta: TimeDelta) { now = now.advanced(by: delta) }

  /// How those that are over ended.
  func ends() -> [String: SettledDelivery.End] {
    Dictionary(uniqueKeysWithValues: queue.takeSettled().map { ($0.delivery.id, $0.end) })
  }
}

@Suite struct QueueTests {
  private let down = HTTPOutcome.failed("Couldn't connect", mayHaveArrived: false)
  private let silent = HTTPOutcome.failed("Timeout", mayHaveArrived: true)
  private let broken = HTTPOutcome.answered(status: 503, retryAfter: nil)

  /// A lane that fails for hours is the oldest, however many messages of others come and go meanwhile.
  @Test func theOldestIsWhatReallyWaits() {
    let bench = Bench()
    #expect(bench.queue.oldest == nil)
    bench.add("stuck", "a")
    let began = bench.now.instant
    bench.take()
    bench.finish("stuck", broken)
    for number in 0..<5_000 {
      bench.advance(.milliseconds(10))
      bench.add("n\(number)", "b")
      bench.take()
      bench.finish("n\(number)")
      bench.finish("stuck", broken)
      #expect(bench.queue.oldest == began)
    }
    bench.add("newer", "b")
    let later = bench.now.instant
    while bench.queue.count > 1 {
      bench.advance(.seconds(60))
      if bench.take().contains("stuck") { bench.finish("stuck") }
    }
    #expect(bench.queue.oldest == later)
    bench.finish("newer")
    #expect(bench.queue.oldest == nil && bench.queue.count == 0)
  }

  @Test func aLaneIsInOrderAndLanesAreSideBySide() {
    let bench = Bench()
    for id in ["a1", "a2", "a3"] { bench.add(id, "a") }
    bench.add("b1", "b")
    #expect(bench.take() == ["a1", "b1"])
    bench.finish("a1")
    #expect(bench.take() == ["a2"])
    bench.finish("a2", broken)
    #expect(bench.take() == [], "what is behind a failure waits for it")
    bench.advance(.seconds(1))
    #expect(bench.take() == ["a2"])
    bench.finish("a2")
    #expect(bench.take() == ["a3"])
    bench.finish("a3")
    bench.finish("b1")
    #expect(bench.ends().values.allSatisfy { $0 == .delivered } && bench.queue.count == 0)
    #expect(bench.take() == [] && bench.queue.nextDeadline == nil)
  }

  @Test func soManyAtOnceAndNoMore() {
    let bench = Bench { $0.atOnce = 2 }
    for number in 0..<5 { bench.add("\(number)", "\(number)") }
    let first = bench.take()
    #expect(first.count == 2 && bench.queue.nextDeadline == nil && bench.take() == [])
    bench.finish(first[0])
    #expect(bench.take().count == 1 && Set(bench.sent).count == 3)
  }

  /// Rooms on whose events the web server hangs leave places for others, however many they are.
  @Test(arguments: [(1, 1), (2, 1), (3, 1), (4, 2), (9, 4)]) func whatFailsHasHalfOfThePlaces(atOnce: Int, again: Int) {
    let bench = Bench { $0.atOnce = atOnce }
    for number in 0..<20 { bench.add("bad\(number)", "bad\(number)") }
    for _ in 0..<20 {
      for id in bench.take() { bench.finish(id, silent) }
    }
    #expect(bench.sent.count == 20 && bench.queue.nextDeadline == .zero + .seconds(1))
    bench.advance(.seconds(2))
    let hanging = bench.take()
    #expect(hanging.count == again && bench.queue.nextDeadline == nil)
    if atOnce == 1 { bench.finish(hanging[0], silent) }
    // With one place they come in turn.
    for number in 0..<9 { bench.add("good\(number)", "good\(number)") }
    let good = bench.take()
    #expect(good.count == max(1, atOnce - again) && good.allSatisfy { $0.hasPrefix("good") }, "\(good)")
    for id in good { bench.finish(id) }
    let next = bench.take()
    #expect(next.contains { $0.hasPrefix("bad") } == (atOnce == 1), "\(next)")
  }

  @Test(arguments: [
    (400, true), (404, true), (422, true), (408, false), (425, false), (429, false), (301, false), (500, false),
  ]) func aRefusalSaysThatTheServerIsThere(status: Int, isRefused: Bool) {
    let bench = Bench {
      $0.ending = .goneAlone
      $0.attemptsInHand = 1
    }
    bench.queue.restore(Delivery(id: "1", number: 1, lane: "l", body: [], expiresAt: .max), at: bench.now)
    bench.take()
    bench.finish("1", .answered(status: status, retryAfter: nil))
    #expect(bench.queue.takeReturned().map(\.isRefused) == [isRefused])
  }

  @Test func pausesDoubleUpToTheLongest() {
    let bench = Bench { $0.longestRetry = .seconds(20) }
    bench.add("a")
    var pauses: [Int64] = []
    for _ in 0..<8 {
      bench.take()
      bench.finish("a", broken)
      let deadline = bench.queue.nextDeadline ?? .distantFuture
      pauses.append((deadline - bench.now.instant).milliseconds)
      bench.advance(deadline - bench.now.instant)
    }
    #expect(pauses == [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000])
  }

  @Test func chanceShortensThemByAHalfAtMost() {
    var seen: Set<Int64> = []
    for _ in 0..<100 {
      var queue = DeliveryQueue(DeliveryLimits())
      let now = Now(instant: .zero, wallMilliseconds: 0)
      _ = queue.enqueue(Delivery(id: "a", lane: "a", body: [], expiresAt: 86_400_000), at: now)
      _ = queue.next(at: now)
      queue.finished("a", broken, at: now)
      seen.insert(queue.nextDeadline?.nanoseconds ?? -1)
    }
    #expect(seen.count > 50 && seen.allSatisfy { (500_000_000...1_000_000_000).contains($0) })
  }

  @Test func theServerMaySayWhenToComeAgain() {
    let bench = Bench()
    bench.add("a")
    bench.take()
    bench.finish("a", .answered(status: 429, retryAfter: .seconds(42)))
    #expect(bench.queue.nextDeadline == .zero + .seconds(42))
  }

  /// What a server says that is being moved or begun again passes; of events 410 alone is final.
  @Test(arguments: [301, 302, 308, 404, 408, 500]) func someAnswersPass(status: Int) {
    for answers in [DeliveryLimits.Answers.everyRefusal, .goneAlone] {
      let bench = Bench { $0.ending = answers }
      bench.add("a", seconds: 60)
      bench.take()
      bench.finish("a", .answered(status: status, retryAfter: nil))
      #expect(bench.ends() == [:] && bench.queue.count == 1)
      bench.advance(.seconds(61))
      bench.take()
      #expect(bench.queue.count == 0 && bench.ends().count == 1, "never longer than it is worth something")
    }
  }

  @Test(arguments: [400, 401, 403, 413]) func anEventIsRefusedByGoneAlone(status: Int) {
    let bench = Bench { $0.ending = .goneAlone }
    bench.add("a")
    bench.take()
    bench.finish("a", .answered(status: status, retryAfter: nil))
    #expect(bench.ends() == [:])
    bench.advance(.seconds(1))
    bench.take()
    let gone = HTTPOutcome.answered(status: 410, retryAfter: nil)
    bench.finish("a", gone)
    #expect(bench.ends() == ["a": .refused(gone)])
  }

  @Test(arguments: [400, 401, 403, 410]) func aRefusalIsFinal(status: Int) {
    let bench = Bench()
    bench.add("a")
    bench.add("b")
    bench.take()
    let answer = HTTPOutcome.answered(status: status, retryAfter: nil)
    bench.finish("a", answer)
    #expect(bench.ends() == ["a": .refused(answer)] && bench.take() == ["b"])
  }

  /// What is on disk goes back there after some attempts, with all that is behind it, and comes again with its attempts.
  @Test func whatIsOnDiskWaitsThere() throws {
    #expect(DeliveryLimits().attemptsInHand == 3)
    let bench = Bench { $0.ending = .goneAlone }
    func event(_ number: Int64) -> Delivery {
      Delivery(id: "\(number)", number: number, lane: "l", body: [], expiresAt: .max)
    }
    for number in 1...2 as ClosedRange<Int64> { bench.queue.restore(event(number), at: bench.now) }
    for _ in 0..<3 {
      #expect(bench.take() == ["1"] && bench.queue.takeReturned().isEmpty)
      bench.finish("1", broken)
      bench.advance(.seconds(10))
    }
    let returned = bench.queue.takeReturned()
    #expect(returned.map(\.attempts) == [3] && returned.map(\.lane.text) == ["l"] && bench.queue.count == 0)
    #expect(returned.first.map { bench.now.instant - $0.due } == .seconds(6), "four seconds after the third")
    #expect(bench.queue.oldest == .zero, "it waits all the same")
    bench.queue.restore(event(3), at: bench.now)
    #expect(bench.take() == [], "handed over before that was known")
    bench.queue.reopen(ExactText("l"), attempts: 3, at: bench.now)
    bench.queue.restore(event(1), at: bench.now)
    #expect(bench.take() == ["1"] && bench.queue.oldest == .zero)
    bench.finish("1", broken)
    #expect(bench.queue.takeReturned().map(\.attempts) == [4])
    bench.queue.reopen(ExactText("l"), attempts: 0, at: bench.now)
    #expect(bench.take() == [] && bench.queue.oldest == nil, "nothing of it was left")
  }

  @Test func whatIsNotOnDiskWaitsHere() {
    let bench = Bench { $0.ending = .goneAlone }
    bench.add("a")
    for _ in 0..<9 {
      #expect(bench.take() == ["a"])
      bench.finish("a", broken)
      bench.advance(.seconds(300))
    }
    #expect(bench.queue.takeReturned().isEmpty && bench.queue.count == 1)
  }

  @Test func aFullQueueRefusesAndTakesAgain() {
    let bench = Bench { $0.waiting = 2 }
    #expect(bench.add("a") && bench.add("b") && !bench.add("c"))
    bench.take()
    bench.finish("a")
    #expect(bench.add("c"))
  }

  // MARK: - Looking again

  @Test func aRingThatIsOverIsNotSent() {
    let bench = Bench { $0.atOnce = 1 }
    bench.add("blocker", "other")
    bench.take()
    bench.add("ring", "l", .ring, seconds: 30)
    bench.advance(.seconds(31))
    bench.finish("blocker")
    #expect(bench.take() == [])
    #expect(bench.ends()["ring"] == .expired(last: nil))
    bench.add("cancel", "l", .cancel)
    #expect(bench.take() == [] && bench.ends() == ["cancel": .pointless], "nobody was rung")
  }

  @Test func aCancelledRingThatWaitsIsNotSentAndNeitherIsItsCancel() {
    let bench = Bench { $0.atOnce = 1 }
    bench.add("blocker", "other")
    bench.take()
    bench.add("ring", "l", .ring)
    bench.add("cancel", "l", .cancel)
    bench.add("missed", "l")
    bench.finish("blocker")
    #expect(bench.take() == ["missed"])
    #expect(bench.ends() == ["blocker": .delivered, "ring": .pointless, "cancel": .pointless])
  }

  @Test func theCancelFollowsARingThatArrivedOrMayHave() {
    for outcome in [HTTPOutcome.answered(status: 200, retryAfter: nil), silent, broken] {
      let bench = Bench()
      bench.add("ring", "l", .ring)
      #expect(bench.take() == ["ring"])
      bench.add("cancel", "l", .cancel)
      #expect(bench.take() == [], "in order")
      bench.finish("ring", outcome)
      #expect(bench.take() == ["cancel"], "the ring is over: it is not tried again")
      bench.finish("cancel")
      _ = bench.ends()
      bench.add("late", "l", .cancel)
      #expect(bench.take() == [], "taken back once")
    }
  }

  @Test func theCancelOfARingThatCannotHaveArrivedIsNotSent() {
    let bench = Bench()
    bench.add("ring", "l", .ring)
    bench.take()
    bench.add("cancel", "l", .cancel)
    bench.finish("ring", down)
    #expect(bench.take() == [] && bench.ends() == ["ring": .pointless, "cancel": .pointless])
  }

  @Test func aCancelDoesNotWaitForTheNextTryOfItsRing() {
    let bench = Bench()
    bench.add("ring", "l", .ring)
    bench.take()
    bench.finish("ring", broken)
    bench.add("cancel", "l", .cancel)
    #expect(bench.take() == ["cancel"])
  }

  @Test func aRingIsTriedAgainUntilItIsOver() {
    let bench = Bench()
    bench.add("ring", "l", .ring, seconds: 10)
    var attempts = 0
    while bench.queue.count > 0 {
      attempts += bench.take().count
      bench.finish("ring", down)
      guard let deadline = bench.queue.nextDeadline else { break }
      bench.advance(deadline - bench.now.instant)
    }
    #expect(attempts == 4 && bench.ends() == ["ring": .expired(last: down)])
  }

  @Test func afterARestartRingsAreOverAndCancelsGoOut() {
    let bench = Bench()
    for (id, part) in [("ring", Delivery.Part.ring), ("cancel", .cancel), ("missed", .plain)] {
      bench.queue.restore(Delivery(id: id, lane: "l", part: part, body: [], expiresAt: 2_000_000), at: bench.now)
    }
    #expect(bench.take() == ["cancel"])
    bench.finish("cancel")
    #expect(bench.take() == ["missed"])
  }

  /// One user was rung, taken back and rung again in one call while his server was down.
  @Test func afterARestartEveryCancelOfALaneGoesOut() {
    let bench = Bench()
    bench.queue.noteRing(in: "l", until: bench.now.wallMilliseconds + 30_000)
    let left: [(String, Delivery.Part)] = [("c1", .cancel), ("m1", .plain), ("c2", .cancel), ("m2", .plain)]
    for (id, part) in left {
      bench.queue.restore(Delivery(id: id, lane: "l", part: part, body: [], expiresAt: 2_000_000), at: bench.now)
    }
    bench.add("c3", "l", .cancel)
    for id in ["c1", "m1", "c2", "m2", "c3"] {
      #expect(bench.take() == [id])
      bench.finish(id)
    }
  }

  /// The process was killed before it could take the ring back; the next one does.
  @Test func theRingOfAnEarlierProcessIsTakenBack() {
    let bench = Bench()
    bench.add("for nothing", "l", .cancel)
    #expect(bench.take() == [] && bench.ends() == ["for nothing": .pointless])
    bench.queue.noteRing(in: "l", until: bench.now.wallMilliseconds + 30_000)
    bench.add("cancel", "l", .cancel)
    #expect(bench.take() == ["cancel"])
    bench.finish("cancel")
    bench.add("another", "l", .cancel)
    #expect(bench.take() == [], "once")
  }

  @Test func whatWasAcceptedBeforeARestartIsNotDroppedAfterIt() {
    let bench = Bench { ($0.waiting, $0.atOnce) = (2, 9) }
    for id in ["a", "b", "c"] {
      bench.queue.restore(Delivery(id: id, lane: id, body: [], expiresAt: 2_000_000), at: bench.now)
    }
    #expect(!bench.add("new") && bench.queue.count == 3)
    #expect(Set(bench.take()) == ["a", "b", "c"])
  }

  /// Random messages and outcomes for a long time: nothing is lost, nothing is sent twice at once, lanes keep their order.
  @Test(arguments: [1, 2, 3] as [UInt64]) func whateverHappensEverythingSettlesInOrder(seed: UInt64) {
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let bench = Bench()
    var (added, ended): ([String: [Int]], [String: [Int]]) = ([:], [:])
    var onTheirWay: [String] = []
    for number in 0..<3000 {
      switch random(3) {
      case 0:
        let lane = "\(random(5))"
        let part = [Delivery.Part.ring, .cancel, .plain, .plain][random(4)]
        if bench.add("\(lane)/\(number)", lane, part, seconds: Int64(random(100) + 1)) {
          added[lane, default: []].append(number)
        }
      case 1: onTheirWay += bench.take()
      default:
        if !onTheirWay.isEmpty {
          let outcome = [bench.ok, down, silent, broken][random(4)]
          bench.finish(onTheirWay.remove(at: random(onTheirWay.count)), outcome)
        }
      }
      #expect(Set(onTheirWay).count == onTheirWay.count && onTheirWay.count <= 4)
      bench.advance(.milliseconds(random(2000)))
      collect()
    }
    while bench.queue.count > 0 {
      bench.advance(.seconds(10))
      for id in onTheirWay + bench.take() { bench.finish(id) }
      onTheirWay = []
      collect()
    }
    #expect(added == ended)

    func collect() {
      for end in bench.queue.takeSettled() {
        let parts = end.delivery.id.split(separator: "/")
        ended[String(parts[0]), default: []].append(Int(parts[1]) ?? -1)
      }
    }
  }
}
