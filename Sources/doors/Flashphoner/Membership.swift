// One membership of a room as a client of the core: it says hello, takes a seat, and has a media connection for each stream. A room that
// a client joins is one; so is each stream of a client that knows no rooms. Pure: what comes in is an argument, what is to be done is
// returned.
//
//   greeting ──hello──▶ (looking ──room.info──▶) joining ──room.join──▶ live ──▶ over
//       └─────────────── refused: one message, and the end ────────────────▶
import Members
import RoostProtocol

/// What is to be done for a membership.
enum MembershipAction: Hashable, Sendable {
  case send(ServerMessage)
  /// Ask the core.
  case ask(RequestID, Request)
  /// The same about a stream.
  case stream(RequestID, StreamRequest)
  /// The offer of this stream cannot be used, and the client is told why: so are those who operate the server.
  case warn(stream: String, why: String)
  /// The server is about to stop, which the client is told once.
  case tellOfStop
  /// It is over, and its seat to be freed.
  case leave
}

/// A client's place in one room.
struct Membership: Sendable {
  /// What it is for.
  enum Purpose: Hashable, Sendable {
    /// The room itself: its answer goes to this `operation`.
    case room(operation: String)
    /// One stream, in a room of its own.
    case publishing(StreamWish)
    case playing(StreamWish)
    /// To find out whether a stream is there.
    case looking(id: String)
  }

  /// How far it has come.
  enum Stage: Hashable, Sendable { case greeting, looking, joining, live, over }

  /// What a request was for.
  enum Asked: Hashable, Sendable {
    case hello, look, join, show, close, mute
    case message(operation: String)
    /// With the connection, as a client may use the name of a stream again.
    case publish(id: String, MediaConnectionID)
    case play(id: String, MediaConnectionID)

    var stream: (id: String, connection: MediaConnectionID)? {
      switch self {
      case .publish(let id, let connection), .play(let id, let connection): (id, connection)
      case .hello, .look, .join, .show, .close, .mute, .message: nil
      }
    }
  }

  /// A stream of the client.
  struct Stream: Sendable {
    let id: String
    let name: String
    let connection: MediaConnectionID
    /// The lines of its offer that matter. The offer itself is not kept: many streams would be much memory.
    let lines: [(mid: String, kind: TrackKind)]
    let isPublished: Bool
    /// Its tracks by kind: its own, or those that it is sent.
    var tracks: [TrackKind: String] = [:]
    /// Whether its media are up.
    var isUp = false
  }

  /// Under which topic custom messages are events of streams: Flashphoner's word for them.
  static let dataTopic = "data"

  /// The request that begins it.
  static let hello = RequestID.number(1)

  let room: String
  private(set) var purpose: Purpose
  /// Whether it is proved who the user is, so that they may take their own seat over.
  let isVerified: Bool
  /// The token of the session that had the seat before.
  let proof: String?
  /// The token of this one, once it has one.
  private(set) var token: String?
  var stage = Stage.greeting
  /// Its streams, by the client's names for them.
  var streams: [String: Stream] = [:]
  /// Whether the core has ended its session.
  private var isSessionOver = false
  /// Whether it has a seat, or has asked for one.
  private(set) var mayHaveSeat = false
  private var asked: [Int64: Asked] = [1: .hello]
  private var lastRequest: Int64 = 1
  var lastConnection: UInt64 = 1
  private var selfId = ""
  private(set) var people: People

  init(room: String, purpose: Purpose, isVerified: Bool, proof: String?) {
    (self.room, self.purpose, self.isVerified, self.proof) = (room, purpose, isVerified, proof)
    people = People(room: room)
  }

  /// The client joins another room, or the same again: the session of the core that an earlier membership had goes on, and with it what
  /// it counts of the client.
  init(room: String, purpose: Purpose, proof: String?, after old: Membership) {
    self.init(room: room, purpose: purpose, isVerified: old.isVerified, proof: proof)
    (token, lastRequest, lastConnection, asked) = (old.token, old.lastRequest, old.lastConnection, [:])
  }

  /// Whether the core has a session for it that can go on.
  var hasSession: Bool { token != nil && !isSessionOver }

  /// Takes its seat in a room, with a session that it has already.
  mutating func joinAgain() -> [MembershipAction] { greeted() }

  /// What takes it out of its room, while its session goes on.
  mutating func vacate() -> MembershipAction { ask(.room(.leave(RoomParams(room: room))), for: .close) }

  /// Requests that wait for their replies.
  var unanswered: Int { asked.count }

  var isRoom: Bool { if case .room = purpose { true } else { false } }

  // MARK: - Requests

  mutating func ask(_ request: Request, for what: Asked) -> MembershipAction {
    lastRequest += 1
    do throws(ErrorObject) {
      // The same bounds as at the native door.
      try request.validate()
    } catch {
      return refused(what, error)
    }
    asked[lastRequest] = what
    return .ask(.number(lastRequest), request)
  }

  mutating func ask(_ request: StreamRequest, for what: Asked) -> MembershipAction {
    lastRequest += 1
    asked[lastRequest] = what
    return .stream(.number(lastRequest), request)
  }

