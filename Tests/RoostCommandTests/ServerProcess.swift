// `roost serve` as a process of its own with a directory for its files, which can be killed and started again.
import Basics
import CLinux
import Foundation
import Testing

@testable import roost

/// A server whose files outlive it.
final class ServerProcess {
  let folder: URL
  let port: UInt16
  private let limit: Int?
  /// The configuration that is always there.
  private let base: String
  private var process: Process?
  private(set) var lines = LineCollector()

  /// `yaml`: more of the configuration, `media`: and of its section `media`. `limit`: the most bytes that a file of the server
  /// may have.
  init(_ yaml: String = "", media more: [String] = [], fileLimit limit: Int? = nil) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "roost-process-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    port = try freePort()
    let media = try freePort()
    self.limit = limit
    base = """
      listen: {port: \(port)}
      media: {\((["port: \(media)", "addresses: [127.0.0.1]"] + more).joined(separator: ", "))}
      storage: {path: roost.db}

      """
    try configure(yaml)
  }

  /// What the next start reads.
  func configure(_ yaml: String) throws {
    try (base + yaml).write(to: folder.appending(path: "rooms.yaml"), atomically: true, encoding: .utf8)
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(at: folder)
  }

  var url: String { "ws://127.0.0.1:\(port)/rtc" }
  var file: URL { folder.appending(path: "roost.db") }
  var identifier: Int32 { process?.processIdentifier ?? 0 }

  /// Starts it and returns once it answers. `shell`: what is done before.
  func start(after shell: String = "") throws {
    let process = Process()
    let roost = try productsDirectory().appending(path: "roost").path
    let configuration = folder.appending(path: "rooms.yaml").path
    process.executableURL = URL(filePath: "/bin/sh")
    // Beyond the limit a write fails, as on a full disk; it must not end the process.
    let limiting = limit.map { "ulimit -S -f \($0 / 512); " } ?? ""
    process.arguments = ["-c", shell + limiting + #"exec "$0" serve --config "$1""#, roost, configuration]
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    let lines = LineCollector()
    self.lines = lines
    errors.fileHandleForReading.readabilityHandler = { lines.add($0.availableData) }
    try process.run()
    self.process = process
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(output.fileHandleForReading.fileDescriptor, &byte, 1) == 1, byte != 10 { bytes.append(byte) }
    try #require(String(decoding: bytes, as: UTF8.self).hasPrefix("Open "), "it started: \(lines.all)")
  }

  /// What it says of itself where it does not start, and has ended by itself with 1. `shell`: what is done before.
  func refusal(after shell: String = "") throws -> String {
    let process = Process()
    let roost = try productsDirectory().appending(path: "roost").path
    process.executableURL = URL(filePath: "/bin/sh")
    // One that starts after all is ended, or this would wait for ever.
    process.arguments = [
      "-c", shell + #"exec timeout 60 "$0" serve --config "$1""#, roost, folder.appending(path: "rooms.yaml").path,
    ]
    let errors = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 1, "\(text)")
    return text
  }

  /// Ends it as a crash does.
  func kill() { end(SIGKILL) }

  /// Ends it as one who runs it does.
  func stop() { end(SIGTERM) }

  private func end(_ signal: Int32) {
    guard let process else { return }
    Foundation.kill(process.processIdentifier, signal)
    process.waitUntilExit()
    self.process = nil
  }
}

extension ServerProcess {
  /// Whether it says something in its log, within a minute.
  func says(_ words: String) async -> Bool {
    for _ in 0..<600 where !lines.all.contains(words) { try? await Task.sleep(for: .milliseconds(100)) }
    return lines.all.contains(words)
  }

  /// Lets its files grow again.
  func raiseFileLimit() throws {
    let command = Process()
    command.executableURL = URL(filePath: "/usr/bin/prlimit")
    command.arguments = ["--pid", "\(identifier)", "--fsize=unlimited:"]
    try command.run()
    command.waitUntilExit()
    #expect(command.terminationStatus == 0)
  }
}

/// What a process has written to standard error.
final class LineCollector: Sendable {
  private let bytes = Locked(Data())
  func add(_ data: Data) { bytes.withLock { $0.append(data) } }
  var all: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
}

/// The directory of the test program, where the other products are too.
func productsDirectory() throws -> URL {
  let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  return URL(filePath: program).deletingLastPathComponent()
}

/// A port that nobody had a moment ago.
func freePort() throws -> UInt16 {
  let loopback = try #require(SocketAddress(host: "127.0.0.1", port: 0))
  let descriptor = clinux_udp_open(loopback.shim, clinux_udp_options())
  try #require(descriptor >= 0)
  defer { _ = clinux_close(descriptor) }
  var address = clinux_address()
  _ = clinux_socket_address(descriptor, &address)
  return address.port
}
