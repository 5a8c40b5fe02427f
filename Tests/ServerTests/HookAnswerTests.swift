// What applications answer, and what is made of it; and what they are asked.

import Basics
import Configuration
import Foundation
import Logging
import Members
import Names
import RoostProtocol
import TestSupport
import Testing
import Webhooks

@testable import Server

@Suite struct HookAnswerTests {
  private func read(
    _ body: String, status: Int = 200, to kind: Question.Kind = .join
  ) throws(HookProblem) -> QuestionAnswer {
    let outcome = HTTPOutcome.answered(status: status, retryAfter: nil)
    return try HookAnswer.read(HTTPAnswer(id: "a", outcome: outcome, body: Array(body.utf8)), to: kind)
  }

  @Test func goodAnswers() throws {
    #expect(try read("", status: 204) == .yes)
    #expect(try read(#"{"allow": true}"#) == .yes)
    #expect(try read(#"{"allow": true, "reason": null}"#) == .yes)
    #expect(try read(#"{"allow": false}"#) == .no())
    #expect(
      try read(#"{"allow":false,"reason":"Bitte zahlen: 5 €","code":"unpaid"}"#)
        == .no(reason: "Bitte zahlen: 5 €", code: "unpaid"))
    #expect(try read(#"{"allow":false,"code":"x"}"#, status: 403) == .no(code: "x"))
    #expect(try read(#" {"reason":"a \" : {","code":"\\","allow":false} "#) == .no(reason: "a \" : {", code: "\\"))
    let longest = String(repeating: "x", count: HookAnswer.reasonBytes)
    #expect(try read(#"{"allow":false,"reason":"\#(longest)"}"#) == .no(reason: longest))
  }

  @Test(arguments: [
    "", "yes", "true", "[]", "{}", #""allow""#, "null", #"{"allow": 1}"#, #"{"allow": "true"}"#, #"{"allow": null}"#,
    #"{"allow": true"#, #"{"allow": true} x"#, #"{"Allow": true}"#, #"{"allow": true, "grant": ["chat"]}"#,
    #"{"allow": true, "allow": false}"#, #"{"allow": true, "\u0061llow": false}"#, #"{"allow": false, "reason": 5}"#,
    #"{"allow": false, "reason": ""}"#, #"{"allow": false, "reason": "a\nb"}"#,
    #"{"allow": false, "reason": "\u202etxt"}"#, #"{"allow": false, "reason": "\u0000"}"#,
    #"{"allow": false, "code": ["a"]}"#, #"{"allow": false, "code": " "}"#,
    #"{"allow": false, "reason": ""# + String(repeating: "x", count: 257) + #""}"#,
    #"{"allow": false, "code": ""# + String(repeating: "x", count: 65) + #""}"#,
    #"{"allow": "# + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}",
  ]) func badAnswersAreNone(body: String) throws {
    let problem = try #require(throws: HookProblem.self) { try read(body) }
    #expect(!problem.mayPass && !problem.words.isEmpty && problem.words.utf8.count < 300)
  }

