// The sender against a real HTTP server on loopback, and the signature against a known value.

import Basics
import Foundation
import TestSupport
import Testing
import TinyHTTP

@testable import Webhooks

@Suite(.serialized) struct SenderTests {
  private func post(_ url: String, timeout: TimeDelta = .seconds(30)) -> HTTPPost {
    HTTPPost(
      url: url, headers: [("content-type", "application/json"), ("x-name", "value")], body: Array("{}".utf8),
      timeout: timeout)
  }

  /// Sends one request and waits for its outcome.
  private func send(_ post: HTTPPost) throws -> HTTPOutcome {
    guard var sender = HTTPSender() else { throw POSIXError(.ENOMEM) }
    let pipe = Pipe()
    sender.send("a", post)
    for _ in 0..<6000 {
      if let finished = sender.takeFinished().first { return finished.outcome }
      sender.wait(descriptor: pipe.fileHandleForReading.fileDescriptor, milliseconds: 10)
    }
    return .failed("nothing came", mayHaveArrived: true)
  }

  @Test func whatIsSentArrives() throws {
    let receiver = try Receiver { _ in "204 No Content" }
    defer { receiver.stop() }
    #expect(try send(post(receiver.url + "/hook?x=1")) == .answered(status: 204, retryAfter: nil))
    let request = try #require(receiver.all.first)
    #expect(request.path == "/hook?x=1" && request.body == Array("{}".utf8))
    #expect(request.headers["x-name"] == "value" && request.headers["content-type"] == "application/json")
  }

  /// A web server that has old ciphers alone is not spoken to; one that has others gets as far as its certificate, which nobody knows.
  @Test(arguments: [
    ("AES128-SHA:@SECLEVEL=0", false), ("ECDHE-RSA-AES128-SHA:@SECLEVEL=0", false), ("AES128-GCM-SHA256", false),
    ("ECDHE-RSA-AES128-GCM-SHA256", true),
  ])
  func oldCiphersAreNotTaken(cipher: String, isTaken: Bool) throws {
    let folder = try TemporaryFolder()
    _ = try openssl([
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout",
      folder.path("key.pem"), "-out", folder.path("certificate.pem"),
    ])
    let (server, port) = (Process(), try freePort())
    server.executableURL = URL(filePath: "/usr/bin/env")
    server.arguments = [
      "openssl", "s_server", "-accept", "\(port)", "-tls1_2", "-cipher", cipher, "-quiet", "-key",
      folder.path("key.pem"),
      "-cert", folder.path("certificate.pem"),
    ]
    (server.standardInput, server.standardError, server.standardOutput) = (Pipe(), Pipe(), Pipe())
    try server.run()
    defer {
      // The thread that a test runs on may have had its signals blocked, and a child inherits that.
      kill(server.processIdentifier, SIGKILL)
      server.waitUntilExit()
    }
    // It takes a moment until it listens.
    var words = ""
    for _ in 0..<600 where !words.contains("SSL") {
      guard case .failed(let said, mayHaveArrived: false) = try send(post("https://127.0.0.1:\(port)/")) else { break }
      words = said
      usleep(20_000)
    }
    #expect(words.contains("certificate") == isTaken, "\(words)")
    #expect(words.contains("SSL"), "\(words)")
  }

  /// A body is read up to its bound, and no further; where nobody wants it, it is thrown away.
  @Test(arguments: [(0, 200_000, true), (16, 16, true), (16, 17, false), (16_384, 1_000_000, false), (16, 0, true)])
  func bodiesAreBounded(most: Int, sent: Int, isTaken: Bool) throws {
    let server = try TinyServer.answering { _ in TinyAnswer("200 OK", String(repeating: "x", count: sent)) }
    defer { server.stop() }
    guard var sender = HTTPSender() else { throw POSIXError(.ENOMEM) }
    let pipe = Pipe()
    var wanted = post("http://127.0.0.1:\(server.port)/")
    wanted.mostAnswerBytes = most
    sender.send("a", wanted)
    var answer: HTTPAnswer?
    for _ in 0..<1000 where answer == nil {
      sender.wait(descriptor: pipe.fileHandleForReading.fileDescriptor, milliseconds: 10)
      answer = sender.takeAnswers().first
    }
    let found = try #require(answer)
    guard isTaken else {
      let words = "the answer is longer than \(most) bytes"
      return #expect(found.outcome == .failed(words, mayHaveArrived: true) && found.isTooLong)
    }
    #expect(found.outcome == .answered(status: 200, retryAfter: nil) && !found.isTooLong)
    #expect(found.body.count == (most == 0 ? 0 : sent))
  }

