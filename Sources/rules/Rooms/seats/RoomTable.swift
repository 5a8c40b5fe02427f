// Where everybody is: rooms with their seats. Nobody else writes what ties these to each other, so that a seat is in its room's list, and
// its session's.

import Basics
import Members
import Names
import RoostProtocol

/// One room: its rules, who is in it, and what was said.
struct Room: Sendable {
  let name: String
  fileprivate(set) var rules: RoomRules
  /// Configured by name, or made by an operator: it stays when the last one leaves.
  fileprivate(set) var isNamed: Bool
  /// Its class; nil while the first joiner is to decide.
  var media: MediaClass?
  /// Its seats in the order of joining.
  fileprivate(set) var members: [SeatID] = []
  /// How many of them only play and take no seat.
  fileprivate(set) var players = 0
  /// Who holds it open.
  fileprivate(set) var holders = RoomHolders()
  var chat: ChatLog
  /// Who spoke last, as everybody was told.
  var speakers: [Speaker] = []
  /// In which order people have spoken.
  fileprivate(set) var speaking = SpeakerOrder()
  /// What the stays of its people are like, where anybody is told of it.
  var stays = Stays()
  /// Those whose way up is not good, as everybody was told.
  var weak: [ParticipantID: PersonQuality] = [:]
  /// Of a group call's room: who is its host. nil in every other room.
  var host: String?
  /// Of a call's room: whether the call is not over. Then it waits for those who may come back.
  var callRuns: Bool
  /// Nobody more is let in: an operator's wish.
  var isLocked = false
  /// What moderators have made of it.
  var moderation = Moderation()
  /// Places to publish whose users may come back.
  var keptPlaces: [KeptPlace] = []

  /// An empty room.
  init(name: String, rules: RoomRules, isNamed: Bool) {
    self.name = name
    self.rules = rules
    self.isNamed = isNamed
    media = rules.media
    callRuns = CallRoom.isName(name)
    chat = ChatLog(capacity: rules.chatHistory)
  }

  /// Other rules hold from now on. The order of speakers, and how many are heard, are settled with the first who comes: they hold from when it
  /// is empty. So does what it carries where too many are there for that.
  fileprivate mutating func settle(_ rules: RoomRules, mediaWait: Bool) {
    chat.keep(rules.chatHistory)
    let before = self.rules
    self.rules = rules
    if members.isEmpty {
      // What an operator has made of it while it is empty stays, but where it is to carry something else.
      if rules.media != before.media { media = rules.media }
    } else {
      (self.rules.videoLastN, self.rules.sound) = (before.videoLastN, before.sound)
      if mediaWait { self.rules.media = before.media }
    }
  }

  /// The class that a joiner without a wish would get.
  var effectiveMedia: MediaClass { media ?? .video }
  /// Seats taken.
  var occupied: Int { members.count - players }
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
  fileprivate(set) var room: RoomKey
  /// Whose it is, as their session has said last.
  fileprivate(set) var member: MemberFacts
  /// What others see.
  var displayName: String
  /// How that reads; made with each name, as every newcomer's is compared with it.
  fileprivate(set) var looks = NameLooks("")
  var metadata: RawJSON
  var autoSubscribe = true
  /// Whether it only plays, beside the seats that the room's kind counts.
  var isPlayer = false
  /// As whose it counts where rooms are shared out.
  var holder = ShareHolder()
  /// Since when their hand is up, milliseconds since 1970.
  var handRaisedAt: Int64?
  /// The subscribe offer that waits for its answer.
  var outstandingOffer: SubscribeOffer?
  /// Media connections that its front door has opened beside the first two.
  var streams: Set<MediaConnectionID> = []
  /// What is the matter with its media connections.
  var health = Health()

  /// What is lost of a seat, and what others know of it.
  struct Health: Sendable {
    /// Media connections that will never come up again, with the reason.
    var failures: [MediaConnectionID: MediaFailure] = [:]
    /// Media connections without consent for too long. One that comes back says nothing of the others.
    var lostMedia: Set<MediaConnectionID> = []
    /// Whether the others were told that it is reconnecting.
    var isAnnouncedLost = false
  }

