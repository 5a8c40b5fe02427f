// A director, with one worker where nothing else is said, that remembers its commands.

import Basics
import Media
import MediaPeer
import Negotiation
import RTP
import RoostProtocol
import SDP
import TestSupport
import Testing

@testable import Members
@testable import MediaControl

/// A director and what it has told its worker. The desk keeps the subscriptions, as the conference does.
final class Desk {
  var director: MediaDirector
  private(set) var subscriptions: [SubscriptionID: Members.Subscription] = [:]
  /// What the conference has to hear of what was carried out.
  private(set) var news: [Members.Command] = []
  private var lastRequest: Int64 = 0

  /// All lines in the first offer: when they come is tested with the negotiation.
  private static var allAtOnce: SubscribeOptions {
    var options = SubscribeOptions()
    options.beginsWithOneOfEachKind = false
    return options
  }

  /// A desk at which the seats 1 … `seats` are open.
  init(workers: Int = 1, spread: RoomSpread = .off, seats: UInt64 = 0) {
    director = MediaDirector(
      workers: (0..<workers).map { .init(addresses: [SocketAddress(v4: 0x7f00_0001, port: UInt16(40_000 + $0))]) },
      fingerprint: .filled(with: 0x5a), publishOptions: PublishOptions(), subscribeOptions: Desk.allAtOnce,
      spread: spread)
    for seat in 0..<seats { open(seat + 1) }
  }

  /// What a turn has led to, by worker.
  func turn() -> [(worker: Int, commands: [WorkerCommand])] { director.pollCommands() }

  /// Commands since the last call.
  func commands() -> [WorkerCommand] { director.takeCommands().map(\.command) }

  func open(_ seat: UInt64, room: UInt64 = 1) {
    director.openSeat(SeatID(seat), room: Members.RoomKey(room), participant: ParticipantID(seat))
  }

  /// Opens a connection beside those that the seat has; whether there is one more now.
  @discardableResult
  func open(
    _ id: MediaConnectionID, of seat: UInt64, for directions: Directions, offerer: Offerer = .server
  ) -> Bool {
    director.openConnection(id, seat: SeatID(seat), for: directions, offerer: offerer)
  }

  private func makeKey() -> RequestKey {
    lastRequest += 1
    return RequestKey(session: SessionID(1), id: .number(lastRequest))
  }

  func prepare(
    _ seat: UInt64, on connection: MediaConnectionID = .publish, _ offer: String,
    _ tracks: [RoostProtocol.AnnouncedTrack]
  ) -> (key: RequestKey, result: Result<PublishChange, ErrorObject>) {
    let key = makeKey()
    let params = PublishOfferParams(pc: .publish, sdp: offer, tracks: tracks)
    return (key, director.preparePublish(key, seat: SeatID(seat), on: connection, params))
  }

  /// Publishes what the offer adds, as tracks numbered from `first`, in the order of the lines; ends what it removes.
  @discardableResult
  func publish(
    _ seat: UInt64, on connection: MediaConnectionID = .publish, _ offer: String, _ tracks: [String: TrackKind],
    first: UInt64, definitions: [Definition]? = nil, heights: [Int]? = nil, screens: Set<String> = []
  ) throws -> PublishChange {
    let announced = tracks.map {
      RoostProtocol.AnnouncedTrack(mid: $0.key, kind: $0.value, definitions: definitions, heights: heights)
    }
    let (key, result) = prepare(seat, on: connection, offer, announced)
    let change = try result.get()
    let committed = change.added.enumerated().map {
      CommittedTrack(
        mid: $1.mid, track: TrackID(first + UInt64($0)), kind: $1.kind, isScreen: screens.contains($1.mid))
    }
    director.commitPublish(key, seat: SeatID(seat), committed)
    let recoded = change.recoded.compactMap { self.connection(seat, connection)?.published[$0] }
    for id in recoded.flatMap(subscribers) { director.offerCodecs(try known(id)) }
    return change
  }

  @discardableResult
  func subscribe(
    _ id: UInt64, seat: UInt64, on connection: MediaConnectionID = .subscribe, track: UInt64,
    _ wish: SubscriptionWish = SubscriptionWish()
  ) -> ErrorObject? {
    let subscription = Members.Subscription(
      id: SubscriptionID(id), seat: SeatID(seat), connection: connection, track: TrackID(track), wish: wish)
    let error = director.subscribe(subscription)
    if error == nil { subscriptions[subscription.id] = subscription }
    return error
  }

  func openView(_ id: UInt64, seat: UInt64) {
    let view = Members.Subscription(
      id: SubscriptionID(id), seat: SeatID(seat), connection: .subscribe, track: nil, view: ViewState(kind: .video),
      wish: SubscriptionWish())
    if director.subscribe(view) == nil { subscriptions[view.id] = view }
  }

  func show(_ view: UInt64, _ track: UInt64?) throws {
    let before = try known(SubscriptionID(view))
    let shown = Members.Subscription(
      id: before.id, seat: before.seat, connection: before.connection, track: track.map { TrackID($0) },
      view: before.view, wish: before.wish, isAgreed: before.isAgreed)
    subscriptions[shown.id] = shown
    news += director.show(shown)
  }

  /// Ends a track: those who receive it do no longer, and views show nothing, as the conference has it.
  func end(_ track: UInt64) throws {
    try take(track)
    director.closeTrack(TrackID(track))
  }

  /// Takes a track away from all who receive it.
  private func take(_ track: UInt64) throws {
    for id in subscribers(of: TrackID(track)) {
      if subscriptions[id]?.view == nil { unsubscribe(id) } else { try show(id.rawValue, nil) }
    }
  }

