// Quality follows what layers bring: the best may stand first in SDP.

import Basics
import Congestion
import Forwarding
import RTP
import Testing

@testable import Media

struct LayerOrderTests {
  /// Anna's layers stand best first; bert watches. `widths`: said by keyframes, 0 for what is encrypted.
  private static func bestFirst(_ widths: [UInt16], layer: Int? = nil, codec: CodecProfile = .vp8) throws -> (
    Call, ProducerKey, ConsumerKey
  ) {
    let call = try Call()
    let (anna, bert) = (try call.join("anna"), try call.join("bert"))
    let video = call.publish(anna, .video, codec: codec, layers: [5, 2, 1])
    call.track(video) { for (index, width) in widths.enumerated() { $0.layers[index].width = width } }
    return (call, video, call.subscribe(bert, to: video, layer: layer))
  }

  private static func layers(_ call: Call, _ consumer: ConsumerKey) -> [(layer: Int, encoding: Int)] {
    call.events.compactMap {
      if case .consumerLayer(consumer, let layer, let encoding) = $0.event { (layer, encoding) } else { nil }
    }
  }

  @Test(arguments: [[1_280, 640, 320], [0, 0, 0]] as [[UInt16]])
  func lowIsTheLeastAndHighTheMost(_ widths: [UInt16]) throws {
    let (call, _, consumer) = try Self.bestFirst(widths, layer: 0)
    call.run(.seconds(4))
    let stream = try #require(call.stream(consumer))
    #expect(stream.layers.last == 2, "the least, which stands last")
    #expect(
      Self.layers(call, consumer).last.map { [$0.layer, $0.encoding] } == [0, 2], "and is told to be the lowest")
    call.apply(.setLayer(consumer, 2))
    call.run(.seconds(2))
    #expect(call.stream(consumer)?.layers.last == 0)
    #expect(Self.layers(call, consumer).last.map { [$0.layer, $0.encoding] } == [2, 0])
    #expect(call.stream(consumer)?.problems == [])
  }

  /// Resolution is known from the first keyframes on; rates take two seconds.
  @Test func sizesAreKnownAtOnce() throws {
    let (call, _, consumer) = try Self.bestFirst([1_280, 640, 320], layer: 0)
    call.run(.milliseconds(1_500))
    #expect(call.stream(consumer)?.layers.last == 2)
  }

  /// H264 with its sequence set in a packet before the picture, as most encoders send it, or with the picture.
  @Test(arguments: [true, false]) func sizesOfH264AreKnownAtOnce(setsApart: Bool) throws {
    let (call, video, consumer) = try Self.bestFirst([1_280, 640, 320], layer: 0, codec: .h264ConstrainedBaseline)
    call.track(video) { $0.setsApart = setsApart }
    call.run(.milliseconds(1_500))
    #expect(call.stream(consumer)?.layers.last == 2)
    #expect(call.stream(consumer)?.problems == [])
  }

  @Test func aThinLineIsSentTheLeast() throws {
    let (call, _, consumer) = try Self.bestFirst([0, 0, 0])
    let bert = try #require(call.peers.last)
    call.run(.seconds(1))
    // The least takes some 230 kbit/s, the next twice that.
    for _ in 0..<60 {
      bert.sendEstimate(bitsPerSecond: 330_000)
      call.run(.milliseconds(200))
    }
    #expect(call.stream(consumer)?.layers.last == 2)
    #expect(call.stream(consumer)?.problems == [])
  }

  /// Whoever watches while the order is learned sees no break, and is told what it is that they see.
  @Test func learningBreaksNothing() throws {
    let (call, _, consumer) = try Self.bestFirst([0, 0, 0])
    call.run(.seconds(1))
    let before = try #require(call.stream(consumer)?.ordered.count)
    call.run(.seconds(4))
    let stream = try #require(call.stream(consumer))
    #expect(stream.layers == [0], "the best goes on")
    #expect(stream.ordered.count > before + 500 && stream.problems == [])
    #expect(Self.layers(call, consumer).map { [$0.layer, $0.encoding] } == [[0, 0], [2, 0]])
    let arrivals = stream.ordered.map(\.arrival)
    #expect(zip(arrivals.dropFirst(), arrivals).allSatisfy { $0 - $1 < .milliseconds(120) })
  }

  /// What is missed is repeated from the right layer after the order was learned, too.
  @Test func repairsFindTheirLayer() throws {
    let (call, _, consumer) = try Self.bestFirst([1_280, 640, 320])
    let bert = try #require(call.peers.last)
    bert.downlink = .rough
    call.run(.seconds(5))
    bert.downlink = .good
    call.run(.seconds(1))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.repaired > 3)
  }

  /// A shared screen: rates go up and down by turns. Layers do not take turns.
  @Test func ratesThatFluctuateFlipNothing() {
    var order = LayerOrder()
    var dice = SplitMix64(seed: 3)
    var changes = 0
    for look in 0..<4_000 {
      // Quiet for most of the time; a burst comes to one layer before the other.
      let burst = look % 23 < 5
      let low = Int64(burst ? 20_000 : 300) + Int64(dice.next() % 2_000)
      let high = Int64(look % 23 > 1 && look % 23 < 7 ? 60_000 : 400) + Int64(dice.next() % 3_000)
      if order.learn([LayerFacts(rate: low), LayerFacts(rate: high)]) != nil { changes += 1 }
    }
    #expect(changes == 0)
  }

  /// The control: an order that is wrong all the time is found out.
  @Test func ratesThatAgreeCount() {
    var order = LayerOrder()
    let found = (0..<20).compactMap { _ in order.learn([LayerFacts(rate: 60_000), LayerFacts(rate: 20_000)]) }
    #expect(found.first == [1, 0])
  }

  /// Sizes that change one after the other, as encoders adapt, are looked at again and again first.
  @Test func anEncoderThatAdaptsFlipsNothing() {
    var order = LayerOrder()
    func learn(_ pixels: Int...) -> [Int]? { order.learn(pixels.map { LayerFacts(pixels: $0, rate: 50_000) }) }
    #expect(learn(100, 400, 1_600) == nil)
    for _ in 0..<3 { #expect(learn(100, 400, 300) == nil) }
    #expect(learn(75, 300, 1_200) == nil)
    var last: [Int]?
    for _ in 0..<4 { last = learn(100, 400, 300) ?? last }
    #expect(last == [0, 2, 1], "what stays so counts")
  }

  /// What is not known keeps its place; what is known changes places among itself.
  @Test func theUnknownKeepsItsPlace() {
    var order = LayerOrder()
    #expect(order.learn([LayerFacts(pixels: 900), LayerFacts(), LayerFacts(pixels: 100)]) == [2, 1, 0])
  }
}

