// What is one realm's alone: connections, tokens, quotas, and what comes back after a restart.

import Basics
import Calls
import Names
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// Realms with the clients of a test.
private struct Stage {
  var realms: Realms
  var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  private var last: UInt64 = 0
  private(set) var webhooks: [Realm: [WebhookEvent]] = [:]

  init(_ rules: [Realm: ConferenceRules]) { realms = Realms(rules) { SplitMix64(seed: UInt64($0.rawValue)) } }

  /// The same rules for `default` and `clinic`, but for what `change` makes of the latter's.
  init(_ rules: ConferenceRules = .test, clinic change: (inout ConferenceRules) -> Void = { _ in }) {
    var own = rules
    change(&own)
    self.init([.default: rules, .clinic: own])
  }

  mutating func number() -> UInt64 {
    last += 1
    return last
  }

  mutating func apply(_ command: Command) -> [Effect] {
    var effects: [Effect] = []
    var waiting = [command]
    while !waiting.isEmpty {
      for some in realms.apply(waiting.removeFirst(), at: now) {
        for effect in some.effects {
          if case .goOn(let who) = effect { waiting.append(.goOn(who)) }
          if case .store(.write(let ticket, _)) = effect { waiting.append(.stored(ticket, true)) }
          if case .outside(.webhook(let event)) = effect { webhooks[some.realm, default: []].append(event) }
        }
        effects += some.effects
      }
    }
    return effects
  }

  /// A hello on a new connection, or on this one.
  mutating func hello(
    _ user: String, in realm: Realm = .default, on connection: ConnectionID? = nil
  ) -> (connection: ConnectionID, result: Result<Reply, ErrorObject>?) {
    let connection = connection ?? ConnectionID(number())
    var identity = Identity(user: user, device: "d", displayName: user, rights: .all, isVerified: true)
    identity.realm = realm
    let id = RequestID.number(Int64(number()))
    let effects = apply(.hello(connection, id, HelloParams(user: user, deviceId: "d"), identity))
    return (connection, effects.reply(to: id))
  }

  mutating func ask(_ connection: ConnectionID, _ request: Request) -> Result<Reply, ErrorObject>? {
    let id = RequestID.number(Int64(number()))
    return apply(.request(connection, id, request)).reply(to: id)
  }

  mutating func join(_ connection: ConnectionID, _ room: String) -> ErrorObject? {
    ask(connection, .room(.join(RoomJoinParams(room: room))))?.failure
  }
}

extension [Effect] {
  fileprivate func reply(to id: RequestID) -> Result<Reply, ErrorObject>? {
    for case .client(.reply(_, id, let result)) in self { return result }
    return nil
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
  fileprivate var success: Success? { if case .success(let value) = self { value } else { nil } }
}

@Suite struct RealmTests {
  // MARK: - Connections

