// Rooms: which there are, their class and caps, moving, presence and chat.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RoomTests {
  @Test func roomsThatAreNotConfigured() throws {
    var rules = ConferenceRules.test
    rules.maxRooms = 1
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    #expect(scene.code(a, .room(.info(RoomParams(room: "new")))) == .roomNotFound)
    #expect(try scene.join(a, "new").get().kind == "group")
    #expect(scene.roomCount("new", asking: b) == 1)
    #expect(scene.join(b, "other") == .failure(.full(of: "rooms", limit: 1)))
    #expect(throws: Never.self) { try scene.join(b, "demo").get() }
    scene.request(a, .room(.leave(RoomParams(room: "new"))))
    #expect(scene.code(a, .room(.info(RoomParams(room: "new")))) == .roomNotFound)
    #expect(throws: Never.self) { try scene.join(a, "other").get() }
    rules.unknownRooms = .refuse
    let strict = Scene(rules)
    let c = strict.client("C")
    #expect(strict.join(c, "new") == .failure(ErrorObject(.roomNotFound)))
    #expect(throws: Never.self) { try strict.join(c, "demo").get() }
  }

  @Test func fullMediaRefusesNewcomersAndKeepsThoseInside() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    _ = try scene.join(a).get()
    let demo = try #require(scene.core.rooms.table.keys["demo"])
    scene.apply(.mediaLoad(MediaLoad(fullRooms: [demo])))
    #expect(scene.join(b) == .failure(.mediaFull))
    #expect(throws: Never.self) { try scene.join(b, "elsewhere").get() }
    #expect(throws: Never.self) { try scene.join(a).get() }
    scene.fillWorkers()
    #expect(scene.join(c, "third") == .failure(.mediaFull))
    #expect(scene.join(c, "elsewhere") == .failure(.mediaFull))
    scene.apply(.mediaLoad(MediaLoad()))
    #expect(throws: Never.self) { try scene.join(c).get() }
    #expect(scene.roomCount("demo", asking: c) == 2)
  }

  @Test func callRoomsAreNotForJoining() {
    let scene = Scene()
    let a = scene.client("A")
    #expect(scene.code(a, .room(.join(RoomJoinParams(room: "call:123")))) == .forbidden)
    #expect(scene.code(a, .room(.info(RoomParams(room: "call:123")))) == .forbidden)
  }

  @Test func theListShowsNamedRoomsAndThoseInUse() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a, "attic") { $0.media = .audio }.get()
    guard case .rooms(let list) = try scene.request(a, .room(.list())).get() else { throw ErrorObject(.internalError) }
    #expect(list.rooms.map(\.name) == ["attic", "demo", "stage", "voice"])
    #expect(list.rooms[0] == RoomInfo(name: "attic", kind: "group", media: .audio, limit: 32, count: 1))
    #expect(list.rooms[3] == RoomInfo(name: "voice", kind: "voice", media: .audio, limit: 5, count: 0))
  }

  @Test func theFirstJoinerDecidesTheClassUntilTheRoomIsEmpty() throws {
    var rules = ConferenceRules.test
    rules.rooms["open"] = RoomRules(kind: "group")
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    #expect(try scene.join(a, "open") { $0.media = .audio }.get().media == .audio)
    #expect(try scene.join(b, "open") { $0.media = .video }.get().media == .audio)
    for client in [a, b] { scene.request(client, .room(.leave(RoomParams(room: "open")))) }
    #expect(try scene.join(b, "open").get().media == .video)
    #expect(try scene.join(scene.client("C"), "voice") { $0.media = .video }.get().media == .audio)
  }

  @Test func aSessionMovesInOneStep() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    _ = try scene.join(a, "x").get()
    _ = try scene.join(b, "x").get()
    try scene.publish(b, ["0:audio"])
    _ = a.take()
    _ = try scene.join(c, "y").get()
    _ = try scene.join(b, "y").get()
    #expect(a.takeNames() == [.subscriptionEnded, .participantLeft] && c.takeNames() == [.participantJoined])
    #expect(scene.core.gauges == ConferenceGauges(rooms: 2, participants: 3, sessions: 3))
  }

  @Test func aRefusedMoveKeepsTheSeat() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a, "x").get()
    for number in 0..<3 { _ = try scene.join(scene.client("u\(number)"), "demo").get() }
    #expect(scene.code(a, .room(.join(RoomJoinParams(room: "demo")))) == .roomFull)
    #expect(scene.roomCount("x", asking: a) == 1)
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "x", text: "here")))) == nil)
  }

  @Test func joiningAgainChangesWhatOthersSee() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let again = try scene.join(a).get()
    #expect(again.count == 2 && b.take().isEmpty)
    _ = try scene.join(a) {
      $0.displayName = "Annabel"
      $0.metadata = ["hand": true]
    }.get()
    guard case .participantUpdated(let update) = b.take().first else {
      Issue.record("B heard nothing")
      return
    }
    #expect(update.participant.displayName == "Annabel" && update.participant.metadata == ["hand": true])
    #expect(scene.join(a) { $0.displayName = "b" } == .failure(ErrorObject(.nameTaken)))
  }

  @Test func aClosedRoomPutsEverybodyOut() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client, "x").get() }
    try scene.publish(a, ["0:audio"])
    _ = (a.take(), b.take())
    #expect(scene.operate(.closeRoom("nothing")) == .failure(ErrorObject(.roomNotFound)))
    #expect(scene.operate(.closeRoom("x")) == .success(.removed(2)))
    let closed = Event.roomClosed(RoomClosed(room: "x", reason: .closed))
    #expect(a.take() == [closed] && b.take().last == closed)
    #expect(scene.core.gauges == ConferenceGauges(sessions: 2))
    // Whoever has not noticed is told what happened, until he has a seat again.
    for request in [
      Request.chat(.send(ChatSendParams(room: "x", text: "?"))), .track(.mute(TrackParams(trackId: "t1"))),
    ] {
      let refusal = try #require(scene.refusal(a, request))
      #expect(refusal.code == .roomClosed && refusal.data.reason == "closed")
    }
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "y", text: "?")))) == .notJoined)
    _ = try scene.join(a, "y").get()
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "x", text: "?")))) == .notJoined)
  }

  // MARK: - Lost media

  @Test func lostMediaOnALiveSocketIsReconnecting() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let seat = try scene.seat(a)
    for _ in 0..<2 { scene.apply(.media(seat, .publish, .lost)) }
    #expect(b.takeNames() == [.participantReconnecting])
    scene.advance(.milliseconds(1_999))
    scene.apply(.media(seat, .publish, .recovered))
    #expect(b.takeNames() == [.participantReconnected])
    scene.apply(.media(seat, .publish, .lost))
    scene.advance(.milliseconds(2_000))
    #expect(b.takeNames() == [.participantReconnecting, .participantLeft])
    #expect(
      a.takeNames() == [.mediaFailed, .mediaFailed, .mediaConnected, .mediaFailed, .roomClosed],
      "the client hears what others do not: which connection, and when it is back")
    scene.apply(.media(seat, .publish, .recovered))
    #expect(b.take().isEmpty && scene.core.gauges.participants == 1)
  }

  @Test(arguments: [MediaChange.recovered, .connected]) func oneConnectionThatIsBackDoesNotBringBackTheOther(
    _ back: MediaChange
  ) throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .lost))
    scene.advance(.milliseconds(500))
    scene.apply(.media(seat, .subscribe, .lost))
    scene.apply(.media(seat, .publish, back))
    #expect(b.takeNames() == [.participantReconnecting], "still, without what it is sent")
    scene.advance(.milliseconds(1_499))
    #expect(b.take().isEmpty)
    scene.advance(.milliseconds(1))
    #expect(b.takeNames() == [.participantLeft], "the grace began with the first")
  }

  @Test func withTheSocketLostTooTheMediaWaitsForTheResume() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .lost))
    scene.advance(.milliseconds(1_500))
    scene.cut(a)
    scene.advance(.milliseconds(1_500))
    scene.resume(a)
    #expect(b.takeNames() == [.participantReconnecting], "still, until there is media")
    scene.advance(.milliseconds(1_500))
    scene.apply(.media(seat, .publish, .connected))
    #expect(b.takeNames() == [.participantReconnected])
    #expect(a.takeNames().last == .mediaConnected)
  }

  /// What has failed for good is not negotiated again: the client needs a new peer connection, or a new seat.
  @Test func failedMediaIsNotOfferedAgain() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a).get()
    let tracks = try scene.publish(a, ["0:audio"])
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .failed(.ice, reason: "Nothing came.", isFinal: false)))
    try scene.publish(a, ["1:audio"])
    for pc in [MediaConnectionID.publish, .subscribe] {
      scene.apply(.media(seat, pc, .failed(.dtls, reason: "No key.", isFinal: true)))
    }
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer")))
    for request in [offer, .peerConnection(.restart(RestartParams(pc: .subscribe)))] {
      let error = try #require(scene.refusal(a, request))
      #expect(error.code == .transportFailed && error.data.step == .dtls && error.data.retryable)
      #expect(error.message.hasPrefix("No key. "))
    }
    scene.isNewConnection = true
    let again = try scene.publish(a, ["0:audio"], removing: ["0", "1"])
    #expect(again.count == 1 && again["0"] != tracks["0"])
    scene.isNewConnection = false
    #expect(scene.code(a, offer) == nil)
    scene.apply(.media(seat, .subscribe, .connected))
    #expect(scene.code(a, .peerConnection(.restart(RestartParams(pc: .subscribe)))) == nil)
  }

  /// A third connection, as another front door opens it, fails and is lost for itself alone.
  @Test func connectionsOfASeatFailEachForItself() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let seat = try scene.seat(a)
    let third = MediaConnectionID(7)
    try scene.publish(b, ["0:audio"])
    let track = try #require(scene.core.rooms.media.tracks.keys.first)
    let id = a.makeID()
    scene.apply(.stream(a.connection, id, .play(third, tracks: ["\(track)"], lines: [.audio], sdp: "offer")))
    _ = try #require(a.replies[id]?.last).get()
    _ = (a.take(), b.take())
    scene.apply(.media(seat, third, .failed(.dtls, reason: "No key.", isFinal: true)))
    let seatState = try #require(scene.core.rooms.table.seats[seat])
    #expect(Array(seatState.failures.keys) == [third])
    #expect(scene.counters[.mediaFailed(nil)] == 1 && scene.log.last?.fields.contains { $0.value == "7" } == true)
    #expect(a.take().isEmpty, "the room protocol has no name for it")
    try scene.publish(a, ["0:audio"])
    #expect(scene.code(a, .peerConnection(.restart(RestartParams(pc: .subscribe)))) == nil)
    _ = b.take()
    for connection in [third, .subscribe] { scene.apply(.media(seat, connection, .lost)) }
    scene.apply(.media(seat, .subscribe, .recovered))
    #expect(b.takeNames() == [.participantReconnecting], "the third is still lost")
    scene.apply(.media(seat, third, .ended))
    #expect(b.takeNames() == [.participantReconnected])
    #expect(scene.core.rooms.table.seats[seat]?.failures.isEmpty == true)
  }

  @Test func failedMediaIsToldToItsOwner() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    scene.apply(.media(try scene.seat(a), .subscribe, .failed(.dtls, reason: "fingerprint", isFinal: false)))
    #expect(a.take() == [.mediaFailed(MediaEvent(pc: .subscribe, step: .dtls, reason: "fingerprint"))])
    #expect(b.take().isEmpty && scene.counters[.mediaFailed(.subscribe)] == 1)
  }

  /// The connection is up and stays so: nobody is lost, nothing is refused, and it is said when packets have found their track.
  @Test func whatFindsNoTrackIsToldToItsOwner() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .strays(reason: "No MID.")))
    #expect(a.take() == [.mediaFailed(MediaEvent(pc: .publish, step: .route, reason: "No MID."))])
    #expect(scene.counters[.mediaFailed(.publish)] == 1 && scene.counters[.mediaStrays] == 1)
    #expect(scene.log.last?.event == "media_failed" && scene.log.last?.level == .warning)
    try scene.publish(a, ["0:audio"])
    _ = (a.take(), b.take())
    scene.apply(.media(seat, .publish, .found))
    #expect(a.take() == [.mediaConnected(MediaEvent(pc: .publish))])
    #expect(b.take().isEmpty && scene.log.last?.event == "media_found")
  }

  /// Who leaves closes his connections, and often is heard to before he is heard to leave.
  @Test func aClosedConnectionIsToldAndIsNoFailure() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a).get()
    _ = a.take()
    let seat = try scene.seat(a)
    scene.apply(.media(seat, .publish, .closed(reason: "gone")))
    #expect(a.take() == [.mediaFailed(MediaEvent(pc: .publish, step: .dtls, reason: "gone"))])
    #expect(scene.counters[.mediaFailed(.publish)] == nil && !scene.log.contains { $0.event == "media_failed" })
    #expect(scene.log.count { $0.event == "media_closed" && $0.level == .info } == 1)
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer")))
    #expect(scene.code(a, offer) == .transportFailed, "closed for good")
  }

  @Test func speakersAreNamedByParticipant() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    let snapshot = try scene.join(a).get()
    _ = try scene.join(b, "x").get()
    let room = try #require(scene.core.rooms.table.keys["demo"])
    scene.apply(
      .activeSpeakers(
        room,
        [SpeakerLevel(seat: try scene.seat(a), level: -3), SpeakerLevel(seat: try scene.seat(b), level: 9)]))
    let speaker = Speaker(participantId: snapshot.selfId, level: 0)
    let told = Event.activeSpeakers(ActiveSpeakers(room: "demo", speakers: [speaker]))
    #expect(a.take() == [told] && b.take().isEmpty)
    // Who comes later hears of it as soon as he hears anything.
    let late = scene.client("Late")
    _ = try scene.join(late).get()
    _ = late.take()
    scene.apply(.media(try scene.seat(late), .subscribe, .connected))
    #expect(late.take() == [.mediaConnected(MediaEvent(pc: .subscribe)), told])
  }
}

