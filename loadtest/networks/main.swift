import Congestion
import NetworkScenarios

let names: [(String, Mechanisms)] = [
  ("delay", .delay), ("adaptiveThreshold", .adaptiveThreshold), ("additive", .additive), ("equalResponse", .equalResponse),
  ("resume", .resume), ("inherentLoss", .inherentLoss), ("probing", .probing), ("applicationLimit", .applicationLimit),
  ("feedbackWatch", .feedbackWatch), ("feedbackGuard", .feedbackGuard), ("lossFromFeedback", .lossFromFeedback), ("competition", .competition)]
var runner = RowRunner()
let wanted = Array(CommandLine.arguments.dropFirst())
if wanted.first == "trace" {
  let row = allRows.first { $0.id == wanted[1] }!
  let out = row.scenario.run(.all)
  for o in out { let n = o.flows[0].target.count
    for i in stride(from: Int(wanted[2])!*20, to: min(n, Int(wanted[3])!*20), by: wanted.count > 4 ? Int(wanted[4])! : 10) {
      let t = Double(i)*0.05
      print(t, o.flows.map{ "\(Int($0.target[i]/1e3))/\(Int($0.rate(t-0.5,t)/1e3))" }.joined(separator: " "), "q", Int(o.lines[0].queue[i*5]*1e3)) } }
} else {
for row in allRows where wanted.isEmpty || wanted.contains(where: { row.id.hasPrefix($0) }) || wanted.first == "explore" && (wanted.count == 1 || wanted.contains{row.id.hasPrefix($0)}) {
  let f = runner.figure(row, .all)
  print(row.id, f.held ? "ok  " : "MISS", row.bar, "|", f.text)
  if wanted.first == "explore" { for (n, m) in names { let c = runner.figure(row, Mechanisms.all.subtracting(m)); if !c.held { print("      control", n, c.text) } } }
  else { let c = runner.figure(row, Mechanisms.all.subtracting(row.control)); print("      control", c.held ? "HELD" : "missed", c.text) }
}
}
