// The one serial owner of the conference: its thread drains one mailbox, applies each input in one step and carries out
// what follows before the next. The order of commits is the order in which inputs leave the mailbox.
//
//   front doors ─┐                        ┌─▶ replies, events        (front door's mailbox)
//   workers     ─┼─▶ mailbox ─▶ core ─▶ effects ─▶ MediaDirector ─▶ commands (workers' mailboxes)
//   deadlines   ─┘                        └─▶ log lines, counts

import Basics
import Conference
import Logging
import Media
import MediaWorker
import RoostProtocol
import Signalling
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
  }

  /// Takes what an earlier process left.
  mutating func restore(_ restored: RestoredState) { carryOut(core.restore(restored, at: now)) }

  mutating func run(_ mailbox: Mailbox<ConferenceInput>) {
    var inputs: [ConferenceInput] = []
    while !isStopping {
      mailbox.wait(nanoseconds: timeout())
      mailbox.drain(into: &inputs)
      now = Now.read()
      for input in inputs { take(input) }
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

  private mutating func take(_ input: ConferenceInput) {
    switch input {
    case .command(let command): apply(command)
    case .worker(let events): for event in events { take(event) }
    case .operate(let action, let peer, let reply): operate(action, from: peer, reply)
    case .snapshot(let reply): reply(ConferenceSnapshot(gauges: core.gauges, counts: counts))
    case .stop: isStopping = true
    }
  }

  /// Sends the offers and commands that the inputs have led to: changes of one turn coalesce.
  private mutating func settle() {
    // On the connections of streams the client offers, so none comes for those.
    for offer in director.takeOffers() where offer.connection.id == .subscribe {
      apply(.serverOffer(offer.seat, offer.offer))
    }
    for effect in core.takeWaiting() { outputs.deliver(effect) }
    let commands = director.takeCommands()
    guard !commands.isEmpty else { return }
    for worker in director.workers.indices {
      let own = commands.filter { $0.worker == worker }.map(\.command)
      if !own.isEmpty { outputs.command(worker, own) }
    }
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
    }
  }

  private mutating func carryOut(_ effect: MediaEffect) {
    let outcome = director.carryOut(effect)
    if let refusal = outcome.refusal {
      lines.write(
        .warning, "subscription_refused", of: core.subject(of: refusal.subscription) ?? LineSubject(network: nil)
      ) { ["subscription": "\(refusal.subscription)", "reason": "\(refusal.error.message)"] }
    }
    for command in outcome.commands { apply(command) }
  }

  private func log(_ entry: LogEntry) {
    let level: LogLevel =
      switch entry.level {
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

  private mutating func take(_ event: WorkerEvent) {
    switch event {
    case .transportConnected(let key): media(key, .connected)
    case .transportFailed(let key, let failure): media(key, MediaChange(failure))
    case .transportLost(let key): media(key, .lost)
    case .transportRecovered(let key): media(key, .recovered)
    case .silence(let question, let time):
      if let asker = director.takeAsker(of: question) { apply(.silence(asker, time)) }
    case .streamStrays(let key, let stream): media(key, .strays(reason: stream.sentence))
    case .streamsFound(let key): media(key, .found)
    case .transportExceeds(let key, let kind, let limit):
      guard let connection = director.connections.transports[key] else { return }
      apply(.excess(connection.seat, connection.id, Excess(kind), bitsPerSecond: limit))
    case .consumerStarted(let key, let producer, let timestamp):
      apply(.subscription(SubscriptionID(key.value), .started(TrackID(producer.value), timestamp: timestamp)))
    case .consumerLayer(let key, let layer, let encoding): layerChanged(SubscriptionID(key.value), layer, encoding)
    case .consumerPaused(let key, let isPaused):
      apply(.subscription(SubscriptionID(key.value), isPaused ? .paused(.bandwidth) : .resumed))
    case .consumerMisses(let key, let producer, let missing):
      apply(.subscription(SubscriptionID(key.value), .missing(TrackID(producer.value), missing?.step)))
    case .producerLayers(let key, let layers, let encodings):
      director.setActive(encodings, of: TrackID(key.value))
      apply(.trackLayers(TrackID(key.value), layers))
    case .overload(let worker, let isOverloaded):
      director.placement.setOverloaded(isOverloaded, worker: worker)
      apply(.mediaLoad(director.placement.mediaLoad))
      logger.warning(
        isOverloaded ? "worker overloaded: newcomers are refused" : "worker takes newcomers again",
        ["worker": LogValue(worker)])
    case .activeSpeakers(let room, let speakers):
      // Each participant once: who has several tracks is told by the loudest.
      let levels = speakers.compactMap { speaker in
        director.tracks[TrackID(speaker.producer)].map { SpeakerLevel(seat: $0.seat, level: Int(speaker.level)) }
      }
      apply(.activeSpeakers(Conference.RoomKey(room.value), levels))
    case .quality(let measured): apply(.quality(director.reports(measured)))
    }
  }

  private mutating func media(_ key: TransportKey, _ change: MediaChange) {
    guard let connection = director.connections.transports[key] else { return }
    apply(.media(connection.seat, connection.id, change))
  }

  /// Only simulcast tracks have layers worth telling of.
  private mutating func layerChanged(_ id: SubscriptionID, _ layer: Int, _ encoding: Int) {
    guard let track = core.track(of: id).flatMap({ director.tracks[$0] }),
      track.parameters.encodings.count > 1, track.parameters.encodings.indices.contains(encoding)
    else { return }
    let told = Layer(definition: track.layers.definition(of: layer), rid: track.parameters.encodings[encoding].rid)
    apply(.subscription(id, .layer(told)))
  }
}

extension MediaChange {
  init(_ failure: TransportFailure) {
    switch failure {
    case .handshake(let reason): self = .failed(.dtls, reason: reason.asSentence, isFinal: true)
    case .fingerprintMismatch:
      self = .failed(
        .dtls, reason: "The certificate does not match the fingerprint in the session description.", isFinal: true)
    case .closedByPeer: self = .closed(reason: "The client closed the connection.")
    case .tooSlow(let progress): self = .failed(progress.step, reason: progress.sentence, isFinal: false)
    }
  }
}

extension MissingMedia {
  /// As clients are told of it.
  fileprivate var step: SubscriptionStep {
    switch self {
    case .nothing: .nothing
    case .noKeyframe: .noKeyframe
    }
  }
}

extension StrayStreamReport {
  /// What is wrong with it, for people.
  var sentence: String {
    switch cause {
    case .unknownMid: "Packets of SSRC \(ssrc) bear a MID that is no published track's."
    case .unknownPayloadType:
      "Packets of SSRC \(ssrc) have payload type \(payloadType), which no answer of the server has."
    case .ambiguous:
      "Packets of SSRC \(ssrc) say by no MID, no RID and no a=ssrc which track they are of, and several have payload type \(payloadType)."
    case .occupied:
      "Packets of SSRC \(ssrc) belong to a track that receives another SSRC still, or to a layer of it that was not offered."
    }
  }
}

extension Excess {
  init(_ kind: IntakeClass) {
    switch kind {
    case .sound: self = .sound
    case .video: self = .video
    case .unrouted: self = .newStreams
    case .control: self = .control
    }
  }
}

extension TransportProgress {
  /// What the connection waits for.
  var step: MediaStep {
    switch self {
    case .unheard, .checked: .ice
    case .nominated: .dtls
    case .undescribed: .sdp
    }
  }

  /// The same for people.
  var sentence: String {
    switch self {
    case .unheard:
      "No connectivity check of the client has arrived: UDP to the server's media port is blocked, or its candidates are wrong."
    case .checked:
      "Connectivity checks arrive, but the client has nominated none: the server's answers do not reach it."
    case .nominated: "The DTLS handshake is not done: the client does not begin it, or its larger packets are lost."
    case .undescribed: "The client checks the connection, but its session description has not come."
    }
  }
}

extension String {
  /// With a capital and a full stop.
  fileprivate var asSentence: String { prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".") }
}
