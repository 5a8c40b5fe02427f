// Tells web servers outside what happens, on a thread of its own: calls never wait for them.
//
//   conference ──▶ mailbox ──▶ one queue a server ──▶ libcurl ──▶ outcome ──▶ settled
//        │            ▲                                                          │
//        └──▶ record file, where there is one: events come from there ◀──────────┘

import Basics
import Configuration
import Logging
import Names
import Storage
import Threads
import Webhooks

/// The thread's handle.
final class WebhookThread: Sendable {
  fileprivate enum Input: Sendable {
    case message(WebhookMessage)
    case supply(EventSupply)
    case stop
  }

  /// Messages that may wait for the thread, which only sorts them.
  static let patience = 65_536

  private let mailbox: Mailbox<Input>
  private let thread: OwnerThread
  private let shared = Locked<[String: WebhookFigures]>([:])

  /// What it has done and has yet to do, by server.
  var figures: [String: WebhookFigures] { shared.withLock { $0 } }

  /// What an earlier process left.
  struct Restored: Sendable {
    /// What it could not deliver.
    var deliveries: [StoredDelivery] = []
    /// Phones that it had woken: the lanes of their rings, and when those end.
    var rung: [ExactText: Int64] = [:]
  }

  /// Starts the thread. `forget` takes the names of messages that need not be kept on disk any more, `settle` what became of events that came
  /// from there; `makeSender` gives nil
  /// where libcurl is missing. Of messages no more than `patience` wait to be sorted.
  init(
    _ settings: ServerConfiguration.Webhooks, of realm: Realm = .default, restored: Restored, log: Logger,
    patience: Int = WebhookThread.patience,
    makeSender: @escaping @Sendable () -> HTTPSender? = { HTTPSender() },
    settle: @escaping @Sendable (EventNews) -> Void = { _ in }, forget: @escaping @Sendable (String) -> Void
  ) {
    let (mailbox, shared) = (Mailbox<Input>(capacity: patience), self.shared)
    self.mailbox = mailbox
    thread = OwnerThread(name: "webhooks") {
      guard let sender = makeSender() else {
        log.error("webhooks_off", ["reason": "libcurl could not be loaded: install libcurl4"])
        return Self.forgetAll(mailbox, forget)
      }
      var loop = WebhookLoop(
        settings, of: realm, sender: sender, log: log, figures: shared, settle: settle, forget: forget)
      loop.restore(restored)
      loop.run(mailbox)
    }
  }

  /// What is taken without a sender must not fill the mailbox, in which the end has to find room, nor the disk.
  private static func forgetAll(_ mailbox: Mailbox<Input>, _ forget: (String) -> Void) {
    var inputs: [Input] = []
    while true {
      mailbox.wait(nanoseconds: -1)
      mailbox.drain(into: &inputs)
      for input in inputs {
        switch input {
        case .message(let message): forget(message.id)
        // They wait in the file for a process that has libcurl.
        case .supply: break
        case .stop: return
        }
      }
    }
  }

  /// Takes a message; false when too many wait already.
  func send(_ message: WebhookMessage) -> Bool { mailbox.post(.message(message)) }

  /// Takes events from the record file; false when too many wait already.
  func supply(_ events: EventSupply) -> Bool { mailbox.post(.supply(events)) }

  /// Delivers what can be delivered within a second, and ends the thread then, which nobody waits for yet: several have that second together.
  func askToStop() {
    // A full mailbox empties in a moment: the thread only sorts what is in it.
    while !mailbox.post(.stop) { OwnerThread.sleep(milliseconds: 10) }
  }

  /// Waits until it has ended, as it was asked to.
  func join() { thread.join() }

  /// Both.
  func stop() {
    askToStop()
    join()
  }
}

/// One server that is told.
private struct WebhookChannel {
  let name: String
  /// What the log calls it.
  let label: String
  let url: String
  let secrets: [[UInt8]]
  var queue: DeliveryQueue
  /// Events that the server did not want, which it has yet to be told.
  var drops = Drops()
  var figures = WebhookFigures()
  var failures = FailureLines()
  /// Messages that were not taken in time, and the first of them since the log said so.
  var late = RareLine()
  var firstLate: SettledDelivery?
  /// Whether the last message found the queue full.
  var isFull = false
}

/// What lives on the thread.
private struct WebhookLoop: ~Copyable {
  /// How long the end waits for what is on its way.
  private static let farewell = TimeDelta.seconds(1)

