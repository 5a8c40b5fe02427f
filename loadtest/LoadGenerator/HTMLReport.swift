// The report as one page that needs nothing else: verdict, figures, charts, expectations, people.

extension Report {
  /// The page.
  var html: String {
    Page.html(
      title: "\(scenario) · Roost load test",
      body: """
        <header>
        <h1>\(escaped(scenario)) <span class="verdict \(passed ? "good" : "bad")">\(passed ? "passed" : "failed")</span></h1>
        <p>\(escaped(about))</p>
        \(bottleneck)
        </header>
        <section class="tiles">\(tiles)</section>
        <section class="charts">\(charts)</section>
        <section><h2>Expectations and targets</h2>\(expectationTable)\(problemList)</section>
        <section><h2>Delays</h2>\(delayTable)</section>
        \(lineSection)
        <section><h2>People</h2>\(peopleTable)</section>
        <footer>\(escaped(footer))</footer>
        """)
  }

  private var bottleneck: String {
    guard generator.wasBottleneck else { return "" }
    let reasons = escaped(generator.reasons.joined(separator: "; "))
    return
      "<p class=\"warning\">The load generator was itself the bottleneck: \(reasons). Delays and losses may be its own.</p>"
  }

  private var footer: String {
    let seconds = "measured for \(rounded(steadySeconds)) s"
    return
      "\(loaded), \(seconds) on \(generator.cpus) CPUs at a load of \(rounded(generator.machineLoad)); one clock, one machine"
  }

  // MARK: Tiles

  private var tiles: String {
    var tiles = [
      ("people", "\(participants)", rooms == 1 ? "in one room" : "in \(rooms) rooms"),
      ("streams", "\(streamsSeen)", "of \(streamsExpected)"),
      ("packets a second", "\(Int(packetsPerSecond))", "\(packetsReceived) received"),
      ("loss", "\(rounded(lossRatio * 100)) %", "\(repaired) repaired"),
    ]
    if let cost = server?.cpuMicrosPerForwardedPacket {
      let limit = limit.map { "limit here \(rounded($0.microsPerPacket)) µs" } ?? ""
      tiles.append(("server CPU a packet", "\(rounded(cost)) µs", limit))
    }
    if let ratioToLimit { tiles.append(("ratio to limit", rounded(ratioToLimit), "1 is the least possible")) }
    if let server {
      tiles.append(
        (
          "server memory", mebibytes(server.rssBytes),
          "\(mebibytes(UInt64(server.rssBytesPerParticipant))) a participant"
        ))
    }
    if let video = latencyMs.video ?? latencyMs.audio {
      tiles.append(("delay, median", "\(rounded(video.p50)) ms", "p99 \(rounded(video.p99)) ms"))
    }
    if callsPlayed > 0 {
      let gap = upgradeGapMs.map { "silence at an upgrade \(rounded($0)) ms" } ?? ""
      tiles.append(("calls as they should", "\(callsPlayed - callsFailed) of \(callsPlayed)", gap))
    }
    if let devices { tiles += devices.tiles }
    if decodedFrames > 0 {
      let quality = lowestPSNR.map { "worst \(rounded($0)) dB" } ?? ""
      tiles.append(("frames decoded", "\(decodedFrames)", quality))
    }
    if others.streams > 0 {
      tiles.append(("streams of others", "\(others.streams)", "\(others.decodedFrames) frames decoded"))
    }
    if let firstFrameMs {
      tiles.append(("first frame, median", "\(rounded(firstFrameMs.p50)) ms", "p99 \(rounded(firstFrameMs.p99)) ms"))
    }
    return tiles.map { name, value, note in
      "<div class=\"tile\"><b>\(escaped(value))</b><span>\(escaped(name))</span><small>\(escaped(note))</small></div>"
    }.joined(separator: "\n")
  }

  // MARK: Charts

  private var charts: String {
    let series = { (value: (Moment) -> Double?) in
      timeline.compactMap { moment in value(moment).map { (x: moment.second, y: $0) } }
    }
    return [
      Chart.lines(
        "Packets received", unit: "a second", [Line(name: "", style: "c1", points: series { $0.packetsPerSecond })]),
      Chart.lines(
        "Delay from sender to receiver", unit: "ms",
        [
          Line(name: "median", style: "c1", points: series { $0.p50Ms }),
          Line(name: "p99", style: "c2", points: series { $0.p99Ms }),
        ]),
      Chart.lines(
        "Server CPU", unit: "% of one core",
        [Line(name: "", style: "c1", points: series { $0.serverCPU.map { $0 * 100 } })]),
      Chart.lines(
        "Server memory", unit: "MiB",
        [Line(name: "", style: "c1", points: series { $0.rssBytes.map { Double($0) / 1_048_576 } })]),
      Chart.lines("Packets missing", unit: "%", [Line(name: "", style: "c2", points: series { $0.lossRatio * 100 })]),
      Chart.bars("Delays of all packets", unit: "ms", histogramBars),
      Chart.bars("Delay by percentile", unit: "ms", percentileBars),
      Chart.bars("Time to first frame", unit: "streams, by ms", firstFrameBars),
    ].joined()
  }

