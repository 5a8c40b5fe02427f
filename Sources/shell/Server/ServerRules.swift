// From the operator's file to what each part wants to know.

import Basics
import Calls
import Configuration
import Crypto
import DoorKit
import Flashphoner
import Logging
import Members
import Names
import Negotiation
import RTP
import RoostProtocol
import WebSockets
import Whip

extension RoomRules {
  init(_ settings: RoomSettings) {
    self.init(kind: settings.kind)
    videoSeats = settings.videoLimit
    audioSeats = settings.audioLimit
    media =
      switch settings.media {
      case .video: .video
      case .audio: .audio
      case .firstJoiner: nil
      }
    tracksPerParticipant = settings.tracksPerParticipant
    publishers = settings.publishers
    players = settings.players
    videoLastN = settings.videoLastN
    sound.loudest = settings.audioLoudest
    sound.maxBitsPerSecond = settings.audioBitsPerSecond
    chatHistory = settings.chatHistory
  }
}

extension Quotas {
  init(_ quotas: RealmQuotas) {
    self.init()
    (sessions, participants) = (quotas.sessions, quotas.participants)
    (rooms, calls) = (quotas.rooms, quotas.calls)
  }
}

extension ConferenceRules {
  /// Those of each realm.
  static func realms(of configuration: ServerConfiguration) -> [Realm: ConferenceRules] {
    var rules: [Realm: ConferenceRules] = [:]
    for realm in configuration.realmNames { rules[realm] = ConferenceRules(configuration, realm: realm) }
    return rules
  }

  init(_ configuration: ServerConfiguration, realm: Realm = .default) {
    self.init()
    let settings = configuration.settings(of: realm)
    rooms = settings.rooms.mapValues { RoomRules($0) }
    kinds = configuration.kinds.mapValues { RoomRules($0) }
    quotas = Quotas(settings.quotas)
    unknownRooms =
      switch settings.unknownRooms {
      case .create(let kind): configuration.kinds[kind].map { .create(RoomRules($0)) } ?? .refuse
      case .refuse: .refuse
      }
    if configuration.flashphoner.port != nil { streamRooms = configuration.kinds["stream"].map { RoomRules($0) } }
    resumeGrace = configuration.sessions.resumeGrace
    idlePing = configuration.sessions.idlePing
    callRoom = RoomRules(configuration.kinds["group"] ?? .group)
    calls = CallRules(configuration)
    maxRooms = configuration.limits.rooms
    maxSessions = configuration.limits.sessions
    (maxSessionsPerUser, maxRoomsPerUser) = (configuration.limits.sessionsPerUser, configuration.limits.roomsPerUser)
    // Four addresses at least are needed to use up all there is.
    maxSessionsPerNetwork = configuration.limits.sessionsPerAddress ?? (maxSessions + 3) / 4
    maxRoomsPerNetwork = configuration.limits.roomsPerAddress ?? (maxRooms + 3) / 4
    chatBytes = configuration.chat.textBytes
    messageBytes = configuration.limits.messageBytes
    // What a resume repeats must not look like a client that does not read.
    outbox = configuration.limits.outboxBytes
    replayBytes = min(Self.mostReplayBytes, outbox / 2)
    userRequestsPerSecond = Double(configuration.limits.userRequestsPerSecond)
    userRequestBurst = configuration.limits.userRequestBurst
    // An office behind one address has as many connections as it may have people, and a load test is configured for as many.
    let perAddress = configuration.limits.connectionsPerAddress
    networkRequestsPerSecond = Double(configuration.limits.addressRequestsPerSecond ?? 2 * perAddress)
    networkRequestBurst = configuration.limits.addressRequestBurst ?? 40 * perAddress
    chatPerSecond = Double(configuration.chat.messagesPerSecond)
    chatBurst = configuration.chat.burst
    dataPerSecond = Double(configuration.messages.perSecond)
    dataBurst = configuration.messages.burst
    proxies = configuration.listen.trustedProxies
    provesUsers = !configuration.access.keys.isEmpty
    iceServers = configuration.iceServers.map {
      RoostProtocol.ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential)
    }
  }
}

