// The way in for other threads: commands in an array under a lock, drained whole by the service thread.
import Basics

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
  /// The late answer to an HTTP request.
  case respond(HTTPRequestID, HTTPResponse)

  /// The sockets it is for.
  var ids: [WebSocketID] {
    switch self {
    case .connect(let id, _), .send(let id, _), .close(let id, _, _): [id]
    case .sendEach(let ids, _): ids
    case .respond: []
    }
  }

  /// What it counts for in the mailbox.
  var weight: Int { if case .sendEach(let ids, _) = self { ids.count } else { 1 } }
}

/// Bounded and many-to-one. The first command of a batch wakes the service thread; `lws_cancel_service` is the one call
/// that libwebsockets allows from outside, and the lock keeps the context alive while it is made.
final class Mailbox: Sendable {
  struct Batch {
    var commands: [SocketCommand] = []
    var weight = 0
    /// Sockets whose commands did not fit.
    var overflowed: Set<WebSocketID> = []
    var stopRequested = false
  }
  private struct State {
    var batch = Batch()
    /// The address of the context to be woken; as a number, for a pointer may not change threads.
    var context: UInt?
    var detached = false
  }
  private let state = Locked(State())
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// From now on posts wake the service loop of `context`.
  func attach(_ context: OpaquePointer) {
    let address = UInt(bitPattern: context)
    state.withLock {
      $0.context = address
      Self.wake(&$0)
    }
  }

  /// To be called before the context is destroyed; later posts vanish.
  func detach() {
    state.withLock {
      $0.context = nil
      $0.detached = true
      $0.batch = Batch()
    }
  }

  func drain() -> Batch {
    state.withLock { state in
      var batch = Batch()
      swap(&batch, &state.batch)
      state.batch.stopRequested = batch.stopRequested
      return batch
    }
  }

  /// - Returns: false when the command did not fit or nobody will ever read it.
  @discardableResult
  func post(_ command: SocketCommand) -> Bool {
    state.withLock { state in
      guard !state.detached else { return false }
      guard state.batch.weight < capacity else {
        state.batch.overflowed.formUnion(command.ids)
        return false
      }
      if state.batch.commands.isEmpty { Self.wake(&state) }
      state.batch.commands.append(command)
      state.batch.weight += command.weight
      return true
    }
  }

  func requestStop() {
    state.withLock {
      $0.batch.stopRequested = true
      Self.wake(&$0)
    }
  }

  private static func wake(_ state: inout State) {
    if let context = state.context.flatMap({ OpaquePointer(bitPattern: $0) }) { lws_cancel_service(context) }
  }
}
