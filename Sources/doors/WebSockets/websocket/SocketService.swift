// The WebSockets of one libwebsockets context, server or client end alike. Lives on the service thread alone.
import Basics
import Threads

internal import CWebSockets

#if canImport(Glibc)
  import Glibc
#endif

/// One WebSocket as the service thread knows it.
final class Socket {
  enum Phase {
    /// Client only: the handshake is under way.
    case connecting
    case open
    /// Our close frame follows what is queued.
    case closing(code: UInt16, reason: String)
    /// `closed` has been reported; libwebsockets is taking it down.
    case gone
  }
  let id: WebSocketID
  let wsi: OpaquePointer
  let limits: WebSocketLimits
  var phase: Phase
  var assembler = MessageAssembler.idle
  /// Server only: what has begun and is not whole.
  var messages: MessageState?
  /// Bytes of its output as they count among those of its address.
  var countedOutput = 0
  var output: OutputQueue
  var pings: PingState
  /// Pings and pongs that it may send.
  var controls: ControlPace
  var pingDue = false
  var writableRequested = false
  /// Whether it may send messages as long as anybody's.
  var isAdmitted = false

  init(id: WebSocketID, wsi: OpaquePointer, limits: WebSocketLimits, phase: Phase, now: Instant) {
    self.id = id
    self.wsi = wsi
    self.limits = limits
    self.phase = phase
    self.output = OutputQueue(limits: limits)
    controls = ControlPace(limits, now: now)
    self.pings = PingState(pace: limits.pace(.busy), now: now)
  }

  /// The largest text message taken in from it.
  var messageLimit: Int {
    isAdmitted ? limits.maximumMessageBytes : min(limits.strangersMessageBytes, limits.maximumMessageBytes)
  }

  var isGone: Bool { if case .gone = phase { true } else { false } }
}

final class SocketService {
  /// Seconds for a close frame to get out and be answered before the connection is cut.
  private static let closeSeconds: Int32 = 5
  /// The close code for one that does not read (docs/protocol.md).
  static let tooSlow: UInt16 = 4002
  /// The close code for one whose message does not come whole (docs/protocol.md).
  static let unfinished: UInt16 = 4004
  /// RFC 6455, section 7.4.1.
  private static let policyViolation: UInt16 = 1008
  /// Not empty, because libwebsockets does not tell of a pong that is.
  private static let pingPayload = Array("alive?".utf8)
  /// Frames written to one socket before the others have their turn.
  private static let framesPerTurn = 32

  private let report: (WebSocketEvent) -> Void
  private let count: ((inout WebServerStatistics) -> Void) -> Void
  private var byWSI: [OpaquePointer: Socket] = [:]
  var byID: [WebSocketID: Socket] = [:]
  private var pings = PingSchedule()
  var messages: UnfinishedMessages
  /// What waits for those who do not read.
  var waiting: ByteShares
  /// Bytes of messages of those who are not admitted.
  var strangers: NetworkBuckets
  /// Goes off when the first of them is to be pinged or has been silent for too long.
  private var alarm: Alarm?
  /// Goes off when the first of them has had its time for a message.
  var messageAlarm: Alarm?
  private var scratch: WriteBuffer
  /// Sockets for which something new waits, to be written when the batch of commands is carried out.
  private var fresh: [Socket] = []

  /// `report` is given every event, `count` every change of the counters.
  init(
    bounds: MessageBounds = MessageBounds(), queuedBytesPerAddress: Int = .max,
    strangers: NetworkBuckets = NetworkBuckets(burst: 1, perSecond: 1),
    report: @escaping (WebSocketEvent) -> Void,
    count: @escaping ((inout WebServerStatistics) -> Void) -> Void = { _ in }
  ) {
    messages = UnfinishedMessages(bounds)
    waiting = ByteShares(limit: queuedBytesPerAddress)
    self.strangers = strangers
    self.report = report
    self.count = count
    self.scratch = WriteBuffer(capacity: OutputQueue.frameBytes)
  }

  /// Before the first socket: the loop that they are watched by.
  func attach(_ loop: EventLoop) {
    alarm = Alarm(loop) { [unowned self] in look(due: $0) }
    messageAlarm = Alarm(loop) { [unowned self] in lookForUnfinished(due: $0) }
  }

  /// Before that loop is let go of.
  func detach() { (alarm, messageAlarm) = (nil, nil) }

  var isEmpty: Bool { byWSI.isEmpty }
  func socket(of wsi: OpaquePointer) -> Socket? { byWSI[wsi] }

  func add(_ socket: Socket) {
    byWSI[socket.wsi] = socket
    byID[socket.id] = socket
  }

  // MARK: Commands

