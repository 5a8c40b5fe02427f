// One WHEP session as a client of the room protocol: it takes a seat, opens a view for each line of the player, says what they show,
// and has its offer answered. What is shown is exchanged by the server; the player's session description never changes.
//
//   greeting ─hello▶ looking ─room.info▶ joining ─room.join▶ opening ─view.open▶ showing ─view.show▶ offering ─pc.offer▶ live ▶ over
//                       └── nothing is published: 409, and no seat was taken
import Basics
import RoostProtocol
import WebSockets

/// What a player wants to see.
enum WhepTarget: Hashable, Sendable {
  /// Whoever speaks; as long as nobody has, the first who publishes.
  case speaker
  /// The camera and microphone of one person, by the name that others see, or by the identifier of their place.
  case person(String)
  /// One track of theirs, by its identifier or what it shows (`camera`, `screen` …); the sound of a screen comes with it.
  case track(String, of: String)
}

/// The way of a player from its POST to its end.
struct WhepSession: StreamSession {
  /// How far it has come.
  private enum Stage { case greeting, looking, joining, opening, showing, offering, live, over }

  /// A line of the player.
  private struct View {
    let kind: TrackKind
    /// The core's name of it, once it is open.
    var id: String?
    /// What it shows, as the core said last.
    var shown: String?
  }

  /// The request that begins it.
  static let hello = RequestID.number(1)

  let room: String
  let user: String
  let target: WhepTarget
  private var offered: SessionOffer
  private var stage = Stage.greeting
  private var lastRequest: Int64 = 1
  private var views: [View]
  private var people: [Participant] = []
  /// Why nothing can be shown to this client, as far as is known.
  private var objection: WhipProblem?

  var restarts: Int { offered.restarts }
  /// Whether something of what is wanted is shown now.
  var isActive: Bool { views.contains { $0.shown != nil } }

  init(room: String, user: String, target: WhepTarget, offer: WhipOffer) {
    (self.room, self.user, self.target, offered) = (room, user, target, SessionOffer(offer))
    views = offer.tracks.map { View(kind: $0.kind) }
  }

  // MARK: - Requests

  /// The request that takes the seat. Not the same user's: that may be one from which they publish.
  static func joining(_ room: String) -> Request {
    .room(.join(RoomJoinParams(room: room, autoSubscribe: false)))
  }

  static func offering(_ offer: WhipOffer) -> Request {
    .peerConnection(.offer(PublishOfferParams(pc: .subscribe, sdp: offer.sdp)))
  }

  private mutating func ask(_ request: Request, _ stage: Stage) -> StreamAction {
    self.stage = stage
    lastRequest += 1
    return .ask(.number(lastRequest), request)
  }

  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> StreamAction {
    if stage == .live { return offered.replied(id, result) }
    guard stage != .over, id == .number(lastRequest) else { return .nothing }
    switch result {
    case .failure(let error): return refuse(problem(error))
    case .success(let reply): return next(reply)
    }
  }

  private func problem(_ error: ErrorObject) -> WhipProblem {
    // The room comes with who publishes in it.
    if stage == .looking, error.code == .roomNotFound, error.data.retryable { return nothingYet }
    // It has ended since.
    if stage == .showing, error.code == .trackNotFound { return nothingYet }
    return WhipProblem(error)
  }

  private mutating func next(_ reply: Reply) -> StreamAction {
    switch (stage, reply) {
    case (.greeting, _): return ask(.room(.info(RoomParams(room: room))), .looking)
    case (.looking, .roomInfo(let info)):
      guard info.publishers ?? 0 > 0 else { return refuse(nothingYet) }
      return ask(Self.joining(room), .joining)
    case (.joining, .room(let snapshot)): return joined(snapshot)
    case (.opening, .views(let opened)):
      if let index = views.firstIndex(where: { $0.id == nil }) { views[index].id = opened.views.first }
      return open()
    case (.showing, _): return ask(Self.offering(offered.current), .offering)
    case (.offering, .published(let result)): return answered(result.sdp)
    case (.looking, _), (.joining, _), (.opening, _), (.offering, _), (.live, _), (.over, _): return .nothing
    }
  }

  private mutating func joined(_ snapshot: RoomSnapshot) -> StreamAction {
    people = snapshot.participants.filter { $0.participantId != snapshot.selfId && matters($0) }
    if snapshot.media == .audio { views.removeAll { $0.kind == .video } }
    guard !views.isEmpty else {
      return refuse(.sdp(.unprocessable, "The offer receives video alone, and this is a room for sound."))
    }
    guard views.contains(where: { track(for: $0.kind) != nil }) else { return refuse(nothingYet) }
    return open()
  }

