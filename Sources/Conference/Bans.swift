// Who is kept out of which room, and until when. A ban is about a user, whatever device or door they come by. It outlives
// the room, which may be gone and made anew meanwhile, and the process (`Storing.swift`).

import RoostProtocol

/// One ban as it is kept.
public struct KeptBan: Codable, Hashable, Sendable {
  /// Where.
  public var room: String
  /// Who.
  public var user: String
  /// When it ends, milliseconds since 1970 UTC; nil: not by itself.
  public var until: Int64?
  /// The user who wanted it.
  public var by: String

  /// A ban.
  public init(room: String, user: String, until: Int64?, by: String) {
    (self.room, self.user, self.until, self.by) = (room, user, until, by)
  }

  /// Whether it is over.
  func isOver(at wallMilliseconds: Int64) -> Bool { until.map { $0 <= wallMilliseconds } ?? false }
}

/// All bans.
struct BanTable: Sendable {
  /// Bans in one room. Raising it lets one moderator fill so much more of the table.
  static let mostOfRoom = 1_000
  /// Bans in all rooms.
  static let most = 10_000

  private var rooms: [String: [String: KeptBan]] = [:]
  private(set) var count = 0

  /// The ban of a user in a room; nil where there is none, or it is over.
  func ban(of user: String, in room: String, at wallMilliseconds: Int64) -> KeptBan? {
    rooms[room]?[user].flatMap { $0.isOver(at: wallMilliseconds) ? nil : $0 }
  }

  /// - Throws: 1010 where there is no space for one more, those that are over not counted.
  func checkSpace(for user: String, in room: String, at wallMilliseconds: Int64) throws(ErrorObject) {
    guard rooms[room]?[user] == nil else { return }
    let here = rooms[room]?.values.count { !$0.isOver(at: wallMilliseconds) } ?? 0
    guard here < Self.mostOfRoom else { throw .tooLarge("user", limit: Self.mostOfRoom, count: here + 1) }
    guard count >= Self.most else { return }
    let all = rooms.values.reduce(0) { $0 + $1.values.count { !$0.isOver(at: wallMilliseconds) } }
    guard all < Self.most else { throw .tooLarge("user", limit: Self.most, count: all + 1) }
  }

  /// Keeps a ban in place of an earlier one of the same user. Returns that, and those that are over and had to make space: they are
  /// to be forgotten.
  mutating func insert(_ ban: KeptBan, at wallMilliseconds: Int64) -> [KeptBan] {
    var gone = remove(ban.user, in: ban.room).map { [$0] } ?? []
    if count >= Self.most || rooms[ban.room]?.count ?? 0 >= Self.mostOfRoom { gone += prune(at: wallMilliseconds) }
    rooms[ban.room, default: [:]][ban.user] = ban
    count += 1
    return gone
  }

  /// Takes a ban back; nil where there was none. Names are compared as Swift does, which knows several spellings of one: what
  /// was kept is returned as it was spelt.
  mutating func remove(_ user: String, in room: String) -> KeptBan? {
    guard let ban = rooms[room]?.removeValue(forKey: user) else { return nil }
    if rooms[room]?.isEmpty == true { rooms[room] = nil }
    count -= 1
    return ban
  }

  /// Takes those out that are over.
  private mutating func prune(at wallMilliseconds: Int64) -> [KeptBan] {
    let over = rooms.values.flatMap { $0.values.filter { $0.isOver(at: wallMilliseconds) } }
    for ban in over { _ = remove(ban.user, in: ban.room) }
    return over
  }

  /// Takes what an earlier process kept; returns those that are over.
  mutating func restore(_ bans: [KeptBan], at wallMilliseconds: Int64) -> [KeptBan] {
    for ban in bans.prefix(Self.most) where !ban.isOver(at: wallMilliseconds) {
      _ = insert(ban, at: wallMilliseconds)
    }
    return bans.filter { $0.isOver(at: wallMilliseconds) }
  }
}
