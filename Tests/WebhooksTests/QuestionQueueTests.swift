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

  /// Asks; each question is somebody else's where nobody is named.
  @discardableResult
  func ask(
    of asker: String? = nil, bytes: Int = 1, since: Instant? = nil
  ) -> (id: String, place: QuestionQueue.Place) {
    made += 1
    let body = [UInt8](repeating: 1, count: bytes)
    let place = queue.ask("\(made)", body, of: .user(asker ?? "\(made)"), since: since ?? now, at: now)
    return ("\(made)", place)
  }

  /// Asks, sends it, and says what comes of that.
  func fail(_ failure: QuestionFailure = .unanswered, of asker: String? = nil) -> QuestionQueue.Failure {
    let id = ask(of: asker).id
    _ = send()
    return queue.failed(id, failure, mayPass: false, at: now)
  }

  func send() -> [String] {
    var sent: [String] = []
    while let attempt = queue.next(at: now) { sent.append(attempt.id) }
    return sent
  }

  /// Until it is down.
  func breakIt() { for _ in 0..<CircuitBreaker.failures { _ = fail() } }
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
    #expect(line.queue.failed("1", .unanswered, mayPass: true, at: line.now) == .again && line.send().isEmpty)
    line.now = line.queue.nextDeadline(at: line.now) ?? .zero
    let second = line.queue.next(at: line.now)
    #expect(second?.number == 2 && second?.timeout == .milliseconds(1_950), "it has what is left of the time")
    #expect(line.queue.failed("1", .unanswered, mayPass: true, at: line.now) == .over(attempts: 2, down: nil))
    line.ask()
    #expect(line.send() == ["2"])
    #expect(
      line.queue.failed("2", .unanswered, mayPass: false, at: line.now) == .over(attempts: 1, down: nil),
      "a lie stays one")
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
    #expect(line.queue.failed("1", .unanswered, mayPass: true, at: line.now) == .unknown && line.queue.count == 0)
    line.ask()
    #expect(line.send() == ["3"], "what is over takes no place")
  }

  /// Who was never sent says nothing of the server, however many they are.
  @Test func waitingIsNoFailureOfTheServer() {
    let line = Line { $0.atOnce = 1 }
    for _ in 0..<11 { line.ask() }
    #expect(line.send() == ["1"])
    line.now = line.now + .seconds(2)
    var ends: [QuestionQueue.Failure] = []
    while let (_, end) = line.queue.popExpired(at: line.now) { ends.append(end) }
    #expect(ends.count == 11 && ends.count { $0 == .over(attempts: 0, down: nil) } == 10 && !line.queue.isDown)
    // The control: those that were sent.
    for _ in 2...CircuitBreaker.failures { _ = line.fail() }
    #expect(line.queue.isDown)
  }

  /// A first attempt that hangs leaves time for another.
  @Test func onlyTheLastAttemptHasAllOfTheTime() {
    let line = Line { $0.attempts = 2 }
    let id = line.ask().id
    #expect(line.queue.next(at: line.now)?.timeout == .seconds(1))
    line.now = line.now + .seconds(1)
    #expect(line.queue.failed(id, .unanswered, mayPass: true, at: line.now) == .again)
    line.now = line.now + .milliseconds(50)
    #expect(line.queue.next(at: line.now)?.timeout == .milliseconds(950))
    let once = Line { $0.attempts = 1 }
    once.ask()
    #expect(once.queue.next(at: once.now)?.timeout == .seconds(2), "the control")
  }

  /// What has no time left is not sent, and wakes nobody before its end.
  @Test func whoHasNoTimeLeftIsNotSent() {
    let line = Line { $0.atOnce = 1 }
    line.ask()
    let second = line.ask().id
    #expect(line.send() == ["1"])
    line.now = .zero + .seconds(2) - .milliseconds(21)
    var early = line.queue
    _ = early.answered("1")
    let inTime = early.next(at: line.now)?.id
    #expect(inTime == second, "the control")
    line.now = .zero + .seconds(2) - .milliseconds(1)
    #expect(line.queue.answered("1") == false && line.send().isEmpty)
    #expect(line.queue.nextDeadline(at: line.now) == .zero + .seconds(2))
    // Nor does what was asked long ago begin anew.
    line.now = .zero + .seconds(5)
    #expect(line.ask(since: .zero + .seconds(3)).place == .full)
    let late = line.ask(since: .zero + .seconds(4)).id
    _ = line.queue.popExpired(at: line.now)
    let attempt = line.queue.next(at: line.now)
    #expect(attempt?.id == late && attempt?.timeout == .milliseconds(500))
  }

  // MARK: - Shares

  /// One for whom all hangs keeps nobody else waiting, and fills no line.
  @Test func nobodyHasMoreThanAShare() {
    let line = Line { ($0.atOnce, $0.waitingOfOne) = (16, 20) }
    let own = (0..<16).map { _ in line.ask(of: "A").id }
    #expect(line.send() == Array(own.prefix(4)), "a quarter")
    let other = line.ask(of: "B").id
    #expect(line.send() == [other], "at once, though twelve are before it")
    #expect(line.queue.nextDeadline(at: line.now) == .zero + .seconds(2), "those wake nobody")
    #expect(line.queue.answered(own[0]) == false && line.send() == [own[4]], "the oldest of A")
    let places = (0..<10).map { _ in line.ask(of: "A").place }
    #expect(places == Array(repeating: .taken, count: 9) + [.full])
    #expect(line.ask(of: "B").place == .taken, "the control: there is space for others")
    // Where one is as many as may be, it is the share too.
    let narrow = Line { $0.atOnce = 1 }
    narrow.ask(of: "A")
    #expect(narrow.send() == ["1"])
  }

  @Test func bytesAreBounded() {
    let line = Line { $0.bytes = 1_000 }
    #expect(line.ask(bytes: 600).place == .taken && line.ask(bytes: 401).place == .full)
    #expect(line.ask(bytes: 400).place == .taken && line.send() == ["1", "3"])
    #expect(line.queue.answered("1") == false && line.ask(bytes: 401).place == .taken, "there is space again")
  }

  @Test func whatNobodyWaitsForIsNotAsked() {
    let line = Line { $0.atOnce = 1 }
    for _ in 0..<3 { line.ask() }
    #expect(line.send() == ["1"] && line.queue.takeBack("2", at: line.now))
    #expect(!line.queue.takeBack("2", at: line.now) && !line.queue.takeBack("1", at: line.now), "that is on its way")
    #expect(line.queue.answered("1") == false && line.send() == ["3"] && line.queue.count == 1)
  }

  // MARK: - Down

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
    #expect(line.queue.breakLeft(at: line.now) == .seconds(2))
    #expect(line.queue.breakLeft(at: line.now + .milliseconds(500)) == .milliseconds(1500))
    // One probe at a time; each that fails doubles the break, up to a minute.
    var expected: Int64 = 2
    for _ in 0..<8 {
      line.now = line.now + .seconds(Int(expected))
      let probe = line.ask()
      #expect(probe.place == .taken && line.ask().place == .down && line.send() == [probe.id])
      expected = min(expected * 2, 60)
      let down = TimeDelta.seconds(Int(expected))
      #expect(line.queue.failed(probe.id, .unanswered, mayPass: false, at: line.now) == .over(attempts: 1, down: down))
      #expect(line.ask().place == .down)
    }
    line.now = line.now + .seconds(60)
    let probe = line.ask().id
    _ = line.send()
    #expect(line.queue.answered(probe) == true && !line.queue.isDown && line.ask().place == .taken)
    #expect(line.queue.breakLeft(at: line.now) == .zero)
  }

  /// What was asked before it was known says nothing new when it fails, and everything when it is answered.
  @Test func whatIsOnItsWayThen() {
    let line = Line()
    let before = (0..<3).map { _ in line.ask().id }
    _ = line.send()
    for _ in 0..<CircuitBreaker.failures { _ = line.fail() }
    #expect(line.queue.isDown)
    #expect(
      line.queue.failed(before[0], .unanswered, mayPass: true, at: line.now) == .over(attempts: 1, down: nil),
      "no second try")
    #expect(line.queue.answered(before[1]) == true && !line.queue.isDown)
  }

  /// What an asker asks may be why the server fails: nobody takes it from all others.
  @Test func nobodyOpensItAlone() {
    let line = Line()
    for _ in 0..<20 { #expect(line.fail(of: "A") == .over(attempts: 1, down: nil)) }
    #expect(line.fail(of: "B") == .over(attempts: 1, down: nil) && !line.queue.isDown)
    #expect(line.fail(of: "C") == .over(attempts: 1, down: .seconds(2)), "the control: three")
    // Whom it has not reached at all says so for everybody.
    let other = Line()
    for _ in 1..<CircuitBreaker.failures { #expect(other.fail(.unreachable, of: "A") == .over(attempts: 1, down: nil)) }
    #expect(other.fail(.unreachable, of: "A") == .over(attempts: 1, down: .seconds(2)))
  }

  /// 400 and 413 are said by a server that lives.
  @Test func whoDislikesAQuestionLives() {
    let line = Line()
    for _ in 0..<20 { #expect(line.fail(.disliked) == .over(attempts: 1, down: nil)) }
    #expect(!line.queue.isDown)
    line.breakIt()
    #expect(line.queue.isDown)
    line.now = line.now + .seconds(2)
    #expect(line.fail(.disliked) == .over(attempts: 1, down: nil) && !line.queue.isDown, "a probe finds that out")
  }

  /// Who was asked about in vain is not the probe where others ask.
  @Test func othersAreTheNextProbe() {
    let line = Line()
    for asker in ["A", "A", "A", "B", "C"] { _ = line.fail(of: asker) }
    line.now = line.now + .seconds(2)
    #expect(line.ask(of: "A").place == .down && line.fail(of: "D") == .over(attempts: 1, down: .seconds(4)))
    line.now = line.now + .seconds(4)
    #expect(line.ask(of: "D").place == .down && line.ask(of: "A").place == .down)
    let good = line.ask(of: "E")
    #expect(good.place == .taken && line.send() == [good.id] && line.queue.answered(good.id) == true)
    // The control: where nobody else comes, it is one of them, later.
    for asker in ["A", "A", "A", "B", "C"] { _ = line.fail(of: asker) }
    line.now = line.now + .seconds(4)
    #expect(line.ask(of: "A").place == .taken)
  }

  /// The turn of a probe that was never sent is not lost.
  @Test(arguments: [true, false]) func aProbeThatIsNotSentGivesItsTurnBack(isTakenBack: Bool) {
    let line = Line { $0.atOnce = 1 }
    line.breakIt()
    line.now = line.now + .seconds(2)
    let probe = line.ask()
    #expect(probe.place == .taken && line.ask().place == .down)
    if isTakenBack {
      #expect(line.queue.takeBack(probe.id, at: line.now) == true)
    } else {
      line.now = line.now + .seconds(2)
      #expect(line.queue.popExpired(at: line.now)?.1 == .over(attempts: 0, down: nil))
    }
    #expect(line.ask().place == .taken && line.ask().place == .down, "the next is one")
  }

  @Test func whatWaitsIsGivenBack() {
    let line = Line { $0.atOnce = 1 }
    for _ in 0..<3 { line.ask() }
    #expect(line.send() == ["1"] && line.queue.takeWaiting() == ["2", "3"] && line.queue.count == 1)
    #expect(line.queue.takeWaiting().isEmpty)
  }
}
