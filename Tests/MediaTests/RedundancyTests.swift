// Sound with earlier packets inside (RFC 2198), taken apart for each receiver.

import Basics
import Congestion
import Forwarding
import RTP
import Testing

@testable import Media

/// Publishers that send redundant sound, to receivers that know none.
struct RestoringTests {
  /// Anna publishes sound with so many earlier packets in each, Bert takes plain Opus.
  private func call(redundancy: Int) throws -> (Call, sound: ProducerKey, heard: ConsumerKey) {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let sound = call.publish(anna, .audio)
    call.track(sound) { $0.redundancy = redundancy }
    let heard = call.subscribe(bert, to: sound)
    call.run(.seconds(1))
    return (call, sound, heard)
  }

  /// Two packets of seven are lost on the way to the server, one behind the other.
  @Test(arguments: [(2, 0), (1, 1), (0, 2)])
  func whatIsLostStandsInLaterPackets(_ redundancy: Int, missingOfSeven: Int) throws {
    let (call, _, heard) = try call(redundancy: redundancy)
    call.loses = { _, packet in packet.stamp.map { $0.frame % 7 < 2 } ?? false }
    call.run(.seconds(7))
    call.loses = nil
    call.run(.milliseconds(200))
    let stream = try #require(call.stream(heard))
    let frames = stream.ordered.compactMap { $0.stamp?.frame }
    let (first, last) = (try #require(frames.first), try #require(frames.last))
    let lost = Int(last - first) + 1 - frames.count
    #expect(lost >= missingOfSeven * 49 && lost <= missingOfSeven * 51)
    #expect(call.worker.counters.restored == UInt64((2 - missingOfSeven) * 50))
    #expect(stream.unexpected == [] && stream.duplicates == 0)
    #expect(Set(stream.ordered.map(\.payloadType)) == [109])
    if missingOfSeven == 0 { #expect(stream.problems == []) }
    // Numbers stand for the packets that they stood for at the publisher, whether these came or not.
    let steps = zip(stream.ordered, stream.ordered.dropFirst()).map { old, new in
      Int64(new.timestamp &- old.timestamp) - 960 * Int64((new.stamp?.frame ?? 0) - (old.stamp?.frame ?? 0))
    }
    #expect(steps.allSatisfy { abs($0) < 480 })
  }

  /// What was only late is no loss of its publisher's line, and nobody is sent it twice. What was lost is one, restored or not.
  @Test(arguments: [false, true]) func whatComesAfterItWasRestored(isLost: Bool) throws {
    let (call, _, heard) = try call(redundancy: 1)
    let anna = call.peers[0]
    anna.uplink.reordering = isLost ? 0 : 0.1
    anna.uplink.reorderDelay = .milliseconds(30)
    anna.uplink.loss = isLost ? 0.1 : 0
    call.run(.seconds(10))
    (anna.uplink.reordering, anna.uplink.loss) = (0, 0)
    call.run(.seconds(3))
    let stream = try #require(call.stream(heard))
    #expect(call.worker.counters.restored > 20)
    #expect(stream.duplicates == 0)
    let report = try #require(anna.reportBlocks.last)
    if isLost {
      #expect(report.cumulativeLost > 20 && call.worker.counters.drops[.restoredBefore] == 0)
    } else {
      #expect(report.cumulativeLost == 0 && stream.problems == [])
      #expect(call.worker.counters.drops[.restoredBefore] == call.worker.counters.restored)
    }
  }

  /// What lines are given out by counts each sound once.
  @Test func redundancyIsNoPartOfATracksRate() throws {
    func rate(_ redundancy: Int) throws -> Int64 {
      let (call, sound, _) = try call(redundancy: redundancy)
      call.run(.seconds(2))
      let id = try #require(call.worker.directory.producers[sound])
      let encoding = call.worker.tracks.producers[id].encodings[0]
      return call.worker.tracks.encodings[encoding].encoding.rate.steadyBytesPerSecond(at: call.now)
    }
    let (plain, redundant) = (try rate(0), try rate(2))
    #expect(plain > 3_000 && abs(redundant - plain) < plain / 20)
  }

  /// The last packets before the end of a mute are lost, and stand in the first one behind it.
  @Test func nothingSaidIntoAMuteIsRestored() throws {
    let (call, sound, heard) = try call(redundancy: 2)
    call.apply(.setMuted(sound, true))
    let muted = call.now
    call.run(.milliseconds(500))
    let end = call.now + .milliseconds(100)
    // They are under way for 10 ms.
    let until = (end - .milliseconds(10)).nanoseconds
    call.loses = { _, packet in packet.stamp.map { (until - 40_000_000...until).contains($0.capture) } ?? false }
    call.run(.milliseconds(100))
    call.apply(.setMuted(sound, false))
    call.run(.milliseconds(100))
    call.loses = nil
    let stream = try #require(call.stream(heard))
    let captured = stream.packets.values.compactMap { $0.stamp?.capture }
    #expect(captured.contains { $0 > until })
    #expect(!captured.contains { (muted.nanoseconds...until).contains($0) })
    #expect(stream.problems == [])
    #expect(call.worker.counters.restored == 0)
  }

  @Test(
    arguments: [
      [0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2], [0xff, 0xff, 0xff], [0x6f], [UInt8](repeating: 0xef, count: 40),
    ] as [[UInt8]])
  func whatCannotBeReadIsCounted(_ body: [UInt8]) throws {
    let (call, sound, heard) = try call(redundancy: 0)
    let before = (call.worker.counters.drops[.malformed], try #require(call.stream(heard)).newest)
    call.track(sound) { $0.isSending = false }
    call.run(.milliseconds(100))
    let layer = try #require(call.layers(sound).first)
    let header = RTPHeader(
      marker: false, payloadType: Agreed.redPayloadType, sequenceNumber: layer.sequence, timestamp: 7, ssrc: layer.ssrc)
    call.peers[0].send(
      PlainPacket(header: header, ids: Agreed.publisherExtensions, body: body, sent: SentPacket()), at: call.now)
    call.run(.milliseconds(100))
    #expect(call.worker.counters.drops[.malformed] == before.0 + 1)
    #expect(call.worker.counters.restored == 0)
    #expect(try #require(call.stream(heard)).problems == [])
  }

  /// A block of another format than was agreed on, and one whose time does not fit: neither is taken for the packet before.
  @Test(arguments: [(UInt8(111), UInt32(960), true), (111, 1_920, false), (111, 959, false), (9, 960, false)])
  func onlyThePacketBeforeIsTakenForIt(_ inside: UInt8, age: UInt32, isTaken: Bool) throws {
    let (call, sound, _) = try call(redundancy: 0)
    let layer = try #require(call.layers(sound).first)
    call.track(sound) { $0.isSending = false }
    call.run(.milliseconds(100))
    let last = call.now
    let block: [UInt8] = [0x78] + [UInt8](repeating: 5, count: 60)
    let header = RTPHeader(
      marker: false, payloadType: Agreed.redPayloadType, sequenceNumber: call.layers(sound)[0].sequence &+ 1,
      timestamp: layer.timestampOffset &+ UInt32(truncatingIfNeeded: last.nanoseconds / 1_000 * 48 / 1_000),
      ssrc: layer.ssrc)
    let body = RED.header(payloadType: inside, age: age, length: block.count) + [111] + block + block
    call.peers[0].send(
      PlainPacket(header: header, ids: Agreed.publisherExtensions, body: body, sent: SentPacket()), at: call.now)
    call.run(.milliseconds(100))
    #expect(call.worker.counters.restored == (isTaken ? 1 : 0))
  }
}

/// Receivers whose lines lose sound, and what is added for them.
struct ProtectingTests {
  /// Anna publishes so many tracks of sound, Bert takes them and reports what arrives.
  private func call(
    tracks: Int = 1, hasRED: Bool = true, reports: Bool = true
  ) throws -> (call: Call, sounds: [ProducerKey], heard: [ConsumerKey]) {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert") { $0.reportsArrivals = reports }
    let sounds = (0..<tracks).map { _ in call.publish(anna, .audio) }
    let heard = sounds.map { call.subscribe(bert, to: $0, hasRED: hasRED) }
    call.run(.seconds(2))
    return (call, sounds, heard)
  }

  /// The share of packets captured in the last `duration`, less what is under way, that were heard, in one packet or another.
  private func share(_ stream: ReceivedStream, last duration: TimeDelta, _ call: Call) -> Double {
    let (start, end) = ((call.now - duration).nanoseconds, (call.now - .milliseconds(100)).nanoseconds)
    var heard: Set<UInt32> = []
    for packet in stream.packets.values {
      for stamp in packet.earlier + [packet.stamp].compactMap({ $0 }) where (start..<end).contains(stamp.capture) {
        heard.insert(stamp.frame)
      }
    }
    return Double(heard.count) / Double((end - start) / 20_000_000)
  }

  /// Packets with earlier ones among those that came in the last `duration`.
  private func redundant(_ stream: ReceivedStream, last duration: TimeDelta, _ call: Call) -> Double {
    let late = stream.packets.values.filter { $0.arrival > call.now - duration }
    return Double(late.count { !$0.earlier.isEmpty }) / Double(max(1, late.count))
  }

  /// The bar C6 in virtual time: of a fifth that is lost, hardly anything is missing. The control knows no RED.
  @Test(arguments: [true, false]) func aLossyLineHearsAlmostAll(hasRED: Bool) throws {
    let (call, _, heard) = try call(hasRED: hasRED)
    call.peers[1].downlink.loss = 0.2
    call.run(.seconds(30))
    let stream = try #require(call.stream(heard[0]))
    let share = share(stream, last: .seconds(25), call)
    #expect(hasRED ? share > 0.97 : share < 0.85, "\(share)")
    #expect(stream.unexpected == [] && stream.duplicates == 0)
    #expect(redundant(stream, last: .seconds(20), call) == (hasRED ? 1 : 0))
    #expect(hasRED == stream.ordered.contains { $0.earlier.count == 2 && $0.payloadType == 62 })
    // With the loss it goes, once.
    call.peers[1].downlink.loss = 0
    call.run(.seconds(60))
    let after = try #require(call.stream(heard[0]))
    #expect(redundant(after, last: .seconds(10), call) == 0)
    let kinds = after.ordered.map { min($0.earlier.count, 2) }
    #expect(zip(kinds, kinds.dropFirst()).count { $0 != $1 } <= 8)
  }

  @Test func aGoodLineGetsNone() throws {
    let (call, _, heard) = try call()
    call.run(.seconds(20))
    let stream = try #require(call.stream(heard[0]))
    #expect(stream.ordered.allSatisfy { $0.earlier.isEmpty && $0.payloadType == 109 } && stream.problems == [])
    #expect(call.worker.counters.redundant == 0)
  }

  /// What the publisher's line loses is no loss of a receiver's: neither for one that reports on numbers of the whole transport, nor for
  /// one that only sends receiver reports, in which it stands.
  @Test(arguments: [true, false]) func thePublishersLossAddsNothing(reports: Bool) throws {
    let (call, _, heard) = try call(reports: reports)
    call.peers[0].uplink.loss = 0.2
    for _ in 0..<20 {
      if !reports {
        let blocks = [
          ReportBlock(
            ssrc: try #require(call.stream(heard[0])).ssrc, fractionLost: 51, cumulativeLost: 100, highestSequence: 100,
            jitter: 0, lastReport: 0, delay: 0)
        ]
        var compound: [UInt8] = []
        RTCPBuilder.appendReceiverReport(to: &compound, ssrc: 7, blocks: blocks.span)
        call.peers[1].sendRTCP(compound)
      }
      call.run(.seconds(1))
    }
    #expect(try #require(call.stream(heard[0])).packets.count < 950)
    #expect(call.worker.counters.redundant == 0)
    // The control: the same share lost on the receiver's own line adds some where it is reported.
    call.peers[1].downlink.loss = 0.2
    call.run(.seconds(5))
    #expect((call.worker.counters.redundant > 0) == reports)
  }

  /// A publisher's mute at the server ends; nothing from before it goes along with what comes after.
  @Test(arguments: [TimeDelta.milliseconds(40), .milliseconds(120), .seconds(1)])
  func nothingFromBeforeAMuteGoesAlong(_ length: TimeDelta) throws {
    let (call, sounds, heard) = try call()
    call.track(sounds[0]) { $0.redundancy = 2 }
    call.peers[1].downlink.loss = 0.2
    call.run(.seconds(5))
    for _ in 0..<20 {
      call.apply(.setMuted(sounds[0], true))
      let muted = call.now.nanoseconds
      call.run(length)
      call.apply(.setMuted(sounds[0], false))
      // Ten milliseconds it is on its way to the server.
      let unmuted = call.now.nanoseconds - 10_000_000
      call.run(.milliseconds(300))
      let stream = try #require(call.stream(heard[0]))
      for packet in stream.packets.values where packet.stamp.map({ $0.capture >= unmuted }) ?? false {
        #expect(packet.earlier.allSatisfy { $0.capture >= unmuted })
      }
      let leaked = stream.packets.values.flatMap { $0.earlier + [$0.stamp].compactMap { $0 } }.filter {
        (muted..<unmuted - 20_000_000).contains($0.capture)
      }
      #expect(leaked.isEmpty)
    }
    #expect(redundant(try #require(call.stream(heard[0])), last: .seconds(3), call) > 0.5)
  }

  /// Three tracks on a line that loses a tenth and carries little more than they need: redundancy must not fill its queue. The control
  /// takes room for granted.
  @Test(arguments: [true, false]) func redundancyKeepsWithinTheLine(seesRoom: Bool) throws {
    let (call, _, heard) = try call(tracks: 3)
    let bert = call.peers[1]
    let id = try #require(call.worker.directory.transports[bert.key])
    call.worker.ends.transports[id].redundancy = RedundancyControl(seesRoom: seesRoom)
    (bert.downlink.rate, bert.downlink.loss) = (170_000, 0.1)
    call.run(.seconds(60))
    let delays = try heard.flatMap { key in
      try #require(call.stream(key)).packets.values.filter { $0.arrival > call.now - .seconds(40) }.compactMap {
        packet in packet.stamp.map { packet.arrival.nanoseconds - $0.capture }
      }
    }.sorted()
    let late = Double(delays[delays.count * 95 / 100]) / 1e6
    #expect(seesRoom ? late < 120 : late > 250, "\(late) ms for all but a twentieth")
  }

  /// Lines are given out with what is added: sound counts once, and what goes along besides.
  @Test func theAllocatorCountsIt() throws {
    let (call, _, _) = try call()
    let id = try #require(call.worker.directory.transports[call.peers[1].key])
    #expect(call.worker.ends.transports[id].downlink == nil, "sound alone is not measured")
    call.peers[1].downlink.loss = 0.2
    call.run(.seconds(10))
    #expect(call.worker.ends.transports[id].earlierPackets == 2)
    let isMeasured = call.worker.ends.transports[id].downlink != nil
    #expect(isMeasured, "what is added may be too much")
    #expect(call.worker.lines.protected == 1)
    // Video comes: from now on the line can be probed.
    let video = call.publish(call.peers[0], .video)
    call.subscribe(call.peers[1], to: video)
    let canProbe = call.worker.ends.transports[id].downlink?.canProbe
    #expect(canProbe == true)
  }
}
