// Realms of rooms.yaml: what is whose, and what is said of mistakes.
import Basics
import Names
import Testing

@testable import Configuration

@Suite struct RealmTests {
  private let clinic = Realm("clinic") ?? .default

  private func parse(_ text: String) throws -> ServerConfiguration {
    try ServerConfiguration.parse(Array(text.utf8), file: "rooms.yaml")
  }

  private static let key = "      secret: 9f2c here stands a long random text 71b8"

  @Test func eachHasItsOwn() throws {
    let configuration = try parse(
      """
      rooms:
        hall: {kind: demo}
      webhooks:
        events: {url: "https://a.example/x", secret: a secret of sixteen}
      realms:
        clinic:
          rooms:
            hall: {kind: broadcast}
            ward: {kind: group, limits: 4}
          unknown_rooms: refuse
          webhooks:
            events: {url: "https://b.example/x", secret: b secret of sixteen}
            waiting: 7
          quotas: {sessions: 5, participants: 4, rooms: 0, calls: 2}
        school:
      access:
        keys:
          - {kid: a, alg: HS256, secret: 9f2c here stands a long random text 71b8}
          - {kid: b, alg: HS256, realm: clinic, secret: 9f2c here stands a long random text 71b9}
      """)
    #expect(configuration.realmNames.map(\.name) == ["default", "clinic", "school"])
    #expect(configuration.access.keys.map(\.realm) == [.default, clinic])
    let (own, other) = (configuration.settings(of: .default), configuration.settings(of: clinic))
    #expect(own.rooms.keys.sorted() == ["hall"] && own.rooms["hall"]?.kind == "demo")
    #expect(other.rooms.keys.sorted() == ["hall", "ward"] && other.rooms["hall"]?.kind == "broadcast")
    #expect(other.rooms["ward"]?.videoLimit == 4)
    #expect(own.unknownRooms == .create(kind: "group") && other.unknownRooms == .refuse)
    #expect(own.webhooks.events?.url == "https://a.example/x" && other.webhooks.events?.url == "https://b.example/x")
    #expect(other.webhooks.waiting == 7 && own.quotas == RealmQuotas())
    #expect(other.quotas.sessions == 5 && other.quotas.participants == 4)
    #expect(other.quotas.rooms == 0 && other.quotas.calls == 2)
    #expect(configuration.webhookEndpoints.map(\.key) == ["webhooks.events", "realms.clinic.webhooks.events"])
    // One that says nothing has no rooms of its own, and takes what is said for all.
    let school = configuration.settings(of: try #require(Realm("school")))
    #expect(school.rooms.isEmpty && school.unknownRooms == .create(kind: "group") && school.webhooks.events == nil)
  }

  @Test func whereNothingIsSaidThereIsOne() throws {
    let configuration = try parse("log:\n  level: info")
    #expect(configuration.realmNames == [.default] && configuration.realms.isEmpty)
    #expect(configuration.settings(of: .default).rooms == configuration.rooms)
  }

  /// `default` may be written as any other, in one place.
  @Test func theDefaultMayBeNamed() throws {
    let configuration = try parse(
      """
      realms:
        default:
          rooms:
            hall: {kind: demo}
          quotas: {calls: 3}
      """)
    #expect(configuration.rooms.keys.sorted() == ["hall"])
    #expect(configuration.settings(of: .default).quotas.calls == 3 && configuration.realmNames == [.default])
    // None are none, as they are at the top of the file; where nothing is said the demo's is there.
    #expect(try parse("realms:\n  default:\n    rooms: {}").rooms.isEmpty)
    #expect(try parse("realms:\n  default: {}").rooms.keys.sorted() == ["demo"])
  }

  @Test(arguments: [
    ("realms:\n  the clinic: {}", "not a name of a realm: expected 1 to 64 ASCII letters, digits and - _ ."),
    ("realms:\n  clinic:\n    room: {}", "unknown key; did you mean \"rooms\"?"),
    ("realms:\n  clinic:\n    rooms:\n      hall: {}", "a room needs a kind"),
    ("realms:\n  clinic:\n    quotas: {calls: -1}", "expected a number from 0 to 1000000"),
    ("realms:\n  clinic: {}\n  clinic: {}", "clinic"),
    ("realms:\n  clinic:\n    rooms:\n      a: {kind: demo}\n      a: {kind: demo}", "a"),
    (
      "rooms:\n  a: {kind: demo}\nrealms:\n  default:\n    rooms:\n      b: {kind: demo}",
      "the realm default has rooms at the top of the file already; write them in one place"
    ),
  ]) func mistakesAreTold(text: String, complaint: String) {
    let told = complaints(text)
    #expect(told.count == 1 && told.first?.contains(complaint) == true, "\(told)")
  }

  @Test func aKeyOfARealmThatIsNotThereIsTold() {
    let text = "realms:\n  clinic: {}\naccess:\n  keys:\n    - alg: HS256\n      realm: clinik\n\(Self.key)"
    let told = complaints(text)
    #expect(told.count == 1 && told.first?.contains(":6:14: access.keys[1].realm: ") == true, "\(told)")
    #expect(told.first?.contains("expected a realm (default, clinic)") == true)
    #expect(told.first?.contains("did you mean clinic?") == true)
    let far = complaints("access:\n  keys:\n    - alg: HS256\n      realm: elsewhere\n\(Self.key)")
    #expect(far.first?.contains("name it under realms first") == true, "\(far)")
  }

  @Test func theyAreBounded() {
    let names = (1...64).map { "  r\($0): {}" }.joined(separator: "\n")
    #expect(complaints("realms:\n" + names).first?.contains("65 realms, default among them; 64 is the most") == true)
    #expect(complaints("realms:\n" + names.replacing("  r64: {}", with: "")) == [])
  }
}
