// What is true of a room whose settings change again and again, are taken back, or meet other kinds at the next start.

import Basics
import Glibc
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ChangedRoomTests {
  // MARK: - A scene

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

  private func make(_ scene: Scene, _ name: String, _ plan: RoomPlan, lobby: Bool = false) throws {
    _ = try scene.operate(.makeRoom(name, plan, locked: false, lobby: lobby)).get()
  }

  private func replace(_ scene: Scene, _ name: String, _ plan: RoomPlan) -> ErrorCode? {
    if case .failure(let error) = scene.operate(.replaceSettings(of: name, plan, .any)) { error.code } else { nil }
  }

  private func takeBack(_ scene: Scene, _ name: String) throws {
    _ = try scene.operate(.takeBackSettings(of: name, .none)).get()
  }

  private func settings(_ scene: Scene, _ name: String) throws -> DefinedRoom {
    guard case .definition(let room) = try scene.operate(.settings(of: name)).get() else {
      throw ErrorObject(.internalError)
    }
    return room
  }

  private func room(_ scene: Scene, _ name: String) -> Room? {
    scene.core.rooms.table[named: name].flatMap { scene.core.rooms.table[$0] }
  }

  private func say(_ scene: Scene, _ client: Client, _ texts: [String], in room: String) throws {
    _ = try scene.join(client, room).get()
    for text in texts {
      let before = scene.stores.count
      let params = ChatSendParams(room: room, text: text)
      scene.apply(.request(client.connection, client.makeID(), .chat(.send(params))))
      for (ticket, _) in scene.stores.dropFirst(before) { scene.apply(.stored(ticket, true)) }
    }
  }

  private func chat(_ scene: Scene, _ client: Client, _ room: String) throws -> [String] {
    try scene.join(client, room).get().chat.map(\.text)
  }

  private func changes(_ scene: Scene) -> [StoreChange] { scene.stores.flatMap(\.1) }

  private func forgotten(_ scene: Scene) -> [String] {
    changes(scene).compactMap { if case .forgetRoom(let name) = $0 { name } else { nil } }
  }

  /// The messages that the disk has of a room.
  private func kept(_ scene: Scene, _ room: String) -> [StoredMessage] {
    changes(scene).reduce(into: []) { kept, change in
      switch change {
      case .message(let message, let forgetting) where message.message.room == room:
        kept = kept.filter { $0.number > forgetting ?? 0 } + [message]
      case .forgetRoom(room): kept = []
      default: break
      }
    }
  }

  private func message(_ number: UInt64, _ room: String) -> StoredMessage {
    StoredMessage(
      number: number, message: Message(msgId: "m\(number)", room: room, ts: 1, from: "A", text: "\(number)"),
      clientMsgId: nil, delivered: 0)
  }

  // MARK: - Chat

  private func time(_ work: () -> Void) -> Double {
    var (start, end) = (timespec(), timespec())
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
    work()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
    return Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
  }

  /// All realms wait meanwhile.
  @Test func toDropALongChatIsOneMove() {
    let count = 40_000
    var log = ChatLog(capacity: count)
    let append = time { for number in 1...UInt64(count) { log.append(message(number, "x").message, number: number) } }
    let drop = time { log.keep(1) }
    #expect(log.messages(visibleTo: "A").map(\.text) == ["\(count)"])
    #expect(drop < 5 * append, "\(drop) s after \(append) s")
  }

  @Test func whatWasDroppedIsGoneThoughThereIsSpaceAgain() throws {
    let scene = Scene(storing)
    let anna = scene.client("A")
    try make(scene, "standup", plan())
    try say(scene, anna, ["1", "2", "3"], in: "standup")
    #expect(replace(scene, "standup", plan { $0.chatHistory = 1 }) == nil)
    #expect(replace(scene, "standup", plan()) == nil)
    #expect(kept(scene, "standup").count == 3, "until the next message")
    try say(scene, anna, ["4"], in: "standup")
    #expect(try chat(scene, anna, "standup") == ["3", "4"])
    #expect(kept(scene, "standup").map(\.message.text) == ["3", "4"])
  }

  /// The start reads as many messages as the room keeps. Older ones do not come back with the start after it.
  @Test func whatWasNotReadIsGoneThoughThereIsSpaceAgain() throws {
    var state = RestoredState()
    state.rooms = [KeptRoom(room: "standup", plan: plan { $0.chatHistory = 2 }, tag: "1")]
    (state.chats["standup"], state.lastNumber) = ([message(8, "standup"), message(9, "standup")], 9)
    (state.chats["demo"]) = [message(5, "demo")]
    let scene = Scene(storing, restored: state)
    #expect(replace(scene, "standup", plan()) == nil)
    let anna = scene.client("A")
    for name in ["standup", "demo"] { try say(scene, anna, ["new"], in: name) }
    let forgetting = changes(scene).compactMap { change -> UInt64?? in
      if case .message(_, let number) = change { number } else { nil }
    }
    #expect(forgetting == [7, nil], "of the other one all was read")
  }

  @Test func whoKeepsNoChatAnyMoreForgetsItOnDisk() throws {
    let scene = Scene(storing)
    let anna = scene.client("A")
    for name in ["stage", "demo"] {
      #expect(replace(scene, name, plan { $0.until = scene.now.wallMilliseconds + 1_000 }) == nil)
      try say(scene, anna, ["hello"], in: name)
    }
    #expect(forgotten(scene).isEmpty)
    try takeBack(scene, "demo")
    #expect(forgotten(scene).isEmpty && kept(scene, "demo").count == 1, "rooms.yaml has it keep chat")
    scene.advance(.seconds(1))
    #expect(forgotten(scene) == ["stage"] && kept(scene, "stage").isEmpty, "and none of that one")
  }

  /// Their kind was another when they were written.
  @Test func chatThatIsNotKeptIsForgottenAtTheStart() throws {
    var rules = storing
    rules.kinds["group"]?.chatHistory = 0
    if let group = rules.kinds["group"] { rules.unknownRooms = .create(group) }
    var state = RestoredState()
    state.rooms = [
      KeptRoom(room: "standup", plan: plan(), tag: "1"), KeptRoom(room: "hall", plan: plan("pair"), tag: "2"),
      KeptRoom(room: "ward", plan: plan("gone"), tag: "3"),
    ]
    for name in ["standup", "hall", "ward", "stage", "x"] { state.chats[name] = [] }
    let scene = Scene(rules, restored: state)
    #expect(forgotten(scene).sorted() == ["stage", "standup"])
    _ = try scene.join(scene.client("A"), "x").get()
    #expect(forgotten(scene).contains("x"), "as soon as somebody joins it")
  }

  @Test func whatEndsForgetsItsChatWhateverItKeeps() throws {
    let scene = Scene(storing)
    try make(scene, "standup", plan { $0.chatHistory = 0 })
    try takeBack(scene, "standup")
    #expect(forgotten(scene) == ["standup", "standup"], "there is nothing, or what another process has left")
  }

  /// What rooms.yaml says of it holds for its chat as little as for who comes in.
  @Test func theChatOfAConfiguredRoomWaitsToo() throws {
    var state = RestoredState()
    state.rooms = ["stage", "demo"].map { KeptRoom(room: $0, plan: plan("gone"), tag: "1") }
    for name in ["stage", "demo"] { state.chats[name] = (1...3).map { message($0, name) } }
    state.lastNumber = 3
    let scene = Scene(storing, restored: state)
    scene.advance(scene.core.rules.restoredChatTime)
    #expect(changes(scene).isEmpty)
    #expect(replace(scene, "stage", plan { $0.chatHistory = 2 }) == nil)
    let anna = scene.client("A")
    #expect(try chat(scene, anna, "stage") == ["2", "3"])
    try takeBack(scene, "demo")
    #expect(try chat(scene, anna, "demo") == ["1", "2", "3"])
  }

  /// What GET shows is what PUT takes, and what a start reads.
  @Test func aConfiguredRoomMayKeepWhatRoomsYAMLSays() throws {
    var rules = storing
    rules.rooms["demo"]?.kind = "group"
    rules.rooms["demo"]?.chatHistory = 5_000
    let scene = Scene(rules)
    var shown = try settings(scene, "demo").plan
    #expect(shown.chatHistory == 5_000)
    shown.videoLimit = 9
    #expect(replace(scene, "demo", shown) == nil && room(scene, "demo")?.rules.chatHistory == 5_000)
    var state = RestoredState()
    state.rooms = [KeptRoom(room: "demo", plan: shown, tag: "1")]
    #expect(room(Scene(rules, restored: state), "demo")?.rules.chatHistory == 5_000)
    shown.chatHistory = 5_001
    #expect(replace(scene, "demo", shown) == .invalidParams)
    #expect(replace(scene, "voice", plan { $0.chatHistory = 5_000 }) == .invalidParams, "of another room it does not")
  }

  /// Whoever has not seen a message any more does not see it again, whatever operators and restarts come in between.
  @Test(arguments: 1...8 as ClosedRange<UInt64>) func whatIsGoneNeverComesBack(_ seed: UInt64) throws {
    var (random, said, restarts) = (SplitMix64(seed: seed), 0, 0)
    var state = RestoredState()
    var gone: [String: Set<String>] = [:]
    var scene = Scene(storing, restored: state)
    var anna = scene.client("A")
    for _ in 0..<400 {
      let name = ["stage", "demo", "made"].randomElement(using: &random) ?? "demo"
      let kind = plan(["group", "pair"].randomElement(using: &random) ?? "pair") {
        $0.chatHistory = [nil, 0, 1, 3, 100].randomElement(using: &random) ?? nil
      }
      var before = try shown(scene)
      switch Int.random(in: 0..<12, using: &random) {
      case 0...6:
        said += 1
        try say(scene, anna, ["\(said)"], in: name)
      case 7, 8: _ = scene.operate(.replaceSettings(of: name, kind, .any))
      case 9: _ = scene.operate(.takeBackSettings(of: name, .none))
      case 10: _ = scene.operate(.makeRoom("made", kind, locked: false, lobby: false))
      default:
        state = disk(scene, after: state)
        scene = Scene(storing, restored: read(state))
        anna = scene.client("A")
        restarts += 1
        // Rooms that nobody has come back to yet show nothing.
        before = try shown(scene)
      }
      for (name, now) in try shown(scene) {
        #expect(gone[name, default: []].isDisjoint(with: now), "\(name) after \(said) messages")
        gone[name, default: []].formUnion(Set(before[name] ?? []).subtracting(now))
      }
    }
    #expect(said > 100 && restarts > 5 && gone.values.reduce(0) { $0 + $1.count } > 50)
  }

  private func shown(_ scene: Scene) throws -> [String: [String]] {
    let rooms = ["stage", "demo", "made"].map { name in
      (name, room(scene, name)?.chat.messages(visibleTo: "A").map(\.text) ?? [])
    }
    return Dictionary(uniqueKeysWithValues: rooms)
  }

  /// What is on disk behind a process that found this there.
  private func disk(_ scene: Scene, after state: RestoredState) -> RestoredState {
    changes(scene).reduce(into: state) { state, change in
      switch change {
      case .room(let kept): state.rooms = state.rooms.filter { $0.room != kept.room } + [kept]
      case .forgetSettings(let name): state.rooms.removeAll { $0.room == name }
      case .message(let message, let forgetting):
        let others = state.chats[message.message.room, default: []].filter { $0.number > forgetting ?? 0 }
        state.chats[message.message.room] = others + [message]
        state.lastNumber = max(state.lastNumber, message.number)
      case .forgetRoom(let name): state.chats[name] = nil
      default: break
      }
    }
  }

  /// What a start reads of it (`StorageThread`).
  private func read(_ state: RestoredState) -> RestoredState {
    var read = state
    for (name, messages) in state.chats {
      let plan = state.rooms.first { $0.room == name }?.plan
      let rules = (try? plan?.rules(of: storing.kinds, configured: nil)) ?? storing.rules(forRoom: name)
      read.chats[name] = messages.suffix(rules?.chatHistory ?? 0)
    }
    return read
  }

  // MARK: - Kinds that are smaller at the next start

  @Test func aKindThatIsSmallerNarrowsItsRooms() throws {
    var rules = storing
    rules.kinds["group"]?.publishers = 8
    var state = RestoredState()
    state.rooms = [
      KeptRoom(room: "talk", plan: plan("talk") { ($0.publishers, $0.chatHistory) = (20, 3_000) }, tag: "1"),
      KeptRoom(room: "small", plan: plan { ($0.videoLimit, $0.audioLimit) = (2, 3) }, tag: "2"),
      KeptRoom(room: "same", plan: plan("talk") { ($0.publishers, $0.chatHistory) = (6, 1_000) }, tag: "3"),
      KeptRoom(room: "none", plan: plan { $0.videoLimit = 0 }, tag: "4"),
    ]
    let scene = Scene(rules, restored: state)
    #expect(["talk", "small", "same"].map { room(scene, $0)?.rules.publishers } == [6, 3, 6])
    #expect(["talk", "small"].map { room(scene, $0)?.rules.chatHistory } == [1_000, 100])
    #expect(scene.log.filter { $0.event == "room_not_served" }.map { $0.fields.first?.value } == ["none"])
    #expect(scene.code(scene.client("A"), .room(.join(RoomJoinParams(room: "talk")))) == nil)
    for room in state.rooms.prefix(3) {
      let shown = try settings(scene, room.room)
      #expect(shown.tag == room.tag && (shown.plan == room.plan) == (room.room == "same"))
      #expect(replace(scene, room.room, shown.plan) == nil, "what is shown is taken")
    }
  }

  // MARK: - Media

  @Test func otherSettingsLeaveTheMediaOfAnEmptyRoom() throws {
    let scene = Scene()
    _ = try scene.operate(.setMedia(.audio, room: "demo")).get()
    #expect(replace(scene, "demo", plan { ($0.media, $0.audioLimit) = (.video, 9) }) == nil)
    #expect(room(scene, "demo")?.media == .audio && room(scene, "demo")?.info.limit == 9)
    #expect(replace(scene, "demo", plan { $0.media = .audio }) == nil)
    #expect(replace(scene, "demo", plan { $0.media = .video }) == nil)
    #expect(room(scene, "demo")?.media == .video, "and other media change them")
  }

  /// What was taken back said audio, and rooms.yaml says video for three.
  @Test func mediaThatTooManyWereThereForAreAskedForAgain() throws {
    let scene = Scene()
    #expect(replace(scene, "demo", plan { ($0.media, $0.audioLimit) = (.audio, 9) }) == nil)
    for name in ["A", "B", "C", "D"] { _ = try scene.join(scene.client(name), "demo").get() }
    try takeBack(scene, "demo")
    #expect(room(scene, "demo")?.media == .audio)
    #expect(replace(scene, "demo", plan { ($0.media, $0.videoLimit) = (.video, 3) }) == .roomFull)
    #expect(replace(scene, "demo", plan { ($0.media, $0.videoLimit) = (.video, 4) }) == nil)
    #expect(room(scene, "demo")?.media == .video)
    // It has been reached: what a moderator makes of the meeting stays.
    _ = try scene.operate(.setMedia(.audio, room: "demo")).get()
    #expect(replace(scene, "demo", plan { ($0.media, $0.videoLimit) = (.video, 5) }) == nil)
    #expect(room(scene, "demo")?.media == .audio)
  }

  // MARK: - Doors and names

  @Test func thoseInsideHearOfTheLobby() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two(in: "standup")
    _ = (anna.take(), ben.take())
    try make(scene, "standup", plan(), lobby: true)
    let event = Event.roomModerated(RoomModerated(room: "standup", by: nil, action: .lobby))
    #expect(anna.take() == [event] && ben.take() == [event])
    try make(scene, "hall", plan(), lobby: true)
    #expect(anna.take().isEmpty)
  }

  /// Nobody could join it, and the next start would not read it.
  @Test func aNameHasOneForm() {
    let scene = Scene()
    for (name, isTaken) in [("caf\u{e9}", true), ("cafe\u{301}", false), ("\u{301}x", false)] {
      let answer = scene.operate(.makeRoom(name, plan(), locked: false, lobby: false))
      #expect(((try? answer.get()) != nil) == isTaken)
    }
  }

  @Test func linesSayNoKindWhereItCannotBeRead() throws {
    var state = RestoredState()
    state.rooms = [
      KeptRoom(room: "night", plan: nil, tag: "1"), KeptRoom(room: "ward", plan: plan("gone"), tag: "2"),
    ]
    let lines = Scene(restored: state).log.filter { $0.event == "room_not_served" }
    #expect(lines.map { $0.fields.map(\.name) } == [["room"], ["room", "kind"]])
  }

  // MARK: - All settings

  /// A page costs what it shows, and not what there is.
  @Test func aPageOfSettingsIsMadeOfWhatItShows() {
    let now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
    let costs = [1_000, KeptRoom.most].map { count -> Double in
      var core = ConferenceCore(rules: .test, random: SplitMix64(seed: 1))
      var state = RestoredState()
      state.rooms = (0..<count).map { KeptRoom(room: "r\(10_000 + $0)", plan: plan(), tag: "\($0)") }
      _ = core.restore(state, at: now)
      var found: Result<OperatorAnswer, ErrorObject>?
      let cost = (0..<5).map { _ in time { found = core.operate(.allSettings(page: 1), at: now).0 } }.min() ?? 0
      guard case .success(.definitions(let rooms, let next)) = found else { return 0 }
      #expect(rooms.prefix(2).map(\.room) == ["demo", "r10000"] && rooms.count == 1_000 && next == 2)
      return cost
    }
    #expect(costs[1] < 3 * costs[0], "\(costs)")
  }
}
