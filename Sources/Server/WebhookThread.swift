// Tells web servers outside what happens, on a thread of its own: calls never wait for them.
//
//   conference ──▶ mailbox ──▶ one queue a server ──▶ libcurl ──▶ outcome ──▶ settled
//                                 │                                              │
//                                 └──▶ outbox on disk, where there is one ◀──────┘

import Basics
import Calls
import Configuration
import Conference
import Crypto
import FoundationEssentials
import Logging
import MediaWorker
import Storage
import Webhooks

/// The thread's handle.
final class WebhookThread: Sendable {
  fileprivate enum Input: Sendable {
    case push(PushNotice)
    case event(WebhookEvent)
    case stop
  }

  /// Messages that may wait for the thread, which only sorts them.
  static let patience = 65_536

  private let mailbox = Mailbox<Input>(capacity: patience)
  private let thread: OwnerThread
  private let shared = Locked<[String: WebhookFigures]>([:])

  /// What it has done and has yet to do, by server.
  var figures: [String: WebhookFigures] { shared.withLock { $0 } }

  /// Starts the thread, with what an earlier process could not deliver. `keep` takes what is to be on disk.
  init(
    _ settings: ServerConfiguration.Webhooks, restored: [StoredDelivery], log: Logger,
    keep: @escaping @Sendable (OutboxChange) -> Void
  ) {
    let (mailbox, shared) = (self.mailbox, self.shared)
    thread = OwnerThread(name: "webhooks") {
      guard var loop = WebhookLoop(settings, log: log, figures: shared, keep: keep) else {
        return log.error("webhooks_off", ["reason": "libcurl could not be loaded: install libcurl4"])
      }
      loop.restore(restored)
      loop.run(mailbox)
    }
  }

  /// Hands a notice on to whoever wakes phones.
  func push(_ notice: PushNotice) { mailbox.post(.push(notice)) }
  /// Hands an event on to whoever follows them.
  func tell(_ event: WebhookEvent) { mailbox.post(.event(event)) }

  /// Delivers what can be delivered within a second, and ends the thread.
  func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// One server that is told.
private struct WebhookChannel {
  let name: String
  let url: String
  let secret: [UInt8]
  var queue: DeliveryQueue
  var figures = WebhookFigures()
  /// Whether the last attempt failed.
  var isFailing = false
  /// Whether the last message found the queue full.
  var isFull = false
}

/// What lives on the thread.
private struct WebhookLoop: ~Copyable {
  /// How long the end waits for what is on its way.
  private static let farewell = TimeDelta.seconds(1)
  /// A phone that was woken late hears a moment longer that its ring is over.
  private static let cancelSlack: Int64 = 60_000

  private let settings: ServerConfiguration.Webhooks
  private let log: Logger
  private let figures: Locked<[String: WebhookFigures]>
  private let keep: @Sendable (OutboxChange) -> Void
  private var sender: HTTPSender
  private var channels: [WebhookChannel]
  private var random = SecureRandomGenerator()
  private var now = Self.readClocks()
  private var end: Instant?

  init?(
    _ settings: ServerConfiguration.Webhooks, log: Logger, figures: Locked<[String: WebhookFigures]>,
    keep: @escaping @Sendable (OutboxChange) -> Void
  ) {
    guard let sender = HTTPSender() else { return nil }
    self.sender = sender
    (self.settings, self.log, self.figures, self.keep) = (settings, log, figures, keep)
    var limits = DeliveryLimits()
    (limits.waiting, limits.atOnce) = (settings.waiting, settings.atOnce)
    channels = [("push", settings.push), ("events", settings.events)].compactMap { name, endpoint in
      endpoint.map {
        WebhookChannel(name: name, url: $0.url, secret: Array($0.secret.utf8), queue: DeliveryQueue(limits))
      }
    }
  }

  mutating func restore(_ stored: [StoredDelivery]) {
    for row in stored {
      guard let index = channels.firstIndex(where: { $0.name == row.endpoint }) else {
        keep(.forget(row.id))
        continue
      }
      let part = Delivery.Part(rawValue: row.part) ?? .plain
      channels[index].queue.restore(
        Delivery(id: row.id, lane: row.lane, part: part, body: Array(row.body.utf8), expiresAt: row.expiresAt), at: now)
    }
  }

