// Coming back on an open server without the resume token: from the network of the old session, once that is silent.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct TakeoverTests {
  /// Anna at home, in a full room, with media that was heard when the scene begins.
  private final class Home {
    let scene: Scene
    let anna: Client
    let seat: SeatID
    let place: String

    init(media: Bool = true) throws {
      var rules = ConferenceRules.test
      rules.resumeGrace = .seconds(60)
      scene = Scene(rules)
      Self.move(scene, to: "192.0.2.1")
      anna = scene.client("anna", "old")
      place = try scene.join(anna).get().selfId
      seat = try scene.seat(anna)
      for other in ["ben", "carl"] { _ = try scene.join(scene.client(other)).get() }
      if media { scene.mediaHeard[seat] = scene.now.instant }
    }

    static func move(_ scene: Scene, to host: String) {
      scene.proof = { $0.network = PeerNetwork(SocketAddress(host: host, port: 1)) }
    }

    /// Somebody says her name, from where they are, on another device.
    func newcomer(from host: String = "192.0.2.1", _ device: String) -> Client {
      Self.move(scene, to: host)
      defer { Self.move(scene, to: "192.0.2.1") }
      return scene.client("anna", device)
    }

    /// Why they may not have her place; nil where they have it now.
    func refusal(_ client: Client, token: String? = nil) -> ErrorObject? {
      let result = scene.join(client) { ($0.takeover, $0.resumeToken) = (true, token) }
      guard case .failure(let error) = result else { return nil }
      #expect(error.code == .forbidden && error.data.reason == "resume_token")
      return error
    }

    func owesAnswer(_ isOverdue: Bool = true) { scene.apply(.connectionOverdue(anna.connection, isOverdue)) }
  }

  @Test func aResetSocketGivesItsPlaceBackAfterFiveSecondsOfSilence() throws {
    let home = try Home()
    let ben = try #require(home.scene.clients.values.first { $0.user == "ben" })
    home.scene.cut(home.anna)
    let again = home.newcomer("new")
    home.scene.advance(.milliseconds(1_000))
    let early = home.refusal(again)
    #expect(early?.data.retryable == true && early?.data.retryAfterMs == 4_001)
    home.scene.advance(.milliseconds(3_999))
    #expect(home.refusal(again)?.data.retryAfterMs == 2)
    _ = ben.take()
    home.scene.advance(.milliseconds(2))
    #expect(home.refusal(again) == nil)
    // Her place, and a session of her own: of what the old one was told nothing is hers.
    #expect(try home.scene.join(again).get().selfId == home.place)
    #expect(again.token != home.anna.token && again.takeNames().isEmpty)
    #expect(ben.takeNames() == [.participantUpdated], "nobody hears that she left")
    // The old session has no seat any more, and says so to who has its token.
    guard case .success = home.scene.resume(home.anna) else { return #expect(Bool(false), "its session is its own") }
    #expect(home.anna.takeNames().contains(.roomClosed))
  }

  @Test func aSilentSocketGivesItsPlaceBackWhenItOwesAnAnswer() throws {
    let home = try Home()
    let again = home.newcomer("new")
    home.scene.advance(.seconds(9))
    #expect(home.refusal(again)?.data.retryAfterMs == 2_000, "it may be alive: the ping is not due")
    #expect(home.scene.silenceQuestions == 0, "and nobody is asked as long as it is")
    home.owesAnswer()
    #expect(home.refusal(again) == nil)
    #expect(
      home.anna.take().contains { if case .roomClosed(let closed) = $0 { closed.reason == .replaced } else { false } })
  }

  @Test func whoAnswersPingsKeepsTheSeat() throws {
    let home = try Home()
    let other = home.newcomer("new")
    for _ in 0..<30 {
      home.scene.advance(.seconds(2))
      #expect(home.refusal(other)?.data.retryable == true)
    }
    // It owed an answer, and was heard again.
    home.owesAnswer()
    home.owesAnswer(false)
    #expect(home.refusal(other) != nil)
    // A socket of before, which was overdue, says nothing of the one of now.
    home.owesAnswer()
    _ = home.scene.resume(home.anna)
    #expect(home.refusal(other) != nil)
    #expect(try home.scene.seat(home.anna) == home.seat && home.scene.silenceQuestions == 0)
  }

  @Test func mediaThatFlowsKeepTheSeat() throws {
    for cut in [true, false] {
      let home = try Home()
      if cut { home.scene.cut(home.anna) } else { home.owesAnswer() }
      let other = home.newcomer("new")
      for _ in 0..<20 {
        home.scene.advance(.seconds(2))
        home.scene.mediaHeard[home.seat] = home.scene.now.instant - .milliseconds(100)
        #expect(home.refusal(other)?.data.retryAfterMs == 4_901)
      }
      home.scene.advance(.milliseconds(4_901))
      #expect(home.refusal(other) == nil)
    }
  }

  @Test func forAnotherNetworkTheSeatIsTakenUntilTheGraceIsOver() throws {
    // A neighbour's line, one without an address, and one whose address is unknown at both ends.
    for host in ["192.0.2.2", "2001:db8::1"] {
      let home = try Home()
      home.scene.cut(home.anna)
      let stranger = home.newcomer(from: host, "new")
      home.scene.advance(.milliseconds(59_999))
      #expect(home.refusal(stranger)?.data.retryable == false)
      #expect(home.scene.code(stranger, .room(.join(RoomJoinParams(room: "demo")))) == .alreadyJoined)
      home.scene.advance(.milliseconds(1))
      #expect(home.refusal(stranger) == nil, "then it is anybody's")
    }
  }

  @Test func whoseAddressIsUnknownIsOfNoNetwork() throws {
    let home = try Home()
    home.scene.proof = { ($0.network, $0.hasAddress) = (PeerNetwork(nil), false) }
    let old = home.scene.client("dora", "old")
    _ = try home.scene.join(old, "hall").get()
    home.scene.cut(old)
    home.scene.advance(.seconds(20))
    let again = home.scene.client("dora", "new")
    let join = RoomJoinParams(room: "hall", takeover: true)
    #expect(home.scene.refusal(again, .room(.join(join)))?.data.retryable == false)
  }

  /// What counts is from where the old session was connected last.
  @Test func whoMovedIsLookedForWhereTheyAre() throws {
    let home = try Home()
    Home.move(home.scene, to: "198.51.100.7")
    _ = home.scene.resume(home.anna)
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(20))
    #expect(home.refusal(home.newcomer("wifi"))?.data.retryable == false)
    #expect(home.refusal(home.newcomer(from: "198.51.100.7", "phone")) == nil)
  }

  /// The /64 of an address is its network.
  @Test func aNetworkOfIPv6IsSixtyFourBits() throws {
    let home = try Home()
    Home.move(home.scene, to: "2001:db8:0:1::7")
    _ = home.scene.resume(home.anna)
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(20))
    #expect(home.refusal(home.newcomer(from: "2001:db8:0:2::7", "a")) != nil)
    #expect(home.refusal(home.newcomer(from: "2001:db8:0:1::8", "b")) == nil)
  }

  /// Who has sent no media yet is silent from when the socket ended.
  @Test func withoutMediaTheSocketTells() throws {
    let home = try Home(media: false)
    home.scene.advance(.seconds(30))
    home.scene.cut(home.anna)
    let again = home.newcomer("new")
    #expect(home.refusal(again)?.data.retryAfterMs == 5_001)
    home.scene.advance(.milliseconds(5_000))
    #expect(home.refusal(again) == nil)
    let silent = try Home(media: false)
    silent.owesAnswer()
    #expect(silent.refusal(silent.newcomer("new")) == nil)
  }

  /// Its own token is no worse than before, and where users are proved nothing is asked.
  @Test func aTokenNeedsNoSilence() throws {
    let home = try Home()
    #expect(home.refusal(home.newcomer("new"), token: home.anna.token) == nil)
    let proved = try Home()
    proved.scene.isVerified = true
    let other = proved.newcomer("new")
    #expect(proved.refusal(other) == nil && proved.scene.silenceQuestions == 0)
  }

  /// While workers are asked, the old client comes back: it keeps its seat.
  @Test func whoComesBackMeanwhileKeepsTheSeat() throws {
    let home = try Home()
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(6))
    let other = home.newcomer("new")
    home.scene.holdsAnswers = true
    let id = other.makeID()
    home.scene.apply(.request(other.connection, id, .room(.join(RoomJoinParams(room: "demo", takeover: true)))))
    #expect(other.replies[id] == nil && home.scene.silenceQuestions == 1)
    _ = home.scene.resume(home.anna)
    let key = RequestKey(session: try #require(home.scene.core.sessions.table[on: other.connection]), id: id)
    home.scene.apply(.silence(.request(key), .seconds(6)))
    guard case .failure(let error)? = other.replies[id]?.last else { return #expect(Bool(false), "a refusal") }
    #expect(error.data.reason == "resume_token" && error.data.retryable)
    #expect(try home.scene.seat(home.anna) == home.seat)
    // An answer that nobody waits for does nothing, whosever it is.
    home.scene.apply(.silence(.request(key), .seconds(60)))
    home.scene.apply(.silence(.hello(other.connection), nil))
    #expect(other.replies[id]?.count == 1)
    #expect(try home.scene.seat(home.anna) == home.seat)
  }

  /// Nor does one whose own socket breaks meanwhile take it: workers are asked again when they are back.
  @Test func whoIsCutMeanwhileTakesTheSeatWhenTheyAreBack() throws {
    let home = try Home()
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(6))
    let other = home.newcomer("new")
    home.scene.holdsAnswers = true
    let id = other.makeID()
    let session = try #require(home.scene.core.sessions.table[on: other.connection])
    let join = Request.room(.join(RoomJoinParams(room: "demo", takeover: true)))
    other.requests[id] = join
    home.scene.apply(.request(other.connection, id, join))
    home.scene.cut(other)
    home.scene.apply(.silence(.request(RequestKey(session: session, id: id)), .seconds(60)))
    #expect(home.scene.core.rooms.table.seats[home.seat] != nil && other.replies[id] == nil)
    home.scene.holdsAnswers = false
    _ = home.scene.resume(other)
    #expect(other.replies[id]?.count == 1 && home.scene.silenceQuestions == 2)
    #expect(home.scene.core.seat(of: other.connection) != nil)
  }

  /// Anna's old client is cut, and another of hers wants its place: workers do not say yet what they know.
  private func waitsForWorkers(_ home: Home) throws -> (client: Client, key: RequestKey) {
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(6))
    let other = home.newcomer("new")
    home.scene.holdsAnswers = true
    let id = send(.room(.join(RoomJoinParams(room: "demo", takeover: true))), other, home.scene)
    let session = try #require(home.scene.core.sessions.table[on: other.connection])
    return (other, RequestKey(session: session, id: id))
  }

  @discardableResult
  private func send(_ request: Request, _ client: Client, _ scene: Scene) -> RequestID {
    let id = client.makeID()
    client.requests[id] = request
    scene.apply(.request(client.connection, id, request))
    return id
  }

  private func isDone(_ id: RequestID, _ client: Client) -> Bool {
    client.replies[id]?.last.map { $0.error == nil } ?? false
  }

  /// Who has left is out, whatever workers say of the seat that they wanted before.
  @Test(arguments: [60, 1])
  func aLeaveBehindAJoinThatWaitsForWorkersComesBehindIt(silence: Int) throws {
    let home = try Home()
    let (other, key) = try waitsForWorkers(home)
    let leave = send(.room(.leave(RoomParams(room: "demo"))), other, home.scene)
    let elsewhere = send(.room(.info(RoomParams(room: "voice"))), other, home.scene)
    #expect(other.replies[leave] == nil && isDone(elsewhere, other), "others pass")
    home.scene.apply(.silence(.request(key), .seconds(silence)))
    #expect(isDone(key.id, other) == (silence == 60) && isDone(leave, other))
    #expect(home.scene.core.seat(of: other.connection) == nil && home.scene.core.asking.isEmpty)
    #expect(home.scene.core.rooms.table.seats.count == (silence == 60 ? 2 : 3))
  }

  /// The same where the application has said yes to the join before.
  @Test func aLeaveBehindAJoinThatIsAllowedAndWaitsForWorkersComesBehindIt() throws {
    let home = try Home()
    home.scene.core.ask(about: [.join])
    let (other, key) = try waitsForWorkers(home)
    let leave = send(.room(.leave(RoomParams(room: "demo"))), other, home.scene)
    home.scene.apply(.answered(home.scene.questions[0].ticket, .yes))
    #expect(home.scene.silenceQuestions == 1 && other.replies[leave] == nil && other.replies[key.id] == nil)
    home.scene.apply(.silence(.request(key), .seconds(60)))
    #expect(isDone(key.id, other) && isDone(leave, other) && home.scene.questions.count == 1)
    #expect(home.scene.core.seat(of: other.connection) == nil && home.scene.core.asking.isEmpty)
  }

  /// Where as much waits behind it as may, who leaves has taken the join back: the word of workers finds nobody.
  @Test func whoLeavesTakesBackAJoinThatWaitsForWorkers() throws {
    let home = try Home()
    let (other, key) = try waitsForWorkers(home)
    for _ in 0..<Asking.most { send(.room(.info(RoomParams(room: "demo"))), other, home.scene) }
    let leave = send(.room(.leave(RoomParams(room: "demo"))), other, home.scene)
    #expect(isDone(leave, other) && other.replies[key.id]?.last?.error?.code == .rateLimited)
    home.scene.apply(.silence(.request(key), .seconds(60)))
    #expect(home.scene.core.seat(of: other.connection) == nil && other.replies[key.id]?.count == 1)
    #expect(home.scene.core.rooms.table.seats[home.seat] != nil && home.scene.core.asking.isEmpty)
  }

  /// The word of workers is known by the id of its request, and that may be another's by then: one of the two waits.
  @Test func ofTwoRequestsWithOneIDOneWaits() throws {
    let home = try Home()
    let tablet = home.newcomer("tablet")
    _ = try home.scene.join(tablet, "hall").get()
    home.scene.cut(tablet)
    let (other, key) = try waitsForWorkers(home)
    for _ in 0..<ConferenceRules.test.requestWindow {
      #expect(home.scene.code(other, .room(.info(RoomParams(room: "voice")))) == nil)
    }
    let join = Request.room(.join(RoomJoinParams(room: "hall", takeover: true)))
    home.scene.apply(.request(other.connection, key.id, join))
    #expect(other.replies[key.id]?.map { $0.error?.code } == [.rateLimited] && home.scene.silenceQuestions == 1)
    home.scene.apply(.silence(.request(key), .seconds(60)))
    #expect(other.replies[key.id]?.count == 2 && isDone(key.id, other))
    let place = try #require(home.scene.core.sessions.place(of: key.session))
    #expect(place.room == "demo" && home.scene.core.asking.isEmpty)
    // Nothing about either room is left waiting.
    for room in ["demo", "hall"] {
      #expect(isDone(send(.room(.leave(RoomParams(room: room))), other, home.scene), other))
    }
  }

  /// One that was taken back may be said again: the word about the first is none about that.
  @Test func whatWasTakenBackIsNotHeldAgainBeforeItsWord() throws {
    let home = try Home()
    let (other, key) = try waitsForWorkers(home)
    let join = Request.room(.join(RoomJoinParams(room: "demo", takeover: true)))
    for _ in 0..<Asking.most { send(.room(.info(RoomParams(room: "demo"))), other, home.scene) }
    send(.room(.leave(RoomParams(room: "demo"))), other, home.scene)
    home.scene.apply(.request(other.connection, key.id, join))
    #expect(other.replies[key.id]?.map { $0.error?.code } == [.rateLimited, .rateLimited])
    #expect(home.scene.silenceQuestions == 1)
    home.scene.apply(.silence(.request(key), .seconds(60)))
    #expect(home.scene.core.rooms.table.seats[home.seat] != nil && home.scene.core.asking.isEmpty)
    home.scene.apply(.request(other.connection, key.id, join))
    home.scene.apply(.silence(.request(key), .seconds(60)))
    #expect(isDone(key.id, other) && home.scene.silenceQuestions == 2 && home.scene.core.asking.isEmpty)
  }

  @Test func soManyWaitUntilTheyAreBackAndNotOneMore() throws {
    let home = try Home()
    let (other, first) = try waitsForWorkers(home)
    let join = Request.room(.join(RoomJoinParams(room: "demo", takeover: true)))
    let ids = (0..<Asking.most).map { _ in send(join, other, home.scene) }
    #expect(home.scene.silenceQuestions == 1 && ids.allSatisfy { other.replies[$0] == nil })
    let late = send(join, other, home.scene)
    #expect(other.replies[late]?.last?.error?.code == .rateLimited)
    // Again and again: workers are asked anew each time, and what is behind waits still.
    home.scene.cut(other)
    for count in 2...4 {
      home.scene.apply(.silence(.request(first), .seconds(60)))
      #expect(home.scene.core.asking.readyCount(of: first.session) == Asking.most + 1)
      _ = home.scene.resume(other)
      #expect(home.scene.silenceQuestions == count && home.scene.core.asking.readyCount(of: first.session) == 0)
      home.scene.cut(other)
    }
    home.scene.apply(.silence(.request(first), .seconds(60)))
    home.scene.holdsAnswers = false
    _ = home.scene.resume(other)
    #expect(home.scene.core.asking.isEmpty && home.scene.core.seat(of: other.connection) != nil)
    for id in [first.id] + ids { #expect(other.replies[id]?.count == 1 && isDone(id, other)) }
  }

  // MARK: - Hello

  private func hello(_ home: Home, _ client: Client, takeover: Bool = true) -> ErrorObject? {
    let params = HelloParams(user: "anna", deviceId: "old", takeover: takeover ? true : nil)
    guard case .failure(let error) = home.scene.request(client, .session(.hello(params))) else { return nil }
    #expect(error.code == .forbidden && error.data.reason == "device_in_use")
    return error
  }

  @Test func theSameDeviceComesBackWithoutItsToken() throws {
    let home = try Home()
    let again = home.scene.stranger("anna", "old")
    #expect(hello(home, again)?.data.retryAfterMs == 2_000)
    home.scene.cut(home.anna)
    #expect(hello(home, again)?.data.retryAfterMs == 5_001)
    home.scene.advance(.milliseconds(5_000))
    #expect(hello(home, again, takeover: false)?.data.retryAfterMs == 55_000, "who does not ask has to wait")
    Home.move(home.scene, to: "192.0.2.2")
    #expect(hello(home, home.scene.stranger("anna", "old"))?.data.retryAfterMs == 55_000)
    Home.move(home.scene, to: "192.0.2.1")
    #expect(hello(home, again) == nil)
    #expect(try home.scene.join(again).get().count == 3)
    guard case .failure(let error) = home.scene.resume(home.anna) else {
      return #expect(Bool(false), "it was replaced")
    }
    #expect(error.code == .sessionReplaced)
  }

  @Test func aHelloThatWaitsGoesWithItsConnection() throws {
    let home = try Home()
    home.scene.cut(home.anna)
    home.scene.advance(.seconds(6))
    home.scene.holdsAnswers = true
    let again = home.scene.stranger("anna", "old")
    let params = HelloParams(user: "anna", deviceId: "old", takeover: true)
    var identity = Identity(user: "anna", device: "old", displayName: "anna", rights: .all, isVerified: false)
    identity.network = PeerNetwork(SocketAddress(host: "192.0.2.1", port: 1))
    home.scene.apply(.hello(again.connection, .number(1), params, identity))
    // One at a time.
    home.scene.apply(.hello(again.connection, .number(2), params, identity))
    #expect(again.replies[.number(1)] == nil && again.replies[.number(2)]?.count == 1)
    home.scene.cut(again)
    home.scene.apply(.silence(.hello(again.connection), .seconds(60)))
    #expect(home.scene.core.sessions.table[on: again.connection] == nil && home.scene.core.sessions.takeovers.isEmpty)
    #expect(home.scene.core.sessions.table.of("anna").count == 1)
  }

  // MARK: - Calls

  @Test func aLegInACallIsTakenOverLikewise() throws {
    var rules = ConferenceRules.test
    rules.calls.resumeGrace = .seconds(60)
    let scene = Scene(rules)
    Home.move(scene, to: "192.0.2.1")
    let (a, b) = (scene.client("A"), scene.client("B"))
    let start = CallStartParams(to: ["B"], kind: .oneToOne, media: .audio)
    guard case .success(.callStarted(let started)) = scene.request(a, .call(.start(start))) else {
      return #expect(Bool(false), "a call")
    }
    let id = started.call.callId
    #expect(scene.code(b, .call(.accept(CallAcceptParams(callId: id)))) == nil)
    for one in [a, b] { scene.apply(.media(try scene.seat(one), .subscribe, .connected)) }
    scene.mediaHeard[try scene.seat(b)] = scene.now.instant
    let again = scene.client("B", "d2")
    for request in [
      Request.call(.join(CallJoinParams(callId: id, takeover: true))),
      .call(.accept(CallAcceptParams(callId: id, takeover: true))),
    ] {
      #expect(scene.refusal(again, request)?.data.retryAfterMs == 2_000)
    }
    scene.cut(b)
    let join = Request.call(.join(CallJoinParams(callId: id, takeover: true)))
    #expect(scene.refusal(again, join)?.data.retryAfterMs == 5_001)
    scene.advance(.seconds(5))
    Home.move(scene, to: "192.0.2.2")
    let stranger = scene.client("B", "d3")
    #expect(scene.refusal(stranger, join)?.data.retryable == false)
    #expect(scene.code(again, join) == nil)
    #expect(scene.code(again, .call(.hangup(CallHangupParams(callId: id)))) == nil)
  }
}
