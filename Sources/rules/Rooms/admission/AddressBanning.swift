// Bans of addresses at work: who is kept out, what moderators and operators may ban, and how such bans end.
//
//   moderator ── a person with their address ──┐
//   operator ─── an address or a network ──────┴─▶ AddressBanTable ──▶ join: 2009

import Basics
import Members
import RoostProtocol

extension ConferenceRules {
  /// The addresses that somebody may be kept out by; nil where they are not known, this machine's, or a proxy's: those are many people's.
  fileprivate func bannable(_ network: PeerNetwork?) -> AddressRange? {
    guard let range = network?.range, !range.first.isLoopback else { return nil }
    return proxies.contains { $0.overlaps(range) } ? nil : range
  }
}

extension Moderation {
  /// Whether a moderator has let in this very user, by a role or from the lobby.
  fileprivate func vouches(for user: String) -> Bool { roles[user] != nil || lobby.isAdmitted(user) == true }
}

/// The rules of bans by address.
enum AddressBanning {
  // MARK: - Who comes in

  /// Somebody who has no seat in the room wants one. By their address nobody is kept out who has the grant `moderate`, nor by a moderator's
  /// word about an address whom a moderator has let in by name.
  /// - Throws: 2009.
  static func check(_ session: MemberFacts, in name: String, _ rooms: Rooms, _ now: Now) throws(ErrorObject) {
    guard !session.mayModerate(name), let network = rooms.rules.bannable(session.identity.network) else { return }
    let room = rooms.table[named: name].flatMap { rooms.table[$0] }
    let isKnown = room?.moderation.vouches(for: session.user) ?? false
    guard
      let ban = rooms.addressBans.ban(of: network, in: name, byOperators: isKnown, at: now.wallMilliseconds)
    else { return }
    throw ErrorObject(.banned) { ($0.until, $0.reason) = (ban.until, "address") }
  }

  // MARK: - Moderators

  /// The ban of the address that a user is in the room from, or waits from. Nobody is told the address.
  /// - Throws: 3008 where they are not there, 1005 where the address is not to be banned, 1010 where no more can be kept.
  static func ban(
    with user: String, _ target: Seat?, in room: Room, until: Int64?, by moderator: String?, _ rooms: Rooms,
    _ now: Now
  ) throws(ErrorObject) -> KeptAddressBan {
    let waiting = room.moderation.lobby.waiting.first { $0.user == user }
    guard let member = target?.member ?? waiting?.member else {
      throw ErrorObject(.userNotFound, "This user is not here, so their address is not known.")
    }
    guard let address = rooms.rules.bannable(member.identity.network) else {
      throw ErrorObject(.forbidden, "This user's address is not one to be banned; ban the user alone.") {
        $0.reason = "address"
      }
    }
    let most = until == nil ? AddressBanTable.usualTime : AddressBanTable.moderatorsTime
    let end = now.wallMilliseconds + most.milliseconds
    let subject = KeptAddressBan.Subject(room: room.name, address: address, user: user)
    let ban = KeptAddressBan(subject, until: min(until ?? end, end), by: moderator)
    try rooms.addressBans.checkSpace(for: ban, at: now.wallMilliseconds)
    return ban
  }

  /// Keeps a ban for which there is space.
  static func keep(_ ban: KeptAddressBan, _ bans: inout AddressBanTable, _ step: inout Step) {
    let gone = bans.insert(ban, at: step.now)
    step.keep(gone.map { .forgetAddressBan($0.subject) } + [.addressBan(ban)])
  }

  /// A user is banned anew, until another time: the address that they were banned with before is not kept out for longer.
  static func shorten(
    of user: String, in room: String, to end: Int64?, _ bans: inout AddressBanTable, _ step: inout Step
  ) {
    guard let end else { return }
    let sooner = bans.shorten(of: user, in: room, to: end, at: step.now)
    step.keep(sooner.map { .addressBan($0) })
  }

  // MARK: - Operators

