// How a session keeps its calls: from replies, from events, and after a gap by asking again.
import RoostProtocol

extension CallBook {
  /// What the server said at the beginning.
  init(_ hello: HelloResult) {
    self.init(user: hello.user)
    for call in hello.ringing { ring(call) }
    if let call = hello.current { update(call) }
  }
}

extension RoostSession {
  /// The call as it is now, nil when nothing was ever heard of it.
  func knownCall(_ callId: String) -> Call? { book.calls[callId] }

  func isRinging(_ callId: String) -> Bool { book.ringing.contains(callId) }

  func silence(_ callId: String) { book.silence(callId) }

  /// Calls that ring on this device: those that ring now, and each from now on. Each call gives a stream of its own.
  public func incomingCalls() -> AsyncStream<IncomingCall> {
    let now = book.ringing.sorted().compactMap { book.calls[$0] }
    return callReaders.addRings(
      buffer: eventBuffer, now: now.map { IncomingCall($0, self, user: book.user) }
    ) { [weak self] name in
      Task { await self?.removeCallReader(name) }
    }
  }

  func updates(of callId: String) -> AsyncStream<CallUpdate> {
    if book.calls[callId]?.state == .ended { return AsyncStream { $0.finish() } }
    return callReaders.addUpdates(of: callId, buffer: eventBuffer) { [weak self] name in
      Task { await self?.removeCallReader(name) }
    }
  }

  private func removeCallReader(_ name: Int) { callReaders.remove(name) }

  // MARK: What comes from the server

  /// Snapshots in replies.
  func note(_ reply: Reply) {
    switch reply {
    case .callStarted(let result): note(result.call)
    case .callRoom(let result):
      book.silence(result.call.callId)
      note(result.call)
    case .call(let result): note(result.call)
    case .callCurrent(let result): if let call = result.call { note(call) }
    case .calls(let result): for call in result.calls { note(call) }
    default: break
    }
  }

  /// A reply may bring the end before its event does, or without it.
  private func note(_ call: Call) {
    book.update(call)
    guard call.state == .ended else { return }
    callReaders.tell(CallUpdate(event: nil, call: call))
    callReaders.finish(call.callId)
  }

  func noteCall(_ message: EventMessage) {
    guard let callId = book.apply(message) else { return }
    if let call = book.calls[callId] { callReaders.tell(CallUpdate(event: message.event, call: call)) }
    switch message.event {
    case .callIncoming(let event): callReaders.tell(IncomingCall(event, self))
    case .callEnded: callReaders.finish(callId)
    case .callRecord where book.calls[callId]?.state == .ended: callReaders.finish(callId)
    case .callRecord(let event) where book.isStale(event.record):
      Task { [weak self] in await self?.refresh(callId) }
    default: break
    }
  }

  // MARK: After a gap

  /// The new session's server knows what rings and what one is in; the rest has to be asked for.
  func noteRestart(_ hello: HelloResult) {
    if let call = hello.current { book.update(call) }
    noteRings(hello.ringing)
    refreshCalls(except: [])
  }

  /// The same after more was missed than can be repeated.
  func noteResync(_ resync: Resync) {
    let told = [resync.call, resync.current].compactMap(\.self)
    for call in told { note(.call(CallResultObject(call: call))) }
    noteRings(resync.ringing)
    for call in told + resync.ringing {
      callReaders.tell(CallUpdate(event: nil, call: book.calls[call.callId] ?? call))
    }
    refreshCalls(except: Set((told + resync.ringing).map(\.callId)))
  }

  private func noteRings(_ ringing: [Call]) {
    let heard = book.ringing
    for call in ringing { book.ring(call) }
    for call in ringing where !heard.contains(call.callId) {
      callReaders.tell(IncomingCall(call, self, user: book.user))
    }
  }

  /// Asks how each call stands that is not known to be over.
  private func refreshCalls(except fresh: Set<String>) {
    for callId in book.running where !fresh.contains(callId) {
      Task { [weak self] in await self?.refresh(callId) }
    }
  }

  private func refresh(_ callId: String) async {
    do {
      _ = try await request(.call(.get(CallParams(callId: callId))))
      guard let call = book.calls[callId] else { return }
      callReaders.tell(CallUpdate(event: nil, call: call))
    } catch .refused {
      book.forget(callId)
      callReaders.finish(callId)
    } catch {
      return
    }
  }
}
