// Subscriptions: which seat receives which track, and the subscribe connection's offers and answers.

import RoostProtocol

/// One track as one seat receives it.
struct Subscription: Sendable {
  let id: SubscriptionID
  let seat: SeatID
  var track: TrackID
  var wish: SubscriptionWish
  /// Whether the client has answered an offer with it, so that a worker serves it.
  var isAgreed = false
}

extension ConferenceCore {
  // MARK: - The set of subscriptions

  /// Subscribes a seat to every track of its room that it does not have.
  mutating func subscribeToAll(_ id: SeatID) {
    guard let seat = seats[id], let room = rooms[seat.room] else { return }
    for member in room.members where member != id {
      for track in seats[member]?.tracks ?? [] { addSubscription(of: id, to: track) }
    }
  }

  /// Subscribes a seat to a track. One that it has already is returned as it is; nil where a seat may have no more.
  @discardableResult
  mutating func addSubscription(
    of seat: SeatID, to track: TrackID, _ wish: SubscriptionWish = SubscriptionWish()
  ) -> SubscriptionID? {
    if let existing = seats[seat]?.subscriptions[track] { return existing }
    guard let count = seats[seat]?.subscriptions.count, count < rules.maxSubscriptions else { return nil }
    let id = SubscriptionID(makeNumber())
    subscriptions[id] = Subscription(id: id, seat: seat, track: track, wish: wish)
    seats[seat]?.subscriptions[track] = id
    tracks[track]?.subscribers.insert(id)
    effects.append(.media(.subscribe(id, seat, track, wish)))
    return id
  }

