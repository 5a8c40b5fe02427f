// Places that inputs of a target must get to. A grammar that no longer fits, or seeds that say something else than they did, break
// nothing: a run that never gets to one of them fails instead.
import Basics

/// How often each was reached since the process began. `Goal` names them.
struct Goals<Goal: CaseIterable & RawRepresentable & Hashable & Sendable>: Sendable where Goal.RawValue == String {
  private let reached = Locked<[Goal: Int]>([:])

  /// Once more.
  func note(_ goal: Goal) { reached.withLock { $0[goal, default: 0] += 1 } }

  /// All of them, those that were never reached with 0.
  var counts: [String: Int] {
    let reached = reached.withLock { $0 }
    return Dictionary(uniqueKeysWithValues: Goal.allCases.map { ($0.rawValue, reached[$0] ?? 0) })
  }
}
