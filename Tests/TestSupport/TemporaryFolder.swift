// A directory for a test's files, and a certificate in it.

import Foundation

/// A directory that goes with its owner.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL

  /// An empty one.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Its path, or that of a file in it.
  public func path(_ name: String = "") -> String { name.isEmpty ? url.path : url.appending(path: name).path }

  /// Names of the files in it, sorted.
  public var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? [] }

  /// Writes a file and returns its path.
  @discardableResult public func write(_ text: String, to name: String = "rooms.yaml") throws -> String {
    try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    return path(name)
  }

  /// Makes a certificate of `localhost` that is valid for a month from now and its key: `certificate.pem` and `key.pem`.
  public func makeCertificate() throws {
    _ = try openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
      "/CN=localhost", "-keyout", path("key.pem"), "-out", path("certificate.pem"),
    ])
  }
}

/// What Debian's openssl answers; `words` go to its standard input, which is closed once it has answered.
/// - Throws: `OpenSSLFailure` where it ends otherwise than well.
public func openssl(_ arguments: [String], saying words: String = "") throws -> String {
  let (status, answer) = try output(of: ["openssl"] + arguments, saying: words)
  guard status == 0 else { throw OpenSSLFailure(status: status) }
  return answer
}

/// What a program says on its standard output, and with `complaints` on its standard error too; `words` go to its standard input, which is
/// closed once it has answered. `status` is as `waitpid` says it: 256 times the exit status.
///
/// Not by Foundation's `Process`: in a program with many threads and descriptors its `run` broke in a copy of memory now and then (Swift 6.3).
public func output(
  of command: [String], complaints: Bool = false, saying words: String = ""
) throws -> (status: Int32, text: String) {
  let (input, output) = (Pipe(), Pipe())
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_adddup2(&actions, input.fileHandleForReading.fileDescriptor, 0)
  posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, 1)
  if complaints {
    posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, 2)
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
  }
  // Those that are not open are passed over (glibc). A copy of a socket would keep it open.
  for other in Int32(3)..<16_384 { posix_spawn_file_actions_addclose(&actions, other) }
  var argumentList = command.map { strdup($0) } + [nil]
  defer { for word in argumentList { free(word) } }
  var process: pid_t = 0
  let failure = posix_spawnp(&process, command[0], &actions, nil, &argumentList, environ)
  guard failure == 0 else { throw OpenSSLFailure(status: failure) }
  try input.fileHandleForReading.close()
  try output.fileHandleForWriting.close()
  try input.fileHandleForWriting.write(contentsOf: Data(words.utf8))
  let answer = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  try input.fileHandleForWriting.close()
  var status: Int32 = 0
  while waitpid(process, &status, 0) < 0, errno == EINTR {}
  return (status, answer)
}

/// How openssl ended, or why a program could not be started.
public struct OpenSSLFailure: Error {
  /// As `waitpid` says it, or why it could not be started.
  public let status: Int32
}
