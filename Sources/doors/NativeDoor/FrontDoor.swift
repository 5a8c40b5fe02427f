// The JSON-RPC front door at /rtc: text in, commands out; effects in, text out (docs/protocol.md).
//
//   WebSocket ──text──▶ ClientFrame ──▶ ConnectionGate ──▶ sink(Command)          service thread
//   WebSocket ◀─text── ServerFrame ◀── apply(effect) ◀── DoorThread               service thread
//                                                            ▲── carryOut         conference thread: posts
import Basics
import DoorKit
import Logging
import Members
import Names
import RoostProtocol
import Threads
import WebSockets

/// Turns WebSocket events into commands for the core, and the core's effects into messages. It verifies who says hello, and knows
/// nothing of rooms.
///
///     let door = FrontDoor(limits: DoorLimits(), log: log) { inbox.append($0) }
///     let server = try WebServer.start(configuration, routes: routes, makeHandler: door.handler)
///     for case .client(let effect) in core.apply(command, at: now) { door.carryOut(effect) }
///
/// Effects are carried out in the order in which they are given, and are encoded on the web server's thread.
public final class FrontDoor: ClientDoor {
  /// RFC 6455, section 7.4.1.
  private static let policyViolation: UInt16 = 1008
  /// When a request that met an overload may be tried again.
  private static let overloadMilliseconds: Int64 = 1000

  /// Its place among the front doors of the process.
  public let id: DoorID
  private let limits: DoorLimits
  private let log: Logger
  private let lines: DoorLog
  private let clock: @Sendable () -> Instant
  private let isOverloaded: @Sendable (SocketAddress?) -> Bool
  private let tokens: TokenGate
  private let sink: @Sendable (Command) -> Void
  /// Its connections belong to this thread.
  public let thread = DoorThread()
  private let gates: Owned<[ConnectionID: ConnectionGate]>
  /// When connections are looked at that may have no session by then.
  private let helloDeadlines: Owned<DeadlineQueue<ConnectionID>>
  private let peers: Owned<[ConnectionID: SocketAddress]>
  private let counters = Locked(SignallingStatistics())

  /// A front door that gives `sink` its commands, on the web server's thread: `sink` must be quick and must not wait.
  /// - Parameters:
  ///   - id: no other door of the process may have it.
  ///   - clock: the monotonic clock that rate limits are measured with.
  ///   - tokens: finds out who says hello; one for all doors.
  ///   - lines: where lines go about those who have a session; nil: somewhere of its own.
  ///   - isOverloaded: whether requests from an address are to be refused with 5002 for now; asked for each of them, once.
  public init(
    id: DoorID = DoorID(0), limits: DoorLimits = DoorLimits(), log: Logger,
    clock: @escaping @Sendable () -> Instant = MonotonicClock.now,
    tokens: TokenGate = TokenGate(OpenAccess()), lines: SessionLines? = nil,
    isOverloaded: @escaping @Sendable (SocketAddress?) -> Bool = { _ in false },
    sink: @escaping @Sendable (Command) -> Void
  ) {
    self.id = id
    self.limits = limits
    self.log = log
    self.lines = DoorLog(log, door: "native", sessions: lines, clock: clock)
    self.clock = clock
    self.tokens = tokens
    self.isOverloaded = isOverloaded
    self.sink = sink
    (gates, peers) = (Owned([:], by: thread), Owned([:], by: thread))
    helloDeadlines = Owned(DeadlineQueue(), by: thread)
  }

  /// Counters since the start.
  public var statistics: SignallingStatistics { counters.withLock { $0 } }

  /// The handler for `WebServer.start(_:routes:makeHandler:)`. A door serves one server, on whose thread the gate of tokens has those
  /// looked at that had to wait, of all doors.
  public func handler(_ sender: WebSocketSender) -> @Sendable (WebSocketEvent) -> Void {
    thread.attach(sender)
    tokens.attach { sender.run(at: $0, $1) }
    return { [self] in handle($0) }
  }

  /// See `handler`.
  public func serve(_ sender: WebSocketSender) -> (@Sendable (WebSocketEvent) -> Void)? { handler(sender) }

  // MARK: In

  private func handle(_ event: WebSocketEvent) {
    let connection = ConnectionID(event.id.rawValue, door: id)
    switch event {
    case .opened(_, let peer): opened(connection, peer)
    case .text(_, let bytes): judge(bytes.isBatch ? .batch : .frame(.reading(bytes)), connection)
    case .unread(_, let wait): judge(.unread(wait: wait), connection)
    case .oversized(_, let limit): judge(.oversized(limit: limit), connection)
    case .binary: judge(.binary, connection)
    case .overdue(_, let isOverdue): sink(.connectionOverdue(connection, isOverdue))
    case .closed(_, let closure): closed(connection, closure)
    }
  }

