// Streams of which not every packet is opened: losses are still counted, and what is opened must be what numbers say.

import Basics
import RTP
import RoostProtocol
import Testing

@testable import SyntheticParticipant

/// A receiver of one sound, and the packets that come for it.
private struct Listener {
  static let identity = PayloadStamp.identity(user: "anna", label: "microphone")
  var receiver = MediaReceiver(ssrc: 9, cname: "ben")
  var now = Instant.zero

  init() {
    receiver.setLines([
      ReceiveLine(
        mid: "0", subscriptionId: "s", trackId: "t", participantId: "p", user: "anna", identity: Self.identity,
        kind: .audio, ssrc: 7, rtxSSRC: nil, codecs: [111: .opus], repairs: [:], extensions: HeaderExtensionIDs())
    ])
  }

  var counts: ReceiveStatistics { receiver.streams[0].statistics }

  /// The packet with this number, whose sender says that it is his `ordinal`th.
  private func packet(_ number: UInt16, ordinal: UInt32, identity: UInt64) -> [UInt8] {
    let payload = PayloadStamp.audioOffset + PayloadStamp.length
    var bytes = [UInt8](repeating: 0, count: 12 + payload)
    var span = bytes.mutableSpan
    span.store(UInt16(0x806f), at: 0)
    span.store(number, at: 2)
    span.store(ordinal &* 960, at: 4)
    span.store(UInt32(7), at: 8)
    let stamp = PayloadStamp(
      identity: identity, sentAt: now, frame: ordinal, packet: 0, packets: 1,
      payloadLength: UInt16(payload), layer: 0, isKeyframe: false, ordinal: ordinal)
    stamp.write(into: &span, at: 12 + PayloadStamp.audioOffset)
    return bytes
  }

  mutating func hear(_ number: UInt16, ordinal: UInt32? = nil, identity: UInt64 = identity, isStamped: Bool = true) {
    var bytes = packet(number, ordinal: ordinal ?? UInt32(number), identity: identity)
    if !isStamped { bytes[12 + PayloadStamp.audioOffset] = 0 }
    var span = bytes.mutableSpan
    receiver.receive(&span, length: span.count, at: now)
  }

  mutating func glance(_ numbers: ClosedRange<UInt16>) {
    for number in numbers {
      let bytes = packet(number, ordinal: 0, identity: 0)
      // What the sealed rest says is not known.
      receiver.glance(bytes.span.extracting(0..<12), length: bytes.count, at: now)
    }
  }

  /// One whose stream flows: packets 1 to 3 have come.
  static var settled: Listener {
    var listener = Listener()
    for number: UInt16 in 1...3 { listener.hear(number) }
    let isFlowing = listener.receiver.isFlowing()
    #expect(isFlowing)
    return listener
  }
}

@Suite struct SpotCheckTests {
  @Test func nothingIsGlancedAtBeforeItFlows() {
    var listener = Listener()
    let empty = listener.receiver.isFlowing()
    listener.hear(1)
    let begun = listener.receiver.isFlowing()
    #expect(!empty && begun)
  }

  @Test func whatIsGlancedAtCounts() {
    var listener = Listener.settled
    listener.glance(4...50)
    listener.hear(51)
    listener.glance(52...60)
    let counts = listener.counts
    #expect(counts.packets == 60 && counts.expected == 60 && counts.lastOrdinal == 60 && counts.isClean)
    #expect(counts.bytes == 60 * UInt64(PayloadStamp.audioOffset + PayloadStamp.length))
  }

  @Test func aLossAmongThemIsFoundAndGivenUp() {
    var listener = Listener.settled
    listener.glance(4...5)
    listener.glance(8...9)
    var compound: [UInt8] = []
    var numbers: [UInt16] = []
    var stream = listener.receiver.streams[0]
    stream.poll(at: listener.now, sender: 9, numbers: &numbers, compound: &compound)
    #expect(listener.counts.missing == 2 && compound.isEmpty, "nothing is asked for that could not be read")
    listener.now += ReceiveStream.patience
    listener.hear(10)
    let counts = listener.counts
    #expect(counts.packets == 8 && counts.expected == 10 && counts.lost == 2 && counts.missing == 0)
    #expect(counts.unmarkedGaps == 0)
  }

