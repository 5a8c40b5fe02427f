// The host of a group call: who it is, what they may do in its room, and what becomes of it when they leave.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// A group call of four on an open server.
struct Group {
  let scene: Scene
  let (a, b, c, d): (Client, Client, Client, Client)
  let id: String
  var all: [Client] { [a, b, c, d] }

  init(_ scene: Scene = Scene()) throws {
    self.scene = scene
    (a, b, c, d) = (scene.client("a"), scene.client("b"), scene.client("c"), scene.client("d"))
    id = try scene.start(a, ["b", "c", "d"], .group, .video).call.callId
    for client in [b, c, d] {
      scene.advance(.milliseconds(10))
      _ = try scene.accept(client, id)
    }
    try scene.mediaUp(a, b, c, d)
    forget()
  }

  func forget() { for client in all { _ = client.take() } }

  func moderate(
    _ client: Client, _ action: ModerationAction, user: String? = nil, _ fill: (inout ModerateParams) -> Void = { _ in }
  ) -> ErrorObject? {
    var params = ModerateParams(room: "call:" + id, action: action, user: user)
    fill(&params)
    return scene.refusal(client, .room(.moderate(params)))
  }

  /// The hosts that a call shows.
  func hosts(_ client: Client) throws -> [String] {
    try scene.get(client, id).members.filter { $0.role == .host }.map(\.user)
  }

  /// The moderators that the room shows, as somebody sees it who has heard all of its events.
  func moderators(_ client: Client) -> [String] {
    (client.mirror.room?.participants ?? []).filter { $0.role == .moderator }.map(\.user)
  }

  func hangUp(_ client: Client) -> ErrorCode? { scene.code(client, .call(.hangup(CallHangupParams(callId: id)))) }
  func join(_ client: Client) -> ErrorObject? { scene.refusal(client, .call(.join(CallJoinParams(callId: id)))) }
}

@Suite struct CallHostTests {
  /// Line 17: the starter moderates by their seat, on an open server as well, and nobody else does.
  @Test func whoStartsAGroupHostsItFromTheFirstWordOn() throws {
    let scene = Scene()
    let a = scene.client("a")
    _ = scene.client("b")
    let started = try scene.start(a, ["b"], .group)
    #expect(started.call.members.map(\.role) == [.host, nil] && started.room.participants.map(\.role) == [.moderator])
    let here = try Group()
    #expect(try here.hosts(here.b) == ["a"] && here.moderators(here.b) == ["a"])
    for action in ModerationAction.allCases {
      let refusal = here.moderate(here.b, action, user: "c") { ($0.role, $0.media) = (.moderator, .audio) }
      #expect(refusal?.code == .forbidden && refusal?.data.reason == "moderate")
    }
    #expect(here.moderate(here.scene.client("x"), .mute)?.code == .forbidden, "outside of it nobody learns of it")
  }

  @Test func aHostDoesWhatAModeratorDoes() throws {
    let here = try Group()
    let (scene, a, b, c) = (here.scene, here.a, here.b, here.c)
    for client in [b, c] { try scene.publish(client, ["0:audio", "1:video"]) }
    here.forget()
    #expect(here.moderate(a, .mute, user: "b") { $0.hold = true } == nil)
    #expect(b.takeNames() == [.roomModerated, .trackMuted])
    let sound = try #require(scene.core.rooms.media.tracks(of: scene.seat(b)).first)
    #expect(scene.refusal(b, .track(.unmute(TrackParams(trackId: "\(sound.id)"))))?.data.reason == "held")
    #expect(here.moderate(a, .stopVideo, user: "c") == nil)
    let own = try scene.seat(c)
    #expect(c.takeNames().contains(.trackUnpublished) && scene.core.rooms.media.tracks(of: own).count == 1)
    let chat = Request.chat(.send(ChatSendParams(room: "call:" + here.id, text: "hi")))
    #expect(here.moderate(a, .disableChat) == nil)
    #expect(scene.refusal(b, chat)?.data.reason == "chat_disabled" && scene.code(a, chat) == nil)
    #expect(here.moderate(a, .enableChat) == nil && scene.code(b, chat) == nil)
    #expect(scene.code(b, .room(.raiseHand(RaiseHandParams(room: "call:" + here.id, raised: true)))) == nil)
    let seat = try scene.seat(b)
    #expect(here.moderate(a, .lowerHand, user: "b") == nil && scene.core.rooms.table.seats[seat]?.handRaisedAt == nil)

    // A role is given and taken as in a room, and is below the host.
    #expect(here.moderate(a, .role, user: "b") { $0.role = .moderator } == nil)
    #expect(here.moderators(here.d) == ["a", "b"] && here.moderate(b, .mute, user: "c") == nil)
    for action in [ModerationAction.kick, .mute] {
      #expect(here.moderate(b, action, user: "a")?.data.reason == "moderator")
    }
    #expect(here.moderate(a, .role, user: "b") { $0.role = .participant } == nil)
    #expect(here.moderate(b, .mute, user: "c")?.code == .forbidden)
  }

