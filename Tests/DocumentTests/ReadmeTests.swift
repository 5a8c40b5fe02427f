// The README's list of what the program needs on a machine that it is copied to.

import Foundation
import Testing

@Suite struct ReadmeTests {
  private let root = SourceFiles.root

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Every library that the program is built with, or loads, is named by the package that has it at run time.
  @Test func runTimePackagesNameEveryLibrary() throws {
    let named = try text("README.md").split(whereSeparator: { $0 == "`" || $0.isWhitespace }).map(String.init)
    let targets = try text("Package.swift").split(separator: "\n").filter {
      $0.contains(".systemLibrary(") && $0.contains(".apt(") && !$0.contains("loadtest/")
    }
    #expect(targets.count >= 6)
    let loaded = try #require(try text("Sources/c/CCurl/ccurl.c").firstMatch(of: /"(lib[a-z]+)\.so\.([0-9]+)"/))
    #expect(named.contains("\(loaded.1)\(loaded.2)"), "\(loaded.1) is not in the README")
    for target in targets {
      let package = try #require(target.firstMatch(of: /\.apt\(\["([a-z0-9-]+?)(-openssl)?-dev"/)?.1)
      #expect(named.contains { $0.hasPrefix(package) && !$0.contains("-dev") }, "\(package) is not in the README")
    }
  }
}