  /// Closes a seat with these tracks, as the conference has it.
  func leave(_ seat: UInt64, _ tracks: [UInt64]) throws {
    for id in received(by: seat) { unsubscribe(id) }
    for track in tracks { try end(track) }
    director.closeSeat(SeatID(seat))
  }

  /// Moves a seat with these tracks to another room, as the conference has it; false where it has to be made anew there.
  func move(_ seat: UInt64, _ tracks: [UInt64], to room: UInt64) throws -> Bool {
    guard director.placement.mayMove(SeatID(seat), to: Members.RoomKey(room)) else { return false }
    for id in received(by: seat) where subscriptions[id]?.view == nil { unsubscribe(id) }
    for track in tracks { try take(track) }
    for id in received(by: seat) { try show(id.rawValue, nil) }
    _ = director.apply(
      .moveSeat(SeatID(seat), room: Members.RoomKey(room), sound: SoundRules(), sends: SendingRights()))
    return true
  }

  /// What a seat receives, views too.
  func received(by seat: UInt64) -> [SubscriptionID] {
    subscriptions.values.filter { $0.seat == SeatID(seat) }.map(\.id).sorted()
  }

  private func known(_ id: SubscriptionID) throws -> Members.Subscription { try #require(subscriptions[id]) }

  /// Who receives a track.
  func subscribers(of track: TrackID) -> [SubscriptionID] {
    subscriptions.values.filter { $0.track == track }.map(\.id).sorted()
  }

  func unsubscribe(_ id: SubscriptionID) {
    if let subscription = subscriptions.removeValue(forKey: id) { director.unsubscribe(subscription) }
  }

  func update(_ id: UInt64, _ wish: SubscriptionWish) throws {
    let before = try known(SubscriptionID(id))
    let changed = before.with(wish: wish)
    subscriptions[changed.id] = changed
    director.update(changed, before: before.wish)
  }

  func swap(_ a: UInt64, _ b: UInt64) throws -> ErrorObject? {
    let (first, second) = (try known(SubscriptionID(a)), try known(SubscriptionID(b)))
    if case .failure(let error) = director.swap(first, second) { return error }
    subscriptions[first.id] = first.with(track: second.track)
    subscriptions[second.id] = second.with(track: first.track)
    return nil
  }

  /// Closes a connection. Ends the subscriptions on it, then those to its tracks, as the conference does.
  func close(_ id: MediaConnectionID, of seat: UInt64) -> (tracks: [TrackID], subscriptions: [SubscriptionID]) {
    let key = ConnectionKey(seat: SeatID(seat), id: id)
    let own = subscriptions.values.filter { $0.connectionKey == key }.map(\.id).sorted()
    for id in own { unsubscribe(id) }
    let tracks = director.closeConnection(id, seat: SeatID(seat))
    let others = tracks.flatMap(subscribers)
    for id in others { unsubscribe(id) }
    return (tracks, own + others)
  }

  /// Has what the client has accepted sent, and ends what it has refused.
  private func take(_ lines: AnsweredLines) throws {
    for id in lines.accepted {
      let accepted = try known(id).with(isAgreed: true)
      subscriptions[id] = accepted
      news += director.start(accepted)
    }
    for refused in lines.refused { unsubscribe(refused.id) }
  }

  func connection(_ seat: UInt64, _ id: MediaConnectionID) -> MediaConnection? {
    director.connections[ConnectionKey(seat: SeatID(seat), id: id)]
  }

  /// Tracks on the lines of a seat's publish connection.
  func published(_ seat: UInt64) -> [String: TrackID]? { connection(seat, .publish)?.published }

  /// The newest offer for a connection of a seat, if there is one.
  func offer(_ seat: UInt64, on connection: MediaConnectionID = .subscribe) -> ServerOffer? {
    director.takeOffers().last { $0.connection == ConnectionKey(seat: SeatID(seat), id: connection) }?.offer
  }

  /// Has everybody answer what they are offered, until nobody is.
  func answerAll() throws {
    var offers = director.takeOffers()
    while !offers.isEmpty {
      for offer in offers { try answer(offer.seat.rawValue, on: offer.connection.id, offer.offer) }
      offers = director.takeOffers()
    }
  }

  /// Answers the outstanding offer of a seat.
  @discardableResult
  func answer(
    _ seat: UInt64, on connection: MediaConnectionID = .subscribe, _ offer: ServerOffer,
    _ browser: Browser = Browser(),
    _ bend: (inout MediaDescription, Int) -> Void = { _, _ in }
  ) throws -> [(id: SubscriptionID, reason: SubscriptionReason)] {
    let (result, lines) = director.handleAnswer(
      seat: SeatID(seat), on: connection, offer: offer.id, sdp: try browser.answer(offer.sdp, bend))
    try result.get()
    try take(lines)
    return lines.refused
  }

  /// Answers an offer of the client about what it wants to be sent.
  func answer(
    offer sdp: String, seat: UInt64, on connection: MediaConnectionID
  ) throws -> (result: Result<String, ErrorObject>, refused: [(id: SubscriptionID, reason: SubscriptionReason)]) {
    let (result, lines) = director.answerOffer(seat: SeatID(seat), on: connection, sdp: sdp)
    try take(lines)
    return (result, lines.refused)
  }
}

extension Members.Subscription {
  /// The same with another track or wish, or as one that the client has accepted.
  fileprivate func with(track: TrackID? = nil, wish: SubscriptionWish? = nil, isAgreed: Bool? = nil) -> Self {
    Self(
      id: id, seat: seat, connection: connection, track: track ?? self.track, view: view, wish: wish ?? self.wish,
      isAgreed: isAgreed ?? self.isAgreed)
  }
}
