// People and moderators who do anything in any order: whatever comes of it, the invariants hold after every step, and who is banned
// is not there.

import Basics
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ModerationModelTests {
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func nothingGoesWrongWhateverTheOrder(_ seed: UInt64) {
    var crowd = Crowd(seed: seed)
    for _ in 0..<2_500 { crowd.act() }
    // Seldom enough that not every crowd comes to it so soon.
    for _ in 0..<7_500 where crowd.keptOut == 0 { crowd.act() }
    #expect(crowd.done.count == ModerationAction.allCases.count, "every action was carried out: \(crowd.done)")
    #expect(crowd.refused.isSuperset(of: [.banned, .inLobby, .roomLocked, .forbidden]), "\(crowd.refused)")
    #expect(crowd.keptOut > 0)
  }
}

/// Eight users with two devices each, three of whom have the grant.
private struct Crowd {
  let scene: Scene
  var random: SplitMix64
  /// Makes what an operator does, so that it changes no other choice.
  var outside: SplitMix64
  var clients: [Client] = []
  var done: Set<ModerationAction> = []
  var refused: Set<ErrorCode> = []
  /// Joins that were refused for the address.
  var keptOut = 0
  private let rooms = ["demo", "stage", "hall", "attic"]

  init(seed: UInt64) {
    var rules = ConferenceRules.test
    rules.storesRecords = true
    rules.rooms["demo"]?.videoSeats = 8
    scene = Scene(rules, seed: seed)
    scene.isVerified = true
    (scene.stateInterval, scene.beliefInterval) = (3, 3)
    random = SplitMix64(seed: seed)
    outside = SplitMix64(seed: seed &* 104_729)
    for index in 0..<16 { clients.append(arrive(index)) }
  }

  private func arrive(_ index: Int) -> Client {
    scene.rights = index % 8 < 3 ? Rights.all.union(.moderate) : .all
    // Two users live at each address.
    scene.proof = { $0.network = PeerNetwork(SocketAddress(v4: 0xcb00_7100 | UInt32(index % 8 / 2), port: 1)) }
    defer { (scene.rights, scene.proof) = (.all, { _ in }) }
    return scene.client("u\(index % 8)", "d\(index / 8)")
  }