extension CallRules {
  init(_ configuration: ServerConfiguration) {
    self.init()
    let timers = configuration.calls
    (ringTimeout, ringTimeoutRange) = (timers.ringTimeout, timers.ringTimeoutMin...timers.ringTimeoutMax)
    (deliverTimeout, connectTimeout) = (timers.deliverTimeout, timers.connectTimeout)
    (resumeGrace, callerGrace) = (timers.resumeGrace, timers.callerGrace)
    (mediaChangeTimeout, aloneTimeout) = (timers.mediaChangeTimeout, timers.aloneTimeout)
    tombstone = timers.tombstone
    (ringsPerCaller, ringsPerCallee) = (timers.ringsPerCaller, timers.ringsPerCallee)
    ringsPerPair = timers.ringsPerPair
    let group = configuration.kinds["group"] ?? .group
    (videoSeats, audioSeats) = (group.videoLimit, group.audioLimit)
    maxCalls = configuration.limits.rooms
  }
}

extension PublishOptions {
  init(_ configuration: ServerConfiguration) {
    self.init()
    maxBitsPerSecond = configuration.media.maxBitsPerSecond
    // How many tracks a participant may publish is the room's rule; this bounds the size of a description.
    maxTracks = maxMediaLines
    codecs = [.opus] + configuration.media.videoCodecs.flatMap(\.profiles)
  }
}

extension ServerConfiguration.VideoCodec {
  /// What a codec's name in the file stands for, best first.
  var profiles: [CodecProfile] {
    switch self {
    case .vp8: [.vp8]
    case .vp9: [.vp9Profile0, .vp9Profile2]
    case .av1: [.av1]
    case .h264:
      [
        .h264ConstrainedBaseline, .h264ConstrainedBaselineMode0, .h264Baseline, .h264BaselineMode0, .h264Main,
        .h264MainMode0, .h264High, .h264HighMode0,
      ]
    }
  }
}

extension DoorLimits {
  init(_ configuration: ServerConfiguration) {
    self.init()
    requestsPerSecond = Double(configuration.limits.requestsPerSecond)
    burst = configuration.limits.requestBurst
    dataPerSecond = Double(configuration.messages.perSecond)
    dataBurst = configuration.messages.burst
    dataUnanswered = max(dataUnanswered, dataBurst)
    helloTimeout = configuration.sessions.helloTimeout
  }
}

extension WhipDoor.Surroundings {
  init(_ configuration: ServerConfiguration) {
    self.init()
    let web = WebServerConfiguration(configuration)
    origins = web.origins
    iceServers = ConferenceRules(configuration).iceServers
  }
}

extension WebServerConfiguration {
  /// The listener for Flashphoner's apps; nil where there is none. Their pages come from ports of their own.
  static func flashphoner(_ configuration: ServerConfiguration) -> WebServerConfiguration? {
    guard let port = configuration.flashphoner.port else { return nil }
    var server = WebServerConfiguration(configuration)
    server.addresses = server.addresses.map { SocketAddress(high: $0.high, low: $0.low, port: port) }
    server.webSocketPath = "/"
    server.takesProxyHeaders = configuration.flashphoner.proxyProtocol
    if let files = configuration.flashphoner.tls {
      server.tls = WebSockets.TLSFiles(certificate: files.certificate, privateKey: files.key)
    }
    if case .sameHost(let allowed) = server.origins { server.origins = .sameName(allowing: allowed) }
    return server
  }
}

extension WebServerConfiguration {
  /// The listener for operators; nil where they come to the port of the page. It has no WebSockets, and places of its own: where all
  /// others are taken, operators still come in.
  static func admin(_ configuration: ServerConfiguration) -> WebServerConfiguration? {
    configuration.admin.ownAddress.map {
      WebServerConfiguration(configuration, at: $0, configuration.admin.tls, connections: (256, 64))
    }
  }

