// A run as a picture: capacity, estimate and what arrives above, the queue below.

import NetworkScenarios

/// One curve over time.
private struct Curve {
  var name: String
  var color: String
  /// Seconds from one value to the next.
  var slot: Double
  var values: [Double]
}

/// Draws one run as SVG.
struct Chart {
  private static let width = 900.0
  private static let left = 70.0
  private static let rates = (top: 40.0, height: 240.0)
  private static let queue = (top: 320.0, height: 90.0)
  /// At most so many points a curve: more are not to be seen.
  private static let points = 900

  private let title: String
  private let seconds: Double
  private let curves: [Curve]
  private let queueing: Curve

  init(_ title: String, _ outcome: Simulation.Outcome) {
    self.title = title
    let line = outcome.lines[0]
    seconds = Double(line.queue.count) * LineTrace.slot
    queueing = Curve(name: "queue", color: "#555", slot: LineTrace.slot, values: line.queue.map { $0 * 1e3 })
    let colors = ["#1565c0", "#c62828", "#2e7d32", "#6a1b9a", "#ef6c00"]
    curves =
      [Curve(name: "capacity", color: "#bbb", slot: LineTrace.slot, values: line.capacity.map { $0 / 1e3 })]
      + outcome.flows.enumerated().flatMap { index, flow in
        let color = colors[index % colors.count]
        let arrived = stride(from: 0.0, to: Double(flow.received.count) * FlowTrace.slot, by: 0.5).map {
          flow.rate($0, $0 + 0.5) / 1e3
        }
        return [
          Curve(name: "estimate", color: color, slot: FlowTrace.slot, values: flow.target.map { $0 / 1e3 }),
          Curve(name: "arrives", color: color + "80", slot: 0.5, values: arrived),
        ]
      }
  }

  /// The picture.
  var svg: String {
    // An estimate far above the line is cut off: what counts is near the capacity.
    let arriving = curves.filter { $0.name == "arrives" }.flatMap(\.values).max() ?? 0
    let estimate = curves.filter { $0.name == "estimate" }.flatMap(\.values).max() ?? 0
    let most = max(min(estimate, 2.5 * arriving), 1) * 1.1
    let longest = max(queueing.values.max() ?? 0, 100)
    var parts = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Int(Self.width)) 450\" font-family=\"sans-serif\" font-size=\"12\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
      text(Self.left, 20, title + ": capacity grey, estimate strong, what arrives pale"),
    ]
    parts += axis(Self.rates, most, "kbit/s") + axis(Self.queue, longest, "ms of queue")
    parts += curves.map { path($0, most, Self.rates) }
    parts.append(path(queueing, longest, Self.queue))
    for second in stride(from: 0.0, through: seconds, by: max((seconds / 10).rounded(), 1)) {
      parts.append(text(x(second) - 8, 428, "\(Int(second)) s"))
    }
    return parts.joined(separator: "\n") + "\n</svg>\n"
  }

  private func x(_ second: Double) -> Double {
    Self.left + (Self.width - Self.left - 20) * second / max(seconds, 1)
  }

  private func text(_ x: Double, _ y: Double, _ words: String) -> String {
    "<text x=\"\(tenths(x))\" y=\"\(tenths(y))\">\(words)</text>"
  }

  private func axis(_ area: (top: Double, height: Double), _ most: Double, _ unit: String) -> [String] {
    [0, 0.5, 1].flatMap { share in
      let y = area.top + area.height * (1 - share)
      return [
        "<path d=\"M\(Self.left) \(y)H\(Self.width - 20)\" stroke=\"#ddd\"/>",
        text(5, y + 4, "\(Int(most * share))\(share == 1 ? " " + unit : "")"),
      ]
    }
  }

  private func path(_ curve: Curve, _ most: Double, _ area: (top: Double, height: Double)) -> String {
    let step = max(1, curve.values.count / Self.points)
    let points = stride(from: 0, to: curve.values.count, by: step).map { index in
      // The highest of the values that one point stands for: a short queue is one all the same.
      let value = min(curve.values[index..<min(index + step, curve.values.count)].max() ?? 0, most)
      let y = area.top + area.height * (1 - value / most)
      return "\(tenths(x(Double(index) * curve.slot))) \(tenths(y))"
    }
    let line = "M" + points.joined(separator: "L")
    return "<path d=\"\(line)\" fill=\"none\" stroke=\"\(curve.color)\" stroke-width=\"1.5\"/>"
  }

  private func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }
}