  private func opened(_ connection: ConnectionID, _ peer: WebSocketPeer) {
    let now = clock()
    gates.with { $0[connection] = ConnectionGate(limits: limits, now: now) }
    helloDeadlines.with { $0.push(now + limits.helloTimeout, connection) }
    if let address = peer.address { peers.with { $0[connection] = address } }
    lines.write(.info, .opened, of: peer.address) {
      [
        "connection": LogValue(connection), "peer": LogValue(peer.address?.description ?? ""),
        "origin": LogValue(peer.origin ?? ""),
      ]
    }
  }

  private func closed(_ connection: ConnectionID, _ closure: WebSocketClosure) {
    let gate = gates.with { $0.removeValue(forKey: connection) }
    let peer = peers.with { $0.removeValue(forKey: connection) }
    tokens.withdraw(gate?.tries.ticket)
    write(closure.cause.isTrouble ? .warning : .info, .closed, of: peer, gate) {
      [
        "connection": LogValue(connection), "peer": LogValue(peer?.description ?? ""),
        "cause": LogValue(closure.cause.rawValue), "code": LogValue(closure.code ?? 0),
        "reason": LogValue(closure.reason),
      ]
    }
    sink(.connectionClosed(connection, clean: closure.clean))
  }

  /// Writes a line about a connection: of those without a session there are only so many, and of those of each who has one.
  private func write(
    _ level: LogLevel, _ event: DoorLog.Event, of peer: SocketAddress?, _ gate: ConnectionGate?,
    _ fields: () -> LogFields
  ) {
    guard let gate, gate.hadSession else { return lines.write(level, event, of: peer, fields) }
    lines.write(level, event, of: gate.subject ?? LineSubject(network: PeerNetwork(peer)), fields)
  }

  private func judge(_ input: ConnectionGate.Input, _ connection: ConnectionID) {
    let now = clock()
    let action = gates.with { $0[connection]?.judge(input, at: now) ?? .ignore }
    switch action {
    case .forward(let id, _) where isOverloaded(peers.with { $0[connection] }):
      gates.with { $0[connection]?.answered(id) }
      refuse(connection, id, ErrorObject(.overloaded) { $0.retryAfterMs = Self.overloadMilliseconds })
    case .forward(let id, let request):
      counters.withLock { $0.requests[request.method, default: 0] += 1 }
      log.debug("request", ["connection": LogValue(connection), "method": LogValue(request.method.rawValue)])
      forward(id, request, from: connection)
    case .refuse(let id, let error): refuse(connection, id, error)
    case .refuseAndClose(let id, let error, let reason):
      refuse(connection, id, error)
      turnAway(connection, reason)
    case .ignore: break
    }
  }

  /// Hands a request to the core; a hello, or a further token, with whose it is.
  private func forward(_ id: RequestID, _ request: Request, from connection: ConnectionID) {
    switch request {
    case .session(.hello(let hello)):
      prove(connection) { peer, rank in
        tokens.verify(hello, from: peer, rank: rank) { [weak self] result in
          self?.proved(
            connection, id,
            result.flatMap { identity in
              identity.user == hello.user ? .success(.hello(connection, id, hello, identity)) : .failure(.otherUser)
            })
        }
      }
    case .session(.token(let params)):
      prove(connection) { peer, rank in
        tokens.renew(params.token, from: peer, rank: rank) { [weak self] result in
          self?.proved(
            connection, id,
            result.map { identity in
              identity.map { .token(connection, id, params, $0) } ?? .request(connection, id, request)
            })
        }
      }
    case .session(.resume(let params)):
      sink(.resume(connection, id, params, from: peers.with { $0[connection] }.map { PeerNetwork($0) }))
    case .session(.bye), .session(.ping), .userQuery, .block, .room, .chat, .message, .peerConnection, .track,
      .subscription, .view, .call:
      sink(.request(connection, id, request))
    }
  }

  // MARK: Tokens

  /// Gives a token to the gate, which may have it wait.
  private func prove(_ connection: ConnectionID, _ ask: (SocketAddress?, TurnRank) -> TurnTicket?) {
    let rank = gates.with { gates -> TurnRank? in
      gates[connection]?.tries.begin()
      return gates[connection]?.tries.rank
    }
    guard let rank, let ticket = ask(peers.with { $0[connection] }, rank) else { return }
    gates.with { $0[connection]?.tries.ticket = ticket }
  }

