// A conference in virtual time with eight sockets, SDP negotiation that says yes, and a disk that answers when it likes.
import Basics
import Conference
import Members
import RoostProtocol

final class CoreScene {
  struct Socket {
    var connection: ConnectionID
    var token: String?
    var lastSeq = 0
    /// The last request that was granted.
    var last: (id: RequestID, request: Request)?
  }

  private var core: ConferenceCore
  private var now = Now(instant: .zero + .seconds(1), wallMilliseconds: 1_700_000_000_000)
  private(set) var sockets: [Socket?] = Array(repeating: nil, count: 8)
  private(set) var words = CoreWords()
  private var book = CoreBook()
  private var witness = CoreWitness()
  private let isVerified: Bool
  private let storesRecords: Bool
  private var connections: UInt64 = 0
  private var waiting: [Ticket] = []
  private var methods: [RequestID: Set<RoostProtocol.Method>] = [:]
  /// What this step is about, and what has come of it.
  private var asking: (connection: ConnectionID, id: RequestID, text: String)?
  private var replies: [Result<Reply, ErrorObject>] = []

  init(isVerified: Bool, storesRecords: Bool) {
    var rules = ConferenceRules()
    for (name, media) in [("demo", MediaClass.video), ("voice", .audio), ("stage", .video)] {
      var room = RoomRules(kind: name)
      (room.videoSeats, room.audioSeats, room.media) = (Self.most, Self.most, media)
      if name == "stage" { (room.publishers, room.videoLastN) = (1, 1) }
      rules.rooms[name] = room
    }
    var group = RoomRules(kind: "group")
    (group.videoSeats, group.audioSeats) = (Self.most, Self.most)
    (rules.unknownRooms, rules.callRoom) = (.create(group), group)
    (rules.calls.videoSeats, rules.calls.audioSeats) = (Self.most, Self.most)
    (rules.calls.hasPush, rules.calls.isFollowed) = (isVerified, isVerified)
    (rules.maxRooms, rules.maxSessions, rules.replayEvents, rules.requestWindow) = (3, 6, 20, 8)
    (rules.storesRecords, rules.calls.keepsCalls) = (storesRecords, storesRecords)
    core = ConferenceCore(rules: rules, random: SplitMix64(seed: 1))
    (self.isVerified, self.storesRecords) = (isVerified, storesRecords)
  }

  /// Seats of every room: fewer than there are users, so that rooms can be full.
  private static let most = 4

  // MARK: sockets

  func open(_ index: Int) {
    if sockets[index] != nil { close(index, clean: false) }
    connections += 1
    sockets[index] = Socket(connection: ConnectionID(connections))
  }

  func close(_ index: Int, clean: Bool) {
    guard let socket = sockets[index] else { return }
    sockets[index] = nil
    apply(.connectionClosed(socket.connection, clean: clean))
  }

  // MARK: requests

  /// A frame as the front door hands it on.
  func send(_ frame: [UInt8], on index: Int) {
    guard case .request(let id, let request) = ClientFrame.decode(frame) else { return }
    if sockets[index] == nil { open(index) }
    methods[id, default: []].insert(request.method)
    sockets[index]?.last = nil
    ask(id, request, text: String(decoding: frame, as: UTF8.self), on: index)
  }

  private func ask(_ id: RequestID, _ request: Request, text: String, on index: Int) {
    guard let connection = sockets[index]?.connection else { return }
    asking = (connection, id, text)
    replies = []
    let token = sockets[index]?.token
    let isNew = witness.ask(id, request, token)
    apply(command(connection, id, request))
    asking = nil
    // It waits for the answer of another client.
    let mayWait = if case .message(.request) = request { true } else { storesRecords }
    precondition(replies.count <= 1 && (mayWait || replies.count == 1), "a request has one reply")
    if let result = replies.first { witness.count(request, result) }
    guard case .success(let reply)? = replies.first else { return }
    sockets[index]?.last = (id, request)
    if isNew, !storesRecords { witness.grant(request, token, known: words.calls) }
    if case .session(.resume(let params)) = request {
      precondition(words.tokens.contains(params.resumeToken), "a session is resumed with its token alone")
      sockets[index]?.token = params.resumeToken
    }
    if case .hello(let hello) = reply, case .session(.hello(let params)) = request {
      witness.admit(hello.resumeToken, params.user)
      words.tokens.append(hello.resumeToken)
      sockets[index]?.token = hello.resumeToken
    }
  }

  private func command(_ connection: ConnectionID, _ id: RequestID, _ request: Request) -> Command {
    switch request {
    case .session(.hello(let hello)):
      return .hello(connection, id, hello, identity(hello.user, hello.deviceId, hello.displayName))
    case .session(.token(let params)) where isVerified:
      return .token(connection, id, params, identity(params.token, nil, nil))
    default: return .request(connection, id, request)
    }
  }