  private let settings: ServerConfiguration.Webhooks
  private let log: Logger
  private let figures: Locked<[String: WebhookFigures]>
  private let realm: Realm
  private let settle: @Sendable (EventNews) -> Void
  private let forget: @Sendable (String) -> Void
  private var sender: HTTPSender
  private var channels: [WebhookChannel]
  private var now = Now.read()
  private var end: Instant?

  init(
    _ settings: ServerConfiguration.Webhooks, of realm: Realm, sender: consuming HTTPSender, log: Logger,
    figures: Locked<[String: WebhookFigures]>, settle: @escaping @Sendable (EventNews) -> Void,
    forget: @escaping @Sendable (String) -> Void
  ) {
    self.sender = sender
    (self.settings, self.realm, self.log, self.figures) = (settings, realm, log, figures)
    (self.settle, self.forget) = (settle, forget)
    var limits = DeliveryLimits()
    (limits.waiting, limits.atOnce) = (settings.waiting, settings.atOnce)
    channels = [(WebhookMessage.Endpoint.push, settings.push), (.events, settings.events)].compactMap {
      name, endpoint in
      var limits = limits
      limits.ending = name == .events ? .goneAlone : .everyRefusal
      return endpoint.map {
        WebhookChannel(
          name: name.rawValue, label: realm == .default ? name.rawValue : "\(realm) \(name.rawValue)", url: $0.url,
          secrets: $0.secrets.map { Array($0.utf8) }, queue: DeliveryQueue(limits))
      }
    }
  }

  mutating func restore(_ restored: WebhookThread.Restored) {
    for row in restored.deliveries {
      guard let index = index(of: row.endpoint) else {
        forget(row.id)
        continue
      }
      let part = Delivery.Part(rawValue: row.part) ?? .plain
      channels[index].queue.restore(
        Delivery(id: row.id, lane: row.lane, part: part, body: Array(row.body.utf8), expiresAt: row.expiresAt), at: now)
    }
    guard let push = index(of: WebhookMessage.Endpoint.push.rawValue) else { return }
    for (lane, end) in restored.rung { channels[push].queue.noteRing(in: lane.text, until: end) }
  }

  private func index(of endpoint: String) -> Int? { channels.firstIndex { $0.name == endpoint } }

  mutating func run(_ mailbox: Mailbox<WebhookThread.Input>) {
    var inputs: [WebhookThread.Input] = []
    while !isOver {
      show()
      sender.wait(descriptor: mailbox.descriptor, until: nextDeadline)
      mailbox.drain(into: &inputs)
      now = Now.read()
      for input in inputs { handle(input) }
      for (id, outcome) in sender.takeFinished() { finished(id, outcome) }
      for index in channels.indices { send(from: index) }
    }
    for index in channels.indices { sayLate(index, at: .distantFuture) }
  }

  private mutating func show() {
    var all: [String: WebhookFigures] = [:]
    for index in channels.indices {
      channels[index].figures.waiting = channels[index].queue.count
      channels[index].figures.waitingSince = channels[index].queue.oldest
      all[channels[index].name] = channels[index].figures
    }
    figures.withLock { $0 = all }
  }

  private var isOver: Bool {
    guard let end else { return false }
    return end <= now.instant || channels.allSatisfy { $0.queue.count == 0 }
  }

  private var nextDeadline: Instant? {
    (channels.flatMap { [$0.queue.nextDeadline, $0.late.deadline] } + [end]).compactMap { $0 }.min()
  }

  // MARK: - In

  private mutating func handle(_ input: WebhookThread.Input) {
    switch input {
    case .message(let message): enqueue(message)
    case .supply(let events): take(events)
    case .stop: end = now.instant + Self.farewell
    }
  }

  private mutating func enqueue(_ message: WebhookMessage) {
    guard let index = index(of: message.endpoint.rawValue), let delivery = message.delivery else { return }
    guard channels[index].queue.enqueue(delivery, at: now) else {
      forget(message.id)
      return full(index)
    }
    channels[index].isFull = false
  }

  private mutating func take(_ events: EventSupply) {
    guard let index = index(of: WebhookMessage.Endpoint.events.rawValue) else { return }
    for drop in events.dropped { channels[index].drops.add(drop) }
    for (lane, attempts) in events.reopened { channels[index].queue.reopen(lane, attempts: attempts, at: now) }
    for delivery in events.deliveries { channels[index].queue.restore(delivery, at: now) }
  }

