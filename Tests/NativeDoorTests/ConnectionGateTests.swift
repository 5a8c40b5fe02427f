// The gate of one connection, in virtual time.
import Basics
import RoostProtocol
import Testing

@testable import DoorKit
@testable import NativeDoor

private let wrong = ConnectionGate.Input.frame(.invalid(.number(7), nil, ErrorObject(.methodNotFound)))
private func good(_ id: Int64) -> ConnectionGate.Input { .frame(.request(.number(id), .session(.ping))) }

@Suite struct ConnectionGateTests {
  private func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

  @Test func goodRequestsPass() {
    var gate = ConnectionGate(limits: DoorLimits(), now: .zero)
    #expect(gate.judge(good(1), at: .zero) == .forward(.number(1), .session(.ping)))
  }

  @Test func theTenthBadMessageInARowIsTheLast() {
    var gate = ConnectionGate(limits: DoorLimits(), now: .zero)
    for _ in 0..<9 {
      #expect(gate.judge(wrong, at: .zero) == .refuse(.number(7), ErrorObject(.methodNotFound)))
    }
    let last = gate.judge(wrong, at: .zero)
    #expect(
      last
        == .refuseAndClose(.number(7), ErrorObject(.methodNotFound), reason: "10 bad messages in a row"))
    #expect(gate.judge(good(1), at: .zero) == .ignore)
  }

  @Test func oneGoodMessageStartsTheCountAnew() {
    var gate = ConnectionGate(limits: DoorLimits(), now: .zero)
    for round in 0..<5 {
      for _ in 0..<9 { #expect(gate.judge(wrong, at: at(round * 10_000)).isRefusal) }
      #expect(gate.judge(good(1), at: at(round * 10_000)) == .forward(.number(1), .session(.ping)))
      gate.answered(.number(1))
    }
  }

  @Test func everyKindOfBadMessageCounts() {
    let kinds: [(ConnectionGate.Input, ErrorCode)] = [
      (wrong, .methodNotFound), (.batch, .invalidRequest), (.oversized(limit: 524_288), .tooLarge),
      (.binary, .invalidRequest),
    ]
    for (input, code) in kinds {
      var gate = ConnectionGate(limits: DoorLimits(badInARow: 2), now: .zero)
      guard case .refuse(_, let error) = gate.judge(input, at: .zero) else {
        Issue.record("\(code) is refused")
        continue
      }
      #expect(error.code == code)
      guard case .refuseAndClose = gate.judge(input, at: .zero) else {
        Issue.record("\(code) closes")
        continue
      }
    }
  }

  /// It is answered, and with one that goes on so it is enough.
  @Test func whatIsNotReadIsTooFast() {
    var limits = DoorLimits()
    limits.strangersTooFast = 3
    var gate = ConnectionGate(limits: limits, now: .zero)
    for _ in 0..<2 {
      guard case .refuse(nil, let error) = gate.judge(.unread(wait: 70), at: .zero) else {
        Issue.record("it is refused")
        return
      }
      #expect(error.code == .rateLimited && error.data.retryAfterMs == 70)
    }
    guard case .refuseAndClose(nil, _, let reason) = gate.judge(.unread(wait: 70), at: .zero) else {
      Issue.record("it is closed")
      return
    }
    #expect(reason == "3 messages too fast")
  }

  /// They count as nothing else: so many at once, and then so many a second.
  @Test func customMessagesHaveAPaceOfTheirOwn() {
    var limits = DoorLimits(requestsPerSecond: 1, burst: 1, unanswered: 1)
    (limits.dataPerSecond, limits.dataBurst) = (100, 200)
    var gate = ConnectionGate(limits: limits, now: .zero)
    gate.began()
    let request = Request.message(.send(MessageSendParams(room: "a", topic: "x", data: 1)))
    func send(_ id: Int64, at now: Instant) -> ConnectionGate.Action {
      gate.judge(.frame(.request(.number(id), request)), at: now)
    }
    for id in 1...200 { #expect(send(Int64(id), at: .zero) == .forward(.number(Int64(id)), request)) }
    guard case .refuse(.number(201), let error) = send(201, at: .zero) else {
      Issue.record("one more passed")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryAfterMs == 10)
    #expect(gate.judge(good(1), at: .zero) == .forward(.number(1), .session(.ping)), "the control")
    for id in 1...100 { #expect(send(Int64(id), at: at(1000)) == .forward(.number(Int64(id)), request)) }
    #expect(send(101, at: at(1000)).isRefusal)
  }

  /// Who is asked answers at no cost: as often as they were asked, and not once more.
  @Test func answersTakeNothingAsFarAsThereWereQuestions() {
    var limits = DoorLimits()
    (limits.dataPerSecond, limits.dataBurst, limits.mostTooFast) = (0.001, 2, 4)
    var gate = ConnectionGate(limits: limits, now: .zero)
    gate.began()
    func passes(_ request: MessageRequest) -> Bool {
      gate.judge(.frame(.request(.number(1), .message(request))), at: .zero) == .forward(.number(1), .message(request))
    }
    let answer = MessageRequest.answer(MessageAnswerParams(requestId: "q1", data: 1))
    let send = MessageRequest.send(MessageSendParams(room: "a", topic: "x", data: 1))
    for _ in 0..<100 {
      gate.asked()
      #expect(passes(answer))
    }
    #expect(passes(send) && passes(answer) && !passes(answer) && !passes(send))
    gate.asked()
    #expect(!passes(send) && passes(answer) && !passes(answer))
    for _ in 0..<9 { gate.asked() }
    #expect(passes(answer) && passes(answer) && !passes(answer), "no more are kept than may come at once")
  }

  /// Without a session they are requests like others, to be refused.
  @Test func strangersHaveNoMessages() {
    var gate = ConnectionGate(limits: DoorLimits(), now: .zero)
    let request = Request.message(.send(MessageSendParams(room: "a", topic: "x", data: 1)))
    let passed = (1...100).count { id in
      if case .forward = gate.judge(.frame(.request(.number(Int64(id)), request)), at: .zero) { true } else { false }
    }
    #expect(passed == DoorLimits().strangersBurst)
  }

  /// While the core is late no more of them wait than this. What is answered makes space.
  @Test func unansweredMessagesAreCapped() {
    let limits = DoorLimits(requestsPerSecond: 1, burst: 1, unanswered: 1)
    var gate = ConnectionGate.withSession(limits: limits, now: .zero)
    let request = Request.message(.send(MessageSendParams(room: "a", topic: "x", data: 1)))
    func send(_ id: Int, at now: Instant) -> ConnectionGate.Action {
      gate.judge(.frame(.request(.number(Int64(id)), request)), at: now)
    }
    for id in 1...256 { #expect(send(id, at: at(id > 200 ? 1000 : 0)).isForward) }
    guard case .refuse(.number(257), let error) = send(257, at: at(1000)) else {
      Issue.record("one more passed")
      return
    }
    #expect(error.code == .rateLimited && error.message.contains("256 requests wait"))
    #expect(send(256, at: at(1000)).isForward, "the same again")
    #expect(gate.judge(good(900), at: at(1000)).isForward, "the control: others have a bound of their own")
    gate.answered(.number(1))
    #expect(send(258, at: at(2000)).isForward && send(259, at: at(2000)).isRefusal)
  }

  /// Twenty at once are two that weigh ten, or twenty that weigh one.
  @Test func aHeavyRequestTakesMore() {
    let limits = DoorLimits(requestsPerSecond: 10, burst: 20, unanswered: 1000)
    func passed(_ requests: [Request]) -> Int {
      var gate = ConnectionGate.withSession(limits: limits, now: .zero)
      return requests.enumerated().count { number, request in
        gate.judge(.frame(.request(.number(Int64(number)), request)), at: .zero).isForward
      }
    }
    let join = Request.room(.join(RoomJoinParams(room: "demo")))
    #expect(join.weight == 10 && Request.room(.list()).weight == 5 && Request.session(.ping).weight == 1)
    #expect(passed([Request](repeating: join, count: 3)) == 2)
    #expect(passed([Request](repeating: .room(.list()), count: 5)) == 4)
    #expect(passed([Request](repeating: .session(.ping), count: 21)) == 20)
    // What is too heavy for now says how long; what is light still passes.
    var gate = ConnectionGate.withSession(limits: limits, now: .zero)
    for id in 0..<15 { #expect(gate.judge(good(Int64(id)), at: .zero).isForward) }
    guard case .refuse(_, let error) = gate.judge(.frame(.request(.number(90), join)), at: .zero) else {
      Issue.record("ten of five pass")
      return
    }
    #expect(error.code == .rateLimited && error.data.retryAfterMs == 500)
    #expect(gate.judge(good(91), at: .zero).isForward)
  }

  @Test func aBurstPassesAndThenTheRateHolds() {
    var gate = ConnectionGate.withSession(
      limits: DoorLimits(requestsPerSecond: 10, burst: 5, unanswered: 1000), now: .zero)
    for id in 1...5 { #expect(gate.judge(good(Int64(id)), at: .zero).isForward) }
    guard case .refuse(let id, let error) = gate.judge(good(6), at: .zero) else {
      Issue.record("the sixth is too fast")
      return
    }
    #expect(id == .number(6))
    #expect(error.code == .rateLimited)
    #expect(error.data.retryable)
    #expect(error.data.retryAfterMs == 100)
    #expect(!gate.judge(good(7), at: at(99)).isForward)
    #expect(gate.judge(good(8), at: at(101)).isForward)
    #expect((1...20).count { gate.judge(good(100 + Int64($0)), at: at(60_000)).isForward } == 5)
  }

  @Test func oneThatNeverSlowsDownIsClosed() {
    var gate = ConnectionGate.withSession(
      limits: DoorLimits(requestsPerSecond: 1, burst: 1, mostTooFast: 3), now: .zero)
    #expect(gate.judge(good(1), at: .zero).isForward)
    #expect(gate.judge(good(2), at: .zero).isRefusal)
    #expect(gate.judge(good(3), at: .zero).isRefusal)
    guard case .refuseAndClose(_, let error, let reason) = gate.judge(good(4), at: .zero) else {
      Issue.record("it is closed")
      return
    }
    #expect(error.code == .rateLimited)
    #expect(reason == "3 messages too fast")
  }

  /// What strangers may ask for is little, since an address may have many of them.
  @Test func strangersAreHeldToALittle() {
    let limits = DoorLimits()
    var gate = ConnectionGate(limits: limits, now: .zero)
    #expect((limits.strangersPerSecond, limits.strangersBurst, limits.strangersTooFast) == (5, 25, 100))
    for id in 0..<25 { #expect(gate.judge(good(Int64(id)), at: .zero).isForward) }
    #expect(gate.judge(good(25), at: .zero).isRefusal)
    #expect((26...30).allSatisfy { gate.judge(good(Int64($0)), at: at(1_000)).isForward }, "five a second")
    // What came in time has made good for the first that did not. A hundred more are too many.
    #expect((31...129).allSatisfy { gate.judge(good(Int64($0)), at: at(1_000)).isRefusal })
    guard case .refuseAndClose(_, _, "100 messages too fast") = gate.judge(good(130), at: at(1_000)) else {
      Issue.record("it is closed")
      return
    }
    var other = ConnectionGate.withSession(limits: limits, now: .zero)
    #expect((0..<64).allSatisfy { other.judge(good(Int64($0)), at: .zero).isForward })
  }

  /// One waits at most; what needs a session waits for it, and is told when to come again.
  @Test func whileATokenWaitsNoOtherIsTaken() {
    let hello = ConnectionGate.Input.frame(.request(.number(1), .session(.hello(HelloParams(user: "a", token: "t")))))
    let token = ConnectionGate.Input.frame(.request(.number(2), .session(.token(TokenParams(token: "t")))))
    let join = ConnectionGate.Input.frame(.request(.number(3), .room(.join(RoomJoinParams(room: "demo")))))
    var limits = DoorLimits()
    limits.strangersBurst = limits.burst
    var gate = ConnectionGate(limits: limits, now: .zero)
    #expect(gate.judge(hello, at: .zero).isForward)
    gate.tries.begin()
    for input in [hello, token, join] {
      guard case .refuse(_, let error) = gate.judge(input, at: .zero) else {
        Issue.record("it has to wait")
        return
      }
      #expect(error.code == .rateLimited && error.data.retryAfterMs == 500)
    }
    #expect(gate.judge(good(4), at: .zero).isForward)
    _ = gate.tries.end(.believed)
    gate.began()
    gate.tries.begin()
    #expect(gate.judge(join, at: .zero).isForward && gate.judge(token, at: .zero).isRefusal)
  }

  /// A busy server reads a flood slowly: now and then one of it is in time again.
  @Test(arguments: [(perTurn: 100, served: 6), (perTurn: 3, served: 499), (perTurn: 2, served: 2_000)])
  func oneThatIsInTimeNowAndThenIsClosedToo(perTurn: Int, served: Int) {
    var gate = ConnectionGate.withSession(
      limits: DoorLimits(requestsPerSecond: 10, burst: 1, unanswered: 5_000), now: .zero)
    var passed = 0
    for turn in 0..<2_000 {
      for place in 0..<perTurn where gate.judge(good(Int64(turn * 100 + place)), at: at(turn * 110)).isForward {
        passed += 1
      }
    }
    #expect(passed == served)
  }

  @Test func unansweredRequestsAreCapped() {
    var gate = ConnectionGate(limits: DoorLimits(unanswered: 2), now: .zero)
    #expect(gate.judge(good(1), at: .zero).isForward)
    #expect(gate.judge(good(2), at: .zero).isForward)
    guard case .refuse(_, let error) = gate.judge(good(3), at: .zero) else {
      Issue.record("the third waits")
      return
    }
    #expect(error.code == .rateLimited)
    #expect(error.data.retryAfterMs == 1000)
    #expect(gate.judge(good(2), at: .zero).isForward, "a repeated id is the core's to judge")
    gate.answered(.number(1))
    gate.answered(.number(99))
    #expect(gate.judge(good(3), at: .zero).isForward)
  }

  @Test func aClockThatGoesBackDoesNoHarm() {
    var bucket = TokenBucket(perSecond: 1, burst: 1, now: at(1000))
    #expect(bucket.take(at: at(0)) == nil)
    #expect(bucket.take(at: at(0)) == 1000)
    #expect(bucket.take(at: at(1500)) == 500)
    #expect(bucket.take(at: at(2000)) == nil)
  }
}

extension ConnectionGate.Action {
  var isForward: Bool { if case .forward = self { true } else { false } }
  var isRefusal: Bool { if case .refuse = self { true } else { false } }
}

extension ConnectionGate {
  /// One that has its session.
  static func withSession(limits: DoorLimits, now: Instant) -> ConnectionGate {
    var gate = ConnectionGate(limits: limits, now: now)
    gate.began()
    return gate
  }
}
