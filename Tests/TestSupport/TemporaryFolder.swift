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
public func openssl(_ arguments: [String], saying words: String = "") throws -> String {
  let (process, input, output) = (Process(), Pipe(), Pipe())
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["openssl"] + arguments
  (process.standardInput, process.standardOutput) = (input, output)
  process.standardError = FileHandle.nullDevice
  try process.run()
  try input.fileHandleForWriting.write(contentsOf: Data(words.utf8))
  let answer = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  try input.fileHandleForWriting.close()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw OpenSSLFailure(status: process.terminationStatus) }
  return answer
}

/// How openssl ended.
public struct OpenSSLFailure: Error {
  /// Its exit status.
  public let status: Int32
}
