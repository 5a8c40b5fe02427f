// Rows about a video in layers, with allocation, keyframes and repeats (E13 with the allocator, E14, E17).

import Basics
import Congestion
import NetworkEmulator

/// A video in layers of 150, 500, 1,200 and 2,500 kbit/s with sound.
private func simulcast(_ mechanisms: Mechanisms) -> FlowOptions {
  var flow = elastic(mechanisms)
  flow.source = .simulcast(SimulcastOptions())
  return flow
}

let layersBetween = Scenario("E13 allocator") { mechanisms, seed in
  var simulation = Simulation(
    lines: [LineProfile(capacity: Schedule(900e3)), wideLine()], flows: [simulcast(mechanisms)], seed: seed)
  return [simulation.run(seconds: 600)]
}

/// The publisher's keyframes, each as long as four other frames, fill a line that carries little more than the layer.
let soundBesideVideo = Scenario("E14") { mechanisms, seed in
  var flow = simulcast(mechanisms)
  var options = SimulcastOptions()
  options.keyframeInterval = 2
  flow.source = .simulcast(options)
  var simulation = Simulation(lines: [LineProfile(capacity: Schedule(1.5e6)), wideLine()], flows: [flow], seed: seed)
  return [simulation.run(seconds: 120)]
}

/// One of the lines of E17. A share of bursts is that of the packets which are lost in bursts of four.
private func profile(
  _ name: String, _ capacity: Double, delay: Double, jitter: Double = 0, loss: Double = 0, bursts: Double = 0
) -> Scenario {
  Scenario("E17 \(name)") { mechanisms, seed in
    var line = LineProfile(capacity: Schedule(capacity), delay: delay)
    line.jitter = Schedule(jitter)
    line.loss = Schedule(loss)
    line.burstStart = Schedule(bursts / line.burstLength)
    var flow = simulcast(mechanisms)
    flow.roundTrip = 2 * delay + jitter + 20
    var simulation = Simulation(lines: [line, wideLine(delay: delay)], flows: [flow], seed: seed)
    return [simulation.run(seconds: 60)]
  }
}

/// The share of 200 ms slots with a frame that could be decoded, from two round trips after the start on.
private func pictures(_ least: Double, delay: Double) -> @Sendable ([Simulation.Outcome]) -> Figure {
  { runs in
    let share = runs[0].flows[0].pictureShare(0.4 + 4 * delay / 1e3, 60)
    return Figure("\(number(share * 100))%, \(kilobits(runs[0].flows[0].rate(10, 60))) kbit/s", share >= least)
  }
}

let layerRows: [Row] = [
  Row(
    id: "E13b", bar: "the same with the allocator: <= 1 failed step a minute, fewer later", scenario: layersBetween,
    control: [.applicationLimit, .stepBackOff]
  ) { runs in
    let steps = runs[0].flows[0].failedSteps
    let early = steps.filter { $0 < 300 }.count
    let late = steps.count - early
    let share = runs[0].flows[0].rate(60, 600) / 500e3
    return Figure("\(early) + \(late), \(percent(share)) of the layer", early <= 5 && late <= early && share > 0.9)
  },
  Row(
    id: "E14a", bar: "sound beside video that fills the line: p99 in the server <= 15 ms", scenario: soundBesideVideo,
    control: .soundFirst
  ) { runs in
    let delay = runs[0].flows[0].audioDelay(0.99)
    return Figure(milliseconds(delay), delay <= 15)
  },
  Row(
    id: "E14b", bar: "the same: queue of the line p95 <= 60 ms", scenario: soundBesideVideo, control: .delay
  ) { runs in
    let queue = runs[0].lines[0].quantile(0.95, 10, 120)
    return Figure(milliseconds(queue), queue <= 60)
  },
  Row(
    id: "E17a", bar: "wifi: pictures in >= 99% of 200 ms slots",
    scenario: profile("wifi", 4e6, delay: 5, bursts: 0.005),
    control: .repeats, measure: pictures(0.99, delay: 5)),
  Row(
    id: "E17b", bar: "lossy: >= 98%", scenario: profile("lossy", 2e6, delay: 50, loss: 0.05), control: .repeats,
    measure: pictures(0.98, delay: 50)),
  Row(
    id: "E17c", bar: "congested: >= 97%", scenario: profile("congested", 2e6, delay: 50, loss: 0.1), control: .repeats,
    measure: pictures(0.97, delay: 50)),
  Row(
    id: "E17d", bar: "cellular: >= 98%", scenario: profile("cellular", 30e6, delay: 50, jitter: 15, bursts: 0.02),
    control: .repeats, measure: pictures(0.98, delay: 50)),
  Row(
    id: "E17e", bar: "satellite: >= 97%", scenario: profile("satellite", 4e6, delay: 600), control: .switchAtKeyframe,
    measure: pictures(0.97, delay: 600)),
]
