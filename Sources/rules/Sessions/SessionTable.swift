// Who is there: all sessions, found by connection and by user, with the deadlines that wait for them. Nobody else writes
// what is kept here, so that a session, its connection and its user's list always agree.

import Basics
import Calls
import Members
import RoostProtocol

/// The sessions there are.
struct SessionTable: Sendable {
  private(set) var all: [SessionID: Session] = [:]
  private(set) var connections: [ConnectionID: SessionID] = [:]
  private(set) var users: [String: Set<SessionID>] = [:]
  /// Sessions with neither a socket nor a seat, nor a leg that waits for them, by when they came to that.
  private(set) var waiting = Deadlines<SessionID>()
  /// Sessions that the next one of their device has replaced, and that live as long as the leg that they keep for it.
  /// Nobody can resume them.
  private(set) var superseded: Set<SessionID> = []
  /// What each user and network has of them.
  private(set) var shares = SessionShares()
  /// Bytes of large events that are kept for the sessions of each network.
  private(set) var keptBytes = Tally<PeerNetwork>()
  private let mostKeptBytes: Int
  /// When the grace of a session without a socket ends.
  private(set) var graces = Deadlines<SessionID>()
  /// When the proof is over of who a session's user is.
  private(set) var proofs = Deadlines<SessionID>()
  /// When a session's client is warned that its proof ends. None is there without one of `proofs`.
  private(set) var warnings = Deadlines<SessionID>()
  private var replacedTokens = ReplacedSessions()
  /// Sessions of which it may have changed whether they only wait.
  private(set) var unsettled: Set<SessionID> = []
  /// Sessions whose clients may be wrong about what they may do where they are now.
  private var misinformed: Set<SessionID> = []

  /// Keeps large events of `replayBytesPerNetwork` for all sessions of one network together.
  init(replayBytesPerNetwork: Int) { mostKeptBytes = replayBytesPerNetwork }

  // MARK: - Looking

  subscript(_ id: SessionID) -> Session? { all[id] }

  subscript(on connection: ConnectionID) -> SessionID? { connections[connection] }

  /// What rooms are to know of a session; nil where it is gone.
  func facts(of id: SessionID) -> MemberFacts? { all[id]?.facts }

  /// What a session may do where it is now.
  func rightsNow(of id: SessionID) -> Rights { all[id]?.rightsNow ?? [] }

  /// Whether somebody who is the same user may take a session's place.
  func mayReplace(_ id: SessionID, _ identity: Identity, token: String?) -> Bool {
    identity.isVerified || all[id]?.facts.mayBeReplaced(by: identity, token: token) ?? false
  }

  /// Sessions that count against `maxSessions`. A superseded one does not: its place is its successor's, and as a user has
  /// one leg there is one such for each.
  var counted: Int { all.count - superseded.count }

  /// The sessions of a user, oldest first.
  func of(_ user: String) -> [Session] { (users[user] ?? []).sorted().compactMap { all[$0] } }

  /// The session that a device of a user has now.
  func current(of user: String, on device: String) -> SessionID? {
    users[user]?.first { all[$0]?.deviceId == device && !superseded.contains($0) }
  }

  /// The session of the same device that keeps its leg for this one.
  func keeper(for id: SessionID) -> SessionID? {
    all[id]?.predecessor.flatMap { superseded.contains($0) ? $0 : nil }
  }

  /// Of a user's sessions without a socket and without a seat the one that has been so for longest; nil where there is none.
  func longestWaiting(of user: String) -> SessionID? {
    (users[user] ?? []).compactMap { id in waiting[id].map { (since: $0, id: id) } }.min { $0 < $1 }?.id
  }

  /// When the first of a user's sessions without a socket ends, unless it is resumed.
  func firstGrace(of user: String) -> Instant? { (users[user] ?? []).compactMap { graces[$0] }.min() }

  /// Whether this is the token of a session that was replaced lately.
  func wasReplaced(_ token: ResumeToken) -> Bool { replacedTokens.contains(token) }