  private mutating func full(_ index: Int) {
    channels[index].figures.overflowed += 1
    guard !channels[index].isFull else { return }
    channels[index].isFull = true
    log.error(
      "webhook_queue_full",
      ["endpoint": LogValue(channels[index].label), "effect": "what happens is not told until there is space"])
  }

  // MARK: - Out

  private mutating func send(from index: Int) {
    // First, so that what is sent next says what was dropped.
    endSettled(index)
    while let (delivery, attempt) = channels[index].queue.next(at: now) {
      let body = channels[index].drops.body(of: delivery)
      let channel = channels[index]
      sender.send(
        delivery.id,
        HTTPPost(
          to: channel.url, id: delivery.id, attempt: attempt, body, secrets: channel.secrets, at: now,
          timeout: settings.timeout))
    }
    endSettled(index)
  }

  private mutating func endSettled(_ index: Int) {
    for settled in channels[index].queue.takeSettled() { end(settled, index) }
    for lane in channels[index].queue.takeReturned() { settle(.returned(realm, lane)) }
    sayLate(index, at: now.instant)
  }

  private mutating func finished(_ id: String, _ outcome: HTTPOutcome) {
    for index in channels.indices where channels[index].queue.isOnItsWay(id) {
      note(outcome, index)
      let told = channels[index].drops.finished(id, isTaken: outcome.isSuccess).compactMap(\.number)
      if !told.isEmpty { settle(.change(.toldDropped(realm, told))) }
      channels[index].queue.finished(id, outcome, at: now)
    }
  }

  /// One line when it begins to fail and one when it works again.
  private mutating func note(_ outcome: HTTPOutcome, _ index: Int) {
    let name = LogValue(channels[index].label)
    if !outcome.isSuccess { channels[index].figures.failedAttempts += 1 }
    switch channels[index].failures.note(isTaken: outcome.isSuccess, at: now.instant) {
    case .failing(let attempts)?:
      log.warning(
        "webhook_failing", ["endpoint": name, "reason": LogValue(outcome.words), "attempts": LogValue(attempts)])
    case .recovered?: log.info("webhook_recovered", ["endpoint": name])
    case nil: break
    }
  }

  /// What the record file has to know.
  private mutating func note(_ settled: SettledDelivery, _ index: Int) {
    let delivery = settled.delivery
    if case .refused = settled.end, delivery.part != .lost,
      channels[index].name == WebhookMessage.Endpoint.events.rawValue
    {
      channels[index].drops.add(DroppedDelivery(id: delivery.id, number: delivery.number))
    }
    switch (delivery.part, delivery.number) {
    case (.ring, _): break
    case (.lost, _): settle(.change(.toldLost(realm, id: delivery.id)))
    case (_, nil): forget(delivery.id)
    case (_, let number?):
      switch settled.end {
      case .delivered, .pointless: settle(.change(.delivered(realm, number)))
      case .refused: settle(.change(.dropped(realm, DroppedEvent(id: delivery.id, number: number))))
      case .expired: settle(.change(.expired(realm, number)))
      }
    }
  }

  private mutating func end(_ settled: SettledDelivery, _ index: Int) {
    note(settled, index)
    switch settled.end {
    case .delivered:
      channels[index].figures.delivered += 1
    case .pointless:
      channels[index].figures.pointless += 1
    case .expired:
      channels[index].figures.expired += 1
      channels[index].late.add()
      if channels[index].firstLate == nil { channels[index].firstLate = settled }
    case .refused(let outcome):
      channels[index].figures.refused += 1
      warn(of: settled, index, "refused: " + outcome.words, messages: 1)
    }
  }

  /// Where a web server takes nothing for long, all that waits is too late.
  private mutating func sayLate(_ index: Int, at now: Instant) {
    guard let first = channels[index].firstLate, let messages = channels[index].late.take(at: now) else { return }
    channels[index].firstLate = nil
    guard case .expired(let last) = first.end else { return }
    warn(of: first, index, "too late: " + (last?.words ?? "never sent"), messages: messages)
  }

  private func warn(of settled: SettledDelivery, _ index: Int, _ reason: String, messages: Int) {
    log.warning(
      "webhook_dropped",
      [
        "endpoint": LogValue(channels[index].label), "delivery": LogValue(settled.delivery.id),
        "attempts": LogValue(settled.attempts), "reason": LogValue(reason), "messages": LogValue(messages),
      ])
  }
}
