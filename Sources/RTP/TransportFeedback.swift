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

  /// Calls `body` for each packet that arrived, in order of sequence number, with its arrival in ticks of 250 µs since
  /// the receiver's reference zero (`referenceTime` × 256 + deltas). Those in between were lost, or are reported later. Takes
  /// time by the packet's bytes, not by `statusCount`.
  public func forEachReceived(_ bytes: Span<UInt8>, _ body: (_ sequence: UInt16, _ arrivalTicks: Int64) -> Void) {
    var chunkAt = chunks
    var deltaAt = deltas
    var covered = 0
    var arrival = Int64(referenceTime) * Self.ticksPerReference
    while covered < statusCount, chunkAt + 2 <= bytes.count {
      let chunk = StatusChunk(bytes.uint16(at: chunkAt), limit: statusCount - covered)
      for index in 0..<(chunk.isLost ? 0 : chunk.count) {
        let symbol = chunk.symbol(index)
        guard symbol != .lost else { continue }
        guard deltaAt + symbol.deltaLength <= bytes.count else { return }
        arrival +=
          symbol == .small ? Int64(bytes[deltaAt]) : Int64(Int16(bitPattern: bytes.uint16(at: deltaAt)))
        deltaAt += symbol.deltaLength
        body(baseSequence &+ UInt16(truncatingIfNeeded: covered + index), arrival)
      }
      covered += chunk.count
      chunkAt += 2
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

  /// A run of packets of which none arrived.
  var isLost: Bool { raw & 0xe000 == 0 }

  func symbol(_ index: Int) -> PacketStatus {
    if raw & 0x8000 == 0 { return PacketStatus(rawValue: raw >> 13 & 3) ?? .lost }
    if raw & 0x4000 == 0 { return raw >> UInt16(13 - index) & 1 == 0 ? .lost : .small }
    return PacketStatus(rawValue: raw >> UInt16(12 - 2 * index) & 3) ?? .lost
  }

  /// How many arrived with each width of delta; nil for a reserved symbol or an empty run, which would cover nothing.
  var received: (small: Int, large: Int)? {
    guard count > 0 else { return nil }
    if raw & 0x8000 == 0 {
      switch symbol(0) {
      case .lost: return (0, 0)
      case .small: return (count, 0)
      case .large: return (0, count)
      case .reserved: return nil
      }
    }
    var (small, large) = (0, 0)
    for index in 0..<count {
      switch symbol(index) {
      case .lost: break
      case .small: small += 1
      case .large: large += 1
      case .reserved: return nil
      }
    }
    return (small, large)
  }
}
