// Scenarios 1 to 10 of docs/protocol.md at the level of the core, in virtual time.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ScenarioTests {
  // 1. A, B, C in demo; D is refused, and A, B, C hear nothing.
  @Test func theFourthIsRefusedInSilence() throws {
    let scene = Scene()
    let members = ["A", "B", "C"].map { scene.client($0) }
    for member in members { #expect(throws: Never.self) { try scene.join(member).get() } }
    for member in members { _ = member.take() }
    let d = scene.client("D")
    guard case .failure(let error) = scene.join(d) else {
      Issue.record("D has a seat")
      return
    }
    #expect(error.code == .roomFull && error.data.limit == 3 && error.data.count == 3 && !error.data.retryable)
    #expect(members.allSatisfy { $0.take().isEmpty })
    #expect(scene.code(d, .chat(.send(ChatSendParams(room: "demo", text: "hi")))) == .notJoined)
    #expect(scene.roomCount("demo", asking: d) == 3)
    #expect(d.take().isEmpty)
    #expect(scene.counters[.joinRefused(.roomFull)] == 1 && scene.counters[.joined] == 3)
    #expect(scene.log.contains { $0.event == "join_refused" && $0.fields.contains { $0.value == "ROOM_FULL" } })
  }

  // 2. Fifty at once for the last seat: exactly one gets it, a hundred times over, in any interleaving.
  @Test func theLastSeatGoesToExactlyOne() throws {
    for round in 0..<100 {
      var random = SplitMix64(seed: UInt64(round))
      let scene = Scene(seed: UInt64(round))
      // All that holds of the state is looked at after each step of the first rounds, and then at times.
      if round >= 5 { (scene.stateInterval, scene.refusalInterval) = (7, 7) }
      let seated = ["A", "B"].map { scene.client($0) }
      for member in seated { _ = try scene.join(member).get() }
      for member in seated { _ = member.take() }
      let crowd = (0..<50).map { scene.stranger("u\($0)") }
      var steps: [(Client, Bool)] = crowd.map { ($0, false) }
      var winners = 0
      while !steps.isEmpty {
        let (client, isLoggedIn) = steps.remove(at: Int.random(in: 0..<steps.count, using: &random))
        if !isLoggedIn {
          scene.hello(client)
          steps.append((client, true))
        } else if case .success = scene.join(client) {
          winners += 1
        }
      }
      #expect(winners == 1)
      for member in seated { #expect(member.takeNames() == [.participantJoined]) }
      #expect(scene.counters[.joinRefused(.roomFull)] == 49)
    }
  }

  // 3. Full room; C leaves, or closes cleanly, or says bye; then D gets the seat.
  @Test(arguments: [0, 1, 2]) func aFreedSeatCanBeTaken(_ way: Int) throws {
    let scene = Scene()
    let (a, b, c, d) = (scene.client("A"), scene.client("B"), scene.client("C"), scene.client("D"))
    for client in [a, b, c] { _ = try scene.join(client).get() }
    _ = a.take()
    switch way {
    case 0: #expect(scene.code(c, .room(.leave(RoomParams(room: "demo")))) == nil)
    case 1: scene.cut(c, clean: true)
    default:
      #expect(scene.code(c, .session(.bye)) == nil)
      #expect(c.closed == .bye)
    }
    #expect(a.takeNames() == [.participantLeft])
    #expect(try scene.join(d).get().count == 3)
    guard case .participantJoined(let joined) = a.take().first else {
      Issue.record("A did not hear of D")
      return
    }
    #expect(joined.participant.user == "D" && joined.participant.state == .joined)
  }

  // 4. C's socket is cut: D is refused until the grace is over; a resume in time keeps the seat, unseen but for the state.
  @Test func aCutSocketKeepsItsSeatForTheGrace() throws {
    let scene = Scene()
    let (a, b, c, d) = (scene.client("A"), scene.client("B"), scene.client("C"), scene.client("D"))
    for client in [a, b, c] { _ = try scene.join(client).get() }
    _ = (a.take(), b.take())
    scene.cut(c)
    #expect(a.takeNames() == [.participantReconnecting])
    scene.advance(.milliseconds(1_900))
    #expect(scene.code(d, .room(.join(RoomJoinParams(room: "demo")))) == .roomFull)
    scene.request(a, .chat(.send(ChatSendParams(room: "demo", text: "one"))))
    scene.request(b, .chat(.send(ChatSendParams(room: "demo", text: "two"))))
    #expect(try scene.resume(c).get() == .resumed(.replayed(2)))
    #expect(c.takeNames().suffix(2) == [.chatMessage, .chatMessage])
    #expect(a.takeNames() == [.participantReconnected, .chatMessage].reversed())
    #expect(scene.counters[.resumed] == 1)
    // The second time nobody comes back.
    scene.cut(c)
    scene.advance(.milliseconds(1_999))
    #expect(a.takeNames() == [.participantReconnecting])
    scene.advance(.milliseconds(1))
    guard case .participantLeft(let left) = a.take().first else {
      Issue.record("A did not hear that C is lost")
      return
    }
    #expect(left.reason == .lost && left.user == "C")
    #expect(scene.counters[.left(.lost)] == 1)
    #expect(throws: Never.self) { try scene.join(d).get() }
    #expect(scene.resume(c) == .failure(ErrorObject(.resumeExpired)))
  }

  // 5. For 3, 16 with video, 32 with audio: N join, one more does not.
  @Test(arguments: [("demo", MediaClass.video, 3), ("x", .video, 16), ("x", .audio, 32), ("stage", .video, 12)])
  func theCapIsTheRoomsOwn(_ room: String, _ media: MediaClass, _ seats: Int) throws {
    let scene = Scene()
    for number in 1...seats {
      let snapshot = try scene.join(scene.client("u\(number)"), room) { $0.media = media }.get()
      #expect(snapshot.count == number && snapshot.limit == seats && snapshot.media == media)
    }
    guard case .failure(let error) = scene.join(scene.client("last"), room) else {
      Issue.record("one too many")
      return
    }
    #expect(error == .limit(.roomFull, limit: seats, count: seats))
  }

  // 6. The snapshot says exactly what is published, and deltas come after it.
  @Test func aLateJoinerSeesTheRoomAsItIs() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a) { $0.metadata = ["mood": "good"] }.get()
    let published = try scene.publish(a, ["0:audio:muted", "1:video", "2:video"])
    let b = scene.client("B")
    let snapshot = try scene.join(b).get()
    let seen = try #require(snapshot.participants.first { $0.user == "A" })
    #expect(seen.metadata == ["mood": "good"])
    #expect(seen.tracks.map(\.kind) == [.audio, .video, .video])
    #expect(seen.tracks.map(\.muted) == [true, false, false])
    #expect(seen.tracks.map(\.label) == ["l0", "l1", "l2"])
    #expect(seen.tracks.map(\.trackId) == ["0", "1", "2"].compactMap { published[$0] })
    #expect(scene.ledger.muted.map(\.description) == [published["0"]])
    #expect(scene.ledger.subscriptions.count == 3)
    #expect(snapshot.seq == 0 && snapshot.selfId == snapshot.participants.last?.participantId)
    try scene.publish(a, ["3:audio"])
    #expect(b.takeNames() == [.trackPublished])
    #expect(b.lastSeq > snapshot.seq)
  }

  // 7. Leaving twice, or without having joined, succeeds; the others hear one leave.
  @Test func leavingIsIdempotent() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    #expect(scene.code(b, .room(.leave(RoomParams(room: "demo")))) == nil)
    for client in [a, b] { _ = try scene.join(client).get() }
    _ = a.take()
    #expect(scene.code(b, .room(.leave(RoomParams(room: "other")))) == nil)
    #expect(a.take().isEmpty)
    for _ in 0..<3 { #expect(scene.code(b, .room(.leave(RoomParams(room: "demo")))) == nil) }
    #expect(a.takeNames() == [.participantLeft])
    #expect(scene.counters[.left(.left)] == 1)
  }

  // 8. Names and devices: 2003, 2004, and takeover with the token of the device that has the seat.
  @Test func namesAreTakenAndDevicesTakeOver() throws {
    let scene = Scene()
    let a1 = scene.client("A", "phone")
    _ = try scene.join(a1) { $0.displayName = "anna" }.get()
    let tracks = try scene.publish(a1, ["0:audio", "1:video"])
    let b = scene.client("B")
    #expect(scene.join(b) { $0.displayName = "Anna" } == .failure(ErrorObject(.nameTaken)))
    for lookAlike in ["anna\u{200b}", "an\u{ad}na", "\u{feff}ANNA", "\u{430}nn\u{430}", "\u{ff41}nna"] {
      #expect(scene.join(b) { $0.displayName = lookAlike } == .failure(ErrorObject(.nameTaken)))
    }
    let before = try scene.join(b).get()
    _ = (a1.take(), b.take())
    let a2 = scene.client("A", "laptop")
    #expect(scene.join(a2) { $0.displayName = "anna" } == .failure(ErrorObject(.alreadyJoined)))
    for token in [nil, "nonsense", a2.token, b.token] {
      let result = scene.join(a2) {
        $0.takeover = true
        $0.resumeToken = token
      }
      guard case .failure(let error) = result else {
        Issue.record("a seat was stolen")
        return
      }
      #expect(error.code == .forbidden)
    }
    #expect(b.take().isEmpty && a1.take().isEmpty)
    let after = try scene.join(a2) {
      $0.takeover = true
      $0.resumeToken = a1.token
    }.get()
    #expect(after.count == 2 && after.selfId == before.participants[0].participantId)
    #expect(after.participants.map(\.user) == ["A", "B"] && after.participants[0].displayName == "anna")
    #expect(a1.take() == [.roomClosed(RoomClosed(room: "demo", reason: .replaced))])
    let heard = b.take()
    #expect(heard.filter { $0.name == .subscriptionEnded }.count == tracks.count)
    #expect(heard.filter { $0.name != .subscriptionEnded }.map(\.name) == [.participantUpdated])
    #expect(scene.code(a1, .chat(.send(ChatSendParams(room: "demo", text: "x")))) == .notJoined)
    #expect(scene.counters[.joined] == 2 && scene.counters[.left(.replaced)] == nil)
  }

  // 9. A mutes: the media side is told, once; a late joiner sees it.
  @Test func mutesAreEnforcedAndSeen() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:audio", "1:video"])
    let video = try #require(tracks["1"])
    _ = (a.take(), b.take())
    for _ in 0..<2 {
      #expect(try scene.request(a, .track(.mute(TrackParams(trackId: video)))).get() == .muted(MuteResult(muted: true)))
    }
    #expect(b.takeNames() == [.trackMuted] && a.take().isEmpty)
    #expect(scene.ledger.muted.map(\.description) == [video])
    #expect(scene.code(b, .track(.unmute(TrackParams(trackId: video)))) == .forbidden)
    let late = try scene.join(c).get()
    #expect(late.participants[0].tracks.map(\.muted) == [false, true])
    _ = b.take()
    #expect(
      try scene.request(a, .track(.unmute(TrackParams(trackId: video)))).get() == .muted(MuteResult(muted: false)))
    #expect(b.takeNames() == [.trackUnmuted] && c.takeNames() == [.trackUnmuted] && scene.ledger.muted.isEmpty)
  }

  // 10. Chat to all and to one: B 2, C 1, A 0; one order; history as the room allows.
  @Test func chatReachesWhomItIsFor() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    for client in [a, b, c] { _ = try scene.join(client).get() }
    for client in [a, b, c] { _ = client.take() }
    let all = try chat(scene, a, "to all")
    let one = try chat(scene, a, "to B", to: ["B"])
    #expect(all.delivered == 2 && one.delivered == 1 && !all.stored)
    #expect(texts(b) == ["to all", "to B"] && texts(c) == ["to all"] && texts(a).isEmpty)
    let history = try scene.request(c, .chat(.history(ChatHistoryParams(room: "demo")))).get()
    guard case .messages(let page) = history else {
      Issue.record("no history")
      return
    }
    #expect(page.messages.map(\.text) == ["to all"] && page.messages[0].from == "A")
    #expect(page.messages[0].msgId == all.msgId && page.messages[0].ts == all.ts)
  }

  private func chat(_ scene: Scene, _ client: Client, _ text: String, to: [String]? = nil) throws -> ChatSendResult {
    let reply = try scene.request(client, .chat(.send(ChatSendParams(room: "demo", text: text, to: to)))).get()
    guard case .chatSent(let result) = reply else { throw ErrorObject(.internalError) }
    return result
  }

  private func texts(_ client: Client) -> [String] {
    client.take().compactMap { if case .chatMessage(let message) = $0 { message.text } else { nil } }
  }
}
