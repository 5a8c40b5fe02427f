// A client's way without sockets: what it says and what the core says come in, and what is to be done comes out.

import Basics
import DoorKit
import Members
import RoostProtocol
import TestSupport
import Testing

@testable import Flashphoner

/// A session with what was done for it.
private struct Scene {
  var session: Session
  var done: [SessionAction] = []

  init(appKey: String = "roomApp", proofs: [String: String] = [:]) {
    let numbers = Locked(UInt64(0))
    session = Session(
      number: {
        numbers.withLock { number in
          number += 1
          return number
        }
      }, digits: { "0123abcd" })
    let wish = ConnectionWish(appKey: appKey, login: "Anna", token: nil, authToken: nil, whole: [:])
    let identity = Identity(user: "Anna", device: nil, displayName: "Anna", rights: .all, isVerified: false)
    _ = session.connected(wish, HelloParams(user: "Anna"), identity, authToken: "token", proofs: proofs)
  }

  @discardableResult
  mutating func say(_ message: ClientMessage) -> [SessionAction] {
    done = session.received(message)
    return done
  }

  @discardableResult
  mutating func core(_ number: UInt64 = 1, _ change: (inout Membership) -> [MembershipAction]) -> [SessionAction] {
    done = session.on(number, change)
    return done
  }

  /// Joins room `r`, where these are.
  mutating func join(_ others: [Participant] = []) {
    say(.data(operation: "j", .join(room: "r", isRecorded: false)))
    core { $0.replied(.number(1), .success(.hello(helloResult))) }
    core { $0.replied(.number(2), .success(.room(snapshot(others)))) }
  }
}

private let helloResult = HelloResult(
  sessionId: "1", resumeToken: "r1.secret", user: "Anna", deviceId: "d", serverTime: 0,
  limits: ServerLimits(
    messageBytes: 1, chatBytes: 1, metadataBytes: 1, tracks: 1, replayEvents: 1, resumeGraceMs: 1),
  iceServers: [], ringing: [], current: nil, missed: 0)

private func snapshot(_ others: [Participant]) -> RoomSnapshot {
  RoomSnapshot(
    room: "r", kind: "group", media: .video, limit: 3, count: others.count + 1, seq: 1, selfId: "p1",
    participants: [person("p1", "Anna")] + others, chat: [])
}

private func person(_ id: String, _ login: String, _ tracks: [Track] = []) -> Participant {
  Participant(
    participantId: id, user: login, displayName: login, state: .joined, metadata: .emptyObject, tracks: tracks)
}

private func track(_ id: String, _ kind: TrackKind, label: String = "", source: TrackSource? = nil) -> Track {
  Track(trackId: id, kind: kind, label: label, source: source, muted: false, definitions: [])
}

private func sent(_ actions: [SessionAction]) -> [ServerMessage] {
  actions.compactMap { if case .send(let message) = $0 { message } else { nil } }
}

private let played = whipOffer(lines: [ffmpegAudio, ffmpegVideo]).replacing("a=sendonly", with: "a=recvonly")

@Suite struct SessionTests {
  @Test func nothingIsServedBeforeTheConnection() {
    var session = Session(number: { 1 }, digits: { "0" })
    #expect(sent(session.received(.stop(id: "m"))) == [.fail(.init(info: Info.noSession))])
  }

