// Sender and receiver reports, source descriptions and BYE (RFC 3550 §6.4 – §6.6).

import Basics

/// How one source is received.
public struct ReportBlock: Sendable, Hashable, BitwiseCopyable {
  /// Length on the wire.
  static let length = 24

  /// The source that is reported on.
  public var ssrc: UInt32
  /// Share of packets lost since the last report, in 1/256.
  public var fractionLost: UInt8
  /// Packets lost in all, −2²³ … 2²³−1; negative when duplicates outweigh losses.
  public var cumulativeLost: Int32
  /// Highest sequence number, extended by the count of its wraps in the upper half.
  public var highestSequence: UInt32
  /// Interarrival jitter in units of the time stamp.
  public var jitter: UInt32
  /// Middle of the NTP time of the last sender report (LSR); 0 before the first.
  public var lastReport: UInt32
  /// Time since that report arrived in 1/65536 s (DLSR).
  public var delay: UInt32

  /// All of it; `cumulativeLost` is clamped to 24 bits when written.
  public init(
    ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
    lastReport: UInt32, delay: UInt32
  ) {
    self.ssrc = ssrc
    self.fractionLost = fractionLost
    self.cumulativeLost = cumulativeLost
    self.highestSequence = highestSequence
    self.jitter = jitter
    self.lastReport = lastReport
    self.delay = delay
  }

  init(_ bytes: Span<UInt8>, at offset: Int) {
    ssrc = bytes.uint32(at: offset)
    fractionLost = bytes[offset + 4]
    cumulativeLost = Int32(bitPattern: bytes.uint24(at: offset + 5) << 8) >> 8
    highestSequence = bytes.uint32(at: offset + 8)
    jitter = bytes.uint32(at: offset + 12)
    lastReport = bytes.uint32(at: offset + 16)
    delay = bytes.uint32(at: offset + 20)
  }
}

/// The report blocks of an SR or RR, read by index from the compound's bytes.
public struct ReportBlocks: Sendable, Hashable {
  /// 0 … 31.
  public let count: Int
  let offset: Int

  init(_ body: RTCPBody, at offset: Int) throws(RTPError) {
    count = Int(body.format)
    self.offset = offset
    guard offset + count * ReportBlock.length <= body.end else { throw .malformed }
  }

  /// The block at `index`; nil when there is none.
  public func block(_ index: Int, _ bytes: Span<UInt8>) -> ReportBlock? {
    let at = offset + index * ReportBlock.length
    guard index >= 0, index < count, at + ReportBlock.length <= bytes.count else { return nil }
    return ReportBlock(bytes, at: at)
  }
}

/// What a source sent so far (RFC 3550 §6.4.1).
public struct SenderReport: Sendable, Hashable {
  /// The source.
  public let ssrc: UInt32
  /// Its wall clock when it made the report.
  public let ntp: NTPTime
  /// The same moment on the stream's clock.
  public let rtpTimestamp: UInt32
  /// Packets sent; wraps.
  public let packetCount: UInt32
  /// Payload bytes sent; wraps.
  public let octetCount: UInt32
  /// What it receives.
  public let blocks: ReportBlocks

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    try body.require(24)
    ssrc = bytes.uint32(at: body.content)
    ntp = NTPTime(value: bytes.uint64(at: body.content + 4))
    rtpTimestamp = bytes.uint32(at: body.content + 12)
    packetCount = bytes.uint32(at: body.content + 16)
    octetCount = bytes.uint32(at: body.content + 20)
    blocks = try ReportBlocks(body, at: body.content + 24)
  }
}

/// What somebody receives (RFC 3550 §6.4.2).
public struct ReceiverReport: Sendable, Hashable {
  /// Who reports.
  public let ssrc: UInt32
  /// What it receives; empty when nothing yet.
  public let blocks: ReportBlocks

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    try body.require(4)
    ssrc = bytes.uint32(at: body.content)
    blocks = try ReportBlocks(body, at: body.content + 4)
  }
}

/// SDES (RFC 3550 §6.5): who is behind the sources.
public struct SourceDescription: Sendable, Hashable {
  /// 0 … 31 chunks.
  public let count: Int
  /// The first chunk's source; nil when there is no chunk.
  public private(set) var ssrc: UInt32?
  /// Where the first chunk's canonical name is in the compound; nil when it has none.
  public private(set) var cname: Range<Int>?

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    count = Int(body.format)
    guard count > 0 else { return }
    try body.require(4)
    ssrc = bytes.uint32(at: body.content)
    var at = body.content + 4
    while at < body.end, bytes[at] != 0 {
      guard at + 2 <= body.end else { throw .malformed }
      let text = (at + 2)..<(at + 2 + Int(bytes[at + 1]))
      guard text.upperBound <= body.end else { throw .malformed }
      if bytes[at] == 1, cname == nil { cname = text }
      at = text.upperBound
    }
  }
}

/// Sources that are gone (RFC 3550 §6.6).
public struct Bye: Sendable, Hashable {
  /// 0 … 31 sources.
  public let count: Int
  let offset: Int

  init(_ bytes: Span<UInt8>, _ body: RTCPBody) throws(RTPError) {
    count = Int(body.format)
    offset = body.content
    try body.require(4 * count)
  }

  /// The source at `index`; nil when there is none.
  public func ssrc(_ index: Int, _ bytes: Span<UInt8>) -> UInt32? {
    guard index >= 0, index < count, offset + 4 * index + 4 <= bytes.count else { return nil }
    return bytes.uint32(at: offset + 4 * index)
  }
}
