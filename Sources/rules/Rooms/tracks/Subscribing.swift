// What a seat receives: its subscriptions, and the offers and answers of its subscribe connection. Answers and swaps that
// SDP negotiation works on are kept here; nothing is changed before it has said yes.

import Members
import RoostProtocol

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

/// Answers and swaps on their way, and the rules of subscriptions.
struct Subscribing: Sendable {
  private(set) var answers: [RequestKey: PendingAnswer] = [:]
  private(set) var swaps: [RequestKey: PendingSwap] = [:]

  // MARK: - Requests

  /// The result; nil where the reply comes later.
  mutating func perform(
    _ request: SubscriptionRequest, _ key: RequestKey, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    switch request {
    case .subscribe(let params): return try subscribe(params, key.session, &media, table, &step)
    case .unsubscribe(let params):
      Subscribing.remove(try own(params.subscriptionId, key.session, media, table).id, &media, &step)
      return .empty
    case .update(let params):
      try change(try own(params.subscriptionId, key.session, media, table), Wanted(params), &media, table, &step)
      return .empty
    case .swap(let params): return try swap(params, key, media, table, &step)
    }
  }

  /// Subscribes to a track; asked again, it takes the new wishes.
  private func subscribe(
    _ params: SubscribeParams, _ session: SessionID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply {
    let seat = try table.seat(of: session)
    let track = try media.track(named: params.trackId, visibleFrom: seat)
    try Access.checkSubscribe(seat, to: track, table)
    if let existing = media[seat.id].subscriptions[track.id].flatMap({ media.subscriptions[$0] }) {
      try change(existing, Wanted(params), &media, table, &step)
      return .subscribed(SubscribeResult(subscriptionId: "\(existing.id)"))
    }
    var wish = SubscriptionWish()
    try wish.change(to: Wanted(params), of: track)
    guard let id = Subscribing.add(of: seat.id, to: track.id, wish: wish, &media, table, &step) else {
      throw .limit(.tooManyTracks, limit: media.mostSubscriptions, count: media[seat.id].subscriptions.count)
    }
    return .subscribed(SubscribeResult(subscriptionId: "\(id)"))
  }

  /// Changes what one wishes for.
  private func change(
    _ subscription: Subscription, _ wanted: Wanted, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) {
    var wish = subscription.wish
    // A view's wish is for whatever it shows.
    try wish.change(
      to: wanted, of: subscription.view == nil ? subscription.track.flatMap { media.tracks[$0] } : nil)
    guard wish != subscription.wish, let changed = media.setWish(wish, of: subscription.id) else { return }
    step.add(.updateSubscription(changed, before: subscription.wish))
    Viewing.tellWithoutPicture(subscription.id, &media, table, &step)
    LastN.judge(subscription.id, &media, table, &step)
  }

  /// Lets each of two subscriptions carry the other's track, if their media lines can.
  /// - Throws: 3003 while one of them is being negotiated, and for lines of two media connections.
  private mutating func swap(
    _ params: SwapParams, _ key: RequestKey, _ media: TrackTable, _ table: RoomTable, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let a = try own(params.a, key.session, media, table)
    let b = try own(params.b, key.session, media, table)
    for (one, field) in [(a, "a"), (b, "b")] where one.view != nil {
      throw .parameter(field, expected: "a subscription to one track; view.show changes what a view shows")
    }
    guard let left = a.track, let right = b.track,
      media.tracks[left]?.wire.kind == media.tracks[right]?.wire.kind
    else {
      throw .parameter("b", expected: "a subscription of the same kind as a")
    }
    guard a.id != b.id else { return .empty }
    guard a.connection == b.connection else {
      throw ErrorObject(.invalidState, "The two subscriptions are on different media connections.")
    }
    // A stream that runs can only be exchanged with another that runs, or the worker would send two tracks twice; and what
    // is on offer is answered for the track that it was offered with.
    guard a.isAgreed == b.isAgreed, !isOnOffer(a, table), !isOnOffer(b, table) else {
      throw ErrorObject(.invalidState, "One of the two is being negotiated; try again after the next answer.") {
        $0.retryable = true
      }
    }
    swaps[key] = PendingSwap(a: a.id, b: b.id)
    step.add(.swapSubscriptions(key, a, b))
    return nil
  }

  private func isOnOffer(_ subscription: Subscription, _ table: RoomTable) -> Bool {
    guard !subscription.isAgreed, let offer = table.seats[subscription.seat]?.outstandingOffer else {
      return false
    }
    return offer.tracks.contains { $0.subscriptionId == "\(subscription.id)" }
  }

  /// Notes an exchange that has been made, or says why it was not.
  mutating func swapProcessed(
    _ key: RequestKey, _ result: Result<Void, ErrorObject>, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let pending = swaps.removeValue(forKey: key) else { return }
    let both = [pending.a, pending.b]
    let missed = both.filter { media.subscriptions[$0]?.pauseReason == .noMedia }
    if case .success = result { media.exchange(pending.a, pending.b) }
    step.answer(key, result.map { .empty })
    // Of the other's track nothing is known yet.
    for one in missed.compactMap({ media.subscriptions[$0] }) where one.pauseReason == nil {
      LastN.tell(one, table, &step)
    }
    for one in both { LastN.judge(one, &media, table, &step) }
  }

  /// - Throws: 2005 without a seat, 4002 for a subscription that is not one's own.
  private func own(
    _ name: String, _ session: SessionID, _ media: TrackTable, _ table: RoomTable
  ) throws(ErrorObject) -> Subscription {
    let seat = try table.seat(of: session)
    guard let subscription = SubscriptionID(wire: name).flatMap({ media.subscriptions[$0] }),
      subscription.seat == seat.id
    else { throw ErrorObject(.notSubscribed) }
    return subscription
  }

  // MARK: - Subscriptions

  /// Subscribes a seat to every track of its room that it does not have.
  static func toAll(_ id: SeatID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    guard let seat = table.seats[id] else { return }
    for member in table.members(of: seat.room) where member.id != id {
      for track in media.tracks(of: member.id) where seat.takesAll(track.wire.kind, media) {
        add(of: id, to: track.id, &media, table, &step)
      }
    }
  }

  /// Subscribes a seat to a track. One that it has already is returned as it is; nil where a seat may have no more, or may
  /// receive nothing.
  @discardableResult static func add(
    of id: SeatID, to track: TrackID, wish: SubscriptionWish = SubscriptionWish(), _ media: inout TrackTable,
    _ table: RoomTable, _ step: inout Step
  ) -> SubscriptionID? {
    guard let seat = table.seats[id], Access.maySubscribe(seat, table) else { return nil }
    let own = media[id].subscriptions
    if let existing = own[track] { return existing }
    guard own.count < media.mostSubscriptions else { return nil }
    var subscription = Subscription(
      id: SubscriptionID(step.makeNumber()), seat: id, connection: .subscribe, track: track, wish: wish)
    subscription.leaveOut(LastN.leavesOut(track, for: subscription, media, table))
    media.insert(subscription)
    step.add(.subscribe(subscription))
    return subscription.id
  }

  /// Removes a subscription without a word to the client.
  static func remove(_ id: SubscriptionID, _ media: inout TrackTable, _ step: inout Step) {
    if let subscription = media.remove(id) { step.add(.unsubscribe(subscription)) }
  }

  /// Removes a subscription that the client did not ask to end.
  static func end(
    _ id: SubscriptionID, _ reason: SubscriptionReason, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let session = media.subscriptions[id].flatMap({ table.seats[$0.seat]?.session }) else { return }
    remove(id, &media, &step)
    step.tell(.subscriptionEnded(SubscriptionEvent(subscriptionId: "\(id)", reason: reason)), to: session)
  }

  // MARK: - The subscribe connection

  /// Sends the server's offer to the client. It is kept until it is answered.
  func offer(_ offer: ServerOffer, to id: SeatID, _ table: inout RoomTable, _ media: TrackTable, _ step: inout Step) {
    guard let session = table.seats[id]?.session else { return }
    let lines = offer.lines.compactMap { line -> OfferedTrack? in
      guard let subscription = media.subscriptions[line.subscription], subscription.seat == id,
        let track = subscription.track.flatMap({ media.tracks[$0] }), subscription.view == nil,
        let publisher = table.seats[track.seat]
      else { return nil }
      return OfferedTrack(
        mid: line.mid, subscriptionId: "\(subscription.id)", trackId: "\(track.id)",
        participantId: "\(publisher.participant)", kind: track.wire.kind)
    }
    let views = offer.lines.filter { media.subscriptions[$0.subscription]?.view != nil }
      .map { OfferedView(mid: $0.mid, subscriptionId: "\($0.subscription)") }
    let event = SubscribeOffer(offerId: offer.id, sdp: offer.sdp, tracks: lines, views: views.isEmpty ? nil : views)
    table.update(id) { $0.outstandingOffer = event }
    step.tell(.pcOffer(event), to: session)
  }

  /// Hands an answer to SDP negotiation.
  /// - Throws: 2005 without a seat, 3003 when this offer does not wait for an answer.
  mutating func negotiate(
    _ params: SubscribeAnswerParams, _ key: RequestKey, _ rooms: Seating, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let seat = try rooms.table.seat(of: key.session)
    guard seat.outstandingOffer?.offerId == params.offerId else {
      throw ErrorObject(.invalidState, "Offer \(params.offerId) does not wait for an answer.")
    }
    answers[key] = PendingAnswer(seat: seat.id, offerId: params.offerId)
    step.add(.negotiateAnswer(key, seat.id, offerID: params.offerId, sdp: params.sdp))
    return nil
  }

  /// Replies to an answer; one that could not be used may be sent again.
  mutating func answerProcessed(
    _ key: RequestKey, _ result: Result<Void, ErrorObject>, _ table: inout RoomTable, _ step: inout Step
  ) {
    guard let pending = answers.removeValue(forKey: key) else { return }
    if case .success = result, let offer = table.seats[pending.seat]?.outstandingOffer,
      offer.offerId == pending.offerId
    {
      table.update(pending.seat) { $0.outstandingOffer = nil }
    }
    step.warn(ifRefused: result, of: pending.seat, table)
    step.answer(key, result.map { .empty })
  }

  /// Restarts ICE on the subscribe connection.
  func restart(_ session: SessionID, _ rooms: Seating, _ step: inout Step) throws(ErrorObject) -> Reply {
    let seat = try rooms.table.seat(of: session)
    try seat.checkMedia(.subscribe, "Leave the room and join it again.")
    guard !seat.member.capabilities.contains(.clientOffers) else {
      throw ErrorObject(.invalidState, "You offer on this connection: restart ICE by an offer.")
    }
    step.add(.restartICE(seat.id))
    return .empty
  }

  /// Hands an offer of the client about what it is sent to SDP negotiation.
  /// - Throws: 2005 without a seat, 3003 where the server offers, 4006 when the connection has failed for good.
  static func answer(
    _ params: PublishOfferParams, _ key: RequestKey, _ rooms: Seating, _ step: inout Step
  ) throws(ErrorObject) -> Reply? {
    let seat = try rooms.table.seat(of: key.session)
    guard seat.member.capabilities.contains(.clientOffers) else {
      throw ErrorObject(
        .invalidState, "The server offers on the subscribe connection of clients without the capability clientOffers.")
    }
    try Access.checkSubscribe(seat, rooms.table)
    try seat.checkMedia(.subscribe, "Leave the room and join it again.")
    step.add(.answerOffer(key, seat.id, sdp: params.sdp))
    return nil
  }

  /// Replies with the server's answer.
  static func offerAnswered(
    _ key: RequestKey, _ result: Result<String, ErrorObject>, _ rooms: Seating, _ step: inout Step
  ) {
    step.warn(ifRefused: result, of: rooms.table.currentSeat(of: key.session)?.id, rooms.table)
    step.answer(key, result.map { .published(PublishResult(sdp: $0, tracks: [])) })
  }

  /// Notes what has become of a subscription, and tells its client what it does not know yet.
  func changed(
    _ change: SubscriptionChange, _ id: SubscriptionID, _ media: inout TrackTable, _ table: RoomTable,
    _ step: inout Step
  ) {
    guard let session = media.subscriptions[id].flatMap({ table.seats[$0.seat]?.session }) else { return }
    let name = "\(id)"
    let event: Event
    switch change {
    case .accepted:
      guard let subscription = media.setAgreed(id) else { return }
      step.add(.startSubscription(subscription))
      if subscription.pauseReason != nil { LastN.tell(subscription, table, &step) }
      return
    case .started(let track, let timestamp):
      guard media.subscriptions[id]?.view == nil else {
        return Viewing.started(id, track, timestamp: timestamp, &media, table, &step)
      }
      event = .subscriptionStarted(SubscriptionEvent(subscriptionId: name))
    case .cannotShow: return Viewing.cannotShow(id, &media, table, &step)
    case .paused(let reason):
      guard media.setHeldBack(true, id) else { return }
      Viewing.tellWithoutPicture(id, &media, table, &step)
      // Of a subscription that the room leaves out this is no news.
      if media.subscriptions[id]?.wish.isLeftOut == true { return }
      event = .subscriptionPaused(SubscriptionEvent(subscriptionId: name, reason: reason))
    case .resumed:
      guard media.setHeldBack(false, id), let one = media.subscriptions[id], !one.wish.isLeftOut else {
        return
      }
      return LastN.tell(one, table, &step)
    case .missing(let track, let what):
      guard media.setMissing(what, of: track, id) else { return }
      Viewing.tellWithoutPicture(id, &media, table, &step)
      // What is held back already is told when that is over.
      guard let one = media.subscriptions[id], !one.wish.isLeftOut, !one.isHeldBack else { return }
      return LastN.tell(one, table, &step)
    case .layer(let layer): event = .subscriptionLayer(SubscriptionEvent(subscriptionId: name, layer: layer))
    case .ended(let reason): return Subscribing.end(id, reason, &media, table, &step)
    }
    step.tell(event, to: session)
  }

  /// Tells a client that has lost events what its views show, and which of its subscriptions are paused.
  func tellPauses(of id: SeatID, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    Viewing.tellAll(of: id, &media, table, &step)
    for id in media[id].received {
      guard let one = media.subscriptions[id], one.pauseReason != nil else { continue }
      LastN.tell(one, table, &step)
    }
  }
}

/// What a request says of a wish; what is nil stays as it is.
private struct Wanted {
  var definition: Definition?
  var paused: Bool?
  var priority: Int?
  var maxHeight: Int?

  init(_ params: SubscribeParams) {
    (definition, priority, maxHeight) = (params.definition, params.priority, params.maxHeight)
  }

  init(_ params: SubscriptionUpdateParams) {
    (definition, paused) = (params.definition, params.paused)
    (priority, maxHeight) = (params.priority, params.maxHeight)
  }
}

extension SubscriptionWish {
  /// Takes over what a request says. A track that names no layers takes any definition, and so does a view, which has no track here.
  /// - Throws: 4007 for a layer that the track does not have, −32602 for the height of sound.
  fileprivate mutating func change(to wanted: Wanted, of track: PublishedTrack?) throws(ErrorObject) {
    let names = track?.wire.definitions ?? []
    if let definition = wanted.definition, definition != .auto, !names.isEmpty, !names.contains(definition) {
      throw ErrorObject(.layerUnavailable)
    }
    if wanted.maxHeight != nil, track?.wire.kind == .audio {
      throw .parameter("maxHeight", expected: "nothing for a track of sound")
    }
    definition = wanted.definition ?? definition
    paused = wanted.paused ?? paused
    priority = wanted.priority ?? priority
    maxHeight = wanted.maxHeight ?? maxHeight
  }
}
