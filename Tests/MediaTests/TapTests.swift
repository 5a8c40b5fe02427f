// A tap: a second kind of end beside consumers. It is given what came of a track, byte for byte.

import Basics
import Forwarding
import RTP
import Testing

@testable import Media

/// Keeps what taps are given, or refuses it.
private struct TapRecorder: TapSink {
  var isFull = false
  var packets: [(facts: TappedPacket, rtp: [UInt8])] = []

  mutating func write(_ packet: TappedPacket, _ rtp: Span<UInt8>) -> Bool {
    if isFull { return false }
    packets.append((packet, rtp.withUnsafeBufferPointer { Array($0) }))
    return true
  }

  var ways: [TappedPacket.Way: Int] { packets.reduce(into: [:]) { $0[$1.facts.way, default: 0] += 1 } }
}

struct TapTests {
  /// What a packet is, besides its header extensions.
  private struct Said: Equatable {
    let marker: Bool
    let payloadType: UInt8
    let sequence: UInt16
    let timestamp: UInt32
    let ssrc: UInt32
    let payload: [UInt8]

    init?(_ rtp: [UInt8]) {
      guard let view = try? PacketView.parse(rtp.span).strippingPadding(rtp.span) else { return nil }
      (marker, payloadType, sequence) = (view.marker, view.payloadType, view.sequenceNumber)
      (timestamp, ssrc, payload) = (view.timestamp, view.ssrc, Array(rtp[view.payload]))
    }
  }

  /// Runs a call, and drains taps as often as a worker's loop turns.
  private func run(_ call: Call, _ duration: TimeDelta, into recorder: inout TapRecorder) {
    let end = call.now + duration
    while call.now < end {
      call.run(.milliseconds(20))
      call.worker.drainTaps(into: &recorder)
    }
  }

  @Test(arguments: [[2], [1, 2]]) func whatAPublisherSentArrivesByteForByte(layers: [Int]) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    var sent: [[UInt8]: [UInt8]] = [:]
    // By SSRC and number.
    anna.onPacket = { rtp in sent[Array(rtp[8..<12] + rtp[2..<4])] = rtp }
    let video = call.publish(anna, .video, layers: layers)
    let consumer = call.subscribe(bert, to: video)
    var recorder = TapRecorder()
    call.apply(.openTap(TapKey(7), video))
    run(call, .seconds(1), into: &recorder)
    anna.uplink = .losing(0.1)
    run(call, .seconds(4), into: &recorder)
    anna.uplink = .good
    run(call, .seconds(1), into: &recorder)
    let media = Set(call.layers(video).map(\.ssrc))
    var numbers: [Int: [Int64]] = [:]
    for (facts, rtp) in recorder.packets {
      let said = try #require(Said(rtp))
      #expect(facts.tap == TapKey(7) && facts.lost == 0 && media.contains(said.ssrc))
      #expect(call.layers(video)[facts.place].ssrc == said.ssrc)
      #expect(said.sequence == UInt16(truncatingIfNeeded: facts.number))
      numbers[facts.place, default: []].append(facts.number)
      let original = try #require(sent[Array(rtp[8..<12] + rtp[2..<4])])
      if facts.way == .plain { #expect(rtp == original) } else { #expect(Said(original) == said) }
    }
    #expect(recorder.ways[.unwrapped, default: 0] > 20 && recorder.ways[.restored] == nil)
    // Each once, and none is missing in the end. What was lost stands where it came.
    #expect(numbers.count == layers.count)
    for of in numbers.values {
      let (least, most) = (try #require(of.min()), try #require(of.max()))
      #expect(of.count == Int(most - least) + 1 && Set(of).count == of.count && of != of.sorted())
    }
    let arrivals = recorder.packets.map(\.facts.arrival)
    #expect(arrivals == arrivals.sorted() && arrivals.count > 300)
    #expect(call.stream(consumer)?.problems == [])
  }

  @Test func soundThatStoodInLaterPacketsIsRestoredInItsPlace() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let sound = call.publish(anna, .audio)
    call.track(sound) { $0.redundancy = 2 }
    call.subscribe(bert, to: sound)
    var recorder = TapRecorder()
    call.apply(.openTap(TapKey(1), sound))
    anna.uplink = .losing(0.1)
    run(call, .seconds(6), into: &recorder)
    #expect(recorder.ways[.restored, default: 0] > 15 && recorder.ways[.unwrapped, default: 0] > 200)
    var (frame, clock) = (Int64?.none, Int64?.none)
    for (facts, rtp) in recorder.packets {
      let said = try #require(Said(rtp))
      #expect(said.payloadType == Agreed.payloadType(.opus) && said.ssrc == call.layers(sound)[0].ssrc)
      let stamp = try #require(Stamp(said.payload[TestPayload.stampOffset(.opus)...]))
      // Numbers, sounds and time stamps go together, however a packet came.
      let place = Int64(stamp.frame) - facts.number
      #expect(frame ?? place == place)
      frame = place
      let time = Int64(said.timestamp &- UInt32(truncatingIfNeeded: stamp.capture / 1_000 * 48 / 1_000))
      #expect(abs((clock ?? time) - time) <= 1)
      clock = clock ?? time
    }
    // What was restored goes before the packet that held it.
    for (index, packet) in recorder.packets.enumerated() where packet.facts.way == .restored {
      let next = try #require(recorder.packets[(index + 1)...].first { $0.facts.way != .restored })
      #expect(next.facts.number > packet.facts.number && next.facts.arrival == packet.facts.arrival)
    }
  }

