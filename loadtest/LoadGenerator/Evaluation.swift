// From what participants counted to the figures of the report.

import Basics
import CLinux
import Glibc
import RoostProtocol
import SyntheticParticipant

struct Evaluation: Sendable {
  var report = Report()
  private(set) var meanPacketBytes = 1_200
  let scenario: Scenario
  private var audio = LatencyHistogram()
  private var video = LatencyHistogram()
  private var joins: [Double] = []
  private var firstFrames: [Double] = []
  private var bytes: UInt64 = 0
  /// Users of the load test.
  private var ours: Set<String> = []

  /// Counts of everybody's subscriptions, by user and SSRC.
  static func snapshot(_ crowd: Crowd) async -> [String: [String: ReceiveStatistics]] {
    await statistics(crowd).mapValues { statistics in
      Dictionary(statistics.received.map { ($0.subscriptionId, $0) }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// Everybody is asked at once: each answer takes a turn of a media thread, and a busy one's turns are long.
  private static func statistics(_ crowd: Crowd) async -> [String: ParticipantStatistics] {
    await withTaskGroup { tasks in
      for person in crowd.members { tasks.addTask { (person.user, await person.statistics) } }
      var result: [String: ParticipantStatistics] = [:]
      for await (user, statistics) in tasks {
        if let statistics { result[user] = statistics }
      }
      return result
    }
  }

  static func of(_ crowd: Crowd, _ window: Window, _ scenario: Scenario) async -> Evaluation {
    var evaluation = Evaluation(scenario: scenario)
    evaluation.begin(crowd, window)
    let statistics = await statistics(crowd)
    let sent = await SentCounts(crowd, statistics)
    for person in crowd.people { await evaluation.add(person, statistics[person.user], window, sent) }
    await evaluation.addChat(crowd)
    evaluation.finish(window)
    return evaluation
  }

  init(scenario: Scenario) { self.scenario = scenario }

  private mutating func begin(_ crowd: Crowd, _ window: Window) {
    ours = Set(crowd.people.map(\.user))
    report.scenario = scenario.name
    report.about = scenario.about
    report.rooms = scenario.rooms
    report.steadySeconds = (window.last.at - window.first.at).seconds
    report.seconds = (window.last.at - window.joinedAfter).seconds
    report.timeline = window.timeline
    report.streamsExpected = Crowd.streams(to: Crowd.unlimited(crowd.steady), from: crowd.steady)
    report.muteToSilenceMs = Percentiles(window.findings.muteToSilence)
    report.muteLeaks = window.findings.muteLeaks
    addCalls(window.calls)
  }

  private mutating func addCalls(_ calls: CallFindings) {
    report.callsPlayed = calls.played
    report.callsFailed = calls.problems.count
    report.problems += calls.problems
    report.answerMs = Percentiles(calls.answers)
    report.upgradeGapMs = calls.upgradeGaps.max()
  }

  // MARK: People

  private mutating func add(
    _ person: Person, _ statistics: ParticipantStatistics?, _ window: Window, _ sent: SentCounts
  ) async {
    if let participant = await person.participant { await person.collect(participant) }
    report.problems += await person.problems
    if let expected = person.group.refused {
      if await person.joins.refusal == expected { report.refused += 1 }
      return
    }
    if person.group.line != nil {
      addLine(person, statistics, await person.ownQuality, window)
      if statistics != nil { report.participants += 1 }
      joins += await person.joins.milliseconds
      return
    }
    var row = Report.PersonRow(user: person.user, room: person.room)
    row.joinMs = await person.joins.milliseconds.first
    if statistics != nil { report.participants += 1 }
    let isSteady = person.group.habits.stay == nil
    let before = window.baseline[person.user] ?? [:]
    joins += await person.joins.milliseconds
    for (calledAt, stream) in await person.past {
      add(stream, before[stream.subscriptionId], tail: 0, &row)
      addFirstFrame(stream, calledAt, sent, &row)
    }
    for stream in statistics?.received ?? [] {
      let flowed = add(stream, before[stream.subscriptionId], tail: sent.tail(stream), &row)
      if isSteady, flowed, sent.isSteady(stream.trackId) { report.streamsSeen += 1 }
      addFirstFrame(stream, await person.joins.calledAt, sent, &row)
    }
    if let statistics {
      addDelays(statistics, &row)
      addConnection(statistics, person.user)
    }
    report.people.append(row)
  }

  /// What came over a line is no matter of all: what it does not carry is held back on purpose. But whatever comes must be right.
  private mutating func addLine(
    _ person: Person, _ statistics: ParticipantStatistics?, _ quality: OwnQuality?, _ window: Window
  ) {
    guard let statistics, let shape = person.group.line else { return }
    let before = window.baseline[person.user] ?? [:]
    var row = Report.LineRow(person.user, shape, person.group)
    for stream in statistics.received {
      row.add(stream, since: before[stream.subscriptionId], seconds: report.steadySeconds)
      report.wrongStream += stream.wrongStream
      report.damaged += stream.damaged + stream.timestampErrors
    }
    row.estimateKbps = statistics.subscribe.ownEstimate.map { $0 / 1_000 }
    row.serverEstimateKbps = quality?.estimate.map(Double.init)
    row.serverSays = quality.map { [$0.level.rawValue, $0.reason?.rawValue].compactMap { $0 }.joined(separator: ", ") }
    report.lines.append(row)
    addConnection(statistics, person.user)
  }

  /// Adds what a stream did in the window; true when anything came.
  @discardableResult
  private mutating func add(
    _ stream: ReceiveStatistics, _ before: ReceiveStatistics?, tail: UInt64, _ row: inout Report.PersonRow
  ) -> Bool {
    func since(_ path: KeyPath<ReceiveStatistics, UInt64>) -> UInt64 {
      let start = before?[keyPath: path] ?? 0
      return stream[keyPath: path] - min(start, stream[keyPath: path])
    }
    if isOther(stream) {
      report.others.add(stream)
      return false
    }
    addInspection(stream, &row)
    // Of ours, and not one stamp that could be read: nothing of it has come.
    if stream.packets > 0, stream.lastOrdinal == 0 { return false }
    let received = since(\.packets)
    report.packetsReceived += received
    report.packetsGlanced += since(\.glanced)
    report.packetsExpected += since(\.expected) + tail
    report.repaired += since(\.repaired)
    report.duplicates += since(\.duplicates)
    report.wrongStream += since(\.wrongStream)
    report.damaged += since(\.damaged) + since(\.malformedFrames) + since(\.timestampErrors) + since(\.unmarkedGaps)
    report.interruptions += since(\.resumptions)
    report.freezes += since(\.freezes)
    row.streams += received > 0 ? 1 : 0
    row.packetsReceived += received
    row.packetsExpected += since(\.expected) + tail
    row.repaired += since(\.repaired)
    row.freezes += since(\.freezes)
    bytes += since(\.bytes)
    return received > 0
  }

  /// Whether a stream comes from somebody who is in the room, but not of the load test: his packets carry no stamps.
  private func isOther(_ stream: ReceiveStatistics) -> Bool {
    stream.user.map { !ours.contains($0) } ?? (stream.packets > 0 && stream.lastOrdinal == 0)
  }

  /// Decoders look at whole lives of streams: what a picture shows does not depend on when it came.
  private mutating func addInspection(_ stream: ReceiveStatistics, _ row: inout Report.PersonRow) {
    let found = stream.inspection
    report.decodedFrames += found.decoded
    report.undecodableFrames += found.undecodable
    report.wrongPictures += found.wrongIdentity
    row.decodedFrames += found.decoded
    if let quality = found.lowestPSNR { report.lowestPSNR = min(report.lowestPSNR ?? .infinity, quality) }
  }

  /// From when both wanted to be there to the first picture, or the first sound where a stream is sound.
  private mutating func addFirstFrame(
    _ stream: ReceiveStatistics, _ calledAt: Instant?, _ sent: SentCounts, _ row: inout Report.PersonRow
  ) {
    guard let calledAt, let first = stream.firstFrameAt, let other = sent.calledAt[stream.trackId] else { return }
    let wait = (first - max(calledAt, other)).seconds * 1_000
    firstFrames.append(wait)
    row.firstFrameMs = min(row.firstFrameMs ?? .infinity, wait)
  }

  private mutating func addDelays(_ statistics: ParticipantStatistics, _ row: inout Report.PersonRow) {
    audio.merge(statistics.audioLatency)
    video.merge(statistics.videoLatency)
    var both = statistics.audioLatency
    both.merge(statistics.videoLatency)
    row.p99Ms = both.count > 0 ? Double(both.percentile(0.99)) / 1_000 : nil
  }

  private mutating func addConnection(_ statistics: ParticipantStatistics, _ user: String) {
    for connection in [statistics.publish, statistics.subscribe] where connection.unopened > 0 {
      report.problems.append("\(user): \(connection.unopened) packets could not be opened")
    }
    for connection in [statistics.publish, statistics.subscribe] where connection.unknownSSRC > 0 {
      report.problems.append("\(user): \(connection.unknownSSRC) packets of a stream that was never announced")
    }
  }

  private mutating func addChat(_ crowd: Crowd) async {
    let members = crowd.members
    for person in members {
      let said = await person.said
      guard said > 0 else { continue }
      report.chatSent += said
      for other in members where other.room == person.room && other.user != person.user {
        let heard = Set(await other.heard[person.user] ?? [])
        report.chatLost += max(0, said - heard.count)
      }
    }
  }

  // MARK: Sums

  private mutating func finish(_ window: Window) {
    let (expected, received) = (report.packetsExpected, report.packetsReceived)
    report.lossRatio = expected > received ? Double(expected - received) / Double(expected) : 0
    if received > 0 { meanPacketBytes = Int(bytes / received) + 12 + 16 }
    report.latencyMs = .init(audio: Percentiles(audio), video: Percentiles(video))
    var all = audio
    all.merge(video)
    report.latencyHistogram = Self.bars(all)
    var waits = LatencyHistogram()
    for wait in firstFrames { waits.record(.microseconds(Int(wait * 1_000))) }
    report.firstFrameHistogram = Self.bars(waits)
    report.joinMs = Percentiles(joins)
    report.firstFrameMs = Percentiles(firstFrames)
    let packets = firstTransmissions(window)
    report.packetsPerSecond = Double(packets) / max(0.001, report.steadySeconds)
    addGenerator(window)
  }

  private static func bars(_ histogram: LatencyHistogram) -> [Report.Bar] {
    histogram.bars.map { .init(microseconds: $0.microseconds, count: $0.count) }
  }

  /// Media packets of the window that receivers got without having asked for them.
  private func firstTransmissions(_ window: Window) -> UInt64 {
    // Of calls alone, what costs is to set them up.
    if scenario.people.isEmpty { return 0 }
    let (first, last) = (window.first.totals, window.last.totals)
    let all = last.mediaReceived - min(last.mediaReceived, first.mediaReceived)
    let repaired = last.repaired - min(last.repaired, first.repaired)
    return all - min(all, repaired)
  }

  private mutating func addGenerator(_ window: Window) {
    var generator = Report.Generator()
    let busy = zip(window.last.totals.threadTimes, window.first.totals.threadTimes).map { ($0 - $1).seconds }
    generator.busiestThread = (busy.max() ?? 0) / max(0.001, report.steadySeconds)
    generator.lateSendsMs = Percentiles(window.last.totals.lateness)
    generator.readDelayMs = Percentiles(window.last.totals.readDelay)
    generator.cpus = Int(clinux_cpu_count())
    var loads = [0.0, 0, 0]
    if getloadavg(&loads, 3) > 0 { generator.machineLoad = loads[0] }
    if generator.busiestThread > 0.85 {
      generator.reasons.append("a media thread used \(percent(generator.busiestThread)) of a CPU")
    }
    if let late = generator.lateSendsMs, late.p99 > 5 {
      generator.reasons.append("frames went out up to \(rounded(late.p99)) ms late (p99)")
    }
    // Delays are taken by the kernel's clock; but what participants answer comes late.
    if let wait = generator.readDelayMs, wait.p99 > 20 {
      generator.reasons.append("packets waited \(rounded(wait.p99)) ms (p99) until a media thread read them")
    }
    generator.wasBottleneck = !generator.reasons.isEmpty
    report.generator = generator
  }

  mutating func addServer(before: ProcessUsage?, _ window: Window) {
    guard let before, let first = window.first.usage, let last = window.last.usage else { return }
    var server = Report.Server()
    let used = Double(last.cpuNanoseconds &- first.cpuNanoseconds)
    server.cpuSeconds = used / 1e9
    let packets = firstTransmissions(window)
    if packets > 0 { server.cpuMicrosPerForwardedPacket = used / 1_000 / Double(packets) }
    server.rssBytes = last.residentBytes
    let grown = last.residentBytes - min(last.residentBytes, before.residentBytes)
    server.rssBytesPerParticipant = Double(grown) / Double(max(1, report.participants))
    report.server = server
  }

  mutating func addLimit(packetBytes: Int) {
    report.limit = Yardstick.measure(packetBytes: packetBytes - 16)
    guard let limit = report.limit, let cost = report.server?.cpuMicrosPerForwardedPacket else { return }
    report.ratioToLimit = cost / limit.microsPerPacket
  }
}

/// What everybody sent, and when those came who did, by track.
private struct SentCounts {
  private(set) var calledAt: [String: Instant] = [:]
  private var packets: [String: UInt64] = [:]
  private var steady: Set<String> = []

  init(_ crowd: Crowd, _ statistics: [String: ParticipantStatistics]) async {
    for person in crowd.members {
      calledAt.merge(await person.joins.published) { first, _ in first }
      guard let sent = statistics[person.user]?.sent else { continue }
      for encoding in sent {
        guard let track = encoding.trackId else { continue }
        if person.group.habits.stay == nil { steady.insert(track) }
        // With several layers, or a mute, nobody knows which packets would have come.
        if person.group.habits.muteEvery == nil, (person.group.video?.layers ?? 1) == 1 {
          packets[track] = encoding.packets
        }
      }
    }
  }

  /// Packets sent after the latest that came.
  func tail(_ stream: ReceiveStatistics) -> UInt64 {
    guard stream.isActive, stream.packets > 0, let sent = packets[stream.trackId] else { return 0 }
    return sent - min(sent, UInt64(stream.lastOrdinal))
  }

  func isSteady(_ trackId: String) -> Bool { steady.contains(trackId) }
}

func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

/// With two decimals at most.
func rounded(_ value: Double) -> String {
  let hundredths = Int((value * 100).rounded())
  let (whole, rest) = (hundredths / 100, abs(hundredths % 100))
  return rest == 0 ? "\(whole)" : rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
}