  private mutating func open() -> StreamAction {
    if let next = views.first(where: { $0.id == nil }) {
      return ask(.view(.open(ViewOpenParams(count: 1, kind: next.kind))), .opening)
    }
    return ask(.view(.show(ViewShowParams(views: views.compactMap(wish)))), .showing)
  }

  private func wish(_ view: View) -> ViewWish? {
    view.id.map {
      target == .speaker
        ? ViewWish(subscriptionId: $0, follow: .activeSpeaker)
        : ViewWish(subscriptionId: $0, trackId: track(for: view.kind)?.trackId)
    }
  }

  private mutating func answered(_ sdp: String) -> StreamAction {
    if let objection { return refuse(objection) }
    stage = .live
    return .created(sdp)
  }

  // MARK: - What is there to see

  /// The track that a line of this kind is to show; for the speaker, any that may be.
  private func track(for kind: TrackKind) -> Track? {
    switch target {
    case .speaker: return people.lazy.flatMap(\.tracks).first { $0.isOfPerson(kind) }
    case .person(let name):
      let own = person(name)?.tracks ?? []
      return own.first { $0.isOfPerson(kind) } ?? own.first { $0.kind == kind }
    case .track(let word, let name):
      let own = person(name)?.tracks ?? []
      let wanted = own.first { $0.trackId == word } ?? own.first { $0.isCalled(word) }
      if wanted == nil || wanted?.kind == kind { return wanted }
      let isScreen = wanted?.isScreen == true
      return own.first { $0.kind == kind && isScreen && $0.source == .screenAudio }
    }
  }

  /// Whether somebody may be shown here. Nobody else is kept: rooms are large, and so is the number of players.
  private func matters(_ participant: Participant) -> Bool {
    switch target {
    case .speaker: !participant.tracks.isEmpty
    case .person(let name), .track(_, let name):
      participant.participantId.isExactly(name) || participant.displayName.isExactly(name)
    }
  }

  private func person(_ name: String) -> Participant? {
    people.first { $0.participantId.isExactly(name) } ?? people.first { $0.displayName.isExactly(name) }
  }

  private var nothingYet: WhipProblem {
    var problem = WhipProblem(.conflict, nothing)
    problem.retryAfter = WhipProblem.patience
    return problem
  }

  private var nothing: String {
    switch target {
    case .speaker: "Nothing is published in this room yet."
    case .person(let name): "\(name) publishes nothing in this room yet."
    case .track(let track, let name): "\(name) publishes no \(track) in this room yet."
    }
  }

  // MARK: - Events

  mutating func heard(_ event: Event) -> StreamAction {
    if let problem = event.end(of: .subscribe) { return end(problem) }
    switch event {
    case .viewChanged(let change): return changed(change)
    case .subscriptionEnded(let ended): return lineEnded(ended)
    case .participantJoined(let joined): return updated(joined.participant)
    case .participantUpdated(let changed): return updated(changed.participant)
    case .participantLeft(let left):
      people.removeAll { $0.participantId == left.participantId }
      return .nothing
    case .trackPublished(let published):
      change(published.participantId) { $0.append(published.track) }
      return reshow()
    case .trackUnpublished(let gone):
      change(gone.participantId) { $0.removeAll { $0.trackId == gone.trackId } }
      return reshow(insteadOf: gone.trackId)
    // HTTP has no words for the rest. What ends the session was looked at first.
    case .sessionClosing, .sessionReplaced, .sessionGrants, .sessionExpiring, .participantReconnecting,
      .participantReconnected, .trackMuted, .trackUnmuted, .activeSpeakers, .roomQuality, .roomClosed, .roomSwitched,
      .roomModerated,
      .roomKnock, .chatMessage, .messageReceived, .messageRequested, .pcOffer, .subscriptionStarted,
      .subscriptionPaused,
      .subscriptionResumed,
      .subscriptionLayer, .trackLayers, .mediaConnected, .mediaFailed,
      .callCreated, .callIncoming, .callStopped, .callEnded, .callAccepted, .callActive, .callAlone, .callInvited,
      .callTypeChanged, .callMediaChangeRequested, .callMediaChanged, .callMissed, .callRecord, .memberRinging,
      .memberBusy, .memberDeclined, .memberNoAnswer, .memberLeft, .memberRemoved, .memberState:
      return .nothing
    }
  }

  private mutating func updated(_ participant: Participant) -> StreamAction {
    people.removeAll { $0.participantId == participant.participantId }
    if matters(participant) { people.append(participant) }
    return reshow()
  }

  private mutating func change(_ id: String, _ tracks: (inout [Track]) -> Void) {
    if let index = people.firstIndex(where: { $0.participantId == id }) {
      tracks(&people[index].tracks)
      if !matters(people[index]) { people.remove(at: index) }
    } else if target == .speaker {
      var own: [Track] = []
      tracks(&own)
      guard !own.isEmpty else { return }
      people.append(
        Participant(participantId: id, user: "", displayName: "", state: .joined, metadata: .emptyObject, tracks: own))
    }
  }

