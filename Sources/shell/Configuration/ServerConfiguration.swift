// Everything that an operator can decide, as plain values. `ServerConfiguration()` is a complete working server; what
// rooms.yaml says is laid over it (ReadConfiguration.swift). The keys' meaning is told once, in rooms.yaml.
import Basics
import Names

/// What the server listens on, which rooms it has, and its limits and timers. Everything in it has been validated.
public struct ServerConfiguration: Hashable, Sendable {
  /// Where HTTP and WebSocket clients arrive.
  public var listen = Listen()
  /// Where apps arrive that were written for Flashphoner's SDKs.
  public var flashphoner = Flashphoner()
  /// The UDP side: ports, workers, addresses.
  public var media = Media()
  /// The kinds of rooms, by name.
  public var kinds: [String: RoomSettings] = RoomSettings.builtInKinds
  /// The named rooms, by name; each already has its kind's settings with its own overrides laid over them.
  public var rooms: [String: RoomSettings] = ["demo": .demo]
  /// What happens when somebody joins a name that is not in `rooms`.
  public var unknownRooms = UnknownRooms.create(kind: "group")
  /// What realms have of their own, by name; `default` is among them where the file names it.
  public var realms: [Realm: RealmSettings] = [:]
  /// What a chat message may be.
  public var chat = Chat()
  /// How many custom messages one may send.
  public var messages = Messages()
  /// Where records are kept.
  public var storage = Storage()
  /// Who is told by HTTP what happens.
  public var webhooks = Webhooks()
  /// Who is asked by HTTP before something is done.
  public var hooks = Hooks()
  /// Bounds on what clients together and each alone may use.
  public var limits = Limits()
  /// Timers of a session.
  public var sessions = Sessions()
  /// Timers of calls (docs/protocol.md).
  public var calls = Calls()
  /// How much is logged, and how.
  public var log = Log()
  /// STUN and TURN servers that clients are told to use; the server itself needs none.
  public var iceServers: [ICEServer] = []
  /// Who may come in.
  public var access = Access()
  /// Who may read `/metrics`, and who may operate.
  public var admin = Admin()
  /// The API for an application's own servers.
  public var api = API()

  /// A working demo: three seats in room `demo`, any other name a group room, on this machine only.
  public init() {}

  /// The settings for a room that somebody wants to join; nil when there is no such room and none may be created.
  public func settings(forRoom name: String) -> RoomSettings? {
    if let named = rooms[name] { return named }
    guard case .create(let kind) = unknownRooms else { return nil }
    return kinds[kind]
  }
}

// MARK: - Where it listens

extension ServerConfiguration {
  /// The HTTP and WebSocket listener.
  public struct Listen: Hashable, Sendable {
    /// An address of this machine, or a wildcard; its port is the TCP port.
    public var address = SocketAddress(v4: 0x7f00_0001, port: 8080)
    /// Certificate and key when the server speaks TLS itself.
    public var tls: TLSFiles?
    /// For how long browsers are told to come back by TLS alone (RFC 6797), where the server speaks TLS; zero: they are told nothing.
    public var strictTransport = TimeDelta.seconds(8_760 * 3_600)
    /// Origins that pages may come from besides the server's own; `*` allows every page.
    public var allowedOrigins: [String] = []
    /// Names and addresses that the server is reached by, without ports; `*` stands for any.
    public var hosts: [String] = []
    /// Proxies that are believed whom they bring.
    public var trustedProxies: [AddressRange] = []
    /// Whether they say it before anything else of a connection, and nobody else connects.
    public var proxyProtocol = false

    /// `http://127.0.0.1:8080` unless changed.
    public init() {}

    /// The URL to open on this machine; a wildcard address is shown as localhost.
    public var url: String {
      let host = address.isWildcard ? "localhost" : address.isIPv4 ? address.host : "[\(address.host)]"
      return "\(tls == nil ? "http" : "https")://\(host):\(address.port)"
    }
  }

