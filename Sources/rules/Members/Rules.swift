// What an operator decides about rooms and sessions, as the core sees it.

import Basics
import Calls
import RoostProtocol

/// What a room says of sound.
public struct SoundRules: Hashable, Sendable {
  /// How many others everybody hears at once, the loudest of them; nil: all.
  public var loudest: Int?
  /// Bits per second that one track of sound is asked to stay below on average.
  public var maxBitsPerSecond = 128_000

  /// Everybody is heard.
  public init() {}
}

/// What a room is like.
public struct RoomRules: Hashable, Sendable {
  /// Name of the kind, as clients see it.
  public var kind: String
  /// Seats while the room carries video.
  public var videoSeats = 16
  /// Seats while the room carries audio only.
  public var audioSeats = 32
  /// Its media class; nil: the first to join the empty room decides.
  public var media: MediaClass?
  /// Tracks that one participant may publish.
  public var tracksPerParticipant = 8
  /// Whose video is sent: that of so many who spoke last. nil: everybody's.
  public var videoLastN: Int?
  /// How many participants may publish at once; nil: all.
  public var publishers: Int?
  /// How many of those who only play (`Identity.onlyPlays`) may come in beside the seats, taking none; nil: they take seats as
  /// everybody does.
  public var players: Int?
  /// What is said of sound.
  public var sound = SoundRules()
  /// Chat messages kept for those who join later.
  public var chatHistory = 100

  /// A kind of this name with the settings of `group`.
  public init(kind: String) { self.kind = kind }

  /// Seats in a room of this class.
  public func seats(_ media: MediaClass) -> Int { media == .video ? videoSeats : audioSeats }
}

/// What joining a name that is not configured does.
public enum UnknownRoomRule: Hashable, Sendable {
  /// Creates a room that vanishes with its last participant.
  case create(RoomRules)
  /// Is refused with 2001.
  case refuse
}

