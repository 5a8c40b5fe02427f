// A session: one device of one user, from hello to bye. It survives its connections, and keeps what a resume needs.

import Basics
import Members
import RoostProtocol

/// One device of one user.
struct Session: Sendable {
  let id: SessionID
  /// Whose it is, and what they may do.
  var grants: Grants
  /// The name of the token that it came by.
  let arrivedBy: String?
  let device: Device
  let token: ResumeToken
  /// How it is connected.
  var line: Line
  /// Whether it counts among those of its user and network.
  var isCounted = true
  /// The session of the same device that this one replaced, and that had a leg in a call then.
  var predecessor: SessionID?
  /// Where it has its one seat, as rooms have said.
  var place: MemberPlace?
  /// Its events.
  var log: EventLog
  /// Its requests.
  var requests: RequestWindow
  var offerRate: TokenBucket
  /// How often its views may be shown something else.
  var showRate: TokenBucket

  /// Its device, as it said hello.
  struct Device: Sendable {
    let name: String
    let capabilities: JSONValue?
    /// What it said of itself and the server acts on.
    let known: Set<ClientCapability>
    /// Whether calls shall ring here.
    let isCallable: Bool
  }

  /// Its connection, or what became of it.
  struct Line: Sendable {
    /// Where it is connected; nil during the grace.
    var connection: ConnectionID?
    /// From which network its last connection came; nil: it is not known.
    var reachedFrom: PeerNetwork?
    /// Whether its socket has owed the answer to a ping for too long.
    var isOverdue = false
    /// Since when it has had no socket; nil while it has one.
    var lostAt: Instant?
    /// Whether the door of its connection was told that it only waits.
    var isTakenForWaiting = false
  }

  /// A session of the identity that said hello, as it was proved.
  init(
    _ id: SessionID, _ identity: Identity, _ params: HelloParams, on connection: ConnectionID,
    _ predecessor: SessionID?,
    _ rules: ConferenceRules, random: inout any RandomNumberGenerator & Sendable, at now: Now
  ) {
    self.id = id
    grants = Grants(identity: identity, granted: identity.allowed(identity.rights), told: identity.rights)
    arrivedBy = identity.tokenID
    device = Device(
      name: identity.device ?? "d" + String(random.next(), radix: 16), capabilities: params.capabilities,
      known: Set(ClientCapability.allCases.filter { $0.isSet(in: params.capabilities) }),
      isCallable: params.callable ?? true)
    token = ResumeToken(session: id, random: &random)
    line = Line(connection: connection, reachedFrom: identity.knownNetwork)
    self.predecessor = predecessor
    log = EventLog(capacity: rules.replayEvents, bytes: rules.replayBytes)
    requests = RequestWindow(capacity: rules.requestWindow)
    offerRate = TokenBucket(perSecond: rules.offersPerSecond, burst: rules.offerBurst, now: now.instant)
    showRate = TokenBucket(perSecond: rules.showsPerSecond, burst: rules.showBurst, now: now.instant)
  }
}

extension Session {
  var identity: Identity { grants.identity }
  var user: String { identity.user }
  var displayName: String { identity.displayName }
  var deviceId: String { device.name }
  var connection: ConnectionID? { line.connection }
  var seat: SeatID? { place?.seat }
  /// What it may do where it is now.
  var rightsNow: Rights { place.map { facts.rights(in: $0.room) } ?? identity.rights }
  /// What rooms are to know of it.
  var facts: MemberFacts {
    let presence = Presence(
      isConnected: line.connection != nil, reachedFrom: line.reachedFrom, isOverdue: line.isOverdue,
      lostAt: line.lostAt)
    return MemberFacts(id, grants, device.known, presence, token)
  }
}

extension ClientCapability {
  /// Whether a device said this of itself.
  fileprivate func isSet(in capabilities: JSONValue?) -> Bool {
    guard case .object(let fields) = capabilities else { return false }
    return fields[rawValue] == .bool(true)
  }
}
