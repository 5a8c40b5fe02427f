// The report for a terminal: a line a second while it runs, a table in the end.

extension Progress {
  /// One line of at most 100 columns.
  var line: String {
    var parts = ["\(Int(seconds)) s", phase.rawValue]
    if participants > 0 { parts.append("\(up) of \(participants) people") }
    if allDevices > 0 { parts.append("\(devices) of \(allDevices) devices") }
    if let moment {
      parts.append("\(Int(moment.packetsPerSecond)) packets/s")
      parts.append("loss \(rounded(moment.lossRatio * 100)) %")
      if let cpu = moment.serverCPU { parts.append("server \(percent(cpu)) CPU") }
      parts.append("p99 \(rounded(moment.p99Ms)) ms")
    }
    return parts.joined(separator: "  ")
  }
}

extension Report {
  /// The table, with a newline at its end.
  var table: String {
    let rows = overview + decodedRows + callRows + (devices?.rows ?? []) + delayRows + costRows
    let width = rows.map(\.0.count).max() ?? 0
    let pad = { (name: String) in name + String(repeating: " ", count: width - name.count) }
    var lines = ["", "\(scenario): \(about)", ""]
    lines += rows.map { "  \(pad($0.0))  \($0.1)" }
    if !self.lines.isEmpty { lines += ["", lineTable] }
    lines.append("")
    lines += expectations.map { "  \($0.held ? "held   " : "FAILED ")  \($0.name): \($0.figure)" }
    lines += targets.map { "  \($0.held ? "reached" : "missed ")  target \($0.name): \($0.figure)" }
    lines += problems.prefix(10).map { "  problem: \($0)" }
    if problems.count > 10 { lines.append("  and \(problems.count - 10) problems more") }
    if generator.wasBottleneck {
      lines.append("  The load generator was itself the bottleneck: \(generator.reasons.joined(separator: "; ")).")
      lines.append("  Delays and losses of this run may be its own.")
    }
    lines.append(passed ? "PASSED" : "FAILED")
    return lines.joined(separator: "\n") + "\n"
  }

  private var overview: [(String, String)] {
    if participants == 0, streamsExpected == 0 {
      return [("loaded", loaded), ("window", "\(rounded(steadySeconds)) s")]
    }
    return [
      ("loaded", loaded),
      ("people, rooms", "\(participants), \(rooms)"),
      ("steady window", "\(rounded(steadySeconds)) s"),
      ("streams", "\(streamsSeen) of \(streamsExpected)"),
      ("packets received", "\(packetsReceived) of \(packetsExpected), \(Int(packetsPerSecond)) a second"),
      ("of these not opened", packetsGlanced > 0 ? "\(packetsGlanced), counted by their headers" : ""),
      ("loss, repaired", "\(rounded(lossRatio * 100)) %, \(repaired)"),
      ("duplicates, foreign, damaged", "\(duplicates), \(wrongStream), \(damaged)"),
      ("freezes, interruptions", "\(freezes), \(interruptions)"),
    ].filter { !$0.1.isEmpty }
  }

  private var decodedRows: [(String, String)] {
    var rows: [(String, String)] = []
    if decodedFrames > 0 {
      let quality = lowestPSNR.map { ", worst \(rounded($0)) dB" } ?? ""
      rows.append(("decoded frames", "\(decodedFrames), \(wrongPictures) somebody else's\(quality)"))
    }
    if others.streams > 0 {
      let decoded = "\(others.decodedFrames) decoded, \(others.undecodableFrames) undecodable"
      rows.append(("others in the room", "\(others.streams) streams, \(others.frames) frames, \(decoded)"))
    }
    return rows
  }

  private var callRows: [(String, String)] {
    guard callsPlayed > 0 else { return [] }
    let gap = upgradeGapMs.map { ", longest silence at an upgrade \(rounded($0)) ms" } ?? ""
    return [("calls", "\(callsPlayed - callsFailed) of \(callsPlayed) as they should\(gap)")]
  }

  private var delayRows: [(String, String)] {
    let all = [
      ("sound", latencyMs.audio), ("pictures", latencyMs.video), ("join", joinMs), ("first frame", firstFrameMs),
      ("mute to silence", muteToSilenceMs), ("answer to voice", answerMs),
    ]
    return all.compactMap { name, delays in
      delays.map {
        (name, "p50 \(rounded($0.p50))  p95 \(rounded($0.p95))  p99 \(rounded($0.p99))  max \(rounded($0.max)) ms")
      }
    }
  }

  private var costRows: [(String, String)] {
    var rows: [(String, String)] = []
    if let server {
      let cost = server.cpuMicrosPerForwardedPacket.map { "\(rounded($0)) µs a packet" } ?? "nothing was forwarded"
      rows.append(("server's CPU", "\(rounded(server.cpuSeconds)) s, \(cost)"))
      let each = mebibytes(UInt64(server.rssBytesPerParticipant))
      rows.append(("server's memory", "\(mebibytes(server.rssBytes)), \(each) a participant"))
    }
    if let limit {
      let parts = "sealing \(rounded(limit.cryptoMicros)) (\(limit.backend)) + sending \(rounded(limit.sendMicros))"
      rows.append(("limit here", "\(rounded(limit.microsPerPacket)) µs a packet: \(parts)"))
    }
    if let ratioToLimit { rows.append(("ratio to limit", rounded(ratioToLimit))) }
    let late = generator.lateSendsMs.map { ", frames late by p99 \(rounded($0.p99)) ms" } ?? ""
    let unread = generator.readDelayMs.map { ", packets read late by p99 \(rounded($0.p99)) ms" } ?? ""
    rows.append(("load generator", "busiest thread \(percent(generator.busiestThread)) of a CPU\(late)\(unread)"))
    rows.append(("machine", "\(generator.cpus) CPUs, load \(rounded(generator.machineLoad))"))
    return rows
  }
}

/// Rows of cells with their columns below each other.
func aligned(_ rows: [[String]]) -> String {
  let columns = rows.first?.count ?? 0
  let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
  return rows.map { row in
    zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
  }.joined(separator: "\n")
}
