// The one serial owner of the conference: its thread drains one mailbox, applies each input in one step and carries out
// what follows before the next. The order of commits is the order in which inputs leave the mailbox.
//
//   front doors ─┐                        ┌─▶ replies, events        (front door's mailbox)
//   workers     ─┼─▶ mailbox ─▶ core ─▶ effects ─▶ MediaDirector ─▶ commands (workers' mailboxes)
//   deadlines   ─┘                        └─▶ log lines, counts

import Basics
import Conference
import DoorKit
import Logging
import Media
import MediaControl
import MediaWorker
import Members
import RoostProtocol
import Threads

/// What the conference thread is told.
enum ConferenceInput: Sendable {
  /// A request, or the end of a connection, from a front door.
  case command(Command)
  /// What workers report.
  case worker([WorkerEvent])
  /// What an operator wants and from where, and whom to tell what has come of it; that is called on the conference thread.
  case operate(OperatorAction, from: SocketAddress?, @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void)
  /// A look at the numbers.
  case snapshot(@Sendable (ConferenceSnapshot) -> Void)
  /// End the thread.
  case stop
}

/// The conference's numbers, for metrics.
struct ConferenceSnapshot: Sendable {
  /// What there is now.
  var gauges: ConferenceGauges
  /// What has happened since the start.
  var counts: [Counter: UInt64]
}

/// Where the conference's effects go. Each is called on the conference thread and must not block.
struct ConferenceOutputs: Sendable {
  /// Replies, events and closings, in this order on the wire.
  var deliver: @Sendable (ClientEffect) -> Void
  /// Changes and questions to the disk, in order.
  var store: @Sendable (StoreEffect) -> Void
  /// News for web servers, in order.
  var outside: @Sendable (OutsideEffect) -> Void
  /// Commands for one worker, in order.
  var command: @Sendable (_ worker: Int, [WorkerCommand]) -> Void
  /// Whether a token of this `jti` is taken back.
  var setRevoked: @Sendable (_ id: String, _ isRevoked: Bool) -> Void = { _, _ in }
  /// Called about once a second.
  var housekeeping: @Sendable () -> Void
}

/// The thread's handle.
final class ConferenceThread: Sendable {
  /// Where everything that happens is put.
  let mailbox: Mailbox<ConferenceInput>
  private let thread: OwnerThread

  /// Starts the thread, with what an earlier process left. It reads `mailbox`, where something may wait already.
  init(
    mailbox: Mailbox<ConferenceInput>, rules: ConferenceRules, restored: RestoredState, director: MediaDirector,
    logger: Logger, lines: SessionLines, outputs: ConferenceOutputs
  ) {
    self.mailbox = mailbox
    thread = OwnerThread(name: "conference") {
      var loop = ConferenceLoop(rules: rules, director: director, logger: logger, lines: lines, outputs: outputs)
      loop.restore(restored)
      loop.run(mailbox)
    }
  }

  /// Ends the thread after what is already in the mailbox.
  func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// What lives on the thread.
struct ConferenceLoop: ~Copyable {
  private var core: ConferenceCore
  private var director: MediaDirector
  private let logger: Logger
  /// Where lines go that are somebody's doing.
  private let lines: SessionLines
  private let outputs: ConferenceOutputs
  private var counts: [Counter: UInt64] = [:]
  private var isStopping = false
  private var now: Now
  private var nextHousekeeping: Instant
  /// What was last said of each worker.
  private var admission: [WorkerAdmission.State]

  init(
    rules: ConferenceRules, director: MediaDirector, logger: Logger, lines: SessionLines, outputs: ConferenceOutputs
  ) {
    now = Now.read()
    core = ConferenceCore(rules: rules)
    self.director = director
    self.logger = logger
    self.lines = lines
    self.outputs = outputs
    nextHousekeeping = now.instant
    admission = director.admission.map(\.state)
  }

  /// Takes what an earlier process left.
  mutating func restore(_ restored: RestoredState) { carryOut(core.restore(restored, at: now)) }

  mutating func run(_ mailbox: Mailbox<ConferenceInput>) {
    var inputs: [ConferenceInput] = []
    while !isStopping {
      mailbox.wait(nanoseconds: timeout())
      mailbox.drain(into: &inputs)
      now = Now.read()
      for input in inputs { handle(input) }
      inputs.removeAll(keepingCapacity: true)
      if let deadline = core.nextDeadline, deadline <= now.instant { carryOut(core.poll(at: now)) }
      settle()
      keepHouse()
    }
  }

