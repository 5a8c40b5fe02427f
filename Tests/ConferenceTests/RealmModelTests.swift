// Two realms with the same names everywhere: ten thousand random requests, and nothing of one gets into the other.

import Basics
import Calls
import Names
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

extension Realm {
  static let clinic = Realm("clinic") ?? .default
  static let school = Realm("school") ?? .default
}

@Suite struct RealmModelTests {
  /// What comes of each request is what comes of it where there is no other realm, and goes to nobody else.
  @Test func tenThousandRequestsCrossNothing() throws {
    let play = RealmPlay(realms: [.clinic, .school], seed: 4901)
    for _ in 0..<10_000 { play.step() }
    #expect(play.crossings == [])
    #expect(play.differences == 0, "\(play.first)")
    // Enough has really happened, in both.
    for realm in [Realm.clinic, .school] {
      let names = play.events[realm] ?? []
      #expect(names.isSuperset(of: [.participantJoined, .trackPublished, .chatMessage, .callIncoming, .roomClosed]))
      let gauges = try #require(play.realms.gauges.first { $0.realm == realm }).gauges
      #expect(gauges.sessions > 5 && gauges.participants > 0 && gauges.rooms > 0)
      #expect(play.stored[realm, default: 0] > 100 && play.told[realm, default: 0] > 100)
    }
    #expect(play.foreign > 300, "ids of the other realm were asked for")
    #expect(play.realms.gauges[0].gauges == ConferenceGauges(), "and nobody is in the realm that nobody came to")
  }

  /// The same, were both in one conference.
  @Test func inOneConferenceTheyWouldCross() {
    let play = RealmPlay(realms: [.clinic, .school], seed: 4901, isShared: true)
    for _ in 0..<500 { play.step() }
    #expect(!play.crossings.isEmpty && play.differences > 0)
  }
}

/// Random requests of users who are called the same in each realm.
private final class RealmPlay {
  /// Somebody on a connection.
  private struct Client {
    let realm: Realm
    let connection: ConnectionID
    var token = ""
  }

  var realms: Realms
  /// Each realm by itself.
  private var alone: [Realm: ConferenceCore] = [:]
  private var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  private var random: SplitMix64
  private let isShared: Bool
  private let all: [Realm]
  private var clients: [Client] = []
  private var owners: [ConnectionID: Realm] = [:]
  private var nextNumber: UInt64 = 0
  /// What has been seen of each, for requests about it: tracks, subscriptions, calls.
  private var tracks: [Realm: [String]] = [:]
  private var calls: [Realm: [String]] = [:]
  private var seats: [Realm: [SeatID]] = [:]

  /// Effects of one that went to another.
  private(set) var crossings: [String] = []
  /// Steps from which something else came than from the same realm alone.
  private(set) var differences = 0
  /// The first of them.
  private(set) var first = ""
  private(set) var events: [Realm: Set<EventName>] = [:]
  private(set) var stored: [Realm: Int] = [:]
  private(set) var told: [Realm: Int] = [:]
  /// Requests about what is the other realm's.
  private(set) var foreign = 0

  init(realms: [Realm], seed: UInt64, isShared: Bool = false) {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    (rules.calls.keepsCalls, rules.calls.isFollowed, rules.calls.hasPush) = (true, true, true)
    rules.userRequestBurst = 1_000_000
    rules.networkRequestBurst = 1_000_000
    var all: [Realm: ConferenceRules] = [:]
    for realm in [.default] + realms { all[realm] = rules }
    self.realms = Realms(all) { SplitMix64(seed: seed ^ UInt64($0.rawValue)) }
    for (place, realm) in self.realms.names.enumerated() {
      let number = RealmNumber(UInt8(place))
      alone[realm] = ConferenceCore(
        rules: rules, realm: number, random: SplitMix64(seed: seed ^ UInt64(number.rawValue)))
    }
    (self.all, self.isShared, random) = (realms, isShared, SplitMix64(seed: seed))
  }

