// What moderators may do to people in a room, who may not, and how much of it is kept.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// A room with a moderator by grant and two guests.
struct Assembly {
  let scene: Scene
  let (host, ben, carl): (Client, Client, Client)
  let room: String

  init(
    _ rules: ConferenceRules = .test, in room: String = "demo", restored: RestoredState = RestoredState(),
    proof: @escaping (inout Identity) -> Void = { _ in }
  ) throws {
    scene = Scene(rules, restored: restored)
    scene.isVerified = true
    scene.proof = proof
    self.room = room
    scene.rights = Rights.all.union(.moderate)
    host = scene.client("H")
    scene.rights = .all
    (ben, carl) = (scene.client("B"), scene.client("C"))
    for client in [host, ben, carl] { _ = try scene.join(client, room).get() }
    forget()
  }

  /// What was heard so far is of no interest.
  func forget() { for client in [host, ben, carl] { _ = client.take() } }

  func moderate(
    _ client: Client, _ action: ModerationAction, user: String? = nil, _ fill: (inout ModerateParams) -> Void = { _ in }
  ) -> ErrorObject? {
    var params = ModerateParams(room: room, action: action, user: user)
    fill(&params)
    return scene.refusal(client, .room(.moderate(params)))
  }

  /// How a client sees somebody after a fresh look.
  func seen(_ user: String, by client: Client) throws -> Participant? {
    try scene.join(client, room).get().participants.first { $0.user == user }
  }

  func moderated(_ client: Client) -> [RoomModerated] {
    client.events.compactMap { if case .roomModerated(let event) = $0 { event } else { nil } }
  }

  func say(_ client: Client) -> ErrorObject? {
    scene.refusal(client, .chat(.send(ChatSendParams(room: room, text: "hello"))))
  }
}

@Suite struct ModerationTests {
  // MARK: - Who may

  @Test(arguments: ModerationAction.allCases)
  func nobodyElseCanDoAnyOfIt(_ action: ModerationAction) throws {
    let here = try Assembly()
    for user in ["C", "H", "B", nil] {
      let error = here.moderate(here.ben, action, user: user) { ($0.role, $0.hold) = (.moderator, true) }
      #expect(error?.code == .forbidden && error?.data.reason == "moderate", "\(user ?? "all")")
    }
    #expect(here.host.take().isEmpty && here.carl.take().isEmpty)
    let outside = here.scene.client("X")
    #expect(here.moderate(outside, action, user: "B") { $0.role = .speaker }?.code == .notJoined)
  }

  @Test func aGrantIsGoodForItsRoomsAlone() throws {
    let here = try Assembly()
    here.scene.rights = Rights.all.union(.moderate)
    here.scene.proof = { $0.rooms = RoomScope("voice") }
    let other = here.scene.client("O")
    _ = try here.scene.join(other, "voice").get()
    #expect(here.moderate(other, .kick, user: "B")?.code == .notJoined)
    #expect(here.scene.code(other, .room(.moderate(ModerateParams(room: "voice", action: .lock)))) == nil)
    // The room of a call has no moderators, whatever one's grant.
    here.scene.proof = { _ in }
    let (anna, dora) = (here.scene.client("A"), here.scene.client("D"))
    let call = try here.scene.talk(anna, dora).call
    let end = ModerateParams(room: call.room, action: .end)
    #expect(here.scene.code(anna, .room(.moderate(end))) == .forbidden)
  }

  @Test func onAnOpenServerNobodyModerates() throws {
    let scene = Scene()
    let (a, _) = try scene.two()
    #expect(scene.refusal(a, .room(.moderate(ModerateParams(room: "demo", action: .lock))))?.data.reason == "moderate")
  }

