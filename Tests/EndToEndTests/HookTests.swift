// An application that is asked, by a real server to a real one: what it refuses is refused at each door with its words, and where it hangs,
// lies or fails, nobody else notices.

import Basics
import Configuration
import Foundation
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing
import TinyHTTP
import Webhooks

private let secret = "a secret of the test"

/// An application that remembers what it was asked.
final class Application: Sendable {
  private let questions = Locked<[TinyRequest]>([])
  private let server: TinyServer

  /// `answer` is asked with the user and the hook; nil never answers.
  init(_ answer: @escaping @Sendable (_ user: String, _ hook: String) -> TinyAnswer?) throws {
    server = try TinyServer.answering { [questions] request in
      questions.withLock { $0.append(request) }
      let json = request.json
      return answer(json["user"] as? String ?? "", json["hook"] as? String ?? "")
    }
  }

  var all: [TinyRequest] { questions.withLock { $0 } }
  var endpoint: ServerConfiguration.Webhooks.Endpoint {
    .init(url: "http://127.0.0.1:\(port)/ask", secret: secret)
  }
  var port: UInt16 { server.port }
  func stop() { server.stop() }
}

extension TinyRequest {
  fileprivate var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:]
  }

  /// Whether the signature is right, worked out from what arrived.
  fileprivate var isSigned: Bool {
    let text = headers["roost-signature"] ?? ""
    guard let seconds = Int64(text.dropFirst(2).prefix { $0 != "," }) else { return false }
    return text == signature(of: body, secrets: [Array(secret.utf8)], seconds: seconds)
  }
}