  init(
    id: SeatID, participant: ParticipantID, room: RoomKey, member: MemberFacts, displayName: String,
    metadata: RawJSON
  ) {
    (self.id, self.participant, self.room, self.member) = (id, participant, room, member)
    (self.displayName, self.metadata) = (displayName, metadata)
  }

  var session: SessionID { member.session }
  var user: String { member.user }
  var failures: [MediaConnectionID: MediaFailure] { health.failures }
  var lostMedia: Set<MediaConnectionID> { health.lostMedia }
  var isAnnouncedLost: Bool { health.isAnnouncedLost }
  var isMediaLost: Bool { !lostMedia.isEmpty }
}

/// Where one session is.
struct Stay: Sendable {
  /// Its one seat.
  var seat: SeatID?
  /// The room that it was put out of, until it has a seat again.
  var putOut: RoomClosed?
  /// The room in whose lobby it waits.
  var knocksAt: String?
}

/// The rooms there are, and who is in them.
struct RoomTable: Sendable {
  private(set) var all: [RoomKey: Room] = [:]
  private(set) var keys: [String: RoomKey] = [:]
  /// Of the rooms that are not calls'.
  private(set) var names = SortedNames()
  private(set) var seats: [SeatID: Seat] = [:]
  /// Where sessions are. Only of those is there one who are somewhere, or were put out.
  private(set) var stays: [SessionID: Stay] = [:]
  /// How many rooms that are not configured each user and network holds open alone.
  private(set) var shares = RoomShares()
  /// What rooms are like from when they are empty, where that may be something else.
  private(set) var nexts: [RoomKey: RoomRules] = [:]
  /// When somebody may have spoken for long enough.
  private(set) var turns = Deadlines<RoomKey>()
  /// When a room has been empty for so long that nobody is admitted to it any more.
  private(set) var empties = Deadlines<RoomKey>()
  /// When the grace of a seat ends whose media is lost while its session is connected.
  private(set) var mediaGraces = Deadlines<SeatID>()

  // MARK: - Rooms

  subscript(_ key: RoomKey) -> Room? { all[key] }

  subscript(named name: String) -> RoomKey? { keys[name] }

  /// The room's name; empty where it is gone.
  func name(of key: RoomKey) -> String { all[key]?.name ?? "" }

  /// The seats of a room in the order of joining.
  func members(of key: RoomKey) -> [Seat] {
    guard let ids = all[key]?.members else { return [] }
    var members: [Seat] = []
    members.reserveCapacity(ids.count)
    for id in ids { if let seat = seats[id] { members.append(seat) } }
    return members
  }

  /// All rooms that are not calls', by name.
  var listed: [Room] { names.all.compactMap { keys[$0].flatMap { all[$0] } } }

  /// What one who is not in a room may know of it.
  /// - Throws: 1005 for a call's room, 2001 where there is none of this name.
  func info(_ params: RoomParams, _ media: TrackTable) throws(ErrorObject) -> RoomInfo {
    try CallRoom.checkNamed(params.room)
    guard let key = keys[params.room], let room = all[key] else { throw ErrorObject(.roomNotFound) }
    var info = room.info
    info.publishers = members(of: key).count { !media[$0.id].tracks.isEmpty }
    let moderation = room.seen(room.moderation.info)
    info.moderation = moderation.isUsual ? nil : moderation
    return info
  }

  mutating func insert(_ room: Room, _ key: RoomKey) {
    all[key] = room
    keys[room.name] = key
    if !room.isOfCall { names.insert(room.name) }
  }

  /// Takes an empty room out.
  mutating func remove(_ key: RoomKey) -> Room? {
    guard let room = all.removeValue(forKey: key) else { return nil }
    keys[room.name] = nil
    turns.cancel(key)
    empties.cancel(key)
    if !nexts.isEmpty { nexts[key] = nil }
    if !room.isOfCall { names.remove(room.name) }
    return room
  }