  /// The WebSocket listener for apps that were written for Flashphoner's SDKs, at the address of `listen`.
  public struct Flashphoner: Hashable, Sendable {
    /// Its TCP port; nil: there is none.
    public var port: UInt16?
    /// Certificate and key; nil: those of `listen`, where it has some.
    public var tls: TLSFiles?
    /// As in `listen`.
    public var proxyProtocol = false
    /// The applications that clients may name.
    public var appKeys = ["roomApp", "defaultApp"]

    /// No listener.
    public init() {}
  }

  /// Two PEM files.
  public struct TLSFiles: Hashable, Sendable {
    /// Path of the certificate, followed by its chain.
    public var certificate: String
    /// Path of its private key.
    public var key: String

    /// Both paths as they are to be opened.
    public init(certificate: String, key: String) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// The UDP side.
  public struct Media: Hashable, Sendable {
    /// UDP port of worker 0; worker n has `port` + n, on each of `addresses`.
    public var port: UInt16 = 40_000
    /// Worker threads; 0 stands for one per CPU (`workerCount(cpus:)`).
    public var workers = 1
    /// CPUs that workers are bound to, by the system's numbers, one after the other and from the front again; empty: several
    /// workers to the CPUs there are, one alone to none.
    public var cpus: [Int] = []
    /// Addresses to bind, port 0; a wildcard stands for all of this machine (`bindAddresses(interfaces:)`).
    public var addresses = [SocketAddress(v4: 0, port: 0), SocketAddress(high: 0, low: 0, port: 0)]
    /// Whether media is taken from the addresses alone that it is bound to: from this machine. No file says so; it is for a server
    /// without one.
    public var isForThisMachine = false
    /// What clients are told; empty: the addresses of this machine (`advertisedAddresses(interfaces:)`).
    public var advertise: [Advertised] = []
    /// Hint for publishers: the most that one video track should send, bits per second.
    public var maxBitsPerSecond = 2_500_000
    /// Of what a publisher sends for each track of video, above how many percent of `maxBitsPerSecond` it is dropped, 100 to 1000; 0: never.
    public var cutAbove = 200
    /// Connectivity checks with the right password that are looked at in a second, of each connection on paths that have passed one, and
    /// as many on new paths; 0: all.
    public var checksPerSecond = 20
    /// Video codecs in the order of preference.
    public var videoCodecs: [VideoCodec] = [.vp8, .vp9, .h264, .av1]
    /// Kernel receive buffer asked for per socket, bytes.
    public var receiveBufferBytes = 4 << 20
    /// Kernel send buffer asked for per socket, bytes.
    public var sendBufferBytes = 4 << 20
    /// How long a video packet may wait for others to the same receiver.
    public var coalesceVideo = TimeDelta.milliseconds(1)
    /// Likewise an audio packet.
    public var coalesceAudio = TimeDelta.milliseconds(2)
    /// Likewise an audio packet to an audience.
    public var coalesceAudience = TimeDelta.zero
    /// The share of a CPU, in percent, above which a worker takes nobody in, 1 to 100; 100: it always does.
    public var fullAbove = 85
    /// Which library seals and opens media.
    public var srtp = SRTPLibrary.auto

    /// One worker on UDP 40000, all addresses.
    public init() {}

    /// How many workers there are on a machine with `cpus` CPUs.
    public func workerCount(cpus: Int) -> Int { workers == 0 ? max(1, cpus) : workers }
    /// For each worker the place, among the CPUs `available` to the process, of the one that it is bound to; nil for none.
    /// - Throws: the first configured CPU that is not among them.
    public func places(ofWorkers count: Int, among available: [Int]) throws(MissingCPU) -> [Int?] {
      for cpu in cpus where !available.contains(cpu) { throw MissingCPU(number: cpu) }
      if cpus.isEmpty { return (0..<count).map { count > 1 ? $0 % max(available.count, 1) : nil } }
      return (0..<count).map { available.firstIndex(of: cpus[$0 % cpus.count]) }
    }
    /// What a publisher may send for each track of video, bits per second; nil: whatever it sends.
    public var videoBitsPerSecond: Int? { cutAbove == 0 ? nil : maxBitsPerSecond * cutAbove / 100 }
    /// Checks of a connection that are looked at in a second; nil: all.
    public var mostChecksPerSecond: Int? { checksPerSecond == 0 ? nil : checksPerSecond }
    /// What is wrong where the last of so many workers would have a port that there is not; nil where all have one.
    public func portProblem(ofWorkers count: Int) -> String? {
      guard Int(port) + count - 1 > 65_535 else { return nil }
      return "the last of \(count) workers would have a port above 65535"
    }
    /// The UDP port of one worker (0-based).
    public func port(ofWorker index: Int) -> UInt16 { UInt16(truncatingIfNeeded: Int(port) + index) }
  }