  @Test(arguments: [
    ModerationAction.lock, .unlock, .lobby, .admit, .deny, .ban, .unban, .media,
  ]) func whatCallsDoNotHaveIsUnsupported(_ action: ModerationAction) throws {
    let here = try Group()
    #expect(here.moderate(here.a, action, user: "b") { $0.media = .audio }?.code == .unsupported)
    #expect(here.all.allSatisfy { $0.take().isEmpty } && here.scene.core.calls.isBusy("b"))
  }

  @Test func callsBetweenTwoHaveNoHost() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    #expect(call.members.allSatisfy { $0.role == nil })
    for action in ModerationAction.allCases {
      let params = ModerateParams(room: call.room, action: action, user: "b", role: .speaker, media: .audio)
      #expect(scene.code(a, .room(.moderate(params))) == .forbidden)
    }
  }

  // MARK: - Out, and the end

  @Test func whoIsKickedComesBackWhenInvitedAlone() throws {
    let here = try Group()
    let (scene, a, b, c) = (here.scene, here.a, here.b, here.c)
    #expect(here.moderate(a, .kick, user: "x")?.code == .userNotFound)
    #expect(here.moderate(a, .kick, user: "b") == nil)
    let told = c.take()
    #expect(told.map(\.name) == [.roomModerated, .participantLeft, .memberRemoved])
    guard case .memberRemoved(let removed) = told.last else { throw ErrorObject(.internalError) }
    #expect(removed.member.state == .removed && removed.member.reason == .removed && removed.by == "a")
    #expect(b.takeNames().contains(.roomClosed) && !scene.core.calls.isBusy("b"))
    for refusal in [here.join(b), here.join(scene.client("b", "tablet"))] {
      #expect(refusal?.code == .notInvited && refusal?.data.reason == "removed")
    }
    #expect(here.moderate(a, .kick, user: "b")?.code == .userNotFound, "they are out")
    _ = try scene.invite(a, here.id, ["b"])
    #expect(
      here.moderate(a, .kick, user: "b") == nil && b.takeNames().contains(.callStopped), "nor does it ring any more")
    #expect(here.join(b)?.code == .notInvited)
    _ = try scene.invite(a, here.id, ["b"])
    #expect(try scene.accept(b, here.id).room.count == 4)
  }

  @Test func aHostEndsItForAll() throws {
    for isMethod in [true, false] {
      let here = try Group()
      #expect(here.hangUp(here.a) == nil, "the host is another by now")
      here.forget()
      let end = Request.call(.end(CallParams(callId: here.id)))
      #expect(here.scene.code(here.c, end) == .forbidden)
      if isMethod { #expect(here.scene.code(here.b, end) == nil) } else { #expect(here.moderate(here.b, .end) == nil) }
      for client in here.all {
        let ended = client.take().compactMap { if case .callEnded(let ended) = $0 { ended } else { nil } }
        #expect(ended.map(\.reason) == [.stopped] && ended.map(\.by) == ["b"])
      }
      #expect(here.scene.core.rooms.table.seats.isEmpty && here.scene.core.calls.count == 0)
    }
  }

  // MARK: - Succession

  @Test(arguments: ["hangs up", "is lost", "is put out", "turns to a room", "answers another"])
  func theLongestJoinedFollowsAHostWhoLeaves(_ how: String) throws {
    let here = try Group()
    let (scene, a, b, c) = (here.scene, here.a, here.b, here.c)
    // B came second, but has been away: C has been in it for longer.
    #expect(here.hangUp(b) == nil && here.join(b) == nil)
    try scene.mediaUp(b)
    here.forget()
    switch how {
    case "hangs up": #expect(here.hangUp(a) == nil)
    case "is lost":
      scene.cut(a)
      scene.advance(.seconds(15))
    case "is put out": _ = scene.operate(.removeFromCall(user: "a", call: here.id))
    case "turns to a room": _ = try scene.join(a).get()
    default:
      let e = scene.client("e")
      let params = CallStartParams(to: ["a"], kind: .oneToOne, media: .audio, busyPolicy: .ring)
      guard case .callStarted(let other) = try scene.request(e, .call(.start(params))).get() else {
        throw ErrorObject(.internalError)
      }
      _ = try scene.accept(a, other.call.callId)
    }
    #expect(try here.hosts(b) == ["c"] && here.moderators(b) == ["c"] && here.moderators(here.d) == ["c"])
    let told = b.take().compactMap { if case .memberState(let event) = $0 { event.member } else { nil } }
    #expect(told.map(\.user) == ["c"] && told.map(\.role) == [.host])
    #expect(here.moderate(c, .mute, user: "b") == nil && here.moderate(b, .mute, user: "c")?.code == .forbidden)
    guard how == "hangs up" else { return }
    #expect(
      here.join(a) == nil && here.moderate(a, .mute)?.code == .forbidden, "whoever comes back is one like the others")
    #expect(try here.hosts(a) == ["c"])
  }

  /// While they may come back, it is theirs.
  @Test func aHostWhoIsAwayForAMomentIsHostStill() throws {
    let here = try Group()
    here.scene.cut(here.a)
    here.scene.advance(.seconds(10))
    #expect(try here.hosts(here.b) == ["a"])
    here.scene.resume(here.a)
    #expect(here.moderate(here.a, .mute) == nil)
    let tablet = here.scene.client("a", "tablet")
    let params = CallJoinParams(callId: here.id, takeover: true, resumeToken: here.a.token)
    #expect(here.scene.code(tablet, .call(.join(params))) == nil)
    #expect(here.moderate(tablet, .mute) == nil && here.moderate(here.a, .mute)?.code == .forbidden)
  }

  @Test(arguments: [true, false]) func twoWhoBecomeAGroupHaveAHost(_ isCallerIn: Bool) throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let id = try scene.talk(a, b).call.callId
    _ = try scene.invite(b, id, ["c"])
    if !isCallerIn { #expect(scene.code(a, .call(.hangup(CallHangupParams()))) == nil) }
    _ = (a.take(), b.take())
    let joined = try scene.accept(c, id)
    let host = isCallerIn ? "a" : "b"
    #expect(joined.call.members.filter { $0.role == .host }.map(\.user) == [host])
    #expect(joined.room.participants.filter { $0.role == .moderator }.map(\.user) == [host])
    let told = b.take().compactMap { if case .memberState(let event) = $0 { event.member } else { nil } }
    #expect(
      told.filter { $0.role == .host }.map(\.user) == (isCallerIn ? [] : ["b"]),
      "that it is the caller goes without saying")
    let mute = Request.room(.moderate(ModerateParams(room: joined.room.room, action: .mute)))
    #expect(scene.code(isCallerIn ? a : b, mute) == nil && scene.code(c, mute) == .forbidden)
  }

  @Test func aHostIsHostAfterARestart() throws {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    let here = try Group(Scene(rules))
    #expect(here.hangUp(here.a) == nil && here.moderate(here.b, .disableChat) == nil)
    var state = RestoredState()
    for case .call(let call) in here.scene.stores.flatMap(\.1) { state.calls.running = [call] }
    for case .door(let door) in here.scene.stores.flatMap(\.1) { state.doors = [door] }
    let next = Scene(rules, restored: state)
    guard case .success(.overview(let overview)) = next.operate(.look) else { throw ErrorObject(.internalError) }
    #expect(overview.rooms.allSatisfy { !$0.room.hasPrefix("call:") }, "calls' rooms are none")
    let (c, b) = (next.client("c"), next.client("b"))
    for client in [c, b] {
      guard case .success(.callRoom(let joined)) = next.request(client, .call(.join(CallJoinParams(callId: here.id))))
      else {
        throw ErrorObject(.internalError)
      }
      #expect(joined.call.members.filter { $0.role == .host }.map(\.user) == ["b"])
      #expect(joined.room.moderation?.chatDisabled == true)
    }
    let mute = { (client: Client, room: String) in
      next.code(client, .room(.moderate(ModerateParams(room: room, action: .mute))))
    }
    #expect(mute(b, "call:" + here.id) == nil && mute(c, "call:" + here.id) == .forbidden)
  }

  // MARK: - Tokens

  @Test(arguments: [nil, RoomScope("demo")]) func aTokenThatModeratesAllRoomsModeratesGroupCalls(_ rooms: RoomScope?)
    throws
  {
    let scene = Scene()
    scene.isVerified = true
    scene.proof = {
      guard $0.user == "b" else { return }
      ($0.rights, $0.rooms) = (Rights.all.union(.moderate), rooms)
    }
    let here = try Group(scene)
    let may = rooms == nil
    #expect((here.moderate(here.b, .mute, user: "c") == nil) == may)
    #expect(here.moderators(here.c) == (may ? ["a", "b"] : ["a"]))
    #expect(try here.hosts(here.c) == ["a"])
    guard may else { return }
    #expect(here.moderate(here.b, .kick, user: "c") == nil && here.moderate(here.b, .lock)?.code == .unsupported)
    // What is taken back is over at once, and seen.
    scene.proof = { _ in }
    #expect(scene.code(here.b, .session(.token(TokenParams(token: "b")))) == nil)
    #expect(here.moderate(here.b, .mute)?.code == .forbidden && here.moderators(here.d) == ["a"])
    #expect(here.moderate(here.a, .end) == nil && scene.core.calls.count == 0)
  }
}
