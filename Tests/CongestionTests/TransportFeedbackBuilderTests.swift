import Basics
import Congestion
import RTP
import Testing

/// What one poll reports.
struct Reported: Equatable {
  var packets = 0
  /// Arrival in ticks of 250 µs by sequence number.
  var arrived: [UInt16: Int64] = [:]
  /// Numbers reported as not arrived.
  var lost: [UInt16] = []
  var counts: [UInt8] = []
}

func poll(_ builder: inout TransportFeedbackBuilder, at now: Instant) throws -> Reported {
  var bytes: [UInt8] = []
  var reported = Reported()
  reported.packets = builder.poll(at: now, sender: 1, media: 2, into: &bytes)
  var reader = RTCPReader()
  var found = 0
  while let packet = try reader.next(bytes.span) {
    guard case .transportFeedback(let feedback) = packet else { continue }
    found += 1
    reported.counts.append(feedback.feedbackCount)
    feedback.forEachReceived(bytes.span) { reported.arrived[$0] = $1 }
    for index in 0..<feedback.statusCount {
      let number = feedback.baseSequence &+ UInt16(truncatingIfNeeded: index)
      if reported.arrived[number] == nil { reported.lost.append(number) }
    }
  }
  #expect(found == reported.packets)
  return reported
}

func milliseconds(_ n: Int) -> Instant { Instant.zero + TimeDelta.milliseconds(n) }

@Suite struct TransportFeedbackBuilderTests {
  @Test func nothingIsDueWithoutPackets() throws {
    var builder = TransportFeedbackBuilder()
    #expect(builder.nextDeadline == .distantFuture)
    #expect(try poll(&builder, at: milliseconds(1_000)) == Reported())
  }

