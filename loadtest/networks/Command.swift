// The command's words, and what it prints and writes.

import Congestion
import FoundationEssentials
import NetworkScenarios

/// A row as it stands in the JSON file.
private struct RowObject: Encodable {
  struct Control: Encodable {
    var figure: String
    var held: Bool
  }
  var id: String
  var bar: String
  var figure: String
  var held: Bool
  var control: Control

  init(_ result: RowResult) {
    id = result.row.id
    bar = result.row.bar
    figure = result.figure.text
    held = result.figure.held
    control = Control(figure: result.control.text, held: result.control.held)
  }
}

/// One call of the program.
struct Command {
  private var file: String?
  private var seed: UInt64 = 1
  private var charts: String?
  private var explores = false
  private var cost: (state: EstimatorCost.State, burst: Int)?
  private var ids: [String] = []

  init(_ words: ArraySlice<String>) {
    var words = words
    while let word = words.popFirst() {
      switch word {
      case "--json": file = words.popFirst()
      case "--charts": charts = words.popFirst()
      case "--seed": seed = words.popFirst().flatMap(UInt64.init) ?? 1
      case "--explore": explores = true
      case "--cost":
        let state = words.popFirst().flatMap(EstimatorCost.State.init) ?? .relaxed
        cost = (state, words.popFirst().flatMap(Int.init) ?? 1)
      default: ids.append(word)
      }
    }
  }

  private var rows: [Row] {
    ids.isEmpty ? allRows : allRows.filter { row in ids.contains { row.id.hasPrefix($0) } }
  }

  /// Runs; returns the exit code: 1 when a row that should hold does not, or a control does.
  func run() -> Int32 {
    if let cost {
      var run = EstimatorCost(cost.state, burst: cost.burst)
      run.run(packets: 20_000)
      return 0
    }
    guard !rows.isEmpty else {
      print("no such row: \(ids.joined(separator: " "))")
      return 2
    }
    if explores { return explore() }
    var runner = RowRunner(seed: seed)
    let results = rows.map { row in
      let result = runner.run(row)
      show(result)
      return result
    }
    let bad = results.filter { !$0.isGood }
    print("\(results.filter(\.figure.held).count) of \(results.count) held")
    for result in bad { print("not as expected: \(result.row.id)") }
    return write(results) && draw(&runner) && bad.isEmpty ? 0 : 1
  }

  /// One picture for each row that has one: a row that shares its scenario with an earlier one has none.
  private func draw(_ runner: inout RowRunner) -> Bool {
    guard let charts else { return true }
    var drawn: Set<String> = []
    for row in rows where drawn.insert(row.scenario.name).inserted {
      guard let outcome = runner.outcome(row).first else { continue }
      let file = URL(filePath: "\(charts)/\(row.id).svg")
      do {
        try Chart("\(row.id), \(row.scenario.name)", outcome).svg.write(to: file, atomically: true, encoding: .utf8)
      } catch {
        print("cannot write \(file.path): \(error)")
        return false
      }
    }
    return true
  }

  private func show(_ result: RowResult) {
    let held = result.figure.held ? "held" : result.row.expected ? "MISSED" : "missed, as known"
    let control = result.control.held ? "CONTROL HELD" : "control missed"
    print("\(result.row.id) | \(result.row.bar) | \(result.figure.text) | \(held) | \(control): \(result.control.text)")
  }

  private func write(_ results: [RowResult]) -> Bool {
    guard let file else { return true }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try encoder.encode(results.map(RowObject.init)).write(to: URL(filePath: file))
      return true
    } catch {
      print("cannot write \(file): \(error)")
      return false
    }
  }

  private func explore() -> Int32 {
    var runner = RowRunner(seed: seed)
    for row in rows {
      print("\(row.id) | \(row.bar) | \(runner.figure(row, .ofServer).text)")
      for (name, mechanism) in Mechanisms.namedOfServer {
        let figure = runner.figure(row, Mechanisms.ofServer.subtracting(mechanism))
        if !figure.held { print("    missed without \(name): \(figure.text)") }
      }
    }
    return 0
  }
}
