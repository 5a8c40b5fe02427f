// What comes out of the core, to be carried out in this order. The order of replies and events is their order on the wire.

import Basics
import Calls
import RoostProtocol

/// One output of the core, by who carries it out.
public enum Effect: Equatable, Sendable {
  /// To the front door.
  case client(ClientEffect)
  /// To the media side.
  case media(MediaEffect)
  /// To the disk.
  case store(StoreEffect)
  /// To other people's web servers.
  case outside(OutsideEffect)
  /// To those who operate the server.
  case operation(OperationEffect)
  /// To the conference itself: apply `.goOn` when all before it is carried out, before anything else. The last effect of its step.
  case goOn(GoingOn)
}

/// What goes to clients.
public enum ClientEffect: Equatable, Sendable {
  /// The reply to a request.
  indirect case reply(ConnectionID, RequestID, Result<Reply, ErrorObject>)
  /// An event; sessions without a connection get theirs when they resume.
  case event(ConnectionID, EventMessage)
  /// One event to several, so that it can be encoded once.
  case broadcast([EventReceiver], serverTime: Int64, Event)
  /// Closes a socket once everything before has been sent. No `.connectionClosed` is needed for it.
  case closeConnection(ConnectionID, CloseReason)
  /// What has become of the media of a stream (`StreamRequest`): for the door alone, which says it in its own words.
  case stream(ConnectionID, MediaConnectionID, MediaChange)
  /// Whether the session of a connection only waits from now on, so that its door may look after it more rarely. A connection
  /// begins as one that does not.
  case setWaiting(ConnectionID, Bool)
}

/// What the media side does.
public enum MediaEffect: Equatable, Sendable {
  // MARK: Seats

  /// Somebody has a seat: make its publish and subscribe connections and the first server offer. `room` decides the worker;
  /// `sound` is what it says of sound; `sends` is what they may come to send; `capabilities` are the client's.
  indirect case openSeat(
    SeatID, room: RoomKey, participant: ParticipantID, media: MediaClass, sound: SoundRules, sends: SendingRights,
    capabilities: Set<ClientCapability>)
  /// Find out whether the seat's media connections can go on in another room, then apply `.mayMove`. But for lines and counts the last effect of its
  /// step.
  case askMove(SeatID, to: RoomKey)
  /// The seat is in another room from now on, and its media connections with its tracks. Nobody is sent the tracks, and it is sent none.
  /// `sound` and `sends` as with `openSeat`.
  indirect case moveSeat(SeatID, room: RoomKey, sound: SoundRules, sends: SendingRights)
  /// The seat is gone. Its tracks and subscriptions were closed by effects before this one.
  case closeSeat(SeatID)
  /// The room is gone, and all its seats before it.
  case closeRoom(RoomKey)
  /// Find out for how long nothing authentic has come from the seat's media connections, then apply `.silence`. But for `.goOn` the last effect of its
  /// step.
  case askSilence(Asker, SeatID)
  /// The client wants an ICE restart of its subscribe connection.
  case restartICE(SeatID)

  // MARK: Publishing

  /// Run SDP negotiation on this offer without committing it, then apply `.publishPrepared`. Of the offer no more is taken than the limits
  /// say, where there are any.
  case negotiatePublish(RequestKey, SeatID, PublishOfferParams, PublishLimits?)
  /// Commit what was prepared: these lines carry these new tracks. Tracks that ended had their `.closeTrack` before.
  case commitPublish(RequestKey, SeatID, [CommittedTrack])
  /// Forget what was prepared.
  case discardPublish(RequestKey, SeatID)
  /// Stop or resume forwarding a track; resuming asks for a keyframe.
  case setMuted(TrackID, Bool)
  /// The track is gone. Its subscriptions were closed before.
  case closeTrack(TrackID)

  // MARK: Subscribing

