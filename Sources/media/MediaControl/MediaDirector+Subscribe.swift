// The director's subscribing half: tracks that a connection shall be sent, offers and answers about them, and consumers.

import Media
import Members
import Negotiation
import RTP
import RoostProtocol

extension MediaDirector {
  /// Adds a track to what a seat receives; returns why that cannot be.
  mutating func subscribe(_ subscription: Members.Subscription) -> ErrorObject? {
    let connection = subscription.connectionKey
    guard let wanted = wanted(subscription), connections[connection]?.subscribe != nil else {
      return ErrorObject(.trackNotFound)
    }
    do throws(NegotiationError) {
      try connections[connection]?.subscribe?.add(wanted)
    } catch {
      return ErrorObject(error)
    }
    unsettled.insert(connection)
    return nil
  }

  /// What a line is to carry. That of a view takes whatever publishers may send, and is in step with nobody's sound.
  private func wanted(_ subscription: Members.Subscription) -> Negotiation.Subscription? {
    let id = subscription.id
    if let view = subscription.view {
      // A client that offers is shown one stream (WHEP): its sound and its pictures are to be in step.
      let isOneStream = connections[subscription.connectionKey]?.subscribe?.offerer == .client
      let kind: MediaKind = view.kind == .audio ? .audio : .video
      return Negotiation.Subscription(
        id: id.rawValue, kind: kind, trackID: "view-\(id)", streamID: isOneStream ? "stream" : "view-\(id)",
        codecs: publishOptions.codecs.filter { ($0 == .opus) == (kind == .audio) }, opus: .any)
    }
    guard let name = subscription.track, let track = tracks[name], let publisher = seats[track.seat] else { return nil }
    return Negotiation.Subscription(
      id: id.rawValue, kind: track.parameters.kind, trackID: name.description,
      streamID: publisher.participant.description, codecs: track.codecs, opus: track.parameters.opus)
  }

  /// Sends a track on the line that the client has accepted for it. What the conference has to hear of it.
  mutating func start(_ subscription: Members.Subscription) -> [Command] {
    guard let connection = connections[subscription.connectionKey],
      let parameters = connection.subscribe?.parameters(of: subscription.id.rawValue)
    else { return [] }
    let canBring = canBring(subscription.track, to: connection.worker)
    guard canBring || subscription.view != nil else { return [.subscription(subscription.id, .ended(.refused))] }
    let canShow = canBring && canShow(subscription, parameters)
    bring(canShow ? subscription.track : nil, to: subscription.id, on: connection.worker) {
      $0.send(
        .addConsumer(
          subscription.consumer, producer: canShow ? subscription.producer : nil, transport: connection.transport,
          parameters: parameters, paused: subscription.wish.sendsNothing,
          layer: $0.layer(subscription.wish, of: subscription.track),
          priority: $0.rank(subscription.wish, of: subscription.track)),
        to: connection.worker)
    }
    return canShow ? [] : [.subscription(subscription.id, .cannotShow)]
  }

  /// Lets a view show its track, or nothing. One that is not accepted yet starts with what it shows then.
  mutating func show(_ view: Members.Subscription) -> [Command] {
    guard view.isAgreed, let connection = connections[view.connectionKey],
      let parameters = connection.subscribe?.parameters(of: view.id.rawValue)
    else { return [] }
    guard canShow(view, parameters), canBring(view.track, to: connection.worker) else {
      return [.subscription(view.id, .cannotShow)]
    }
    bring(view.track, to: view.id, on: connection.worker) {
      $0.send(
        .show(
          view.consumer, view.producer, layer: $0.layer(view.wish, of: view.track),
          priority: $0.rank(view.wish, of: view.track)),
        to: connection.worker)
    }
    return []
  }

  /// Whether a track can be sent to somebody at a worker: at its own always.
  private func canBring(_ track: TrackID?, to worker: Int) -> Bool {
    guard let entry = track.flatMap({ tracks[$0] }), entry.worker != worker else { return true }
    return entry.parameters.encodings.count <= ReceiveParameters.mostMirrored
  }

  /// Whether the client has taken the codec that a view's track comes in: the first of its publisher's answer.
  private func canShow(_ view: Members.Subscription, _ parameters: SendParameters) -> Bool {
    guard view.view != nil, let codec = view.track.flatMap({ tracks[$0]?.codecs.first }) else { return true }
    return parameters.payloads.contains { $0.codec == codec }
  }

  mutating func unsubscribe(_ subscription: Members.Subscription) {
    guard let connection = connections[subscription.connectionKey] else { return }
    connections[connection.key]?.subscribe?.remove(subscription.id.rawValue)
    unsettled.insert(connection.key)
    guard subscription.isAgreed else { return }
    bring(nil, to: subscription.id, on: connection.worker) {
      $0.send(.removeConsumer(subscription.consumer), to: connection.worker)
    }
  }

  /// Tells the worker what a subscriber wishes for now. One that is not accepted yet starts with its wish.
  mutating func update(_ subscription: Members.Subscription, before: SubscriptionWish) {
    guard subscription.isAgreed, let connection = connections[subscription.connectionKey] else { return }
    let wish = subscription.wish
    if mustAim(wish, before, of: subscription.track) {
      send(.setLayer(subscription.consumer, layer(wish, of: subscription.track)), to: connection.worker)
    }
    let rank = rank(wish, of: subscription.track)
    if rank != self.rank(before, of: subscription.track) {
      send(.setPriority(subscription.consumer, rank), to: connection.worker)
    }
    if wish.sendsNothing != before.sendsNothing {
      send(.setPaused(subscription.consumer, wish.sendsNothing), to: connection.worker)
    }
  }