  /// Changes a room, but not who is in it.
  mutating func update(_ key: RoomKey, _ change: (inout Room) -> Void) {
    guard var room = all.removeValue(forKey: key) else { return }
    change(&room)
    all[key] = room
  }

  /// A room stays when the last one leaves, whether or not it did, and follows these rules.
  mutating func settle(_ key: RoomKey, _ rules: RoomRules, mediaWait: Bool = false) {
    guard var room = all.removeValue(forKey: key) else { return }
    if !room.isNamed {
      shares.move(from: room.holders.alone, to: ShareHolder())
      (room.isNamed, room.holders) = (true, RoomHolders())
    }
    nexts[key] = room.members.isEmpty ? nil : rules
    room.settle(rules, mediaWait: mediaWait)
    all[key] = room
  }

  // MARK: - Seats

  /// Puts a seat into its room: on a place that has become free, or on a new one.
  mutating func insert(_ seat: Seat, at position: Int? = nil) {
    seats[seat.id] = seat
    seats[seat.id]?.looks = NameLooks(seat.displayName)
    update(seat.session) { ($0.seat, $0.putOut) = (seat.id, nil) }
    empties.cancel(seat.room)
    hold(seat, 1)
    if seat.isPlayer, position == nil { all[seat.room]?.players += 1 }
    if let position { all[seat.room]?.members[position] = seat.id } else { all[seat.room]?.members.append(seat.id) }
  }

  /// Forgets a seat, whose tracks and subscriptions are gone. Its place in the room is to be filled or freed.
  mutating func remove(_ id: SeatID) {
    mediaGraces.cancel(id)
    guard let seat = seats.removeValue(forKey: id) else { return }
    update(seat.session) { $0.seat = nil }
    all[seat.room]?.speaking.remove(id)
    hold(seat, -1)
  }

  // MARK: - Who is where

  /// The seat that a session has; nil where it has none.
  func currentSeat(of session: SessionID) -> Seat? { stays[session]?.seat.flatMap { seats[$0] } }

  /// A session has been put out of a room.
  mutating func notePutOut(_ session: SessionID, _ closed: RoomClosed) { update(session) { $0.putOut = closed } }

  /// In which room's lobby a session waits.
  mutating func setKnocking(at room: String?, _ session: SessionID) { update(session) { $0.knocksAt = room } }

  /// A session is over, which has no seat any more and waits nowhere.
  mutating func forget(_ session: SessionID) { stays[session] = nil }

  /// What is known of a session is another.
  mutating func note(_ member: MemberFacts) {
    guard let stay = stays[member.session] else { return }
    if let seat = stay.seat { seats[seat]?.member = member }
    if let key = stay.knocksAt.flatMap({ keys[$0] }) { all[key]?.moderation.lobby.note(member) }
  }

  private mutating func update(_ session: SessionID, _ change: (inout Stay) -> Void) {
    var stay = stays[session] ?? Stay()
    change(&stay)
    stays[session] = stay.seat == nil && stay.putOut == nil && stay.knocksAt == nil ? nil : stay
  }

  /// Somebody has come into a room, or has left it. Rooms that stay need nobody who holds them open.
  private mutating func hold(_ seat: Seat, _ change: Int) {
    guard all[seat.room]?.isNamed == false, let before = all[seat.room]?.holders.alone else { return }
    all[seat.room]?.holders.count(seat.holder, change)
    shares.move(from: before, to: all[seat.room]?.holders.alone ?? ShareHolder())
  }

  /// Whether a room that is not configured would be gone with this seat.
  func isHeldBySeatAlone(_ id: SeatID?) -> Bool {
    guard let room = id.flatMap({ seats[$0] }).flatMap({ all[$0.room] }) else { return false }
    return !room.isNamed && room.members.count == 1
  }

