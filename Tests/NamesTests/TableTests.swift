// The tables in the sources are what scripts/lookalikes makes of ICU's, byte for byte.

import Foundation
import Testing

@Suite struct TableTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
  /// The version that the file says at its top. Another one has other tables: then whoever takes it makes the file anew.
  private static let version = "ICU 72"

  /// Whether the newest ICU here, which the script takes, is that one. Debian's libxml2, which Swift needs, brings it.
  private static func hasICU() -> Bool {
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
    let files = folders.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/\($0)")) ?? [] }
    let versions = files.compactMap { file in
      file.hasPrefix("libicuuc.so.") ? Int(file.dropFirst("libicuuc.so.".count)) : nil
    }
    return versions.max().map { "ICU \($0)" } == version
  }

  @Test(.enabled(if: hasICU())) func tablesAreWhatTheScriptMakes() throws {
    let kept = try String(contentsOf: Self.root.appending(path: "Sources/c/CLookAlikes/tables.c"), encoding: .utf8)
    #expect(kept.prefix(100).contains("\(Self.version)'s tables"))
    let script = Process()
    let output = Pipe()
    script.executableURL = URL(filePath: "/usr/bin/python3")
    script.arguments = [Self.root.appending(path: "scripts/lookalikes").path()]
    (script.standardOutput, script.standardError) = (output, FileHandle.nullDevice)
    try script.run()
    let made = try output.fileHandleForReading.readToEnd() ?? Data()
    script.waitUntilExit()
    #expect(script.terminationStatus == 0 && made == Data(kept.utf8))
  }
}
