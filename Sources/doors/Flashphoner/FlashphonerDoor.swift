// The front door for apps that were written for Flashphoner's SDKs: a WebSocket of its own, text in, commands out; effects in, text
// out. It holds sessions and who they are of; what they say is `Session`'s and `Membership`'s, and all rules are the core's.
//
//   WebSocket ──text──▶ ClientMessage ──▶ Gate ──▶ Session ──▶ sink(Command)           service thread
//   WebSocket ◀─text── ServerMessage ◀── Session ◀── apply(effect) ◀── DoorThread       service thread
//                                                                       ▲── carryOut    conference thread: posts
import Basics
import Crypto
import DoorKit
import Logging
import Members
import RoostProtocol
import Threads
import WebSockets

/// Clients of Flashphoner's web, iOS and Android SDKs. Each room that one joins, and each stream without a room, is a client of the core
/// like any other.
///
///     let door = FlashphonerDoor(id: DoorID(2), appKeys: ["roomApp"], log: log) { inbox.post($0) }
///     let server = try WebServer.start(configuration, makeHandler: door.handler)
///     for case .client(let effect) in core.apply(command, at: now) { door.carryOut(effect) }
public final class FlashphonerDoor: ClientDoor {
  /// Rooms and streams without a room that the clients of one network may have (`PeerNetwork`). Each is a session of the core.
  static let mostOfNetwork = 1_000
  /// How often a client is sent a `ping` of the protocol: clients may count them.
  static let pingInterval = TimeDelta.seconds(5)
  /// Sessions whose sockets broke and whose seats may be had again. More are not kept: their clients wait until the seat is free.
  static let mostKept = 4096
  /// The same of the clients of one network.
  static let mostKeptOfNetwork = 1024
  /// RFC 6455, section 7.4.1.
  private static let policyViolation: UInt16 = 1008
  static let replaced: UInt16 = 4000
  /// The request that ends a membership, whose reply nobody waits for.
  private static let farewell = RequestID.number(0)

  /// Its place among the front doors of the process.
  public let id: DoorID
  /// Its web server; nil where it has none, and nobody comes.
  public let listener: DoorListener?
  let appKeys: Set<String>
  private let limits: DoorLimits
  let grace: TimeDelta
  let log: Logger
  let lines: DoorLog
  let clock: @Sendable () -> Instant
  let tokens: TokenGate
  private let isOverloaded: @Sendable (SocketAddress?) -> Bool
  let sink: @Sendable (Command) -> Void
  /// Its sessions belong to this thread.
  public let thread = DoorThread()
  let table: Owned<Table>
  private let counters = Locked(FlashphonerStatistics())

  /// A door that gives `sink` its commands, on the web server's thread: `sink` must be quick and must not wait.
  /// - Parameters:
  ///   - id: no other door of the process may have it.
  ///   - listener: its web server.
  ///   - appKeys: applications whose clients are let in.
  ///   - grace: how long a client whose socket broke may come back to its seat.
  ///   - clock: the monotonic clock that rate limits are measured with.
  ///   - tokens: finds out whose token a client shows; one for all doors.
  ///   - lines: where lines go about those who have a session; nil: somewhere of its own.
  ///   - isOverloaded: whether requests from an address are to be refused for now; asked for each of them, once.
  public init(
    id: DoorID, listener: DoorListener? = nil, appKeys: [String], limits: DoorLimits = DoorLimits(),
    grace: TimeDelta = .seconds(15), log: Logger, clock: @escaping @Sendable () -> Instant = MonotonicClock.now,
    tokens: TokenGate = TokenGate(OpenAccess()), lines: SessionLines? = nil,
    isOverloaded: @escaping @Sendable (SocketAddress?) -> Bool = { _ in false },
    sink: @escaping @Sendable (Command) -> Void
  ) {
    (self.id, self.listener, self.appKeys) = (id, listener, Set(appKeys))
    (self.limits, self.grace, self.log) = (limits, grace, log)
    self.lines = DoorLog(log, door: "flashphoner", sessions: lines, clock: clock)
    (self.clock, self.tokens, self.isOverloaded, self.sink) = (clock, tokens, isOverloaded, sink)
    table = Owned(Table(), by: thread)
  }

  /// What it has now, and what it has counted.
  public var statistics: FlashphonerStatistics { counters.withLock { $0 } }

  /// The handler for `WebServer.start(_:routes:makeHandler:)`. A door serves one server.
  public func handler(_ sender: WebSocketSender) -> @Sendable (WebSocketEvent) -> Void {
    thread.attach(sender)
    return { [self] in handle($0) }
  }

  /// Hears of the WebSockets of its own web server, and of no other's.
  public func serve(_ sender: WebSocketSender) -> (@Sendable (WebSocketEvent) -> Void)? {
    listener == nil ? nil : handler(sender)
  }