  @Test func aRepetitionAmongThemIsADuplicate() {
    var listener = Listener.settled
    listener.glance(4...5)
    listener.glance(4...4)
    #expect(listener.counts.duplicates == 1 && listener.counts.packets == 5)
  }

  @Test func aServerThatRenumbersIsFound() {
    var listener = Listener.settled
    listener.glance(4...9)
    listener.hear(10, ordinal: 12)
    #expect(listener.counts.unmarkedGaps == 1)
    listener.glance(11...12)
    listener.hear(13, ordinal: 15)
    #expect(listener.counts.unmarkedGaps == 1, "told once")
    #expect(listener.counts.packets == 13 && listener.counts.expected == 15, "and two packets are lost")
  }

  @Test func aMuteIsNoLoss() {
    var listener = Listener.settled
    listener.glance(4...9)
    listener.receiver.expectJump(trackId: "t")
    listener.hear(10, ordinal: 500)
    listener.hear(11, ordinal: 501)
    #expect(listener.counts.unmarkedGaps == 0 && listener.counts.resumptions == 1)
    #expect(listener.counts.expected == 11 && listener.counts.lastOrdinal == 501)
    listener.hear(12, ordinal: 600)
    #expect(listener.counts.unmarkedGaps == 1, "a mute excuses one jump")
  }

  @Test func numbersMayWrap() {
    var listener = Listener()
    for step: UInt32 in 0...2 { listener.hear(UInt16(65_531 + step), ordinal: 1 + step) }
    let isFlowing = listener.receiver.isFlowing()
    listener.glance(65_534...65_535)
    listener.glance(0...3)
    listener.hear(4, ordinal: 10)
    #expect(isFlowing && listener.counts.isClean && listener.counts.packets == 10 && listener.counts.expected == 10)
  }

  @Test func aStreamThatIsBeingRepairedIsNotGlancedAt() {
    var listener = Listener()
    for number: UInt16 in [1, 2, 4] { listener.hear(number) }
    let before = listener.receiver.isFlowing()
    listener.hear(3)
    let after = listener.receiver.isFlowing()
    #expect(!before && after)
  }

  @Test func aStreamThatEndedBeforeItFlowedIsLeftAlone() {
    var listener = Listener()
    listener.receiver.setLines([])
    listener.glance(1...9)
    #expect(listener.counts.packets == 0 && listener.counts.glanced == 0 && listener.counts.isClean)
  }

  @Test func oneThatIsOpenedStandsForThoseThatAreNot() {
    var listener = Listener.settled
    listener.glance(4...18)
    listener.receiver.standsFor = 16
    listener.hear(19)
    #expect(listener.receiver.audioLatency.count == 3 + 16)
    #expect(listener.counts.glanced == 15)
  }

  @Test func somebodyElsesPacketIsFound() {
    var listener = Listener.settled
    listener.glance(4...9)
    listener.hear(10, identity: 1)
    #expect(listener.counts.wrongStream == 1)
  }

  @Test func aDestroyedStampIsFound() {
    var listener = Listener.settled
    listener.glance(4...9)
    listener.hear(10, isStamped: false)
    #expect(listener.counts.malformedFrames == 1)
  }

  @Test func anUnknownStreamIsCounted() {
    var listener = Listener.settled
    var bytes: [UInt8] = [0x80, 111, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8]
    listener.receiver.glance(bytes.span, length: 100, at: listener.now)
    bytes[0] = 0
    listener.receiver.glance(bytes.span, length: 100, at: listener.now)
    #expect(listener.receiver.unknownSSRC == 2 && listener.counts.packets == 3)
  }

  @Test func aNewSubscriptionIsWaitedFor() {
    var listener = Listener.settled
    var lines = listener.receiver.streams.map(\.line)
    lines.append(lines[0])
    lines[1].subscriptionId = "another"
    lines[1].ssrc = 8
    listener.receiver.setLines(lines)
    let isFlowing = listener.receiver.isFlowing()
    #expect(!isFlowing)
  }
}
