// Turns what the conference decides about seats, tracks and subscriptions into SDP rounds with the clients and commands
// to the workers. A value without I/O, owned by the conference thread: commands collect in `commands`, offers in `takeOffers`.
//
//   openSeat ─▶ subscribe transport + first offer        negotiatePublish ─▶ prepare ─▶ commitPublish ─▶ producers
//   subscribe ─▶ line in the next offer ─▶ answer ─▶ consumer on the worker

import Basics
import Conference
import Crypto
import Media
import Negotiation
import RTP
import RoostProtocol

/// One command and the worker it is for.
struct DirectedCommand: Sendable {
  var worker: Int
  var command: WorkerCommand
}

/// The media half of the conference thread.
struct MediaDirector {
  /// How one worker is reached.
  struct WorkerAddress {
    /// Candidates for its port, best first.
    var addresses: [SocketAddress]
  }

  let workers: [WorkerAddress]
  let fingerprint: CertificateFingerprint
  let publishOptions: PublishOptions
  let subscribeOptions: SubscribeOptions
  private(set) var commands: [DirectedCommand] = []

  var seats: [SeatID: SeatMedia] = [:]
  var tracks: [TrackID: DirectedTrack] = [:]
  var subscriptions: [SubscriptionID: DirectedSubscription] = [:]
  /// Which seat and connection a transport belongs to.
  var transports: [TransportKey: (seat: SeatID, connection: PeerConnection)] = [:]
  private var prepared: [RequestKey: PreparedPublish] = [:]
  private var rooms: [Conference.RoomKey: (worker: Int, seats: Int)] = [:]
  private var load: [Int]
  private var overloaded: Set<Int> = []
  private var unsettled: Set<SeatID> = []
  private var lastTransport: UInt64 = 0
  private var random = SecureRandomGenerator()

  init(
    workers: [WorkerAddress], fingerprint: CertificateFingerprint, publishOptions: PublishOptions,
    subscribeOptions: SubscribeOptions = SubscribeOptions()
  ) {
    self.workers = workers
    self.fingerprint = fingerprint
    self.publishOptions = publishOptions
    self.subscribeOptions = subscribeOptions
    load = Array(repeating: 0, count: workers.count)
  }

  /// Takes the commands that have collected.
  mutating func takeCommands() -> [DirectedCommand] {
    defer { commands.removeAll(keepingCapacity: true) }
    return commands
  }

  // MARK: effects

  /// What the conference has to hear of an effect that was carried out.
  struct Outcome {
    /// To be applied, in order.
    var commands: [Command] = []
    /// A subscription that cannot be, for the log; a command tells the conference.
    var refusal: (subscription: SubscriptionID, error: ErrorObject)?
  }

  /// Carries out what the conference wants of the media side.
  mutating func carryOut(_ effect: MediaEffect) -> Outcome {
    var outcome = Outcome()
    switch effect {
    case .openSeat(let seat, let room, let participant, _): openSeat(seat, room: room, participant: participant)
    case .closeSeat(let seat): closeSeat(seat)
    case .closeRoom: break  // Its seats have been closed, and a room is nothing without them.
    case .restartICE(let seat): restartICE(seat)
    case .negotiatePublish(let key, let seat, let params):
      outcome.commands = [.publishPrepared(key, preparePublish(key, seat: seat, params))]
    case .commitPublish(let key, let seat, let tracks): commitPublish(key, seat: seat, tracks)
    case .discardPublish(let key, _): discardPublish(key)
    case .setMuted(let track, let muted): setMuted(track, muted)
    case .closeTrack(let track): closeTrack(track)
    case .negotiateAnswer(let key, let seat, let offer, let sdp):
      let (result, refused) = handleAnswer(seat: seat, offer: offer, sdp: sdp)
      outcome.commands = [.answerProcessed(key, result)] + refused.map { .subscription($0.id, .ended($0.reason)) }
    case .subscribe(let id, let seat, let track, let wish):
      guard let error = subscribe(id, seat: seat, track: track, wish) else { break }
      outcome.refusal = (id, error)
      outcome.commands = [.subscription(id, .ended(.tooMany))]
    case .unsubscribe(let id): unsubscribe(id)
    case .updateSubscription(let id, let wish): update(id, wish)
    case .swapSubscriptions(let key, let a, let b): outcome.commands = [.swapProcessed(key, swap(a, b))]
    }
    return outcome
  }

