// Tokens in the core: rooms and caps that they are good for, grants that change while people are there, and their end.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ProofTests {
  private func scene() -> Scene {
    let scene = Scene()
    scene.isVerified = true
    return scene
  }

  /// Shows a further token of a client, with these rights; what went wrong.
  private func renew(_ scene: Scene, _ client: Client, _ rights: Rights, as user: String? = nil) -> ErrorObject? {
    scene.rights = rights
    defer { scene.rights = .all }
    return scene.refusal(client, .session(.token(TokenParams(token: user ?? client.user))))
  }

  private func grants(_ client: Client) -> [SessionGrants] {
    client.events.compactMap { if case .sessionGrants(let grants) = $0 { grants } else { nil } }
  }

  // MARK: - Where a token is good

  @Test func aRoomOfATokenIsTheOnlyOne() throws {
    let scene = scene()
    scene.proof = { $0.rooms = RoomScope("demo") }
    let anna = scene.client("A")
    for room in ["voice", "Demo", "demo2", "dem"] {
      #expect(scene.refusal(anna, .room(.join(RoomJoinParams(room: room))))?.data.reason == "room", "\(room)")
      #expect(scene.refusal(anna, .room(.info(RoomParams(room: room))))?.data.reason == "room", "\(room)")
    }
    #expect(scene.core.gauges.participants == 0)
    _ = try scene.join(anna, "demo").get()
    #expect(scene.core.gauges.participants == 1)
  }

  @Test func theListShowsWhatOneMayJoin() throws {
    let scene = scene()
    func names(_ client: Client) throws -> [String] {
      guard case .rooms(let list) = try scene.request(client, .room(.list())).get() else { return [] }
      return list.rooms.map(\.name)
    }
    let all = scene.client("A")
    for room in ["team-a", "team-b", "other"] { _ = try scene.join(scene.client("in \(room)"), room).get() }
    #expect(try names(all) == ["demo", "other", "stage", "team-a", "team-b", "voice"])
    scene.proof = { $0.rooms = RoomScope("team-*") }
    let team = scene.client("T")
    #expect(try names(team) == ["team-a", "team-b"])
    guard case .rooms(let page) = try scene.request(team, .room(.list(RoomListParams(limit: 1)))).get() else { return }
    #expect(page.rooms.map(\.name) == ["team-a"] && page.next == "team-a")
    guard case .rooms(let rest) = try scene.request(team, .room(.list(RoomListParams(after: page.next)))).get() else {
      return
    }
    #expect(rest.rooms.map(\.name) == ["team-b"] && rest.next == nil)
    scene.proof = { _ in }
    scene.rights = [.subscribe, .call]
    #expect(try names(scene.client("N")) == [], "who may join none sees none")
  }

  @Test func presenceAndListsOfCallsAreForThoseWhoMayCall() throws {
    let scene = scene()
    scene.rights = [.join, .subscribe]
    let guest = scene.client("G")
    let query = { (users: [String]) in Request.userQuery(UserQueryParams(users: users)) }
    #expect(scene.refusal(guest, query(["G", "boss"]))?.data.reason == "call")
    #expect(scene.code(guest, query(["G"])) == nil, "oneself is no secret")
    #expect(scene.refusal(guest, .call(.history(CallHistoryParams())))?.data.reason == "call")
    scene.rights = [.invite]
    #expect(scene.code(scene.client("I"), query(["boss"])) == nil)
    scene.rights = .all
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    _ = scene.client("C")
    let id = try scene.start(anna, ["B", "C"], .group).call.callId
    #expect(scene.code(ben, .call(.reject(CallRejectParams(callId: id)))) == nil)
    func available() throws -> Int {
      guard case .calls(let list) = try scene.request(ben, .call(.available)).get() else { return -1 }
      return list.calls.count
    }
    #expect(try available() == 1)
    #expect(renew(scene, ben, [.join]) == nil)
    #expect(try available() == 0)
  }

  @Test func aCapCountsPeople() throws {
    let scene = scene()
    let (anna, ben) = try scene.two(in: "voice")
    scene.proof = { $0.cap = 2 }
    let carl = scene.client("C")
    let refusal = try #require(scene.refusal(carl, .room(.join(RoomJoinParams(room: "voice")))))
    #expect(refusal.code == .roomFull && refusal.data.limit == 2 && refusal.data.count == 2)
    #expect(scene.code(anna, .room(.leave(RoomParams(room: "voice")))) == nil)
    _ = try scene.join(carl, "voice").get()
    #expect(scene.code(carl, .room(.leave(RoomParams(room: "voice")))) == nil)
    let three = CallStartParams(to: ["A", "B"], kind: .group, media: .audio)
    #expect(scene.code(carl, .call(.start(three))) == .tooManyInvitees)
    let id = try scene.start(carl, ["B"], .group).call.callId
    #expect(scene.code(carl, .call(.invite(CallInviteParams(callId: id, users: ["A"])))) == .callFull)
    withExtendedLifetime(ben) {}
  }

  @Test func aNameOfATokenIsNotChosen() throws {
    let scene = scene()
    scene.proof = { ($0.displayName, $0.hasGivenName) = ("Anna of the token", true) }
    let anna = scene.client("A")
    for name in ["Boss", nil] {
      let snapshot = try scene.join(anna) { $0.displayName = name }.get()
      #expect(snapshot.participants.map(\.displayName) == ["Anna of the token"])
    }
  }

  // MARK: - Renewing

  @Test func aTokenOfSomebodyElseChangesNothing() throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    _ = try scene.publish(anna, ["0:audio"])
    #expect(renew(scene, anna, [], as: "B")?.code == .authFailed)
    #expect(grants(anna).isEmpty && scene.core.gauges.tracks == 1)
    #expect(renew(scene, anna, .all) == nil)
    #expect(grants(anna).isEmpty, "nothing has changed")
    withExtendedLifetime(ben) {}
  }

  @Test func anOpenServerTakesATokenForNothing() throws {
    let scene = Scene()
    let anna = scene.client("A")
    #expect(scene.code(anna, .session(.token(TokenParams(token: "whatever")))) == nil)
    #expect(grants(anna).isEmpty)
    _ = try scene.join(anna).get()
  }

  // MARK: - Each grant, revoked live

  @Test func withoutJoinTheSeatEnds() throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    _ = try scene.publish(anna, ["0:audio", "1:video"])
    _ = ben.take()
    #expect(renew(scene, anna, Rights.all.subtracting(.join)) == nil)
    #expect(ben.mirror.room?.participants.map(\.user) == ["B"])
    #expect(scene.core.gauges.tracks == 0 && scene.core.gauges.participants == 1)
    #expect(anna.mirror.room == nil && grants(anna).count == 1)
    #expect(scene.refusal(anna, .room(.join(RoomJoinParams(room: "demo"))))?.data.reason == "join")
  }

  @Test func aTokenForAnotherRoomEndsTheSeatInThisOne() throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    scene.proof = { $0.rooms = RoomScope("voice") }
    #expect(renew(scene, anna, .all) == nil)
    #expect(grants(anna).map(\.room) == ["voice"])
    #expect(ben.mirror.room?.participants.map(\.user) == ["B"])
    #expect(scene.code(anna, .chat(.send(ChatSendParams(room: "demo", text: "still here?")))) == .roomClosed)
    _ = try scene.join(anna, "voice").get()
  }

  @Test(arguments: [
    (Grant.publishAudio, ["microphone", "screen_audio"]), (.publishVideo, ["camera"]),
    (.publishScreen, ["screen", "screen_audio"]),
  ])
  func aSourceThatIsForbiddenEnds(right: Grant, sources: [String]) throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    let all: [(TrackKind, TrackSource)] = [
      (.audio, .microphone), (.video, .camera), (.video, .screen), (.audio, .screenAudio),
    ]
    let tracks = all.enumerated().map {
      AnnouncedTrack(mid: "\($0)", kind: $1.0, label: "", source: $1.1)
    }
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)))
    #expect(scene.code(anna, offer) == nil)
    _ = (anna.take(), ben.take())
    #expect(renew(scene, anna, Rights.all.subtracting(right)) == nil)
    let left = all.map(\.1.rawValue).filter { !sources.contains($0) }
    let seen = ben.mirror.room?.participants.first { $0.user == "A" }?.tracks.compactMap { $0.source?.rawValue }
    #expect(seen == left)
    #expect(anna.takeNames() == [.sessionGrants] + sources.map { _ in .trackUnpublished }, "it was not her doing")
    #expect(scene.ledger.tracks.count == left.count && scene.core.gauges.subscriptions == left.count)
    #expect(scene.refusal(anna, offer)?.code == .forbidden, "and not again")
  }

  @Test func withoutSubscribeNothingIsReceivedUntilItIsBack() throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    _ = try scene.publish(anna, ["0:audio", "1:video"])
    guard case .views(let opened) = try scene.request(ben, .view(.open(ViewOpenParams(count: 2)))).get() else { return }
    let follow = ViewWish(subscriptionId: opened.views[0], follow: .activeSpeaker)
    #expect(scene.code(ben, .view(.show(ViewShowParams(views: [follow])))) == nil)
    #expect(scene.ledger.subscriptions.count == 4)
    _ = ben.take()
    #expect(renew(scene, ben, Rights.all.subtracting(.subscribe)) == nil)
    #expect(scene.ledger.subscriptions.isEmpty)
    let ended = ben.events.compactMap { event -> SubscriptionReason? in
      if case .subscriptionEnded(let event) = event { event.reason } else { nil }
    }
    #expect(ended == [.forbidden, .forbidden, .forbidden, .forbidden])
    _ = try scene.publish(anna, ["2:video"])
    #expect(scene.code(ben, .view(.show(ViewShowParams(views: [follow])))) == .notSubscribed)
    #expect(scene.code(ben, .view(.open(ViewOpenParams(count: 1)))) == .forbidden)
    #expect(scene.ledger.subscriptions.isEmpty, "nor what comes later")
    #expect(renew(scene, ben, .all) == nil)
    #expect(scene.ledger.subscriptions.count == 3, "all that there is, as at the join")
  }

  @Test func withoutChatNothingIsWritten() throws {
    let scene = scene()
    let (anna, ben) = try scene.two()
    #expect(renew(scene, anna, Rights.all.subtracting(.chat)) == nil)
    #expect(scene.refusal(anna, .chat(.send(ChatSendParams(room: "demo", text: "hello"))))?.data.reason == "chat")
    #expect(ben.takeNames() == [])
  }

  @Test func withoutCallTheCallEnds() throws {
    let scene = scene()
    let (anna, ben) = (scene.client("A"), scene.client("B"))
    let id = try scene.start(anna, ["B"], .oneToOne).call.callId
    #expect(scene.code(ben, .call(.accept(CallAcceptParams(callId: id)))) == nil)
    #expect(renew(scene, anna, Rights.all.subtracting(.call)) == nil)
    #expect(scene.core.gauges.participants == 0 && scene.core.gauges.calls == 0)
    #expect(ben.takeNames().contains(.callEnded))
    // One that only rings ends too.
    #expect(renew(scene, anna, .all) == nil)
    _ = try scene.start(anna, ["B"], .oneToOne)
    #expect(ben.takeNames().contains(.callIncoming))
    #expect(renew(scene, anna, Rights.all.subtracting(.call)) == nil)
    #expect(ben.takeNames().contains(.callStopped) && scene.core.gauges.calls == 0)
  }

  @Test func withoutInviteThoseWhoWereInvitedStopRinging() throws {
    let scene = scene()
    let (anna, ben, carl) = (scene.client("A"), scene.client("B"), scene.client("C"))
    let id = try scene.start(anna, ["B"], .group).call.callId
    #expect(scene.code(ben, .call(.accept(CallAcceptParams(callId: id)))) == nil)
    #expect(scene.code(ben, .call(.invite(CallInviteParams(callId: id, users: ["C"])))) == nil)
    #expect(carl.takeNames().contains(.callIncoming))
    #expect(renew(scene, anna, Rights.all.subtracting(.invite)) == nil)
    #expect(!carl.takeNames().contains(.callStopped), "it was Ben who invited")
    #expect(renew(scene, ben, Rights.all.subtracting(.invite)) == nil)
    #expect(carl.takeNames().contains(.callStopped))
    #expect(scene.core.gauges.participants == 2, "those in the call stay")
  }

  // MARK: - The end

  @Test func aTokenThatIsOverEndsTheSession() throws {
    let scene = scene()
    let ben = scene.client("B")
    _ = try scene.join(ben).get()
    let start = scene.now.wallMilliseconds
    scene.proof = { $0.endsAt = start + 90_000 }
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    _ = (anna.take(), ben.take())
    scene.advance(.milliseconds(89_999))
    #expect(anna.events.isEmpty && anna.closed == nil)
    scene.advance(.milliseconds(1))
    #expect(anna.events == [.sessionClosing(SessionClosing(action: .stop, reason: .tokenExpired))])
    #expect(anna.closed == .tokenExpired && ben.mirror.room?.participants.map(\.user) == ["B"])
    #expect(scene.core.gauges.sessions == 1)
    scene.cut(anna)
    guard case .failure(let error) = scene.resume(anna) else {
      Issue.record("it cannot be resumed")
      return
    }
    #expect(error.code == .resumeExpired)
  }

  @Test func aFurtherTokenKeepsTheSession() throws {
    let scene = scene()
    let start = scene.now.wallMilliseconds
    scene.proof = { $0.endsAt = start + 90_000 }
    let anna = scene.client("A")
    scene.advance(.milliseconds(80_000))
    scene.proof = { $0.endsAt = start + 180_000 }
    #expect(renew(scene, anna, .all) == nil)
    scene.advance(.milliseconds(99_000))
    #expect(anna.closed == nil && grants(anna).isEmpty)
    scene.advance(.milliseconds(1_000))
    #expect(anna.closed == .tokenExpired)
  }

  /// Who has lost the connection is no exception.
  @Test func aSessionWithoutASocketEndsToo() throws {
    let scene = scene()
    let start = scene.now.wallMilliseconds
    scene.proof = { $0.endsAt = start + 1_000 }
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    scene.cut(anna)
    scene.advance(.milliseconds(1_000))
    #expect(scene.core.gauges.sessions == 0 && scene.core.gauges.participants == 0)
  }

  @Test func everyRightHasItsName() {
    let all = Rights(Grant.known)
    #expect(all.grants == Grant.known)
    #expect(all.subtracting(.all).grants == [.moderate, .record, .admin])
    #expect(Rights([Grant(rawValue: "root")]) == [])
  }
}
