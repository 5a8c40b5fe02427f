// Turns what the conference decides about seats, tracks and subscriptions into SDP rounds with the clients and commands
// to the workers, and what workers report into what the conference hears. A value without I/O, owned by the conference thread.
// `RoomPlacement` says where rooms live, `ConnectionTable` holds the media connections, and `Mirrors` says what is brought to other workers.
//
//   openSeat ─▶ two connections + first offer        negotiatePublish ─▶ prepare ─▶ commitPublish ─▶ producers
//   subscribe ─▶ line in the next offer ─▶ answer ─▶ accepted ─▶ startSubscription ─▶ consumer on the worker
//
// Who is sent what is kept in the conference: its effects carry each subscription as it is then.

import Basics
import Crypto
import Media
import Members
import Negotiation
import RTP
import RoostProtocol

/// One command and the worker it is for.
struct DirectedCommand: Sendable {
  var worker: Int
  var command: WorkerCommand
}

/// The media half of the conference thread. What happens comes in by `apply`; what a turn has led to is taken at its end, by
/// `pollOffers` and then `pollCommands`.
public struct MediaDirector: Sendable {
  /// How one worker is reached.
  public struct WorkerAddress: Sendable {
    /// Candidates for its port, best first.
    var addresses: [SocketAddress]

    /// A worker at these addresses, best first.
    public init(addresses: [SocketAddress]) { self.addresses = addresses }
  }

  /// Media connections of one seat at most. Each is a transport on the worker, and a front door may open one for each stream:
  /// raise it for rooms in which one person is sent more streams than this by such a door.
  static let connectionsPerSeat = 64

  let workers: [WorkerAddress]
  let fingerprint: CertificateFingerprint
  let publishOptions: PublishOptions
  let subscribeOptions: SubscribeOptions
  private(set) var commands: [DirectedCommand] = []

  var placement: RoomPlacement
  var seats: [SeatID: DirectedSeat] = [:]
  var connections = ConnectionTable()
  var tracks: [TrackID: DirectedTrack] = [:]
  var prepared: [RequestKey: PreparedPublish] = [:]
  /// Who waits for the answers of workers.
  private var askers: [QuestionKey: Asker] = [:]
  private var lastQuestion: UInt64 = 0
  /// Connections whose client may have to be offered something.
  var unsettled: Set<ConnectionKey> = []
  var random = SecureRandomGenerator()
  var spread = SpreadRooms()

  /// No seats yet. `fingerprint` is that of the certificate that all workers show (RFC 8122 §5). A worker that uses, or is going to use,
  /// more than `fullAbove` percent of a CPU takes nobody. `spread` says whether a room may live on several.
  public init(
    workers: [WorkerAddress], fingerprint: CertificateFingerprint, publishOptions: PublishOptions,
    subscribeOptions: SubscribeOptions = SubscribeOptions(), fullAbove: Int = 85, spread: RoomSpread = .off
  ) {
    self.workers = workers
    self.fingerprint = fingerprint
    self.publishOptions = publishOptions
    self.subscribeOptions = subscribeOptions
    placement = RoomPlacement(workers: workers.count, fullAbove: fullAbove, spread: spread)
  }

  /// Who is taken on each worker.
  public var admission: [WorkerAdmission] { placement.admission }

  /// Takes the commands that have collected, in order.
  mutating func takeCommands() -> [DirectedCommand] {
    defer { commands.removeAll(keepingCapacity: true) }
    return commands
  }

  /// What a turn has led to on the side of clients: the offers of the server, for the conference to number. Changes of one turn coalesce.
  public mutating func pollOffers() -> [Command] {
    // On the connections of streams the client offers, so none comes for those.
    takeOffers().filter { $0.connection.id == .subscribe }.map { .serverOffer($0.seat, $0.offer) }
  }

  /// What a turn has led to on the side of workers: for each that is told something its commands, in order. Those that a track is brought to come
  /// last, so that its own worker knows of it before it is asked for it.
  public mutating func pollCommands() -> [(worker: Int, commands: [WorkerCommand])] {
    let all = takeCommands()
    guard !all.isEmpty else { return [] }
    let later = Set(all.lazy.filter { if case .addMirror = $0.command { true } else { false } }.map(\.worker))
    let order = workers.indices.filter { !later.contains($0) } + later.sorted()
    return order.compactMap { worker in
      let own = all.filter { $0.worker == worker }.map(\.command)
      return own.isEmpty ? nil : (worker, own)
    }
  }

  // MARK: effects

  /// What the conference has to hear of an effect that was carried out.
  public struct Outcome: Sendable {
    /// To be applied, in order.
    public internal(set) var commands: [Command] = []
    /// A subscription that cannot be, for the log; a command tells the conference.
    public internal(set) var refusal: (subscription: SubscriptionID, error: ErrorObject)?
  }