  // MARK: - Beginning and end

  mutating func insert(_ session: Session) {
    all[session.id] = session
    if let connection = session.connection { connections[connection] = session.id }
    users[session.user, default: []].insert(session.id)
    shares.count(session.id, session.identity, 1)
    reconsider(session.id)
  }

  /// Forgets a session.
  mutating func remove(_ id: SessionID) -> Session? {
    disconnect(id)
    guard let session = all.removeValue(forKey: id) else { return nil }
    graces.cancel(id)
    setProof(of: id, until: nil, warning: nil)
    waiting.cancel(id)
    superseded.remove(id)
    if session.isCounted { shares.count(id, session.identity, -1) }
    if let network = session.identity.network { keptBytes.count(network, -session.log.largeBytes) }
    users[session.user]?.remove(id)
    if users[session.user]?.isEmpty == true { users[session.user] = nil }
    return session
  }

  /// The session that has waited for longest without a socket and without a seat, if there is one.
  mutating func takeLongestWaiting(at now: Instant) -> SessionID? { waiting.popDue(at: now) }

  /// Remembers that a session was replaced, so that its resume is told so.
  mutating func noteReplaced(_ token: ResumeToken) { replacedTokens.insert(token) }

  /// A session lives on without a socket for the sake of its leg, which is its successor's to take up.
  mutating func supersede(_ id: SessionID) {
    disconnect(id)
    guard let session = all[id], superseded.insert(id).inserted else { return }
    all[id]?.isCounted = false
    shares.count(id, session.identity, -1)
  }

  /// Its leg is gone, and with it what it lived for. Whether it was superseded.
  mutating func endSupersession(_ id: SessionID) -> Bool { superseded.remove(id) != nil }

  // MARK: - Proofs

  /// Takes a further proof of who its user is, and of what they may do. Their name and device stay.
  mutating func renew(_ id: SessionID, _ identity: Identity) {
    guard var known = all[id]?.identity else { return }
    (known.rooms, known.cap, known.endsAt) = (identity.rooms, known.allowed(identity.cap), identity.endsAt)
    (known.tokenID, known.issuedAt, known.expiresAt) = (identity.tokenID, identity.issuedAt, identity.expiresAt)
    all[id]?.grants.identity = known
    all[id]?.grants.granted = known.allowed(identity.rights)
  }

  /// What operators have left of the rights that a session's token gives.
  mutating func limit(_ id: SessionID, _ limits: Limits) {
    guard let granted = all[id]?.grants.granted else { return }
    all[id]?.grants.identity.rights = granted.intersection(limits.everywhere)
    all[id]?.grants.roomRights = limits.rooms
  }

  /// What the client of a session takes for its grants; nil where it is to be told.
  mutating func noteTold(_ rights: Rights?, _ id: SessionID) {
    all[id]?.grants.told = rights
    if rights == nil { misinformed.insert(id) }
  }

  /// A client has read its token, and takes that for what holds.
  mutating func compareGrants(of id: SessionID, _ rights: Rights) {
    if rightsNow(of: id) != rights { noteTold(nil, id) }
  }

  /// Those whose clients may take something else for their grants than what they are.
  mutating func takeMisinformed() -> [SessionID] {
    if misinformed.isEmpty { return [] }
    defer { misinformed.removeAll() }
    return misinformed.sorted()
  }

  /// When the session ends unless another proof comes, and when its client is told so.
  mutating func setProof(of id: SessionID, until end: Instant?, warning: Instant?) {
    if let end { proofs.set(id, at: end) } else { proofs.cancel(id) }
    if let warning, end != nil { warnings.set(id, at: warning) } else { warnings.cancel(id) }
  }

  /// A session whose proof is over.
  mutating func takeUnproven(at now: Instant) -> SessionID? { proofs.popDue(at: now) }

  /// A session whose proof is over soon.
  mutating func takeUnwarned(at now: Instant) -> SessionID? { warnings.popDue(at: now) }

