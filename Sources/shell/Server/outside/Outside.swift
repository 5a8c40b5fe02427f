// What the conference reaches beyond its clients: the disk and the web servers of others.

import API
import Basics
import Calls
import Configuration
import Logging
import Members
import Names
import RoostProtocol
import Storage
import Threads

/// The threads that write and tell; each is there only where it is configured and works. All realms write to one file, and each tells
/// and asks web servers of its own by threads of its own: what is another's is never in its queue.
struct Outside: Sendable {
  /// What tells the web servers of a realm.
  private struct Told: Sendable {
    let thread: WebhookThread
    let settings: ServerConfiguration.Webhooks
  }

  private let storage: StorageThread?
  private let told: [Realm: Told]
  private let asked: [Realm: HookThread]
  private let inbox: ConferenceInbox
  /// Events of a step whose changes have yet to come.
  private let untold = Locked<[WebhookMessage]>([])
  private let replays = ReplayShare()

  private init(storage: StorageThread?, told: [Realm: Told], asked: [Realm: HookThread], inbox: ConferenceInbox) {
    (self.storage, self.told, self.asked, self.inbox) = (storage, told, asked, inbox)
  }

  /// Starts what is configured, and lets the rules of each realm know what there is.
  static func start(
    _ configuration: ServerConfiguration, rules: inout [Realm: ConferenceRules], inbox: ConferenceInbox, log: Logger
  ) -> (outside: Outside, restored: [Realm: RestoredState]) {
    let kept = startStorage(configuration, rules: rules, inbox: inbox, log: log)
    let storage = kept?.thread
    var told: [Realm: Told] = [:]
    var asked: [Realm: HookThread] = [:]
    for realm in configuration.realmNames {
      let settings = configuration.settings(of: realm).webhooks
      rules[realm]?.storesRecords = storage != nil
      rules[realm]?.calls.keepsCalls = storage != nil
      rules[realm]?.calls.hasPush = settings.push != nil
      rules[realm]?.calls.isFollowed = settings.events != nil
      rules[realm]?.tellsChat = settings.tellsChat
      if let thread = startWebhooks(settings, of: realm, kept?.restored[realm], storage, log) {
        told[realm] = Told(thread: thread, settings: settings)
      }
      let hooks = configuration.settings(of: realm).hooks
      guard let application = hooks.application else { continue }
      rules[realm]?.questions = QuestionRules(hooks)
      asked[realm] = HookThread(hooks, application, of: realm, log: log) { inbox.post(.command(.answered($0, $1))) }
    }
    let outside = Outside(storage: storage, told: told, asked: asked, inbox: inbox)
    return (outside, kept?.restored.mapValues(\.state) ?? [:])
  }

  /// Nil where nobody is to be told anything.
  private static func startWebhooks(
    _ settings: ServerConfiguration.Webhooks, of realm: Realm, _ restored: StorageThread.Restored?,
    _ storage: StorageThread?, _ log: Logger
  ) -> WebhookThread? {
    guard settings.push != nil || settings.events != nil else { return nil }
    var left = WebhookThread.Restored()
    left.deliveries = restored?.deliveries ?? []
    for call in restored?.state.calls.running ?? [] {
      for (user, end) in call.pushedRings {
        left.rung[ExactText(WebhookMessage.lane(callId: call.call.callId, user: user))] = end
      }
    }
    let thread = WebhookThread(
      settings, of: realm, restored: left, log: log, settle: { storage?.settle($0) },
      forget: { storage?.keep(.forget($0)) })
    if settings.events != nil { storage?.follow(realm) { thread.supply($0) } }
    return thread
  }

  /// Opens the record file; nil where there is none, or it cannot be used: then the server goes on without.
  private static func startStorage(
    _ configuration: ServerConfiguration, rules: [Realm: ConferenceRules], inbox: ConferenceInbox, log: Logger
  ) -> (thread: StorageThread, restored: [Realm: StorageThread.Restored])? {
    guard let path = configuration.storage.path else { return nil }
    var keeping = StorageRetention(
      records: configuration.storage.callRecords, tombstones: configuration.calls.tombstone,
      mostRecords: configuration.storage.mostCallRecords, mostRecordsOfUser: configuration.storage.callRecordsPerUser)
    for realm in configuration.realmNames {
      keeping.events[realm] = configuration.settings(of: realm).webhooks.keep.kept
    }
    let waiting = configuration.realmNames.map { configuration.settings(of: $0).webhooks.waiting }.max() ?? 0
    return StorageThread.start(
      path: path, rules: rules, keeping: keeping, deliveries: 2 * waiting, log: log
    ) { inbox.post(.command($0)) }
  }

