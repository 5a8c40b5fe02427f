// The one serial owner of sessions, rooms, seats, tracks, subscriptions, chat and calls. Pure: commands and time come in,
// effects go out, and every command is one step that nothing can come between.
//
//                        ┌─▶ Publishing · Subscribing · Storing ─┐
//   command ──▶ ConferenceCore ──▶ Switchboard (calls)           ├─▶ Sessions · Rooms
//   time    ──▶ poll     └─▶ joining, leaving, sessions ─────────┘
//                            all of them add to one Step ──▶ effects

import Basics
import Calls
import Members
import RoostProtocol

/// The conference: rules and state, without I/O. Who may do what, and what a request or a loss leads to, is decided here; each
/// table keeps what is in it in order.
public struct ConferenceCore: Sendable {
  var random: any RandomNumberGenerator & Sendable
  var sessions: Sessions
  var rooms: Rooms
  var publishing = Publishing()
  var subscribing = Subscribing()
  var storing: Storing
  var calls: Switchboard
  var isDraining = false
  var mediaLoad = MediaLoad()
  var takeovers = Takeovers()
  var quality = QualityBook()
  /// How many lines there are about what was refused.
  var refusalLines: RefusalLines
  private(set) var numbers = Numbers()
  /// What everybody may still ask for.
  var budgets: Budgets

  /// The rules it was made with.
  public var rules: ConferenceRules { rooms.rules }

  /// A conference with its named rooms, and nobody in them. `random` makes resume tokens, so that it must be the
  /// system's; a seeded one is for tests.
  public init(
    rules: ConferenceRules, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    (sessions, rooms, refusalLines) = (Sessions(rules), Rooms(rules: rules), RefusalLines(rules))
    storing = Storing(rules: rules)
    calls = Switchboard(rules: rules.calls)
    budgets = Budgets(rules)
    self.random = random
    var step = Step(at: Now(instant: .zero, wallMilliseconds: 0), after: numbers, keepsRecords: false)
    for (name, room) in rules.rooms.sorted(by: { $0.key < $1.key }) {
      addRoom(name: name, rules: room, isNamed: true, &step)
    }
    numbers = step.numbers
  }

  /// Numbers that are left out: an earlier process may have sent messages with so many more before they were written. Much more
  /// than what may wait for the disk.
  private static let unwritten: UInt64 = 100_000

  /// Takes what an earlier process left; once, before any command. Calls that cannot outlive it end now. Rooms that are
  /// configured have their chat at once; others when somebody joins them within `restoredChatTime`.
  public mutating func restore(_ restored: RestoredState, at now: Now) -> [Effect] {
    var step = Step(at: now, after: numbers, keepsRecords: rules.storesRecords)
    if restored.lastNumber > 0 { step.skipNumbers(to: restored.lastNumber + Self.unwritten) }
    storing.restore(restored.chats, restored.doors)
    for (name, key) in rooms.table.keys { adoptRestored(key, name: name) }
    let over = rooms.bans.restore(restored.bans, at: now.wallMilliseconds)
    step.keep(over.map { .forgetBan(room: $0.room, user: $0.user) })
    AddressBanning.forget(rooms.addressBans.restore(restored.addressBans, at: now), &step)
    Revoking.restore(restored.revocations, &sessions.revocations, &step)
    Narrowings.restore(restored.narrowings, &sessions.narrowings, &step)
    storing.limitRestoredChats(step)
    calls.restore(restored.blocks)
    carry(calls.restore(restored.calls, at: now), &step)
    return finish(step)
  }

  /// Applies one command and returns what follows from it, in order.
  public mutating func apply(_ command: Command, at now: Now) -> [Effect] {
    var step = Step(at: now, by: command.subject(in: self), after: numbers, keepsRecords: rules.storesRecords)
    switch command {
    case .hello(let connection, let id, let params, let identity):
      handle(params, of: identity, id: id, on: connection, &step)
    case .token(let connection, let id, let params, let identity):
      handle(.session(.token(params)), proving: identity, id: id, on: connection, &step)
    case .request(let connection, let id, let request): handle(request, id: id, on: connection, &step)
    case .resume(let connection, let id, let params, let network):
      handle(.session(.resume(params)), from: network, id: id, on: connection, &step)
    case .connectionClosed(let connection, let clean): connectionClosed(connection, clean: clean, &step)
    case .connectionOverdue(let connection, let isOverdue):
      sessions.table.setOverdue(isOverdue, on: connection)
      if let id = sessions.table[on: connection] { tellRooms(of: id) }
    case .stream(let connection, let id, let request): Streams.handle(request, id: id, on: connection, &self, &step)
    case .publishPrepared(let key, let result): Publishing.prepared(key, result, &self, &step)
    case .answerProcessed(let key, let result): subscribing.answerProcessed(key, result, &rooms.table, &step)
    case .offerAnswered(let key, let result): Subscribing.offerAnswered(key, result, rooms, &step)
    case .streamAnswered(let key, let seat, let stream, let result):
      Streams.answered(key, seat, stream, result, &self, &step)
    case .silence(let asker, let silence): silenceTold(to: asker, silence, &step)
    case .swapProcessed(let key, let result):
      if case .failure(let error) = result, subscribing.swaps[key] != nil {
        RefusalLog.note(Method.subscriptionSwap.rawValue, error, of: sessions.table[key.session], &refusalLines, &step)
      }
      subscribing.swapProcessed(key, result, &rooms.media, rooms.table, &step)
    case .serverOffer(let seat, let offer): subscribing.offer(offer, to: seat, &rooms.table, rooms.media, &step)
    case .media(let seat, let connection, let change): mediaChanged(change, connection, of: seat, &step)
    case .excess(let seat, let connection, let what, let limit):
      what.log(above: limit, on: connection, of: seat, rooms, &step)
    case .subscription(let id, let change): subscribing.changed(change, id, &rooms.media, rooms.table, &step)
    case .trackLayers(let id, let layers): publishing.askFor(layers, of: id, &rooms.media, rooms.table, &step)
    case .mediaLoad(let load): mediaLoad = load
    case .activeSpeakers(let room, let levels): rooms.activeSpeakers(levels, in: room, &step)
    case .quality(let reports): quality.take(reports, &rooms, &step)
    case .stored(let ticket, let isOnDisk): storing.stored(ticket, isOnDisk, calls, &rooms.table, &step)
    case .fetched(let ticket, let records): storing.fetched(ticket, records, &step)
    case .drain(let retryAfter): drain(retryAfter: retryAfter, &step)
    }
    return end(step)
  }

