// Actions that the application is asked about: answered yes, no, late or never. What waits holds nothing, and rules are looked at again.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingTests {
  /// Somebody who is about to do it.
  private func asked(_ kind: Question.Kind, allowsUnanswered: Bool = false) throws -> (Asked, Request) {
    let here = Asked([kind], allowsUnanswered: allowsUnanswered)
    switch kind {
    case .join: return (here, Asked.join)
    case .publish:
      _ = try here.scene.join(here.anna).get()
      return (here, Asked.offer)
    case .callStart:
      _ = here.scene.client("B")
      return (here, Asked.call)
    case .hello, .callInvite, .callAccept: throw ErrorObject(.internalError)
    }
  }

  /// Whether it was done.
  private func isDone(_ kind: Question.Kind, _ here: Asked) -> Bool {
    switch kind {
    case .join: here.scene.core.seat(of: here.anna.connection) != nil
    case .publish: here.scene.core.rooms.media.tracks.count == 1
    case .callStart: here.scene.core.calls.count == 1
    case .hello, .callInvite, .callAccept: false
    }
  }

  private static let three: [Question.Kind] = [.join, .publish, .callStart]

  // MARK: - What comes back

  @Test(arguments: three)
  func yesDoesIt(_ kind: Question.Kind) throws {
    let (here, request) = try asked(kind)
    let id = here.send(request)
    let question = try #require(here.scene.questions.last?.question)
    #expect(question.kind == kind && question.user == "A" && question.device == "d1")
    #expect(question.room == (kind == .callStart ? nil : "demo") && question.call == nil)
    #expect(here.reply(id) == nil && !isDone(kind, here), "nothing is held")
    here.answer(.yes)
    #expect(here.isDone(id) && isDone(kind, here) && here.isQuiet && here.scene.questions.count == 1)
    here.answer(.no())
    #expect(here.isDone(id) && isDone(kind, here), "the first word counts")
  }

  @Test(arguments: three)
  func noRefusesIt(_ kind: Question.Kind) throws {
    let (here, request) = try asked(kind)
    let id = here.send(request)
    here.answer(.no(code: "unpaid"))
    #expect(here.error(id)?.code == .refusedByApp && here.error(id)?.data.reason == "unpaid")
    #expect(!isDone(kind, here) && here.isQuiet)
    let line = here.scene.log.last { $0.event == "request_refused" }
    #expect(line?.fields.contains(LogEntry.Field(name: "method", value: kind.rawValue)) == true)
    #expect(line?.fields.contains(LogEntry.Field(name: "reason", value: "unpaid")) == true)
    switch kind {
    case .join: #expect(here.scene.counters[.joinRefused(.refusedByApp)] == 1)
    case .publish: #expect(here.scene.counters[.publishRefused(.refusedByApp)] == 1)
    case .callStart, .hello, .callInvite, .callAccept: break
    }
  }

  @Test(arguments: three)
  func silenceRefusesItForNow(_ kind: Question.Kind) throws {
    let (here, request) = try asked(kind)
    let id = here.send(request)
    here.scene.advance(.milliseconds(4_999))
    #expect(here.reply(id) == nil)
    here.scene.advance(.milliseconds(1))
    #expect(here.error(id)?.code == .overloaded && here.error(id)?.data.retryable == true)
    #expect(!isDone(kind, here) && here.isQuiet)
    // Too late.
    here.answer(.yes)
    #expect(!isDone(kind, here) && here.error(id)?.code == .overloaded)
    // The same request may be said again, and is asked about again.
    here.anna.replies[id] = nil
    here.send(request, id: id)
    here.answer(.yes)
    #expect(here.isDone(id) && isDone(kind, here) && here.scene.questions.count == 2)
  }

  /// Where Roost has not asked, the application is not to blame.
  @Test(arguments: three, [true, false])
  func whoIsNotAskedIsRefused(_ kind: Question.Kind, allowsUnanswered: Bool) throws {
    let (here, request) = try asked(kind, allowsUnanswered: allowsUnanswered)
    let id = here.send(request)
    here.answer(.unasked)
    #expect(here.error(id)?.code == .overloaded && here.error(id)?.data.retryable == true)
    #expect(!isDone(kind, here) && here.isQuiet)
  }

  /// While it is left alone, clients hear when to come again.
  @Test(arguments: three, [true, false])
  func whoIsLeftAloneSaysForHowLong(_ kind: Question.Kind, allowsUnanswered: Bool) throws {
    let (here, request) = try asked(kind, allowsUnanswered: allowsUnanswered)
    let id = here.send(request)
    here.answer(.down(.milliseconds(1_700)))
    #expect(here.error(id)?.code == (allowsUnanswered ? nil : .overloaded) && isDone(kind, here) == allowsUnanswered)
    #expect(here.error(id)?.data.retryAfterMs == (allowsUnanswered ? nil : 1_700) && here.isQuiet)
  }

  @Test(arguments: three)
  func silenceAllowsItWhereTheRuleSaysSo(_ kind: Question.Kind) throws {
    let (here, request) = try asked(kind, allowsUnanswered: true)
    let (id, other) = (here.send(request), here.send(Asked.info))
    here.answer(.nothing)
    #expect(here.isDone(id) && isDone(kind, here) && here.reply(other) != nil && here.isQuiet)
  }

  @Test func nothingIsAskedUnlessSomebodySaysSo() throws {
    let here = Asked([])
    #expect(ConferenceRules().questions == QuestionRules() && QuestionRules().kinds.isEmpty)
    for request in [Asked.join, Asked.offer, Asked.call] { #expect(here.reply(here.send(request)) != nil) }
    #expect(here.scene.questions.isEmpty && here.isQuiet)
  }

  // MARK: - Rights before, and all checks behind

  @Test func whatRulesRefuseIsNotAsked() throws {
    let here = Asked([.join, .publish, .callStart, .callInvite, .callAccept])
    here.scene.rights = [.subscribe]
    let guest = here.scene.client("G")
    #expect(here.scene.code(guest, Asked.join) == .forbidden && here.scene.code(guest, Asked.offer) == .notJoined)
    #expect(here.scene.code(guest, Asked.call) == .forbidden)
    let accept = Request.call(.accept(CallAcceptParams(callId: "none")))
    #expect(here.scene.code(guest, accept) == .callNotFound)
    #expect(here.scene.questions.isEmpty)
    #expect(here.scene.log.contains { $0.event == "join_refused" }, "in their own words")
  }

  /// Nor about a room that there is not, is locked, shut or full, nor where one has not said that one's other device is to give way.
  @Test func aRoomThatLetsNobodyInIsNotAskedAbout() throws {
    let here = Asked([]) { $0.unknownRooms = .refuse }
    for name in ["B", "C", "D"] { _ = try here.scene.join(here.scene.client(name)).get() }
    here.scene.core.ask(about: [.join])
    func code(_ room: String, _ client: Client? = nil) -> ErrorCode? {
      here.scene.code(client ?? here.anna, .room(.join(RoomJoinParams(room: room))))
    }
    #expect(code("nowhere") == .roomNotFound)
    #expect(code("demo") == .roomFull)
    #expect(code("demo", here.scene.client("B", "d2")) == .alreadyJoined)
    _ = here.scene.operate(.setLocked(true, room: "voice"))
    #expect(code("voice") == .roomLocked)
    #expect(here.scene.questions.isEmpty && here.isQuiet)
    // The control: one that lets people in.
    here.send(.room(.join(RoomJoinParams(room: "stage"))))
    #expect(here.scene.questions.count == 1)
  }

  @Test func aCallThatIsOverIsNotAskedAbout() throws {
    let here = Asked([.callAccept])
    let ben = here.scene.client("B")
    let call = try here.scene.start(here.anna, ["B"]).call.callId
    here.scene.request(here.anna, .call(.hangup(CallHangupParams(callId: call))))
    #expect(here.scene.code(ben, .call(.accept(CallAcceptParams(callId: call)))) == .callEnded)
    #expect(here.scene.questions.isEmpty)
  }

  /// Demo has three seats: the last of them is somebody else's when the answer comes.
  @Test func allChecksAreMadeOnWhatIsTrueThen() throws {
    let here = Asked([.join])
    let others = ["B", "C", "D"].map { here.scene.client($0) }
    let ids = ([here.anna] + others).map { here.send(Asked.join, from: $0) }
    #expect(here.scene.questions.count == 4 && here.scene.core.rooms.table.seats.isEmpty, "who waits holds no seat")
    for index in 1...3 { here.answer(.yes, index) }
    here.answer(.yes, 0)
    #expect(here.error(ids[0])?.code == .roomFull && here.isQuiet)
    #expect(here.scene.core.rooms.table.seats.count == 3)
  }

  @Test func aGrantThatIsGoneMeanwhileRefuses() throws {
    let here = Asked([.callStart])
    here.scene.isVerified = true
    let ben = here.scene.client("B")
    let id = here.send(Asked.call, from: ben)
    _ = here.scene.operate(.narrow(user: "B", to: [.join], room: nil))
    here.answer(.yes)
    guard case .failure(let error)? = here.reply(id, ben) else { return #expect(Bool(false), "a refusal") }
    #expect(error.code == .forbidden && error.data.reason == "call")
  }

  @Test func aBudgetIsChargedOnce() throws {
    let here = Asked([.join, .publish]) {
      ($0.userRequestsPerSecond, $0.userRequestBurst) = (0.001, 22)
      ($0.offersPerSecond, $0.offerBurst) = (0.001, 1)
    }
    let id = here.send(Asked.join)
    here.answer(.yes)
    #expect(here.isDone(id))
    let offer = here.send(Asked.offer)
    #expect(here.scene.questions.count == 2)
    here.answer(.yes)
    #expect(here.isDone(offer), "10 of 22, 10 of 12, and the one offer")
    #expect(here.error(here.send(Asked.join))?.code == .rateLimited)
  }

  // MARK: - What waits behind

  @Test func aLeaveComesBehindItsJoinInOrder() throws {
    let here = Asked([.join])
    let ids = [Asked.join, Asked.info, Asked.leave, Asked.join, Asked.leave].map { here.send($0) }
    #expect(ids.allSatisfy { here.reply($0) == nil } && here.scene.questions.count == 1)
    let elsewhere = here.send(.room(.info(RoomParams(room: "voice"))))
    let list = here.send(.room(.list()))
    #expect(here.isDone(elsewhere) && here.isDone(list), "others pass")
    here.answer(.yes)
    guard case .success(.roomInfo(let seen))? = here.reply(ids[1]) else { return #expect(Bool(false), "info") }
    #expect(seen.count == 1 && here.isDone(ids[0]) && here.isDone(ids[2]), "joined, seen, left")
    #expect(here.reply(ids[3]) == nil && here.scene.questions.count == 2, "the next join is asked about")
    #expect(here.scene.core.seat(of: here.anna.connection) == nil)
    here.answer(.no())
    #expect(here.error(ids[3])?.code == .refusedByApp && here.isDone(ids[4]) && here.isQuiet)
  }

  /// What is said of a seat waits for the seat; an offer waits for no other's answer.
  @Test func anOfferComesBehindTheJoin() throws {
    let here = Asked([.join, .publish])
    let (join, offer) = (here.send(Asked.join), here.send(Asked.offer))
    #expect(here.reply(offer) == nil && here.scene.questions.count == 1)
    here.answer(.yes)
    #expect(here.isDone(join) && here.scene.questions.count == 2)
    let leave = here.send(Asked.leave)
    #expect(here.isDone(leave), "nobody stays for the sake of an offer")
    here.answer(.yes)
    #expect(here.error(offer)?.code == .notJoined && here.isQuiet)
  }

  @Test func sixteenWaitAndNotOneMore() throws {
    let here = Asked([.join])
    let join = here.send(Asked.join)
    let ids = (0..<Asking.most).map { _ in here.send(Asked.info) }
    #expect(Asking.most == 16 && ids.allSatisfy { here.reply($0) == nil })
    let late = here.send(Asked.info)
    #expect(here.error(late)?.code == .rateLimited && here.error(late)?.data.limit == 16)
    here.answer(.yes)
    #expect(here.isDone(join) && ids.allSatisfy { here.isDone($0) } && here.isQuiet)
  }

  @Test func soManyQuestionsOfASessionAndNotOneMore() throws {
    let here = Asked([.join])
    for index in 0..<Asking.most { here.send(.room(.join(RoomJoinParams(room: "r\(index)")))) }
    #expect(here.scene.questions.count == Asking.most)
    #expect(here.error(here.send(.room(.join(RoomJoinParams(room: "one more")))))?.code == .rateLimited)
    let ben = here.scene.client("B")
    here.send(Asked.join, from: ben)
    #expect(here.scene.questions.count == Asking.most + 1, "which is nobody else's matter")
  }

  @Test func theSameRequestTwiceIsOneQuestion() throws {
    let here = Asked([.join])
    let id = here.send(Asked.join)
    here.send(Asked.join, id: id)
    #expect(here.scene.questions.count == 1)
    here.answer(.yes)
    #expect(here.isDone(id))
  }

  // MARK: - The end of who waits

  @Test(arguments: [true, false])
  func whatWaitsGoesWithItsSession(saysGoodbye: Bool) throws {
    let here = Asked([.join, .callStart])
    let ids = [Asked.join, Asked.leave, Asked.call].map { here.send($0) }
    if saysGoodbye {
      #expect(here.isDone(here.send(.session(.bye))), "at once")
    } else {
      here.scene.cut(here.anna)
      #expect(!here.isQuiet, "who may come back waits still")
      here.scene.advance(.milliseconds(2_000))
    }
    #expect(here.isQuiet && here.scene.core.nextDeadline == nil)
    #expect(Set(here.scene.takenBack) == Set(here.scene.questions.map(\.ticket)), "nobody waits for them")
    for index in 0...1 { here.answer(.yes, index) }
    #expect(ids.allSatisfy { here.reply($0) == nil } && here.scene.core.rooms.table.seats.isEmpty)
  }

  /// Who is not there takes no seat. They hear what became of it when they are back.
  @Test func whoIsBackHearsWhatBecameOfIt() throws {
    let here = Asked([.join])
    let (id, info) = (here.send(Asked.join), here.send(Asked.info))
    here.scene.cut(here.anna)
    here.answer(.yes)
    #expect(here.reply(id) == nil && here.scene.core.rooms.table.seats.isEmpty && !here.isQuiet)
    _ = here.scene.resume(here.anna)
    #expect(here.isDone(id) && here.isDone(info) && here.isQuiet && here.scene.questions.count == 1)
    #expect(here.scene.core.seat(of: here.anna.connection) != nil)
  }

  @Test func whatIsReadyGoesWithItsSession() throws {
    let here = Asked([.join])
    let id = here.send(Asked.join)
    here.scene.cut(here.anna)
    here.answer(.yes)
    here.scene.advance(.milliseconds(2_000))
    #expect(here.isQuiet && here.reply(id) == nil && here.scene.core.sessions.table.all.isEmpty)
  }

  /// When patience is over for one, what is behind it goes on at that time.
  @Test func whatIsBehindGoesOnWhenNobodyAnswers() throws {
    let here = Asked([.join])
    let ids = [Asked.join, Asked.info, Asked.leave].map { here.send($0) }
    here.scene.advance(.seconds(5))
    #expect(here.error(ids[0])?.code == .overloaded && here.isDone(ids[1]) && here.isDone(ids[2]) && here.isQuiet)
  }

  /// The disk's word about a ticket that is not its own settles nothing: what waits behind the action would wait for ever.
  @Test(arguments: [true, false])
  func theDiskAnswersNoQuestion(isOnDisk: Bool) throws {
    let here = Asked([.join])
    let (id, info) = (here.send(Asked.join), here.send(Asked.info))
    here.scene.apply(.stored(here.scene.questions[0].ticket, isOnDisk))
    #expect(here.reply(id) == nil && !here.isQuiet)
    here.answer(.yes)
    #expect(here.isDone(id) && here.isDone(info) && here.isQuiet)
    #expect(here.scene.core.seat(of: here.anna.connection) != nil)
  }

  // MARK: - Others that are asked about

  @Test func aHelloWaitsOnItsConnection() throws {
    let here = Asked([])
    var rules = ConferenceRules.test
    rules.questions.kinds = [.hello]
    let scene = Scene(rules)
    func hello(_ client: Client, _ id: RequestID) {
      let params = HelloParams(user: client.user, token: "secret", deviceId: client.device, resumeToken: "r1.x")
      let identity = Identity(
        user: client.user, device: client.device, displayName: "x", rights: .all, isVerified: false)
      scene.apply(.hello(client.connection, id, params, identity))
    }
    let clients = ["A", "B", "C"].map { scene.stranger($0) }
    for client in clients { hello(client, .number(1)) }
    hello(clients[0], .number(2))
    #expect(here.reply(.number(2), clients[0])?.error?.code == .invalidState, "one at a time")
    guard scene.questions.count == 3, case .hello(let params) = scene.questions[0].question.wish else {
      return #expect(Bool(false), "three questions")
    }
    #expect(params.token == nil && params.resumeToken == nil && params.user == "A", "nothing that is secret")
    scene.apply(.answered(scene.questions[0].ticket, .yes))
    scene.apply(.answered(scene.questions[1].ticket, .no(code: "unpaid")))
    #expect(scene.takenBack.isEmpty)
    scene.cut(clients[2])
    #expect(scene.takenBack == [scene.questions[2].ticket], "nobody waits for it")
    scene.apply(.answered(scene.questions[2].ticket, .yes))
    #expect(scene.core.sessions.table.all.count == 1 && scene.core.asking.isEmpty)
    #expect(clients[1].replies[.number(1)]?.last?.error?.data.reason == "unpaid")
    #expect(scene.log.contains { $0.event == "hello_refused" } && scene.core.storing.waiters.isEmpty)
  }

  /// Two who have lost their sockets, and whose hellos nobody answers.
  private func returners(_ here: Asked) throws -> [Client] {
    let scene = here.scene
    let old = ["B", "C"].map { scene.client($0) }
    for client in old {
      _ = try scene.join(client).get()
      scene.cut(client)
    }
    scene.advance(.seconds(10))
    scene.core.ask(about: [.hello])
    return old.map { client in
      let again = scene.stranger(client.user, client.device)
      here.send(again, .number(1))
      return again
    }
  }

  /// What workers are asked ends a step, and their word may come at once: each hello that goes on has a step of its own.
  @Test func hellosThatNobodyAnswersGoOnOneByOne() throws {
    let here = Asked([], allowsUnanswered: true) { $0.resumeGrace = .seconds(60) }
    Asked.move(here.scene)
    let clients = try returners(here)
    #expect(here.scene.questions.count == 2)
    here.scene.advance(.seconds(5))
    #expect(here.scene.silenceQuestions == 2 && here.isQuiet)
    for client in clients {
      let reply = here.reply(.number(1), client)
      #expect(reply != nil && reply?.error == nil, "\(client.user)")
    }
  }

  /// A hello that may go on is one that its connection has said, until it has.
  @Test func aHelloThatWaitsForWorkersIsTheOnlyOne() throws {
    let here = Asked([]) { $0.resumeGrace = .seconds(60) }
    Asked.move(here.scene)
    let client = try #require(try returners(here).first)
    here.scene.holdsAnswers = true
    here.answer(.yes, 0)
    #expect(here.scene.silenceQuestions == 1 && here.reply(.number(1), client) == nil)
    here.send(client, .number(2))
    #expect(here.reply(.number(2), client)?.error?.code == .invalidState && here.scene.questions.count == 2)
  }

  @Test func whoIsRungAndWhoInvitesAreAskedAbout() throws {
    let here = Asked([.callAccept, .callInvite])
    let ben = here.scene.client("B")
    let started = try here.scene.start(here.anna, ["B"])
    let accept = here.send(
      .call(.accept(CallAcceptParams(callId: started.call.callId, resumeToken: "r1.x"))), from: ben)
    let hangup = here.send(.call(.hangup(CallHangupParams())), from: ben)
    let question = try #require(here.scene.questions.last?.question)
    guard case .callAccept(let params) = question.wish else { return #expect(Bool(false), "an accept") }
    #expect(params.resumeToken == nil && question.call == started.call.callId && question.user == "B")
    here.answer(.yes)
    #expect(here.reply(accept, ben)?.error == nil && here.reply(hangup, ben)?.error == nil)
    #expect(here.scene.core.rooms.table.seats.isEmpty, "and hung up")
  }

  @Test func aStreamIsAskedAboutLikeAnOffer() throws {
    let here = Asked([.publish])
    _ = try here.scene.join(here.anna).get()
    let (publish, close) = (here.anna.makeID(), here.anna.makeID())
    let stream = MediaConnectionID(2)
    let params = PublishOfferParams(
      pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .audio, label: "l")])
    here.scene.apply(.stream(here.anna.connection, publish, .publish(stream, params)))
    here.scene.apply(.stream(here.anna.connection, close, .close(stream)))
    #expect(here.scene.questions.count == 1 && here.reply(close) == nil)
    here.answer(.yes)
    #expect(here.isDone(publish) && here.isDone(close) && here.scene.core.rooms.media.tracks.isEmpty)
  }
}