  /// Changes the table, and counts what is in it.
  func change<Result>(_ body: (inout Table) -> Result) -> Result {
    let (result, members, kept) = table.with { table in (body(&table), table.owners.count, table.kept.count) }
    counters.withLock { ($0.members, $0.kept) = (members, kept) }
    return result
  }

  // MARK: In

  func handle(_ event: WebSocketEvent) {
    switch event {
    case .opened(let id, let peer): opened(id, peer)
    case .text(let id, let bytes):
      do throws(MalformedMessage) {
        received(try ClientMessage(bytes), from: id)
      } catch {
        refused(.malformed(error.reason), error.word, from: id)
      }
    case .unread(let id, let wait): refused(.unread(wait: wait), from: id)
    case .oversized(let id, let limit): refused(.malformed("The message is larger than \(limit) bytes"), from: id)
    case .binary(let id): refused(.malformed("Binary frames are not served"), from: id)
    // Who comes back to an app shows the proof of its door, and is never asked for what its socket owes.
    case .overdue: break
    case .closed(let id, let closure): closed(id, closure)
    }
  }

  private func opened(_ id: WebSocketID, _ peer: WebSocketPeer) {
    let now = clock()
    let session = Session(number: { [self] in number(for: id) }, digits: { randomBytes(4).hexadecimal })
    let socket = Socket(
      id: id, address: peer.address,
      state: .init(session: session, gate: Gate(limits: limits, now: now), nextPing: now + Self.pingInterval),
      thread: thread)
    change { $0.sockets[id] = socket }
    lines.write(.info, .opened, of: peer.address) {
      ["connection": LogValue(id), "peer": LogValue(socket.peer), "origin": LogValue(peer.origin ?? "")]
    }
  }

  /// A number for a client's next membership; nil where its network has as many as it may.
  private func number(for id: WebSocketID) -> UInt64? {
    change { table in
      guard let socket = table.sockets[id] else { return nil }
      let network = PeerNetwork(socket.address)
      guard table.ofNetwork[network, default: 0] < Self.mostOfNetwork else { return nil }
      table.ofNetwork[network, default: 0] += 1
      table.lastNumber += 1
      table.owners[table.lastNumber] = socket
      return table.lastNumber
    }
  }

  private func socket(_ id: WebSocketID) -> Socket? { table.with { $0.sockets[id] } }

  private func received(_ message: ClientMessage, from id: WebSocketID) {
    guard let socket = socket(id), passes(.none, message.word, message.weight, socket) else { return }
    if case .connection(let wish) = message, !socket.state.with({ $0.session.isOpen }) {
      return connect(wish, socket)
    }
    if message.isWork, isOverloaded(socket.address) {
      return refuse(message.word, ErrorObject(.overloaded).message, socket)
    }
    log.debug("flashphoner_message", ["connection": LogValue(id), "message": LogValue(message.word)])
    perform(on: socket) { $0.received(message) }
  }

  private func refused(_ fault: Gate.Fault, _ word: String? = nil, from id: WebSocketID) {
    guard let socket = socket(id) else { return }
    _ = passes(fault, word, 1, socket)
  }

  /// Whether a frame passes; where not, the client is told.
  private func passes(_ fault: Gate.Fault, _ word: String?, _ weight: Int, _ socket: Socket) -> Bool {
    let now = clock()
    let verdict = socket.state.with { state -> Gate.Verdict? in
      state.isClosed ? nil : state.gate.judge(fault, weight: weight, unanswered: state.session.unanswered, at: now)
    }
    switch verdict {
    case nil: return false
    case .pass?: return true
    case .refuse(let reason)?:
      counters.withLock { $0.refused += 1 }
      refuse(word, reason, socket)
    case .close(let reason)?:
      counters.withLock { ($0.refused, $0.closedForAbuse) = ($0.refused + 1, $0.closedForAbuse + 1) }
      lines.write(.warning, .refused, of: socket.address) {
        ["connection": LogValue(socket.id), "peer": LogValue(socket.peer), "reason": LogValue(reason)]
      }
      perform(on: socket) { _ in [.send(.fail(.init(word: word, info: reason))), .close(reason)] }
    }
    return false
  }

  func refuse(_ word: String?, _ reason: String, _ socket: Socket) {
    perform(on: socket) { _ in [.send(.fail(.init(word: word, info: reason)))] }
  }

  // MARK: Out

