// The commands of the Makefile: that what one builds is what another one runs.

import Foundation
import Testing

struct MakefileTests {
  /// Two sets of flags for release would build everything again at each change between them.
  @Test func whateverIsBuiltForReleaseHasTheSameFlags() throws {
    let makefile = try String(contentsOf: SourceFiles.root.appending(path: "Makefile"), encoding: .utf8)
    let lines = makefile.split(separator: "\n")
    let sample = "\tswift build --package-path Samples/Phone --scratch-path $(CURDIR)/.build"
    #expect(lines.contains { $0 == sample }, "in the same folder, so that what it needs is not compiled twice")
    let builds = lines.filter { $0.contains("swift build") && $0 != sample }
    #expect(builds.count >= 3)
    for line in builds {
      #expect(
        line.wholeMatch(of: /\t(?:ROOST_PART=[a-z,-]+ )?swift build \$\(RELEASE\)(?: --product [a-z-]+)?/) != nil,
        "\(line): scripts/swift-test alone builds for tests")
    }
  }
}
