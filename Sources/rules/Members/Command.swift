// What goes into the core. Everything that happens, happens because one of these was applied, or because time passed.

import Basics
import Calls
import RoostProtocol

/// Names a request until its reply goes out, wherever its session is connected by then.
public struct RequestKey: Hashable, Sendable {
  package let session: SessionID
  package let id: RequestID

  package init(session: SessionID, id: RequestID) { (self.session, self.id) = (session, id) }
}

/// Who waits until it is known for how long a seat's media are silent.
public enum Asker: Hashable, Sendable {
  /// A request of one who has a session.
  case request(RequestKey)
  /// The hello that came on this connection.
  case hello(ConnectionID)
}

/// Who goes on with what has waited for the application.
public enum GoingOn: Hashable, Comparable, Sendable {
  /// A session.
  case session(SessionID)
  /// The hello that came on this connection.
  case hello(ConnectionID)
}

/// One input of the core.
public enum Command: Sendable {
  /// A hello, and whose it is: the front door has made sure of that.
  case hello(ConnectionID, RequestID, HelloParams, Identity)
  /// A further token of somebody who has a session, and whose it is: the front door has made sure of that.
  case token(ConnectionID, RequestID, TokenParams, Identity)
  /// A request, decoded and validated; one with `session.hello` begins no session, since nobody has verified it. `pc.offer`, `pc.answer` and `subscription.swap` come back as
  /// `Effect.negotiatePublish`, `.answerOffer`, `.negotiateAnswer` and `.swapSubscriptions`, always the last effect of their step but `.goOn`;
  /// the rest is answered at once.
  case request(ConnectionID, RequestID, Request)
  /// A resume, and the network that it came from where that is known.
  case resume(ConnectionID, RequestID, ResumeParams, from: PeerNetwork?)
  /// What a front door wants of a stream of its client (`StreamRequest`), answered as a request. The door gives each another id.
  case stream(ConnectionID, RequestID, StreamRequest)
  /// A socket is gone. `clean`: the client closed it with 1000 or 1001, which means leave; anything else starts the
  /// grace. Nothing happens where the session has another connection by now.
  case connectionClosed(ConnectionID, clean: Bool)
  /// A socket has owed the answer to a ping for `ConferenceRules.takeoverSilence`; or, with false, was heard again since that was said.
  case connectionOverdue(ConnectionID, Bool)

  /// What SDP negotiation makes of an offer, not yet committed. Answered by `.commitPublish` or `.discardPublish`.
  case publishPrepared(RequestKey, Result<PublishChange, ErrorObject>)
  /// What SDP negotiation made of an answer.
  case answerProcessed(RequestKey, Result<Void, ErrorObject>)
  /// The answer to an offer on a subscribe connection.
  case offerAnswered(RequestKey, Result<String, ErrorObject>)
  /// The answer to an offer on a stream that is played.
  case streamAnswered(RequestKey, SeatID, MediaConnectionID, Result<String, ErrorObject>)
  /// For how long nothing authentic has come from a seat's media connections (`MediaEffect.askSilence`); nil where nothing ever has.
  case silence(Asker, TimeDelta?)
  /// What became of an exchange of two subscriptions.
  case swapProcessed(RequestKey, Result<Void, ErrorObject>)
  /// The server's next offer for a seat's subscribe connection.
  case serverOffer(SeatID, ServerOffer)
  /// Whether a seat's media connections can go on in another room (`MediaEffect.askMove`).
  case mayMove(SeatID, to: RoomKey, keepsConnections: Bool)

  /// A change of one of a seat's media connections.
  case media(SeatID, MediaConnectionID, MediaChange)
  /// A seat sends more of this than it may, and what is too much is dropped.
  case excess(SeatID, MediaConnectionID, Excess, bitsPerSecond: Int)
  /// A change of what a subscriber gets.
  case subscription(SubscriptionID, SubscriptionChange)
  /// Which simulcast layers of a track its publisher is to send, counted from 0 for the lowest.
  case trackLayers(TrackID, [Int])
  /// Where newcomers would cost those inside their quality.
  case mediaLoad(MediaLoad)
  /// Who speaks in a room, loudest first; levels in -dBov.
  case activeSpeakers(RoomKey, [SpeakerLevel])

  /// How the media of some rooms' seats did in the last two seconds; all seats of a room come together.
  case quality([SeatReport])

  /// Whether the changes of a ticket are on disk.
  case stored(Ticket, Bool)
  /// Records from the disk; nil where it has none to give.
  case fetched(Ticket, [UserRecord]?)
  /// What the application has said; only the first word on a ticket counts.
  case answered(Ticket, QuestionAnswer)
  /// The next of what a session has waited with, or a hello (`Effect.goOn`).
  case goOn(GoingOn)

