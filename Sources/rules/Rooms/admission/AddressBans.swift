// Which addresses are kept out of which rooms, and until when. Behind an address there are many, and tomorrow it may be somebody else's:
// each of these bans ends, and is forgotten when it does, on disk too (docs/decisions/0017-roles-and-moderation.md).

import Basics
import Members
import RoostProtocol

/// All bans of addresses.
struct AddressBanTable: Sendable {
  /// Those of one room. As many may hold for all rooms.
  static let mostOfRoom = 200
  /// Those of one moderator, in all rooms. Raising it lets one fill so much more of the table.
  static let mostOfModerator = 200
  /// All of them.
  static let most = 2_000
  /// How long one lasts that nothing is said of.
  static let usualTime = TimeDelta.seconds(3_600)
  /// How long one of a moderator lasts at most. Longer keeps out more people who have the address next.
  static let moderatorsTime = TimeDelta.seconds(24 * 3_600)
  /// The same of an operator.
  static let operatorsTime = TimeDelta.seconds(30 * 24 * 3_600)
  /// The widest networks, in bits. Wider ones are a firewall's to keep out, or a slip of the pen.
  static let widest = (ipv4: 16, ipv6: 32)

  private struct Place: Hashable {
    let room: String?
    let address: AddressRange

    init(room: String?, address: AddressRange) { (self.room, self.address) = (room, address) }
    init(_ subject: KeptAddressBan.Subject) { self.init(room: subject.room, address: subject.address) }
  }

  private var places: [Place: [KeptAddressBan]] = [:]
  private var ends = Deadlines<KeptAddressBan.Subject>()
  private(set) var count = 0

  /// When the first of them ends; nil where there is none.
  var nextEnd: Instant? { ends.next }

  private var all: [KeptAddressBan] { places.values.flatMap(\.self) }

  // MARK: - Looking

  /// The ban that keeps a network out of a room; of several the one that lasts longest. `byOperators`: those of moderators do not count.
  func ban(
    of network: AddressRange, in room: String, byOperators: Bool, at wallMilliseconds: Int64
  ) -> KeptAddressBan? {
    guard !places.isEmpty else { return nil }
    let widest = network.first.isIPv4 ? Self.widest.ipv4 : Self.widest.ipv6
    guard widest <= network.bits else { return nil }
    var found: [KeptAddressBan] = []
    for bits in widest...network.bits {
      let address = network.network(bits: bits)
      for room in [room, nil] { found += places[Place(room: room, address: address)] ?? [] }
    }
    return found.filter { !$0.isOver(at: wallMilliseconds) && !(byOperators && $0.by != nil) }
      .max { $0.until < $1.until }
  }

  /// Those that are not over and keep somebody out of a room, those of all rooms included; without a room all of them. By room, address
  /// and user, those of all rooms first.
  func bans(in room: String?, at wallMilliseconds: Int64) -> [KeptAddressBan] {
    let bans = all.filter {
      !$0.isOver(at: wallMilliseconds) && (room == nil || $0.subject.room == nil || $0.subject.room == room)
    }
    return bans.map { (key: Self.order($0.subject), ban: $0) }.sorted { $0.key < $1.key }.map(\.ban)
  }

  private static func order(_ subject: KeptAddressBan.Subject) -> (String, String, String) {
    (subject.room ?? "", subject.address.description, subject.user ?? "")
  }

  /// - Throws: 1010 where there is no space for this one, those that are over not counted.
  func checkSpace(for ban: KeptAddressBan, at wallMilliseconds: Int64) throws(ErrorObject) {
    let others = all.filter { !$0.isOver(at: wallMilliseconds) && $0.subject != ban.subject }
    try check(others.count { $0.subject.room == ban.subject.room }, Self.mostOfRoom)
    if let moderator = ban.by { try check(others.count { $0.by == moderator }, Self.mostOfModerator) }
    try check(others.count, Self.most)
  }

  private func check(_ count: Int, _ limit: Int) throws(ErrorObject) {
    guard count < limit else { throw .tooLarge("address", limit: limit, count: count + 1) }
  }

  // MARK: - Changing

  /// Keeps a ban in place of an earlier one of the same subject. Returns that, and those that are over and had to make space: they are
  /// to be forgotten.
  mutating func insert(_ ban: KeptAddressBan, at now: Now) -> [KeptAddressBan] {
    var gone = remove(ban.subject).map { [$0] } ?? []
    if count >= Self.most { gone += remove { $0.isOver(at: now.wallMilliseconds) } }
    places[Place(ban.subject), default: []].append(ban)
    count += 1
    // What stands in a file may be any number.
    let end = min(ban.until, now.wallMilliseconds + Self.operatorsTime.milliseconds)
    ends.set(ban.subject, at: now.instant + .milliseconds(Int(max(end - now.wallMilliseconds, 0))))
    return gone
  }

  /// Lets those that a user was banned with from a room end no later than this. Returns those that end sooner now.
  mutating func shorten(of user: String, in room: String, to end: Int64, at now: Now) -> [KeptAddressBan] {
    let longer = all.filter { $0.subject.user == user && $0.subject.room == room && $0.until > end }
    return longer.map { ban in
      var ban = ban
      ban.until = end
      _ = insert(ban, at: now)
      return ban
    }
  }

  /// Takes out those that are meant, and returns them.
  mutating func remove(where isMeant: (KeptAddressBan) -> Bool) -> [KeptAddressBan] {
    all.filter(isMeant).compactMap { remove($0.subject) }
  }

  /// Names are compared as Swift does, which knows several spellings of one: what was kept is returned as it was spelt.
  private mutating func remove(_ subject: KeptAddressBan.Subject) -> KeptAddressBan? {
    let place = Place(subject)
    guard let index = places[place]?.firstIndex(where: { $0.subject == subject }) else { return nil }
    let ban = places[place]?.remove(at: index)
    if places[place]?.isEmpty == true { places[place] = nil }
    ends.cancel(subject)
    count -= 1
    return ban
  }

  /// Takes out those whose time has come. The wall clock may have been set since they were kept: what was promised then counts.
  mutating func removeDue(at now: Instant) -> [KeptAddressBan] {
    var gone: [KeptAddressBan] = []
    while let subject = ends.popDue(at: now) { if let ban = remove(subject) { gone.append(ban) } }
    return gone
  }

  /// Takes what an earlier process kept; returns those that are to be forgotten.
  mutating func restore(_ bans: [KeptAddressBan], at now: Now) -> [KeptAddressBan] {
    for ban in bans.prefix(Self.most) where !ban.isOver(at: now.wallMilliseconds) { _ = insert(ban, at: now) }
    return bans.filter { $0.isOver(at: now.wallMilliseconds) }
  }
}
