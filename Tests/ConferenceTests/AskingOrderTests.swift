// Where what has waited for an application's word is done, what passes it, and how much may wait.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct AskingOrderTests {
  private static func join(_ room: String) -> Request { .room(.join(RoomJoinParams(room: room))) }

  private static func offer(bytes: Int) -> Request {
    .peerConnection(
      .offer(
        PublishOfferParams(
          pc: .publish, sdp: String(repeating: "x", count: bytes),
          tracks: [AnnouncedTrack(mid: "0", kind: .audio, label: "l")])))
  }

  private static func publish(_ stream: UInt64) -> StreamRequest {
    .publish(
      MediaConnectionID(stream),
      PublishOfferParams(pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .audio, label: "l")]))
  }

  // MARK: - The seat that was asked about

  /// A yes to publish in one room publishes in no other.
  @Test(arguments: [true, false])
  func aYesIsForTheSeatThatWasAskedAbout(staysThere: Bool) throws {
    let here = Asked([.publish])
    _ = try here.scene.join(here.anna).get()
    let (offer, behind) = (here.send(Asked.offer), here.send(Asked.offer))
    #expect(here.scene.questions.count == 1, "the second waits behind the first")
    if !staysThere { here.send(Self.join("hall")) }
    here.answer(.yes)
    guard staysThere else {
      #expect(here.error(offer)?.code == .notJoined && here.error(behind)?.code == .notJoined)
      #expect(here.scene.core.rooms.media.tracks.isEmpty && here.isQuiet)
      return #expect(here.scene.counters[.publishRefused(.notJoined)] == 1)
    }
    #expect(here.isDone(offer) && here.scene.questions.count == 2)
    here.answer(.yes)
    #expect(here.isDone(behind) && here.isQuiet)
  }

  /// What is said of one seat waits for nothing that was said of another.
  @Test func anOfferOfAnotherSeatIsAskedAboutAtOnce() throws {
    let here = Asked([.publish])
    _ = try here.scene.join(here.anna).get()
    let first = here.send(Asked.offer)
    here.send(Self.join("hall"))
    let second = here.send(Asked.offer)
    #expect(here.scene.questions.map(\.question.room) == ["demo", "hall"])
    here.answer(.yes, 1)
    #expect(here.isDone(second) && here.scene.core.rooms.media.tracks.count == 1)
    here.answer(.yes, 0)
    #expect(here.error(first)?.code == .notJoined && here.scene.core.rooms.media.tracks.count == 1)
  }

  /// An offer behind a join is for the seat that comes of it, and for no other.
  @Test(arguments: [true, false])
  func anOfferBehindAJoinIsForThatRoom(isAllowed: Bool) throws {
    let here = Asked([.join])
    let join = here.send(Self.join("one"))
    let offer = here.send(Asked.offer)
    let other = here.send(Self.join("two"))
    here.answer(.yes, 1)
    #expect(here.isDone(other) && here.reply(offer) == nil && here.reply(join) == nil)
    here.answer(isAllowed ? .yes : .no(), 0)
    #expect(here.isQuiet && here.isDone(join) == isAllowed)
    if isAllowed { #expect(here.isDone(offer)) } else { #expect(here.error(offer)?.code == .notJoined) }
    let rooms = here.scene.core.rooms
    #expect(rooms.media.tracks.values.map { rooms.table.name(of: $0.room) } == (isAllowed ? ["one"] : []))
  }

  /// Nor does a hang-up behind an answer that was refused end another call.
  @Test(arguments: [true, false])
  func aHangUpBehindAnAnswerEndsNoOtherCall(isAllowed: Bool) throws {
    let here = Asked([.callAccept])
    let (ben, _) = (here.scene.client("B"), here.scene.client("C"))
    let call = try here.scene.start(here.anna, ["B"]).call.callId
    let accept = here.send(.call(.accept(CallAcceptParams(callId: call))), from: ben)
    let hangup = here.send(.call(.hangup(CallHangupParams())), from: ben)
    let other = try here.scene.start(ben, ["C"]).call.callId
    #expect(here.reply(hangup, ben) == nil)
    here.answer(isAllowed ? .yes : .no())
    #expect((here.reply(accept, ben)?.error == nil) == isAllowed && here.isQuiet)
    #expect(here.reply(hangup, ben)?.error?.code == (isAllowed ? nil : .notInCall))
    #expect(here.scene.core.calls.isRunning(CallID(other)) == !isAllowed, "who answers leaves the other call")
  }

  /// A join may wait behind what brings nobody anywhere. Who hangs up after it is out.
  @Test func whatNeedsACallComesBehindAJoinThatWaitsItself() throws {
    let group = try Group()
    let here = Asked(group.scene, group.a)
    _ = here.scene.client("e")
    here.scene.core.ask(about: [.callInvite])
    let invite = here.send(.call(.invite(CallInviteParams(callId: group.id, users: ["e"]))))
    #expect(here.isDone(here.send(.call(.hangup(CallHangupParams(callId: group.id))))))
    let join = here.send(.call(.join(CallJoinParams(callId: group.id))))
    let behind = [Asked.offer, .call(.hangup(CallHangupParams()))].map { here.send($0) }
    #expect(here.reply(join) == nil && behind.allSatisfy { here.reply($0) == nil })
    here.answer(.yes)
    #expect(here.error(invite)?.code == .notInCall && here.isDone(join))
    #expect(behind.allSatisfy { here.isDone($0) } && here.isQuiet)
    #expect(here.scene.core.seat(of: here.anna.connection) == nil, "who has hung up is out")
  }

  // MARK: - What waits for nothing

  /// What is about the seat that one has is served at once, however much waits for another.
  @Test func whatIsAboutOnesSeatIsServedAtOnce() throws {
    let here = Asked([])
    let seatless = here.scene.client("S")
    _ = try here.scene.join(here.anna).get()
    let track = try #require(try here.scene.publish(here.anna, ["0:audio"])["0"])
    here.scene.core.ask(about: [.join])
    here.scene.apply(.serverOffer(try here.scene.seat(here.anna), ServerOffer(id: 1, sdp: "offer", lines: [])))
    let join = here.send(Self.join("hall"))
    for _ in 0..<Asking.most { here.send(.room(.info(RoomParams(room: "hall")))) }
    let ids = [
      Request.track(.mute(TrackParams(trackId: track))), .track(.unmute(TrackParams(trackId: track))),
      .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "answer"))),
      .peerConnection(.restart(RestartParams(pc: .subscribe))), .view(.open(ViewOpenParams(count: 1))),
      .track(.unpublish(TrackParams(trackId: track))), Asked.offer,
    ].map { here.send($0) }
    for id in ids { #expect(here.isDone(id), "\(String(describing: here.error(id)))") }
    #expect(here.reply(join) == nil)
    // Who has no seat has nothing to name there.
    here.send(Self.join("hall"), from: seatless)
    let mute = here.send(.track(.mute(TrackParams(trackId: track))), from: seatless)
    #expect(here.reply(mute, seatless)?.error?.code == .notJoined)
  }

  /// Nobody stays in a call for the sake of an invitation.
  @Test func whoIsInACallLeavesItAtOnce() throws {
    let here = Asked([.callInvite])
    let ben = here.scene.client("B")
    _ = here.scene.client("C")
    let call = try here.scene.talk(here.anna, ben).call.callId
    let invite = here.send(.call(.invite(CallInviteParams(callId: call, users: ["C"]))))
    let get = here.send(.call(.get(CallParams(callId: call))))
    let hangup = here.send(.call(.hangup(CallHangupParams(callId: call))))
    #expect(here.isDone(hangup) && here.reply(invite) == nil && here.reply(get) == nil)
    here.answer(.yes)
    #expect(here.error(invite)?.code == .callEnded && here.isDone(get) && here.isQuiet)
  }

  // MARK: - What ends something

  /// Where as much waits as may, who leaves takes back what they have asked for.
  @Test func whoLeavesIsNotRefusedForTheBound() throws {
    let here = Asked([.join])
    let join = here.send(Asked.join)
    let ids = (0..<Asking.most).map { _ in here.send(Asked.info) }
    let leave = here.send(Asked.leave)
    #expect(here.isDone(leave) && here.error(join)?.code == .rateLimited)
    #expect(ids.allSatisfy { here.error($0)?.code == .rateLimited } && here.isQuiet)
    here.answer(.yes)
    #expect(here.scene.core.rooms.table.seats.isEmpty && here.error(join)?.code == .rateLimited)
  }

  @Test func whoRejectsIsNotRefusedForTheBound() throws {
    let here = Asked([.callAccept])
    let ben = here.scene.client("B")
    let call = try here.scene.start(here.anna, ["B"]).call.callId
    let accept = here.send(.call(.accept(CallAcceptParams(callId: call))), from: ben)
    for _ in 0..<Asking.most { here.send(.call(.get(CallParams(callId: call))), from: ben) }
    let reject = here.send(.call(.reject(CallRejectParams(callId: call))), from: ben)
    #expect(here.reply(reject, ben)?.error == nil && here.reply(reject, ben) != nil)
    #expect(here.reply(accept, ben)?.error?.code == .rateLimited && here.scene.core.calls.count == 0)
    here.answer(.yes)
    #expect(here.scene.core.calls.count == 0 && here.isQuiet)
  }

  /// A stream that is closed before its seat is there waits where it was opened, and is over then.
  @Test(arguments: [true, false])
  func aCloseComesBehindItsStream(closes: Bool) throws {
    let here = Asked([.join])
    here.send(Self.join("one"))
    let (publish, close) = (here.anna.makeID(), here.anna.makeID())
    here.scene.apply(.stream(here.anna.connection, publish, Self.publish(2)))
    here.send(Self.join("two"))
    if closes { here.scene.apply(.stream(here.anna.connection, close, .close(MediaConnectionID(2)))) }
    here.answer(.yes, 1)
    #expect(here.reply(publish) == nil && here.reply(close) == nil)
    here.answer(.yes, 0)
    #expect(here.isDone(publish) && here.isDone(close) == closes && here.isQuiet)
    #expect(here.scene.core.rooms.media.tracks.count == (closes ? 0 : 1))
  }

  // MARK: - Rates

  @Test func anOfferThatWaitsForASeatTakesFromTheRateOnce() throws {
    let here = Asked([.join, .publish]) { ($0.offersPerSecond, $0.offerBurst) = (0.001, 1) }
    here.send(Asked.join)
    let (first, second) = (here.send(Asked.offer), here.send(Asked.offer))
    here.answer(.yes)
    #expect(here.scene.questions.count == 2 && here.error(second)?.code == .rateLimited)
    here.answer(.yes)
    #expect(here.isDone(first) && here.isQuiet, "it is paid for once")
  }

  @Test func viewsThatWaitForASeatTakeFromTheRate() throws {
    let here = Asked([.join]) { ($0.showsPerSecond, $0.showBurst) = (0.001, 1) }
    here.scene.core.ask(about: [])
    let ben = here.scene.client("B")
    _ = try here.scene.join(ben).get()
    let track = try #require(try here.scene.publish(ben, ["0:audio"])["0"])
    here.scene.core.ask(about: [.join])
    here.send(Asked.join)
    let ids = ([2, 3] as [UInt64]).map { stream in
      let id = here.anna.makeID()
      here.scene.apply(
        .stream(
          here.anna.connection, id, .play(MediaConnectionID(stream), tracks: [track], lines: [.audio], sdp: "offer")))
      return id
    }
    here.answer(.yes)
    #expect(here.isDone(ids[0]) && here.error(ids[1])?.code == .rateLimited && here.isQuiet)
  }

  // MARK: - Bytes

  @Test func soManyBytesWaitAndNotOneMore() throws {
    let here = Asked([.join])
    let join = here.send(Asked.join)
    let ids = (0..<3).map { _ in here.send(Self.offer(bytes: ProtocolLimits.sdpBytes)) }
    #expect(ids.allSatisfy { here.reply($0) == nil }, "as much as one message may have")
    let late = here.send(Self.offer(bytes: ProtocolLimits.sdpBytes))
    #expect(here.error(late)?.code == .rateLimited && here.error(late)?.data.limit == 512 << 10)
    // All that its session waits with counts, and nobody else's.
    here.send(Self.join("hall"))
    #expect(here.error(here.send(Self.offer(bytes: ProtocolLimits.sdpBytes)))?.code == .rateLimited)
    let ben = here.scene.client("B")
    here.send(Self.join("hall"), from: ben)
    let his = here.send(Self.offer(bytes: ProtocolLimits.sdpBytes), from: ben)
    #expect(here.reply(his, ben) == nil)
    here.answer(.yes, 0)
    #expect(here.isDone(join) && ids.allSatisfy { here.isDone($0) })
    // What has gone on counts no more.
    #expect(here.isDone(here.send(Self.offer(bytes: ProtocolLimits.sdpBytes))))
  }

  /// What is asked about counts as well.
  @Test func soManyBytesAreAskedAboutAndNotOneMore() throws {
    let here = Asked([.publish])
    _ = try here.scene.join(here.anna).get()
    func publish(_ stream: UInt64) -> RequestID {
      let id = here.anna.makeID()
      var params = PublishOfferParams(pc: .publish, sdp: String(repeating: "x", count: ProtocolLimits.sdpBytes))
      params.tracks = [AnnouncedTrack(mid: "0", kind: .audio, label: "l")]
      here.scene.apply(.stream(here.anna.connection, id, .publish(MediaConnectionID(stream), params)))
      return id
    }
    let ids = (2...4).map { publish($0) }
    #expect(here.scene.questions.count == 3 && ids.allSatisfy { here.reply($0) == nil })
    #expect(here.error(publish(5))?.code == .rateLimited && here.scene.questions.count == 3)
  }
}