  @Test func whoJoinsIsToldWhoIsThere() {
    var scene = Scene()
    scene.join([
      person("p2", "Ben"),
      person("p3", "Cleo", [track("t1", .audio, label: "r-Cleo-1a2b"), track("t2", .video, label: "r-Cleo-1a2b")]),
    ])
    #expect(
      sent(scene.done) == [
        .dataStatus(operation: "j", isAccepted: true, info: nil),
        .room("r", .state([("Ben", []), ("Cleo", ["r-Cleo-1a2b"])])),
      ])
    scene.core { $0.heard(.participantJoined(ParticipantEvent(room: "r", participant: person("p4", "Dora")))) }
    #expect(sent(scene.done) == [.room("r", .joined("Dora"))])
    let first = TrackPublished(room: "r", participantId: "p4", track: track("t3", .audio, label: "r-Dora-1"))
    let second = TrackPublished(room: "r", participantId: "p4", track: track("t4", .video, label: "r-Dora-1"))
    #expect(
      sent(scene.core { $0.heard(.trackPublished(first)) }) == [.room("r", .published(login: "Dora", name: "r-Dora-1"))]
    )
    #expect(scene.core { $0.heard(.trackPublished(second)) } == [], "a stream is told once")
    let left = ParticipantLeft(room: "r", participantId: "p4", user: "Dora", reason: .left)
    #expect(
      sent(scene.core { $0.heard(.participantLeft(left)) }) == [
        .room("r", .unpublished(login: "Dora", name: "r-Dora-1")), .room("r", .left("Dora")),
      ])
  }

  @Test func aFullRoomIsRefused() {
    var scene = Scene()
    scene.say(.data(operation: "j", .join(room: "r", isRecorded: true)))
    #expect(sent(scene.done) == [.fail(.init(word: "join", info: Info.notRecorded))])
    scene.core { $0.replied(.number(1), .success(.hello(helloResult))) }
    scene.core { $0.replied(.number(2), .failure(ErrorObject(.roomFull))) }
    #expect(
      scene.done == [
        .send(.dataStatus(operation: "j", isAccepted: false, info: "Room is full"))
      ])
    #expect(scene.session.members.isEmpty && scene.session.unanswered == 0)
    scene.say(.data(operation: "j", .leave(room: "r")))
    #expect(sent(scene.done) == [.dataStatus(operation: "j", isAccepted: false, info: "You are not in this room")])
  }

  /// Leaving and joining again would else be a way round what the core counts by session.
  @Test func whoJoinsAgainGoesOnWithTheSessionOfTheCore() {
    var scene = Scene()
    scene.join()
    scene.say(.data(operation: "l", .leave(room: "r")))
    #expect(
      scene.done == [
        .ask(1, .number(3), .room(.leave(RoomParams(room: "r")))),
        .send(.dataStatus(operation: "l", isAccepted: true, info: nil)),
      ])
    #expect(scene.core { $0.replied(.number(3), .success(.empty)) } == [])
    scene.say(.data(operation: "k", .join(room: "other", isRecorded: false)))
    let join = RoomJoinParams(room: "other", autoSubscribe: false)
    #expect(scene.done == [.ask(1, .number(4), .room(.join(join)))], "no second hello, and no number twice")
    // Refused, and asked again: the same session still.
    scene.core { $0.replied(.number(4), .failure(ErrorObject(.inLobby))) }
    #expect(
      sent(scene.done) == [.dataStatus(operation: "k", isAccepted: false, info: ErrorObject(.inLobby).message)])
    scene.say(.data(operation: "k", .join(room: "other", isRecorded: false)))
    #expect(scene.done == [.ask(1, .number(5), .room(.join(join)))])
    // A second room at the same time is another session.
    scene.say(.data(operation: "s", .join(room: "second", isRecorded: false)))
    guard case .hello(2, _, _)? = scene.done.last else {
      Issue.record("\(scene.done)")
      return
    }
    let ended = scene.session.ended()
    #expect(ended.rooms == [1, 2] && ended.spare.isEmpty)
  }

  @Test func aSessionThatTheCoreHasEndedIsNotGoneOnWith() {
    var scene = Scene()
    scene.join()
    scene.say(.data(operation: "l", .leave(room: "r")))
    #expect(scene.session.sessionEnded(1, Info.noSession) == [.leave(1, room: "r")])
    scene.say(.data(operation: "k", .join(room: "r", isRecorded: false)))
    guard case .hello(2, _, _)? = scene.done.last else {
      Issue.record("\(scene.done)")
      return
    }
    scene.core(2) { $0.replied(.number(1), .success(.hello(helloResult))) }
    #expect(scene.session.sessionEnded(2, Info.noSession).last == .leave(2, room: "r"))
    #expect(scene.session.members.isEmpty && scene.session.ended().spare.isEmpty)
  }

  @Test func aClientIsToldOnceThatTheServerStops() {
    var scene = Scene()
    scene.join()
    scene.say(.data(operation: "s", .join(room: "second", isRecorded: false)))
    let stop = Event.sessionClosing(SessionClosing(action: .reconnect, reason: .draining, retryAfterMs: 1_000))
    #expect(scene.core(1) { $0.heard(stop) } == [.send(.fail(.init(info: Info.stopping)))])
    #expect(scene.core(2) { $0.heard(stop) } == [])
  }

  @Test func aSeatIsTakenOverByWhoCanShowThatItIsTheirs() {
    for (proofs, token) in [([:], nil), (["r": "old"], "old")] as [([String: String], String?)] {
      var scene = Scene(proofs: proofs)
      scene.say(.data(operation: "j", .join(room: "r", isRecorded: false)))
      scene.core { $0.replied(.number(1), .success(.hello(helloResult))) }
      let params = RoomJoinParams(
        room: "r", autoSubscribe: false, takeover: token == nil ? nil : true, resumeToken: token)
      #expect(scene.done == [.ask(1, .number(2), .room(.join(params)))])
      scene.core { $0.replied(.number(2), .success(.room(snapshot([])))) }
      let ended = scene.session.ended()
      #expect(ended.rooms == [1] && ended.proofs == ["r": "r1.secret"])
    }
  }

  @Test func aStreamIsPublishedMutedAndEnded() throws {
    var scene = Scene()
    scene.join()
    let wish = StreamWish(id: "m", name: "r-Anna-1", room: "r", sdp: ffmpegOffer)
    scene.say(.publish(wish))
    guard case .stream(1, let id, .publish(let connection, let params))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    #expect(
      params.tracks?.map(\.label) == ["r-Anna-1", "r-Anna-1"] && params.tracks?.map(\.source) == [.microphone, .camera])
    let lines = [PublishedLine(mid: "0", trackId: "t1"), PublishedLine(mid: "1", trackId: "t2")]
    scene.core { $0.replied(id, .success(.published(PublishResult(sdp: "answer", tracks: lines)))) }
    #expect(sent(scene.done) == [.remoteSDP(id: "m", sdp: "answer")])
    scene.core { $0.media(connection, .connected) }
    #expect(sent(scene.done) == [.status(StreamReport(id: "m", name: "r-Anna-1", status: .publishing))])
    scene.say(.streamEvent(id: "m", .muted(.video, true)))
    #expect(scene.done == [.ask(1, .number(4), .track(.mute(TrackParams(trackId: "t2"))))])
    #expect(sent(scene.say(.publish(wish))).count == 1, "the same again")
    scene.say(.stop(id: "m"))
    #expect(
      scene.done == [
        .stream(1, .number(5), .close(connection)),
        .send(.status(StreamReport(id: "m", name: "r-Anna-1", status: .unpublished))),
      ])
    #expect(sent(scene.say(.stop(id: "m"))) == [.fail(.init(info: Info.notFound))])
  }

  @Test func dataOfAStreamGoesBothWays() throws {
    var scene = Scene()
    scene.join([person("p2", "Ben", [track("t9", .audio, label: "r-Ben-x")])])
    scene.say(.play(StreamWish(id: "p", name: "r-Ben-x", room: "r", sdp: played)))
    guard case .stream(1, let id, .play(let connection, _, _, _))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    func told(_ user: String, _ topic: String) -> Event {
      .messageReceived(MessageReceived(room: "r", from: user, topic: topic, data: ["x": 1]))
    }
    #expect(sent(scene.core { $0.heard(told("Ben", "data")) }) == [], "it does not play yet")
    scene.core { $0.replied(id, .success(.published(PublishResult(sdp: "answer", tracks: [])))) }
    scene.core { $0.media(connection, .connected) }
    #expect(sent(scene.core { $0.heard(told("Ben", "data")) }) == [.streamData(id: "p", ["x": 1])])
    #expect(sent(scene.core { $0.heard(told("Ben", "other")) }) == [], "the control: another topic")
    #expect(sent(scene.core { $0.heard(told("Zoe", "data")) }) == [], "and somebody else")
    #expect(sent(scene.say(.streamEvent(id: "p", .data(1)))).count == 1, "who plays a stream sends nothing on it")
    let frame = try JSONValue.reading(ServerMessage.streamData(id: "p", ["x": 1]).frame(operation: "o"))
    #expect(
      frame == [
        "message": "notifyStreamEvent", "data": [["mediaSessionId": "p", "type": "data", "payload": ["x": 1]]],
      ])

    scene.say(.publish(StreamWish(id: "m", name: "r-Anna-1", room: "r", sdp: ffmpegOffer)))
    scene.say(.streamEvent(id: "m", .data(["x": 1])))
    let params = MessageSendParams(
      room: "r", topic: "data", data: ["stream": "r-Anna-1", "payload": ["x": 1]])
    guard case .ask(1, let request, .message(.send(let asked)))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    #expect(asked == params)
    #expect(scene.core { $0.replied(request, .success(.messageSent(MessageSendResult(delivered: 1)))) } == [])
    scene.say(.streamEvent(id: "m", .data(2)))
    guard case .ask(1, let second, _)? = scene.done.first else { return }
    scene.core { $0.replied(second, .failure(ErrorObject(.rateLimited))) }
    #expect(sent(scene.done) == [.fail(.init(word: "sendStreamEvent", info: ErrorObject(.rateLimited).message))])
  }

  /// Who plays two of somebody's streams hears what is of one of them once, at its player.
  @Test func dataOfAStreamIsForItsPlayersAlone() throws {
    var scene = Scene()
    // Others are shown her stream under another name than she gave it.
    let dora = person("p4", "Dora", [track("t5", .video, label: "cam")])
    scene.join([
      person(
        "p2", "Ben", [track("t8", .video, label: "r-Ben-cam"), track("t9", .video, label: "r-Ben-screen")]),
      person("p3", "Carl", [track("t7", .audio, label: "r-Carl-x")]), dora,
    ])
    var people = People(room: "r")
    _ = people.update(dora)
    let made = try #require(people[login: "Dora"]?.streams.first?.name)
    let wishes = [
      ("a", "r-Ben-screen"), ("b", "r-Ben-cam"), ("c", "r-Carl-x"), ("d", "r-Ben-cam"), ("e", made),
    ]
    for (id, name) in wishes {
      scene.say(.play(StreamWish(id: id, name: name, room: "r", sdp: played)))
      guard case .stream(1, let request, .play(let connection, _, _, _))? = scene.done.first else {
        Issue.record("\(scene.done)")
        return
      }
      scene.core { $0.replied(request, .success(.published(PublishResult(sdp: "answer", tracks: [])))) }
      scene.core { $0.media(connection, .connected) }
    }
    func told(_ data: RawJSON, by user: String = "Ben") -> [ServerMessage] {
      let message = MessageReceived(room: "r", from: user, topic: "data", data: data)
      return sent(scene.core { $0.heard(.messageReceived(message)) })
    }
    #expect(told(["stream": "r-Ben-screen", "payload": 1]) == [.streamData(id: "a", 1)])
    #expect(told(["stream": "r-Ben-cam", "payload": 1]) == [.streamData(id: "b", 1), .streamData(id: "d", 1)])
    #expect(told(["stream": "r-Carl-x", "payload": 1]) == [], "it is not of the sender")
    #expect(told(["stream": "r-Ben-away", "payload": 1]) == [], "nobody plays it here")
    #expect(told(["stream": "cam", "payload": 1], by: "Dora") == [.streamData(id: "e", 1)])
    #expect(told(["x": 1]) == [.streamData(id: "b", ["x": 1]), .streamData(id: "d", ["x": 1])], "the first of Ben's")
    #expect(told(["x": 1], by: "") == [], "of an application")
  }

  /// The stream's name is a part of what may have 8 KiB.
  @Test func dataOfAStreamIsBounded() {
    var scene = Scene()
    scene.join([])
    scene.say(.publish(StreamWish(id: "m", name: "r-Anna-1", room: "r", sdp: ffmpegOffer)))
    let around = #"{"stream":"r-Anna-1","payload":""}"#.utf8.count
    let most = String(repeating: "x", count: ProtocolLimits.dataBytes - around)
    scene.say(.streamEvent(id: "m", .data(.string(most))))
    guard case .ask(1, _, .message(.send))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    scene.say(.streamEvent(id: "m", .data(.string(most + "x"))))
    guard case .send(.fail(let failure))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    #expect(failure.word == "sendStreamEvent")
  }

  @Test func aStreamIsPlayedAndFollowsItsPublisher() throws {
    var scene = Scene()
    scene.join([person("p2", "Ben", [track("t1", .audio, source: .microphone)])])
    let name = try #require(scene.session.members[1]?.people.all.first?.streams.first?.name)
    #expect(name.hasPrefix("r-Ben-") && name.utf8.count == 10)
    scene.say(.play(StreamWish(id: "m", name: name, sdp: played)))
    guard case .stream(1, let id, .play(let connection, ["t1"], [.audio, .video], _))? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    scene.core { $0.replied(id, .success(.published(PublishResult(sdp: "answer", tracks: [])))) }
    scene.core { $0.media(connection, .connected) }
    let playing = StreamReport(id: "m", name: name, status: .playing, muted: [.audio: false])
    #expect(sent(scene.done) == [.status(playing)])
    let video = TrackPublished(room: "r", participantId: "p2", track: track("t2", .video, source: .camera))
    scene.core { $0.heard(.trackPublished(video)) }
    #expect(scene.done == [.stream(1, .number(4), .show(connection, tracks: ["t1", "t2"]))])
    let change = TrackChange(room: "r", participantId: "p2", trackId: "t2")
    #expect(sent(scene.core { $0.heard(.trackMuted(change)) }) == [.muted(id: "m", .video, true)])
    let screen = TrackPublished(room: "r", participantId: "p2", track: track("t3", .video, source: .screen))
    #expect(
      sent(scene.core { $0.heard(.trackPublished(screen)) }) == [
        .room("r", .published(login: "Ben", name: "\(name)-screen"))
      ])
    scene.core { $0.media(connection, .lost) }
    #expect(sent(scene.done) == [.status(StreamReport(id: "m", name: name, status: .failed, info: Info.noICE))])
  }

  @Test func refusalsOfStreamsNameThem() {
    var scene = Scene()
    scene.join([person("p2", "Ben", [track("t1", .audio, label: "r-Ben-x")])])
    func failure(_ info: String, _ name: String = "r-Ben-x") -> [ServerMessage] {
      [.fail(.init(stream: "m", name: name, info: info))]
    }
    #expect(
      sent(scene.say(.publish(StreamWish(id: "m", name: "r-Ben-x", room: "r", sdp: ffmpegOffer))))
        == failure(Info.nameInUse))
    #expect(
      sent(scene.say(.play(StreamWish(id: "m", name: "r-y", room: "r", sdp: played)))) == failure(Info.notFound, "r-y"))
    #expect(
      sent(scene.say(.play(StreamWish(id: "m", name: "y", room: "z", sdp: played)))) == failure(Info.noSession, "y"))
    #expect(
      sent(scene.say(.publish(StreamWish(id: "m", name: "y", sdp: ffmpegOffer)))) == failure(Info.restricted, "y"))
    #expect(sent(scene.say(.play(StreamWish(id: "m", name: "r-Ben-x", room: "r", sdp: "hello")))).count == 1)
    scene.say(.play(StreamWish(id: "m", name: "r-Ben-x", room: "r", sdp: played)))
    scene.core { $0.replied(.number(3), .failure(ErrorObject(.noCommonCodec))) }
    #expect(sent(scene.done) == failure(Info.noCodecs))
    #expect(
      sent(scene.say(.unsupported(word: "call", id: nil))).first.map { if case .fail = $0 { true } else { false } }
        == true)
  }

  @Test func messagesNameTheirWriters() {
    var scene = Scene()
    scene.join([person("p2", "Ben")])
    func message(_ user: String) -> Event {
      .chatMessage(Message(msgId: "m", room: "r", ts: 0, from: user, text: "hi"))
    }
    #expect(sent(scene.core { $0.heard(message("Ben")) }) == [.room("r", .message(from: "Ben", text: "hi"))])
    #expect(sent(scene.core { $0.heard(message("Nobody")) }) == [], "clients look people up without checking")
    scene.say(.data(operation: "m", .message(room: "r", to: ["Ben"], text: "hi")))
    #expect(scene.done == [.ask(1, .number(3), .chat(.send(ChatSendParams(room: "r", text: "hi", to: ["Ben"]))))])
    scene.core { $0.replied(.number(3), .failure(ErrorObject(.rateLimited))) }
    #expect(
      sent(scene.done) == [.dataStatus(operation: "m", isAccepted: false, info: ErrorObject(.rateLimited).message)])
    #expect(sent(scene.say(.data(operation: "n", .message(room: "r", to: ["Zoe"], text: "hi")))).count == 1)
    scene.core { $0.heard(.roomClosed(RoomClosed(room: "r", reason: .removed))) }
    #expect(scene.done == [.send(.fail(.init(info: "You are no longer in the room r")))])
    #expect(scene.session.members.isEmpty && scene.session.ended().spare == [1])
  }

  @Test func aStreamWithoutARoomHasARoomOfItsOwn() {
    var scene = Scene(appKey: "defaultApp")
    scene.say(.play(StreamWish(id: "m", name: "street", sdp: played)))
    guard case .hello(1, let hello, let identity)? = scene.done.first else {
      Issue.record("\(scene.done)")
      return
    }
    #expect(hello.user == "Anna-0123abcd" && identity.user == hello.user && identity.opensStreamRooms)
    scene.core { $0.replied(.number(1), .success(.hello(helloResult))) }
    #expect(scene.done == [.ask(1, .number(2), .room(.info(RoomParams(room: "street"))))])
    scene.core { $0.replied(.number(2), .failure(ErrorObject(.roomNotFound))) }
    #expect(
      scene.done == [
        .send(.fail(.init(stream: "m", name: "street", info: Info.notFound))),
        .leave(1, room: "street"),
      ])
    scene.say(.available(id: "a", name: "street"))
    scene.core(2) { $0.replied(.number(1), .success(.hello(helloResult))) }
    let info = RoomInfo(name: "street", kind: "stream", media: .video, limit: 501, count: 1, publishers: 1)
    scene.core(2) { $0.replied(.number(2), .success(.roomInfo(info))) }
    #expect(
      scene.done == [
        .send(.available(id: "a", true, info: nil)),
        .leave(2, room: "street"),
      ])
    scene.say(.publish(StreamWish(id: "p", name: "street", sdp: ffmpegOffer)))
    scene.say(.stop(id: "p"))
    #expect(
      scene.done == [
        .send(.status(StreamReport(id: "p", name: "street", status: .unpublished))),
        .leave(3, room: "street"),
      ])
  }

  @Test func oneClientHasOnlySoManyRoomsAndStreams() {
    var scene = Scene()
    for number in 0..<Session.mostMembers {
      let wish = ClientMessage.data(operation: "o", .join(room: "r\(number)", isRecorded: false))
      #expect(scene.say(wish).count == 1)
    }
    #expect(sent(scene.say(.data(operation: "o", .join(room: "x", isRecorded: false)))).count == 1)
    #expect(scene.session.members.count == Session.mostMembers)
  }
}