  /// Carries out what a realm wants of the disk. Called on the conference's thread; never blocks.
  func carryOut(_ effect: StoreEffect, of realm: Realm) {
    switch effect {
    case .write(let ticket, let changes):
      if storage?.store(ticket, changes, of: realm, toldBy: takeUntold()) != true {
        inbox.post(.command(.stored(ticket, false)))
      }
    case .read(let ticket, let query):
      if storage?.fetch(ticket, query, of: realm) != true { inbox.post(.command(.fetched(ticket, nil))) }
    }
  }

  /// Carries out what a realm wants its web servers to be told. Called on the conference's thread; never blocks.
  func carryOut(_ effect: OutsideEffect, of realm: Realm) {
    switch effect {
    case .push(let notice):
      tell(realm, \.push) { WebhookMessage(notice, of: realm, giveUpAfter: $0, wallMilliseconds: $1) }
    case .webhook(let event):
      tell(realm, \.events) { WebhookMessage(event, of: realm, giveUpAfter: $0, wallMilliseconds: $1) }
    case .ask(let ticket, let question):
      guard let thread = asked[realm] else { return inbox.post(.command(.answered(ticket, .nothing))) }
      if !thread.ask(ticket, question) { inbox.post(.command(.answered(ticket, .unasked))) }
    case .takeBack(let ticket): asked[realm]?.takeBack(ticket)
    }
  }

  /// Tells a realm's web server, where it has one. The storage thread has the message before the change that it tells of, which comes next:
  /// nothing is on disk whose message is not. An event is written in one transaction with that change, and comes back with its number.
  private func tell(
    _ realm: Realm, _ endpoint: KeyPath<ServerConfiguration.Webhooks, ServerConfiguration.Webhooks.Endpoint?>,
    _ make: (_ giveUpAfter: TimeDelta, _ wallMilliseconds: Int64) -> WebhookMessage
  ) {
    guard let told = told[realm], told.settings[keyPath: endpoint] != nil else { return }
    let message = make(told.settings.giveUpAfter, WallClock.milliseconds())
    if storage != nil, message.endpoint == .events { return untold.withLock { $0.append(message) } }
    storage?.keep(message)
    if !told.thread.send(message) { storage?.keep(.forget(message.id)) }
  }

  /// A step is over: what it has told of without changing anything on disk is written as well. Called on the conference's thread.
  func endStep() { for message in takeUntold() { storage?.keep(message) } }

  private func takeUntold() -> [WebhookMessage] {
    untold.withLock { messages in
      defer { messages = [] }
      return messages
    }
  }

  /// Reads events of a realm again that have numbers above `after`. The answer is given on a thread of no owner.
  func replay(
    after: Int64, of realm: Realm, _ answer: @escaping @Sendable (Result<EventReplay, ErrorObject>) -> Void
  ) {
    guard let storage else {
      let why = "No events are kept: the server has no record file (storage.path)."
      return answer(.failure(ErrorObject(.invalidState, why)))
    }
    guard told[realm]?.settings.events != nil else {
      let why = "No events are told of this realm: rooms.yaml names no web server for them (webhooks.events)."
      return answer(.failure(ErrorObject(.invalidState, why)))
    }
    guard replays.begin(realm) else { return answer(.failure(ErrorObject(.overloaded))) }
    let isTaken = storage.replay(EventQuery(after: after), of: realm) { page in
      replays.end(realm)
      Task {
        answer(
          page.map { .success(EventReplay(events: $0.events.map(\.body), last: $0.last, lost: $0.lost)) }
            ?? .failure(ErrorObject(.overloaded, "The record file cannot be read.")))
      }
    }
    if !isTaken {
      replays.end(realm)
      answer(.failure(ErrorObject(.overloaded)))
    }
  }

  /// What they have done and have yet to do.
  var figures: OutsideFigures {
    OutsideFigures(
      storage: storage?.figures ?? StorageFigures(), webhooks: told.mapValues(\.thread.figures),
      hooks: asked.mapValues(\.figures),
      monotonicNanoseconds: MonotonicClock.now().nanoseconds)
  }

  /// Ends the threads, after what they have taken is written, and told as far as a second goes.
  func stop() {
    for own in asked.values { own.stop() }
    storage?.flush()
    for own in told.values { own.thread.askToStop() }
    for own in told.values { own.thread.join() }
    storage?.stop()
  }
}

extension ServerConfiguration.Webhooks.Keep {
  fileprivate var kept: EventKeep { EventKeep(time: time, size: Int64(size)) }
}