  /// What a request is answered with that never reaches the core.
  private func refused(_ what: Asked, _ error: ErrorObject) -> MembershipAction {
    switch what {
    case .message(let operation): .send(.dataStatus(operation: operation, isAccepted: false, info: Info.text(error)))
    case .mute: .send(.fail(.init(word: "sendStreamEvent", info: Info.text(error))))
    case .hello, .look, .join, .show, .close, .publish, .play: .send(.fail(.init(info: Info.text(error))))
    }
  }

  /// The core has answered.
  mutating func replied(_ id: RequestID, _ result: Result<Reply, ErrorObject>) -> [MembershipAction] {
    guard case .number(let number) = id, let what = asked.removeValue(forKey: number), stage != .over else { return [] }
    if let (id, connection) = what.stream, streams[id]?.connection != connection { return [] }
    switch (what, result) {
    case (.hello, .success(.hello(let hello))):
      token = hello.resumeToken
      return greeted()
    case (.look, .success(.roomInfo(let info))): return looked(isThere: info.publishers ?? 0 > 0)
    case (.look, .failure(let error)) where error.code == .roomNotFound: return looked(isThere: false)
    case (.join, .success(.room(let snapshot))): return joined(snapshot)
    case (.hello, .failure(let error)), (.look, .failure(let error)), (.join, .failure(let error)):
      return refuse(Info.text(error))
    case (.message(let operation), .success):
      return [.send(.dataStatus(operation: operation, isAccepted: true, info: nil))]
    case (.message(let operation), .failure(let error)):
      return [.send(.dataStatus(operation: operation, isAccepted: false, info: Info.text(error)))]
    case (.publish(let id, _), .success(.published(let result))): return published(id, result)
    case (.play(let id, _), .success(.published(let result))): return answered(id, result.sdp)
    case (.publish(let id, _), .failure(let error)), (.play(let id, _), .failure(let error)):
      return fail(id, Info.text(error), isOpen: false)
    case (.mute, .failure(let error)), (.show, .failure(let error)):
      return [.send(.fail(.init(word: "sendStreamEvent", info: Info.text(error))))]
    case (.hello, _), (.look, _), (.join, _), (.publish, _), (.play, _), (.show, _), (.close, _), (.mute, _): return []
    }
  }

  private mutating func greeted() -> [MembershipAction] {
    switch purpose {
    case .room, .publishing: return [join()]
    case .playing, .looking:
      stage = .looking
      return [ask(.room(.info(RoomParams(room: room))), for: .look)]
    }
  }

  private mutating func join() -> MembershipAction {
    (stage, mayHaveSeat) = (.joining, true)
    return ask(.room(.join(joining)), for: .join)
  }

  /// The seat is taken over where that can be shown to be one's own.
  private var joining: RoomJoinParams {
    RoomJoinParams(
      room: room, autoSubscribe: false, takeover: isRoom && (isVerified || proof != nil) ? true : nil,
      resumeToken: proof)
  }

  private mutating func looked(isThere: Bool) -> [MembershipAction] {
    if case .looking(let id) = purpose {
      stage = .over
      return [.send(.available(id: id, isThere, info: isThere ? nil : Info.notFound)), .leave]
    }
    return isThere ? [join()] : refuse(Info.notFound)
  }

  private mutating func joined(_ snapshot: RoomSnapshot) -> [MembershipAction] {
    stage = .live
    selfId = snapshot.selfId
    for participant in snapshot.participants where participant.participantId != selfId {
      _ = people.update(participant)
    }
    switch purpose {
    case .room(let operation):
      let state = people.all.map { (login: $0.login, streams: $0.streams.map(\.name)) }
      return [
        .send(.dataStatus(operation: operation, isAccepted: true, info: nil)), .send(.room(room, .state(state))),
      ]
    case .publishing(var wish):
      defer { (wish.sdp, purpose) = ("", .publishing(wish)) }
      return publish(wish)
    case .playing(var wish):
      defer { (wish.sdp, purpose) = ("", .playing(wish)) }
      return play(wish)
    case .looking: return []
    }
  }

  // MARK: - The end

  /// It has not come to be what it was for.
  private mutating func refuse(_ info: String) -> [MembershipAction] {
    (stage, mayHaveSeat) = (.over, false)
    switch purpose {
    case .room(let operation):
      return [.send(.dataStatus(operation: operation, isAccepted: false, info: info)), .leave]
    case .publishing(let wish), .playing(let wish):
      return [.send(.fail(.init(stream: wish.id, name: wish.name, info: info))), .leave]
    case .looking(let id): return [.send(.available(id: id, false, info: info)), .leave]
    }
  }

  /// The core has ended its session.
  mutating func ended(by info: String) -> [MembershipAction] {
    isSessionOver = true
    return closed(info)
  }

  /// The core has ended it, or the client was put out.
  private mutating func closed(_ info: String = Info.noSession) -> [MembershipAction] {
    guard stage != .over else { return [] }
    if stage != .live { return refuse(info) }
    (stage, mayHaveSeat) = (.over, false)
    var actions = ended(info)
    if isRoom { actions.append(.send(.fail(.init(info: "You are no longer in the room \(room)")))) }
    return actions + [.leave]
  }