  func carryOut(
    _ batch: SocketMailbox.Batch, connect: (WebSocketID, ClientTarget) -> Void = { _, _ in },
    others: (SocketCommand) -> Void = { _ in }
  ) {
    for command in batch.commands {
      switch command {
      case .connect(let id, let target): connect(id, target)
      case .send(let id, let payload): send(to: id, payload.make)
      case .sendEach(let ids, let encode):
        for (index, id) in ids.enumerated() { send(to: id) { encode(index) } }
      case .pace(let id, let wish): setPace(of: id, wish)
      case .admit(let id): byID[id]?.isAdmitted = true
      case .close(let id, let code, let reason): close(id, code: code, reason: reason, cause: .local)
      case .respond, .event, .endStream, .run: others(command)
      }
    }
    for id in batch.overflowed {
      if let socket = byID[id] { drop(socket, .overloaded, "too many commands waited for the network thread") }
    }
    writeFresh()
  }

  /// Writes what the batch has brought, all that is for one socket together. As a rule the kernel takes it at once, and nothing has to be
  /// watched for that; what it does not take waits until it will.
  private func writeFresh() {
    for socket in fresh {
      guard case .open = socket.phase, !socket.writableRequested, !Self.peerHasEnded(socket) else { continue }
      // One that is broken is found broken again in its turn, and closed then.
      if writeFrames(socket).failed || !socket.output.isEmpty { requestWritable(socket) }
    }
    fresh.removeAll(keepingCapacity: true)
  }

  private func send(to id: WebSocketID, _ message: () -> [UInt8]) {
    guard let socket = byID[id] else { return }
    switch socket.phase {
    case .open, .connecting: break
    case .closing, .gone: return
    }
    let bytes = message()
    guard socket.output.append(bytes) || makeSpace(socket) && socket.output.append(bytes) else {
      return giveUp(socket, "\(socket.output.count) messages, \(socket.output.queuedBytes) bytes unread")
    }
    if case .open = socket.phase, !socket.writableRequested, socket.output.count == 1 { fresh.append(socket) }
    countOutput(socket)
  }

  /// One batch may bring more than may wait for a socket, whose line is idle: what the kernel takes of it is written at once. What it has
  /// not taken before waits until it will, and makes no space here.
  /// - Returns: whether something was written.
  private func makeSpace(_ socket: Socket) -> Bool {
    guard case .open = socket.phase, !socket.writableRequested, !Self.peerHasEnded(socket) else { return false }
    let (sent, failed) = writeFrames(socket)
    if failed || !sent { requestWritable(socket) }
    return sent && !failed
  }

  func close(_ id: WebSocketID, code: UInt16, reason: String, cause: WebSocketClosure.Cause) {
    guard let socket = byID[id] else { return }
    switch socket.phase {
    case .closing, .gone: return
    case .connecting: return drop(socket, cause, reason)
    case .open: break
    }
    socket.phase = .closing(code: code, reason: reason)
    forgetMessage(socket)
    reportClosed(socket, WebSocketClosure(cause: cause, code: code, reason: reason))
    lws_set_timeout(socket.wsi, PENDING_TIMEOUT_CLOSE_SEND, Self.closeSeconds)
    requestWritable(socket)
  }

  func closeAll(code: UInt16, reason: String, cause: WebSocketClosure.Cause) {
    for socket in Array(byWSI.values) { close(socket.id, code: code, reason: reason, cause: cause) }
  }

  /// One that does not read. What waits for it is thrown away, and a close frame takes its place: it arrives if the other side
  /// reads on within the time that any close frame has. Else the connection is cut.
  func giveUp(_ socket: Socket, _ reason: String) {
    guard case .open = socket.phase else { return drop(socket, .slowReader, reason) }
    forgetOutput(socket)
    forgetMessage(socket)
    socket.phase = .closing(code: Self.tooSlow, reason: "reads too slowly")
    reportClosed(socket, WebSocketClosure(cause: .slowReader, code: Self.tooSlow, reason: reason))
    lws_set_timeout(socket.wsi, PENDING_TIMEOUT_CLOSE_SEND, Self.closeSeconds)
    requestWritable(socket)
  }

