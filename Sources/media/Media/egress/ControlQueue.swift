// Datagrams that are not media, until the next flush.

/// Sealed or plain datagrams that are not media: STUN answers, DTLS, RTCP. Emptied at every flush.
struct ControlQueue {
  /// Datagrams between two flushes; what comes beyond is lost, as on a network.
  static let capacity = 8_192
  /// Bytes for which space is kept between flushes.
  private static let kept = 1 << 18
  /// Where each leads, and where it lies in `bytes`.
  private(set) var datagrams: [(path: Path, range: Range<Int>)] = []
  private(set) var bytes: [UInt8] = []
  /// How many were lost since the last flush.
  private(set) var lost: UInt64 = 0

  var isEmpty: Bool { datagrams.isEmpty }

  mutating func append(_ datagram: some Collection<UInt8>, to path: Path) {
    guard datagrams.count < Self.capacity else {
      lost += 1
      return
    }
    let start = bytes.count
    bytes.append(contentsOf: datagram)
    datagrams.append((path, start..<bytes.count))
  }

  mutating func removeAll() {
    guard !isEmpty else { return }
    lost = 0
    datagrams.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.count <= Self.kept)
  }
}
