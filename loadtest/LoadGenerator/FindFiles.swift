// Where scenarios and the server's program are: beside this program, or where a build in the repository has them.

import Glibc

enum FindFiles {
  /// The scenario's file: a path as it is, a name in the first of the usual directories that has it.
  static func scenario(_ name: String) -> String? {
    if name.contains("/") || name.hasSuffix(".yaml") { return access(name, R_OK) == 0 ? name : nil }
    return directories.map { "\($0)/\(name).yaml" }.first { access($0, R_OK) == 0 }
  }

  /// The names of all scenarios.
  static var scenarios: [String] {
    for directory in directories {
      let names = namesIn(directory).filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }
      if !names.isEmpty { return names }
    }
    return []
  }

  /// The server's program: beside this one, else the release build of the repository.
  static func roost() -> String? {
    ([here + "/roost"] + parents.map { $0 + "/.build/release/roost" }).first { access($0, X_OK) == 0 }
  }

  private static var directories: [String] {
    [here + "/scenarios"] + parents.map { $0 + "/loadtest/scenarios" } + ["loadtest/scenarios"]
  }

  /// The directory of this program.
  private static var here: String {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard count > 0 else { return "." }
    let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return parent(path) ?? "."
  }

  private static var parents: [String] {
    var result: [String] = []
    var directory: String? = here
    while let current = directory {
      result.append(current)
      directory = parent(current)
    }
    return result
  }

  private static func parent(_ path: String) -> String? {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return nil }
    return String(path[..<slash])
  }
}
