// Everything that a session hears, in order, with a way to wait for it.

import Glibc
import RoostClient
import RoostProtocol
import Testing

/// Writes down a session's events and wakes those who wait for one.
actor EventLog {
  private(set) var messages: [EventMessage] = []
  /// What happened to the session itself, in order: lost, resumed, ended.
  private(set) var turns: [SessionEvent] = []
  private var lastSeq = 0
  /// Whether the session has ended.
  private(set) var isOver = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var tasks: [Task<Void, Never>] = []

  init(_ session: RoostSession) async {
    let events = await session.events()
    tasks = [
      Task { [weak self] in
        for await event in events { await self?.add(event) }
        await self?.finish()
      },
      // Waiters look at the clock now and then.
      Task { [weak self] in
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(1))
          guard let self else { return }
          await self.wake()
        }
      },
    ]
  }

  deinit { for task in tasks { task.cancel() } }

  private func add(_ event: SessionEvent) {
    switch event {
    case .event(let message):
      messages.append(message)
      lastSeq = message.seq
    case .resynced(let resync):
      turns.append(event)
      lastSeq = resync.seq
    case .restarted:
      turns.append(event)
      lastSeq = 0
    default: turns.append(event)
    }
    wake()
  }

  private func finish() {
    isOver = true
    wake()
  }

  private func wake() {
    let all = waiting
    waiting = []
    for one in all { one.resume() }
  }

  /// When the server said the first event that `isWanted` picks, in milliseconds since 1970; nil where it has not.
  func time(_ isWanted: (Event) -> Bool) -> Int64? { messages.first { isWanted($0.event) }?.serverTime }

  /// How many events there are: a place to start looking from.
  var count: Int { messages.count }

  /// The first event from `start` on that `pick` takes; nil when none comes in time.
  func first<T: Sendable>(
    from start: Int = 0, within timeout: Duration = .seconds(60), _ pick: @Sendable (Event) -> T?
  ) async -> T? {
    let deadline = ContinuousClock.now + timeout
    var next = start
    while true {
      while next < messages.count {
        if let found = pick(messages[next].event) { return found }
        next += 1
      }
      if isOver || ContinuousClock.now >= deadline { return nil }
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  /// Waits until every event up to `seq` is written down.
  func reach(_ seq: Int) async {
    let deadline = ContinuousClock.now + .seconds(60)
    while lastSeq < seq, !isOver, ContinuousClock.now < deadline {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  /// Waits for the session's turn that `isWanted` picks.
  func turn(within timeout: Duration = .seconds(60), _ isWanted: @Sendable (SessionEvent) -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + timeout
    while true {
      if turns.contains(where: isWanted) { return true }
      if isOver || ContinuousClock.now >= deadline { return false }
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  /// All events from `start` on that `pick` takes.
  func all<T: Sendable>(from start: Int = 0, _ pick: @Sendable (Event) -> T?) -> [T] {
    messages.dropFirst(start).compactMap { pick($0.event) }
  }
}

/// Expects that something took so long, by the server's clock, in milliseconds: not sooner, and not twice as long. Times are cut to
/// milliseconds, and two clocks may have been read for them.
func expectTime(
  _ elapsed: Int64, _ timer: Int64, _ what: Comment? = nil, at location: SourceLocation = #_sourceLocation
) {
  #expect(elapsed >= timer - 2 && elapsed < 2 * timer, what, sourceLocation: location)
}

/// The wall clock, in milliseconds since 1970: the server of a test has the same.
func wallMilliseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

/// The payloads of events about calls, one after the other: for `first` and `all`.
extension Event {
  var closing: SessionClosing? { if case .sessionClosing(let event) = self { event } else { nil } }
  var incoming: CallIncoming? { if case .callIncoming(let event) = self { event } else { nil } }
  var created: CallEvent? { if case .callCreated(let event) = self { event } else { nil } }
  var stopped: CallStopped? { if case .callStopped(let event) = self { event } else { nil } }
  var ended: CallEnded? { if case .callEnded(let event) = self { event } else { nil } }
  var accepted: CallAccepted? { if case .callAccepted(let event) = self { event } else { nil } }
  var active: CallActive? { if case .callActive(let event) = self { event } else { nil } }
  var invited: CallInvited? { if case .callInvited(let event) = self { event } else { nil } }
  var typeChanged: CallTypeChanged? { if case .callTypeChanged(let event) = self { event } else { nil } }
  var mediaRequest: CallMediaChange? { if case .callMediaChangeRequested(let event) = self { event } else { nil } }
  var mediaChanged: CallMediaChange? { if case .callMediaChanged(let event) = self { event } else { nil } }
  var missed: CallMissed? { if case .callMissed(let event) = self { event } else { nil } }
  var record: CallRecord? { if case .callRecord(let event) = self { event.record } else { nil } }
  var ringing: MemberEvent? { if case .memberRinging(let event) = self { event } else { nil } }
  var busy: MemberEvent? { if case .memberBusy(let event) = self { event } else { nil } }
  var declined: MemberEvent? { if case .memberDeclined(let event) = self { event } else { nil } }
  var noAnswer: MemberEvent? { if case .memberNoAnswer(let event) = self { event } else { nil } }
  var left: MemberEvent? { if case .memberLeft(let event) = self { event } else { nil } }
  var memberState: MemberEvent? { if case .memberState(let event) = self { event } else { nil } }
  var joinedRoom: ParticipantEvent? { if case .participantJoined(let event) = self { event } else { nil } }
  var closedRoom: RoomClosed? { if case .roomClosed(let event) = self { event } else { nil } }
  var leftRoom: ParticipantLeft? { if case .participantLeft(let event) = self { event } else { nil } }
  var reconnecting: ParticipantEvent? { if case .participantReconnecting(let event) = self { event } else { nil } }
  var reconnected: ParticipantEvent? { if case .participantReconnected(let event) = self { event } else { nil } }
  var updated: ParticipantEvent? { if case .participantUpdated(let event) = self { event } else { nil } }
  var published: TrackPublished? { if case .trackPublished(let event) = self { event } else { nil } }
  var offer: SubscribeOffer? { if case .pcOffer(let event) = self { event } else { nil } }
  var viewChanged: ViewChanged? { if case .viewChanged(let event) = self { event } else { nil } }
}