  mutating func run(_ mailbox: Mailbox<WebhookThread.Input>) {
    var inputs: [WebhookThread.Input] = []
    while !isOver {
      show()
      sender.wait(descriptor: mailbox.descriptor, milliseconds: timeout())
      mailbox.drain(into: &inputs)
      now = Self.readClocks()
      for input in inputs { take(input) }
      for (id, outcome) in sender.takeFinished() { finished(id, outcome) }
      for index in channels.indices { send(from: index) }
    }
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

  /// An hour where nothing waits: a wake-up costs nothing.
  private func timeout() -> Int {
    let deadline = channels.compactMap(\.queue.nextDeadline).min() ?? now.instant + .seconds(3600)
    let next = min(deadline, end ?? .distantFuture)
    return Int(clamping: max((next - Self.readClocks().instant).milliseconds + 1, 0))
  }

  private static func readClocks() -> Now {
    Now(
      instant: Instant(nanoseconds: SystemClock.monotonicNanoseconds()),
      wallMilliseconds: SystemClock.wallMilliseconds())
  }

  // MARK: - In

  private mutating func take(_ input: WebhookThread.Input) {
    switch input {
    case .push(let notice): take(notice)
    case .event(let event):
      enqueue("events", lane: event.room, event, expiresAt: now.wallMilliseconds + settings.giveUpAfter.milliseconds)
    case .stop: end = now.instant + Self.farewell
    }
  }

  private mutating func take(_ notice: PushNotice) {
    let (part, expiresAt): (Delivery.Part, Int64) =
      switch notice.type {
      case .ring: (.ring, notice.expiresAt)
      case .cancel: (.cancel, max(notice.expiresAt, now.wallMilliseconds) + Self.cancelSlack)
      case .missed: (.plain, now.wallMilliseconds + settings.giveUpAfter.milliseconds)
      }
    enqueue("push", lane: "\(notice.callId) \(notice.to)", part: part, notice, expiresAt: expiresAt)
  }

  private mutating func enqueue(
    _ name: String, lane: String, part: Delivery.Part = .plain, _ body: some Encodable, expiresAt: Int64
  ) {
    guard let index = channels.firstIndex(where: { $0.name == name }),
      let bytes = try? JSONEncoder.webhooks.encode(body)
    else { return }
    let id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
    let delivery = Delivery(id: id, lane: lane, part: part, body: Array(bytes), expiresAt: expiresAt)
    guard channels[index].queue.enqueue(delivery, at: now) else { return full(index) }
    channels[index].isFull = false
    // A ring is over when the process is.
    guard part != .ring else { return }
    keep(
      .keep(
        StoredDelivery(
          id: id, endpoint: name, lane: lane, part: part.rawValue, body: String(decoding: bytes, as: UTF8.self),
          expiresAt: expiresAt)))
  }

  private mutating func full(_ index: Int) {
    channels[index].figures.overflowed += 1
    guard !channels[index].isFull else { return }
    channels[index].isFull = true
    log.error(
      "webhook_queue_full",
      ["endpoint": LogValue(channels[index].name), "effect": "what happens is not told until there is space"])
  }

  // MARK: - Out

  private mutating func send(from index: Int) {
    while let (delivery, attempt) = channels[index].queue.next(at: now) {
      let channel = channels[index]
      let seconds = now.wallMilliseconds / 1000
      sender.send(
        delivery.id,
        HTTPPost(
          url: channel.url,
          headers: [
            ("content-type", "application/json"), ("user-agent", "roost/\(roostVersion)"), ("expect", ""),
            ("roost-delivery", delivery.id), ("roost-attempt", "\(attempt)"),
            ("roost-signature", signature(of: delivery.body, secret: channel.secret, seconds: seconds)),
          ], body: delivery.body, timeout: settings.timeout))
    }
    for settled in channels[index].queue.takeSettled() { settle(settled, index) }
  }

  private mutating func finished(_ id: String, _ outcome: HTTPOutcome) {
    for index in channels.indices where channels[index].queue.isOnItsWay(id) {
      note(outcome, index)
      channels[index].queue.finished(id, outcome, at: now)
    }
  }

  /// One line when it begins to fail and one when it works again.
  private mutating func note(_ outcome: HTTPOutcome, _ index: Int) {
    let name = LogValue(channels[index].name)
    if !outcome.isSuccess { channels[index].figures.failedAttempts += 1 }
    if !outcome.isSuccess, !channels[index].isFailing {
      log.warning("webhook_failing", ["endpoint": name, "reason": LogValue(outcome.words)])
    } else if outcome.isSuccess, channels[index].isFailing {
      log.info("webhook_recovered", ["endpoint": name])
    }
    channels[index].isFailing = !outcome.isSuccess
  }

  private mutating func settle(_ settled: SettledDelivery, _ index: Int) {
    let delivery = settled.delivery
    if delivery.part != .ring { keep(.forget(delivery.id)) }
    let reason: String
    switch settled.end {
    case .delivered:
      channels[index].figures.delivered += 1
      return
    case .pointless:
      channels[index].figures.pointless += 1
      return
    case .expired(let last):
      channels[index].figures.expired += 1
      reason = "too late: " + (last?.words ?? "never sent")
    case .refused(let outcome):
      channels[index].figures.refused += 1
      reason = "refused: " + outcome.words
    }
    log.warning(
      "webhook_dropped",
      [
        "endpoint": LogValue(channels[index].name), "delivery": LogValue(delivery.id),
        "attempts": LogValue(settled.attempts),
        "reason": LogValue(reason),
      ])
  }
}

extension JSONEncoder {
  fileprivate static var webhooks: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return encoder
  }
}
