// No server asks for an error: flaws can be named by each target of this package, so the sources are read.

import Foundation
import Testing

@Suite struct FlawTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
  private static let words = ["OwnershipFlaws", "StoreFlaws", "QuestionBounds", "flaws:"]

  /// Files of a folder in which one of the words stands.
  private static func files(of folder: String) throws -> (all: Int, naming: [String]) {
    let place = root.appending(path: folder).path
    let files = try #require(FileManager.default.enumerator(atPath: place)).compactMap { $0 as? String }
      .filter { $0.hasSuffix(".swift") }
    let naming = try files.filter { file in
      let text = try String(contentsOfFile: "\(place)/\(file)", encoding: .utf8)
      return words.contains { text.contains($0) }
    }
    return (files.count, naming)
  }

  @Test(arguments: ["Sources/shell", "Sources/doors"])
  func noServerAsksForAFlaw(_ folder: String) throws {
    let files = try Self.files(of: folder)
    #expect(files.all > 10 && files.naming == [])
  }

  @Test func theSimulatorDoes() throws {
    #expect(try Self.files(of: "loadtest/ClusterSimulator").naming.contains("Machine.swift"), "the control")
  }
}
