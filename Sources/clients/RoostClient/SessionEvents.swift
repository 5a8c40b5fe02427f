// What a session tells its readers, and how it reaches each of them.
import RoostProtocol

/// What happens in a session, in order.
public enum SessionEvent: Sendable, Hashable {
  /// An event of the server.
  case event(EventMessage)
  /// The connection is lost; requests wait, and the session tries to come back.
  case reconnecting(String)
  /// The session goes on, and every missed event follows or came before: nothing was lost.
  case resumed(replayed: Int)
  /// The session goes on, but too much was missed: start again from this state. Rooms are up to date already.
  case resynced(Resync)
  /// The old session was over, and this is a new one. One is in no room: join again.
  case restarted(HelloResult)
  /// The session is over; the stream ends.
  case ended(SessionEnd)
}

/// The readers of a session's events.
struct EventReaders {
  private var readers: [Int: AsyncStream<SessionEvent>.Continuation] = [:]
  private var last = 0
  /// Events that readers missed because they read too slowly.
  private(set) var dropped = 0

  mutating func add(buffer: Int, onEnd: @escaping @Sendable (Int) -> Void) -> AsyncStream<SessionEvent> {
    last += 1
    let name = last
    let (stream, continuation) = AsyncStream.makeStream(
      of: SessionEvent.self, bufferingPolicy: .bufferingNewest(buffer))
    continuation.onTermination = { _ in onEnd(name) }
    readers[name] = continuation
    return stream
  }

  mutating func remove(_ name: Int) { readers[name] = nil }

  mutating func tell(_ event: SessionEvent) {
    for reader in readers.values {
      if case .dropped = reader.yield(event) { dropped += 1 }
    }
  }

  mutating func finish() {
    let all = readers.values
    readers = [:]
    for reader in all { reader.finish() }
  }
}
