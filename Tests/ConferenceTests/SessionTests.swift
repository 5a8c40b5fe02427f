// Sessions: hello, replacement, resume, request ids, bounds.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct SessionTests {
  /// What one may publish depends on the room; hello says the most there is.
  @Test func helloTellsTheConfiguredNumberOfTracks() throws {
    var rules = ConferenceRules.test
    rules.rooms["stage"]?.tracksPerParticipant = 30
    if case .create(var unknown) = rules.unknownRooms {
      unknown.tracksPerParticipant = 2
      rules.unknownRooms = .create(unknown)
    }
    let scene = Scene(rules)
    guard case .success(.hello(let result)) = scene.hello(scene.stranger("A")) else {
      throw ErrorObject(.internalError)
    }
    #expect(result.limits.tracks == 30)
  }

  @Test func nothingIsServedBeforeHello() {
    let scene = Scene()
    let stranger = scene.stranger("A")
    for request: Request in [
      .room(.list()), .session(.bye), .room(.join(RoomJoinParams(room: "demo"))), .call(.available),
    ] {
      #expect(scene.code(stranger, request) == .notLoggedIn)
    }
    #expect(scene.request(stranger, .session(.ping)) == .success(.empty))
    #expect(scene.core.gauges == ConferenceGauges())
  }

  @Test func helloTellsWhatAClientNeeds() throws {
    var rules = ConferenceRules.test
    rules.iceServers = [ICEServer(urls: ["stun:x"])]
    rules.chatBytes = 100
    let scene = Scene(rules)
    let client = scene.stranger("A")
    guard case .hello(let hello) = try scene.request(client, .session(.hello(HelloParams(user: "A")))).get() else {
      throw ErrorObject(.internalError)
    }
    #expect(hello.user == "A" && hello.deviceId.count > 8 && hello.resumeToken.count > 64)
    #expect(hello.serverTime == scene.now.wallMilliseconds && hello.iceServers == rules.iceServers)
    #expect(hello.limits.chatBytes == 100 && hello.limits.resumeGraceMs == 2_000 && hello.missed == 0)
    #expect(scene.code(client, .session(.hello(HelloParams(user: "B")))) == .invalidState)
    #expect(scene.core.gauges.sessions == 1)
  }

  @Test func aDeviceIsReplacedByWhoHasItsToken() throws {
    let scene = Scene()
    let (old, other) = (scene.client("A"), scene.client("B"))
    for client in [old, other] { _ = try scene.join(client).get() }
    _ = (old.take(), other.take())
    let thief = scene.stranger("A")
    for token in [nil, "", "r1.00", other.token, String(old.token.dropLast()) + "x"] {
      guard case .failure(let error) = scene.hello(thief, token: token) else {
        Issue.record("a session was stolen with \(token ?? "nothing")")
        return
      }
      #expect(error.code == .forbidden && error.data.reason == "device_in_use" && !error.data.retryable)
    }
    #expect(old.take().isEmpty && old.closed == nil)
    let new = scene.stranger("A")
    #expect(throws: Never.self) { try scene.hello(new, token: old.token).get() }
    #expect(old.take() == [.sessionReplaced] && old.closed == .replaced)
    guard case .participantLeft(let left) = other.take().first else {
      Issue.record("the seat is still held")
      return
    }
    #expect(left.reason == .replaced)
    #expect(scene.resume(old) == .failure(ErrorObject(.sessionReplaced)))
    #expect(new.token != old.token && scene.core.gauges.sessions == 2)
  }

  @Test func aLostDeviceSaysWhenItIsFree() {
    let scene = Scene()
    let old = scene.client("A")
    scene.cut(old)
    scene.advance(.milliseconds(500))
    let again = scene.stranger("A")
    guard case .failure(let error) = scene.hello(again) else {
      Issue.record("the device was held")
      return
    }
    #expect(error.code == .forbidden && error.data.retryable && error.data.retryAfterMs == 1_500)
    scene.advance(.milliseconds(1_500))
    #expect(throws: Never.self) { try scene.hello(again).get() }
  }

  @Test func verifiedUsersNeedNoToken() throws {
    let scene = Scene()
    scene.isVerified = true
    let old = scene.client("A", "phone")
    _ = try scene.join(old).get()
    let new = scene.client("A", "phone")
    #expect(old.closed == .replaced)
    _ = try scene.join(new).get()
    let other = scene.client("A", "laptop")
    #expect(scene.code(other, .room(.join(RoomJoinParams(room: "demo")))) == .alreadyJoined)
    #expect(throws: Never.self) { try scene.join(other) { $0.takeover = true }.get() }
  }

  @Test func resumeNeedsTheRightToken() throws {
    let scene = Scene()
    let client = scene.client("A")
    let number = client.token.prefix { $0 != "." }
    let stranger = scene.stranger("X")
    let wrong = String(repeating: "0", count: 64)
    for token in ["", ".", "r", "\(number).", "\(number).\(wrong)", "r999.\(wrong)", "\(client.token)0", "é.é"] {
      let code = scene.code(stranger, .session(.resume(ResumeParams(resumeToken: token, lastSeq: 0))))
      #expect(code == .resumeExpired, "\(token)")
    }
    let code = scene.code(stranger, .session(.resume(ResumeParams(resumeToken: client.token, lastSeq: 1))))
    #expect(code == .invalidParams, "a number that was never sent")
    #expect(client.closed == nil)
  }

  @Test func resumeOnALiveSessionMovesIt() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let old = a.connection
    let watcher = Client(user: "A", device: "old", connection: old)
    scene.resume(a)
    scene.clients[old] = watcher
    #expect(b.take().isEmpty, "nobody notices")
    scene.apply(.connectionClosed(old, clean: true))
    #expect(scene.core.seat(of: a.connection) != nil, "the old socket's end says nothing")
    #expect(scene.code(a, .session(.resume(ResumeParams(resumeToken: a.token, lastSeq: 0)))) == .invalidState)
    scene.clients[old] = nil
    let effects = scene.core.apply(
      .request(
        ConnectionID(999), .number(1), .session(.resume(ResumeParams(resumeToken: a.token, lastSeq: a.lastSeq)))),
      at: scene.now)
    #expect(effects.contains(.client(.closeConnection(a.connection, .resumedElsewhere))))
  }

  @Test func missedEventsAreReplayedOnceAndInOrder() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    scene.cut(b)
    for number in 0..<510 {
      scene.request(a, .chat(.send(ChatSendParams(room: "demo", text: "\(number)"))))
    }
    #expect(try scene.resume(b).get() == .resumed(.replayed(510)))
    let texts = b.take().compactMap { if case .chatMessage(let message) = $0 { message.text } else { nil } }
    #expect(texts == (0..<510).map(String.init))
    #expect(try scene.resume(b).get() == .resumed(.replayed(0)))
    #expect(try scene.resume(b, lastSeq: b.lastSeq - 512 + 2).get() == .resumed(.replayed(510)))
  }

  @Test func tooManyMissedEventsMeanASnapshot() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(a, ["0:audio"])
    let offer = ServerOffer(id: 4, sdp: "offer", lines: [])
    scene.apply(.serverOffer(try scene.seat(b), offer))
    scene.cut(b)
    for number in 0..<513 { scene.request(a, .chat(.send(ChatSendParams(room: "demo", text: "\(number)")))) }
    let seq = b.lastSeq + 513
    guard case .resumed(.resync(let resync)) = try scene.resume(b).get() else {
      Issue.record("no resync")
      return
    }
    #expect(resync.seq == seq && resync.room?.seq == seq && resync.room?.participants.count == 2)
    #expect(resync.room?.chat.last?.text == "512" && resync.room?.chat.count == 100)
    #expect(resync.room?.participants.allSatisfy { $0.state == .joined } == true)
    #expect(b.takeNames().suffix(1) == [.pcOffer], "the offer that waits comes again")
    #expect(scene.counters[.resynced] == 1)
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 4, sdp: "x")))) == nil)
  }

  @Test func sessionsAreBounded() {
    var rules = ConferenceRules.test
    rules.maxSessions = 2
    let scene = Scene(rules)
    let first = scene.client("A")
    _ = scene.client("B")
    guard case .failure(let error) = scene.hello(scene.stranger("C")) else {
      Issue.record("a session too many")
      return
    }
    #expect(error.code == .overloaded && error.data.retryable && error.data.limit == 2)
    #expect(error.data.retryAfterMs == rules.resumeGrace.milliseconds)
    #expect(throws: Never.self) { try scene.hello(scene.stranger("A"), token: first.token).get() }
    #expect(scene.counters[.sessionRefused(.overloaded)] == 1)
  }

  /// Who died without a seat makes space, the longest dead first; seats and live sockets keep theirs.
  @Test func theDeadMakeSpaceForTheLiving() throws {
    var rules = ConferenceRules.test
    rules.maxSessions = 4
    let scene = Scene(rules)
    let (live, seated, dead, deader) = (scene.client("A"), scene.client("B"), scene.client("C"), scene.client("D"))
    for client in [live, seated] { _ = try scene.join(client).get() }
    _ = live.take()
    for client in [deader, seated, dead] {
      scene.cut(client)
      scene.advance(.milliseconds(10))
    }
    _ = scene.client("E")
    #expect(scene.code(scene.stranger("D"), .session(.resume(resumeParams(deader)))) == .resumeExpired)
    #expect(throws: Never.self) { try scene.resume(dead).get() }
    scene.cut(dead)
    _ = scene.client("F")
    #expect(scene.code(scene.stranger("C"), .session(.resume(resumeParams(dead)))) == .resumeExpired)
    #expect(scene.hello(scene.stranger("G")).isFailure, "the seat of one who is away is not given up")
    #expect(throws: Never.self) { try scene.resume(seated).get() }
    #expect(live.takeNames() == [.participantReconnecting, .participantReconnected])
    #expect(scene.counters[.sessionEvicted] == 2 && scene.core.gauges.sessions == 4)
    // One whose seat is taken away while he is gone may go too.
    scene.cut(seated)
    #expect(scene.operate(.closeRoom("demo")) == .success(.removed(2)))
    #expect(throws: Never.self) { try scene.hello(scene.stranger("G")).get() }
  }

  private func resumeParams(_ client: Client) -> ResumeParams {
    ResumeParams(resumeToken: client.token, lastSeq: client.lastSeq)
  }

  @Test func drainingTellsEverybodyAndTakesNobody() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a).get()
    for _ in 0..<2 { scene.apply(.drain(retryAfterMilliseconds: 750)) }
    let closing = Event.sessionClosing(SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: 750))
    #expect(a.take() == [closing] && b.take() == [closing])
    #expect(scene.code(b, .room(.join(RoomJoinParams(room: "demo")))) == .draining)
    #expect(scene.hello(scene.stranger("C")) == .failure(ErrorObject(.draining)))
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: "demo", text: "still here")))) == nil)
    #expect(scene.code(a, .room(.join(RoomJoinParams(room: "demo")))) == nil, "one's own room still answers")
  }

  @Test func usersAreFoundWhereTheyAreConnected() throws {
    let scene = Scene()
    let a = scene.client("A", "phone")
    let laptop = scene.stranger("A", "laptop")
    let hello = HelloParams(user: "A", deviceId: "laptop", capabilities: ["video": true], callable: false)
    scene.request(laptop, .session(.hello(hello)))
    let b = scene.client("B")
    func query() throws -> [UserPresence] {
      let reply = try scene.request(b, .userQuery(UserQueryParams(users: ["A", "nobody"]))).get()
      if case .users(let result) = reply { return result.users } else { return [] }
    }
    let nobody = UserPresence(user: "nobody", reachable: false, inCall: false, devices: 0, capabilities: [])
    let both = UserPresence(user: "A", reachable: true, inCall: false, devices: 2, capabilities: [["video": true]])
    #expect(try query() == [both, nobody])
    scene.cut(a)
    #expect(try query()[0].reachable == false)
    #expect(try query()[0].devices == 1)
  }
}

