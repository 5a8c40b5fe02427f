// Many users doing anything at any time. After each step the invariants hold, and every connected client's belief, made
// of its snapshots and events alone, is the truth.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct ModelTests {
  @Test(arguments: 1...8) func anythingMayHappen(_ seed: Int) {
    let model = RandomConference(seed: UInt64(seed))
    for _ in 0..<3_000 { model.step() }
    // Enough of everything has really happened.
    let counters = model.scene.counters
    #expect((counters[.joined] ?? 0) > 100 && (counters[.trackPublished] ?? 0) > 100)
    #expect((counters[.resumed] ?? 0) > 10 && (counters[.sessionExpired] ?? 0) > 2)
    #expect((counters[.joinRefused(.roomFull)] ?? 0) > 2 && (counters[.joinRefused(.alreadyJoined)] ?? 0) > 0)
    #expect(model.takeovers > 0 && model.repeats > 50 && model.played > 5)
    #expect(model.defined > 1)
    #expect(counters.keys.contains(.call(.joined)) && counters.keys.contains(.call(.started(.group))))
    model.everybodyLeaves()
    let core = model.scene.core
    #expect(
      core.sessions.table.all.isEmpty && core.rooms.table.seats.isEmpty && core.rooms.media.tracks.isEmpty
        && core.rooms.media.subscriptions.isEmpty)
    #expect(core.sessions.table.users.isEmpty && core.sessions.table.connections.isEmpty && core.nextDeadline == nil)
    #expect(core.rooms.table.all.count == core.rules.rooms.count && core.gauges == ConferenceGauges())
  }

  @Test func theSameSeedGivesTheSameConference() {
    let runs = (0..<2).map { _ in
      let model = RandomConference(seed: 99)
      for _ in 0..<300 { model.step() }
      return (model.scene.core.gauges, model.scene.log.map(\.event))
    }
    #expect(runs[0] == runs[1])
  }
}

/// Random commands with what is known of the clients that send them.
final class RandomConference {
  let scene: Scene
  var clients: [Client] = []
  var takeovers = 0
  var repeats = 0
  /// Settings that rooms were given.
  var defined = 0
  /// Streams that were played.
  var played = 0
  private var lost: [Client] = []
  private var random: SplitMix64
  /// Makes what an operator does, so that it changes no other choice.
  private var outside: SplitMix64
  /// The same of the settings of rooms.
  private var makings: SplitMix64
  private var nextMid = 0
  private let rooms = ["demo", "voice", "stage", "x", "y", "z"]

  init(seed: UInt64, isFollowed: Bool = false) {
    var rules = ConferenceRules.test
    rules.calls.isFollowed = isFollowed
    rules.replayEvents = 40
    rules.calls.resumeGrace = rules.resumeGrace
    rules.requestWindow = 16
    rules.maxSubscriptions = 40
    rules.rooms["z"] = RoomRules(kind: "hall")
    rules.rooms["z"]?.videoLastN = 2
    scene = Scene(rules, seed: seed)
    // What is broken stays so, as a rule, and eight seeds come to it at other steps.
    (scene.stateInterval, scene.beliefInterval) = (3, 6)
    scene.refusalInterval = 20
    random = SplitMix64(seed: seed &* 7919)
    outside = SplitMix64(seed: seed)
    makings = SplitMix64(seed: seed &* 104_729)
  }

  func step() {
    if Int.random(in: 0..<400, using: &outside) == 0 { operate() }
    if Int.random(in: 0..<150, using: &makings) == 0 { makeRooms() }
    if Int.random(in: 0..<6, using: &outside) == 0 { streams() }
    let dice = Int.random(in: 0..<100, using: &random)
    switch dice {
    case 0..<6: arrive()
    case 6..<8: breakOff(clean: true)
    case 8..<14: breakOff(clean: false)
    case 14..<22: comeBack()
    case 22..<26: scene.advance(.milliseconds(.random(in: 1...1_500, using: &random)))
    case 26..<46: join()
    case 46..<52: leave()
    case 52..<62: publish()
    case 62..<66: mute()
    case 66..<68: views()
    case 68..<76: subscriptions()
    case 76..<80: chat()
    case 80..<92: calls()
    case 92..<96: media()
    default: anotherOnce()
    }
  }

