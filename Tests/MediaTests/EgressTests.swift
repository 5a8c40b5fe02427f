// How packets of one receiver become send calls: runs of equal size, each as long as the kernel takes.

import Basics
import Forwarding
import Glibc
import Testing

@testable import Media

struct EgressTests {
  struct Grouping: Sendable, CustomTestStringConvertible {
    let what: String
    let lengths: [Int]
    /// Segments of each expected call.
    let calls: [Int]
    var testDescription: String { what }
  }

  static let groupings = [
    Grouping(what: "nothing", lengths: [], calls: []),
    Grouping(what: "one", lengths: [100], calls: [1]),
    Grouping(what: "equal ones together", lengths: [500, 500, 500], calls: [3]),
    Grouping(what: "a shorter one ends its run", lengths: [500, 500, 20, 500], calls: [3, 1]),
    Grouping(what: "a longer one begins another", lengths: [20, 500, 500], calls: [1, 2]),
    Grouping(what: "all different", lengths: [10, 20, 30, 20, 10], calls: [1, 1, 2, 1]),
    Grouping(what: "64 segments and no more", lengths: Array(repeating: 100, count: 130), calls: [64, 64, 2]),
    Grouping(what: "no more bytes than a datagram holds", lengths: Array(repeating: 1_400, count: 50), calls: [46, 4]),
    Grouping(
      what: "long ones fill the buffer", lengths: Array(repeating: 1_436, count: 200), calls: [45, 45, 45, 45, 20]),
  ]

  @Test(arguments: groupings) func runsOfEqualSizeAreOneCall(_ grouping: Grouping) {
    var buffer = SegmentBuffer()
    var sink = RunSink()
    let path = Path(remote: SocketAddress(v4: 1, port: 2), socket: 0)
    var report = SendReport()
    for (number, length) in grouping.lengths.enumerated() {
      #expect(buffer.free.count >= 1_500)
      fill(&buffer, length, UInt8(truncatingIfNeeded: number))
      buffer.append(length, to: path, sink: &sink, report: &report)
    }
    buffer.finish(sink: &sink, report: &report)
    buffer.send(into: &sink, report: &report)
    #expect(sink.runs == grouping.calls)
    #expect(sink.lengths == grouping.lengths)
    #expect(sink.numbers == grouping.lengths.indices.map { UInt8(truncatingIfNeeded: $0) })
    #expect(report.sends == UInt64(grouping.calls.count))
    #expect(report.packets == UInt64(grouping.lengths.count))
    #expect(report.bytes == UInt64(grouping.lengths.reduce(0, +)))
  }

  /// Many receivers are sealed for before anything is sent; each gets his own packets, in their order, whatever fills the
  /// buffer meanwhile.
  @Test func receiversShareTheBufferAndNothingElse() {
    var buffer = SegmentBuffer()
    var sink = RunSink()
    var report = SendReport()
    var dice = SplitMix64(seed: 4)
    var sent: [UInt16: [UInt8]] = [:]
    for round in 0..<2_000 {
      let receiver = UInt16.random(in: 1...40, using: &dice)
      let path = Path(remote: SocketAddress(v4: 1, port: receiver), socket: 0)
      for _ in 0..<Int.random(in: 1...70, using: &dice) {
        let length = [40, 1_200, 1_436].randomElement(using: &dice) ?? 40
        let mark = UInt8(truncatingIfNeeded: sent[receiver, default: []].count)
        fill(&buffer, length, mark)
        sent[receiver, default: []].append(mark)
        buffer.append(length, to: path, sink: &sink, report: &report)
        #expect(buffer.free.count >= SegmentBuffer.reserve - 1_436)
      }
      buffer.finish(sink: &sink, report: &report)
      if round % 50 == 0 { buffer.send(into: &sink, report: &report) }
    }
    buffer.send(into: &sink, report: &report)
    #expect(sink.byReceiver == sent)
    #expect(sink.torn == 0)
    #expect(report.packets == UInt64(sent.values.reduce(0) { $0 + $1.count }))
    #expect(report.sends == UInt64(sink.runs.count) && sink.runs.allSatisfy { $0 <= SegmentBuffer.maximumSegments })
  }