  // MARK: seats

  mutating func openSeat(_ id: SeatID, room: Conference.RoomKey, participant: ParticipantID) {
    let worker = place(room)
    let publish = newTransport(id, .publish)
    let subscribe = newTransport(id, .subscribe)
    let publishLocal = localTransport(worker)
    let subscribeLocal = localTransport(worker)
    seats[id] = SeatMedia(
      room: room, participant: participant, worker: worker,
      publish: PublishNegotiation(options: publishOptions, transport: publishLocal, sessionID: random.next() >> 2),
      publishTransport: publish, publishCredentials: publishLocal.credentials,
      subscribe: SubscribeNegotiation(
        options: subscribeOptions, transport: subscribeLocal, sessionID: random.next() >> 2),
      subscribeTransport: subscribe, subscribeCredentials: subscribeLocal.credentials)
    open(publish, room: room, credentials: publishLocal.credentials, worker: worker)
    open(subscribe, room: room, credentials: subscribeLocal.credentials, worker: worker)
    unsettled.insert(id)
  }

  mutating func closeSeat(_ id: SeatID) {
    guard let seat = seats.removeValue(forKey: id) else { return }
    for transport in [seat.publishTransport, seat.subscribeTransport] { close(transport, worker: seat.worker) }
    unsettled.remove(id)
    prepared = prepared.filter { $0.value.seat != id }
    load[seat.worker] -= 1
    rooms[seat.room]?.seats -= 1
    if rooms[seat.room]?.seats == 0 { rooms[seat.room] = nil }
  }

  /// Notes that a worker has become too busy for newcomers, or can take them again.
  mutating func setOverloaded(_ isOverloaded: Bool, worker: Int) {
    if isOverloaded { overloaded.insert(worker) } else { overloaded.remove(worker) }
  }

  /// Where newcomers cannot be taken: the rooms on overloaded workers, and everywhere when all workers are.
  var mediaLoad: MediaLoad {
    MediaLoad(
      fullRooms: Set(rooms.lazy.filter { overloaded.contains($0.value.worker) }.map(\.key)),
      isFull: overloaded.count == workers.count)
  }

  /// A room lives on one worker: its first seat goes where the fewest seats are, on a worker that is not overloaded.
  private mutating func place(_ room: Conference.RoomKey) -> Int {
    let able = load.indices.filter { !overloaded.contains($0) }
    let worker = rooms[room]?.worker ?? (able.min { load[$0] < load[$1] } ?? 0)
    rooms[room] = (worker, (rooms[room]?.seats ?? 0) + 1)
    load[worker] += 1
    return worker
  }

  private mutating func newTransport(_ seat: SeatID, _ connection: PeerConnection) -> TransportKey {
    lastTransport += 1
    let key = TransportKey(lastTransport)
    transports[key] = (seat, connection)
    return key
  }

  private mutating func open(
    _ key: TransportKey, room: Conference.RoomKey, credentials: ICECredentials, worker: Int
  ) {
    send(.openTransport(key, room: Media.RoomKey(room.rawValue), credentials: credentials), to: worker)
  }

  private mutating func close(_ key: TransportKey, worker: Int) {
    transports[key] = nil
    send(.closeTransport(key), to: worker)
  }

  private mutating func localTransport(_ worker: Int) -> LocalTransport {
    LocalTransport(
      credentials: makeCredentials(), fingerprint: fingerprint, addresses: workers[worker].addresses)
  }

  private mutating func makeCredentials() -> ICECredentials { .random(using: &random) }

  mutating func send(_ command: WorkerCommand, to worker: Int) {
    commands.append(DirectedCommand(worker: worker, command: command))
  }

  // MARK: publishing

