// Files of `Sources` by their target and name, as documents write them: `Media/WorkerState.swift`. The storey before the target and
// the folders inside of it are left out, since no two files of a target have one name.

import Foundation
import TestSupport

enum SourceFiles {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  /// Where each file of Swift lies, from the root of the repository.
  static let paths: [String: String] = {
    let all = FileManager.default.enumerator(atPath: root.appending(path: "Sources").path)
    var paths: [String: String] = [:]
    for path in all?.compactMap({ $0 as? String }) ?? [] where path.hasSuffix(".swift") {
      let parts = path.split(separator: "/")
      guard parts.count > 2, let file = parts.last else { continue }
      paths["\(parts[1])/\(file)"] = "Sources/\(path)"
    }
    return paths
  }()

  /// Runs a script of ours. - Returns: how it ended, 0 where well, and all that it said.
  static func script(_ name: String, _ words: [String]) throws -> (status: Int32, text: String) {
    try output(of: [root.appending(path: "scripts/\(name)").path] + words, complaints: true)
  }

  /// What stands in a file, by its target and name.
  static func text(_ name: String) throws -> String {
    try String(contentsOf: root.appending(path: paths[name] ?? "Sources/\(name)"), encoding: .utf8)
  }
}
