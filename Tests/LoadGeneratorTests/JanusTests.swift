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

  @Test func onlyPeopleWhoStayAreTakenThere() async throws {
    let changes: [@Sendable (inout Scenario) -> Void] = [
      { $0.calls = 1 }, { $0.people[0].refused = "ROOM_FULL" }, { $0.people[0].habits.stay = .seconds(1) },
      { $0.people[0].habits.muteEvery = .seconds(1) }, { $0.people[0].habits.chatEvery = .seconds(1) },
    ]
    for change in changes {
      let error = await #expect(throws: UsageError.self) { try await Self.run(change) }
      #expect(error?.description.contains("--janus") == true)
    }
  }
}
