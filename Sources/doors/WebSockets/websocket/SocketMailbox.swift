// The way in for other threads: commands in an array under a lock, drained whole by the service thread.
import Basics
import Threads

internal import CWebSockets

/// A message as it waits in the mailbox.
enum Payload: Sendable {
  case bytes([UInt8])
  case deferred(@Sendable () -> [UInt8])

  func make() -> [UInt8] {
    switch self {
    case .bytes(let bytes): bytes
    case .deferred(let encode): encode()
    }
  }
}

/// What another thread wants of a connection.
enum SocketCommand: Sendable {
  case connect(WebSocketID, ClientTarget)
  case send(WebSocketID, Payload)
  /// A message to each of several sockets, made from its place among them.
  case sendEach([WebSocketID], @Sendable (Int) -> [UInt8])
  case close(WebSocketID, code: UInt16, reason: String)
  /// How it is pinged from now on.
  case pace(WebSocketID, PingWish)
  /// It is no stranger any more.
  case admit(WebSocketID)
  /// The late answer to an HTTP request.
  case respond(HTTPRequestID, HTTPResponse)
  /// For the reader of a stream.
  case event(HTTPRequestID, ServerSentEvent)
  case endStream(HTTPRequestID)
  /// Something to be done here at a time.
  case run(Instant, @Sendable () -> Void)

  /// The sockets it is for.
  var ids: [WebSocketID] {
    switch self {
    case .connect(let id, _), .send(let id, _), .close(let id, _, _), .pace(let id, _), .admit(let id): [id]
    case .sendEach(let ids, _): ids
    case .respond, .event, .endStream, .run: []
    }
  }

  /// What it counts for in the mailbox.
  var weight: Int { if case .sendEach(let ids, _) = self { ids.count } else { 1 } }
}

/// How a socket is to be pinged.
enum PingWish: Sendable {
  /// As one on whom others depend.
  case busy
  /// As one that only waits: so often, or as the socket's limits say.
  case waiting(TimeDelta?)
}

/// The mailbox of a service thread, and beside it what must get through when it is full.
final class SocketMailbox: Sendable {
  struct Batch {
    var commands: [SocketCommand] = []
    /// Sockets whose commands did not fit.
    var overflowed: Set<WebSocketID> = []
    /// Streams whose end did not fit.
    var endedStreams: Set<HTTPRequestID> = []
    var stopRequested = false
  }
  private struct Beside {
    var overflowed: Set<WebSocketID> = []
    var endedStreams: Set<HTTPRequestID> = []
    /// Whoever asks for a call has one waiting at most.
    var calls: [@Sendable () -> Void] = []
    var stopRequested = false
  }
  private let commands: Mailbox<SocketCommand>
  private let beside = Locked(Beside())
  private let service = ServiceWakeUp()

  /// `capacity`: messages that may wait; one for many sockets counts as many.
  init(capacity: Int) {
    let service = service
    commands = Mailbox(capacity: capacity) { service.giveUnlessQuiet() }
  }

  /// From now on posts wake the service loop of `context`.
  func attach(_ context: OpaquePointer) { service.attach(context) }

  /// To be called before the context is destroyed; later posts vanish.
  func detach() {
    service.detach()
    commands.close()
    _ = drain()
    beside.withLock { $0.calls = [] }
  }

  /// What does not fit is looked at last: a socket whose command was refused is found before a later one of its commands is sent.
  func drain() -> Batch {
    var batch = Batch(commands: commands.drain())
    beside.withLock { beside in
      swap(&batch.overflowed, &beside.overflowed)
      swap(&batch.endedStreams, &beside.endedStreams)
      batch.stopRequested = beside.stopRequested
    }
    return batch
  }

  /// - Returns: false when the command did not fit or nobody will ever read it.
  @discardableResult
  func post(_ command: SocketCommand) -> Bool {
    if commands.post(command, weight: command.weight) { return true }
    if service.isDetached { return false }
    if case .endStream(let id) = command {
      beside.withLock { _ = $0.endedStreams.insert(id) }
    } else if command.ids.isEmpty {
      return false
    }
    beside.withLock { $0.overflowed.formUnion(command.ids) }
    service.give()
    return false
  }

  /// Has the service thread make a call, also when the mailbox is full.
  /// - Returns: false when nobody will ever make it.
  func wake(_ call: @escaping @Sendable () -> Void) -> Bool {
    if service.isDetached { return false }
    beside.withLock { $0.calls.append(call) }
    service.give()
    return true
  }

  /// Makes the calls that are to be made now, on the service thread. To be drained afterwards: what they send wakes nobody.
  func makeCalls() {
    let calls = beside.withLock { beside in
      defer { beside.calls = [] }
      return beside.calls
    }
    if calls.isEmpty { return }
    service.setQuiet(true)
    for call in calls { call() }
    service.setQuiet(false)
  }

  /// A socket that is to be dropped as one whose commands did not fit.
  func drop(_ id: WebSocketID) {
    beside.withLock { _ = $0.overflowed.insert(id) }
    service.give()
  }

  func requestStop() {
    beside.withLock { $0.stopRequested = true }
    service.give()
  }
}

/// Has a service loop look for commands. `lws_cancel_service` is the one call that libwebsockets allows from outside, and the lock
/// keeps the context alive while it is made.
private final class ServiceWakeUp: Sendable {
  private struct State {
    /// The address of the context to be woken; as a number, for a pointer may not change threads.
    var context: UInt?
    var isDetached = false
    /// The thread that looks for commands when it has done what it does now.
    var quiet: UInt?

    func wake() { if let context = context.flatMap({ OpaquePointer(bitPattern: $0) }) { lws_cancel_service(context) } }
  }
  private let state = Locked(State())

  var isDetached: Bool { state.withLock { $0.isDetached } }

  func give() { state.withLock { $0.wake() } }

  /// Where the service thread itself asks, and is about to look, it need not be woken.
  func giveUnlessQuiet() { state.withLock { if $0.quiet != OwnerThread.currentNumber { $0.wake() } } }

  /// The calling thread is about to look for commands, or has begun to.
  func setQuiet(_ isQuiet: Bool) { state.withLock { $0.quiet = isQuiet ? OwnerThread.currentNumber : nil } }

  /// What was posted before wakes it now.
  func attach(_ context: OpaquePointer) {
    let address = UInt(bitPattern: context)
    state.withLock {
      $0.context = address
      $0.wake()
    }
  }

  func detach() { state.withLock { $0 = State(isDetached: true) } }
}