  /// Whether the worker has to hear which layer is wished for. What nobody sees goes on in its layer of before until it is seen again, so
  /// that no publisher is asked for a keyframe that nobody needs.
  private func mustAim(_ wish: SubscriptionWish, _ before: SubscriptionWish, of track: TrackID?) -> Bool {
    guard !wish.isHidden else { return false }
    return before.isHidden || wish.definition != before.definition || layer(wish, of: track) != layer(before, of: track)
  }

  /// The layer that a wish means, of a track.
  private func layer(_ wish: SubscriptionWish, of track: TrackID?) -> Int? {
    track.flatMap { tracks[$0] }?.layers.worthSending(wish.definition, maxHeight: wish.maxHeight)
  }

  /// What goes first where a receiver's line does not carry everything: by the client's own order, then shared screens, then
  /// what is shown larger. Heights count by powers of two, so that tiles of about one size are alike.
  private func rank(_ wish: SubscriptionWish, of track: TrackID?) -> Int {
    let size = Int.bitWidth - (wish.maxHeight ?? Self.usualHeight).leadingZeroBitCount
    let isScreen = track.flatMap { tracks[$0] }?.isScreen ?? false
    return (wish.priority * 2 + (isScreen ? 1 : 0)) * Self.sizes + size
  }

  /// The height of a place that a client has not told.
  private static let usualHeight = 720
  /// More than there are powers of two up to `ProtocolLimits.pictureLines`.
  private static let sizes = 16

  /// A subscriber's line lists what the publisher may send.
  mutating func offerCodecs(_ subscription: Members.Subscription) {
    guard let track = subscription.track.flatMap({ tracks[$0] }) else { return }
    connections[subscription.connectionKey]?.subscribe?.setCodecs(
      track.codecs, opus: track.parameters.opus, of: subscription.id.rawValue)
    unsettled.insert(subscription.connectionKey)
  }

  /// Lets two subscriptions on one connection carry each other's track; refused when a line was taken without the codec that is
  /// to come on it.
  mutating func swap(_ a: Members.Subscription, _ b: Members.Subscription) -> Result<Void, ErrorObject> {
    guard let connection = connections[a.connectionKey] else { return .failure(ErrorObject(.notSubscribed)) }
    do throws(NegotiationError) {
      try connections[connection.key]?.subscribe?.swap(a.id.rawValue, b.id.rawValue)
    } catch {
      return .failure(ErrorObject(error))
    }
    if a.isAgreed && b.isAgreed {
      aim(a, at: b.track, on: connection)
      aim(b, at: a.track, on: connection)
      send(.swap(a.consumer, b.consumer), to: connection.worker)
      spread.mirrors.swap(a.id, b.id)
    }
    return .success(())
  }

  /// The wish stays with the subscription, and means a layer and a rank of its new track.
  private mutating func aim(_ one: Members.Subscription, at track: TrackID?, on connection: MediaConnection) {
    send(.setLayer(one.consumer, layer(one.wish, of: track)), to: connection.worker)
    let rank = rank(one.wish, of: track)
    if rank != self.rank(one.wish, of: one.track) { send(.setPriority(one.consumer, rank), to: connection.worker) }
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

  /// Takes the client's answer. What it has made of the lines is for the conference, which then has them started or ends them.
  mutating func handleAnswer(
    seat: SeatID, on id: MediaConnectionID = .subscribe, offer: Int, sdp: String
  ) -> (result: Result<Void, ErrorObject>, lines: AnsweredLines) {
    let key = ConnectionKey(seat: seat, id: id)
    guard var connection = connections[key], var negotiation = connection.subscribe, offer >= 0 else {
      return (.failure(ErrorObject(.notJoined)), AnsweredLines())
    }
    let applied: SubscribeNegotiation.Applied
    do throws(NegotiationError) {
      applied = try negotiation.handle(answer: sdp, offerID: UInt64(offer))
    } catch {
      return (.failure(ErrorObject(error)), AnsweredLines())
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
    return (.success(()), answered(applied, on: connection))
  }

  /// Answers an offer of the client about what it wants to be sent (WHEP). A line in it is accepted at once. Subscriptions for
  /// which it has no codec are refused; those for which it has no line left wait for the next offer.
  mutating func answerOffer(
    seat: SeatID, on id: MediaConnectionID, sdp: String
  ) -> (result: Result<String, ErrorObject>, lines: AnsweredLines) {
    let key = ConnectionKey(seat: seat, id: id)
    guard var connection = connections[key], var negotiation = connection.subscribe else {
      return (.failure(ErrorObject(.notJoined)), AnsweredLines())
    }
    let answer: SubscribeNegotiation.Answered
    let fresh = makeCredentials()
    do throws(NegotiationError) {
      answer = try negotiation.answer(offer: sdp, using: &random) { fresh }
    } catch {
      return (.failure(ErrorObject(error)), AnsweredLines())
    }
    connection.subscribe = negotiation
    if let agreed = answer.applied.transport { take(agreed, on: &connection) }
    connections[key] = connection
    return (.success(answer.sdp), answered(answer.applied, on: connection))
  }

  /// What the client has agreed to. Consumers that run already are changed at once.
  private mutating func answered(
    _ applied: SubscribeNegotiation.Applied, on connection: MediaConnection
  ) -> AnsweredLines {
    for changed in applied.changed {
      send(
        .updateConsumer(ConsumerKey(changed.subscriptionID), parameters: changed.parameters), to: connection.worker)
    }
    return AnsweredLines(
      accepted: applied.started.map { SubscriptionID($0.subscriptionID) },
      refused: applied.rejected.map {
        (SubscriptionID($0.subscriptionID), $0.code == .noCommonCodec ? .noCodec : .refused)
      })
  }
}
