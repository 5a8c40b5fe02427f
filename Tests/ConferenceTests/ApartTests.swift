// Sessions in two processes and rooms in a third, over links that take their time: what is decided is the same, and what others see of it is
// later by the links' delay. Numbers of each process have a beginning of their own.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Members
@testable import Rooms
@testable import Sessions

/// Two doors with sessions, and whoever has the rooms, in virtual time. Nobody calls here.
private final class Apart {
  /// One process.
  private enum Owner {
    case sessions(Sessions)
    case rooms(Rooms)
  }

  private struct Node {
    var owner: Owner
    var numbers: Numbers
  }

  /// What one client has heard, and when.
  struct Heard {
    var at: Instant
    var event: Event?
    var reply: Result<Reply, ErrorObject>?
  }

  private(set) var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  private(set) var heard: [ConnectionID: [Heard]] = [:]
  /// How long a message is on its way between a door and the rooms.
  let delays: [TimeDelta]
  private var nodes: [Node]
  /// The node that has the rooms of each door.
  private let roomsOf: [Int]
  private var under: [(at: Instant, order: Int, to: Int, message: OwnerMessage)] = []
  private var sent = 0
  private var lastRequest: Int64 = 0

  /// `share`: whether both doors have their rooms at one place, as they must.
  init(_ rules: ConferenceRules, delays: [TimeDelta], share: Bool = true) {
    self.delays = delays
    roomsOf = share ? [2, 2] : [2, 3]
    nodes = (0..<2).map { _ in Node(owner: .sessions(Sessions(rules)), numbers: Numbers()) }
    for _ in 2...3 {
      var step = Step(at: now, after: Numbers(), keepsRecords: false)
      nodes.append(Node(owner: .rooms(Rooms(rules, &step)), numbers: step.numbers))
    }
    for index in nodes.indices { nodes[index].numbers.skip(to: UInt64(index + 1) << 32) }
  }

  // MARK: - Clients

  func hello(_ user: String, at door: Int, isVerified: Bool = false) -> ConnectionID {
    lastRequest += 1
    let connection = ConnectionID(UInt64(lastRequest), door: DoorID(UInt16(door)))
    let identity = Identity(user: user, device: user, displayName: user, rights: .all, isVerified: isVerified)
    let params = HelloParams(user: user, deviceId: user)
    take(.sessions(.hello(Hello(params, of: identity, id: .number(lastRequest), on: connection))), at: door)
    return connection
  }

  func request(_ connection: ConnectionID, _ request: Request) {
    lastRequest += 1
    let action = Action(.connection(connection, .number(lastRequest)), .request(request, from: nil))
    take(.sessions(.recognize(action)), at: Int(connection.door.rawValue))
  }

  func join(_ connection: ConnectionID, _ room: String) {
    request(connection, .room(.join(RoomJoinParams(room: room))))
  }

  func cut(_ connection: ConnectionID) {
    take(.sessions(.closed(connection, clean: false)), at: Int(connection.door.rawValue))
  }

  func narrow(_ user: String, to rights: Rights, at door: Int) {
    take(.sessions(.operate(.narrow(user: user, to: rights, room: nil))), at: door)
  }

  /// When a client heard such an event first.
  func time(_ name: EventName, _ connection: ConnectionID) -> Instant? {
    heard[connection]?.first { $0.event?.name == name }?.at
  }

  /// Time passes, and messages come.
  func advance(_ delta: TimeDelta) {
    let end = now.advanced(by: delta)
    while let next = under.indices.min(by: { (under[$0].at, under[$0].order) < (under[$1].at, under[$1].order) }),
      under[next].at <= end.instant
    {
      let message = under.remove(at: next)
      now = now.advanced(by: message.at - now.instant)
      take(message.message, at: message.to)
    }
    now = end
  }

  // MARK: - Processes

  /// A message is there: what follows stays here, or goes on its way.
  private func take(_ message: OwnerMessage, at index: Int) {
    var step = Step(at: now, after: nodes[index].numbers, keepsRecords: false)
    step.send(message)
    while let message = step.next() { deliver(message, at: index, &step) }
    nodes[index].numbers = step.numbers
    for effect in step.end() {
      switch effect {
      case .client(.reply(let connection, _, let result)): hear(connection, nil, result)
      case .client(.event(let connection, let message)): hear(connection, message.event, nil)
      case .client(.broadcast(let receivers, _, let event)): for one in receivers { hear(one.connection, event, nil) }
      case .client, .media, .store, .outside, .operation, .goOn: break
      }
    }
  }

  private func hear(_ connection: ConnectionID, _ event: Event?, _ reply: Result<Reply, ErrorObject>?) {
    heard[connection, default: []].append(Heard(at: now.instant, event: event, reply: reply))
  }

  private func deliver(_ message: OwnerMessage, at index: Int, _ step: inout Step) {
    switch (message, nodes[index].owner) {
    case (.sessions(let message), .sessions(var sessions)):
      sessions.apply(message, &step)
      nodes[index].owner = .sessions(sessions)
    case (.rooms(let message), .rooms(var rooms)):
      rooms.apply(message, &step)
      nodes[index].owner = .rooms(rooms)
    case (.sessions(.tellAll(let event, let sessions)), .rooms):
      for session in sessions { post(.sessions(.tell(event, session)), from: index, to: door(of: session)) }
    case (.sessions(let message), .rooms):
      if let session = session(of: message) { post(.sessions(message), from: index, to: door(of: session)) }
    case (.rooms(let message), .sessions): post(.rooms(message), from: index, to: roomsOf[index])
    case (.actions(.known(let action)), .sessions(let sessions)):
      guard case .session(let key) = action.who, let request = action.wish.request else { return }
      let asked = MemberRequest(request, key, sessions.facts(of: key.session), nil, isInCall: false)
      post(.rooms(.serve(asked)), from: index, to: roomsOf[index])
    case (.calls(let message), _): tellCalls(message, &step)
    case (.actions, _): break
    }
  }

