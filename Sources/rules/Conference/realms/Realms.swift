// All realms of a process: a conference for each, with tables, rules and timers of its own. So two realms cannot meet, whatever they call
// their users and rooms: no table has rows of both (docs/decisions/0022-realms.md).
//
//   command ─▶ whose? ─┬─▶ ConferenceCore of `default` ─▶ effects ─┐
//                      ├─▶ ConferenceCore of `clinic`  ─▶ effects ─┼─▶ with the realm they are of
//                      └─▶ …                                       ┘
//
// A hello and a further token say whose they are, a connection stays with the realm of its hello, and everything else has a number that its
// realm has given (`RealmNumber`).

import Basics
import Members
import Names
import RoostProtocol

/// What has come of something in one realm.
public struct RealmEffects: Sendable {
  /// Whose.
  public let realm: Realm
  /// What follows, in order.
  public let effects: [Effect]
}

/// What there is, and what has come of an operator's wish.
public typealias OperatorOutcome = Result<OperatorAnswer, ErrorObject>

/// The realms: pure, as the conferences in it. All that is not of one realm alone goes to each.
public struct Realms: Sendable {
  /// Their names, `default` first.
  public let names: [Realm]
  /// By their places.
  private var cores: [ConferenceCore]
  private let places: [Realm: Int]
  /// Connections whose hello was another realm's than `default`, or that have resumed a session of one; until they are closed.
  private var homes: [ConnectionID: Int] = [:]
  /// What each was told last of the others, what it has itself, and what all have together.
  private var told: [RealmShare]
  private var own: [RealmShare]
  private var all = RealmShare()
  /// When each has something to do; of those that a step has changed it is to be asked again.
  private var deadlines: [Instant?]
  private var changed: Set<Int> = []

  /// Realms with nobody in them; those beyond `Realm.most` are left out, and `default` is there always. `random` is given the realm's place, and
  /// makes resume tokens: the system's but for tests.
  public init(
    _ rules: [Realm: ConferenceRules],
    random: (RealmNumber) -> any RandomNumberGenerator & Sendable = { _ in SystemRandomNumberGenerator() }
  ) {
    let others = rules.keys.filter { $0 != .default }.sorted().prefix(Realm.most - 1)
    names = [.default] + others
    cores = names.enumerated().map { place, realm in
      let number = RealmNumber(UInt8(truncatingIfNeeded: place))
      return ConferenceCore(rules: rules[realm] ?? ConferenceRules(), realm: number, random: random(number))
    }
    told = names.map { _ in RealmShare() }
    (own, deadlines) = (told, cores.map(\.nextDeadline))
    places = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
  }

  /// The conference of a realm; nil where there is none of this name. For looking.
  func core(of realm: Realm) -> ConferenceCore? { places[realm].map { cores[$0] } }

  // MARK: - Steps

  /// Takes what an earlier process left, each realm its own. Once, before any command. See `ConferenceCore.restore`.
  public mutating func restore(_ restored: [Realm: RestoredState], at now: Now) -> [RealmEffects] {
    cores.indices.map { place in
      effects(cores[place].restore(restored[names[place]] ?? RestoredState(), at: now), of: place)
    }
  }

  /// Applies one command in the realm that it is of, or in each. See `ConferenceCore.apply`.
  public mutating func apply(_ command: Command, at now: Now) -> [RealmEffects] {
    switch route(command) {
    case .realm(let place): return [apply(command, in: place, at: now)]
    case .all: return cores.indices.map { apply(command, in: $0, at: now) }
    case .several(let commands): return commands.map { apply($1, in: $0, at: now) }
    case .nobody: return []
    case .refuse(let connection, let id, let error):
      return [effects([.client(.reply(connection, id, .failure(error)))], of: 0)]
    }
  }

  private mutating func apply(_ command: Command, in place: Int, at now: Now) -> RealmEffects {
    tellOfOthers(place)
    let effects = cores[place].apply(command, at: now)
    if case .connectionClosed(let connection, _) = command { homes[connection] = nil }
    return self.effects(effects, of: place)
  }

