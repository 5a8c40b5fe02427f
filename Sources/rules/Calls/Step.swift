// One step: when it is made, who acts, what it has changed so far and what comes out of it. Every public entry point of
// the switchboard makes one, hands it to whatever the step consists of, and ends it with `Tables.finish`.
//
//   Step(at:by:) ──▶ a plan is committed, a device comes or goes, a timer is due ──▶ Tables.finish ──▶ effects

import Basics
import RoostProtocol

/// The running step. It lives no longer than the call of the entry point that made it.
struct Step: ~Copyable {
  /// Both clocks, read once for the whole step.
  let now: Now
  /// The device whose request is served, until its reply is out.
  private(set) var actor: DeviceID?
  private var effects: [CallEffect] = []
  /// What the acting device hears after its reply.
  private var deferred: [CallEffect] = []
  /// The `push` of the request that is served, and the call that it is about.
  private var payload: (call: CallID, push: RawJSON)?
  /// Calls that have changed since the last time that consequences were drawn.
  private var touched: Set<CallID> = []
  /// Users who have come into a call or out of one since then.
  private var moved: Set<String> = []

  /// A step at this time; `actor` is the device whose request it serves.
  init(at now: Now, by actor: DeviceID? = nil) { (self.now, self.actor) = (now, actor) }

  // MARK: - What comes out

  /// Adds one output behind all others.
  mutating func emit(_ effect: CallEffect) { effects.append(effect) }

  /// Adds something to count.
  mutating func count(_ counter: CallCounter) { emit(.count(counter)) }

  /// Sends an event; the acting device hears it after its reply.
  mutating func tell(_ listeners: [DeviceID], _ event: Event) {
    var others = listeners
    if let actor, let index = others.firstIndex(of: actor) {
      others.remove(at: index)
      deferred.append(.tell([actor], event))
    }
    if !others.isEmpty { emit(.tell(others, event)) }
  }

  /// Tells devices to stop ringing, as part of change `rev` of the call.
  mutating func tellStopped(
    _ listeners: [DeviceID], _ id: CallID, rev: Int, _ reason: Reason, by: String? = nil, text: String? = nil
  ) {
    guard !listeners.isEmpty else { return }
    tell(listeners, .callStopped(CallStopped(callId: id.text, rev: rev, reason: reason, by: by, text: text)))
  }

  /// Answers the request, then lets the acting device hear the rest.
  mutating func reply(_ reply: CallReply) {
    emit(.reply(reply))
    effects += deferred
    (deferred, actor) = ([], nil)
  }

  // MARK: - The request's payload for phones

  /// Remembers what the request gives the push provider for its call.
  mutating func setPayload(_ push: RawJSON?, for id: CallID) { payload = push.map { (id, $0) } }

  /// What the request gives the push provider, where it is about this call.
  func payload(for callId: String) -> RawJSON? {
    guard let payload, payload.call.text == callId else { return .none }
    return payload.push
  }

  // MARK: - What has changed

  /// Notes that a call has changed.
  mutating func touch(_ id: CallID) { touched.insert(id) }

  /// A call is over: nothing follows for it any more.
  mutating func forget(_ id: CallID) { touched.remove(id) }

  /// Notes that a user has come into a call or out of one.
  mutating func move(_ user: String) { moved.insert(user) }

  /// Whether no call has changed since the last time that consequences were drawn.
  var isUntouched: Bool { touched.isEmpty }

  /// Whether nothing is left to draw consequences from.
  var isSettled: Bool { touched.isEmpty && moved.isEmpty }

  /// Takes the changed calls out, in the order of their names.
  mutating func takeTouched() -> [CallID] {
    defer { touched = [] }
    return touched.sorted()
  }

  /// Takes out the users who have come into a call or out of one, in order.
  mutating func takeMoved() -> [String] {
    defer { moved = [] }
    return moved.sorted()
  }

  /// Everything that came out. What the acting device was still to hear comes last.
  consuming func end() -> [CallEffect] { effects + deferred }
}
