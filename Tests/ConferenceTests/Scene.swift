// A conference in virtual time with clients as plain values: requests go in, events are sorted to whom they reach, and
// the media side is a ledger of what was opened and closed. Every step is followed by a check of the core's invariants.

import Basics
import Calls
import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

/// One client: a device of a user with what it has been told.
final class Client {
  let user: String
  let device: String
  var connection: ConnectionID
  var token = ""
  var lastSeq = 0
  /// Events since they were last taken.
  var events: [Event] = []
  var replies: [RequestID: [Result<Reply, ErrorObject>]] = [:]
  var requests: [RequestID: Request] = [:]
  var closed: CloseReason?
  /// What its door was told last.
  var isWaiting = false
  /// What has become of the media of its streams.
  var streams: [(MediaConnectionID, MediaChange)] = []
  var mirror = Mirror()
  private var nextID: Int64 = 1

  init(user: String, device: String, connection: ConnectionID) {
    self.user = user
    self.device = device
    self.connection = connection
  }

  func makeID() -> RequestID {
    nextID += 1
    return .number(nextID)
  }

  /// Takes the events that came since the last call.
  func take() -> [Event] {
    defer { events = [] }
    return events
  }

  /// Takes the names of the events that came since the last call.
  func takeNames() -> [EventName] { take().map(\.name) }

  func receive(_ result: Result<Reply, ErrorObject>, for id: RequestID) {
    let isNews = replies[id]?.contains { !$0.isFailure } != true
    if isNews, let request = requests[id] { mirror.learn(request, result) }
    if case .success(.resumed(.resync(let resync))) = result {
      lastSeq = resync.seq
      mirror.room = resync.room
    }
    replies[id, default: []].append(result)
  }

  func receive(_ message: EventMessage) {
    #expect(message.seq == lastSeq + 1, "\(user)/\(device): events are numbered without gaps")
    lastSeq = message.seq
    events.append(message.event)
    mirror.apply(message.event, seq: message.seq, owner: "\(user)/\(device)")
  }
}

final class Scene {
  var core: ConferenceCore
  var now = Now(instant: .zero, wallMilliseconds: 1_700_000_000_000)
  var clients: [ConnectionID: Client] = [:]
  var ledger = Ledger()
  var log: [LogEntry] = []
  /// `jti` of tokens that the doors were told to refuse.
  var revoked: Set<String> = []
  var counters: [Counter: Int] = [:]
  /// What rooms had in them after the step before, by name.
  var counts: [String: RoomCounts] = [:]
  /// What was sent to the disk; whoever runs the scene answers.
  var stores: [(Ticket, [StoreChange])] = []
  var pushes: [PushNotice] = []
  var hooks: [WebhookEvent] = []
  /// What the application was asked; whoever runs the scene answers.
  var questions: [(ticket: Ticket, question: Question)] = []
  /// Those for whose answer nobody waits any more.
  var takenBack: [Ticket] = []
  /// What the fake SDP negotiation says to the next offer or answer, in place of yes.
  /// Whether the room that somebody is moved to is on another worker.
  var isOtherWorker = false
  var negotiationError: ErrorObject?
  /// Lines that the fake SDP negotiation finds besides those announced.
  var unannounced: [PublishChange.Line] = []
  /// Lines of the next offers that it does not take.
  var declined: [DeclinedLine] = []
  /// Whether the next offers are those of a new peer connection.
  var isNewConnection = false
  /// Every how many steps the state is looked at, and the clients' beliefs are compared with the truth.
  var (stateInterval, beliefInterval) = (1, 1)
  /// What those may do who say hello from now on, and whether the front door has verified who they are.
  var rights = Rights.all
  var isVerified = false
  /// What else their proof says of those who say hello, or show a further token, from now on.
  var proof: (inout Identity) -> Void = { _ in }
  /// Of how many refusals one is held against the state before it; comparing takes milliseconds.
  var refusalInterval = 1
  /// Refusals that were.
  private(set) var checkedRefusals = 0
  private var refusals = 0
  private(set) var steps = 0
  /// Lines that the next offers give other codecs.
  var recoded: [String] = []
  /// When the fake workers heard the media of seats last.
  var mediaHeard: [SeatID: Instant] = [:]
  /// Whether they leave questions about that unanswered, and how many there were.
  var (holdsAnswers, silenceQuestions) = (false, 0)
  /// What was to be taken of each offer to publish.
  private(set) var publishLimits: [PublishLimits?] = []
  /// Sees what is there while time passes.
  var whilePassing: (Scene, TimeDelta) -> Void = { _, _ in }
  /// What has come of the last request.
  private(set) var effects: [Effect] = []
  private var nextConnection: UInt64 = 1