  /// Run SDP negotiation on this answer, then apply `.answerProcessed`.
  case negotiateAnswer(RequestKey, SeatID, offerID: Int, sdp: String)
  /// Answer this offer of the client about what it is sent, then apply `.offerAnswered`.
  case answerOffer(RequestKey, SeatID, sdp: String)
  /// Offer a track to a seat.
  case subscribe(Subscription)
  /// The client has accepted a line for it: send the track there.
  case startSubscription(Subscription)
  /// Stop sending it.
  case unsubscribe(Subscription)
  /// The subscriber wishes for something else than `before`.
  indirect case updateSubscription(Subscription, before: SubscriptionWish)
  /// The publisher may send the track in other codecs from now on: offer those.
  case offerCodecs(Subscription)
  /// Let a view show its track, or nothing, in place of `before`. Apply `.cannotShow` where its line has not the track's codec.
  indirect case show(Subscription, before: TrackID?)
  /// Let each carry the other's track from now on, on the lines they have, then apply `.swapProcessed`. Both are as they
  /// are before it: on one connection, and either both accepted or neither.
  indirect case swapSubscriptions(RequestKey, Subscription, Subscription)

  // MARK: Streams

  /// Something about a media connection that a front door has opened.
  case stream(StreamEffect)
}

/// What the media side does with the connections of streams.
public enum StreamEffect: Equatable, Sendable {
  /// Make a connection of this name that publishes, or one that is sent what is subscribed to on it and on which the client offers.
  case open(SeatID, MediaConnectionID, PeerConnection)
  /// As `.negotiatePublish`, on this connection.
  case negotiate(RequestKey, SeatID, MediaConnectionID, PublishOfferParams, PublishLimits?)
  /// As `.answerOffer`, on this connection; then apply `.streamAnswered`.
  case answer(RequestKey, SeatID, MediaConnectionID, sdp: String)
  /// The connection is gone. Its tracks and subscriptions were closed by effects before this one.
  case close(SeatID, MediaConnectionID)
}

/// What the disk does. Only where `rules.storesRecords`.
public enum StoreEffect: Equatable, Sendable {
  /// Write these changes, after those of earlier tickets, then apply `.stored`.
  case write(Ticket, [StoreChange])
  /// Read these records, then apply `.fetched`.
  case read(Ticket, RecordQuery)
}

/// What web servers outside are told.
public indirect enum OutsideEffect: Equatable, Sendable {
  /// For the push provider, which wakes phones. Only where `rules.calls.hasPush`.
  case push(PushNotice)
  /// For webhook subscribers. Only where `rules.hasWebhooks`.
  case webhook(WebhookEvent)
  /// To the application; then apply `.answered`. Only what `rules.questions` says.
  case ask(Ticket, Question)
  /// Nobody waits for the answer any more: a question that is not on its way yet is not asked.
  case takeBack(Ticket)
}

/// What is noted for those who operate the server.
public enum OperationEffect: Equatable, Sendable {
  /// One line for the log.
  case log(LogEntry)
  /// Something to count.
  case count(Counter)
  /// The tokens of this `jti` are taken back, or believed again: for the doors, which answer some requests by themselves.
  case setRevoked(String, Bool)
}

/// One who hears an event.
public struct EventReceiver: Hashable, Sendable {
  /// Where its session is connected.
  public var connection: ConnectionID
  /// The event's number in its session.
  public var seq: Int

  /// The event is number `seq` of the session on `connection`.
  public init(_ connection: ConnectionID, seq: Int) {
    self.connection = connection
    self.seq = seq
  }
}

/// A media line and the track it carries from now on.
public struct CommittedTrack: Hashable, Sendable {
  /// The line.
  public var mid: String
  /// Its track.
  public var track: TrackID
  /// What it carries.
  public var kind: TrackKind
  /// Whether it is a shared screen.
  public var isScreen = false

  package init(mid: String, track: TrackID, kind: TrackKind, isScreen: Bool = false) {
    (self.mid, self.track, self.kind, self.isScreen) = (mid, track, kind, isScreen)
  }
}

