// A `roost serve` of our own: on free ports, with limits that a load test does not meet, and never left behind. A thread of
// its own starts it and waits for it, and the kernel kills it with that thread.

import Basics
import CLinux
import Glibc
import Threads

/// Why there is no server to load.
struct ServerStartError: Error, CustomStringConvertible {
  var description: String
}

final class ServerProcess: Sendable {
  fileprivate struct State {
    var pid: Int32 = 0
    var output: [String] = []
    var unfinished: [UInt8] = []
    var url: String?
    var exitStatus: Int32?
  }

  private let state = Locked(State())
  /// The address in a line that says that it listens.
  private let opening: @Sendable (String) -> String?

  /// The process.
  var pid: Int32 { state.withLock { $0.pid } }
  /// Whether it still runs.
  var isRunning: Bool { state.withLock { $0.exitStatus == nil } }
  /// The last lines that it wrote.
  var output: String { state.withLock { $0.output.suffix(20).joined(separator: "\n") } }

  private let launch: Launch?

  private init(launch: Launch? = nil, opening: @escaping @Sendable (String) -> String?) {
    (self.launch, self.opening) = (launch, opening)
  }

  /// Starts a server for `scenario` and returns when it listens. `program` is the path of `roost`; `settings` may keep
  /// it to the first CPU.
  static func start(
    _ program: String, for scenario: Scenario, _ settings: RunSettings
  ) async throws -> (ServerProcess, url: String) {
    var problem = ""
    // Somebody else may take a port that was free a moment ago.
    for _ in 0..<5 {
      let launch = Launch(
        program: program, folder: try ServerFolder(for: scenario, settings), isPinned: settings.isPinned)
      let server = ServerProcess(launch)
      if let url = await server.waitUntilOpen() { return (server, url) }
      problem = server.output
      await server.stop()
      launch.folder.remove()
    }
    throw ServerStartError(description: "\(program) did not start:\n\(problem)")
  }

  /// Starts a server with the files of `folder`, and returns when it listens.
  static func start(_ program: String, in folder: ServerFolder) async throws -> ServerProcess {
    let server = ServerProcess(Launch(program: program, folder: folder, isPinned: false))
    if await server.waitUntilOpen() != nil { return server }
    await server.stop()
    throw ServerStartError(description: "\(program) did not start:\n\(server.output)")
  }

  /// What starts a Roost of our own.
  private struct Launch: Sendable {
    let program: String
    let folder: ServerFolder
    let isPinned: Bool
  }

  private convenience init(_ launch: Launch) {
    self.init(launch: launch) { $0.hasPrefix("Open ") ? String($0.dropFirst(5)) : nil }
    run(launch.program, ["roost", "serve", "--config", launch.folder.configuration], isPinned: launch.isPinned)
  }

  /// Starts the same server again, with its files and ports, and returns when it listens. This one has ended.
  func again() async throws -> ServerProcess {
    guard let launch else { throw ServerStartError(description: "only a Roost can be started again") }
    let server = ServerProcess(launch)
    guard await server.waitUntilOpen() != nil else {
      throw ServerStartError(description: "\(launch.program) did not start again:\n\(server.output)")
    }
    return server
  }

  /// Where apps of Flashphoner's SDKs arrive; nil where there is no such listener.
  var flashphonerURL: String? { launch?.folder.flashphonerPort.map { "ws://127.0.0.1:\($0)/" } }

  /// Removes its files; it has ended.
  func removeFiles() { launch?.folder.remove() }

  /// Starts a Janus gateway that was unpacked into `root`, and returns when it listens.
  static func startJanus(_ root: String, _ settings: RunSettings) async throws -> (ServerProcess, url: String) {
    var problem = ""
    for _ in 0..<5 {
      let files = try JanusFiles(root: root, eventLoops: settings.janusEventLoops)
      defer { files.remove() }
      let server = ServerProcess { $0.contains("WebSockets thread started") ? files.url : nil }
      server.run("/usr/bin/env", files.command, isPinned: settings.isPinned)
      if let url = await server.waitUntilOpen() { return (server, url) }
      problem = server.output
      await server.stop()
    }
    throw ServerStartError(description: "Janus in \(root) did not start:\n\(problem)")
  }

  /// Stops it, by force after a while, and returns when it is gone.
  func stop() async {
    for (signal, patience) in [(SIGTERM, 12_000), (SIGKILL, 5_000)] {
      guard isRunning, pid > 0 else { return }
      kill(pid, signal)
      for _ in 0..<(patience / 20) where isRunning { try? await Task.sleep(for: .milliseconds(20)) }
    }
  }

  /// The address that it prints once it listens; nil when it ended or took too long.
  private func waitUntilOpen() async -> String? {
    for _ in 0..<3_000 {
      let (url, status) = state.withLock { ($0.url, $0.exitStatus) }
      if let url { return url }
      if status != nil { return nil }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return nil
  }

  // MARK: The thread

  private func run(_ program: String, _ arguments: [String], isPinned: Bool) {
    _ = OwnerThread(name: "server") { [self] in
      // A child may use the CPUs of the thread that started it.
      if isPinned { _ = clinux_thread_pin(0) }
      var pipes: [Int32] = [-1, -1]
      guard pipe(&pipes) == 0 else { return finish(127) }
      var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
      argv.append(nil)
      let pid = clinux_spawn_bound(program, &argv, pipes[1])
      for argument in argv { free(argument) }
      close(pipes[1])
      state.withLock { $0.pid = pid }
      if pid > 0 { drain(pipes[0]) }
      close(pipes[0])
      var status: Int32 = 127
      while pid > 0, waitpid(pid, &status, 0) < 0, errno == EINTR {}
      finish(status)
    }
  }

  private func finish(_ status: Int32) { state.withLock { $0.exitStatus = status } }

  private func drain(_ descriptor: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count <= 0 { return }
      state.withLock { $0.take(buffer[..<count], opening) }
    }
  }
}

extension ServerProcess.State {
  /// Takes what the server wrote, line by line.
  fileprivate mutating func take(_ bytes: ArraySlice<UInt8>, _ opening: (String) -> String?) {
    unfinished += bytes
    while let end = unfinished.firstIndex(of: 10) {
      let line = String(decoding: unfinished[..<end], as: UTF8.self)
      unfinished.removeSubrange(...end)
      if url == nil { url = opening(line) }
      output.append(line)
      if output.count > 200 { output.removeFirst(100) }
    }
  }
}