  /// Carries out what the conference wants of the media side.
  public mutating func apply(_ effect: MediaEffect) -> Outcome {
    var outcome = Outcome()
    switch effect {
    case .openSeat(let seat, let room, let participant, _, let sound, let sends, let capabilities):
      openSeat(seat, room: room, participant: participant, sound: sound, sends: sends, capabilities)
    case .askMove(let seat, let room):
      outcome.commands = [.mayMove(seat, to: room, keepsConnections: placement.mayMove(seat, to: room))]
    case .moveSeat(let seat, let room, let sound, let sends): moveSeat(seat, to: room, sound: sound, sends: sends)
    case .closeSeat(let seat): closeSeat(seat)
    case .closeRoom: break  // Its seats have been closed, and a room is nothing without them.
    case .restartICE(let seat): restartICE(seat)
    case .askSilence(let asker, let seat):
      if !ask(for: asker, of: seat) { outcome.commands = [.silence(asker, nil)] }
    case .negotiatePublish(let key, let seat, let params, let limits):
      outcome.commands = [.publishPrepared(key, preparePublish(key, seat: seat, params, limits))]
    case .commitPublish(let key, let seat, let tracks): commitPublish(key, seat: seat, tracks)
    case .discardPublish(let key, _): discardPublish(key)
    case .setMuted(let track, let muted): setMuted(track, muted)
    case .closeTrack(let track): closeTrack(track)
    case .negotiateAnswer(let key, let seat, let offer, let sdp):
      let (result, lines) = handleAnswer(seat: seat, offer: offer, sdp: sdp)
      outcome.commands = [.answerProcessed(key, result)] + lines.commands
    case .answerOffer(let key, let seat, let sdp):
      let (result, lines) = answerOffer(seat: seat, on: .subscribe, sdp: sdp)
      // Lines first: the client is answered when it is known what they can carry.
      outcome.commands = lines.commands + [.offerAnswered(key, result)]
    case .subscribe(let subscription):
      guard let error = subscribe(subscription) else { break }
      outcome.refusal = (subscription.id, error)
      outcome.commands = [.subscription(subscription.id, .ended(.tooMany))]
    case .startSubscription(let subscription): outcome.commands = start(subscription)
    case .unsubscribe(let subscription): unsubscribe(subscription)
    case .updateSubscription(let subscription, let before): update(subscription, before: before)
    case .offerCodecs(let subscription): offerCodecs(subscription)
    case .show(let view, _): outcome.commands = show(view)
    case .swapSubscriptions(let key, let a, let b): outcome.commands = [.swapProcessed(key, swap(a, b))]
    case .stream(let effect): outcome.commands = carryOut(effect)
    }
    if let load = placement.takeChange() { outcome.commands.append(.mediaLoad(load)) }
    return outcome
  }

  // MARK: seats

  /// Opens a seat with the two connections of the room protocol.
  mutating func openSeat(
    _ id: SeatID, room: Members.RoomKey, participant: ParticipantID,
    sound: SoundRules = SoundRules(), sends: SendingRights = SendingRights(),
    _ capabilities: Set<ClientCapability> = []
  ) {
    seats[id] = DirectedSeat(
      room: room, participant: participant, sound: sound, worker: placement.place(id, in: room, ExpectedSeat(sends)),
      capabilities: capabilities)
    openConnection(.publish, seat: id, for: .publish)
    openConnection(
      .subscribe, seat: id, for: .subscribe, offerer: capabilities.contains(.clientOffers) ? .client : .server)
  }

  /// Its connections go on in another room on the same worker.
  private mutating func moveSeat(
    _ id: SeatID, to room: Members.RoomKey, sound: SoundRules, sends: SendingRights
  ) {
    guard var seat = seats[id] else { return }
    placement.move(id, to: room, ExpectedSeat(sends))
    (seat.room, seat.sound) = (room, sound)
    seats[id] = seat
    for connection in seat.connections.map({ ConnectionKey(seat: id, id: $0) }) {
      connections[connection]?.room = room
      connections[connection]?.publish?.setMaxAudio(bitsPerSecond: sound.maxBitsPerSecond)
      guard let transport = connections[connection]?.transport else { continue }
      send(.moveTransport(transport, room: Media.RoomKey(room.rawValue), loudest: sound.loudest), to: seat.worker)
    }
    closePipes()
  }

  mutating func closeSeat(_ id: SeatID) {
    guard let seat = seats.removeValue(forKey: id) else { return }
    for connection in seat.connections { end(ConnectionKey(seat: id, id: connection)) }
    placement.leave(id)
    closePipes()
  }

