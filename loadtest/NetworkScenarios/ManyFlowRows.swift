// Rows with several flows on one line: fairness, a thin way back, a competing TCP flow, a pause (E2 – E6).

import Basics
import Congestion
import NetworkEmulator

private let twoFlowPhases = [
  (0.0, 25.0, 4e6), (25.0, 50.0, 2e6), (50.0, 75.0, 3.5e6), (75.0, 100.0, 1e6), (100.0, 125.0, 2e6),
]

/// RFC 8867 §5.2.
let twoFlows = Scenario("E2 two") { mechanisms, seed in
  let line = LineProfile(capacity: Schedule(steps: twoFlowPhases.map { (from: $0.0, value: $0.2) }))
  var simulation = Simulation(
    lines: [line, wideLine()], flows: [elastic(mechanisms), elastic(mechanisms, start: 0.5)], seed: seed)
  return [simulation.run(seconds: 125)]
}

/// RFC 8867 §5.4.
let threeFlows = Scenario("E2 three") { mechanisms, seed in
  let line = LineProfile(capacity: Schedule(3.5e6))
  var simulation = Simulation(
    lines: [line, wideLine()], flows: [0.0, 20, 40].map { elastic(mechanisms, start: $0) }, seed: seed)
  return [simulation.run(seconds: 80)]
}

let fairnessRows: [Row] = [
  Row(id: "E2a", bar: "two flows: Jain >= 0.90 in the last 10 s of each phase", scenario: twoFlows, control: .additive)
  {
    runs in
    let indices = twoFlowPhases.map { phase in jain(runs[0].flows.map { $0.rate(phase.1 - 10, phase.1) }) }
    return Figure(indices.map(number).joined(separator: " "), indices.allSatisfy { $0 >= 0.9 })
  },
  Row(
    id: "E2b", bar: "three flows: Jain >= 0.90 in the last 10 s of each phase", scenario: threeFlows, control: .probing
  ) { runs in
    let flows = runs[0].flows
    let indices = [jain(flows[0..<2].map { $0.rate(30, 40) }), jain(flows.map { $0.rate(70, 80) })]
    return Figure(indices.map(number).joined(separator: " "), indices.allSatisfy { $0 >= 0.9 })
  },
  Row(id: "E2c", bar: "a newcomer has >= 60% of its share after 10 s", scenario: threeFlows, control: .probing) {
    runs in
    let shares = [runs[0].flows[1].rate(29, 31) / (3.5e6 / 2), runs[0].flows[2].rate(49, 51) / (3.5e6 / 3)]
    return Figure(shares.map(percent).joined(separator: " "), shares.allSatisfy { $0 >= 0.6 })
  },
]

private let forwardPhases = [(0.0, 20.0, 2e6), (20.0, 40.0, 1e6), (40.0, 60.0, 0.5e6), (60.0, 100.0, 2e6)]

/// RFC 8867 §5.3: media both ways, so that feedback waits behind media.
let thinWayBack = Scenario("E3") { mechanisms, seed in
  let forward = LineProfile(capacity: Schedule(steps: forwardPhases.map { (from: $0.0, value: $0.2) }))
  let backward = LineProfile(capacity: Schedule(steps: [(0, 2e6), (35, 0.8e6), (70, 2e6)]))
  var other = elastic(mechanisms)
  other.forward = 1
  other.backward = 0
  var simulation = Simulation(lines: [forward, backward], flows: [elastic(mechanisms), other], seed: seed)
  return [simulation.run(seconds: 100)]
}

let wayBackRow = Row(
  id: "E3", bar: "thin way back: >= 75% used in each phase from 5 s on", scenario: thinWayBack, control: .probing
) { runs in
  let shares = forwardPhases.map { runs[0].flows[0].rate($0.0 + 5, $0.1) / $0.2 }
  return Figure(shares.map(percent).joined(separator: " "), shares.allSatisfy { $0 >= 0.75 })
}

/// RFC 8867 §5.5.
let unequalWays = Scenario("E4") { mechanisms, seed in
  let flows = [10.0, 25, 50, 100, 150].enumerated().map { index, delay in
    var flow = elastic(mechanisms, start: Double(index) * 10)
    flow.extraDelay = delay
    return flow
  }
  let line = LineProfile(capacity: Schedule(4e6), delay: 0)
  var simulation = Simulation(lines: [line, wideLine(delay: 0)], flows: flows, seed: seed)
  return [simulation.run(seconds: 200)]
}

let unequalRow = Row(
  id: "E4", bar: "five round trips: largest / smallest <= 2 in the last 60 s", scenario: unequalWays, control: .additive
) { runs in
  let rates = runs[0].flows.map { $0.rate(140, 200) }
  let ratio = (rates.max() ?? 0) / max(rates.min() ?? 0, 1)
  return Figure(number(ratio) + " (" + rates.map(kilobits).joined(separator: " ") + ")", ratio <= 2)
}

private func besideCubic(_ queue: Double) -> Scenario {
  Scenario("E5 \(queue)") { mechanisms, seed in
    var line = LineProfile(capacity: Schedule(2e6))
    line.queue = Schedule(queue)
    var competitor = CompetitorOptions()
    competitor.start = 5
    var simulation = Simulation(
      lines: [line, wideLine()], flows: [elastic(mechanisms)], competitor: competitor, seed: seed)
    return [simulation.run(seconds: 120)]
  }
}

let competitionRows: [Row] = [
  Row(id: "E5a", bar: "beside CUBIC, 300 ms of queue: 20 - 65%", scenario: besideCubic(300), control: .competition) {
    runs in
    let share = runs[0].flows[0].rate(60, 120) / 2e6
    return Figure(percent(share), (0.2...0.65).contains(share))
  },
  Row(id: "E5b", bar: "beside CUBIC, 1,000 ms of queue: >= 10%", scenario: besideCubic(1_000), control: .competition) {
    runs in
    let share = runs[0].flows[0].rate(60, 120) / 2e6
    return Figure(percent(share), share >= 0.1)
  },
]

/// RFC 8867 §5.8.
let pausingFlow = Scenario("E6") { mechanisms, seed in
  var flows = [elastic(mechanisms), elastic(mechanisms), elastic(mechanisms)]
  flows[1].pause = 40..<60
  let line = LineProfile(capacity: Schedule(3.5e6))
  var simulation = Simulation(lines: [line, wideLine()], flows: flows, seed: seed)
  return [simulation.run(seconds: 90)]
}

let pauseRow = Row(
  id: "E6", bar: "after a pause >= 80% of its share within 4 s", scenario: pausingFlow, control: [.memory, .probing]
) { runs in
  let time = runs[0].flows[1].timeToRate(60, 90, 0.8 * 3.5e6 / 3)
  return Figure(seconds(time), time <= 4)
}
