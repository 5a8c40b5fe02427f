// What is refused leaves a line in the log, and nobody fills a disk with it.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RefusalLineTests {
  private func lines(_ scene: Scene, _ event: String = "request_refused") -> [[String: String]] {
    scene.log.filter { $0.event == event && $0.level == .warning }
      .map { Dictionary(uniqueKeysWithValues: $0.fields.map { ($0.name, $0.value) }) }
  }

  @Test func whoModeratesChatsCallsOrAsksWithoutTheRightIsNamed() throws {
    let scene = Scene()
    scene.isVerified = true
    scene.rights = [.join]
    let anna = scene.client("A")
    _ = try scene.join(anna).get()
    let requests: [(Request, method: String, room: String, code: String, reason: String)] = [
      (.room(.moderate(ModerateParams(room: "demo", action: .end))), "room.moderate", "demo", "FORBIDDEN", "moderate"),
      (.room(.moderate(ModerateParams(room: "stage", action: .lock))), "room.moderate", "stage", "NOT_JOINED", ""),
      (.chat(.send(ChatSendParams(room: "demo", text: "x"))), "chat.send", "demo", "FORBIDDEN", "chat"),
      (.chat(.history(ChatHistoryParams(room: "hall"))), "chat.history", "hall", "NOT_JOINED", ""),
      (
        .call(.start(CallStartParams(to: ["B"], kind: .oneToOne, media: .audio))), "call.start", "demo", "FORBIDDEN",
        "call"
      ),
      (.userQuery(UserQueryParams(users: ["B"])), "user.query", "demo", "FORBIDDEN", "call"),
      (.room(.info(RoomParams(room: "call:1"))), "room.info", "call:1", "FORBIDDEN", ""),
    ]
    for (request, method, room, code, reason) in requests {
      #expect(scene.code(anna, request) != nil)
      let line = ["method": method, "room": room, "user": "A", "code": code, "reason": reason]
      #expect(lines(scene).last == line)
    }
    #expect(lines(scene).count == requests.count)
  }

  @Test func foreignTracksAreNamedToo() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let track = try #require(try scene.publish(anna, ["0:audio"])["0"])
    let other = scene.client("O")
    _ = try scene.join(other, "stage").get()
    let foreign = TrackParams(trackId: track)
    #expect(scene.code(ben, .track(.mute(foreign))) == .forbidden)
    #expect(scene.code(anna, .subscription(.subscribe(SubscribeParams(trackId: track)))) == .forbidden)
    #expect(scene.code(other, .subscription(.subscribe(SubscribeParams(trackId: track)))) == .trackNotFound)
    #expect(lines(scene).map { $0["method"] } == ["track.mute", "track.subscribe", "track.subscribe"])
    #expect(lines(scene).map { $0["user"] } == ["B", "A", "O"] && lines(scene).last?["room"] == "stage")
    // A seat is taken over with the token of the device that has it.
    let second = scene.client("A", "d2")
    scene.join(second) { ($0.takeover, $0.resumeToken) = (true, "r1.wrong") }
    #expect(lines(scene, "join_refused").last?["code"] == "FORBIDDEN")
    // What is done leaves none, and what comes again with its reply neither.
    let count = lines(scene).count
    #expect(scene.code(anna, .track(.mute(foreign))) == nil && lines(scene).count == count)
    let id = anna.makeID()
    for _ in 0..<2 { scene.request(anna, .track(.unpublish(TrackParams(trackId: "t999"))), id: id) }
    #expect(lines(scene).count == count + 1)
  }

  /// What is refused before there is anything to publish or to receive has no line of its own.
  @Test func negotiatingWithoutASeatIsNamed() throws {
    let scene = Scene()
    let (anna, ben) = try scene.two()
    let alone = scene.client("O")
    let offer = { (pc: PeerConnection) in Request.peerConnection(.offer(PublishOfferParams(pc: pc, sdp: "v=0"))) }
    #expect(scene.code(alone, offer(.publish)) == .notJoined)
    #expect(scene.code(alone, offer(.subscribe)) == .notJoined)
    #expect(scene.code(anna, offer(.subscribe)) == .invalidState)
    let answer = Request.peerConnection(.answer(SubscribeAnswerParams(offerId: 7, sdp: "v=0")))
    #expect(scene.code(ben, answer) == .invalidState)
    #expect(lines(scene).map { $0["method"] } == ["pc.offer", "pc.offer", "pc.offer", "pc.answer"])
    #expect(lines(scene).map { $0["code"] } == ["NOT_JOINED", "NOT_JOINED", "INVALID_STATE", "INVALID_STATE"])
  }

  @Test func aTokenOfSomebodyElseIsNamed() {
    let scene = Scene()
    scene.isVerified = true
    let anna = scene.client("A")
    #expect(scene.code(anna, .session(.token(TokenParams(token: "B")))) == .authFailed)
    #expect(lines(scene).map { $0["method"] } == ["session.token"] && lines(scene)[0]["reason"] == "token_user")
  }

  // MARK: - Bounds

  private func refuse(_ scene: Scene, _ client: Client, times: Int) {
    for _ in 0..<times { _ = scene.code(client, .chat(.send(ChatSendParams(room: "none", text: "x")))) }
  }

  @Test func aUserHasSoManyLinesOnAllTheirSessions() throws {
    let scene = Scene()
    (scene.isVerified, scene.refusalInterval, scene.beliefInterval) = (true, 100, 100)
    let (anna, second, ben) = (scene.client("A"), scene.client("A", "d2"), scene.client("B"))
    refuse(scene, anna, times: RefusalLines.burst - 1)
    refuse(scene, second, times: 3)
    #expect(lines(scene).count == RefusalLines.burst)
    #expect(lines(scene, "refusal_lines_left_out").map { $0["count"] } == ["1"])
    refuse(scene, ben, times: 1)
    #expect(lines(scene).count == RefusalLines.burst + 1, "others have theirs")
    scene.advance(.seconds(60))
    refuse(scene, anna, times: 1)
    #expect(lines(scene).count == RefusalLines.burst + 2)
    #expect(lines(scene, "refusal_lines_left_out").map { $0["count"] } == ["1", "1"], "once a minute")
  }

  /// Names are free where nobody proves them, and addresses are not.
  @Test func aNetworkHasSoManyLinesWhateverNamesItSays() {
    var lines = RefusalLines(.test)
    let network = PeerNetwork(SocketAddress(v4: 0xcb00_7107, port: 1))
    func take(_ user: String, _ network: PeerNetwork, proven: Bool = false) -> Bool {
      var identity = Identity(user: user, device: nil, displayName: user, rights: .all, isVerified: proven)
      identity.network = network
      return lines.take(identity, at: .zero)
    }
    for index in 0..<RefusalLines.burst { #expect(take("u\(index)", network)) }
    #expect(!take("one more", network) && !take("proven", network, proven: true))
    let other = PeerNetwork(SocketAddress(v4: 0xcb00_7108, port: 1))
    #expect(take("one more", other))
    for index in 1..<(RefusalLines.burstOfAll - RefusalLines.burst) {
      #expect(take("v\(index)", PeerNetwork(SocketAddress(v4: 0x0a00_0000 | UInt32(index), port: 1))))
    }
    #expect(!take("last", PeerNetwork(SocketAddress(v4: 0x0b00_0001, port: 1))))
    #expect(lines.takeLeftOut(at: .zero) == 3 && lines.takeLeftOut(at: .zero) == nil)
  }

  @Test func whoAsksTooFastLeavesNone() throws {
    var rules = ConferenceRules.test
    (rules.chatPerSecond, rules.chatBurst) = (1, 1)
    let scene = Scene(rules)
    let (anna, _) = try scene.two()
    let say = { scene.code(anna, .chat(.send(ChatSendParams(room: "demo", text: "x")))) }
    #expect(say() == nil && say() == .rateLimited && lines(scene).isEmpty)
  }

  // MARK: - Operators

  @Test func whatAnOperatorDoesSaysFromWhere() throws {
    let scene = Scene()
    _ = try scene.two()
    let actions: [(OperatorAction, String)] = [
      (.setLocked(true, room: "demo"), "room_locked"), (.setLocked(false, room: "demo"), "room_unlocked"),
      (.setMedia(.audio, room: "demo"), "room_media"), (.remove(user: "B", room: "demo"), "removed"),
      (.narrow(user: "A", to: [.join], room: nil), "grants_narrowed"),
      (.liftNarrowings(of: "A", room: nil), "grants_restored"), (.revoke("t"), "token_revoked"),
      (.closeRoom("demo"), "room_closed"),
    ]
    for (action, event) in actions {
      let (_, effects) = scene.core.operate(action, from: "203.0.113.9:4711", at: scene.now)
      let lines = effects.compactMap { if case .operation(.log(let entry)) = $0 { entry } else { nil } }
      #expect(lines.contains { $0.event == event })
      #expect(lines.allSatisfy { $0.fields.last == LogEntry.Field(name: "peer", value: "203.0.113.9:4711") })
    }
  }
}