extension TinyAnswer {
  fileprivate static let yes = TinyAnswer("200 OK", #"{"allow": true}"#)
  fileprivate static let no = TinyAnswer(
    "200 OK", #"{"allow": false, "reason": "Please pay first.", "code": "unpaid"}"#)
  /// Everything that can be wrong with an answer, but for one that never comes.
  fileprivate static let bad = [
    TinyAnswer("500 Internal Server Error"), TinyAnswer("200 OK", String(repeating: "[", count: 1 << 20)),
    TinyAnswer("200 OK", #"{"allow": "maybe"}"#), TinyAnswer("302 Found\r\nlocation: /other", #"{"allow": true}"#),
  ]
}

extension EndToEnd {
  @Suite struct HookTests {
    /// Somebody at each door, and what they are told who may not join.
    private func join(
      _ door: WayIn, _ name: String, _ server: TestServer, _ port: UInt16, _ driver: MediaDriver
    ) async throws -> String? {
      let comer: any Comer
      switch door {
      case .native: comer = try await NativeComer(name, url: server.url, driver: driver)
      case .whip, .whep: comer = HTTPComer(name, door, server)
      case .flashphoner: comer = try await FlashphonerComer(name, port: port)
      }
      let refusal = try await comer.join("demo")
      await comer.close()
      return refusal
    }

    private func with(
      _ application: Application, _ change: @escaping (inout ServerConfiguration) -> Void = { _ in },
      _ body: (TestServer, UInt16) async throws -> Void
    ) async throws {
      let port = try freePort()
      try await TestServer.with({
        $0.flashphoner.port = port
        $0.hooks.application = application.endpoint
        $0.hooks.timeout = .milliseconds(500)
        $0.hooks.kinds = [.join]
        change(&$0)
      }) { server in try await body(server, port) }
    }

    @Test(arguments: WayIn.allCases) func scenario54AnApplicationSaysNoAndTheClientHearsWhy(door: WayIn) async throws {
      let application = try Application { user, _ in user.contains("carl") ? .no : .yes }
      defer { application.stop() }
      try await with(application) { server, port in
        let driver = MediaDriver()
        defer { driver.stop() }
        // Players need something to play.
        let ben = HTTPComer("ben", .whip, server)
        #expect(try await ben.join("demo") == nil)
        let refusal = try await join(door, "carl", server, port, driver)
        #expect(refusal == (door == .flashphoner ? "Please pay first." : "REFUSED_BY_APP"))
        #expect(try await join(door, "dora", server, port, driver) == nil, "the control: who is allowed")
        #expect(application.all.count == 3 && application.all.allSatisfy(\.isSigned))
        let asked = try #require(application.all.last).json
        #expect(asked["type"] as? String == "hook" && asked["hook"] as? String == "join")
        #expect(asked["room"] as? String == "demo" && asked["door"] as? String == door.rawValue)
        #expect(asked["realm"] as? String == "default" && (asked["id"] as? String)?.isEmpty == false)
        await ben.close()
      }
    }

    @Test func theReasonIsSaidInFull() async throws {
      let application = try Application { _, _ in .no }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.hello, .join, .callStart] }) { server, _ in
        let error = try await refused { _ = try await Client(server.url, "anna") }
        #expect(error?.code == .refusedByApp && error?.message == "Please pay first.")
        #expect(error?.data.reason == "unpaid" && error?.data.retryable == false)
        let answer = try await server.send(
          "POST", "/whip/demo?name=ben", whipOffer(lines: [ffmpegAudio]), headers: ["Content-Type": "application/sdp"])
        #expect(answer.status == 403 && answer.body.contains("Please pay first."))
        #expect(application.all.count == 2, "who has no session asks for nothing more")
        await server.shows([#"roost_hook_questions_total{outcome="refused"}"#: 2], ==)
      }
    }

    /// Each kind of bad answer is none, at each door, and what the file says becomes of it.
    @Test(arguments: WayIn.allCases, [true, false])
    func whatCannotBeUsedIsNoAnswer(door: WayIn, isAllowed: Bool) async throws {
      let count = Locked(0)
      let application = try Application { user, _ in
        guard user.contains("carl") else { return .yes }
        let number = count.withLock { (value: inout Int) -> Int in
          value += 1
          return value - 1
        }
        // One that never comes is the last.
        return number < TinyAnswer.bad.count ? TinyAnswer.bad[number] : nil
      }
      defer { application.stop() }
      try await with(
        application,
        {
          $0.hooks.whenDown = isAllowed ? .allow : .refuse
          $0.hooks.attempts = 1
        }
      ) { server, port in
        let driver = MediaDriver()
        defer { driver.stop() }
        let ben = HTTPComer("ben", .whip, server)
        #expect(try await ben.join("demo") == nil)
        for _ in 0...TinyAnswer.bad.count {
          let refusal = try await join(door, "carl", server, port, driver)
          let words = "The application did not answer; try again later."
          #expect(refusal == (isAllowed ? nil : door == .flashphoner ? words : "OVERLOADED"))
          // One good answer keeps it from being left alone.
          _ = try await refused { try await Client(server.url, "x").session.join(room: "other") }
        }
        #expect(count.withLock { $0 } == TinyAnswer.bad.count + 1)
        #expect(server.log.all.contains { $0.contains("hook_failed") && $0.contains("HTTP 500") })
        await ben.close()
      }
    }

    /// While it hangs for some, others are served: all of them at once, and by far sooner than it is given up.
    @Test func nobodyElseWaits() async throws {
      let application = try Application { user, _ in user == "anna" ? nil : .yes }
      defer { application.stop() }
      try await with(application, { $0.hooks.timeout = .seconds(5) }) { server, _ in
        let (anna, ben) = (try await Client(server.url, "anna"), try await Client(server.url, "ben"))
        let isOver = Locked(false)
        let waiting = Task {
          let error = try await refused { try await anna.session.join(room: "demo") }
          isOver.withLock { $0 = true }
          return error
        }
        #expect(await eventually { application.all.count == 1 })
        let room = try await ben.session.join(room: "demo")
        for _ in 0..<200 {
          let params = ChatSendParams(room: "demo", text: "hello", to: nil)
          _ = try? await ben.session.request(.chat(.send(params)))
          _ = try await ben.session.request(.room(.info(RoomParams(room: "demo"))))
        }
        #expect(!isOver.withLock { $0 }, "all of that while the first still waits")
        try await room.leave()
        // The control: who is asked about does wait, and is told so.
        let error = try await waiting.value
        #expect(error?.code == .overloaded && error?.data.reason == "application" && error?.data.retryable == true)
      }
    }

    /// One that is down is left alone, and asked again when it may be back.
    @Test func scenario55AnApplicationThatIsDownIsLeftAloneAndComesBack() async throws {
      // Nobody listens there, which is nobody's own fault.
      let application = try Application { _, _ in .yes }
      application.stop()
      try await with(application, { $0.hooks.attempts = 1 }) { server, _ in
        let anna = try await Client(server.url, "anna")
        for _ in 0..<8 { _ = try await refused { try await anna.session.join(room: "demo") } }
        await server.shows([
          #"roost_hook_questions_total{outcome="failed"}"#: Double(CircuitBreaker.failures),
          #"roost_hook_questions_total{outcome="skipped"}"#: 3, #"roost_hook_down"#: 1,
        ])
        #expect(server.log.all.count { $0.contains("hooks_down") } == 1)
        let again = try TinyServer(port: application.port) { _ in "204 No Content" }
        defer { again.stop() }
        #expect(await eventually { (try? await anna.session.join(room: "demo")) != nil })
        #expect(server.log.all.count { $0.contains("hooks_back") } == 1)
        await server.shows([#"roost_hook_down"#: 0])
      }
    }

    /// What is changed is what others see, whoever comes by which door.
    @Test func aNameIsGiven() async throws {
      let application = try Application { _, hook in
        hook == "hello"
          ? TinyAnswer("200 OK", #"{"allow": true, "grants": ["join", "chat"]}"#)
          : TinyAnswer("200 OK", #"{"allow": true, "displayName": "Dr. Who", "metadata": {"paid": true}}"#)
      }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.hello, .join] }) { server, _ in
        let anna = try await Client(server.url, "anna")
        let room = try await anna.session.join(room: "demo")
        let own = await room.snapshot?.participants.first
        #expect(own?.displayName == "Dr. Who" && own?.metadata == ["paid": true])
        let call = CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio)
        #expect(try await refused { try await anna.session.startCall(call) }?.code == .forbidden)
      }
    }

    /// What an answer to a join leaves holds for what comes after it, by whatever door: what is published there, and played.
    @Test(arguments: WayIn.allCases) func grantsOfAStayHoldAtEachDoor(door: WayIn) async throws {
      let application = try Application { user, _ in
        let left = user.contains("carl") ? #""chat""# : #""publish:audio", "publish:video", "subscribe""#
        return TinyAnswer("200 OK", #"{"allow": true, "grants": [\#(left)]}"#)
      }
      defer { application.stop() }
      try await with(application) { server, port in
        let ben = HTTPComer("ben", .whip, server)
        #expect(try await ben.join("demo") == nil)
        for name in ["carl", "dora"] {
          let said = try await publish(door, name, server, port)
          let no = door == .flashphoner ? "Restricted access" : "FORBIDDEN"
          #expect(said == (name == "carl" ? no : nil))
        }
        #expect(application.all.map { $0.json["hook"] as? String } == ["join", "join", "join"])
        await ben.close()
      }
    }

    /// Who is in, and may not publish.
    @Test(arguments: [WayIn.native, .whip, .flashphoner]) func publishingIsRefusedAtEachDoor(door: WayIn) async throws {
      let application = try Application { user, _ in user.contains("carl") ? .no : .yes }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.publish] }) { server, port in
        for name in ["carl", "dora"] {
          let said = try await publish(door, name, server, port)
          let no = door == .flashphoner ? "Please pay first." : "REFUSED_BY_APP"
          #expect(said == (name == "carl" ? no : nil))
        }
        #expect(application.all.map { $0.json["hook"] as? String } == ["publish", "publish"])
        #expect(application.all.allSatisfy { $0.json["room"] as? String == "demo" })
      }
    }

    /// What somebody is told who publishes; nil where it is taken.
    private func publish(_ door: WayIn, _ name: String, _ server: TestServer, _ port: UInt16) async throws -> String? {
      switch door {
      case .native:
        let client = try await Client(server.url, name)
        _ = try await client.session.join(room: "demo")
        let announced = [AnnouncedTrack(mid: "0", kind: .audio, label: "sound")]
        let offer = PublishOfferParams(pc: .publish, sdp: ffmpegOffer, tracks: announced)
        return try await refused { _ = try await client.session.request(.peerConnection(.offer(offer))) }?.code.name
      case .whip, .whep: return try await HTTPComer(name, door, server).join("demo")
      case .flashphoner:
        let comer = try await FlashphonerComer(name, port: port)
        #expect(try await comer.join("demo") == nil)
        if name == "carl" { return try await comer.failure(of: ffmpegOffer, as: "m1") }
        try await comer.publish()
        return nil
      }
    }

    /// Of what is published no more is taken than the application says. WHIP takes no half of an offer.
    @Test(arguments: [(nil, 201), (#""opus", "VP9""#, 201), (#""opus""#, 422)] as [(String?, Int)])
    func codecsAreAllowed(codecs: String?, status: Int) async throws {
      let application = try Application { _, _ in
        TinyAnswer("200 OK", codecs.map { #"{"allow": true, "codecs": [\#($0)]}"# } ?? #"{"allow": true}"#)
      }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.publish] }) { server, _ in
        let video = vp8Video.replacing("SAVPF 106", with: "SAVPF 106 109")
          .replacing("a=rtpmap:106 VP8/90000", with: "a=rtpmap:106 VP8/90000\na=rtpmap:109 VP9/90000")
        let answer = try await server.send(
          "POST", "/whip/demo?name=ben", whipOffer(lines: [ffmpegAudio, video]),
          headers: ["Content-Type": "application/sdp"])
        #expect(answer.status == status, "\(answer.body)")
        #expect(answer.body.contains("VP8/90000") == (codecs == nil))
        #expect(answer.body.contains("VP9/90000") == (status == 201))
      }
    }

    @Test(arguments: [true, false]) func invitingAndAnsweringAreAskedAbout(isAllowed: Bool) async throws {
      let application = try Application { _, hook in isAllowed || hook == "call.start" ? .yes : .no }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.callInvite, .callAccept] }) { server, _ in
        var people: [String: Client] = [:]
        for name in ["anna", "bert", "carl"] { people[name] = try await Client(server.url, name) }
        let anna = try #require(people["anna"]?.session)
        let bert = try #require(people["bert"]?.session)
        let started = try await anna.startCall(CallStartParams(to: ["bert"], kind: .group, media: .audio))
        let id = started.call.callId
        let no = isAllowed ? nil : ErrorCode.refusedByApp
        let accept = try await refused { _ = try await bert.request(.call(.accept(CallAcceptParams(callId: id)))) }
        #expect(accept?.code == no)
        let more = CallInviteParams(callId: id, users: ["carl"])
        let invite = try await refused { _ = try await anna.request(.call(.invite(more))) }
        #expect(invite?.code == no && invite?.data.reason == (isAllowed ? nil : "unpaid"))
        #expect(application.all.map { $0.json["hook"] as? String } == ["call.accept", "call.invite"])
        #expect(application.all.allSatisfy { $0.json["callId"] as? String == id && $0.isSigned })
      }
    }

    @Test func callsAreAskedAbout() async throws {
      let application = try Application { _, hook in hook == "call.start" ? .no : .yes }
      defer { application.stop() }
      try await with(application, { $0.hooks.kinds = [.callStart] }) { server, _ in
        let anna = try await Client(server.url, "anna")
        let call = CallStartParams(to: ["bert"], kind: .oneToOne, media: .audio)
        let error = try await refused { try await anna.session.startCall(call) }
        #expect(error?.code == .refusedByApp && error?.data.reason == "unpaid")
        _ = try await anna.session.join(room: "demo")
        #expect(application.all.map { $0.json["hook"] as? String } == ["call.start"])
        #expect(application.all.first?.json["to"] as? [String] == ["bert"])
      }
    }
  }
}