  func everybodyLeaves() {
    for client in clients { scene.request(client, .session(.bye)) }
    for room in ["x", "demo", "m1"] { _ = scene.operate(.takeBackSettings(of: room, .none)) }
    // A call that an operator has started rings on for half a minute.
    scene.advance(.seconds(60))
  }

  // MARK: - Sessions

  private func arrive() {
    guard clients.count < 28 else { return }
    let user = "u\(Int.random(in: 0..<20, using: &random))"
    let client = scene.stranger(user, "d\(Int.random(in: 0..<3, using: &random))")
    let holder = (clients + lost).first { $0.user == user && $0.device == client.device }
    let isHeld = scene.core.sessions.table.all.values.contains { $0.user == user && $0.deviceId == client.device }
    let shown = Bool.random(using: &random) ? holder?.token : nil
    switch scene.hello(client, token: shown) {
    case .success:
      clients.append(client)
      clients.removeAll { $0 === holder }
      lost.removeAll { $0 === holder }
      #expect(!isHeld || shown != nil, "nobody is put out without his token")
    case .failure(let error): #expect(error.code == .forbidden && isHeld && shown == nil)
    }
  }

  private func breakOff(clean: Bool) {
    guard let client = anybody() else { return }
    clients.removeAll { $0 === client }
    scene.cut(client, clean: clean)
    if !clean { lost.append(client) }
  }

  private func comeBack() {
    guard let client = lost.randomElement(using: &random) else { return }
    lost.removeAll { $0 === client }
    switch scene.resume(client) {
    case .success:
      clients.append(client)
      Invariants.check(scene)
    case .failure(let error): #expect(error.code == .resumeExpired)
    }
  }

  /// The same request again: the same reply, and nothing else.
  private func anotherOnce() {
    guard let client = anybody() else { return }
    let id = client.makeID()
    let request = Request.room(.join(RoomJoinParams(room: rooms.randomElement(using: &random) ?? "x")))
    let first = scene.request(client, request, id: id)
    let before = (scene.counters, scene.log.count)
    let effects = scene.core.apply(.request(client.connection, id, request), at: scene.now)
    #expect(effects == [.client(.reply(client.connection, id, first))])
    #expect(before == (scene.counters, scene.log.count))
    repeats += 1
  }

  // MARK: - In the room

  private func join() {
    guard let client = anybody() else { return }
    let other = (clients + lost).first { $0 !== client && $0.user == client.user }
    let result = scene.join(client, rooms.randomElement(using: &random) ?? "x") {
      $0.media = [nil, .audio, .video].randomElement(using: &random) ?? nil
      $0.displayName = ["Anna", nil, nil, nil, nil].randomElement(using: &random) ?? nil
      $0.metadata = ["n": RawJSON(.integer(.random(in: 0...3, using: &random)))]
      $0.autoSubscribe = [nil, nil, false, true].randomElement(using: &random) ?? nil
      $0.views = [nil, nil, nil, 3].randomElement(using: &random) ?? nil
      $0.takeover = Bool.random(using: &random)
      $0.resumeToken = other?.token
    }
    if case .success = result, scene.log.last?.event == "takeover" { takeovers += 1 }
  }

  private func leave() {
    guard let client = anybody() else { return }
    #expect(scene.code(client, .room(.leave(RoomParams(room: client.mirror.room?.room ?? "demo")))) == nil)
  }

  private func publish() {
    guard let client = anybody() else { return }
    if Int.random(in: 0..<10, using: &random) == 0 { scene.negotiationError = ErrorObject(.noCommonCodec) }
    let kinds = ["audio", "video", "video:muted", "audio:muted"]
    let tracks = (0..<Int.random(in: 0...3, using: &random)).map { _ in
      nextMid += 1
      return "\(nextMid % 12):\(kinds.randomElement(using: &random) ?? "audio")"
    }
    let mids = (0..<Int.random(in: 0...4, using: &random)).map { _ in "\(Int.random(in: 0..<12, using: &random))" }
    let own = scene.core.seat(of: client.connection)
    let others = publishing.filter { $0 != own }
    do {
      _ = try scene.publish(client, tracks, removing: mids)
      #expect(publishing.isSuperset(of: others), "nobody has a role here, and displaces anybody")
    } catch let error as ErrorObject {
      let allowed: [ErrorCode] = [
        .notJoined, .roomClosed, .mediaNotAllowed, .forbidden, .tooManyTracks, .noCommonCodec,
      ]
      #expect(allowed.contains(error.code))
    } catch {
      Issue.record("\(error)")
    }
    scene.negotiationError = nil
  }

