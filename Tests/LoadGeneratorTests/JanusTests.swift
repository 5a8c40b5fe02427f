// The load test's participants in rooms of a real Janus gateway: what they send, receive and check does not depend on whose server
// it is. Also a witness that participants do with others' servers what they do with ours.

import Basics
import Glibc
import Testing

@testable import LoadGenerator

@Suite(.serialized, .timeLimit(.minutes(5))) struct JanusTests {
  private static let folder = ".build/janus"

  /// Three people, one of whom only watches, in each of two rooms.
  private static func run(_ change: (inout RunSettings) -> Void) async throws -> Report {
    var scenario = Scenario()
    scenario.name = "janus"
    var person = PeopleGroup(name: "person", count: 2)
    person.audio = 32_000
    person.video = VideoShape(bitrate: 300_000, framesPerSecond: 15)
    scenario.people = [person, PeopleGroup(name: "viewer", count: 1)]
    scenario.rooms = 2
    scenario.ramp = .milliseconds(300)
    scenario.duration = .milliseconds(2_000)
    var settings = RunSettings()
    (settings.janus, settings.measuresLimit, settings.threads) = (folder, false, 1)
    change(&settings)
    return try await Run.run(scenario, settings)
  }

  @Test(arguments: [nil, 1]) func everybodySeesEverybody(_ eventLoops: Int?) async throws {
    try #require(access(Self.folder + "/usr/bin/janus", X_OK) == 0, "scripts/janus \(Self.folder) unpacks it")
    let report = try await Self.run { $0.janusEventLoops = eventLoops }
    #expect(report.passed, "\(report.table)")
    // In each room two who send two tracks each, to each other and to one who watches.
    #expect(report.streamsSeen == 16 && report.streamsExpected == 16)
    #expect(report.packetsReceived == report.packetsExpected && report.packetsReceived > 500)
    let server = try #require(report.server)
    #expect(server.rssBytes > 1 << 20 && server.cpuMicrosPerForwardedPacket ?? 0 > 0)
    #expect(!namesIn("/tmp").contains { $0.hasPrefix("roost-loadtest-janus-\(getpid())-") })
  }

  @Test func faultsAreFoundThere() async throws {
    let report = try await Self.run { $0.fault = .swap }
    #expect(report.wrongStream > 0 && !report.passed)
  }

  @Test func whereThereIsNoneItIsSaidHowToGetIt() async throws {
    let error = await #expect(throws: ServerStartError.self) { try await Self.run { $0.janus = "/nowhere" } }
    #expect(error?.description.contains("scripts/janus /nowhere") == true)
  }
}
