// A participant made of code: RoostClient for signalling, a peer connection each for publishing and subscribing on a driver
// thread. This file is its life; `SyntheticParticipant+Media.swift` is its negotiation.

import Basics
import Crypto
import RoostClient
import RoostProtocol

/// Why a participant could not do what it was told.
public enum SyntheticError: Error, Sendable, CustomStringConvertible {
  /// Signalling said no, or could not be reached.
  case signalling(RoostError)
  /// A description of the server is not usable.
  case description(String)
  /// There is no such track, or the participant is not in a room.
  case state(String)

  /// The protocol's error code, when the server refused.
  public var code: Int? { if case .signalling(let error) = self { error.code } else { nil } }

  /// A sentence.
  public var description: String {
    switch self {
    case .signalling(let error): error.description
    case .description(let text), .state(let text): text
    }
  }
}

/// One of a participant's two peer connections.
public enum PeerRole: Sendable, Hashable, CaseIterable {
  case publish, subscribe
}

/// What happened to a peer connection.
public struct MediaIncident: Sendable, Hashable {
  /// What it can be.
  public enum Kind: Sendable, Hashable {
    /// Keys are there: media flows.
    case connected
    /// The server stopped answering consent checks (RFC 7675).
    case lostConsent
    /// The connection is over, for this reason.
    case failed(String)
  }
  /// Which connection.
  public var role: PeerRole
  /// What happened.
  public var kind: Kind
}

