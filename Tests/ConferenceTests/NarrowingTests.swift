// Grants that an operator takes from a user, everywhere or in one room: whatever they do next, they are not theirs again before a newer
// token says so, or the operator.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct NarrowingTests {
  private let day = TimeDelta.seconds(24 * 3_600)

  private func scene(_ rules: ConferenceRules = .test, restored: RestoredState = RestoredState()) -> Scene {
    let scene = Scene(rules, restored: restored)
    scene.isVerified = true
    return scene
  }

  /// Tokens from now on say that they were made so long after now, or say nothing.
  private func issue(_ delta: TimeDelta?, _ scene: Scene) {
    let at = delta.map { scene.now.wallMilliseconds + $0.milliseconds }
    scene.proof = { $0.issuedAt = at }
  }

  private func narrow(_ user: String, _ rights: Rights, room: String? = nil, _ scene: Scene) -> Int? {
    if case .success(.narrowed(let count)) = scene.operate(.narrow(user: user, to: rights, room: room)) { return count }
    return nil
  }

  private func error(_ result: Result<OperatorAnswer, ErrorObject>) -> ErrorObject? {
    if case .failure(let error) = result { error } else { nil }
  }

  private func grants(_ client: Client) -> [[Grant]] {
    client.events.compactMap { if case .sessionGrants(let grants) = $0 { grants.grants } else { nil } }
  }

  private func rights(_ user: String, _ scene: Scene) -> [Rights] {
    scene.core.sessions.table.of(user).map { scene.core.sessions.table.rightsNow(of: $0.id) }
  }

  private func chat(_ client: Client, _ scene: Scene, _ room: String = "demo") -> ErrorCode? {
    scene.code(client, .chat(.send(ChatSendParams(room: room, text: "hello"))))
  }

  private let again = Request.session(.token(TokenParams(token: "A")))

  // MARK: - Everywhere

  @Test func whatIsNotLeftEndsAtOnce() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    for one in [anna, ben] { _ = try scene.join(one).get() }
    try scene.publish(anna, ["0:audio"])
    _ = (anna.take(), ben.take())
    #expect(narrow("A", [.join, .subscribe, .moderate], scene) == 1)
    #expect(grants(anna) == [[.join, .subscribe]], "what their token does not grant is not given")
    #expect(scene.core.rooms.media.tracks.isEmpty && ben.takeNames().contains(.trackUnpublished))
    #expect(anna.closed == nil && scene.core.gauges.participants == 2)
    let other = scene.client("A", "d2")
    #expect(grants(other) == [[.join, .subscribe]], "who says hello with the same token is told what is left")
    #expect(chat(anna, scene) == .forbidden && rights("A", scene) == [[.join, .subscribe], [.join, .subscribe]])
  }

  /// Clocks may be a minute apart: a token that seems to be made then may be the old one.
  @Test(arguments: [(-1, true), (0, true), (60_000, true), (60_001, false)])
  func aTokenIsNewerAMinuteLater(issuedAfter milliseconds: Int, isNarrowed: Bool) throws {
    let scene = scene()
    issue(.seconds(-1), scene)
    let anna = scene.client("A")
    #expect(narrow("A", [.join], scene) == 1 && rights("A", scene) == [[.join]])
    _ = anna.take()
    issue(.milliseconds(milliseconds), scene)
    #expect(scene.refusal(anna, again) == nil && rights("A", scene) == [isNarrowed ? [.join] : .all])
    // Its client reads the token, and must be told that less is left.
    #expect(grants(anna) == [isNarrowed ? [.join] : Rights.all.grants])
    let other = scene.client("A", "d2")
    #expect(rights("A", scene).last == (isNarrowed ? [.join] : .all))
    #expect(grants(other) == (isNarrowed ? [[.join]] : []))
  }

  /// How long a token is good says nothing of when it was made.
  @Test func withoutADateATokenIsOldForADay() throws {
    let scene = scene()
    let anna = scene.client("A")
    #expect(narrow("A", [.join], scene) == 1)
    let end = scene.now.wallMilliseconds + 23 * 3_600_000
    scene.proof = { $0.endsAt = end }
    #expect(scene.refusal(anna, again) == nil && rights("A", scene) == [[.join]])
    scene.proof = { _ in }
    #expect(scene.refusal(anna, again) == nil)
    scene.advance(day - .milliseconds(1))
    #expect(rights("A", scene) == [[.join]])
    _ = (scene.client("A", "d2"), anna.take())
    #expect(rights("A", scene) == [[.join], [.join]])
    scene.advance(.milliseconds(1))
    #expect(rights("A", scene) == [.all, .all] && grants(anna) == [Rights.all.grants], "and then they are told")
  }

  @Test func whoIsNotThereFindsItSo() throws {
    let scene = scene()
    #expect(narrow("A", [.join, .subscribe], scene) == 0 && narrow("B", [.join], room: "demo", scene) == 0)
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    for one in [anna, ben] { _ = try scene.join(one).get() }
    #expect(chat(anna, scene) == .forbidden && chat(ben, scene) == .forbidden)
  }

  // MARK: - In one room

  @Test func aRoomIsTheOnlyOneThatItIsAbout() throws {
    let scene = scene()
    scene.rights = Rights.all.union(.moderate)
    let (one, two) = (scene.client("A", "d1"), scene.client("A", "d2"))
    let ben = scene.client("B")
    _ = try scene.join(one, "demo").get()
    _ = try scene.join(two, "voice").get()
    _ = try scene.join(ben, "voice").get()
    _ = (one.take(), two.take(), ben.take())
    #expect(narrow("A", [.join], room: "voice", scene) == 1)
    #expect(grants(one).isEmpty && grants(two) == [[.join, .call, .invite]], "calls are in no room")
    #expect(chat(one, scene, "demo") == nil && chat(two, scene, "voice") == .forbidden)
    #expect(scene.code(two, .room(.moderate(ModerateParams(room: "voice", action: .lock)))) == .forbidden)
    #expect(ben.mirror.room?.participants.first { $0.user == "A" }?.role == nil)
    #expect(throws: ErrorObject.self) { try scene.publish(two, ["0:audio"]) }
    #expect(two.mirror.room != nil && scene.core.calls.count == 0)
    #expect(scene.code(two, .call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio)))) == nil)
  }

  /// The page that is loaded again, a second device, another room's token, and the way there and back.
  @Test func nothingBringsBackWhatIsTakenInARoom() throws {
    let scene = scene()
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    #expect(narrow("A", [.join, .subscribe], room: "demo", scene) == 1)
    scene.cut(anna, clean: true)
    let loaded = scene.client("A")
    _ = try scene.join(loaded).get()
    #expect(chat(loaded, scene) == .forbidden && rights("A", scene) == [[.join, .subscribe, .call, .invite]])
    #expect(grants(loaded) == [[.join, .subscribe, .call, .invite]])
    // Elsewhere nothing is missing, and the client hears of each change.
    _ = loaded.take()
    _ = try scene.join(loaded, "stage").get()
    #expect(chat(loaded, scene, "stage") == nil && grants(loaded) == [Rights.all.grants])
    _ = loaded.take()
    let second = scene.client("A", "d2")
    _ = try scene.join(second).get()
    #expect(chat(second, scene) == .forbidden)
    scene.request(second, .room(.leave(RoomParams(room: "demo"))))
    #expect(grants(second) == [[.join, .subscribe, .call, .invite], Rights.all.grants])
    // A socket that broke.
    _ = try scene.join(second).get()
    scene.cut(second)
    _ = scene.resume(second)
    #expect(chat(second, scene) == .forbidden)
    scene.proof = { $0.rooms = .prefix("de") }
    #expect(scene.refusal(second, again) == nil && chat(second, scene) == .forbidden)
  }

  @Test func withoutJoinARoomIsClosedToThem() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    for one in [anna, ben] { _ = try scene.join(one).get() }
    _ = anna.take()
    #expect(narrow("A", [], room: "demo", scene) == 1)
    #expect(anna.take().contains(.roomClosed(RoomClosed(room: "demo", reason: .removed))))
    let refused = scene.refusal(anna, .room(.join(RoomJoinParams(room: "demo"))))
    #expect(refused?.code == .forbidden && refused?.data.reason == "join")
    #expect(scene.code(anna, .room(.info(RoomParams(room: "demo")))) == .forbidden)
    guard case .success(.rooms(let list)) = scene.request(anna, .room(.list(RoomListParams()))) else {
      Issue.record("there is a list")
      return
    }
    #expect(list.rooms.map(\.name) == ["stage", "voice"])
    _ = try scene.join(anna, "stage").get()
  }

  @Test func bothCountWhereBothAre() throws {
    let scene = scene()
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    #expect(narrow("A", [.join, .chat, .subscribe], scene) == 1)
    #expect(narrow("A", [.join, .chat, .publishAudio], room: "demo", scene) == 1)
    #expect(rights("A", scene) == [[.join, .chat]])
    // A later word about the same takes its place, be it more.
    #expect(narrow("A", [.join, .subscribe], room: "demo", scene) == 1)
    #expect(rights("A", scene) == [[.join, .subscribe]])
    #expect(narrow("A", .all, scene) == 1)
    #expect(rights("A", scene) == [[.join, .subscribe, .call, .invite]])
  }

  // MARK: - The end

  @Test func anOperatorGivesThemBack() throws {
    let scene = scene()
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    for room in [nil, "demo", "stage"] { #expect(narrow("A", [.join], room: room, scene) != nil) }
    let at = scene.now.wallMilliseconds
    let kept = [nil, "demo", "stage"].map { KeptNarrowing(.init(user: "A", room: $0), rights: [.join], at: at) }
    #expect(scene.operate(.narrowings(of: "A")) == .success(.narrowings(kept, next: nil)))
    #expect(scene.operate(.narrowings(of: "B")) == .success(.narrowings([], next: nil)))
    _ = anna.take()
    #expect(scene.operate(.liftNarrowings(of: "A", room: "stage")) == .success(.lifted(1)))
    #expect(error(scene.operate(.liftNarrowings(of: "A", room: "stage")))?.code == .userNotFound)
    #expect(rights("A", scene) == [[.join]])
    #expect(scene.operate(.liftNarrowings(of: "A", room: nil)) == .success(.lifted(2)))
    #expect(rights("A", scene) == [.all] && grants(anna) == [Rights.all.grants])
    #expect(error(scene.operate(.liftNarrowings(of: "A", room: nil)))?.code == .userNotFound)
    #expect(chat(anna, scene) == nil)
  }

  @Test func itIsKeptOverARestartAndForgottenInTime() throws {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    let scene = scene(rules)
    let at = scene.now.wallMilliseconds
    #expect(narrow("A", [.join], room: "demo", scene) == 0)
    let kept = KeptNarrowing(.init(user: "A", room: "demo"), rights: [.join], at: at)
    #expect(scene.stores.last?.1 == [.narrowing(kept)])

    var restored = RestoredState()
    let old = KeptNarrowing(.init(user: "A", room: "old"), rights: [], at: at - KeptNarrowing.time.milliseconds)
    restored.narrowings = [kept, old]
    let next = self.scene(rules, restored: restored)
    #expect(next.stores.last?.1 == [.forgetNarrowing(old.subject)])
    issue(.zero, next)
    let anna = next.client("A")
    _ = try next.join(anna).get()
    #expect(chat(anna, next) == .forbidden)
    next.advance(KeptNarrowing.time - .milliseconds(1))
    #expect(next.operate(.narrowings(of: nil)) == .success(.narrowings([kept], next: nil)))
    #expect(chat(anna, next) == .forbidden)
    next.advance(.milliseconds(1))
    #expect(next.stores.last?.1 == [.forgetNarrowing(kept.subject)] && rights("A", next) == [.all])
    #expect(next.operate(.narrowings(of: nil)) == .success(.narrowings([], next: nil)))

    #expect(scene.operate(.liftNarrowings(of: "A", room: nil)) == .success(.lifted(1)))
    #expect(scene.stores.last?.1 == [.forgetNarrowing(kept.subject)])
  }

  /// A clock that is set back makes no token newer that was old before.
  @Test func aClockThatIsSetBackGivesNothingBack() throws {
    let scene = scene()
    #expect(narrow("A", [.join], scene) == 0)
    issue(.seconds(30), scene)
    scene.now = Now(instant: scene.now.instant, wallMilliseconds: scene.now.wallMilliseconds - 3_600_000)
    #expect(narrow("A", [.join, .chat], scene) == 0)
    _ = scene.client("A")
    #expect(rights("A", scene) == [[.join, .chat]])
  }

  @Test func whereNamesProveNothingNothingIsTaken() {
    var rules = ConferenceRules.test
    rules.provesUsers = false
    #expect(error(Scene(rules).operate(.narrow(user: "A", to: [], room: nil)))?.code == .userNotFound)
    let scene = scene()
    let long = String(repeating: "n", count: 300)
    for (user, room) in [("", nil), ("A", ""), ("A", "call:1"), (long, nil)] as [(String, String?)] {
      #expect(error(scene.operate(.narrow(user: user, to: [], room: room)))?.code == .invalidParams)
    }
  }

  @Test func soManyAndNoMore() throws {
    let now = Now(instant: .zero, wallMilliseconds: 1)
    var table = NarrowingTable()
    let keep = { (user: String, room: String?) throws(ErrorObject) in
      _ = try table.insert(KeptNarrowing(.init(user: user, room: room), rights: [], at: 1), at: now)
    }
    for index in 1...NarrowingTable.mostOfUser { try keep("A", "r\(index)") }
    let own = try #require(throws: ErrorObject.self) { try keep("A", nil) }
    #expect(own.code == .tooLarge && own.data.limit == NarrowingTable.mostOfUser)
    try keep("A", "r1")
    for index in NarrowingTable.mostOfUser + 1...NarrowingTable.most { try keep("u\(index)", nil) }
    let all = try #require(throws: ErrorObject.self) { try keep("B", nil) }
    #expect(all.code == .tooLarge && all.data.limit == NarrowingTable.most && table.count == NarrowingTable.most)
    #expect(table.remove(.init(user: "A", room: "r1")) && !table.remove(.init(user: "A", room: "r1")))
    try keep("B", nil)
  }
}
