// How many rooms one worker carries: runs with one room more each, until packets are lost or late.

import Basics

struct RoomSearch: Encodable, Sendable, Equatable {
  /// What a room must keep to be carried.
  static let mostLoss = 0.001
  static let mostP99Ms = 5.0
  /// How often a number of rooms is tried that does not hold.
  static let mostTries = 3
  /// Over how long the joins of a room are spread: they are not what is measured here.
  static let joining = TimeDelta.milliseconds(1_500)

  /// One run.
  struct Try: Encodable, Sendable, Equatable {
    var rooms = 0
    var packetsPerSecond = 0.0
    var lossRatio = 0.0
    var p99Ms = 0.0
    /// The server's share of one CPU.
    var serverCPU = 0.0
    var cpuMicrosPerForwardedPacket = 0.0
    /// The busiest media thread's share of a CPU.
    var generatorCPU = 0.0
    /// Why the generator thinks that it was the bottleneck; empty when it does not.
    var generatorReasons: [String] = []
    /// Whether every stream flowed, nothing wrong came, and losses and delays were within their bounds.
    var held = false
  }

  private(set) var tries: [Try] = []
  /// The highest number of rooms that held; 0 when not even one did.
  private(set) var most = 0
  /// In a sentence: how many, and what ended the search.
  private(set) var verdict = ""

  /// Looks up by ones from `first` rooms, or down where those are too many already; what did not hold is tried again. `tell` hears of each run.
  static func find(
    _ scenario: Scenario, from first: Int, _ settings: RunSettings, tell: (Try) -> Void
  ) async throws -> RoomSearch {
    var search = RoomSearch()
    var rooms = first
    while rooms > 0 {
      var result = try await run(scenario, rooms, settings)
      tell(result)
      // Once or twice may be anything on the machine.
      for _ in 1..<mostTries where !result.held {
        let again = try await run(scenario, rooms, settings)
        tell(again)
        if again.held || again.p99Ms < result.p99Ms { result = again }
      }
      guard let next = search.take(result) else { break }
      rooms = next
    }
    return search
  }

  private static func run(_ scenario: Scenario, _ rooms: Int, _ settings: RunSettings) async throws -> Try {
    var one = scenario
    one.rooms = rooms
    one.ramp = max(scenario.ramp, joining * Int64(rooms))
    one.expect.streams = nil
    return Try(try await Run.run(one, settings))
  }

  /// Takes a run's result; how many rooms to try next, nil when the answer is known.
  mutating func take(_ result: Try) -> Int? {
    tries.append(result)
    if result.held { most = max(most, result.rooms) }
    let next = result.rooms + (result.held ? 1 : -1)
    if next > 0, !tries.contains(where: { $0.rooms == next }) { return next }
    verdict = conclusion
    return nil
  }

  private var conclusion: String {
    let limit = tries.filter { !$0.held }.min { $0.rooms < $1.rooms }
    let carried = tries.first { $0.rooms == most }
    var text =
      carried.map { "\(most) rooms held, \(Int($0.packetsPerSecond)) packets a second." } ?? "Not even one room held."
    guard let limit else { return text }
    text += " \(limit.rooms) did not: loss \(rounded(limit.lossRatio * 100)) %, p99 \(rounded(limit.p99Ms)) ms"
    text += ", server \(percent(limit.serverCPU)) of a CPU."
    if limit.generatorReasons.isEmpty {
      let isFull = limit.serverCPU > 0.85
      return text
        + (isFull
          ? " The server was the bottleneck." : " Neither CPU was full: what else the machine does was in the way.")
    }
    if limit.serverCPU > 0.85 {
      return text
        + " The server was full, and so was the generator (\(limit.generatorReasons.joined(separator: "; ")))."
    }
    text +=
      " The generator was the bottleneck (\(limit.generatorReasons.joined(separator: "; "))), so the server may carry more"
    guard let carried, carried.cpuMicrosPerForwardedPacket > 0 else { return text + "." }
    let packets = 1e6 / carried.cpuMicrosPerForwardedPacket
    return text
      + ": at \(rounded(carried.cpuMicrosPerForwardedPacket)) µs a packet a whole CPU is \(Int(packets)) packets a second."
  }
}

extension RoomSearch.Try {
  init(_ report: Report) {
    rooms = report.rooms
    packetsPerSecond = report.packetsPerSecond
    lossRatio = report.lossRatio
    p99Ms = report.worstP99Ms
    serverCPU = (report.server?.cpuSeconds ?? 0) / max(0.001, report.steadySeconds)
    cpuMicrosPerForwardedPacket = report.server?.cpuMicrosPerForwardedPacket ?? 0
    generatorCPU = report.generator.busiestThread
    generatorReasons = report.generator.reasons
    let isRight =
      report.damaged == 0 && report.wrongStream == 0 && report.duplicates == 0 && report.problems.isEmpty
    held =
      isRight && report.streamsSeen == report.streamsExpected && report.lossRatio < RoomSearch.mostLoss
      && p99Ms < RoomSearch.mostP99Ms
  }

  /// The run in a line.
  var line: String {
    "\(rooms) rooms: \(Int(packetsPerSecond)) packets/s, loss \(rounded(lossRatio * 100)) %, p99 \(rounded(p99Ms)) ms, server "
      + "\(percent(serverCPU)) of a CPU (\(rounded(cpuMicrosPerForwardedPacket)) µs a packet), generator \(percent(generatorCPU)): "
      + (held ? "held" : "did not hold")
  }
}
