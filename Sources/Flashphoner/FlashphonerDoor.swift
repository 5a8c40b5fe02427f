// The front door for apps that were written for Flashphoner's SDKs: a WebSocket of its own, text in, commands out; effects in, text
// out. It holds sessions and who they are of; what they say is `Session`'s and `Membership`'s, and all rules are the core's.
//
//   WebSocket ──text──▶ ClientMessage ──▶ Gate ──▶ Session ──▶ sink(Command)            service thread
//   WebSocket ◀─text── ServerMessage ◀── mailbox ◀── Session ◀── carryOut(ClientEffect)  conference thread
import Basics
import Conference
import Crypto
import Logging
import RoostProtocol
import Signalling
import Threads
import WebSockets

/// Clients of Flashphoner's web, iOS and Android SDKs. Each room that one joins, and each stream without a room, is a client of the core
/// like any other.
///
///     let door = FlashphonerDoor(id: DoorID(2), appKeys: ["roomApp"], log: log) { inbox.post($0) }
///     let server = try WebServer.start(configuration, makeHandler: door.handler)
///     for case .client(let effect) in core.apply(command, at: now) { door.carryOut(effect) }
public final class FlashphonerDoor: Sendable {
  /// Rooms and streams without a room that the clients of one network may have (`PeerNetwork`). Each is a session of the core.
  static let mostOfNetwork = 1_000
  /// How often a client is sent a `ping` of the protocol: clients may count them.
  static let pingInterval = TimeDelta.seconds(5)
  /// Sessions whose sockets broke and whose seats may be had again. More are not kept: their clients wait until the seat is free.
  static let mostKept = 4096
  /// RFC 6455, section 7.4.1.
  private static let policyViolation: UInt16 = 1008
  private static let replaced: UInt16 = 4000
  /// The request that ends a membership, whose reply nobody waits for.
  private static let farewell = RequestID.number(0)

  /// One WebSocket.
  private final class Socket: Sendable {
    struct State {
      var session: Session
      var gate: Gate
      var nextPing: Instant
      /// Counts what the server tells unasked.
      var lastOperation: UInt64 = 0
      var isClosed = false
    }
    let id: WebSocketID
    let address: SocketAddress?
    /// What is done for a client is posted under this lock, so that it stays in order.
    let state: Locked<State>

    init(id: WebSocketID, address: SocketAddress?, state: State) {
      (self.id, self.address, self.state) = (id, address, Locked(state))
    }

    /// Its address as the log has it.
    var peer: String { address?.description ?? "" }
  }

  /// What is left of a session whose socket broke.
  private struct Kept {
    let user: String
    let proofs: [String: String]
    let until: Instant
  }

  private struct Table {
    var sockets: [WebSocketID: Socket] = [:]
    /// Whose a membership is.
    var owners: [UInt64: Socket] = [:]
    /// How many memberships the clients of a network have.
    var ofNetwork: [PeerNetwork: Int] = [:]
    var byToken: [String: Socket] = [:]
    var kept: [String: Kept] = [:]
    var lastNumber: UInt64 = 0

    mutating func disown(_ number: UInt64) {
      guard let socket = owners.removeValue(forKey: number) else { return }
      let network = PeerNetwork(socket.address)
      ofNetwork[network, default: 1] -= 1
      if ofNetwork[network] == 0 { ofNetwork[network] = nil }
    }
  }

  /// Its place among the front doors of the process.
  public let id: DoorID
  private let appKeys: Set<String>
  private let limits: SignallingLimits
  private let grace: TimeDelta
  private let log: Logger
  private let clock: @Sendable () -> Instant
  private let verifier: any IdentityVerifier
  private let isOverloaded: @Sendable () -> Bool
  private let sink: @Sendable (Command) -> Void
  // Locks are taken in this order: a socket's, then the table's.
  private let table = Locked(Table())
  private let sender = Locked<WebSocketSender?>(nil)