  /// An operator's wish in one realm. See `ConferenceCore.operate`; −32602 where there is no such realm.
  public mutating func operate(
    _ action: OperatorAction, in realm: Realm = .default, from peer: String? = nil, by name: String = "admin.token",
    at now: Now
  ) -> (answer: OperatorOutcome, effects: RealmEffects) {
    guard let place = places[realm] else {
      return (.failure(.parameter("realm", expected: "a realm of rooms.yaml")), effects([], of: 0))
    }
    tellOfOthers(place)
    let (answer, effects) = cores[place].operate(action, from: peer, by: name, at: now)
    return (answer, self.effects(effects, of: place))
  }

  // MARK: - Time

  /// When `poll` has something to do in any of them; nil when nothing waits.
  public var nextDeadline: Instant? {
    mutating get {
      for place in changed { deadlines[place] = cores[place].nextDeadline }
      changed.removeAll(keepingCapacity: true)
      return deadlines.lazy.compactMap(\.self).min()
    }
  }

  /// Carries out what is due, realm by realm.
  public mutating func poll(at now: Now) -> [RealmEffects] {
    _ = nextDeadline
    return cores.indices.compactMap { place in
      guard let deadline = deadlines[place], deadline <= now.instant else { return nil }
      tellOfOthers(place)
      return effects(cores[place].poll(at: now), of: place)
    }
  }

  // MARK: - Looks

  /// What there is now in each.
  public var gauges: [(realm: Realm, gauges: ConferenceGauges)] {
    zip(names, cores).map { ($0, $1.gauges) }
  }

  /// See `ConferenceCore.takeWaiting`.
  public mutating func takeWaiting() -> [ClientEffect] {
    if cores.count == 1 { return cores[0].takeWaiting() }
    return cores.indices.flatMap { cores[$0].takeWaiting() }
  }

  /// See `ConferenceCore.track(of:)`.
  public func track(of subscription: SubscriptionID) -> TrackID? {
    place(of: subscription.rawValue).flatMap { cores[$0].track(of: subscription) }
  }

  /// See `ConferenceCore.subject(of:)`.
  public func subject(of subscription: SubscriptionID) -> LineSubject? {
    place(of: subscription.rawValue).flatMap { cores[$0].subject(of: subscription) }
  }

  // MARK: - What is the machine's

  /// Bounds of the whole machine hold over all realms: a realm is told how much of them the others have.
  private mutating func tellOfOthers(_ place: Int) {
    if cores.count == 1 { return }
    let others = all - own[place]
    guard others != told[place] else { return }
    told[place] = others
    cores[place].tell(others)
  }

  /// What one of them has after a step, in the sum of all.
  private mutating func count(_ place: Int) {
    let before = own[place]
    own[place] = cores[place].share
    all = all - before + own[place]
  }

  /// What has come of a step of one of them.
  private mutating func effects(_ effects: [Effect], of place: Int) -> RealmEffects {
    changed.insert(place)
    if cores.count > 1 { count(place) }
    if !homes.isEmpty {
      for case .client(.closeConnection(let connection, _)) in effects { homes[connection] = nil }
    }
    return RealmEffects(realm: names[place], effects: effects)
  }

  // MARK: - Whose a command is

  /// Where a command goes.
  private enum Route {
    case realm(Int)
    case several([(Int, Command)])
    case all
    /// What it is about has been given by none.
    case nobody
    case refuse(ConnectionID, RequestID, ErrorObject)
  }

  /// The place of whoever has given a number.
  private func place(of number: UInt64) -> Int? {
    guard let place = RealmNumber(of: number).map({ Int($0.rawValue) }), place < cores.count else { return nil }
    return place
  }

  private func route(number: UInt64) -> Route { place(of: number).map { .realm($0) } ?? .nobody }