  /// A configured CPU that the process may not use.
  public struct MissingCPU: Error, Hashable, Sendable {
    /// The system's number of it.
    public var number: Int
  }

  /// A video codec that rooms may use, by its name in SDP.
  public enum VideoCodec: String, CaseIterable, Hashable, Sendable {
    case vp8 = "VP8"
    case vp9 = "VP9"
    case h264 = "H264"
    case av1 = "AV1"
  }

  /// A library for SRTP.
  public enum SRTPLibrary: String, CaseIterable, Hashable, Sendable {
    /// The fastest that this machine can use.
    case auto
    case ipsecMB = "ipsec-mb"
    case openSSL = "openssl"
    case libSRTP = "libsrtp"
  }

  /// One entry of a client's `iceServers` (W3C WebRTC, RTCIceServer).
  public struct ICEServer: Hashable, Sendable {
    /// `stun:`, `turn:` and `turns:` URLs.
    public var urls: [String]
    /// TURN user name.
    public var username: String?
    /// TURN password.
    public var credential: String?

    /// A server with its long-term credentials, if it wants any.
    public init(urls: [String], username: String? = nil, credential: String? = nil) {
      self.urls = urls
      self.username = username
      self.credential = credential
    }
  }
}

// MARK: - Rooms

/// What kind of media a room carries, which decides its cap.
public enum RoomMedia: String, CaseIterable, Hashable, Sendable {
  /// Always a video room.
  case video
  /// Always an audio room: video tracks are refused.
  case audio
  /// The first to join an empty room decides.
  case firstJoiner = "first_joiner"
}

/// What a room is like: a kind's settings, or those of one named room.
public struct RoomSettings: Hashable, Sendable {
  /// The name of the kind.
  public var kind: String
  /// People at once while the room carries video.
  public var videoLimit = 16
  /// People at once while the room carries audio only.
  public var audioLimit = 32
  /// Its media class.
  public var media = RoomMedia.firstJoiner
  /// Whose video is sent: that of so many who spoke last; nil: everybody's.
  public var videoLastN: Int?
  /// How many people may publish at once; nil: everybody.
  public var publishers: Int?
  /// How many WHEP players may come in beside the seats, taking none; nil: they take seats as everybody does.
  public var players: Int?
  /// Tracks that one person may publish.
  public var tracksPerParticipant = 8
  /// How many others everybody hears at once, the loudest of them; nil: all.
  public var audioLoudest: Int?
  /// Bits per second that one track of sound is asked to stay below on average.
  public var audioBitsPerSecond = 128_000
  /// Chat messages kept and shown to those who join later; 0 keeps none.
  public var chatHistory = 100

  /// A kind of this name with the settings of `group`.
  public init(kind: String) { self.kind = kind }

