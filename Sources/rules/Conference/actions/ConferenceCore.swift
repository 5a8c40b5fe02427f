// The one serial owner of sessions, rooms, seats, tracks, subscriptions, chat and calls. Pure: commands and time come in,
// effects go out, and every command is one step that nothing can come between.
//
//                        ┌─▶ Publishing · Subscribing · Storing ─┐
//   command ──▶ ConferenceCore ──▶ Switchboard (calls)           ├─▶ ConferenceState ──▶ SessionTable · RoomTable
//   time    ──▶ poll     └─▶ joining, leaving, sessions ─────────┘
//                            all of them add to one Step ──▶ effects

import Basics
import Calls
import RoostProtocol

/// The conference: rules and state, without I/O. Who may do what, and what a request or a loss leads to, is decided here; each
/// table keeps what is in it in order.
public struct ConferenceCore: Sendable {
  var random: any RandomNumberGenerator & Sendable
  /// Sessions and rooms.
  var state: ConferenceState
  var publishing = Publishing()
  var subscribing = Subscribing()
  var storing: Storing
  var calls: Switchboard
  var isDraining = false
  var mediaLoad = MediaLoad()
  var takeovers = Takeovers()
  var quality = QualityBook()
  /// What users may still ask for.
  var userRates: KeyedBuckets<ClaimedUser>
  /// What everybody behind one address may still ask for: on an open server anybody is as many users as they like.
  var networkRates: NetworkBuckets
  /// Whom users may still block whose names nobody has proven.
  var unprovenBlocks: NetworkBuckets

  /// The rules it was made with.
  public var rules: ConferenceRules { state.rules }

  /// A conference with its named rooms, and nobody in them. `random` makes resume tokens, so that it must be the
  /// system's; a seeded one is for tests.
  public init(
    rules: ConferenceRules, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    state = ConferenceState(rules: rules)
    storing = Storing(rules: rules)
    calls = Switchboard(rules: rules.calls)
    userRates = KeyedBuckets(
      burst: rules.userRequestBurst, perSecond: rules.userRequestsPerSecond, most: 4 * rules.maxSessions)
    networkRates = NetworkBuckets(burst: rules.networkRequestBurst, perSecond: rules.networkRequestsPerSecond)
    unprovenBlocks = NetworkBuckets(burst: rules.networkBlockBurst, perSecond: rules.networkBlocksPerSecond)
    self.random = random
    for (name, room) in rules.rooms.sorted(by: { $0.key < $1.key }) {
      addRoom(name: name, rules: room, isNamed: true)
    }
  }

  /// Numbers that are left out: an earlier process may have sent messages with so many more before they were written. Much more
  /// than what may wait for the disk.
  private static let unwritten: UInt64 = 100_000

  /// Takes what an earlier process left; once, before any command. Calls that cannot outlive it end now. Rooms that are
  /// configured have their chat at once; others when somebody joins them within `restoredChatTime`.
  public mutating func restore(_ restored: RestoredState, at now: Now) -> [Effect] {
    var step = Step(at: now)
    if restored.lastNumber > 0 { state.skipNumbers(to: restored.lastNumber + Self.unwritten) }
    storing.restore(restored.chats, restored.doors)
    for (name, key) in state.rooms.keys { adoptRestored(key, name: name) }
    let over = state.bans.restore(restored.bans, at: now.wallMilliseconds)
    if !over.isEmpty { storing.write(over.map { .forgetBan(room: $0.room, user: $0.user) }, &step) }
    AddressBanning.forget(state.addressBans.restore(restored.addressBans, at: now), &self, &step)
    Revoking.restore(restored.revocations, &self, &step)
    Narrowings.restore(restored.narrowings, &self, &step)
    storing.limitRestoredChats(step)
    calls.restore(restored.blocks)
    carry(calls.restore(restored.calls, at: now), &step)
    state.sessions.settle(&step)
    return step.end()
  }

