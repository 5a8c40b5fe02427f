// Sound counts by what it brings: of music a thin line has less left for pictures than of speech.

import Basics
import Congestion
import Testing

@testable import Media

struct SoundRateTests {
  /// Bytes of a packet each 20 ms: speech at some 24 kbit/s, and music at 510 kbit/s, which is the most that Opus takes.
  @Test(arguments: [(60, 1), (1_275, 0)]) func soundIsAllocatedByItsRate(bytes: Int, layer: UInt8) throws {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let (sound, video) = (call.publish(anna, .audio), call.publish(anna, .video, layers: [1, 2, 5]))
    call.track(sound) { $0.layers[0].packetSize = bytes }
    let (heard, seen) = (call.subscribe(bert, to: sound), call.subscribe(bert, to: video))
    call.run(.seconds(1))
    // The layers take some 230, 460 and 1,150 kbit/s.
    for _ in 0..<60 {
      bert.sendEstimate(bitsPerSecond: 850_000)
      call.run(.milliseconds(200))
    }
    #expect(call.stream(seen).flatMap(\.layers.last).map(Int.init) == Int(layer))
    #expect(call.stream(seen)?.problems == [] && call.stream(heard)?.problems == [])
  }

  /// The best sound that Opus has, with two earlier packets in each, stays within the bound of its publisher.
  @Test func theBestSoundIsNotCut() {
    var bounds = PublisherBounds(videoBitsPerSecond: 5_000_000)
    bounds.count(sounds: 1, videos: 0)
    var now = Instant.zero + .seconds(100)
    for _ in 0..<3_000 {
      #expect(bounds.admits(3 * 1_275 + 60, of: .sound, at: now))
      bounds.take(3 * 1_275 + 60, of: .sound, at: now)
      now += .milliseconds(20)
    }
  }
}
