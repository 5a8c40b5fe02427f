// Whom the server asks, as rooms.yaml says it.
import Basics
import Names
import Testing

@testable import Configuration

@Suite struct HookTests {
  private func parse(_ text: String) throws -> ServerConfiguration {
    try ServerConfiguration.parse(Array(text.utf8), file: "rooms.yaml")
  }

  @Test func eachRealmHasItsOwn() throws {
    let configuration = try parse(
      """
      hooks:
        url: https://a.example/ask
        secret: a secret of sixteen
        ask: [join, call.start]
        timeout: 500ms
        attempts: 1
        when_down: allow
        at_once: 3
      realms:
        clinic:
          hooks: {url: "https://b.example/ask", secret: b secret of sixteen}
        school:
      """)
    let own = configuration.settings(of: .default).hooks
    #expect(own.application?.url == "https://a.example/ask" && own.kinds == [.join, .callStart])
    #expect(own.timeout == .milliseconds(500) && own.attempts == 1 && own.whenDown == .allow && own.atOnce == 3)
    let other = configuration.settings(of: try #require(Realm("clinic"))).hooks
    #expect(other.application?.url == "https://b.example/ask" && other.kinds == ServerConfiguration.Hooks.Kind.allCases)
    #expect(other.whenDown == .refuse && other.timeout == .seconds(2))
    #expect(configuration.settings(of: try #require(Realm("school"))).hooks.application == nil)
    #expect(configuration.webhookEndpoints.map(\.key) == ["hooks", "realms.clinic.hooks"])
    #expect(try parse("").hooks == ServerConfiguration.Hooks())
  }

  @Test(arguments: [
    ("url: https://a.example/", "hooks.url"), ("{url: \"ftp://a\", secret: a secret of sixteen}", "hooks.url"),
    ("secret: short", "hooks.secret"), ("ask: []", "hooks.ask"), ("ask: [leave]", "hooks.ask[1]"),
    ("ask: [join, join]", "hooks.ask[2]"), ("timeout: 0", "hooks.timeout"), ("timeout: 11s", "hooks.timeout"),
    ("attempts: 0", "hooks.attempts"), ("when_down: perhaps", "hooks.when_down"), ("at_once: 257", "hooks.at_once"),
    ("deadline: 5s", "hooks.deadline"),
  ]) func mistakesAreNamed(text: String, key: String) throws {
    let error = try #require(throws: InvalidConfiguration.self) {
      try parse(text.hasPrefix("{") ? "hooks: \(text)" : "hooks:\n  \(text)")
    }
    #expect(error.issues.map(\.key) == [key])
  }

  /// Who is asked about longer than they may take for their hello is put out before the answer comes.
  @Test func aTimeoutThatOutlastsTheHelloIsSaid() throws {
    let hooks = "{url: \"https://a.example/\", secret: a secret of sixteen"
    func advice(_ more: String) throws -> [String] {
      try parse("realms:\n  clinic:\n    hooks: \(hooks)\(more)}").advice.map(\.key).filter { $0.hasSuffix("timeout") }
    }
    #expect(try advice(", timeout: 9s") == ["realms.clinic.hooks.timeout"])
    #expect(try advice(", timeout: 8s") == [] && advice(", timeout: 9s, ask: [join]") == [], "the control")
  }

  @Test func writtenTwiceIsAMistake() throws {
    let hooks = "{url: \"https://a.example/\", secret: a secret of sixteen}"
    #expect(throws: InvalidConfiguration.self) {
      try parse("hooks: \(hooks)\nrealms:\n  default:\n    hooks: \(hooks)")
    }
    #expect(try parse("realms:\n  default:\n    hooks: \(hooks)").hooks.application != nil)
  }
}
