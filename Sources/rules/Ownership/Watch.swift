// The other nodes' beats, as they look from here.

import Basics

/// Since when each other node's beat has been the same, by the own clock.
struct Watch: Sendable {
  private struct Seen: Sendable {
    var beat: UInt64
    var since: Instant
    /// Whether the store has been asked to put it out.
    var isAsked = false
  }

  private let patience: TimeDelta
  private var seen: [NodeEpoch: Seen] = [:]

  init(_ patience: TimeDelta) { self.patience = patience }

  /// All active rows, as they were answered now. Who is not among them is out.
  mutating func see(_ rows: [NodeRow], but own: NodeEpoch, at now: Instant) {
    var next: [NodeEpoch: Seen] = [:]
    for row in rows where row.epoch != own {
      if let before = seen[row.epoch], before.beat == row.beat {
        next[row.epoch] = before
      } else {
        next[row.epoch] = Seen(beat: row.beat, since: now)
      }
    }
    seen = next
  }

  /// Whether a beat is lower than it was: the store has gone back.
  func isLower(_ rows: [NodeRow]) -> Bool { rows.contains { seen[$0.epoch].map { $0.beat } ?? 0 > $0.beat } }

  /// Whose time is over, and at which beat: each once.
  mutating func due(at now: Instant) -> [(node: NodeEpoch, beat: UInt64)] {
    let due = seen.filter { !$0.value.isAsked && now >= $0.value.since + patience }
    for node in due.keys { seen[node]?.isAsked = true }
    return due.map { ($0.key, $0.value.beat) }.sorted { $0.node < $1.node }
  }

  var deadline: Instant? { seen.values.filter { !$0.isAsked }.map { $0.since + patience }.min() }

  /// It has beaten after all: its time begins anew.
  mutating func restart(_ node: NodeEpoch, at now: Instant) {
    seen[node]?.since = now
    seen[node]?.isAsked = false
  }

  mutating func remove(_ node: NodeEpoch) { seen[node] = nil }
  /// Contact is broken: whatever was seen before says nothing.
  mutating func clear() { seen.removeAll() }
  func knows(_ node: NodeEpoch) -> Bool { seen[node] != nil }
}
