// `roost serve` as a process of its own with a directory for its files, which can be killed and started again.

import Basics
import Foundation
import Glibc

/// A server whose files outlive it, on free ports of loopback.
public final class ServerProcess {
  /// Why it is not as it should be.
  public struct Failure: Error {
    /// What went wrong, with what the server said.
    public let what: String
  }

  private let place: TemporaryFolder
  /// The port of its web server.
  public let port: UInt16
  private let limit: Int?
  /// The configuration that is always there.
  private let base: String
  private var process: Process?
  /// What it has said to standard error since it was started last.
  public private(set) var lines = LineCollector()

  /// One that is not started yet. `yaml`: more of the configuration, `media`: and of its section `media`. `limit`: the most
  /// bytes that a file of the server may have. `records`: its record file, or `none`.
  public init(
    _ yaml: String = "", media more: [String] = [], fileLimit limit: Int? = nil, records: String = "roost.db"
  ) throws {
    place = try TemporaryFolder()
    port = try freePort()
    let media = try freePort()
    self.limit = limit
    base = """
      listen: {port: \(port)}
      media: {\((["port: \(media)", "addresses: [127.0.0.1]"] + more).joined(separator: ", "))}
      storage: {path: \(records)}

      """
    try configure(yaml)
  }

  deinit { kill() }

  /// What the next start reads.
  public func configure(_ yaml: String) throws { try place.write(base + yaml) }

  /// Where its files are.
  public var folder: URL { place.url }
  /// Its record file.
  public var file: URL { folder.appending(path: "roost.db") }
  /// The signalling address.
  public var url: String { "ws://127.0.0.1:\(port)/rtc" }
  /// The process's number; 0 while there is none.
  public var identifier: Int32 { process?.processIdentifier ?? 0 }

  /// Starts it and returns once it answers. `shell`: what is done before.
  public func start(after shell: String = "") throws {
    // Beyond the limit a write fails, as on a full disk; it must not end the process.
    let limiting = limit.map { "ulimit -S -f \($0 / 512); " } ?? ""
    let process = try makeProcess(shell + limiting + #"exec "$0" serve --config "$1""#)
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
    guard String(decoding: bytes, as: UTF8.self).hasPrefix("Open ") else {
      throw Failure(what: "it did not start: \(lines.all)")
    }
  }

  /// What it says of itself where it does not start, and has ended by itself with 1. `shell`: what is done before.
  public func refusal(after shell: String = "") throws -> String {
    // One that starts after all is ended, or this would wait for ever.
    let process = try makeProcess(shell + #"exec timeout 60 "$0" serve --config "$1""#)
    let errors = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 1 else {
      throw Failure(what: "it ended with \(process.terminationStatus): \(text)")
    }
    return text
  }

  private func makeProcess(_ command: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    let roost = try productsDirectory().appending(path: "roost").path
    process.arguments = ["-c", command, roost, place.path("rooms.yaml")]
    return process
  }

  /// Ends it as a crash does.
  public func kill() { end(SIGKILL) }

  /// Ends it as one who runs it does.
  public func stop() { end(SIGTERM) }

  private func end(_ signal: Int32) {
    guard let process else { return }
    Glibc.kill(process.processIdentifier, signal)
    process.waitUntilExit()
    self.process = nil
  }

  /// Waits until it has ended by itself. - Returns: its exit status; nil when it goes on.
  public func exitStatus() async -> Int32? {
    guard let process, await eventually({ !process.isRunning }) else { return nil }
    return process.terminationStatus
  }

  /// Whether it says something in its log, within a minute.
  public func says(_ words: String) async -> Bool { await eventually { lines.all.contains(words) } }

  /// Lets its files grow again.
  public func raiseFileLimit() throws {
    let command = Process()
    command.executableURL = URL(filePath: "/usr/bin/prlimit")
    command.arguments = ["--pid", "\(identifier)", "--fsize=unlimited:"]
    try command.run()
    command.waitUntilExit()
    guard command.terminationStatus == 0 else { throw Failure(what: "prlimit") }
  }
}

/// What a process has written.
public final class LineCollector: Sendable {
  private let bytes = Locked(Data())

  func add(_ data: Data) { bytes.withLock { $0.append(data) } }

  /// All of it.
  public var all: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
}

/// The directory of the test program, where the other products are too.
public func productsDirectory() throws -> URL {
  let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  return URL(filePath: program).deletingLastPathComponent()
}

private let nextPort = Locked(UInt16.random(in: 20_000..<32_000))

/// A TCP port of loopback that nobody had a moment ago, nor the UDP port of that number. It is below those that the kernel gives to
/// sockets that ask for none (32,768 and more): one of them would have it before a server of the test is up. Tests that run beside each
/// other are never given the same one.
public func freePort() throws -> UInt16 {
  for _ in 0..<1_000 {
    let port = nextPort.withLock { next in
      next = next < 31_999 ? next + 1 : 20_000
      return next
    }
    guard let (listener, _) = try? Loopback.listen(port: port) else { continue }
    let datagrams = try? Loopback.bindUDP(port: port)
    for descriptor in [listener, datagrams].compactMap(\.self) { close(descriptor) }
    if datagrams != nil { return port }
  }
  throw Loopback.Failure(step: "find a free port")
}
