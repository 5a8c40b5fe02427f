// Rows about senders with little to send, and about feedback (E10 – E13, E15, E16).

import Basics
import Congestion
import NetworkEmulator

/// The same line twice: with a publisher whose packets all reach the server, and with one that loses 5 % of them.
let upstreamLoss = Scenario("E10") { mechanisms, seed in
  [0.0, 0.05].map { share in
    var flow = elastic(mechanisms)
    flow.upstreamLoss = share
    var simulation = Simulation(lines: [LineProfile(capacity: Schedule(2e6)), wideLine()], flows: [flow], seed: seed)
    return simulation.run(seconds: 90)
  }
}

let upstreamRow = Row(
  id: "E10", bar: "5% lost by the publisher: the estimate moves by <= 3%", scenario: upstreamLoss,
  control: .lossFromFeedback
) { runs in
  let targets = runs.map { $0.flows[0].meanTarget(30, 90) }
  let change = (targets[1] / max(targets[0], 1) - 1).magnitude
  return Figure("\(number(change * 100))%", change <= 0.03)
}

private func rates(_ steps: [(from: Double, value: Double)]) -> Source {
  .fixed(Schedule(steps: steps.map { (from: $0.from, value: BitRate(bitsPerSecond: $0.value)) }))
}

let nothingForwarded = Scenario("E11") { mechanisms, seed in
  var idle = elastic(mechanisms)
  idle.hasAudio = false
  idle.source = rates([(0, 500e3), (20, 0), (80, 4e6)])
  var first = Simulation(lines: [LineProfile(capacity: Schedule(6e6)), wideLine()], flows: [idle], seed: seed)
  var off = elastic(mechanisms)
  off.source = rates([(0, 2.5e6), (30, 0), (40, 2.5e6)])
  var second = Simulation(lines: [LineProfile(capacity: Schedule(4e6)), wideLine()], flows: [off], seed: seed)
  return [first.run(seconds: 100), second.run(seconds: 60)]
}

let littleSent = Scenario("E12") { mechanisms, seed in
  var flow = elastic(mechanisms)
  flow.source = rates([(0, 500e3)])
  flow.hasAudio = false
  var simulation = Simulation(lines: [LineProfile(capacity: Schedule(50e6)), wideLine()], flows: [flow], seed: seed)
  return [simulation.run(seconds: 600)]
}

let betweenLayers = Scenario("E13") { mechanisms, seed in
  var flow = elastic(mechanisms)
  flow.source = .layers([150, 500, 1_200].map { .kilobits($0) })
  flow.estimator.wish = .kilobits(1_200)
  var simulation = Simulation(lines: [LineProfile(capacity: Schedule(900e3)), wideLine()], flows: [flow], seed: seed)
  return [simulation.run(seconds: 600)]
}

let limitedRows: [Row] = [
  Row(
    id: "E11", bar: "nothing for 60 s, then 4 Mbit/s within 4 s; video off for 10 s: the estimate is not lower",
    scenario: nothingForwarded, control: .probing
  ) { runs in
    let time = runs[0].flows[0].timeToTarget(80, 100) { $0 >= 4e6 }
    let before = runs[1].flows[0].meanTarget(28, 30)
    let after = runs[1].flows[0].meanTarget(41, 44)
    // An estimate above the capacity may be put right.
    let kept = after >= min(before, 4e6) * 0.97
    return Figure("\(seconds(time)); \(kilobits(before)) to \(kilobits(after))", time <= 4 && kept)
  },
  Row(
    id: "E12", bar: "500 kbit/s for 10 min on 50 Mbit/s: estimate <= 5 x measured, probing <= 3% of bytes",
    scenario: littleSent, control: .applicationLimit
  ) { runs in
    let flow = runs[0].flows[0]
    let worst = (flow.target.max() ?? 0) / max(flow.rate(10, 600), 1)
    let share = Double(flow.paddingSent) / Double(max(flow.mediaSent, 1))
    return Figure("\(number(worst)) x, \(number(share * 100))%", worst <= 5 && share <= 0.03)
  },
  Row(
    id: "E13", bar: "capacity between two layers: <= 1 failed step a minute, fewer later", scenario: betweenLayers,
    control: .applicationLimit
  ) { runs in
    let steps = runs[0].flows[0].failedSteps
    let early = steps.filter { $0 < 300 }.count
    let late = steps.count - early
    let share = runs[0].flows[0].rate(60, 600) / 500e3
    return Figure("\(early) + \(late), \(percent(share)) of the layer", early <= 5 && late <= early && share > 0.9)
  },
]

let feedbackGone = Scenario("E15") { mechanisms, seed in
  var flow = elastic(mechanisms)
  flow.faults.gone = 30..<33
  var simulation = Simulation(lines: [LineProfile(capacity: Schedule(2e6)), wideLine()], flows: [flow], seed: seed)
  return [simulation.run(seconds: 45)]
}

let feedbackTraps = Scenario("E16") { mechanisms, seed in
  var flow = elastic(mechanisms)
  flow.estimator.firstNumber = 40_000
  flow.faults.repeatEvery = 3
  flow.faults.lateEvery = 7
  flow.faults.drift = 500e-6
  flow.faults.jumps = [(60, 30), (120, -30)]
  var line = LineProfile(capacity: Schedule(6e6))
  line.reordering = Schedule(0.02)
  line.duplication = Schedule(0.02)
  var simulation = Simulation(lines: [line, wideLine()], flows: [flow], seed: seed)
  return [simulation.run(seconds: 180)]
}

let feedbackRows: [Row] = [
  Row(
    id: "E15", bar: "no feedback for 3 s: halves within 1 s, back within 3 s", scenario: feedbackGone,
    control: .feedbackWatch
  ) { runs in
    let flow = runs[0].flows[0]
    let before = flow.meanTarget(29.9, 30)
    let half = flow.timeToTarget(30, 33) { $0 <= before / 2 }
    let back = flow.timeToTarget(33, 45) { $0 >= before * 0.8 }
    return Figure("\(seconds(half)), \(seconds(back))", half <= 1 && back <= 3)
  },
  Row(
    id: "E16", bar: "late, doubled, reordered feedback, drift 500 ppm, jumps of 30 s: >= 70% used in any 10 s",
    scenario: feedbackTraps, control: .feedbackGuard
  ) { runs in
    let shares = stride(from: 10.0, to: 180, by: 10).map { runs[0].flows[0].rate($0, $0 + 10) / 6e6 }
    let least = shares.min() ?? 0
    return Figure("least " + percent(least), least >= 0.7)
  },
]

/// All rows, in order.
public let allRows: [Row] =
  variableCapacityRows + fairnessRows + [wayBackRow, unequalRow] + competitionRows + [pauseRow] + referenceRows
  + lossRows + [startRow, upstreamRow] + limitedRows + feedbackRows + layerRows