  /// The same user on the same device in two realms is two, and a room of one name is two rooms.
  @Test func whoIsCalledTheSameIsSomebodyElse() throws {
    var stage = Stage()
    let (a, b) = (stage.hello("anna"), stage.hello("anna", in: .clinic))
    #expect(a.result?.failure == nil && b.result?.failure == nil)
    #expect(stage.join(a.connection, "x") == nil && stage.join(b.connection, "x") == nil)
    let snapshots = [a, b].map { stage.ask($0.connection, .room(.join(RoomJoinParams(room: "x"))))?.success }
    for case .room(let room)? in snapshots { #expect(room.participants.count == 1) }
    #expect(stage.realms.gauges.map(\.gauges.participants) == [1, 1])
  }

  @Test func twoRealmsMakeTheSameName() {
    var stage = Stage(.test) { $0.unknownRooms = .refuse }
    let plans = [Realm.default: RoomPlan(kind: "group"), .clinic: RoomPlan(kind: "pair")]
    for (realm, plan) in plans {
      let made = stage.realms.operate(.makeRoom("ward", plan, locked: false, lobby: false), in: realm, at: stage.now)
      guard case .success(.definition(let room)) = made.answer else {
        Issue.record("not made")
        continue
      }
      #expect(room.plan == plan)
    }
    let clinic = ["anna", "ben", "carl"].map { stage.hello($0, in: .clinic).connection }
    #expect(clinic.map { stage.join($0, "ward")?.code } == [nil, nil, .roomFull])
    let ended = stage.realms.operate(.takeBackSettings(of: "ward", .none), in: .clinic, at: stage.now)
    #expect(ended.answer == .success(.removed(2)) && stage.join(clinic[0], "ward")?.code == .roomNotFound)
    let shown = stage.realms.operate(.settings(of: "ward"), in: .default, at: stage.now)
    guard case .success(.definition(let room)) = shown.answer else {
      Issue.record("it went, too")
      return
    }
    #expect(room.plan.kind == "group" && stage.join(stage.hello("anna").connection, "ward") == nil)
  }

  @Test func aConnectionStaysWithItsRealm() {
    var stage = Stage()
    let a = stage.hello("anna", in: .clinic)
    #expect(stage.hello("anna", on: a.connection).result?.failure?.code == .invalidState)
    #expect(stage.hello("anna", in: .clinic, on: a.connection).result?.failure?.code == .invalidState)
    #expect(stage.realms.gauges.map(\.gauges.sessions) == [0, 1])
    // What was refused holds nothing, and what is closed is forgotten.
    _ = stage.apply(.connectionClosed(a.connection, clean: true))
    #expect(stage.hello("anna", on: a.connection).result?.failure == nil)
    #expect(stage.realms.gauges.map(\.gauges.sessions) == [1, 0])
  }

  @Test func aRealmThatIsNotServedHasNobody() throws {
    var stage = Stage()
    #expect(stage.hello("anna", in: .school).result?.failure?.data.reason == "token_realm")
    var one = Stage([.default: .test])
    #expect(one.hello("anna", in: .clinic).result?.failure?.data.reason == "token_realm")
    #expect(one.realms.gauges.map(\.gauges.sessions) == [0])
  }

  @Test func aFurtherTokenOfAnotherRealmIsSomebodyElses() {
    var stage = Stage()
    let a = stage.hello("anna", in: .clinic)
    func renew(in realm: Realm) -> ErrorObject? {
      var identity = Identity(user: "anna", device: nil, displayName: "anna", rights: .all, isVerified: true)
      identity.realm = realm
      let id = RequestID.number(Int64(stage.number()))
      return stage.apply(.token(a.connection, id, TokenParams(token: "t"), identity)).reply(to: id)?.failure
    }
    #expect(renew(in: .default)?.data.reason == "token_user")
    #expect(renew(in: .clinic) == nil)
  }

  @Test func aSessionIsResumedInItsRealm() throws {
    var stage = Stage()
    let a = stage.hello("anna", in: .clinic)
    guard case .hello(let hello) = try #require(a.result).get() else {
      Issue.record("no session")
      return
    }
    _ = stage.join(a.connection, "x")
    _ = stage.apply(.connectionClosed(a.connection, clean: false))
    let next = ConnectionID(stage.number())
    let params = ResumeParams(resumeToken: hello.resumeToken, lastSeq: 0)
    let id = RequestID.number(Int64(stage.number()))
    #expect(stage.apply(.resume(next, id, params, from: nil)).reply(to: id)?.failure == nil)
    #expect(stage.join(next, "y") == nil)
    #expect(stage.realms.gauges.map(\.gauges.participants) == [0, 1])
    // Of whom there is no such realm, nobody is resumed.
    let lost = ResumeParams(resumeToken: "r\(200 << 48 as UInt64)." + String(repeating: "0", count: 64), lastSeq: 0)
    let other = RequestID.number(Int64(stage.number()))
    #expect(
      stage.apply(.resume(ConnectionID(stage.number()), other, lost, from: nil)).reply(to: other)?.failure?.code
        == .resumeExpired)
  }

  @Test func aTokenIsTakenBackInOneRealm() {
    var stage = Stage()
    let answer = stage.realms.operate(.revoke("t-1"), in: .clinic, at: stage.now)
    #expect(answer.effects.realm == .clinic)
    #expect(answer.effects.effects.contains(.operation(.setRevoked("t-1", true))))
    let others = stage.realms.operate(.revoked(), at: stage.now).answer
    #expect(others.success == .revoked([]))
    #expect(stage.realms.operate(.look, in: .school, at: stage.now).answer.failure?.code == .invalidParams)
  }