struct PictureSizeTests {
  @Test func keyframesTellTheirSize() {
    let vp8: [UInt8] = [0x90, 0xe0, 0x80, 1, 7, 0x20, 0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x02, 0x68, 0x41]
    #expect(PictureSize.parse(vp8.span, codec: .vp8) == PictureSize(640, 360))
    let delta: [UInt8] = [0x90, 0xe0, 0x80, 1, 7, 0x20, 0x11, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x02, 0x68, 0x41]
    #expect(PictureSize.parse(delta.span, codec: .vp8) == nil)
    // Two spatial layers, in the scalability structure.
    let layered: [UInt8] = [0x8a, 0x80, 1, 0x30, 0x01, 0x40, 0x00, 0xb4, 0x02, 0x80, 0x01, 0x68, 0x82]
    #expect(PictureSize.parse(layered.span, codec: .vp9Profile0) == PictureSize(640, 360))
    // Baseline, 1280 × 720.
    let baseline: [UInt8] = [0x67, 0x42, 0xc0, 0x1f, 0xda, 0x01, 0x40, 0x16, 0xe4]
    #expect(PictureSize.parse(baseline.span, codec: .h264ConstrainedBaseline) == PictureSize(1_280, 720))
    let aggregate: [UInt8] = [0x78, 0, 2, 0x06, 0x05, 0, 9] + baseline
    #expect(PictureSize.parse(aggregate.span, codec: .h264High) == PictureSize(1_280, 720))
  }

  /// Anything may come: nothing traps, and what is cut off says nothing.
  @Test func anyBytesWillDo() {
    var dice = SplitMix64(seed: 11)
    for _ in 0..<20_000 {
      var bytes = (0..<Int(dice.next() % 40)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      if !bytes.isEmpty && dice.next() % 2 == 0 { bytes[0] = 0x67 }
      for codec in CodecProfile.allCases { _ = PictureSize.parse(bytes.span, codec: codec) }
    }
    let vp8: [UInt8] = [0x90, 0xe0, 0x80, 1, 7, 0x20, 0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x02, 0x68]
    #expect(PictureSize.parse(vp8.span, codec: .vp8) == nil)
  }
}
