// Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1), reading.
//
//   | sender | media | base seq | status count | reference time (24) | fb count (8) | chunks … | deltas … | padding |
//
// A chunk says for a run of packets whether they came (and how wide their delta is); the deltas of those that came follow.

import Basics

/// Which packets arrived and when, in the numbering that spans all streams of a transport.
public struct TransportFeedback: Sendable, Hashable {
  /// Ticks of 250 µs in one unit of the reference time (64 ms).
  public static let ticksPerReference: Int64 = 256
  /// One tick.
  public static let tick = TimeDelta.microseconds(250)

  /// Who reports.
  public let sender: UInt32
  /// A stream of the transport; carries no meaning.
  public let media: UInt32
  /// Number of the first packet reported on.
  public let baseSequence: UInt16
  /// How many packets are reported on, arrived or not, from `baseSequence` on.
  public let statusCount: Int
  /// How many of them arrived.
  public let receivedCount: Int
  /// Start of the deltas on the receiver's clock, in units of 64 ms; 24 bits, signed, wraps.
  public let referenceTime: Int32
  /// Counts the feedback packets of this sender; wraps.
  public let feedbackCount: UInt8
  let chunks: Int
  let deltas: Int

  /// Checks the whole packet: the chunks must cover the status count and the deltas must be there.
  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    try body.require(16)
    sender = bytes.uint32(at: body.content)
    media = bytes.uint32(at: body.content + 4)
    baseSequence = bytes.uint16(at: body.content + 8)
    statusCount = Int(bytes.uint16(at: body.content + 10))
    referenceTime = Int32(bitPattern: bytes.uint24(at: body.content + 12) << 8) >> 8
    feedbackCount = bytes[body.content + 15]
    chunks = body.content + 16
    var at = chunks
    var covered = 0
    var received = 0
    var deltaBytes = 0
    while covered < statusCount {
      guard at + 2 <= body.end else { throw .malformed }
      let chunk = StatusChunk(bytes.uint16(at: at), limit: statusCount - covered)
      guard let (small, large) = chunk.received else { throw .malformed }
      covered += chunk.count
      received += small + large
      deltaBytes += small + 2 * large
      at += 2
    }
    deltas = at
    receivedCount = received
    guard at + deltaBytes <= body.end else { throw .malformed }
  }

  /// Calls `body` for each packet that arrived, as `ArrivalCursor` finds them.
  public func forEachReceived(_ bytes: Span<UInt8>, _ body: (_ sequence: UInt16, _ arrivalTicks: Int64) -> Void) {
    var cursor = ArrivalCursor(self)
    while let arrival = cursor.next(bytes) {
      body(baseSequence &+ UInt16(truncatingIfNeeded: arrival.index), arrival.ticks)
    }
  }

  /// A packet that arrived.
  public struct Arrival: Sendable {
    /// Its number less `baseSequence`, 0 ..< `statusCount`.
    public let index: Int
    /// In ticks of 250 µs since the receiver's reference zero (`referenceTime` × 256 + deltas).
    public let ticks: Int64

    @inlinable init(index: Int, ticks: Int64) {
      self.index = index
      self.ticks = ticks
    }
  }

  /// Walks over the packets that arrived, in order of number. Those in between were lost, or are reported later. Takes time by the
  /// packet's bytes, not by `statusCount`.
  public struct ArrivalCursor {
    @usableFromInline var chunkAt: Int
    @usableFromInline var deltaAt: Int
    @usableFromInline var index = 0
    @usableFromInline let count: Int
    @usableFromInline var ticks: Int64
    /// The chunk's symbols that are left, the next one in the highest bits.
    @usableFromInline var symbols: UInt16 = 0
    @usableFromInline var left = 0
    /// How far to shift for the next symbol: 0 in a run, whose symbol stays.
    @usableFromInline var shift: UInt16 = 0
    /// Where the symbol stands: at 15 with one bit, at 14 with two.
    @usableFromInline var position: UInt16 = 14

    /// Before the first packet of `feedback`.
    public init(_ feedback: TransportFeedback) {
      chunkAt = feedback.chunks
      deltaAt = feedback.deltas
      count = feedback.statusCount
      ticks = Int64(feedback.referenceTime) * TransportFeedback.ticksPerReference
    }

    /// The next packet that arrived; nil after the last one. `bytes` are those that the feedback was read from.
    @inlinable public mutating func next(_ bytes: Span<UInt8>) -> Arrival? {
      while true {
        if left == 0 {
          guard index < count, chunkAt + 2 <= bytes.count else { return nil }
          open(UInt16(bytes[chunkAt]) << 8 | UInt16(bytes[chunkAt + 1]))
          continue
        }
        let symbol = symbols >> position
        symbols <<= shift
        left -= 1
        index += 1
        switch symbol {
        case 0: continue
        case 1:
          guard deltaAt < bytes.count else { return nil }
          ticks += Int64(bytes[deltaAt])
          deltaAt += 1
        default:
          guard deltaAt + 2 <= bytes.count else { return nil }
          ticks += Int64(Int16(bitPattern: UInt16(bytes[deltaAt]) << 8 | UInt16(bytes[deltaAt + 1])))
          deltaAt += 2
        }
        return Arrival(index: index - 1, ticks: ticks)
      }
    }

    /// Begins the chunk `raw`. A run of packets that did not arrive is passed over at once.
    @usableFromInline mutating func open(_ raw: UInt16) {
      chunkAt += 2
      let rest = count - index
      if raw & 0x8000 == 0 {
        let run = min(Int(raw & 0x1fff), rest)
        (symbols, shift, position) = (raw << 1, 0, 14)
        if raw & 0x6000 == 0 { index += run } else { left = run }
      } else if raw & 0x4000 == 0 {
        (symbols, shift, position, left) = (raw << 2, 1, 15, min(14, rest))
      } else {
        (symbols, shift, position, left) = (raw << 2, 2, 14, min(7, rest))
      }
    }
  }
}

