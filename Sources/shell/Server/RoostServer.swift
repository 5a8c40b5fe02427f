// The whole server in one value: workers, conference thread, front doors. Starts in that order and stops in the reverse.

import Admin
import Basics
import Configuration
import Crypto
import DoorKit
import Flashphoner
import Glibc
import Logging
import Media
import MediaControl
import MediaWorker
import Members
import Names
import NativeDoor
import Negotiation
import RTP
import SRTP
import Threads
import WebSockets
import Whip

/// Why the server could not start, in words for the operator.
public struct StartError: Error, CustomStringConvertible {
  /// The key of the configuration that is to be changed; nil where none is to blame.
  public let key: String?
  /// What went wrong and what to do.
  public let message: String

  init(_ message: String, key: String? = nil) {
    self.key = key
    self.message = message
  }

  /// Both on one line.
  public var description: String { key.map { "\($0): \(message)" } ?? message }
}

/// A running server.
///
///     let server = try RoostServer.start(.withoutFile, log: logger)
///     print(server.url)
///     server.stop()
public final class RoostServer: Sendable {
  /// The front doors, by their ids in this order: what another one takes in this file is a line.
  static let doors: [DoorMaker] = [
    FrontDoor.maker,
    WhipDoor.maker,
    FlashphonerDoor.maker,
  ]

  private let configuration: ServerConfiguration
  private let workers: [MediaWorker]
  private let conference: ConferenceThread
  private let outside: Outside
  private let listeners: Listeners
  private let metrics: MetricsCollector
  private let memory: MemoryThread
  private let readiness: ReadinessState
  private let log: Logger

  /// Opens every port, starts every thread and returns once clients are answered.
  public static func start(_ configuration: ServerConfiguration, log: Logger) throws(StartError) -> RoostServer {
    try RoostServer(configuration, log: log, doors: doors)
  }

  init(_ configuration: ServerConfiguration, log: Logger, doors makers: [DoorMaker]) throws(StartError) {
    self.configuration = configuration
    self.log = log
    let revoked = RevokedTokens()
    let tokens = try Self.tokenGate(configuration, revoked, log)
    let inbox = ConferenceInbox(ConferenceRules(configuration))
    let certificate = try Self.makeCertificate()
    let backend = try Self.srtpBackend(configuration.media.srtp)
    let told = try Self.advertised(configuration)
    workers = try Self.startWorkers(configuration, certificate: certificate, backend: backend, inbox: inbox)
    let workers = self.workers
    readiness = ReadinessState()
    let lines = SessionLines(log)
    let doors = Doors(
      makers.enumerated().map { number, maker in
        maker(
          configuration,
          DoorSurroundings(
            id: DoorID(UInt16(number)), log: log, lines: lines, tokens: tokens,
            isOverloaded: { inbox.isOverloaded(for: $0) }, sink: { inbox.post(.command($0)) }))
      })
    let director = MediaDirector(
      workers: workers.enumerated().map { .init(addresses: Self.candidates(of: $1, number: $0, told)) },
      fingerprint: certificate.sha256Fingerprint,
      publishOptions: PublishOptions(configuration), fullAbove: configuration.media.fullAbove)
    var rules = ConferenceRules.realms(of: configuration)
    let (outside, restored) = Outside.start(configuration, rules: &rules, inbox: inbox, log: log)
    self.outside = outside
    conference = ConferenceThread(
      mailbox: inbox.mailbox, rules: rules, restored: restored, director: director, logger: log, lines: lines,
      outputs: ConferenceOutputs(
        deliver: { doors.deliver($0) },
        store: { outside.carryOut($0, of: $1) },
        outside: { outside.carryOut($0, of: $1) },
        endNews: { outside.endStep() },
        command: { worker, commands in workers[worker].post(commands) },
        setRevoked: { revoked.set($0, in: $1, $2) },
        housekeeping: { doors.closeIdle() }))
    let served = Locked<@Sendable () -> [ListenerFigures]>({ [] })
    metrics = MetricsCollector(
      .init(
        conference: conference.mailbox, workers: workers, doors: doors.all, tokens: tokens,
        listeners: { served.withLock { $0 }() }, outside: { outside.figures }, log: log))
    do throws(StartError) {
      listeners = try Listeners(
        configuration,
        .init(
          doors: doors.all, readiness: readiness, metrics: metrics, conference: conference.mailbox,
          outside: outside, log: log))
    } catch {
      metrics.stop()
      conference.stop()
      outside.stop()
      for worker in workers { worker.stop() }
      throw error
    }
    memory = MemoryThread(log: log)
    served.withLock { $0 = listeners.figures }
    readiness.set(.ready)
    let srtp = (backend ?? .preferred(for: .preferenceOrder[0])).described
    log.info("started", ["url": LogValue(url), "workers": LogValue(workers.count), "srtp": LogValue(srtp)])
  }

