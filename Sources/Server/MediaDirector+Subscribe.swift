// The director's subscribing half: tracks that a connection shall be sent, offers and answers about them, and consumers.

import Conference
import Media
import Negotiation
import RTP
import RoostProtocol

extension MediaDirector {
  /// Adds a track to what a seat receives; returns why that cannot be.
  mutating func subscribe(
    _ id: SubscriptionID, seat: SeatID, on connectionID: MediaConnectionID = .subscribe, track trackID: TrackID,
    _ wish: SubscriptionWish
  ) -> ErrorObject? {
    let connection = ConnectionKey(seat: seat, id: connectionID)
    guard let track = tracks[trackID], let publisher = seats[track.seat], connections[connection]?.subscribe != nil
    else { return ErrorObject(.trackNotFound) }
    let subscription = Negotiation.Subscription(
      id: id.rawValue, kind: track.parameters.kind, trackID: trackID.description,
      streamID: publisher.participant.description, codecs: track.codecs)
    do throws(NegotiationError) {
      try connections[connection]?.subscribe?.add(subscription)
    } catch {
      return ErrorObject(error)
    }
    subscriptions[id] = DirectedSubscription(connection: connection, track: trackID, wish: wish)
    unsettled.insert(connection)
    return nil
  }

  mutating func unsubscribe(_ id: SubscriptionID) {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return }
    guard let connection = connections[subscription.connection] else { return }
    connections[connection.key]?.subscribe?.remove(id.rawValue)
    if subscription.isRunning { send(.removeConsumer(ConsumerKey(id.rawValue)), to: connection.worker) }
    unsettled.insert(connection.key)
  }

  mutating func update(_ id: SubscriptionID, _ wish: SubscriptionWish) {
    guard let subscription = subscriptions[id], let connection = connections[subscription.connection] else { return }
    subscriptions[id]?.wish = wish
    guard subscription.isRunning else { return }
    if subscription.wish.definition != wish.definition { setLayer(id, worker: connection.worker) }
    if subscription.wish.paused != wish.paused {
      send(.setPaused(ConsumerKey(id.rawValue), wish.paused), to: connection.worker)
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
    guard let first = subscriptions[a], let second = subscriptions[b], let connection = connections[first.connection]
    else { return .failure(ErrorObject(.notSubscribed)) }
    guard first.connection == second.connection else {
      return .failure(ErrorObject(.invalidState, "The two subscriptions are on different media connections."))
    }
    do throws(NegotiationError) {
      try connections[connection.key]?.subscribe?.swap(a.rawValue, b.rawValue)
    } catch {
      return .failure(ErrorObject(error))
    }
    subscriptions[a]?.track = second.track
    subscriptions[b]?.track = first.track
    if first.isRunning && second.isRunning {
      // The wish stays with the subscription, and means a layer of its new track.
      for id in [a, b] { setLayer(id, worker: connection.worker) }
      send(.swap(ConsumerKey(a.rawValue), ConsumerKey(b.rawValue)), to: connection.worker)
    }
    return .success(())
  }

  /// An offer that is still outstanding is given up: a client that asks for a restart may have lost it with the peer
  /// connection that it was for, and would otherwise never be offered anything again. On a connection that publishes too, the
  /// client restarts ICE by a publish offer.
  mutating func restartICE(_ seat: SeatID, on id: MediaConnectionID = .subscribe) {
    let credentials = makeCredentials()
    let key = ConnectionKey(seat: seat, id: id)
    guard connections[key]?.isShared == false else { return }
    connections[key]?.subscribe?.withdraw()
    connections[key]?.subscribe?.restartICE(credentials)
    unsettled.insert(key)
  }

  /// Offers for all connections whose wishes have changed and that owe no answer.
  mutating func takeOffers() -> [DirectedOffer] {
    var offers: [DirectedOffer] = []
    for key in unsettled.sorted() {
      guard var connection = connections[key], let offer = connection.subscribe?.makeOffer(using: &random) else {
        continue
      }
      if offer.credentials != connection.credentials {
        connection.credentials = offer.credentials
        send(.restartICE(connection.transport, credentials: offer.credentials), to: connection.worker)
      }
      connections[key] = connection
      let lines = offer.tracks.map { ServerOffer.Line(mid: $0.mid, subscription: SubscriptionID($0.subscriptionID)) }
      offers.append(
        DirectedOffer(connection: key, offer: ServerOffer(id: Int(offer.id), sdp: offer.sdp, lines: lines)))
    }
    unsettled.removeAll(keepingCapacity: true)
    return offers
  }

  /// Takes the client's answer: starts what it accepted. The subscriptions that it refused come back with the reason.
  mutating func handleAnswer(
    seat: SeatID, on id: MediaConnectionID = .subscribe, offer: Int, sdp: String
  ) -> (result: Result<Void, ErrorObject>, refused: [(id: SubscriptionID, reason: SubscriptionReason)]) {
    let key = ConnectionKey(seat: seat, id: id)
    guard var connection = connections[key], var negotiation = connection.subscribe, offer >= 0 else {
      return (.failure(ErrorObject(.notJoined)), [])
    }
    let applied: SubscribeNegotiation.Applied
    do throws(NegotiationError) {
      applied = try negotiation.handle(answer: sdp, offerID: UInt64(offer))
    } catch {
      return (.failure(ErrorObject(error)), [])
    }
    connection.subscribe = negotiation
    if let agreed = applied.transport {
      send(.setRemote(connection.transport, agreed.media), to: connection.worker)
    } else if !connection.isShared {
      // The client has rejected every line, which ends its transport: what it accepts later comes with a new association.
      replaceTransport(of: &connection, connection.credentials)
    }
    connections[key] = connection
    unsettled.insert(key)
    return (.success(()), carryOut(applied, on: connection))
  }

  /// Answers an offer of the client about what it wants to be sent (WHEP), and starts what it accepts at once. Subscriptions for
  /// which the offer has no codec come back with the reason; those for which it has no line left wait for the next offer.
  mutating func answerOffer(
    seat: SeatID, on id: MediaConnectionID, sdp: String
  ) -> (result: Result<String, ErrorObject>, refused: [(id: SubscriptionID, reason: SubscriptionReason)]) {
    let key = ConnectionKey(seat: seat, id: id)
    guard var connection = connections[key], var negotiation = connection.subscribe else {
      return (.failure(ErrorObject(.notJoined)), [])
    }
    let answered: SubscribeNegotiation.Answered
    let fresh = makeCredentials()
    do throws(NegotiationError) {
      answered = try negotiation.answer(offer: sdp, using: &random) { fresh }
    } catch {
      return (.failure(ErrorObject(error)), [])
    }
    connection.subscribe = negotiation
    if let agreed = answered.applied.transport { take(agreed, on: &connection) }
    connections[key] = connection
    return (.success(answered.sdp), carryOut(answered.applied, on: connection))
  }

  /// Starts and changes consumers as the client has agreed to. The subscriptions that it refused come back with the reason.
  private mutating func carryOut(
    _ applied: SubscribeNegotiation.Applied, on connection: MediaConnection
  ) -> [(id: SubscriptionID, reason: SubscriptionReason)] {
    for started in applied.started { start(started, on: connection) }
    for changed in applied.changed {
      send(
        .updateConsumer(ConsumerKey(changed.subscriptionID), parameters: changed.parameters), to: connection.worker)
    }
    return applied.rejected.map {
      (SubscriptionID($0.subscriptionID), $0.code == .noCommonCodec ? .noCodec : .refused)
    }
  }

  private mutating func start(_ started: SubscribeNegotiation.Started, on connection: MediaConnection) {
    let id = SubscriptionID(started.subscriptionID)
    guard let subscription = subscriptions[id] else { return }
    subscriptions[id]?.isRunning = true
    send(
      .addConsumer(
        ConsumerKey(id.rawValue), producer: ProducerKey(subscription.track.rawValue),
        transport: connection.transport,
        parameters: started.parameters, paused: subscription.wish.paused, layer: wishedLayer(id)),
      to: connection.worker)
  }
}