/// What a subscriber wishes for.
public struct SubscriptionWish: Hashable, Sendable {
  /// The layer.
  public var definition = Definition.auto
  /// Whether to send nothing for now.
  public var paused = false
  /// Which of several matters more, 0 to 255.
  public var priority = 0
  /// Of video: the height at which it is shown, in pixels of the device; 0 while it is not shown, nil where that is not known.
  public var maxHeight: Int?

  /// The room sends the video of few, and this is none of it.
  public var isLeftOut = false

  /// Whether nobody sees it.
  public var isHidden: Bool { maxHeight == 0 }
  /// Whether nothing is to be sent.
  public var sendsNothing: Bool { paused || isHidden || isLeftOut }

  /// Any layer, at once.
  public init() {}
}

/// Why the server closes a socket: a WebSocket close code (RFC 6455, section 7.4) and a word.
public struct CloseReason: Hashable, Sendable {
  /// The close code.
  public var code: UInt16
  /// The reason phrase.
  public var reason: String

  /// The client said `session.bye`.
  public static let bye = CloseReason(code: 1000, reason: "bye")
  /// A newer session of the same device took over.
  public static let replaced = CloseReason(code: 4000, reason: "session replaced")
  /// The token of the session is over.
  public static let tokenExpired = CloseReason(code: 4003, reason: "token expired")
  /// The token of the session was taken back.
  public static let tokenRevoked = CloseReason(code: 4003, reason: "token revoked")
  /// The session was resumed on another connection.
  public static let resumedElsewhere = CloseReason(code: 4001, reason: "resumed on another connection")
}

/// One line for the log.
public struct LogEntry: Hashable, Sendable {
  /// How much it matters.
  public enum Level: Hashable, Sendable { case debug, info, warning }
  /// One fact.
  public struct Field: Hashable, Sendable {
    /// Its name.
    public var name: String
    /// What it is.
    public var value: String

    package init(name: String, value: String) { (self.name, self.value) = (name, value) }
  }
  /// How much it matters.
  public var level: Level
  /// What happened, such as `join` or `join_refused`.
  public var event: String
  /// The facts. Values may come from clients; whoever writes them escapes them.
  public var fields: [Field]
  /// Whose doing it is; nil for what operators do, and the server by itself.
  public var subject: LineSubject?
}

/// Something to count for `/metrics`.
public enum Counter: Hashable, Sendable {
  /// Somebody took a seat.
  case joined
  /// A join was refused.
  case joinRefused(ErrorCode)
  /// Somebody left.
  case left(LeaveReason)
  /// A session began.
  case sessionStarted
  /// A hello was refused.
  case sessionRefused(ErrorCode)
  /// A session was resumed, by replay.
  case resumed
  /// A session was resumed, by a snapshot.
  case resynced
  /// A session was not resumed in time.
  case sessionExpired
  /// A session that waited to be resumed, without a seat, made space for another.
  case sessionEvicted
  /// A chat message was taken.
  case chatMessage
  /// A custom message was taken.
  case dataMessage
  /// A track began.
  case trackPublished
  /// A publish offer was refused.
  case publishRefused(ErrorCode)
  /// A media connection failed; nil is one without a name in the room protocol.
  case mediaFailed(PeerConnection?)
  /// What somebody sends finds no track. Counts as a failure of that connection as well.
  case mediaStrays
  /// Something about calls.
  case call(CallCounter)
}

/// What there is now, for `/metrics`.
public struct ConferenceGauges: Hashable, Sendable {
  /// Rooms with somebody in them.
  public var rooms = 0
  /// Seats taken.
  public var participants = 0
  /// Tracks published.
  public var tracks = 0
  /// Subscriptions.
  public var subscriptions = 0
  /// Sessions, those that wait to be resumed included.
  public var sessions = 0
  /// Calls that run or ring.
  public var calls = 0
  /// Seats with media by how good their ways are.
  public var levels: [QualityLevel: Int] = [.good: 0, .fair: 0, .poor: 0]
  /// What looks at seats' media have found so far.
  public var quality = QualityFigures()

  package init(rooms: Int = 0, participants: Int = 0, sessions: Int = 0) {
    (self.rooms, self.participants, self.sessions) = (rooms, participants, sessions)
  }
}
