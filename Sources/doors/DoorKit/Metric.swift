// Metrics as values, and the text that Prometheus reads (text exposition format 0.0.4).

/// A family of samples under one name.
public struct Metric: Sendable, Equatable {
  /// How samples change over time.
  public enum Kind: String, Sendable {
    /// Only grows while the process lives; its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
    /// Counts of observations below bounds.
    case histogram
  }

  /// Label names and values that tell the samples of one metric apart.
  public typealias Labels = KeyValuePairs<String, String>

  /// One line, or for a histogram several.
  public struct Sample: Sendable, Equatable {
    var labels: [(name: String, value: String)]
    var content: Content

    enum Content: Sendable, Equatable {
      case value(Double)
      case histogram(Histogram)
    }

    /// A plain number.
    public init(_ value: Double, _ labels: Labels = [:]) {
      self.labels = labels.map { ($0.key, $0.value) }
      content = .value(value)
    }
    /// A plain number.
    public init(_ value: some BinaryInteger, _ labels: Labels = [:]) { self.init(Double(value), labels) }
    /// A distribution.
    public init(_ histogram: Histogram, _ labels: Labels = [:]) {
      self.labels = labels.map { ($0.key, $0.value) }
      content = .histogram(histogram)
    }

    /// The same with one label more, before the others.
    public func labelled(_ name: String, _ value: String) -> Sample {
      var copy = self
      copy.labels.insert((name, value), at: 0)
      return copy
    }

    /// Whether labels and content are the same.
    public static func == (a: Sample, b: Sample) -> Bool {
      a.content == b.content && a.labels.elementsEqual(b.labels, by: ==)
    }
  }

  /// The name, `roost_…`.
  public var name: String
  /// One sentence on what is counted, with its unit.
  public var help: String
  /// How it changes.
  public var kind: Kind
  /// The samples.
  public var samples: [Sample]

  /// A metric with its samples.
  public init(_ name: String, _ kind: Kind, help: String, _ samples: [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// A counter without labels.
  public static func counter(_ name: String, help: String, _ value: some BinaryInteger) -> Metric {
    Metric(name, .counter, help: help, [Sample(value)])
  }
  /// A gauge without labels.
  public static func gauge(_ name: String, help: String, _ value: some BinaryInteger) -> Metric {
    Metric(name, .gauge, help: help, [Sample(value)])
  }
}

extension Metric {
  /// Connections that a door has closed of its own accord.
  public static func closings(forAbuse: UInt64, idle: UInt64, _ labels: Labels = [:]) -> [Metric] {
    [
      Metric(
        "roost_connections_closed_for_abuse_total", .counter,
        help: "Connections closed after too many bad messages in a row, or too many too fast.",
        [Sample(forAbuse, labels)]),
      Metric(
        "roost_connections_closed_idle_total", .counter,
        help: "Connections closed because they had no session in time.", [Sample(idle, labels)]),
    ]
  }
}

/// Counts of observations by upper bound.
public struct Histogram: Sendable, Equatable {
  /// Upper bounds, rising; above the last one everything falls into `+Inf`.
  public let bounds: [Double]
  /// Observations of each range, one more than there are bounds; not cumulative.
  public private(set) var counts: [UInt64]
  /// The sum of all observations.
  public private(set) var sum: Double

  /// No observations yet. `bounds` must rise.
  public init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
    sum = 0
  }

  /// Counts made elsewhere; missing ranges are empty, surplus ones count as `+Inf`.
  public init(bounds: [Double], counts: [UInt64], sum: Double) {
    self.init(bounds: bounds)
    for (index, count) in counts.enumerated() { self.counts[min(index, bounds.count)] &+= count }
    self.sum = sum
  }

  /// Counts one observation.
  public mutating func observe(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] &+= 1
    sum += value
  }
}

/// All metrics of one moment.
///
///     var snapshot = MetricsSnapshot()
///     snapshot.add(.gauge("roost_rooms", help: "Rooms with somebody in them.", 3))
///     snapshot.add(Metric("roost_drops_total", .counter, help: "Packets dropped, by reason.",
///       [.init(7, ["reason": "replayed"])]))
///     let text = snapshot.prometheusText()
public struct MetricsSnapshot: Sendable, Equatable {
  /// The metrics in the order in which they were added.
  public private(set) var metrics: [Metric] = []

  /// Nothing yet.
  public init() {}

  /// Adds a metric; one of the same name gets its samples, for a name may appear once only.
  public mutating func add(_ metric: Metric) {
    if let index = metrics.firstIndex(where: { $0.name == metric.name }) {
      metrics[index].samples += metric.samples
    } else {
      metrics.append(metric)
    }
  }

  /// Adds each in turn.
  public mutating func add(contentsOf metrics: some Sequence<Metric>) {
    for metric in metrics { add(metric) }
  }

  /// The text that Prometheus reads.
  public func prometheusText() -> [UInt8] {
    var text = ""
    for metric in metrics {
      let name = PrometheusText.name(metric.name)
      text += "# HELP \(name) \(PrometheusText.help(metric.help))\n# TYPE \(name) \(metric.kind.rawValue)\n"
      for sample in metric.samples { PrometheusText.append(sample, name: name, to: &text) }
    }
    return Array(text.utf8)
  }
}

/// The syntax of the text format.
enum PrometheusText {
  static func append(_ sample: Metric.Sample, name: String, to text: inout String) {
    switch sample.content {
    case .value(let value): line(name, sample.labels, value, to: &text)
    case .histogram(let histogram):
      var total: UInt64 = 0
      for (index, count) in histogram.counts.enumerated() {
        total &+= count
        let bound = index < histogram.bounds.count ? number(histogram.bounds[index]) : "+Inf"
        line(name + "_bucket", sample.labels + [("le", bound)], Double(total), to: &text)
      }
      line(name + "_sum", sample.labels, histogram.sum, to: &text)
      line(name + "_count", sample.labels, Double(total), to: &text)
    }
  }

  private static func line(
    _ name: String, _ labels: [(name: String, value: String)], _ value: Double, to text: inout String
  ) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\(Self.name($0.name))=\"\(escape($0.value))\"" }.joined(separator: ",") + "}"
    }
    text += " \(number(value))\n"
  }

  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return String(value)
  }

  /// Letters, digits and `_`, not beginning with a digit.
  static func name(_ text: String) -> String {
    let clean = text.unicodeScalars.map { scalar -> Character in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_", ":": Character(scalar)
      default: "_"
      }
    }
    return (clean.first?.isNumber ?? true ? "_" : "") + String(clean)
  }

  static func help(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
  }
  static func escape(_ text: String) -> String { help(text).replacing("\"", with: "\\\"") }
}
