// Who is busy: a leg is a user's part in the one call that they are in.

import RoostProtocol

/// The call that each busy user is in. Nobody is in two.
struct Legs: Equatable, Sendable {
  private(set) var calls: [String: CallID] = [:]

  /// The call that a user is in.
  subscript(user: String) -> CallID? { calls[user] }

  /// Whether a user is in a call.
  func isBusy(_ user: String) -> Bool { calls[user] != nil }

  /// How a user rings whose device has said that it does: beside a call that they are in, or as ever.
  func ringState(_ user: String) -> MemberState { isBusy(user) ? .busyRinging : .ringing }

  /// A user is in this call from now on, or in none. What they are rung for besides follows when the step is settled, so
  /// that a user who goes from one call to the next is in a call all the time.
  mutating func set(_ user: String, _ id: CallID?, _ step: inout Step) {
    calls[user] = id
    step.move(user)
  }
}
