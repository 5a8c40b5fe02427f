// Where there is no Janus gateway, or nothing that it could be asked for. Runs with one are in Tests/browser/test_loadtest.py, in a
// network of their own.

import Testing

@testable import LoadGenerator

@Suite struct JanusTests {
  private static func run(_ change: (inout Scenario) -> Void) async throws -> Report {
    var scenario = Scenario()
    scenario.people = [PeopleGroup(name: "person", count: 2)]
    change(&scenario)
    var settings = RunSettings()
    settings.janus = "/nowhere"
    return try await Run.run(scenario, settings)
  }

  @Test func whereThereIsNoneItIsSaidHowToGetIt() async throws {
    let error = await #expect(throws: ServerStartError.self) { try await Self.run { _ in } }
    #expect(error?.description == "there is no /nowhere/usr/bin/janus: scripts/janus /nowhere unpacks Debian's")
  }

  @Test func callsAreNotAskedOfIt() async throws {
    let error = await #expect(throws: UsageError.self) { try await Self.run { $0.calls = 1 } }
    #expect(error?.description.contains("--janus") == true)
  }
}
