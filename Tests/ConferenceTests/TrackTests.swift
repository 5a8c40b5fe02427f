// Tracks and subscriptions: what may be published, who receives it, offers and answers.

import RoostProtocol
import Testing

@testable import Conference
@testable import Members
@testable import Rooms
@testable import Sessions

@Suite struct TrackTests {
  /// Rules by which somebody may unmute as often as a test needs events.
  static var talkative: ConferenceRules {
    var rules = ConferenceRules.test
    rules.chatBurst = 1_000
    return rules
  }

  @Test func publishingIsRefusedForAReason() throws {
    let scene = Scene()
    let a = scene.client("A")
    #expect(throws: ErrorObject(.notJoined)) { try scene.publish(a, ["0:audio"]) }
    _ = try scene.join(a, "voice").get()
    #expect(throws: ErrorObject(.mediaNotAllowed)) { try scene.publish(a, ["0:audio", "1:video"]) }
    #expect(scene.core.gauges.tracks == 0)
    try scene.publish(a, (0..<8).map { "\($0):audio" })
    #expect(throws: ErrorObject.limit(.tooManyTracks, limit: 8, count: 9)) { try scene.publish(a, ["8:audio"]) }
    try scene.publish(a, ["8:audio"], removing: ["0"])
    scene.negotiationError = ErrorObject(.noCommonCodec)
    #expect(throws: ErrorObject(.noCommonCodec)) { try scene.publish(a, ["9:audio"], removing: ["1"]) }
    #expect(scene.core.gauges.tracks == 8)
    #expect(scene.counters[.publishRefused(.mediaNotAllowed)] == 1)
    #expect(scene.log.contains { $0.event == "publish_refused" })
  }

  /// Each change of what he sends is an offer to everybody who receives.
  @Test func whoNegotiatesAllTheTimeIsSlowedDown() throws {
    var rules = ConferenceRules.test
    (rules.offersPerSecond, rules.offerBurst) = (2, 3)
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    for _ in 0..<3 { try scene.publish(a, ["0:audio"]) }
    let refusal = #expect(throws: ErrorObject.self) { try scene.publish(a, ["0:audio"]) }
    #expect(refusal?.code == .rateLimited && refusal?.data.retryable == true && refusal?.data.retryAfterMs == 500)
    #expect(scene.ledger.tracks.count == 1, "what he sends goes on")
    try scene.publish(b, ["0:audio"])
    scene.advance(.milliseconds(500))
    try scene.publish(a, ["0:audio"])
  }