  /// The gate has said whose a token is, or why it is not believed. On the web server's thread, as what closes a connection is.
  private func proved(_ connection: ConnectionID, _ id: RequestID, _ result: Result<Command, UnprovenIdentity>) {
    let isLast = gates.with { $0[connection]?.tries.end(result.outcome) }
    // It may be gone by now.
    guard let isLast else { return }
    switch result {
    case .success(let command):
      if case .hello(_, _, _, let identity) = command {
        gates.with { $0[connection]?.subject = LineSubject(identity) }
      }
      sink(command)
    case .failure(let error):
      gates.with { $0[connection]?.answered(id) }
      if error.isFailure {
        let peer = peers.with { $0[connection] }
        lines.write(.warning, .tokenRefused, of: peer) {
          [
            "connection": LogValue(connection), "peer": LogValue(peer?.description ?? ""),
            "why": LogValue(error.detail),
          ]
        }
      }
      refuse(connection, id, error.error)
      if isLast { turnAway(connection, Self.lastToken) }
    }
  }

  private static let lastToken = "\(TurnTries.mostFailed) tokens failed"

  /// The core has refused a token, which may have been taken back.
  private func blame(_ connection: ConnectionID) {
    guard connection.door == id else { return }
    if gates.with({ $0[connection]?.tries.fail() }) == true { turnAway(connection, Self.lastToken) }
  }

  /// Closes a connection for what came by it.
  private func turnAway(_ connection: ConnectionID, _ reason: String) {
    counters.withLock { $0.closedForAbuse += 1 }
    let gate = gates.with { gates in
      gates[connection]?.close()
      return gates[connection]
    }
    let peer = peers.with { $0[connection] }
    write(.warning, .refused, of: peer, gate) {
      ["connection": LogValue(connection), "peer": LogValue(peer?.description ?? ""), "reason": LogValue(reason)]
    }
    close(connection, code: Self.policyViolation, reason)
  }

  private func refuse(_ connection: ConnectionID, _ id: RequestID?, _ error: ErrorObject) {
    counters.withLock { $0.refused[error.code, default: 0] += 1 }
    log.debug(
      "message refused", ["connection": LogValue(connection), "error": LogValue(error.data.name)])
    send(.failure(id, error), to: connection)
  }

  // MARK: Out

