// What one client asks another: each question has one end, by the answer, by its time, or by a seat that goes; and nothing is left of it.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct OpenQuestionTests {
  private struct Table {
    let scene: Scene
    let room: String
    let (anna, ben): (Client, Client)

    init(in room: String = "demo", _ change: (inout ConferenceRules) -> Void = { _ in }) throws {
      var rules = ConferenceRules.test
      change(&rules)
      (scene, self.room) = (Scene(rules), room)
      scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: 0xc000_0201, port: 1)) }
      (anna, ben) = try scene.two(in: room)
    }

    /// Some more in the room.
    func others(_ names: [String]) throws -> [Client] {
      try names.map { name in
        let client = scene.client(name)
        _ = try scene.join(client, room).get()
        return client
      }
    }

    /// Sends a request whose reply comes later; its id.
    func ask(_ client: Client, _ to: String, _ data: RawJSON = 1, timeout: Int? = nil) -> RequestID {
      let id = client.makeID()
      let params = MessageRequestParams(room: room, to: to, topic: "vote", data: data, timeoutMs: timeout)
      client.requests[id] = .message(.request(params))
      scene.apply(.request(client.connection, id, .message(.request(params))))
      return id
    }

    func asked(_ client: Client) -> [MessageRequested] {
      client.take().compactMap { if case .messageRequested(let request) = $0 { request } else { nil } }
    }

    func answer(_ client: Client, _ id: String, _ data: RawJSON = "yes") -> ErrorObject? {
      scene.refusal(client, .message(.answer(MessageAnswerParams(requestId: id, data: data))))
    }

    func error(_ client: Client, _ id: RequestID) -> ErrorObject? {
      guard case .failure(let error)? = client.replies[id]?.first else { return nil }
      return error
    }

    var questions: OpenQuestions { scene.core.rooms.seating.messages.questions }
  }

  @Test func theAnswerIsTheReply() throws {
    let here = try Table()
    let carl = here.scene.client("C")
    _ = try here.scene.join(carl).get()
    for one in [here.anna, here.ben, carl] { _ = one.take() }
    let data = try #require(RawJSON(text: #"{"b": 1.50}"#))
    let id = here.ask(here.anna, "B", data)
    #expect(here.anna.replies[id] == nil && carl.take().isEmpty)
    let asked = try #require(here.asked(here.ben).first)
    let now = here.scene.core.rooms.seating.messages.questions
    #expect(now.count == 1)
    #expect(asked.from == "A" && asked.displayName == "A" && asked.topic == "vote" && asked.data == data)
    #expect(asked.room == "demo" && asked.callId == nil && asked.remainingMs == 10_000)
    #expect(here.answer(carl, asked.requestId)?.code == .invalidState, "who was not asked")
    #expect(here.answer(here.anna, asked.requestId)?.code == .invalidState)
    #expect(here.answer(here.ben, asked.requestId, data) == nil)
    #expect(here.anna.replies[id] == [.success(.messageAnswered(MessageAnswered(from: "B", data: data)))])
    #expect(here.answer(here.ben, asked.requestId)?.code == .invalidState, "once")
    here.scene.advance(.seconds(20))
    #expect(here.anna.replies[id]?.count == 1 && here.questions.isClean)
  }

  @Test func itsTimeEndsIt() throws {
    let here = try Table()
    let id = here.ask(here.anna, "B", timeout: 2_000)
    let asked = try #require(here.asked(here.ben).first)
    here.scene.advance(.milliseconds(1_999))
    #expect(here.anna.replies[id] == nil)
    here.scene.advance(.milliseconds(1))
    #expect(here.error(here.anna, id)?.code == .noAnswer && here.error(here.anna, id)?.data.reason == "timeout")
    #expect(here.answer(here.ben, asked.requestId)?.code == .invalidState && here.questions.isClean)
  }

  @Test func whoLeavesEndsIt() throws {
    let here = try Table()
    let (first, second) = (here.ask(here.anna, "B"), here.ask(here.ben, "A"))
    #expect(here.scene.code(here.ben, .room(.leave(RoomParams(room: "demo")))) == nil)
    #expect(here.error(here.anna, first)?.code == .noAnswer && here.error(here.anna, first)?.data.reason == "left")
    #expect(here.error(here.ben, second)?.code == .notJoined && here.questions.isClean)
    here.scene.advance(.seconds(20))
    #expect(here.anna.replies[first]?.count == 1 && here.ben.replies[second]?.count == 1)
  }

  @Test func whoIsLostForGoodEndsIt() throws {
    let here = try Table()
    let (first, _) = (here.ask(here.anna, "B", timeout: 60_000), here.ask(here.ben, "A", timeout: 60_000))
    here.scene.cut(here.ben)
    #expect(here.anna.replies[first] == nil && here.questions.count == 2, "the control: they may come back")
    here.scene.advance(.seconds(16))
    #expect(here.error(here.anna, first)?.data.reason == "left" && here.questions.isClean)
  }

  @Test func aTakenOverSeatEndsIt() throws {
    let here = try Table()
    let first = here.ask(here.anna, "B")
    let laptop = here.scene.client("B", "laptop")
    _ = try here.scene.join(laptop) { ($0.takeover, $0.resumeToken) = (true, here.ben.token) }.get()
    #expect(here.error(here.anna, first)?.data.reason == "left" && here.questions.isClean)
    let second = here.ask(here.anna, "B")
    let asked = try #require(here.asked(laptop).first)
    #expect(here.answer(laptop, asked.requestId) == nil && here.anna.replies[second]?.count == 1)
  }

  @Test func whoComesBackHasTheAnswer() throws {
    let here = try Table()
    let id = here.ask(here.anna, "B", timeout: 60_000)
    let asked = try #require(here.asked(here.ben).first)
    here.scene.cut(here.anna)
    #expect(here.answer(here.ben, asked.requestId) == nil && here.anna.replies[id] == nil)
    _ = try here.scene.resume(here.anna).get()
    let request = try #require(here.anna.requests[id])
    #expect(
      here.scene.request(here.anna, request, id: id)
        == .success(
          .messageAnswered(MessageAnswered(from: "B", data: "yes"))))
    #expect(here.asked(here.ben).isEmpty, "they were asked once")
  }

  @Test func whoIsAwayHearsOfIt() throws {
    let here = try Table()
    here.scene.cut(here.ben)
    let id = here.ask(here.anna, "B")
    _ = try here.scene.resume(here.ben).get()
    let asked = try #require(here.asked(here.ben).first)
    #expect(here.answer(here.ben, asked.requestId) == nil && here.anna.replies[id]?.count == 1)
  }

  @Test func inACallItSaysTheCall() throws {
    let scene = Scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let start = CallStartParams(to: ["B"], kind: .oneToOne, media: .video)
    guard case .callStarted(let started) = try scene.request(anna, .call(.start(start))).get() else { return }
    _ = try scene.request(ben, .call(.accept(CallAcceptParams(callId: started.call.callId)))).get()
    _ = ben.take()
    let params = MessageRequestParams(callId: started.call.callId, to: "B", topic: "vote", data: 1)
    func ask(_ id: RequestID) -> MessageRequested? {
      scene.apply(.request(anna.connection, id, .message(.request(params))))
      return ben.take().compactMap { if case .messageRequested(let request) = $0 { request } else { nil } }.first
    }
    let (first, second) = (anna.makeID(), anna.makeID())
    let asked = try #require(ask(first))
    #expect(asked.callId == started.call.callId && asked.room == nil)
    #expect(scene.code(ben, .message(.answer(MessageAnswerParams(requestId: asked.requestId, data: 2)))) == nil)
    #expect(anna.replies[first] == [.success(.messageAnswered(MessageAnswered(from: "B", data: 2)))])
    #expect(ask(second) != nil)
    _ = try scene.request(anna, .call(.hangup(CallHangupParams(callId: started.call.callId)))).get()
    #expect(anna.replies[second]?.map { $0.error?.code } == [.notInCall])
    #expect(scene.core.rooms.seating.messages.questions.isClean)
  }

  @Test func nobodyAsksWhoIsNotThere() throws {
    let here = try Table()
    for user in ["nobody", "A"] {
      let params = MessageRequestParams(room: "demo", to: user, topic: "vote", data: 1)
      #expect(here.scene.code(here.anna, .message(.request(params))) == .userNotFound)
    }
    #expect(here.questions.isClean)
  }

  @Test func soManyWaitAndNotOneMore() throws {
    let here = try Table()
    let ids = (0..<16).map { _ in here.ask(here.anna, "B") }
    #expect(ids.allSatisfy { here.anna.replies[$0] == nil } && here.asked(here.ben).count == 16)
    let more = here.ask(here.anna, "B")
    #expect(here.error(here.anna, more)?.code == .rateLimited)
    // With all their sessions together.
    let (tablet, carl) = (here.scene.client("A", "tablet"), here.scene.client("C"))
    for one in [tablet, carl] { _ = try here.scene.join(one, "hall").get() }
    let elsewhere = Request.message(.request(MessageRequestParams(room: "hall", to: "C", topic: "vote", data: 1)))
    #expect(here.scene.code(tablet, elsewhere) == .rateLimited)
    let other = here.ask(here.ben, "A")
    #expect(here.ben.replies[other] == nil, "the control: somebody else may")
    here.scene.advance(.seconds(10))
    #expect(ids.allSatisfy { here.error(here.anna, $0)?.code == .noAnswer } && here.questions.isClean)
    let again = here.ask(here.anna, "B")
    #expect(here.anna.replies[again] == nil)
  }

  /// Who asks pays for the answer as well; who answers pays nothing.
  @Test func whoAsksPaysForBoth() throws {
    let here = try Table()
    let send = Request.message(.send(MessageSendParams(room: "demo", topic: "x", data: 1)))
    let id = here.ask(here.anna, "B")
    let asked = try #require(here.asked(here.ben).first)
    for _ in 0..<200 { #expect(here.scene.code(here.ben, send) == nil) }
    #expect(here.scene.code(here.ben, send) == .rateLimited, "the control")
    #expect(here.answer(here.ben, asked.requestId) == nil && here.anna.replies[id]?.count == 1)
    for _ in 0..<198 { #expect(here.scene.code(here.anna, send) == nil) }
    #expect(here.scene.code(here.anna, send) == .rateLimited)
    #expect(here.error(here.anna, here.ask(here.anna, "B"))?.code == .rateLimited)
    #expect(here.asked(here.ben).isEmpty && here.questions.isClean)
  }

  // MARK: - Who is asked

  /// Of all who ask them together.
  @Test func soManyWaitForOneUserAndNotOneMore() throws {
    let here = try Table(in: "stage")
    let askers = try here.others(["C", "D", "E", "F", "G"])
    var asked: [MessageRequested] = []
    for number in 0..<64 {
      if number == 40 { here.scene.advance(.seconds(1)) }
      #expect(here.error(askers[number / 16], here.ask(askers[number / 16], "B", timeout: 60_000)) == nil)
      asked += here.asked(here.ben)
    }
    #expect(asked.count == 64)
    let more = here.error(askers[4], here.ask(askers[4], "B"))
    #expect(more?.code == .rateLimited && more?.data.retryAfterMs == 1000 && here.asked(here.ben).isEmpty)
    #expect(here.error(askers[4], here.ask(askers[4], "A")) == nil, "the control: somebody else may be asked")
    #expect(here.answer(here.ben, asked[0].requestId) == nil)
    #expect(here.error(askers[4], here.ask(askers[4], "B")) == nil && here.asked(here.ben).count == 1)
    here.scene.advance(.seconds(61))
    #expect(here.questions.isClean)
  }

  /// Whose application answers by itself, and whom many ask, can still say what they want.
  @Test func soManyQuestionsASecondAndNotOneMore() throws {
    let here = try Table(in: "stage")
    let askers = try here.others(["C", "D", "E", "F", "G"])
    func tell() -> ErrorCode? {
      here.scene.code(here.ben, .message(.send(MessageSendParams(room: "stage", topic: "x", data: 1))))
    }
    func ask(_ number: Int) -> ErrorObject? {
      let error = here.error(askers[number % 5], here.ask(askers[number % 5], "B"))
      for question in here.asked(here.ben) { #expect(here.answer(here.ben, question.requestId) == nil) }
      return error
    }
    for number in 0..<50 { #expect(ask(number) == nil) }
    let more = ask(50)
    #expect(more?.code == .rateLimited && more?.data.retryAfterMs == 20)
    for _ in 0..<200 { #expect(tell() == nil) }
    #expect(tell() == .rateLimited, "the control: what they send themselves counts")
    here.scene.advance(.milliseconds(20))
    #expect(ask(51) == nil && ask(52)?.code == .rateLimited)
  }

  /// One who asks all the time leaves others their turn.
  @Test func oneAsksSoManyAndNotOneMore() throws {
    let here = try Table(in: "stage")
    let others = try here.others(["C"])
    func ask(_ client: Client) -> ErrorObject? {
      let error = here.error(client, here.ask(client, "B"))
      for question in here.asked(here.ben) { #expect(here.answer(here.ben, question.requestId) == nil) }
      return error
    }
    for _ in 0..<25 { #expect(ask(here.anna) == nil) }
    let more = ask(here.anna)
    #expect(more?.code == .rateLimited && more?.data.retryAfterMs == 40)
    for _ in 0..<25 { #expect(ask(others[0]) == nil) }
    here.scene.advance(.milliseconds(40))
    #expect(ask(here.anna) == nil && ask(here.anna)?.code == .rateLimited)
  }

  /// Answers that nobody waits for are bounded by user, so that their address has as much left as with other requests.
  @Test func answersToNothingTakeNothingFromOthers() throws {
    let here = try Table(in: "stage") { ($0.networkRequestsPerSecond, $0.networkRequestBurst) = (0.001, 300) }
    let text = RawJSON(.string(String(repeating: "x", count: 8_000)))
    func answer() -> ErrorCode? {
      here.scene.code(here.ben, .message(.answer(MessageAnswerParams(requestId: "q0", data: text))))
    }
    for _ in 0..<128 { #expect(answer() == .invalidState) }
    for _ in 0..<500 { #expect(answer() == .rateLimited) }
    #expect(here.scene.code(here.anna, .room(.list())) == nil)
  }

  /// Who has no word for an answer, or may give none.
  @Test func whoCannotAnswerIsNotAsked() throws {
    let here = try Table(in: "stage")
    here.scene.proof = { $0.entrance = .flashphoner }
    let phone = try here.others(["phone"])
    here.scene.proof = { $0.rights.remove(.chat) }
    let mute = try here.others(["mute"])
    for (user, client) in [("phone", phone[0]), ("mute", mute[0])] {
      let error = here.error(here.anna, here.ask(here.anna, user))
      #expect(error?.code == .invalidState && here.asked(client).isEmpty)
    }
    #expect(here.error(here.anna, here.ask(here.anna, "B")) == nil, "the control")
    let host = ModerateParams(room: "stage", action: .role, user: "A", role: .moderator)
    let close = ModerateParams(room: "stage", action: .disableChat)
    for params in [host, close] { _ = try here.scene.operate(.moderate(params)).get() }
    #expect(here.error(here.anna, here.ask(here.anna, "B"))?.code == .invalidState)
    #expect(here.error(here.ben, here.ask(here.ben, "A"))?.code == .forbidden)
    #expect(here.questions.count == 1)
  }

  /// A question is about a room: it ends where one of the two is moved to another one.
  @Test(arguments: [true, false], [true, false])
  func whoIsMovedEndsIt(_ isAsker: Bool, _ isOtherWorker: Bool) throws {
    let here = try Table()
    let carl = try here.others(["C"])[0]
    here.scene.isOtherWorker = isOtherWorker
    let (first, other) = (here.ask(here.anna, "B", timeout: 60_000), here.ask(carl, isAsker ? "B" : "A"))
    let asked = try #require(here.asked(here.ben).first)
    let user = isAsker ? "A" : "B"
    #expect(here.scene.operate(.move(user: user, room: "demo", to: "hall")) == .success(.moved(1)))
    let error = here.error(here.anna, first)
    #expect(isAsker ? error?.code == .notJoined : error?.code == .noAnswer && error?.data.reason == "left")
    #expect(here.answer(here.ben, asked.requestId)?.code == .invalidState)
    #expect(carl.replies[other] == nil && here.questions.count == 1, "the control")
    here.scene.advance(.seconds(10))
    #expect(here.anna.replies[first]?.count == 1 && here.questions.isClean)
  }

  // MARK: - Who is away

  /// The end of a question is an outcome: the same request under its id asks nobody again.
  @Test func whoWasAwayAtTheEndAsksNobodyAgain() throws {
    let here = try Table()
    let id = here.ask(here.anna, "B", timeout: 1_000)
    _ = here.asked(here.ben)
    here.scene.cut(here.anna)
    here.scene.advance(.milliseconds(1_500))
    #expect(here.anna.replies[id] == nil && here.questions.isClean)
    _ = try here.scene.resume(here.anna).get()
    let request = try #require(here.anna.requests[id])
    let again = here.scene.request(here.anna, request, id: id).error
    #expect(again?.code == .noAnswer && again?.data.reason == "timeout" && here.asked(here.ben).isEmpty)
    _ = here.ask(here.anna, "B")
    #expect(here.asked(here.ben).count == 1, "the control: under another id")
  }

  /// Who sends a lot while they wait: no question is forgotten, and its answer is not either.
  @Test(arguments: [256, 257, 600], [true, false])
  func whatWaitsIsNotPushedOut(_ messages: Int, _ isAnsweredBefore: Bool) throws {
    let here = try Table()
    let id = here.ask(here.anna, "B", timeout: 60_000)
    let asked = try #require(here.asked(here.ben).first)
    for number in 0..<messages {
      if number % 100 == 0 { here.scene.advance(.seconds(1)) }
      let params = MessageSendParams(room: "demo", topic: "x", data: RawJSON(.integer(Int64(number))))
      #expect(here.scene.code(here.anna, .message(.send(params))) == nil)
    }
    here.scene.cut(here.anna)
    if isAnsweredBefore { #expect(here.answer(here.ben, asked.requestId) == nil) }
    _ = try here.scene.resume(here.anna).get()
    let request = try #require(here.anna.requests[id])
    here.scene.apply(.request(here.anna.connection, id, request))
    if !isAnsweredBefore { #expect(here.answer(here.ben, asked.requestId) == nil) }
    #expect(here.anna.replies[id] == [.success(.messageAnswered(MessageAnswered(from: "B", data: "yes")))])
    #expect(here.asked(here.ben).isEmpty && here.questions.isClean)
  }

  /// Whatever happens, each question has one reply, and nothing is left when all have gone.
  @Test func nothingIsLeft() throws {
    var random = SplitMix64(seed: 51)
    for _ in 0..<60 {
      let scene = Scene()
      let people = ["A", "B", "C"].map { scene.client($0) }
      var asked: [(Client, RequestID)] = []
      for one in people { _ = try scene.join(one).get() }
      for _ in 0..<60 {
        let (one, other) = (people[Int(random.next() % 3)], people[Int(random.next() % 3)])
        switch random.next() % 10 {
        case 0...2:
          let id = one.makeID()
          let params = MessageRequestParams(
            room: "demo", to: other.user, topic: "t", data: 1, timeoutMs: 1_000 + Int(random.next() % 5_000))
          one.requests[id] = .message(.request(params))
          asked.append((one, id))
          scene.apply(.request(one.connection, id, .message(.request(params))))
        case 3, 4:
          let answerer = random.next() % 4 == 0 ? other : one
          for case .messageRequested(let request) in one.take() {
            _ = scene.code(answerer, .message(.answer(MessageAnswerParams(requestId: request.requestId, data: 1))))
          }
        case 5: _ = scene.code(one, .room(.leave(RoomParams(room: "demo"))))
        case 6: _ = scene.join(one)
        case 7: _ = scene.operate(.move(user: one.user, room: "demo", to: "hall"))
        case 8:
          scene.cut(one)
          scene.advance(.milliseconds(Int(random.next() % 1_900)))
          _ = try scene.resume(one).get()
          // As clients do.
          for (client, id) in asked where client === one && client.replies[id] == nil {
            scene.apply(.request(one.connection, id, try #require(one.requests[id])))
          }
        default: scene.advance(.milliseconds(Int(random.next() % 2_000)))
        }
      }
      scene.advance(.seconds(10))
      #expect(asked.allSatisfy { $0.0.replies[$0.1]?.count == 1 })
      #expect(scene.core.rooms.seating.messages.questions.isClean)
    }
  }
}