  @Test func rolesAreGivenAndTaken() throws {
    let here = try Assembly()
    #expect(try here.seen("H", by: here.ben)?.role == .moderator)
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .moderator } == nil)
    #expect(try here.seen("B", by: here.carl)?.role == .moderator)
    #expect(here.moderated(here.ben).map(\.role) == [.moderator], "whom it is about hears of it")
    #expect(here.moderate(here.ben, .role, user: "C") { $0.role = .speaker } == nil, "they may give roles, too")
    for action in [ModerationAction.kick, .mute, .role, .stopVideo] {
      let error = here.moderate(here.ben, action, user: "H") { $0.role = .participant }
      #expect(error?.data.reason == "moderator", "\(action)")
    }
    #expect(here.moderate(here.ben, .ban, user: "H")?.data.reason == "moderator")
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .participant } == nil)
    #expect(here.moderate(here.ben, .lock)?.data.reason == "moderate", "what was taken is gone")
    #expect(here.moderate(here.host, .role, user: "nobody") { $0.role = .speaker }?.code == .userNotFound)
  }

  @Test func aGrantThatIsTakenBackEndsIt() throws {
    let here = try Assembly()
    here.scene.rights = .all
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(try here.seen("H", by: here.ben)?.role == nil)
    #expect(here.moderate(here.host, .lock)?.data.reason == "moderate")
    here.scene.rights = Rights.all.union(.moderate)
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(here.moderate(here.host, .lock) == nil)
  }

  /// Nor does a role outlive the grant that its holder gave themselves while they had it.
  @Test func aRoleDoesNotOutliveTheGrant() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .role, user: "H") { $0.role = .moderator } == nil)
    here.scene.rights = .all
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(try here.seen("H", by: here.ben)?.role == nil)
    #expect(here.moderate(here.host, .lock)?.data.reason == "moderate")
  }

  /// An operator's removal is one: neither role nor admission is left.
  @Test func whoAnOperatorRemovesHasNoRoleAnyMore() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .role, user: "B") { $0.role = .moderator } == nil)
    #expect(here.moderate(here.host, .lock) == nil)
    _ = try here.scene.operate(.remove(user: "B", room: "demo")).get()
    #expect(here.scene.code(here.ben, .room(.join(RoomJoinParams(room: "demo")))) == .roomLocked)
  }

  /// Everybody in the room hears of each: nobody makes them hear it without end.
  @Test func whoModeratesTooOftenIsToldToWait() throws {
    var rules = ConferenceRules.test
    (rules.moderationsPerSecond, rules.moderationBurst) = (2, 4)
    let here = try Assembly(rules)
    for action in [ModerationAction.lock, .unlock, .disableChat, .enableChat] {
      #expect(here.moderate(here.host, action) == nil)
    }
    _ = here.ben.take()
    let error = here.moderate(here.host, .lock)
    #expect(error?.code == .rateLimited && error?.data.retryAfterMs == 500)
    #expect(here.ben.take().isEmpty, "and nothing has happened")
    #expect(here.say(here.host) == nil, "messages are counted by themselves")
    #expect(here.moderate(here.ben, .lock)?.data.reason == "moderate")
    here.scene.advance(.milliseconds(500))
    #expect(here.moderate(here.host, .lock) == nil)
    #expect(here.moderate(here.host, .unlock)?.code == .rateLimited)
  }

  @Test func roomsKeepSoManyRolesAndNoMore() {
    var moderation = Moderation()
    for index in 0..<Moderation.mostRoles {
      #expect(throws: Never.self) { try moderation.checkSpace(forRoleOf: "u\(index)", .speaker) }
      moderation.setRole(.speaker, of: "u\(index)")
    }
    #expect(throws: ErrorObject.tooLarge("role", limit: 100, count: 101)) {
      try moderation.checkSpace(forRoleOf: "one more", .speaker)
    }
    #expect(throws: Never.self) { try moderation.checkSpace(forRoleOf: "u0", .moderator) }
    moderation.setRole(.participant, of: "u0")
    #expect(throws: Never.self) { try moderation.checkSpace(forRoleOf: "one more", .speaker) }
  }

  // MARK: - Sound, pictures and words

  @Test func oneIsMutedAndMayUnmute() throws {
    let here = try Assembly()
    let tracks = try here.scene.publish(here.ben, ["0:audio", "1:video"])
    here.forget()
    #expect(here.moderate(here.host, .mute, user: "B") == nil)
    #expect(here.ben.takeNames() == [.roomModerated, .trackMuted], "they hear of it, as it was not their doing")
    #expect(try here.seen("B", by: here.carl)?.tracks.map(\.muted) == [true, false])
    let unmute = Request.track(.unmute(TrackParams(trackId: try #require(tracks["0"]))))
    #expect(here.scene.code(here.ben, unmute) == nil)
    #expect(here.moderate(here.host, .mute, user: "B") { $0.kind = .video } == nil)
    #expect(try here.seen("B", by: here.carl)?.tracks.map(\.muted) == [false, true])
    #expect(here.moderate(here.host, .mute, user: "nobody")?.code == .userNotFound)
  }

  @Test func whoIsHeldMayNotUnmute() throws {
    let here = try Assembly()
    let track = try #require(try here.scene.publish(here.ben, ["0:audio"])["0"])
    let unmute = Request.track(.unmute(TrackParams(trackId: track)))
    #expect(here.moderate(here.host, .mute, user: "B") { $0.hold = true } == nil)
    #expect(here.scene.refusal(here.ben, unmute)?.data.reason == "held")
    #expect(try here.scene.join(here.ben).get().moderation?.held == [.audio])
    #expect(
      try here.scene.join(here.host).get().moderation?.holds == [
        TrackHold(kind: .audio, everybody: false, users: ["B"])
      ])
    // Neither another track nor coming again helps.
    _ = here.ben.take()
    let second = try #require(try here.scene.publish(here.ben, ["3:audio"])["3"])
    #expect(here.ben.takeNames() == [.trackMuted])
    #expect(here.scene.refusal(here.ben, .track(.unmute(TrackParams(trackId: second))))?.data.reason == "held")
    #expect(here.scene.code(here.ben, .room(.leave(RoomParams(room: "demo")))) == nil)
    _ = try here.scene.join(here.ben).get()
    let third = try #require(try here.scene.publish(here.ben, ["0:audio"])["0"])
    let again = Request.track(.unmute(TrackParams(trackId: third)))
    #expect(here.scene.refusal(here.ben, again)?.data.reason == "held")
    #expect(here.moderate(here.host, .mute, user: "B") { $0.hold = false } == nil)
    #expect(try here.seen("B", by: here.carl)?.tracks.map(\.muted) == [true], "nobody opens another's microphone")
    #expect(here.scene.code(here.ben, again) == nil)
  }

  @Test func allAreHeldButForOne() throws {
    let here = try Assembly()
    for client in [here.host, here.ben, here.carl] { try here.scene.publish(client, ["0:audio"]) }
    #expect(here.moderate(here.host, .mute) { $0.hold = true } == nil)
    let muted = { (user: String) in try here.seen(user, by: here.host)?.tracks.map(\.muted) }
    #expect(try muted("B") == [true] && muted("C") == [true] && muted("H") == [false], "moderators are not meant")
    #expect(here.moderate(here.host, .mute, user: "B") { $0.hold = false } == nil)
    for (client, isFree) in [(here.ben, true), (here.carl, false)] {
      let track = try #require(try here.seen(client.user, by: client)?.tracks[0].trackId)
      #expect((here.scene.code(client, .track(.unmute(TrackParams(trackId: track)))) == nil) == isFree)
    }
    // Who moderates no more is one of all.
    here.scene.rights = .all
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(try muted("H") == [true])
    here.scene.rights = Rights.all.union(.moderate)
    #expect(here.scene.code(here.host, .session(.token(TokenParams(token: "H")))) == nil)
    #expect(here.moderate(here.host, .mute) { $0.hold = false } == nil)
    #expect(try here.scene.join(here.host).get().moderation == nil)
  }

  @Test func soManyNamesAreHeldAndNoMore() {
    var moderation = Moderation()
    for index in 0..<Moderation.mostHeld { moderation.hold("u\(index)", .audio, true) }
    #expect(throws: ErrorObject.tooLarge("user", limit: 400, count: 401)) {
      try moderation.checkSpace(holding: "one more", .audio, true)
    }
    #expect(throws: Never.self) { try moderation.checkSpace(holding: "one more", .video, true) }
    #expect(throws: Never.self) { try moderation.checkSpace(holding: "u0", .audio, false) }
    moderation.hold("u0", .audio, false)
    #expect(throws: Never.self) { try moderation.checkSpace(holding: "one more", .audio, true) }
  }

  @Test func videoIsStopped() throws {
    let here = try Assembly()
    try here.scene.publish(here.ben, ["0:audio", "1:video", "2:video"])
    here.forget()
    #expect(here.moderate(here.host, .stopVideo, user: "B") { $0.hold = true } == nil)
    #expect(here.ben.takeNames() == [.roomModerated, .trackUnpublished, .trackUnpublished])
    #expect(try here.seen("B", by: here.carl)?.tracks.map(\.kind) == [.audio])
    let again = try #require(try here.scene.publish(here.ben, ["1:video"])["1"])
    #expect(here.scene.refusal(here.ben, .track(.unmute(TrackParams(trackId: again))))?.data.reason == "held")
    #expect(here.moderate(here.host, .stopVideo) == nil)
    #expect(here.scene.core.rooms.media.tracks.values.map(\.wire.kind) == [.audio])
  }

  @Test func moderatorsAloneMayWrite() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .disableChat) == nil)
    #expect(here.say(here.ben)?.data.reason == "chat_disabled" && here.say(here.host) == nil)
    #expect(try here.scene.join(here.ben).get().moderation?.chatDisabled == true)
    #expect(here.moderate(here.host, .enableChat) == nil)
    #expect(here.say(here.ben) == nil)
  }

  // MARK: - Hands

  @Test func handsAreARow() throws {
    let here = try Assembly()
    let raise = { (client: Client, isUp: Bool) in
      here.scene.code(client, .room(.raiseHand(RaiseHandParams(room: "demo", raised: isUp))))
    }
    #expect(raise(here.carl, true) == nil)
    here.scene.advance(.milliseconds(10))
    #expect(raise(here.ben, true) == nil)
    let (first, second) = (
      try here.seen("C", by: here.host)?.handRaisedAt, try here.seen("B", by: here.host)?.handRaisedAt
    )
    #expect(try #require(first) < #require(second))
    here.forget()
    #expect(raise(here.carl, true) == nil)
    #expect(here.host.take().isEmpty, "it is up already")
    #expect(raise(here.ben, false) == nil && here.host.takeNames() == [.participantUpdated])
    #expect(here.moderate(here.host, .role, user: "C") { $0.role = .speaker } == nil)
    #expect(try here.seen("C", by: here.ben)?.handRaisedAt == nil, "who has the word has asked for it")
    #expect(raise(here.ben, true) == nil && here.moderate(here.host, .lowerHand) == nil)
    #expect(try here.seen("B", by: here.carl)?.handRaisedAt == nil)
    #expect(raise(here.scene.client("X"), true) == .notJoined)
  }

  // MARK: - The end

  @Test func itEndsForAll() throws {
    let here = try Assembly()
    #expect(here.moderate(here.host, .end) == nil)
    for client in [here.host, here.ben, here.carl] {
      #expect(client.takeNames() == [.roomModerated, .roomClosed])
      #expect(here.say(client)?.code == .roomClosed)
    }
    #expect(here.scene.core.gauges.participants == 0)
    _ = try here.scene.join(here.ben).get()
  }
}