  private func identity(_ user: String, _ device: String?, _ name: String?) -> Identity {
    let rights: Rights = isVerified && user == "u0" ? .all.union(.moderate) : .all
    var identity = Identity(
      user: user, device: device, displayName: name ?? user, rights: rights, isVerified: isVerified)
    identity.network = Self.network(of: user)
    if isVerified && user == "u3" { identity.endsAt = now.wallMilliseconds + 60_000 }
    return identity
  }

  /// Two users come from one network, the others from one each; those whose names are wrong share another.
  private static func network(of user: String) -> PeerNetwork {
    let host = user == "u2" ? 1 : UInt8(user.dropFirst()) ?? 8
    return PeerNetwork(SocketAddress(v4: 0xc000_0201 + UInt32(host % 9), port: 0))
  }

  /// The last request once more: the same reply, and nothing else.
  func repeatLast(on index: Int) {
    guard let socket = sockets[index], let (id, request) = socket.last, socket.token != nil else { return }
    if case .session = request { return }
    let before = book
    ask(id, request, text: "", on: index)
    precondition(replies.count == 1, "a request that comes again has its reply")
    coreGoals.note(.requestRepeated)
    precondition(
      book.seats == before.seats && book.tracks == before.tracks && book.subscriptions == before.subscriptions,
      "a request that comes again changes nothing")
  }

  // MARK: the media side and the disk

  /// What the media side says of a seat or subscription.
  func media(_ choice: UInt8, _ which: UInt8) {
    let seats = book.seats.keys.sorted()
    let subscriptions = book.subscriptions.keys.sorted()
    let connection: MediaConnectionID = choice & 8 == 0 ? .publish : .subscribe
    if choice & 16 == 0, !seats.isEmpty {
      let seat = seats[Int(which) % seats.count]
      switch choice & 7 {
      case 0: apply(.media(seat, connection, .connected))
      case 1: apply(.media(seat, connection, .lost))
      case 2: apply(.media(seat, connection, .recovered))
      case 3: apply(.media(seat, connection, .failed(.dtls, reason: "x", isFinal: which & 1 != 0)))
      case 4: apply(.media(seat, connection, .closed(reason: "x")))
      case 5: if let room = book.seats[seat] { apply(.activeSpeakers(room, [SpeakerLevel(seat: seat, level: 9)])) }
      case 6: offer(to: seat)
      default: apply(.quality([]))
      }
    } else if !subscriptions.isEmpty {
      let one = subscriptions[Int(which) % subscriptions.count]
      let changes: [SubscriptionChange] = [
        .accepted, .paused(.bandwidth), .resumed, .cannotShow, .ended(.refused), .layer(Layer()), .resumed, .accepted,
      ]
      let change = changes[Int(choice & 7)]
      // The media side says so once.
      if change == .accepted, book.running.contains(one) { return }
      apply(.subscription(one, change))
    }
  }

