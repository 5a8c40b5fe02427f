// The bars of floods, each with figures that just hold it and figures that just miss it; and the datagrams that are sent.

import Basics
import RTP
import SyntheticParticipant
import TestSupport
import Testing
import Threads

@testable import LoadGenerator

@Suite struct FloodBarTests {
  /// A run of a minute.
  private func report(
    loss: Double = 0, p99: Double = 2, cpu: Double = 10, flooded: UInt64 = 0, dropped: UInt64? = nil, heard: UInt64 = 0
  ) -> Report {
    var report = Report()
    (report.lossRatio, report.steadySeconds) = (loss, 60)
    (report.flooded.sent, report.flooded.overBitrate, report.flooded.heard) = (flooded, dropped, heard)
    report.latencyMs = .init(audio: Percentiles([p99 / 2]), video: Percentiles([p99]))
    report.server = .init(cpuSeconds: cpu, rssBytes: 1, rssBytesPerParticipant: 1)
    return report
  }

  /// More than is asked for.
  private let many: UInt64 = 7_000_000

  /// One pair of every kind, and what is to be seen of one of them.
  private func floods(
    _ trouble: Trouble, _ with: Report, without: Report? = nil, integrity: Double = 15, fingerprint: Double = 10,
    unbounded: Report? = nil
  ) -> Floods {
    var found: [Trouble: [(without: Report, with: Report)]] = [:]
    for other in Trouble.allCases {
      let cost = other == .integrity ? integrity : other == .fingerprint ? fingerprint : 10
      found[other] = [(report(), report(cpu: 10 + cost, flooded: many, dropped: many, heard: 1))]
    }
    found[.unbounded] = [(report(), unbounded ?? report(p99: 3.1, flooded: many))]
    if trouble != .integrity && trouble != .fingerprint { found[trouble] = [(without ?? report(), with)] }
    return Floods(found)
  }

  /// A row of forged tokens that just holds every bar, and each that just misses one.
  @Test func forgedTokensHaveBarsToo() {
    var held = TokenFloods.Row(door: "native", algorithm: "ES256", isBounded: true)
    (held.pingElsewhere, held.pingThere, held.helloElsewhere, held.helloThere) = (50, 50, 200, 5_000)
    (held.letIn, held.looked) = (20, 900)
    #expect(held.complaints == [])
    let misses: [(inout TokenFloods.Row) -> Void] = [
      { $0.pingElsewhere = 50.1 }, { $0.pingThere = 50.1 }, { $0.helloElsewhere = 200.1 }, { $0.helloThere = 5_001 },
      { $0.letIn = 19 }, { $0.looked = 99 }, { $0.looked = 971 },
    ]
    for miss in misses {
      var row = held
      miss(&row)
      #expect(row.complaints.count == 1)
    }
    // The control has to show that there is something to bound.
    held.isBounded = false
    #expect(held.complaints.count == 1)
    held.looked = 971
    #expect(held.complaints == [])
    let page = "x 1\nroost_token_failures_total{what=\"refused\"} 512\n"
    #expect(TokenFloods.failures(in: page) == 512 && TokenFloods.failures(in: "x 1") == nil)
  }

  @Test func whatIsHeldIsHeldAndWhatIsMissedIsNot() {
    let fine = report(loss: 0.001, p99: 6, cpu: 11, flooded: 1_710_000)
    #expect(floods(.srtp, fine).complaints == [])
    #expect(floods(.srtp, report(loss: 0.0011, p99: 6, cpu: 11, flooded: many)).complaints.count == 1)
    #expect(floods(.srtp, report(loss: 0, p99: 6.1, cpu: 11, flooded: many)).complaints.count == 1)
    // What is lost without a flood as well is not the flood's doing.
    #expect(floods(.srtp, report(loss: 0.02, flooded: many), without: report(loss: 0.0195)).complaints == [])
    #expect(!floods(.srtp, report(flooded: 0)).passed, "nothing was sent")
  }

  /// Three times as long is too long, however short it is.
  @Test func shortDelaysCountAsLongOnesDo() {
    #expect(floods(.srtp, report(p99: 0.89, flooded: many), without: report(p99: 0.3)).complaints == [])
    let late = floods(.srtp, report(p99: 0.91, flooded: many), without: report(p99: 0.3))
    #expect(late.complaints == ["srtp: p99 is 0.91 ms instead of 0.3"])
  }