  private func mute() {
    guard let client = anybody(), let track = anyTrack(for: client) else { return }
    let params = TrackParams(trackId: track.description)
    let request: Request =
      switch Int.random(in: 0..<5, using: &random) {
      case 0: .track(.unpublish(params))
      case 1, 2: .track(.mute(params))
      default: .track(.unmute(params))
      }
    let isMine = scene.core.rooms.media.tracks[track]?.seat == scene.core.seat(of: client.connection)
    let code = scene.code(client, request)
    if isMine { #expect(code == nil) } else { #expect(code != nil) }
  }

  private func subscriptions() {
    guard let client = anybody() else { return }
    let mine = scene.core.rooms.media.subscriptions.values.filter { $0.seat == scene.core.seat(of: client.connection) }
      .map(\.id).sorted()
    let some = mine.randomElement(using: &random)?.description ?? "s1"
    switch Int.random(in: 0..<6, using: &random) {
    case 0: _ = scene.code(client, .subscription(.unsubscribe(SubscriptionParams(subscriptionId: some))))
    case 1:
      _ = scene.code(
        client,
        .subscription(
          .update(SubscriptionUpdateParams(subscriptionId: some, paused: .random(using: &random), priority: 3))))
    case 2:
      let other = mine.randomElement(using: &random)?.description ?? some
      _ = scene.code(client, .subscription(.swap(SwapParams(a: some, b: other))))
    case 3:
      if let id = SubscriptionID(wire: some) { scene.apply(.subscription(id, .ended(.refused))) }
    case 4:
      guard let seat = scene.core.seat(of: client.connection) else { return }
      let lines = mine.map { ServerOffer.Line(mid: "\($0)", subscription: $0) }
      scene.apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: lines)))
      #expect(scene.code(client, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "answer")))) == nil)
    default:
      guard let track = anyTrack(for: client) else { return }
      _ = scene.code(client, .subscription(.subscribe(SubscribeParams(trackId: track.description, priority: 1))))
    }
  }

  /// Views that are opened and shown this and that; they show nothing that the room does not have.
  private func views() {
    guard let client = anybody() else { return }
    let seat = scene.core.seat(of: client.connection).flatMap { scene.core.rooms.table.seats[$0] }
    guard let mine = seat.map({ scene.core.rooms.media[$0.id].views }), !mine.isEmpty, Bool.random(using: &random)
    else {
      _ = scene.code(client, .view(.open(ViewOpenParams(count: .random(in: 1...4, using: &random)))))
      return
    }
    let wishes = mine.shuffled(using: &random).prefix(2).map { view in
      let track = Bool.random(using: &random) ? anyTrack(for: client)?.description : nil
      let follow: ViewFollow? = track == nil && Bool.random(using: &random) ? .activeSpeaker : nil
      return ViewWish(subscriptionId: view.description, trackId: track, follow: follow)
    }
    _ = scene.code(client, .view(.show(ViewShowParams(views: wishes))))
    guard let view = mine.randomElement(using: &random).flatMap({ scene.core.rooms.media.subscriptions[$0] }) else {
      return
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: scene.apply(.subscription(view.id, .cannotShow))
    case 1: scene.apply(.subscription(view.id, Bool.random(using: &random) ? .paused(.bandwidth) : .resumed))
    default:
      if let track = view.track { scene.apply(.subscription(view.id, .started(track, timestamp: 7))) }
    }
  }

  /// Streams that are published, played, changed, lost and closed.
  private func streams() {
    guard let client = clients.randomElement(using: &outside) else { return }
    let stream = MediaConnectionID(.random(in: 2...5, using: &outside))
    let seats = scene.core.rooms.table.seats
    let room = scene.core.seat(of: client.connection).flatMap { seats[$0]?.room }
    // Mostly of the same room, and now and then one's own.
    let there = scene.core.rooms.media.tracks.filter { seats[$0.value.seat]?.room == room }.keys.sorted()
    let tracks = (0..<2).compactMap { _ in there.randomElement(using: &outside)?.description }
    if Int.random(in: 0..<10, using: &outside) == 0 { scene.negotiationError = ErrorObject(.noCommonCodec) }
    switch Int.random(in: 0..<8, using: &outside) {
    case 0, 1, 2:
      let offer = PublishOfferParams(
        pc: .publish, sdp: "offer",
        tracks: [
          AnnouncedTrack(mid: "0", kind: .audio),
          AnnouncedTrack(mid: "1", kind: .video, muted: .random(using: &outside)),
        ])
      scene.apply(.stream(client.connection, client.makeID(), .publish(stream, offer)))
    case 3, 4:
      let id = client.makeID()
      scene.apply(.stream(client.connection, id, .play(stream, tracks: tracks, lines: [.audio, .video], sdp: "o")))
      if case .success? = client.replies[id]?.last { played += 1 }
    case 5: scene.apply(.stream(client.connection, client.makeID(), .show(stream, tracks: tracks)))
    case 6:
      guard let seat = scene.core.seat(of: client.connection),
        scene.core.rooms.table.seats[seat]?.streams.contains(stream) == true
      else { break }
      let changes: [MediaChange] = [.connected, .lost, .recovered, .failed(.ice, reason: "x", isFinal: true)]
      scene.apply(.media(seat, stream, changes.randomElement(using: &outside) ?? .lost))
    default: scene.apply(.stream(client.connection, client.makeID(), .close(stream)))
    }
    scene.negotiationError = nil
  }

  private func chat() {
    guard let client = anybody(), let room = client.mirror.room?.room else { return }
    let to = Bool.random(using: &random) ? ["u\(Int.random(in: 0..<20, using: &random))"] : nil
    #expect(scene.code(client, .chat(.send(ChatSendParams(room: room, text: "hello", to: to)))) == nil)
  }

  private func media() {
    guard let seat = scene.core.rooms.table.seats.keys.sorted().randomElement(using: &random) else { return }
    let changes: [MediaChange] = [.connected, .lost, .lost, .recovered, .failed(.dtls, reason: "x", isFinal: false)]
    let connection = Bool.random(using: &random) ? MediaConnectionID.publish : .subscribe
    scene.apply(.media(seat, connection, changes.randomElement(using: &random) ?? .lost))
    if let room = scene.core.rooms.table.seats[seat]?.room {
      scene.apply(
        .activeSpeakers(room, [SpeakerLevel(seat: seat, level: 200), SpeakerLevel(seat: SeatID(1), level: 0)]))
    }
  }

  // MARK: - Calls

  /// Calls between the same people who sit in rooms: what they may do is the switchboard's matter, what becomes of seats
  /// is looked at here.
  private func calls() {
    guard let client = anybody() else { return }
    let user = { [self] in "u\(Int.random(in: 0..<20, using: &random))" }
    let running =
      scene.core.calls.available(to: client.user, at: scene.now)
      + scene.core.calls.ringing(for: client.user, on: client.device, at: scene.now)
    let call = running.randomElement(using: &random)?.callId ?? "x"
    let media: MediaClass = Bool.random(using: &random) ? .audio : .video
    let token = (clients + lost).first { $0 !== client && $0.user == client.user }?.token
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<3:
      let kind = CallKind.allCases.randomElement(using: &random) ?? .group
      let to = kind == .oneToOne ? [user()] : [user(), user(), user()]
      var params = CallStartParams(to: to, kind: kind, media: media)
      (params.busyPolicy, params.replace) = (.ring, Bool.random(using: &random))
      params.autoSubscribe = Bool.random(using: &outside)
      _ = scene.code(client, .call(.start(params)))
    case 3..<6:
      _ = scene.code(client, .call(.accept(CallAcceptParams(callId: call, takeover: true, resumeToken: token))))
    case 6:
      let join = CallJoinParams(callId: call, takeover: true, resumeToken: token)
      _ = scene.code(client, .call(.join(join)))
    case 7: _ = scene.code(client, .call(.invite(CallInviteParams(callId: call, users: [user(), user()]))))
    case 8:
      let action = MediaChangeAction.allCases.randomElement(using: &random) ?? .request
      _ = scene.code(client, .call(.mediaChange(MediaChangeParams(action: action, media: media))))
    default: _ = scene.code(client, .call(.hangup(CallHangupParams())))
    }
  }

  /// What an operator does now and then, to whoever is there.
  private func operate() {
    let user = "u\(Int.random(in: 0..<20, using: &outside))"
    let room = rooms.randomElement(using: &outside) ?? "x"
    let call = scene.core.calls.running(at: scene.now).randomElement(using: &outside)?.callId ?? "x"
    let isLocked = Bool.random(using: &outside)
    scene.isOtherWorker = Int.random(in: 0..<4, using: &outside) == 0
    let to = rooms.randomElement(using: &outside) ?? "x"
    let actions: [OperatorAction] = [
      .look, .closeRoom(room), .remove(user: user, room: room), .removeFromCall(user: user, call: call), .endCall(call),
      .setLocked(isLocked, room: room), .move(user: user, room: room, to: to), .move(user: user, room: room, to: to),
      .startCall(CallStartParams(to: [user, "u1", "u2"], kind: .group, media: .video), of: nil),
      .startCall(CallStartParams(to: ["u3"], kind: .oneToOne, media: .audio), of: user),
      .invite(CallInviteParams(callId: call, users: [user]), as: nil), .withdraw(user: user, call: call),
    ]
    if let action = actions.randomElement(using: &outside) { _ = scene.operate(action) }
    _ = scene.operate(.setLocked(false, room: room))
  }

  /// Settings of rooms that come, change and end.
  private func makeRooms() {
    let room = ["x", "demo", "m1"].randomElement(using: &makings) ?? "x"
    var plan = RoomPlan(kind: ["group", "pair", "talk", "gone"].randomElement(using: &makings) ?? "pair")
    plan.media = [nil, .audio, .video, .firstJoiner].randomElement(using: &makings) ?? nil
    plan.videoLimit = [nil, 1, 3, 8].randomElement(using: &makings) ?? nil
    plan.videoLastN = [nil, 1, 2].randomElement(using: &makings) ?? nil
    plan.publishers = [nil, nil, 1, 2].randomElement(using: &makings) ?? nil
    plan.players = [nil, nil, 1, 4].randomElement(using: &makings) ?? nil
    plan.tracksPerParticipant = [nil, nil, 1, 3].randomElement(using: &makings) ?? nil
    plan.chatHistory = [nil, 0, 1, 5].randomElement(using: &makings) ?? nil
    if Bool.random(using: &makings) {
      plan.until = scene.now.wallMilliseconds + .random(in: 1...20_000, using: &makings)
    }
    let (isLocked, hasLobby) = (
      Int.random(in: 0..<6, using: &makings) == 0, Int.random(in: 0..<6, using: &makings) == 0
    )
    let actions: [OperatorAction] = [
      .makeRoom(room, plan, locked: isLocked, lobby: hasLobby), .replaceSettings(of: room, plan, .any),
      .replaceSettings(of: room, plan, .any), .takeBackSettings(of: room, .any), .setLocked(false, room: room),
    ]
    guard let action = actions.randomElement(using: &makings) else { return }
    let (publishing, media) = (self.publishing, scene.core.rooms.table.all.mapValues(\.media))
    guard case .success(.definition) = scene.operate(action) else { return }
    defined += 1
    // Other media end video, and with it perhaps all that somebody publishes. No number ends anything.
    let isSame = scene.core.rooms.table.all.allSatisfy { media[$0.key] == $0.value.media }
    if isSame { #expect(self.publishing == publishing, "a lower number ends nothing") }
  }

  /// All who publish.
  private var publishing: Set<SeatID> {
    let rooms = scene.core.rooms
    return Set(rooms.table.seats.keys.filter { !rooms.media[$0].tracks.isEmpty })
  }

  private func anybody() -> Client? { clients.randomElement(using: &random) }

  private func anyTrack(for client: Client) -> TrackID? {
    let own = scene.core.seat(of: client.connection).map { scene.core.rooms.media[$0].tracks } ?? []
    let any = own.isEmpty || Bool.random(using: &random) ? scene.core.rooms.media.tracks.keys.sorted() : own
    return any.randomElement(using: &random)
  }
}
