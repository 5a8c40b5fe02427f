// The bars of floods, each with figures that just hold it and figures that just miss it; and the datagrams that are sent.

import Basics
import RTP
import SyntheticParticipant
import Testing

@testable import LoadGenerator

@Suite struct FloodBarTests {
  private func report(loss: Double = 0, p99: Double = 2, cpu: Double = 10, flooded: UInt64 = 0) -> Report {
    var report = Report()
    (report.lossRatio, report.flooded) = (loss, flooded)
    report.latencyMs = .init(audio: Percentiles([p99 / 2]), video: Percentiles([p99]))
    report.server = .init(cpuSeconds: cpu, rssBytes: 1, rssBytesPerParticipant: 1)
    return report
  }

  /// One pair of every kind, and what is to be seen of one of them.
  private func floods(
    _ trouble: Trouble, _ with: Report, without: Report? = nil, integrity: Double = 15, fingerprint: Double = 10
  ) -> Floods {
    var found: [Trouble: [(without: Report, with: Report)]] = [:]
    for other in Trouble.allCases {
      let cost = other == .integrity ? integrity : other == .fingerprint ? fingerprint : 10
      found[other] = [(report(), report(cpu: 10 + cost, flooded: 1_000_000))]
    }
    if trouble != .integrity && trouble != .fingerprint { found[trouble] = [(without ?? report(), with)] }
    return Floods(found)
  }

  @Test func whatIsHeldIsHeldAndWhatIsMissedIsNot() {
    let fine = report(loss: 0.001, p99: 6, cpu: 11, flooded: 1_000_000)
    #expect(floods(.srtp, fine).complaints == [])
    #expect(floods(.srtp, report(loss: 0.0011, p99: 6, cpu: 11, flooded: 9)).complaints.count == 1)
    #expect(floods(.srtp, report(loss: 0, p99: 6.1, cpu: 11, flooded: 9)).complaints.count == 1)
    // What is lost without a flood as well is not the flood's doing.
    #expect(floods(.srtp, report(loss: 0.02, flooded: 9), without: report(loss: 0.0195)).complaints == [])
    #expect(!floods(.srtp, report(flooded: 0)).passed, "nothing was sent")
  }

  @Test func aWrongIntegrityCostsLittleMoreThanAWrongFingerprint() throws {
    let just = floods(.hello, report(flooded: 9))
    let ratio = try #require(just.integrityToFingerprint)
    #expect(just.passed && abs(ratio - 1.5) < 1e-9)
    let more = floods(.hello, report(flooded: 9), integrity: 15.1)
    #expect(more.complaints.count == 1 && !more.passed && more.table.contains("1.51"))
  }

  @Test func theMedianOfPairsCounts() {
    let pair = { (loss: Double) in (without: self.report(), with: self.report(loss: loss, flooded: 9)) }
    #expect(Floods.Row(.hello, [pair(0), pair(0.5), pair(0.0005)]).complaints == [])
    #expect(Floods.Row(.hello, [pair(0), pair(0.5), pair(0.5)]).complaints.count == 1)
  }

  /// They are what they are called.
  @Test(arguments: FloodKind.allCases) func datagramsAreOfTheirKind(_ kind: FloodKind) throws {
    let target = FloodTarget(server: SocketAddress(v4: 0x7f00_0001, port: 9), username: "serv:clnt", ssrc: 0x0102_0304)
    let datagrams = kind.datagrams(target)
    #expect(datagrams.count == 256 && Set(datagrams).count > 200)
    let classes = Set(datagrams.map { PacketClass.classify($0.span) })
    switch kind {
    case .random: #expect(classes.count > 3)
    case .fingerprint, .integrity: #expect(classes == [.stun])
    case .srtp: #expect(classes == [.rtp] && datagrams.allSatisfy { Array($0[8..<12]) == [1, 2, 3, 4] })
    case .hello: #expect(classes == [.dtls])
    }
  }
}
