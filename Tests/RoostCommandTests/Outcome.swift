// One run of `roost` to its end, and what it said.
import Foundation
import Testing

/// How a run of `roost` ended.
struct Outcome {
  let status: Int32
  let output: String
  let errors: String

  /// Runs it with these words. One that goes on is ended after a minute, with status 124.
  init(_ words: [String]) throws {
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["timeout", "60", try productsDirectory().appending(path: "roost").path] + words
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }
}

/// A directory that goes with its owner, for configurations and what they name.
final class Folder {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "roost-command-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Writes a file and returns its path.
  @discardableResult func write(_ text: String, to name: String = "rooms.yaml") throws -> String {
    let file = url.appending(path: name)
    try text.write(to: file, atomically: true, encoding: .utf8)
    return file.path
  }

  /// A certificate that is valid for a month from now and its key, `certificate.pem` and `key.pem`.
  func makeCertificate() throws {
    let openssl = Process()
    openssl.executableURL = URL(filePath: "/usr/bin/env")
    openssl.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
      "-subj", "/CN=localhost", "-keyout", url.appending(path: "key.pem").path, "-out",
      url.appending(path: "certificate.pem").path,
    ]
    openssl.standardError = FileHandle.nullDevice
    try openssl.run()
    openssl.waitUntilExit()
    try #require(openssl.terminationStatus == 0)
  }
}