  /// What is left to be said at the end of a step, and all that has come of it.
  mutating func end(_ step: consuming Step) -> [Effect] {
    Proofs.tellMisinformed(&sessions.table, &step)
    return finish(step)
  }

  private mutating func finish(_ step: consuming Step) -> [Effect] {
    sessions.table.settle(&step)
    numbers = step.numbers
    return step.end()
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? {
    [ownDeadlines.min(), calls.nextDeadline].compactMap { $0 }.min()
  }

  private var ownDeadlines: [Instant] {
    [
      sessions.table.graces.next, sessions.table.proofs.next, sessions.table.warnings.next,
      rooms.table.mediaGraces.next, rooms.table.turns.next, rooms.table.empties.next,
      rooms.addressBans.nextEnd, sessions.revocations.nextEnd, sessions.narrowings.nextEnd,
      storing.nextDeadline,
    ].compactMap(\.self)
  }

  /// Carries out what is due, in the order in which it became due; calls last.
  public mutating func poll(at now: Now) -> [Effect] {
    var step = Step(at: now, after: numbers, keepsRecords: rules.storesRecords)
    while let next = ownDeadlines.min(), next <= now.instant {
      if sessions.table.graces.next == next, let id = sessions.table.takeExpired(at: now.instant) {
        step.subject = sessions.table.subject(of: id)
        step.count(.sessionExpired)
        end(id, .lost, &step)
      } else if sessions.table.proofs.next == next, let id = sessions.table.takeUnproven(at: now.instant) {
        step.subject = sessions.table.subject(of: id)
        Proofs.expired(id, &self, &step)
      } else if sessions.table.warnings.next == next, let id = sessions.table.takeUnwarned(at: now.instant) {
        step.subject = sessions.table.subject(of: id)
        Proofs.warn(id, sessions.table, &step)
      } else if rooms.table.mediaGraces.next == next, let seat = rooms.table.takeMediaExpired(at: now.instant) {
        step.subject = rooms.table.subject(of: seat)
        mediaExpired(seat, &step)
      } else if rooms.table.turns.next == next, let turn = rooms.table.takeTurn(at: now.instant) {
        if turn.hasChanged { Viewing.speakersChanged(in: turn.room, &rooms.media, rooms.table, &step) }
      } else if rooms.table.empties.next == next, let room = rooms.table.takeEmpty(at: now.instant) {
        Doors.endAdmissions(room, &rooms.table)
      } else if rooms.addressBans.nextEnd == next {
        AddressBanning.endDue(&rooms.addressBans, &step)
      } else if sessions.revocations.nextEnd == next {
        Revoking.endDue(&sessions.revocations, &step)
      } else if sessions.narrowings.nextEnd == next {
        Narrowings.endDue(&self, &step)
      } else if !storing.poll(calls, &rooms.table, &step) {
        break
      }
      step.subject = nil
    }
    carry(calls.poll(at: now), &step)
    return end(step)
  }

  /// What there is now. Costs time with the number of rooms.
  public var gauges: ConferenceGauges {
    var gauges = ConferenceGauges()
    gauges.rooms = rooms.table.all.values.count { !$0.members.isEmpty }
    gauges.participants = rooms.table.seats.count
    gauges.tracks = rooms.media.tracks.count
    gauges.subscriptions = rooms.media.subscriptions.count
    gauges.sessions = sessions.table.all.count
    gauges.calls = calls.count
    (gauges.levels, gauges.quality) = (quality.levels(of: rooms.table.seats), quality.figures)
    return gauges
  }

  /// The seat of the session on this connection, if it has one.
  public func seat(of connection: ConnectionID) -> SeatID? {
    sessions.table[on: connection].flatMap { sessions.table[$0]?.seat }
  }

  /// The track that a subscription carries; nil where it is gone, or a view that shows nothing.
  public func track(of subscription: SubscriptionID) -> TrackID? {
    rooms.media.subscriptions[subscription].flatMap(\.track)
  }
}
