// What the threads that write and tell have done and have yet to do, for /metrics.

import DoorKit
import Basics
import Names

/// The record file.
struct StorageFigures: Sendable {
  /// Whether there is one. That it cannot be written shows in `failures`.
  var isOn = false
  var transactions: UInt64 = 0
  var failures: UInt64 = 0
  /// Tickets and messages for web servers that wait to be on disk.
  var waiting = 0
  /// Since when at the most, monotonic nanoseconds; nil where nothing waits.
  var waitingSince: Int64?
  /// Events on disk that are not delivered yet, by realm.
  var events: [Realm: Int] = [:]

  /// So many more wait.
  mutating func posted(_ count: Int, at now: Int64) {
    if waiting == 0 { waitingSince = now }
    waiting += count
  }

  /// So many wait no longer: they were written, or found no space.
  mutating func done(_ count: Int) {
    waiting = max(0, waiting - count)
    if waiting == 0 { waitingSince = nil }
  }

  /// Everything that came before `instant` has been dealt with.
  mutating func caughtUp(to instant: Int64) {
    if waiting > 0 { waitingSince = instant }
  }
}

/// One web server that is told.
struct WebhookFigures: Sendable {
  var waiting = 0
  /// Since when the oldest waits.
  var waitingSince: Instant?
  /// How messages ended.
  var delivered: UInt64 = 0
  var refused: UInt64 = 0
  var expired: UInt64 = 0
  var pointless: UInt64 = 0
  /// Messages that found the queue full.
  var overflowed: UInt64 = 0
  /// Attempts that the server did not take.
  var failedAttempts: UInt64 = 0
}

/// The numbers of everything outside.
struct OutsideFigures: Sendable {
  var storage = StorageFigures()
  /// Of each realm, by `push` and `events`; those alone that are configured.
  var webhooks: [Realm: [String: WebhookFigures]] = [:]
  /// Of each realm whose application is asked.
  var hooks: [Realm: HookFigures] = [:]
  var monotonicNanoseconds: Int64 = 0
}

extension MetricsCollector {
  static func metrics(_ figures: OutsideFigures) -> [Metric] {
    metrics(figures.storage, figures) + webhooks(figures) + hooks(figures.hooks)
  }

  private static func metrics(_ storage: StorageFigures, _ figures: OutsideFigures) -> [Metric] {
    let since = storage.waitingSince.map { max(0, figures.monotonicNanoseconds - $0) / 1_000_000 } ?? 0
    return [
      Metric(
        "roost_storage_on", .gauge, help: "1 where there is a record file.",
        [.init(storage.isOn ? 1 : 0)]),
      Metric(
        "roost_storage_writes_total", .counter, help: "Transactions of the record file, by outcome.",
        [.init(storage.transactions, ["outcome": "ok"]), .init(storage.failures, ["outcome": "failed"])]),
      Metric("roost_storage_waiting", .gauge, help: "Changes that wait for the disk.", [.init(storage.waiting)]),
      Metric(
        "roost_storage_oldest_waiting_milliseconds", .gauge, help: "How long the oldest of them has waited at most.",
        [.init(since)]),
    ]
  }

  private static func webhooks(_ figures: OutsideFigures) -> [Metric] {
    let all = figures.webhooks.sorted { $0.key < $1.key }.flatMap { realm, endpoints in
      endpoints.sorted { $0.key < $1.key }.map { name, own in
        var own = own
        // Most of them are on disk alone.
        if name == WebhookMessage.Endpoint.events.rawValue {
          own.waiting = max(own.waiting, figures.storage.events[realm] ?? 0)
        }
        return (realm: realm.name, name: name, figures: own)
      }
    }
    func each(_ value: (WebhookFigures) -> some BinaryInteger) -> [Metric.Sample] {
      all.map { .init(value($0.figures), ["realm": $0.realm, "endpoint": $0.name]) }
    }
    let ends = all.flatMap { realm, name, figures in
      [
        ("delivered", figures.delivered), ("refused", figures.refused), ("expired", figures.expired),
        ("pointless", figures.pointless), ("overflow", figures.overflowed),
      ].map { Metric.Sample($0.1, ["realm": realm, "endpoint": name, "outcome": $0.0]) }
    }
    let now = Instant(nanoseconds: figures.monotonicNanoseconds)
    return [
      Metric("roost_webhook_messages_total", .counter, help: "Messages for web servers, by how they ended.", ends),
      Metric(
        "roost_webhook_failed_attempts_total", .counter, help: "Requests that a web server did not take.",
        each { $0.failedAttempts }),
      Metric("roost_webhook_waiting", .gauge, help: "Messages that wait or are on their way.", each { $0.waiting }),
      Metric(
        "roost_webhook_oldest_waiting_milliseconds", .gauge, help: "How long the oldest of them has waited.",
        each { figures in max(0, figures.waitingSince.map { (now - $0).milliseconds } ?? 0) }),
    ]
  }
}