@Suite struct GateTests {
  @Test func floodsAreSlowedAndThenCutOff() {
    var gate = Gate(limits: DoorLimits(requestsPerSecond: 1, burst: 2, mostTooFast: 3), now: .zero)
    let verdicts = (0..<5).map { _ in gate.judge(.none, unanswered: 0, at: .zero) }
    #expect(verdicts.prefix(2) == [.pass, .pass])
    #expect(verdicts[2] == verdicts[3] && verdicts[2] != .pass)
    guard case .close = verdicts[4] else {
      Issue.record("\(verdicts)")
      return
    }
    guard case .pass = gate.judge(.none, unanswered: 0, at: .zero + .seconds(10)) else {
      Issue.record("another message")
      return
    }
  }

  @Test func mistakesInARowEndIt() {
    var gate = Gate(limits: DoorLimits(badInARow: 3), now: .zero)
    #expect(gate.judge(.malformed("a"), unanswered: 0, at: .zero) == .refuse("a"))
    #expect(gate.judge(.none, unanswered: 0, at: .zero) == .pass)
    #expect(gate.judge(.none, unanswered: 64, at: .zero) != .pass)
    let verdicts = (0..<3).map { _ in gate.judge(.malformed("a"), unanswered: 0, at: .zero) }
    guard case .close = verdicts[2] else {
      Issue.record("\(verdicts)")
      return
    }
    #expect(!gate.isIdle(at: .zero + .seconds(30)) && gate.isIdle(at: .zero + .seconds(31)))
  }
}

