// What must hold: of every run, and what the scenario sets besides. Each is a name, a figure and a verdict.

import Basics

extension Evaluation {
  /// Judges the finished report.
  mutating func judge() {
    if !scenario.people.isEmpty {
      judgePresence()
      judgeStreams()
    }
    judgeCalls()
    judgeDelays()
    judgeActivities()
    judgeCost()
    expect("no problems", report.problems.isEmpty, report.problems.first ?? "none")
    report.passed = report.expectations.allSatisfy(\.held)
  }

  private mutating func expect(_ name: String, _ held: Bool, _ figure: String) {
    report.expectations.append(.init(name: name, held: held, figure: figure))
  }

  private mutating func judgePresence() {
    let wanted =
      scenario.rooms * scenario.people.filter { $0.refused == nil && $0.stay == nil }.reduce(0) { $0 + $1.count }
    expect("everybody is in", report.participants >= wanted, "\(report.participants) of \(wanted)")
    let refused = scenario.rooms * scenario.people.filter { $0.refused != nil }.reduce(0) { $0 + $1.count }
    if refused > 0 { expect("refused as wanted", report.refused == refused, "\(report.refused) of \(refused)") }
  }

  private mutating func judgeStreams() {
    let wanted = scenario.expect.streams ?? report.streamsExpected
    expect(
      "every stream flows", report.streamsSeen == wanted && wanted == report.streamsExpected,
      "\(report.streamsSeen) of \(wanted)")
    let bound = scenario.expect.loss
    expect(
      "loss", report.lossRatio <= bound && report.packetsReceived > 0,
      "\(report.packetsExpected - min(report.packetsExpected, report.packetsReceived)) of \(report.packetsExpected) packets, "
        + "at most \(rounded(bound * 100)) %")
    expect("no foreign packets", report.wrongStream == 0, "\(report.wrongStream)")
    expect("nothing damaged", report.damaged == 0, "\(report.damaged)")
    let duplicates = scenario.expect.duplicates
    expect("duplicates", report.duplicates <= UInt64(duplicates), "\(report.duplicates), at most \(duplicates)")
    if scenario.isSteady { expect("no interruptions", report.interruptions == 0, "\(report.interruptions)") }
    judgeDecoded()
    if let most = scenario.expect.freezes {
      expect("freezes", report.freezes <= UInt64(most), "\(report.freezes), at most \(most)")
    }
  }

  private mutating func judgeDecoded() {
    guard scenario.people.contains(where: { $0.decodes > 0 }) else { return }
    let isRight = report.decodedFrames > 0 && report.wrongPictures == 0 && report.undecodableFrames == 0
    expect(
      "decoded media is its sender's", isRight,
      "\(report.decodedFrames) frames decoded, \(report.undecodableFrames) not, \(report.wrongPictures) somebody else's"
    )
    if let least = scenario.expect.psnr {
      let figure = report.lowestPSNR.map { "\(rounded($0)) dB" } ?? "nothing was compared"
      expect("picture quality", (report.lowestPSNR ?? 0) >= least, "\(figure), at least \(rounded(least)) dB")
    }
  }

  private mutating func judgeDelays() {
    let wanted = scenario.expect
    atMost("sound, p99", report.latencyMs.audio?.p99, wanted.audioP99)
    atMost("pictures, p99", report.latencyMs.video?.p99, wanted.videoP99)
    atMost("join, p99", report.joinMs?.p99, wanted.joinP99)
    atMost("first frame, p99", report.firstFrameMs?.p99, wanted.firstFrameP99)
    atMost("mute to silence, p99", report.muteToSilenceMs?.p99, wanted.muteP99)
  }

  private mutating func atMost(_ name: String, _ milliseconds: Double?, _ bound: TimeDelta?) {
    guard let bound else { return }
    let limit = bound.seconds * 1_000
    let figure = milliseconds.map { "\(rounded($0)) ms" } ?? "not measured"
    expect(name, (milliseconds ?? .infinity) <= limit, "\(figure), at most \(rounded(limit)) ms")
  }

  private mutating func judgeActivities() {
    if scenario.people.contains(where: { $0.muteEvery != nil }) {
      let isMeasured = report.muteToSilenceMs != nil
      expect("mutes are silent", report.muteLeaks == 0 && isMeasured, "\(report.muteLeaks) streams went on")
    }
    if scenario.people.contains(where: { $0.chatEvery != nil }) {
      expect(
        "no chat lost", report.chatLost == 0 && report.chatSent > 0, "\(report.chatLost) of \(report.chatSent) messages"
      )
    }
  }

  private mutating func judgeCalls() {
    guard scenario.calls > 0 else { return }
    expect(
      "calls go as they should", report.callsFailed == 0 && report.callsPlayed > 0,
      "\(report.callsPlayed - report.callsFailed) of \(report.callsPlayed)")
    atMost("answer to voice, p99", report.answerMs?.p99, scenario.expect.answerP99)
    atMost("silence at an upgrade", report.upgradeGapMs, scenario.expect.upgradeGap)
  }

  private mutating func judgeCost() {
    let wanted = scenario.expect
    if let bound = wanted.cpuMicros, let cost = report.server?.cpuMicrosPerForwardedPacket {
      expect("CPU per packet", cost <= bound, "\(rounded(cost)) µs, at most \(rounded(bound)) µs")
    }
    if let bound = wanted.ratioToLimit, let ratio = report.ratioToLimit {
      expect("ratio to limit", ratio <= bound, "\(rounded(ratio)), at most \(rounded(bound))")
    }
    if let bound = wanted.rss, let rss = report.server?.rssBytes {
      expect("memory", rss <= UInt64(bound), "\(mebibytes(rss)), at most \(mebibytes(UInt64(bound)))")
    }
  }
}

extension Report {
  /// Adds a failed expectation.
  mutating func fail(_ name: String, _ figure: String) {
    expectations.append(.init(name: name, held: false, figure: figure))
    passed = false
  }
}

func mebibytes(_ bytes: UInt64) -> String { "\(rounded(Double(bytes) / 1_048_576)) MiB" }
