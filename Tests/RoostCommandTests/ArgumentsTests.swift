// The command line of `roost`, and where the configuration comes from.
import Configuration
import Foundation
import Testing

@testable import roost

@Suite struct ArgumentsTests {
  @Test(arguments: [
    ("serve", Command.serve(config: nil)),
    ("serve --config a.yaml", .serve(config: "a.yaml")),
    ("check --config=a.yaml", .check(config: "a.yaml")),
    ("doctor -c a.yaml", .doctor(config: "a.yaml")),
    ("token --user=anna -c a.yaml", .token(TokenRequest(user: "anna"), config: "a.yaml")),
    ("token --help", .help(.token)),
    ("version", .version),
    ("--version", .version),
    ("-V", .version),
    ("--help", .help(nil)),
    ("help", .help(nil)),
    ("help doctor", .help(.doctor)),
    ("serve --help", .help(.serve)),
    ("check --config -h", .help(.check)),
    ("version -h", .help(.version)),
  ]) func wordsAreACommand(words: String, command: Command) throws {
    #expect(try Command(words.split(separator: " ").map(String.init)) == command)
  }

  @Test(arguments: [
    ("", "a command is missing: serve, check, doctor, token or version", nil),
    ("srve", "unknown command \"srve\"; did you mean \"serve\"?", nil),
    ("frobnicate", "unknown command \"frobnicate\"", nil),
    ("--wat", "unknown option \"--wat\"", nil),
    ("help me", "unknown command \"me\"", nil),
    ("serve --config", "--config needs a file", Command.Topic.serve),
    ("serve --config=", "--config needs a file", .serve),
    ("serve -c a -c b", "--config is given twice", .serve),
    ("serve --conf a", "\"--conf\" is not expected; did you mean \"--config\"?", .serve),
    ("check a.yaml", "\"a.yaml\" is not expected", .check),
    ("token", "--user is missing: whose token is it?", .token),
    ("token --user", "--user needs a value", .token),
    ("token --user a --user b", "--user is given twice", .token),
    ("token --usr a", "\"--usr\" is not expected; did you mean \"--user\"?", .token),
    (
      "token --user a --room a*b",
      "--room: expected the name of a room, or the beginning of names with a star behind it", .token
    ),
    ("token --user a --ttl 25h", "--ttl: expected a duration such as 15m or 1h, up to 24h", .token),
    ("token --user a --cap 0", "--cap: expected a number from 1 to 100000", .token),
    ("version now", "\"now\" is not expected", .version),
  ]) func otherWordsAreTold(words: String, message: String, topic: Command.Topic?) {
    #expect(throws: UsageError(message: message, topic: topic)) {
      try Command(words.split(separator: " ").map(String.init))
    }
  }

  @Test func everyCommandHasItsHelp() {
    for topic in Command.Topic.allCases {
      #expect(Command.help(about: topic).hasPrefix("usage: roost \(topic.rawValue)"))
      #expect(Command.help(about: nil).contains("  \(topic.rawValue) "))
    }
  }

  @Test func exitStatusTellsUsageFromConfiguration() {
    #expect(run(["version"]) == 0)
    #expect(run(["srve"]) == 2)
    #expect(run(["check", "--config", "/nonexistent/rooms.yaml"]) == 1)
  }

  @Test func theFirstFileThatExistsIsTaken() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString).yaml")
    try "chat: {burst: 3}".write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(ConfigurationSource(nil, usual: ["/nonexistent/a", file.path]) == .file(file.path))
    #expect(ConfigurationSource("given", usual: [file.path]) == .file("given"))
    #expect(ConfigurationSource(nil, usual: ["/nonexistent/a"]) == .defaults)
    #expect(try ConfigurationSource(file.path).load().configuration.chat.burst == 3)
    #expect(try ConfigurationSource(nil, usual: []).load().configuration == .withoutFile)
  }

  @Test func theChangelogKnowsThisVersion() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let log = try String(contentsOf: root.appending(path: "CHANGELOG.md"), encoding: .utf8)
    #expect(log.contains("\n## [\(roostVersion)]"))
  }
}
