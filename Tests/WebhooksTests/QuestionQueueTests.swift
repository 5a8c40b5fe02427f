// Questions in virtual time: bounds, deadlines, retries, and when a server is left alone.

import Basics
import Testing

@testable import Webhooks

/// A queue with a clock.
private final class Line {
  var queue: QuestionQueue
  var now = Instant.zero
  private var made = 0

  init(_ change: (inout QuestionLimits) -> Void = { _ in }) {
    var limits = QuestionLimits()
    change(&limits)
    queue = QuestionQueue(limits)
  }

  /// Asks, and sends what may be sent.
  @discardableResult
  func ask() -> (id: String, place: QuestionQueue.Place) {
    made += 1
    return ("\(made)", queue.ask("\(made)", [1], at: now))
  }

  func send() -> [String] {
    var sent: [String] = []
    while let attempt = queue.next(at: now) { sent.append(attempt.id) }
    return sent
  }

  /// Asks and fails for good.
  func fail() -> QuestionQueue.Failure {
    let id = ask().id
    _ = send()
    return queue.failed(id, mayPass: false, at: now)
  }
}

@Suite struct QuestionQueueTests {
  @Test func soManyAtOnceAndSoManyBehind() {
    let line = Line { ($0.atOnce, $0.waiting) = (2, 3) }
    for _ in 0..<2 { #expect(line.ask().place == .taken) }
    #expect(line.send() == ["1", "2"])
    for _ in 0..<3 { #expect(line.ask().place == .taken) }
    #expect(line.ask().place == .full && line.send().isEmpty && line.queue.count == 5)
    #expect(line.queue.answered("1") == false && line.send() == ["3"])
    #expect(line.ask().place == .taken, "there is space again")
    #expect(line.queue.answered("1") == nil, "it has its answer")
  }

  @Test func whatMayPassIsTriedAgainAsOftenAsMayBe() {
    let line = Line { $0.attempts = 2 }
    line.ask()
    #expect(line.send() == ["1"])
    #expect(line.queue.failed("1", mayPass: true, at: line.now) == .again && line.send().isEmpty)
    line.now = line.queue.nextDeadline ?? .zero
    let second = line.queue.next(at: line.now)
    #expect(second?.number == 2 && second.map { $0.timeout < .seconds(2) } == true, "it has what is left of the time")
    #expect(line.queue.failed("1", mayPass: true, at: line.now) == .over(attempts: 2, down: nil))
    line.ask()
    #expect(line.send() == ["2"])
    #expect(line.queue.failed("2", mayPass: false, at: line.now) == .over(attempts: 1, down: nil), "a lie stays one")
    #expect(line.queue.count == 0)
  }

  @Test func eachHasADeadline() {
    let line = Line { $0.atOnce = 1 }
    line.ask()
    line.ask()
    #expect(line.send() == ["1"] && line.queue.popExpired(at: line.now) == nil)
    line.now = line.now + .seconds(2)
    let (first, second) = (line.queue.popExpired(at: line.now), line.queue.popExpired(at: line.now))
    #expect(first?.id == "1" && second?.id == "2" && second?.1 == .over(attempts: 0, down: nil))
    #expect(line.queue.failed("1", mayPass: true, at: line.now) == .unknown && line.queue.count == 0)
    line.ask()
    #expect(line.send() == ["3"], "what is over takes no place")
  }

  @Test func whoFailsAgainAndAgainIsLeftAlone() {
    let line = Line()
    for _ in 1..<CircuitBreaker.failures { #expect(line.fail() == .over(attempts: 1, down: nil)) }
    // The control: one success, and it begins anew.
    let good = line.ask().id
    _ = line.send()
    #expect(line.queue.answered(good) == false)
    for _ in 1..<CircuitBreaker.failures { #expect(line.fail() == .over(attempts: 1, down: nil)) }
    #expect(!line.queue.isDown && line.fail() == .over(attempts: 1, down: .seconds(2)))
    #expect(line.queue.isDown && line.ask().place == .down)
    // One probe at a time; each that fails doubles the break, up to a minute.
    var expected: Int64 = 2
    for _ in 0..<8 {
      line.now = line.now + .seconds(Int(expected))
      let probe = line.ask()
      #expect(probe.place == .taken && line.ask().place == .down && line.send() == [probe.id])
      expected = min(expected * 2, 60)
      let down = TimeDelta.seconds(Int(expected))
      #expect(line.queue.failed(probe.id, mayPass: false, at: line.now) == .over(attempts: 1, down: down))
      #expect(line.ask().place == .down)
    }
    line.now = line.now + .seconds(60)
    let probe = line.ask().id
    _ = line.send()
    #expect(line.queue.answered(probe) == true && !line.queue.isDown && line.ask().place == .taken)
  }

  /// What was asked before it was known says nothing new when it fails, and everything when it is answered.
  @Test func whatIsOnItsWayThen() {
    let line = Line()
    let before = (0..<3).map { _ in line.ask().id }
    _ = line.send()
    for _ in 0..<CircuitBreaker.failures { _ = line.fail() }
    #expect(line.queue.isDown)
    #expect(line.queue.failed(before[0], mayPass: true, at: line.now) == .over(attempts: 1, down: nil), "no second try")
    #expect(line.queue.answered(before[1]) == true && !line.queue.isDown)
  }

  @Test func whatWaitsIsGivenBack() {
    let line = Line { $0.atOnce = 1 }
    for _ in 0..<3 { line.ask() }
    #expect(line.send() == ["1"] && line.queue.takeWaiting() == ["2", "3"] && line.queue.count == 1)
    #expect(line.queue.takeWaiting().isEmpty)
  }
}
