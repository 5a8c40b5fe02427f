// The program itself: its exit status, its files, and that no server outlives it.

import Basics
import CLinux
import Glibc
import TestSupport
import Testing
import Threads

@testable import LoadGenerator

@Suite(.serialized, .timeLimit(.minutes(5))) struct ProgramTests {
  /// A child of a thread that waits for it.
  private final class Child: Sendable {
    private let state = Locked((pid: Int32(0), status: Int32?.none))

    init(_ program: String, _ arguments: [String]) {
      _ = OwnerThread(name: "child") { [state] in
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        argv.append(nil)
        let quiet = open("/dev/null", O_WRONLY)
        let pid = clinux_spawn_bound(program, &argv, quiet)
        for argument in argv { free(argument) }
        close(quiet)
        state.withLock { $0.pid = pid }
        var status: Int32 = 0
        while pid > 0, waitpid(pid, &status, 0) < 0, errno == EINTR {}
        state.withLock { [status] in $0.status = status }
      }
    }

    var pid: Int32 { state.withLock { $0.pid } }
    /// The exit status; 128 + n when signal n ended it; nil while it runs.
    var exitStatus: Int32? {
      state.withLock { $0.status }.map { $0 & 0x7f == 0 ? ($0 >> 8) & 0xff : 128 + ($0 & 0x7f) }
    }

    func wait(seconds: Int = 60) async -> Int32? {
      for _ in 0..<(seconds * 50) where exitStatus == nil { try? await Task.sleep(for: .milliseconds(20)) }
      return exitStatus
    }
  }

  private static func start(_ arguments: String...) throws -> Child {
    let roost: String = try #require(Programs.path("roost"))
    let loadtest: String = try #require(Programs.path("loadtest"))
    return Child(loadtest, ["--roost", roost, "--no-limit"] + arguments)
  }

  @Test func aGoodRunEndsWithZeroAndWritesItsFiles() async throws {
    let base = "/tmp/loadtest-test-\(getpid())"
    defer { for ending in ["json", "html"] { unlink("\(base).\(ending)") } }
    let child = try Self.start(
      "--publishers", "2", "--bitrate", "200", "--frame-rate", "10", "--duration", "1", "--ramp", "0", "--json",
      "\(base).json", "--html", "\(base).html")
    #expect(await child.wait() == 0)
    let json = String(decoding: readFile("\(base).json") ?? [], as: UTF8.self)
    #expect(json.contains("\"passed\" : true"))
    let html = String(decoding: readFile("\(base).html") ?? [], as: UTF8.self)
    #expect(html.hasSuffix("</html>\n"))
  }

  @Test func aFailedExpectationEndsWithOne() async throws {
    let child = try Self.start(
      "--publishers", "2", "--bitrate", "200", "--frame-rate", "10", "--duration", "2", "--ramp", "0", "--fault",
      "duplicate")
    #expect(await child.wait() == 1)
  }

  @Test func wrongUsageEndsWithTwo() async throws {
    let child = try Self.start("--scenario", "nonsense")
    #expect(await child.wait() == 2)
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func noServerOutlivesIt(_ signal: Int32) async throws {
    let child = try Self.start("--publishers", "2", "--bitrate", "100", "--frame-rate", "5", "--duration", "60")
    var servers: [Int32] = []
    _ = await eventually {
      servers = Self.children(of: child.pid)
      return !servers.isEmpty
    }
    let server = try #require(servers.first)
    kill(child.pid, signal)
    #expect(await child.wait() == 128 + signal)
    #expect(await eventually { !Self.isAlive(server) }, "the server \(server) lives on")
  }

  private static func children(of pid: Int32) -> [Int32] {
    guard pid > 0 else { return [] }
    return namesIn("/proc/\(pid)/task").flatMap { thread in
      let line = readFile("/proc/\(pid)/task/\(thread)/children") ?? []
      return line.split(separator: 32).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }
  }

  /// Whether a process runs; one that waits to be reaped by whoever adopted it does not.
  private static func isAlive(_ pid: Int32) -> Bool {
    let line = String(decoding: readFile("/proc/\(pid)/stat") ?? [], as: UTF8.self)
    guard let end = line.lastIndex(of: ")") else { return false }
    return !line[end...].hasPrefix(") Z") && !line[end...].hasPrefix(") X")
  }
}