@Suite struct ChatTests {
  @Test func aMessageSentTwiceIsDeliveredOnce() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let send = Request.chat(.send(ChatSendParams(room: "demo", text: "hi", clientMsgId: "1")))
    let first = try scene.request(a, send).get()
    #expect(try scene.request(a, send).get() == first)
    #expect(try scene.request(b, send).get() != first, "another user's name for another message")
    #expect(b.takeNames() == [.chatMessage])
  }

  @Test func privateMessagesAreInTheHistoryOfThoseConcerned() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    for client in [a, b, c] { _ = try scene.join(client).get() }
    try send(scene, a, "all")
    try send(scene, a, "B only", to: ["B", "nobody", "A"])
    try send(scene, b, "everybody", to: [])
    #expect(try history(scene, a) == ["all", "B only", "everybody"])
    #expect(try history(scene, b) == ["all", "B only", "everybody"])
    #expect(try history(scene, c) == ["all", "everybody"])
    #expect(try scene.join(c).get().chat.map(\.text) == ["all", "everybody"])
    #expect(scene.code(scene.client("D"), .chat(.history(ChatHistoryParams(room: "demo")))) == .notJoined)
  }

  @Test func historyIsPagedAndBounded() throws {
    var rules = ConferenceRules.test
    rules.rooms["demo"]?.chatHistory = 10
    let scene = Scene(rules)
    let a = scene.client("A")
    _ = try scene.join(a).get()
    for number in 0..<25 { try send(scene, a, "\(number)") }
    var page = try messages(scene, a, ChatHistoryParams(room: "demo", limit: 4))
    #expect(page.map(\.text) == ["21", "22", "23", "24"])
    page = try messages(scene, a, ChatHistoryParams(room: "demo", before: page[0].msgId, limit: 4))
    #expect(page.map(\.text) == ["17", "18", "19", "20"])
    page = try messages(scene, a, ChatHistoryParams(room: "demo", before: page[0].msgId, limit: 4))
    #expect(page.map(\.text) == ["15", "16"])
    #expect(try messages(scene, a, ChatHistoryParams(room: "demo", before: page[0].msgId)).isEmpty)
    #expect(scene.code(a, .chat(.history(ChatHistoryParams(room: "demo", before: "x")))) == .invalidParams)
  }

  /// Long messages fit in no answer together: who joins gets the last of them, and asks for the others.
  @Test func longHistoriesComeInParts() throws {
    var rules = ConferenceRules.test
    rules.rooms["demo"]?.chatHistory = 100
    let scene = Scene(rules)
    let a = scene.client("A")
    _ = try scene.join(a).get()
    let text = String(repeating: "x", count: 4_000)
    for number in 100..<200 {
      scene.advance(.seconds(1))
      try send(scene, a, "\(number)" + text)
    }
    var heard = try scene.join(scene.client("B")).get().chat
    let last = heard.count
    #expect((30...33).contains(last) && heard.last?.text.hasPrefix("199") == true)
    while true {
      let page = try messages(scene, a, ChatHistoryParams(room: "demo", before: heard[0].msgId, limit: 100))
      if page.isEmpty { break }
      #expect(page.count <= last)
      heard = page + heard
    }
    #expect(heard.map { $0.text.prefix(3) } == (100..<200).map { "\($0)" })
  }

  @Test func aNamedRoomKeepsItsChatAndOthersDoNot() throws {
    let scene = Scene()
    let a = scene.client("A")
    for room in ["demo", "x", "stage"] {
      _ = try scene.join(a, room).get()
      try send(scene, a, "hello", room: room)
    }
    scene.request(a, .room(.leave(RoomParams(room: "stage"))))
    #expect(try scene.join(a, "demo").get().chat.map(\.text) == ["hello"])
    #expect(try scene.join(a, "x").get().chat.isEmpty)
    #expect(try scene.join(a, "stage").get().chat.isEmpty, "this room keeps none")
  }

  @Test func onlyThoseWhoAreThereCountAsDelivered() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    for client in [a, b, c] { _ = try scene.join(client).get() }
    scene.cut(c)
    #expect(try send(scene, a, "x").delivered == 1)
    scene.resume(c)
    #expect(c.takeNames().contains(.chatMessage), "he gets it when he is back")
    #expect(try send(scene, a, "x", to: ["nobody"]).delivered == 0)
  }

  @Test func messagesAreBounded() throws {
    var rules = ConferenceRules.test
    rules.chatBytes = 4
    let scene = Scene(rules)
    let a = scene.client("A")
    _ = try scene.join(a).get()
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "demo", text: "éé")))) == nil)
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "demo", text: "ééé")))) == .tooLarge)
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "x", text: "a")))) == .notJoined)
  }

  @Test func aTalkativeClientIsSlowedDownAloneAndMayGoOnLater() throws {
    var rules = ConferenceRules.test
    rules.chatPerSecond = 2
    rules.chatBurst = 3
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let say = Request.chat(.send(ChatSendParams(room: "demo", text: "again")))
    let codes = (0..<5).map { _ in scene.code(a, say) }
    #expect(codes == [nil, nil, nil, .rateLimited, .rateLimited])
    #expect(scene.code(b, say) == nil)
    #expect(b.takeNames().count { $0 == .chatMessage } == 3)
    scene.advance(.milliseconds(500))
    #expect(scene.code(a, say) == nil)
  }

  @Test func rememberedResultsAreBounded() {
    var log = ChatLog(capacity: 0)
    for number in 0...ChatLog.remembered {
      let result = ChatSendResult(msgId: "m\(number)", ts: 0, delivered: 0, stored: false)
      log.remember(.sent(result), user: "A", clientMsgId: "\(number)")
    }
    func known(_ user: String, _ name: String?) -> String? {
      guard case .sent(let result) = log.known(user: user, clientMsgId: name) else { return nil }
      return result.msgId
    }
    #expect(known("A", "0") == nil && known("A", "1") == "m1")
    #expect(known("B", "1") == nil && known("A", nil) == nil)
  }

  @discardableResult
  private func send(
    _ scene: Scene, _ client: Client, _ text: String, to: [String]? = nil, room: String = "demo"
  ) throws -> ChatSendResult {
    let reply = try scene.request(client, .chat(.send(ChatSendParams(room: room, text: text, to: to)))).get()
    guard case .chatSent(let result) = reply else { throw ErrorObject(.internalError) }
    return result
  }

  private func messages(_ scene: Scene, _ client: Client, _ params: ChatHistoryParams) throws -> [Message] {
    guard case .messages(let page) = try scene.request(client, .chat(.history(params))).get() else {
      throw ErrorObject(.internalError)
    }
    return page.messages
  }

  private func history(_ scene: Scene, _ client: Client) throws -> [String] {
    try messages(scene, client, ChatHistoryParams(room: "demo")).map(\.text)
  }
}
