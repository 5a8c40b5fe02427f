// Rows with one flow: changing capacity, first seconds, loss (E1, E7, E8, E9).

import Basics
import Congestion
import NetworkEmulator

private let phases = [(0.0, 40.0, 1e6), (40.0, 60.0, 2.5e6), (60.0, 80.0, 0.6e6), (80.0, 100.0, 1e6)]

/// RFC 8867 §5.1.
let variableCapacity = Scenario("E1") { mechanisms, seed in
  let capacity = Schedule(steps: phases.map { (from: $0.0, value: $0.2) })
  var simulation = Simulation(
    lines: [LineProfile(capacity: capacity), wideLine()], flows: [elastic(mechanisms)], seed: seed)
  return [simulation.run(seconds: 100)]
}

let variableCapacityRows: [Row] = [
  Row(id: "E1a", bar: "last 15 s of each phase >= 85% used", scenario: variableCapacity, control: .inherentLoss) {
    runs in
    let shares = phases.map { runs[0].flows[0].rate($0.1 - 15, $0.1) / $0.2 }
    return Figure(shares.map(percent).joined(separator: " "), shares.allSatisfy { $0 >= 0.85 })
  },
  Row(id: "E1b", bar: ">= 80% within 8 s of a rise", scenario: variableCapacity, control: .probing) { runs in
    let times = [1, 3].map { runs[0].flows[0].timeToRate(phases[$0].0, phases[$0].1, 0.8 * phases[$0].2) }
    return Figure(times.map(seconds).joined(separator: " "), times.allSatisfy { $0 <= 8 })
  },
  Row(id: "E1c", bar: "target <= capacity within 700 ms of the fall", scenario: variableCapacity, control: .delay) {
    runs in
    let time = runs[0].flows[0].timeToTarget(60, 80) { $0 <= 0.6e6 }
    return Figure(seconds(time), time <= 0.7)
  },
  Row(id: "E1d", bar: "queue p95 <= 60 ms in steady state", scenario: variableCapacity, control: .delay) { runs in
    let worst = phases.map { runs[0].lines[0].quantile(0.95, $0.1 - 15, $0.1) }
    return Figure(worst.map(milliseconds).joined(separator: " "), worst.allSatisfy { $0 <= 60 })
  },
  Row(id: "E1e", bar: "queue > 200 ms for at most 1.2 s after the fall", scenario: variableCapacity, control: .delay) {
    runs in
    let time = runs[0].lines[0].timeAbove(200, 60, 80)
    return Figure(seconds(time), time <= 1.2)
  },
  Row(id: "E1f", bar: "loss <= 1%", scenario: variableCapacity, control: .delay) { runs in
    let flow = runs[0].flows[0]
    let share = Double(flow.missing) / Double(max(flow.packets, 1))
    return Figure("\(number(share * 100))%", share <= 0.01)
  },
]

/// The capacities of libwebrtc's own test.
let slowLines = Scenario("E7") { mechanisms, seed in
  var line = LineProfile(capacity: Schedule(steps: [(0, 500e3), (25, 800e3), (45, 100e3)]))
  line.delay = Schedule(steps: [(0, 50), (45, 200)])
  var back = wideLine()
  back.delay = line.delay
  var simulation = Simulation(lines: [line, back], flows: [elastic(mechanisms)], seed: seed)
  return [simulation.run(seconds: 95)]
}

let halvedLine = Scenario("E7 fall") { mechanisms, seed in
  let line = LineProfile(capacity: Schedule(steps: [(0, 1e6), (20, 500e3)]))
  var simulation = Simulation(lines: [line, wideLine()], flows: [elastic(mechanisms)], seed: seed)
  return [simulation.run(seconds: 25)]
}

let widenedLine = Scenario("E7 rise") { mechanisms, seed in
  let line = LineProfile(capacity: Schedule(steps: [(0, 500e3), (20, 3e6)]))
  var simulation = Simulation(lines: [line, wideLine()], flows: [elastic(mechanisms)], seed: seed)
  return [simulation.run(seconds: 40)]
}

/// Target of the last second before a time, within a tolerance.
private func settled(_ at: Double, _ wanted: Double, _ tolerance: Double) -> @Sendable ([Simulation.Outcome]) -> Figure
{
  { runs in
    let target = runs[0].flows[0].meanTarget(at - 3, at)
    return Figure(kilobits(target) + " kbit/s", (target / 1e3 - wanted).magnitude <= tolerance)
  }
}

let referenceRows: [Row] = [
  Row(
    id: "E7a", bar: "500 kbit/s: 450 +- 100 after 25 s", scenario: slowLines, control: .delay,
    measure: settled(25, 450, 100)),
  Row(
    id: "E7b", bar: "then 800: 750 +- 150 after 20 s", scenario: slowLines, control: .delay,
    measure: settled(45, 750, 150)),
  Row(
    id: "E7c", bar: "then 100, 200 + 200 ms: 90 +- 25 after 50 s", scenario: slowLines, control: .delay,
    measure: settled(95, 90, 25)),
  Row(id: "E7d", bar: "1 Mbit/s to 500 kbit/s: below within 540 ms", scenario: halvedLine, control: .delay) { runs in
    let time = runs[0].flows[0].timeToTarget(20, 25) { $0 <= 500e3 }
    return Figure(seconds(time), time <= 0.54)
  },
  Row(id: "E7e", bar: "500 to 3,000 kbit/s: 2.4 Mbit/s within 6 s", scenario: widenedLine, control: .probing) { runs in
    let time = runs[0].flows[0].timeToTarget(20, 40) { $0 >= 2.4e6 }
    return Figure(seconds(time), time <= 6)
  },
]

private func lossyLine(_ share: Double) -> Scenario {
  Scenario("E8 \(share)") { mechanisms, seed in
    var line = LineProfile(capacity: Schedule(2e6))
    line.loss = Schedule(share)
    var simulation = Simulation(lines: [line, wideLine()], flows: [elastic(mechanisms)], seed: seed)
    return [simulation.run(seconds: 90)]
  }
}

/// What arrives, against the capacity.
private func used(_ least: Double) -> @Sendable ([Simulation.Outcome]) -> Figure {
  { runs in
    let share = runs[0].flows[0].rate(30, 90) / 2e6
    return Figure(percent(share), share >= least)
  }
}

let lossRows: [Row] = [
  Row(
    id: "E8a", bar: "1% random loss: >= 95% used", scenario: lossyLine(0.01), control: .inherentLoss,
    measure: used(0.95)),
  Row(id: "E8b", bar: "5%: >= 85%", scenario: lossyLine(0.05), control: .inherentLoss, measure: used(0.85)),
  Row(id: "E8c", bar: "10%: >= 60%", scenario: lossyLine(0.10), control: .inherentLoss, measure: used(0.60)),
]

let firstSeconds = Scenario("E9") { mechanisms, seed in
  var simulation = Simulation(
    lines: [LineProfile(capacity: Schedule(3e6)), wideLine()], flows: [elastic(mechanisms)], seed: seed)
  return [simulation.run(seconds: 10)]
}

let startRow = Row(id: "E9", bar: ">= 2.4 Mbit/s 1.5 s after the start", scenario: firstSeconds, control: .probing) {
  runs in
  let target = runs[0].flows[0].meanTarget(1.4, 1.5)
  return Figure(kilobits(target) + " kbit/s", target >= 2.4e6)
}
