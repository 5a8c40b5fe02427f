// Who is kept out of which room, and until when. A ban is about a user, whatever device or door they come by. It outlives
// the room, which may be gone and made anew meanwhile, and the process (`Storing.swift`).

import Members
import RoostProtocol

/// All bans.
struct BanTable: Sendable {
  /// Bans in one room.
  static let mostOfRoom = 1_000
  /// Bans of one moderator, in all rooms. Raising it lets one fill so much more of the table, and leave so much less to all others.
  static let mostOfModerator = 1_000
  /// Bans in all rooms.
  static let most = 10_000

  private var rooms: [String: [String: KeptBan]] = [:]
  /// How many each moderator has, those that are over included.
  private var byModerator: [String: Int] = [:]
  private(set) var count = 0

  /// The ban of a user in a room; nil where there is none, or it is over.
  func ban(of user: String, in room: String, at wallMilliseconds: Int64) -> KeptBan? {
    rooms[room]?[user].flatMap { $0.isOver(at: wallMilliseconds) ? nil : $0 }
  }

  /// The bans of a room that are not over, by user.
  func bans(in room: String, at wallMilliseconds: Int64) -> [KeptBan] {
    let bans = rooms[room]?.values.filter { !$0.isOver(at: wallMilliseconds) } ?? []
    return bans.sorted { $0.user < $1.user }
  }

  /// What moderators are shown of them; nil where there is none.
  func shown(in room: String, at wallMilliseconds: Int64) -> [RoomBan]? {
    let all = bans(in: room, at: wallMilliseconds).prefix(ProtocolLimits.page)
    return all.isEmpty ? nil : all.map { RoomBan(user: $0.user, until: $0.until) }
  }

  /// Those of all rooms, by room and user.
  func all(at wallMilliseconds: Int64) -> [KeptBan] {
    rooms.keys.sorted().flatMap { bans(in: $0, at: wallMilliseconds) }
  }

  /// - Throws: 1010 where there is no space for one more of this moderator, those that are over not counted.
  func checkSpace(
    for user: String, in room: String, by moderator: String, at wallMilliseconds: Int64
  ) throws(ErrorObject) {
    let old = rooms[room]?[user]
    if byModerator[moderator] ?? 0 >= Self.mostOfModerator, old?.by != moderator {
      try check(lasting(at: wallMilliseconds) { $0.by == moderator }, Self.mostOfModerator)
    }
    guard old == nil else { return }
    try check(rooms[room]?.values.count { !$0.isOver(at: wallMilliseconds) } ?? 0, Self.mostOfRoom)
    if count >= Self.most { try check(lasting(at: wallMilliseconds) { _ in true }, Self.most) }
  }

  private func check(_ count: Int, _ limit: Int) throws(ErrorObject) {
    guard count < limit else { throw .tooLarge("user", limit: limit, count: count + 1) }
  }

  private func lasting(at wallMilliseconds: Int64, _ isMeant: (KeptBan) -> Bool) -> Int {
    rooms.values.reduce(0) { $0 + $1.values.count { isMeant($0) && !$0.isOver(at: wallMilliseconds) } }
  }

  /// Keeps a ban in place of an earlier one of the same user. Returns that, and those that are over and had to make space: they are
  /// to be forgotten.
  mutating func insert(_ ban: KeptBan, at wallMilliseconds: Int64) -> [KeptBan] {
    var gone = remove(ban.user, in: ban.room).map { [$0] } ?? []
    if count >= Self.most || rooms[ban.room]?.count ?? 0 >= Self.mostOfRoom
      || byModerator[ban.by] ?? 0 >= Self.mostOfModerator
    {
      gone += prune(at: wallMilliseconds)
    }
    rooms[ban.room, default: [:]][ban.user] = ban
    byModerator[ban.by, default: 0] += 1
    count += 1
    return gone
  }

  /// Takes a ban back; nil where there was none.
  mutating func remove(_ user: String, in room: String) -> KeptBan? {
    guard let ban = rooms[room]?.removeValue(forKey: user) else { return nil }
    if rooms[room]?.isEmpty == true { rooms[room] = nil }
    byModerator[ban.by, default: 1] -= 1
    if byModerator[ban.by] == 0 { byModerator[ban.by] = nil }
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

/// Bans that are looked at and taken back.
enum Banning {
  /// A page of all that is banned from a room, or from any: users, then addresses.
  static func seen(in room: String?, page: Int, _ rooms: Rooms, at wallMilliseconds: Int64) -> OperatorAnswer {
    let users = room.map { rooms.bans.bans(in: $0, at: wallMilliseconds) } ?? rooms.bans.all(at: wallMilliseconds)
    let addresses = rooms.addressBans.bans(in: room, at: wallMilliseconds)
    let (shown, next) = OperatorAnswer.page(page, of: Array(0..<users.count + addresses.count))
    return .bans(
      shown.filter { $0 < users.count }.map { users[$0] },
      addresses: shown.filter { $0 >= users.count }.map { addresses[$0 - users.count] }, next: next)
  }

  /// An operator takes one back. The room need not be there: its bans outlive it.
  /// - Throws: 3008 where there is none.
  static func lift(
    _ user: String, _ room: String, _ bans: inout BanTable, _ addresses: inout AddressBanTable, _ table: RoomTable,
    _ step: inout Step
  ) throws(ErrorObject) {
    guard bans.ban(of: user, in: room, at: step.now.wallMilliseconds) != nil else {
      throw ErrorObject(.userNotFound, "This user is not banned from the room.")
    }
    forget(user, room, &bans, &addresses, &step)
    step.log("ban_lifted", ["room": room, "user": user])
    guard let key = table[named: room] else { return }
    let moderated = RoomModerated(room: room, by: nil, action: .unban, user: user)
    step.tell(.roomModerated(moderated), in: key, of: table)
  }

  /// On disk too, and with the address; nothing where there was none.
  static func forget(
    _ user: String, _ room: String, _ bans: inout BanTable, _ addresses: inout AddressBanTable, _ step: inout Step
  ) {
    AddressBanning.lift(of: user, in: room, &addresses, &step)
    guard let ban = bans.remove(user, in: room) else { return }
    step.keep([.forgetBan(room: ban.room, user: ban.user)])
  }
}
