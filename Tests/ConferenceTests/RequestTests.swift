// Requests that come twice: one effect, a true reply, and a bound on what is remembered.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct RequestTests {
  @Test func aRequestThatComesTwiceHasOneEffect() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let send = Request.chat(.send(ChatSendParams(room: "demo", text: "once")))
    let first = scene.request(a, send, id: .string("k"))
    #expect(scene.request(a, send, id: .string("k")) == first)
    scene.resume(a)
    #expect(scene.request(a, send, id: .string("k")) == first, "also after a resume")
    #expect(b.takeNames() == [.chatMessage])
    let offer = Request.peerConnection(
      .offer(
        PublishOfferParams(pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .audio)])))
    let published = scene.request(a, offer, id: .string("o"))
    #expect(scene.request(a, offer, id: .string("o")) == published)
    #expect(b.takeNames() == [.trackPublished] && scene.core.gauges.tracks == 1)
    let refused = scene.request(a, .track(.mute(TrackParams(trackId: "t999"))), id: .string("m"))
    #expect(scene.request(a, .track(.mute(TrackParams(trackId: "t999"))), id: .string("m")) == refused)
    // The 128th after it pushes it out.
    for _ in 0..<128 { scene.request(a, .room(.list())) }
    #expect(scene.request(a, send, id: .string("k")) != first)
    #expect(b.takeNames() == [.chatMessage])
  }

  /// Too fast, too full, about to stop: these pass by themselves, and nothing was done.
  @Test func aRefusalThatMayPassIsTriedAgain() throws {
    var rules = ConferenceRules.test
    (rules.chatPerSecond, rules.chatBurst, rules.maxRooms) = (1, 1, 1)
    let scene = Scene(rules)
    let (a, b) = try scene.two()
    scene.request(a, .chat(.send(ChatSendParams(room: "demo", text: "one"))))
    let second = Request.chat(.send(ChatSendParams(room: "demo", text: "two")))
    for _ in 0..<2 { #expect(scene.request(a, second, id: .string("k")).error?.code == .rateLimited) }
    scene.advance(.seconds(1))
    let sent = scene.request(a, second, id: .string("k"))
    #expect(!sent.isFailure)
    #expect(scene.request(a, second, id: .string("k")) == sent, "what was done is not done again")
    #expect(b.takeNames() == [.chatMessage, .chatMessage])

    let (c, d) = (scene.client("C"), scene.client("D"))
    _ = try scene.join(c, "somewhere").get()
    let elsewhere = Request.room(.join(RoomJoinParams(room: "elsewhere")))
    #expect(scene.request(d, elsewhere, id: .number(-1)).error?.code == .overloaded)
    scene.request(c, .room(.leave(RoomParams(room: "somewhere"))))
    #expect(!scene.request(d, elsewhere, id: .number(-1)).isFailure)
    #expect(scene.core.gauges.rooms == 2)
  }

  @Test func anIdBelongsToOneRequest() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a).get()
    let mute = Request.track(.mute(TrackParams(trackId: "t999")))
    let refused = scene.request(a, mute, id: .string("k"))
    for other: Request in [
      .track(.unmute(TrackParams(trackId: "t999"))), .track(.mute(TrackParams(trackId: "t998"))), .room(.list()),
      .room(.leave(RoomParams(room: "demo"))),
    ] {
      let error = scene.request(a, other, id: .string("k")).error
      #expect(error?.code == .invalidRequest && error?.data.reason == "id_taken" && error?.data.field == "id")
    }
    #expect(scene.request(a, mute, id: .string("k")) == refused, "the first keeps its id")
    #expect(scene.core.gauges.participants == 1)
  }

  @Test func aJoinThatComesTwiceTellsTheRoomAsItIs() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    let join = Request.room(.join(RoomJoinParams(room: "demo", displayName: "Anna")))
    _ = scene.request(a, join, id: .string("k"))
    _ = try scene.join(b).get()
    guard case .success(.room(let room)) = scene.request(a, join, id: .string("k")) else {
      Issue.record("no snapshot")
      return
    }
    #expect(room.count == 2 && room.participants.count == 2 && room.seq == a.lastSeq)
    #expect(b.take().isEmpty && scene.counters[.joined] == 2, "nothing happens")
    scene.request(a, .room(.leave(RoomParams(room: "demo"))))
    _ = b.take()
    #expect(scene.request(a, join, id: .string("k")).error?.code == .notJoined, "a seat that was left stays left")
    #expect(b.take().isEmpty && scene.core.gauges.participants == 1)
  }

  /// What has changed since the first reply was told with a resume, and comes never again.
  @Test func anAnswerThatComesTwiceTellsTheCallAsItIs() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("a"), scene.client("b"), scene.client("c"))
    let start = Request.call(.start(CallStartParams(to: ["b", "c"], kind: .group, media: .audio)))
    guard case .callStarted(let started) = try scene.request(a, start, id: .string("s")).get() else {
      throw ErrorObject(.internalError)
    }
    let id = started.call.callId
    let accept = Request.call(.accept(CallAcceptParams(callId: id)))
    _ = scene.request(b, accept, id: .string("k"))
    _ = try scene.accept(c, id)
    let counted = scene.counters
    _ = (a.take(), b.take(), c.take())
    guard case .success(.callRoom(let again)) = scene.request(b, accept, id: .string("k")),
      case .success(.callStarted(let begun)) = scene.request(a, start, id: .string("s"))
    else {
      Issue.record("no snapshots")
      return
    }
    #expect(again.room.seq == b.lastSeq && again.room.participants.count == 3 && again.call.rev > started.call.rev)
    #expect(begun.room.seq == a.lastSeq && begun.room.participants.count == 3 && begun.call.rev == again.call.rev)
    #expect(begun.busy == started.busy && begun.unreachable == started.unreachable && begun.glare == nil)
    #expect(a.take().isEmpty && b.take().isEmpty && c.take().isEmpty && scene.counters == counted, "nothing happens")

    scene.request(b, .call(.hangup(CallHangupParams(callId: id))))
    #expect(scene.request(b, accept, id: .string("k")).error?.code == .notInCall)
    scene.request(a, .call(.end(CallParams(callId: id))))
    let over = scene.request(a, start, id: .string("s")).error
    #expect(over?.code == .callEnded && over?.data.reason != nil && over?.data.endedAt != nil)
    #expect(scene.core.gauges.calls == 0)
  }

  /// Nobody could be rung: the call is over before its caller hears of it.
  @Test func aStartThatCameToNothingSaysSoWhenItComesTwice() throws {
    let scene = Scene()
    let a = scene.client("a")
    _ = try scene.join(a).get()
    let start = Request.call(.start(CallStartParams(to: ["nobody"], kind: .oneToOne, media: .audio)))
    guard case .success(.callStarted(let result)) = scene.request(a, start, id: .string("s")) else {
      Issue.record("not started")
      return
    }
    let again = scene.request(a, start, id: .string("s")).error
    #expect(result.unreachable.map(\.user) == ["nobody"] && scene.core.gauges.calls == 0)
    #expect(again?.code == .callEnded && again?.data.reason == Reason.unreachable.rawValue)
  }

  @Test func readingIsReadingAgain() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a).get()
    let info = Request.room(.info(RoomParams(room: "demo")))
    _ = scene.request(a, info, id: .string("k"))
    _ = try scene.join(b).get()
    guard case .success(.roomInfo(let room)) = scene.request(a, info, id: .string("k")) else {
      Issue.record("no info")
      return
    }
    #expect(room.count == 2)
  }

  @Test func largeRepliesAreForgottenInTurn() {
    var window = RequestWindow(capacity: 128)
    let sdp = String(repeating: "x", count: RequestWindow.replyBytes / 4)
    func serve(_ id: Int64) -> RequestWindow.Known {
      let request = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "\(id)", tracks: nil)))
      let known = window.begin(.number(id), request)
      guard case .new = known else { return known }
      window.finish(.number(id), .init(.success(.published(PublishResult(sdp: sdp, tracks: []))), seat: nil))
      return known
    }
    for id in 1...4 { #expect(serve(Int64(id)).isNew) }
    for id in 1...4 { #expect(serve(Int64(id)).isDone) }
    #expect(serve(5).isNew && serve(1).isForgotten && serve(2).isDone && serve(5).isDone)
    // Whatever its size, the last is there.
    let huge = Result<Reply, ErrorObject>.success(
      .published(PublishResult(sdp: String(repeating: sdp, count: 9), tracks: [])))
    #expect(window.begin(.number(6), .room(.list())).isNew)
    window.finish(.number(6), .init(huge, seat: nil))
    #expect(serve(5).isForgotten && window.begin(.number(6), .room(.list())).isDone)
    // Small ones do not count, and what leaves the window gives its bytes back.
    for id in 0..<128 {
      #expect(window.begin(.number(1_000 + Int64(id)), .peerConnection(.restart(RestartParams(pc: .subscribe)))).isNew)
      window.finish(.number(1_000 + Int64(id)), .init(.success(.empty), seat: nil))
    }
    for id in 1...4 { #expect(serve(Int64(id)).isNew) }
    for id in 1...4 { #expect(serve(Int64(id)).isDone) }
  }

  /// The bytes of a call are reckoned and not counted: never fewer than it takes, however full its fields are.
  @Test(arguments: ["a", "\"", "ü"]) func aCallIsReckonedAtNoLessThanItTakes(letter: String) throws {
    let name = String(repeating: letter, count: ProtocolLimits.nameBytes / letter.utf8.count)
    let member = Member(
      user: name, displayName: name, state: .ringing, reason: .busy, media: .audio, invitedBy: name,
      joinedAt: 1_700_000_000_000, leftAt: 1_700_000_000_000)
    for count in [1, 32] {
      let call = Call(
        callId: "c", room: "call:c", kind: .oneToMany, media: .video, answerPolicy: .firstWins, rejectPolicy: .anyEnds,
        busyPolicy: .ring, state: .active, rev: 3, caller: name, members: Array(repeating: member, count: count),
        mediaRequest: MediaRequest(by: name, media: .audio),
        extra: RawJSON(.string(String(repeating: letter, count: 2_000))),
        createdAt: 1_700_000_000_000, startedAt: 1_700_000_000_000, endedAt: 1_700_000_000_000, reason: .hangup,
        by: name,
        expiresAt: 1_700_000_000_000, remainingMs: 30_000)
      let reply = Reply.call(CallResultObject(call: call))
      guard case .reply(_, let bytes) = RequestWindow.Outcome(.success(reply), seat: nil) else {
        Issue.record("it is not kept")
        continue
      }
      let taken = try ServerFrame.reply(.number(0), reply).encode().count
      #expect(bytes >= taken && bytes < taken * 3)
    }
  }

  @Test func whatIsTriedAgainMovesToTheEndOfTheWindow() {
    var window = RequestWindow(capacity: 4)
    let passing = RequestWindow.Outcome(.failure(ErrorObject(.rateLimited)), seat: nil)
    for id in 1...3 {
      #expect(window.begin(.number(Int64(id)), .room(.list())).isNew)
      window.finish(.number(Int64(id)), passing)
    }
    #expect(window.begin(.number(1), .room(.list())).isNew)
    window.finish(.number(1), .init(.success(.empty), seat: nil))
    for id in 4...6 { #expect(window.begin(.number(Int64(id)), .room(.list())).isNew) }
    #expect(window.begin(.number(1), .room(.list())).isDone)
    #expect(window.begin(.number(7), .room(.list())).isNew && window.begin(.number(1), .room(.list())).isNew)
  }

  /// What waits keeps its id, up to a bound, and then its outcome as long as one that came when it was there.
  @Test func soManyAreHeldAndNotOneMore() {
    func ask(_ id: Int64) -> Request { .message(.answer(MessageAnswerParams(requestId: "q\(id)", data: 1))) }
    var window = RequestWindow(capacity: 1)
    let most = Int64(RequestWindow.mostHeld)
    // Two have places of their own.
    for id in 0..<most + 2 { #expect(window.begin(.number(id), ask(id)).isNew) }
    for id in 0..<most + 2 { #expect(window.begin(.number(id), ask(id)).isPending) }
    #expect(window.begin(.number(most + 2), ask(most + 2)).isNew)
    #expect(window.begin(.number(0), ask(0)).isPending && window.begin(.number(most), ask(most)).isNew)
    window.finish(.number(0), .init(.success(.empty), seat: nil))
    #expect(window.begin(.number(0), ask(0)).isDone)
    for id in 1_000...1_001 as ClosedRange<Int64> {
      #expect(window.begin(.number(0), ask(0)).isDone && window.begin(.number(id), ask(id)).isNew)
      window.finish(.number(id), .init(.success(.empty), seat: nil))
    }
    #expect(window.begin(.number(0), ask(0)).isNew, "the control")
    #expect(window.begin(.string("a"), .room(.list())).isNew && window.begin(.string("b"), .room(.list())).isNew)
    #expect(window.begin(.string("a"), .room(.list())).isNew, "of others there is none")
  }

  /// Answers of other clients push no reply out that is of the server, and the last of them are kept.
  @Test func answersPushNoOtherReplyOut() {
    var window = RequestWindow(capacity: 128)
    let large = String(repeating: "x", count: RequestWindow.replyBytes / 8)
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "v=0", tracks: nil)))
    #expect(window.begin(.string("offer"), offer).isNew)
    window.finish(.string("offer"), .init(.success(.published(PublishResult(sdp: large, tracks: []))), seat: nil))
    func ask(_ id: Int64) -> RequestWindow.Known {
      window.begin(.number(id), .message(.request(MessageRequestParams(room: "a", to: "b", topic: "x", data: 1))))
    }
    for id in 0..<16 as Range<Int64> {
      #expect(ask(id).isNew)
      let answer = MessageAnswered(from: "b", data: RawJSON(.string(large)))
      window.finish(.number(id), .init(.success(.messageAnswered(answer)), seat: nil))
    }
    #expect(window.begin(.string("offer"), offer).isDone)
    #expect(
      (0..<16 as Range<Int64>).map { ask($0).isDone } == Array(repeating: false, count: 9)
        + Array(repeating: true, count: 7))
  }
}

extension RequestWindow.Known {
  fileprivate var isPending: Bool { if case .pending = self { true } else { false } }
  fileprivate var isNew: Bool { if case .new = self { true } else { false } }
  fileprivate var isDone: Bool { if case .done = self { true } else { false } }
  fileprivate var isForgotten: Bool { if case .forgotten = self { true } else { false } }
}

extension Result where Success == Reply, Failure == ErrorObject {
  /// The refusal, if it is one.
  var error: ErrorObject? { if case .failure(let error) = self { error } else { nil } }
  /// Whether it is a refusal.
  var isFailure: Bool { error != nil }
}
