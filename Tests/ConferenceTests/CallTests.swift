// Calls on rooms and seats: what the switchboard decides is carried out within the step, and a call's room is a room.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// What a call's requests answer, taken apart.
extension Scene {
  func start(_ client: Client, _ to: [String], _ kind: CallKind = .oneToOne, _ media: MediaClass = .video)
    throws -> CallStartResult
  {
    let request = Request.call(.start(CallStartParams(to: to, kind: kind, media: media)))
    guard case .callStarted(let result) = try self.request(client, request).get() else {
      throw ErrorObject(.internalError)
    }
    return result
  }

  func accept(_ client: Client, _ callId: String) throws -> CallRoomResult {
    guard case .callRoom(let result) = try request(client, .call(.accept(CallAcceptParams(callId: callId)))).get()
    else {
      throw ErrorObject(.internalError)
    }
    return result
  }

  func mediaUp(_ clients: Client...) throws {
    for client in clients { apply(.media(try seat(client), .subscribe, .connected)) }
  }

  /// Two who talk.
  func talk(_ a: Client, _ b: Client) throws -> CallRoomResult {
    let call = try start(a, [b.user])
    let result = try accept(b, call.call.callId)
    try mediaUp(a, b)
    _ = (a.take(), b.take())
    return result
  }
}