  /// A door that gives `sink` its commands, on the web server's thread and the one that calls `carryOut`: `sink` must be quick and must
  /// not wait.
  /// - Parameters:
  ///   - id: no other door of the process may have it.
  ///   - appKeys: applications whose clients are let in.
  ///   - grace: how long a client whose socket broke may come back to its seat.
  ///   - clock: the monotonic clock that rate limits are measured with.
  ///   - verifier: finds out whose token a client shows.
  ///   - isOverloaded: whether requests are to be refused for now.
  public init(
    id: DoorID, appKeys: [String], limits: SignallingLimits = SignallingLimits(), grace: TimeDelta = .seconds(15),
    log: Logger, clock: @escaping @Sendable () -> Instant = MonotonicClock.now,
    verifier: any IdentityVerifier = OpenAccess(), isOverloaded: @escaping @Sendable () -> Bool = { false },
    sink: @escaping @Sendable (Command) -> Void
  ) {
    (self.id, self.appKeys, self.limits, self.grace, self.log) = (id, Set(appKeys), limits, grace, log)
    (self.clock, self.verifier, self.isOverloaded, self.sink) = (clock, verifier, isOverloaded, sink)
  }

  /// Connections, and memberships of the core that they have.
  public var counts: (connections: Int, members: Int) {
    table.withLock { ($0.sockets.count, $0.owners.count) }
  }

  /// The handler for `WebServer.start(_:routes:makeHandler:)`. A door serves one server.
  public func handler(_ sender: WebSocketSender) -> @Sendable (WebSocketEvent) -> Void {
    self.sender.withLock { $0 = sender }
    return { [self] in handle($0) }
  }

  // MARK: In

  private func handle(_ event: WebSocketEvent) {
    switch event {
    case .opened(let id, let peer): opened(id, peer)
    case .text(let id, let bytes):
      do throws(MalformedMessage) {
        received(try ClientMessage(bytes), from: id)
      } catch {
        refused(error.word, error.reason, from: id)
      }
    case .oversized(let id, let limit): refused(nil, "The message is larger than \(limit) bytes", from: id)
    case .binary(let id): refused(nil, "Binary frames are not served", from: id)
    case .closed(let id, let closure): closed(id, closure)
    }
  }

  private func opened(_ id: WebSocketID, _ peer: WebSocketPeer) {
    let now = clock()
    let session = Session(number: { [self] in number(for: id) }, digits: { randomBytes(4).hexadecimal })
    let socket = Socket(
      id: id, address: peer.address,
      state: .init(session: session, gate: Gate(limits: limits, now: now), nextPing: now + Self.pingInterval))
    table.withLock { $0.sockets[id] = socket }
    log.info(
      "flashphoner_opened",
      ["connection": LogValue(id), "peer": LogValue(socket.peer), "origin": LogValue(peer.origin ?? "")])
  }

  /// A number for a client's next membership; nil where its network has as many as it may.
  private func number(for id: WebSocketID) -> UInt64? {
    table.withLock { table in
      guard let socket = table.sockets[id] else { return nil }
      let network = PeerNetwork(socket.address)
      guard table.ofNetwork[network, default: 0] < Self.mostOfNetwork else { return nil }
      table.ofNetwork[network, default: 0] += 1
      table.lastNumber += 1
      table.owners[table.lastNumber] = socket
      return table.lastNumber
    }
  }

  private func socket(_ id: WebSocketID) -> Socket? { table.withLock { $0.sockets[id] } }

  private func received(_ message: ClientMessage, from id: WebSocketID) {
    guard let socket = socket(id), passes(.none, message.word, socket) else { return }
    if case .connection(let wish) = message, !socket.state.withLock({ $0.session.isOpen }) {
      return connect(wish, socket)
    }
    if isOverloaded(), message.isWork {
      return refuse(message.word, ErrorObject(.overloaded).message, socket)
    }
    log.debug("flashphoner_message", ["connection": LogValue(id), "message": LogValue(message.word)])
    perform(on: socket) { $0.received(message) }
  }

  private func refused(_ word: String?, _ reason: String, from id: WebSocketID) {
    guard let socket = socket(id) else { return }
    _ = passes(.malformed(reason), word, socket)
  }

