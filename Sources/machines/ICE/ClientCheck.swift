// One check of the controlling side with its retransmissions (RFC 8489 §6.2.1), and the consent checks that follow (RFC 7675).

import Basics
import STUN

/// A check of one remote candidate.
struct ClientCheck {
  enum State { case waiting, running, failed }

  /// First wait for an answer; it doubles with every transmission (RFC 8445 §14.3, RTO).
  static let firstWait = TimeDelta.milliseconds(500)
  /// Transmissions before giving up (RFC 8489 §6.2.1, Rc).
  static let transmissions: Int64 = 7
  /// Wait after the last of them, in first waits (Rm).
  static let lastWait: Int64 = 16

  let address: SocketAddress
  let isNomination: Bool
  private(set) var state = State.waiting
  private(set) var transactionID = TransactionID(high: 0, low: 0)
  /// When to send again, or to give up.
  private(set) var next = Instant.distantFuture
  private var sent: Int64 = 0

  init(address: SocketAddress, isNomination: Bool = false) {
    self.address = address
    self.isNomination = isNomination
  }

  mutating func begin(_ transactionID: TransactionID) {
    self.transactionID = transactionID
    state = .running
  }

  mutating func sent(at now: Instant) {
    sent += 1
    next = now + Self.firstWait * (sent == Self.transmissions ? Self.lastWait : 1 << (sent - 1))
  }

  func isExhausted(at now: Instant) -> Bool { state == .running && sent >= Self.transmissions && now >= next }

  mutating func fail() {
    state = .failed
    next = .distantFuture
  }
}

/// Checks on the selected pair that say whether the server still wants what is sent to it. They are not retransmitted.
struct ConsentChecks {
  /// When the next check goes out.
  var next = Instant.distantFuture
  /// When a check was last answered.
  var lastAnswer = Instant.zero
  private(set) var isRunning = false
  /// The latest checks: an answer may be late.
  private var pending: [TransactionID] = []

  mutating func start(at now: Instant, next: Instant) {
    isRunning = true
    lastAnswer = now
    self.next = next
  }

  mutating func sent(_ transactionID: TransactionID, next: Instant) {
    if pending.count == 4 { pending.removeFirst() }
    pending.append(transactionID)
    self.next = next
  }

  /// Whether an answer belongs to one of the latest checks, which is answered by it.
  mutating func take(_ transactionID: TransactionID) -> Bool {
    guard let index = pending.firstIndex(of: transactionID) else { return false }
    pending.remove(at: index)
    return true
  }
}

extension SplitMix64 {
  mutating func transactionID() -> TransactionID { .random(using: &self) }

  /// `delta` times 0.8 … 1.2.
  mutating func jittered(_ delta: TimeDelta) -> TimeDelta {
    TimeDelta(nanoseconds: delta.nanoseconds / 1_000 * Int64(800 + next() % 401))
  }
}