  @Test func everybodyHearsThatTheServerStops() {
    var stage = Stage()
    let connections = [stage.hello("anna").connection, stage.hello("anna", in: .clinic).connection]
    let told = stage.apply(.drain(retryAfterMilliseconds: nil)).compactMap { effect -> ConnectionID? in
      if case .client(.event(let connection, _)) = effect { connection } else { nil }
    }
    #expect(Set(told) == Set(connections))
    #expect(stage.hello("ben", in: .clinic).result?.failure?.code == .draining)
  }

  // MARK: - Quotas

  /// One is full, and another goes on.
  @Test func aRealmHasSoManySessions() {
    var stage = Stage { $0.quotas.sessions = 2 }
    #expect((0..<2).allSatisfy { stage.hello("u\($0)", in: .clinic).result?.failure == nil })
    let refused = stage.hello("u2", in: .clinic).result?.failure
    #expect(refused?.code == .overloaded && refused?.data.reason == "realm_sessions" && refused?.data.limit == 2)
    #expect((0..<9).allSatisfy { stage.hello("u\($0)").result?.failure == nil })
    // Who comes back on their device takes their own place.
    #expect(stage.hello("u1", in: .clinic).result?.failure == nil)
    #expect(stage.realms.gauges.map(\.gauges.sessions) == [9, 2])
  }

  @Test func aRealmHasSoManySeatsAndRooms() {
    var stage = Stage { ($0.quotas.participants, $0.quotas.rooms) = (3, 2) }
    let clients = (0..<4).map { stage.hello("u\($0)", in: .clinic).connection }
    #expect(stage.join(clients[0], "a") == nil && stage.join(clients[1], "b") == nil)
    #expect(stage.join(clients[2], "c")?.data.reason == "realm_rooms")
    // A room that is configured is none of them, and one that is left for another is free.
    #expect(stage.join(clients[2], "demo") == nil && stage.join(clients[1], "c") == nil)
    #expect(stage.join(clients[3], "demo")?.data.reason == "realm_participants")
    #expect(stage.join(clients[2], "a") == nil, "who has a seat gives it up")
    let others = (0..<9).map { stage.hello("u\($0)").connection }
    #expect(others.enumerated().allSatisfy { stage.join($1, "r\($0)") == nil })
    #expect(stage.realms.gauges.map(\.gauges.participants) == [9, 3])
  }

  @Test func aRealmHasSoManyCalls() {
    var stage = Stage { ($0.quotas.calls, $0.quotas.participants) = (1, 2) }
    func start(_ user: String, _ to: String, in realm: Realm) -> ErrorObject? {
      let connection = stage.hello(user, in: realm).connection
      _ = stage.hello(to, in: realm)
      return stage.ask(connection, .call(.start(CallStartParams(to: [to], kind: .oneToOne, media: .audio))))?.failure
    }
    #expect(start("a", "b", in: .clinic) == nil)
    #expect(start("c", "d", in: .clinic)?.data.reason == "realm_calls")
    #expect(start("a", "b", in: .default) == nil && start("c", "d", in: .default) == nil)
    let seats = [stage.hello("e", in: .clinic).connection, stage.hello("f", in: .clinic).connection]
    #expect(stage.join(seats[0], "x") == nil && stage.join(seats[1], "x")?.data.reason == "realm_participants")
  }

  /// Whoever calls back answers, and needs a seat as whoever accepts.
  @Test(arguments: [1, 2]) func callingBackNeedsASeatOfTheRealm(_ quota: Int) {
    var stage = Stage { $0.quotas.participants = quota }
    let (a, b) = (stage.hello("a", in: .clinic).connection, stage.hello("b", in: .clinic).connection)
    func start(_ connection: ConnectionID, _ to: String) -> ErrorObject? {
      stage.ask(connection, .call(.start(CallStartParams(to: [to], kind: .oneToOne, media: .audio))))?.failure
    }
    #expect(start(a, "b") == nil)
    #expect(start(b, "a")?.data.reason == (quota == 1 ? "realm_participants" : nil))
    #expect(stage.realms.gauges.map(\.gauges.participants) == [0, quota])
  }

