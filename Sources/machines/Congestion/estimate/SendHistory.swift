// What was sent: one entry for each packet in the numbering that spans all streams of a transport, until its feedback comes.
//
//   append ──▶ ring by number: | oldest … | newest | ──▶ FeedbackMatcher looks numbers up

import Basics

/// What a packet carries, for the pacer and the estimator.
public enum PacketKind: UInt8, Sendable, CaseIterable {
  /// Sound; never waits.
  case audio
  /// Pictures, sent for the first time.
  case video
  /// A packet sent again (RTX).
  case retransmission
  /// Bytes that only measure the line.
  case padding
}

/// What is known of a packet's way.
enum PacketFate: UInt8 {
  case underWay
  case received
  case lost
}

/// One packet that was sent.
struct SentPacket {
  var sentAt = Instant.zero
  /// Bytes on the wire, saturated.
  var size: UInt16 = 0
  /// The probe cluster that it belongs to; 0 for none.
  var cluster: UInt16 = 0
  var kind = PacketKind.video
  var fate = PacketFate.received
}

/// The packets sent last, by number. Appending allocates only while the ring grows to what the line needs.
struct SendHistory {
  /// Packets remembered at first: at 1.5 Mbit/s about a second and a half.
  static let smallest = 256
  /// Packets remembered at most. Must stay below 32,768, or a number on the wire would have two meanings.
  static let largest = 16_384
  /// A packet this young is worth a larger ring when its slot is needed.
  static let worthKeeping = TimeDelta.seconds(2)

  /// By number; see `slot`.
  var ring: [SentPacket]
  private let first: Int64
  /// The number that the next packet gets.
  private(set) var next: Int64
  /// The first number on which nothing was said yet; set by the matcher.
  var decided: Int64

  /// Nothing sent; the first packet gets the number `first`.
  init(first: UInt16) {
    ring = Array(repeating: SentPacket(), count: Self.smallest)
    self.first = Int64(first)
    next = Int64(first)
    decided = Int64(first)
  }

  /// The first number that is still known.
  var oldest: Int64 { max(first, next - Int64(ring.count)) }

  /// Remembers a packet and returns its number.
  @inline(__always)
  mutating func append(_ packet: SentPacket) -> Int64 {
    let number = next
    if number &- decided >= ring.count { growIfWorthwhile(at: packet.sentAt) }
    let slot = Int(truncatingIfNeeded: number) & (ring.count &- 1)
    ring[slot] = packet
    next = number &+ 1
    return number
  }

  /// Grows when the slot that is needed next holds a young packet of which nothing was heard yet.
  @inline(never)
  private mutating func growIfWorthwhile(at now: Instant) {
    let old = ring[slot(next)]
    guard old.fate == .underWay, ring.count < Self.largest, now - old.sentAt < Self.worthKeeping else { return }
    grow()
  }

  /// Whether `number` was sent and is still known.
  func knows(_ number: Int64) -> Bool { number >= oldest && number < next }

  /// The packet with `number`, which `knows` must have confirmed.
  subscript(number: Int64) -> SentPacket {
    get { ring[slot(number)] }
    set { ring[slot(number)] = newValue }
  }

  private func slot(_ number: Int64) -> Int { Int(truncatingIfNeeded: number) & (ring.count - 1) }

  private mutating func grow() {
    let end = next
    var larger = Array(repeating: SentPacket(), count: 2 * ring.count)
    var number = max(first, end - Int64(ring.count))
    while number < end {
      larger[Int(number & Int64(larger.count - 1))] = self[number]
      number += 1
    }
    ring = larger
  }
}