  /// The client leaves.
  mutating func leave() -> [MembershipAction] {
    guard stage != .over else { return [] }
    stage = .over
    return ended(nil) + [.leave]
  }

  /// What the streams that are left hear: nil for `info` is the client's own wish.
  private mutating func ended(_ info: String?) -> [MembershipAction] {
    defer { streams = [:] }
    return streams.values.sorted { $0.id < $1.id }.map { .send(.status($0.report(info))) }
  }

  // MARK: - Events

  /// The core has told it something.
  mutating func heard(_ event: Event) -> [MembershipAction] {
    if case .sessionClosing(let closing) = event { return closing.action == .reconnect ? [.tellOfStop] : [] }
    guard stage == .live else { return [] }
    switch event {
    case .participantJoined(let joined): return tell(people.update(joined.participant))
    case .participantUpdated(let updated) where updated.participant.participantId != selfId:
      return tell(people.update(updated.participant))
    case .participantLeft(let left): return tell(people.remove(left.participantId))
    case .trackPublished(let published):
      return tell(people.change(published.participantId) { $0.append(published.track) })
    case .trackUnpublished(let gone):
      if gone.participantId == selfId { return ownTrackEnded(gone.trackId) }
      return tell(people.change(gone.participantId) { $0.removeAll { $0.trackId == gone.trackId } })
    case .trackMuted(let change): return muted(true, change)
    case .trackUnmuted(let change): return muted(false, change)
    case .chatMessage(let message):
      // Who has left since cannot be named: their clients look people up without checking.
      guard isRoom, let from = people[user: message.from] else { return [] }
      return [.send(.room(room, .message(from: from.login, text: message.text)))]
    case .messageReceived(let message):
      guard message.topic == Self.dataTopic, let from = people[user: message.from] else { return [] }
      return hand(on: StreamData(message.data.value), of: from)
    case .roomClosed: return closed()
    case .sessionReplaced: return ended(by: Info.noSession)
    // Flashphoner's apps have no words for the rest; media connections are told of by `StreamSession`, and nobody is called there.
    case .sessionClosing, .sessionGrants, .sessionExpiring, .participantUpdated, .participantReconnecting,
      .participantReconnected, .activeSpeakers, .roomQuality, .roomSwitched, .roomModerated, .roomKnock, .pcOffer,
      .messageRequested, .subscriptionStarted, .subscriptionPaused, .subscriptionResumed, .subscriptionLayer,
      .subscriptionEnded,
      .trackLayers, .viewChanged, .mediaConnected, .mediaFailed,
      .callCreated, .callIncoming, .callStopped, .callEnded, .callAccepted, .callActive, .callAlone, .callInvited,
      .callTypeChanged, .callMediaChangeRequested, .callMediaChanged, .callMissed, .callRecord, .memberRinging,
      .memberBusy, .memberDeclined, .memberNoAnswer, .memberLeft, .memberRemoved, .memberState:
      return []
    }
  }

  private mutating func tell(_ changes: [People.Change]) -> [MembershipAction] { changes.flatMap { tell($0) } }

  private mutating func tell(_ change: People.Change) -> [MembershipAction] {
    switch change {
    case .joined(let login): news(.joined(login))
    case .left(let login): news(.left(login))
    case .published(let login, let stream): news(.published(login: login, name: stream.name))
    case .unpublished(let login, let name):
      streams.values.filter { !$0.isPublished && $0.name == name }.map(\.id).sorted()
        .flatMap { stop($0, Info.publisherStopped) } + news(.unpublished(login: login, name: name))
    case .changed(let stream):
      streams.values.filter { !$0.isPublished && $0.name == stream.name }.map(\.id).sorted()
        .map { show(stream, on: $0) }
    }
  }

  private func news(_ news: RoomNews) -> [MembershipAction] { isRoom ? [.send(.room(room, news))] : [] }

  private mutating func muted(_ isMuted: Bool, _ change: TrackChange) -> [MembershipAction] {
    var kind: TrackKind?
    let changes = people.change(change.participantId) { tracks in
      guard let index = tracks.firstIndex(where: { $0.trackId == change.trackId }) else { return }
      tracks[index].muted = isMuted
      kind = tracks[index].kind
    }
    let told = tell(changes)
    guard let kind else { return told }
    return told
      + streams.values.filter { !$0.isPublished && $0.isUp && $0.tracks[kind] == change.trackId }.map(\.id).sorted()
      .map { .send(.muted(id: $0, kind, isMuted)) }
  }

  // MARK: - Messages

  /// The client writes to everybody, or to some.
  mutating func write(_ text: String, to logins: [String], operation: String) -> [MembershipAction] {
    var users: [String] = []
    for login in logins {
      guard let person = people[login: login] else {
        return [.send(.dataStatus(operation: operation, isAccepted: false, info: "There is nobody of this login"))]
      }
      users.append(person.user)
    }
    let params = ChatSendParams(room: room, text: text, to: users.isEmpty ? nil : users)
    return [ask(.chat(.send(params)), for: .message(operation: operation))]
  }
}
