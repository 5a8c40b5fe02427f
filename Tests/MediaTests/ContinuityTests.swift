// One publisher says nonsense of its time and its pictures. What is sent in the same stream goes on, also that of the next publisher.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct ContinuityTests {
  /// Anna and Bert publish, Dora has a view that shows Anna.
  private func room(_ codec: CodecProfile) throws -> (Call, anna: ProducerKey, bert: ProducerKey, view: ConsumerKey) {
    let call = try Call(seed: 8)
    let anna = call.publish(try call.join("anna"), .video, codec: codec)
    let bert = call.publish(try call.join("bert"), .video, codec: codec)
    let view = call.subscribe(try call.join("dora"), to: nil)
    call.run(.seconds(1))
    call.apply(.show(view, anna))
    call.run(.seconds(1))
    return (call, anna, bert, view)
  }

  /// As a receiver follows numbers: each is the one nearest to that before.
  private func followed(_ packets: [ReceivedPacket]) -> [(time: Int64, picture: Int64)] {
    var place: (time: Int64, picture: Int64)?
    return packets.map { packet in
      let picture = packet.info.pictureID?.value ?? 0
      let before = place ?? (Int64(packet.timestamp), Int64(picture))
      let time = Int64(Int32(bitPattern: packet.timestamp &- UInt32(truncatingIfNeeded: before.time)))
      let step = Int64(Int16(bitPattern: (picture &- UInt16(truncatingIfNeeded: before.picture)) << 1) >> 1)
      let new = (before.time + time, before.picture + step)
      place = new
      return new
    }
  }

  /// Ten pictures, each half a circle back in identifiers and a tenth of it in time; each may be a keyframe, where numbers may begin anew.
  @Test(arguments: [true, false], [CodecProfile.vp8, .h264ConstrainedBaseline])
  func whoGoesBackTakesNobodyBack(areKeyframes: Bool, codec: CodecProfile) throws {
    let (call, anna, bert, view) = try room(codec)
    let before = call.worker.counters.drops[.malformed]
    for _ in 0..<10 {
      call.track(anna) {
        $0.layers[0].timestampOffset &-= 195_000_000
        $0.layers[0].pictureID = ($0.layers[0].pictureID &- 16_000) & 0x7fff
        $0.layers[0].wantsKeyframe = areKeyframes
      }
      call.run(.milliseconds(33))
    }
    #expect((call.worker.counters.drops[.malformed] > before) == !areKeyframes)
    call.apply(.show(view, bert))
    call.run(.seconds(2))
    let stream = try #require(call.stream(view))
    let packets = stream.ordered
    let shown = packets.count { $0.stamp?.producer == bert.value }
    #expect(shown > 100 && stream.duplicates == 0)
    let places = followed(packets)
    for (old, new) in zip(places, places.dropFirst()) {
      #expect(new.time >= old.time && new.time - old.time < 90_000 * 2, "time goes on")
      if codec == .vp8 { #expect(new.picture >= old.picture, "pictures go on") }
    }
    #expect(call.brokenRules() == [])
  }

  /// A clock that leaps once, at a keyframe or before one: who watches sees pictures again at the next keyframe, and all of them.
  @Test(arguments: [1 << 31, 1 << 30, 90_000 * 3_600] as [UInt32])
  func aClockThatLeapsGoesOn(by ticks: UInt32) throws {
    let (call, anna, _, view) = try room(.vp8)
    call.track(anna) { $0.layers[0].timestampOffset &+= ticks }
    call.run(.seconds(2))
    let leapt = call.now
    call.run(.seconds(1))
    let stream = try #require(call.stream(view))
    #expect(stream.completed(since: leapt).count > 25)
    let times = followed(stream.ordered).map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 >= $0 && $1 - $0 < 90_000 * 2 })
  }

  /// Sound needs no keyframe.
  @Test func soundThatLeapsGoesOnAtOnce() throws {
    let call = try Call(seed: 9)
    let sound = call.publish(try call.join("anna"), .audio)
    let heard = call.subscribe(try call.join("bert"), to: sound)
    call.run(.seconds(1))
    for step in 0..<4 as Range<UInt32> {
      call.track(sound) { $0.layers[0].timestampOffset &-= 1_000_000_000 &+ step }
      call.run(.seconds(1))
    }
    let packets = try #require(call.stream(heard)).ordered
    #expect(packets.count > 240)
    let times = followed(packets).map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 < 4_800 })
    #expect(call.worker.counters.drops[.malformed] == 0)
  }

  /// Each packet of redundant sound brings eight that its publisher has left out: they count to its bound as others do.
  @Test func whatIsRestoredCountsAsSent() throws {
    let call = try Call(seed: 10)
    let anna = try call.join("anna")
    let sound = call.publish(anna, .audio)
    let heard = call.subscribe(try call.join("bert"), to: sound)
    call.run(.seconds(1))
    call.track(sound) { $0.isSending = false }
    call.run(.milliseconds(200))
    let layer = try #require(call.layers(sound).first)
    let before = try #require(call.stream(heard)).packets.count
    // An Opus packet of 2.5 ms, and eight before it.
    let block: [UInt8] = [0xe0]
    let earlier = (1...8).reversed().flatMap { RED.header(payloadType: 111, age: UInt32($0) * 120, length: 1) }
    let body = earlier + [111] + [UInt8](repeating: block[0], count: 9)
    let began = UInt32(truncatingIfNeeded: call.now.nanoseconds / 1_000 * 48 / 1_000)
    for number in 1...1_000 as ClosedRange<UInt32> {
      let header = RTPHeader(
        marker: false, payloadType: Agreed.redPayloadType,
        sequenceNumber: layer.sequence &+ UInt16(truncatingIfNeeded: number * 9),
        timestamp: layer.timestampOffset &+ began &+ number * 9 * 120, ssrc: layer.ssrc)
      anna.send(
        PlainPacket(header: header, ids: Agreed.publisherExtensions, body: body, sent: SentPacket()), at: call.now)
      call.run(.milliseconds(1))
    }
    call.run(.milliseconds(200))
    #expect(call.worker.counters.restored > 500)
    let least = PublisherBounds.leastBytes
    let most = (PublisherBounds.burstBytes + PublisherBounds.soundBitsPerSecond / 8 * 3 / 2) / least
    let sent = try #require(call.stream(heard)).packets.count - before
    #expect(sent > 1_000 && sent <= most, "\(sent) of 9,000, \(most) at most")
  }
}
