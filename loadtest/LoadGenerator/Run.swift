// One load test from beginning to end:
//
//   server ─▶ joins over the ramp ─▶ all streams flow ─▶ steady window, sampled each second ─▶ senders held, rest arrives
//          ─▶ evaluation ─▶ everybody leaves ─▶ yardstick ─▶ server stops

import Basics
import CLinux
import Glibc
import SyntheticParticipant

/// What a run is told besides its scenario.
struct RunSettings: Sendable {
  /// A server that runs already; nil to start one.
  var server: String?
  var roost: String?
  /// Where a Janus gateway is unpacked; nil to load Roost.
  var janus: String?
  /// Threads that its connections share; nil for Janus's default: each has its own.
  var janusEventLoops: Int?
  var threads: Int?
  var fault: ServerFault?
  var measuresLimit = true
  /// Whether a target that is missed fails the run.
  var isStrict = false
  /// Whether the server that is started has the first CPU for itself, and participants the others.
  var isPinned = false
  /// Whether most participants open only some packets, with the server's own SRTP, so that the generator costs less. One in each
  /// room still checks everything.
  var isLight = false
  /// How long the packets of the server that is started may wait for company; its default without.
  var coalesce: Options.Coalesce?
  /// What comes in the window besides the scenario's people.
  var trouble: Trouble?
  /// Whether the server that is started bounds the checks of each connection.
  var boundsChecks: Bool { trouble != .unbounded }
  /// Told each second.
  var progress: @Sendable (Progress) -> Void = { _ in }

  /// Which server is loaded, in words.
  var loaded: String {
    if let server { return server }
    guard janus != nil else { return "Roost" }
    return janusEventLoops.map { "Janus, \($0) event loop\($0 == 1 ? "" : "s")" }
      ?? "Janus, a thread for each connection"
  }
}

/// What is known while it runs.
struct Progress: Sendable, Equatable {
  enum Phase: String, Sendable { case joining, settling, measuring, finishing }
  var phase = Phase.joining
  /// Since the run began.
  var seconds = 0.0
  /// People who are in, of so many who are to be.
  var up = 0
  var participants = 0
  /// Devices that have a session, of so many.
  var devices = 0
  var allDevices = 0
  /// The last second of the window; nil outside it.
  var moment: Report.Moment?
}

struct Run {
  /// How long streams may take to flow once all have joined.
  private static let patience = TimeDelta.seconds(40)
  private let scenario: Scenario
  private let settings: RunSettings
  private let driver: MediaDriver
  private let pid: Int32?
  private let crowd: Crowd
  private let url: String
  /// The devices, where the scenario has some.
  private let stage: DeviceStage?
  private let started = MediaDriver.now

  /// Runs a scenario. Throws when there is no server; whatever else goes wrong is in the report.
  static func run(_ scenario: Scenario, _ settings: RunSettings) async throws -> Report {
    raiseDescriptorLimit()
    if let url = settings.server {
      guard scenario.devices == nil else {
        throw UsageError(description: "devices do not go with --server: what they cost is seen on a server of our own")
      }
      guard !scenario.hasPlayers(by: .flashphoner) else {
        throw UsageError(
          description: "players of flashphoner do not go with --server, which says nothing of their port")
      }
      return await Run(scenario, settings, url: signallingURL(url), pid: nil).run()
    }
    if let root = settings.janus {
      guard scenario.isOfPeopleWhoStay else {
        throw UsageError(
          description: "with --janus people come and stay: no calls, devices, mutes, chat, leaving or refusals")
      }
      let (server, url) = try await ServerProcess.startJanus(root, settings)
      return await Run(scenario, settings, url: url, pid: server.pid).run(until: server)
    }
    guard let program = settings.roost ?? FindFiles.roost() else {
      throw ServerStartError(
        description: "there is no roost to start: run make build, or name one with --roost or --server")
    }
    let (server, url) = try await ServerProcess.start(program, for: scenario, settings)
    return await Run(
      scenario, settings, url: signallingURL(url), pid: server.pid, flashphoner: server.flashphonerURL
    ).run(until: server)
  }

  /// Runs, and stops the server.
  private func run(until server: ServerProcess) async -> Report {
    var server = server
    let report = await run(on: &server)
    await server.stop()
    server.removeFiles()
    return report
  }

