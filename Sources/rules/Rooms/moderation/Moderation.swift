// What moderators have made of a room: its door, who has which role, who may not unmute, who waits. Nothing is decided here;
// `Moderating.swift` does that. Everything is bounded, as names come from outside.

import Members
import RoostProtocol

/// What moderators have made of one room.
struct Moderation: Sendable {
  /// People with a role in one room. Every one of them may give power over the room to others.
  static let mostRoles = 100
  /// Names for each kind of track that are held, or let off where all are. Moderators are sent them with their snapshot.
  static let mostHeld = 400

  var door = Door.open
  var isChatDisabled = false
  /// The roles that were given; those who have the grant need none.
  private(set) var roles: [String: RoomRole] = [:]
  private var holds: [TrackKind: (everybody: Bool, users: Set<String>)] = [:]
  var lobby = Lobby()

  /// What stays of it when the last one has left: the door, who waits at it, and for a moment who may come in.
  var whenEmpty: Moderation {
    var kept = Moderation()
    (kept.door, kept.isChatDisabled, kept.lobby) = (door, isChatDisabled, lobby)
    return kept
  }

  // MARK: - Roles

  /// - Throws: 1010 where so many have one already.
  func checkSpace(forRoleOf user: String, _ role: RoomRole) throws(ErrorObject) {
    guard role != .participant, roles[user] == nil, roles.count >= Self.mostRoles else { return }
    throw .tooLarge("role", limit: Self.mostRoles, count: roles.count + 1)
  }

  mutating func setRole(_ role: RoomRole, of user: String) { roles[user] = role == .participant ? nil : role }

  // MARK: - Who may not unmute

  func isHeld(_ user: String, _ kind: TrackKind) -> Bool {
    guard let hold = holds[kind] else { return false }
    return hold.everybody != hold.users.contains(user)
  }

  /// - Throws: 1010 where there is no space for one name more.
  func checkSpace(holding user: String?, _ kind: TrackKind, _ isHeld: Bool?) throws(ErrorObject) {
    guard let user, let isHeld, self.isHeld(user, kind) != isHeld, let hold = holds[kind],
      hold.users.count >= Self.mostHeld, !hold.users.contains(user)
    else { return }
    throw .tooLarge("user", limit: Self.mostHeld, count: hold.users.count + 1)
  }

  /// Holds one, or all; or lets them off.
  mutating func hold(_ user: String?, _ kind: TrackKind, _ isHeld: Bool) {
    guard let user else {
      holds[kind] = isHeld ? (true, []) : nil
      return
    }
    guard self.isHeld(user, kind) != isHeld else { return }
    var hold = holds[kind] ?? (false, [])
    if hold.users.remove(user) == nil { hold.users.insert(user) }
    holds[kind] = hold.everybody || !hold.users.isEmpty ? hold : nil
  }

  private var wireHolds: [TrackHold]? {
    let all = TrackKind.allCases.compactMap { kind in
      holds[kind].map { TrackHold(kind: kind, everybody: $0.everybody, users: $0.users.sorted()) }
    }
    return all.isEmpty ? nil : all
  }

  // MARK: - On the wire

  /// As one who is not in the room sees it.
  var info: RoomModeration {
    RoomModeration(
      locked: door == .locked ? true : nil, lobby: door == .lobby ? true : nil,
      chatDisabled: isChatDisabled ? true : nil)
  }

  /// As somebody in the room sees it.
  func seen(by user: String, isModerator: Bool) -> RoomModeration {
    var seen = info
    if isModerator {
      seen.holds = wireHolds
      seen.waiting = lobby.waiting.isEmpty ? nil : lobby.waiting.map(\.wire)
    } else {
      let held = TrackKind.allCases.filter { isHeld(user, $0) }
      seen.held = held.isEmpty ? nil : held
    }
    return seen
  }
}

extension Room {
  /// What moderators have made of it, with what an operator has.
  func seen(_ moderation: RoomModeration) -> RoomModeration {
    var seen = moderation
    if isLocked { seen.locked = true }
    return seen
  }
}

/// Who has knocked, and what they were told.
struct Lobby: Sendable {
  /// Those who wait at once. More would bury moderators in names.
  static let mostWaiting = 100
  /// Those who were admitted or sent away and are remembered for it. Beyond it the oldest has to knock again.
  static let mostDecided = 1000

  /// One who waits.
  struct Knocker: Sendable {
    fileprivate(set) var member: MemberFacts
    fileprivate(set) var displayName: String

    init(_ member: MemberFacts, displayName: String) { (self.member, self.displayName) = (member, displayName) }

    var user: String { member.user }
    var session: SessionID { member.session }

    var wire: Waiting { Waiting(user: user, displayName: displayName) }
  }

  /// In the order in which they came.
  private(set) var waiting: [Knocker] = []
  private var decided: [String: Bool] = [:]
  private var order: [String] = []

  /// Whether somebody was admitted; nil where nobody has said.
  func isAdmitted(_ user: String) -> Bool? { decided[user] }

  func isWaiting(_ user: String) -> Bool { waiting.contains { $0.user == user } }

  /// - Throws: 5002 where nobody more may wait.
  func checkSpace() throws(ErrorObject) {
    guard waiting.count >= Self.mostWaiting else { return }
    throw ErrorObject(.overloaded, "Too many wait to be let in.") {
      ($0.limit, $0.count) = (Self.mostWaiting, waiting.count)
    }
  }

  /// Lets somebody wait, or goes on with another of their sessions.
  mutating func knock(_ knocker: Knocker) {
    if let index = waiting.firstIndex(where: { $0.user == knocker.user }) {
      waiting[index].member = knocker.member
      waiting[index].displayName = knocker.displayName
    } else {
      waiting.append(knocker)
    }
  }

  /// What is known of somebody is another.
  mutating func note(_ member: MemberFacts) {
    guard let index = waiting.firstIndex(where: { $0.session == member.session }) else { return }
    waiting[index].member = member
  }

  /// Remembers what was said of somebody, who waits no more.
  mutating func decide(_ user: String, isAdmitted: Bool) {
    waiting.removeAll { $0.user == user }
    if decided.updateValue(isAdmitted, forKey: user) == nil { order.append(user) }
    if order.count > Self.mostDecided { decided[order.removeFirst()] = nil }
  }

  /// Whether anybody was admitted or sent away.
  var hasDecided: Bool { !order.isEmpty }

  /// All have to be admitted anew, and who was sent away may knock again. Who waits goes on waiting.
  mutating func forgetDecisions() { (decided, order) = ([:], []) }

  /// Somebody has to be admitted anew.
  mutating func forget(_ user: String) {
    if decided.removeValue(forKey: user) != nil { order.removeAll { $0 == user } }
  }

  /// Somebody waits no more, of their own will. Nil where it was not this session that waited.
  mutating func leave(_ session: SessionID) -> Knocker? {
    guard let index = waiting.firstIndex(where: { $0.session == session }) else { return nil }
    return waiting.remove(at: index)
  }
}