/// What a status says of one packet; the raw value is the two-bit symbol.
enum PacketStatus: UInt16 {
  case lost = 0
  /// Arrived, delta 0 … 255 ticks in one byte.
  case small = 1
  /// Arrived, delta in two signed bytes.
  case large = 2
  case reserved = 3

  var deltaLength: Int { Int(rawValue) }
}

/// Sixteen bits of statuses: |0|S S| 13-bit run|, |1|0| 14 one-bit symbols| or |1|1| 7 two-bit symbols|.
struct StatusChunk {
  static let longestRun = 0x1fff
  let raw: UInt16
  /// How many packets it covers, cut to what is left.
  let count: Int

  init(_ raw: UInt16, limit: Int) {
    self.raw = raw
    let whole = raw & 0x8000 == 0 ? Int(raw & 0x1fff) : raw & 0x4000 == 0 ? 14 : 7
    count = min(whole, limit)
  }

  /// The symbol of a run.
  private var runSymbol: PacketStatus { PacketStatus(rawValue: raw >> 13 & 3) ?? .reserved }

  /// How many arrived with each width of delta; nil for a reserved symbol or an empty run, which would cover nothing.
  var received: (small: Int, large: Int)? {
    guard count > 0 else { return nil }
    if raw & 0x8000 == 0 {
      switch runSymbol {
      case .lost: return (0, 0)
      case .small: return (count, 0)
      case .large: return (0, count)
      case .reserved: return nil
      }
    }
    if raw & 0x4000 == 0 {
      // What is cut off stands in the low bits.
      return (((raw & 0x3fff) >> UInt16(14 - count)).nonzeroBitCount, 0)
    }
    let symbols = (raw & 0x3fff) >> UInt16(14 - 2 * count)
    let high = symbols >> 1 & 0x1555
    let low = symbols & 0x1555
    guard high & low == 0 else { return nil }
    return (low.nonzeroBitCount, high.nonzeroBitCount)
  }
}