  /// Where the page is, for people on this machine.
  public var url: String {
    var listen = configuration.listen
    listen.address.port = listeners.web.port
    return listen.url
  }

  /// The TCP port of the web server.
  public var port: UInt16 { listeners.web.port }

  /// The TCP port for operators; nil where they come to the one above.
  public var adminPort: UInt16? { listeners.admin?.port }

  /// The TCP port of the API; nil where there is none.
  public var apiPort: UInt16? { listeners.api?.port }

  /// The TCP port of a door's own web server, by the name of its block in the configuration; nil where there is none.
  public func port(of listener: String) -> UInt16? { listeners.own.first { $0.name == listener }?.server.port }

  /// UDP addresses of the workers.
  public var mediaAddresses: [[SocketAddress]] { workers.map(\.addresses) }

  /// Tells every client to reconnect elsewhere, closes everything and returns when all threads have ended. Takes about
  /// a second at most, and before it `answering`, or less when all clients are gone sooner: so long requests are answered,
  /// those for something new with 5001. Call it once.
  public func stop(answering: TimeDelta = .zero) {
    readiness.set(.draining("the server is stopping"))
    conference.mailbox.post(.command(.drain(retryAfterMilliseconds: 1_000)))
    answer(for: answering)
    conference.stop()
    listeners.stop()
    metrics.stop()
    memory.stop()
    outside.stop()
    for worker in workers { worker.stop() }
    log.info("stopped")
  }

  private func answer(for time: TimeDelta) {
    let end = MonotonicClock.now() + time
    while listeners.webSocketsOpen > 0, MonotonicClock.now() < end { usleep(10_000) }
  }

  // MARK: parts

  private static func makeCertificate() throws(StartError) -> Certificate {
    do throws(CryptoError) {
      return try Certificate(wallMilliseconds: WallClock.milliseconds())
    } catch {
      throw StartError("No DTLS certificate could be made: \(error)")
    }
  }

  /// The configured backend, or the one that is the cheapest here.
  private static func srtpBackend(_ library: ServerConfiguration.SRTPLibrary) throws(StartError) -> SRTPBackend? {
    guard library != .auto else { return .cheapest(of: SRTPBackend.costs(now: MonotonicClock.now)) }
    guard let backend = SRTPBackend(rawValue: library.rawValue), backend.isAvailable else {
      throw StartError("this machine cannot use \(library.rawValue); expected auto, which can", key: "media.srtp")
    }
    return backend
  }

  /// NTP time, since 1900, at the origin of the monotonic clock (RFC 3550 §4).
  private static var timeOrigin: TimeDelta {
    let since1970 = TimeDelta(nanoseconds: WallClock.nanoseconds() - MonotonicClock.now().nanoseconds)
    return since1970 + TimeDelta.seconds(Int(NTPTime.secondsBefore1970))
  }

  private static func startWorkers(
    _ configuration: ServerConfiguration, certificate: Certificate, backend: SRTPBackend?, inbox: ConferenceInbox
  ) throws(StartError) -> [MediaWorker] {
    let cpus = MediaWorker.cpus
    let count = configuration.media.workerCount(cpus: cpus.count)
    // Where there is to be one per CPU, their number is not in the file.
    if let problem = configuration.media.portProblem(ofWorkers: count) { throw StartError(problem, key: "media.port") }
    let places = try places(ofWorkers: count, configuration, among: cpus)
    let bound = configuration.media.bindAddresses(interfaces: interfaceAddresses())
    let timeOrigin = Self.timeOrigin
    var workers: [MediaWorker] = []
    for index in 0..<count {
      let port = configuration.media.port == 0 ? 0 : configuration.media.port(ofWorker: index)
      var options = MediaWorker.Options(
        addresses: bound.map { SocketAddress(high: $0.high, low: $0.low, port: port) })
      options.index = index
      options.receiveBuffer = configuration.media.receiveBufferBytes
      options.sendBuffer = configuration.media.sendBufferBytes
      options.cpu = places[index]
      options.settings.mediaTimeout = configuration.calls.mediaTimeout
      options.settings.connectTimeout = configuration.calls.connectTimeout
      options.settings.srtpBackend = backend
      options.settings.sources = configuration.media.isForThisMachine ? bound : []
      options.settings.videoBitsPerSecond = configuration.media.videoBitsPerSecond
      options.settings.checksPerSecond = configuration.media.mostChecksPerSecond
      options.settings.timeOrigin = timeOrigin
      options.settings.coalescing = CoalescingWindow(
        video: configuration.media.coalesceVideo, audio: configuration.media.coalesceAudio,
        audience: configuration.media.coalesceAudience)
      do throws(SocketError) {
        workers.append(try MediaWorker(options: options, certificate: certificate) { inbox.post(.worker($0)) })
      } catch {
        for worker in workers { worker.stop() }
        throw StartError("\(error)", key: error.key)
      }
    }
    return workers
  }

