// What URLSession makes of servers that are slow, send far too much, or are others than Roost.
import Basics
import Foundation
import FoundationNetworking
import RoostProtocol
import TestSupport
import Testing
import TinyHTTP

@testable import RoostAdmin

@Suite(.timeLimit(.minutes(2))) struct URLSessionAdminTests {
  private static func client(_ port: UInt16, _ transport: URLSessionAdmin = URLSessionAdmin()) -> AdminClient {
    AdminClient(at: "http://127.0.0.1:\(port)", secret: "s", transport: transport)
  }

  /// Whoever answers with another address is not given what is for this one.
  @Test func itGoesNowhereElse() async throws {
    let elsewhere = try Receiver { _ in "200 OK" }
    defer { elsewhere.stop() }
    let server = try TinyServer.answering { request in
      request.path == "/api/v1/calls" ? TinyAnswer("302 Found\r\nlocation: \(elsewhere.url)/") : TinyAnswer("")
    }
    defer { server.stop() }
    let roost = Self.client(server.port)
    await #expect(throws: AdminError.unreadable(status: 302)) { try await roost.listCalls() }
    #expect(elsewhere.all.isEmpty)
    await #expect(throws: AdminError.self) { try await Self.client(elsewhere.port).listCalls() }
    #expect(elsewhere.all.count == 1, "the control")
    await #expect {
      try await roost.listBlocks()
    } throws: {
      if case .unreachable? = $0 as? AdminError { true } else { false }
    }
  }

  /// As nginx with a password before the API.
  @Test(arguments: [#"Basic realm="x""#, #"Digest realm="x", nonce="n", qop="auth""#, #"Bearer realm="x""#])
  func whoAsksForAPasswordIsAnswered(challenge: String) async throws {
    let server = try TinyServer { _ in "401 Unauthorized\r\nwww-authenticate: \(challenge)" }
    defer { server.stop() }
    let begun = ContinuousClock.now
    await #expect(throws: AdminError.unreadable(status: 401)) { try await Self.client(server.port).listCalls() }
    #expect(ContinuousClock.now - begun < .seconds(20), "it is not the deadline that ends it")
  }

  /// Not more is kept than an answer may have.
  @Test func anAnswerIsReadAsFarAsItMayBe() async throws {
    let server = try TinyServer.answering { request in
      switch request.path {
      case "/api/v1/rooms": TinyAnswer("200 OK", #"{"rooms":[]\#(String(repeating: " ", count: 1 << 20))}"#)
      default: TinyAnswer("200 OK", #"{"bans":[]\#(String(repeating: " ", count: 17 << 20))}"#)
      }
    }
    defer { server.stop() }
    let roost = Self.client(server.port)
    #expect(try await roost.listRooms().rooms == [], "what is long, and not too long, is read")
    await #expect(throws: AdminError.unreachable("the answer is too long")) { try await roost.listBans() }
  }

  @Test func whatIsGivenUpEnds() async throws {
    let server = try TinyServer { (_: TinyRequest) -> String? in nil }
    defer { server.stop() }
    let roost = Self.client(server.port)
    let listing: @Sendable () async -> AdminError? = {
      await RoostAdminTests.error { () throws(AdminError) in try await roost.listCalls() }
    }
    // Before it begins.
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await listing()
    }
    #expect(await early.value == .cancelled)
    // While it begins.
    for _ in 0..<1_000 {
      let task = Task { await listing() }
      if Bool.random() { await Task.yield() }
      task.cancel()
      #expect(await task.value == .cancelled)
    }
    // While it waits for the answer.
    let late = Task { await listing() }
    try await Task.sleep(for: .milliseconds(200))
    late.cancel()
    #expect(await late.value == .cancelled)
  }

  /// Whichever comes first, the end or who waits for it: it ends once.
  @Test func whatIsOverBeforeAnybodyWaitsIsNotSent() async throws {
    let answers = AdminAnswers()
    let url = try #require(URL(string: "http://127.0.0.1:9"))
    let task = URLSession.shared.dataTask(with: url)
    answers.begin(task)
    answers.giveUp(task, CancellationError())
    answers.giveUp(task, URLSessionAdmin.Failure.noHTTP)
    let isSent = Locked(true)
    await #expect(throws: CancellationError.self) {
      try await withCheckedThrowingContinuation { waiting in
        let toSend = answers.expect(task, waiting)
        isSent.withLock { $0 = toSend }
      }
    }
    #expect(!isSent.withLock { $0 })
    // The control: what is not over is to be sent.
    let other = URLSession.shared.dataTask(with: url)
    answers.begin(other)
    await #expect(throws: URLSessionAdmin.Failure.noHTTP) {
      try await withCheckedThrowingContinuation { waiting in
        let toSend = answers.expect(other, waiting)
        isSent.withLock { $0 = toSend }
        answers.giveUp(other, URLSessionAdmin.Failure.noHTTP)
      }
    }
    #expect(isSent.withLock { $0 })
  }
}
