// The one serial owner of sessions, rooms, seats, tracks, subscriptions, chat and calls. Pure: commands and time come in,
// effects go out, and every command is one step that nothing can come between.
//
//   request ──▶ Requests ──▶ Sessions · Rooms · Tracks · Subscriptions · Chat ──▶ effects
//   media   ──▶ Media    ──▶                    │
//   time    ──▶ poll     ──▶ Sessions, Rooms ◀──┘ deadlines

import Basics
import Calls
import RoostProtocol

/// The conference: rules and state, without I/O.
public struct ConferenceCore: Sendable {
  /// The rules it was made with.
  public let rules: ConferenceRules
  var random: any RandomNumberGenerator & Sendable

  var sessions: [SessionID: Session] = [:]
  var connections: [ConnectionID: SessionID] = [:]
  var users: [String: Set<SessionID>] = [:]
  /// Sessions with neither a socket nor a seat, nor a leg that waits for them, by when they came to that.
  var waiting = Deadlines<SessionID>()
  /// Sessions that made way for the next one of their device, and live as long as the leg that they keep for it. Nobody can
  /// resume them.
  var madeWay: Set<SessionID> = []
  var replaced = ReplacedSessions()
  var rooms: [RoomKey: Room] = [:]
  var roomNames: [String: RoomKey] = [:]
  var seats: [SeatID: Seat] = [:]
  var tracks: [TrackID: PublishedTrack] = [:]
  var subscriptions: [SubscriptionID: Subscription] = [:]
  var pendingPublishes: [RequestKey: PendingPublish] = [:]
  var pendingAnswers: [RequestKey: PendingAnswer] = [:]
  var pendingSwaps: [RequestKey: PendingSwap] = [:]
  var calls: Switchboard
  var deadlines = Deadlines<Timer>()
  var isDraining = false
  var mediaLoad = MediaLoad()
  var lastNumber: UInt64 = 0
  var storing: [StoreTicket: StoreWaiter] = [:]
  var lastTicket: UInt64 = 0
  var restoredChats: [String: [StoredMessage]] = [:]

  /// The step being made: its time and what has come of it so far.
  var now = Now(instant: .zero, wallMilliseconds: 0)
  var effects: [Effect] = []

  /// What a deadline is about.
  enum Timer: Hashable, Sendable {
    case session(SessionID)
    case media(SeatID)
    case store(StoreTicket)
    case restoredChats
  }

  /// A conference with its named rooms, and nobody in them. `random` makes resume tokens, so that it must be the
  /// system's; a seeded one is for tests.
  public init(
    rules: ConferenceRules, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.rules = rules
    calls = Switchboard(rules: rules.calls)
    self.random = random
    for (name, room) in rules.rooms.sorted(by: { $0.key < $1.key }) {
      addRoom(name: name, rules: room, isNamed: true)
    }
  }

  /// Takes what an earlier process left; once, before any command.
  public mutating func restore(_ restored: RestoredState, at now: Now) -> [Effect] {
    step(now) { core in core.take(restored) }
  }

  /// Applies one command and returns what follows from it, in order.
  public mutating func apply(_ command: Command, at now: Now) -> [Effect] {
    step(now) { core in
      switch command {
      case .request(let connection, let id, let request): core.handle(request, id: id, on: connection)
      case .connectionClosed(let connection, let clean): core.connectionClosed(connection, clean: clean)
      case .publishPrepared(let key, let result): core.publishPrepared(key, result)
      case .answerProcessed(let key, let result): core.answerProcessed(key, result)
      case .swapProcessed(let key, let result): core.swapProcessed(key, result)
      case .serverOffer(let seat, let offer): core.serverOffer(offer, to: seat)
      case .media(let seat, let connection, let change): core.mediaChanged(change, connection, of: seat)
      case .subscription(let subscription, let change): core.subscriptionChanged(change, subscription)
      case .mediaLoad(let load): core.mediaLoad = load
      case .activeSpeakers(let room, let levels): core.activeSpeakers(levels, in: room)
      case .stored(let ticket, let isOnDisk): core.stored(ticket, isOnDisk)
      case .fetched(let ticket, let records): core.fetched(ticket, records)
      case .drain(let retryAfter): core.drain(retryAfter: retryAfter)
      }
    }
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? {
    guard let own = deadlines.next, let call = calls.nextDeadline else { return deadlines.next ?? calls.nextDeadline }
    return min(own, call)
  }

  /// Carries out what is due.
  public mutating func poll(at now: Now) -> [Effect] {
    step(now) { core in
      while let timer = core.deadlines.popDue(at: now.instant) {
        switch timer {
        case .session(let id): core.sessionExpired(id)
        case .media(let seat): core.mediaExpired(seat)
        case .store(let ticket): core.stored(ticket, false)
        case .restoredChats: core.forgetRestoredChats()
        }
      }
      core.carry(core.calls.poll(at: now))
    }
  }

  /// What there is now. Costs time with the number of rooms.
  public var gauges: ConferenceGauges {
    var gauges = ConferenceGauges()
    gauges.rooms = rooms.values.count { !$0.members.isEmpty }
    gauges.participants = seats.count
    gauges.tracks = tracks.count
    gauges.subscriptions = subscriptions.count
    gauges.sessions = sessions.count
    gauges.calls = calls.count
    return gauges
  }

  /// The seat of the session on this connection, if it has one.
  public func seat(of connection: ConnectionID) -> SeatID? {
    connections[connection].flatMap { sessions[$0]?.seat }
  }

  /// A number for something new; never used again.
  mutating func makeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  mutating func step(_ now: Now, _ body: (inout ConferenceCore) -> Void) -> [Effect] {
    self.now = now
    effects = []
    body(&self)
    defer { effects = [] }
    return effects
  }
}
