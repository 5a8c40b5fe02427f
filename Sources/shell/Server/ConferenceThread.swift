// The one serial owner of the conference: its thread drains one mailbox, applies each input in one step and carries out
// what follows before the next. The order of commits is the order in which inputs leave the mailbox.
//
//   front doors ─┐                        ┌─▶ replies, events        (front door's mailbox)
//   workers     ─┼─▶ mailbox ─▶ realm ─▶ effects ─▶ MediaDirector ─▶ commands (workers' mailboxes)
//   deadlines   ─┘                        └─▶ log lines, counts

import Basics
import Conference
import DoorKit
import Logging
import Media
import MediaControl
import MediaWorker
import Members
import Names
import RoostProtocol
import Threads

/// What the conference thread is told.
enum ConferenceInput: Sendable {
  /// A request, or the end of a connection, from a front door.
  case command(Command)
  /// What workers report.
  case worker([WorkerEvent])
  /// What an operator wants, in which realm, from where and by the name of what they showed, and whom to tell what has come of it; that is
  /// called on the conference thread.
  case operate(
    OperatorAction, in: Realm = .default, from: SocketAddress?, by: String = "admin.token",
    @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
  )
  /// A look at the numbers.
  case snapshot(@Sendable (ConferenceSnapshot) -> Void)
  /// End the thread.
  case stop
}

/// The numbers of each realm, for metrics.
struct ConferenceSnapshot: Sendable {
  /// In the order of their places, `default` first.
  var realms: [RealmSnapshot]
  /// Who is taken on each worker.
  var admission: [WorkerAdmission] = []
}

/// A realm's numbers.
struct RealmSnapshot: Sendable {
  /// Whose.
  var realm: Realm
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
  var store: @Sendable (StoreEffect, _ realm: Realm) -> Void
  /// News for web servers, in order.
  var outside: @Sendable (OutsideEffect, _ realm: Realm) -> Void
  /// A step that had such news is over: all its changes have been given.
  var endNews: @Sendable () -> Void
  /// Commands for one worker, in order.
  var command: @Sendable (_ worker: Int, [WorkerCommand]) -> Void
  /// Joins two workers by a pipe, before they are told of what crosses it; and parts them, behind all of that.
  var openPipe: @Sendable (PipeOrder) -> Void = { _ in }
  var closePipe: @Sendable (PipeOrder) -> Void = { _ in }
  /// Whether a token of this `jti` is taken back in a realm.
  var setRevoked: @Sendable (_ id: String, _ realm: Realm, _ isRevoked: Bool) -> Void = { _, _, _ in }
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
    mailbox: Mailbox<ConferenceInput>, rules: [Realm: ConferenceRules], restored: [Realm: RestoredState],
    director: MediaDirector, logger: Logger, lines: SessionLines, outputs: ConferenceOutputs
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
  private var realms: Realms
  private var director: MediaDirector
  private let logger: Logger
  /// Where lines go that are somebody's doing.
  private let lines: SessionLines
  private let outputs: ConferenceOutputs
  private var counts: [Realm: [Counter: UInt64]] = [:]
  private var isStopping = false
  private var now: Now
  private var nextHousekeeping: Instant
  /// Whether the step has news for web servers.
  private var hasNews = false
  /// Steps that are carried out inside each other: what came of media is a step in the middle of another.
  private var depth = 0
  /// What was last said of each worker.
  private var admission: [WorkerAdmission.State]

  init(
    rules: [Realm: ConferenceRules], director: MediaDirector, logger: Logger, lines: SessionLines,
    outputs: ConferenceOutputs
  ) {
    now = Now.read()
    realms = Realms(rules)
    self.director = director
    self.logger = logger
    self.lines = lines
    self.outputs = outputs
    nextHousekeeping = now.instant
    admission = director.admission.map(\.state)
  }

  /// Takes what an earlier process left.
  mutating func restore(_ restored: [Realm: RestoredState]) { carryOut(realms.restore(restored, at: now)) }

  mutating func run(_ mailbox: Mailbox<ConferenceInput>) {
    var inputs: [ConferenceInput] = []
    while !isStopping {
      mailbox.wait(nanoseconds: timeout())
      mailbox.drain(into: &inputs)
      now = Now.read()
      for input in inputs { handle(input) }
      inputs.removeAll(keepingCapacity: true)
      if let deadline = realms.nextDeadline, deadline <= now.instant { carryOut(realms.poll(at: now)) }
      settle()
      keepHouse()
    }
    carryOut(realms.apply(.stop, at: now))
  }

