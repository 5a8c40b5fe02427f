import Basics
import RTP
import Testing

@testable import Forwarding

@Suite struct RedundancyTests {
  /// A cache with packets 0 ..< `lengths.count` of Opus, 960 ticks apart.
  private func cache(_ lengths: [Int], ticks: UInt32 = 960, without missing: Int? = nil) -> Held<CacheBox> {
    let box = CacheBox()
    for (number, length) in lengths.enumerated() where number != missing {
      let body = [UInt8](repeating: UInt8(number), count: length)
      let packet = stored(
        Int64(number), timestamp: 0xffff_ff00 &+ UInt32(number) * ticks, codec: .opus, length: length)
      body.withUnsafeBytes { box.cache.insert(packet, payload: $0) }
    }
    return Held(box)
  }

  final class CacheBox { var cache = PacketCache(byteCapacity: 16_384, packetCapacity: 64) }

  private func plan(_ held: Held<CacheBox>, of number: Int64, since first: Int64 = 0, most: Int = 2) throws -> [Int] {
    let packet = held.value.cache.find(number)
    let found = held.value.cache.redundancy(before: try #require(packet), since: first, most: most)
    return [found.count, Int(found.length)]
  }

  @Test func asManyAsThereAre() throws {
    let cache = cache([80, 80, 80, 80])
    #expect(try plan(cache, of: 3) == [2, 249])
    #expect(try plan(cache, of: 3, most: 1) == [1, 165])
    #expect(try plan(cache, of: 1) == [1, 165])
    #expect(try plan(cache, of: 0) == [0, 80])
    #expect(try plan(cache, of: 3, since: 2) == [1, 165], "nothing from before the stream began")
    #expect(try plan(cache, of: 3, since: 3) == [0, 80])
  }

  /// RFC 2198 has 14 bits for the age and 10 for the length; a datagram has its end as well.
  @Test func noMoreThanFits() throws {
    #expect(try plan(cache([80, 80, 80], without: 1), of: 2) == [0, 80], "nothing beyond what is missing")
    #expect(try plan(cache([500, 500, 500]), of: 2) == [1, 1_005])
    #expect(try plan(cache([80, 1_023, 80]), of: 2) == [2, 1_192])
    #expect(try plan(cache([80, 1_024, 80]), of: 2) == [0, 80])
    #expect(try plan(cache([80, 600, 600]), of: 2) == [0, 600])
    #expect(try plan(cache([80, 80, 80], ticks: 0x3fff), of: 2) == [1, 165])
    #expect(try plan(cache([80, 80, 80], ticks: 0x4000), of: 2) == [0, 80])
    #expect(try plan(cache([80, 80, 80], ticks: 0), of: 2) == [0, 80])
  }

  @Test func isWrittenTheOldestFirst() throws {
    let held = cache([2, 3, 1])
    let place = held.value.cache.place(of: 2)
    var bytes = [UInt8](repeating: 0, count: 32)
    let length = try bytes.withUnsafeMutableBytes {
      held.value.cache.writeRedundant(at: try #require(place), count: 2, payloadType: 111, into: $0)
    }
    #expect(
      Array(bytes.prefix(try #require(length))) == [
        0xef, 0x1e, 0x00, 0x02, 0xef, 0x0f, 0x00, 0x03, 0x6f, 0, 0, 1, 1, 1, 2,
      ])
    let refused = try bytes.withUnsafeMutableBytes {
      held.value.cache.writeRedundant(
        at: try #require(place), count: 2, payloadType: 111, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<14]))
    }
    #expect(refused == nil)
  }

  /// A stream that begins anew (mute, pause, another source) carries nothing of the one before, and a receiver without RED nothing at all.
  @Test(arguments: [62, nil] as [UInt8?]) func aStreamCarriesItsOwn(_ redPayloadType: UInt8?) throws {
    let held = cache([Int](repeating: 80, count: 10))
    let mapping = PayloadMapping(payloadType: 109, codec: .opus, redPayloadType: redPayloadType)
    var consumer = Consumer(
      parameters: SendParameters(
        mid: "0", kind: .audio, ssrc: 1, rtxSSRC: nil, payloads: [mapping], extensions: HeaderExtensionIDs(),
        nack: false), seed: 7)
    consumer.setRedundancy(9)
    var found: [[Int]] = []
    for number in 0..<10 as Range<Int64> {
      if number == 5 { consumer.interrupt() }
      var packet = held.value.cache.find(number)
      packet?.info.startsKeyframe = true
      let offered = try #require(packet)
      guard case .forward(var rewrite) = consumer.decide(offered, layer: 0, alignment: nil) else { continue }
      var length = offered.length
      if rewrite.changes.earlierPackets > 0 {
        length = consumer.addRedundancy(to: &rewrite, of: offered, from: held.value.cache)
      }
      found.append([rewrite.changes.earlierPackets, Int(rewrite.payloadType), Int(length)])
    }
    let (none, one, two) = ([0, 109, 80], [1, 62, 165], [2, 62, 249])
    #expect(
      found
        == (redPayloadType == nil
          ? [[Int]](repeating: none, count: 10) : [none, one, two, two, two, none, one, two, two, two]))
    #expect(consumer.bytesSent == UInt32(found.reduce(0) { $0 + $1[2] }))
  }
}
