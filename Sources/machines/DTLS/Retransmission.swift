// The retransmission timer of a handshake (RFC 6347 §4.2.4) in virtual time: keeps what is to be sent when the last flight
// stays unanswered, and doubles its wait.

import Basics

struct Retransmission {
  private let timing: DTLSTiming
  /// The last flight in new records, for each time it is sent again; the last of them is for all further times.
  private var copies: [[[UInt8]]] = []
  private var wait: TimeDelta
  private var dueAt = Instant.distantFuture
  private(set) var giveUpAt = Instant.distantFuture

  init(_ timing: DTLSTiming) {
    self.timing = timing
    wait = timing.initialRetransmission
  }

  var nextDeadline: Instant { min(dueAt, giveUpAt) }

  /// The handshake starts.
  mutating func begin(at now: Instant) { giveUpAt = now + timing.giveUp }

  /// A new flight was sent.
  mutating func keep(_ copies: [[[UInt8]]], at now: Instant) {
    self.copies = copies
    wait = timing.initialRetransmission
    dueAt = now + wait
  }

  /// The flight to send again, if it is time.
  mutating func due(at now: Instant) -> [[UInt8]] {
    guard dueAt <= now else { return [] }
    wait = min(wait * 2, timing.longestRetransmission)
    dueAt = now + wait
    return copies.count > 1 ? copies.removeFirst() : copies.first ?? []
  }

  /// Nothing more is to be sent again.
  mutating func stop() {
    copies = []
    dueAt = .distantFuture
    giveUpAt = .distantFuture
  }
}
