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
    var runs = Runs(self)
    var ticks = Int64(referenceTime) * Self.ticksPerReference
    while let run = runs.next(bytes) {
      for index in 0..<run.count {
        ticks += run.delta(index, bytes)
        body(baseSequence &+ UInt16(truncatingIfNeeded: run.index + index), ticks)
      }
    }
  }

  /// Packets that arrived, with neighbouring numbers and deltas of one width.
  public struct Run: Sendable {
    /// Number of the first one, less `baseSequence`.
    public let index: Int
    /// At least 1.
    public let count: Int
    /// Where the deltas begin.
    @usableFromInline let deltas: Int
    @usableFromInline let isWide: Bool

    @inlinable init(index: Int, count: Int, deltas: Int, isWide: Bool) {
      self.index = index
      self.count = count
      self.deltas = deltas
      self.isWide = isWide
    }

    /// Ticks of 250 µs from the arrival before to that of the run's packet `position`, 0 ..< `count`. `bytes` are those that `Runs` read
    /// the run from.
    @inlinable @inline(__always)
    public func delta(_ position: Int, _ bytes: Span<UInt8>) -> Int64 {
      if !isWide { return Int64(bytes[deltas &+ position]) }
      let at = deltas &+ 2 &* position
      return Int64(Int16(bitPattern: UInt16(bytes[at]) << 8 | UInt16(bytes[at &+ 1])))
    }
  }

  /// Walks over the packets that arrived, run by run, in order of number.
  public struct Runs {
    private var chunkAt: Int
    private var deltaAt: Int
    private var index = 0
    private let count: Int
    /// The chunk's symbols that are left, the next one in the highest bits.
    private var symbols: UInt16 = 0
    /// How many they are; 0 before the next chunk.
    private var left = 0
    /// Bits of a symbol.
    private var width = 1

    /// Before the first packet of `feedback`.
    public init(_ feedback: TransportFeedback) {
      chunkAt = feedback.chunks
      deltaAt = feedback.deltas
      count = feedback.statusCount
    }

    /// The next run; nil after the last one. `bytes` are those that the feedback was read from.
    public mutating func next(_ bytes: Span<UInt8>) -> Run? {
      while true {
        if left > 0 {
          let symbol = takeSymbols()
          if symbol.value != 0 { return run(symbol.count, isWide: symbol.value == 2, bytes) }
          index += symbol.count
          continue
        }
        guard index < count, chunkAt + 2 <= bytes.count else { return nil }
        let raw = bytes.uint16(at: chunkAt)
        chunkAt += 2
        let rest = count - index
        if raw & 0x8000 == 0 {
          let length = min(Int(raw & 0x1fff), rest)
          if raw & 0x6000 != 0 { return run(length, isWide: raw & 0x4000 != 0, bytes) }
          index += length
        } else {
          width = raw & 0x4000 == 0 ? 1 : 2
          symbols = raw << 2
          left = min(14 / width, rest)
        }
      }
    }

    /// The next symbol, and how many of the same follow each other in this chunk.
    private mutating func takeSymbols() -> (value: UInt16, count: Int) {
      let value = symbols >> UInt16(16 - width)
      // Zero where the symbols are like the first one.
      let repeated = width == 1 ? value &* 0xffff : value &* 0x5555
      let same = min((symbols ^ repeated).leadingZeroBitCount / width, left)
      symbols = same &* width < 16 ? symbols << UInt16(same &* width) : 0
      left -= same
      return (value, same)
    }

    private mutating func run(_ length: Int, isWide: Bool, _ bytes: Span<UInt8>) -> Run? {
      let size = isWide ? 2 * length : length
      guard length > 0, deltaAt + size <= bytes.count else { return nil }
      defer {
        index += length
        deltaAt += size
      }
      return Run(index: index, count: length, deltas: deltaAt, isWide: isWide)
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