  /// Datagrams that are whole leave as they are and in their place, though more are put in than the buffer holds.
  @Test func wholeDatagramsKeepTheirPlace() {
    var buffer = SegmentBuffer()
    var sink = RunSink()
    var report = SendReport()
    let path = Path(remote: SocketAddress(v4: 1, port: 1), socket: 0)
    var lengths: [Int] = []
    for round in 0..<400 {
      let datagram = [UInt8](repeating: 1, count: 1_000 + round)
      let isTaken = buffer.append(datagram.span, to: path, sink: &sink, report: &report)
      #expect(isTaken)
      // A run that is open when the next datagram comes ends before it.
      fill(&buffer, 500, 2)
      buffer.append(500, to: path, sink: &sink, report: &report)
      lengths += [1_000 + round, 500]
    }
    buffer.finish(sink: &sink, report: &report)
    let before = sink.lengths.count
    buffer.send(into: &sink, report: &report)
    #expect(before > 0 && before < lengths.count)
    #expect(sink.lengths == lengths && sink.torn == 0)
    #expect(report.packets == 800 && report.sends == 800 && report.failed == 0)
  }

  @Test(arguments: [0, 400_000]) func whatIsNoDatagramIsRefused(_ length: Int) {
    var buffer = SegmentBuffer()
    var sink = RunSink()
    var report = SendReport()
    let path = Path(remote: SocketAddress(v4: 1, port: 1), socket: 0)
    let datagram = [UInt8](repeating: 1, count: length)
    let isTaken = buffer.append(datagram.span, to: path, sink: &sink, report: &report)
    buffer.send(into: &sink, report: &report)
    #expect(!isTaken && sink.lengths.isEmpty && report.sends == 0)
  }

  private func fill(_ buffer: inout SegmentBuffer, _ length: Int, _ byte: UInt8) {
    UnsafeMutableBufferPointer(rebasing: buffer.free[..<length]).update(repeating: byte)
  }

  private struct RunSink: DatagramSink {
    var byReceiver: [UInt16: [UInt8]] = [:]
    /// Datagrams whose bytes are not all those of one packet.
    var torn = 0
    var runs: [Int] = []
    var lengths: [Int] = []
    var numbers: [UInt8] = []
    mutating func send(_ bytes: UnsafeRawBufferPointer, segment: Int, to path: Path) -> DropReason? {
      var start = 0
      var count = 0
      while start < bytes.count {
        let end = min(start + segment, bytes.count)
        lengths.append(end - start)
        numbers.append(bytes[start])
        byReceiver[path.remote.port, default: []].append(bytes[start])
        // Each byte is the one before it.
        let first = bytes.baseAddress.map { $0 + start }
        if let first, memcmp(first, first + 1, end - start - 1) != 0 { torn += 1 }
        count += 1
        start = end
      }
      runs.append(count)
      return nil
    }
  }

  /// What the socket refuses is counted for what it is, and nothing else stops.
  @Test(arguments: [DropReason.sendQueueFull, .sendFailed]) func refusedSendsAreCounted(_ reason: DropReason) throws {
    let call = try Call()
    let anna = try call.join("anna")
    let bert = try call.join("bert")
    let video = call.publish(anna, .video)
    let consumer = call.subscribe(bert, to: video)
    call.run(.seconds(1))
    call.sink.refusal = reason
    call.run(.milliseconds(200))
    call.sink.refusal = nil
    #expect(call.worker.counters.drops[reason] > 10)
    call.run(.seconds(1))
    let stream = try #require(call.stream(consumer))
    #expect(stream.problems == [])
    #expect(stream.repaired > 5)
  }
}