  /// Nobody is in a call.
  private func tellCalls(_ message: CallMessage, _ step: inout Step) {
    switch message {
    case .checkLeg(let hello, let old): step.send(.sessions(.begin(hello, insteadOf: old)))
    case .arrived(let arrival):
      let overview = CallOverview(ringing: [], current: nil, missed: 0)
      step.send(.sessions(.welcome(arrival.session, arrival.request, overview)))
    case .vacate(let session): step.send(.rooms(.leave(session)))
    default: break
    }
  }

  /// Of what rooms say to sessions.
  private func session(of message: SessionMessage) -> SessionID? {
    switch message {
    case .tell(_, let session), .seated(let session, _, _), .unseated(let session), .stream(let session, _, _): session
    case .answer(let key, _), .noteRefusal(let key, _, _, _): key.session
    default: nil
    }
  }

  private func door(of session: SessionID) -> Int { Int(session.rawValue >> 32) - 1 }

  private func post(_ message: OwnerMessage, from: Int, to: Int) {
    sent += 1
    under.append((now.instant + delays[min(from, to)], sent, to, message))
  }
}

extension Numbers {
  fileprivate mutating func skip(to number: UInt64) { last = number }
}

@Suite struct ApartTests {
  private static let delays: [TimeDelta] = [.milliseconds(7), .milliseconds(40)]

  private static func rules(seats: Int) -> ConferenceRules {
    var rules = ConferenceRules.test
    var hall = RoomRules(kind: "hall")
    (hall.videoSeats, hall.audioSeats) = (seats, seats)
    rules.rooms = ["hall": hall]
    return rules
  }

  /// How many of so many that join through two doors have a seat in the end, and how many were told that the room is full.
  private static func race(seed: UInt64, share: Bool) -> (seated: Int, full: Int) {
    var random = SplitMix64(seed: seed)
    let apart = Apart(rules(seats: 16), delays: delays.shuffled(using: &random), share: share)
    var waiting = (0..<60).map { apart.hello("u\($0)", at: $0 % 2) }
    apart.advance(.seconds(1))
    waiting.shuffle(using: &random)
    for client in waiting {
      apart.join(client, "hall")
      apart.advance(.milliseconds(.random(in: 0...3, using: &random)))
    }
    apart.advance(.seconds(1))
    let replies = waiting.compactMap { apart.heard[$0]?.last { $0.reply != nil }?.reply }
    let full = replies.count { if case .failure(let error) = $0 { error.code == .roomFull } else { false } }
    let seated = replies.count { if case .success(.room) = $0 { true } else { false } }
    return (seated, full)
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func theCapIsExactThoughDoorsRace(seed: UInt64) {
    let (seated, full) = Self.race(seed: seed, share: true)
    #expect(seated == 16 && full == 44)
  }

  /// The control: two who both decide about one room let too many in.
  @Test func twoWhoDecideLetTooManyIn() {
    #expect(Self.race(seed: 1, share: false).seated == 32)
  }

  @Test func othersSeeALossALinkLater() throws {
    let apart = Apart(Self.rules(seats: 4), delays: Self.delays)
    let (a, b) = (apart.hello("A", at: 0), apart.hello("B", at: 1))
    for client in [a, b] { apart.join(client, "hall") }
    apart.advance(.seconds(1))
    let lost = apart.now.instant
    apart.cut(a)
    apart.advance(.seconds(1))
    #expect(apart.time(.participantReconnecting, b) == lost + Self.delays[0] + Self.delays[1])
  }

  /// Who narrows grants is where the session is: it is told at once, and its seat goes when rooms have the news.
  @Test func narrowedRightsTakeASeatALinkLater() throws {
    let apart = Apart(Self.rules(seats: 4), delays: Self.delays)
    let (a, b) = (apart.hello("A", at: 0, isVerified: true), apart.hello("B", at: 1))
    for client in [a, b] { apart.join(client, "hall") }
    apart.advance(.seconds(1))
    let narrowed = apart.now.instant
    apart.narrow("A", to: [.chat], at: 0)
    apart.advance(.seconds(1))
    #expect(apart.time(.sessionGrants, a) == narrowed)
    #expect(apart.time(.participantLeft, b) == narrowed + Self.delays[0] + Self.delays[1])
    #expect(apart.time(.roomClosed, a) == narrowed + Self.delays[0] + Self.delays[0])
  }

  /// The request is on its way with what held when it was made; the news is behind it.
  @Test func aSeatOnTheStrengthOfRightsThatAreGoneIsGivenUp() throws {
    let apart = Apart(Self.rules(seats: 4), delays: Self.delays)
    let (a, b) = (apart.hello("A", at: 0, isVerified: true), apart.hello("B", at: 1))
    apart.join(b, "hall")
    apart.advance(.seconds(1))
    let asked = apart.now.instant
    apart.join(a, "hall")
    apart.advance(.milliseconds(2))
    apart.narrow("A", to: [.chat], at: 0)
    apart.advance(.seconds(1))
    let way = Self.delays[0] + Self.delays[1]
    #expect(apart.time(.participantJoined, b) == asked + way)
    #expect(apart.time(.participantLeft, b) == asked + .milliseconds(2) + way)
    #expect(apart.time(.roomClosed, a) != nil)
  }
}