  private init(
    _ scenario: Scenario, _ settings: RunSettings, url: String, pid: Int32?, flashphoner: String? = nil
  ) {
    self.scenario = scenario
    self.settings = settings
    self.pid = pid
    self.url = url
    stage = scenario.devices.flatMap { devices in
      pid.map { DeviceStage(devices, scenario, url: url, pid: $0, tell: settings.progress) }
    }
    let others = max(1, Int(clinux_cpu_count()) - 1)
    driver = MediaDriver(
      threads: settings.threads ?? (settings.isPinned ? others : min(4, others)), sparesFirstCPU: settings.isPinned)
    var doors: [PlayerPlan.Door: String] = [.whep: webURL(url)]
    doors[.flashphoner] = flashphoner
    crowd = Crowd(
      scenario, url: url, doors: doors, driver: driver, fault: settings.fault, isLight: settings.isLight,
      isJanus: settings.janus != nil)
  }

  private func run() async -> Report {
    var server: ServerProcess?
    return await run(on: &server)
  }

  private func run(on server: inout ServerProcess) async -> Report {
    var some: ServerProcess? = server
    var report = await run(on: &some)
    if let some { server = some }
    if !server.isRunning { report.fail("the server ended by itself", server.output) }
    return report
  }

  private func run(on server: inout ServerProcess?) async -> Report {
    await crowd.prepare()
    await stage?.connect()
    await stage?.rest()
    let before = usage
    await telling(.joining) { await crowd.join() }
    let flows = await telling(.settling) { await waitUntilFlowing() }
    await settle()
    let window = await measure()
    var evaluation = await Evaluation.of(crowd, window, scenario)
    evaluation.report.loaded = settings.loaded
    evaluation.report.flooded = window.flooded
    evaluation.report.problems += window.problems
    evaluation.addServer(before: before, window)
    if !flows {
      evaluation.report.problems.append("not every stream flowed within \(Self.patience.seconds) s of the last join")
    }
    await crowd.leave()
    driver.stop()
    if let stage { await finish(stage, &server, &evaluation) }
    if settings.measuresLimit, !scenario.people.isEmpty { evaluation.addLimit(packetBytes: evaluation.meanPacketBytes) }
    evaluation.judge(isStrict: settings.isStrict)
    return evaluation.report
  }

  /// What devices cost and how they fared, the restart included where the scenario has one.
  private func finish(_ stage: DeviceStage, _ server: inout ServerProcess?, _ evaluation: inout Evaluation) async {
    if let old = server, scenario.devices?.restarts == true {
      do {
        server = try await stage.restart(old)
      } catch {
        evaluation.report.problems.append("\(error)")
      }
    }
    await stage.stop()
    evaluation.report.devices = await stage.found
    evaluation.report.problems += await stage.problems
  }

  private var usage: ProcessUsage? { pid.flatMap { ProcessUsage(pid: $0) } }

  // MARK: Before the window

  private func waitUntilFlowing() async -> Bool {
    let expected = Crowd.streams(to: Crowd.unlimited(crowd.members), from: crowd.members)
    let end = MediaDriver.now + Self.patience
    while MediaDriver.now < end {
      if await driver.totals().streamsSeen >= expected { return true }
      await pause(.milliseconds(100))
    }
    return false
  }

  /// A moment for the keyframes of the last joins to pass. Where light participants do not ask for what is missing, what was lost
  /// in the crush of the joins is given up before the window begins.
  private func settle() async { await pause(settings.isLight || scenario.hasLines ? .seconds(3) : .seconds(1)) }

  // MARK: The window

  private func measure() async -> Window {
    let activities = Activities(crowd, driver: driver)
    var window = Window()
    var mallory: Mallory?
    if let trouble = settings.trouble {
      let begun = await Mallory.begin(trouble, url: url, web: webURL(url))
      mallory = begun.mallory
      if let problem = begun.problem { window.problems.append(problem) }
    }
    window.baseline = await Evaluation.snapshot(crowd)
    driver.forgetDelays()
    window.start = MediaDriver.now
    var last = await reading()
    window.first = last
    let before = await mallory?.counts ?? FloodCounts()
    await activities.start()
    let calls = CallStorm(url: url, driver: driver)
    await calls.start(scenario.calls)
    await stage?.startCalls()
    while MediaDriver.now - window.start < scenario.duration {
      let left = scenario.duration - (MediaDriver.now - window.start)
      await pause(min(left, .seconds(1)))
      let now = await reading()
      let moment = now.moment(since: last, start: window.start)
      window.timeline.append(moment)
      await tell(.measuring, moment)
      last = now
    }
    window.last = last
    if let mallory { window.flooded = await mallory.end().since(before) }
    await telling(.finishing) {
      await stage?.endCalls()
      await calls.stop()
      await activities.stop()
      await drain()
    }
    window.findings = await activities.findings
    window.calls = await calls.findings
    window.joinedAfter = started
    return window
  }