  /// Takes a seat out of its room and puts it into another one, as the last there.
  mutating func move(_ id: SeatID, to room: RoomKey) {
    guard var seat = seats[id] else { return }
    let weak = all[seat.room]?.weak[seat.participant]
    freePlace(of: seat)
    all[seat.room]?.speaking.remove(id)
    hold(seat, -1)
    (seat.room, seat.handRaisedAt) = (room, nil)
    seat.isPlayer = seat.member.isPlayer(in: room, self)
    insert(seat)
    all[room]?.weak[seat.participant] = weak
  }

  /// Takes the place of a seat out of its room.
  mutating func freePlace(of seat: Seat) {
    all[seat.room]?.members.removeAll { $0 == seat.id }
    all[seat.room]?.weak[seat.participant] = nil
    if seat.isPlayer { all[seat.room]?.players -= 1 }
  }

  /// Takes all places out of a room whose seats are gone.
  mutating func freePlaces(of key: RoomKey) {
    all[key]?.members = []
    all[key]?.players = 0
  }

  /// Changes what is said of a seat, but neither its tracks nor its subscriptions.
  mutating func update(_ id: SeatID, _ change: (inout Seat) -> Void) {
    guard var seat = seats[id] else { return }
    let name = seat.displayName
    change(&seat)
    if !seat.displayName.isExactly(name) { seat.looks = NameLooks(seat.displayName) }
    seats[id] = seat
  }

  /// The seat of a user in a room.
  func seat(ofUser user: String, in key: RoomKey) -> Seat? {
    all[key]?.members.first { seats[$0]?.user == user }.flatMap { seats[$0] }
  }

  /// - Throws: 2003 when somebody else in the room is called so, or so that nobody could tell the two.
  func checkName(_ name: String, in key: RoomKey, except seat: SeatID?) throws(ErrorObject) {
    let wanted = NameLooks(name)
    for id in all[key]?.members ?? [] where id != seat && seats[id]?.looks.isSame(as: wanted) == true {
      throw ErrorObject(.nameTaken)
    }
  }

  /// How long lost media keeps its seat; nil: it is not waited for.
  mutating func setMediaGrace(of id: SeatID, until end: Instant?) {
    if let end { mediaGraces.set(id, at: end) } else { mediaGraces.cancel(id) }
  }

  /// A seat whose media did not come back in time.
  mutating func takeMediaExpired(at now: Instant) -> SeatID? { mediaGraces.popDue(at: now) }

  /// How long a room that is empty remembers who was admitted.
  mutating func setEmpty(_ key: RoomKey, until end: Instant) { empties.set(key, at: end) }

  /// A room that has been empty for so long.
  mutating func takeEmpty(at now: Instant) -> RoomKey? { empties.popDue(at: now) }

  // MARK: - Speakers

  /// These speak in a room now, the loudest first. Whether the order in which people have spoken has changed.
  mutating func heard(_ loudest: [SeatID], in key: RoomKey, at now: Instant) -> Bool {
    all[key]?.speaking.heard(loudest, at: now)
    return takeTurn(in: key, at: now)
  }

  /// A room in which somebody may have spoken for long enough; and whether they have.
  mutating func takeTurn(at now: Instant) -> (room: RoomKey, hasChanged: Bool)? {
    turns.popDue(at: now).map { ($0, takeTurn(in: $0, at: now)) }
  }

  private mutating func takeTurn(in key: RoomKey, at now: Instant) -> Bool {
    let hasChanged = all[key]?.speaking.poll(at: now) ?? false
    if let next = all[key]?.speaking.nextDeadline { turns.set(key, at: next) } else { turns.cancel(key) }
    return hasChanged
  }
}

extension RoomListResult {
  /// A page of those that somebody may join.
  init(_ params: RoomListParams, for session: MemberFacts?, in table: RoomTable) {
    guard let session, session.identity.rights.contains(.join) else {
      self.init(rooms: [])
      return
    }
    let limit = min(params.limit ?? ProtocolLimits.page, ProtocolLimits.page)
    let page = table.names.page(
      after: params.after, limit: limit, where: session.mayBeInAll ? nil : { session.mayBeIn($0) })
    self.init(rooms: page.names.compactMap { table.keys[$0].flatMap { table.all[$0]?.info } }, next: page.next)
  }
}
