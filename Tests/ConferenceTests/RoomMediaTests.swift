// Whether a room carries video: who decides it, who may change it, and what becomes of what runs.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RoomMediaTests {
  private func info(_ room: String, _ client: Client, _ scene: Scene) -> RoomInfo? {
    guard case .success(.roomInfo(let info)) = scene.request(client, .room(.info(RoomParams(room: room)))) else {
      return nil
    }
    return info
  }

  private func limit(_ error: ErrorObject?) -> [Int?]? {
    error?.code == .roomFull ? [error?.data.limit, error?.data.count] : nil
  }

  // MARK: - Moderators

  /// Who came first with `media: "audio"` denies video to the others no longer than a moderator wants.
  @Test func aModeratorGivesVideoToARoomThatBeganWithout() throws {
    let scene = Scene()
    scene.isVerified = true
    let first = scene.client("F")
    _ = try scene.join(first, "hall") { $0.media = .audio }.get()
    scene.rights = Rights.all.union(.moderate)
    let host = scene.client("H")
    #expect(try scene.join(host, "hall").get().media == .audio)
    #expect(throws: ErrorObject.self) { try scene.publish(first, ["0:video"]) }
    _ = (first.take(), host.take())
    let order = Request.room(.moderate(ModerateParams(room: "hall", action: .media, media: .video)))
    #expect(scene.refusal(host, order) == nil)
    let event = Event.roomModerated(
      RoomModerated(room: "hall", by: "H", action: .media, media: .video, limit: 16))
    #expect(first.take() == [event] && host.take() == [event])
    #expect(info("hall", host, scene)?.media == .video && info("hall", host, scene)?.limit == 16)
    try scene.publish(first, ["0:video"])
    #expect(scene.core.gauges.tracks == 1)
  }

  @Test func withoutVideoItEndsAndSoundGoesOn() throws {
    let here = try Assembly(in: "hall")
    try here.scene.publish(here.ben, ["0:audio", "1:video"])
    try here.scene.publish(here.host, ["0:video"])
    here.forget()
    #expect(here.moderate(here.host, .media) { $0.media = .audio } == nil)
    #expect(here.ben.take().map(\.name).first == .roomModerated, "what was done comes before its effects")
    #expect(here.carl.takeNames().filter { $0 == .trackUnpublished }.count == 2)
    #expect(here.scene.core.rooms.media.tracks.values.map(\.wire.kind) == [.audio])
    #expect(try here.scene.join(here.carl, "hall").get().media == .audio)
    #expect(throws: ErrorObject.self) { try here.scene.publish(here.host, ["0:video"]) }
    // It lasts as long as the meeting does.
    for client in [here.host, here.ben, here.carl] {
      here.scene.request(client, .room(.leave(RoomParams(room: "hall"))))
    }
    #expect(try here.scene.join(here.ben, "hall").get().media == .video)
  }

  @Test func moreThanItTakesAreTooMany() throws {
    var rules = ConferenceRules.test
    var kind = RoomRules(kind: "group")
    (kind.videoSeats, kind.audioSeats) = (2, 3)
    rules.unknownRooms = .create(kind)
    rules.rooms["demo"]?.audioSeats = 2
    let scene = Scene(rules)
    scene.isVerified = true
    scene.rights = Rights.all.union(.moderate)
    let people = ["A", "B", "C"].map { scene.client($0) }
    for one in people { _ = try scene.join(one, "hall") { $0.media = .audio }.get() }
    let video = Request.room(.moderate(ModerateParams(room: "hall", action: .media, media: .video)))
    #expect(limit(scene.refusal(people[0], video)) == [2, 3])
    guard case .failure(let error) = scene.operate(.setMedia(.video, room: "hall")) else {
      Issue.record("three are more than two")
      return
    }
    #expect(limit(error) == [2, 3])
    scene.request(people[2], .room(.leave(RoomParams(room: "hall"))))
    #expect(scene.refusal(people[0], video) == nil)
    #expect(limit(scene.refusal(people[2], .room(.join(RoomJoinParams(room: "hall"))))) == [2, 2])
  }

  /// What an operator has configured without video no moderator gives it.
  @Test func aKindWithoutVideoStaysWithoutIt() throws {
    let here = try Assembly(in: "voice")
    #expect(here.moderate(here.host, .media) { $0.media = .video }?.code == .mediaNotAllowed)
    #expect(here.moderate(here.host, .media) { $0.media = .audio } == nil)
    #expect(here.scene.operate(.setMedia(.video, room: "voice")) == .success(.media(.video, limit: 16)))
    try here.scene.publish(here.ben, ["0:video"])
    let wordless = Request.room(.moderate(ModerateParams(room: "voice", action: .media)))
    #expect(throws: ErrorObject.self) { try wordless.validate() }
  }

  // MARK: - Operators

  @Test func anOperatorChangesItToo() throws {
    let scene = Scene()
    let (a, b) = try scene.two(in: "hall")
    try scene.publish(a, ["0:video"])
    _ = (a.take(), b.take())
    #expect(scene.operate(.setMedia(.audio, room: "hall")) == .success(.media(.audio, limit: 32)))
    let event = RoomModerated(room: "hall", by: nil, action: .media, media: .audio, limit: 32)
    #expect(b.take().first == .roomModerated(event) && scene.core.gauges.tracks == 0)
    #expect(scene.log.last { $0.event == "room_media" }?.fields.map(\.value) == ["hall", "audio"])
    #expect(scene.operate(.setMedia(.audio, room: "none")) == .failure(ErrorObject(.roomNotFound)))
    #expect(scene.operate(.setMedia(.audio, room: "call:1")) == .failure(ErrorObject(.roomNotFound)))
    // One that is empty waits for who comes.
    #expect(scene.operate(.setMedia(.audio, room: "demo")) == .success(.media(.audio, limit: 3)))
    #expect(try scene.join(b, "demo").get().media == .audio)
  }

  // MARK: - Who decides

  @Test(arguments: [[.subscribe] as Rights, [.join, .subscribe, .chat], [.join, .moderate]])
  func whoMayPublishNothingDecidesNothing(_ rights: Rights) throws {
    let scene = Scene()
    scene.isVerified = true
    scene.rights = rights.union(.join)
    let listener = scene.client("L")
    #expect(try scene.join(listener, "hall") { $0.media = .audio }.get().media == .video)
    scene.rights = .all
    let speaker = scene.client("S")
    #expect(try scene.join(speaker, "hall").get().media == .video)
    try scene.publish(speaker, ["0:video"])
  }

  @Test func theFirstWhoMayPublishDecides() throws {
    let scene = Scene()
    scene.isVerified = true
    scene.rights = [.join, .subscribe]
    let listener = scene.client("L")
    _ = try scene.join(listener, "hall").get()
    _ = listener.take()
    scene.rights = [.join, .publishAudio]
    #expect(try scene.join(scene.client("S"), "hall") { $0.media = .audio }.get().media == .audio)
    let event = RoomModerated(room: "hall", by: nil, action: .media, media: .audio, limit: 32)
    #expect(listener.take().map(\.name) == [.roomModerated, .participantJoined])
    #expect(info("hall", listener, scene)?.media == .audio && event.limit == info("hall", listener, scene)?.limit)
    #expect(try scene.join(scene.client("T"), "hall") { $0.media = .video }.get().media == .audio)
  }

  /// A player beside the seats, and who was taken the right to publish in this room, have no say in it either.
  @Test func playersAndThoseWhoAreNarrowedDecideNothing() throws {
    let scene = Scene()
    scene.isVerified = true
    scene.proof = { ($0.onlyPlays, $0.entrance) = (true, .whep) }
    #expect(try scene.join(scene.client("P"), "hall") { $0.media = .audio }.get().media == .video)
    scene.proof = { _ in }
    _ = scene.operate(.narrow(user: "N", to: [.join, .subscribe], room: "hall"))
    let narrowed = scene.client("N")
    #expect(try scene.join(narrowed, "hall") { $0.media = .audio }.get().media == .video)
    scene.request(narrowed, .room(.leave(RoomParams(room: "hall"))))
    #expect(try scene.join(narrowed, "attic") { $0.media = .audio }.get().media == .audio)
  }

  /// A listener who may publish later decides when they do: nobody takes their video away by coming.
  @Test func whoBeginsToShowVideoHasDecided() throws {
    let scene = Scene()
    scene.isVerified = true
    scene.rights = [.join, .subscribe]
    let listener = scene.client("L")
    _ = try scene.join(listener, "hall").get()
    scene.rights = .all
    #expect(scene.refusal(listener, .session(.token(TokenParams(token: "L")))) == nil)
    try scene.publish(listener, ["0:video"])
    #expect(try scene.join(scene.client("S"), "hall") { $0.media = .audio }.get().media == .video)
    #expect(scene.core.gauges.tracks == 1)
  }
}