  @Test func whatASinkDoesNotTakeIsDroppedAndCounted() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let video = call.publish(anna, .video, layers: [8])
    let consumer = call.subscribe(bert, to: video)
    var recorder = TapRecorder(isFull: true)
    call.apply(.openTap(TapKey(1), video))
    run(call, .seconds(4), into: &recorder)
    let dropped = call.worker.counters.drops[.backlogFull]
    #expect(recorder.packets.isEmpty && dropped > 100)
    recorder.isFull = false
    call.worker.drainTaps(into: &recorder)
    run(call, .seconds(1), into: &recorder)
    #expect(call.worker.counters.drops[.backlogFull] == dropped)
    let numbers = recorder.packets.map(\.facts.number)
    // The oldest are there, then those that came when there was room again. The first of these says how many are missing.
    let gap = try #require(zip(numbers, numbers.dropFirst()).enumerated().first { $1.1 - $1.0 > 1 })
    #expect(gap.element.1 - gap.element.0 - 1 == Int64(dropped))
    #expect(recorder.packets[gap.offset].facts.lost == 0 && recorder.packets[gap.offset + 1].facts.lost == dropped)
    #expect(Set(numbers).count == numbers.count && numbers == numbers.sorted())
    #expect(call.stream(consumer)?.problems == [])
  }

  @Test func aMutedTrackIsSilentAndAClosedTapIsOver() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let sound = call.publish(anna, .audio)
    var recorder = TapRecorder()
    call.apply(.openTap(TapKey(1), sound))
    run(call, .seconds(1), into: &recorder)
    #expect(recorder.packets.count > 40, "nobody else has to be there")
    call.apply(.setMuted(sound, true))
    let before = recorder.packets.count
    run(call, .seconds(1), into: &recorder)
    #expect(recorder.packets.count == before)
    call.apply(.setMuted(sound, false))
    run(call, .seconds(1), into: &recorder)
    #expect(recorder.packets.count > before + 40)
    call.apply(.closeTap(TapKey(1)))
    let stale = call.worker.counters.staleCommands
    let last = recorder.packets.count
    run(call, .seconds(1), into: &recorder)
    #expect(recorder.packets.count == last)
    for command in [WorkerCommand.closeTap(TapKey(1)), .openTap(TapKey(2), ProducerKey(9))] { call.apply(command) }
    #expect(call.worker.counters.staleCommands == stale + 2)
    // A track that ends while it is tapped.
    call.apply(.openTap(TapKey(3), sound))
    call.stopPublishing(sound)
    run(call, .milliseconds(100), into: &recorder)
    call.apply(.closeTap(TapKey(3)))
    #expect(call.worker.counters.staleCommands == stale + 2)
  }

  /// The ring that copies wait in, against a list.
  @Test func aBacklogIsAQueue() {
    var dice = SplitMix64(seed: 3)
    var backlog = CopyBacklog<Int>(packets: 7, bytes: 100)
    var model: [(Int, [UInt8])] = []
    var refused = 0
    for number in 0..<4_000 {
      let bytes = (0..<Int(dice.next() % 20)).map { UInt8(truncatingIfNeeded: number + $0) }
      let (head, body) = (Array(bytes.prefix(5)), Array(bytes.dropFirst(5)))
      let isKept = head.withUnsafeBytes { head in body.withUnsafeBytes { backlog.append(number, head, $0) } }
      // Space at the end of the ring may stay unused, and what is free may be in two pieces.
      let waiting = model.reduce(0) { $0 + $1.1.count }
      if model.count < 7 && waiting + 2 * bytes.count + 20 <= 100 { #expect(isKept) }
      if model.count == 7 || waiting + bytes.count > 100 { #expect(!isKept) }
      if isKept { model.append((number, bytes)) } else { refused += 1 }
      var left = Int(dice.next() % 3)
      backlog.drain { facts, copy in
        guard left > 0 else { return false }
        left -= 1
        let expected = model.removeFirst()
        #expect(facts == expected.0 && copy.withUnsafeBufferPointer { Array($0) } == expected.1)
        return true
      }
      #expect(backlog.count == model.count)
    }
    #expect(refused > 100)
  }
}