  /// 95 % of 30,000 a second.
  @Test func aFloodThatIsTooSmallFails() {
    let wanted = "srtp: 1709999 datagrams were sent instead of 1800000, 30000 a second"
    #expect(floods(.srtp, report(flooded: 1_709_999)).complaints == [wanted])
    let pair = { (sent: UInt64) in (without: self.report(), with: self.report(flooded: sent)) }
    #expect(Floods.Row(.hello, [pair(many), pair(1_710_000), pair(many)]).complaints == [])
    #expect(Floods.Row(.hello, [pair(many), pair(1_709_999), pair(many)]).complaints.count == 1, "no run may be so")
  }

  @Test func aWrongIntegrityCostsLittleMoreThanAWrongFingerprint() throws {
    let just = floods(.hello, report(flooded: many))
    let ratio = try #require(just.integrityToFingerprint)
    #expect(just.passed && abs(ratio - 1.5) < 1e-9)
    let more = floods(.hello, report(flooded: many), integrity: 15.1)
    #expect(more.complaints.count == 1 && !more.passed && more.table.contains("1.51"))
  }

  /// p99 beside forged ones is 2 ms.
  @Test func goodChecksAreNoWorseThanForgedOnes() {
    #expect(floods(.checks, report(p99: 3, flooded: many)).complaints == [])
    let slow = floods(.checks, report(p99: 3.1, flooded: many)).complaints
    #expect(slow == ["p99 beside good checks is 1.55 times that beside forged ones"])
    #expect(floods(.checks, report(loss: 0.000_01, p99: 3, flooded: many)).complaints.count == 1)
    #expect(floods(.checks, report(p99: 3, flooded: 5_699_999)).complaints.count == 1, "95 % of 100,000 a second")
  }

  /// It has to miss the bar: by being late, or by losing something.
  @Test func theControlMissesTheBar() {
    let fine = report(p99: 3, flooded: many)
    #expect(floods(.checks, fine, unbounded: fine).complaints.count == 1)
    #expect(floods(.checks, fine, unbounded: report(loss: 0.01, p99: 3, flooded: many)).complaints == [])
    let settings = { (trouble: Trouble) in
      var settings = RunSettings(.init())
      settings.trouble = trouble
      return settings
    }
    #expect(floods(.checks, fine, unbounded: report(p99: 30, flooded: 3_000_000)).complaints == [])
    #expect(floods(.checks, fine, unbounded: report(p99: 30, flooded: 2_999_999)).complaints.count == 1)
    #expect(Trouble.allCases.filter { !settings($0).boundsChecks } == [.unbounded])
  }

  /// What is kept of unfinished messages, with the bound and without it.
  @Test func unfinishedMessagesHaveTheirBars() {
    func hoarding(_ grown: Double, _ without: Double, _ ended: UInt64) -> [String] {
      var floods = floods(.srtp, report(flooded: many))
      floods.unfinished = Hoarding(grown: grown, grownWithout: without, ended: ended)
      return floods.complaints
    }
    #expect(hoarding(32, 100, 1) == [])
    #expect(hoarding(32.1, 100, 1) == ["unfinished: the server kept 32.1 MiB"])
    #expect(hoarding(1, 99.9, 1).count == 1, "a control that keeps nothing shows nothing")
    #expect(hoarding(1, 100, 0).count == 1)
  }

