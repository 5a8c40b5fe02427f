// Short runs against a server of our own: a good one passes, and each way to be broken breaks the expectation that is there
// for it.

import Basics
import Glibc
import SyntheticParticipant
import Testing

@testable import LoadGenerator

/// The programs that the build has put beside the tests.
enum Programs {
  static func path(_ name: String) -> String? {
    let own = CommandLine.arguments.first ?? ""
    let directory = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
    let places = [directory, directory + "/..", ".build/debug"]
    return places.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct RunTests {
  /// Two people with little to send.
  private static func scenario(_ change: (inout Scenario) -> Void = { _ in }) -> Scenario {
    var scenario = Scenario()
    scenario.name = "short"
    var person = PeopleGroup(name: "person", count: 2)
    person.audio = 32_000
    person.video = VideoShape(bitrate: 300_000, framesPerSecond: 15)
    scenario.people = [person]
    scenario.ramp = .milliseconds(200)
    scenario.duration = .milliseconds(2_000)
    change(&scenario)
    return scenario
  }

  private static func run(
    _ scenario: Scenario, _ fault: ServerFault? = nil, isStrict: Bool = false, isLight: Bool = false
  ) async throws -> Report {
    var settings = RunSettings()
    let roost: String = try #require(Programs.path("roost"))
    settings.roost = roost
    settings.fault = fault
    settings.isStrict = isStrict
    settings.isLight = isLight
    settings.measuresLimit = false
    settings.threads = 1
    return try await Run.run(scenario, settings)
  }

  /// The names of the expectations that did not hold.
  private static func failures(_ report: Report) -> Set<String> {
    Set(report.expectations.filter { !$0.held }.map(\.name))
  }

  @Test func aGoodRunPasses() async throws {
    let report = try await Self.run(Self.scenario())
    #expect(report.passed, "\(report.table)")
    #expect(report.streamsSeen == 4 && report.streamsExpected == 4)
    #expect(report.packetsReceived == report.packetsExpected && report.packetsReceived > 100)
    #expect(report.latencyMs.audio != nil && report.latencyMs.video != nil && report.firstFrameMs != nil)
    #expect((report.server?.cpuSeconds ?? 0) > 0 && (report.server?.rssBytes ?? 0) > 1 << 20)
    #expect(report.timeline.count >= 2 && report.people.count == 2)
  }

  /// One of the two opens all by libsrtp2, the other seals and opens by the server's own code and counts most packets by their
  /// headers.
  @Test func lightParticipantsAreUnderstoodByTheOthers() async throws {
    let report = try await Self.run(Self.scenario { $0.duration = .seconds(1) }, isLight: true)
    #expect(Self.failures(report) == [], "\(report.table)")
    #expect(report.streamsSeen == 4 && report.packetsReceived == report.packetsExpected && report.packetsReceived > 50)
    #expect(report.packetsGlanced > 0 && report.packetsGlanced < report.packetsReceived)
  }

  @Test(arguments: [false, true])
  func aMissedTargetFailsOnlyWhereThatIsAskedFor(_ isStrict: Bool) async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.targets.rss = 1
        $0.duration = .seconds(1)
      }, isStrict: isStrict)
    #expect(report.targets.map(\.held) == [false] && report.expectations.allSatisfy(\.held), "\(report.table)")
    #expect(report.passed == !isStrict)
  }

  @Test func aFullRoomRefusesAsWanted() async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.seats = 2
        $0.people.append(PeopleGroup(name: "late", refused: "ROOM_FULL"))
        $0.duration = .seconds(1)
      })
    #expect(report.passed, "\(report.table)")
    #expect(report.refused == 1)
  }

  @Test func aSeatTooManyIsNoticed() async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.seats = 3
        $0.people.append(PeopleGroup(name: "late", refused: "ROOM_FULL"))
        $0.duration = .seconds(1)
      })
    #expect(Self.failures(report).contains("refused as wanted"))
  }

  @Test(arguments: [
    (ServerFault.drop, ["loss", "nothing damaged"]), (.swap, ["no foreign packets"]), (.duplicate, ["duplicates"]),
    (.garble, ["nothing damaged"]),
  ])
  func aFaultBreaksItsExpectation(_ fault: ServerFault, _ names: [String]) async throws {
    // Three, so that each receives two streams of a kind.
    let report = try await Self.run(Self.scenario { $0.people[0].count = 3 }, fault)
    #expect(!report.passed)
    #expect(Self.failures(report).isSuperset(of: names), "\(report.table)")
  }

  /// Whoever was gone without a word takes over the seat that he still has.
  @Test func whoVanishesComesBack() async throws {
    let report = try await Self.run(
      Self.scenario {
        var guest = $0.people[0]
        (guest.name, guest.count) = ("guest", 1)
        guest.habits = Habits(stay: .milliseconds(700), away: .milliseconds(100), vanishes: true)
        $0.people.append(guest)
        $0.seats = 8
        $0.duration = .seconds(4)
      })
    #expect(report.passed, "\(report.table)")
  }

  @Test func realMediaIsDecodedAndItsSenders() async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.people[0].video = VideoShape(bitrate: 200_000, framesPerSecond: 10)
        $0.people[0].real = true
        $0.people[0].decodes = 0.5
        $0.expect.psnr = 20
      })
    #expect(report.passed, "\(report.table)")
    #expect(report.decodedFrames > 50 && report.wrongPictures == 0)
    #expect(report.people.filter { $0.decodedFrames > 0 }.count == 1)
  }

  @Test func callsGoAsTheyShould() async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.people = []
        $0.calls = 1
        $0.duration = .seconds(1)
      })
    #expect(report.passed, "\(report.table)")
    #expect(report.callsPlayed >= CallPlay.allCases.count && report.upgradeGapMs != nil && report.answerMs != nil)
  }

  @Test func lateFramesBreakTheirExpectation() async throws {
    let late = try await Self.run(
      Self.scenario {
        $0.expect.bounds.audioP99 = .milliseconds(250)
        $0.expect.bounds.videoP99 = .milliseconds(250)
      }, .late)
    #expect(Self.failures(late).isSuperset(of: ["sound, p99", "pictures, p99"]), "\(late.table)")
  }

  @Test(arguments: [nil, ServerFault.leak])
  func aLeakAfterAMuteIsNoticed(_ fault: ServerFault?) async throws {
    let report = try await Self.run(
      Self.scenario {
        $0.people[0].habits.muteEvery = .seconds(1)
        $0.duration = .seconds(4)
      }, fault)
    #expect(Self.failures(report).contains("mutes are silent") == (fault != nil), "\(report.table)")
    if fault == nil { #expect(report.passed, "\(report.table)") }
  }
}
