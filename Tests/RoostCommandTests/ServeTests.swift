// The command as a process: it starts, says where, and stops when it is told to.
import Basics
import CLinux
import Foundation
import TestSupport
import Testing

@testable import roost

@Suite struct ServeTests {
  @Test(arguments: [SIGTERM, SIGINT, SIGHUP]) func aSignalStopsItCleanly(signal: Int32) throws {
    let (server, port, line) = try serve()
    kill(server.processIdentifier, signal)
    server.waitUntilExit()
    #expect(line == "Open http://127.0.0.1:\(port)")
    #expect(server.terminationReason == .exit && server.terminationStatus == 0)
  }

  /// They would end a process that does not take them.
  @Test(arguments: [SIGUSR1, SIGUSR2]) func aSignalThatMeansNothingIsSaidAndIgnored(signal: Int32) throws {
    let errors = Pipe()
    let (server, _, _) = try serve(errors)
    for _ in 0..<3 { kill(server.processIdentifier, signal) }
    var said = ""
    while !said.contains("means nothing here") {
      let line = firstLine(errors)
      try #require(!line.isEmpty, "it ended: \(said)")
      said += line + "\n"
    }
    #expect(said.contains(signal == SIGUSR1 ? "SIGUSR1" : "SIGUSR2"))
    kill(server.processIdentifier, SIGTERM)
    kill(server.processIdentifier, signal)
    server.waitUntilExit()
    #expect(server.terminationReason == .exit && server.terminationStatus == 0)
  }

  /// The process is halted, so that both signals wait when it goes on; and a client that does not answer the close frame
  /// makes the clean stop take longer than it takes to see the second.
  @Test(arguments: [SIGTERM, SIGINT]) func aSecondSignalEndsItAtOnce(second: Int32) throws {
    let (server, port, _) = try serve()
    let deaf = try RawSocket(port: port)
    deaf.upgrade()
    let first = second == SIGTERM ? SIGINT : SIGTERM
    kill(server.processIdentifier, SIGSTOP)
    for signal in [first, second] { kill(server.processIdentifier, signal) }
    kill(server.processIdentifier, SIGCONT)
    server.waitUntilExit()
    // Either may be taken first. A clean stop would have ended with 0.
    #expect(server.terminationReason == .exit)
    #expect([128 + SIGINT, 128 + SIGTERM].contains(server.terminationStatus))
    withExtendedLifetime(deaf) {}
  }

  /// Clients that talk, that are silent in the middle of a request, and that do not read: none of them delays the end.
  @Test func busyClientsDoNotDelayTheEnd() throws {
    let (server, port, _) = try serve()
    let talking = Flag()
    let clients = try (0..<8).map { _ in try RawSocket(port: port) }
    for client in clients { client.upgrade() }
    let silent = try RawSocket(port: port)
    silent.write(Array("GET /rtc HTTP/1.1\r\nHost: localhost\r\n".utf8))
    let request = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
    let threads = clients.map { client in
      Thread { while talking.isUp, client.write(RawSocket.frame(1, Array(request.utf8))) {} }
    }
    for thread in threads { thread.start() }
    kill(server.processIdentifier, SIGTERM)
    server.waitUntilExit()
    talking.lower()
    #expect(server.terminationReason == .exit && server.terminationStatus == 0, "not by the ten seconds' patience")
    withExtendedLifetime(silent) {}
  }

  @Test func aWrongConfigurationDoesNotStart() throws {
    let server = try start(["serve", "--config", "/nonexistent/rooms.yaml"], Pipe())
    server.waitUntilExit()
    #expect(server.terminationStatus == 1)
  }

  /// With fewer files than it must open before anybody comes it would fail somewhere in the middle.
  @Test(arguments: [8, 20, 60]) func tooFewDescriptorsAreSaid(limit: Int) throws {
    let text = try ServerProcess().refusal(after: "ulimit -n \(limit); ")
    #expect(text.contains("this process may have \(limit) open files, and needs"), "\(text)")
    #expect(text.contains("LimitNOFILE="))
  }

  /// A server on free ports of loopback, once it says that it is there.
  private func serve(_ errors: Any = FileHandle.nullDevice) throws -> (process: Process, port: UInt16, line: String) {
    let ports = try [freePort(), freePort()]
    let file = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString).yaml")
    try "listen: {port: \(ports[0])}\nmedia: {port: \(ports[1]), addresses: [127.0.0.1]}\nstorage: {path: none}\n"
      .write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let output = Pipe()
    let server = try start(["serve", "--config", file.path], output, errors)
    return (server, ports[0], firstLine(output))
  }

  private func start(_ words: [String], _ output: Pipe, _ errors: Any = FileHandle.nullDevice) throws -> Process {
    let process = Process()
    process.executableURL = try productsDirectory().appending(path: "roost")
    process.arguments = words
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    return process
  }

  private func firstLine(_ pipe: Pipe) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(pipe.fileHandleForReading.fileDescriptor, &byte, 1) == 1, byte != 10 { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Seen by several threads.
private final class Flag: Sendable {
  private let state = Locked(true)
  var isUp: Bool { state.withLock { $0 } }
  func lower() { state.withLock { $0 = false } }
}