  /// The bound holds, and without it everything is kept. In a process of its own, which grows by nothing else.
  @Test func unfinishedMessagesAreKeptWithoutTheBoundAlone() async {
    await #expect(processExitsWith: .success) {
      let found = try Hoarding.measure()
      #expect(found.complaints == [], "\(found.text)")
    }
  }

  @Test func theMedianOfPairsCounts() {
    let pair = { (loss: Double) in (without: self.report(), with: self.report(loss: loss, flooded: self.many)) }
    #expect(Floods.Row(.hello, [pair(0), pair(0.5), pair(0.0005)]).complaints == [])
    #expect(Floods.Row(.hello, [pair(0), pair(0.5), pair(0.5)]).complaints.count == 1)
  }

  // MARK: A publisher

  /// 200 Mbit/s for a minute, of which four fifths are above the bound.
  private func publisher(
    loss: Double = 0, sent: UInt64 = 1_344_000, dropped: UInt64? = 967_680, heard: UInt64 = 1
  ) -> Report {
    report(loss: loss, flooded: sent, dropped: dropped, heard: heard)
  }

  @Test func aPublisherIsHeldToTheirBound() {
    #expect(floods(.publisher, publisher()).complaints == [])
    let more = floods(.publisher, publisher(dropped: 967_679)).complaints
    #expect(more == ["publisher: 967679 packets were dropped as above the bound, where 1075200 were above it"])
    let unknown = floods(.publisher, publisher(dropped: nil)).complaints
    #expect(unknown == ["publisher: what was dropped as above the bound is not known"])
    let silent = floods(.publisher, publisher(heard: 0)).complaints
    #expect(silent == ["publisher: nothing was forwarded of what is within the bound"])
    #expect(floods(.srtp, report(flooded: many)).complaints == [], "a stranger has no such bound")
  }

  @Test func aPublisherWhoSendsTooLittleFails() {
    #expect(floods(.publisher, publisher(sent: 1_276_800)).complaints == [])
    let wanted = "publisher: 1276799 datagrams were sent instead of 1344000, 22400 a second"
    #expect(floods(.publisher, publisher(sent: 1_276_799)).complaints == [wanted])
  }

  /// By the median; a flood of strangers may take a little.
  @Test func aPublisherTakesNothingFromOthers() {
    let pair = { (loss: Double) in (without: self.report(), with: self.publisher(loss: loss)) }
    #expect(Floods.Row(.publisher, [pair(0), pair(0.000_01), pair(0)]).complaints == [])
    #expect(Floods.Row(.publisher, [pair(0), pair(0.000_01), pair(0.000_01)]).complaints.count == 1)
    #expect(floods(.srtp, report(loss: 0.000_01, flooded: many)).complaints == [])
  }

  // MARK: What is counted

  @Test func onlyTheWindowCounts() {
    var (before, after) = (FloodCounts(), FloodCounts())
    (before.sent, before.overBitrate, before.heard) = (10, 4, 3)
    (after.sent, after.overBitrate, after.heard) = (110, 54, 33)
    let counts = after.since(before)
    #expect(counts.sent == 100 && counts.overBitrate == 50 && counts.heard == 30)
    before.overBitrate = nil
    #expect(after.since(before).overBitrate == nil)
  }

  @Test func theServersPageIsRead() {
    let page = """
      # TYPE roost_packets_dropped_total counter
      roost_packets_dropped_total{reason="malformed"} 7
      roost_packets_dropped_total{reason="over_bitrate"} 1075200
      roost_packets_dropped_total{reason="replayed"} 9

      """
    #expect(FloodCounts.overBitrate(in: page) == 1_075_200)
    #expect(FloodCounts.overBitrate(in: "roost_packets_dropped_total{reason=\"malformed\"} 7\n") == nil)
  }

  /// Every second datagram is longer than any can be.
  @Test func onlyWhatTheKernelTookIsCounted() async throws {
    let datagrams = [[1], [UInt8](repeating: 0, count: 70_000)]
    let start = MonotonicClock.now()
    let flood = try #require(
      Flood(
        datagrams, to: SocketAddress(v4: 0x7f00_0001, port: 9), perSecond: 1_000,
        from: SocketAddress(v4: 0x7f00_0001, port: 0), ports: 1))
    #expect(await eventually { flood.sent >= 100 })
    let sent = flood.sent
    let seconds = (MonotonicClock.now() - start).seconds
    flood.stop()
    #expect(Double(sent) <= seconds * 500 + 1, "\(sent) in \(seconds) s")
  }

  /// They are what they are called.
  @Test(arguments: FloodKind.allCases) func datagramsAreOfTheirKind(_ kind: FloodKind) throws {
    let target = FloodTarget(
      server: SocketAddress(v4: 0x7f00_0001, port: 9), username: "serv:clnt", password: "word", ssrc: 0x0102_0304)
    let datagrams = kind.datagrams(target)
    #expect(datagrams.count == 256 && Set(datagrams).count > 200)
    let classes = Set(datagrams.map { PacketClass.classify($0.span) })
    switch kind {
    case .random: #expect(classes.count > 3)
    case .fingerprint, .integrity, .check: #expect(classes == [.stun])
    case .srtp: #expect(classes == [.rtp] && datagrams.allSatisfy { Array($0[8..<12]) == [1, 2, 3, 4] })
    case .hello: #expect(classes == [.dtls])
    }
  }
}