  /// Removes a subscription without a word to the client.
  mutating func removeSubscription(_ id: SubscriptionID) {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return }
    seats[subscription.seat]?.subscriptions[subscription.track] = nil
    tracks[subscription.track]?.subscribers.remove(id)
    effects.append(.media(.unsubscribe(id)))
  }

  /// Removes a subscription that the client did not ask to end.
  mutating func endSubscription(_ id: SubscriptionID, _ reason: SubscriptionReason) {
    guard let session = subscriptions[id].flatMap({ seats[$0.seat]?.session }) else { return }
    removeSubscription(id)
    send(.subscriptionEnded(SubscriptionEvent(subscriptionId: "\(id)", reason: reason)), to: session)
  }

  // MARK: - Requests

  /// Subscribes to a track; asked again, it takes the new wishes.
  mutating func subscribe(_ params: SubscribeParams, _ session: SessionID) throws(ErrorObject) -> Reply {
    let seat = try seat(of: session)
    let track = try visibleTrack(params.trackId, from: seat)
    guard track.seat != seat.id else { throw ErrorObject(.forbidden, "This is your own track.") }
    if let existing = seat.subscriptions[track.id].flatMap({ subscriptions[$0] }) {
      try change(existing, definition: params.definition, paused: nil, priority: params.priority)
      return .subscribed(SubscribeResult(subscriptionId: "\(existing.id)"))
    }
    var wish = SubscriptionWish()
    wish.definition = try choose(params.definition, of: track) ?? wish.definition
    wish.priority = params.priority ?? wish.priority
    guard let id = addSubscription(of: seat.id, to: track.id, wish) else {
      throw .limit(.tooManyTracks, limit: rules.maxSubscriptions, count: seat.subscriptions.count)
    }
    return .subscribed(SubscribeResult(subscriptionId: "\(id)"))
  }

  /// Ends one of one's own subscriptions.
  mutating func unsubscribe(_ params: SubscriptionParams, _ session: SessionID) throws(ErrorObject) -> Reply {
    removeSubscription(try ownSubscription(params.subscriptionId, session).id)
    return .empty
  }

  /// Changes what one wishes for.
  mutating func updateSubscription(
    _ params: SubscriptionUpdateParams, _ session: SessionID
  ) throws(ErrorObject) -> Reply {
    let subscription = try ownSubscription(params.subscriptionId, session)
    try change(subscription, definition: params.definition, paused: params.paused, priority: params.priority)
    return .empty
  }

  private mutating func change(
    _ subscription: Subscription, definition: Definition?, paused: Bool?, priority: Int?
  ) throws(ErrorObject) {
    guard let track = tracks[subscription.track] else { throw ErrorObject(.internalError) }
    var wish = subscription.wish
    wish.definition = try choose(definition, of: track) ?? wish.definition
    wish.paused = paused ?? wish.paused
    wish.priority = priority ?? wish.priority
    guard wish != subscription.wish else { return }
    subscriptions[subscription.id]?.wish = wish
    effects.append(.media(.updateSubscription(subscription.id, wish)))
  }

  /// Lets each of two subscriptions carry the other's track, if their media lines can.
  /// - Throws: 3003 while one of them is being negotiated.
  mutating func swapSubscriptions(_ params: SwapParams, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    let a = try ownSubscription(params.a, key.session)
    let b = try ownSubscription(params.b, key.session)
    guard tracks[a.track]?.wire.kind == tracks[b.track]?.wire.kind else {
      throw .parameter("b", expected: "a subscription of the same kind as a")
    }
    guard a.id != b.id else { return .empty }
    // A stream that runs can only be exchanged with another that runs, or the worker would send two tracks twice; and what
    // is on offer is answered for the track that it was offered with.
    guard a.isAgreed == b.isAgreed, !isOnOffer(a), !isOnOffer(b) else {
      throw ErrorObject(.invalidState, "One of the two is being negotiated; try again after the next answer.") {
        $0.retryable = true
      }
    }
    pendingSwaps[key] = PendingSwap(a: a.id, b: b.id)
    effects.append(.media(.swapSubscriptions(key, a.id, b.id)))
    return nil
  }

  private func isOnOffer(_ subscription: Subscription) -> Bool {
    guard !subscription.isAgreed, let offer = seats[subscription.seat]?.outstandingOffer else { return false }
    return offer.tracks.contains { $0.subscriptionId == "\(subscription.id)" }
  }

  /// Notes an exchange that has been made, or says why it was not.
  mutating func swapProcessed(_ key: RequestKey, _ result: Result<Void, ErrorObject>) {
    guard let pending = pendingSwaps.removeValue(forKey: key) else { return }
    if case .success = result, let a = subscriptions[pending.a], let b = subscriptions[pending.b] {
      put(b.track, on: a)
      put(a.track, on: b)
    }
    finish(key, result.map { .empty })
  }

  private mutating func put(_ track: TrackID, on subscription: Subscription) {
    tracks[subscription.track]?.subscribers.remove(subscription.id)
    tracks[track]?.subscribers.insert(subscription.id)
    subscriptions[subscription.id]?.track = track
    seats[subscription.seat]?.subscriptions[track] = subscription.id
  }

  /// The layer asked for; a track that names none takes any wish.
  /// - Throws: 4007 for one that the track does not have.
  private func choose(_ definition: Definition?, of track: PublishedTrack) throws(ErrorObject) -> Definition? {
    guard let definition, definition != .auto, !track.wire.definitions.isEmpty else { return definition }
    guard track.wire.definitions.contains(definition) else { throw ErrorObject(.layerUnavailable) }
    return definition
  }

  /// - Throws: 2005 without a seat, 4002 for a subscription that is not one's own.
  private func ownSubscription(_ name: String, _ session: SessionID) throws(ErrorObject) -> Subscription {
    let seat = try seat(of: session)
    guard let subscription = SubscriptionID(wire: name).flatMap({ subscriptions[$0] }), subscription.seat == seat.id
    else { throw ErrorObject(.notSubscribed) }
    return subscription
  }

  // MARK: - The subscribe connection

  /// Sends the server's offer to the client. It is kept until it is answered.
  mutating func serverOffer(_ offer: ServerOffer, to id: SeatID) {
    guard let session = seats[id]?.session else { return }
    let lines = offer.lines.compactMap { line -> OfferedTrack? in
      guard let subscription = subscriptions[line.subscription], subscription.seat == id,
        let track = tracks[subscription.track], let publisher = seats[track.seat]
      else { return nil }
      return OfferedTrack(
        mid: line.mid, subscriptionId: "\(subscription.id)", trackId: "\(track.id)",
        participantId: "\(publisher.participant)", kind: track.wire.kind)
    }
    let event = SubscribeOffer(offerId: offer.id, sdp: offer.sdp, tracks: lines)
    seats[id]?.outstandingOffer = event
    send(.pcOffer(event), to: session)
  }

  /// Hands an answer to SDP negotiation.
  /// - Throws: 2005 without a seat, 3003 when this offer does not wait for an answer.
  mutating func negotiateAnswer(_ params: SubscribeAnswerParams, _ key: RequestKey) throws(ErrorObject) -> Reply? {
    let seat = try seat(of: key.session)
    guard seat.outstandingOffer?.offerId == params.offerId else {
      throw ErrorObject(.invalidState, "Offer \(params.offerId) does not wait for an answer.")
    }
    pendingAnswers[key] = PendingAnswer(seat: seat.id, offerId: params.offerId)
    effects.append(.media(.negotiateAnswer(key, seat.id, offerID: params.offerId, sdp: params.sdp)))
    return nil
  }

  /// Replies to an answer; one that could not be used may be sent again.
  mutating func answerProcessed(_ key: RequestKey, _ result: Result<Void, ErrorObject>) {
    guard let pending = pendingAnswers.removeValue(forKey: key) else { return }
    if case .success = result, let offer = seats[pending.seat]?.outstandingOffer, offer.offerId == pending.offerId {
      seats[pending.seat]?.outstandingOffer = nil
      for line in offer.tracks {
        if let id = SubscriptionID(wire: line.subscriptionId) { subscriptions[id]?.isAgreed = true }
      }
    }
    finish(key, result.map { .empty })
  }

  /// Restarts ICE on the subscribe connection.
  mutating func restartSubscribe(_ session: SessionID) throws(ErrorObject) -> Reply {
    let seat = try seat(of: session)
    try seat.checkMedia(.subscribe, "Leave the room and join it again.")
    effects.append(.media(.restartICE(seat.id)))
    return .empty
  }

  /// Tells a client what has become of a subscription.
  mutating func subscriptionChanged(_ change: SubscriptionChange, _ id: SubscriptionID) {
    guard let session = subscriptions[id].flatMap({ seats[$0.seat]?.session }) else { return }
    let name = "\(id)"
    switch change {
    case .started: send(.subscriptionStarted(SubscriptionEvent(subscriptionId: name)), to: session)
    case .paused(let reason):
      send(.subscriptionPaused(SubscriptionEvent(subscriptionId: name, reason: reason)), to: session)
    case .resumed: send(.subscriptionResumed(SubscriptionEvent(subscriptionId: name)), to: session)
    case .layer(let layer):
      send(.subscriptionLayer(SubscriptionEvent(subscriptionId: name, layer: layer)), to: session)
    case .ended(let reason): endSubscription(id, reason)
    }
  }
}

/// A subscribe answer that is being negotiated.
struct PendingAnswer: Sendable {
  let seat: SeatID
  let offerId: Int
}

/// Two subscriptions that are being exchanged.
struct PendingSwap: Sendable {
  let a: SubscriptionID
  let b: SubscriptionID
}
