// What one asks for or writes costs by its length, and no answer or history grows beyond its bound.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct LengthTests {
  private func presence(_ scene: Scene, _ client: Client, of users: [String]) throws -> [UserPresence] {
    let reply = try scene.request(client, .userQuery(UserQueryParams(users: users))).get()
    if case .users(let result) = reply { return result.users } else { return [] }
  }

  /// A device that says so many bytes of itself.
  private func capabilities(_ bytes: Int) -> JSONValue { .string(String(repeating: "c", count: bytes - 2)) }

  @Test func oneWhoIsNamedOftenIsAnsweredOnce() throws {
    let scene = Scene()
    let a = scene.client("A")
    let found = try presence(scene, a, of: ["A", "B"] + Array(repeating: "A", count: 98))
    #expect(found.map(\.user) == ["A", "B"])
  }

  @Test func ofManyDevicesSomeAreShownAndAllAreCounted() throws {
    let scene = Scene()
    for number in 0...ProtocolLimits.capabilities {
      _ = scene.client("A", "d\(number)", capabilities: .integer(Int64(number)))
    }
    let found = try presence(scene, scene.client("B"), of: ["A"])
    #expect(found.first?.devices == ProtocolLimits.capabilities + 1)
    #expect(found.first?.capabilities == (0..<ProtocolLimits.capabilities).map { .integer(Int64($0)) })
  }

  @Test func whatAnAnswerShowsIsBounded() throws {
    let scene = Scene()
    // Three users who say as much as fits, and one whose device says a little.
    let most = ProtocolLimits.capabilitiesBytes / ProtocolLimits.opaqueBytes
    for number in 0..<most + 4 {
      _ = scene.client("user\(number / 12)", "d\(number)", capabilities: capabilities(ProtocolLimits.opaqueBytes))
    }
    _ = scene.client("small", capabilities: ["video": true])
    let users = ["user0", "user1", "user2", "small"]
    let found = try presence(scene, scene.client("B"), of: users)
    #expect(found.map(\.devices) == [12, 12, 12, 1])
    #expect(found.reduce(0) { $0 + $1.capabilities.count } == most)
    #expect(try presence(scene, scene.client("C"), of: ["small"])[0].capabilities == [["video": true]])
  }

  private func say(_ scene: Scene, _ client: Client, _ text: String, to: [String]? = nil) -> ErrorCode? {
    scene.code(client, .chat(.send(ChatSendParams(room: "demo", text: text, to: to))))
  }

  /// A room in which one may write so many messages at once, and none a second.
  private func scene(burst: Int) -> Scene {
    var rules = ConferenceRules.test
    (rules.chatPerSecond, rules.chatBurst) = (0.001, burst)
    return Scene(rules)
  }

  @Test func aLongMessageCountsAsSeveral() throws {
    let scene = scene(burst: 5)
    let a = scene.client("A")
    _ = try scene.join(a).get()
    // Of 4096 bytes one; of one more two, whether it is the text or names that take them.
    #expect(say(scene, a, String(repeating: "x", count: 4_096)) == nil)
    #expect(say(scene, a, String(repeating: "x", count: 4_097)) == nil)
    #expect(say(scene, a, "x", to: (0..<32).map { "\(100 + $0)" + String(repeating: "n", count: 125) }) == nil)
    #expect(say(scene, a, "x") == .rateLimited)
  }

  /// Somebody with many devices writes no faster than with one.
  @Test func aUserWritesNoFasterFromManyDevices() throws {
    let scene = scene(burst: 3)
    let (phone, laptop, other) = (scene.client("A", "phone"), scene.client("A", "laptop"), scene.client("B"))
    for client in [phone, other] { _ = try scene.join(client).get() }
    for _ in 0..<3 { #expect(say(scene, phone, "x") == nil) }
    #expect(say(scene, phone, "x") == .rateLimited)
    _ = try scene.request(phone, .room(.leave(RoomParams(room: "demo")))).get()
    _ = try scene.join(laptop).get()
    #expect(say(scene, laptop, "x") == .rateLimited)
    #expect(scene.code(laptop, .room(.raiseHand(RaiseHandParams(room: "demo", raised: true)))) == .rateLimited)
    #expect(say(scene, other, "x") == nil, "the control: somebody else may")
  }

  @Test func whatARoomKeepsIsBoundedInBytes() {
    var log = ChatLog(capacity: 4)
    func add(_ number: UInt64, _ text: String, to: [String]? = nil) -> UInt64? {
      log.append(
        Message(
          msgId: ChatLog.name(number), room: "demo", ts: 0, from: "A", displayName: "A", to: to, text: text),
        number: number)
    }
    let long = String(repeating: "x", count: ProtocolLimits.textBytes)
    for number in 1...4 { #expect(add(UInt64(number), long) == nil, "as many as a room keeps, as long as they may be") }
    #expect(add(5, long) == 1)
    let names = (0..<200).map { "\(100 + $0)" + String(repeating: "n", count: 77) }
    #expect(add(6, long, to: names) == 4, "names take space too")
    #expect(log.messages(visibleTo: "A").map(\.msgId) == ["m5", "m6"])
  }

  /// Large messages that were missed are a snapshot and not a flood.
  @Test func aResumeRepeatsNoMoreThanItsBytes() throws {
    var rules = ConferenceRules.test
    (rules.chatPerSecond, rules.chatBurst, rules.replayBytes) = (1_000, 1_000, 32 << 10)
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    scene.cut(b)
    let text = String(repeating: "x", count: 4_000)
    for _ in 0..<7 { #expect(say(scene, a, text) == nil) }
    guard case .resumed(.replayed) = try scene.resume(b).get() else {
      Issue.record("seven of them fit")
      return
    }
    scene.cut(b)
    for _ in 0..<9 { #expect(say(scene, a, text) == nil) }
    guard case .resumed(.resync) = try scene.resume(b).get() else {
      Issue.record("nine of them do not")
      return
    }
  }

  /// Sixteen messages that count 8 KiB each, and the same with one byte more.
  @Test func anAnswerHasSoManyBytesOfChatAndNotOneMore() {
    for (more, count) in [(0, 16), (1, 15)] {
      var log = ChatLog(capacity: 100)
      for number in 1...16 {
        let text = String(repeating: "x", count: ProtocolLimits.historyBytes / 16 - 256 + (number == 1 ? more : 0))
        let message = Message(msgId: ChatLog.name(UInt64(number)), room: "demo", ts: 0, from: "A", text: text)
        log.append(message, number: UInt64(number))
      }
      #expect(log.messages(visibleTo: "A").count == count)
    }
  }
}
