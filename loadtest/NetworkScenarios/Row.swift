// A row: a scenario, what is measured in it, the bar, and the mechanism whose absence must miss it.

import Congestion
import NetworkEmulator

/// What a row showed in one run.
public struct Figure: Sendable, Equatable {
  /// The measured values, for people.
  public var text: String
  /// Whether the bar is reached.
  public var held: Bool

  /// A figure.
  public init(_ text: String, _ held: Bool) {
    self.text = text
    self.held = held
  }
}

/// Runs of a network; several where a row compares them.
public struct Scenario: Sendable {
  /// Unique among scenarios.
  public var name: String
  /// Runs with these mechanisms and this seed.
  public var run: @Sendable (Mechanisms, _ seed: UInt64) -> [Simulation.Outcome]

  /// A scenario.
  public init(_ name: String, _ run: @escaping @Sendable (Mechanisms, _ seed: UInt64) -> [Simulation.Outcome]) {
    self.name = name
    self.run = run
  }
}

/// One line of the table that `make networks` prints.
public struct Row: Sendable {
  /// As in the list of bars: E1a, E1b …
  public var id: String
  /// The bar in words.
  public var bar: String
  /// What runs.
  public var scenario: Scenario
  /// What the control run switches off.
  public var control: Mechanisms
  /// False for a bar that is not reached yet; `docs/congestion.md` says what was tried.
  public var expected = true
  /// Reads the figure from the runs.
  public var measure: @Sendable ([Simulation.Outcome]) -> Figure
}

/// A row's two figures.
public struct RowResult: Sendable {
  /// What ran.
  public var row: Row
  /// With all mechanisms on.
  public var figure: Figure
  /// With the row's mechanism off.
  public var control: Figure

  /// Neither a row that should hold missed its bar, nor a control reached it.
  public var isGood: Bool { (figure.held || !row.expected) && !control.held }
}

/// Runs rows, each scenario once for each set of mechanisms.
public struct RowRunner {
  private var outcomes: [String: [Simulation.Outcome]] = [:]

  private let seed: UInt64

  /// A runner that has run nothing.
  public init(seed: UInt64 = 1) { self.seed = seed }

  /// The row's figure with everything on, and that of its control run.
  public mutating func run(_ row: Row) -> RowResult {
    RowResult(
      row: row, figure: figure(row, .ofServer), control: figure(row, Mechanisms.ofServer.subtracting(row.control)))
  }

  /// The row's figure with these mechanisms.
  public mutating func figure(_ row: Row, _ mechanisms: Mechanisms) -> Figure { row.measure(outcome(row, mechanisms)) }

  /// What the row's scenario came to with these mechanisms.
  public mutating func outcome(_ row: Row, _ mechanisms: Mechanisms = .ofServer) -> [Simulation.Outcome] {
    let key = "\(row.scenario.name) \(mechanisms.rawValue)"
    if let known = outcomes[key] { return known }
    let outcome = row.scenario.run(mechanisms, seed)
    outcomes[key] = outcome
    return outcome
  }
}

/// A share as whole per cents.
func percent(_ x: Double) -> String { "\(Int((x * 100).rounded()))%" }
/// A bit rate in kbit/s.
func kilobits(_ bits: Double) -> String { "\(Int((bits / 1e3).rounded()))" }
/// Seconds with two places; "never" from 999 on.
func seconds(_ x: Double) -> String { x >= 999 ? "never" : "\((x * 100).rounded() / 100)s" }
/// Whole milliseconds.
func milliseconds(_ x: Double) -> String { "\(Int(x.rounded()))ms" }
/// Two places.
func number(_ x: Double) -> String { "\((x * 100).rounded() / 100)" }

/// Jain's index of fairness: 1 when all are equal.
func jain(_ rates: [Double]) -> Double {
  let sum = rates.reduce(0, +)
  let squares = rates.reduce(0) { $0 + $1 * $1 }
  return squares > 0 ? sum * sum / (Double(rates.count) * squares) : 0
}

/// An elastic flow with these mechanisms.
func elastic(_ mechanisms: Mechanisms, start: Double = 0) -> FlowOptions {
  var flow = FlowOptions()
  flow.estimator.mechanisms = mechanisms
  flow.start = start
  return flow
}

/// A line for feedback that never holds anything up.
func wideLine(delay: Double = 50) -> LineProfile { LineProfile(capacity: Schedule(100e6), delay: delay) }
