// Settings of rooms that operators send: which there may be, and which rules they make.

import Members
import RoostProtocol
import Testing

@Suite struct RoomPlanTests {
  private static let kinds: [String: RoomRules] = {
    var talk = RoomRules(kind: "talk")
    (talk.media, talk.audioSeats, talk.publishers, talk.chatHistory) = (.audio, 500, 20, 5_000)
    return ["group": RoomRules(kind: "group"), "talk": talk]
  }()

  /// What the plan is refused for; nil: it is taken.
  private func refused(_ kind: String = "group", _ change: (inout RoomPlan) -> Void) -> String? {
    var plan = RoomPlan(kind: kind)
    change(&plan)
    do throws(ErrorObject) {
      _ = try plan.rules(of: Self.kinds, configured: nil)
      return nil
    } catch {
      #expect(error.code == .invalidParams)
      return error.data.field
    }
  }

  struct Field: Sendable, CustomTestStringConvertible {
    let name: String
    let range: ClosedRange<Int>
    let path: WritableKeyPath<RoomPlan, Int?> & Sendable
    var testDescription: String { name }
  }

  static let fields = [
    Field(name: "videoLimit", range: 1...100_000, path: \.videoLimit),
    Field(name: "audioLimit", range: 1...100_000, path: \.audioLimit),
    Field(name: "players", range: 1...100_000, path: \.players),
    Field(name: "publishers", range: 1...32, path: \.publishers),
    Field(name: "videoLastN", range: 1...100_000, path: \.videoLastN),
    Field(name: "tracksPerParticipant", range: 1...256, path: \.tracksPerParticipant),
    Field(name: "audioLoudest", range: 1...64, path: \.audioLoudest),
    Field(name: "audioBitrate", range: 6_000...510_000, path: \.audioBitrate),
    Field(name: "chatHistory", range: 0...1_000, path: \.chatHistory),
  ]

  @Test(arguments: fields) func whatRoomsYAMLRefusesIsRefused(_ field: Field) {
    for taken in [field.range.lowerBound, field.range.upperBound] {
      #expect(refused { $0[keyPath: field.path] = taken } == nil)
    }
    for wrong in [field.range.lowerBound - 1, field.range.upperBound + 1, .min, .max] {
      #expect(refused { $0[keyPath: field.path] = wrong } == field.name)
    }
  }

  @Test func aKindThereIsNoneOfIsRefused() {
    #expect(refused("gone") { _ in } == "kind" && refused("") { _ in } == "kind" && refused("talk") { _ in } == nil)
  }

  /// Where a room carries one of both alone, the seats of the other say nothing.
  @Test func publishersNeedSeats() {
    #expect(refused { ($0.media, $0.publishers) = (.video, 16) } == nil)
    #expect(refused { ($0.media, $0.publishers) = (.video, 17) } == "publishers")
    #expect(refused("talk") { $0.audioLimit = 20 } == nil && refused("talk") { $0.audioLimit = 19 } == "publishers")
  }

  /// A realm's key must not choose more memory for each of its rooms than its operator has.
  @Test func aKindThatKeepsMoreIsNotRefused() {
    #expect(refused("talk") { $0.chatHistory = 5_000 } == nil)
    #expect(refused("talk") { $0.chatHistory = 5_001 } == "chatHistory")
  }

  @Test func itEndsWithinAYear() {
    let now: Int64 = 1_763_700_000_000
    let last = now + Int64(RoomPlan.longestDays) * 86_400_000
    let field = { (until: Int64?) -> String? in
      var plan = RoomPlan(kind: "group")
      plan.until = until
      do throws(ErrorObject) { try plan.checkUntil(at: now) } catch { return error.data.field }
      return nil
    }
    #expect([nil, now + 1, last].map(field) == [nil, nil, nil])
    #expect([now, last + 1, .min, .max].map(field) == Array(repeating: "until", count: 4))
  }

  @Test func whatIsNotSaidIsTheKinds() throws {
    var plan = RoomPlan(kind: "talk")
    plan.audioLimit = 50
    var expected = try #require(Self.kinds["talk"])
    #expect(try plan.rules(of: Self.kinds, configured: nil) != expected)
    expected.audioSeats = 50
    #expect(try plan.rules(of: Self.kinds, configured: nil) == expected)
  }

  @Test func aPlanOfRulesGivesTheseRules() throws {
    var video = RoomRules(kind: "group")
    (video.media, video.publishers, video.players, video.videoLastN) = (.video, 2, 90, 6)
    (video.sound.loudest, video.sound.maxBitsPerSecond, video.chatHistory) = (3, 32_000, 0)
    for rules in Array(Self.kinds.values) + [video] {
      #expect(try RoomPlan(rules).rules(of: Self.kinds, configured: nil) == rules)
    }
    #expect(try RoomPlan(video).rules(of: Self.kinds, configured: nil) != Self.kinds["group"])
  }
}
