// Rooms as they are now, and what always goes together when they change: a seat takes its tracks and subscriptions along, and those
// concerned are told. They know nothing of calls, and of sessions what has come with requests (`MemberFacts`).

import Basics
import Calls
import Members
import RoostProtocol

/// All of rooms: who is in them, who is kept out, and what may still be asked there. Their state changes by messages, by
/// time, and when a process begins, and in no other way.
package struct Rooms: Sendable {
  /// The rules that the conference was made with.
  let rules: ConferenceRules
  /// Which rooms there are by name, and what they are like.
  var book: RoomBook
  /// Who sits where, and what goes to whom.
  var seating: Seating
  var quality = QualityBook()
  var bans = BanTable()
  var addressBans = AddressBanTable()
  /// What was said and decided before a restart, until somebody comes back.
  var restored = RestoredRooms()
  /// What users may still ask for: knocks, orders of moderators, messages of the chat.
  var knocks: KnockLimits
  var moderations: KeyedBuckets<ClaimedUser>
  var chats: ChatLimits
  var load = MediaLoad()
  var isDraining = false
  /// What other realms have of what there is for all.
  var others = RealmShare()

  /// Nobody is in any of the rooms that are configured.
  package init(_ rules: ConferenceRules, _ step: inout Step) {
    self.rules = rules
    book = RoomBook(rules, tag: RoomBook.tag(&step.numbers.random))
    knocks = KnockLimits(rules)
    moderations = KeyedBuckets(
      burst: rules.moderationBurst, perSecond: rules.moderationsPerSecond, most: NetworkBuckets.mostNetworks)
    chats = ChatLimits(rules)
    seating = Seating(rules)
    for (name, room) in rules.rooms.sorted(by: { $0.key < $1.key }) {
      addRoom(name: name, rules: room, isNamed: true, &step)
    }
  }

  /// Who is in which room.
  var table: RoomTable { seating.table }
  /// What everybody publishes and receives.
  var media: TrackTable { seating.media }
  /// What is being negotiated.
  var publishing: Publishing { seating.publishing }
  var subscribing: Subscribing { seating.subscribing }
}

extension SeatID {
  /// The room as the one on the seat may see it; nil where that is gone. At which event of their session it stands, that one says
  /// (`SessionTable.stamped`).
  package func snapshot(in rooms: Rooms, at wallMilliseconds: Int64) -> RoomSnapshot? {
    let table = rooms.table
    guard let seat = table.seats[self], let room = table[seat.room] else { return nil }
    let isModerator = Access.role(of: seat, table) == .moderator
    var moderation = room.seen(room.moderation.seen(by: seat.user, isModerator: isModerator))
    if isModerator { moderation.bans = rooms.bans.shown(in: room.name, at: wallMilliseconds) }
    let views = rooms.media[self].views
    return RoomSnapshot(
      room: room.name, kind: room.rules.kind, media: room.effectiveMedia, limit: room.info.limit, count: room.occupied,
      seq: 0, selfId: "\(seat.participant)",
      participants: table.members(of: seat.room).map { $0.seen(in: rooms.seating) },
      chat: room.chat.messages(visibleTo: seat.user), views: views.isEmpty ? nil : views.map(\.description),
      moderation: moderation.isUsual ? nil : moderation)
  }
}

extension ErrorObject {
  /// Why a session has no seat: 2006 where an operator took it away, else 2005.
  fileprivate static func putOut(_ closed: RoomClosed?) -> ErrorObject {
    guard let closed else { return ErrorObject(.notJoined) }
    let message = closed.reason == .removed ? "You were removed from this room." : nil
    return ErrorObject(.roomClosed, message) { $0.reason = closed.reason.rawValue }
  }
}

extension RoomTable {
  /// The session's seat in the room of this name.
  /// - Throws: 2005 when it is not in that room, 2006 where an operator put it out.
  func seat(of session: SessionID, inRoom name: String) throws(ErrorObject) -> Seat {
    guard let seat = currentSeat(of: session), self.name(of: seat.room) == name else {
      let putOut = stays[session]?.putOut
      throw putOut?.room == name ? .putOut(putOut) : ErrorObject(.notJoined)
    }
    return seat
  }

  /// The session's seat in whatever room.
  /// - Throws: 2005 when it has none, 2006 where an operator took it away.
  func seat(of session: SessionID) throws(ErrorObject) -> Seat {
    guard let seat = currentSeat(of: session) else { throw .putOut(stays[session]?.putOut) }
    return seat
  }

  /// Whether a seat is in a call's room.
  func isInCall(_ seat: Seat) -> Bool { self[seat.room]?.isOfCall ?? false }

  /// Whether a seat's socket or media is lost.
  func isLost(_ seat: Seat) -> Bool { seat.isMediaLost || !seat.member.presence.isConnected }

  /// Who moderates by their grant has no role beside it: what was given to them before would outlive the grant.
  mutating func grantReplacesRole(of seat: Seat) {
    guard Access.moderatesByGrant(seat, self) else { return }
    update(seat.room) { $0.moderation.setRole(.participant, of: seat.user) }
  }

}