  /// Whether a frame passes; where not, the client is told.
  private func passes(_ fault: Gate.Fault, _ word: String?, _ socket: Socket) -> Bool {
    let now = clock()
    let verdict = socket.state.withLock { state -> Gate.Verdict? in
      state.isClosed ? nil : state.gate.judge(fault, unanswered: state.session.unanswered, at: now)
    }
    switch verdict {
    case nil: return false
    case .pass?: return true
    case .refuse(let reason)?: refuse(word, reason, socket)
    case .close(let reason)?:
      log.warning(
        "flashphoner_refused",
        ["connection": LogValue(socket.id), "peer": LogValue(socket.peer), "reason": LogValue(reason)])
      perform(on: socket) { _ in [.send(.fail(.init(word: word, info: reason))), .close(reason)] }
    }
    return false
  }

  private func refuse(_ word: String?, _ reason: String, _ socket: Socket) {
    perform(on: socket) { _ in [.send(.fail(.init(word: word, info: reason)))] }
  }

  // MARK: Connecting

  /// Lets a client in. A refusal is a closed socket: that is what their SDKs take for one.
  private func connect(_ wish: ConnectionWish, _ socket: Socket) {
    let hello = HelloParams(
      user: wish.login ?? "user-\(randomBytes(4).hexadecimal)", token: wish.token, displayName: wish.login,
      capabilities: [ClientCapability.clientOffers.rawValue: true], callable: false)
    let identity: Identity
    do throws(UnprovenIdentity) {
      guard appKeys.contains(wish.appKey) else {
        return turnAway(socket, "There is no application \(wish.appKey)")
      }
      identity = try verifier.verify(hello, from: socket.address)
    } catch {
      return turnAway(socket, error.detail, isLogged: error.isNews)
    }
    let (authToken, proofs) = proofs(for: wish.authToken, user: identity.user)
    table.withLock { $0.byToken[authToken] = socket }
    log.info("flashphoner_connected", ["connection": LogValue(socket.id), "user": LogValue(identity.user)])
    perform(on: socket) { $0.connected(wish, hello, identity, authToken: authToken, proofs: proofs) }
  }

  private func turnAway(_ socket: Socket, _ why: String, isLogged: Bool = true) {
    if isLogged {
      log.warning(
        "flashphoner_refused",
        ["connection": LogValue(socket.id), "peer": LogValue(socket.peer), "reason": LogValue(why)])
    }
    perform(on: socket) { _ in
      [.send(.fail(.init(word: "connection", info: Info.restricted))), .close(Info.restricted)]
    }
  }

  /// The token of a session, and what an earlier one of the same client, which showed it, had of seats. That one is closed where it is
  /// not yet.
  private func proofs(for shown: String?, user: String) -> (authToken: String, proofs: [String: String]) {
    let now = clock()
    let new = randomBytes(16).hexadecimal
    guard let shown else { return (new, [:]) }
    if let old = table.withLock({ $0.byToken[shown] }) {
      guard old.state.withLock({ $0.session.user }) == user else { return (new, [:]) }
      sender.withLock { $0 }?.close(old.id, code: Self.replaced, reason: "session replaced")
      end(old, clean: false)
    }
    let kept = table.withLock { table -> Kept? in
      guard let kept = table.kept[shown], kept.user == user, kept.until > now else { return nil }
      table.kept[shown] = nil
      return kept
    }
    return kept.map { (shown, $0.proofs) } ?? (new, [:])
  }

  private func closed(_ id: WebSocketID, _ closure: WebSocketClosure) {
    guard let socket = table.withLock({ $0.sockets.removeValue(forKey: id) }) else { return }
    log.info(
      "flashphoner_closed",
      [
        "connection": LogValue(id), "peer": LogValue(socket.peer), "cause": LogValue(closure.cause.rawValue),
        "code": LogValue(closure.code ?? 0), "reason": LogValue(closure.reason),
      ])
    end(socket, clean: closure.clean)
  }