  private func reading() async -> Reading {
    Reading(at: MediaDriver.now, usage: usage, totals: await driver.totals())
  }

  /// Holds the senders and waits until nothing more comes, repairs included.
  private func drain() async {
    // Whoever was muted last is on again by now; a moment for that to flow.
    await pause(.milliseconds(300))
    driver.holdSenders()
    var before = await driver.totals().mediaReceived
    for _ in 0..<40 {
      await pause(.milliseconds(100))
      let now = await driver.totals()
      if now.mediaReceived == before, now.mediaReceived + now.lost >= now.expected { break }
      before = now.mediaReceived
    }
  }

  // MARK: Progress

  /// Does `body` and tells of the phase each second meanwhile.
  private func telling<Result: Sendable>(_ phase: Progress.Phase, _ body: () async -> Result) async -> Result {
    let ticker = Task {
      while !Task.isCancelled {
        await tell(phase, nil)
        await pause(.seconds(1))
      }
    }
    defer { ticker.cancel() }
    return await body()
  }

  private func tell(_ phase: Progress.Phase, _ moment: Report.Moment?) async {
    let up = await crowd.up
    settings.progress(
      Progress(
        phase: phase, seconds: (MediaDriver.now - started).seconds, up: up, participants: scenario.participants,
        moment: moment))
  }
}

/// All counters at one moment.
struct Reading: Sendable {
  var at = Instant.zero
  var usage: ProcessUsage?
  var totals = DriverTotals()

  /// What happened since an earlier reading.
  func moment(since earlier: Reading, start: Instant) -> Report.Moment {
    var moment = Report.Moment()
    let seconds = max(0.001, (at - earlier.at).seconds)
    let received = totals.mediaReceived - min(totals.mediaReceived, earlier.totals.mediaReceived)
    let expected = totals.expected - min(totals.expected, earlier.totals.expected)
    moment.second = (at - start).seconds
    moment.packetsPerSecond = Double(received) / seconds
    moment.lossRatio = expected > received ? Double(expected - received) / Double(expected) : 0
    if let usage, let before = earlier.usage {
      moment.serverCPU = Double(usage.cpuNanoseconds &- before.cpuNanoseconds) / 1e9 / seconds
      moment.rssBytes = usage.residentBytes
    }
    let latency = totals.latency.since(earlier.totals.latency)
    moment.p50Ms = Double(latency.percentile(0.5)) / 1_000
    moment.p99Ms = Double(latency.percentile(0.99)) / 1_000
    return moment
  }
}

/// The steady window.
struct Window: Sendable {
  var start = Instant.zero
  var joinedAfter = Instant.zero
  var first = Reading()
  var last = Reading()
  var timeline: [Report.Moment] = []
  /// Counts of each person's subscriptions at the start.
  var baseline: [String: [String: ReceiveStatistics]] = [:]
  /// Of whoever floods.
  var flooded = FloodCounts()
  var problems: [String] = []
  var findings = ActivityFindings()
  var calls = CallFindings()
}

/// `http://host:port/` as `ws://host:port/rtc`.
func signallingURL(_ url: String) -> String {
  guard url.hasPrefix("http") else { return url }
  let socket = "ws" + url.dropFirst(4)
  return socket.hasSuffix("/") ? socket + "rtc" : socket.hasSuffix("/rtc") ? socket : socket + "/rtc"
}

/// `ws://host:port/rtc` as `http://host:port`.
private func webURL(_ signalling: String) -> String {
  let web = signalling.hasPrefix("ws") ? "http" + signalling.dropFirst(2) : signalling
  return web.hasSuffix("/rtc") ? String(web.dropLast(4)) : web
}

/// A participant takes three descriptors.
private func raiseDescriptorLimit() {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
