// Sessions and rooms exchange values: what rooms tell sessions comes in one order, and what sessions say of themselves holds at once.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct OwnerTests {
  /// Sessions with one of them, on connection 1.
  private struct Table {
    var sessions: Sessions
    let id: SessionID
    let connection = ConnectionID(1)

    init() {
      sessions = Sessions(.test)
      let identity = Identity(user: "A", device: "d", displayName: "A", rights: .all, isVerified: false)
      var step = Self.step()
      sessions.apply(.hello(Hello(HelloParams(user: "A"), of: identity, id: .number(1), on: connection)), &step)
      id = sessions.session(on: connection) ?? SessionID(0)
      while step.next() != nil {}
    }

    static let now = Now(instant: .zero, wallMilliseconds: 0)
    static func step() -> Step { Step(at: now, after: Numbers(), keepsRecords: false) }

    mutating func send(_ message: SessionMessage) -> [String] {
      var step = Self.step()
      step.send(.sessions(message))
      return settle(step)
    }

    /// What has come of a step, by what clients would see of it. Nobody else is there who is told anything.
    mutating func settle(_ step: consuming Step) -> [String] {
      while let message = step.next() {
        if case .sessions(let message) = message { sessions.apply(message, &step) }
      }
      return step.end().map { effect in
        switch effect {
        case .client(.event(let connection, let message)):
          "\(message.event.name.rawValue) \(message.seq) on \(connection)"
        case .client(.reply(_, let id, .success(.room(let room)))): "reply \(id) at \(room.seq)"
        case .client(.reply(_, let id, _)): "reply \(id)"
        case .client(.closeConnection(let connection, _)): "close \(connection)"
        default: "other"
        }
      }
    }
  }

  private static let room = RoomSnapshot(
    room: "demo", kind: "room", media: .video, limit: 1, count: 1, seq: 0, selfId: "p1", participants: [], chat: [])

  @Test func whatSessionsAreToldIsNumberedInPlaceAndInOrder() {
    var table = Table()
    var step = Table.step()
    step.count(.joined)
    step.tell(.sessionReplaced, to: table.id)
    step.count(.joined)
    step.tell(.sessionReplaced, to: [table.id])
    step.add(.closeConnection(table.connection, .bye))
    let seen = table.settle(step)
    #expect(
      seen == ["other", "session.replaced 1 on 1", "other", "session.replaced 2 on 1", "close 1"])
  }

  /// A room in a reply stands at the event before the reply, though others follow in the same step.
  @Test func aRoomInAReplyStandsAtTheEventsBeforeIt() {
    var table = Table()
    var step = Table.step()
    step.tell(.sessionReplaced, to: table.id)
    step.answer(RequestKey(session: table.id, id: .number(3)), .success(.room(Self.room)))
    step.tell(.sessionReplaced, to: table.id)
    let seen = table.settle(step)
    #expect(seen[1].hasPrefix("reply") && seen[1].hasSuffix("at 1") && seen[2] == "session.replaced 2 on 1")
  }

  /// What was said before a connection goes was said to it; what comes later waits for the resume.
  @Test func whatWasToldBeforeALossGoesToTheConnectionOfThen() {
    var table = Table()
    var step = Table.step()
    step.tell(.sessionReplaced, to: table.id)
    step.send(.sessions(.closed(table.connection, clean: false)))
    step.tell(.sessionReplaced, to: table.id)
    let seen = table.settle(step)
    #expect(seen == ["session.replaced 1 on 1"])
    #expect(table.sessions.seq(of: table.id) == 2)
  }

  /// An answer between two changes of a seat is kept as that of the first: asked for again, it is made anew for that seat alone.
  @Test func whoSitsWhereIsToldInTheSameOrder() {
    var table = Table()
    var step = Table.step()
    let request = Request.room(.list(RoomListParams()))
    _ = table.send(.recognize(Action(.connection(table.connection, .number(3)), .request(request, from: nil))))
    step.tellSeated(table.id, on: SeatID(1), in: "demo")
    step.answer(RequestKey(session: table.id, id: .number(3)), .success(.room(Self.room)))
    step.tellUnseated(table.id)
    _ = table.settle(step)
    let known = table.sessions.table.begin(request, .number(3), of: table.id)
    #expect(known.map { if case .seated(SeatID(1), _) = $0 { true } else { false } } == true)
    #expect(table.sessions.place(of: table.id) == nil)
    var next = Table.step()
    next.tellSeated(table.id, on: SeatID(2), in: "hall")
    _ = table.settle(next)
    #expect(table.sessions.place(of: table.id)?.room == "hall")
  }

  /// Rooms act on what came to them last: a lost socket, one that owes an answer, one that is back.
  @Test func whatASessionSaysOfItselfHoldsInItsRoomAtOnce() throws {
    let scene = Scene()
    let (a, _) = try scene.two()
    let seat = try scene.seat(a)
    func presence() -> Presence? { scene.core.rooms.table.seats[seat]?.member.presence }
    scene.apply(.connectionOverdue(a.connection, true))
    #expect(presence()?.isOverdue == true && presence()?.isConnected == true)
    let lost = scene.now.instant
    scene.cut(a)
    #expect(presence()?.isConnected == false && presence()?.isOverdue == false && presence()?.lostAt == lost)
    _ = try scene.resume(a).get()
    #expect(presence()?.isConnected == true && presence()?.lostAt == nil)
  }

  /// Rooms say themselves who may know of one: nobody has to have looked before them.
  @Test func roomsTellNobodyOfARoomWithoutTheRight() throws {
    let scene = Scene()
    scene.rights = [.chat]
    let client = scene.client("G")
    let session = try #require(scene.core.sessions.session(on: client.connection))
    let key = RequestKey(session: session, id: .number(7))
    for (facts, expected) in [(scene.core.sessions.facts(of: session), ErrorCode.forbidden), (nil, .notLoggedIn)] {
      var step = Table.step()
      let info = Request.room(.info(RoomParams(room: "demo")))
      scene.core.rooms.apply(.serve(MemberRequest(info, key, facts, nil, isInCall: false)), &step)
      var codes: [ErrorCode?] = []
      while let message = step.next() {
        if case .sessions(.answer(key, let result)) = message { codes.append(result.error?.code) }
      }
      #expect(codes == [expected])
    }
    #expect(scene.code(client, .room(.info(RoomParams(room: "demo")))) == .forbidden)
  }

  /// Rooms keep nothing of a session that is over, though it was put out of one.
  @Test func roomsForgetWhoIsGone() throws {
    let scene = Scene()
    let (a, b) = try scene.two(in: "x")
    _ = try scene.operate(.remove(user: b.user, room: "x")).get()
    #expect(scene.core.rooms.table.stays.count == 2)
    for client in [a, b] { scene.cut(client, clean: true) }
    #expect(scene.core.rooms.table.stays.isEmpty && scene.core.rooms.media.carried.isEmpty)
  }

  /// An offer counts when it comes: one that the room refuses has been made all the same. Who has no seat makes none.
  @Test func offersCountWhenTheyCome() throws {
    var rules = ConferenceRules.test
    (rules.offersPerSecond, rules.offerBurst) = (1, 2)
    let scene = Scene(rules)
    let a = scene.client("A")
    let video = PublishOfferParams(
      pc: .publish, sdp: "offer", tracks: [AnnouncedTrack(mid: "0", kind: .video, label: "")])
    let offer = Request.peerConnection(.offer(video))
    for _ in 0..<5 { #expect(scene.code(a, offer) == .notJoined) }
    _ = try scene.join(a, "voice").get()
    for _ in 0..<2 { #expect(scene.code(a, offer) == .mediaNotAllowed) }
    #expect(scene.code(a, offer) == .rateLimited)
    // Those to receive too, of a client that has not said that it offers.
    let b = scene.client("B")
    _ = try scene.join(b, "voice").get()
    let toReceive = Request.peerConnection(.offer(PublishOfferParams(pc: .subscribe, sdp: "offer", tracks: [])))
    for _ in 0..<2 { #expect(scene.code(b, toReceive) == .invalidState) }
    #expect(scene.code(b, toReceive) == .rateLimited)
  }

  /// So do changes of views, on the first connections and on those of doors.
  @Test func changesOfViewsCountWhenTheyCome() throws {
    var rules = ConferenceRules.test
    (rules.showsPerSecond, rules.showBurst) = (1, 2)
    let scene = Scene(rules)
    let (a, b) = try scene.two()
    let show = Request.view(.show(ViewShowParams(views: [ViewWish(subscriptionId: "s9999")])))
    let codes = (0..<3).map { _ in scene.code(a, show) }
    #expect(codes[0] == codes[1] && codes[0] != nil && codes[0] != .rateLimited && codes[2] == .rateLimited)
    let refusals = (0..<3).map { _ -> ErrorCode? in
      let id = b.makeID()
      scene.apply(.stream(b.connection, id, .show(MediaConnectionID(2), tracks: [])))
      return b.replies[id]?.last?.error?.code
    }
    #expect(refusals == [.notSubscribed, .notSubscribed, .rateLimited])
  }
}