  /// The CPU of each worker, by its place among those there are; nil for none.
  private static func places(
    ofWorkers count: Int, _ configuration: ServerConfiguration, among cpus: [Int]
  ) throws(StartError) -> [Int?] {
    do throws(ServerConfiguration.MissingCPU) {
      return try configuration.media.places(ofWorkers: count, among: cpus)
    } catch {
      let list = cpus.map(String.init).joined(separator: ", ")
      throw StartError("this process may not use CPU \(error.number); expected some of \(list)", key: "media.cpus")
    }
  }

  /// What clients are told. Names are looked up now, and not again.
  private static func advertised(_ configuration: ServerConfiguration) throws(StartError) -> [SocketAddress] {
    let (media, interfaces) = (configuration.media, interfaceAddresses())
    guard !media.advertise.isEmpty else { return configuration.advertisedAddresses(interfaces: interfaces) }
    let told = media.advertised(interfaces: interfaces)
    if let nameless = told.first(where: { $0.addresses.isEmpty }) {
      throw StartError(
        "\(nameless.entry.host) stands for no address of a family that media.addresses has; a resolver must know it",
        key: "media.advertise")
    }
    return told.flatMap(\.addresses)
  }

  /// ICE candidates of a worker: every advertised address, with the port that is told for it, or that of the socket of its family.
  private static func candidates(
    of worker: MediaWorker, number: Int, _ told: [SocketAddress]
  ) -> [SocketAddress] {
    told.compactMap { address in
      if address.port != 0 {
        return UInt16(exactly: Int(address.port) + number).map {
          SocketAddress(high: address.high, low: address.low, port: $0)
        }
      }
      let exact = worker.addresses.first { $0.high == address.high && $0.low == address.low }
      let socket = exact ?? worker.addresses.first { $0.isIPv4 == address.isIPv4 }
      return socket.map { SocketAddress(high: address.high, low: address.low, port: $0.port) }
    }
  }
}

extension SocketError {
  /// What the operator may want to change: the port where it is taken or forbidden, nothing here where descriptors are short, else
  /// the addresses.
  fileprivate var key: String? {
    switch code {
    case ENFILE, EMFILE: nil
    case EADDRINUSE, EACCES: "media.port"
    default: "media.addresses"
    }
  }
}

/// What workers, front doors and threads outside report to. Made before the conference thread that reads it.
struct ConferenceInbox: Sendable {
  /// Inputs that may wait before front doors refuse further requests. Ends of connections and what workers report are
  /// bounded by what there is of both, and always taken: a lost one would leave a seat behind. Raising it makes an
  /// overload longer, and costs the bytes of as many requests.
  static let patience = 8_192

  /// Requests from one network, at once; in the long run as many as it may make by weight. Else it could fill the mailbox by itself, as what
  /// it asks for is weighed only behind it.
  static let patienceWithOne = 4_096

  let mailbox = Mailbox<ConferenceInput>()
  private let networks: Locked<NetworkBuckets>
  private let clock: @Sendable () -> Instant

  init(
    _ rules: ConferenceRules = ConferenceRules(), clock: @escaping @Sendable () -> Instant = MonotonicClock.now
  ) {
    networks = Locked(NetworkBuckets(burst: Self.patienceWithOne, perSecond: rules.networkRequestsPerSecond))
    self.clock = clock
  }

  /// Whether more waits than can be served soon.
  var isOverloaded: Bool { mailbox.count >= Self.patience }

  /// The same for a request from an address, which is counted.
  func isOverloaded(for peer: SocketAddress?) -> Bool {
    if isOverloaded { return true }
    let now = clock()
    return networks.withLock { $0.take(PeerNetwork(peer), at: now) } != nil
  }

  func post(_ input: ConferenceInput) { mailbox.post(input) }
}

/// What `/readyz` says.
final class ReadinessState: Sendable {
  private let state = Locked(Readiness.starting("the server is starting"))
  var value: Readiness { state.withLock { $0 } }
  func set(_ readiness: Readiness) { state.withLock { $0 = readiness } }
}