  /// Somebody publishes something else: lines that are to show them, and show nothing or what is `gone`, do.
  private mutating func reshow(insteadOf gone: String? = nil) -> StreamAction {
    guard stage == .live, target != .speaker else { return .nothing }
    let free = views.filter { view in (view.shown == nil || view.shown == gone) && track(for: view.kind) != nil }
    guard !free.isEmpty else { return .nothing }
    return ask(.view(.show(ViewShowParams(views: free.compactMap(wish)))), .live)
  }

  private mutating func changed(_ change: ViewChanged) -> StreamAction {
    guard let index = views.firstIndex(where: { $0.id == change.subscriptionId }) else { return .nothing }
    let wasActive = isActive
    views[index].shown = change.trackId
    if change.reason == .noCodec { object("in a codec that the offer does not have") }
    guard stage == .live else { return .nothing }
    var told: [ServerSentEvent] = []
    if isActive != wasActive { told.append(isActive ? .active : .inactive) }
    if views[index].kind == .video, let layers { told.append(layers) }
    return told.isEmpty ? .nothing : .tell(told)
  }

  /// Negotiation has found nothing that a line could carry.
  private mutating func lineEnded(_ ended: SubscriptionEvent) -> StreamAction {
    guard let index = views.firstIndex(where: { $0.id == ended.subscriptionId }) else { return .nothing }
    if stage != .live { object("and the offer has no codec for it") }
    views.remove(at: index)
    // Who may not receive any more has nothing to stay for.
    if stage == .live, views.isEmpty { return closed() }
    return .nothing
  }

  /// Never half of an answer: a player that could not see what there is hears of it at once.
  private mutating func object(_ what: String) {
    objection = .sdp(.unprocessable, "What is published comes \(what).")
    objection?.code = ErrorCode.noCommonCodec.name
  }

  mutating func closed() -> StreamAction { end(WhipProblem(.forbidden, "The session was ended.")) }

  private mutating func end(_ problem: WhipProblem) -> StreamAction {
    switch stage {
    case .over: return .nothing
    case .live:
      stage = .over
      return .leave
    case .greeting, .looking, .joining, .opening, .showing, .offering: return refuse(problem)
    }
  }

  private mutating func refuse(_ problem: WhipProblem) -> StreamAction {
    stage = .over
    return .refuse(problem)
  }

  mutating func patch(_ fragment: WhipFragment) throws(WhipProblem) -> StreamStep {
    guard stage == .live else { throw WhipProblem(.notFound, "There is no such session; it may be over.") }
    let step = try offered.patch(fragment, id: .number(lastRequest + 1), Self.offering)
    if case .restart = step { lastRequest += 1 }
    return step
  }

  // MARK: - Layers

  /// What there is of the video that is shown, by the position of its line; nil without.
  var layers: ServerSentEvent? {
    guard let line = offered.current.videoLine, let track = shownVideo else { return nil }
    return .layers(track.definitions.filter { $0 != .auto }.reversed(), line: line)
  }

  private var shownVideo: Track? {
    let shown = views.first { $0.kind == .video }?.shown
    return people.lazy.flatMap(\.tracks).first { $0.trackId == shown }
  }

  /// Asks for a layer.
  /// - Throws: 404 where there is no such layer, or line of video, 400 for a layer that is none.
  mutating func select(_ wanted: WhepLayer) throws(WhipProblem) -> StreamAction {
    guard stage == .live else { throw WhipProblem(.notFound, "The session is over.") }
    guard let view = views.first(where: { $0.kind == .video })?.id,
      wanted.mediaId.map({ $0 == offered.current.videoLine.map(String.init) }) ?? true
    else { throw WhipProblem(.notFound, "mediaId names no line of video of this session.") }
    guard let definition = wanted.definition else {
      throw WhipProblem(.badRequest, "rid must be low, standard or high.")
    }
    if definition != .auto, shownVideo?.definitions.contains(definition) != true {
      throw WhipProblem(.notFound, "What is shown has no layer \(definition.rawValue).")
    }
    let params = SubscriptionUpdateParams(
      subscriptionId: view, definition: definition, maxHeight: wanted.maxHeight ?? ProtocolLimits.pictureLines)
    return ask(.subscription(.update(params)), .live)
  }
}

extension Track {
  /// Whether a path means it: by what it shows, which older clients do not say.
  fileprivate func isCalled(_ word: String) -> Bool {
    if word == TrackSource.camera.rawValue { return isCamera }
    if word == TrackSource.microphone.rawValue { return isOfPerson(.audio) }
    if word == TrackSource.screen.rawValue { return isScreen }
    return source?.rawValue.isExactly(word) == true
  }
}
