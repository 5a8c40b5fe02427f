// A client's session: requests and their replies, events, and coming back after a lost connection.
//
//   request ──▶ pending ──▶ transport ──▶ server
//   reply  ◀── pending ◀──┐
//   events ◀── rooms, calls ◀┴─ one reader of the transport, in order
import RoostProtocol

/// A session with a Roost server.
///
///     let session = try await RoostSession.connect(
///       to: "ws://127.0.0.1:8080/rtc", hello: HelloParams(user: "anna"))
///     let events = await session.events()
///     let room = try await session.join(room: "demo")
///     try await room.chat("hello")
///     for await case .event(let message) in events { print(message.event) }
///     await session.close()
///
/// Calls are in `startCall`, `incomingCalls` and `CallSession`.
///
/// When the connection is lost, the session reconnects and resumes by itself. Requests without a reply are sent again
/// with their ids, which the server remembers, so each is carried out once.
public actor RoostSession {
  enum State {
    case connected(any MessageTransport)
    case reconnecting
    case ended(SessionEnd)
  }

  private struct Pending {
    var request: Request
    var bytes: [UInt8]
    var order: Int64
    var continuation: CheckedContinuation<Result<Reply, RoostError>, Never>
    var timer: Task<Void, Never>
  }

  /// The server's answer to the latest `session.hello`.
  public private(set) var hello: HelloResult
  /// The number of the last event that came.
  public private(set) var lastSeq = 0
  /// The address that was connected to.
  public nonisolated let url: String

  var helloParams: HelloParams
  private let options: SessionOptions
  private var state: State
  private var pending: [RequestID: Pending] = [:]
  private var lastID: Int64 = 0
  private var readers = EventReaders()
  private var rooms: [String: RoomState] = [:]
  var book: CallBook
  var callReaders = CallReaders()
  private var reading: Task<Void, Never>?
  private var keepingAlive: Task<Void, Never>?
  private(set) var renewal = TokenRenewal()
  private var stopReason: SessionEnd?
  private var clock = ContinuousClock()
  private var lastReceived = ContinuousClock.now
  /// Whether the transport was told that this session only waits.
  private var isTakenForWaiting = false

  // MARK: Beginning and end

  /// Connects and says `session.hello`, with a token of `SessionOptions.token` where `params` has none.
  /// - Throws: `.unreachable`, also where there is no token to be had, or `.refused` with the server's error.
  public static func connect(
    to url: String, hello params: HelloParams, options: SessionOptions = SessionOptions()
  ) async throws(RoostError) -> RoostSession {
    let params = params.token == nil ? try await options.fresh(params) : params
    let (transport, result) = try await begin(url, .session(.hello(params)), options)
    guard case .success(.hello(let hello)) = result.first else {
      transport.close(code: 1000, reason: "hello was refused")
      if case .failure(let error) = result.first { throw .refused(error) }
      throw .unexpectedReply(.sessionHello)
    }
    let session = RoostSession(url: url, hello: hello, params: params, options: options, transport: transport)
    await session.start(result)
    return session
  }

  private init(
    url: String, hello: HelloResult, params: HelloParams, options: SessionOptions, transport: any MessageTransport
  ) {
    self.url = url
    self.hello = hello
    self.helloParams = params
    self.options = options
    self.state = .connected(transport)
    book = CallBook(hello)
  }

  /// A session that is thrown away ends its streams, so that nobody waits for it.
  deinit {
    reading?.cancel()
    keepingAlive?.cancel()
    renewal.cancel()
    readers.finish()
    callReaders.finish()
  }

  private func start(_ opening: Opening) {
    guard case .connected(let transport) = state else { return }
    isTakenForWaiting = false
    for message in opening.early { receive(message) }
    settlePace()
    startKeepAlive()
    read(transport, opening.rest)
  }

  /// Says `session.bye` and closes. The server lets go of the seat at once.
  public func close() async {
    guard case .connected(let transport) = state else { return end(.byUs) }
    stopReason = .byUs
    _ = try? await request(.session(.bye), timeout: .seconds(2))
    transport.close(code: 1000, reason: "bye")
    end(.byUs)
  }

  /// Cuts the connection without a close frame's good will, as a lost network would, and comes back by the usual way.
  /// For tests of what resuming is good for.
  public func dropConnection() {
    guard case .connected(let transport) = state else { return }
    transport.close(code: 4900, reason: "dropped")
    lost("dropped on purpose")
  }

  /// A new stream of everything that happens from now on. Each call gives a stream of its own; a reader that is
  /// `eventBuffer` events behind misses the oldest ones (see `droppedEvents`), while rooms stay up to date.
  public func events() -> AsyncStream<SessionEvent> {
    if case .ended(let end) = state {
      return AsyncStream {
        $0.yield(.ended(end))
        $0.finish()
      }
    }
    return readers.add(buffer: options.eventBuffer) { [weak self] name in
      Task { await self?.removeReader(name) }
    }
  }

  /// Events that slow readers missed so far.
  public var droppedEvents: Int { readers.dropped }

  private func removeReader(_ name: Int) { readers.remove(name) }

  /// Events that may wait for each reader of a stream.
  var eventBuffer: Int { options.eventBuffer }

  // MARK: Requests

  /// Sends a request and waits for its reply. While the session reconnects, requests wait too.
  /// - Throws: `.refused`, `.timedOut`, `.closed` or `.cancelled`.
  public func request(_ request: Request) async throws(RoostError) -> Reply {
    var timeout = options.requestTimeout
    // That it is over is for the server to say.
    if case .message(.request(let params)) = request { timeout += .milliseconds(params.timeoutMs ?? 10_000) }
    return try await self.request(request, timeout: timeout)
  }

  private func request(_ request: Request, timeout: Duration) async throws(RoostError) -> Reply {
    if case .ended(let end) = state { throw .closed(end) }
    lastID += 1
    let order = lastID
    let id = RequestID.number(order)
    guard let bytes = try? ClientFrame.encode(request, id: id) else { throw .unexpectedReply(request.method) }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let timer = Task { [weak self] in
          try? await Task.sleep(for: timeout)
          if !Task.isCancelled { await self?.settle(id, .failure(.timedOut(request.method))) }
        }
        pending[id] = Pending(
          request: request, bytes: bytes, order: order, continuation: continuation, timer: timer)
        if case .connected(let transport) = state { transport.send(bytes) }
      }
    } onCancel: {
      Task { await self.settle(id, .failure(.cancelled)) }
    }
    return try result.get()
  }

  private func settle(_ id: RequestID, _ result: Result<Reply, RoostError>) {
    guard let waiting = pending.removeValue(forKey: id) else { return }
    waiting.timer.cancel()
    waiting.continuation.resume(returning: result)
  }

  // MARK: Rooms

  /// Joins a room by name, leaving the one that one is in.
  /// - Throws: `.refused` with 2002 ROOM_FULL, 2003 NAME_TAKEN, 2004 ALREADY_JOINED and so on.
  public func join(_ params: RoomJoinParams) async throws(RoostError) -> RoomSession {
    guard case .room(let snapshot) = try await request(.room(.join(params))) else {
      throw .unexpectedReply(.roomJoin)
    }
    return RoomSession(session: self, name: snapshot.room, selfId: snapshot.selfId)
  }

  /// Joins a room by name with the defaults.
  public func join(room: String, displayName: String? = nil, media: MediaClass? = nil) async throws(RoostError)
    -> RoomSession
  {
    try await join(RoomJoinParams(room: room, displayName: displayName, media: media))
  }

  /// The room as it is now, nil when one is not in it.
  public func snapshot(of room: String) -> RoomSnapshot? { rooms[room]?.snapshot }

  /// The room that one is in, by name or by a call.
  public var currentRoom: RoomSnapshot? { rooms.values.first?.snapshot }

  // MARK: What comes from the server

  private func read(_ transport: any MessageTransport, _ stream: TransportReader) {
    reading = Task { [weak self] in
      while let event = await stream.next() {
        guard let self else { return }
        await self.arrived(event, from: transport)
      }
      // A transport whose messages nobody had read in time may have had no place left for the word that it is gone.
      await self?.arrived(.closed(code: nil, reason: "the connection ended"), from: transport)
    }
  }

  private func arrived(_ event: TransportEvent, from transport: any MessageTransport) {
    guard case .connected(let current) = state, current === transport else { return }
    lastReceived = clock.now
    switch event {
    case .text(let bytes): receive(bytes)
    case .closed(let code, let reason): closed(code, reason)
    }
  }

  private func receive(_ bytes: [UInt8]) {
    guard let frame = try? ServerFrame.decode(bytes, pending: { pending[$0]?.request.method }) else { return }
    switch frame {
    case .reply(let id, let reply):
      note(reply, to: id)
      settle(id, .success(reply))
    case .failure(let id, let error): if let id { settle(id, .failure(.refused(error))) }
    case .event(let message): handle(message)
    case .unknownEvent(_, let seq): lastSeq = max(lastSeq, seq)
    }
    settlePace()
  }

  /// How often the server pings this session while it only waits; nil where it has a seat, or a server that does not say so.
  private var waitingPace: Duration? {
    rooms.isEmpty ? hello.limits.idlePingMs.map { .milliseconds(min(max($0, 1_000), 3_600_000)) } : nil
  }

  /// Without a seat one asks no more often than the server does.
  private func settlePace() {
    guard rooms.isEmpty != isTakenForWaiting, case .connected(let transport) = state else { return }
    isTakenForWaiting = rooms.isEmpty
    transport.setPace(waitingPace)
    // What sleeps at the other pace is woken.
    startKeepAlive()
  }

  /// A reply changes what is known before anything after it is read.
  private func note(_ reply: Reply, to id: RequestID) {
    guard let request = pending[id]?.request else { return }
    switch (request, reply) {
    case (.room(.join), .room(let snapshot)): enter(snapshot)
    case (.room(.leave(let params)), _): rooms[params.room] = nil
    case (_, .callStarted(let result)): enter(result.room)
    case (_, .callRoom(let result)): enter(result.room)
    case (.call(.hangup), .call(let result)), (.call(.cancel), .call(let result)): rooms[result.call.room] = nil
    default: break
    }
    note(reply)
  }

  /// One holds one seat at a time.
  private func enter(_ snapshot: RoomSnapshot) { rooms = [snapshot.room: RoomState(snapshot)] }

  private func handle(_ message: EventMessage) {
    guard message.seq > lastSeq else { return }
    lastSeq = message.seq
    switch message.event {
    case .sessionReplaced: stopReason = .replaced
    case .sessionClosing(let closing) where closing.action == .stop:
      stopReason = .stopped(closing.reason.rawValue)
    case .sessionExpiring: renewal.begin(options) { [weak self] token in try await self?.renew(token: token) }
    default: break
    }
    for name in Array(rooms.keys) {
      guard var room = rooms.removeValue(forKey: name) else { continue }
      guard room.apply(message) else { continue }
      rooms[room.snapshot.room] = room
      if room.isAboutOneself(message.event), !name.utf8.starts(with: ProtocolLimits.callRoomPrefix.utf8) {
        Task { await refresh(name) }
      }
    }
    if case .callEnded(let ended) = message.event { rooms[ProtocolLimits.callRoomPrefix + ended.callId] = nil }
    readers.tell(.event(message))
    noteCall(message)
  }

  /// Gets a new snapshot of a room, by joining it again. Not while a request is pending whose reply brings a snapshot, or ends the seat.
  private func refresh(_ name: String) async {
    guard let before = rooms[name]?.snapshot.selfId, !pending.values.contains(where: \.request.isAboutASeat),
      case .room(let now)? = try? await request(.room(.join(RoomJoinParams(room: name)))), now.selfId != before
    else { return }
    // The seat had ended before the request came, and the request took another.
    _ = try? await request(.room(.leave(RoomParams(room: name))))
  }

  private func closed(_ code: UInt16?, _ reason: String) {
    if let stopReason { return end(stopReason) }
    // 4000 and 4001 say that somebody else has the session now.
    if code == 4000 || code == 4001 { return end(.replaced) }
    lost(reason)
  }

  // MARK: Coming back

  private func lost(_ reason: String) {
    if let stopReason { return end(stopReason) }
    guard let policy = options.reconnect else { return end(.lost(reason)) }
    state = .reconnecting
    keepingAlive?.cancel()
    readers.tell(.reconnecting(reason))
    Task { [weak self] in await self?.comeBack(policy, reason) }
  }

  private func comeBack(_ policy: ReconnectPolicy, _ reason: String) async {
    var latest = reason
    var wished = Duration.zero
    for attempt in 0..<policy.attempts {
      try? await Task.sleep(for: max(wished, policy.delay(before: attempt, chance: Double.random(in: 0...1))))
      guard case .reconnecting = state else { return }
      do throws(RoostError) {
        if try await resume() { return }
      } catch {
        latest = "\(error)"
        wished = .milliseconds(error.refusal?.data.retryAfterMs ?? 0)
      }
    }
    if case .reconnecting = state { end(.lost(latest)) }
  }

  /// - Returns: true when there is nothing left to try, for better or worse.
  private func resume() async throws(RoostError) -> Bool {
    let params = ResumeParams(resumeToken: hello.resumeToken, lastSeq: lastSeq)
    let (transport, opening) = try await Self.begin(url, .session(.resume(params)), options)
    switch opening.first {
    case .success(.resumed(let result)): adopt(transport, opening, result)
    case .failure(let error) where error.code == .resumeExpired || error.code == .sessionReplaced:
      transport.close(code: 1000, reason: "resume was refused")
      guard error.code == .resumeExpired, options.helloAgain else {
        end(error.code == .sessionReplaced ? .replaced : .expired(error))
        return true
      }
      try await beginAnew()
    case .failure(let error):
      transport.close(code: 1000, reason: "resume was refused")
      throw .refused(error)
    case .success: throw .unexpectedReply(.sessionResume)
    }
    return true
  }

  private func adopt(_ transport: any MessageTransport, _ opening: Opening, _ result: ResumeResult) {
    guard case .reconnecting = state else { return transport.close(code: 1000, reason: "no longer wanted") }
    state = .connected(transport)
    lastReceived = clock.now
    switch result {
    case .replayed(let count): readers.tell(.resumed(replayed: count))
    case .resync(let resync):
      lastSeq = resync.seq
      rooms = [:]
      if let room = resync.room { rooms[room.room] = RoomState(room) }
      readers.tell(.resynced(resync))
      noteResync(resync)
    }
    for waiting in pending.values.sorted(by: { $0.order < $1.order }) { transport.send(waiting.bytes) }
    start(opening)
  }

  private func beginAnew() async throws(RoostError) {
    // The token: what this session has left behind, such as one whose hello was answered too late, makes way for it.
    var params = try await options.fresh(helloParams)
    helloParams.token = params.token
    params.resumeToken = hello.resumeToken
    params.takeover = true
    let (transport, opening) = try await Self.begin(url, .session(.hello(params)), options)
    guard case .success(.hello(let result)) = opening.first else {
      transport.close(code: 1000, reason: "hello was refused")
      if case .failure(let error) = opening.first {
        // The device's other session is one of ours, of which nothing is known but that it ends by itself.
        let isInUse = error.code == .forbidden && error.data.reason == "device_in_use"
        if error.data.retryable || isInUse { throw .refused(error) }
        return end(.expired(error))
      }
      throw .unexpectedReply(.sessionHello)
    }
    guard case .reconnecting = state else { return transport.close(code: 1000, reason: "no longer wanted") }
    hello = result
    lastSeq = 0
    rooms = [:]
    state = .connected(transport)
    // The new session knows nothing of the old one's requests.
    let end = SessionEnd.expired(ErrorObject(.resumeExpired))
    for id in Array(pending.keys) { settle(id, .failure(.closed(end))) }
    readers.tell(.restarted(result))
    noteRestart(result)
    start(opening)
  }

  private func end(_ reason: SessionEnd) {
    if case .ended = state { return }
    if case .connected(let transport) = state { transport.close(code: 1000, reason: "") }
    state = .ended(reason)
    keepingAlive?.cancel()
    renewal.cancel()
    reading?.cancel()
    for id in Array(pending.keys) { settle(id, .failure(.closed(reason))) }
    rooms = [:]
    readers.tell(.ended(reason))
    readers.finish()
    callReaders.finish()
  }

  private func startKeepAlive() {
    guard let interval = options.keepAlive else { return }
    keepingAlive?.cancel()
    keepingAlive = Task { [weak self] in
      while !Task.isCancelled {
        guard let pace = await self?.keepAlivePace(interval) else { return }
        try? await Task.sleep(for: pace)
        if Task.isCancelled { return }
        await self?.keepAlive(pace)
      }
    }
  }

  private func keepAlivePace(_ interval: Duration) -> Duration { max(interval, waitingPace ?? .zero) }

  private func keepAlive(_ interval: Duration) async {
    guard case .connected(let transport) = state, clock.now - lastReceived >= interval else { return }
    do {
      _ = try await request(.session(.ping))
    } catch .timedOut {
      guard case .connected(let current) = state, current === transport else { return }
      transport.close(code: 4900, reason: "no reply to ping")
      lost("no reply to ping")
    } catch {
      return
    }
  }
}

extension Request {
  /// Whether its reply may begin or end a seat.
  fileprivate var isAboutASeat: Bool {
    switch self {
    case .room(.join), .room(.leave), .call(.start), .call(.accept), .call(.join), .call(.hangup), .call(.cancel),
      .call(.end):
      true
    default: false
    }
  }
}