  // MARK: - Connections

  /// Binds a session to another connection, from a network where that is known; the grace is over.
  mutating func connect(_ id: SessionID, to connection: ConnectionID, from network: PeerNetwork?) {
    disconnect(id)
    guard all[id] != nil else { return }
    all[id]?.line.connection = connection
    all[id]?.line.reachedFrom = network
    all[id]?.line.lostAt = nil
    connections[connection] = id
    graces.cancel(id)
    waiting.cancel(id)
    reconsider(id)
  }

  /// Takes the connection of a session away: nothing is said to it any more.
  mutating func disconnect(_ id: SessionID) {
    guard let connection = all[id]?.connection else { return }
    connections[connection] = nil
    all[id]?.line.connection = nil
    all[id]?.line.isTakenForWaiting = false
    all[id]?.line.isOverdue = false
  }

  /// Whether the socket of a session owes the answer to a ping for too long.
  mutating func setOverdue(_ isOverdue: Bool, on connection: ConnectionID) {
    if let id = connections[connection] { all[id]?.line.isOverdue = isOverdue }
  }

  /// How long a session is kept that has no socket from `now` on.
  mutating func setGrace(of id: SessionID, _ grace: TimeDelta, at now: Instant) {
    graces.set(id, at: now + grace)
    all[id]?.line.lostAt = now
  }

  /// A session whose grace is over.
  mutating func takeExpired(at now: Instant) -> SessionID? { graces.popDue(at: now) }

  /// A session with neither a socket nor a seat, nor a leg that waits for it, may make space for another.
  mutating func noteWaiting(_ id: SessionID, at now: Instant) {
    guard let session = all[id], session.connection == nil, session.seat == nil, keeper(for: id) == nil else { return }
    waiting.set(id, at: now)
  }

  /// The same for those who had to wait for this session, which is gone.
  mutating func noteWaitingSuccessors(of session: Session, at now: Instant) {
    for next in of(session.user) where next.predecessor == session.id { noteWaiting(next.id, at: now) }
  }

  // MARK: - Seats

  /// A session has a seat. `left`: what the application has left of its rights there; nil: all.
  mutating func assign(_ place: MemberPlace, left: Rights?, to id: SessionID) {
    reconsiderGrants(of: id)
    all[id]?.place = place
    all[id]?.grants.stay = left.map { StayRights(room: place.room, rights: $0) }
    reconsiderGrants(of: id)
    waiting.cancel(id)
    reconsider(id)
  }

  /// A session has no seat any more.
  mutating func unseat(_ id: SessionID, at now: Instant) {
    reconsiderGrants(of: id)
    all[id]?.place = nil
    all[id]?.grants.stay = nil
    noteWaiting(id, at: now)
    reconsider(id)
  }

  /// Where a session has less in single rooms, its client may be wrong about what it may do where it is now.
  private mutating func reconsiderGrants(of id: SessionID) {
    guard let grants = all[id]?.grants, grants.stay != nil || !grants.roomRights.isEmpty else { return }
    misinformed.insert(id)
  }

  // MARK: - Who only waits

  /// It may have changed whether a session only waits.
  mutating func reconsider(_ id: SessionID) { unsettled.insert(id) }

  /// It is said of all of them.
  mutating func forgetUnsettled() { unsettled.removeAll(keepingCapacity: true) }

  /// What the door of a session's connection is told.
  mutating func setWaiting(_ isWaiting: Bool, _ id: SessionID) { all[id]?.line.isTakenForWaiting = isWaiting }

  // MARK: - Requests and events

  /// Looks a request up, and remembers it when it is to be served; nil where there is no such session.
  mutating func begin(_ request: Request, _ id: RequestID, of session: SessionID) -> RequestWindow.Known? {
    all[session]?.requests.begin(id, request)
  }