  /// Applies one command and returns what follows from it, in order.
  public mutating func apply(_ command: Command, at now: Now) -> [Effect] {
    var step = Step(at: now, by: command.subject(in: state))
    switch command {
    case .hello(let connection, let id, let params, let identity):
      handle(params, of: identity, id: id, on: connection, &step)
    case .token(let connection, let id, let params, let identity):
      handle(.session(.token(params)), proving: identity, id: id, on: connection, &step)
    case .request(let connection, let id, let request): handle(request, id: id, on: connection, &step)
    case .resume(let connection, let id, let params, let network):
      handle(.session(.resume(params)), from: network, id: id, on: connection, &step)
    case .connectionClosed(let connection, let clean): connectionClosed(connection, clean: clean, &step)
    case .connectionOverdue(let connection, let isOverdue): state.sessions.setOverdue(isOverdue, on: connection)
    case .stream(let connection, let id, let request): Streams.handle(request, id: id, on: connection, &self, &step)
    case .publishPrepared(let key, let result): Publishing.prepared(key, result, &self, &step)
    case .answerProcessed(let key, let result): subscribing.answerProcessed(key, result, &state, &step)
    case .offerAnswered(let key, let result): Subscribing.offerAnswered(key, result, &state, &step)
    case .streamAnswered(let key, let seat, let stream, let result):
      Streams.answered(key, seat, stream, result, &self, &step)
    case .silence(let asker, let silence): silenceTold(to: asker, silence, &step)
    case .swapProcessed(let key, let result): subscribing.swapProcessed(key, result, &state, &step)
    case .serverOffer(let seat, let offer): subscribing.offer(offer, to: seat, &state, &step)
    case .media(let seat, let connection, let change): mediaChanged(change, connection, of: seat, &step)
    case .excess(let seat, let connection, let what, let limit):
      what.log(above: limit, on: connection, of: seat, state, &step)
    case .subscription(let id, let change): subscribing.changed(change, id, &state, &step)
    case .trackLayers(let id, let layers): publishing.askFor(layers, of: id, &state, &step)
    case .mediaLoad(let load): mediaLoad = load
    case .activeSpeakers(let room, let levels): state.activeSpeakers(levels, in: room, &step)
    case .quality(let reports): quality.take(reports, &state, &step)
    case .stored(let ticket, let isOnDisk): storing.stored(ticket, isOnDisk, calls, &state, &step)
    case .fetched(let ticket, let records): storing.fetched(ticket, records, &state, &step)
    case .drain(let retryAfter): drain(retryAfter: retryAfter, &step)
    }
    return end(step)
  }

  /// What is left to be said at the end of a step, and all that has come of it.
  mutating func end(_ step: consuming Step) -> [Effect] {
    Proofs.tellMisinformed(&state, &step)
    state.sessions.settle(&step)
    return step.end()
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? {
    [ownDeadlines.min(), calls.nextDeadline].compactMap { $0 }.min()
  }

  private var ownDeadlines: [Instant] {
    [
      state.sessions.graces.next, state.sessions.proofs.next, state.sessions.warnings.next,
      state.rooms.mediaGraces.next, state.rooms.turns.next, state.rooms.empties.next,
      state.addressBans.nextEnd, state.revocations.nextEnd, state.narrowings.nextEnd,
      storing.nextDeadline,
    ].compactMap(\.self)
  }

  /// Carries out what is due, in the order in which it became due; calls last.
  public mutating func poll(at now: Now) -> [Effect] {
    var step = Step(at: now)
    while let next = ownDeadlines.min(), next <= now.instant {
      if state.sessions.graces.next == next, let id = state.sessions.takeExpired(at: now.instant) {
        step.subject = state.subject(of: id)
        step.count(.sessionExpired)
        end(id, .lost, &step)
      } else if state.sessions.proofs.next == next, let id = state.sessions.takeUnproven(at: now.instant) {
        step.subject = state.subject(of: id)
        Proofs.expired(id, &self, &step)
      } else if state.sessions.warnings.next == next, let id = state.sessions.takeUnwarned(at: now.instant) {
        step.subject = state.subject(of: id)
        Proofs.warn(id, &state.sessions, &step)
      } else if state.rooms.mediaGraces.next == next, let seat = state.rooms.takeMediaExpired(at: now.instant) {
        step.subject = state.subject(of: seat)
        mediaExpired(seat, &step)
      } else if state.rooms.turns.next == next, let turn = state.rooms.takeTurn(at: now.instant) {
        if turn.hasChanged { Viewing.speakersChanged(in: turn.room, &state, &step) }
      } else if state.rooms.empties.next == next, let room = state.rooms.takeEmpty(at: now.instant) {
        Doors.endAdmissions(room, &state)
      } else if state.addressBans.nextEnd == next {
        AddressBanning.endDue(&self, &step)
      } else if state.revocations.nextEnd == next {
        Revoking.endDue(&self, &step)
      } else if state.narrowings.nextEnd == next {
        Narrowings.endDue(&self, &step)
      } else if !storing.poll(calls, &state, &step) {
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
    gauges.rooms = state.rooms.all.values.count { !$0.members.isEmpty }
    gauges.participants = state.rooms.seats.count
    gauges.tracks = state.rooms.tracks.count
    gauges.subscriptions = state.rooms.subscriptions.count
    gauges.sessions = state.sessions.all.count
    gauges.calls = calls.count
    (gauges.levels, gauges.quality) = (quality.levels(of: state.rooms.seats), quality.figures)
    return gauges
  }

  /// The seat of the session on this connection, if it has one.
  public func seat(of connection: ConnectionID) -> SeatID? {
    state.sessions[on: connection].flatMap { state.sessions[$0]?.seat }
  }

  /// The track that a subscription carries; nil where it is gone, or a view that shows nothing.
  public func track(of subscription: SubscriptionID) -> TrackID? {
    state.rooms.subscriptions[subscription].flatMap(\.track)
  }
}