  private func offer(to seat: SeatID) {
    let mine = book.subscriptions.filter { $0.value == seat }.keys.sorted()
    let lines = mine.map { ServerOffer.Line(mid: "\($0)", subscription: $0) }
    apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: lines)))
  }

  func answerDisk(_ isOnDisk: Bool) {
    guard !waiting.isEmpty else { return }
    if isOnDisk { coreGoals.note(.saidWhenOnDisk) }
    apply(.stored(waiting.removeFirst(), isOnDisk))
  }

  // MARK: time

  func wait(_ delta: TimeDelta) {
    let end = now.advanced(by: delta)
    var budget = 20_000
    while let deadline = core.nextDeadline, deadline <= end.instant {
      budget -= 1
      precondition(budget > 0, "what is done is not due any more")
      now = now.advanced(by: max(deadline - now.instant, TimeDelta(nanoseconds: 0)))
      carry(core.poll(at: now))
    }
    now = end
    carry(core.poll(at: now))
    check()
  }

  /// Everybody goes, and nothing is left.
  func end() {
    for index in sockets.indices { close(index, clean: false) }
    while !waiting.isEmpty { answerDisk(true) }
    wait(.seconds(100_000))
    while !waiting.isEmpty { answerDisk(true) }
    precondition(book.seats.isEmpty && book.tracks.isEmpty && book.subscriptions.isEmpty, "what was opened is closed")
    let gauges = core.gauges
    precondition(gauges.sessions == 0 && gauges.calls == 0 && gauges.rooms == 0, "nobody is there without an owner")
  }

  // MARK: effects

  private func apply(_ command: Command) {
    carry(core.apply(command, at: now))
    check()
  }

  private func carry(_ effects: [Effect]) {
    var commands: [Command] = []
    for effect in effects {
      switch effect {
      case .client(let effect): take(effect)
      case .media(let effect):
        book.note(effect)
        commands += answers(to: effect)
      case .store(.write(let ticket, _)): waiting.append(ticket)
      case .store(.read(let ticket, _)): commands.append(.fetched(ticket, nil))
      case .outside(.ask(let ticket, _)): commands.append(.answered(ticket, .yes))
      case .outside(.push), .outside(.webhook), .outside(.takeBack), .operation: break
      case .goOn(let session): commands.append(.goOn(session))
      }
    }
    for command in commands { carry(core.apply(command, at: now)) }
  }

  private func answers(to effect: MediaEffect) -> [Command] {
    switch effect {
    case .negotiatePublish(let key, _, let params, _):
      let removed = params.sdp.split(separator: " ").dropFirst().map(String.init)
      let added = (params.tracks ?? []).map { PublishChange.Line(mid: $0.mid, kind: $0.kind) }
      return [.publishPrepared(key, .success(PublishChange(answer: "answer", added: added, removed: removed)))]
    case .negotiateAnswer(let key, _, _, _): return [.answerProcessed(key, .success(()))]
    case .answerOffer(let key, _, _): return [.offerAnswered(key, .success("answer"))]
    case .swapSubscriptions(let key, _, _): return [.swapProcessed(key, .success(()))]
    case .askSilence(let asker, _): return [.silence(asker, .seconds(5))]
    case .askMove(let seat, let room): return [.mayMove(seat, to: room, keepsConnections: true)]
    case .commitPublish(_, _, let committed):
      words.tracks += committed.map { "\($0.track)" }
      return []
    case .subscribe(let one):
      words.subscriptions.append("\(one.id)")
      return []
    case .openSeat, .moveSeat, .closeSeat, .closeRoom, .restartICE, .discardPublish, .setMuted, .closeTrack,
      .startSubscription,
      .unsubscribe, .updateSubscription, .offerCodecs, .show, .stream:
      return []
    }
  }

  private func take(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let id, let result):
      if let asking, asking.connection == connection, asking.id == id { replies.append(result) }
      learn(result)
      checkFrame(id, result)
    case .event(let connection, let message): deliver(message, to: connection)
    case .broadcast(let receivers, let serverTime, let event):
      for receiver in receivers {
        deliver(EventMessage(seq: receiver.seq, serverTime: serverTime, event: event), to: receiver.connection)
      }
    case .closeConnection(let connection, let reason): closed(connection, reason)
    case .setWaiting, .stream: break
    }
  }

  private func learn(_ result: Result<Reply, ErrorObject>) {
    if case .success(.callStarted(let started)) = result { words.calls.append(started.call.callId) }
    if case .success(.messageAnswered) = result { coreGoals.note(.answered) }
  }

  /// What goes out can be written, and read by a client.
  private func checkFrame(_ id: RequestID, _ result: Result<Reply, ErrorObject>) {
    let frame: ServerFrame =
      switch result {
      case .success(let reply): .reply(id, reply)
      case .failure(let error): .failure(id, error)
      }
    guard let text = try? frame.encode() else { preconditionFailure("a reply can be written") }
    let isRead = methods[id, default: []].contains { method in
      (try? ServerFrame.decode(text, pending: { _ in method })) != nil
    }
    precondition(isRead, "and read")
  }

  private func deliver(_ message: EventMessage, to connection: ConnectionID) {
    guard let index = sockets.firstIndex(where: { $0?.connection == connection }) else { return }
    precondition((try? ServerFrame.event(message).encode()) != nil, "an event can be written")
    if message.seq > 0 { sockets[index]?.lastSeq = message.seq }
    if case .messageRequested(let request) = message.event { words.questions.append(request.requestId) }
    witness.hear(message.event, sockets[index]?.token)
  }

  private func closed(_ connection: ConnectionID, _ reason: CloseReason) {
    guard let index = sockets.firstIndex(where: { $0?.connection == connection }) else { return }
    if !isVerified, let asking, asking.connection != connection, [.replaced, .resumedElsewhere].contains(reason) {
      let token = sockets[index]?.token ?? "none"
      precondition(asking.text.contains(token), "nobody is put out but with their token")
    }
    sockets[index] = nil
  }

  private func check() {
    let gauges = core.gauges
    precondition(gauges.participants == book.seats.count, "seats are those that were opened")
    precondition(gauges.tracks == book.tracks.count, "tracks are those that were opened")
    precondition(gauges.subscriptions == book.subscriptions.count, "subscriptions are those that were opened")
    precondition(book.fullest <= Self.most, "never over the cap")
    precondition(gauges.sessions <= 2 * core.rules.maxSessions, "sessions are bounded")
    if let deadline = core.nextDeadline { precondition(deadline > now.instant - .seconds(1), "nothing is left behind") }
  }
}