  // MARK: - Steps

  func step() {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<8: hello()
    case 8..<11: close()
    case 11..<14: resume()
    case 14..<17: pass(.milliseconds(.random(in: 1...1_500, using: &random)))
    case 17..<20: operate()
    case 20..<24: media()
    default: ask()
    }
  }

  private func hello() {
    guard clients.count < 80, let realm = all.randomElement(using: &random) else { return }
    let (user, device) = (somebody(), "d\(Int.random(in: 0..<2, using: &random))")
    let connection = newConnection(realm)
    var identity = Identity(
      user: user, device: device, displayName: user, rights: Rights.all.union(.moderate), isVerified: true)
    identity.realm = isShared ? .default : realm
    identity.tokenID = "token of \(user)"
    clients.append(Client(realm: realm, connection: connection))
    apply(.hello(connection, number(), HelloParams(user: user, deviceId: device), identity), in: realm)
  }

  private func newConnection(_ realm: Realm) -> ConnectionID {
    nextNumber += 1
    let connection = ConnectionID(nextNumber)
    owners[connection] = realm
    return connection
  }

  private func close() {
    guard let index = clients.indices.randomElement(using: &random) else { return }
    let client = clients.remove(at: index)
    let isClean = Bool.random(using: &random)
    apply(.connectionClosed(client.connection, clean: isClean), in: client.realm)
  }

  /// On a new connection, with the token that was shown last.
  private func resume() {
    guard let index = clients.indices.randomElement(using: &random), clients[index].token != "" else { return }
    let old = clients.remove(at: index)
    if Bool.random(using: &random) { apply(.connectionClosed(old.connection, clean: false), in: old.realm) }
    let connection = newConnection(old.realm)
    clients.append(Client(realm: old.realm, connection: connection, token: old.token))
    apply(.resume(connection, number(), ResumeParams(resumeToken: old.token, lastSeq: 0), from: nil), in: old.realm)
  }

  private func pass(_ time: TimeDelta) {
    now = now.advanced(by: time)
    let come = realms.poll(at: now)
    if isShared { return come.forEach { take($0.effects, in: nil) } }
    let expected = all.map { ($0, alone[$0]?.poll(at: now) ?? []) }
    compare(come.flatMap(\.effects), expected.flatMap { $0.1 })
    for (realm, effects) in expected { take(effects, in: realm) }
  }

  private func operate() {
    guard let realm = all.randomElement(using: &random) else { return }
    let (user, room) = (somebody(), someRoom())
    let actions: [OperatorAction] = [
      .look, .bans(room: nil), .closeRoom(room), .remove(user: user, room: room), .setLocked(false, room: room),
      .move(user: user, room: room, to: someRoom()), .liftBan(user: user, room: room), .blocks(of: user),
      .blockCounts(), .revoke("token of \(user)"),
      .liftRevocation("token of \(user)"), .narrow(user: user, to: .all, room: room), .narrowings(of: nil),
      .liftNarrowings(of: user, room: nil), .endCall(someCall(of: realm)),
      .moderate(ModerateParams(room: room, action: .mute)), .say("Hello", as: "House", room: room, to: nil),
      .user(user), .history(of: user, before: nil), .see(user), .call(someCall(of: realm)),
      .startCall(CallStartParams(to: [user, somebody()], kind: .group, media: .video), of: nil),
      .invite(CallInviteParams(callId: someCall(of: realm), users: [user]), as: nil),
      .makeRoom(room, RoomPlan(kind: "pair"), locked: false, lobby: true), .settings(of: room), .allSettings(),
      .replaceSettings(of: room, RoomPlan(kind: "talk"), .any), .takeBackSettings(of: room, .none),
    ]
    guard let action = actions.randomElement(using: &random) else { return }
    let come = realms.operate(action, in: isShared ? .default : realm, at: now)
    guard let expected = alone[realm]?.operate(action, at: now) else { return }
    if come.answer != expected.answer { differences += 1 }
    compare(come.effects.effects, expected.effects)
    take(isShared ? come.effects.effects : expected.effects, in: realm)
  }

  private func media() {
    guard let realm = all.randomElement(using: &random), let seat = seats[realm]?.randomElement(using: &random) else {
      return
    }
    let changes: [MediaChange] = [
      .connected, .connected, .lost, .recovered, .failed(.ice, reason: "x", isFinal: false),
    ]
    apply(.media(seat, .publish, changes.randomElement(using: &random) ?? .connected), in: realm)
  }

  private func ask() {
    guard let client = clients.randomElement(using: &random) else { return }
    apply(.request(client.connection, number(), request(client)), in: client.realm)
  }

  // MARK: - What is asked for

  private func request(_ client: Client) -> Request {
    let (realm, room, user) = (client.realm, someRoom(), somebody())
    switch Int.random(in: 0..<26, using: &random) {
    case 0..<5:
      var params = RoomJoinParams(room: room)
      (params.takeover, params.views) = (true, Bool.random(using: &random) ? 2 : nil)
      return .room(.join(params))
    case 5: return .room(.leave(RoomParams(room: room)))
    case 6: return .room(.list(RoomListParams()))
    case 7: return .room(.info(RoomParams(room: room)))
    case 8..<11:
      return .chat(
        .send(ChatSendParams(room: room, text: "in \(realm)", to: Bool.random(using: &random) ? [user] : nil)))
    case 11: return .userQuery(UserQueryParams(users: ["u0", "u1", "u2", "u3"]))
    case 12: return .block(.add(BlockParams(user: user)))
    case 13: return .block(.remove(BlockParams(user: user)))
    case 14..<16:
      let action = ModerationAction.allCases.randomElement(using: &random) ?? .mute
      return .room(.moderate(ModerateParams(room: room, action: action, user: user)))
    case 16..<18:
      let mid = "\(Int.random(in: 0..<6, using: &random))"
      let tracks = [AnnouncedTrack(mid: mid, kind: Bool.random(using: &random) ? .audio : .video)]
      return .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)))
    case 18: return .subscription(.subscribe(SubscribeParams(trackId: someTrack(of: realm))))
    case 19: return .track(.mute(TrackParams(trackId: someTrack(of: realm))))
    case 20..<22:
      var params = CallStartParams(to: [user], kind: .oneToOne, media: .audio)
      (params.clientCallId, params.replace) = ("call \(Int.random(in: 0..<50, using: &random))", true)
      return .call(.start(params))
    case 22: return .call(.accept(CallAcceptParams(callId: someCall(of: realm), takeover: true)))
    case 23: return .call(.get(CallParams(callId: someCall(of: realm))))
    case 24: return .call(.history(CallHistoryParams()))
    default: return .call(.hangup(CallHangupParams()))
    }
  }

  private func somebody() -> String { "u\(Int.random(in: 0..<12, using: &random))" }
  private func someRoom() -> String { ["demo", "x", "y"].randomElement(using: &random) ?? "x" }
  private func number() -> RequestID {
    nextNumber += 1
    return .number(Int64(nextNumber))
  }

  private func someTrack(of realm: Realm) -> String { some(tracks, of: realm) ?? "t1" }
  private func someCall(of realm: Realm) -> String { some(calls, of: realm) ?? "none" }

  /// Now and then the other realm's.
  private func some(_ names: [Realm: [String]], of realm: Realm) -> String? {
    guard Int.random(in: 0..<3, using: &random) == 0, let other = all.first(where: { $0 != realm }),
      let name = names[other]?.suffix(8).randomElement(using: &random)
    else { return names[realm]?.suffix(8).randomElement(using: &random) }
    foreign += 1
    return name
  }

  // MARK: - What comes of it

  private func apply(_ command: Command, in realm: Realm) {
    let come = realms.apply(command, at: now)
    let expected = alone[realm]?.apply(command, at: now) ?? []
    for effects in come where effects.realm != realm && !isShared && !effects.effects.isEmpty {
      if crossings.count < 10 { crossings.append("\(command) of \(realm) was \(effects.realm)'s") }
    }
    compare(come.flatMap(\.effects), expected)
    take(isShared ? come.flatMap(\.effects) : expected, in: realm)
  }

  private func compare(_ come: [Effect], _ expected: [Effect]) {
    if come != expected {
      differences += 1
      if first == "" { first = "\(come.prefix(9)) for \(expected.prefix(9))" }
    }
    // As a server does at the end of its turn.
    let waiting = realms.takeWaiting()
    if waiting != all.flatMap({ alone[$0]?.takeWaiting() ?? [] }) { differences += 1 }
  }

  /// Looks whom each effect reaches, and does what media, disk and doors do. Nil: where both are in one, it is anybody's.
  private func take(_ effects: [Effect], in realm: Realm?) {
    var next: [(Command, Realm)] = []
    for effect in effects {
      for connection in effect.connections where realm != nil && owners[connection] != realm {
        if crossings.count < 10 { crossings.append("\(effect) reaches \(connection)") }
      }
      let realm = realm ?? effect.connections.first.flatMap { owners[$0] } ?? all[0]
      next += follow(effect, in: realm).map { ($0, realm) }
    }
    for (command, realm) in next { apply(command, in: realm) }
  }

  private func follow(_ effect: Effect, in realm: Realm) -> [Command] {
    switch effect {
    case .client(.reply(let connection, _, .success(.hello(let hello)))):
      if let index = clients.firstIndex(where: { $0.connection == connection }) {
        clients[index].token = hello.resumeToken
      }
    case .client(.reply(_, _, .success(.published(let result)))):
      tracks[realm, default: []] += result.tracks.map(\.trackId)
    case .client(.event(_, let message)): note(message.event, in: realm)
    case .client(.broadcast(_, _, let event)): note(event, in: realm)
    case .client(.closeConnection(let connection, _)): clients.removeAll { $0.connection == connection }
    case .media(.openSeat(let seat, _, _, _, _, _, _)): seats[realm, default: []].append(seat)
    case .media(.askMove(let seat, let room)): return [.mayMove(seat, to: room, keepsConnections: true)]
    case .media(.closeSeat(let seat)): seats[realm]?.removeAll { $0 == seat }
    case .media(.negotiatePublish(let key, _, let params, _)):
      let lines = (params.tracks ?? []).map { PublishChange.Line(mid: $0.mid, kind: $0.kind) }
      return [.publishPrepared(key, .success(PublishChange(answer: "answer", added: lines)))]
    case .media(.askSilence(let asker, _)): return [.silence(asker, nil)]
    case .store(.write(let ticket, _)):
      stored[realm, default: 0] += 1
      return [.stored(ticket, true)]
    case .store(.read(let ticket, _)): return [.fetched(ticket, [])]
    case .outside(.webhook): told[realm, default: 0] += 1
    case .goOn(let who): return [.goOn(who)]
    default: break
    }
    return []
  }

  private func note(_ event: Event, in realm: Realm) {
    events[realm, default: []].insert(event.name)
    if case .callIncoming(let incoming) = event { calls[realm, default: []].append(incoming.call.callId) }
  }
}

extension Effect {
  /// Whom it reaches.
  fileprivate var connections: [ConnectionID] {
    guard case .client(let effect) = self else { return [] }
    switch effect {
    case .reply(let connection, _, _), .event(let connection, _), .closeConnection(let connection, _),
      .stream(let connection, _, _), .setWaiting(let connection, _):
      return [connection]
    case .broadcast(let receivers, _, _): return receivers.map(\.connection)
    }
  }
}
