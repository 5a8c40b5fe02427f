// Lines in the log about what was refused. A client can be refused as often as it asks, and chooses some of the text.

import Basics
import Members
import RoostProtocol

/// How many lines there are about what was refused: so many of a user, of all from a network, and in all. A client can be refused as often
/// as it asks, and chooses some of the text.
struct RefusalLines: Sendable {
  /// Of a user, and of a network, at once and in the long run.
  static let burst = 200
  static let perSecond = 2.0
  /// Of all. Raising it lets clients fill a disk faster.
  static let burstOfAll = 2_000
  static let perSecondOfAll = 50.0
  /// How often it is told how many were left out.
  static let tellingInterval = TimeDelta.seconds(60)

  private var users: KeyedBuckets<ClaimedUser>
  private var networks = NetworkBuckets(burst: Self.burst, perSecond: Self.perSecond)
  private var all = TokenBucket(perSecond: Self.perSecondOfAll, burst: Self.burstOfAll, now: .zero)
  private var leftOut = 0
  private var told: Instant?

  init(_ rules: ConferenceRules) {
    users = KeyedBuckets(burst: Self.burst, perSecond: Self.perSecond, most: NetworkBuckets.mostNetworks)
  }

  /// Whether there may be one more about somebody.
  mutating func take(_ identity: Identity?, at now: Instant) -> Bool {
    // One user's do not use up what their network has, nor that what all have.
    let isOne =
      identity.map { users.take(ClaimedUser($0), at: now) == nil } ?? true
      && identity?.network.map { networks.take($0, at: now) == nil } ?? true && all.take(at: now) == nil
    if !isOne { leftOut += 1 }
    return isOne
  }

  /// How many were left out since it was told; nil where that is none, or was told just now.
  mutating func takeLeftOut(at now: Instant) -> Int? {
    guard leftOut > 0, told.map({ now - $0 >= Self.tellingInterval }) ?? true else { return nil }
    defer { (leftOut, told) = (0, now) }
    return leftOut
  }
}

/// Lines about what was refused.
enum RefusalLog {
  /// Leaves one, unless there were too many.
  static func leave(
    _ event: String, _ fields: [(String, String)], of identity: Identity?, _ lines: inout RefusalLines,
    _ step: inout Step
  ) {
    let isOne = lines.take(identity, at: step.now.instant)
    if let count = lines.takeLeftOut(at: step.now.instant) {
      step.log("refusal_lines_left_out", ["count": "\(count)"], level: .warning)
    }
    if isOne { step.log(event, fields, level: .warning) }
  }

  /// Leaves one about a request, unless it has one of its own. That somebody asks too fast says nothing of what they asked.
  static func note(
    _ method: String, in room: String? = nil, _ error: ErrorObject, of session: Session?,
    _ lines: inout RefusalLines, _ step: inout Step
  ) {
    guard error.code != .rateLimited, let session else { return }
    leave(
      "request_refused",
      [
        ("method", method), ("room", room ?? session.place?.room ?? ""), ("user", session.user),
        ("code", error.code.name), ("reason", error.data.reason ?? ""),
      ], of: session.identity, &lines, &step)
  }
}