@Suite struct SessionPartsTests {
  @Test func deadlinesComeInOrder() {
    var random = SplitMix64(seed: 5)
    var deadlines = Deadlines<Int>()
    var truth: [Int: Int64] = [:]
    var now: Int64 = 0
    for _ in 0..<20_000 {
      let key = Int.random(in: 0..<50, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let at = now + .random(in: 1...100, using: &random)
        deadlines.set(key, at: Instant(nanoseconds: at))
        truth[key] = at
      case 2:
        deadlines.cancel(key)
        truth[key] = nil
      default:
        now += .random(in: 0...20, using: &random)
        while let due = deadlines.popDue(at: Instant(nanoseconds: now)) {
          #expect(truth.removeValue(forKey: due).map { $0 <= now } == true)
        }
      }
      if deadlines.next?.nanoseconds != truth.values.min() || deadlines.count != truth.count {
        Issue.record("the queue and the table differ")
        return
      }
    }
    #expect(truth.values.allSatisfy { $0 > now })
  }

  @Test func tokensAreReadOnlyAsWritten() throws {
    var random = SplitMix64(seed: 1)
    let token = ResumeToken(session: SessionID(7), random: &random)
    #expect(ResumeToken(token.text) == token)
    #expect(ResumeToken(session: SessionID(7), random: &random) != token)
    for text in ["", "r7", "r07" + token.text.dropFirst(2), token.text.uppercased(), token.text + "00", "r7.zz"] {
      #expect(ResumeToken(text) == nil, "\(text)")
    }
  }

  @Test func replacedSessionsAreForgottenInTurn() {
    var random = SplitMix64(seed: 1)
    var replaced = ReplacedSessions()
    let tokens = (0...ReplacedSessions.capacity).map { ResumeToken(session: SessionID(UInt64($0)), random: &random) }
    for token in tokens { replaced.insert(token) }
    #expect(!replaced.contains(tokens[0]) && replaced.contains(tokens[1]))
    #expect(replaced.contains(tokens[ReplacedSessions.capacity]))
    #expect(!replaced.contains(ResumeToken(session: SessionID(1), random: &random)), "the secret counts")
  }

  @Test(arguments: ["t1", "t18446744073709551615"]) func idsAreReadAsWritten(_ text: String) {
    #expect(TrackID(wire: text)?.description == text)
  }

  @Test(arguments: ["", "t", "t01", "t+1", "t-1", "t 1", "s1", "1", "t1 ", "t18446744073709551616", "t１"])
  func otherIdsAreNone(_ text: String) { #expect(TrackID(wire: text) == nil) }
}
