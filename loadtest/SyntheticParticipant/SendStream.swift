// One encoding that is sent: numbers its packets, remembers how each was made, and so can make it again for RTX (RFC 4588)
// without having kept its bytes.

import Basics
import RTP

/// All that decides the bytes of a packet.
struct PacketRecord: Sendable {
  var sequence: UInt16
  var timestamp: UInt32
  var stamp: PayloadStamp
  var marker: Bool
  /// Picture ID of VP8.
  var picture: UInt16
  /// Stamped on the first transmission; sound that is sent again must be the same bytes.
  var transportSequence: UInt16
  var absSendTime: UInt32
  /// What it carries of a clip.
  var piece: ClipPiece?
}

struct SendStream: Sendable {
  /// Packets that can be asked for again: two seconds at 500 packets a second.
  static let historyLength = 1_024

  let ssrc: UInt32
  let rtxSSRC: UInt32
  let layer: UInt8
  let rid: ExtensionTag?
  var statistics: SendStatistics
  /// The next frame is to be a keyframe.
  var wantsKeyframe = true
  /// Number of the last FIR: a repetition carries the same.
  var lastFullIntraRequest: UInt8?
  private var nextSequence: UInt16
  private(set) var nextRTXSequence: UInt16
  private let timestampOffset: UInt32
  private var history: [PacketRecord?] = Array(repeating: nil, count: historyLength)
  private var picture: UInt16
  /// Which frame of its clip is next.
  private var clipFrame = 0

  init(statistics: SendStatistics, layer: UInt8, rid: ExtensionTag?, random: inout SplitMix64) {
    ssrc = statistics.ssrc
    rtxSSRC = UInt32.random(in: 1 ... .max, using: &random)
    self.layer = layer
    self.rid = rid
    self.statistics = statistics
    // Low enough that libsrtp2 and the server see no rollover in the first packets (RFC 3711 §3.3.1).
    nextSequence = UInt16.random(in: 0..<0x7000, using: &random)
    nextRTXSequence = UInt16.random(in: 0..<0x7000, using: &random)
    timestampOffset = UInt32.random(in: 0 ... .max, using: &random)
    picture = UInt16.random(in: 0..<0x7fff, using: &random)
  }

  /// The RTP time stamp of a moment; `clock` in Hz.
  func timestamp(at moment: TimeDelta, clock: Int64) -> UInt32 {
    timestampOffset &+ UInt32(truncatingIfNeeded: moment.nanoseconds / 1_000 * clock / 1_000_000)
  }

  /// Begins a frame: VP8's picture ID moves on.
  mutating func beginFrame(isKeyframe: Bool) {
    picture = (picture + 1) & 0x7fff
    statistics.frames += 1
    if isKeyframe {
      statistics.keyframes += 1
      wantsKeyframe = false
    }
  }

  /// The next frame of a clip, which begins anew where a keyframe is wanted.
  mutating func takeClipFrame(_ clip: MediaClip) -> Int {
    if wantsKeyframe, statistics.kind == .video { clipFrame = 0 }
    defer { clipFrame = (clipFrame + 1) % clip.frames.count }
    return clipFrame
  }

  /// Numbers and remembers the next packet.
  mutating func next(
    timestamp: UInt32, stamp: PayloadStamp, marker: Bool, transportSequence: UInt16, absSendTime: UInt32,
    piece: ClipPiece? = nil
  ) -> PacketRecord {
    statistics.packets += 1
    var stamp = stamp
    stamp.ordinal = UInt32(truncatingIfNeeded: statistics.packets)
    let record = PacketRecord(
      sequence: nextSequence, timestamp: timestamp, stamp: stamp, marker: marker, picture: picture,
      transportSequence: transportSequence, absSendTime: absSendTime, piece: piece)
    nextSequence &+= 1
    history[Int(record.sequence) % Self.historyLength] = record
    statistics.bytes += UInt64(stamp.payloadLength)
    return record
  }

  /// How the packet with this number was made; nil when it was never sent or is too long ago.
  func record(_ sequence: UInt16) -> PacketRecord? {
    guard let record = history[Int(sequence) % Self.historyLength], record.sequence == sequence else { return nil }
    return record
  }

  /// The number of the next RTX packet.
  mutating func takeRTXSequence() -> UInt16 {
    defer { nextRTXSequence &+= 1 }
    return nextRTXSequence
  }
}
