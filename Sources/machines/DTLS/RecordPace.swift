// How much DTLS of a peer OpenSSL looks at once the handshake is done. Hardly any is left to say then: the last flight again where it was
// lost, data of channels that we do not have, the end.

import Basics

/// A bound for datagrams that are authentic. Asked before OpenSSL is; only what it made something of takes from the bound, so that who
/// forges the peer's address uses up none of it.
struct RecordPace {
  /// Datagrams at once, and in a second from then on. Lower them, and a peer that sends data is heard late when it says something else.
  static let burst = 100
  static let perSecond = 20.0

  private var bucket = TokenBucket(perSecond: perSecond, burst: burst, now: .zero)

  func admits(at now: Instant) -> Bool { bucket.wait(at: now) == nil }
  mutating func take(at now: Instant) { _ = bucket.take(at: now) }
}
