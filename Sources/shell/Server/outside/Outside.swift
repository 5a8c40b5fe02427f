// What the conference reaches beyond its clients: the disk and the web servers of others.

import Basics
import Calls
import Configuration
import Logging
import Members
import Storage
import Threads

/// The threads that write and tell; each is there only where it is configured and works.
struct Outside: Sendable {
  private let storage: StorageThread?
  private let webhooks: WebhookThread?
  private let settings: ServerConfiguration.Webhooks
  private let inbox: ConferenceInbox

  /// Starts what is configured, and lets the rules know what there is.
  static func start(
    _ configuration: ServerConfiguration, rules: inout ConferenceRules, inbox: ConferenceInbox, log: Logger
  ) -> (outside: Outside, restored: RestoredState) {
    let kept = startStorage(configuration, rules: rules, inbox: inbox, log: log)
    let storage = kept?.thread
    let settings = configuration.webhooks
    rules.storesRecords = storage != nil
    rules.calls.keepsCalls = storage != nil
    rules.calls.hasPush = settings.push != nil
    rules.calls.isFollowed = settings.events != nil
    let outside = Outside(
      storage: storage, webhooks: startWebhooks(settings, kept?.restored, storage, log), settings: settings,
      inbox: inbox)
    return (outside, kept?.restored.state ?? RestoredState())
  }

  /// Nil where nobody is to be told anything.
  private static func startWebhooks(
    _ settings: ServerConfiguration.Webhooks, _ restored: StorageThread.Restored?, _ storage: StorageThread?,
    _ log: Logger
  ) -> WebhookThread? {
    guard settings.push != nil || settings.events != nil else { return nil }
    var left = WebhookThread.Restored()
    left.deliveries = restored?.deliveries ?? []
    for call in restored?.state.calls.running ?? [] {
      for (user, end) in call.pushedRings {
        left.rung[ExactText(WebhookMessage.lane(callId: call.call.callId, user: user))] = end
      }
    }
    return WebhookThread(settings, restored: left, log: log) { storage?.keep(.forget($0)) }
  }

  /// Opens the record file; nil where there is none, or it cannot be used: then the server goes on without.
  private static func startStorage(
    _ configuration: ServerConfiguration, rules: ConferenceRules, inbox: ConferenceInbox, log: Logger
  ) -> (thread: StorageThread, restored: StorageThread.Restored)? {
    guard let path = configuration.storage.path else { return nil }
    let keeping = StorageRetention(
      records: configuration.storage.callRecords, tombstones: configuration.calls.tombstone,
      mostRecords: configuration.storage.mostCallRecords, mostRecordsOfUser: configuration.storage.callRecordsPerUser)
    let waiting = configuration.webhooks.waiting
    return StorageThread.start(
      path: path, rules: rules, keeping: keeping, deliveries: 2 * waiting, log: log
    ) { inbox.post(.command($0)) }
  }

  /// Carries out what the conference wants of the disk. Called on its thread; never blocks.
  func carryOut(_ effect: StoreEffect) {
    switch effect {
    case .write(let ticket, let changes):
      if storage?.store(ticket, changes) != true { inbox.post(.command(.stored(ticket, false))) }
    case .read(let ticket, let query):
      if storage?.fetch(ticket, query) != true { inbox.post(.command(.fetched(ticket, nil))) }
    }
  }

  /// Carries out what the conference wants web servers to be told. Called on its thread; never blocks.
  func carryOut(_ effect: OutsideEffect) {
    switch effect {
    case .push(let notice):
      guard settings.push != nil else { return }
      let wall = WallClock.milliseconds()
      send(WebhookMessage(notice, giveUpAfter: settings.giveUpAfter, wallMilliseconds: wall))
    case .webhook(let event):
      guard settings.events != nil else { return }
      let wall = WallClock.milliseconds()
      send(WebhookMessage(event, giveUpAfter: settings.giveUpAfter, wallMilliseconds: wall))
    // No configuration names an application yet, so that nothing is asked.
    case .ask(let ticket, _): inbox.post(.command(.answered(ticket, .nothing)))
    }
  }

  /// The outbox has it before the change that it tells of, which comes next: nothing is on disk whose message is not.
  private func send(_ message: WebhookMessage) {
    guard let webhooks else { return }
    storage?.keep(message)
    if !webhooks.send(message) { storage?.keep(.forget(message.id)) }
  }

  /// What they have done and have yet to do.
  var figures: OutsideFigures {
    OutsideFigures(
      storage: storage?.figures ?? StorageFigures(), webhooks: webhooks?.figures ?? [:],
      monotonicNanoseconds: MonotonicClock.now().nanoseconds)
  }

  /// Ends the threads, after what they have taken is written, and told as far as a second goes.
  func stop() {
    webhooks?.stop()
    storage?.stop()
  }
}