  @Test func changes() throws {
    var changes = QuestionChanges()
    (changes.displayName, changes.cap, changes.grants) = ("Anna Müller", 5, [.join, .chat])
    let text = #"{"allow":true,"displayName":"Anna Müller","cap":5,"grants":["chat","join"]}"#
    #expect(try read(text, to: .hello) == .changed(changes))
    changes = QuestionChanges()
    changes.metadata = RawJSON(text: #"{"seat":[1,2]}"#)
    for kind in [Question.Kind.join, .callStart, .callAccept] {
      #expect(try read(#"{"allow":true,"metadata":{"seat":[1,2]},"cap":null}"#, to: .join) == .changed(changes))
      #expect(try read(#"{"allow":true,"metadata":{"seat":[1,2]}}"#, to: kind) == .changed(changes))
    }
    changes = QuestionChanges()
    var limits = PublishLimits()
    (limits.codecs, limits.layers, limits.maxBitrate) = ([.opus, .vp8], 2, 500_000)
    changes.published = limits
    let published = #"{"allow":true,"codecs":["VP8","opus"],"layers":2,"maxBitrate":500000}"#
    #expect(try read(published, to: .publish) == .changed(changes))
    #expect(try read(#"{"allow":true,"codecs":null}"#, to: .publish) == .yes)
    changes = QuestionChanges()
    changes.grants = []
    for kind in [Question.Kind.hello, .join] {
      #expect(try read(#"{"allow":true,"grants":[]}"#, to: kind) == .changed(changes), "nothing at all is left")
      #expect(try read(#"{"allow":true,"grants":null}"#, to: kind) == .yes)
    }
  }

  @Test(arguments: [
    (#""displayName":"""#, Question.Kind.hello), (#""displayName":5"#, .hello), (#""displayName":" a""#, .hello),
    (#""displayName":"e\u0301""#, .hello), (#""displayName":"\u202ea""#, .join), (#""cap":0"#, .hello),
    (#""cap":1.5"#, .hello), (#""cap":"5""#, .join), (#""cap":1000001"#, .join), (#""grants":"chat""#, .hello),
    (#""grants":["fly"]"#, .hello), (#""grants":[5]"#, .hello), (#""grants":["chat"]"#, .publish),
    (#""grants":["fly"]"#, .join),
    (#""grants":["chat"]"#, .callStart), (#""record":true"#, .join),
    (#""metadata":{}"#, .hello), (#""displayName":"a""#, .callStart), (#""cap":5"#, .publish),
    (#""codecs":[]"#, .publish), (#""codecs":"VP8""#, .publish), (#""codecs":["vp8"]"#, .publish),
    (#""codecs":[8]"#, .publish), (#""codecs":["VP8"]"#, .join), (#""layers":0"#, .publish),
    (#""layers":17"#, .publish), (#""layers":"1""#, .publish), (#""maxBitrate":9999"#, .publish),
    (#""maxBitrate":1e6"#, .callStart),
    (#""metadata":{}"#, .callInvite), (#""metadata":""# + String(repeating: "x", count: 4095) + #"""#, .join),
  ]) func badChangesAreNoAnswer(field: String, kind: Question.Kind) throws {
    #expect(throws: HookProblem.self) { try read(#"{"allow":true,\#(field)}"#, to: kind) }
    #expect(throws: HookProblem.self) { try read(#"{"allow":false,"cap":5}"#, to: .hello) }
  }

  /// What Roost cannot do yet is said in the log, and not left out.
  @Test func whatIsToBeRecordedIsNotKnown() throws {
    let problem = try #require(throws: HookProblem.self) { try read(#"{"allow":true,"record":true}"#) }
    #expect(problem.words == "the answer has a field that is not known here: record")
  }

  @Test(arguments: [200, 201, 302, 400, 401, 403, 404, 500, 503]) func otherStatusesAreNone(status: Int) throws {
    let isGood = status == 200
    #expect((try? read(#"{"allow": true}"#, status: status)) == (isGood ? .yes : nil))
    guard !isGood, status != 403 else { return }
    let problem = try #require(throws: HookProblem.self) { try read("", status: status) }
    #expect(problem.mayPass == (status >= 500) && problem.words == "HTTP \(status)")
  }

  @Test func whatIsAsked() throws {
    var identity = Identity(user: "anna", device: "d1", displayName: "Anna", rights: .all, isVerified: true)
    identity.entrance = .whip
    var params = HelloParams(user: "anna", callable: false)
    (params.token, params.resumeToken) = ("secret", "secret")
    let question = Question(params, of: identity)
    let realm = try #require(Realm("clinic"))
    let body = try JSONText.bytes(of: HookBody(id: "7f", question: question, realm: realm, time: 5))
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"id":"7f","type":"hook","hook":"hello","realm":"clinic","time":5,"user":"anna","device":"d1","#
        + #""displayName":"Anna","isVerified":true,"door":"whip","callable":false}"#)
  }

  /// Without libcurl there is nobody who asks; nothing waits all the same.
  @Test func withoutASenderNothingIsAnswered() async throws {
    let answers = Locked<[Ticket: QuestionAnswer]>([:])
    var hooks = ServerConfiguration.Hooks()
    hooks.kinds = [.hello]
    let question = Question(
      HelloParams(user: "a"), of: Identity(user: "a", device: nil, displayName: "a", rights: .all, isVerified: false))
    let thread = HookThread(
      hooks, .init(url: "http://127.0.0.1:1/", secret: "a secret of sixteen"), log: Logger(sink: { _ in }), patience: 3,
      makeSender: { nil }
    ) { ticket, answer in answers.withLock { $0[ticket] = answer } }
    #expect(thread.ask(Ticket(1), question))
    #expect(await eventually { answers.withLock { $0 } == [Ticket(1): .nothing] })
    thread.stop()
    #expect(QuestionRules(hooks).kinds == [.hello] && !QuestionRules(hooks).allowsUnanswered)
    hooks.whenDown = .allow
    #expect(QuestionRules(hooks).allowsUnanswered && QuestionRules(hooks).patience == .seconds(3))
  }

  @Test func soManyWaitToBeSorted() {
    let gate = Locked(true)
    let question = Question(
      HelloParams(user: "a"), of: Identity(user: "a", device: nil, displayName: "a", rights: .all, isVerified: false))
    let thread = HookThread(
      .init(), .init(url: "http://127.0.0.1:1/", secret: "a secret of sixteen"), log: Logger(sink: { _ in }),
      patience: 3,
      makeSender: {
        while gate.withLock({ $0 }) { usleep(1_000) }
        return nil
      }
    ) { _, _ in }
    for _ in 0..<3 { #expect(thread.ask(Ticket(1), question)) }
    #expect(!thread.ask(Ticket(1), question), "one too many")
    gate.withLock { $0 = false }
    thread.stop()
  }

  @Test func allKindsHaveTheirNames() {
    let all = ServerConfiguration.Hooks.Kind.allCases.map(\.rawValue)
    #expect(all == Question.Kind.allCases.map(\.rawValue))
  }
}