  /// Three seats, video.
  public static let demo = {
    var demo = RoomSettings(kind: "demo")
    (demo.videoLimit, demo.audioLimit, demo.media) = (3, 3, .video)
    return demo
  }()
  /// Sixteen seats with video, thirty-two with audio only.
  public static let group = RoomSettings(kind: "group")
  /// One publisher and five hundred who watch.
  public static let broadcast = {
    var broadcast = RoomSettings(kind: "broadcast")
    (broadcast.videoLimit, broadcast.audioLimit, broadcast.media) = (501, 501, .video)
    broadcast.publishers = 1
    return broadcast
  }()
  /// One stream: as `broadcast`, for clients that know streams by name and no rooms.
  public static let stream = {
    var stream = broadcast
    stream.kind = "stream"
    return stream
  }()
  /// The kinds that exist without being configured.
  public static let builtInKinds = ["demo": demo, "group": group, "broadcast": broadcast, "stream": stream]
}

/// What joining an unknown room name does.
public enum UnknownRooms: Hashable, Sendable {
  /// Creates the room from this kind.
  case create(kind: String)
  /// Is refused with 2001 ROOM_NOT_FOUND.
  case refuse
}

// MARK: - Limits and timers

extension ServerConfiguration {
  /// What a chat message may be.
  public struct Chat: Hashable, Sendable {
    /// Bytes of UTF-8 in one message.
    public var textBytes = 4096
    /// Messages per second that one session may send on average.
    public var messagesPerSecond = 5
    /// Messages that it may send at once after a pause.
    public var burst = 20

    /// 4 KiB a message, five a second.
    public init() {}
  }

  /// How many custom messages one user may send.
  public struct Messages: Hashable, Sendable {
    /// Messages per second of one user on average, by weight: also those of one connection.
    public var perSecond = 100
    /// What they may send at once after a pause.
    public var burst = 200

    /// A hundred a second.
    public init() {}
  }

  /// What outlives the process.
  public struct Storage: Hashable, Sendable {
    /// The database file; nil: nothing is kept.
    public var path: String? = "roost.db"
    /// How long call records are kept.
    public var callRecords = TimeDelta.seconds(90 * 86_400)
    /// How many of all users are kept; the oldest go first.
    public var mostCallRecords = 100_000
    /// How many of one user.
    public var callRecordsPerUser = 1_000

    /// `roost.db` beside the configuration file; without one, where the server is started.
    public init() {}
  }

  /// Who is told by HTTP what happens (docs/webhooks.md).
  public struct Webhooks: Hashable, Sendable {
    /// A web server that takes POST requests.
    public struct Endpoint: Hashable, Sendable {
      /// `http:` or `https:`.
      public var url: String
      /// What the requests are signed with, by each: one, and more while they are being changed.
      public var secrets: [String]

      /// Secrets that an endpoint may have. More make each request longer.
      public static let mostSecrets = 3

      /// Where, and with which secrets.
      public init(url: String, secrets: [String]) {
        self.url = url
        self.secrets = secrets
      }

      /// Where, and with which one secret.
      public init(url: String, secret: String) { self.init(url: url, secrets: [secret]) }
    }

    /// How much is kept of events, delivered or not.
    public struct Keep: Hashable, Sendable {
      /// How long.
      public var time = TimeDelta.seconds(7 * 86_400)
      /// How many bytes.
      public var size = 1 << 30

      /// Seven days and 1 GiB.
      public init() {}
    }

    /// Who wakes phones; nil: nobody.
    public var push: Endpoint?
    /// Who follows the life of rooms and calls; nil: nobody.
    public var events: Endpoint?
    /// Whether those are told what is written in chats.
    public var tellsChat = false
    /// How long one request may take.
    public var timeout = TimeDelta.seconds(10)
    /// How much is kept of events, where there is a record file.
    public var keep = Keep()
    /// How long a push is tried, and an event without a record file; a ring never longer than it rings.
    public var giveUpAfter = TimeDelta.seconds(86_400)
    /// Of such messages those that may wait for one endpoint.
    public var waiting = 10_000
    /// Requests to one endpoint at once.
    public var atOnce = 4

    /// Nobody is told.
    public init() {}
  }

