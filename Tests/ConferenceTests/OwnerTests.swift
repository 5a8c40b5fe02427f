// Sessions and rooms exchange values: what rooms tell sessions comes in one order, and what sessions say of themselves holds at once.

import Basics
import RoostProtocol
import Testing

@testable import Conference

@Suite struct OwnerTests {
  /// A table with one session, on connection 1.
  private struct Table {
    var sessions: SessionTable
    let id = SessionID(7)
    let connection = ConnectionID(1)

    init() {
      var random: any RandomNumberGenerator & Sendable = SplitMix64(seed: 1)
      let rules = ConferenceRules.test
      sessions = SessionTable(replayBytesPerNetwork: rules.replayBytesPerNetwork)
      let identity = Identity(user: "A", device: "d", displayName: "A", rights: .all, isVerified: false)
      let session = Session(
        id, identity, HelloParams(user: "A"), on: connection, nil, rules, random: &random, at: Self.now)
      var step = Self.step()
      sessions.insert(session, &step)
    }

    static let now = Now(instant: .zero, wallMilliseconds: 0)
    static func step() -> Step { Step(at: now, after: Numbers(), keepsRecords: false) }

    /// What has come of a step, by what clients would see of it.
    mutating func settle(_ step: consuming Step) -> [String] {
      sessions.settle(&step)
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
    let room = RoomSnapshot(
      room: "demo", kind: "room", media: .video, limit: 1, count: 1, seq: 0, selfId: "p1", participants: [], chat: [])
    var step = Table.step()
    step.tell(.sessionReplaced, to: table.id)
    step.answer(RequestKey(session: table.id, id: .number(3)), .success(.room(room)))
    step.tell(.sessionReplaced, to: table.id)
    let seen = table.settle(step)
    #expect(seen[1].hasPrefix("reply") && seen[1].hasSuffix("at 1") && seen[2] == "session.replaced 2 on 1")
  }

  /// What was said before a connection goes was said to it; what comes later waits for the resume.
  @Test func whatWasToldBeforeALossGoesToTheConnectionOfThen() {
    var table = Table()
    var step = Table.step()
    step.tell(.sessionReplaced, to: table.id)
    table.sessions.disconnect(table.id, &step)
    step.tell(.sessionReplaced, to: table.id)
    let seen = table.settle(step)
    #expect(seen == ["session.replaced 1 on 1"])
    #expect(table.sessions[table.id]?.log.seq == 2)
  }

  @Test func whoSitsWhereIsToldInTheSameOrder() {
    var table = Table()
    var step = Table.step()
    step.tellSeated(table.id, on: SeatID(1), in: "demo")
    step.answer(RequestKey(session: table.id, id: .number(3)), .success(.empty))
    step.tellUnseated(table.id)
    #expect(table.sessions[table.id]?.seat == nil, "before it is settled")
    _ = table.settle(step)
    #expect(table.sessions[table.id]?.seat == nil)
    var next = Table.step()
    next.tellSeated(table.id, on: SeatID(2), in: "hall")
    _ = table.settle(next)
    #expect(table.sessions[table.id]?.place?.room == "hall")
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
  }
}
