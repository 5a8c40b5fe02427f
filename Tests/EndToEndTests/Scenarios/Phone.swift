// One device of a user, as the scenarios have it: it calls, answers and hears, with media or without.

import Basics
import Configuration
import RoostClient
import RoostProtocol
import SyntheticParticipant
import TestSupport
import Testing

/// Scenarios 11 to 52 of docs/scenarios.md.
extension EndToEnd {
  @Suite struct CallScenarios {}
}

/// A device with its session, everything it heard and, where it was asked for, real media.
struct Phone: Sendable {
  let user: String
  let url: String
  /// What the server calls the device, and the token that another one has to show to take its place.
  let device: String
  let token: String
  let session: RoostSession
  let log: EventLog
  let media: SyntheticParticipant?

  /// A device without media. `token`: that of the session of the same device which it replaces.
  init(
    _ url: String, _ user: String, device: String? = nil, token: String? = nil, reconnects: Bool = false,
    transport: @escaping TransportFactory = defaultTransport
  ) async throws {
    (self.user, self.url) = (user, url)
    media = nil
    var options = Self.options(reconnects)
    options.transport = transport
    session = try await RoostSession.connect(
      to: url, hello: HelloParams(user: user, deviceId: device, resumeToken: token), options: options)
    (self.device, self.token) = (await session.hello.deviceId, await session.hello.resumeToken)
    log = await EventLog(session)
  }

  /// A device with ICE, DTLS and SRTP; by default it sends nothing, and its media is up all the same. One that `speaks` sends
  /// sound, one that `sends` a picture too; `change` is for what a test needs otherwise. `driver` must outlive it.
  init(
    talking url: String, _ user: String, device: String? = nil, reconnects: Bool = false, speaks: Bool = false,
    sends: Bool = false, driver: MediaDriver = Self.driver,
    change: (inout SyntheticConfiguration) throws -> Void = { _ in }
  ) async throws {
    (self.user, self.url) = (user, url)
    var plan = SyntheticConfiguration(url: url, room: "", user: user)
    plan.deviceId = device
    plan.session = Self.options(reconnects)
    plan.video = sends ? [.light] : []
    if !sends, !speaks { plan.audio = nil }
    try change(&plan)
    let media = try SyntheticParticipant(plan, driver: driver)
    self.media = media
    session = try await media.connect()
    (self.device, self.token) = (await session.hello.deviceId, await session.hello.resumeToken)
    log = await EventLog(session)
  }

  /// Shared by all tests, which come one after the other.
  static let driver = MediaDriver()

  private static func options(_ reconnects: Bool) -> SessionOptions {
    var options = SessionOptions()
    options.requestTimeout = .seconds(60)
    options.reconnect = reconnects ? ReconnectPolicy(firstDelay: .milliseconds(50), attempts: 100) : nil
    return options
  }

  // MARK: Commands

  @discardableResult
  func start(
    _ to: [String], _ kind: CallKind = .oneToOne, _ media: MediaClass = .video,
    _ change: (inout CallStartParams) -> Void = { _ in }
  ) async throws -> CallStartResult {
    var params = CallStartParams(to: to, kind: kind, media: media)
    change(&params)
    guard case .callStarted(let result) = try await enter(.call(.start(params))) else { throw Wrong.reply }
    return result
  }

  func ringing(_ callId: String) async throws { _ = try await session.request(.call(.ringing(.init(callId: callId)))) }

  @discardableResult
  func accept(
    _ callId: String, media: MediaClass? = nil, _ change: (inout CallAcceptParams) -> Void = { _ in }
  ) async throws -> CallRoomResult {
    var params = CallAcceptParams(callId: callId, media: media)
    change(&params)
    guard case .callRoom(let result) = try await enter(.call(.accept(params))) else { throw Wrong.reply }
    return result
  }

  /// `token`: that of the user's other device, whose leg it takes.
  @discardableResult
  func join(_ callId: String, takingFrom token: String? = nil) async throws -> CallRoomResult {
    let params = CallJoinParams(callId: callId, takeover: token == nil ? nil : true, resumeToken: token)
    guard case .callRoom(let result) = try await enter(.call(.join(params))) else { throw Wrong.reply }
    return result
  }

  @discardableResult
  func reject(_ callId: String, text: String? = nil, scope: RejectScope? = nil) async throws -> Call {
    try await changed(.call(.reject(CallRejectParams(callId: callId, text: text, scope: scope))))
  }

  @discardableResult
  func cancel(_ callId: String) async throws -> Call { try await changed(.call(.cancel(.init(callId: callId)))) }

  @discardableResult
  func hangup(_ callId: String? = nil, text: String? = nil) async throws -> Call {
    try await changed(.call(.hangup(CallHangupParams(callId: callId, text: text))))
  }

