// A server of one's own in this process, on loopback and free ports, and what the tests of it share.

import Basics
import Configuration
import Glibc
import Logging
import RoostClient
import RoostProtocol
import SRTP
import Server
import SyntheticParticipant
import TestSupport
import Testing

/// All end-to-end tests, one after the other: each fills the machine with threads and packets of its own.
@Suite("End to end", .serialized, .timeLimit(.minutes(10)))
struct EndToEnd {}

/// Log lines of a server, kept for when a test fails.
final class LogLines: Sendable {
  private let lines = Locked<[String]>([])
  func append(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

/// A running server with short timers.
struct TestServer {
  let server: RoostServer
  let log: LogLines

  /// Starts a server; `change` is for what a test needs otherwise.
  init(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws {
    var configuration = ServerConfiguration()
    configuration.listen.address = SocketAddress(v4: 0x7f00_0001, port: 0)
    configuration.media.port = 0
    configuration.storage.path = nil
    configuration.media.addresses = [SocketAddress(v4: 0x7f00_0001, port: 0)]
    configuration.sessions.resumeGrace = .milliseconds(800)
    configuration.limits.requestsPerSecond = 100_000
    configuration.limits.requestBurst = 100_000
    configuration.limits.userRequestsPerSecond = 100_000
    configuration.limits.userRequestBurst = 100_000
    configuration.limits.addressRequestsPerSecond = 1_000_000
    configuration.limits.addressRequestBurst = 1_000_000
    (configuration.calls.ringsPerCaller, configuration.calls.ringsPerCallee) = (0, 0)
    configuration.calls.ringsPerPair = 0
    change(&configuration)
    let lines = LogLines()
    log = lines
    server = try RoostServer.start(
      configuration, log: Logger(configuration.log) { lines.append(String(decoding: $0, as: UTF8.self)) })
  }

  /// The signalling address.
  var url: String { "ws://127.0.0.1:\(server.port)/rtc" }

  /// Where a worker takes media.
  var mediaAddress: SocketAddress { server.mediaAddresses.first?.first ?? SocketAddress(v4: 0x7f00_0001, port: 9) }

  func stop() { server.stop() }

  /// Runs `body` and stops the server, whatever comes of it.
  static func with(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
  ) async throws {
    let server = try TestServer(change)
    do {
      try await body(server)
    } catch {
      server.stop()
      throw error
    }
    server.stop()
  }
}

extension TestServer {
  /// Runs `body` against a server whose media this library encrypts.
  static func with(_ backend: SRTPBackend, _ body: (TestServer) async throws -> Void) async throws {
    let library = try #require(ServerConfiguration.SRTPLibrary(rawValue: backend.rawValue))
    try await with({ $0.media.srtp = library }, body)
  }
}

/// Writes down what a session tells.
actor Recorder {
  private(set) var all: [SessionEvent] = []
  /// The number of the last event that was written down.
  private(set) var lastSeq = 0
  private var task: Task<Void, Never>?

  init(_ session: RoostSession) async {
    let events = await session.events()
    task = Task { [weak self] in
      for await event in events { await self?.add(event) }
    }
  }

  /// A session that is thrown away does not end its streams: whoever reads one would wait for ever.
  deinit { task?.cancel() }

  private func add(_ event: SessionEvent) {
    all.append(event)
    switch event {
    case .event(let message): lastSeq = message.seq
    case .resynced(let resync): lastSeq = resync.seq
    case .restarted: lastSeq = 0
    case .reconnecting, .resumed, .ended: break
    }
  }

  /// The server's events, without the wrapping.
  var messages: [EventMessage] {
    all.compactMap { if case .event(let message) = $0 { message } else { nil } }
  }

  /// The server's events about rooms and chat: what others' doings cause.
  var roomEvents: [Event] { messages.map(\.event).filter(\.isOfRoom) }

  /// How many events `isWanted` picks.
  func count(_ isWanted: (Event) -> Bool) -> Int { messages.count { isWanted($0.event) } }
}

extension Event {
  var isOfRoom: Bool {
    switch self {
    case .participantJoined, .participantUpdated, .participantReconnecting, .participantReconnected, .participantLeft,
      .trackPublished, .trackUnpublished, .trackMuted, .trackUnmuted, .roomClosed, .chatMessage, .messageReceived:
      true
    default: false
    }
  }
  var isJoined: Bool { if case .participantJoined = self { true } else { false } }
  var isLeft: Bool { if case .participantLeft = self { true } else { false } }
  var isReconnecting: Bool { if case .participantReconnecting = self { true } else { false } }
  var isReconnected: Bool { if case .participantReconnected = self { true } else { false } }
}

/// A signalling client without media, with everything it heard.
struct Client {
  let session: RoostSession
  let heard: Recorder

  init(_ url: String, _ user: String, device: String? = nil, name: String? = nil, reconnects: Bool = false) async throws
  {
    var options = SessionOptions()
    options.requestTimeout = .seconds(30)
    options.reconnect = reconnects ? ReconnectPolicy(firstDelay: .milliseconds(50), attempts: 100) : nil
    session = try await RoostSession.connect(
      to: url, hello: HelloParams(user: user, deviceId: device, displayName: name), options: options)
    heard = await Recorder(session)
  }

  /// The code of a refusal, nil when there was none.
  func refusal<T>(_ body: () async throws -> T) async throws -> Int? {
    do {
      _ = try await body()
      return nil
    } catch let error as RoostError {
      guard let code = error.code else { throw error }
      return code
    }
  }
}

/// The error object of a refusal.
func refused<T>(_ body: () async throws -> T) async throws -> ErrorObject? {
  do {
    _ = try await body()
    return nil
  } catch let error as RoostError {
    guard case .refused(let object) = error else { throw error }
    return object
  } catch let error as SyntheticError {
    guard case .signalling(.refused(let object)) = error else { throw error }
    return object
  }
}

/// A light load: two cores carry sixteen of these in a debug build.
extension VideoPlan {
  static var light: VideoPlan {
    var plan = VideoPlan()
    plan.framesPerSecond = 5
    plan.layers = [VideoLayer(packetsPerFrame: 2, packetsPerKeyframe: 6, packetBytes: 600)]
    return plan
  }
}

extension SyntheticConfiguration {
  static func light(_ server: TestServer, room: String, user: String) -> SyntheticConfiguration {
    var configuration = SyntheticConfiguration(url: server.url, room: room, user: user)
    configuration.video = [.light]
    configuration.session.requestTimeout = .seconds(60)
    return configuration
  }
}

/// How much hostile traffic may make this process grow. AddressSanitizer keeps what is freed for a while, 256 MiB of it.
let mostGrowth = (dlsym(nil, "__asan_init") == nil ? 96 : 352) << 20

/// How much less is sent where much is sent: ThreadSanitizer looks at every access, and sockets would overflow.
let slowness = dlsym(nil, "__tsan_init") == nil ? 1 : 4

/// An attribute of the SDP that a server offers to somebody who then does nothing with it; nil where it has none.
func offeredAttribute(_ name: String, by url: String) async throws -> String? {
  let bystander = try await Client(url, "bystander")
  _ = try await bystander.session.join(room: "elsewhere")
  var sdp: String?
  _ = await eventually {
    sdp = await bystander.heard.messages.compactMap { message -> String? in
      if case .pcOffer(let offer) = message.event { offer.sdp } else { nil }
    }.first
    return sdp != nil
  }
  await bystander.session.close()
  let line = sdp?.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=\(name):") }
  return line.map { String($0.dropFirst("a=\(name):".count)) }
}
