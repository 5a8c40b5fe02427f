// AV1 with dependency descriptors, through a worker: who takes them gets them with each packet, with numbers that go on.

import Basics
import Media
import RTP
import Testing

struct DescribedPacketTests {
  /// Numbers of the frames as they came, each once.
  private static func numbers(_ stream: ReceivedStream) -> [UInt16] {
    stream.ordered.compactMap(\.frameNumber).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  /// Over a line that loses, so that some come as retransmissions. Who has not taken descriptors gets the same packets without.
  @Test func eachPacketHasItsDescriptor() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let track = call.publish(anna, .video, codec: .av1)
    let bert = try call.join("bert")
    let (seen, plain) = (
      call.subscribe(bert, to: track), call.subscribe(try call.join("cleo"), to: track, isDescribed: false)
    )
    bert.downlink.loss = 0.05
    call.run(.seconds(4))
    bert.downlink.loss = 0
    call.run(.seconds(1))
    let stream = try #require(call.stream(seen))
    #expect(stream.problems == [] && stream.repaired > 5 && stream.frames.count > 120)
    #expect(stream.ordered.allSatisfy { !$0.descriptor.isEmpty })
    let first = try #require(stream.ordered.first)
    #expect(first.descriptor.count > 16 && first.stamp?.isKeyframe == true, "the structure comes with the keyframe")
    // Frame by frame, over the wrap, each packet with the number of its frame.
    let numbers = Self.numbers(stream)
    #expect(numbers.count > 120 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    let begin = try #require(first.frameNumber)
    for packet in stream.ordered {
      let frame = UInt16(truncatingIfNeeded: (packet.stamp?.frame ?? 0) &- (first.stamp?.frame ?? 0))
      #expect(packet.frameNumber == begin &+ frame)
    }
    let without = try #require(call.stream(plain))
    #expect(without.problems == [] && without.ordered.allSatisfy(\.descriptor.isEmpty))
    #expect(without.frames.count > 120)
  }

  /// A view goes from publisher to publisher, and one of them sends VP8: numbers only go on.
  @Test func numbersGoOnFromPublisherToPublisher() throws {
    let call = try Call()
    let tracks = try [CodecProfile.av1, .vp8, .av1].enumerated().map { index, codec in
      call.publish(try call.join("p\(index)"), .video, codec: codec)
    }
    let view = call.subscribe(try call.join("viewer"), to: nil)
    for shown in [0, 2, 1, 0, 2] {
      call.apply(.show(view, tracks[shown]))
      call.run(.seconds(1))
    }
    let stream = try #require(call.stream(view))
    #expect(stream.problems == [] && stream.producers == Set(tracks.map(\.value)))
    let numbers = Self.numbers(stream)
    #expect(numbers.count > 100 && zip(numbers, numbers.dropFirst()).allSatisfy { $1.isNewer(than: $0) })
    #expect(stream.ordered.allSatisfy { $0.descriptor.isEmpty == ($0.codec == .vp8) })
  }

  /// A publisher that jumps far back makes nothing late that follows on it.
  @Test func aPublisherCannotMoveOthersNumbers() throws {
    let call = try Call()
    let tracks = try (0..<2).map { call.publish(try call.join("p\($0)"), .video, codec: .av1) }
    let view = call.subscribe(try call.join("viewer"), to: tracks[0])
    call.run(.seconds(1))
    let dropped = call.worker.counters.drops[.malformed]
    call.track(tracks[0]) { $0.layers[0].frame &-= 30_000 }
    call.run(.milliseconds(200))
    #expect(call.worker.counters.drops[.malformed] > dropped)
    call.apply(.show(view, tracks[1]))
    call.run(.seconds(1))
    let stream = try #require(call.stream(view))
    let numbers = Self.numbers(stream)
    #expect(stream.producers.count == 2 && numbers.count > 40)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1.isNewer(than: $0) && $1.distance(from: $0) < 10 })
  }
}
