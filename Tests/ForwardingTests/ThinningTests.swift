// Layers left out and taken up again within one encoding: what arrives can be decoded, and shows no gap.

import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct ThinningTests {
  /// What a receiver got, in order.
  struct Receiver {
    private var last: (sequence: UInt16, packet: ModelPacket, marker: Bool, pictureID: UInt16?, tl0: UInt8?)?
    private(set) var frames: [ModelFrame: Int] = [:]
    private(set) var complete: Set<ModelFrame> = []

    mutating func take(_ packet: ModelPacket, _ rewrite: Rewrite) {
      let info = packet.stored.info
      let marker = packet.stored.marker || rewrite.changes.contains(.setsMarker)
      let picture = info.pictureID.map { ($0.value &+ rewrite.pictureIDDelta) & 0x7fff }
      let tl0 = info.tl0PictureIndex.map { $0.value &+ rewrite.tl0Delta }
      if let last { follow(last, packet, rewrite, picture, tl0) }
      last = (rewrite.sequence, packet, marker, picture, tl0)
      frames[packet.frame, default: 0] += 1
      guard frames[packet.frame] == packet.count else { return }
      complete.insert(packet.frame)
      for reference in packet.references {
        check(complete.contains(reference), "\(packet.frame) refers to \(reference), which was not sent")
      }
    }

    private func follow(
      _ last: (sequence: UInt16, packet: ModelPacket, marker: Bool, pictureID: UInt16?, tl0: UInt8?),
      _ packet: ModelPacket, _ rewrite: Rewrite, _ picture: UInt16?, _ tl0: UInt8?
    ) {
      check(rewrite.sequence == last.sequence &+ 1, "numbers have no gap")
      let isSamePicture = last.packet.frame.picture == packet.frame.picture
      check(last.marker == !isSamePicture, "the marker ends a picture: \(last.packet.frame) → \(packet.frame)")
      if last.packet.frame != packet.frame {
        check(frames[last.packet.frame] == last.packet.count, "\(last.packet.frame) is cut short")
        check(packet.stored.info.startsFrame, "\(packet.frame) has no beginning")
      }
      guard let picture, let before = last.pictureID else { return }
      let step = (picture &- before) & 0x7fff
      if isSamePicture {
        check(step == 0, "one picture, one identifier")
      } else if packet.stored.codec == .vp8 {
        check(step == 1, "picture identifiers have no gap")
      } else {
        check(
          step == UInt16(packet.frame.picture - last.packet.frame.picture), "P_DIFF still names the same pictures")
      }
      guard let tl0, let before = last.tl0, !isSamePicture, packet.stored.codec == .vp8 else { return }
      check(tl0 &- before == (packet.stored.info.temporalLayer == 0 ? 1 : 0), "TL0PICIDX counts the base layer")
    }
  }

  static func consumer(_ codec: CodecProfile, seed: UInt64) -> Consumer {
    Consumer(
      parameters: SendParameters(
        mid: "1", kind: .video, ssrc: 1234, rtxSSRC: 5678,
        payloads: [PayloadMapping(payloadType: 96, codec: codec, rtxPayloadType: 97)],
        extensions: HeaderExtensionIDs(), nack: true), seed: seed)
  }

  /// What of `limit` there is.
  private func reachable(_ limit: LayerLimit, _ most: LayerLimit) -> LayerLimit { limit.intersection(most) }

  @Test(arguments: ScalableSource.Mode.allCases) func aThousandSwitches(mode: ScalableSource.Mode) throws {
    var random = SplitMix64(seed: 11)
    var source = ScalableSource(mode, seed: 3)
    var consumer = Self.consumer(source.codec, seed: 0x7f00)
    var receiver = Receiver()
    var (waiting, keys, leftOut) = (0, 0, 0)
    for _ in 0..<1_000 {
      let limit = LayerLimit(
        spatial: [0, 1, 2, 7].randomElement(using: &random) ?? 0,
        temporal: [0, 1, 2, 7].randomElement(using: &random) ?? 0)
      let pictures = Int.random(in: 30...36, using: &random)
      // In the middle of a picture too.
      let changesAt = Int.random(in: 0...3, using: &random)
      for number in 0..<pictures {
        waiting = consumer.awaitsKeyframe ? waiting + 1 : 0
        let isKey = waiting > 5
        keys += isKey ? 1 : 0
        for (index, packet) in source.next(key: isKey).enumerated() {
          if number == 0 && index == changesAt { consumer.limit = limit }
          let decision = consumer.decide(packet.stored, layer: 0, alignment: nil)
          if let rewrite = decision.rewrite { receiver.take(packet, rewrite) } else { leftOut += 1 }
        }
        if number == 0 { consumer.limit = limit }
      }
      #expect(
        reachable(consumer.currentLimit, source.most) == reachable(limit, source.most),
        "30 pictures are enough to go there")
    }
    // H264 has two temporal layers, of which the upper one is left out a quarter of the time.
    #expect(leftOut > (mode == .h264 ? 2_500 : 10_000) && receiver.complete.count > 10_000, "\(leftOut)")
    // Temporal layers cost no keyframes; spatial ones at most one each.
    #expect(source.most.spatial == 0 ? keys == 0 : keys > 0 && keys < 700, "\(keys)")
  }

  /// A stream that is limited and set free again goes the short way, and is found again all the while.
  @Test(arguments: ScalableSource.Mode.allCases) func whatWasSentIsFoundAgain(mode: ScalableSource.Mode) throws {
    var random = SplitMix64(seed: 5)
    var source = ScalableSource(mode, seed: 9)
    var consumer = Self.consumer(source.codec, seed: 0x7fff)
    var sent: [(packet: ModelPacket, rewrite: Rewrite)] = []
    for step in 0..<300 {
      switch step % 60 {
      case 10: consumer.limit = LayerLimit(spatial: 0, temporal: 0)
      case 40: consumer.limit = LayerLimit(spatial: 1, temporal: 1)
      case 55: consumer.limit = .all
      default: break
      }
      for packet in source.next(key: consumer.awaitsKeyframe && step % 7 == 0) {
        if let rewrite = consumer.decide(packet.stored, layer: 0, alignment: nil).rewrite {
          sent.append((packet, rewrite))
        }
      }
      guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
      for (packet, rewrite) in sent.suffix(1_000) {
        guard let found = consumer.original(of: rewrite.sequence) else {
          Issue.record("\(packet.frame) is not found")
          continue
        }
        check(found.sequence == packet.stored.sequence && found.layer == 0, "\(packet.frame) is taken for another")
        check(
          consumer.rewriteAgain(packet.stored, segment: found.segment) == rewrite, "\(packet.frame) is sent otherwise")
      }
    }
    #expect(sent.count > 250)
  }

  /// Packets are lost on their way to the server, come late, or in another order: each number is one packet's, and no number stays
  /// without one where all came in the end.
  @Test(arguments: ScalableSource.Mode.allCases, 0..<4 as Range<UInt64>) func latePacketsFindTheirPlace(
    mode: ScalableSource.Mode, seed: UInt64
  ) throws {
    var random = SplitMix64(seed: seed &* 17 &+ 1)
    var source = ScalableSource(mode, seed: seed)
    var consumer = Self.consumer(source.codec, seed: random.next())
    var late: [(due: Int, packet: ModelPacket)] = []
    var numbers: [UInt16: Int64] = [:]
    var (first, step) = (UInt16?.none, 0)
    func deliver(_ packet: ModelPacket) {
      guard let rewrite = consumer.decide(packet.stored, layer: 0, alignment: nil).rewrite else { return }
      if first == nil { first = rewrite.sequence }
      check(numbers[rewrite.sequence] == nil, "a number is given once")
      numbers[rewrite.sequence] = packet.stored.sequence
      let found = consumer.original(of: rewrite.sequence)
      check(found?.sequence == packet.stored.sequence, "\(packet.frame) is taken for another")
      check(
        found.map { consumer.rewriteAgain(packet.stored, segment: $0.segment) } == rewrite,
        "\(packet.frame) is sent otherwise")
    }
    for picture in 0..<900 {
      if picture % 25 == 24 {
        consumer.limit = LayerLimit(
          spatial: UInt8.random(in: 0...2, using: &random), temporal: UInt8.random(in: 0...2, using: &random))
      }
      for packet in source.next() {
        step += 1
        while let next = late.first, next.due <= step { deliver(late.removeFirst().packet) }
        // The first keyframe begins the stream; behind it a packet may be lost.
        if picture > 0 && Int.random(in: 0..<20, using: &random) == 0 {
          late.append((step + Int.random(in: 1...40, using: &random), packet))
          late.sort { $0.due < $1.due }
        } else {
          deliver(packet)
        }
      }
    }
    for next in late { deliver(next.packet) }
    let start = try #require(first)
    let ordered = (0..<numbers.count).map { numbers[start &+ UInt16($0)] }
    #expect(!ordered.contains(nil), "no number is left without a packet")
    #expect(zip(ordered, ordered.dropFirst()).allSatisfy { ($0.0 ?? 0) < ($0.1 ?? 0) }, "in the publisher's order")
  }

  @Test func aLatePacketOfALayerThatIsLeftOutIsEmptied() throws {
    var consumer = Self.consumer(.vp8, seed: 1)
    consumer.limit = LayerLimit(temporal: 0)
    var source = ScalableSource(.vp8, seed: 1)
    let pictures = (0..<6).map { _ in source.next() }
    for packet in pictures[0] { #expect(consumer.decide(packet.stored, layer: 0, alignment: nil).rewrite != nil) }
    let missing = try #require(pictures[1].first)
    #expect(missing.stored.info.temporalLayer == 2)
    for packet in pictures[1].dropFirst() + pictures[2] + pictures[3] {
      #expect(consumer.decide(packet.stored, layer: 0, alignment: nil).reason == .upperLayer)
    }
    let next = try #require(pictures[4].first)
    let after = try #require(consumer.decide(next.stored, layer: 0, alignment: nil).rewrite)
    let filler = try #require(consumer.decide(missing.stored, layer: 0, alignment: nil).rewrite)
    #expect(filler.changes == .emptiesPayload && filler.length(of: missing.stored) == 0)
    #expect(after.sequence == filler.sequence &+ 1 && after.changes.isEmpty)
    // What was left out stays so when it comes again.
    for packet in pictures[2] {
      #expect(consumer.decide(packet.stored, layer: 0, alignment: nil).reason == .upperLayer)
    }
  }

  /// A packet of a thinned stream takes no memory once its numbers are kept, and none before.
  @Test func aStreamThatIsNoLongerThinnedGoesTheShortWay() throws {
    var consumer = Self.consumer(.vp8, seed: 1)
    var source = ScalableSource(.vp8, seed: 1)
    func play(_ pictures: Int) {
      for _ in 0..<pictures {
        for packet in source.next() { _ = consumer.decide(packet.stored, layer: 0, alignment: nil) }
      }
    }
    play(20)
    #expect(!consumer.map.isRecording)
    consumer.limit = LayerLimit(temporal: 1)
    play(20)
    #expect(consumer.map.isRecording)
    consumer.limit = .all
    play(100)
    #expect(consumer.map.isRecording, "what was left out may still be asked for")
    play(1_000)
    #expect(!consumer.map.isRecording)
    let newest = UInt16(truncatingIfNeeded: consumer.map.highest)
    let found = try #require(consumer.original(of: newest))
    #expect(consumer.original(of: newest &- 1_000)?.sequence == found.sequence - 1_000)
  }
}

/// An expectation that costs little where it holds: there are millions.
private func check(
  _ holds: Bool, _ text: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !holds { Issue.record("\(text())", sourceLocation: sourceLocation) }
}