  /// Closes pipes between workers that no longer share a room.
  private mutating func closePipes() {
    if spread.pipes.isEmpty { return }
    let placement = placement
    spread.pipes.close { !placement.shareRoom($0) }
  }

  /// Asks how silent a seat's connections are; false where it has none.
  private mutating func ask(for asker: Asker, of id: SeatID) -> Bool {
    guard let seat = seats[id] else { return false }
    let transports = seat.connections.compactMap { connections[ConnectionKey(seat: id, id: $0)]?.transport }
    if transports.isEmpty { return false }
    lastQuestion += 1
    askers[QuestionKey(lastQuestion)] = asker
    send(.askSilence(QuestionKey(lastQuestion), transports), to: seat.worker)
    return true
  }

  /// Who asked a question that is answered now.
  mutating func takeAsker(of question: QuestionKey) -> Asker? { askers.removeValue(forKey: question) }

  // MARK: connections

  /// Opens a connection of a seat. `offerer` says who offers what the client is sent; a client that publishes on the same
  /// connection leaves that to the server. False where the seat is gone, has one of this name, or has as many as it may.
  @discardableResult
  mutating func openConnection(
    _ id: MediaConnectionID, seat seatID: SeatID, for directions: Directions, offerer: Offerer = .server
  ) -> Bool {
    let key = ConnectionKey(seat: seatID, id: id)
    guard offerer == .server || directions == .subscribe else { return false }
    guard let seat = seats[seatID], connections[key] == nil, seat.connections.count < Self.connectionsPerSeat else {
      return false
    }
    let local = localTransport(seat.worker)
    var connection = MediaConnection(
      key: key, room: seat.room, worker: seat.worker, transport: connections.makeTransport(for: key),
      credentials: local.credentials)
    if directions.contains(.publish) { connection.publish = makePublish(local, seat: seatID) }
    if directions.contains(.subscribe) {
      var options = subscribeOptions
      options.usesLinesAgain = !seat.capabilities.contains(.freshLines)
      if seat.capabilities.contains(.wholeOffers) { options.beginsWithOneOfEachKind = false }
      connection.subscribe = SubscribeNegotiation(
        options: options, transport: local, sessionID: random.next() >> 2, offerer: offerer)
      unsettled.insert(key)
    }
    openTransport(of: connection)
    connections[key] = connection
    seats[seatID]?.connections.append(id)
    return true
  }

  /// Ends a connection with its tracks; the others of the seat stay. Subscriptions on it were ended by effects before this.
  /// Returns its tracks, oldest first, so that the conference ends the subscriptions to them.
  @discardableResult
  mutating func closeConnection(_ id: MediaConnectionID, seat: SeatID) -> [TrackID] {
    let key = ConnectionKey(seat: seat, id: id)
    guard connections[key] != nil else { return [] }
    let ended = tracks.filter { $0.value.connection == key }.keys.sorted()
    for track in ended { closeTrack(track) }
    end(key)
    seats[seat]?.connections.removeAll { $0 == id }
    return ended
  }

  private mutating func end(_ key: ConnectionKey) {
    guard let connection = connections.remove(key) else { return }
    send(.closeTransport(connection.transport), to: connection.worker)
    unsettled.remove(key)
    prepared = prepared.filter { $0.value.connection != key }
  }

  /// The client makes a new DTLS association: the old transport ends with what is left on it.
  mutating func replaceTransport(of connection: inout MediaConnection, _ credentials: ICECredentials) {
    connections.forget(connection.transport)
    send(.closeTransport(connection.transport), to: connection.worker)
    connection.transport = connections.makeTransport(for: connection.key)
    connection.credentials = credentials
    openTransport(of: connection)
  }

  private mutating func openTransport(of connection: MediaConnection) {
    send(
      .openTransport(
        connection.transport, room: Media.RoomKey(connection.room.rawValue), credentials: connection.credentials,
        loudest: seats[connection.key.seat]?.sound.loudest),
      to: connection.worker)
  }

  /// What a seat may publish follows from its room.
  mutating func makePublish(_ local: LocalTransport, seat: SeatID) -> PublishNegotiation {
    var options = publishOptions
    if let sound = seats[seat]?.sound { options.maxAudioBitsPerSecond = sound.maxBitsPerSecond }
    return PublishNegotiation(options: options, transport: local, sessionID: random.next() >> 2)
  }

  mutating func localTransport(_ worker: Int) -> LocalTransport {
    LocalTransport(
      credentials: makeCredentials(), fingerprint: fingerprint, addresses: workers[worker].addresses)
  }

  mutating func makeCredentials() -> ICECredentials { .random(using: &random) }

  mutating func send(_ command: WorkerCommand, to worker: Int) {
    commands.append(DirectedCommand(worker: worker, command: command))
  }
}