  /// The histogram with a bar for each fourth of a doubling, which suits a page's width.
  private var histogramBars: [(name: String, value: Double)] {
    var bars: [(name: String, value: Double)] = []
    var bound = 20.0
    var rest = latencyHistogram[...]
    while !rest.isEmpty {
      var count = 0.0
      while let first = rest.first, Double(first.microseconds) <= bound {
        count += Double(first.count)
        rest = rest.dropFirst()
      }
      if count > 0 || !bars.isEmpty { bars.append((rounded(bound / 1_000), count)) }
      bound *= 1.189207
    }
    return bars
  }

  /// What so many of all packets did not exceed.
  private var percentileBars: [(name: String, value: Double)] {
    let total = latencyHistogram.reduce(0.0) { $0 + Double($1.count) }
    guard total > 0 else { return [] }
    return [50.0, 75, 90, 95, 99, 99.9, 100].map { share in
      var seen = 0.0
      let bar = latencyHistogram.first {
        seen += Double($0.count)
        return seen >= total * share / 100
      }
      return ("\(rounded(share)) %", Double(bar?.microseconds ?? 0) / 1_000)
    }
  }

  private var firstFrameBars: [(name: String, value: Double)] {
    guard let highest = firstFrameHistogram.last?.microseconds else { return [] }
    let step = Chart.ceiling(Double(highest) / 1_000) / 20
    var counts = [Double](repeating: 0, count: 20)
    for bar in firstFrameHistogram {
      counts[min(19, Int(Double(bar.microseconds) / 1_000 / step))] += Double(bar.count)
    }
    return counts.enumerated().map { (rounded(Double($0.offset + 1) * step), $0.element) }
  }

  // MARK: Tables

  private var expectationTable: String {
    let rows =
      expectations.map { verdictRow($0, "held", "failed") } + targets.map { verdictRow($0, "reached", "target missed") }
    return "<table>\(rows.joined(separator: "\n"))</table>"
  }

  private func verdictRow(_ verdict: Expectation, _ good: String, _ bad: String) -> String {
    "<tr class=\"\(verdict.held ? "good" : "bad")\"><td>\(verdict.held ? good : bad)</td>"
      + "<td>\(escaped(verdict.name))</td><td>\(escaped(verdict.figure))</td></tr>"
  }

  private var problemList: String {
    problems.isEmpty ? "" : "<ul>\(problems.prefix(50).map { "<li>\(escaped($0))</li>" }.joined())</ul>"
  }

  private var delayTable: String {
    let all = [
      ("sound", latencyMs.audio), ("pictures", latencyMs.video), ("call to join until its reply", joinMs),
      ("call to join until the first frame, each stream", firstFrameMs), ("mute until silence", muteToSilenceMs),
      ("answer to a call until both hear each other", answerMs),
      ("call.start until call.incoming", devices?.calls?.incomingMs),
      ("calls started later than planned, by the generator", devices?.calls?.latenessMs),
      ("frames sent later than planned, by the generator", generator.lateSendsMs),
      ("packets read later than they could have been, by the generator", generator.readDelayMs),
    ]
    let rows = all.compactMap { name, delays in
      delays.map {
        "<tr><td>\(name)</td>" + [$0.p50, $0.p95, $0.p99, $0.max].map { "<td>\(rounded($0))</td>" }.joined() + "</tr>"
      }
    }
    return
      "<table><tr><th>ms</th><th>p50</th><th>p95</th><th>p99</th><th>max</th></tr>\(rows.joined(separator: "\n"))</table>"
  }

  private var peopleTable: String {
    let head = [
      "who", "join ms", "first frame ms", "streams", "packets", "missing", "repaired", "p99 ms", "freezes", "decoded",
    ]
    let rows = people.map { row in
      let missing = row.packetsExpected - min(row.packetsExpected, row.packetsReceived)
      let cells = [
        escaped(row.user), row.joinMs.map(rounded) ?? "", row.firstFrameMs.map(rounded) ?? "", "\(row.streams)",
        "\(row.packetsReceived)", "\(missing)", "\(row.repaired)", row.p99Ms.map(rounded) ?? "", "\(row.freezes)",
        "\(row.decodedFrames)",
      ]
      return "<tr>" + cells.map { "<td>\($0)</td>" }.joined() + "</tr>"
    }
    let titles = head.map { "<th>\($0)</th>" }.joined()
    return
      "<div class=\"scroll\"><table class=\"people\"><tr>\(titles)</tr>\(rows.joined(separator: "\n"))</table></div>"
  }
}
