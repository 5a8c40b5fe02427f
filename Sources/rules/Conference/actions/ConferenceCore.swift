// The one serial owner of sessions, rooms, seats, tracks, subscriptions, chat and calls. Pure: commands and time come in,
// effects go out, and every command is one step that nothing can come between.
//
//   command ──▶ apply ─┐                    ┌─▶ Sessions ───────────┐
//                      ├─▶ ConferenceCore ──┼─▶ Rooms ──────────────┼─▶ one Step ──▶ effects
//   time ─────▶ poll ──┘   Asking, Storing  └─▶ Switchboard (calls) ┘      │
//                                ▲                                         │
//                                └──── messages, until none is left ───────┘

import Basics
import Calls
import Members
import Rooms
import RoostProtocol
import Sessions

/// The conference: rules and state, without I/O. Who may do what, and what a request or a loss leads to, is decided here; each
/// table keeps what is in it in order.
public struct ConferenceCore: Sendable {
  var sessions: Sessions
  var rooms: Rooms
  var storing: Storing
  var asking = Asking()
  var calls: Switchboard
  /// What was given last to something new, and what new names are made of.
  private(set) var numbers: Numbers
  /// What everybody may still ask for.
  var budgets: Budgets

  /// The rules it was made with.
  public var rules: ConferenceRules { storing.rules }

  /// A conference with its named rooms, and nobody in them. `random` makes resume tokens, so that it must be the
  /// system's; a seeded one is for tests. What it numbers says that it is `realm`'s.
  public init(
    rules: ConferenceRules, realm: RealmNumber = .first,
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    var step = Step(
      at: Now(instant: .zero, wallMilliseconds: 0), after: Numbers(of: realm, random: random), keepsRecords: false)
    (sessions, rooms) = (Sessions(rules), Rooms(rules, &step))
    storing = Storing(rules: rules)
    calls = Switchboard(rules: rules.calls)
    budgets = Budgets(rules)
    numbers = step.numbers
  }

  /// Numbers that are left out: an earlier process may have sent messages with so many more before they were written. Much more
  /// than what may wait for the disk. A process that is counted begins beyond that.
  private static let unwritten: UInt64 = 100_000

  /// Takes what an earlier process left; once, before any command. Calls that cannot outlive it end now. Rooms that are
  /// configured have their chat at once; others when somebody joins them within `restoredChatTime`.
  public mutating func restore(_ restored: RestoredState, at now: Now) -> [Effect] {
    var step = Step(
      at: now, after: numbers, keepsRecords: rules.storesRecords, isFollowed: rules.hasWebhooks)
    if rules.hasWebhooks { step.add(.webhook(WebhookEvent(type: .serverStarted, at: now.wallMilliseconds))) }
    step.skipNumbers(to: RealmNumber.numbers(before: restored.process))
    if restored.lastNumber > 0 { step.skipNumbers(to: restored.lastNumber + Self.unwritten) }
    rooms.restore(restored, &step)
    sessions.restore(restored.revocations, restored.narrowings, &step)
    calls.restore(restored.blocks)
    carry(calls.restore(restored.calls, at: now), &step)
    return finish(step)
  }

  /// Applies one command and returns what follows from it, in order.
  public mutating func apply(_ command: Command, at now: Now) -> [Effect] {
    var step = Step(
      at: now, by: command.subject(in: self), after: numbers, keepsRecords: rules.storesRecords,
      isFollowed: rules.hasWebhooks)
    switch command {
    case .hello(let connection, let id, let params, let identity):
      begin(Action(.connection(connection, id), .hello(params, identity)), &step)
    case .token(let connection, let id, let params, let identity):
      begin(Action(.connection(connection, id), .token(params, identity)), &step)
    case .request(let connection, let id, let request):
      begin(Action(.connection(connection, id), .request(request, from: nil)), &step)
    case .resume(let connection, let id, let params, let network):
      begin(Action(.connection(connection, id), .request(.session(.resume(params)), from: network)), &step)
    case .stream(let connection, let id, let request):
      begin(Action(.connection(connection, id), .stream(request)), &step)
    case .connectionClosed(let connection, let clean): sessions.apply(.closed(connection, clean: clean), &step)
    case .connectionOverdue(let connection, let isOverdue): sessions.apply(.overdue(connection, isOverdue), &step)
    case .silence(let asker, let silence): sessions.apply(.silence(asker, silence), &step)
    case .publishPrepared, .answerProcessed, .offerAnswered, .streamAnswered, .swapProcessed, .serverOffer, .mayMove,
      .media,
      .excess, .subscription, .trackLayers, .mediaLoad, .activeSpeakers, .quality:
      rooms.apply(.media(command), &step)
    case .stored(let ticket, let isOnDisk): storing.stored(ticket, isOnDisk, calls, &step)
    case .fetched(let ticket, let records): storing.fetched(ticket, records, &step)
    case .answered(let ticket, let answer): answered(ticket, answer, &step)
    case .goOn(let who): goOn(who, &step)
    case .drain(let retryAfter):
      rooms.apply(.drain, &step)
      sessions.apply(.drain(retryAfter: retryAfter), &step)
    case .stop: rooms.apply(.stop, &step)
    }
    return end(step)
  }