@Suite struct StreamNameTests {
  /// Neither by a label of the same form nor by foreseeing the name that is made up for somebody.
  @Test func nobodyHasAStreamInAnothersName() {
    var people = People(room: "r")
    _ = people.update(person("p1", "Alice", [track("a", .audio)]))
    let alices = people[login: "Alice"]?.streams.first?.name
    var others = People(room: "r")
    _ = others.update(person("p2", "Mallory", [track("m", .audio, label: alices ?? "")]))
    _ = others.update(person("p1", "Alice", [track("a", .audio)]))
    #expect(others.stream(named: alices ?? "")?.trackIDs == ["a"])
    #expect(others[login: "Mallory"]?.streams.first?.name.hasPrefix("r-Mallory-") == true)
  }

  @Test func aMuteChangesNoName() {
    var people = People(room: "r")
    _ = people.update(
      person("p1", "Ben", [track("a", .audio, label: "r-Ben-1"), track("v", .video, label: "r-Ben-1")]))
    #expect(people.change("p1") { $0[0].muted = true }.isEmpty)
    #expect(people.stream(named: "r-Ben-1")?.muted == [.audio: true, .video: false])
  }

  /// A stream outside of rooms is a user of its own in the core, and uses up what the one behind it may ask for.
  @Test func namesThatAreMadeUpCountAsTheirUser() {
    var scene = Scene(appKey: "other")
    let stream = scene.say(.publish(StreamWish(id: "s", name: "show", sdp: played))).last
    let room = scene.say(.data(operation: "j", .join(room: "r", isRecorded: false))).last
    guard case .hello(_, _, let made)? = stream, case .hello(_, _, let own)? = room else { return #expect(Bool(false)) }
    #expect(made.user == "Anna-0123abcd" && made.countsAs == "Anna" && own.user == "Anna" && own.countsAs == nil)
  }
}