/// A light, real WebRTC participant: joins, publishes, subscribes to everything and checks what it receives.
///
///     let driver = MediaDriver(threads: 2)
///     let anna = SyntheticParticipant(SyntheticConfiguration(url: url, room: "demo", user: "anna"), driver: driver)
///     try await anna.join()
///     try await anna.setMuted("camera", true)
///     print(await anna.statistics.received.allSatisfy(\.isClean))
///     await anna.leave()
public actor SyntheticParticipant {
  /// What it was made from.
  public nonisolated let configuration: SyntheticConfiguration
  /// The signalling session; nil before `join`.
  public private(set) var session: RoostSession?
  /// The room, or the call's room, as it was at the join.
  public private(set) var joined: RoomSnapshot?
  /// What happened to the peer connections, in order.
  public private(set) var incidents: [MediaIncident] = []
  /// What went wrong and is nobody's reply: refused answers, a session that had to begin anew.
  public private(set) var problems: [String] = []
  /// What the server told of failed media, in order (event `media.failed`).
  public internal(set) var mediaFailures: [MediaEvent] = []
  /// What the server said last of this participant's own ways (event `room.quality`); nil while it has said nothing.
  public internal(set) var ownQuality: OwnQuality?
  /// Chat messages of others that came, by user: their texts.
  public internal(set) var chat: [String: [String]] = [:]
  /// Published tracks by label.
  public internal(set) var trackIds: [String: String] = [:]

  let thread: DriverThread
  let certificate: Certificate
  let sessionID: UInt64
  var random: SplitMix64
  var tracks: [SendTrack] = []
  var publishing: Negotiated
  var subscribing: Negotiated
  var lines: [ReceiveLine] = []
  /// Subscriptions whose layer was asked for.
  var chosen: Set<String> = []
  /// The stream that is played by another door than the native one; nil before `play`, and for all others.
  var player: (any Player)?
  private let gate = Gate()
  private var hasVanished = false
  private var reader: Task<Void, Never>?
  private var watcher: Task<Void, Never>?
  private let incidentStream: AsyncStream<MediaIncident>
  private let tellIncident: AsyncStream<MediaIncident>.Continuation

  /// A peer connection as signalling sees it.
  struct Negotiated {
    let key: ConnectionKey
    var credentials: ICECredentials
    var remote: ICECredentials?
    /// Where the server listens for it.
    var server: SocketAddress?
    var version: UInt64 = 0
  }

  /// A participant that has not joined yet. `driver` must outlive it.
  public init(_ configuration: SyntheticConfiguration, driver: MediaDriver) throws(SyntheticError) {
    self.configuration = configuration
    thread = driver.nextThread()
    do {
      certificate = try Certificate(wallMilliseconds: Self.wallMilliseconds)
    } catch {
      throw .state("no certificate: \(error)")
    }
    random = SplitMix64(seed: configuration.seed)
    sessionID = random.next() >> 2
    var secure = SecureRandomGenerator()
    publishing = Negotiated(key: thread.makeKey(), credentials: .random(using: &secure))
    subscribing = Negotiated(key: thread.makeKey(), credentials: .random(using: &secure))
    (incidentStream, tellIncident) = AsyncStream.makeStream()
  }

  deinit {
    reader?.cancel()
    tellIncident.finish()
    for key in [publishing.key, subscribing.key] { thread.post(.close(key, politely: false)) }
  }

  // MARK: Coming and going

  /// Connects, joins the room and publishes; returns when the server has answered. Media comes up after that: see
  /// `waitUntilConnected`.
  /// - Throws: `.signalling` with the server's refusal. The participant can be thrown away then.
  @discardableResult
  public func join() async throws(SyntheticError) -> RoomSnapshot {
    let session = try await connect()
    let params = RoomJoinParams(
      room: configuration.room, displayName: configuration.displayName, media: configuration.roomMedia,
      autoSubscribe: configuration.receives, takeover: configuration.takesOver.map { _ in true },
      resumeToken: configuration.takesOver)
    do throws(SyntheticError) {
      guard case .room(let snapshot) = try await enter(by: .room(.join(params))) else {
        throw SyntheticError.signalling(.unexpectedReply(.roomJoin))
      }
      return snapshot
    } catch {
      closeConnections(politely: false)
      await session.close()
      throw error
    }
  }

  /// Connects, and takes no seat yet: for one who will call or be called.
  @discardableResult
  public func connect() async throws(SyntheticError) -> RoostSession {
    let session = try await openSession()
    let events = await session.events()
    openConnections()
    read(events)
    return session
  }

  /// Takes the seat that a request gives, and publishes: `room.join`, `call.start`, `call.accept`, `call.join`. A second seat
  /// takes the place of the first, with media connections of its own.
  @discardableResult
  public func enter(by request: Request) async throws(SyntheticError) -> Reply {
    guard let session else { throw .state("not connected") }
    if joined != nil { renewConnections() }
    let reply: Reply
    do {
      reply = try await session.request(request)
    } catch {
      throw .signalling(error)
    }
    guard let snapshot = reply.seat else { throw .signalling(.unexpectedReply(request.method)) }
    joined = snapshot
    if !tracks.isEmpty { try await offer() }
    return reply
  }

  private func openSession() async throws(SyntheticError) -> RoostSession {
    let hello = HelloParams(
      user: configuration.user, token: configuration.token, deviceId: configuration.deviceId,
      displayName: configuration.displayName)
    var options = configuration.session
    options.transport = gate.guarding(options.transport)
    do {
      let session = try await RoostSession.connect(to: configuration.url, hello: hello, options: options)
      self.session = session
      return session
    } catch {
      throw .signalling(error)
    }
  }

  /// Leaves the room or hangs up, closes the session and both connections.
  public func leave() async {
    if hasVanished { return }
    closeConnections(politely: true)
    await player?.stop()
    if let session {
      if let joined { _ = try? await session.request(.room(.leave(RoomParams(room: joined.room)))) }
      await session.close()
    }
    reader?.cancel()
  }

  /// Is gone from one moment to the next: sockets close without a word, and the session does not come back.
  public func vanish() async {
    hasVanished = true
    closeConnections(politely: false)
    gate.shut()
    reader?.cancel()
  }

  /// Ends both connections, with a DTLS close_notify where `politely`. The session goes on.
  public func closeConnections(politely: Bool) {
    for key in [publishing.key, subscribing.key] { thread.post(.close(key, politely: politely)) }
  }

  // MARK: State

  /// Counts of both connections, as they are now.
  public var statistics: ParticipantStatistics {
    get async {
      let keys = [publishing.key, subscribing.key]
      let reports = await withCheckedContinuation { answer in
        thread.post(.statistics(keys) { answer.resume(returning: $0) })
      }
      var result = reports[subscribing.key]?.media ?? ParticipantStatistics()
      result.sent = reports[publishing.key]?.media.sent ?? []
      result.publish = reports[publishing.key]?.connection ?? ConnectionStatistics()
      result.subscribe = reports[subscribing.key]?.connection ?? ConnectionStatistics()
      return result
    }
  }

  /// The room as it is now.
  public var room: RoomSnapshot? {
    get async { await session?.currentRoom }
  }

  /// Waits until both connections (the publish one where anything is published) have keys; false after `timeout`, or when
  /// one has failed.
  public func waitUntilConnected(timeout: Duration = .seconds(20)) async -> Bool {
    let end = ContinuousClock.now + timeout
    while ContinuousClock.now < end {
      let now = await statistics
      let states = tracks.isEmpty ? [now.subscribe.state] : [now.subscribe.state, now.publish.state]
      if states.allSatisfy({ $0 == .connected }) { return true }
      if states.contains(where: { if case .failed = $0 { true } else { false } }) { return false }
      try? await Task.sleep(for: .milliseconds(20))
      if Task.isCancelled { return false }
    }
    return false
  }

  /// What there is to know of the publish connection; nil before the server has answered.
  public var floodTarget: FloodTarget? {
    get async {
      guard let server = publishing.server, let remote = publishing.remote, let stream = await statistics.sent.first
      else { return nil }
      return FloodTarget(
        server: server, username: "\(remote.ufrag):\(publishing.credentials.ufrag)", password: remote.password,
        ssrc: stream.ssrc)
    }
  }

  // MARK: The network's tricks

  /// Changes how the network treats both connections from now on.
  public func setImpairments(_ impairments: Impairments) {
    for key in [publishing.key, subscribing.key] { thread.post(.tell(key, .impair(impairments))) }
  }

  /// Throws `count` datagrams of a storm at the server, at once: about what it receives, and for RTP where it publishes.
  public func send(_ storm: Storm, count: Int) {
    let key = storm == .brokenRTP ? publishing.key : subscribing.key
    thread.post(.tell(key, .storm(storm, count)))
  }

  /// Goes on from another UDP port, as a phone that changes its network: ICE tells the server by itself.
  public func changeAddress(_ roles: Set<PeerRole> = [.publish, .subscribe]) {
    for role in roles {
      thread.post(.rebind(role == .publish ? publishing.key : subscribing.key, bind: configuration.bindAddress))
    }
  }

  func note(_ problem: String) { problems.append(problem) }

  // MARK: Wiring

  func openConnections() {
    tracks = makeTracks()
    for role in PeerRole.allCases where role == .subscribe || !tracks.isEmpty { open(role) }
    let stream = incidentStream
    watcher = Task { [weak self] in
      for await incident in stream { await self?.take(incident) }
    }
  }

  /// Media transports belong to the seat: a new one has new ones.
  private func renewConnections() {
    closeConnections(politely: true)
    var secure = SecureRandomGenerator()
    publishing = Negotiated(key: thread.makeKey(), credentials: .random(using: &secure))
    subscribing = Negotiated(key: thread.makeKey(), credentials: .random(using: &secure))
    (lines, trackIds, tracks) = ([], [:], makeTracks())
    for role in PeerRole.allCases where role == .subscribe || !tracks.isEmpty { open(role) }
  }

  func open(_ role: PeerRole) {
    let end = role == .publish ? publishing : subscribing
    let setup = ConnectionSetup(
      certificate: certificate, credentials: end.credentials, dtlsRole: configuration.dtlsRole,
      splitsClientHello: configuration.misbehaviour.contains(.splitClientHello),
      usesServersSRTP: configuration.usesServersSRTP,
      spotChecks: configuration.spotChecks,
      impairments: configuration.impairments, feedback: configuration.feedback, user: configuration.user,
      seed: random.next(),
      wallOrigin: Self.wallMilliseconds - MediaDriver.now.nanoseconds / 1_000_000,
      tracks: role == .publish ? tracks : [], fault: configuration.fault,
      inspector: role == .subscribe ? configuration.inspector : nil)
    let tell = tellIncident
    thread.post(
      .open(end.key, setup, bind: configuration.bindAddress) { tell.yield(MediaIncident(role: role, kind: $0.kind)) })
  }

  private func take(_ incident: MediaIncident) { incidents.append(incident) }

  private func read(_ events: AsyncStream<SessionEvent>) {
    reader = Task { [weak self] in
      for await event in events {
        guard let self else { return }
        await self.take(event)
      }
    }
  }
}

extension Reply {
  /// The room of the seat that the request gave.
  fileprivate var seat: RoomSnapshot? {
    switch self {
    case .room(let snapshot): snapshot
    case .callStarted(let result): result.room
    case .callRoom(let result): result.room
    default: nil
    }
  }
}

extension ConnectionEvent {
  fileprivate var kind: MediaIncident.Kind {
    switch self {
    case .connected: .connected
    case .lostConsent: .lostConsent
    case .failed(let reason): .failed(reason)
    }
  }
}