@Suite struct CallTests {
  @Test func aCallIsARoomThatNobodySees() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.join(a).get()
    let started = try scene.start(a, ["b"])
    #expect(started.room.room == started.call.room && started.room.count == 1 && started.room.limit == 16)
    #expect(scene.roomCount("demo", asking: b) == 0, "starting a call leaves the named room")
    #expect(b.takeNames() == [.callIncoming])
    #expect(scene.core.rooms.table.listed.allSatisfy { !$0.name.hasPrefix("call:") })
    #expect(scene.code(b, .room(.join(RoomJoinParams(room: started.call.room)))) == .forbidden)
    #expect(scene.code(b, .room(.info(RoomParams(room: started.call.room)))) == .forbidden)
    let seats = scene.core.rooms.table.seats.keys.sorted()
    _ = a.take()
    let accepted = try scene.accept(b, started.call.callId)
    #expect(accepted.room.participants.map(\.user) == ["a", "b"] && accepted.call.state == .connecting)
    #expect(a.takeNames() == [.callAccepted, .participantJoined])
    try scene.mediaUp(a, b)
    #expect(a.takeNames() == [.mediaConnected, .callActive])
    #expect(scene.core.rooms.table.seats.keys.sorted().starts(with: seats))
    #expect(scene.code(a, .chat(.send(ChatSendParams(room: started.call.room, text: "hi")))) == nil)
    #expect(b.takeNames().last == .chatMessage)
    // room.leave is a hang-up.
    #expect(scene.code(b, .room(.leave(RoomParams(room: started.call.room)))) == nil)
    #expect(a.takeNames() == [.callEnded, .roomClosed, .callRecord] && b.takeNames() == [.callEnded, .callRecord])
    #expect(scene.core.rooms.table.seats.isEmpty && scene.core.rooms.table.keys[started.call.room] == nil)
  }

  /// What `room.join` says of a seat, requests that give one in a call say too.
  @Test func aSeatInACallIsAskedForAsInARoom() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let start = CallStartParams(
      to: ["b"], kind: .oneToOne, media: .video, metadata: ["screen": "hall"], autoSubscribe: false)
    guard case .callStarted(let started) = try scene.request(a, .call(.start(start))).get() else {
      throw ErrorObject(.internalError)
    }
    #expect(started.room.participants.map(\.metadata) == [["screen": "hall"]])
    let id = started.call.callId
    func accept(_ metadata: RawJSON?, _ autoSubscribe: Bool? = nil) throws -> [RawJSON] {
      let params = CallAcceptParams(callId: id, metadata: metadata, autoSubscribe: autoSubscribe)
      guard case .callRoom(let result) = try scene.request(b, .call(.accept(params))).get() else {
        throw ErrorObject(.internalError)
      }
      return result.room.participants.map(\.metadata)
    }
    #expect(try accept(["view": 1], false) == [["screen": "hall"], ["view": 1]])
    try scene.mediaUp(a, b)
    for client in [a, b] { try scene.publish(client, ["0:audio", "1:video"]) }
    #expect(scene.core.rooms.media.subscriptions.isEmpty, "neither asked for what he did not bind")

    // Accepting or joining again changes what is said, as joining a room again does.
    _ = a.take()
    #expect(try accept(nil) == [["screen": "hall"], ["view": 1]] && a.take().isEmpty)
    #expect(try accept(["view": 2], true).last == ["view": 2])
    #expect(a.takeNames() == [.participantUpdated])
    let seat = try scene.seat(b)
    #expect(scene.core.rooms.media.subscriptions.values.map(\.seat) == [seat, seat])
  }

  /// Another device that takes the seat keeps what was said of it, and says itself what it receives.
  @Test func aTakenOverSeatKeepsWhatWasSaidOfIt() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    _ = scene.request(b, .call(.accept(CallAcceptParams(callId: call.callId, metadata: ["view": 1]))))
    try scene.publish(a, ["0:video"])
    #expect(scene.core.rooms.media.subscriptions.count == 1)
    let other = scene.client("b", "d2")
    for (metadata, expected) in [(nil, 1), (["view": 2], 2)] as [(RawJSON?, RawJSON)] {
      let device = metadata == nil ? other : scene.client("b", "d3")
      let params = CallJoinParams(
        callId: call.callId, takeover: true, resumeToken: metadata == nil ? b.token : other.token,
        metadata: metadata, autoSubscribe: false)
      guard case .callRoom(let result) = try scene.request(device, .call(.join(params))).get() else {
        throw ErrorObject(.internalError)
      }
      #expect(result.room.participants.last?.metadata == ["view": expected])
      #expect(scene.core.rooms.media.subscriptions.isEmpty)
    }
  }

  @Test func joiningANamedRoomHangsUp() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    _ = try scene.talk(a, b)
    #expect(try scene.join(b).get().room == "demo")
    #expect(a.takeNames() == [.participantLeft, .callEnded, .roomClosed, .callRecord])
    #expect(b.takeNames() == [.callEnded, .callRecord])
    #expect(try scene.start(a, ["b"]).busy.isEmpty, "sitting in a named room makes nobody busy")
  }

  @Test func helloShowsWhatRingsAndWhatWasMissed() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.start(a, ["b"]).call
    let other = scene.stranger("b", "d2")
    guard case .success(.hello(let hello)) = scene.hello(other) else {
      Issue.record("no hello")
      return
    }
    #expect(
      hello.ringing.map(\.callId) == [call.callId] && hello.current == nil && other.takeNames() == [.callIncoming])
    #expect(scene.code(a, .call(.cancel(CallCancelParams(callId: call.callId)))) == nil)
    #expect(b.takeNames() == [.callIncoming, .callStopped, .callMissed, .callRecord])
    guard case .success(.hello(let later)) = scene.hello(scene.stranger("b", "d3")) else {
      throw ErrorObject(.internalError)
    }
    #expect(later.missed == 1 && later.ringing.isEmpty)
    guard case .success(.records(let history)) = scene.request(b, .call(.history(CallHistoryParams()))) else {
      throw ErrorObject(.internalError)
    }
    #expect(history.records.map(\.why) == [.cancelled] && history.next == nil)
    guard case .success(.users(let users)) = scene.request(a, .userQuery(UserQueryParams(users: ["b"]))) else {
      throw ErrorObject(.internalError)
    }
    #expect(users.users.first?.inCall == false)
  }

  @Test func aLostSocketKeepsTheCallForItsGrace() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b)
    scene.cut(b)
    #expect(a.takeNames() == [.participantReconnecting])
    scene.advance(.milliseconds(14_900))
    scene.resume(b)
    #expect(a.takeNames() == [.participantReconnected] && b.take().isEmpty)
    guard case .success(.callCurrent(let current)) = scene.request(b, .call(.current)) else {
      throw ErrorObject(.internalError)
    }
    #expect(current.call?.callId == call.call.callId && current.call?.state == .active)
    scene.cut(b)
    scene.advance(.milliseconds(15_000))
    #expect(a.takeNames() == [.participantReconnecting, .callEnded, .roomClosed, .callRecord])
    guard case .success(.call(let ended)) = scene.request(a, .call(.get(CallParams(callId: call.call.callId)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(ended.call.reason == .disconnected && ended.call.by == "b")
    #expect(try scene.start(a, ["b"]).unreachable.map(\.user) == ["b"])
  }

  @Test func aDeviceThatStartsAgainFindsItsCall() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    let participant = try #require(scene.core.rooms.table.seats[try scene.seat(b)]?.participant)
    let again = scene.stranger("b")
    guard case .success(.hello(let hello)) = scene.hello(again, token: b.token) else {
      throw ErrorObject(.internalError)
    }
    #expect(b.take() == [.sessionReplaced] && b.closed == .replaced)
    #expect(hello.current?.callId == call.callId && hello.current?.members.last?.state == .reconnecting)
    #expect(a.takeNames() == [.participantReconnecting], "he is away for a moment, and has not left")
    #expect(scene.resume(b) == .failure(ErrorObject(.sessionReplaced)))

    scene.advance(.milliseconds(14_000))
    guard case .success(.callRoom(let back)) = scene.request(again, .call(.join(CallJoinParams(callId: call.callId))))
    else {
      Issue.record("the call is not to be taken up")
      return
    }
    #expect(back.room.selfId == "\(participant)" && back.room.participants.count == 2)
    #expect(a.takeNames() == [.memberState, .participantUpdated], "the same participant")
    #expect(
      scene.core.gauges.sessions == 2 && scene.core.rooms.table.seats.count == 2,
      "nothing is left of the session before")
    try scene.mediaUp(again)
    scene.advance(.milliseconds(60_000))
    #expect(a.takeNames().isEmpty && scene.core.calls.count == 1)
    #expect(scene.code(again, .call(.hangup(CallHangupParams()))) == nil)
    #expect(a.takeNames().first == .callEnded)
  }

  @Test func aDeviceThatStartsAgainAndDoesNotComeBackIsLost() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    var last = b
    for _ in 0..<2 {
      let next = scene.stranger("b")
      #expect(throws: Never.self) { try scene.hello(next, token: last.token).get() }
      last = next
      scene.advance(.milliseconds(5_000))
    }
    #expect(a.takeNames() == [.participantReconnecting] && scene.core.calls.count == 1)
    scene.advance(.milliseconds(5_000))
    #expect(a.takeNames() == [.callEnded, .roomClosed, .callRecord], "a second restart makes the grace no longer")
    guard case .success(.call(let ended)) = scene.request(last, .call(.get(CallParams(callId: call.callId)))) else {
      throw ErrorObject(.internalError)
    }
    #expect(ended.call.reason == .disconnected && scene.core.gauges.sessions == 2)
    #expect(try scene.start(a, ["b"]).busy.isEmpty)
  }

  @Test func goodbyeAfterStartingAgainHangsUp() throws {
    for isClean in [true, false] {
      let scene = Scene()
      let (a, b) = (scene.client("a"), scene.client("b"))
      _ = try scene.talk(a, b)
      let again = scene.stranger("b")
      #expect(throws: Never.self) { try scene.hello(again, token: b.token).get() }
      _ = a.take()
      scene.cut(again, clean: isClean)
      #expect(a.takeNames().first == (isClean ? .callEnded : nil))
    }
  }

  @Test func aCallerWhoStartsAgainMayHangUpWithoutJoining() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.start(a, ["b"]).call
    let again = scene.stranger("a")
    guard case .success(.hello(let hello)) = scene.hello(again, token: a.token) else {
      throw ErrorObject(.internalError)
    }
    #expect(hello.current?.state == .ringing && b.takeNames() == [.callIncoming], "b rings on")
    #expect(scene.code(again, .call(.hangup(CallHangupParams(callId: call.callId)))) == nil)
    #expect(b.takeNames() == [.callStopped, .callMissed, .callRecord] && scene.core.calls.count == 0)
    let other = scene.client("a", "d2")
    #expect(try scene.start(other, ["b"]).busy.isEmpty)
  }

  @Test func anotherDeviceStillHasToAskForTheCall() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    let other = scene.client("b", "d2")
    let again = scene.stranger("b")
    #expect(throws: Never.self) { try scene.hello(again, token: b.token).get() }
    #expect(scene.code(other, .call(.join(CallJoinParams(callId: call.callId)))) == .alreadyJoined)
    #expect(scene.code(other, .call(.join(CallJoinParams(callId: call.callId, takeover: true)))) == .forbidden)
    #expect(scene.code(again, .call(.join(CallJoinParams(callId: call.callId)))) == nil)
  }

  @Test func aResyncSaysWhatRingsAndWhatOtherDevicesDo() throws {
    var rules = ConferenceRules.test
    rules.replayEvents = 1
    let scene = Scene(rules)
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let b2 = scene.client("b", "d2")
    scene.cut(b2)
    let outgoing = try scene.start(b, ["c"]).call
    #expect(scene.code(c, .call(.ringing(CallParams(callId: outgoing.callId)))) == nil)
    scene.advance(.milliseconds(1_000))
    let incoming = try scene.start(a, ["b"], .group).call
    scene.advance(.milliseconds(500))
    guard case .success(.resumed(.resync(let resync))) = scene.resume(b2) else {
      Issue.record("no resync")
      return
    }
    #expect(resync.call == nil && resync.current?.callId == outgoing.callId)
    #expect(resync.current?.members.last?.state == .ringing && resync.current?.remainingMs == 28_500)
    #expect(resync.ringing.map(\.callId) == [incoming.callId] && resync.ringing.first?.remainingMs == 29_500)
    #expect(b2.takeNames() == [.callIncoming], "so that it rings here, too")
    scene.cut(b)
    #expect(scene.code(c, .call(.accept(CallAcceptParams(callId: outgoing.callId)))) == nil)
    guard case .success(.resumed(.resync(let own))) = scene.resume(b) else { throw ErrorObject(.internalError) }
    #expect(own.call?.callId == outgoing.callId && own.call?.state == .connecting && own.current == nil)
  }

  @Test func aDeviceThatIgnoredACallStaysSilent() throws {
    var rules = ConferenceRules.test
    rules.replayEvents = 1
    let scene = Scene(rules)
    let (a, b, b2) = (scene.client("a"), scene.client("b"), scene.client("b", "d2"))
    let call = try scene.start(a, ["b"]).call
    #expect(scene.code(b, .call(.reject(CallRejectParams(callId: call.callId, scope: .thisDevice)))) == nil)
    #expect(b.takeNames() == [.callIncoming] && b2.takeNames() == [.callIncoming])
    for client in [b, b2] { scene.cut(client) }
    // More than is kept has been missed by both.
    for user in ["c", "d"] { _ = try scene.start(scene.client(user), ["b"]) }
    for (client, isSilent) in [(b, true), (b2, false)] {
      guard case .success(.resumed(.resync(let resync))) = scene.resume(client) else {
        Issue.record("no resync")
        return
      }
      #expect(resync.ringing.contains { $0.callId == call.callId } != isSilent && resync.ringing.count >= 2)
      #expect(client.rungBy.contains(call.callId) != isSilent)
    }
    let again = scene.stranger("b")
    guard case .success(.hello(let hello)) = scene.hello(again, token: b.token) else {
      Issue.record("no hello")
      return
    }
    #expect(hello.ringing.count == 2 && !hello.ringing.contains { $0.callId == call.callId })
    #expect(!again.rungBy.contains(call.callId), "a page that is loaded again is the same device")
    #expect(scene.code(again, .call(.accept(CallAcceptParams(callId: call.callId)))) == nil)
  }

  @Test func theUpgradeTouchesNobodysSeat() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.talk(a, b).call
    for client in [a, b] { try scene.publish(client, ["0:audio", "1:video"]) }
    let before = (try scene.seat(a), try scene.seat(b))
    let invite = Request.call(.invite(CallInviteParams(callId: call.callId, users: ["c"])))
    #expect(scene.code(a, invite) == nil)
    guard case .callIncoming(let incoming) = c.take().first else {
      Issue.record("no ring")
      return
    }
    #expect(incoming.inProgress && incoming.participants?.map(\.user) == ["a", "b"])
    _ = (a.take(), b.take())
    let joined = try scene.accept(c, call.callId)
    #expect(joined.room.participants.map(\.tracks.count) == [2, 2, 0])
    #expect(
      a.takeNames() == [.callAccepted, .callTypeChanged, .participantUpdated, .participantJoined], "they host it now")
    let after = (try scene.seat(a), try scene.seat(b))
    #expect(after == before && scene.ledger.subscriptions.count == 8)
  }

  @Test func aTakeoverMovesTheSeat() throws {
    let scene = Scene()
    let (a, b1) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b1).call
    let b2 = scene.client("b", "d2")
    #expect(scene.code(b2, .call(.join(CallJoinParams(callId: call.callId)))) == .alreadyJoined)
    let bare = scene.request(b2, .call(.join(CallJoinParams(callId: call.callId, takeover: true))))
    guard case .failure(let error) = bare else { throw ErrorObject(.internalError) }
    #expect(error.code == .forbidden && error.data.reason == "resume_token")
    let params = CallJoinParams(callId: call.callId, takeover: true, resumeToken: b1.token)
    guard case .success(.callRoom(let result)) = scene.request(b2, .call(.join(params))) else {
      Issue.record("no takeover")
      return
    }
    #expect(result.room.participants.count == 2)
    #expect(a.takeNames() == [.memberState, .participantUpdated] && b1.takeNames() == [.callStopped, .roomClosed])
  }

  @Test func anAudioCallTakesNoVideo() throws {
    let scene = Scene()
    let (a, b) = (scene.client("a"), scene.client("b"))
    let call = try scene.talk(a, b).call
    try scene.publish(a, ["0:audio", "1:video"])
    _ = (a.take(), b.take())
    let ask = MediaChangeParams(action: .request, media: .audio)
    #expect(scene.code(b, .call(.mediaChange(ask))) == nil)
    #expect(scene.code(a, .call(.mediaChange(MediaChangeParams(action: .accept)))) == nil)
    #expect(a.takeNames() == [.callMediaChangeRequested, .trackUnpublished, .callMediaChanged])
    #expect(scene.core.rooms.media.tracks.count == 1)
    #expect(throws: ErrorObject(.mediaNotAllowed)) { try scene.publish(b, ["1:video"]) }
    guard case .success(.ended(let over)) = scene.operate(.endCall(call.callId)) else {
      Issue.record("the operator's wish was refused")
      return
    }
    #expect(over.reason == .stopped && over.state == .ended)
    #expect(a.takeNames() == [.callEnded, .roomClosed, .callRecord] && scene.core.rooms.table.seats.isEmpty)
  }

  @Test func lostMediaEndsTheLeg() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.start(a, ["b", "c"], .group).call
    _ = try scene.accept(b, call.callId)
    _ = try scene.accept(c, call.callId)
    try scene.mediaUp(a, b, c)
    _ = (a.take(), c.take())
    scene.apply(.media(try scene.seat(c), .subscribe, .lost))
    scene.advance(.milliseconds(15_000))
    #expect(a.takeNames() == [.participantReconnecting, .participantLeft, .memberLeft])
    #expect(c.takeNames() == [.mediaFailed, .roomClosed, .memberLeft, .callRecord])
    guard case .success(.callRoom) = scene.request(c, .call(.join(CallJoinParams(callId: call.callId)))) else {
      Issue.record("c cannot come back")
      return
    }
  }

  @Test func aBusyServerBeginsNoCallButLetsThoseWhoRingAnswer() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let call = try scene.start(a, ["b", "c"], .group).call
    _ = try scene.accept(b, call.callId)
    #expect(scene.code(b, .call(.hangup(CallHangupParams()))) == nil)
    scene.fillWorkers()
    let start = CallStartParams(to: ["a"], kind: .group, media: .audio)
    #expect(scene.code(b, .call(.start(start))) == .overloaded)
    #expect(scene.code(b, .call(.join(CallJoinParams(callId: call.callId)))) == .overloaded)
    #expect(scene.code(b, .call(.accept(CallAcceptParams(callId: call.callId)))) == .overloaded, "nobody rings b")
    #expect(try scene.accept(c, call.callId).room.count == 2, "his seat was held")
    let other = scene.client("c", "d2")
    let takeover = CallJoinParams(callId: call.callId, takeover: true, resumeToken: c.token)
    #expect(scene.code(other, .call(.join(takeover))) == nil)
  }

  /// A seat that is held is no newcomer's: after a restart, while one rings, and in a call that was started already.
  @Test func aBusyServerLetsThoseInWhoseSeatsAreHeld() throws {
    var rules = ConferenceRules.test
    (rules.storesRecords, rules.calls.keepsCalls) = (true, true)
    let scene = Scene(rules)
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let start = Request.call(
      .start(
        CallStartParams(to: ["b", "c"], kind: .group, media: .audio, clientCallId: "x")))
    guard case .callStarted(let started) = try scene.request(a, start).get() else { throw ErrorObject(.internalError) }
    let id = started.call.callId
    for client in [b, c] { _ = try scene.accept(client, id) }
    #expect(scene.code(c, .call(.hangup(CallHangupParams()))) == nil)
    var state = RestoredState()
    for case .call(let call) in scene.stores.flatMap(\.1) { state.calls.running = [call] }

    let next = Scene(rules, restored: state)
    next.fillWorkers()
    let (a2, b2, c2) = (next.client("a"), next.client("b"), next.client("c"))
    let join = Request.call(.join(CallJoinParams(callId: id)))
    #expect(next.code(c2, join) == .overloaded, "he had left")
    #expect(next.code(b2, join) == nil && next.code(a2, start) == nil)
    guard case .callStarted(let again) = try next.request(a2, start).get() else { throw ErrorObject(.internalError) }
    #expect(again.call.callId == id && again.room.count == 2)
    #expect(next.code(a2, .call(.invite(CallInviteParams(callId: id, users: ["c"])))) == nil)
    #expect(next.code(c2, join) == nil, "to join is to answer while it rings")
  }
}

extension Client {
  /// Takes what came, and returns the calls that this device was told to ring for.
  fileprivate var rungBy: [String] {
    take().compactMap { if case .callIncoming(let incoming) = $0 { incoming.call.callId } else { nil } }
  }
}