  /// Carries out an effect that concerns a connection.
  public func apply(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let id, .success(let reply)):
      if reply.beginsSession { began(connection) }
      answer(connection, id, .reply(id, reply))
    case .reply(let connection, let id, .failure(let error)):
      noteRefusedResume(connection, id, error)
      answer(connection, id, .failure(id, error))
      if error.code == .authFailed { blame(connection) }
    case .event(let connection, let message):
      if case .messageRequested = message.event { gates.with { $0[connection]?.asked() } }
      send(.event(message), to: connection)
    case .broadcast(let receivers, let serverTime, let event): broadcast(event, serverTime, to: receivers)
    case .closeConnection(let connection, let reason): close(connection, code: reason.code, reason.reason)
    case .stream: break  // Its clients have no streams.
    case .setWaiting(let connection, let isWaiting): setWaiting(isWaiting, connection)
    }
  }

  /// What a client was to be told did not fit: its socket breaks, and it may resume.
  public func overflowed(_ connection: ConnectionID) {
    if connection.door == id { thread.sender?.drop(WebSocketID(rawValue: connection.number)) }
  }

  /// Closes connections that have had no session for too long.
  public func keepHouse() {
    lines.tell()
    tokens.lookAgain()
    let now = clock()
    // Each is looked at once, when its time is over, and not all of them each time. At its very deadline it is not late yet.
    let due = helloDeadlines.with { queue in
      var due: [ConnectionID] = []
      while queue.next < now, let connection = queue.pop(at: now) { due.append(connection) }
      return due
    }
    let idle = gates.with { gates in due.filter { gates[$0]?.isIdle(at: now) ?? false } }
    counters.withLock { $0.closedIdle += UInt64(idle.count) }
    for connection in idle { close(connection, code: Self.policyViolation, "no session in time") }
  }

  /// A token to resume that is not one is a guess, or a client that comes too late: whose it was nobody knows, so the line has the address.
  private func noteRefusedResume(_ connection: ConnectionID, _ id: RequestID, _ error: ErrorObject) {
    guard connection.door == self.id, gates.with({ $0[connection]?.resume }) == id else { return }
    let peer = peers.with { $0[connection] }
    lines.write(.warning, .resumeRefused, of: peer) {
      [
        "connection": LogValue(connection), "peer": LogValue(peer?.description ?? ""),
        "code": LogValue(error.data.name),
      ]
    }
  }

  private func answer(_ connection: ConnectionID, _ id: RequestID, _ frame: ServerFrame) {
    gates.with { $0[connection]?.answered(id) }
    send(frame, to: connection)
  }

  private func send(_ frame: ServerFrame, to connection: ConnectionID) {
    guard connection.door == id else { return }
    let log = self.log
    thread.sender?.send(to: WebSocketID(rawValue: connection.number)) { Self.encode(frame, log) }
  }

  /// Of the receivers its own have it. The text is made once, when the web server's thread comes to the first receiver.
  private func broadcast(_ event: Event, _ serverTime: Int64, to all: [EventReceiver]) {
    let receivers = all.filter { $0.connection.door == id }
    if receivers.isEmpty { return }
    let log = self.log
    let text = Locked<EventText?>(nil)
    thread.sender?.send(toEach: receivers.map { WebSocketID(rawValue: $0.connection.number) }) { index in
      Self.orLastResort(log) {
        try text.withLock { text in
          let made = try text ?? EventText(event, serverTime: serverTime)
          text = made
          return made.frame(seq: receivers[index].seq)
        }
      }
    }
  }

  private func close(_ connection: ConnectionID, code: UInt16, _ reason: String) {
    guard connection.door == id else { return }
    thread.sender?.close(WebSocketID(rawValue: connection.number), code: code, reason: reason)
  }

  private func began(_ connection: ConnectionID) {
    guard connection.door == id else { return }
    gates.with { $0[connection]?.began() }
    thread.sender?.admit(WebSocketID(rawValue: connection.number))
  }

  private func setWaiting(_ isWaiting: Bool, _ connection: ConnectionID) {
    guard connection.door == id else { return }
    thread.sender?.setWaiting(isWaiting, WebSocketID(rawValue: connection.number))
  }

  /// On the web server's thread. A reply of ours that cannot be encoded is a mistake of ours, and its client is told so.
  private static func encode(_ frame: ServerFrame, _ log: Logger) -> [UInt8] {
    orLastResort(log) {
      do {
        return try frame.encode()
      } catch {
        guard case .reply(let id, _) = frame else { throw error }
        log.error("a reply could not be encoded", ["error": LogValue(String(describing: error))])
        return try ServerFrame.failure(id, ErrorObject(.internalError)).encode()
      }
    }
  }

  private static func orLastResort(_ log: Logger, _ encode: () throws -> [UInt8]) -> [UInt8] {
    do {
      return try encode()
    } catch {
      log.error("a message could not be encoded", ["error": LogValue(String(describing: error))])
      return lastResort
    }
  }

  /// What `ErrorObject(.internalError)` encodes to, for when nothing can be encoded.
  static let lastResort = Array(
    (#"{"jsonrpc":"2.0","id":null,"error":{"code":5000,"message":"The server made a mistake.","#
      + #""data":{"name":"INTERNAL","retryable":false}}}"#).utf8)
}

extension Reply {
  /// Whether the connection has a session from here on.
  fileprivate var beginsSession: Bool {
    if case .hello = self { return true }
    if case .resumed = self { return true }
    return false
  }
}

extension WebSocketClosure.Cause {
  /// Whether an operator may want to know.
  fileprivate var isTrouble: Bool {
    switch self {
    case .slowReader, .overloaded, .invalidText, .unmasked, .malformed, .unfinished, .controlFrames: true
    case .peer, .lost, .local, .silent, .stopping, .unreachable: false
    }
  }
}

extension ClientFrame {
  /// Decodes a frame whose names are of the form that is let in, too.
  fileprivate static func reading(_ bytes: [UInt8]) -> ClientFrame {
    let frame = decode(bytes)
    guard case .request(let id, let request) = frame else { return frame }
    do throws(ErrorObject) {
      try request.checkNames()
      return frame
    } catch {
      return .invalid(id, request.method, error)
    }
  }
}

extension [UInt8] {
  /// Whether the first character that is not blank opens an array.
  fileprivate var isBatch: Bool {
    first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != 0x0d } == UInt8(ascii: "[")
  }
}