/// All rules that the core follows.
public struct ConferenceRules: Hashable, Sendable {
  /// Named rooms; they exist, chat included, whether anybody is in them or not.
  public var rooms: [String: RoomRules] = [:]
  /// Kinds of rooms, of which operators may make some while the server runs.
  public var kinds: [String: RoomRules] = [:]
  /// All other names.
  public var unknownRooms = UnknownRoomRule.create(RoomRules(kind: "group"))
  /// The same names, where the one who joins comes for a single stream; nil: as for everybody. Where others are refused, so are they.
  public var streamRooms: RoomRules?
  /// How long a lost socket or lost media keeps its seat.
  public var resumeGrace = TimeDelta.milliseconds(15_000)
  /// For how long a session's media must have been silent before another of the same user and network may take its place unproven. Lower
  /// it, and who is only badly connected can be put out; a client that obeys RFC 7675 checks every 4 to 6 s.
  public var takeoverSilence = TimeDelta.seconds(5)
  /// How often a session that only waits is pinged, for its client to know.
  public var idlePing = TimeDelta.milliseconds(30_000)
  /// What one realm may have of all that.
  public var quotas = Quotas()
  /// Rooms that are not configured, at once.
  public var maxRooms = 1_000
  /// Sessions at once, those that wait to be resumed included.
  public var maxSessions = 5_000
  /// Sessions of one user whose name is proved, likewise; those of one client of a front door are one (`Identity.client`).
  public var maxSessionsPerUser = 64
  /// Sessions from one network, likewise.
  public var maxSessionsPerNetwork = 1_250
  /// Rooms that are not configured and in which nobody is but one user, whose name is proved. Those of calls are among them.
  public var maxRoomsPerUser = 16
  /// The same of all from one network.
  public var maxRoomsPerNetwork = 250
  /// Subscriptions that one seat may have.
  public var maxSubscriptions = 512
  /// Events kept for each session, to be replayed.
  public var replayEvents = 512
  /// Bytes of those that are large: offers, messages, what clients say of themselves.
  public var replayBytes = Self.mostReplayBytes
  /// The same for all sessions of one network together. More are given up, and their sessions get a snapshot where they are resumed.
  public var replayBytesPerNetwork = 64 << 20
  /// Requests whose replies each session remembers.
  public var requestWindow = 128
  /// Bytes of one chat message; never more than the protocol's 8 KiB.
  public var chatBytes = ProtocolLimits.textBytes
  /// Chat messages of one user, over all their sessions, on average …
  public var chatPerSecond = 5.0
  /// … and at once after a pause.
  public var chatBurst = 20
  /// Custom messages of one user, over all their sessions, on average …
  public var dataPerSecond = 100.0
  /// … and at once after a pause.
  public var dataBurst = 200
  /// Custom messages that the people of one room hear, of all senders, by weight, on average …
  public var roomDataPerSecond = 800.0
  /// … and at once after a pause; less where `outbox` is small.
  public var roomDataBurst = 400
  /// Bytes that may wait for one connection.
  public var outbox = 1 << 20
  /// The same, by weight and by those who hear it, for the server's sake: on average …
  public var dataSendsPerSecond = 15_000.0
  /// … and at once after a pause.
  public var dataSendBurst = 15_000
  /// Requests of one user over all their connections, counted by their weight (`Request.weight`), on average …
  public var userRequestsPerSecond = 100.0
  /// … and at once after a pause.
  public var userRequestBurst = 400
  /// Requests from one network, of all its users and sessions, by weight, on average …
  public var networkRequestsPerSecond = 2_000.0
  /// … and at once after a pause.
  public var networkRequestBurst = 40_000
  /// Offers to publish of one session, on average …
  public var offersPerSecond = 4.0
  /// … and at once after a pause. More let one publisher keep their whole audience negotiating: every change of their tracks is an offer
  /// to each of them.
  public var offerBurst = 20
  /// Changes of one session's views, each view counted, on average …
  public var showsPerSecond = 100.0
  /// … and at once after a pause. More let one viewer keep the workers busy with switching.
  public var showBurst = 400
  /// Requests of one moderator, on average …
  public var moderationsPerSecond = 5.0
  /// … and at once after a pause. More let one have everybody in a room told of something all the time.
  public var moderationBurst = 50
  /// Knocks of one user at the doors of rooms, whatever sessions they begin for it, on average …
  public var knocksPerSecond = 0.2
  /// … and at once after a pause. More let one bury moderators in their name.
  public var knockBurst = 10
  /// Knocks of all users from one network, on average …
  public var networkKnocksPerSecond = 2.0
  /// … and at once after a pause. Fewer keep a school behind one address waiting.
  public var networkKnockBurst = 200
  /// Whether users prove who they are, so that something can be taken from them by their names.
  public var provesUsers = true
  /// Addresses of proxies, who bring others: nobody is banned by one.
  public var proxies: [AddressRange] = []
  /// Blocks by all users from one network whose names nobody has proven, on average …
  public var networkBlocksPerSecond = 1.0 / 60
  /// … and at once after a pause. More let one network fill the table of blocks under names that it makes up.
  public var networkBlockBurst = 100
  /// Views that one seat may have; never more than the protocol's 49.
  public var maxViews = ProtocolLimits.views
  /// Streams that one seat may have with media connections of their own; with the first two no more than the media side takes
  /// (`MediaDirector.connectionsPerSeat`).
  public var maxStreams = 62
  /// Bytes of one frame, as clients are told; the front door enforces it.
  public var messageBytes = ProtocolLimits.messageBytes
  /// Whether there is a disk to keep things on. Where not, no `StoreEffect` comes.
  public var storesRecords = false
  /// How long a promise waits for the disk; then the client is told `stored: false`, and the change goes on by itself.
  public var storePatience = TimeDelta.seconds(5)
  /// How long after a restart the chat of a room that is not configured waits for somebody to come back.
  public var restoredChatTime = TimeDelta.seconds(600)
  /// What the application is asked about before it is done.
  public var questions = QuestionRules()
  /// Timers and bounds of calls.
  public var calls = CallRules()
  /// What a call's room is like; how many people it takes is `calls`' to decide.
  public var callRoom = RoomRules(kind: "group")
  /// Whether there are webhook subscribers: `OutsideEffect.webhook`.
  public var hasWebhooks: Bool { calls.isFollowed }
  /// Whether they are told what is written in chats.
  public var tellsChat = false
  /// What clients are told to use for their peer connections.
  public var iceServers: [ICEServer] = []

  /// The most that `replayBytes` should be. Raising it lets each session keep so much more, and a client that resumes get so much at once.
  public static let mostReplayBytes = 512 << 10

  /// The defaults: any name is a group room.
  public init() {}

  /// Bytes that a message of the chat may have.
  package var mostChatBytes: Int { min(chatBytes, ProtocolLimits.textBytes) }

  /// Tracks that one participant may publish in the room that takes most.
  package var mostTracks: Int {
    var all = Array(rooms.values) + kinds.values
    if case .create(let unknown) = unknownRooms { all += [unknown] + [streamRooms].compactMap(\.self) }
    return all.map(\.tracksPerParticipant).max() ?? 0
  }

  /// The rules for a name, for somebody who comes for a single stream or not; nil where there is no such room.
  public func rules(forRoom name: String, ofStream isOfStream: Bool = false) -> RoomRules? {
    if let named = rooms[name] { return named }
    guard case .create(let rules) = unknownRooms else { return nil }
    return isOfStream ? streamRooms ?? rules : rules
  }
}
