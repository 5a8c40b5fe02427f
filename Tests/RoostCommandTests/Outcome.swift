// One run of `roost` to its end, and what it said.
import Foundation
import TestSupport
import Testing

/// How a run of `roost` ended.
struct Outcome {
  let status: Int32
  let output: String
  let errors: String

  /// Runs it with these words. One that goes on is ended after a minute, with status 124.
  init(_ words: [String], environment: [String: String] = [:]) throws {
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["timeout", "60", try productsDirectory().appending(path: "roost").path] + words
    if !environment.isEmpty { process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 } }
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }
}