  /// Carries out an effect that concerns a membership.
  public func apply(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let request, let result):
      let socket = owner(of: connection)
      on(connection) { $0.replied(request, result) }
      if let socket, case .failure(let error) = result, error.code == .authFailed { blame(socket) }
    case .event(let connection, let message): on(connection) { $0.heard(message.event) }
    case .broadcast(let receivers, _, let event):
      for receiver in receivers { on(receiver.connection) { $0.heard(event) } }
    case .stream(let connection, let stream, let change): on(connection) { $0.media(stream, change) }
    case .closeConnection(let connection, let reason):
      guard let socket = owner(of: connection) else { return }
      let isTokenOver = reason == .tokenExpired || reason == .tokenRevoked
      perform(on: socket) { $0.sessionEnded(connection.number, isTokenOver ? Info.restricted : Info.noSession) }
      // All of a client's memberships have one token.
      if isTokenOver { perform(on: socket) { _ in [.close(Info.restricted)] } }
    case .setWaiting: break
    }
  }

  private func owner(of connection: ConnectionID) -> Socket? {
    connection.door == id ? table.with { $0.owners[connection.number] } : nil
  }

  private func on(_ connection: ConnectionID, _ change: (inout Membership) -> [MembershipAction]) {
    guard let socket = owner(of: connection) else { return }
    perform(on: socket) { $0.on(connection.number, change) }
  }

  /// What a client was to be told did not fit: its socket breaks, and it may come back.
  public func overflowed(_ connection: ConnectionID) {
    if let socket = owner(of: connection) { thread.sender?.drop(socket.id) }
  }

  /// Closes connections that have not said who they are, and pings the others.
  public func keepHouse() {
    lines.tell()
    let now = clock()
    let sockets = change { table in
      for (token, kept) in table.kept where kept.until <= now { table.forget(token) }
      return Array(table.sockets.values)
    }
    for socket in sockets { beat(socket, now) }
  }

  private func beat(_ socket: Socket, _ now: Instant) {
    let (isIdle, isDue) = socket.state.with { state in
      let isDue = !state.isClosed && state.session.isOpen && state.nextPing <= now
      if isDue { state.nextPing = now + Self.pingInterval }
      return (!state.session.isOpen && state.gate.isIdle(at: now), isDue)
    }
    if isDue { perform(on: socket) { _ in [.send(.ping)] } }
    if isIdle {
      counters.withLock { $0.closedIdle += 1 }
      perform(on: socket) { _ in [.close("no session in time")] }
    }
  }

  /// Changes a session, and does what is to be done in order.
  func perform(on socket: Socket, _ change: (inout Session) -> [SessionAction]) {
    let actions = socket.state.with { state in state.isClosed ? [] : change(&state.session) }
    for action in actions { perform(action, socket) }
  }

  private func perform(_ action: SessionAction, _ socket: Socket) {
    switch action {
    case .send(let message): send(message, socket)
    case .hello(let number, let params, let identity):
      sink(.hello(ConnectionID(number, door: id), Membership.hello, params, identity))
    case .ask(let number, let request, let what): sink(.request(ConnectionID(number, door: id), request, what))
    case .stream(let number, let request, let what): sink(.stream(ConnectionID(number, door: id), request, what))
    case .leave(let number, let room):
      change { $0.disown(number) }
      leave(number, room)
    case .warn(let stream, let why):
      let subject = socket.state.with { $0.subject }
      lines.write(
        .warning, .refused, of: subject ?? LineSubject(network: PeerNetwork(socket.address))
      ) {
        [
          "connection": LogValue(socket.id), "peer": LogValue(socket.peer), "stream": LogValue(stream),
          "reason": LogValue(why),
        ]
      }
    case .close(let reason):
      thread.sender?.close(socket.id, code: Self.policyViolation, reason: reason)
    }
  }

  /// Said, and not just gone: whoever is gone may come back to the place that they published from.
  func leave(_ number: UInt64, _ room: String) {
    let connection = ConnectionID(number, door: id)
    sink(.request(connection, Self.farewell, .room(.leave(RoomParams(room: room)))))
    sink(.connectionClosed(connection, clean: true))
  }

  private func send(_ message: ServerMessage, _ socket: Socket) {
    let operation = socket.state.with { state in
      state.lastOperation += 1
      return String(state.lastOperation)
    }
    let log = self.log
    // Encoded where it is sent: not at all where the socket is gone by then.
    thread.sender?.send(to: socket.id) {
      do {
        return try message.frame(operation: operation)
      } catch {
        log.error("a message could not be encoded", ["error": LogValue(String(describing: error))])
        return Array(#"{"message":"fail","data":[{"info":"The server made a mistake."}]}"#.utf8)
      }
    }
  }
}

extension ClientMessage {
  /// Its word on the wire, as far as it is kept.
  fileprivate var word: String {
    switch self {
    case .connection: "connection"
    case .ping: "ping"
    case .pong: "pong"
    case .data: "sendData"
    case .publish: "publishStream"
    case .play: "playStream"
    case .stop: "stopStream"
    case .streamEvent: "sendStreamEvent"
    case .available: "availableStream"
    case .unsupported(let word, _): word
    }
  }

  /// Whether it asks the core for anything.
  fileprivate var isWork: Bool {
    switch self {
    case .data, .publish, .play, .streamEvent, .available: true
    case .connection, .ping, .pong, .stop, .unsupported: false
    }
  }
}