  /// The server is about to stop: tells every session, and takes no new session or join.
  case drain(retryAfterMilliseconds: Int64?)
  /// The server stops, and nothing comes behind it: webhook subscribers hear who was there. Clients hear nothing.
  case stop
}

/// What an offer changes in a seat's tracks.
public struct PublishChange: Hashable, Sendable {
  /// A media line that begins to carry a track.
  public struct Line: Hashable, Sendable {
    /// The line.
    public var mid: String
    /// What it carries.
    public var kind: TrackKind
    /// Layers that were negotiated; nil: what the client announced counts.
    public var definitions: [Definition]?

    /// A line that begins.
    public init(mid: String, kind: TrackKind, definitions: [Definition]? = nil) {
      self.mid = mid
      self.kind = kind
      self.definitions = definitions
    }
  }

  /// The answer.
  public var answer: String
  /// Whether it is the answer of a new media connection, in place of the seat's old one.
  public var isNewConnection = false
  /// Lines that begin. A line may be in `removed` too: its old track ends first.
  public var added: [Line]
  /// Lines whose track ends; lines that carry none are ignored.
  public var removed: [String]
  /// Lines whose track goes on and may come in other codecs.
  public var recoded: [String]
  /// Lines that were not taken.
  public var declined: [DeclinedLine]

  /// What an offer changes.
  public init(
    answer: String, added: [Line] = [], removed: [String] = [], recoded: [String] = [], declined: [DeclinedLine] = []
  ) {
    self.answer = answer
    self.added = added
    self.removed = removed
    self.recoded = recoded
    self.declined = declined
  }
}

/// An offer for a seat's subscribe connection.
public struct ServerOffer: Hashable, Sendable {
  /// A line that carries a subscription.
  public struct Line: Hashable, Sendable {
    /// The line.
    public var mid: String
    /// What it carries.
    public var subscription: SubscriptionID

    /// A line that carries a subscription.
    public init(mid: String, subscription: SubscriptionID) {
      self.mid = mid
      self.subscription = subscription
    }
  }

  /// Names the offer; `pc.answer` says it back.
  public var id: Int
  /// The offer.
  public var sdp: String
  /// All lines that carry something, not only new ones.
  public var lines: [Line]

  /// An offer.
  public init(id: Int, sdp: String, lines: [Line]) {
    self.id = id
    self.sdp = sdp
    self.lines = lines
  }
}

/// What happened to a media connection.
public enum MediaChange: Hashable, Sendable {
  /// ICE and DTLS are done.
  case connected
  /// It did not come up in time. `isFinal`: it never will, or broke for good.
  case failed(MediaStep, reason: String, isFinal: Bool)
  /// The client closed it in order, as who leaves does, often before they have said so: no failure of anybody's.
  case closed(reason: String)
  /// No consent for `media_timeout`, on a live socket: the participant is reconnecting.
  case lost
  /// It is heard again after `lost`.
  case recovered
  /// It is up, and what the client sends on it finds no track.
  case strays(reason: String)
  /// What was sent in vain has found its track.
  case found
  /// The front door that opened it has ended it. Its state counts no more.
  case ended
}

/// What somebody sends too much of.
public enum Excess: String, Hashable, Sendable {
  /// Tracks of sound, or of video.
  case sound, video
  /// Streams that belong to no track.
  case newStreams = "new_streams"
  /// RTCP.
  case control = "rtcp"
}

/// What happened to a subscription.
public enum SubscriptionChange: Hashable, Sendable {
  /// The client has accepted a line for it.
  case accepted
  /// The first keyframe (or audio packet) of a track was forwarded, under this RTP time stamp.
  case started(TrackID, timestamp: UInt32)
  /// The worker sends nothing of it for now, because the receiver's line does not carry it.
  case paused(SubscriptionReason)
  /// It sends again.
  case resumed
  /// Nothing of this track comes that could be sent of it; nil: it comes, or the track is muted.
  case missing(TrackID, SubscriptionStep?)
  /// A view cannot show its track: its client has taken none of the codecs.
  case cannotShow
  /// Another layer is forwarded.
  case layer(Layer)
  /// The connection could not take it; it is over.
  case ended(SubscriptionReason)
}

/// One who speaks.
public struct SpeakerLevel: Hashable, Sendable {
  /// Whose audio it is.
  public var seat: SeatID
  /// In -dBov: 0 is the loudest, 127 silence.
  public var level: Int

  /// One who speaks.
  public init(seat: SeatID, level: Int) {
    self.seat = seat
    self.level = level
  }
}
