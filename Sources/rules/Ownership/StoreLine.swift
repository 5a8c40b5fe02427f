// The connection with the store, and what was asked on it.

import Basics

/// How many questions may be without an answer. What the node lives by is asked all the same: there is one of each kind, or one a node.
package struct QuestionBounds: Hashable, Sendable {
  /// Where there are as many, nobody's need of an owner is asked for. All answers come in order, and those of beats behind these, so many
  /// more would cost the node its four seconds.
  package var names = 32
  /// Where there are as many, nothing is asked about leases that it has or had; the next beat does it.
  package var leases = 1_024

  package init() {}
}

/// A connection, and questions without an answer, oldest first.
struct StoreLine: Sendable {
  enum State: Hashable, Sendable {
    /// To be made at that time.
    case down(until: Instant)
    case dialling(since: Instant)
    case up
  }

  struct Asked: Sendable {
    let id: QuestionID
    let statement: StoreStatement
    let sent: Instant
  }

  var state = State.down(until: Instant(nanoseconds: .min))
  private(set) var asked: [Asked] = []
  private var lastID: UInt64 = 0

  var isUp: Bool { state == .up }

  /// Gives a question its number.
  mutating func ask(_ statement: StoreStatement, at now: Instant) -> OwnershipEffect {
    lastID &+= 1
    asked.append(Asked(id: QuestionID(lastID), statement: statement, sent: now))
    return .ask(QuestionID(lastID), statement)
  }

  /// What was asked under this number; nil where it was not, or has been answered.
  mutating func take(_ id: QuestionID) -> Asked? {
    asked.firstIndex { $0.id == id }.map { asked.remove(at: $0) }
  }

  /// Whether the same has been asked, whatever was known of the store then.
  func isAsked(_ statement: StoreStatement) -> Bool { asked.contains { $0.statement.about == statement.about } }

  /// Whether it is on its way that a lease is written again.
  func isRegistering(_ name: LeaseName) -> Bool {
    asked.contains { $0.statement.about == .register(name) || $0.statement.about == .holder(name) }
  }

  var isBeating: Bool { asked.contains { $0.statement.about == .beat } }
  var isEntering: Bool { asked.contains { $0.statement.about == .enter } }

  /// When waiting is over: for the oldest answer, for a connection, or for the next attempt.
  var deadline: Instant? {
    switch state {
    case .down(let until): until
    case .dialling(let since): since + OwnershipTimes.answer
    case .up: asked.first.map { $0.sent + OwnershipTimes.answer }
    }
  }

  mutating func forgetQuestions() { asked.removeAll() }
  mutating func down(at now: Instant) {
    asked.removeAll()
    state = .down(until: now + OwnershipTimes.pause)
  }
}

/// What a statement is about.
enum StatementSubject: Hashable, Sendable {
  case enter, beat, held
  case fence(NodeEpoch)
  case acquire(LeaseName)
  case giveBack(LeaseName, LeaseEpoch)
  case register(LeaseName)
  case holder(LeaseName)
}

extension StoreStatement {
  var about: StatementSubject {
    switch self {
    case .enter: .enter
    case .beat: .beat
    case .held: .held
    case .fence(let node, _, _): .fence(node)
    case .acquire(let name, _): .acquire(name)
    case .giveBack(let name, let epoch, _): .giveBack(name, epoch)
    case .register(let name, _, _, _, _): .register(name)
    case .holder(let name): .holder(name)
    }
  }
}