  /// Bans an address or a network, of IPv6 as it is counted everywhere.
  /// - Throws: −32602 for what is not to be banned, a time that is over or too far, or no room's name; 1010 where no more can be kept.
  static func ban(
    _ address: AddressRange, room: String?, until: Int64?, _ rules: ConferenceRules, _ bans: inout AddressBanTable,
    _ step: inout Step
  ) throws(ErrorObject) -> KeptAddressBan {
    let counted = counted(address)
    try check(counted, rules)
    if let room, !ProtocolLimits.isName(room) || CallRoom.isName(room) {
      throw .parameter("room", expected: "the name of a room that is no call's")
    }
    let wall = step.now.wallMilliseconds
    let end = until ?? wall + AddressBanTable.usualTime.milliseconds
    guard end > wall, end <= wall + AddressBanTable.operatorsTime.milliseconds else {
      throw .parameter("until", expected: "a time in the next 30 days, in milliseconds since 1970")
    }
    let subject = KeptAddressBan.Subject(room: room, address: counted, user: nil)
    let ban = KeptAddressBan(subject, until: end, by: nil)
    try bans.checkSpace(for: ban, at: wall)
    keep(ban, &bans, &step)
    step.log("address_banned", ["address": counted.description, "room": room ?? "", "until": "\(end)"])
    return ban
  }

  /// The address that somebody is in a room from, for an operator to ban it.
  /// - Throws: 3008 for who is not there, −32602 as above.
  static func address(of user: String, in key: RoomKey, _ rooms: Rooms) throws(ErrorObject) -> AddressRange {
    guard let seat = rooms.table.seat(ofUser: user, in: key) else {
      throw ErrorObject(.userNotFound, "This user is not in the room.")
    }
    guard let address = rooms.rules.bannable(seat.member.identity.network) else {
      throw .parameter("user", expected: "one whose address is known, and neither this machine's nor a proxy's")
    }
    return address
  }

  /// What hosts of one IPv6 network are banned as.
  private static func counted(_ address: AddressRange) -> AddressRange {
    address.first.isIPv4 ? address : address.network(bits: PeerNetwork.bits)
  }

  private static func check(_ address: AddressRange, _ rules: ConferenceRules) throws(ErrorObject) {
    let isIPv4 = address.first.isIPv4
    let widest = AddressBanTable.widest
    guard address.bits >= (isIPv4 ? widest.ipv4 : widest.ipv6) else {
      throw .parameter("address", expected: "a network of \(widest.ipv4) bits or more, of IPv6 \(widest.ipv6)")
    }
    // ::/64 has ::1, and stands for those without an address.
    guard !address.first.isLoopback, isIPv4 || address.first.high != 0 else {
      throw .parameter("address", expected: "an address that is not this machine's")
    }
    if let proxy = rules.proxies.first(where: { $0.overlaps(address) }) {
      throw .parameter("address", expected: "no address of listen.trusted_proxies (\(proxy)), which brings others")
    }
  }

  /// Takes back the bans of an address, of a room or of all rooms and each. Moderators' are among them.
  /// - Throws: 3008 where there is none.
  static func lift(
    _ address: AddressRange, room: String?, _ bans: inout AddressBanTable, _ step: inout Step
  ) throws(ErrorObject) -> Int {
    let counted = counted(address)
    let gone = bans.remove {
      $0.subject.address == counted && (room == nil || $0.subject.room == room)
    }
    guard !gone.isEmpty else { throw ErrorObject(.userNotFound, "This address is not banned.") }
    forget(gone, &step)
    step.log(
      "address_ban_lifted",
      ["address": counted.description, "room": room ?? "", "count": "\(gone.count)"])
    return gone.count
  }

  // MARK: - The end

  /// A user is let in again, and so is the address that they were banned with.
  static func lift(of user: String, in room: String, _ bans: inout AddressBanTable, _ step: inout Step) {
    let gone = bans.remove { $0.subject.user == user && $0.subject.room == room }
    forget(gone, &step)
  }

  /// Those whose time has come are kept nowhere any more.
  static func endDue(_ bans: inout AddressBanTable, _ step: inout Step) {
    forget(bans.removeDue(at: step.now.instant), &step)
  }

  static func forget(_ bans: [KeptAddressBan], _ step: inout Step) {
    step.keep(bans.map { .forgetAddressBan($0.subject) })
  }
}
