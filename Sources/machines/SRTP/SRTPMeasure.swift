// Which library is the cheapest on this CPU: that depends on its instructions and on the library's version, so it is measured.

import Basics

/// What sealing with a library costs here.
public struct SRTPCost: Hashable, Sendable {
  /// The library.
  public let backend: SRTPBackend
  /// How long a packet takes that has 1,200 bytes: the least of several rounds, since other work on the machine only adds.
  public let perPacket: TimeDelta

  /// A cost that was measured.
  public init(backend: SRTPBackend, perPacket: TimeDelta) { (self.backend, self.perPacket) = (backend, perPacket) }
}

extension SRTPBackend {
  private static let rounds = 4
  private static let packetsPerRound = 100
  private static let packetLength = 1_200

  /// Seals packets as browsers receive them (AES-128-GCM) with each library that comes into question, in turn; about a millisecond.
  /// libsrtp2 does not come into question: it calls another of these, and is there for those who configure it. `now` is the time.
  public static func costs(now: () -> Instant) -> [SRTPCost] {
    let profile = SRTPProfile.preferenceOrder[0]
    guard
      let key = SRTPMasterKey(
        profile: profile, key: Array(repeating: 7, count: profile.keyLength),
        salt: Array(repeating: 9, count: profile.saltLength))
    else { return [] }
    let candidates = [SRTPBackend.ipsecMB, .openSSL].filter(\.isAvailable)
    // Twice in turn, so that what the machine does meanwhile meets both.
    let measured = (candidates + candidates).compactMap { backend in
      (try? least(key, backend, now)).map { SRTPCost(backend: backend, perPacket: $0) }
    }
    return candidates.compactMap { backend in
      measured.filter { $0.backend == backend }.min { $0.perPacket < $1.perPacket }
    }
  }

  private static func least(_ key: SRTPMasterKey, _ backend: SRTPBackend, _ now: () -> Instant) throws(SRTPError)
    -> TimeDelta
  {
    var sender = try SRTPSender(key: key, backend: backend)
    var packet = [UInt8](repeating: 0, count: packetLength + key.profile.rtpOverhead)
    var sequence: UInt16 = 0
    var least = TimeDelta(nanoseconds: .max)
    for _ in 0..<rounds {
      let start = now()
      for _ in 0..<packetsPerRound {
        sequence += 1
        (packet[0], packet[2], packet[3]) = (0x80, UInt8(sequence >> 8), UInt8(sequence & 0xff))
        var span = packet.mutableSpan
        _ = try sender.protectRTP(&span, length: packetLength)
      }
      least = min(least, now() - start)
    }
    return least / Int64(packetsPerRound)
  }

  /// The library to use for AES-GCM where these costs were measured: the cheapest, but libipsec-mb where another is no more than a tenth
  /// cheaper, since so much two measurements differ. Nil where nothing was measured.
  public static func cheapest(of costs: [SRTPCost]) -> SRTPBackend? {
    guard let least = costs.min(by: { $0.perPacket < $1.perPacket }) else { return nil }
    let usual = costs.first { $0.backend == .ipsecMB }
    if let usual, usual.perPacket.nanoseconds * 9 <= least.perPacket.nanoseconds * 10 { return usual.backend }
    return least.backend
  }
}