  @Test func whatNegotiationFoundCountsToo() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a, "voice").get()
    let seat = try scene.seat(a)
    // The client announces nothing, and the offer has a video line all the same.
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer")))
    let effects = scene.core.apply(.request(a.connection, .number(77), offer), at: scene.now)
    guard case .media(.negotiatePublish(let key, seat, _, _))? = effects.last else {
      Issue.record("not negotiated")
      return
    }
    let change = PublishChange(answer: "x", added: [.init(mid: "0", kind: .video)])
    let after = scene.core.apply(.publishPrepared(key, .success(change)), at: scene.now)
    #expect(after.contains(.media(.discardPublish(key, seat))))
    #expect(after.contains(.client(.reply(a.connection, .number(77), .failure(ErrorObject(.mediaNotAllowed))))))
    #expect(scene.core.apply(.publishPrepared(key, .success(change)), at: scene.now).isEmpty, "once")
  }

  @Test func theAnswerGoesOutBeforeTheRoomIsTold() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = [AnnouncedTrack(mid: "0", kind: .video, definitions: [.low, .high], muted: true)]
    let offer = Request.peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)))
    guard
      case .media(.negotiatePublish(let key, _, _, _))? = scene.core.apply(
        .request(a.connection, .number(9), offer), at: scene.now
      ).last
    else {
      Issue.record("the offer is not negotiated")
      return
    }
    var change = PublishChange(answer: "answer", added: [.init(mid: "0", kind: .video)])
    change.declined = [DeclinedLine(mid: "1", error: ErrorObject(.noCommonCodec))]
    let names = scene.core.apply(.publishPrepared(key, .success(change)), at: scene.now).compactMap { effect in
      switch effect {
      case .media(.commitPublish): "commit"
      case .media(.setMuted(_, true)): "mute"
      case .client(.reply(_, _, .success(.published(let result)))): result.declined == change.declined ? "reply" : "?"
      case .client(.event(b.connection, let message)): message.event.name.rawValue
      case .media(.subscribe): "subscribe"
      case .operation(.count), .operation(.setRevoked): nil
      case .operation(.log(let entry)): entry.event
      default: "?"
      }
    }
    #expect(names == ["commit", "mute", "line_refused", "reply", "room.trackPublished", "subscribe"])
  }

  @Test func aLineMayBeUsedAgain() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let first = try scene.publish(a, ["0:audio", "1:video"])
    _ = b.take()
    let second = try scene.publish(a, ["1:video"], removing: ["1", "7"])
    #expect(second["0"] == first["0"] && second["1"] != first["1"])
    #expect(b.takeNames() == [.subscriptionEnded, .trackUnpublished, .trackPublished])
    #expect(scene.core.gauges.subscriptions == 2)
    let third = try scene.publish(a, [], removing: ["0", "1"])
    #expect(third.isEmpty && scene.core.gauges.tracks == 0)
  }

  @Test func onlyAsManyPublishAsTheRoomTakes() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client, "stage").get() }
    let tracks = try scene.publish(a, ["0:audio"])
    try scene.publish(a, ["1:video"])
    do {
      try scene.publish(b, ["0:audio"])
      Issue.record("two publishers")
    } catch let error as ErrorObject {
      #expect(error.code == .forbidden && error.data.reason == "publishers" && error.data.limit == 1)
    }
    try scene.publish(b, [])
    #expect(scene.code(b, .track(.unpublish(TrackParams(trackId: tracks["0"] ?? "")))) == .forbidden)
    try scene.publish(a, [], removing: ["0", "1"])
    #expect(throws: Never.self) { try scene.publish(b, ["0:audio"]) }
  }

  @Test func tracksAreEndedByTheirOwner() throws {
    let scene = Scene()
    let (a, b, c) = (scene.client("A"), scene.client("B"), scene.client("C"))
    for client in [a, b] { _ = try scene.join(client).get() }
    _ = try scene.join(c, "x").get()
    let track = try #require(try scene.publish(a, ["0:audio"])["0"])
    let params = TrackParams(trackId: track)
    _ = b.take()
    #expect(scene.code(b, .track(.unpublish(params))) == .forbidden)
    #expect(scene.code(c, .track(.unpublish(params))) == .trackNotFound, "rooms do not see each other's tracks")
    #expect(scene.code(c, .subscription(.subscribe(SubscribeParams(trackId: track)))) == .trackNotFound)
    #expect(scene.code(scene.client("D"), .track(.mute(params))) == .notJoined)
    #expect(scene.code(a, .track(.unpublish(params))) == nil)
    #expect(scene.code(a, .track(.unpublish(params))) == .trackNotFound)
    #expect(b.takeNames() == [.subscriptionEnded, .trackUnpublished])
  }
}