  /// Bounds against floods and mistakes.
  public struct Limits: Hashable, Sendable {
    /// Rooms with somebody in them.
    public var rooms = 1000
    /// Sessions, those waiting to resume included.
    public var sessions = 5000
    /// Sessions of one user, where tokens prove who that is.
    public var sessionsPerUser = 64
    /// Sessions of all clients at one address; nil: a quarter of all.
    public var sessionsPerAddress: Int?
    /// Rooms that are not configured and in which nobody is but one user, where tokens prove who that is.
    public var roomsPerUser = 16
    /// The same of all clients at one address; nil: a quarter of all.
    public var roomsPerAddress: Int?
    /// Open TCP connections.
    public var connections = 6000
    /// Open TCP connections from one address.
    public var connectionsPerAddress = 1000
    /// Bytes in one message from a client.
    public var messageBytes = 512 << 10
    /// Requests per second that one connection may send on average, by weight.
    public var requestsPerSecond = 50
    /// Requests that it may send at once after a pause.
    public var requestBurst = 200
    /// The same of one user, over all connections.
    public var userRequestsPerSecond = 100
    /// What they may send at once after a pause.
    public var userRequestBurst = 400
    /// The same of all clients at one address, together; nil: two for each connection that it may have.
    public var addressRequestsPerSecond: Int?
    /// What they may send at once after a pause; nil: forty for each connection that it may have.
    public var addressRequestBurst: Int?
    /// Tokens of one address that are looked at in a second in the long run, and ten times as many at once; 0 for no bound.
    public var addressTokensPerSecond = 50
    /// Bytes that may wait for a client that does not read; then it is cut off.
    public var outboxBytes = 1 << 20

    /// Bounds for a machine of a few cores.
    public init() {}
  }

  /// Timers of a session.
  public struct Sessions: Hashable, Sendable {
    /// A new connection must say hello within this time.
    public var helloTimeout = TimeDelta.seconds(10)
    /// A session whose connection broke keeps its seat in a room this long.
    public var resumeGrace = TimeDelta.seconds(15)
    /// How often the server pings.
    public var pingInterval = TimeDelta.seconds(5)
    /// A connection that is silent for this long is dead.
    public var deadAfter = TimeDelta.seconds(15)
    /// How often the server pings a session that only waits: without a seat, and with no call that rings or runs on it. It is dead
    /// after three times as long.
    public var idlePing = TimeDelta.seconds(30)

    /// The timers of docs/protocol.md.
    public init() {}
  }

  /// Timers of calls.
  public struct Calls: Hashable, Sendable {
    /// How long a call rings when the caller asks for nothing else.
    public var ringTimeout = TimeDelta.seconds(30)
    /// The shortest ring that a caller may ask for.
    public var ringTimeoutMin = TimeDelta.seconds(5)
    /// The longest ring that a caller may ask for.
    public var ringTimeoutMax = TimeDelta.seconds(180)
    /// No device acknowledged the ring for this long: the push webhook is called.
    public var deliverTimeout = TimeDelta.seconds(5)
    /// Accepted, but media did not come up within this time.
    public var connectTimeout = TimeDelta.seconds(15)
    /// No ICE consent on a live connection for this long: reconnecting.
    public var mediaTimeout = TimeDelta.seconds(10)
    /// A leg whose connection or media broke keeps its seat in the call this long.
    public var resumeGrace = TimeDelta.seconds(15)
    /// The caller's last connection broke while it rings: the call ends after this time.
    public var callerGrace = TimeDelta.seconds(8)
    /// An unanswered request to change the media ends after this time.
    public var mediaChangeTimeout = TimeDelta.seconds(60)
    /// A group with one person and nobody ringing ends after this time; zero: never.
    public var aloneTimeout = TimeDelta.seconds(300)
    /// How long an ended call still answers what became of it.
    public var tombstone = TimeDelta.seconds(86_400)
    /// Users whom one user may ring in a minute, and as many at once; 0: no bound.
    public var ringsPerCaller = 120
    /// How often one user may be rung in a minute; 0: no bound.
    public var ringsPerCallee = 60
    /// How often one user may ring one other in a minute; 0: no bound.
    public var ringsPerPair = 10

    /// The timers of docs/protocol.md.
    public init() {}
  }

  /// Logging.
  public struct Log: Hashable, Sendable {
    /// The least important lines that are written.
    public enum Level: String, CaseIterable, Hashable, Sendable {
      case debug, info, warning, error
    }
    /// One line of text, or one JSON object, per event.
    public enum Format: String, CaseIterable, Hashable, Sendable {
      case text, json
    }
    /// The least important lines that are written.
    public var level = Level.info
    /// How lines look.
    public var format = Format.text

    /// Text from `info` on.
    public init() {}
  }
}
