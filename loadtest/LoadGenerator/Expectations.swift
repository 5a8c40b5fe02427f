// What must hold: of every run, and what the scenario sets besides. Each is a name, a figure and a verdict.

import Basics

extension Evaluation {
  /// Judges the finished report. `isStrict`: targets must be reached as expectations must hold.
  mutating func judge(isStrict: Bool) {
    if !scenario.people.isEmpty {
      judgePresence()
      judgeStreams()
    }
    judgeActivities()
    judgeLines()
    judgeDevices()
    report.expectations += report.verdicts(on: scenario.expect.bounds)
    expect("no problems", report.problems.isEmpty, report.problems.first ?? "none")
    report.targets = report.verdicts(on: scenario.targets)
    report.passed = (report.expectations + (isStrict ? report.targets : [])).allSatisfy(\.held)
  }

  private mutating func expect(_ name: String, _ held: Bool, _ figure: String) {
    report.expectations.append(.init(name: name, held: held, figure: figure))
  }

  private mutating func judgePresence() {
    let wanted =
      scenario.rooms * scenario.people.filter { $0.refused == nil && $0.habits.stay == nil }.reduce(0) { $0 + $1.count }
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
    if report.others.decodedFrames + report.others.undecodableFrames > 0 {
      let (decoded, not) = (report.others.decodedFrames, report.others.undecodableFrames)
      expect("media of others can be decoded", not == 0, "\(decoded) frames decoded, \(not) not")
    }
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

  private mutating func judgeLines() {
    guard scenario.hasLines else { return }
    let wanted = scenario.rooms * scenario.people.filter { $0.line != nil }.reduce(0) { $0 + $1.count }
    let heard = report.lines.count { $0.audioKbps > 0 || $0.videoKbps > 0 }
    expect("media comes over each line", heard == wanted, "\(heard) of \(wanted)")
    // Not the server's doing: a line that lets more through is none.
    let broken = report.lines.filter { ($0.share ?? 0) > 1.02 }
    expect(
      "no line carries more than its rate", broken.isEmpty,
      broken.first.map { "\($0.user): \(rounded($0.kbps)) kbit/s" } ?? "none")
    if let bound = scenario.expect.lineShare {
      let least = report.lines.compactMap(\.share).min() ?? 0
      expect("lines are used", least >= bound, "\(percent(least)) of a line's rate, at least \(percent(bound))")
    }
    if let most = scenario.expect.lineFreezes {
      let worst = report.lines.map(\.freezes).max() ?? 0
      expect("freezes behind a line", worst <= UInt64(most), "\(worst), at most \(most)")
    }
  }

  private mutating func judgeDevices() {
    guard let devices = report.devices else { return }
    expect(
      "devices stay connected", devices.connected == devices.count && devices.lost == 0,
      "\(devices.connected) of \(devices.count), \(devices.lost) lost")
    if let calls = devices.calls {
      expect("calls ring and end", calls.failed == 0 && calls.ended > 0, "\(calls.ended) of \(calls.started)")
      expect(
        "calls come at the asked pace", !calls.isSlow,
        "\(rounded(calls.perSecond)) of \(rounded(calls.wantedPerSecond)) a second")
    }
    if let restart = devices.restart {
      expect("devices come back", restart.back == devices.count, "\(restart.back) of \(devices.count)")
    }
  }

  private mutating func judgeActivities() {
    if scenario.calls > 0 {
      expect(
        "calls go as they should", report.callsFailed == 0 && report.callsPlayed > 0,
        "\(report.callsPlayed - report.callsFailed) of \(report.callsPlayed)")
    }
    if scenario.people.contains(where: { $0.habits.muteEvery != nil }) {
      let isMeasured = report.muteToSilenceMs != nil
      expect("mutes are silent", report.muteLeaks == 0 && isMeasured, "\(report.muteLeaks) streams went on")
    }
    if scenario.people.contains(where: { $0.habits.chatEvery != nil }) {
      expect(
        "no chat lost", report.chatLost == 0 && report.chatSent > 0, "\(report.chatLost) of \(report.chatSent) messages"
      )
    }
  }

}

extension Report {
  /// What was measured against each bound that is set. Of a server that is not ours, cost and memory are not known: they are
  /// left out.
  func verdicts(on bounds: Bounds) -> [Expectation] {
    let delays = [
      ("sound, p99", latencyMs.audio?.p99, bounds.audioP99), ("pictures, p99", latencyMs.video?.p99, bounds.videoP99),
      ("join, p99", joinMs?.p99, bounds.joinP99), ("first frame, p99", firstFrameMs?.p99, bounds.firstFrameP99),
      ("mute to silence, p99", muteToSilenceMs?.p99, bounds.muteP99),
      ("answer to voice, p99", answerMs?.p99, bounds.answerP99),
      ("silence at an upgrade", upgradeGapMs, bounds.upgradeGap),
    ]
    var verdicts = delays.compactMap { name, value, bound in
      bound.map { Expectation(name: name, value, atMost: $0.seconds * 1_000) { "\(rounded($0)) ms" } }
    }
    verdicts += deviceVerdicts(on: bounds)
    guard let server else { return verdicts }
    if let bound = bounds.cpuMicros {
      verdicts.append(
        .init(name: "CPU per packet", server.cpuMicrosPerForwardedPacket, atMost: bound) { "\(rounded($0)) µs" })
    }
    if let bound = bounds.ratioToLimit, limit != nil {
      verdicts.append(.init(name: "ratio to limit", ratioToLimit, atMost: bound, rounded))
    }
    if let bound = bounds.rss {
      verdicts.append(
        .init(name: "memory", Double(server.rssBytes), atMost: Double(bound)) { mebibytes(UInt64($0)) })
    }
    return verdicts
  }
}

extension Report.Expectation {
  /// Held when `value` was measured and is no more than `bound`.
  init(name: String, _ value: Double?, atMost bound: Double, _ text: (Double) -> String) {
    let figure = "\(value.map(text) ?? "not measured"), at most \(text(bound))"
    self.init(name: name, held: (value ?? .infinity) <= bound, figure: figure)
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