  /// Works out the answer to an offer; nothing changes until `commitPublish`.
  mutating func preparePublish(
    _ key: RequestKey, seat id: SeatID, _ params: PublishOfferParams
  ) -> Result<PublishChange, ErrorObject> {
    guard let seat = seats[id] else { return .failure(ErrorObject(.notJoined)) }
    let announced = params.tracks ?? []
    let fresh = makeCredentials()
    do throws(NegotiationError) {
      let result = try seat.publish.prepare(offer: params.sdp, tracks: announced.map(\.negotiated)) { fresh }
      let layers = result.layers(announced)
      prepared[key] = PreparedPublish(seat: id, prepared: result, layers: layers, replacement: nil)
      return .success(PublishChange(result, layers, ending: []))
    } catch {
      guard error.isNewPeerConnection else { return .failure(ErrorObject(error)) }
      return prepareReplacement(key, seat: id, params.sdp, announced)
    }
  }

  /// The client has made a new peer connection: a new negotiation on a new transport, and every old track ends.
  private mutating func prepareReplacement(
    _ key: RequestKey, seat id: SeatID, _ sdp: String, _ announced: [RoostProtocol.AnnouncedTrack]
  ) -> Result<PublishChange, ErrorObject> {
    guard let seat = seats[id] else { return .failure(ErrorObject(.notJoined)) }
    let local = localTransport(seat.worker)
    let negotiation = PublishNegotiation(options: publishOptions, transport: local, sessionID: random.next() >> 2)
    do throws(NegotiationError) {
      let result = try negotiation.prepare(offer: sdp, tracks: announced.map(\.negotiated)) { local.credentials }
      let layers = result.layers(announced)
      prepared[key] = PreparedPublish(
        seat: id, prepared: result, layers: layers,
        replacement: (negotiation: negotiation, credentials: local.credentials))
      var change = PublishChange(result, layers, ending: seat.publish.tracks.map(\.mid))
      change.isNewConnection = true
      return .success(change)
    } catch {
      return .failure(ErrorObject(error))
    }
  }

  mutating func discardPublish(_ key: RequestKey) { prepared[key] = nil }

  mutating func commitPublish(_ key: RequestKey, seat id: SeatID, _ committed: [CommittedTrack]) {
    guard let change = prepared.removeValue(forKey: key), var seat = seats[id] else { return }
    if let replacement = change.replacement {
      seat.publish = replacement.negotiation
      replacePublishTransport(of: &seat, id, replacement.credentials)
    } else if change.prepared.replacesTransport, let agreed = change.prepared.transport {
      replacePublishTransport(of: &seat, id, agreed.local)
    }
    seat.publish.commit(change.prepared)
    if let agreed = change.prepared.transport {
      if agreed.local != seat.publishCredentials {
        seat.publishCredentials = agreed.local
        send(.restartICE(seat.publishTransport, credentials: agreed.local), to: seat.worker)
      }
      send(.setRemote(seat.publishTransport, agreed.media), to: seat.worker)
    }
    seats[id] = seat
    addProducers(committed, change, seat: id)
  }

  /// The client makes a new DTLS association: the old transport ends with what is left on it.
  private mutating func replacePublishTransport(
    of seat: inout SeatMedia, _ id: SeatID, _ credentials: ICECredentials
  ) {
    close(seat.publishTransport, worker: seat.worker)
    seat.publishTransport = newTransport(id, .publish)
    seat.publishCredentials = credentials
    open(seat.publishTransport, room: seat.room, credentials: credentials, worker: seat.worker)
  }

  private mutating func addProducers(
    _ committed: [CommittedTrack], _ change: PreparedPublish, seat id: SeatID
  ) {
    guard let seat = seats[id] else { return }
    for entry in committed {
      guard let parameters = change.prepared.added.first(where: { $0.mid == entry.mid }),
        let layers = change.layers[entry.mid]
      else { continue }
      tracks[entry.track] = DirectedTrack(seat: id, parameters: parameters, layers: layers)
      seats[id]?.published[entry.mid] = entry.track
      send(
        .addProducer(
          ProducerKey(entry.track.rawValue), transport: seat.publishTransport, parameters: parameters,
          canonicalName: seat.participant.description),
        to: seat.worker)
    }
    for parameters in change.prepared.changed {
      guard let track = seat.published[parameters.mid] else { continue }
      tracks[track]?.parameters = parameters
      send(.updateProducer(ProducerKey(track.rawValue), parameters: parameters), to: seat.worker)
      offerCodecs(of: track)
    }
  }