  /// Takes one offer of what a session may make that has a seat.
  /// - Throws: 1006 with the time to wait.
  mutating func takeOffer(of id: SessionID, at now: Instant) throws(ErrorObject) {
    guard all[id]?.place != nil, let wait = all[id]?.offerRate.take(at: now) else { return }
    throw .tooOften("negotiating", wait)
  }

  /// Takes so many changes of views, likewise.
  mutating func takeShows(_ count: Int, _ what: String, of id: SessionID, at now: Instant) throws(ErrorObject) {
    guard all[id]?.place != nil, let wait = all[id]?.showRate.take(count, at: now) else { return }
    throw .tooOften(what, wait)
  }

  // MARK: - Telling

  mutating func tell(_ entry: UserRecord, isStored: Bool, _ step: inout Step) {
    for session in of(entry.user) where session.identity.rights.contains(.call) {
      let event = CallRecordEvent(record: entry.seen(from: session.deviceId), stored: isStored ? nil : false)
      send(.callRecord(event), to: CollectionOfOne(session.id), &step)
    }
  }

  /// A reply in which each room says at which event of the session it stands.
  func stamped(_ reply: Reply, for id: SessionID) -> Reply { all[id].map { reply.stamped(seq: $0.log.seq) } ?? reply }

  /// Remembers the outcome of a request and sends the reply where the session is connected now.
  mutating func finish(_ key: RequestKey, _ result: Result<Reply, ErrorObject>, _ step: inout Step) {
    let result = result.map { stamped($0, for: key.session) }
    let outcome = RequestWindow.Outcome(result, seat: all[key.session]?.seat)
    all[key.session]?.requests.finish(key.id, outcome)
    if let connection = all[key.session]?.connection { step.add(.reply(connection, key.id, result)) }
  }

  /// The same, where a room in an event stands at that event.
  func stamped(_ event: Event, for id: SessionID) -> Event {
    guard case .roomSwitched(var switched) = event, let seq = all[id]?.log.seq else { return event }
    switched.snapshot.seq = seq + 1
    return .roomSwitched(switched)
  }

  /// Sends one event to several sessions.
  mutating func send(_ event: Event, to listeners: some Collection<SessionID>, _ step: inout Step) {
    let serverTime = step.now.wallMilliseconds
    let bytes = event.sizeToKeep
    var receivers: [EventReceiver] = []
    receivers.reserveCapacity(listeners.count)
    for listener in listeners {
      guard let seq = keep(event, bytes, serverTime, for: listener) else { continue }
      if let connection = all[listener]?.connection { receivers.append(EventReceiver(connection, seq: seq)) }
    }
    if receivers.count > 1 {
      step.add(.broadcast(receivers, serverTime: serverTime, event))
    } else if let only = receivers.first {
      step.add(.event(only.connection, EventMessage(seq: only.seq, serverTime: serverTime, event: event)))
    }
  }

  /// Numbers an event of a session, and keeps it for a resume. Where too much is kept for all of the session's network, it gives up its own
  /// large ones, the oldest first: who has one's neighbours told a lot takes from nobody else's.
  private mutating func keep(_ event: Event, _ bytes: Int, _ serverTime: Int64, for id: SessionID) -> Int? {
    guard bytes >= EventLog.smallBytes, let network = all[id]?.identity.network, let before = all[id]?.log.largeBytes
    else { return all[id]?.log.append(event, bytes: bytes, serverTime: serverTime) }
    let seq = all[id]?.log.append(event, bytes: bytes, serverTime: serverTime)
    let others = keptBytes[network] - before
    while let own = all[id]?.log.largeBytes, own > 0, others + own > mostKeptBytes { all[id]?.log.forgetOldestLarge() }
    keptBytes.count(network, (all[id]?.log.largeBytes ?? 0) - before)
    return seq
  }
}

extension ConferenceRules {
  /// How long a session is kept that has lost its socket.
  func grace(of place: MemberPlace?) -> TimeDelta {
    place.map { CallRoom.isName($0.room) } == true ? calls.resumeGrace : resumeGrace
  }
}
