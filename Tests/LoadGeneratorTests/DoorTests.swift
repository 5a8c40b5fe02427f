// People who come by other doors than the native one: that they are sent what the others are, and what their packets cost beside it.

import Basics
import SyntheticParticipant
import Testing

@testable import LoadGenerator

@Suite struct DoorTests {
  private static func shipped(_ name: String) throws -> Scenario {
    try Scenario.load(file: try #require(FindFiles.scenario(name)), name: name)
  }

  /// A shipped scenario with two players, and nothing that depends on how fast this machine is.
  private static func small(_ name: String) throws -> Scenario {
    var scenario = try shipped(name)
    scenario.people[1].count = 2
    (scenario.seats, scenario.ramp, scenario.duration) = (3, .milliseconds(200), .seconds(1))
    scenario.expect = Expect()
    scenario.expect.streams = 4
    return scenario
  }

  private static func run(_ scenario: Scenario, _ fault: ServerFault? = nil) async throws -> Report {
    var settings = RunSettings()
    let roost: String = try #require(Programs.path("roost"))
    (settings.roost, settings.fault) = (roost, fault)
    (settings.measuresLimit, settings.threads) = (false, 1)
    return try await Run.run(scenario, settings)
  }

  @Suite(.serialized, .timeLimit(.minutes(2))) struct Runs {
    @Test(arguments: ["whep16", "flashphoner300", "native16", "native300"])
    func everyDoorSendsWhatIsPublished(_ name: String) async throws {
      let report = try await DoorTests.run(try DoorTests.small(name))
      #expect(report.passed, "\(report.table)")
      #expect(report.streamsSeen == 4 && report.packetsReceived == report.packetsExpected)
      #expect(report.packetsReceived > 300, "two players, 175 packets a second to each")
      #expect((report.server?.cpuMicrosPerForwardedPacket ?? 0) > 0 && report.firstFrameMs != nil)
    }

    /// The control: packets that do not come are missed at these doors too.
    @Test(arguments: ["whep16", "flashphoner300"])
    func whatIsLostIsNoticed(_ name: String) async throws {
      let report = try await DoorTests.run(try DoorTests.small(name), .drop)
      #expect(!report.passed)
      #expect(report.expectations.contains { $0.name == "loss" && !$0.held }, "\(report.table)")
    }
  }

  @Test func pairsSendTheSamePackets() throws {
    #expect(DoorCosts.pairs.count == 2)
    for pair in DoorCosts.pairs {
      let (door, native) = (try Self.shipped(pair.name), try Self.shipped(pair.native))
      #expect(door.people.map(\.door) == [nil, PlayerPlan.Door(rawValue: String(pair.name.prefix { $0.isLetter }))])
      var same = native
      (same.name, same.about) = (door.name, door.about)
      same.people[1].name = door.people[1].name
      same.people[1].door = door.people[1].door
      #expect(same == door, "but for the door they are one scenario")
    }
  }

  // MARK: What they cost

  private static func report(_ scenario: String, _ cost: Double?, passed: Bool = true) -> Report {
    var report = Report()
    (report.scenario, report.passed, report.packetsPerSecond) = (scenario, passed, 2_800)
    report.server = .init(cpuSeconds: 1, cpuMicrosPerForwardedPacket: cost, rssBytes: 38 << 20)
    return report
  }

  /// Costs of both pairs, of each door and of the native one, in rounds.
  private static func costs(_ rounds: [(door: Double?, native: Double?)], passed: Bool = true) -> DoorCosts {
    var costs = DoorCosts()
    for pair in DoorCosts.pairs {
      for round in rounds {
        costs.add(report(pair.native, round.native))
        costs.add(report(pair.name, round.door, passed: passed))
      }
    }
    return costs
  }

  @Test func ratiosAreOfTheSameRound() throws {
    let costs = Self.costs([(2.2, 2), (4.4, 4), (9, 3)])
    #expect(costs.rows.map { $0.timesNative?.median } == [1.1, 1.1])
    #expect(costs.rows.map { $0.timesNative?.most } == [3, 3])
    #expect(costs.passed)
    #expect(costs.table.contains("1.1 (1.1 to 3)"), "\(costs.table)")
  }

  @Test func aDoorThatCostsMoreFails() {
    #expect(!Self.costs([(2.3, 2)]).passed)
    #expect(!Self.costs([(2, 2)], passed: false).passed, "a run that failed")
    #expect(!Self.costs([(nil, 2)]).passed && !Self.costs([(2, nil)]).passed, "what was not measured is not shown")
    #expect(!DoorCosts().passed, "nothing ran")
    var one = DoorCosts()
    for name in ["native16", "whep16"] { one.add(Self.report(name, 2)) }
    #expect(one.rows.count == 1 && !one.passed, "half of it ran")
  }
}
