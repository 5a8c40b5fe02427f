// Rooms that operators make, change and end while the server runs.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RoomMakingTests {
  // MARK: - A scene

  private var refusing: ConferenceRules {
    var rules = ConferenceRules.test
    (rules.unknownRooms, rules.storesRecords) = (.refuse, true)
    return rules
  }

  private var storing: ConferenceRules {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    return rules
  }

  private func plan(_ kind: String = "group", _ fill: (inout RoomPlan) -> Void = { _ in }) -> RoomPlan {
    var plan = RoomPlan(kind: kind)
    fill(&plan)
    return plan
  }

  private func definition(_ result: Result<OperatorAnswer, ErrorObject>) throws -> DefinedRoom {
    guard case .definition(let room) = try result.get() else { throw ErrorObject(.internalError) }
    return room
  }

  @discardableResult
  private func make(
    _ scene: Scene, _ name: String, _ plan: RoomPlan, locked: Bool = false, lobby: Bool = false
  ) throws -> DefinedRoom {
    return try definition(scene.operate(.makeRoom(name, plan, locked: locked, lobby: lobby)))
  }

  @discardableResult
  private func replace(
    _ scene: Scene, _ name: String, _ plan: RoomPlan, _ condition: TagCondition = .any
  ) throws -> DefinedRoom {
    return try definition(scene.operate(.replaceSettings(of: name, plan, condition)))
  }

  private func takeBack(_ scene: Scene, _ name: String = "standup") throws -> Int {
    guard case .removed(let count) = try scene.operate(.takeBackSettings(of: name, .none)).get() else { return -1 }
    return count
  }

  private func code(_ result: Result<OperatorAnswer, ErrorObject>) -> ErrorCode? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  private func joinCode(_ scene: Scene, _ client: Client, _ room: String = "standup") -> ErrorCode? {
    scene.code(client, .room(.join(RoomJoinParams(room: room))))
  }

  private func leave(_ scene: Scene, _ client: Client, _ room: String = "standup") {
    #expect(scene.code(client, .room(.leave(RoomParams(room: room)))) == nil)
  }

  private func say(_ scene: Scene, _ client: Client, _ text: String, in room: String = "standup") {
    let before = scene.stores.count
    let params = ChatSendParams(room: room, text: text)
    scene.apply(.request(client.connection, client.makeID(), .chat(.send(params))))
    for (ticket, _) in scene.stores.dropFirst(before) { scene.apply(.stored(ticket, true)) }
  }

  private func chat(_ scene: Scene, _ client: Client, _ room: String = "standup") throws -> [String] {
    try scene.join(client, room).get().chat.map(\.text)
  }

  private func room(_ scene: Scene, _ name: String = "standup") -> Room? {
    scene.core.rooms.table[named: name].flatMap { scene.core.rooms.table[$0] }
  }

  private func changes(_ scene: Scene) -> [StoreChange] { scene.stores.flatMap(\.1) }

  /// What the next process finds.
  private func kept(_ scene: Scene) -> RestoredState {
    var state = RestoredState()
    for change in changes(scene) {
      switch change {
      case .room(let kept): state.rooms = state.rooms.filter { $0.room != kept.room } + [kept]
      case .forgetSettings(let name): state.rooms.removeAll { $0.room == name }
      case .message(let message, _): state.chats[message.message.room, default: []].append(message)
      case .forgetRoom(let name): state.chats[name] = nil
      case .door(let door): state.doors = state.doors.filter { $0.room != door.room } + [door]
      case .forgetDoor(let name): state.doors.removeAll { $0.room == name }
      default: break
      }
    }
    return state
  }

  private func event(_ limit: Int, _ media: MediaClass = .video, in room: String = "standup") -> Event {
    .roomModerated(RoomModerated(room: room, by: nil, action: .media, media: media, limit: limit))
  }

  // MARK: - Making

  @Test func aMadeRoomIsKnownWhereOthersAreRefused() throws {
    let scene = Scene(refusing)
    let anna = scene.client("A")
    #expect(joinCode(scene, anna) == .roomNotFound)
    let made = try make(scene, "standup", plan("pair") { $0.audioLimit = 4 })
    #expect(made.origin == .made && made.isServed && made.tag.utf8.count == 16)
    #expect(joinCode(scene, anna) == nil && joinCode(scene, scene.client("B"), "another") == .roomNotFound)
    #expect(try definition(scene.operate(.settings(of: "standup"))) == made)
    #expect(code(scene.operate(.makeRoom("standup", plan(), locked: false, lobby: false))) == .invalidState)
    #expect(code(scene.operate(.makeRoom("demo", plan(), locked: false, lobby: false))) == .invalidState)
    #expect(code(scene.operate(.settings(of: "another"))) == .roomNotFound)
    #expect(code(scene.operate(.replaceSettings(of: "another", plan(), .any))) == .roomNotFound)
    #expect(code(scene.operate(.makeRoom("another", plan("gone"), locked: false, lobby: false))) == .invalidParams)
  }

  @Test func allSettingsAreShown() throws {
    let scene = Scene(refusing)
    try make(scene, "standup", plan())
    try replace(scene, "demo", plan("pair"))
    guard case .definitions(let all, let next) = try scene.operate(.allSettings()).get() else {
      Issue.record("no settings")
      return
    }
    #expect(all.map(\.room) == ["demo", "stage", "standup", "voice"] && next == nil)
    #expect(all.map(\.origin) == [.changed, .configured, .made, .configured])
    #expect(all.map(\.plan.kind) == ["pair", "stage", "group", "voice"] && all[1].plan.publishers == 1)
    guard case .overview(let overview) = try scene.operate(.look).get() else { return }
    #expect(overview.rooms.map(\.origin) == all.map(\.origin))
  }

  @Test func itStaysWhenTheLastOneLeaves() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan())
    let anna = scene.client("A")
    for name in ["standup", "hall"] {
      _ = try scene.join(anna, name).get()
      say(scene, anna, "hello", in: name)
      leave(scene, anna, name)
    }
    #expect(room(scene) != nil && room(scene, "hall") == nil)
    #expect(try chat(scene, anna) == ["hello"] && chat(scene, anna, "hall").isEmpty)
  }

  @Test func itCanBeginLockedOrWithALobby() throws {
    let scene = Scene(storing)
    try make(scene, "attic", plan(), locked: true)
    try make(scene, "cellar", plan(), lobby: true)
    try make(scene, "hall", plan())
    let anna = scene.client("A")
    #expect(["attic", "cellar", "hall"].map { joinCode(scene, anna, $0) } == [.roomLocked, .inLobby, nil])
    #expect(kept(scene).doors.map(\.room).sorted() == ["attic", "cellar"])
  }

  @Test func roomsOfCallsAreNone() throws {
    let scene = Scene()
    for name in ["call:x", "", " x", String(repeating: "x", count: 300), ".", ".."] {
      #expect(code(scene.operate(.makeRoom(name, plan(), locked: false, lobby: false))) == .invalidParams)
    }
    let anna = scene.client("A")
    let call = try scene.start(anna, [scene.client("B").user]).call.callId
    #expect(code(scene.operate(.settings(of: CallRoom.name(call)))) == .roomNotFound)
    for name in ["x", "..."] {
      #expect(code(scene.operate(.makeRoom(name, plan(), locked: false, lobby: false))) == nil)
    }
  }

  /// Who has opened the room stays, and it counts for their share no more.
  @Test func someoneIsInAlready() throws {
    var rules = storing
    rules.maxRoomsPerUser = 1
    let scene = Scene(rules)
    scene.isVerified = true
    let (first, second) = (scene.client("A", "d1"), scene.client("A", "d2"))
    _ = try scene.join(first, "standup").get()
    say(scene, first, "hello")
    #expect(joinCode(scene, second, "hall") == .overloaded)
    let seat = try scene.seat(first)
    try make(scene, "standup", plan())
    #expect(try scene.seat(first) == seat && scene.core.rooms.table.shares.count(of: "A") == 0)
    #expect(joinCode(scene, second, "hall") == nil && joinCode(scene, scene.client("A", "d3"), "attic") == .overloaded)
    leave(scene, first)
    #expect(try chat(scene, first) == ["hello"] && scene.core.rooms.table.shares.count(of: "A") == 1)
  }

  // MARK: - Seats and media

  @Test func itHasItsOwnSeats() throws {
    let scene = Scene()
    try make(scene, "standup", plan("pair"))
    #expect(["A", "B", "C"].map { joinCode(scene, scene.client($0)) } == [nil, nil, .roomFull])
  }

  @Test func aLowerCapPutsNobodyOut() throws {
    let scene = Scene()
    try make(scene, "standup", plan())
    let clients = ["A", "B", "C"].map { scene.client($0) }
    for client in clients { _ = try scene.join(client, "standup").get() }
    try replace(scene, "standup", plan("pair"))
    #expect(scene.core.gauges.participants == 3)
    let dora = scene.client("D")
    #expect(joinCode(scene, dora) == .roomFull)
    leave(scene, clients[0])
    #expect(joinCode(scene, dora) == .roomFull)
    leave(scene, clients[1])
    #expect(joinCode(scene, dora) == nil)
  }

  @Test func theyHearOfSeats() throws {
    let scene = Scene()
    try make(scene, "standup", plan())
    let (anna, ben) = try scene.two(in: "standup")
    try replace(scene, "standup", plan { $0.videoLimit = 16 })
    #expect(anna.take().isEmpty, "these are the seats that it had")
    try replace(scene, "standup", plan { $0.videoLimit = 5 })
    #expect(anna.take() == [event(5)] && ben.take() == [event(5)])
    try replace(scene, "standup", plan { ($0.videoLimit, $0.audioLimit) = (5, 9) })
    #expect(anna.take().isEmpty, "nobody is without video")
  }

  @Test func mediaThatTooManyAreThereForChangesNothing() throws {
    let scene = Scene()
    let made = try make(scene, "standup", plan { $0.media = .video })
    for name in ["A", "B", "C"] { _ = try scene.join(scene.client(name), "standup").get() }
    let wish = plan { ($0.media, $0.audioLimit) = (.audio, 2) }
    #expect(code(scene.operate(.replaceSettings(of: "standup", wish, .any))) == .roomFull)
    #expect(try definition(scene.operate(.settings(of: "standup"))) == made)
    #expect(room(scene)?.media == .video && room(scene)?.rules.audioSeats == 32)
    try replace(scene, "standup", plan { ($0.media, $0.audioLimit) = (.audio, 3) })
    #expect(room(scene)?.media == .audio)
  }

  @Test func videoThatRunsEnds() throws {
    let scene = Scene()
    try make(scene, "standup", plan { $0.media = .video })
    let (anna, ben) = try scene.two(in: "standup")
    try scene.publish(anna, ["0:audio", "1:video"])
    _ = ben.take()
    try replace(scene, "standup", plan { ($0.media, $0.videoLimit) = (.video, 12) })
    #expect(scene.core.rooms.media.tracks.count == 2 && ben.take() == [event(12)])
    try replace(scene, "standup", plan { ($0.media, $0.videoLimit) = (.audio, 12) })
    #expect(scene.core.rooms.media.tracks.values.map(\.wire.kind) == [.audio])
    #expect(ben.take().first == event(32, .audio))
    // What moderators have made of this meeting is not undone by other seats.
    _ = try scene.operate(.setMedia(.video, room: "standup")).get()
    try replace(scene, "standup", plan { ($0.media, $0.videoLimit) = (.audio, 7) })
    #expect(room(scene)?.media == .video && room(scene)?.info.limit == 7)
  }

  @Test func lastNAndSoundWaitUntilItIsEmpty() throws {
    let scene = Scene()
    try make(scene, "standup", plan())
    let (anna, ben) = try scene.two(in: "standup")
    try replace(scene, "standup", plan { ($0.videoLastN, $0.audioLoudest, $0.tracksPerParticipant) = (1, 2, 1) })
    #expect(room(scene)?.rules.videoLastN == nil && room(scene)?.rules.sound.loudest == nil)
    #expect(room(scene)?.rules.tracksPerParticipant == 1, "nothing else waits")
    for client in [anna, ben] { leave(scene, client) }
    #expect(room(scene)?.rules.videoLastN == 1 && room(scene)?.rules.sound.loudest == 2)
    try replace(scene, "standup", plan { $0.videoLastN = 3 })
    #expect(room(scene)?.rules.videoLastN == 3 && room(scene)?.rules.sound.loudest == nil, "nobody is in it")
  }

  // MARK: - Chat

  @Test func lessChatIsKept() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan())
    let anna = scene.client("A")
    _ = try scene.join(anna, "standup").get()
    for text in ["1", "2", "3"] { say(scene, anna, text) }
    try replace(scene, "standup", plan { $0.chatHistory = 3 })
    #expect(try chat(scene, anna) == ["1", "2", "3"])
    try replace(scene, "standup", plan { $0.chatHistory = 2 })
    #expect(try chat(scene, anna) == ["2", "3"])
    say(scene, anna, "4")
    guard case .message(let message, let forgotten)? = changes(scene).last else {
      Issue.record("nothing was written")
      return
    }
    #expect(message.message.text == "4" && forgotten == message.number - 2, "and on disk with the next message")
  }

  @Test func noChatIsForgottenOnDisk() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan())
    let anna = scene.client("A")
    _ = try scene.join(anna, "standup").get()
    say(scene, anna, "hello")
    try replace(scene, "standup", plan { $0.chatHistory = 1 })
    #expect(kept(scene).chats["standup"]?.count == 1)
    try replace(scene, "standup", plan { $0.chatHistory = 0 })
    #expect(try kept(scene).chats["standup"] == nil && chat(scene, anna).isEmpty)
  }

  // MARK: - The end

  @Test func aConfiguredRoomIsChangedAndTakenBack() throws {
    let scene = Scene(storing)
    let before = try definition(scene.operate(.settings(of: "demo")))
    #expect(before.origin == .configured && before.plan.videoLimit == 3)
    #expect(try takeBack(scene, "demo") == 0 && changes(scene).isEmpty, "there is nothing to take back")
    let anna = scene.client("A")
    #expect(try scene.join(anna, "demo").get().kind == "demo")
    say(scene, anna, "hello", in: "demo")
    let changed = try replace(scene, "demo", plan { $0.videoLimit = 9 }, .tags([before.tag]))
    #expect(changed.origin == .changed && changed.tag != before.tag)
    _ = anna.take()
    #expect(try scene.join(anna, "demo").get().limit == 9)
    #expect(try takeBack(scene, "demo") == 0 && definition(scene.operate(.settings(of: "demo"))) == before)
    #expect(anna.take() == [event(3, in: "demo")])
    let now = try scene.join(anna, "demo").get()
    #expect(now.kind == "demo" && now.limit == 3 && now.chat.map(\.text) == ["hello"])
    #expect(changes(scene).last == .forgetSettings("demo") && kept(scene).rooms.isEmpty)
  }

  /// Nobody can be asked then: who is there stays, until all have left.
  @Test func rulesThatTooManyAreThereForWaitUntilItIsEmpty() throws {
    let scene = Scene()
    try replace(scene, "demo", plan { ($0.media, $0.audioLimit) = (.audio, 9) })
    let clients = ["A", "B", "C", "D"].map { scene.client($0) }
    for client in clients { _ = try scene.join(client, "demo").get() }
    _ = try takeBack(scene, "demo")
    #expect(scene.core.gauges.participants == 4 && room(scene, "demo")?.media == .audio)
    for client in clients { leave(scene, client, "demo") }
    #expect(room(scene, "demo")?.media == .video)
  }

  @Test func itEndsForThoseInside() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan("pair"))
    let (anna, ben) = try scene.two(in: "standup")
    say(scene, anna, "hello")
    #expect(try takeBack(scene) == 2)
    let closed = Event.roomClosed(RoomClosed(room: "standup", reason: .closed))
    #expect(anna.take().contains(closed) && ben.take().contains(closed) && scene.core.gauges.participants == 0)
    #expect(scene.code(anna, .chat(.send(ChatSendParams(room: "standup", text: "x")))) == .roomClosed)
    #expect(room(scene) == nil && kept(scene).chats.isEmpty && kept(scene).rooms.isEmpty)
    #expect(code(scene.operate(.settings(of: "standup"))) == .roomNotFound)
    #expect(code(scene.operate(.takeBackSettings(of: "standup", .none))) == .roomNotFound)
    // As any other name from now on.
    let again = try scene.join(anna, "standup").get()
    #expect(again.kind == "group" && again.chat.isEmpty)
    leave(scene, anna)
    #expect(room(scene) == nil)
  }

  @Test func whoKnocksHears() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan(), lobby: true)
    let anna = scene.client("A")
    #expect(joinCode(scene, anna) == .inLobby && kept(scene).doors.count == 1)
    _ = anna.take()
    #expect(try takeBack(scene) == 0)
    #expect(anna.take() == [.roomModerated(RoomModerated(room: "standup", by: nil, action: .unlock))])
    #expect(kept(scene).doors.isEmpty && joinCode(scene, anna) == nil)
  }

  @Test func itEndsByItself() throws {
    let scene = Scene(storing)
    let until = scene.now.wallMilliseconds + 60_000
    try make(scene, "standup", plan { $0.until = until })
    let anna = scene.client("A")
    _ = try scene.join(anna, "standup").get()
    scene.advance(.milliseconds(59_999))
    #expect(room(scene) != nil && scene.core.gauges.participants == 1)
    scene.advance(.milliseconds(1))
    #expect(room(scene) == nil && scene.core.gauges.participants == 0 && kept(scene).rooms.isEmpty)
    let line = scene.log.first { $0.event == "room_unmade" }
    #expect(line?.fields.map(\.value) == ["standup", "until"])
    // Later words move the end, and take it back.
    try make(scene, "standup", plan { $0.until = scene.now.wallMilliseconds + 1_000 })
    try replace(scene, "standup", plan())
    scene.advance(.seconds(100))
    #expect(room(scene) != nil)
    let far = scene.now.wallMilliseconds + Int64(RoomPlan.longestDays) * 86_400_000
    #expect(code(scene.operate(.replaceSettings(of: "standup", plan { $0.until = far + 1 }, .any))) == .invalidParams)
    #expect(code(scene.operate(.replaceSettings(of: "standup", plan { $0.until = far }, .any))) == nil)
  }

  // MARK: - After a restart

  @Test func whatIsOverAtTheStartIsTakenBack() throws {
    var state = RestoredState()
    let now: Int64 = 1_700_000_000_000
    state.rooms = [
      KeptRoom(room: "old", plan: plan { $0.until = now - 1 }, tag: "1"),
      KeptRoom(room: "demo", plan: plan { $0.until = .min }, tag: "2"),
      KeptRoom(room: "new", plan: plan { $0.until = now + 1_000 }, tag: "3"),
      KeptRoom(room: "far", plan: plan { $0.until = .max }, tag: "4"),
    ]
    let scene = Scene(refusing, restored: state)
    scene.advance(.milliseconds(0))
    #expect(room(scene, "old") == nil && room(scene, "new") != nil && room(scene, "far") != nil)
    #expect(room(scene, "demo")?.rules == refusing.rooms["demo"])
    let forgotten = changes(scene).filter { if case .forgetSettings = $0 { true } else { false } }
    #expect(Set(forgotten.map { "\($0)" }) == Set(["old", "demo"].map { "\(StoreChange.forgetSettings($0))" }))
    scene.advance(.seconds(1))
    #expect(room(scene, "new") == nil && room(scene, "far") != nil)
  }

  @Test func afterARestart() throws {
    let scene = Scene(refusing)
    let made = try make(scene, "standup", plan("pair") { $0.chatHistory = 2 }, locked: true)
    try make(scene, "hall", plan())
    let changed = try replace(scene, "demo", plan { $0.videoLimit = 9 })
    let anna = scene.client("A")
    _ = try scene.join(anna, "hall").get()
    say(scene, anna, "hello", in: "hall")
    let next = Scene(refusing, restored: kept(scene))
    #expect(try definition(next.operate(.settings(of: "standup"))) == made)
    #expect(try definition(next.operate(.settings(of: "demo"))) == changed)
    let ben = next.client("B")
    #expect(try chat(next, ben, "hall") == ["hello"])
    #expect(joinCode(next, ben) == .roomLocked)
    #expect(try room(next)?.rules == made.plan.rules(of: refusing.kinds, configured: nil))
    #expect(try next.join(next.client("C"), "demo").get().limit == 9)
    next.advance(next.core.rules.restoredChatTime)
    #expect(changes(next).isEmpty, "they wait for nobody to come back")
  }

  private var ward: RestoredState {
    var state = RestoredState()
    state.rooms = [
      KeptRoom(room: "ward", plan: plan("gone"), tag: "1"), KeptRoom(room: "demo", plan: nil, tag: "2"),
    ]
    let message = Message(msgId: "m4", room: "ward", ts: 1, from: "A", text: "hello")
    for name in ["ward", "hall"] {
      state.chats[name] = [StoredMessage(number: 4, message: message, clientMsgId: nil, delivered: 0)]
      state.doors.append(KeptDoor(room: name, isLockedByOperator: true, door: .open, isChatDisabled: false))
    }
    return state
  }

  @Test func aKindThatIsGoneLetsNobodyIn() throws {
    let scene = Scene(storing, restored: ward)
    let anna = scene.client("A")
    #expect(["ward", "demo", "another"].map { joinCode(scene, anna, $0) } == [.roomNotFound, .roomNotFound, nil])
    let shown = try ["ward", "demo"].map { try definition(scene.operate(.settings(of: $0))) }
    #expect(shown.map(\.isServed) == [false, false] && shown.map(\.plan.kind) == ["gone", ""])
    #expect(shown.map(\.origin) == [.made, .changed])
    let lines = scene.log.filter { $0.event == "room_not_served" }
    #expect(lines.map { $0.fields.map(\.value) } == [["demo"], ["ward", "gone"]])
    try replace(scene, "demo", plan("pair"))
    #expect(joinCode(scene, anna, "demo") == nil)
  }

  @Test func itsChatAndDoorWait() throws {
    let scene = Scene(storing, restored: ward)
    scene.advance(scene.core.rules.restoredChatTime)
    #expect(changes(scene) == [.forgetRoom("hall"), .forgetDoor("hall")], "nobody has come back to that one")
    scene.advance(.seconds(3_600))
    try replace(scene, "ward", plan())
    let anna = scene.client("A")
    #expect(joinCode(scene, anna, "ward") == .roomLocked)
    _ = try scene.operate(.setLocked(false, room: "ward")).get()
    #expect(try chat(scene, anna, "ward") == ["hello"])
  }

  @Test func whatNobodyIsLetInToCanEnd() throws {
    let scene = Scene(storing, restored: ward)
    #expect(try takeBack(scene, "ward") == 0)
    #expect(changes(scene) == [.forgetSettings("ward"), .forgetRoom("ward"), .forgetDoor("ward")])
    #expect(joinCode(scene, scene.client("A"), "ward") == nil, "as any other name")
    // Of a configured one rooms.yaml holds again.
    #expect(joinCode(scene, scene.client("B"), "demo") == .roomNotFound)
    #expect(try takeBack(scene, "demo") == 0 && scene.join(scene.client("C"), "demo").get().limit == 3)
  }

  // MARK: - Bounds

  @Test func soManyAndNoMore() throws {
    #expect(KeptRoom.most == 10_000)
    var state = RestoredState()
    state.rooms = (0..<KeptRoom.most - 1).map { KeptRoom(room: "r\($0)", plan: plan("gone"), tag: "\($0)") }
    let scene = Scene(storing, restored: state)
    #expect(code(scene.operate(.makeRoom("x", plan(), locked: false, lobby: false))) == nil)
    #expect(code(scene.operate(.makeRoom("y", plan(), locked: false, lobby: false))) == .tooLarge)
    #expect(code(scene.operate(.replaceSettings(of: "r0", plan(), .any))) == nil)
  }

  @Test func quotasAndLimitsCount() throws {
    for isQuota in [true, false] {
      var rules = storing
      if isQuota { rules.quotas.rooms = 2 } else { rules.maxRooms = 2 }
      let scene = Scene(rules)
      try replace(scene, "demo", plan())
      try make(scene, "a", plan())
      try make(scene, "b", plan())
      #expect(code(scene.operate(.makeRoom("c", plan(), locked: false, lobby: false))) == .overloaded)
      #expect(joinCode(scene, scene.client("A"), "c") == .overloaded)
      _ = try takeBack(scene, "a")
      #expect(joinCode(scene, scene.client("B"), "c") == nil)
      #expect(code(scene.operate(.makeRoom("c", plan(), locked: false, lobby: false))) == nil, "that is there already")
    }
  }

  // MARK: - Who comes second

  @Test func anOldTagChangesNothing() throws {
    let scene = Scene(storing)
    let made = try make(scene, "standup", plan())
    let second = try replace(scene, "standup", plan("pair"), .tags(["another", made.tag]))
    let count = scene.stores.count
    for action: OperatorAction in [
      .replaceSettings(of: "standup", plan("talk"), .tags([made.tag])), .takeBackSettings(of: "standup", .tags([])),
    ] {
      #expect(try scene.operate(action).get() == .outdated(tag: second.tag))
    }
    #expect(try definition(scene.operate(.settings(of: "standup"))) == second && scene.stores.count == count)
    #expect(try scene.operate(.takeBackSettings(of: "standup", .tags([second.tag]))).get() == .removed(0))
  }

  @Test func aRoomMadeAnewHasAnotherTag() throws {
    let scene = Scene()
    let tags = try (0..<2).map { _ in
      let made = try make(scene, "standup", plan())
      let again = try replace(scene, "standup", plan())
      _ = try takeBack(scene)
      return [made.tag, again.tag]
    }
    #expect(Set(tags.joined()).count == 4)
  }
}
