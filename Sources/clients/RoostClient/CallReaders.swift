// What a client's calls tell, and the readers of it.
import RoostProtocol

/// A change of a call, with the call as it is after it.
public struct CallUpdate: Sendable, Hashable {
  /// What happened; nil when the state was fetched again after a gap.
  public var event: Event?
  /// The call now.
  public var call: Call
}

/// A call that rings here.
public struct IncomingCall: Sendable {
  /// To answer it, or to look at it.
  public var call: CallSession
  /// Who calls or invites.
  public var from: String
  /// Whether others talk already.
  public var inProgress: Bool
  /// Whether one is in another call.
  public var waiting: Bool
  /// The call when it began to ring.
  public var snapshot: Call
}

extension IncomingCall {
  /// A ring that was on when the session began.
  init(_ snapshot: Call, _ session: RoostSession, user: String) {
    let own = snapshot.member(user)
    self.init(
      call: CallSession(session: session, callId: snapshot.callId), from: own?.invitedBy ?? snapshot.caller,
      inProgress: snapshot.state == .active && snapshot.joined.count > 1, waiting: own?.state == .busyRinging,
      snapshot: snapshot)
  }

  init(_ event: CallIncoming, _ session: RoostSession) {
    self.init(
      call: CallSession(session: session, callId: event.call.callId), from: event.from, inProgress: event.inProgress,
      waiting: event.waiting, snapshot: event.call)
  }
}

/// The readers of updates and of rings.
struct CallReaders {
  private var updates: [Int: (callId: String, to: AsyncStream<CallUpdate>.Continuation)] = [:]
  private var rings: [Int: AsyncStream<IncomingCall>.Continuation] = [:]
  private var last = 0

  mutating func addUpdates(
    of callId: String, buffer: Int, onEnd: @escaping @Sendable (Int) -> Void
  ) -> AsyncStream<CallUpdate> {
    last += 1
    let name = last
    let (stream, continuation) = AsyncStream.makeStream(of: CallUpdate.self, bufferingPolicy: .bufferingNewest(buffer))
    continuation.onTermination = { _ in onEnd(name) }
    updates[name] = (callId, continuation)
    return stream
  }

  mutating func addRings(
    buffer: Int, now: [IncomingCall], onEnd: @escaping @Sendable (Int) -> Void
  ) -> AsyncStream<IncomingCall> {
    last += 1
    let name = last
    let (stream, continuation) = AsyncStream.makeStream(
      of: IncomingCall.self, bufferingPolicy: .bufferingNewest(buffer))
    continuation.onTermination = { _ in onEnd(name) }
    for ring in now { continuation.yield(ring) }
    rings[name] = continuation
    return stream
  }

  mutating func remove(_ name: Int) {
    updates[name] = nil
    rings[name] = nil
  }

  func tell(_ update: CallUpdate) {
    for reader in updates.values where reader.callId == update.call.callId { reader.to.yield(update) }
  }

  func tell(_ ring: IncomingCall) {
    for reader in rings.values { reader.yield(ring) }
  }

  /// Ends the streams of a call that is over or unknown.
  mutating func finish(_ callId: String) {
    let over = updates.filter { $0.value.callId == callId }
    for name in over.keys { updates[name] = nil }
    for reader in over.values { reader.to.finish() }
  }

  mutating func finish() {
    let (allUpdates, allRings) = (updates.values, rings.values)
    (updates, rings) = ([:], [:])
    for reader in allUpdates { reader.to.finish() }
    for reader in allRings { reader.finish() }
  }
}
