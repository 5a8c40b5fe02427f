// What URLSession makes of servers that are slow, send far too much, or are others than Roost.
import Basics
import Foundation
import FoundationNetworking
import Glibc
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

  @Test func anAnswerIsReadAsFarAsItMayBe() async throws {
    let server = try TinyServer.answering { request in
      let size = request.path == "/api/v1/rooms" ? 1_000 : 1_001
      let text = request.path == "/api/v1/rooms" ? #"{"rooms":[]"# : #"{"bans":[]"#
      return TinyAnswer("200 OK", text + String(repeating: " ", count: size - 1 - text.utf8.count) + "}")
    }
    defer { server.stop() }
    let roost = Self.client(server.port, URLSessionAdmin(answerBytes: 1_000))
    #expect(try await roost.listRooms().rooms == [])
    let error = await error { () throws(AdminError) in try await roost.listBans() }
    #expect(error == .tooLong(most: 1_000))
    #expect(error?.description == "The answer has more than 1000 bytes.")
  }

  /// 5,000 people with all the metadata that they may have, and the rest of what is said of each.
  @Test func aFullServerIsRead() async throws {
    let size = 5_000 * (4_096 + 1_200)
    let server = try TinyServer.answering { _ in TinyAnswer("200 OK", String(repeating: " ", count: size)) }
    defer { server.stop() }
    let request = AdminRequest(method: "GET", url: "http://127.0.0.1:\(server.port)/")
    #expect(try await URLSessionAdmin().send(request).content.count == size)
    // The control: not all is read that somebody sends.
    await #expect(throws: AdminError.tooLong(most: size - 1)) {
      try await URLSessionAdmin(answerBytes: size - 1).send(request)
    }
  }

  /// Each byte begins the time of URLSession anew; the deadline is for all of them.
  @Test func anAnswerInDropsHasADeadline() async throws {
    let (listener, port) = try Loopback.listen()
    let server = Dropping(listener)
    defer { server.stop() }
    let roost = Self.client(port, URLSessionAdmin(deadline: .seconds(2)))
    let begun = ContinuousClock.now
    let late = AdminError.unreachable("the whole answer did not come in time")
    await #expect(throws: late) { try await roost.listCalls() }
    let took = ContinuousClock.now - begun
    #expect(took >= .seconds(2) && took < .seconds(20), "\(took)")
    #expect(server.sent > 3, "it had begun to answer")
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
    let answers = AdminAnswers(bytes: 1)
    let url = try #require(URL(string: "http://127.0.0.1:9"))
    let task = URLSession.shared.dataTask(with: url)
    answers.begin(task)
    answers.giveUp(task, CancellationError())
    answers.giveUp(task, URLSessionAdmin.Failure.tooLate)
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
    await #expect(throws: URLSessionAdmin.Failure.tooLate) {
      try await withCheckedThrowingContinuation { waiting in
        let toSend = answers.expect(other, waiting)
        isSent.withLock { $0 = toSend }
        answers.giveUp(other, URLSessionAdmin.Failure.tooLate)
      }
    }
    #expect(isSent.withLock { $0 })
  }
}

/// A server that answers the first who connects with a byte each 200 milliseconds.
private final class Dropping: Sendable {
  private let listener: Int32
  private let count = Locked(0)

  /// Takes over a listening socket.
  init(_ listener: Int32) {
    self.listener = listener
    Thread.detachNewThread { [count] in
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      defer { close(connection) }
      var request = [UInt8](repeating: 0, count: 4_096)
      _ = read(connection, &request, request.count)
      var next = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
      while Glibc.send(connection, next, next.utf8.count, Int32(MSG_NOSIGNAL)) > 0 {
        count.withLock { $0 += 1 }
        next = " "
        usleep(200_000)
      }
    }
  }

  /// How often it has sent something.
  var sent: Int { count.withLock { $0 } }

  func stop() { close(listener) }
}
