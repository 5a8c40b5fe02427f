// A session: one device of one user, from hello to bye. It survives its connections, and keeps what a resume needs.

import Basics
import RoostProtocol

/// One device of one user.
struct Session: Sendable {
  let id: SessionID
  /// Whose it is, and what they may do: what their token gives, less what operators have taken from them everywhere.
  var identity: Identity
  /// What their token gives.
  var granted: Rights
  /// What operators have left of their rights in single rooms.
  var roomRights: [String: Rights] = [:]
  /// What its client takes for its grants where it is now; nil where it may be wrong.
  var toldRights: Rights?
  /// The name of the token that it came by.
  let arrivedBy: String?
  let deviceId: String
  let capabilities: JSONValue?
  /// Whether calls shall ring here.
  let isCallable: Bool
  let token: ResumeToken
  /// Where it is connected; nil during the grace.
  var connection: ConnectionID?
  /// From which network its last connection came; nil: it is not known.
  var reachedFrom: PeerNetwork?
  /// Whether its socket has owed the answer to a ping for too long.
  var isOverdue = false
  /// Since when it has had no socket; nil while it has one.
  var lostAt: Instant?
  /// Whether it counts among those of its user and network.
  var isCounted = true
  /// Whether the door of its connection was told that it only waits.
  var isTakenForWaiting = false
  /// The session of the same device that this one replaced, and that had a leg in a call then.
  var predecessor: SessionID?
  /// Its one seat.
  var seat: SeatID?
  /// The room that an operator put it out of, until it has a seat again.
  var putOut: RoomClosed?
  /// The room in whose lobby it waits.
  var knocksAt: String?
  /// Its events.
  var log: EventLog
  /// Its requests.
  var requests: RequestWindow
  var offerRate: TokenBucket
  /// How often its views may be shown something else.
  var showRate: TokenBucket

  /// A session of the identity that said hello, as it was proved.
  init(
    _ id: SessionID, _ identity: Identity, _ params: HelloParams, on connection: ConnectionID,
    _ predecessor: SessionID?,
    _ rules: ConferenceRules, random: inout any RandomNumberGenerator & Sendable, at now: Now
  ) {
    self.id = id
    self.identity = identity
    (granted, toldRights) = (identity.rights, identity.rights)
    arrivedBy = identity.tokenID
    deviceId = identity.device ?? "d" + String(random.next(), radix: 16)
    capabilities = params.capabilities
    isCallable = params.callable ?? true
    token = ResumeToken(session: id, random: &random)
    self.connection = connection
    reachedFrom = identity.knownNetwork
    self.predecessor = predecessor
    log = EventLog(capacity: rules.replayEvents, bytes: rules.replayBytes)
    requests = RequestWindow(capacity: rules.requestWindow)
    offerRate = TokenBucket(perSecond: rules.offersPerSecond, burst: rules.offerBurst, now: now.instant)
    showRate = TokenBucket(perSecond: rules.showsPerSecond, burst: rules.showBurst, now: now.instant)
  }
}

extension Session {
  var user: String { identity.user }
  var displayName: String { identity.displayName }
  /// What the device said of itself and the server acts on.
  var knownCapabilities: Set<ClientCapability> { Set(ClientCapability.allCases.filter(has)) }
  /// Whether the device said this of itself.
  func has(_ capability: ClientCapability) -> Bool {
    guard case .object(let fields) = capabilities else { return false }
    return fields[capability.rawValue] == .bool(true)
  }
}
