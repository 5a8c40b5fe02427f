// Whatever answers a call is asked about as `call.accept`: an accept, a join of a call that rings, and a start that meets one.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingAnswerTests {
  /// Anna has called Ben.
  private func rung(_ kinds: Set<Question.Kind>) throws -> (here: Asked, ben: Client, call: String) {
    let here = Asked([])
    let ben = here.scene.client("B")
    let call = try here.scene.start(here.anna, ["B"]).call.callId
    here.scene.core.ask(about: kinds)
    return (here, ben, call)
  }

  private static let back = Request.call(.start(CallStartParams(to: ["A"], kind: .oneToOne, media: .audio)))

  private static func join(_ call: String) -> Request {
    .call(.join(CallJoinParams(callId: call, resumeToken: "r1.x", metadata: "m")))
  }

  @Test(arguments: [true, false], [true, false])
  func whatAnswersACallIsAskedAboutAsAnAnswer(isStart: Bool, isAllowed: Bool) throws {
    let (here, ben, call) = try rung([.callAccept, .callStart])
    let id = here.send(isStart ? Self.back : Self.join(call), from: ben)
    let reject = here.send(.call(.get(CallParams(callId: call))), from: ben)
    #expect(here.reply(id, ben) == nil && here.scene.questions.count == 1)
    let question = try #require(here.scene.questions.last?.question)
    #expect(question.kind == .callAccept && question.call == call && question.user == "B")
    guard case .callAccept(let params) = question.wish else { return #expect(Bool(false), "an accept") }
    #expect(params.callId == call && params.resumeToken == nil && params.metadata == (isStart ? nil : "m"))
    #expect(here.reply(reject, ben) == nil, "what is about the call waits behind it")
    here.answer(isAllowed ? .yes : .no(code: "unpaid"))
    #expect(here.reply(id, ben)?.error?.data.reason == (isAllowed ? nil : "unpaid"))
    #expect(here.reply(reject, ben)?.error == nil && here.isQuiet && here.scene.core.calls.count == 1)
    #expect(here.scene.core.rooms.table.seats.count == (isAllowed ? 2 : 1), "it rings on")
  }

  /// Only the answer is asked about where only answers are.
  @Test func aStartThatMeetsNobodyIsNoAnswer() throws {
    let (here, ben, _) = try rung([.callAccept])
    _ = here.scene.client("C")
    let other = Request.call(.start(CallStartParams(to: ["C"], kind: .oneToOne, media: .audio)))
    #expect(here.isDone(here.send(other, from: ben), ben) && here.scene.questions.isEmpty)
  }

  /// Two call each other while both are asked about. The second to be answered has become an answer, and is asked about as one.
  @Test(arguments: [true, false])
  func aStartThatComesToMeetACallIsAskedAboutAnew(asksAnswers: Bool) throws {
    let here = Asked(asksAnswers ? [.callStart, .callAccept] : [.callStart])
    let ben = here.scene.client("B")
    let his = here.send(Self.back, from: ben)
    let hangup = here.send(.call(.hangup(CallHangupParams())), from: ben)
    let hers = here.send(Asked.call)
    here.answer(.yes, 1)
    #expect(here.isDone(hers) && here.scene.core.calls.count == 1)
    here.answer(.yes, 0)
    guard asksAnswers else {
      return #expect(here.isDone(his, ben) && here.isDone(hangup, ben) && here.isQuiet)
    }
    let question = try #require(here.scene.questions.last?.question)
    #expect(here.scene.questions.count == 3 && question.kind == .callAccept && here.reply(his, ben) == nil)
    #expect(here.reply(hangup, ben) == nil, "what waited behind it does so still")
    here.answer(.yes)
    guard case .success(.callStarted(let started))? = here.reply(his, ben) else {
      return #expect(Bool(false), "a call")
    }
    #expect(started.glare == true && started.call.callId == question.call)
    #expect(here.isDone(hangup, ben) && here.isQuiet && here.scene.core.calls.count == 0)
  }

  /// One that was an answer, and is none any more, is asked about as a call.
  @Test func aStartThatMeetsNobodyAnyMoreIsAskedAboutAnew() throws {
    let (here, ben, call) = try rung([.callAccept, .callStart])
    let start = here.send(Self.back, from: ben)
    let hangup = here.send(.call(.hangup(CallHangupParams())), from: ben)
    here.scene.request(here.anna, .call(.hangup(CallHangupParams(callId: call))))
    here.answer(.yes)
    #expect(here.scene.questions.count == 2 && here.scene.questions.last?.question.kind == .callStart)
    #expect(here.reply(start, ben) == nil && here.reply(hangup, ben) == nil)
    here.answer(.yes)
    #expect(here.isDone(start, ben) && here.isDone(hangup, ben) && here.isQuiet && here.scene.core.calls.count == 0)
  }

  /// What is asked anew keeps others waiting as what it was. Where another does that already by then, it waits behind that one.
  @Test func whatIsAskedAnewTakesNobodysPlace() throws {
    let here = Asked([], allowsUnanswered: true)
    let (ben, carl) = (here.scene.client("B"), here.scene.client("C"))
    let call = try here.scene.start(here.anna, ["B"]).call.callId
    here.scene.core.ask(about: [.callStart, .callAccept])
    let toCarl = Request.call(.start(CallStartParams(to: ["C"], kind: .oneToOne, media: .audio)))
    let ids = [Self.back, Self.back, Self.back, toCarl].map { here.send($0, from: ben) }
    #expect(here.scene.questions.map(\.question.kind) == [.callAccept, .callStart])
    // Anna's call is over, and one of Carl's rings: an answer is a call now, and a call an answer. Both are asked anew.
    here.scene.request(here.anna, .call(.hangup(CallHangupParams(callId: call))))
    here.send(.call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio))), from: carl)
    here.answer(.yes)
    for _ in 0..<6 { here.scene.advance(.seconds(5)) }
    for id in ids { #expect(here.reply(id, ben) != nil) }
    #expect(here.isQuiet)
  }

  // MARK: - Back into a call

  /// Anna's call to Ben, which she has named, and Anna again: the session before has the leg, or after a restart nobody.
  private func named(afterRestart: Bool) throws -> (here: Asked, call: String, start: Request) {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    let scene = Scene(rules)
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let params = CallStartParams(to: ["B"], kind: .group, media: .audio, clientCallId: "mine")
    guard case .callStarted(let started) = try scene.request(anna, .call(.start(params))).get() else {
      throw ErrorObject(.internalError)
    }
    let call = started.call.callId
    _ = try scene.accept(ben, call)
    try scene.mediaUp(anna, ben)
    guard afterRestart else {
      let next = scene.stranger("A")
      _ = try scene.hello(next, token: anna.token).get()
      return (Asked(scene, next), call, .call(.start(params)))
    }
    var state = RestoredState()
    for case .call(let call) in scene.stores.flatMap(\.1) { state.calls.running = [call] }
    let after = Scene(rules, restored: state)
    return (Asked(after, after.client("A")), call, .call(.start(params)))
  }

  /// Who says their start again, and comes into the call by it, is asked about as who answers.
  @Test(arguments: [true, false], [true, false])
  func aStartThatLeadsBackIntoItsCallIsAnAnswer(afterRestart: Bool, isAllowed: Bool) throws {
    let (here, call, start) = try named(afterRestart: afterRestart)
    here.scene.core.ask(about: [.callAccept, .callStart])
    let id = here.send(start)
    let get = here.send(.call(.get(CallParams(callId: call))))
    let question = try #require(here.scene.questions.first?.question)
    #expect(question.kind == .callAccept && question.call == call && here.reply(id) == nil)
    #expect(here.reply(get) == nil, "what is about the call waits behind it")
    here.answer(isAllowed ? .yes : .no(code: "unpaid"))
    #expect(here.error(id)?.data.reason == (isAllowed ? nil : "unpaid") && here.isDone(id) == isAllowed)
    #expect((here.scene.core.seat(of: here.anna.connection) != nil) == isAllowed && here.isDone(get) && here.isQuiet)
    // Who is in asks for nothing.
    if isAllowed { #expect(here.isDone(here.send(start)) && here.scene.questions.count == 1) }
  }

  /// Nor where another of one's devices is in the call.
  @Test func aStartOfACallThatOneIsInElsewhereIsNotAskedAbout() throws {
    let here = Asked([])
    _ = here.scene.client("B")
    let start = Request.call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio, clientCallId: "mine")))
    #expect(here.isDone(here.send(start)))
    here.scene.core.ask(about: [.callAccept, .callStart])
    #expect(here.scene.code(here.scene.client("A", "d2"), start) == .alreadyJoined && here.scene.questions.isEmpty)
  }

  /// Who may not come in is not asked about. So workers are not asked either: what goes on at their word is not asked about any more.
  @Test func whoMayNotComeInWaitsForNoWorkers() throws {
    let here = Asked([]) { ($0.resumeGrace, $0.calls.resumeGrace) = (.seconds(60), .seconds(60)) }
    let scene = here.scene
    Asked.move(scene)
    let ben = scene.client("B")
    let call = try scene.talk(here.anna, ben).call.callId
    scene.cut(ben)
    scene.advance(.seconds(6))
    scene.core.ask(about: [.callAccept])
    scene.rights = Rights.all.subtracting(.call)
    let guest = scene.client("B", "d2")
    scene.rights = .all
    let other = scene.client("B", "d3")
    scene.holdsAnswers = true
    let back = [
      Request.call(.join(CallJoinParams(callId: call, takeover: true))),
      .call(.accept(CallAcceptParams(callId: call, takeover: true))),
    ]
    for request in back { #expect(scene.refusal(guest, request)?.data.reason == "call") }
    #expect(scene.questions.isEmpty && scene.silenceQuestions == 0)
    // The control: who may.
    here.send(back[0], from: other)
    here.answer(.yes)
    #expect(scene.questions.count == 1 && scene.silenceQuestions == 1)
  }

  /// Who has missed a ring does not come in by joining, where an answer would have been asked about.
  @Test func whoJoinsAGroupIsAskedAboutOnceAndNotWhoIsIn() throws {
    let group = try Group()
    group.scene.core.ask(about: [.callAccept])
    let (scene, ben, id) = (group.scene, group.b, group.id)
    for again in [Request.call(.join(CallJoinParams(callId: id))), .call(.accept(CallAcceptParams(callId: id)))] {
      #expect(scene.code(ben, again) == nil)
    }
    #expect(scene.questions.isEmpty, "who is in asks for nothing")
    scene.request(ben, .call(.hangup(CallHangupParams(callId: id))))
    scene.apply(.request(ben.connection, ben.makeID(), Self.join(id)))
    #expect(scene.questions.count == 1 && scene.questions[0].question.kind == .callAccept)
    // Who was never asked to come is not asked about.
    #expect(scene.code(scene.client("outsider"), Self.join(id)) == .notInvited && scene.questions.count == 1)
  }
}