  mutating func act() {
    if Int.random(in: 0..<60, using: &outside) == 0 { setPublishers() }
    let index = Int.random(in: 0..<clients.count, using: &random)
    let client = clients[index]
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<6: join(client)
    case 6..<13: moderate(client)
    case 13, 14: publish(client)
    case 15: mute(client)
    case 16:
      scene.request(client, .room(.raiseHand(RaiseHandParams(room: room(client), raised: .random(using: &random)))))
    case 17: scene.request(client, .room(.leave(RoomParams(room: room(client)))))
    case 18:
      scene.cut(client, clean: .random(using: &random))
      if case .failure = scene.resume(client) {
        scene.clients[client.connection] = nil
        clients[index] = arrive(index)
      }
    default: scene.advance(.milliseconds(.random(in: 1...3_000, using: &random)))
    }
    checkBans()
  }

  private func room(_ client: Client) -> String { client.mirror.room?.room ?? "demo" }

  private mutating func join(_ client: Client) {
    let room = rooms.randomElement(using: &random) ?? "demo"
    let takeover = Bool.random(using: &random)
    let isExpected = isKeptOut(client, room)
    switch scene.join(client, room, { $0.takeover = takeover }) {
    case .success: #expect(!isExpected, "\(client.user) comes from a banned address")
    case .failure(let error):
      refused.insert(error.code)
      if error.code == .banned, error.data.reason == "address" { keptOut += 1 }
    }
  }

  /// Whether an address keeps somebody out who is not in the room, and whom nobody has let in by name.
  private func isKeptOut(_ client: Client, _ room: String) -> Bool {
    let (sessions, rooms) = (scene.core.sessions.table, scene.core.rooms)
    guard let session = sessions[on: client.connection].flatMap({ sessions.facts(of: $0) }),
      let network = session.identity.network?.range, !session.mayModerate(room)
    else { return false }
    let key = rooms.table[named: room]
    let moderation = key.flatMap { rooms.table[$0]?.moderation }
    let isThere = key.map { rooms.table.seat(ofUser: client.user, in: $0) != nil } ?? false
    let isKnown = moderation?.roles[client.user] != nil || moderation?.lobby.isAdmitted(client.user) == true
    return !isThere && !isKnown
      && rooms.addressBans.bans(in: room, at: scene.now.wallMilliseconds)
        .contains { $0.subject.address == network }
  }

  private mutating func moderate(_ client: Client) {
    let action = ModerationAction.allCases.randomElement(using: &random) ?? .mute
    var params = ModerateParams(room: room(client), action: action, user: "u\(Int.random(in: 0..<8, using: &random))")
    if [.mute, .stopVideo, .admit, .deny, .lowerHand].contains(action), Bool.random(using: &random) {
      params.user = nil
    }
    params.kind = Bool.random(using: &random) ? .video : nil
    params.role = RoomRole.allCases.randomElement(using: &random)
    params.media = MediaClass.allCases.randomElement(using: &random)
    params.hold = [nil, true, false].randomElement(using: &random) ?? nil
    params.until = scene.now.wallMilliseconds + .random(in: 1...20_000, using: &random)
    params.address = action == .ban && (params.until ?? 0) % 4 != 0
    if let error = scene.refusal(client, .room(.moderate(params))) {
      refused.insert(error.code)
    } else {
      done.insert(action)
    }
  }

  private mutating func publish(_ client: Client) {
    let kinds = ["0:audio", "1:video", "2:audio:muted"]
    let rooms = scene.core.rooms
    let seat = scene.core.seat(of: client.connection).flatMap { rooms.table.seats[$0] }
    let others = publishing.filter { $0 != seat?.id }
    _ = try? scene.publish(client, kinds.filter { _ in Bool.random(using: &random) }, removing: ["0", "1", "2"])
    let ended = others.subtracting(publishing)
    let mayDisplace = seat.map { rooms.media[$0.id].tracks.isEmpty && Access.role(of: $0, rooms.table) != nil } ?? false
    #expect(ended.count <= (mayDisplace ? 1 : 0), "who begins with a role takes one place")
  }

  /// An operator changes how many may publish. Nobody who does stops for it.
  private mutating func setPublishers() {
    let room = ["hall", "demo"].randomElement(using: &outside) ?? "hall"
    var plan = RoomPlan(kind: "group")
    plan.publishers = [nil, 1, 2, 3].randomElement(using: &outside) ?? nil
    let before = publishing
    if case .failure = scene.operate(.makeRoom(room, plan, locked: false, lobby: false)) {
      #expect(throws: Never.self) { _ = try scene.operate(.replaceSettings(of: room, plan, .any)).get() }
    }
    #expect(publishing == before, "a lower number ends nothing")
  }

  /// All who publish.
  private var publishing: Set<SeatID> {
    let rooms = scene.core.rooms
    return Set(rooms.table.seats.keys.filter { !rooms.media[$0].tracks.isEmpty })
  }

  private mutating func mute(_ client: Client) {
    let seat = scene.core.seat(of: client.connection).flatMap { scene.core.rooms.table.seats[$0] }
    guard let seat, let track = scene.core.rooms.media[seat.id].tracks.randomElement(using: &random) else { return }
    let params = TrackParams(trackId: "\(track)")
    scene.request(client, .track(Bool.random(using: &random) ? .mute(params) : .unmute(params)))
  }

  /// Who has the grant is let in all the same.
  private func checkBans() {
    let rooms = scene.core.rooms
    for seat in rooms.table.seats.values {
      let room = rooms.table.name(of: seat.room)
      guard let ban = rooms.bans.ban(of: seat.user, in: room, at: scene.now.wallMilliseconds) else { continue }
      #expect(seat.member.mayModerate(room), "\(ban) and yet there")
    }
  }
}