  private mutating func keepHouse() {
    guard nextHousekeeping <= now.instant else { return }
    nextHousekeeping = now.instant + .seconds(1)
    lines.tell()
    outputs.housekeeping()
  }

  private func timeout() -> Int64 {
    let deadline = min(core.nextDeadline ?? .distantFuture, nextHousekeeping)
    return max(0, (deadline - Now.read().instant).nanoseconds)
  }

  private mutating func handle(_ input: ConferenceInput) {
    switch input {
    case .command(let command): apply(command)
    case .worker(let events): for event in events { handle(event) }
    case .operate(let action, let peer, let reply): operate(action, from: peer, reply)
    case .snapshot(let reply): reply(ConferenceSnapshot(gauges: core.gauges, counts: counts))
    case .stop: isStopping = true
    }
  }

  /// Sends the offers and commands that the inputs have led to: changes of one turn coalesce.
  private mutating func settle() {
    for offer in director.pollOffers() { apply(offer) }
    for effect in core.takeWaiting() { outputs.deliver(effect) }
    for (worker, commands) in director.pollCommands() { outputs.command(worker, commands) }
  }

  private mutating func operate(
    _ action: OperatorAction, from peer: SocketAddress?,
    _ reply: @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
  ) {
    let (answer, effects) = core.operate(action, from: peer?.description ?? "", at: now)
    carryOut(effects)
    reply(answer)
  }

  private mutating func apply(_ command: Command) { carryOut(core.apply(command, at: now)) }

  private mutating func carryOut(_ effects: [Effect]) {
    for effect in effects { carryOut(effect) }
  }

  private mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .client(let effect): outputs.deliver(effect)
    case .media(let effect): carryOut(effect)
    case .store(let effect): outputs.store(effect)
    case .outside(let effect): outputs.outside(effect)
    case .operation(.log(let entry)): log(entry)
    case .operation(.count(let counter)): counts[counter, default: 0] += 1
    case .operation(.setRevoked(let id, let isRevoked)): outputs.setRevoked(id, isRevoked)
    case .goOn(let session): apply(.goOn(session))
    }
  }

  private mutating func carryOut(_ effect: MediaEffect) {
    let outcome = director.apply(effect)
    if let refusal = outcome.refusal {
      lines.write(
        .warning, "subscription_refused", of: core.subject(of: refusal.subscription) ?? LineSubject(network: nil)
      ) { ["subscription": "\(refusal.subscription)", "reason": "\(refusal.error.message)"] }
    }
    for command in outcome.commands {
      apply(command)
      if case .mediaLoad = command { logAdmission() }
    }
  }

  /// Says which workers no longer take newcomers, or new rooms, and which do again.
  private mutating func logAdmission() {
    let states = director.admission
    defer { admission = states.map(\.state) }
    for (worker, now) in states.enumerated() where admission[worker] != now.state {
      let message =
        switch now.state {
        case .full: "worker overloaded: newcomers are refused"
        case .noNewRooms: "worker nearly full: new rooms are refused"
        case .open: "worker takes newcomers again"
        }
      logger.warning(
        message,
        [
          "worker": LogValue(worker), "used_percent": LogValue(Int(now.used)),
          "expected_percent": LogValue(Int(now.expected)),
        ])
    }
  }

  private func log(_ entry: LogEntry) {
    let level: LogLevel =
      switch entry.level {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      }
    // The fields are put together only where the line is written.
    let fields = { LogFields(entry.fields.map { (name: $0.name, value: .string($0.value)) }) }
    if let subject = entry.subject {
      lines.write(level, entry.event, of: subject, fields)
    } else {
      logger.log(level, entry.event, fields())
    }
  }

  // MARK: what workers report

  private mutating func handle(_ event: WorkerEvent) {
    // Which track a subscription shows is kept in the conference alone.
    var shown: TrackID?
    if case .consumerLayer(let consumer, _, _) = event { shown = core.track(of: SubscriptionID(consumer.value)) }
    guard let command = director.apply(event, shown: shown) else { return }
    apply(command)
    if case .mediaLoad = command { logAdmission() }
  }
}