  init(_ rules: ConferenceRules = .test, restored: RestoredState = RestoredState(), seed: UInt64 = 1) {
    core = ConferenceCore(rules: rules, random: SplitMix64(seed: seed))
    _ = run(core.restore(restored, at: now))
    hooks.removeAll { $0.type == .serverStarted }
  }

  // MARK: - Steps

  func apply(_ command: Command) {
    var waiting = run(core.apply(command, at: now))
    while !waiting.isEmpty { waiting += run(core.apply(waiting.removeFirst(), at: now)) }
    tellDoors()
    steps += 1
    Invariants.check(self)
  }

  /// All workers are full: no room takes anybody more, and none begins.
  func fillWorkers() {
    apply(.mediaLoad(MediaLoad(fullRooms: Set(core.rooms.table.all.keys), takesRooms: false)))
  }

  /// What an operator wants.
  func operate(_ action: OperatorAction) -> Result<OperatorAnswer, ErrorObject> {
    let (answer, effects) = core.operate(action, at: now)
    for command in run(effects) { apply(command) }
    tellDoors()
    Invariants.check(self)
    return answer
  }

  /// Lets time pass; deadlines are met at their time.
  func advance(_ delta: TimeDelta) {
    let end = now.advanced(by: delta)
    while let deadline = core.nextDeadline, deadline <= end.instant {
      pass(deadline - now.instant)
      for command in run(core.poll(at: now)) { apply(command) }
      #expect(core.nextDeadline.map { $0 > now.instant } ?? true, "poll meets every deadline that is due")
    }
    pass(end.instant - now.instant)
    #expect(run(core.poll(at: now)).isEmpty)
    tellDoors()
    Invariants.check(self)
  }

  private func pass(_ delta: TimeDelta) {
    whilePassing(self, delta)
    now = now.advanced(by: delta)
  }

  /// At the end of a turn doors hear who only waits.
  private func tellDoors() { for effect in core.takeWaiting() { take(effect) } }

  private func run(_ effects: [Effect]) -> [Command] {
    self.effects += effects
    var commands: [Command] = []
    for effect in effects {
      switch effect {
      case .goOn, .operation: break
      case .client, .media, .store, .outside:
        #expect(commands.isEmpty, "what is asked of the media side is the last effect of its step")
      }
      switch effect {
      case .client(let effect): take(effect)
      case .media(let effect): commands += take(effect)
      case .store(.write(let ticket, let changes)): stores.append((ticket, changes))
      case .store(.read): break
      case .outside(.push(let notice)): pushes.append(notice)
      case .outside(.webhook(let event)): hooks.append(event)
      case .outside(.ask(let ticket, let question)): questions.append((ticket, question))
      case .outside(.takeBack(let ticket)): takenBack.append(ticket)
      case .operation(.log(let entry)): log.append(entry)
      case .operation(.count(let counter)): counters[counter, default: 0] += 1
      case .operation(.setRevoked(let id, let isRevoked)):
        if isRevoked { revoked.insert(id) } else { revoked.remove(id) }
      case .goOn(let session): commands.append(.goOn(session))
      }
    }
    return commands
  }

