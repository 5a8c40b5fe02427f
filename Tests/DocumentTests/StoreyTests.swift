// The picture of the targets in docs/architecture.md is that of Package.swift, and imports point down only: scripts/storeys says so.

import Foundation
import Testing

struct StoreyTests {
  @Test func thePictureIsThatOfTheManifest() throws {
    let (status, said) = try SourceFiles.script("storeys", ["--check"])
    #expect(status == 0, "\(said)")
  }

  /// The controls: packages in which a target is missing, imports a higher storey or a test's, lies in no storey, or does not name what
  /// its files import.
  @Test(arguments: [
    (#"{"targets": []}"#, "is not that of Package.swift"),
    (
      #"{"targets": [{"name": "STUN", "path": "Sources/wire/STUN", "dependencies": [{"byName": ["Server", null]}]},"#
        + #"{"name": "Server", "path": "Sources/shell/Server", "dependencies": []}]}"#,
      "STUN (wire) imports Server (shell), which lies higher"
    ),
    (
      #"{"targets": [{"name": "STUN", "path": "Sources/wire/STUN", "dependencies": [{"byName": ["TestSupport", null]}]}]}"#,
      "STUN imports TestSupport, which is not of Sources"
    ),
    (
      #"{"targets": [{"name": "STUN", "path": "Sources/wire/STUN", "dependencies": []},"#
        + #"{"name": "Basics", "path": "Sources/base/Basics", "dependencies": []}]}"#,
      "STUN imports Basics, which is none of its dependencies"
    ),
    (
      #"{"targets": [{"name": "Cellar", "path": "Sources/cellar/Cellar", "dependencies": []}]}"#,
      "Cellar lies in Sources/cellar/Cellar, in no storey"
    ),
  ]) func anotherPackageDoesNotPass(manifest: String, complaint: String) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID()).json")
    try Data(manifest.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let (status, said) = try SourceFiles.script("storeys", ["--from", file.path])
    // It ends with 1, as `waitpid` says it.
    #expect(status == 1 << 8 && said.contains(complaint), "\(said)")
  }
}
