// The commands of the Makefile: that what one builds is what another one runs.

import Foundation
import Testing

struct MakefileTests {
  /// Two sets of flags for release would build everything again at each change between them.
  @Test func whateverIsBuiltForReleaseHasTheSameFlags() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let lines = try String(contentsOf: root.appending(path: "Makefile"), encoding: .utf8).split(separator: "\n")
    let builds = lines.filter { $0.hasPrefix("\tswift build") && !$0.contains("--build-tests") }
    let releases = builds.filter { $0.contains("release") || $0.contains("$(RELEASE)") }
    #expect(releases.count >= 3)
    for line in releases {
      let rest = line.replacing("\tswift build $(RELEASE) --product ", with: "")
      #expect(rest.wholeMatch(of: /[a-z-]+/) != nil, "\(line)")
    }
    for line in builds where !releases.contains(line) {
      #expect(line.wholeMatch(of: /\tswift build --product [a-z-]+/) != nil, "\(line)")
    }
  }
}
