// Where everybody is: rooms with their seats, tracks and subscriptions. Nobody else writes what ties these to each other, so
// that a seat is in its room's list, a track in its seat's, and a subscription in its seat's by its track.

import Basics
import RoostProtocol

/// One room: its rules, who is in it, and what was said.
struct Room: Sendable {
  let name: String
  let rules: RoomRules
  /// Configured by name: it stays when the last one leaves.
  let isNamed: Bool
  /// Its class; nil while the first joiner is to decide.
  var media: MediaClass?
  /// Its seats in the order of joining.
  fileprivate(set) var members: [SeatID] = []
  var chat: ChatLog
  /// Who spoke last, as everybody was told.
  var speakers: [Speaker] = []
  /// Nobody more is let in: an operator's wish.
  var isLocked = false

  /// An empty room.
  init(name: String, rules: RoomRules, isNamed: Bool) {
    self.name = name
    self.rules = rules
    self.isNamed = isNamed
    media = rules.media
    chat = ChatLog(capacity: rules.chatHistory)
  }

  /// The class that a joiner without a wish would get.
  var effectiveMedia: MediaClass { media ?? .video }
  /// Seats taken.
  var occupied: Int { members.count }
  /// Whether it is the room of a call.
  var isOfCall: Bool { CallRoom.isName(name) }
  /// What one who is not in it sees.
  var info: RoomInfo {
    RoomInfo(
      name: name, kind: rules.kind, media: effectiveMedia, limit: rules.seats(effectiveMedia), count: occupied)
  }
}

/// One person in a room with their media connections, and how others see them.
struct Seat: Sendable {
  let id: SeatID
  /// The place, which outlives the seat when another device takes over.
  let participant: ParticipantID
  let room: RoomKey
  let session: SessionID
  let user: String
  var displayName: String
  var metadata: JSONValue
  var autoSubscribe: Bool
  /// What it publishes, oldest first.
  fileprivate(set) var tracks: [TrackID] = []
  /// What it receives, by track.
  fileprivate(set) var subscriptions: [TrackID: SubscriptionID] = [:]
  /// The subscribe offer that waits for its answer.
  var outstandingOffer: SubscribeOffer?
  /// Media connections that will never come up again, with the reason.
  var failures: [MediaConnectionID: MediaFailure] = [:]
  /// Media connections without consent for too long. One that comes back says nothing of the others.
  var lostMedia: Set<MediaConnectionID> = []
  /// Whether the others were told that it is reconnecting.
  var isAnnouncedLost = false

  var isMediaLost: Bool { !lostMedia.isEmpty }
}

/// One published track.
struct PublishedTrack: Sendable {
  let id: TrackID
  let seat: SeatID
  /// Its media line.
  let mid: String
  /// As others see it.
  fileprivate(set) var wire: Track
}

/// One track as one seat receives it. It is kept in the conference alone; effects carry a copy of it as it is then.
public struct Subscription: Hashable, Sendable {
  /// Its number.
  public let id: SubscriptionID
  /// Who receives.
  public let seat: SeatID
  /// On which media connection of the seat.
  public let connection: MediaConnectionID
  /// What is received.
  public fileprivate(set) var track: TrackID
  /// How the subscriber wants it.
  public fileprivate(set) var wish: SubscriptionWish
  /// Whether the client has accepted a line for it, so that a worker serves it.
  public fileprivate(set) var isAgreed = false
  /// Whether the worker sends nothing of it for now, because the receiver's line does not carry it.
  public fileprivate(set) var isHeldBack = false
}

/// The rooms there are, and who and what is in them.
struct RoomTable: Sendable {
  private(set) var all: [RoomKey: Room] = [:]
  private(set) var keys: [String: RoomKey] = [:]
  private(set) var seats: [SeatID: Seat] = [:]
  private(set) var tracks: [TrackID: PublishedTrack] = [:]
  private(set) var subscriptions: [SubscriptionID: Subscription] = [:]
  /// When the grace of a seat ends whose media is lost while its session is connected.
  private(set) var mediaGraces = Deadlines<SeatID>()

  // MARK: - Rooms

  subscript(_ key: RoomKey) -> Room? { all[key] }

  subscript(named name: String) -> RoomKey? { keys[name] }

  /// The room's name; empty where it is gone.
  func name(of key: RoomKey) -> String { all[key]?.name ?? "" }

  /// The seats of a room in the order of joining.
  func members(of key: RoomKey) -> [Seat] { (all[key]?.members ?? []).compactMap { seats[$0] } }

  /// All rooms that are not calls', by name.
  var listed: [Room] { all.values.filter { !$0.isOfCall }.sorted { $0.name < $1.name } }

  /// What one who is not in a room may know of it.
  /// - Throws: 1005 for a call's room, 2001 where there is none.
  func info(_ params: RoomParams) throws(ErrorObject) -> RoomInfo {
    try Access.checkNamed(params.room)
    guard let room = keys[params.room].flatMap({ all[$0] }) else { throw ErrorObject(.roomNotFound) }
    return room.info
  }

  mutating func insert(_ room: Room, _ key: RoomKey) {
    all[key] = room
    keys[room.name] = key
  }

  /// Takes an empty room out.
  mutating func remove(_ key: RoomKey) -> Room? {
    guard let room = all.removeValue(forKey: key) else { return nil }
    keys[room.name] = nil
    return room
  }

