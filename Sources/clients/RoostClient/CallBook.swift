// The calls that a client knows: the latest snapshot of each, kept up to date by events. Pure.
import RoostProtocol

/// Every call of a session, running or just over.
struct CallBook: Sendable {
  /// Calls kept after their end; raise it and a long session remembers more.
  static let endedCalls = 32

  /// Oneself.
  let user: String
  private(set) var calls: [String: Call] = [:]
  /// Those that ring on this device.
  private(set) var ringing: Set<String> = []
  private var ended: [String] = []

  init(user: String) { self.user = user }

  /// Calls that are not over, as far as is known.
  var running: [String] { calls.values.filter { $0.state != .ended }.map(\.callId).sorted() }

  /// A snapshot is all there is to know at its `rev`.
  mutating func update(_ call: Call) {
    if let known = calls[call.callId], known.rev > call.rev { return }
    calls[call.callId] = call
    if !rings(call) { ringing.remove(call.callId) }
    if call.state == .ended { retire(call.callId) } else { revive(call.callId) }
  }

  /// A snapshot that came with a ring.
  mutating func ring(_ call: Call) {
    update(call)
    if call.state != .ended { ringing.insert(call.callId) }
  }

  /// This device has answered, declined or been told to be silent.
  mutating func silence(_ callId: String) { ringing.remove(callId) }

  /// A call that the server does not know any more.
  mutating func forget(_ callId: String) {
    calls[callId] = nil
    ringing.remove(callId)
    ended.removeAll { $0 == callId }
  }

  /// - Returns: the call that the event is about; nil when it is about none.
  mutating func apply(_ message: EventMessage) -> String? {
    switch message.event {
    case .callCreated(let event): update(event.call)
    case .callIncoming(let event): ring(event.call)
    case .callMissed(let event): update(event.call)
    case .callStopped(let event): stop(event)
    case .callEnded(let event): end(event, at: message.serverTime)
    case .callRecord(let event): close(event.record)
    default: change(message.event)
    }
    return message.event.callId
  }

  private func rings(_ call: Call) -> Bool {
    guard call.state != .ended, let own = call.members.first(where: { $0.user == user }) else { return false }
    return own.state.isRinging
  }

  private mutating func retire(_ callId: String) {
    ringing.remove(callId)
    guard !ended.contains(callId) else { return }
    ended.append(callId)
    if ended.count > Self.endedCalls { calls[ended.removeFirst()] = nil }
  }

  /// A call that was over for this user is none the less for him again: he is asked anew, or it became a group.
  private mutating func revive(_ callId: String) { ended.removeAll { $0 == callId } }

  // MARK: Changes

  private mutating func stop(_ event: CallStopped) {
    ringing.remove(event.callId)
    calls[event.callId]?.noteStopped(event, user: user)
  }

  private mutating func end(_ event: CallEnded, at time: Int64) {
    calls[event.callId]?.noteEnded(event, at: time)
    retire(event.callId)
  }

  /// One's part is over, on whatever device it was. A call between two is over with it, as nobody would tell of its end; but who
  /// left one while an invitee rang hears that, and a group runs on.
  private mutating func close(_ record: CallRecord) {
    guard var call = calls[record.callId], call.state != .ended, call.kind != .group, record.kind != .group,
      call.member(user)?.state != .left, call.member(user)?.state != .lost
    else { return }
    call.noteRecord(record)
    calls[record.callId] = call
    retire(record.callId)
  }

  /// Whether a call goes on for this user as far as is known, though his record says that his part is over: it ended on another
  /// device, which alone was told how.
  func isStale(_ record: CallRecord) -> Bool {
    guard let call = calls[record.callId], call.state != .ended, let own = call.member(user)?.state else {
      return false
    }
    return own.isJoined || own.isRinging
  }

  private mutating func change(_ event: Event) {
    guard let callId = event.callId, let rev = event.callRevision, var call = calls[callId], rev >= call.rev else {
      return
    }
    call.note(event)
    call.rev = rev
    calls[callId] = call
    if call.state != .ended { revive(callId) }
    if !rings(call) { ringing.remove(callId) }
  }
}

extension Event {
  /// The call that the event is about.
  public var callId: String? {
    switch self {
    case .callCreated(let event): event.call.callId
    case .callIncoming(let event): event.call.callId
    case .callStopped(let event): event.callId
    case .callEnded(let event): event.callId
    case .callAccepted(let event): event.callId
    case .callActive(let event): event.callId
    case .callAlone(let event): event.callId
    case .callInvited(let event): event.callId
    case .callTypeChanged(let event): event.callId
    case .callMediaChangeRequested(let event), .callMediaChanged(let event): event.callId
    case .callMissed(let event): event.callId
    case .callRecord(let event): event.record.callId
    case .memberRinging(let event), .memberBusy(let event), .memberDeclined(let event), .memberNoAnswer(let event),
      .memberLeft(let event), .memberRemoved(let event), .memberState(let event):
      event.callId
    default: nil
    }
  }

  /// The change of the call that the event is: grows from event to event, with gaps where a change was not one's own to
  /// hear. nil for events that change no call.
  public var callRevision: Int? {
    switch self {
    case .callCreated(let event): event.call.rev
    case .callIncoming(let event): event.call.rev
    case .callStopped(let event): event.rev
    case .callEnded(let event): event.rev
    case .callAccepted(let event): event.rev
    case .callActive(let event): event.rev
    case .callAlone(let event): event.rev
    case .callInvited(let event): event.rev
    case .callTypeChanged(let event): event.rev
    case .callMediaChangeRequested(let event), .callMediaChanged(let event): event.rev
    default: memberEvent?.rev
    }
  }

  /// The params of `member.*`.
  public var memberEvent: MemberEvent? {
    switch self {
    case .memberRinging(let event), .memberBusy(let event), .memberDeclined(let event), .memberNoAnswer(let event),
      .memberLeft(let event), .memberRemoved(let event), .memberState(let event):
      event
    default: nil
    }
  }
}
