// Payloads that are encrypted from end to end: the server forwards what it can tell apart, by what is left in the clear.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

struct EncryptedPayloadTests {
  /// AV1 that is encrypted from end to end: some payloads cannot be read, others seem to begin a sequence. The descriptor decides.
  @Test(arguments: [0x88, 0x18, 0x10] as [UInt8]) func theDescriptorDecides(_ first: UInt8) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video, codec: .av1)
    call.track(video) { $0.garbled = first }
    call.run(.seconds(1))
    let bert = try call.join("bert")
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(3))
    let stream = try #require(call.stream(consumer))
    #expect(stream.frames.count > 60 && stream.problems == [])
    #expect(stream.ordered.first?.stamp?.isKeyframe == true)
    #expect(call.worker.counters.drops[.malformed] == 0)
  }

  /// Without a descriptor what cannot be read is dropped, as before.
  @Test func withoutADescriptorItIsDropped() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video, codec: .av1)
    call.track(video) {
      $0.garbled = 0x88
      $0.describes = false
    }
    let consumer = call.subscribe(try call.join("bert"), to: video)
    call.run(.seconds(2))
    #expect(call.stream(consumer)?.frames.isEmpty == true && call.worker.counters.drops[.malformed] > 50)
  }

  /// H264 of which only the first byte of each NAL unit is in the clear: whatever the next one seems to say, a stream begins where a picture
  /// of its own does, and with the first one that is asked for.
  @Test(arguments: [(0x88, false), (0x43, false), (0x88, true), (0x43, true), (0x00, true)] as [(UInt8, Bool)])
  func h264BeginsWhateverItsSlicesSeemToSay(_ byte: UInt8, _ setsApart: Bool) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let video = call.publish(anna, .video, codec: .h264ConstrainedBaseline)
    call.track(video) { ($0.garbledUnits, $0.setsApart) = (byte, setsApart) }
    call.run(.seconds(1))
    let consumer = call.subscribe(try call.join("bert"), to: video)
    call.run(.seconds(3))
    let stream = try #require(call.stream(consumer))
    #expect(stream.frames.count > 60 && stream.problems == [])
    #expect(stream.ordered.first?.stamp?.isKeyframe == true)
    #expect(call.layers(video)[0].requests <= 1 && call.worker.counters.drops[.malformed] == 0)
  }

  /// Encrypted H264 passes as long as its first byte of each NAL unit is left alone, which packetization needs; RED passes as long as its
  /// block headers are.
  @Test func whatIsLeftInTheClearOfREDIsNeeded() {
    let table = PayloadTable([PayloadMapping(payloadType: 111, codec: .opus, redPayloadType: 63)])
    let encryptedInside: [UInt8] = RED.header(age: 960, length: 4) + [111] + [9, 9, 9, 9] + [7, 7]
    #expect(table.ownSound(0..<encryptedInside.count, in: encryptedInside.span) == 9..<11)
    let encryptedWhole: [UInt8] = [0x2a, 0x91, 0x55, 0xc3, 0x10, 0x77]
    #expect(table.ownSound(0..<encryptedWhole.count, in: encryptedWhole.span) == nil)
  }
}