  /// Who receives a track. Looks at all subscriptions: nobody asks but a publisher that has negotiated other codecs.
  func subscribers(of track: TrackID) -> [SubscriptionID] {
    subscriptions.filter { $0.value.track == track }.keys.sorted()
  }

  /// Subscribers' lines list what the publisher may send.
  private mutating func offerCodecs(of id: TrackID) {
    guard let track = tracks[id] else { return }
    for subscription in subscribers(of: id) {
      guard let seat = subscriptions[subscription]?.seat else { continue }
      seats[seat]?.subscribe.setCodecs(track.codecs, of: subscription.rawValue)
      unsettled.insert(seat)
    }
  }

  mutating func setMuted(_ track: TrackID, _ muted: Bool) {
    guard let seat = tracks[track].flatMap({ seats[$0.seat] }) else { return }
    send(.setMuted(ProducerKey(track.rawValue), muted), to: seat.worker)
  }

  mutating func closeTrack(_ track: TrackID) {
    guard let entry = tracks.removeValue(forKey: track), let seat = seats[entry.seat] else { return }
    let mid = entry.parameters.mid
    seats[entry.seat]?.publish.endTrack(mid: mid)
    if seat.published[mid] == track { seats[entry.seat]?.published[mid] = nil }
    send(.removeProducer(ProducerKey(track.rawValue)), to: seat.worker)
  }

  // MARK: subscribing

  /// Adds a track to what a seat receives; returns why that cannot be.
  mutating func subscribe(
    _ id: SubscriptionID, seat seatID: SeatID, track trackID: TrackID, _ wish: SubscriptionWish
  ) -> ErrorObject? {
    guard let track = tracks[trackID], let publisher = seats[track.seat], seats[seatID] != nil else {
      return ErrorObject(.trackNotFound)
    }
    let subscription = Negotiation.Subscription(
      id: id.rawValue, kind: track.parameters.kind, trackID: trackID.description,
      streamID: publisher.participant.description, codecs: track.codecs)
    do throws(NegotiationError) {
      try seats[seatID]?.subscribe.add(subscription)
    } catch {
      return ErrorObject(error)
    }
    subscriptions[id] = DirectedSubscription(seat: seatID, track: trackID, wish: wish)
    unsettled.insert(seatID)
    return nil
  }

