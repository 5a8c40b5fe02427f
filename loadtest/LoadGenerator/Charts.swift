// Charts as inline SVG: lines over time and bars. Nothing in a page refers to anything outside it.

/// A line of a chart.
struct Line {
  var name = ""
  /// One of the page's colours: `c1`, `c2` …
  var style = "c1"
  var points: [(x: Double, y: Double)]
  /// Whether each point has a dot, and its x a label of its own: for few points.
  var isDotted = false
}

enum Chart {
  private static let width = 560.0
  private static let height = 200.0
  private static let left = 56.0
  private static let bottom = 24.0
  private static let top = 8.0
  private static var plotWidth: Double { width - left - 8 }
  private static var plotHeight: Double { height - top - bottom }

  /// Lines from zero up, over seconds or, where they are dotted, over what their points say.
  static func lines(_ title: String, unit: String, _ lines: [Line]) -> String {
    let points = lines.flatMap(\.points)
    guard points.count > 1 else { return figure(title, unit, empty) }
    let high = ceiling(points.map(\.y).max() ?? 0)
    let last = max(points.map(\.x).max() ?? 1, 1)
    var body = grid(high)
    for line in lines where !line.points.isEmpty {
      let path = line.points.map { "\(number(left + $0.x / last * plotWidth)),\(number(y($0.y, high)))" }
      body += "<polyline class=\"line \(line.style)\" points=\"\(path.joined(separator: " "))\"/>"
      if line.isDotted { body += line.points.map { dot($0, last, high) }.joined() }
    }
    body += lines.contains(where: \.isDotted) ? namedPoints(points.map(\.x), last) : seconds(last)
    return figure(title, unit, svg(title, body), legend: lines.count > 1 ? lines : [])
  }

  /// Bars side by side; every few of them are named below.
  static func bars(_ title: String, unit: String, _ bars: [(name: String, value: Double)]) -> String {
    guard !bars.isEmpty else { return figure(title, unit, empty) }
    let high = ceiling(bars.map(\.value).max() ?? 0)
    let step = plotWidth / Double(bars.count)
    let every = max(1, (bars.count + 9) / 10)
    var body = grid(high)
    for (index, bar) in bars.enumerated() {
      let x = left + Double(index) * step
      let top = y(bar.value, high)
      body +=
        "<rect class=\"bar\" x=\"\(number(x + step * 0.08))\" y=\"\(number(top))\" width=\"\(number(step * 0.84))\" "
      body += "height=\"\(number(y(0, high) - top))\"><title>\(bar.name): \(rounded(bar.value))</title></rect>"
      if index % every == 0 { body += label(x + step / 2, height - 6, "middle", bar.name) }
    }
    return figure(title, unit, svg(title, body))
  }

  // MARK: Parts

  private static func dot(_ point: (x: Double, y: Double), _ last: Double, _ high: Double) -> String {
    let at = (x: number(left + point.x / last * plotWidth), y: number(y(point.y, high)))
    return
      "<circle class=\"dot\" cx=\"\(at.x)\" cy=\"\(at.y)\" r=\"3.5\"><title>\(rounded(point.x)): \(rounded(point.y))</title>"
      + "</circle>"
  }

  private static func seconds(_ last: Double) -> String {
    [0.0, 0.25, 0.5, 0.75, 1].map { share in
      // The last would go beyond the edge.
      label(left + share * plotWidth, height - 6, share == 1 ? "end" : "middle", "\(rounded(last * share)) s")
    }.joined()
  }

  private static func namedPoints(_ values: [Double], _ last: Double) -> String {
    Set(values).map { label(left + $0 / last * plotWidth, height - 6, "middle", rounded($0)) }.sorted().joined()
  }

  private static var empty: String { "<p class=\"none\">nothing was measured</p>" }

  private static func y(_ value: Double, _ high: Double) -> Double { top + plotHeight * (1 - value / high) }

  private static func grid(_ high: Double) -> String {
    [0, 0.5, 1].map { share in
      let at = number(y(high * share, high))
      return "<line class=\"grid\" x1=\"\(number(left))\" x2=\"\(number(width - 8))\" y1=\"\(at)\" y2=\"\(at)\"/>"
        + label(left - 6, y(high * share, high) + 4, "end", axis(high * share))
    }.joined()
  }

  private static func label(_ x: Double, _ y: Double, _ anchor: String, _ text: String) -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\">\(escaped(text))</text>"
  }

  private static func svg(_ title: String, _ body: String) -> String {
    "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"\(escaped(title))\">\(body)</svg>"
  }

  private static func figure(_ title: String, _ unit: String, _ body: String, legend: [Line] = []) -> String {
    let keys = legend.map { "<span class=\"key \($0.style)\">\(escaped($0.name))</span>" }.joined(separator: " ")
    let suffix = unit.isEmpty ? "" : " <small>\(escaped(unit))</small>"
    return "<figure><figcaption>\(escaped(title))\(suffix) \(keys)</figcaption>\(body)</figure>\n"
  }

  /// The next of 1, 2, 5, 10 … that is not below `value`.
  static func ceiling(_ value: Double) -> Double {
    guard value > 0 else { return 1 }
    var unit = 1.0
    while unit > value { unit /= 10 }
    while unit * 10 < value { unit *= 10 }
    return [1, 2, 5, 10].map { $0 * unit }.first { $0 >= value } ?? value
  }

  private static func axis(_ value: Double) -> String {
    value >= 1_000_000
      ? rounded(value / 1_000_000) + " M" : value >= 10_000 ? rounded(value / 1_000) + " k" : small(value)
  }

  private static func small(_ value: Double) -> String {
    value == 0 || value >= 0.01 ? rounded(value) : rounded(value * 1_000) + " m"
  }

  private static func number(_ value: Double) -> String { rounded(value) }
}

/// Text as HTML has it.
func escaped(_ text: String) -> String {
  var result = ""
  for character in text {
    switch character {
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    case "&": result += "&amp;"
    case "\"": result += "&quot;"
    default: result.append(character)
    }
  }
  return result
}
