// A membership's streams: each an offer of the client, an answer, and what becomes of its media.
//
//   publish, play ──▶ asked ──answer──▶ setRemoteSDP ──media up──▶ PUBLISHING, PLAYING ──▶ UNPUBLISHED, STOPPED, FAILED
import Members
import RoostProtocol

extension Membership {
  // MARK: - Streams

  /// The client publishes a stream.
  mutating func publish(_ wish: StreamWish) -> [MembershipAction] {
    guard people.stream(named: wish.name) == nil,
      !streams.values.contains(where: { $0.isPublished && $0.name == wish.name })
    else { return noStream(wish, Info.nameInUse) }
    return begin(wish, isPublished: true) { offer, connection in
      let params = PublishOfferParams(
        pc: .publish, sdp: offer.sdp, tracks: offer.tracks(name: wish.name, isScreen: wish.isScreen))
      return (.publish(connection, params), .publish(id: wish.id, connection))
    }
  }

  /// The client plays a stream; in a room of one stream, whatever is published there.
  mutating func play(_ wish: StreamWish) -> [MembershipAction] {
    let found = people.stream(named: wish.name) ?? (isRoom ? nil : people.all.lazy.compactMap(\.streams.first).first)
    guard let found else { return noStream(wish, Info.notFound) }
    let tracks = found.trackIDs.sorted()
    return begin(wish, name: found.name, isPublished: false, tracks: found.tracks.mapValues(\.trackId)) {
      (.play($1, tracks: tracks, lines: $0.lines.map(\.kind), sdp: $0.sdp), .play(id: wish.id, $1))
    }
  }

  private mutating func begin(
    _ wish: StreamWish, name: String? = nil, isPublished: Bool, tracks: [TrackKind: String] = [:],
    _ request: (Offer, MediaConnectionID) -> (StreamRequest, Asked)
  ) -> [MembershipAction] {
    guard streams[wish.id] == nil else {
      return [.send(.fail(.init(info: "There is a stream of this mediaSessionId")))]
    }
    let offer: Offer
    do throws(ErrorObject) {
      offer = try Offer(wish.sdp, isPublished: isPublished)
      if isPublished, !ProtocolLimits.isName(wish.name) { throw .parameter("name", expected: "a shorter name") }
    } catch {
      return [.warn(stream: wish.name, why: error.message)] + noStream(wish, Info.text(error))
    }
    lastConnection += 1
    let connection = MediaConnectionID(lastConnection)
    streams[wish.id] = Stream(
      id: wish.id, name: name ?? wish.name, connection: connection, lines: offer.lines, isPublished: isPublished,
      tracks: tracks)
    let (request, what) = request(offer, connection)
    return [ask(request, for: what)]
  }

  /// A stream that was refused before there was anything of it. One that lives for it alone is over with it.
  private mutating func noStream(_ wish: StreamWish, _ info: String) -> [MembershipAction] {
    let failure = MembershipAction.send(.fail(.init(stream: wish.id, name: wish.name, info: info)))
    if isRoom { return [failure] }
    stage = .over
    return [failure, .leave]
  }

  mutating func published(_ id: String, _ result: PublishResult) -> [MembershipAction] {
    guard let stream = streams[id] else { return [] }
    // Never half of a stream.
    if let line = result.refused.first { return fail(id, Info.text(line.error)) }
    for line in result.tracks {
      guard let kind = stream.lines.first(where: { $0.mid == line.mid })?.kind else { continue }
      streams[id]?.tracks[kind] = line.trackId
    }
    return answered(id, result.sdp)
  }

  func answered(_ id: String, _ sdp: String) -> [MembershipAction] {
    streams[id] == nil ? [] : [.send(.remoteSDP(id: id, sdp: sdp))]
  }

  /// The client ends a stream.
  mutating func stop(_ id: String) -> [MembershipAction] {
    if streams[id] == nil, stage != .live, case .publishing(let wish) = purpose { return giveUp(wish, .unpublished) }
    if streams[id] == nil, stage != .live, case .playing(let wish) = purpose { return giveUp(wish, .stopped) }
    return stop(id, nil)
  }

  /// The client has changed its mind before there was a stream.
  private mutating func giveUp(_ wish: StreamWish, _ status: StreamReport.Status) -> [MembershipAction] {
    guard stage != .over else { return [] }
    stage = .over
    return [.send(.status(StreamReport(id: wish.id, name: wish.name, status: status))), .leave]
  }

  /// Ends a stream in order.
  mutating func stop(_ id: String, _ info: String?) -> [MembershipAction] {
    guard let stream = streams.removeValue(forKey: id) else { return [] }
    var report = stream.report(nil)
    report.info = info
    return end(stream, .status(report))
  }

  /// A stream has failed. `isOpen`: the core has a connection for it still.
  mutating func fail(_ id: String, _ info: String, isOpen: Bool = true) -> [MembershipAction] {
    guard let stream = streams.removeValue(forKey: id) else { return [] }
    return end(
      stream, isOpen ? .status(stream.report(info)) : .fail(.init(stream: id, name: stream.name, info: info)),
      isOpen: isOpen)
  }

