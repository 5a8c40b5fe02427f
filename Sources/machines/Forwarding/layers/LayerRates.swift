// What each temporal and spatial layer of one encoding brings lately: what a receiver costs that is not sent all of them.
//
//   packet ─▶ layers of its frame ─▶ bytes of this window │ the last │ the one before ─▶ steady rate up to a limit

import Basics
import RTP

/// Bytes a second of each layer, in the windows of `RateMeter`.
public struct LayerRates: Sendable {
  /// Layers of one kind that are told apart; those above count as the highest of these.
  static let most = 4
  /// Windows for which a layer that brings nothing still counts as one: encoders leave upper layers out now and then.
  static let patience: UInt8 = 10

  /// Layers of the frame in hand.
  private var frame = LayerLimit(spatial: 0, temporal: 0)
  private var timestamp: UInt32?
  private var start: Instant?
  // By spatial layer, and temporal layers within.
  private var bytes = InlineArray<16, Int64>(repeating: 0)
  private var last = InlineArray<16, Int64>(repeating: 0)
  private var before = InlineArray<16, Int64>(repeating: 0)
  /// Windows since the layer brought something.
  private var quiet = InlineArray<16, UInt8>(repeating: .max)

  /// Nothing counted.
  public init() {}

  /// Counts `count` bytes of a packet that came at `now`.
  @inline(__always)
  public mutating func add(_ count: Int, _ packet: StoredPacket, at now: Instant) {
    roll(to: now)
    frame.follow(packet, isNewPicture: timestamp != packet.timestamp)
    timestamp = packet.timestamp
    // Without references the end of a layer frame is not known, so that nothing could be left out behind it.
    let hasSpatial = packet.codec != .av1 || packet.info.dependencies != nil
    let cell = Self.cell(spatial: hasSpatial ? frame.spatial : 0, temporal: frame.temporal)
    bytes[cell] += Int64(count)
    quiet[cell] = 0
  }

  /// Spatial layers that arrive: one or more.
  public var spatialLayers: Int { 1 + (highest { $0 / Self.most } ?? 0) }

  /// Temporal layers that arrive: one or more.
  public var temporalLayers: Int { 1 + (highest { $0 % Self.most } ?? 0) }

  /// Bytes a second of all layers within `limit`, in the lower one of the two newest full windows, so that a single keyframe does not
  /// count.
  public mutating func steadyBytesPerSecond(upTo limit: LayerLimit, at now: Instant) -> Int64 {
    roll(to: now)
    let newest = sum(last, limit)
    let older = sum(before, limit)
    return older > 0 ? min(newest, older) : newest
  }

  private func sum(_ window: InlineArray<16, Int64>, _ limit: LayerLimit) -> Int64 {
    var sum: Int64 = 0
    for cell in window.indices
    where limit.includes(spatial: UInt8(cell / Self.most), temporal: UInt8(cell % Self.most)) {
      sum += window[cell]
    }
    return sum
  }

  private func highest(_ layer: (Int) -> Int) -> Int? {
    var highest: Int?
    for cell in quiet.indices where quiet[cell] < Self.patience { highest = max(highest ?? 0, layer(cell)) }
    return highest
  }

  private static func cell(spatial: UInt8, temporal: UInt8) -> Int {
    min(Int(spatial), most - 1) * most + min(Int(temporal), most - 1)
  }

  @inline(__always)
  private mutating func roll(to now: Instant) {
    guard let start else {
      self.start = now
      return
    }
    if now - start >= RateMeter.window { beginWindow(at: now, after: now - start) }
  }

  @inline(never)
  private mutating func beginWindow(at now: Instant, after elapsed: TimeDelta) {
    let isKnown = elapsed <= RateMeter.window * 2
    for cell in bytes.indices {
      before[cell] = last[cell]
      last[cell] = isKnown ? bytes[cell] * 1_000_000_000 / max(1, elapsed.nanoseconds) : 0
      if bytes[cell] == 0 { quiet[cell] = min(quiet[cell], .max - 1) + 1 }
      bytes[cell] = 0
    }
    start = now
  }
}