  /// Changes a room, but not who is in it.
  mutating func update(_ key: RoomKey, _ change: (inout Room) -> Void) {
    guard var room = all.removeValue(forKey: key) else { return }
    change(&room)
    all[key] = room
  }

  // MARK: - Seats

  /// Puts a seat into its room: on a place that has become free, or on a new one.
  mutating func insert(_ seat: Seat, at position: Int? = nil) {
    seats[seat.id] = seat
    if let position { all[seat.room]?.members[position] = seat.id } else { all[seat.room]?.members.append(seat.id) }
  }

  /// Forgets a seat, whose tracks and subscriptions are gone. Its place in the room is to be filled or freed.
  mutating func remove(_ id: SeatID) {
    seats[id] = nil
    mediaGraces.cancel(id)
  }

  /// Takes the place of a seat out of its room.
  mutating func freePlace(of seat: Seat) { all[seat.room]?.members.removeAll { $0 == seat.id } }

  /// Takes all places out of a room whose seats are gone.
  mutating func freePlaces(of key: RoomKey) { all[key]?.members = [] }

  /// Changes what is said of a seat, but neither its tracks nor its subscriptions.
  mutating func update(_ id: SeatID, _ change: (inout Seat) -> Void) {
    guard var seat = seats[id] else { return }
    change(&seat)
    seats[id] = seat
  }

  /// The seat of a user in a room.
  func seat(ofUser user: String, in key: RoomKey) -> Seat? { members(of: key).first { $0.user == user } }

  /// - Throws: 2003 when somebody else in the room is called so.
  func checkName(_ name: String, in key: RoomKey, except seat: SeatID?) throws(ErrorObject) {
    let wanted = Seat.nameKey(name)
    for member in members(of: key) where member.id != seat && Seat.nameKey(member.displayName) == wanted {
      throw ErrorObject(.nameTaken)
    }
  }

  /// How long lost media keeps its seat.
  mutating func setMediaGrace(of id: SeatID, until end: Instant) { mediaGraces.set(id, at: end) }

  mutating func cancelMediaGrace(of id: SeatID) { mediaGraces.cancel(id) }

  /// A seat whose media did not come back in time.
  mutating func takeMediaExpired(at now: Instant) -> SeatID? { mediaGraces.popDue(at: now) }

  // MARK: - Tracks

  mutating func insert(_ track: PublishedTrack) {
    tracks[track.id] = track
    seats[track.seat]?.tracks.append(track.id)
  }

  /// Takes a track out, whose subscriptions are gone.
  mutating func remove(_ id: TrackID) {
    guard let track = tracks.removeValue(forKey: id) else { return }
    seats[track.seat]?.tracks.removeAll { $0 == id }
  }

  mutating func setMuted(_ isMuted: Bool, _ id: TrackID) { tracks[id]?.wire.muted = isMuted }

  /// The tracks of a seat, oldest first.
  func tracks(of seat: SeatID) -> [PublishedTrack] { (seats[seat]?.tracks ?? []).compactMap { tracks[$0] } }

  /// The track of this name in the seat's room.
  /// - Throws: 4001.
  func track(named name: String, visibleFrom seat: Seat) throws(ErrorObject) -> PublishedTrack {
    guard let track = TrackID(wire: name).flatMap({ tracks[$0] }), seats[track.seat]?.room == seat.room else {
      throw ErrorObject(.trackNotFound)
    }
    return track
  }

  // MARK: - Subscriptions

  mutating func insert(_ subscription: Subscription) {
    subscriptions[subscription.id] = subscription
    seats[subscription.seat]?.subscriptions[subscription.track] = subscription.id
  }

  /// Takes a subscription out; nil where there is none.
  mutating func remove(_ id: SubscriptionID) -> Subscription? {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return nil }
    seats[subscription.seat]?.subscriptions[subscription.track] = nil
    return subscription
  }

  /// Who receives a track: those in its room who have subscribed to it.
  func subscribers(of id: TrackID) -> [SubscriptionID] {
    guard let room = tracks[id].flatMap({ seats[$0.seat]?.room }) else { return [] }
    return members(of: room).compactMap { $0.subscriptions[id] }.sorted()
  }

  /// The subscription as it is now; nil where it is gone.
  mutating func setWish(_ wish: SubscriptionWish, of id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.wish = wish
    return subscriptions[id]
  }

  /// The subscription as it is now; nil where it is gone.
  mutating func setAgreed(_ id: SubscriptionID) -> Subscription? {
    subscriptions[id]?.isAgreed = true
    return subscriptions[id]
  }

  /// Whether that is news.
  mutating func setHeldBack(_ isHeldBack: Bool, _ id: SubscriptionID) -> Bool {
    guard subscriptions[id]?.isHeldBack != isHeldBack else { return false }
    subscriptions[id]?.isHeldBack = isHeldBack
    return true
  }

  /// Lets two subscriptions of a seat carry each other's track.
  mutating func exchange(_ first: SubscriptionID, _ second: SubscriptionID) {
    guard let a = subscriptions[first], let b = subscriptions[second] else { return }
    subscriptions[first]?.track = b.track
    subscriptions[second]?.track = a.track
    seats[a.seat]?.subscriptions[b.track] = first
    seats[b.seat]?.subscriptions[a.track] = second
  }
}