  private func home(of connection: ConnectionID) -> Int { homes.isEmpty ? 0 : homes[connection] ?? 0 }

  private mutating func route(_ command: Command) -> Route {
    if cores.count == 1 { return routeOfOne(command) }
    switch command {
    case .hello(let connection, let id, _, let identity): return route(hello: connection, id, of: identity)
    case .token(let connection, let id, _, let identity): return route(token: connection, id, of: identity)
    case .resume(let connection, _, let params, _): return route(resume: connection, params)
    case .request(let connection, _, _), .stream(let connection, _, _), .connectionClosed(let connection, _),
      .connectionOverdue(let connection, _), .silence(.hello(let connection), _), .goOn(.hello(let connection)):
      return .realm(home(of: connection))
    case .publishPrepared(let key, _), .answerProcessed(let key, _), .offerAnswered(let key, _),
      .swapProcessed(let key, _), .streamAnswered(let key, _, _, _), .silence(.request(let key), _):
      return route(number: key.session.rawValue)
    case .goOn(.session(let session)): return route(number: session.rawValue)
    case .serverOffer(let seat, _), .mayMove(let seat, _, _), .media(let seat, _, _), .excess(let seat, _, _, _):
      return route(number: seat.rawValue)
    case .subscription(let id, _): return route(number: id.rawValue)
    case .trackLayers(let id, _): return route(number: id.rawValue)
    case .activeSpeakers(let room, _): return route(number: room.rawValue)
    case .stored(let ticket, _), .fetched(let ticket, _), .answered(let ticket, _):
      return route(number: ticket.rawValue)
    case .quality(let reports): return route(reports)
    case .mediaLoad, .drain, .stop: return .all
    }
  }

  /// Where there is one realm, nobody is of another.
  private func routeOfOne(_ command: Command) -> Route {
    guard case .hello(let connection, let id, _, let identity) = command, places[identity.realm] == nil else {
      return .realm(0)
    }
    return .refuse(connection, id, .noRealm)
  }

  /// All seats of a room come together, so that each realm has its own whole rooms.
  private func route(_ reports: [SeatReport]) -> Route {
    let own = Dictionary(grouping: reports) { place(of: $0.seat.rawValue) ?? 0 }
    return .several(own.sorted { $0.key < $1.key }.map { ($0.key, .quality($0.value)) })
  }

  // MARK: - Connections

  /// A connection has one realm for as long as anything of it is kept.
  private mutating func route(hello connection: ConnectionID, _ id: RequestID, of identity: Identity) -> Route {
    guard let place = places[identity.realm] else { return .refuse(connection, id, .noRealm) }
    let home = home(of: connection)
    if home != place, cores[home].holds(connection) {
      return .refuse(connection, id, ErrorObject(.invalidState, "This connection is another realm's."))
    }
    homes[connection] = place == 0 ? nil : place
    return .realm(place)
  }

  /// Of another realm nobody is the same user, whatever they are called.
  private func route(token connection: ConnectionID, _ id: RequestID, of identity: Identity) -> Route {
    let home = home(of: connection)
    guard identity.realm == names[home] || !cores[home].holds(connection) else {
      return .refuse(
        connection, id,
        ErrorObject(.authFailed, "The token is somebody else's.") { $0.reason = "token_user" })
    }
    return .realm(home)
  }

  /// The token says whose session it is.
  private mutating func route(resume connection: ConnectionID, _ params: ResumeParams) -> Route {
    let home = home(of: connection)
    guard !cores[home].holds(connection),
      let place = ResumeToken(params.resumeToken).flatMap({ place(of: $0.session.rawValue) })
    else { return .realm(home) }
    homes[connection] = place == 0 ? nil : place
    return .realm(place)
  }
}

extension ErrorObject {
  /// Its key is a realm's that this process does not have.
  fileprivate static var noRealm: ErrorObject {
    ErrorObject(.authFailed, "The token is of a realm that is not served here.") { $0.reason = "token_realm" }
  }
}
