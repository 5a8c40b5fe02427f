// What the server has sealed, by what makes a nonce: the key (one for each peer), the SSRC and the index (RFC 7714 §8.1, §9.1). A stream
// sends fewer packets in a test than wrap, so its sequence numbers stand for indices.

import Basics
import RTP

struct SealedNumbers {
  private struct Nonce: Hashable {
    let peer: Int
    let ssrc: UInt32
    let index: UInt32
    let isRTCP: Bool
  }

  private var seen: Set<Nonce> = []
  /// What was sealed under a number that was used before.
  private(set) var twice: [String] = []

  var count: Int { seen.count }

  /// Notes a datagram on its way to a peer, whether it arrives or not.
  mutating func note(_ bytes: [UInt8], to peer: Int) {
    let nonce: Nonce
    switch PacketClass.classify(bytes.span) {
    case .rtp where bytes.count >= PacketView.fixedHeaderLength:
      nonce = Nonce(
        peer: peer, ssrc: bytes.span.uint32(at: 8), index: UInt32(bytes.span.uint16(at: 2)), isRTCP: false)
    case .rtcp where bytes.count >= 12:
      // With AES-GCM the index is the last word (RFC 7714 §9.3).
      nonce = Nonce(
        peer: peer, ssrc: bytes.span.uint32(at: 4), index: bytes.span.uint32(at: bytes.count - 4), isRTCP: true)
    default: return
    }
    if !seen.insert(nonce).inserted { twice.append("\(nonce)") }
  }
}
