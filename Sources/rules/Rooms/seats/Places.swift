// Rooms where only so many may publish at once (`publishers`). A place belongs to those with a role while any of them is in the
// room, and they need not wait for others to give it up; else to who came first. Who reloads a page finds their place again.

import Basics
import Members
import Names
import RoostProtocol

/// A place that waits for its user to come back.
struct KeptPlace: Sendable {
  let user: String
  /// What they called themselves, where nobody has proved who they are: pages of an open server make up a user at each load, and
  /// remember the name.
  let name: NameLooks?
  let hasRole: Bool
  let until: Instant

  /// The place of a seat that is about to go.
  init(of seat: Seat, _ rooms: Seating, until end: Instant) {
    (user, until) = (seat.user, end)
    name = seat.member.identity.isVerified ? nil : seat.looks
    hasRole = Access.role(of: seat, rooms.table) != nil
  }

  /// Whether somebody's place this is.
  func isOf(_ seat: Seat) -> Bool {
    if seat.user == user { return true }
    guard let name, !seat.member.identity.isVerified else { return false }
    return name.isSame(as: seat.looks)
  }
}

/// The places of one room, as one who wants to publish finds them.
struct Places {
  private let limit: Int
  private let hasRole: Bool
  /// Those who publish, the first to have joined first.
  private let publishing: [Seat]
  private let withoutRole: [Seat]
  private let kept: [KeptPlace]
  /// Those with a role who do not publish, for whom a place is left free.
  private let awaited: Int

  /// Nil where everybody may publish.
  init?(for seat: Seat, _ rooms: Seating, at now: Instant) {
    guard let room = rooms.table[seat.room], let limit = room.rules.publishers else { return nil }
    self.limit = limit
    let others = rooms.table.members(of: seat.room).filter { $0.id != seat.id }
    publishing = others.filter { !rooms.media[$0.id].tracks.isEmpty }
    withoutRole = publishing.filter { Access.role(of: $0, rooms.table) == nil }
    awaited = others.count { rooms.media[$0.id].tracks.isEmpty && Access.role(of: $0, rooms.table) != nil }
    let there = publishing + [seat]
    kept = room.keptPlaces.filter { place in
      place.until > now && !there.contains { place.isOf($0) }
    }
    hasRole = Access.role(of: seat, rooms.table) != nil
  }

  /// Whether there is one.
  var isFree: Bool {
    hasRole
      ? publishing.count - withoutRole.count + kept.count(where: \.hasRole) < limit
      : publishing.count + kept.count + awaited < limit
  }

  /// - Throws: 1005 where there is none.
  func check() throws(ErrorObject) {
    guard !isFree else { return }
    throw ErrorObject(.forbidden, "This room takes no further publisher.") {
      $0.reason = "publishers"
      $0.limit = limit
      $0.count = publishing.count
    }
  }

  /// Who has to go where one with a role begins to publish: of those without, who came last. More may publish than there are places, since an
  /// operator has lowered the number: then nobody else goes for it.
  private var toGo: Seat? { hasRole && publishing.count >= limit ? withoutRole.last : nil }

  /// Takes a place, which has been checked, for a seat that begins to publish.
  static func take(_ seat: Seat, _ rooms: inout Seating, _ step: inout Step) {
    guard let places = Places(for: seat, rooms, at: step.now.instant) else { return }
    if let other = places.toGo { clear(other, &rooms.media, rooms.table, &step) }
    let now = step.now.instant
    forget(seat, &rooms.table, now)
  }

  /// Ends all that a seat publishes. Its owner hears of it too, as it was not their doing.
  static func clear(_ seat: Seat, _ media: inout TrackTable, _ table: RoomTable, _ step: inout Step) {
    for track in media.tracks(of: seat.id) {
      Publishing.end(track.id, &media, table, &step)
      Publishing.announceEnd(of: track.id, seat: seat.id, toAll: true, table, &step)
    }
  }

  /// Keeps the place of a seat that is about to go, though its user has not said that they leave: they may load a page anew.
  static func keep(_ id: SeatID?, _ rooms: inout Seating, _ step: inout Step) {
    guard let seat = id.flatMap({ rooms.table.seats[$0] }), !rooms.media[seat.id].tracks.isEmpty,
      let limit = rooms.table[seat.room]?.rules.publishers
    else { return }
    let now = step.now.instant
    let place = KeptPlace(of: seat, rooms, until: now + rooms.rules.resumeGrace)
    forget(seat, &rooms.table, now)
    rooms.table.update(seat.room) { room in
      if room.keptPlaces.count < limit { room.keptPlaces.append(place) }
    }
  }

  /// A seat's place is kept no more, nor is one whose time is over.
  private static func forget(_ seat: Seat, _ table: inout RoomTable, _ now: Instant) {
    let left = table[seat.room]?.keptPlaces.filter { $0.until > now && !$0.isOf(seat) } ?? []
    table.update(seat.room) { $0.keptPlaces = left }
  }
}