  /// Calls of all realms are bound together, and take no rooms from others.
  @Test func callsOfOneRealmTakeNoRoomsFromAnother() {
    var rules = ConferenceRules.test
    (rules.maxRooms, rules.calls.maxCalls) = (2, 2)
    var stage = Stage(rules)
    func start(_ user: String, in realm: Realm) -> ErrorObject? {
      let connection = stage.hello(user, in: realm).connection
      _ = stage.hello(user + "'s", in: realm)
      return stage.ask(connection, .call(.start(CallStartParams(to: [user + "'s"], kind: .oneToOne, media: .audio))))?
        .failure
    }
    #expect(start("a", in: .clinic) == nil && start("b", in: .clinic) == nil)
    #expect(start("c", in: .default)?.code == .overloaded)
    let clients = (0..<3).map { stage.hello("u\($0)").connection }
    #expect(stage.join(clients[0], "x") == nil && stage.join(clients[1], "y") == nil)
    #expect(stage.join(clients[2], "z")?.code == .overloaded)
  }

  /// The machine's bounds are all realms' together.
  @Test func whatTheMachineHasIsShared() {
    var rules = ConferenceRules.test
    (rules.maxSessions, rules.maxRooms) = (4, 2)
    var stage = Stage(rules)
    let a = (0..<2).map { stage.hello("u\($0)", in: .clinic).connection }
    let b = (0..<2).map { stage.hello("u\($0)").connection }
    #expect(stage.hello("u2").result?.failure?.code == .overloaded)
    #expect(stage.hello("u2", in: .clinic).result?.failure?.code == .overloaded)
    #expect(stage.join(a[0], "x") == nil && stage.join(b[0], "x") == nil)
    #expect(stage.join(a[1], "y")?.code == .overloaded && stage.join(b[1], "y")?.code == .overloaded)
    _ = stage.ask(b[0], .session(.bye))
    #expect(stage.join(a[1], "y") == nil && stage.hello("u2", in: .clinic).result?.failure == nil)
  }

  // MARK: - Webhooks, and a restart

  @Test func eachIsToldOfItsOwn() {
    var rules = ConferenceRules.test
    rules.calls.isFollowed = true
    var stage = Stage(rules)
    let (a, b) = (stage.hello("anna").connection, stage.hello("ben", in: .clinic).connection)
    #expect(stage.join(a, "x") == nil && stage.join(b, "x") == nil)
    #expect(Set(stage.webhooks[.default]?.compactMap(\.user) ?? []) == ["anna"])
    #expect(Set(stage.webhooks[.clinic]?.compactMap(\.user) ?? []) == ["ben"])
  }

  @Test func whatComesBackIsItsRealms() {
    var stage = Stage()
    var kept = RestoredState()
    kept.bans = [KeptBan(room: "x", user: "carl", until: nil, by: "anna")]
    kept.revocations = [KeptRevocation(tokenID: "t-1", until: stage.now.wallMilliseconds + 1_000_000)]
    kept.lastNumber = 7
    let effects = stage.realms.restore([.clinic: kept], at: stage.now)
    #expect(effects.filter { !$0.effects.isEmpty }.map(\.realm) == [.clinic])
    #expect(stage.join(stage.hello("carl").connection, "x") == nil)
    #expect(stage.join(stage.hello("carl", in: .clinic).connection, "x")?.code == .banned)
  }

  @Test func numbersAreAllDifferentAndMessagesGoOn() throws {
    var stage = Stage()
    let a = [stage.hello("anna"), stage.hello("anna", in: .clinic)]
    for client in a { #expect(stage.join(client.connection, "demo") == nil) }
    let names = a.map { client -> String? in
      let send = ChatSendParams(room: "demo", text: "hello")
      guard case .chatSent(let sent)? = stage.ask(client.connection, .chat(.send(send)))?.success else { return nil }
      return sent.msgId
    }
    #expect(names[0] == names[1], "messages are numbered in their own realm, wherever that stands in the file")
    let sessions = a.compactMap { if case .hello(let hello)? = $0.result?.success { hello.sessionId } else { nil } }
    #expect(Set(sessions).count == 2)
  }
}
