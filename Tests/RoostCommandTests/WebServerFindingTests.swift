// What the doctor says about the web servers that are to be told, and `check` about timers that cannot be meant.
import Basics
import Configuration
import Foundation
import Testing
import TinyHTTP
import Webhooks

@testable import roost

@Suite struct WebServerFindingTests {
  private func look(_ url: String) -> [Finding] {
    var configuration = ServerConfiguration()
    configuration.webhooks.push = ServerConfiguration.Webhooks.Endpoint(url: url, secret: "a secret of sixteen")
    return examineWebhooks(configuration)
  }

  @Test func aServerThatAnswersIsFineWhateverItSaysToAQuestion() throws {
    let heard = Locked<[String]>([])
    let server = try TinyServer { request in
      heard.withLock { $0.append("\(request.path) \(request.body.count)") }
      return "405 Method Not Allowed"
    }
    defer { server.stop() }
    let url = "http://127.0.0.1:\(server.port)/push"
    #expect(look(url) == [.ok("webhooks.push: \(url) answers")])
    #expect(heard.withLock { $0 } == ["/push 0"], "it is told nothing")
  }

  @Test func aServerThatIsIllIsAWarningAndOneThatIsGoneAFailure() throws {
    let server = try TinyServer { _ in "503 Busy" }
    let url = "http://127.0.0.1:\(server.port)/push"
    #expect(look(url).map(\.level) == [.warning] && look(url).first?.text.contains("503") == true)
    server.stop()
    let gone = look(url)
    #expect(gone.map(\.level) == [.failure] && gone.first?.remedy?.contains("start the server") == true)
  }

  /// A certificate that nobody vouches for, as the server's own openssl has it.
  @Test func aSelfMadeCertificateIsNotTrusted() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "TLS")
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", folder.appending(path: "certificate.pem").path,
      "-key", folder.appending(path: "key.pem").path,
    ]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Not SIGTERM: the process inherits the signals that the test's thread has blocked, and would outlive the tests.
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    var said = ""
    while !said.contains("ACCEPT") || !said.hasSuffix("\n") {
      let more = output.fileHandleForReading.availableData
      try #require(!more.isEmpty)
      said += String(decoding: more, as: UTF8.self)
    }
    let port = try #require(said.firstMatch(of: /ACCEPT .*:([0-9]+)/)?.1)
    let finding = look("https://127.0.0.1:\(port)/hook")
    #expect(finding.map(\.level) == [.failure] && finding.first?.text.contains("certificate") == true)
    #expect(finding.first?.remedy?.contains("update-ca-certificates") == true)
  }

  @Test func eachTroubleSaysWhatToDo() {
    let troubles: [HTTPLook] = [.unknownName, .unreachable("x"), .untrusted("x"), .late, .failed("x")]
    for trouble in troubles {
      let finding = webhookFinding("webhooks.events", "https://a.example/hook", trouble)
      #expect(finding.level == .failure && finding.remedy != nil && finding.text.contains("https://a.example/hook"))
    }
    let redirect = webhookFinding("webhooks.events", "https://a.example/hook", .reached(status: 301))
    #expect(redirect.level == .failure && redirect.remedy?.contains("final URL") == true)
    for host in ["203.0.113.1.invalid:1", "localhost.invalid", "127.0.0.1.invalid:1/x"] {
      #expect(look("http://\(host)/").map(\.level).last == .warning, "\(host): unencrypted over a network")
    }
    for host in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
      #expect(look("http://\(host)/").map(\.level) == [.failure], "\(host): nobody there, and no network between")
    }
  }
}

@Suite struct AdviceTests {
  private func advice(_ text: String) throws -> [String] {
    try ServerConfiguration.parse(Array(text.utf8), file: "f").advice.map(\.key)
  }

  @Test func theDefaultsNeedNone() throws {
    #expect(ServerConfiguration().advice.isEmpty)
    #expect(try advice("calls: {resume_grace: 8s}").isEmpty)
  }

  @Test(arguments: [
    ("calls: {resume_grace: 5s}", ["calls.resume_grace"]),
    ("sessions: {resume_grace: 1s}", ["sessions.resume_grace", "calls.resume_grace", "calls.resume_grace"]),
    ("sessions: {ping_interval: 10s}", ["sessions.dead_after"]),
    ("calls: {ring_timeout: 7s}", ["calls.ring_timeout"]),
    ("calls: {deliver_timeout: 30s}", ["calls.deliver_timeout"]),
    ("calls: {connect_timeout: 1s}", ["calls.connect_timeout"]),
    ("calls: {tombstone: 1m}", ["calls.tombstone"]),
    ("limits: {connections: 10}", ["limits.connections"]),
  ]) func timersThatCannotBeMeantAreNamed(text: String, keys: [String]) throws {
    #expect(try advice(text) == keys)
  }

  @Test func adviceNamesBothSides() throws {
    let configuration = try ServerConfiguration.parse(Array("calls: {resume_grace: 5s}".utf8), file: "f")
    let message = try #require(configuration.advice.first?.message)
    #expect(message.contains("5s is shorter than calls.caller_grace (8s)"))
    #expect(Finding.advice(try #require(configuration.advice.first)).level == .warning)
  }
}
