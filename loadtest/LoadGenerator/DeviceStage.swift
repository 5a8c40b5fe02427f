// The devices of a run, one act after the other: they connect, wait, call each other, and come back after a restart. What the server
// uses meanwhile is read from outside.

import Basics
import Devices
import SyntheticParticipant

actor DeviceStage {
  /// Until all must be connected; three thousand a second is what one core does with TLS at its slowest.
  private static let patience = TimeDelta.seconds(120)
  private(set) var found = Report.Devices()
  private(set) var problems: [String] = []
  private let scenario: Scenario
  private let pid: Int32
  private let tell: @Sendable (Progress) -> Void
  private let plan: FleetPlan?
  private let url: String
  private var fleet: DeviceFleet?
  private var beforeCalls: (at: Instant, usage: ProcessUsage?, figures: FleetFigures)?
  private let started = MediaDriver.now

  init(
    _ devices: DeviceCrowd, _ scenario: Scenario, url: String, pid: Int32,
    tell: @escaping @Sendable (Progress) -> Void
  ) {
    (self.scenario, self.pid, self.tell, self.url) = (scenario, pid, tell, url)
    let run = String(UInt32.random(in: 0 ... .max), radix: 36)
    // The servers that we start listen on 127.0.0.1.
    let port = url.split(separator: "/").dropFirst().first?.split(separator: ":").last.flatMap { UInt16($0) }
    plan = port.map { FleetPlan(count: devices.count, port: $0, isTLS: devices.isTLS, run: run) }
    (found.count, found.isTLS) = (devices.count, devices.isTLS)
  }

  // MARK: Acts

  /// Connects them all, and sees what that took of the server's memory.
  func connect() async {
    guard let plan else {
      problems.append("there is no port in \(url)")
      return
    }
    let before = ProcessUsage(pid: pid)
    let start = MediaDriver.now
    let fleet = DeviceFleet(plan)
    self.fleet = fleet
    if await waitForAll(fleet, since: start, .joining) == nil {
      problems.append("\(fleet.figures.ready) of \(plan.count) devices have a session after \(Self.patience.seconds) s")
    }
    found.connectSeconds = (fleet.figures.lastReadyAt - start).seconds
    // What the crush of the handshakes took for a moment goes back.
    await pause(.seconds(2))
    guard let before, let after = ProcessUsage(pid: pid) else { return }
    let grown = after.residentBytes - min(after.residentBytes, before.residentBytes)
    found.rssBytesPerDevice = Double(grown) / Double(plan.count)
  }

  /// Looks on while they wait.
  func rest() async {
    guard let fleet else { return }
    let (start, usage, before) = (MediaDriver.now, ProcessUsage(pid: pid), fleet.figures)
    let duration = scenario.devices?.rest ?? scenario.duration
    while MediaDriver.now - start < duration {
      await pause(min(.seconds(1), duration - (MediaDriver.now - start)))
      progress(fleet, .settling)
    }
    let (seconds, after) = ((MediaDriver.now - start).seconds, fleet.figures)
    found.idleSeconds = seconds
    found.idleCPU = share(of: seconds, since: usage)
    found.pingsPerSecond = Double(after.pings - before.pings) / seconds
    found.ownIdleCPU = (after.threadTime - before.threadTime).seconds / seconds
  }

  /// Has them call each other, if the scenario wants that.
  func startCalls() {
    guard let fleet, let rate = scenario.callsPerSecond else { return }
    beforeCalls = (MediaDriver.now, ProcessUsage(pid: pid), fleet.figures)
    fleet.call(perSecond: rate)
  }

  /// Ends that, and waits for the calls that are under way.
  func endCalls() async {
    guard let fleet, let before = beforeCalls, let plan else { return }
    fleet.call(perSecond: 0)
    let seconds = (MediaDriver.now - before.at).seconds
    let usage = ProcessUsage(pid: pid)
    let after = fleet.figures
    var calls = Report.Calls(wantedPerSecond: scenario.callsPerSecond ?? 0)
    calls.perSecond = Double(after.callsStarted - before.figures.callsStarted) / seconds
    calls.isSlow = Double(after.callsStarted) + 2 < calls.wantedPerSecond * seconds * 0.9
    calls.ownCPU = (after.threadTime - before.figures.threadTime).seconds / seconds
    let count = after.callsEnded - before.figures.callsEnded
    if scenario.people.isEmpty, count > 0, let usage, let first = before.usage {
      let used = Double(usage.cpuNanoseconds &- first.cpuNanoseconds) / 1_000 - found.idleCPU * seconds * 1e6
      calls.cpuMicros = max(0, used) / Double(count)
    }
    let end = MediaDriver.now + plan.patience + .seconds(1)
    while MediaDriver.now < end, fleet.figures.callsUnderWay > 0 { await pause(.milliseconds(50)) }
    let last = fleet.figures
    (calls.started, calls.ended, calls.failed) = (last.callsStarted, last.callsEnded, last.callsFailed)
    calls.incomingMs = Percentiles(last.ringDelay)
    calls.latenessMs = Percentiles(last.lateness)
    found.calls = calls
  }

  /// Ends the server and starts it again; the new one.
  func restart(_ server: ServerProcess) async throws -> ServerProcess {
    guard let fleet, let plan else { return server }
    note(fleet)
    await server.stop()
    let end = MediaDriver.now
    await pause(scenario.devices?.away ?? .zero)
    let new = try await server.again()
    var restart = Report.Restart(startSeconds: (MediaDriver.now - end).seconds)
    restart.backSeconds = await waitForAll(fleet, since: end, .finishing)
    restart.back = fleet.figures.ready
    if restart.backSeconds == nil { problems.append("\(restart.back) of \(plan.count) devices came back") }
    found.restart = restart
    return new
  }

  /// Lets them go.
  func stop() {
    guard let fleet else { return }
    if found.restart == nil { note(fleet) }
    problems += fleet.figures.problems
    fleet.stop()
  }

  // MARK: Parts

  /// How many are there before anything is done to the server.
  private func note(_ fleet: DeviceFleet) {
    let figures = fleet.figures
    (found.connected, found.lost) = (figures.ready, figures.lost)
  }

  /// Seconds from `start` until all had their sessions, none of them from before; nil when it took too long.
  private func waitForAll(_ fleet: DeviceFleet, since start: Instant, _ phase: Progress.Phase) async -> Double? {
    while MediaDriver.now - start < Self.patience {
      let figures = fleet.figures
      if figures.ready == found.count, figures.lastReadyAt > start { return (figures.lastReadyAt - start).seconds }
      await pause(.milliseconds(100))
      progress(fleet, phase)
    }
    return nil
  }

  private var toldAt = Instant.zero

  private func progress(_ fleet: DeviceFleet, _ phase: Progress.Phase) {
    guard MediaDriver.now - toldAt >= .seconds(1) else { return }
    toldAt = MediaDriver.now
    tell(
      Progress(
        phase: phase, seconds: (toldAt - started).seconds, devices: fleet.figures.ready, allDevices: found.count))
  }

  /// The server's share of a core.
  private func share(of seconds: Double, since before: ProcessUsage?) -> Double {
    guard let before, let after = ProcessUsage(pid: pid) else { return 0 }
    return Double(after.cpuNanoseconds &- before.cpuNanoseconds) / 1e9 / max(0.001, seconds)
  }
}
