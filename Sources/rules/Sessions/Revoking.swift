// Tokens that an operator has taken back: no door believes them any more, and who came by them goes at once.
//
//   operator ── jti ──▶ RevocationTable ──▶ hello, session.token: 1004
//                            ├──▶ sessions of that token: session.closing, in the same step
//                            └──▶ doors, which refuse it before the core hears of it

import Basics
import Members
import RoostProtocol

/// All of them.
struct RevocationTable: Sendable {
  /// How many there are at most. Raising it takes so much more memory, and time at a start.
  static let most = 10_000
  /// Bytes of a name. No token has a longer one.
  static let longestName = 256
  /// How long a token can be good that is taken back now: it lives for a day, and clocks may be a minute apart where it is believed first
  /// and where it is over.
  static let time = TimeDelta.seconds(24 * 3_600 + 2 * 60)

  private var all: [String: Int64] = [:]
  private var ends = Deadlines<String>()

  /// When the first of them is forgotten; nil where there is none.
  var nextEnd: Instant? { ends.next }

  var count: Int { all.count }

  func contains(_ id: String?) -> Bool { id.map { all[$0] != nil } ?? false }

  /// By their names.
  var list: [KeptRevocation] {
    all.map { KeptRevocation(tokenID: $0.key, until: $0.value) }.sorted { $0.tokenID < $1.tokenID }
  }

  /// A page of them.
  func page(_ page: Int) -> OperatorAnswer {
    let (shown, next) = OperatorAnswer.page(page, of: list)
    return .revoked(shown, next: next)
  }

  /// - Throws: 1010 where no more can be kept.
  mutating func insert(_ id: String, at now: Now) throws(ErrorObject) -> KeptRevocation {
    guard all[id] != nil || all.count < Self.most else {
      throw .tooLarge("jti", limit: Self.most, count: all.count + 1)
    }
    let kept = KeptRevocation(tokenID: id, until: now.wallMilliseconds + Self.time.milliseconds)
    keep(kept, at: now)
    return kept
  }

  /// Whether it was there.
  mutating func remove(_ id: String) -> Bool {
    ends.cancel(id)
    return all.removeValue(forKey: id) != nil
  }

  /// Takes out one that no token has any more.
  mutating func removeDue(at now: Instant) -> String? {
    guard let id = ends.popDue(at: now) else { return nil }
    all[id] = nil
    return id
  }

  /// Takes what an earlier process kept; returns those that are over and to be forgotten.
  mutating func restore(_ kept: [KeptRevocation], at now: Now) -> [String] {
    for one in kept.prefix(Self.most) where one.until > now.wallMilliseconds { keep(one, at: now) }
    return kept.filter { $0.until <= now.wallMilliseconds }.map(\.tokenID)
  }

  private mutating func keep(_ kept: KeptRevocation, at now: Now) {
    all[kept.tokenID] = kept.until
    // What stands in a file may be any number.
    let end = min(kept.until, now.wallMilliseconds + Self.time.milliseconds)
    ends.set(kept.tokenID, at: now.instant + .milliseconds(Int(max(end - now.wallMilliseconds, 0))))
  }
}

/// The rules of tokens that are taken back.
enum Revoking {
  /// Somebody shows a token: at a hello, by whatever door, or a further one.
  /// - Throws: 1004, as for any token that is not accepted.
  static func check(_ identity: Identity, _ revocations: RevocationTable) throws(ErrorObject) {
    guard revocations.contains(identity.tokenID) else { return }
    throw ErrorObject(.authFailed, "The token was not accepted.") { $0.reason = "token_invalid" }
  }

  /// Believes a token again.
  /// - Throws: 3008 where it was not taken back.
  static func lift(_ id: String, _ revocations: inout RevocationTable, _ step: inout Step) throws(ErrorObject) {
    guard revocations.remove(id) else {
      throw ErrorObject(.userNotFound, "No token of this jti is taken back here.")
    }
    step.setRevoked(id, false)
    step.keep([.forgetRevocation(id)])
    step.log("token_revocation_lifted", ["jti": id])
  }

  /// Those that no token can have any more are forgotten.
  static func endDue(_ revocations: inout RevocationTable, _ step: inout Step) {
    while let id = revocations.removeDue(at: step.now.instant) {
      step.setRevoked(id, false)
      step.keep([.forgetRevocation(id)])
    }
  }

  /// Takes what an earlier process kept.
  static func restore(_ kept: [KeptRevocation], _ revocations: inout RevocationTable, _ step: inout Step) {
    let over = revocations.restore(kept, at: step.now)
    for one in revocations.list { step.setRevoked(one.tokenID, true) }
    step.keep(over.map { .forgetRevocation($0) })
  }
}

extension Sessions {
  /// Takes a token back. All sessions end that came by it, or whose newest token it is.
  /// - Returns: how many sessions have ended.
  /// - Throws: −32602 for what is no token's name, 1010 where no more can be kept.
  mutating func revoke(_ id: String, _ step: inout Step) throws(ErrorObject) -> Int {
    guard id.utf8.count <= RevocationTable.longestName else {
      throw .parameter("jti", expected: "the jti of a token, \(RevocationTable.longestName) bytes at most")
    }
    let kept = try revocations.insert(id, at: step.now)
    step.setRevoked(id, true)
    step.keep([.revocation(kept)])
    let sessions = table.all.values.filter { $0.arrivedBy == id || $0.identity.tokenID == id }
    step.log("token_revoked", ["jti": id, "sessions": "\(sessions.count)"])
    for session in sessions.map(\.id).sorted() { step.send(.sessions(.revoked(session))) }
    return sessions.count
  }
}