  @discardableResult
  func invite(_ callId: String, _ users: [String]) async throws -> CallInviteResult {
    guard case .callInvited(let result) = try await session.request(.call(.invite(.init(callId: callId, users: users))))
    else { throw Wrong.reply }
    return result
  }

  func get(_ callId: String) async throws -> Call { try await changed(.call(.get(.init(callId: callId)))) }

  private func changed(_ request: Request) async throws -> Call {
    guard case .call(let result) = try await session.request(request) else { throw Wrong.reply }
    return result.call
  }

  private func enter(_ request: Request) async throws -> Reply {
    if let media { try await media.enter(by: request) } else { try await session.request(request) }
  }

  enum Wrong: Error { case reply }

  // MARK: Questions

  func current() async throws -> Call? {
    guard case .callCurrent(let result) = try await session.request(.call(.current)) else { throw Wrong.reply }
    return result.call
  }

  func available() async throws -> [String] { try await session.availableCalls().map(\.callId) }

  /// The latest record of a call in one's list; waits for it, as a record may be written behind the event.
  func record(of callId: String) async throws -> CallRecord? {
    var found: CallRecord?
    _ = try await eventually {
      found = try await session.callHistory().records.first { $0.callId == callId }
      return found != nil
    }
    return found
  }

  // MARK: What it hears

  /// The first such event about a call; a failed test and a thrown error when none comes.
  func hears<T: Sendable>(
    _ what: KeyPath<Event, T?> & Sendable, of callId: String? = nil, from start: Int = 0,
    _ isWanted: @Sendable @escaping (T) -> Bool = { _ in true }, at location: SourceLocation = #_sourceLocation
  ) async throws -> T {
    let found = await log.first(from: start) { event -> T? in
      guard callId == nil || event.callId == callId, let payload = event[keyPath: what] else { return nil }
      return isWanted(payload) ? payload : nil
    }
    return try #require(found, "\(user) did not hear it", sourceLocation: location)
  }

  /// All such events so far about a call.
  func heard<T: Sendable>(_ what: KeyPath<Event, T?> & Sendable, of callId: String? = nil) async -> [T] {
    await log.all { callId == nil || $0.callId == callId ? $0[keyPath: what] : nil }
  }

  /// What the offers so far said of the server's transport: user name fragment and fingerprint.
  func transports() async -> Set<String> {
    let offers = await heard(\.offer)
    return Set(
      offers.map { offer in
        let lines = offer.sdp.split(whereSeparator: \.isNewline)
        return Set(lines.filter { $0.hasPrefix("a=ice-ufrag:") || $0.hasPrefix("a=fingerprint:") }).sorted().joined()
      })
  }

  /// Returns when everything that was sent to this device before now is written down: the conference's order is the wire's,
  /// so a reply comes behind all events of earlier commits.
  func settle() async throws {
    _ = try await session.request(.session(.ping))
    await log.reach(await session.lastSeq)
  }

  /// Waits until it rings and says so.
  @discardableResult
  func rings(_ callId: String? = nil, from start: Int = 0) async throws -> CallIncoming {
    let ring = try await hears(\.incoming, of: callId, from: start)
    try await ringing(ring.call.callId)
    return ring
  }

  /// Says goodbye, and lets go of the media.
  func close() async {
    if let media { await media.leave() } else { await session.close() }
  }
}

extension [Phone] {
  func settle() async throws { for phone in self { try await phone.settle() } }
  func close() async { for phone in self { await phone.close() } }
}

extension TestServer {
  /// A server whose calls connect without media being awaited: `connectTimeout` is long, and everything else short.
  static func calls(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
  ) async throws {
    try await TestServer.with(
      {
        $0.calls.connectTimeout = .seconds(120)
        $0.calls.callerGrace = .milliseconds(600)
        $0.calls.resumeGrace = .milliseconds(800)
        $0.calls.aloneTimeout = .zero
        change(&$0)
      }, body)
  }

  func phone(_ user: String, device: String? = nil) async throws -> Phone { try await Phone(url, user, device: device) }

  func phones(_ users: [String]) async throws -> [Phone] {
    var phones: [Phone] = []
    for user in users { phones.append(try await phone(user)) }
    return phones
  }

  /// Devices with media.
  func talkers(_ users: [String], sends: Bool = false) async throws -> [Phone] {
    var phones: [Phone] = []
    for user in users { phones.append(try await Phone(talking: url, user, sends: sends)) }
    return phones
  }
}

extension CallRecord {
  /// Whether its duration is that from `answeredAt` to its end. They are by two clocks, each of which is cut to milliseconds.
  func lasted(since answeredAt: Int64) -> Bool { abs(durationMs - (endedAt - answeredAt)) <= 2 }
}