  private func take(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let id, let result): clients[connection]?.receive(result, for: id)
    case .event(let connection, let message): deliver(message, to: connection)
    case .broadcast(let receivers, let serverTime, let event):
      #expect(Set(receivers.map(\.connection)).count == receivers.count && receivers.count > 1)
      for receiver in receivers {
        deliver(EventMessage(seq: receiver.seq, serverTime: serverTime, event: event), to: receiver.connection)
      }
    case .closeConnection(let connection, let reason): clients[connection]?.closed = reason
    case .setWaiting(let connection, let isWaiting): clients[connection]?.isWaiting = isWaiting
    case .stream(let connection, let stream, let change): clients[connection]?.streams.append((stream, change))
    }
  }

  /// What SDP negotiation says to the effect, where it is asked.
  private func take(_ effect: MediaEffect) -> [Command] {
    switch effect {
    case .negotiatePublish(let key, let seat, let params, let limits):
      publishLimits.append(limits)
      let result = negotiate(params)
      if case .success = result { ledger.negotiating.insert(seat) }
      return [.publishPrepared(key, result)]
    case .negotiateAnswer(let key, let seat, _, _):
      if let negotiationError { return [.answerProcessed(key, .failure(negotiationError))] }
      return [.answerProcessed(key, .success(()))] + lines(offeredTo: seat).map { .subscription($0, .accepted) }
    case .answerOffer(let key, let seat, let sdp):
      if let negotiationError { return [.offerAnswered(key, .failure(negotiationError))] }
      return waiting(for: seat, on: .subscribe).map { .subscription($0, .accepted) } + [
        .offerAnswered(key, .success("answer to \(sdp)"))
      ]
    case .askSilence(let asker, let seat):
      #expect(ledger.seats[seat] != nil, "only who has a seat can be silent on it")
      silenceQuestions += 1
      return holdsAnswers ? [] : [.silence(asker, mediaHeard[seat].map { now.instant - $0 })]
    case .swapSubscriptions(let key, _, _):
      if negotiationError == nil { ledger.apply(effect) }
      return [.swapProcessed(key, negotiationError.map { .failure($0) } ?? .success(()))]
    case .stream(let effect): return take(effect)
    case .askMove(let seat, let room):
      #expect(ledger.seats[seat] != nil, "only who has a seat can be moved")
      return [.mayMove(seat, to: room, keepsConnections: !isOtherWorker)]
    case .moveSeat, .openSeat, .closeSeat, .closeRoom, .restartICE, .commitPublish, .discardPublish, .setMuted,
      .closeTrack,
      .subscribe, .startSubscription, .unsubscribe, .updateSubscription, .offerCodecs, .show:
      ledger.apply(effect)
      return []
    }
  }

  /// The same of a stream.
  private func take(_ effect: StreamEffect) -> [Command] {
    switch effect {
    case .open, .close:
      ledger.apply(.stream(effect))
      return []
    case .negotiate(let key, let seat, _, let params, let limits):
      publishLimits.append(limits)
      let result = negotiate(params)
      if case .success = result { ledger.negotiating.insert(seat) }
      return [.publishPrepared(key, result)]
    case .answer(let key, let seat, let stream, let sdp):
      if let negotiationError { return [.streamAnswered(key, seat, stream, .failure(negotiationError))] }
      return waiting(for: seat, on: stream).map { .subscription($0, .accepted) } + [
        .streamAnswered(key, seat, stream, .success("answer to \(sdp)"))
      ]
    }
  }

  /// What a seat is to be sent on a connection and has not accepted yet.
  private func waiting(for seat: SeatID, on connection: MediaConnectionID) -> [SubscriptionID] {
    core.rooms.media.subscriptions.values
      .filter { $0.seat == seat && $0.connection == connection && !$0.isAgreed }.map(\.id).sorted()
  }

  /// What is on offer to a seat and not accepted yet.
  private func lines(offeredTo seat: SeatID) -> [SubscriptionID] {
    let offer = core.rooms.table.seats[seat]?.outstandingOffer
    let names = (offer?.tracks.map(\.subscriptionId) ?? []) + (offer?.views?.map(\.subscriptionId) ?? [])
    return names.compactMap { SubscriptionID(wire: $0) }
      .filter { core.rooms.media.subscriptions[$0]?.isAgreed == false }
  }

  private func deliver(_ message: EventMessage, to connection: ConnectionID) {
    let client = clients[connection]
    #expect(client != nil && client?.closed == nil, "events go to open connections")
    client?.receive(message)
  }

  /// In place of SDP: an offer is a list of the mids that end.
  private func negotiate(_ params: PublishOfferParams) -> Result<PublishChange, ErrorObject> {
    if let negotiationError { return .failure(negotiationError) }
    let removed = params.sdp.split(separator: " ").dropFirst().map(String.init)
    let added = (params.tracks ?? []).map { PublishChange.Line(mid: $0.mid, kind: $0.kind) }
    var change = PublishChange(answer: "answer", added: added + unannounced, removed: removed)
    change.isNewConnection = isNewConnection
    (change.recoded, change.declined) = (recoded, declined)
    return .success(change)
  }

  // MARK: - Clients

  func newConnection() -> ConnectionID {
    defer { nextConnection += 1 }
    return ConnectionID(nextConnection)
  }

  /// A client that is connected and has said nothing.
  func stranger(_ user: String, _ device: String = "d1") -> Client {
    let client = Client(user: user, device: device, connection: newConnection())
    clients[client.connection] = client
    return client
  }

  /// A client that has said hello.
  func client(_ user: String, _ device: String = "d1", capabilities: JSONValue? = nil) -> Client {
    let client = stranger(user, device)
    if case .failure(let error) = hello(client, capabilities: capabilities) { Issue.record("hello: \(error)") }
    return client
  }

  @discardableResult
  func hello(_ client: Client, token: String? = nil, capabilities: JSONValue? = nil) -> Result<Reply, ErrorObject> {
    let params = HelloParams(
      user: client.user, deviceId: client.device, capabilities: capabilities, resumeToken: token)
    let result = request(client, .session(.hello(params)))
    if case .success(.hello(let hello)) = result { client.token = hello.resumeToken }
    return result
  }

  @discardableResult
  func request(_ client: Client, _ request: Request, id: RequestID? = nil) -> Result<Reply, ErrorObject> {
    let id = id ?? client.makeID()
    let before = client.replies[id]?.count ?? 0
    if before == 0 { client.requests[id] = request }
    let core = self.core
    effects = []
    apply(command(client.connection, id, request))
    let replies = client.replies[id] ?? []
    #expect(replies.count == before + 1, "a request gets exactly one reply")
    let result = replies.last ?? .failure(ErrorObject(.internalError))
    // Who knocks is refused, and waits from then on: the one refusal that changes something.
    if case .failure(let error) = result, error.code != .inLobby { checkRefusal(request, before: core) }
    return result
  }

  /// A request as the front door hands it on.
  private func command(_ connection: ConnectionID, _ id: RequestID, _ request: Request) -> Command {
    switch request {
    case .session(.hello(let hello)):
      return .hello(connection, id, hello, identity(hello.user, hello.deviceId, hello.displayName))
    case .session(.token(let params)) where isVerified:
      // Whoever the token names is whose it is.
      return .token(connection, id, params, identity(params.token, nil, nil))
    case .session(.resume(let params)):
      return .resume(connection, id, params, from: identity("", nil, nil).network)
    default: return .request(connection, id, request)
    }
  }

  private func identity(_ user: String, _ device: String?, _ displayName: String?) -> Identity {
    var identity = Identity(
      user: user, device: device, displayName: displayName ?? user, rights: rights, isVerified: isVerified)
    proof(&identity)
    return identity
  }

  /// A request that is refused changes nothing, and nobody hears of it but who asked and who operates the server. SDP
  /// negotiation may have been asked first; what it has prepared is discarded.
  private func checkRefusal(_ request: Request, before core: ConferenceCore) {
    refusals += 1
    guard refusals % refusalInterval == 0 else { return }
    checkedRefusals += 1
    let changed = Differences.between(core, self.core)
    #expect(changed.isEmpty, "\(request.method.rawValue) was refused and changed something")
    let heard = effects.filter { effect in
      switch effect {
      case .client(.reply), .operation: false
      case .media(.negotiatePublish), .media(.discardPublish), .media(.negotiateAnswer), .media(.answerOffer),
        .media(.swapSubscriptions), .media(.askSilence):
        false
      case .client, .media, .store, .outside, .goOn: true
      }
    }
    #expect(heard.isEmpty, "\(request.method.rawValue) was refused, and others heard of it")
  }

  func code(_ client: Client, _ request: Request) -> ErrorCode? { refusal(client, request)?.code }

  func refusal(_ client: Client, _ request: Request) -> ErrorObject? {
    if case .failure(let error) = self.request(client, request) { error } else { nil }
  }

  @discardableResult
  func join(_ client: Client, _ room: String = "demo", _ fill: (inout RoomJoinParams) -> Void = { _ in })
    -> Result<RoomSnapshot, ErrorObject>
  {
    var params = RoomJoinParams(room: room)
    fill(&params)
    return request(client, .room(.join(params))).map { reply in
      guard case .room(let snapshot) = reply else {
        Issue.record("not a snapshot")
        return RoomSnapshot(
          room: "", kind: "", media: .audio, limit: 0, count: 0, seq: 0, selfId: "", participants: [], chat: [])
      }
      return snapshot
    }
  }

  /// Two in a room; what they have heard of it so far is taken.
  func two(in room: String = "demo") throws -> (Client, Client) {
    let (a, b) = (client("A"), client("B"))
    for client in [a, b] { _ = try join(client, room).get() }
    _ = (a.take(), b.take())
    return (a, b)
  }

  /// Publishes tracks given as "mid:kind" or "mid:kind:muted" and returns the track of each mid.
  @discardableResult
  func publish(_ client: Client, _ tracks: [String], removing mids: [String] = []) throws -> [String: String] {
    let announced = tracks.map { text in
      let parts = text.split(separator: ":")
      return AnnouncedTrack(
        mid: String(parts[0]), kind: parts[1] == "audio" ? .audio : .video, label: "l\(parts[0])",
        muted: parts.count > 2 ? true : nil)
    }
    let offer = PublishOfferParams(
      pc: .publish, sdp: (["offer"] + mids).joined(separator: " "), tracks: announced)
    guard case .published(let result) = try request(client, .peerConnection(.offer(offer))).get() else { return [:] }
    return Dictionary(uniqueKeysWithValues: result.tracks.map { ($0.mid, $0.trackId) })
  }

  /// Cuts a client's socket, or closes it cleanly.
  func cut(_ client: Client, clean: Bool = false) {
    clients[client.connection] = nil
    apply(.connectionClosed(client.connection, clean: clean))
  }

  /// Resumes on a new socket.
  @discardableResult
  func resume(_ client: Client, lastSeq: Int? = nil) -> Result<Reply, ErrorObject> {
    clients[client.connection] = nil
    client.connection = newConnection()
    client.closed = nil
    client.isWaiting = false
    clients[client.connection] = client
    if let lastSeq { client.lastSeq = lastSeq }
    return request(client, .session(.resume(ResumeParams(resumeToken: client.token, lastSeq: client.lastSeq))))
  }

  func seat(_ client: Client) throws -> SeatID { try #require(core.seat(of: client.connection)) }

  func roomCount(_ room: String, asking client: Client) -> Int? {
    guard case .success(.roomInfo(let info)) = request(client, .room(.info(RoomParams(room: room)))) else { return nil }
    return info.count
  }
}

