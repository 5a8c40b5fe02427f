// What the threads that ask applications have done and have yet to do, for /metrics.

import DoorKit
import Names

/// One application that is asked.
struct HookFigures: Sendable {
  /// Questions without an answer.
  var waiting = 0
  /// Whether it is taken for one that is down.
  var isDown = false
  /// How questions ended.
  var allowed: UInt64 = 0
  var refused: UInt64 = 0
  /// All attempts failed, or none of them was answered in time.
  var failed: UInt64 = 0
  /// It was not asked: it was taken for one that is down.
  var skipped: UInt64 = 0
  /// It was not asked, as nobody waited for its answer any more.
  var takenBack: UInt64 = 0
  /// It was not asked: too many questions waited.
  var overflowed: UInt64 = 0
  /// Attempts without a good answer.
  var failedAttempts: UInt64 = 0
  /// Milliseconds that those took that were answered, together.
  var answerMilliseconds: Int64 = 0
}

extension MetricsCollector {
  static func hooks(_ figures: [Realm: HookFigures]) -> [Metric] {
    let all = figures.sorted { $0.key < $1.key }.map { (realm: $0.key.name, figures: $0.value) }
    func each(_ value: (HookFigures) -> some BinaryInteger) -> [Metric.Sample] {
      all.map { .init(value($0.figures), ["realm": $0.realm]) }
    }
    let ends = all.flatMap { realm, figures in
      [
        ("allowed", figures.allowed), ("refused", figures.refused), ("failed", figures.failed),
        ("skipped", figures.skipped), ("overflow", figures.overflowed), ("pointless", figures.takenBack),
      ].map { Metric.Sample($0.1, ["realm": realm, "outcome": $0.0]) }
    }
    return [
      Metric("roost_hook_questions_total", .counter, help: "Questions to an application, by how they ended.", ends),
      Metric(
        "roost_hook_failed_attempts_total", .counter, help: "Requests that an application did not answer well.",
        each { $0.failedAttempts }),
      Metric(
        "roost_hook_answer_milliseconds_total", .counter,
        help: "How long the answered questions have waited, together.", each { $0.answerMilliseconds }),
      Metric("roost_hook_waiting", .gauge, help: "Questions that wait or are on their way.", each { $0.waiting }),
      Metric(
        "roost_hook_down", .gauge, help: "1 while an application is not asked, as it has failed again and again.",
        each { $0.isDown ? 1 : 0 }),
    ]
  }
}
