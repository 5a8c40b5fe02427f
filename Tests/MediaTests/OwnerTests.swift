// What each owner of a worker's state is handed: who decides knows neither ends nor egress, and few are handed the ends. The compiler
// refuses what a signature does not name, so the signatures are what is looked at.

import Foundation
import Testing

@Suite struct OwnerTests {
  /// The signature of each function in a text, in one line each.
  static func signatures(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)[0] }
      .joined(separator: " ").components(separatedBy: "func ").dropFirst()
      .map { String($0.prefix { $0 != "{" }) }
  }

  /// How many parameters a signature has, without those of functions that it is given.
  static func parameters(_ signature: String) -> Int {
    guard let open = signature.firstIndex(of: "(") else { return 0 }
    var (depth, count, isEmpty) = (0, 0, true)
    for character in signature[open...] {
      if "([<".contains(character) { depth += 1 }
      if ")]>".contains(character) { depth -= 1 }
      if depth == 0 { break }
      if character == "," && depth == 1 { count += 1 }
      if depth >= 1 && !"( ".contains(character) { isEmpty = false }
    }
    return isEmpty ? 0 : count + 1
  }

  private static func files() throws -> [(name: String, text: String)] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/media/Media")
    let all =
      FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
    return try all.filter { $0.pathExtension == "swift" }.map {
      ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8))
    }
  }

  @Test func whoDecidesIsHandedNeitherEndsNorEgress() throws {
    let deciders = [
      "Tracks.swift", "Tracks+Receive.swift", "Tracks+Route.swift", "Tracks+Commands.swift", "Forwarder+Layers.swift",
      "Forwarder+Bandwidth.swift", "Forwarder+Redundancy.swift", "Forwarder+Subscriptions.swift",
      "Forwarder+Keyframes.swift", "ListenerLoss.swift",
    ]
    // A keyframe is charged to its receiver's connection, and a publisher is told of the worst loss of all its receivers.
    let exceptions = ["grant(", "worst("]
    let found = try Self.files().filter { deciders.contains($0.name) }
    #expect(found.count == deciders.count)
    for (name, text) in found {
      for signature in Self.signatures(text) where !exceptions.contains(where: signature.hasPrefix) {
        #expect(!signature.contains("Ends") && !signature.contains("Egress"), "\(name): \(signature)")
      }
    }
    // The control: those that deliver are handed both.
    let forward = try #require(try Self.files().first { $0.name == "Forwarder+Forward.swift" })
    #expect(Self.signatures(forward.text).contains { $0.contains("inout Ends") && $0.contains("inout Egress") })
  }

  @Test func fewAreHandedTheEnds() throws {
    let all = try Self.files().flatMap { Self.signatures($0.text) }
    let handed = all.filter { $0.contains("inout Ends") || $0.contains("borrowing Ends") }
    #expect((1...25).contains(handed.count), "\(handed.count)")
  }

  @Test func noSignatureHasMoreThanSixParameters() throws {
    let all = try Self.files().flatMap { Self.signatures($0.text) }
    #expect(all.count > 400)
    for signature in all { #expect(Self.parameters(signature) <= 6, "\(signature)") }
  }

  @Test(arguments: [
    ("f() -> (a: Int, b: Int) ", 0), ("f(_ a: Int) ", 1), ("f<T>(_ a: [T: Int], b: (c: Int, d: Int), _ e: T) ", 3),
    ("f(a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int) ", 7),
  ])
  func parametersAreCounted(signature: String, count: Int) {
    #expect(Self.parameters(signature) == count)
  }
}
