// What others may ask of rooms. None of it changes anything.

import Basics
import Calls
import Members
import RoostProtocol

extension Rooms {
  /// The seat that a session has now; nil where it has none.
  package func seat(of session: SessionID) -> SeatID? { table.stays[session]?.seat }

  /// Rooms that somebody may join.
  package func list(_ params: RoomListParams, for member: MemberFacts?) -> RoomListResult {
    RoomListResult(params, for: member, in: table)
  }

  /// What one who is not in a room may know of it.
  /// - Throws: 1005 without the right to join it, 2001 where there is no such room; that is retryable where joining would make one.
  func info(_ params: RoomParams, for member: MemberFacts?) throws(ErrorObject) -> RoomInfo {
    guard let member else { throw ErrorObject(.notLoggedIn) }
    try member.checkJoin(params.room)
    do throws(ErrorObject) {
      return try table.info(params, media)
    } catch {
      guard error.code == .roomNotFound, book.rules(forRoom: params.room) != nil else { throw error }
      throw ErrorObject(.roomNotFound) { $0.retryable = true }
    }
  }

  /// Whether media can take one more into the room of a call; nil stands for one that is yet to begin.
  package func admits(toCall call: String?) -> Bool {
    load.admits(to: call.flatMap { table[named: CallRoom.name($0)] }, in: table)
  }

  /// Whether somebody may open one room more.
  /// - Throws: 5002.
  package func checkShare(of member: MemberFacts) throws(ErrorObject) { try Shares.checkRoom(member, self) }

  /// Whether a session has its seat in the room of this call.
  package func isSeated(_ session: SessionID, inCall call: String) -> Bool {
    table.currentSeat(of: session).map { table.name(of: $0.room) == CallRoom.name(call) } ?? false
  }

  /// Whether a session may publish such tracks, as far as its rights go.
  package func mayPublish(_ tracks: [AnnouncedTrack], from session: SessionID, at now: Instant) -> Bool {
    guard let seat = table.currentSeat(of: session) else { return false }
    return (try? Access.checkPublish(tracks.map { ($0.kind, $0.source) }, from: seat, seating, at: now)) != nil
  }

  /// How many views of a session are on a connection of its door.
  /// - Throws: 2005, 2006 without a seat.
  package func views(on stream: MediaConnectionID?, of session: SessionID) throws(ErrorObject) -> Int {
    let seat = try table.seat(of: session)
    return stream.map { Streams.views(on: $0, of: seat, media).count } ?? 0
  }

  /// The track that a subscription carries; nil where it is gone, or a view that shows nothing.
  package func track(of subscription: SubscriptionID) -> TrackID? { media.subscriptions[subscription].flatMap(\.track) }

  /// Adds what there is now. Costs time with the number of rooms.
  package func count(_ gauges: inout ConferenceGauges) {
    gauges.rooms = table.all.values.count { !$0.members.isEmpty }
    gauges.participants = table.seats.count
    gauges.tracks = media.tracks.count
    gauges.subscriptions = media.subscriptions.count
    (gauges.levels, gauges.quality) = (quality.levels(of: table.seats), quality.figures)
  }

  // MARK: - Whose doing something is

  /// The one whose subscription this is; nil where it is gone.
  package func subject(of subscription: SubscriptionID) -> LineSubject? {
    media.subscriptions[subscription].flatMap { table.subject(of: $0.seat) }
  }

  /// The one who has this seat.
  package func subject(of seat: SeatID) -> LineSubject? { table.subject(of: seat) }

  /// The one whose track this is.
  package func subject(of track: TrackID) -> LineSubject? { media.tracks[track].flatMap { table.subject(of: $0.seat) } }

  /// One who is in a room.
  package func subject(inRoom name: String) -> LineSubject? {
    table[named: name].flatMap { table[$0]?.members.first }.flatMap { table.subject(of: $0) }
  }
}

extension RoomTable {
  /// The one who has this seat.
  func subject(of seat: SeatID) -> LineSubject? { seats[seat].map { LineSubject($0.member.identity) } }
}
