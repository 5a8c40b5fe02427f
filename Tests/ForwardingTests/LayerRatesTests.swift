// What the layers of an encoding bring, from the packets of encoders' models.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct LayerRatesTests {
  /// Counts four seconds of a source, each packet of 100 bytes or, in a keyframe, of 1,000.
  private func rates(_ mode: ScalableSource.Mode, keys: Set<Int> = [0], seconds: Int = 4) -> (LayerRates, Instant) {
    var (source, rates, now) = (ScalableSource(mode, seed: 4), LayerRates(), Instant.zero)
    for picture in 0..<(30 * seconds) {
      for packet in source.next(key: keys.contains(picture)) {
        now = packet.stored.arrival
        rates.add(keys.contains(picture) ? 1_000 : 100, packet.stored, at: now)
      }
    }
    return (rates, now)
  }

  @Test(arguments: ScalableSource.Mode.allCases) func layersAreFoundAndAddUp(mode: ScalableSource.Mode) {
    var (rates, now) = rates(mode)
    let most = ScalableSource(mode, seed: 4).most
    #expect(rates.spatialLayers == Int(most.spatial) + 1)
    #expect(rates.temporalLayers == Int(most.temporal) + 1)
    let whole = rates.steadyBytesPerSecond(upTo: .all, at: now)
    // One to three packets of 100 bytes for each of 30 frames of each spatial layer.
    #expect((4_500...7_500).contains(whole / Int64(most.spatial + 1)), "\(whole)")
    var before: Int64 = 0
    for temporal in 0...most.temporal {
      let part = rates.steadyBytesPerSecond(upTo: LayerLimit(temporal: temporal), at: now)
      #expect(part > before)
      before = part
    }
    #expect(before == whole)
    let base = rates.steadyBytesPerSecond(upTo: LayerLimit(temporal: 0), at: now)
    let share = Double(base) / Double(whole)
    #expect(abs(share - (mode == .h264 ? 0.5 : 0.25)) < 0.2, "\(share)")
  }

  /// A keyframe weighs as much as the pictures of a second, and is no reason to believe that its layers need so much.
  @Test func aKeyframeDoesNotCount() {
    let plain = rates(.vp8)
    let keyed = rates(.vp8, keys: [0, 112])
    var (expected, found) = (plain.0, keyed.0)
    let base = LayerLimit(temporal: 0)
    let steady = expected.steadyBytesPerSecond(upTo: base, at: plain.1)
    #expect(found.steadyBytesPerSecond(upTo: base, at: keyed.1) <= steady * 13 / 10)
  }

  /// Without a dependency descriptor only the first packet of an AV1 frame says its layers: what continues it is of them too.
  @Test func whatContinuesAFrameIsOfItsLayers() {
    var rates = LayerRates()
    for picture in 0..<120 {
      for part in 0..<4 {
        var info = PayloadInfo()
        info.startsFrame = part == 0
        if part == 0 { info.temporalLayer = UInt8(picture % 2) }
        rates.add(
          100,
          StoredPacket(
            sequence: Int64(picture * 4 + part), timestamp: UInt32(picture * 3_000), arrival: .zero, length: 100,
            codec: .av1, marker: part == 3, info: info, audioLevel: nil, orientation: nil),
          at: .zero + .milliseconds(33 * picture))
      }
    }
    let now = Instant.zero + .milliseconds(33 * 119)
    let half = rates.steadyBytesPerSecond(upTo: LayerLimit(temporal: 0), at: now)
    let whole = rates.steadyBytesPerSecond(upTo: .all, at: now)
    #expect(rates.temporalLayers == 2)
    #expect(abs(Double(half) / Double(whole) - 0.5) < 0.1, "\(half) of \(whole)")
  }

  /// A layer that pauses for a moment is still one; after five seconds it is none.
  @Test func layersThatEndAreForgotten() {
    var (rates, now) = rates(.vp8)
    func add(_ seconds: Int) {
      for _ in 0..<(seconds * 10) {
        now = now + .milliseconds(100)
        var info = PayloadInfo()
        info.startsFrame = true
        let packet = StoredPacket(
          sequence: 0, timestamp: UInt32(truncatingIfNeeded: now.nanoseconds / 11_111), arrival: now, length: 100,
          codec: .vp8, marker: true, info: info, audioLevel: nil, orientation: nil)
        rates.add(100, packet, at: now)
      }
    }
    add(3)
    #expect(rates.temporalLayers == 3)
    add(4)
    #expect(rates.temporalLayers == 1)
  }

  /// After silence nothing is known to be sent.
  @Test func silenceIsNothing() {
    var (rates, now) = rates(.vp8)
    #expect(rates.steadyBytesPerSecond(upTo: .all, at: now + .seconds(2)) == 0)
  }
}