  private mutating func keepHouse() {
    guard nextHousekeeping <= now.instant else { return }
    nextHousekeeping = now.instant + .seconds(1)
    lines.tell()
    outputs.housekeeping()
  }

  private mutating func timeout() -> Int64 {
    let deadline = min(realms.nextDeadline ?? .distantFuture, nextHousekeeping)
    return max(0, (deadline - Now.read().instant).nanoseconds)
  }

  private mutating func handle(_ input: ConferenceInput) {
    switch input {
    case .command(let command): apply(command)
    case .worker(let events): for event in events { handle(event) }
    case .operate(let action, let realm, let peer, let name, let reply):
      operate(action, in: realm, from: peer, by: name, reply)
    case .snapshot(let reply): reply(snapshot)
    case .stop: isStopping = true
    }
  }

  private var snapshot: ConferenceSnapshot {
    ConferenceSnapshot(
      realms: realms.gauges.map { RealmSnapshot(realm: $0.realm, gauges: $0.gauges, counts: counts[$0.realm] ?? [:]) },
      admission: director.admission)
  }

  /// Sends the offers and commands that the inputs have led to: changes of one turn coalesce.
  private mutating func settle() {
    for offer in director.pollOffers() { apply(offer) }
    for effect in realms.takeWaiting() { outputs.deliver(effect) }
    let pipes = director.pollPipes()
    for pipe in pipes.opened { outputs.openPipe(pipe) }
    for (worker, commands) in director.pollCommands() { outputs.command(worker, commands) }
    for pipe in pipes.closed { outputs.closePipe(pipe) }
  }

  private mutating func operate(
    _ action: OperatorAction, in realm: Realm, from peer: SocketAddress?, by name: String,
    _ reply: @Sendable (Result<OperatorAnswer, ErrorObject>) -> Void
  ) {
    let (answer, effects) = realms.operate(action, in: realm, from: peer?.description ?? "", by: name, at: now)
    carryOut([effects])
    reply(answer)
  }

  private mutating func apply(_ command: Command) {
    carryOut(realms.apply(command, at: now))
    if case .mediaLoad = command { logAdmission() }
  }

  private mutating func carryOut(_ all: [RealmEffects]) {
    depth += 1
    for some in all {
      for effect in some.effects { carryOut(effect, of: some.realm) }
    }
    depth -= 1
    guard depth == 0, hasNews else { return }
    hasNews = false
    outputs.endNews()
  }

  private mutating func carryOut(_ effect: Effect, of realm: Realm) {
    switch effect {
    case .client(let effect): outputs.deliver(effect)
    case .media(let effect): carryOut(effect)
    case .store(let effect): outputs.store(effect, realm)
    case .outside(let effect):
      outputs.outside(effect, realm)
      hasNews = true
    case .operation(.log(let entry)): log(entry, of: realm)
    case .operation(.count(let counter)): counts[realm, default: [:]][counter, default: 0] += 1
    case .operation(.setRevoked(let id, let isRevoked)): outputs.setRevoked(id, realm, isRevoked)
    case .goOn(let session): apply(.goOn(session))
    }
  }

  private mutating func carryOut(_ effect: MediaEffect) {
    let outcome = director.apply(effect)
    if let refusal = outcome.refusal {
      lines.write(
        .warning, "subscription_refused", of: realms.subject(of: refusal.subscription) ?? LineSubject(network: nil)
      ) { ["subscription": "\(refusal.subscription)", "reason": "\(refusal.error.message)"] }
    }
    for command in outcome.commands { apply(command) }
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

  private func log(_ entry: LogEntry, of realm: Realm) {
    let level: LogLevel =
      switch entry.level {
      case .debug: .debug
      case .info: .info
      case .warning: .warning
      }
    // The fields are put together only where the line is written.
    let fields = {
      // Most servers have one, and need not read its name in each line.
      let own = realm == .default ? [] : [(name: "realm", value: LogValue.string(realm.name))]
      return LogFields(entry.fields.map { (name: $0.name, value: .string($0.value)) } + own)
    }
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
    if case .consumerLayer(let consumer, _, _) = event { shown = realms.track(of: SubscriptionID(consumer.value)) }
    if let command = director.apply(event, shown: shown) { apply(command) }
  }
}