  /// The listener of the API; nil where there is none. It has no WebSockets, and places of its own. An application has few addresses.
  static func api(_ configuration: ServerConfiguration) -> WebServerConfiguration? {
    configuration.api.ownAddress.map {
      var server = WebServerConfiguration(configuration, at: $0, configuration.api.tls, connections: (512, 256))
      // As many as requests.
      server.connectionsPerSecondPerAddress = server.requestsPerSecondPerAddress
      return server
    }
  }

  /// A listener without WebSockets.
  private init(
    _ configuration: ServerConfiguration, at address: SocketAddress, _ tls: ServerConfiguration.TLSFiles?,
    connections: (all: Int, perAddress: Int)
  ) {
    self.init(configuration)
    addresses = [address]
    self.tls = tls.map { WebSockets.TLSFiles(certificate: $0.certificate, privateKey: $0.key) }
    webSocketPath = nil
    takesProxyHeaders = false
    (maximumConnections, maximumConnectionsPerAddress) = connections
  }
}

extension Logger {
  /// A logger of the level and format that the file wants, to standard error.
  public init(_ log: ServerConfiguration.Log) {
    self.init(level: LogLevel(log.level), format: log.format == .json ? .json : .text)
  }

  /// The same with `sink`, which takes its lines.
  public init(_ log: ServerConfiguration.Log, sink: @escaping Sink) {
    self.init(level: LogLevel(log.level), format: log.format == .json ? .json : .text, sink: sink)
  }
}

extension LogLevel {
  fileprivate init(_ level: ServerConfiguration.Log.Level) {
    self =
      switch level {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      case .error: .error
      }
  }
}

/// Who may read `/metrics`, by the client's address.
struct MetricsAudience: Sendable {
  private let audience: ServerConfiguration.Admin.Audience

  init(_ audience: ServerConfiguration.Admin.Audience) { self.audience = audience }

  /// Whether this request may be answered.
  func admits(_ request: HTTPRequest) -> Bool {
    switch audience {
    case .everyone: true
    case .nobody: false
    case .local: request.peer?.isLoopback ?? false
    }
  }
}

extension WebServerConfiguration {
  init(_ configuration: ServerConfiguration) {
    let origins = configuration.listen.allowedOrigins
    self.init(
      addresses: [configuration.listen.address],
      tls: configuration.listen.tls.map { WebSockets.TLSFiles(certificate: $0.certificate, privateKey: $0.key) },
      origins: origins.contains("*") ? .any : .sameHost(allowing: origins),
      limits: WebSocketLimits(
        maximumMessageBytes: configuration.limits.messageBytes,
        strangersMessageBytes: ProtocolLimits.strangersMessageBytes,
        maximumQueuedBytes: configuration.limits.outboxBytes,
        pingInterval: configuration.sessions.pingInterval, silenceLimit: configuration.sessions.deadAfter,
        idlePingInterval: configuration.sessions.idlePing),
      maximumConnections: configuration.limits.connections,
      maximumConnectionsPerAddress: configuration.limits.connectionsPerAddress)
    // Where a page may come from, the server may be: behind a proxy they are one.
    let besides = origins.filter { $0.contains("://") && !$0.contains("*") }
      .compactMap { $0.split(separator: "/").last.map(String.init) }
    hosts = HostPolicy(names: configuration.listen.hosts, besides: besides)
    proxies = TrustedProxies(configuration.listen.trustedProxies)
    takesProxyHeaders = configuration.listen.proxyProtocol
    // Browsers take it for all ports of a host: it is said where its page comes by TLS.
    let strict = configuration.listen.strictTransport
    if configuration.listen.tls != nil, strict > .zero { strictTransportSeconds = Int(strict.milliseconds / 1000) }
  }
}