extension ConferenceRules {
  /// Rooms of every sort, with a short grace.
  static var test: ConferenceRules {
    var rules = ConferenceRules()
    (rules.chatPerSecond, rules.chatBurst) = (1_000_000, 1_000_000)
    (rules.offersPerSecond, rules.offerBurst) = (1_000_000, 1_000_000)
    (rules.userRequestsPerSecond, rules.userRequestBurst) = (1_000_000, 1_000_000)
    (rules.networkRequestsPerSecond, rules.networkRequestBurst) = (1_000_000, 1_000_000)
    (rules.calls.ringsPerCaller, rules.calls.ringsPerCallee, rules.calls.ringsPerPair) = (0, 0, 0)
    (rules.moderationsPerSecond, rules.moderationBurst) = (1_000_000, 1_000_000)
    (rules.knocksPerSecond, rules.knockBurst) = (1_000_000, 1_000_000)
    (rules.networkKnocksPerSecond, rules.networkKnockBurst) = (1_000_000, 1_000_000)
    var demo = RoomRules(kind: "demo")
    (demo.videoSeats, demo.audioSeats, demo.media) = (3, 3, .video)
    var voice = RoomRules(kind: "voice")
    (voice.media, voice.audioSeats) = (.audio, 5)
    var stage = RoomRules(kind: "stage")
    (stage.videoSeats, stage.publishers, stage.media, stage.chatHistory) = (12, 1, .video, 0)
    rules.rooms = ["demo": demo, "voice": voice, "stage": stage]
    var pair = RoomRules(kind: "pair")
    (pair.videoSeats, pair.audioSeats) = (2, 2)
    var talk = RoomRules(kind: "talk")
    (talk.media, talk.videoSeats, talk.audioSeats) = (.audio, 2, 6)
    rules.kinds = ["group": RoomRules(kind: "group"), "pair": pair, "talk": talk]
    rules.resumeGrace = .milliseconds(2_000)
    return rules
  }
}