  mutating func unsubscribe(_ id: SubscriptionID) {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return }
    guard let seat = seats[subscription.seat] else { return }
    seats[subscription.seat]?.subscribe.remove(id.rawValue)
    if subscription.isRunning { send(.removeConsumer(ConsumerKey(id.rawValue)), to: seat.worker) }
    unsettled.insert(subscription.seat)
  }

  mutating func update(_ id: SubscriptionID, _ wish: SubscriptionWish) {
    guard let subscription = subscriptions[id], let seat = seats[subscription.seat] else { return }
    subscriptions[id]?.wish = wish
    guard subscription.isRunning else { return }
    if subscription.wish.definition != wish.definition { setLayer(id, worker: seat.worker) }
    if subscription.wish.paused != wish.paused {
      send(.setPaused(ConsumerKey(id.rawValue), wish.paused), to: seat.worker)
    }
  }

  private mutating func setLayer(_ id: SubscriptionID, worker: Int) {
    send(.setLayer(ConsumerKey(id.rawValue), wishedLayer(id)), to: worker)
  }

  /// The layer that a subscription wishes for, of the track that it carries now.
  private func wishedLayer(_ id: SubscriptionID) -> Int? {
    subscriptions[id].flatMap { tracks[$0.track]?.layers.index(of: $0.wish.definition) }
  }

  /// Lets two subscriptions of a seat carry each other's track; refused when a line was taken without the codec that is to
  /// come on it.
  mutating func swap(_ a: SubscriptionID, _ b: SubscriptionID) -> Result<Void, ErrorObject> {
    guard let first = subscriptions[a], let second = subscriptions[b], let seat = seats[first.seat] else {
      return .failure(ErrorObject(.notSubscribed))
    }
    do throws(NegotiationError) {
      try seats[first.seat]?.subscribe.swap(a.rawValue, b.rawValue)
    } catch {
      return .failure(ErrorObject(error))
    }
    subscriptions[a]?.track = second.track
    subscriptions[b]?.track = first.track
    if first.isRunning && second.isRunning {
      // The wish stays with the subscription, and means a layer of its new track.
      for id in [a, b] { setLayer(id, worker: seat.worker) }
      send(.swap(ConsumerKey(a.rawValue), ConsumerKey(b.rawValue)), to: seat.worker)
    }
    return .success(())
  }

  /// An offer that is still outstanding is given up: a client that asks for a restart may have lost it with the peer
  /// connection that it was for, and would otherwise never be offered anything again.
  mutating func restartICE(_ id: SeatID) {
    let credentials = makeCredentials()
    seats[id]?.subscribe.withdraw()
    seats[id]?.subscribe.restartICE(credentials)
    unsettled.insert(id)
  }

  /// Offers for all seats whose wishes have changed and that owe no answer.
  mutating func takeOffers() -> [(seat: SeatID, offer: ServerOffer)] {
    var offers: [(seat: SeatID, offer: ServerOffer)] = []
    for id in unsettled.sorted() {
      guard var seat = seats[id], let offer = seat.subscribe.makeOffer(using: &random) else { continue }
      if offer.credentials != seat.subscribeCredentials {
        seat.subscribeCredentials = offer.credentials
        send(.restartICE(seat.subscribeTransport, credentials: offer.credentials), to: seat.worker)
      }
      seats[id] = seat
      let lines = offer.tracks.map { ServerOffer.Line(mid: $0.mid, subscription: SubscriptionID($0.subscriptionID)) }
      offers.append((id, ServerOffer(id: Int(offer.id), sdp: offer.sdp, lines: lines)))
    }
    unsettled.removeAll(keepingCapacity: true)
    return offers
  }

  /// Takes the client's answer: starts what it accepted. The subscriptions that it refused come back with the reason.
  mutating func handleAnswer(
    seat id: SeatID, offer: Int, sdp: String
  ) -> (result: Result<Void, ErrorObject>, refused: [(id: SubscriptionID, reason: SubscriptionReason)]) {
    guard var seat = seats[id], offer >= 0 else { return (.failure(ErrorObject(.notJoined)), []) }
    let applied: SubscribeNegotiation.Applied
    do throws(NegotiationError) {
      applied = try seat.subscribe.handle(answer: sdp, offerID: UInt64(offer))
    } catch {
      return (.failure(ErrorObject(error)), [])
    }
    if let agreed = applied.transport {
      send(.setRemote(seat.subscribeTransport, agreed.media), to: seat.worker)
    } else {
      replaceSubscribeTransport(of: &seat, id)
    }
    seats[id] = seat
    for started in applied.started { start(started, seat: seat) }
    for changed in applied.changed {
      send(.updateConsumer(ConsumerKey(changed.subscriptionID), parameters: changed.parameters), to: seat.worker)
    }
    unsettled.insert(id)
    return (
      .success(()),
      applied.rejected.map { (SubscriptionID($0.subscriptionID), $0.code == .noCommonCodec ? .noCodec : .refused) }
    )
  }

  /// The client has rejected every line, which ends its transport: what it accepts later comes with a new association.
  private mutating func replaceSubscribeTransport(of seat: inout SeatMedia, _ id: SeatID) {
    close(seat.subscribeTransport, worker: seat.worker)
    seat.subscribeTransport = newTransport(id, .subscribe)
    open(seat.subscribeTransport, room: seat.room, credentials: seat.subscribeCredentials, worker: seat.worker)
  }

  private mutating func start(_ started: SubscribeNegotiation.Started, seat: SeatMedia) {
    let id = SubscriptionID(started.subscriptionID)
    guard let subscription = subscriptions[id] else { return }
    subscriptions[id]?.isRunning = true
    send(
      .addConsumer(
        ConsumerKey(id.rawValue), producer: ProducerKey(subscription.track.rawValue),
        transport: seat.subscribeTransport,
        parameters: started.parameters, paused: subscription.wish.paused, layer: wishedLayer(id)), to: seat.worker)
  }
}
