// Somebody is moved to another room: what goes on, what ends, who hears what, and who is not let in.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct MovingTests {
  private func code(_ scene: Scene, _ user: String, _ room: String = "demo", to: String) -> ErrorCode? {
    if case .failure(let error) = scene.operate(.move(user: user, room: room, to: to)) { error.code } else { nil }
  }

  /// The `room.switched` among events.
  private func switched(_ events: [Event]) throws -> RoomSwitched {
    try #require(events.lazy.compactMap { if case .roomSwitched(let event) = $0 { event } else { nil } }.first)
  }

  @Test func tracksAndConnectionsGoOnInTheOtherRoom() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let c = scene.client("C")
    _ = try scene.join(c, "hall").get()
    let tracks = try scene.publish(b, ["0:audio", "1:video"])
    try scene.publish(c, ["0:audio"])
    let seat = try scene.seat(b)
    for client in [a, b, c] { _ = client.take() }
    #expect(scene.operate(.move(user: "B", room: "demo", to: "hall")) == .success(.moved(1)))

    #expect(try scene.seat(b) == seat && scene.core.rooms.media[seat].tracks.count == 2)
    #expect(Set(scene.core.rooms.media.tracks.keys.map(\.description)).isSuperset(of: tracks.values))
    let old = a.take()
    guard case .participantLeft(let left) = old.last else { throw ErrorObject(.internalError) }
    #expect(left.reason == .moved && left.user == "B" && left.room == "demo")
    #expect(old.dropLast().allSatisfy { $0.name == .subscriptionEnded } && old.count == 3)
    let own = try switched(b.take())
    #expect(own.from == "demo" && own.snapshot.room == "hall" && own.reconnect == nil)
    #expect(own.snapshot.participants.map(\.user) == ["C", "B"])
    #expect(Set(own.snapshot.participants[1].tracks.map(\.trackId)) == Set(tracks.values))
    guard case .participantJoined(let joined) = c.take().first else { throw ErrorObject(.internalError) }
    #expect(joined.participant.tracks.count == 2 && joined.room == "hall")
    #expect(scene.core.rooms.media[try scene.seat(c)].subscriptions.count == 2, "who is there is sent both")
    #expect(scene.core.rooms.media[seat].subscriptions.count == 1, "and who has come is sent theirs")
    #expect(scene.counters[.left(.moved)] == 1)
    #expect(scene.code(b, .chat(.send(ChatSendParams(room: "hall", text: "hi")))) == nil)
    #expect(scene.code(b, .chat(.send(ChatSendParams(room: "demo", text: "hi")))) == .notJoined)
  }

  @Test func theSnapshotStandsAtItsEvent() throws {
    let scene = Scene()
    let (_, b) = try scene.two()
    _ = b.take()
    _ = scene.operate(.move(user: "B", room: "demo", to: "hall"))
    #expect(
      try switched(b.take()).snapshot.seq == scene.core.sessions.table.all.values.first { $0.user == "B" }?.log.seq)
  }

  @Test func aRoomOnAnotherWorkerWantsNewConnections() throws {
    let scene = Scene()
    scene.isOtherWorker = true
    let (a, b) = try scene.two()
    try scene.publish(b, ["0:audio"])
    for client in [a, b] { _ = client.take() }
    #expect(scene.operate(.move(user: "B", room: "demo", to: "hall")) == .success(.moved(1)))
    let own = try switched(b.take())
    #expect(own.reconnect == true && own.snapshot.participants[0].tracks.isEmpty)
    #expect(scene.core.rooms.media.tracks.isEmpty, "what it published is to be published again")
    try scene.publish(b, ["0:audio"])
    #expect(scene.core.rooms.media.tracks.count == 1)
  }

  @Test func whoIsNotLetInStays() throws {
    var rules = ConferenceRules.test
    rules.maxRooms = 2
    let scene = Scene(rules)
    let (_, b) = try scene.two()
    let others = ["C", "D", "E"].map { scene.client($0) }
    for other in others { _ = try scene.join(other, "stage").get() }
    let before = scene.core.rooms.table.seats
    #expect(code(scene, "nobody", to: "hall") == .userNotFound)
    #expect(code(scene, "B", "nowhere", to: "hall") == .roomNotFound)
    #expect(code(scene, "B", to: "call:1") == .forbidden)
    _ = scene.operate(.setLocked(true, room: "voice"))
    #expect(code(scene, "B", to: "voice") == .roomLocked)
    _ = scene.operate(.setLocked(false, room: "voice"))
    let b2 = scene.client("B", "d2")
    _ = try scene.join(b2, "voice").get()
    #expect(code(scene, "B", to: "voice") == .alreadyJoined, "another of their devices is there")
    #expect(scene.operate(.move(user: "B", room: "demo", to: "demo")) == .success(.moved(0)))
    #expect(
      scene.core.rooms.table.seats.filter { before[$0.key] != nil }.allSatisfy { before[$0.key]?.room == $0.value.room }
    )
    #expect(!b.takeNames().contains(.roomSwitched))
  }

  @Test func theCapIsAskedInTheSameStep() throws {
    let scene = Scene()
    let people = (0..<4).map { scene.client("P\($0)") }
    for person in people { _ = try scene.join(person, "crowd").get() }
    let moved = people.map { scene.operate(.move(user: $0.user, room: "crowd", to: "demo")) }
    #expect(moved.prefix(3).allSatisfy { $0 == .success(.moved(1)) })
    guard case .failure(let error) = moved[3] else { throw ErrorObject(.internalError) }
    #expect(error.code == .roomFull && error.data.limit == 3 && error.data.count == 3)
    #expect(scene.roomCount("crowd", asking: people[0]) == 1 && scene.roomCount("demo", asking: people[0]) == 3)
    #expect(scene.operate(.move(user: "P3", room: "crowd", to: "demo2")) == .success(.moved(1)))
    #expect(scene.code(people[0], .room(.info(RoomParams(room: "crowd")))) == .roomNotFound, "the last one has left")
  }

  @Test func whatTheOtherRoomDoesNotTakeEnds() throws {
    let scene = Scene()
    let (_, b) = try scene.two()
    try scene.publish(b, ["0:audio", "1:video"])
    let voice = scene.client("V")
    _ = try scene.join(voice, "voice").get()
    for client in [b, voice] { _ = client.take() }
    #expect(scene.operate(.move(user: "B", room: "demo", to: "voice")) == .success(.moved(1)))
    #expect(try switched(b.take()).snapshot.participants[1].tracks.map(\.kind) == [.audio])
    #expect(!voice.takeNames().contains(.trackUnpublished), "nobody there has heard of it")
  }

  @Test func whoIsHeldInTheOtherRoomIsMutedThere() throws {
    let here = try Assembly(.test, in: "hall")
    let scene = here.scene
    #expect(here.moderate(here.host, .mute) { $0.hold = true } == nil)
    let b = scene.client("B9")
    _ = try scene.join(b, "lounge").get()
    try scene.publish(b, ["0:audio"])
    _ = b.take()
    #expect(scene.operate(.move(user: "B9", room: "lounge", to: "hall")) == .success(.moved(1)))
    let own = try switched(b.take()).snapshot
    #expect(own.participants.first { $0.user == "B9" }?.tracks.first?.muted == true)
  }

  /// B in the room `demo`, whose view follows whoever speaks, and A with a camera in `hall`.
  private func follower(_ scene: Scene) throws -> (client: Client, view: SubscriptionID) {
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a, "hall").get()
    _ = try scene.join(b, "demo") { $0.views = 1 }.get()
    try scene.publish(a, ["0:video"])
    let view = try #require(scene.core.rooms.media[try scene.seat(b)].views.first)
    scene.request(
      b, .view(.show(ViewShowParams(views: [ViewWish(subscriptionId: "\(view)", follow: .activeSpeaker)]))))
    return (b, view)
  }

  @Test func viewsStayOpenAndFollowWhoIsThere() throws {
    let scene = Scene()
    let (_, view) = try follower(scene)
    #expect(scene.operate(.move(user: "B", room: "demo", to: "hall")) == .success(.moved(1)))
    let shown = scene.core.rooms.media.subscriptions[view]
    #expect(shown?.track != nil && shown?.view?.follows == true, "the same view shows who is there")
    #expect(scene.operate(.move(user: "B", room: "hall", to: "demo")) == .success(.moved(1)))
    #expect(scene.core.rooms.media.subscriptions[view]?.track == nil)
  }

  @Test func whoeverCameByAnotherProtocolIsNotMoved() throws {
    let scene = Scene()
    scene.proof = { $0.entrance = .whip }
    let a = scene.client("A")
    _ = try scene.join(a).get()
    #expect(code(scene, "A", to: "hall") == .invalidState)
  }

  @Test func whoMayNotReceiveThereIsShownNothing() throws {
    let scene = Scene()
    scene.isVerified = true
    let (b, _) = try follower(scene)
    _ = scene.operate(.narrow(user: "B", to: [.join, .chat], room: "hall"))
    #expect(scene.operate(.move(user: "B", room: "demo", to: "hall")) == .success(.moved(1)))
    #expect(scene.core.rooms.media[try scene.seat(b)].received.isEmpty, "the view has ended")
    #expect(b.takeNames().contains(.subscriptionEnded))
  }

  @Test func thePlacesOfThoseWhoWereShownAreFree() throws {
    var rules = ConferenceRules.test
    var hall = RoomRules(kind: "hall")
    (hall.media, hall.videoLastN) = (.video, 1)
    rules.rooms["hall"] = hall
    let scene = Scene(rules)
    let people = ["A", "B", "C", "D"].map { scene.client($0) }
    for person in people { _ = try scene.join(person, "hall").get() }
    for person in people { try scene.publish(person, ["0:video"]) }
    func shown(to person: Client) throws -> Int {
      let carried = scene.core.rooms.media[try scene.seat(person)]
      return carried.subscriptions.values.count { scene.core.rooms.media.subscriptions[$0]?.wish.isLeftOut == false }
    }
    #expect(try shown(to: people[3]) == 1)
    for person in ["A", "B"] { _ = scene.operate(.move(user: person, room: "hall", to: "aside")) }
    #expect(try shown(to: people[3]) == 1 && shown(to: people[2]) == 1, "those who stay see each other")
  }

  @Test func whoMovesToWhereFewMayPublishGivesWay() throws {
    let scene = Scene()
    let (a, b) = try scene.two(in: "stage")
    let c = scene.client("C")
    _ = try scene.join(c, "demo").get()
    try scene.publish(a, ["0:audio"])
    try scene.publish(c, ["0:audio"])
    _ = (b.take(), c.take())
    #expect(scene.operate(.move(user: "C", room: "demo", to: "stage")) == .success(.moved(1)))
    #expect(try switched(c.take()).snapshot.participants.last?.tracks.isEmpty == true)
    #expect(scene.core.rooms.media.tracks.count == 1, "the place is taken")
  }

  @Test func aLobbyAndAFullServerRefuse() throws {
    var rules = ConferenceRules.test
    rules.maxRooms = 1
    let here = try Assembly(rules, in: "demo")
    let scene = here.scene
    #expect(here.moderate(here.host, .lobby) == nil)
    let b = scene.client("B9")
    _ = try scene.join(b, "lounge").get()
    #expect(code(scene, "B9", "lounge", to: "demo") == .inLobby)
    #expect(scene.core.rooms.table.all.values.allSatisfy { $0.moderation.lobby.waiting.isEmpty }, "nobody knocks by it")
    let c = scene.client("C9")
    _ = try scene.join(c, "lounge").get()
    #expect(code(scene, "B9", "lounge", to: "other") == .overloaded)
    #expect(scene.core.rooms.table[named: "other"] == nil, "and no empty room is left")
  }

  @Test(arguments: [true, false]) func whoIsAwayIsMovedAsTheyAre(_ isOtherWorker: Bool) throws {
    let scene = Scene()
    scene.isOtherWorker = isOtherWorker
    let (_, b) = try scene.two()
    let c = scene.client("C")
    _ = try scene.join(c, "hall").get()
    scene.cut(b)
    _ = c.take()
    #expect(scene.operate(.move(user: "B", room: "demo", to: "hall")) == .success(.moved(1)))
    guard case .participantJoined(let joined) = c.take().first else { throw ErrorObject(.internalError) }
    #expect(joined.participant.state == .reconnecting)
    scene.resume(b)
    #expect(c.takeNames() == [.participantReconnected])
  }
}
