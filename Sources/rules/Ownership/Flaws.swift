// What the simulator has to find: a node that breaks the rules. No server asks for these: a test reads the sources.

import Basics

/// Rules that a node may break.
package struct OwnershipFlaws: OptionSet, Hashable, Sendable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The four seconds count from the beat's answer.
  package static let untilFromAnswer = OwnershipFlaws(rawValue: 1)
  /// Others are put out after three seconds.
  package static let fencesAfter3s = OwnershipFlaws(rawValue: 2)
  /// Others are put out after nine seconds.
  package static let fencesAfter9s = OwnershipFlaws(rawValue: 16)
  /// What is given back without an answer may be decided about again, under the same epoch.
  package static let decidesAfterGiveBack = OwnershipFlaws(rawValue: 4)
  /// Leases that came without an answer are never looked for.
  package static let forgetsLostAnswers = OwnershipFlaws(rawValue: 8)

  /// Nobody waits after a break, or under another mark.
  package static let noQuietTime = OwnershipFlaws(rawValue: 32)
  /// Another mark is taken for the same.
  package static let keepsLeasesOverMarks = OwnershipFlaws(rawValue: 64)
  /// That a beat is lower than it was says nothing.
  package static let beatLowerIsNoMark = OwnershipFlaws(rawValue: 128)
  /// Whoever needs an owner is asked for, however many are.
  package static let asksWithoutBound = OwnershipFlaws(rawValue: 256)

  /// After how long others are put out, where it is another time than it has to be.
  var patience: TimeDelta? {
    if contains(.fencesAfter3s) { return .seconds(3) }
    return contains(.fencesAfter9s) ? .seconds(9) : nil
  }
}
