// The server as a process of its own, which can be told to stop or be killed, and started again where it left off.

import Foundation
import Glibc
import TestSupport
import Testing

final class ServerProcess {
  let port: UInt16
  let directory: URL
  private let mediaPort: UInt16
  private let extra: String
  private var process: Process?

  /// A server that is not started yet, in a directory of its own. `extra`: more lines of its configuration.
  init(_ extra: String = "") throws {
    port = try Self.freePort()
    mediaPort = try Self.freePort()
    self.extra = extra
    directory = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  var url: String { "ws://127.0.0.1:\(port)/rtc" }

  /// Returns when it listens.
  func start() async throws {
    let file = directory.appending(path: "rooms.yaml")
    try """
    listen: {port: \(port)}
    media: {port: \(mediaPort), addresses: [127.0.0.1]}
    storage: {path: roost.db}
    \(extra)
    """.write(to: file, atomically: true, encoding: .utf8)
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let server = Process()
    server.executableURL = URL(filePath: program).deletingLastPathComponent().appending(path: "roost")
    server.arguments = ["serve", "--config", file.path]
    server.standardOutput = FileHandle.nullDevice
    let log = directory.appending(path: "log")
    if !FileManager.default.fileExists(atPath: log.path) {
      _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    }
    let handle = try FileHandle(forWritingTo: log)
    try handle.seekToEnd()
    server.standardError = handle
    try server.run()
    process = server
    let port = port
    let isUp = await eventually(within: .seconds(60)) {
      guard let descriptor = try? Loopback.connect(port) else { return false }
      close(descriptor)
      return true
    }
    try #require(isUp, "the server does not start: \(self.log)")
  }

  /// What it logged so far.
  var log: String { (try? String(contentsOf: directory.appending(path: "log"), encoding: .utf8)) ?? "" }

  /// Sends a signal; `wait` says whether to wait until it is gone.
  func signal(_ number: Int32) {
    guard let process else { return }
    kill(process.processIdentifier, number)
  }

  /// Waits until it is gone; its exit status.
  func waitUntilExit() async -> Int32 {
    guard let process else { return -1 }
    _ = await eventually(within: .seconds(60)) { !process.isRunning }
    return process.isRunning ? -1 : process.terminationStatus
  }

  /// From one moment to the next.
  func kill9() async {
    signal(SIGKILL)
    _ = await waitUntilExit()
  }

  func remove() async {
    if process?.isRunning == true { await kill9() }
    try? FileManager.default.removeItem(at: directory)
  }

  private static func freePort() throws -> UInt16 {
    let (descriptor, port) = try Loopback.listen()
    close(descriptor)
    return port
  }
}