  /// What other realms have of what there is for all, before a step that may take of it.
  mutating func tell(_ others: RealmShare) {
    var step = Step(at: Now(instant: .zero, wallMilliseconds: 0), after: numbers, keepsRecords: false)
    sessions.apply(.others(others), &step)
    rooms.apply(.others(others), &step)
    numbers = step.numbers
  }

  /// What it has of what there is for all realms.
  var share: RealmShare {
    RealmShare(sessions: sessions.counted, rooms: rooms.unnamed, calls: calls.count)
  }

  /// Whether anything of a connection is kept: its session, or a hello that waits.
  func holds(_ connection: ConnectionID) -> Bool { sessions.holds(connection) || asking.holds(connection) }

  /// Delivers what owners tell each other, in order, until none is left.
  mutating func deliver(_ step: inout Step) {
    while let message = step.next() {
      switch message {
      case .sessions(let message): sessions.apply(message, &step)
      case .rooms(let message): rooms.apply(message, &step)
      case .calls(let message): tellCalls(message, &step)
      case .actions(let message): carryOn(message, &step)
      }
    }
  }

  /// What is left to be said at the end of a step, and all that has come of it.
  mutating func end(_ step: consuming Step) -> [Effect] {
    deliver(&step)
    sessions.apply(.tellMisinformed, &step)
    return finish(step)
  }

  private mutating func finish(_ step: consuming Step) -> [Effect] {
    deliver(&step)
    for who in asking.takeReleased() where who.isThere(self) { step.add(.goOn(who)) }
    numbers = step.numbers
    return step.end()
  }

  /// When `poll` has something to do; nil when nothing waits.
  public var nextDeadline: Instant? {
    [ownDeadlines.min(), calls.nextDeadline].compactMap { $0 }.min()
  }

  private var ownDeadlines: [Instant] {
    [sessions.nextDeadline, rooms.nextDeadline, storing.nextDeadline].compactMap(\.self)
  }

  /// Carries out what is due, in the order in which it became due; calls last.
  public mutating func poll(at now: Now) -> [Effect] {
    var step = Step(
      at: now, after: numbers, keepsRecords: rules.storesRecords, isFollowed: rules.hasWebhooks)
    while let next = ownDeadlines.min(), next <= now.instant {
      if sessions.nextDeadline == next {
        sessions.poll(&step)
      } else if rooms.nextDeadline == next {
        rooms.poll(&step)
      } else if let ticket = storing.tickets.popDue(at: now.instant) {
        step.subject = subject(of: ticket)
        answered(ticket, .nothing, &step)
        storing.stored(ticket, false, calls, &step)
      } else {
        break
      }
      deliver(&step)
      step.subject = nil
    }
    carry(calls.poll(at: now), &step)
    return end(step)
  }

  /// What there is now. Costs time with the number of rooms.
  public var gauges: ConferenceGauges {
    var gauges = ConferenceGauges()
    rooms.count(&gauges)
    (gauges.sessions, gauges.calls) = (sessions.count, calls.count)
    return gauges
  }

  /// The seat of the session on this connection, if it has one.
  public func seat(of connection: ConnectionID) -> SeatID? {
    sessions.session(on: connection).flatMap { sessions.place(of: $0)?.seat }
  }

  /// The track that a subscription carries; nil where it is gone, or a view that shows nothing.
  public func track(of subscription: SubscriptionID) -> TrackID? {
    rooms.track(of: subscription)
  }

  /// What doors are to be told of who only waits since this was asked last. Costs time with the sessions that something happened to, not
  /// with all.
  public mutating func takeWaiting() -> [ClientEffect] {
    let unsettled = sessions.unsettled
    if unsettled.isEmpty { return [] }
    var step = Step(at: Now(instant: .zero, wallMilliseconds: 0), after: numbers, keepsRecords: false)
    sessions.apply(.settleWaiting(unsettled.map { ($0, calls.concerns($0.device)) }), &step)
    return step.end().compactMap { if case .client(let effect) = $0 { effect } else { nil } }
  }
}
