// What the sockets of one address may keep the server from forgetting: messages to it that are not whole, and what waits for those who do
// not read. And what they may have it read: bytes of those who are not admitted, control frames of each.
import Basics
import Threads

extension SocketService {
  // MARK: Unfinished messages

  /// What is unfinished behind the bytes of a socket that the library is about to get.
  func saw(_ unfinished: FrameHeads.Unfinished?, of socket: Socket) {
    guard unfinished != nil || socket.messages?.since != nil, var state = socket.messages else { return }
    let now = MonotonicClock.now()
    messages.saw(unfinished, of: socket.id, &state, at: now)
    socket.messages = state
    wakeForMessages(now)
  }

  private func wakeForMessages(_ now: Instant) {
    guard let messageAlarm, messages.next < messageAlarm.due else { return }
    messageAlarm.set(messages.next, now: now)
  }

  /// Closes who has had their time, and sets the alarm for the next of them.
  func lookForUnfinished(due: Instant) {
    let now = MonotonicClock.now()
    messages.woke(due: due, at: now)
    while let (id, moment) = messages.nextDue(at: now) {
      guard let socket = byID[id], case .open = socket.phase, var state = socket.messages else { continue }
      let isLate = messages.isLate(id, &state, moment, at: now)
      socket.messages = state
      if isLate { close(id, code: Self.unfinished, reason: "a message came too slowly", cause: .unfinished) }
    }
    wakeForMessages(now)
  }

  /// Counts what is kept of a socket's message. Where its address has too much, its oldest gives way: who begins them and never ends them
  /// has the oldest, and whoever else comes from there gets on.
  func keepMessage(_ socket: Socket) {
    guard var state = socket.messages else { return }
    let crowd = messages.keep(socket.assembler.count, of: socket.id, &state)
    socket.messages = state
    guard let crowd else { return }
    let ages = crowd.compactMap { id in byID[id]?.messages?.since.map { (since: $0, id: id.rawValue) } }
    guard let oldest = ages.min(by: <) else { return }
    close(
      WebSocketID(rawValue: oldest.id), code: Self.unfinished,
      reason: "too much of unfinished messages at your address", cause: .unfinished)
  }

  /// Nothing of a socket's message is kept any more.
  func forgetMessage(_ socket: Socket) {
    socket.assembler = .idle
    guard var state = socket.messages else { return }
    _ = messages.keep(0, of: socket.id, &state)
    socket.messages = state
  }

  // MARK: What is read

  /// How many milliseconds the next message of somebody who is not admitted has to wait, after so many bytes that are too much for their
  /// address; nil where these may be read.
  func waitOfStranger(_ socket: Socket, _ bytes: Int, at now: Instant) -> Int64? {
    guard !socket.isAdmitted, let network = socket.messages?.network else { return nil }
    return strangers.take(network, bytes, at: now)
  }

  /// What is wrong with a socket that has sent so many pings and pongs since it was opened.
  func faultOfControls(_ count: Int, of socket: Socket) -> FrameHeads.Fault? {
    socket.controls.isTooFast(count, at: MonotonicClock.now) ? .tooManyControls : nil
  }

  // MARK: Slow readers

  /// Less than this waits for many, and for a moment: it is not counted.
  private static let outputStep = 16 << 10

  /// Counts what waits for a socket, in steps. Where that of its address is too much, the one for whom the most waits is given up.
  func countOutput(_ socket: Socket) {
    let bytes = socket.output.queuedBytes / Self.outputStep * Self.outputStep
    guard bytes != socket.countedOutput, let network = socket.messages?.network else { return }
    let crowd = waiting.keep(bytes, insteadOf: socket.countedOutput, for: socket.id, of: network)
    socket.countedOutput = bytes
    guard let slowest = crowd?.compactMap({ byID[$0] }).max(by: { $0.countedOutput < $1.countedOutput }) else { return }
    giveUp(slowest, "\(slowest.output.queuedBytes) bytes unread, and too many at its address")
  }

  /// Nothing waits for a socket any more.
  func forgetOutput(_ socket: Socket) {
    socket.output.removeAll()
    countOutput(socket)
  }
}

/// How many pings and pongs a socket may send.
struct ControlPace {
  private let burst: Int
  private var seen = 0
  private var bucket: TokenBucket

  init(_ limits: WebSocketLimits, now: Instant) {
    burst = limits.controlFramesAtOnce
    bucket = TokenBucket(perSecond: limits.controlFramesPerSecond, burst: burst, now: now)
  }

  /// Whether those that came since it was asked last, when there were `count` in all, are too many. The clock is read where there are any.
  mutating func isTooFast(_ count: Int, at now: () -> Instant) -> Bool {
    let new = count - seen
    guard new > 0 else { return false }
    seen = count
    return new > burst || bucket.take(new, at: now()) != nil
  }
}