  /// Cuts the connection without waiting for anybody.
  private func drop(_ socket: Socket, _ cause: WebSocketClosure.Cause, _ reason: String) {
    guard !socket.isGone else { return }
    // One that is closing was reported then.
    if !socket.isClosing { reportClosed(socket, WebSocketClosure(cause: cause, reason: reason)) }
    gone(socket)
    lws_set_timeout(socket.wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
  }

  private func gone(_ socket: Socket) {
    socket.phase = .gone
    forgetOutput(socket)
    forgetMessage(socket)
  }

  private func reportClosed(_ socket: Socket, _ closure: WebSocketClosure) {
    count {
      $0.webSocketsOpen -= 1
      $0.closed[closure.cause, default: 0] += 1
    }
    report(.closed(socket.id, closure))
  }

  private func requestWritable(_ socket: Socket) {
    guard !socket.writableRequested else { return }
    socket.writableRequested = true
    lws_callback_on_writable(socket.wsi)
  }

  // MARK: Callbacks of libwebsockets. A result other than 0 asks it to close the connection.

  func opened(_ socket: Socket, _ peer: WebSocketPeer) {
    socket.phase = .open
    setPace(of: socket.id, .busy)
    count {
      $0.webSocketsOpen += 1
      $0.webSocketsOpened += 1
    }
    report(.opened(socket.id, peer))
    if !socket.output.isEmpty { requestWritable(socket) }
  }

  func received(_ wsi: OpaquePointer, _ piece: UnsafeRawBufferPointer) -> Int32 {
    guard let socket = byWSI[wsi] else { return 0 }
    let now = MonotonicClock.now()
    heard(socket, at: now)
    guard case .open = socket.phase else { return 0 }
    let outcome = socket.assembler.append(
      piece, binary: lws_frame_is_binary(wsi) != 0, final: lws_is_final_fragment(wsi) != 0,
      limit: socket.messageLimit)
    keepMessage(socket)
    switch outcome {
    case .more: break
    case .message(let text):
      count {
        $0.messagesIn += 1
        $0.bytesIn += UInt64(text.count)
      }
      let wait = waitOfStranger(socket, text.count, at: now)
      report(wait.map { .unread(socket.id, wait: $0) } ?? .text(socket.id, text))
    case .oversized:
      count { $0.oversized += 1 }
      report(.oversized(socket.id, limit: socket.messageLimit))
    case .binary: report(.binary(socket.id))
    case .invalidText:
      reportClosed(socket, WebSocketClosure(cause: .invalidText, code: 1007, reason: "text that is not UTF-8"))
      gone(socket)
      Self.closeReason(wsi, 1007, "text must be UTF-8")
      return -1
    }
    return 0
  }

  /// A frame was against RFC 6455, and nothing more is read.
  func hasSaid(_ fault: FrameHeads.Fault, _ wsi: OpaquePointer) {
    guard let socket = byWSI[wsi] else { return }
    switch fault {
    case .unmasked: close(socket.id, code: 1002, reason: "a client masks its frames", cause: .unmasked)
    case .malformed: close(socket.id, code: 1002, reason: "no such frame is allowed", cause: .malformed)
    case .invalidText: close(socket.id, code: 1007, reason: "the reason is not UTF-8", cause: .invalidText)
    case .tooManyControls:
      close(socket.id, code: Self.policyViolation, reason: "too many pings or pongs", cause: .controlFrames)
    }
  }

  func ponged(_ wsi: OpaquePointer) {
    guard let socket = byWSI[wsi] else { return }
    heard(socket, at: MonotonicClock.now())
  }

  /// It lives, which is news where it owed the answer to a ping for too long.
  private func heard(_ socket: Socket, at now: Instant) {
    let wasOverdue = socket.pings.isOverdue
    pings.heard(&socket.pings, at: now)
    if wasOverdue, case .open = socket.phase { report(.overdue(socket.id, false)) }
  }

  func peerClosed(_ wsi: OpaquePointer, _ payload: UnsafeRawBufferPointer) {
    guard let socket = byWSI[wsi], case .open = socket.phase else { return }
    let code = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
    let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
    reportClosed(socket, WebSocketClosure(cause: .peer, code: code, reason: reason))
    gone(socket)
  }

  /// The connection is gone, or could not be made. `wsi` means nothing after this.
  func destroyed(_ wsi: OpaquePointer, cause: WebSocketClosure.Cause, reason: String) {
    guard let socket = byWSI.removeValue(forKey: wsi) else { return }
    byID[socket.id] = nil
    forgetOutput(socket)
    forgetMessage(socket)
    switch socket.phase {
    case .connecting: report(.closed(socket.id, WebSocketClosure(cause: cause, reason: reason)))
    case .open: reportClosed(socket, WebSocketClosure(cause: cause, reason: reason))
    case .closing, .gone: break
    }
  }

  func writable(_ wsi: OpaquePointer) -> Int32 {
    guard let socket = byWSI[wsi] else { return 0 }
    socket.writableRequested = false
    if socket.isGone { return 0 }
    if case .open = socket.phase, Self.peerHasEnded(socket) { return 0 }
    if socket.pingDue {
      socket.pingDue = false
      guard scratch.write(Self.pingPayload, 0..<Self.pingPayload.count, to: wsi, LWS_WRITE_PING) else { return -1 }
    }
    let (sent, failed) = writeFrames(socket)
    if failed { return -1 }
    if !socket.output.isEmpty || (sent && socket.isClosing) {
      // The close frame waits for a turn of its own: it is lost when a write before it is still half done.
      requestWritable(socket)
    } else if case .closing(let code, let reason) = socket.phase {
      socket.phase = .gone
      Self.closeReason(wsi, code, reason)
      return -1
    }
    return 0
  }

  /// Whether the peer sends nothing more (FIN or RST). Then nothing is written, since a write that fails ends the connection before what
  /// came is read: the peer's close frame tells a farewell from a loss. Reading finds the end too.
  private static func peerHasEnded(_ socket: Socket) -> Bool {
    // POLLRDHUP (poll(2)), which Swift does not import.
    let farEnd: Int16 = 0x2000
    let end = farEnd | Int16(POLLHUP) | Int16(POLLERR)
    var watched = pollfd(fd: lws_get_socket_fd(socket.wsi), events: farEnd, revents: 0)
    return poll(&watched, 1, 0) > 0 && watched.revents & end != 0
  }

  private func writeFrames(_ socket: Socket) -> (sent: Bool, failed: Bool) {
    var frames = 0
    // Whether the kernel takes more is asked last, since that is a system call.
    while frames < Self.framesPerTurn, let (message, frame) = socket.output.next, lws_send_pipe_choked(socket.wsi) == 0
    {
      var kind = frame.isFirst ? LWS_WRITE_TEXT.rawValue : LWS_WRITE_CONTINUATION.rawValue
      if !frame.isLast { kind |= LWS_WRITE_NO_FIN.rawValue }
      guard scratch.write(message, frame.range, to: socket.wsi, lws_write_protocol(rawValue: kind)) else {
        return (true, true)
      }
      socket.output.advance(frame)
      frames += 1
      if frame.isLast {
        count {
          $0.messagesOut += 1
          $0.bytesOut += UInt64(message.count)
        }
      }
    }
    countOutput(socket)
    return (frames > 0, false)
  }

  // MARK: Pings

  /// From now on it is pinged as one that only waits, or as one on whom others depend; and as often the kernel tries what it does not
  /// acknowledge.
  private func setPace(of id: WebSocketID, _ wish: PingWish) {
    guard let socket = byID[id], case .open = socket.phase else { return }
    let (pace, now) = (socket.limits.pace(wish), MonotonicClock.now())
    heard(socket, at: now)
    pings.begin(&socket.pings, id, pace, at: now)
    setPatience(lws_get_socket_fd(socket.wsi), pace.silence)
    wakeForPings(now)
  }

  private func wakeForPings(_ now: Instant) {
    guard let alarm, pings.next < alarm.due else { return }
    alarm.set(pings.next, now: now)
  }

  /// Pings who is to be pinged, gives up who has been silent for too long, and sets the alarm for the next of them. The look was
  /// meant to be at `due`.
  private func look(due: Instant) {
    let now = MonotonicClock.now()
    pings.woke(due: due, at: now)
    while let (id, moment) = pings.nextDue(at: now) {
      guard let socket = byID[id], case .open = socket.phase else { continue }
      switch pings.look(&socket.pings, id, moment, at: now) {
      case .nothing: break
      case .ping:
        socket.pingDue = true
        requestWritable(socket)
      case .overdue: report(.overdue(socket.id, true))
      case .silent(let silence): drop(socket, .silent, "nothing came for \(silence.milliseconds) ms")
      }
    }
    wakeForPings(now)
  }

  private static func closeReason(_ wsi: OpaquePointer, _ code: UInt16, _ reason: String) {
    var bytes = Array(reason.utf8.prefix(120))
    while !bytes.isValidUTF8 { bytes.removeLast() }
    let count = bytes.count
    lws_close_reason(wsi, lws_close_status(rawValue: UInt32(code)), &bytes, count)
  }
}

extension Socket {
  var isClosing: Bool { if case .closing = phase { true } else { false } }
}

/// A buffer with the room in front that libwebsockets wants.
struct WriteBuffer {
  private var bytes: [UInt8]
  private let front = Int(roost_lws_pre())

  init(capacity: Int) { bytes = [UInt8](repeating: 0, count: Int(roost_lws_pre()) + capacity) }

  /// Writes `message[range]`, which must fit. - Returns: false when the connection is broken.
  mutating func write(
    _ message: [UInt8], _ range: Range<Int>, to wsi: OpaquePointer, _ kind: lws_write_protocol
  ) -> Bool {
    bytes.replaceSubrange(front..<(front + range.count), with: message[range])
    return bytes.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return false }
      return lws_write(wsi, base + front, range.count, kind) >= 0
    }
  }
}