  /// A session is over. Unless the client meant to go, it may come back to its seats.
  private func end(_ socket: Socket, clean: Bool) {
    let now = clock()
    let (token, user, left) = socket.state.withLock { state in
      state.isClosed = true
      return (state.session.authToken, state.session.user, state.session.ended())
    }
    table.withLock { table in
      for number in left.rooms + left.streams.keys { table.disown(number) }
      guard table.byToken[token] === socket else { return }
      table.byToken[token] = nil
      guard !clean, let user, !left.proofs.isEmpty, table.kept.count < Self.mostKept else { return }
      table.kept[token] = Kept(user: user, proofs: left.proofs, until: now + grace)
    }
    for number in left.rooms { sink(.connectionClosed(ConnectionID(number, door: id), clean: clean)) }
    for (number, room) in left.streams.sorted(by: { $0.key < $1.key }) { leave(number, room) }
  }

  // MARK: Out

  /// Carries out an effect that concerns a membership. To be called in the effects' order, from one thread.
  public func carryOut(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let request, let result): on(connection) { $0.replied(request, result) }
    case .event(let connection, let message): on(connection) { $0.heard(message.event) }
    case .broadcast(let receivers, _, let event):
      for receiver in receivers { on(receiver.connection) { $0.heard(event) } }
    case .stream(let connection, let stream, let change): on(connection) { $0.media(stream, change) }
    case .closeConnection(let connection, let reason):
      guard reason == .tokenExpired else { return on(connection) { $0.closed(Info.noSession) } }
      let socket = table.withLock { $0.owners[connection.number] }
      on(connection) { $0.closed(Info.restricted) }
      // All of a client's memberships have one token.
      if let socket { perform(on: socket) { _ in [.close(Info.restricted)] } }
    case .setWaiting: break
    }
  }

  private func on(_ connection: ConnectionID, _ change: (inout Membership) -> [MembershipAction]) {
    guard connection.door == id, let socket = table.withLock({ $0.owners[connection.number] }) else { return }
    perform(on: socket) { $0.on(connection.number, change) }
  }

  /// Closes connections that have not said who they are, and pings the others. To be called every second or so.
  public func closeIdle() {
    let now = clock()
    let sockets = table.withLock { table in
      table.kept = table.kept.filter { $0.value.until > now }
      return Array(table.sockets.values)
    }
    for socket in sockets { beat(socket, now) }
  }

  private func beat(_ socket: Socket, _ now: Instant) {
    let (isOpen, isIdle, isDue) = socket.state.withLock { state in
      let isDue = !state.isClosed && state.session.isOpen && state.nextPing <= now
      if isDue { state.nextPing = now + Self.pingInterval }
      return (state.session.isOpen, state.gate.isIdle(at: now), isDue)
    }
    if isDue { perform(on: socket) { _ in [.send(.ping)] } }
    if !isOpen, isIdle { perform(on: socket) { _ in [.close("no session in time")] } }
  }

  /// Changes a session, and does what is to be done in order.
  private func perform(on socket: Socket, _ change: (inout Session) -> [SessionAction]) {
    socket.state.withLock { state in
      guard !state.isClosed else { return }
      for action in change(&state.session) { perform(action, socket, &state) }
    }
  }

  private func perform(_ action: SessionAction, _ socket: Socket, _ state: inout Socket.State) {
    switch action {
    case .send(let message): send(message, socket, &state)
    case .hello(let number, let params, let identity):
      sink(.hello(ConnectionID(number, door: id), Membership.hello, params, identity))
    case .ask(let number, let request, let what): sink(.request(ConnectionID(number, door: id), request, what))
    case .stream(let number, let request, let what): sink(.stream(ConnectionID(number, door: id), request, what))
    case .leave(let number, let room):
      table.withLock { $0.disown(number) }
      leave(number, room)
    case .close(let reason):
      sender.withLock { $0 }?.close(socket.id, code: Self.policyViolation, reason: reason)
    }
  }

  /// Said, and not just gone: whoever is gone may come back to the place that they published from.
  private func leave(_ number: UInt64, _ room: String) {
    let connection = ConnectionID(number, door: id)
    sink(.request(connection, Self.farewell, .room(.leave(RoomParams(room: room)))))
    sink(.connectionClosed(connection, clean: true))
  }

  private func send(_ message: ServerMessage, _ socket: Socket, _ state: inout Socket.State) {
    state.lastOperation += 1
    let operation = String(state.lastOperation)
    let log = self.log
    // Encoded on the web server's thread.
    sender.withLock { $0 }?.send(to: socket.id) {
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