  /// Less than a millisecond is no request without an end.
  @Test func theShortestTimeHasAnEnd() throws {
    let server = try TinyServer { _ in nil }
    defer { server.stop() }
    let outcome = try send(post("http://127.0.0.1:\(server.port)/", timeout: .microseconds(500)))
    #expect(outcome != .failed("nothing came", mayHaveArrived: true), "it ended by itself")
  }

  /// What somebody waits for offers no HTTP/2, whose dead connections would be taken again.
  @Test(arguments: [true, false]) func whatIsUrgentTakesConnectionsOfItsOwn(isUrgent: Bool) throws {
    let (listener, port) = try Loopback.listen(port: 0)
    defer { close(listener) }
    guard var sender = HTTPSender() else { throw POSIXError(.ENOMEM) }
    var wanted = post("https://127.0.0.1:\(port)/", timeout: .seconds(5))
    wanted.isUrgent = isUrgent
    sender.send("a", wanted)
    let pipe = Pipe()
    for _ in 0..<20 {
      _ = sender.takeFinished()
      sender.wait(descriptor: pipe.fileHandleForReading.fileDescriptor, milliseconds: 10)
    }
    let connection = accept(listener, nil, nil)
    defer { close(connection) }
    var hello = [UInt8](repeating: 0, count: 4096)
    let count = read(connection, &hello, hello.count)
    let words = String(decoding: hello.prefix(max(count, 0)), as: UTF8.self)
    #expect(words.contains("http/1.1"), "what it offers (RFC 7301) stands in the first message of TLS")
    #expect(words.contains("\u{2}h2") == !isUrgent)
  }

  @Test func redirectsAreNotFollowed() throws {
    let receiver = try Receiver { _ in "302 Found\r\nlocation: /elsewhere" }
    defer { receiver.stop() }
    #expect(try send(post(receiver.url)) == .answered(status: 302, retryAfter: nil))
    #expect(receiver.all.count == 1)
  }

  @Test func retryAfterIsRead() throws {
    let receiver = try Receiver { _ in "503 Busy\r\nretry-after: 7" }
    defer { receiver.stop() }
    #expect(try send(post(receiver.url)) == .answered(status: 503, retryAfter: .seconds(7)))
  }

  @Test func nobodyThereIsAFailureThatCannotHaveArrived() throws {
    let receiver = try Receiver { _ in "200 OK" }
    let url = receiver.url
    receiver.stop()
    guard case .failed(_, mayHaveArrived: false) = try send(post(url)) else {
      Issue.record("it answered")
      return
    }
    guard case .failed(_, mayHaveArrived: false) = try send(post("ftp://127.0.0.1/")) else {
      Issue.record("only http and https")
      return
    }
  }

  @Test func oneThatDoesNotAnswerTimesOut() throws {
    let listener = try TinyServer { _ in nil }
    defer { listener.stop() }
    guard
      case .failed(_, mayHaveArrived: true) = try send(
        post("http://127.0.0.1:\(listener.port)", timeout: .milliseconds(200)))
    else {
      Issue.record("it answered")
      return
    }
  }

  @Test func manyAreOnTheirWayAtOnce() throws {
    let receiver = try Receiver { _ in "200 OK" }
    defer { receiver.stop() }
    guard var sender = HTTPSender() else { throw POSIXError(.ENOMEM) }
    for number in 0..<50 { sender.send("\(number)", post(receiver.url + "/\(number)")) }
    var done: Set<String> = []
    let pipe = Pipe()
    for _ in 0..<6000 where done.count < 50 {
      for (id, outcome) in sender.takeFinished() where outcome == .answered(status: 200, retryAfter: nil) {
        done.insert(id)
      }
      sender.wait(descriptor: pipe.fileHandleForReading.fileDescriptor, milliseconds: 10)
    }
    #expect(done.count == 50 && Set(receiver.all.map(\.path)).count == 50)
  }

  /// `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret`
  @Test func theSignatureIsThatOfOtherPeoplesTools() {
    let text = signature(of: Array(#"{"a":1}"#.utf8), secrets: [Array("secret".utf8)], seconds: 1_700_000_000)
    let tag = "v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686"
    #expect(text == "t=1700000000," + tag)
    // While secrets are changed each signs.
    let both = signature(
      of: Array(#"{"a":1}"#.utf8), secrets: [Array("new".utf8), Array("secret".utf8)], seconds: 1_700_000_000)
    #expect(both.split(separator: ",").count == 3 && both.hasPrefix("t=1700000000,v1=") && both.hasSuffix("," + tag))
  }
}
