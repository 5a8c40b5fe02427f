// The command line: what it takes, and what it says about the rest.

import Basics
import SyntheticParticipant
import Testing

@testable import LoadGenerator

@Suite struct OptionsTests {
  private func complaint(_ words: String...) -> String? {
    do {
      _ = try Options(words)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func takesAScenario() throws {
    let options = try Options([
      "--scenario", "video16", "--duration=2.5", "--json", "a.json", "--html", "a.html", "--server", "http://h:1",
    ])
    #expect(options.scenario == "video16")
    #expect(options.duration == .milliseconds(2_500))
    #expect(options.json == "a.json" && options.html == "a.html" && options.environment.server == "http://h:1")
  }

  @Test func makesPeopleFromFlags() throws {
    let scenario = try Scenario(
      try Options([
        "--publishers", "3", "--subscribers", "5", "--bitrate", "600", "--frame-rate", "15", "--layers", "3", "--ramp",
        "1",
        "--rooms", "2", "--duration", "4",
      ]))
    #expect(scenario.people.map(\.count) == [3, 5])
    #expect(scenario.people[0].video == VideoShape(bitrate: 600_000, framesPerSecond: 15, layers: 3))
    #expect(scenario.people[0].audio == 32_000 && scenario.people[1].audio == nil)
    #expect(scenario.participants == 16)
    #expect(scenario.ramp == .seconds(1) && scenario.duration == .seconds(4))
  }

  @Test(arguments: [
    (["--scenarios", "x"], "\"--scenarios\" is not expected; did you mean --scenario?"),
    (["--duration"], "--duration needs a value"),
    (["--duration", "soon"], "--duration: \"soon\" is not a value for it"),
    (["--layers", "4"], "--layers: \"4\" is not a value for it"),
    (["--coalesce", "1"], "--coalesce: \"1\" is not a value for it"),
    (["--rounds", "0"], "--rounds: \"0\" is not a value for it"),
    (["--rounds", "100"], "--rounds: \"100\" is not a value for it"),
    (["--coalesce", "1,11"], "--coalesce: \"1,11\" is not a value for it"),
    (["--coalesce", "1,2,41"], "--coalesce: \"1,2,41\" is not a value for it"),
    (["--coalesce", "1,2,"], "--coalesce: \"1,2,\" is not a value for it"),
    (["--fault", "rust"], "--fault: \"rust\" is not a value for it"),
  ])
  func saysWhatIsWrong(_ words: [String], _ message: String) {
    #expect(throws: UsageError(description: message)) { try Options(words) }
  }

  @Test(arguments: [
    ["--growth", "out"], ["--rooms-per-core"], ["--pin"], ["--coalesce", "0,0"], ["--janus", "x"],
    ["--compare", "out", "--janus", "x"], ["--bench", "out", "--rooms", "8"],
    ["--windows", "out"], ["--devices", "out"], ["--doors", "out"], ["--floods", "out"],
    ["--scenario", "flashphoner300"],
  ])
  func whatIsAboutOurOwnServerNeedsIt(_ words: [String]) async {
    #expect(await loadtest(words + ["--server", "http://127.0.0.1:1"]) == 2)
  }

  @Test(arguments: [
    (["--compare", "out"], "needs --janus"), (["--compare", "out", "--janus", "x", "--event-loops", "1"], "both ways"),
    (["--event-loops", "1"], "goes with --janus"), (["--janus", "x", "--coalesce", "0,0"], "about Roost"),
    (["--janus", "x", "--roost", "y"], "about Roost"), (["--bench", "out", "--janus", "x"], "with a scenario"),
    (["--compare", "out", "--janus", "x", "--scenario", "video16"], "its own scenarios"),
    (["--compare", "out", "--janus", "x", "--publishers", "3"], "its own scenarios"),
    (["--windows", "out", "--janus", "x"], "with a scenario"), (["--windows", "out", "--coalesce", "1,2"], "several"),
  ])
  func whatIsAboutJanusGoesWithJanus(_ words: [String], _ reason: String) throws {
    let options = try Options(words)
    let error = #expect(throws: UsageError.self) { try options.refuseMixtures() }
    #expect(error?.description.contains(reason) == true)
  }

  @Test func janusIsTakenWithItsLoops() throws {
    let options = try Options(["--scenario", "video16", "--janus", "here", "--event-loops=2"])
    try options.refuseMixtures()
    let settings = RunSettings(options.environment)
    #expect(settings.janus == "here" && settings.janusEventLoops == 2)
    let comparing = try Options(["--compare", "out", "--janus", "here", "--roost", "there", "--coalesce", "0,0"])
    try comparing.refuseMixtures()
    #expect(comparing.task == .compare("out"))
  }

  @Test func theServersWindowCanBeSet() throws {
    let options = try Options(["--scenario", "video16", "--coalesce", "0.25,2"])
    let scenario = try Scenario(options)
    let text = try ServerFile.text(for: scenario, options.environment.coalesce)
    #expect(text.contains("coalesce: {video: 0.25ms, audio: 2.0ms}"))
    #expect(Options.Coalesce("1,2,20")?.audience == .milliseconds(20))
    #expect(!(try ServerFile.text(for: scenario)).contains("coalesce"))
    let audience = try Scenario(try Options(["--scenario", "audience"]))
    #expect(try ServerFile.text(for: audience).contains("coalesce: {audience: 20.0ms}"))
    let both = "{video: 0.25ms, audio: 2.0ms, audience: 20.0ms}"
    #expect(try ServerFile.text(for: audience, options.environment.coalesce).contains(both))
    #expect(try ServerFile.text(for: audience, Options.Coalesce("1,2,0")).contains("audience: 0.0ms}"))
  }

  @Test func scenariosAndPeopleDoNotMix() throws {
    let options = try Options(["--scenario", "demo3", "--publishers", "9"])
    #expect(throws: UsageError(description: "--publishers does not go with --scenario, which says who comes")) {
      try Scenario(options)
    }
  }

  @Test func unknownScenariosAreHintedAt() throws {
    let options = try Options(["--scenario", "vidio16"])
    #expect(throws: UsageError(description: "no scenario \"vidio16\"; did you mean video16?")) { try Scenario(options) }
  }

  @Test func aServersAddressMayBeItsPage() {
    #expect(signallingURL("http://127.0.0.1:8080/") == "ws://127.0.0.1:8080/rtc")
    #expect(signallingURL("https://example.org") == "wss://example.org/rtc")
    #expect(signallingURL("ws://127.0.0.1:8080/rtc") == "ws://127.0.0.1:8080/rtc")
  }
}
