// scripts/check: which tests a change asks for.

import Foundation
import Testing

struct CheckTests {
  @Test(arguments: [
    (["Sources/rules/Calls/plans/Start.swift"], "CallsTests"),
    (["Sources/wire/SDP/Parser.swift", "Sources/wire/RoostProtocol/json/JSONText.swift"], "ProtocolTests, SDPTests"),
    (["Tests/ICETests/NewTests.swift", "docs/protocol.md"], "ICETests"),
    // Their own tests talk over sockets, and so those of who imports them are run.
    (["Sources/c/CLinux/clinux.c"], "ServerTests, SyntheticParticipantTests, ThreadsTests"),
    (["Sources/media/MediaWorker/WorkerThread.swift"], "ServerTests"),
    (["docs/protocol.md", "Tests/EndToEndTests/Support.swift"], "none that only compute"),
  ]) func aChangeAsksForTheTestsOfItsTargets(files: [String], tests: String) throws {
    let process = Process()
    process.executableURL = SourceFiles.root.appending(path: "scripts/check")
    process.arguments = ["--plan", "--files"] + files
    let said = Pipe()
    process.standardOutput = said
    try process.run()
    let text = String(decoding: try said.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && text == "\(files.count) files have changed; tests: \(tests)\n")
  }
}