@Suite struct SubscriptionTests {
  @Test func withoutAutoSubscribeOneChooses() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a).get()
    let track = try #require(try scene.publish(a, ["0:video"])["0"])
    _ = try scene.join(b) { $0.autoSubscribe = false }.get()
    #expect(scene.core.gauges.subscriptions == 0)
    #expect(scene.code(a, .subscription(.subscribe(SubscribeParams(trackId: track)))) == .forbidden, "one's own")
    let first = try subscribe(scene, b, SubscribeParams(trackId: track, priority: 2))
    #expect(try subscribe(scene, b, SubscribeParams(trackId: track, definition: .low)) == first, "again is the same")
    let wish = try #require(scene.ledger.subscriptions.values.first?.wish)
    #expect(wish.definition == .low && wish.priority == 2 && !wish.paused)
    #expect(scene.code(b, .subscription(.unsubscribe(SubscriptionParams(subscriptionId: first)))) == nil)
    #expect(scene.code(b, .subscription(.unsubscribe(SubscriptionParams(subscriptionId: first)))) == .notSubscribed)
    #expect(b.take().isEmpty, "what one asked for is no event")
    _ = try scene.join(b) { $0.autoSubscribe = true }.get()
    #expect(scene.core.gauges.subscriptions == 1)
  }

  /// A source says it, or the label of a client that knows no sources.
  @Test func theMediaSideIsToldWhichTracksAreScreens() throws {
    let scene = Scene()
    let a = scene.client("A")
    _ = try scene.join(a).get()
    let tracks = [
      AnnouncedTrack(mid: "0", kind: .video, label: "window", source: .screen),
      AnnouncedTrack(mid: "1", kind: .video, label: "screen"),
      AnnouncedTrack(mid: "2", kind: .video, label: "screen", source: .camera),
      AnnouncedTrack(mid: "3", kind: .video), AnnouncedTrack(mid: "4", kind: .audio, label: "screen"),
    ]
    let offer = PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)
    _ = try scene.request(a, .peerConnection(.offer(offer))).get()
    let committed = scene.effects.flatMap { effect -> [CommittedTrack] in
      if case .media(.commitPublish(_, _, let committed)) = effect { committed } else { [] }
    }
    #expect(committed.map(\.isScreen) == [true, true, false, false, false])
  }

  /// One picture with several views is one track: it comes once, whatever places it fills.
  @Test func aSplitPictureIsSubscribedOnceForAllItsViews() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    _ = try scene.join(a).get()
    let half: JSONValue = ["views": [["index": 0, "x": 0, "w": 640], ["index": 1, "x": 640, "w": 640]]]
    let tracks = [
      AnnouncedTrack(mid: "0", kind: .video, source: .screen, split: half),
      AnnouncedTrack(mid: "1", kind: .video, viewIndex: 2),
    ]
    guard
      case .published(let published) = try scene.request(
        a, .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks)))
      ).get()
    else {
      Issue.record("nothing is published")
      return
    }
    let room = try scene.join(b) { $0.autoSubscribe = false }.get()
    #expect(room.participants[0].tracks.map(\.split) == [half, nil], "the client cuts the picture as it says")
    #expect(
      room.participants[0].tracks.map(\.source) == [.screen, nil], "what it comes from is told as it was announced")
    let (split, other) = (published.tracks[0].trackId, published.tracks[1].trackId)
    let first = try subscribe(scene, b, SubscribeParams(trackId: split, view: 0))
    #expect(try subscribe(scene, b, SubscribeParams(trackId: split, view: 1)) == first)
    #expect(scene.ledger.subscriptions.count == 1 && scene.core.gauges.subscriptions == 1)
    // Another track in the same place does not put the first one out of it: that is the client's.
    #expect(try subscribe(scene, b, SubscribeParams(trackId: other, view: 0)) != first)
    #expect(scene.ledger.subscriptions.count == 2)
  }

  @Test func wishesMustFitTheTrack() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = [AnnouncedTrack(mid: "0", kind: .video, definitions: [.low, .high])]
    scene.request(a, .peerConnection(.offer(PublishOfferParams(pc: .publish, sdp: "offer", tracks: tracks))))
    let id = try #require(scene.core.rooms.media.subscriptions.keys.first?.description)
    func update(_ definition: Definition?, paused: Bool? = nil) -> ErrorCode? {
      let params = SubscriptionUpdateParams(subscriptionId: id, definition: definition, paused: paused)
      return scene.code(b, .subscription(.update(params)))
    }
    #expect(update(.standard) == .layerUnavailable)
    #expect(update(.high, paused: true) == nil && update(nil) == nil)
    let wish = scene.ledger.subscriptions.values.first?.wish
    #expect(wish?.definition == .high && wish?.paused == true)
    #expect(update(.auto) == nil)
    #expect(scene.code(a, .subscription(.update(SubscriptionUpdateParams(subscriptionId: id)))) == .notSubscribed)
  }

  @Test func placesAreOfPicturesAlone() throws {
    let scene = Scene()
    let (a, b) = try scene.two()
    let tracks = try scene.publish(a, ["0:video", "1:audio"])
    let names = try ["0", "1"].map { mid in
      try subscribe(scene, b, SubscribeParams(trackId: try #require(tracks[mid])))
    }
    func update(_ place: Int, maxHeight: Int?) -> ErrorObject? {
      scene.refusal(b, .subscription(.update(.init(subscriptionId: names[place], priority: 9, maxHeight: maxHeight))))
    }
    #expect(update(0, maxHeight: 360) == nil && update(0, maxHeight: nil) == nil && update(1, maxHeight: nil) == nil)
    let refusal = update(1, maxHeight: 0)
    #expect(refusal?.code == .invalidParams && refusal?.data.field == "maxHeight")
    let wishes = scene.ledger.subscriptions.sorted { $0.key < $1.key }.map(\.value.wish)
    #expect(wishes.map(\.maxHeight) == [360, nil] && wishes.map(\.priority) == [9, 9])
  }

  @Test func aSwapExchangesTracksAndNothingElse() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:video", "1:video", "2:audio"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    let names = ids.map(\.description)
    _ = b.take()
    #expect(scene.code(b, .subscription(.swap(SwapParams(a: names[0], b: names[1])))) == nil)
    #expect(scene.core.rooms.media.subscriptions[ids[0]]?.track?.description == tracks["1"])
    #expect(scene.core.rooms.media.subscriptions[ids[1]]?.track?.description == tracks["0"])
    #expect(scene.code(b, .subscription(.swap(SwapParams(a: names[0], b: names[0])))) == nil)
    #expect(scene.code(b, .subscription(.swap(SwapParams(a: names[0], b: names[2])))) == .invalidParams)
    #expect(scene.code(b, .subscription(.swap(SwapParams(a: names[0], b: "s999")))) == .notSubscribed)
    #expect(scene.code(a, .subscription(.swap(SwapParams(a: names[0], b: names[1])))) == .notSubscribed)
    #expect(b.take().isEmpty)
    #expect(scene.code(a, .track(.unpublish(TrackParams(trackId: tracks["0"] ?? "")))) == nil)
    #expect(b.take().first == .subscriptionEnded(SubscriptionEvent(subscriptionId: names[1], reason: .trackEnded)))
  }

  /// While a line is on offer nobody knows which codecs it will take; what negotiation refuses changes nothing.
  @Test func aSwapWaitsForAnswersAndCanBeRefused() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:video", "1:video"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    let swap = Request.subscription(.swap(SwapParams(a: ids[0].description, b: ids[1].description)))
    let lines = ids.enumerated().map { ServerOffer.Line(mid: "\($0)", subscription: $1) }
    scene.apply(.serverOffer(try scene.seat(b), ServerOffer(id: 1, sdp: "offer", lines: lines)))
    let refusal = try #require(scene.refusal(b, swap))
    #expect(refusal.code == .invalidState && refusal.data.retryable)
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x")))) == nil)
    scene.negotiationError = ErrorObject(.noCommonCodec)
    #expect(scene.code(b, swap) == .noCommonCodec)
    #expect(ids.map { scene.core.rooms.media.subscriptions[$0]?.track?.description } == [tracks["0"], tracks["1"]])
    scene.negotiationError = nil
    #expect(scene.code(b, swap) == nil)
    #expect(ids.map { scene.core.rooms.media.subscriptions[$0]?.track?.description } == [tracks["1"], tracks["0"]])
  }

  @Test func offersNameWhatTheyCarry() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    let snapshot = try scene.join(a).get()
    _ = try scene.join(b).get()
    let track = try #require(try scene.publish(a, ["0:audio"])["0"])
    let subscription = try #require(scene.core.rooms.media.subscriptions.keys.first)
    let seat = try scene.seat(b)
    _ = b.take()
    let lines = [
      ServerOffer.Line(mid: "0", subscription: subscription),
      ServerOffer.Line(mid: "1", subscription: SubscriptionID(999_999)),
    ]
    scene.apply(.serverOffer(seat, ServerOffer(id: 1, sdp: "offer", lines: lines)))
    let offered = OfferedTrack(
      mid: "0", subscriptionId: "\(subscription)", trackId: track, participantId: snapshot.selfId, kind: .audio)
    #expect(b.take() == [.pcOffer(SubscribeOffer(offerId: 1, sdp: "offer", tracks: [offered]))])
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 2, sdp: "x")))) == .invalidState)
    scene.negotiationError = ErrorObject(.negotiationFailed)
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x")))) == .negotiationFailed)
    scene.negotiationError = nil
    #expect(
      scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x")))) == nil,
      "it may be tried again")
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x")))) == .invalidState)
    #expect(
      scene.code(b, .peerConnection(.restart(RestartParams(pc: .subscribe)))) == nil && scene.ledger.restarts == [seat])
    #expect(scene.code(scene.client("C"), .peerConnection(.restart(RestartParams(pc: .subscribe)))) == .notJoined)
    scene.apply(.serverOffer(SeatID(999_999), ServerOffer(id: 1, sdp: "late", lines: [])))
    #expect(b.take().isEmpty)
  }

  @Test func aRunningStreamIsNotSwappedWithOneThatIsNotNegotiated() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(a, ["0:video", "1:video"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    try #require(ids.count == 2)
    let swap = Request.subscription(.swap(SwapParams(a: "\(ids[0])", b: "\(ids[1])")))
    #expect(scene.code(b, swap) == nil, "neither runs")
    for (offer, lines) in [(1, ids.prefix(1)), (2, ids.prefix(2))] {
      let lines = lines.map { ServerOffer.Line(mid: "\($0)", subscription: $0) }
      scene.apply(.serverOffer(try scene.seat(b), ServerOffer(id: offer, sdp: "offer", lines: lines)))
      #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: offer, sdp: "answer")))) == nil)
      #expect(scene.code(b, swap) == (lines.count == 2 ? nil : .invalidState))
    }
  }

  /// No front door opens further connections yet, so that one is put in by hand.
  @Test func subscriptionsOfTwoConnectionsAreNotSwapped() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(a, ["0:video", "1:video"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    try #require(ids.count == 2)
    let second = try #require(scene.core.rooms.media.subscriptions[ids[1]])
    scene.core.rooms.seating.media.insert(
      Subscription(
        id: second.id, seat: second.seat, connection: MediaConnectionID(2), track: second.track, wish: second.wish))
    let refusal = scene.refusal(b, .subscription(.swap(SwapParams(a: "\(ids[0])", b: "\(ids[1])"))))
    #expect(refusal?.code == .invalidState && refusal?.message.contains("different media connections") == true)
    #expect(scene.core.track(of: ids[1]) == second.track)
  }

  /// Those who receive a track are offered its new codecs; the worker starts what was accepted, with the wish of then.
  @Test func theMediaSideIsToldOfSubscriptionsAsTheyAre() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(a, ["0:video", "1:video"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    let paused = SubscriptionUpdateParams(subscriptionId: "\(ids[0])", paused: true)
    #expect(scene.code(b, .subscription(.update(paused))) == nil)
    let lines = [ServerOffer.Line(mid: "0", subscription: ids[0])]
    scene.apply(.serverOffer(try scene.seat(b), ServerOffer(id: 1, sdp: "offer", lines: lines)))
    #expect(scene.code(b, .peerConnection(.answer(SubscribeAnswerParams(offerId: 1, sdp: "x")))) == nil)
    let started = scene.effects.compactMap { effect -> Subscription? in
      if case .media(.startSubscription(let one)) = effect { one } else { nil }
    }
    #expect(started.map(\.id) == [ids[0]] && started.first?.wish.paused == true)
    scene.recoded = ["1", "9"]
    try scene.publish(a, [])
    let offered = scene.effects.compactMap { effect -> SubscriptionID? in
      if case .media(.offerCodecs(let one)) = effect { one.id } else { nil }
    }
    #expect(offered == [ids[1]])
  }

  @Test func changesOfASubscriptionAreToldToItsOwner() throws {
    let scene = Scene()
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    try scene.publish(a, ["0:video"])
    let id = try #require(scene.core.rooms.media.subscriptions.keys.first)
    _ = (a.take(), b.take())
    let track = try #require(scene.core.track(of: id))
    let changes: [SubscriptionChange] = [
      .started(track, timestamp: 1), .paused(.bandwidth), .resumed, .layer(Layer(definition: .low)), .ended(.noCodec),
      .resumed,
    ]
    for change in changes { scene.apply(.subscription(id, change)) }
    #expect(
      b.takeNames() == [
        .subscriptionStarted, .subscriptionPaused, .subscriptionResumed, .subscriptionLayer, .subscriptionEnded,
      ])
    #expect(a.take().isEmpty && scene.core.gauges.subscriptions == 0)
  }

  /// A worker may say twice that it pauses; the client hears of changes alone. One that has lost events hears how it stands.
  @Test func pausesAreToldOnceAndAgainAfterAResync() throws {
    let scene = Scene(TrackTests.talkative)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:video", "1:video"])
    let ids = scene.core.rooms.media.subscriptions.keys.sorted()
    _ = b.take()
    for change in [.resumed, .paused(.bandwidth), .paused(.bandwidth)] as [SubscriptionChange] {
      scene.apply(.subscription(ids[0], change))
    }
    let paused = Event.subscriptionPaused(SubscriptionEvent(subscriptionId: "\(ids[0])", reason: .bandwidth))
    #expect(b.take() == [paused])
    scene.cut(b)
    let track = TrackParams(trackId: try #require(tracks["1"]))
    // More events than a session keeps for whoever resumes it.
    for _ in 0..<300 { for muted in [true, false] { scene.request(a, .track(muted ? .mute(track) : .unmute(track))) } }
    guard case .resumed(.resync) = try scene.resume(b).get() else {
      Issue.record("no resync")
      return
    }
    #expect(b.take() == [paused])
    scene.apply(.subscription(ids[0], .resumed))
    scene.apply(.subscription(ids[0], .resumed))
    #expect(b.take() == [.subscriptionResumed(SubscriptionEvent(subscriptionId: "\(ids[0])"))])
  }

  /// Which layers to send is told to whoever publishes the track, when it changes, and again after a resync.
  @Test func layersAreAskedOfThePublisherAlone() throws {
    let scene = Scene(TrackTests.talkative)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:video", "1:video"])
    let name = try #require(tracks["1"])
    let id = try #require(TrackID(wire: name))
    _ = (a.take(), b.take())
    for layers in [[0], [0], [0, 1]] { scene.apply(.trackLayers(id, layers)) }
    scene.apply(.trackLayers(TrackID(9_999), [0]))
    func asked(_ layers: [Int]) -> Event { .trackLayers(TrackLayersEvent(trackId: name, layers: layers)) }
    #expect(a.take() == [asked([0]), asked([0, 1])])
    #expect(b.take().isEmpty)
    let sounds = try scene.publish(b, ["0:audio"])
    let other = TrackParams(trackId: try #require(sounds["0"]))
    scene.cut(a)
    // More events than a session keeps for whoever resumes it.
    for _ in 0..<300 { for muted in [true, false] { scene.request(b, .track(muted ? .mute(other) : .unmute(other))) } }
    guard case .resumed(.resync) = try scene.resume(a).get() else {
      Issue.record("no resync")
      return
    }
    #expect(a.take().filter { $0.name == .trackLayers } == [asked([0, 1])])
  }

  @Test func subscriptionsAreBounded() throws {
    var rules = ConferenceRules.test
    rules.maxSubscriptions = 2
    let scene = Scene(rules)
    let (a, b) = (scene.client("A"), scene.client("B"))
    for client in [a, b] { _ = try scene.join(client).get() }
    let tracks = try scene.publish(a, ["0:audio", "1:audio", "2:audio"])
    #expect(scene.core.gauges.subscriptions == 2)
    #expect(scene.code(b, .subscription(.subscribe(SubscribeParams(trackId: tracks["2"] ?? "")))) == .tooManyTracks)
  }

  private func subscribe(_ scene: Scene, _ client: Client, _ params: SubscribeParams) throws -> String {
    guard case .subscribed(let result) = try scene.request(client, .subscription(.subscribe(params))).get() else {
      return ""
    }
    return result.subscriptionId
  }
}