  /// Who has a clock of their own asks for what there is.
  @Test func whatWaitsIsReportedWhenAskedFor() {
    var builder = TransportFeedbackBuilder()
    var bytes: [UInt8] = []
    #expect(builder.report(sender: 1, media: 2, into: &bytes) == 0 && bytes.isEmpty)
    builder.record(7, at: milliseconds(1_000))
    #expect(builder.nextDeadline > milliseconds(1_001))
    #expect(builder.report(sender: 1, media: 2, into: &bytes) == 1 && !bytes.isEmpty)
    bytes = []
    #expect(
      builder.report(sender: 1, media: 2, into: &bytes) == 0 && bytes.isEmpty && builder.nextDeadline == .distantFuture)
  }

  @Test func aQuietSenderIsReportedAfterAHundredMilliseconds() throws {
    var builder = TransportFeedbackBuilder()
    builder.record(10, at: milliseconds(1_000))
    builder.record(11, at: milliseconds(1_020))
    #expect(builder.nextDeadline == milliseconds(1_100))
    #expect(try poll(&builder, at: milliseconds(1_099)) == Reported())
    let reported = try poll(&builder, at: milliseconds(1_100))
    #expect(reported == Reported(packets: 1, arrived: [10: 4_000, 11: 4_080], counts: [0]))
    #expect(builder.nextDeadline == .distantFuture)
  }

  @Test func aBusySenderIsReportedAfterFifty() throws {
    var builder = TransportFeedbackBuilder()
    for number in 0..<15 { builder.record(UInt16(number), at: milliseconds(1_000 + number)) }
    #expect(builder.nextDeadline == milliseconds(1_050))
    #expect(try poll(&builder, at: milliseconds(1_050)).arrived.count == 15)
  }

  @Test func lossesBetweenReportsAreToldAndTheWrapIsFollowed() throws {
    var builder = TransportFeedbackBuilder()
    builder.record(65_534, at: milliseconds(0))
    #expect(try poll(&builder, at: milliseconds(100)).arrived.keys.sorted() == [65_534])
    builder.record(1, at: milliseconds(120))
    builder.record(0, at: milliseconds(121))
    let second = try poll(&builder, at: milliseconds(220))
    #expect(second == Reported(packets: 1, arrived: [0: 484, 1: 480], lost: [65_535], counts: [1]))
  }

  @Test func aLatePacketIsReportedAgainAndARepetitionChangesNothing() throws {
    var builder = TransportFeedbackBuilder()
    builder.record(1, at: milliseconds(0))
    builder.record(3, at: milliseconds(2))
    #expect(try poll(&builder, at: milliseconds(100)).lost == [2])
    builder.record(2, at: milliseconds(110))
    builder.record(3, at: milliseconds(111))
    let late = try poll(&builder, at: milliseconds(210))
    #expect(late == Reported(packets: 1, arrived: [2: 440, 3: 8], counts: [1]))
    builder.record(3, at: milliseconds(300))
    #expect(builder.nextDeadline == .distantFuture)
  }

  @Test func whatIsOlderThanTheWindowIsIgnored() throws {
    var builder = TransportFeedbackBuilder()
    builder.record(5_000, at: milliseconds(0))
    #expect(try poll(&builder, at: milliseconds(100)).packets == 1)
    builder.record(2_952, at: milliseconds(101))
    #expect(builder.nextDeadline == .distantFuture)
    builder.record(2_953, at: milliseconds(101))
    let reported = try poll(&builder, at: milliseconds(201))
    #expect(reported.arrived.keys.sorted() == [2_953, 5_000])
  }

  @Test(arguments: [1, 100, 2_046, 2_047, 2_048, 2_049, 5_000, 32_767] as [UInt16])
  func aGapOfAnyLengthIsBridged(gap: UInt16) throws {
    var builder = TransportFeedbackBuilder()
    builder.record(100, at: milliseconds(0))
    #expect(try poll(&builder, at: milliseconds(100)).packets == 1)
    builder.record(100 &+ gap, at: milliseconds(200))
    let reported = try poll(&builder, at: milliseconds(300))
    #expect(reported.arrived == [100 &+ gap: 800])
    #expect(reported.lost.count == min(Int(gap) - 1, 2_047))
  }

  @Test func aPauseLongerThanADeltaSplitsTheFeedback() throws {
    var builder = TransportFeedbackBuilder()
    builder.record(1, at: milliseconds(0))
    builder.record(2, at: milliseconds(9_000))
    let reported = try poll(&builder, at: milliseconds(9_000))
    #expect(reported == Reported(packets: 2, arrived: [1: 0, 2: 36_000], counts: [0, 1]))
  }

  @Test func theReferenceTimeWrapsWithoutHarm() throws {
    var builder = TransportFeedbackBuilder()
    let late = Instant.zero + .milliseconds(64) * 0x80_0000 + .milliseconds(1)
    builder.record(1, at: late)
    builder.record(2, at: late + .milliseconds(5))
    let reported = try poll(&builder, at: late + .milliseconds(100))
    // 24 signed bits of 64 ms: the reference comes out at its negative end.
    let first = try #require(reported.arrived[1])
    let second = try #require(reported.arrived[2])
    #expect(first == -0x80_0000 * 256 + 4)
    #expect(second - first == 20)
  }

  /// A lossy, reordering path for many reports: each packet that came is told with its arrival, none that did not.
  @Test(arguments: 0..<6)
  func everyArrivalIsToldOnce(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var builder = TransportFeedbackBuilder()
    var now = Instant.zero
    var arrived: [UInt16: Int64] = [:]
    var told: [UInt16: Int64] = [:]
    var queue: [(at: Instant, number: UInt16)] = []
    let loss = UInt64(random.next() % 50)
    for index in 0..<20_000 {
      now += TimeDelta.microseconds(Int(random.next() % 2_000))
      if random.next() % 100 >= loss {
        queue.append(
          (now + TimeDelta.microseconds(Int(random.next() % 20_000)), UInt16(truncatingIfNeeded: 60_000 + index)))
      }
      for entry in queue where entry.at <= now {
        builder.record(entry.number, at: now)
        arrived[entry.number] = now.nanoseconds / 250_000
      }
      queue.removeAll { $0.at <= now }
      guard now >= builder.nextDeadline else { continue }
      let reported = try poll(&builder, at: now)
      #expect(reported.packets > 0)
      for (number, ticks) in reported.arrived { told[number] = ticks }
      #expect(reported.lost.allSatisfy { arrived[$0] == nil })
    }
    for (number, ticks) in try poll(&builder, at: now + .milliseconds(100)).arrived { told[number] = ticks }
    #expect(told == arrived)
  }
}