  private mutating func end(_ stream: Stream, _ message: ServerMessage, isOpen: Bool = true) -> [MembershipAction] {
    if !isRoom {
      stage = .over
      return [.send(message), .leave]
    }
    return isOpen ? [ask(.close(stream.connection), for: .close), .send(message)] : [.send(message)]
  }

  /// What a stream is made of has changed at its publisher.
  mutating func show(_ published: PublishedStream, on id: String) -> MembershipAction {
    streams[id]?.tracks = published.tracks.mapValues(\.trackId)
    let connection = streams[id]?.connection ?? MediaConnectionID(0)
    return ask(.show(connection, tracks: published.trackIDs.sorted()), for: .show)
  }

  /// Somebody else has ended a track of one's own.
  mutating func ownTrackEnded(_ track: String) -> [MembershipAction] {
    guard let stream = streams.values.first(where: { $0.isPublished && $0.tracks.values.contains(track) }) else {
      return []
    }
    for (kind, id) in stream.tracks where id == track { streams[stream.id]?.tracks[kind] = nil }
    return streams[stream.id]?.tracks.isEmpty == true ? fail(stream.id, Info.restricted) : []
  }

  /// The client mutes or unmutes a half of a stream, or has something for its players: all others in the room hear that.
  mutating func event(_ event: StreamEventWish, of id: String) -> [MembershipAction] {
    guard let stream = streams[id], stream.isPublished else {
      return [.send(.fail(.init(word: "sendStreamEvent", info: Info.notFound)))]
    }
    switch event {
    case .muted(let kind, let isMuted):
      guard let track = stream.tracks[kind].map({ TrackParams(trackId: $0) }) else { return [] }
      return [ask(.track(isMuted ? .mute(track) : .unmute(track)), for: .mute)]
    case .data(let payload):
      let data = StreamData(stream: stream.name, payload: payload).json
      let params = MessageSendParams(room: room, topic: Self.dataTopic, data: data)
      return [ask(.message(.send(params)), for: .mute)]
    case .other(let type):
      return [.send(.fail(.init(word: "sendStreamEvent", info: "\(type) is not supported")))]
    }
  }

  /// Somebody has sent something for players: those here of the stream that it names. What names none (it is not of this door) goes to
  /// those of the first of their streams that is played here.
  func hand(on data: StreamData, of person: Person) -> [MembershipAction] {
    let players = streams.values.filter { !$0.isPublished && $0.isUp }
    // Who sends it knows the stream by the name that they gave it. Others may be shown another one (`People`).
    let stream = person.streams.first { stream in
      guard let name = data.stream else { return players.contains { $0.name == stream.name } }
      return stream.name == name || stream.tracks.values.contains { $0.label == name }
    }
    guard let name = stream?.name else { return [] }
    return players.filter { $0.name == name }.map(\.id).sorted().map { .send(.streamData(id: $0, data.payload)) }
  }

  /// What has become of a stream's media.
  mutating func media(_ connection: MediaConnectionID, _ change: MediaChange) -> [MembershipAction] {
    guard let stream = streams.values.first(where: { $0.connection == connection }) else { return [] }
    switch change {
    case .connected: return up(stream)
    // Their clients know no restart of ICE: what is lost is over, and they begin another stream.
    case .lost: return fail(stream.id, Info.noICE)
    case .failed(let step, _, _): return fail(stream.id, Info.text(step))
    case .closed: return stop(stream.id, nil)
    // The log tells it: their clients take any failure for the stream's end.
    case .strays, .found: return []
    case .recovered, .ended: return []
    }
  }

  private mutating func up(_ stream: Stream) -> [MembershipAction] {
    guard !stream.isUp else { return [] }
    streams[stream.id]?.isUp = true
    var report = stream.report(nil)
    report.status = stream.isPublished ? .publishing : .playing
    if !stream.isPublished { report.muted = people.stream(named: stream.name)?.muted }
    return [.send(.status(report))]
  }
}

extension Membership.Stream {
  /// Its end: in order, or for a reason.
  func report(_ info: String?) -> StreamReport {
    StreamReport(
      id: id, name: name, status: info != nil ? .failed : isPublished ? .unpublished : .stopped, info: info)
  }
}

/// Something for the players of a stream, as it is in a custom message: `{stream, payload}`.
struct StreamData: Equatable, Sendable {
  /// The stream's name; nil where the message says none.
  let stream: String?
  let payload: JSONValue

  init(stream: String, payload: JSONValue) { (self.stream, self.payload) = (stream, payload) }

  /// Reads one; of other clients any JSON comes.
  init(_ value: JSONValue) {
    if case .object(let fields) = value, fields.count == 2, case .string(let name)? = fields["stream"],
      let payload = fields["payload"]
    {
      (stream, self.payload) = (name, payload)
    } else {
      (stream, payload) = (nil, value)
    }
  }

  /// What is sent.
  var json: RawJSON {
    guard let stream else { return RawJSON(payload) }
    return ["stream": RawJSON(.string(stream)), "payload": RawJSON(payload)]
  }
}
