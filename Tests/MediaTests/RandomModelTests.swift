// Anything in any order: random commands, random networks, random and hostile datagrams. After each step the tables must be
// whole, and in the end empty.

import Basics
import Forwarding
import Media
import RTP
import Testing

struct RandomModelTests {
  @Test(arguments: Array(1...8) as [UInt64]) func anythingInAnyOrder(seed: UInt64) throws {
    var model = try RandomModel(seed: seed)
    var sealed = SealedNumbers()
    model.call.onDatagram = { [unowned call = model.call] path, bytes in
      if let peer = call.addresses[path.remote] { sealed.note(bytes, to: peer) }
    }
    for step in 0..<220 {
      let what = try model.step()
      let broken = model.brokenRules()
      try #require(broken.isEmpty, "seed \(seed), step \(step), \(what): \(broken)")
      try #require(sealed.twice == [], "seed \(seed), step \(step), \(what): a nonce was used twice")
    }
    #expect(sealed.count > 500)
    model.call.worker.closeAll(at: model.call.now)
    model.call.turn()
    #expect(model.call.leftovers() == [])
    #expect(model.call.sink.violations == 0)
    #expect(model.call.worker.counters.forwarded > 100)
  }

  /// The control of what is sealed: the same number is told again, another key, stream or kind is not.
  @Test func aNumberThatIsSealedTwiceIsSeen() {
    func packet(_ first: UInt8, _ second: UInt8, ssrc: UInt8, number: UInt8) -> [UInt8] {
      second == 200
        ? [first, second, 0, 7, 0, 0, 0, ssrc] + [UInt8](repeating: 9, count: 20) + [0x80, 0, 0, number]
        : [first, second, 0, number, 1, 2, 3, 4, 0, 0, 0, ssrc] + [UInt8](repeating: number, count: 30)
    }
    var sealed = SealedNumbers()
    for (peer, ssrc, number) in [(0, 1, 1), (0, 1, 2), (0, 2, 1), (1, 1, 1)] as [(Int, UInt8, UInt8)] {
      sealed.note(packet(0x80, 96, ssrc: ssrc, number: number), to: peer)
      sealed.note(packet(0x80, 200, ssrc: ssrc, number: number), to: peer)
    }
    #expect(sealed.twice == [] && sealed.count == 8)
    sealed.note(packet(0x80, 96, ssrc: 1, number: 2), to: 0)
    sealed.note(packet(0x80, 200, ssrc: 1, number: 1), to: 1)
    #expect(sealed.twice.count == 2)
  }

  /// What fits nothing is one counted drop and nothing else: no answer, no event, no change.
  @Test(arguments: [0x00, 0x01, 0x16, 0x14, 0x3f, 0x40, 0x80, 0x90, 0xb7, 0xff] as [UInt8])
  func garbageFromNowhereIsOneDropEach(first: UInt8) throws {
    let call = try Call()
    let nowhere = Path(remote: SocketAddress(v4: 0xcb00_7109, port: 9), socket: 0)
    for length in [0, 1, 2, 11, 12, 13, 19, 20, 28, 60, 1_200, 1_500, 2_048, 65_000] {
      for second in [0, 1, 0x60, 0xc8, 0xcd, 0xff] as [UInt8] {
        var bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: call.dice.next()) }
        if length > 0 { bytes[0] = first }
        if length > 1 { bytes[1] = second }
        let before = call.dropped
        call.inject(bytes, from: nowhere)
        #expect(call.dropped == before + 1)
      }
    }
    call.worker.flush(at: call.now, into: &call.sink)
    #expect(call.sink.calls == 0 && call.worker.takeEvents().isEmpty)
    #expect(call.leftovers() == [])
    #expect(call.worker.counters.packetsIn == 84)
  }

  /// An authentic peer may say anything: it harms nobody.
  @Test(arguments: [1, 2, 3] as [UInt64]) func authenticNonsenseIsDropped(seed: UInt64) throws {
    let call = try Call(seed: seed)
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let cleo = try call.join("cleo")
    let good = call.publish(anna, .video)
    let bad = call.publish(bert, .video, layers: [1, 1])
    let consumer = call.subscribe(cleo, to: good)
    call.subscribe(cleo, to: bad)
    call.run(.seconds(1))
    for _ in 0..<400 {
      bert.send(Nonsense.packet(call.layers(bad).map(\.ssrc), &call.dice), at: call.now)
      bert.sendRTCP(Nonsense.compound(cleo.streams.map(\.ssrc), &call.dice))
      call.run(.milliseconds(2))
      #expect(call.brokenRules() == [])
    }
    call.run(.milliseconds(300))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [] && stream.frames.count > 45)
  }

  /// A receiver that asks for everything again and again is not a lever against the server.
  @Test func retransmissionsAreBoundedByWhatWasSent() throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let video = call.publish(anna, .video, layers: [4])
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(2))
    let ssrc = try #require(call.stream(consumer)).ssrc
    let newest = UInt16(truncatingIfNeeded: try #require(call.stream(consumer)?.newest))
    let sent = call.worker.counters.forwarded
    for _ in 0..<50 {
      var compound: [UInt8] = []
      let numbers = (0..<400).map { newest &- 399 &+ UInt16($0) }
      RTCPBuilder.appendNACK(to: &compound, sender: 1, media: ssrc, numbers: numbers.span)
      bert.sendRTCP(compound)
    }
    call.run(.milliseconds(100))
    #expect(call.worker.counters.retransmitted > 50)
    #expect(call.worker.counters.retransmitted <= sent + 600)
    #expect(try #require(call.stream(consumer)).problems == [])
  }
}

/// Packets that are sealed well and mean nothing good.
enum Nonsense {
  static func packet(_ ssrcs: [UInt32], _ dice: inout SplitMix64) -> PlainPacket {
    var header = RTPHeader(
      marker: dice.chance(0.5), payloadType: [96, 97, 102, 103, 111, 5].randomElement(using: &dice) ?? 96,
      sequenceNumber: UInt16(truncatingIfNeeded: dice.next()), timestamp: UInt32(truncatingIfNeeded: dice.next()),
      ssrc: dice.chance(0.5) ? ssrcs.randomElement(using: &dice) ?? 1 : UInt32(truncatingIfNeeded: dice.next() % 50))
    if dice.chance(0.5) { header.extensions.mid = ExtensionTag(["0", "1", "xyz"].randomElement(using: &dice) ?? "0") }
    if dice.chance(0.5) {
      header.extensions.rid = ExtensionTag(["r0", "r1", "r9"].randomElement(using: &dice) ?? "r0")
    }
    let length = [0, 1, 2, 3, 10, 400, 1_300, 2_040].randomElement(using: &dice) ?? 0
    let body = (0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    return PlainPacket(
      header: header, ids: Agreed.publisherExtensions, body: body, sent: SentPacket(stamp: nil))
  }

  static func compound(_ ssrcs: [UInt32], _ dice: inout SplitMix64) -> [UInt8] {
    var bytes: [UInt8] = []
    let media = ssrcs.randomElement(using: &dice) ?? 0
    RTCPBuilder.appendPictureLoss(to: &bytes, sender: 1, media: media)
    RTCPBuilder.appendNACK(to: &bytes, sender: 1, media: media, numbers: [1, 2, 900].span)
    for _ in 0..<(dice.next() % 3) {
      let start = bytes.count
      bytes += (0..<40).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      bytes[start] = 0x80 | bytes[start] & 0x1f
      bytes[start + 1] = 200 + bytes[start + 1] % 9
      (bytes[start + 2], bytes[start + 3]) = (0, UInt8(dice.next() % 12))
    }
    return bytes
  }
}
