// scripts/check: which tests a change asks for.

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
    let (status, said) = try SourceFiles.script("check", ["--plan", "--files"] + files)
    #expect(status == 0 && said == "\(files.count) files have changed; tests: \(tests)\n")
  }
}
