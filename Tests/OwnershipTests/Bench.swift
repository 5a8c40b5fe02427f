// Nodes beside a store that answers at once, unless it is told not to. Time passes where a test says so.

import Basics
import ClusterStore
import Names
import Ownership

/// Nodes that a test drives by hand, all with one clock.
final class Bench {
  static let hall = LeaseName.room("hall")

  private(set) var now = Instant.zero
  private(set) var nodes: [Ownership]
  var table = StoreTable(mark: StoreMark(system: 1, timeline: 1, incarnation: 1))
  /// Effects of each node, but for those that the bench carries out.
  private(set) var heard: [[OwnershipEffect]]
  /// Nodes whose questions arrive nowhere.
  var deaf: Set<Int> = []
  /// Nodes whose questions are carried out, and whose answers wait.
  var slow: Set<Int> = []
  private var connected: Set<Int> = []
  private var answers: [(node: Int, question: QuestionID, answer: StoreAnswer)] = []
  /// What was asked of a node that is deaf.
  private(set) var unheard: [StoreStatement] = []

  init(_ flaws: [OwnershipFlaws]) {
    nodes = flaws.enumerated().map {
      Ownership(name: "n\($0.offset)", boot: "b", process: ProcessNumber(UInt64($0.offset)), flaws: $0.element)
    }
    heard = flaws.map { _ in [] }
    poll()
    // Nobody takes anything before.
    advance(.seconds(6))
  }

  convenience init(_ count: Int) { self.init(Array(repeating: [], count: count)) }

  func apply(_ input: OwnershipInput, at node: Int) { carryOut(nodes[node].apply(input, at: now), node) }

  /// A hundred names are wanted, and answers wait.
  func fillLine(of node: Int) {
    slow.insert(node)
    for number in 0..<100 { apply(.want(.room("r\(number)")), at: node) }
  }

  func want(_ node: Int) { apply(.want(Self.hall), at: node) }
  func verdict(_ node: Int) -> Verdict { nodes[node].verdict(on: Self.hall, at: now) }
  func decides(_ node: Int) -> Bool { if case .decides = verdict(node) { true } else { false } }

  /// Time passes, in steps of 50 ms. - Parameter stopped: nodes that do nothing meanwhile.
  func advance(_ delta: TimeDelta, stopped: Set<Int> = []) {
    let end = now + delta
    while now < end {
      now = min(now + .milliseconds(50), end)
      poll(but: stopped)
    }
  }

  func poll(but stopped: Set<Int> = []) {
    for node in nodes.indices where !stopped.contains(node) { carryOut(nodes[node].poll(at: now), node) }
  }

  /// Answers that have waited come now; those of a connection that is over do not.
  func answer() {
    let late = answers
    answers = []
    for one in late where connected.contains(one.node) { apply(.answered(one.question, one.answer), at: one.node) }
  }

  /// The store carries out what it had not heard.
  func carryOutLate() {
    for statement in unheard { _ = table.apply(statement) }
    unheard = []
  }

  /// The store is another one now, and says so. - Parameter earlier: what it goes back to; nothing where it is emptied.
  func goBack(to earlier: StoreTable? = nil) {
    var mark = table.mark
    mark.timeline += 1
    table = earlier?.marked(mark) ?? StoreTable(mark: mark)
  }

  /// The connection ends. It is made again with the next poll after the pause.
  func breakConnection(_ node: Int) {
    connected.remove(node)
    answers.removeAll { $0.node == node }
    apply(.broken, at: node)
  }

  func forgetHeard() { heard = heard.map { _ in [] } }

  private func carryOut(_ effects: [OwnershipEffect], _ node: Int) {
    for effect in effects {
      switch effect {
      case .ask(let question, let statement): ask(question, statement, node)
      case .connect where !deaf.contains(node):
        connected.insert(node)
        apply(.connected, at: node)
      case .connect: break
      case .disconnect:
        connected.remove(node)
        answers.removeAll { $0.node == node }
      default: heard[node].append(effect)
      }
    }
  }

  private func ask(_ question: QuestionID, _ statement: StoreStatement, _ node: Int) {
    guard !deaf.contains(node) else { return unheard.append(statement) }
    let answer = table.apply(statement)
    if slow.contains(node) {
      answers.append((node, question, answer))
    } else {
      apply(.answered(question, answer), at: node)
    }
  }
}
