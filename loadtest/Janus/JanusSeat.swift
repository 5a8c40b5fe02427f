// A seat in a video room of Janus, as Roost's signalling tells of it: requests of a participant become messages to two handles,
// one that publishes and one that subscribes, and what Janus tells becomes events.
//
//   participant ─ session.hello, room.join, pc.offer, pc.answer ─▶ JanusSeat ─ create, join, publish, subscribe, start ─▶ Janus
//               ◀─ room.participantJoined, pc.offer ──────────────           ◀─ publishers, attached, updated ─────────────

import RoostProtocol
import Threads

/// What load tests of rooms need: people who come, publish, receive everything, and go with the room.
actor JanusSeat {
  private let janus: JanusConnection
  private let send: @Sendable (ServerFrame) -> Void
  private var user = ""
  private var room = ""
  private var me = ""
  private var publisher: Int64?
  private var subscriber: Int64?
  private var receives = true
  /// Publishers that Janus has told of.
  private var known: Set<String> = []
  /// Those of them that are not subscribed to yet.
  private var wanted: [String] = []
  /// Whether an offer of Janus is being made or answered: one at a time.
  private var isNegotiating = false
  private var offers = 0
  private var events = 0

  /// `send` takes frames for the participant.
  init(_ janus: JanusConnection, send: @escaping @Sendable (ServerFrame) -> Void) {
    (self.janus, self.send) = (janus, send)
  }

  /// Carries a request out.
  func take(_ id: RequestID, _ request: Request) async {
    do {
      let reply = try await reply(to: request)
      send(.reply(id, reply))
      // Nobody hears of others before he is told that he is in; and what he wants next does not wait for them.
      switch request {
      case .room(.join):
        Task { await self.listen() }
        Task { await self.subscribe() }
      case .peerConnection(.answer):
        isNegotiating = false
        Task { await self.subscribe() }
      default: break
      }
    } catch let error as ErrorObject {
      send(.failure(id, error))
    } catch {
      send(.failure(id, ErrorObject(.internalError, "Janus: \(error)")))
    }
  }

  private func reply(to request: Request) async throws -> Reply {
    switch request {
    case .session(.hello(let hello)): return hail(hello)
    case .room(.join(let params)): return .room(try await join(params))
    case .peerConnection(.offer(let offer)): return .published(try await publish(offer))
    case .peerConnection(.answer(let answer)):
      try await start(answer)
      return .empty
    case .room(.leave), .session(.bye), .session(.ping): return .empty
    default: throw ErrorObject(.methodNotFound, "\(request.method.rawValue) is not taken to Janus.")
    }
  }

  private func hail(_ hello: HelloParams) -> Reply {
    user = hello.user
    let limits = ServerLimits(
      messageBytes: 1 << 20, chatBytes: 0, metadataBytes: 0, tracks: 2, replayEvents: 0, resumeGraceMs: 0)
    return .hello(
      HelloResult(
        sessionId: user, resumeToken: user, user: user, deviceId: hello.deviceId ?? user,
        serverTime: WallClock.milliseconds(), limits: limits, iceServers: [], ringing: [], missed: 0))
  }

  // MARK: Coming

  private func join(_ params: RoomJoinParams) async throws -> RoomSnapshot {
    (room, receives) = (params.room, params.autoSubscribe ?? true)
    let handle = try await janus.attach()
    publisher = handle
    do {
      _ = try await janus.tell(
        handle,
        [
          "request": "create", "room": .string(room), "publishers": 1_000, "bitrate": 0, "videocodec": "vp8",
          "audiocodec": "opus", "transport_wide_cc_ext": true,
        ])
    } catch let error as JanusError where error.code == JanusError.roomExists {
      // Whoever is first makes the room.
    }
    let joined = try await janus.tell(
      handle, ["request": "join", "ptype": "publisher", "room": .string(room), "display": .string(user)])
    guard let id = joined.data["id"].string else { throw JanusError(description: "the seat has no name") }
    me = id
    let others = joined.data["publishers"].array.compactMap(Self.participant)
    for other in others { want(other) }
    let own = Participant(
      participantId: me, user: user, displayName: user, state: .joined, metadata: .emptyObject, tracks: [])
    return RoomSnapshot(
      room: room, kind: "janus", media: params.media ?? .video, limit: 1_000, count: others.count + 1, seq: events,
      selfId: me, participants: others + [own], chat: [])
  }

  private func publish(_ offer: PublishOfferParams) async throws -> PublishResult {
    guard let publisher else { throw ErrorObject(.notJoined) }
    let answer = try await janus.tell(publisher, ["request": "publish"], sdp: offer.sdp)
    guard let sdp = answer.sdp else { throw JanusError(description: "no answer to an offer") }
    return PublishResult(
      sdp: sdp, tracks: (offer.tracks ?? []).map { PublishedLine(mid: $0.mid, trackId: Self.track(me, $0.mid)) })
  }

  // MARK: Others

  private func listen() async {
    for await message in janus.events where message.handle == publisher {
      await welcome(message.data["publishers"].array)
    }
  }

  private func welcome(_ publishers: [JSONValue]) async {
    for other in publishers.compactMap(Self.participant) where want(other) {
      tell(.participantJoined(ParticipantEvent(room: room, participant: other)))
    }
    await subscribe()
  }

  /// False when he was known.
  @discardableResult
  private func want(_ other: Participant) -> Bool {
    guard known.insert(other.participantId).inserted else { return false }
    wanted.append(other.participantId)
    return true
  }

  /// Asks for the tracks of all who are wanted, unless a negotiation is under way.
  private func subscribe() async {
    guard receives, !isNegotiating, !wanted.isEmpty else { return }
    isNegotiating = true
    let feeds = JSONValue.array(wanted.map { ["feed": .string($0)] })
    wanted = []
    do {
      let offer: JanusMessage
      if let subscriber {
        offer = try await janus.tell(subscriber, ["request": "subscribe", "streams": feeds])
      } else {
        let handle = try await janus.attach()
        // Janus would offer by itself when somebody leaves; here nobody does.
        offer = try await janus.tell(
          handle,
          [
            "request": "join", "ptype": "subscriber", "room": .string(room), "streams": feeds, "autoupdate": false,
          ])
        subscriber = handle
      }
      guard let sdp = offer.sdp else { throw JanusError(description: "a subscription without an offer") }
      offers += 1
      tell(
        .pcOffer(
          SubscribeOffer(offerId: offers, sdp: sdp, tracks: offer.data["streams"].array.compactMap(Self.offered))))
    } catch {
      isNegotiating = false
      tell(.mediaFailed(MediaEvent(pc: .subscribe, step: .sdp, reason: "Janus: \(error)")))
    }
  }

  private func start(_ answer: SubscribeAnswerParams) async throws {
    guard let subscriber else { throw ErrorObject(.notJoined) }
    _ = try await janus.tell(subscriber, ["request": "start"], sdp: answer.sdp, type: "answer")
  }

  private func tell(_ event: Event) {
    events += 1
    send(.event(EventMessage(seq: events, serverTime: WallClock.milliseconds(), event: event)))
  }

  // MARK: What Janus says of them

  private static func track(_ feed: String, _ mid: String) -> String { "\(feed)/\(mid)" }

  /// A publisher: `{"id", "display", "streams": [{"type", "mid"}]}`.
  private static func participant(_ publisher: JSONValue) -> Participant? {
    guard let id = publisher["id"].string, let user = publisher["display"].string else { return nil }
    let tracks = publisher["streams"].array.compactMap { stream -> Track? in
      guard let kind = stream["type"].string.flatMap(TrackKind.init(rawValue:)), let mid = stream["mid"].string else {
        return nil
      }
      return Track(
        trackId: track(id, mid), kind: kind, label: kind == .audio ? "microphone" : "camera", muted: false,
        definitions: [])
    }
    return Participant(
      participantId: id, user: user, displayName: user, state: .joined, metadata: .emptyObject, tracks: tracks)
  }

  /// A line of an offer: `{"mid", "type", "feed_id", "feed_mid"}`.
  private static func offered(_ stream: JSONValue) -> OfferedTrack? {
    guard let mid = stream["mid"].string, let kind = stream["type"].string.flatMap(TrackKind.init(rawValue:)),
      let feed = stream["feed_id"].string, let feedMid = stream["feed_mid"].string
    else { return nil }
    return OfferedTrack(
      mid: mid, subscriptionId: "\(mid):\(track(feed, feedMid))", trackId: track(feed, feedMid), participantId: feed,
      kind: kind)
  }
}
