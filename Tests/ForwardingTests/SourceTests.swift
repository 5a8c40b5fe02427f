// A view is switched between publishers: what arrives is one stream that can be decoded, with no gap in its numbers.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct SourceTests {
  /// What a view got: each source is checked by itself, and where one follows on another.
  private struct Viewer {
    private var receiver = ThinningTests.Receiver()
    private var isNew = true
    private var last: (sequence: UInt16, timestamp: UInt32, picture: UInt16?)?
    private(set) var complete = 0
    /// Of dependency descriptors, whatever came in between.
    private var newestFrame: UInt16?

    mutating func switched() {
      complete += receiver.complete.count
      (receiver, isNew) = (ThinningTests.Receiver(), true)
    }

    mutating func take(_ packet: ModelPacket, _ rewrite: Rewrite) {
      let picture = packet.stored.info.pictureID.map { ($0.value &+ rewrite.pictureIDDelta) & 0x7fff }
      let frame = packet.stored.frameNumber.map { $0 &+ rewrite.pictureIDDelta }
      if let frame, let newest = newestFrame {
        #expect(isNew ? frame == newest &+ 1 : abs(frame.distance(from: newest)) < 64, "frame numbers of AV1 go on")
      }
      if let frame, newestFrame.map({ frame.isNewer(than: $0) }) ?? true { newestFrame = frame }
      if let last {
        #expect(rewrite.sequence == last.sequence &+ 1, "numbers have no gap")
        if isNew {
          #expect(rewrite.timestamp.isNewer(than: last.timestamp), "time goes on")
          if let picture, let before = last.picture { #expect(picture == (before + 1) & 0x7fff, "so do pictures") }
        }
      }
      if isNew { #expect(packet.stored.info.startsKeyframe, "\(packet.frame) begins a source") }
      isNew = false
      last = (rewrite.sequence, rewrite.timestamp, picture)
      receiver.take(packet, rewrite)
    }
  }

  /// Two publishers of one codec and one of another take turns. Each has a clock and numbers of its own.
  @Test(arguments: ScalableSource.Mode.allCases) func aThousandSources(mode: ScalableSource.Mode) throws {
    var random = SplitMix64(seed: 23)
    let other: ScalableSource.Mode = mode == .vp8 ? .av1 : .vp8
    var sources = [
      ScalableSource(mode, seed: 3), ScalableSource(mode, seed: 4), ScalableSource(other, seed: 5),
    ]
    var consumer = Self.consumer([sources[0].codec, sources[2].codec])
    var (viewer, shown, switches) = (Viewer(), 0, 0)
    for _ in 0..<1_000 {
      let next = Int.random(in: 0..<3, using: &random)
      let pictures = Int.random(in: 6...12, using: &random)
      // In the middle of a picture too.
      let changesAt = Int.random(in: 0...3, using: &random)
      let limit = LayerLimit(
        spatial: UInt8.random(in: 0...2, using: &random), temporal: UInt8.random(in: 0...2, using: &random))
      var waiting = 0
      for number in 0..<pictures {
        for source in sources.indices {
          let isKey = source == next && number > 0 && consumer.awaitsKeyframe && waiting == 2
          let packets = sources[source].next(key: isKey)
          for (index, packet) in packets.enumerated() {
            if source == shown && next != shown && number == 0 && index == min(changesAt, packets.count - 1) {
              consumer.changeStream(target: 0)
              if limit != consumer.limit && Int.random(in: 0..<4, using: &random) == 0 { consumer.limit = limit }
              viewer.switched()
              (shown, switches) = (next, switches + 1)
            }
            guard source == shown else { continue }
            if let rewrite = consumer.decide(packet.stored, layer: 0, alignment: nil).rewrite {
              viewer.take(packet, rewrite)
            }
          }
        }
        waiting += consumer.awaitsKeyframe ? 1 : 0
      }
      #expect(!consumer.awaitsKeyframe || consumer.currentLayer == 0)
    }
    viewer.switched()
    #expect(switches > 500 && viewer.complete > 3_000, "\(switches), \(viewer.complete)")
  }

  private static func consumer(_ codecs: [CodecProfile]) -> Consumer {
    Consumer(
      parameters: SendParameters(
        mid: "1", kind: .video, ssrc: 1234, rtxSSRC: 5678,
        payloads: codecs.enumerated().map { index, codec in
          PayloadMapping(payloadType: UInt8(96 + 2 * index), codec: codec, rtxPayloadType: UInt8(97 + 2 * index))
        },
        extensions: HeaderExtensionIDs(), nack: true), seed: 0x7f00)
  }
}
