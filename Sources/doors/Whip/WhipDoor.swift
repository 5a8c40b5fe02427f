// The front door of WHIP (RFC 9725) and WHEP (draft-ietf-wish-whep): HTTP in, commands out; effects in, HTTP out. It holds sessions
// and who waits for an answer; a session's way is `WhipSession`'s or `WhepSession`'s, and all rules are the core's.
//
//   POST ──▶ WhipOffer ──▶ hello ─▶ room.join ─▶ pc.offer ──▶ sink(Command)       service thread
//   201  ◀── answer   ◀── StreamSession ◀── apply(effect) ◀── DoorThread          service thread
//                                                                 ▲── carryOut    conference thread: posts
import Basics
import Crypto
import DoorKit
import Logging
import Members
import Names
import RoostProtocol
import Threads
import WebSockets

/// What a WHIP door takes.
public struct WhipLimits: Sendable, Hashable {
  /// Bytes of a body.
  public var contentBytes = 64 << 10
  /// Offers and fragments (`POST` and `PATCH`) that may come per second in the long run from one IPv4 address, or one IPv6 network of 64
  /// bits …
  public var postsPerSecond = 5.0
  /// … and at once after a pause.
  public var postsAtOnce = 50
  /// Sessions that may be ended per second (`DELETE`, RFC 9725 §5), there or not, in the same way …
  public var endingsPerSecond = 20.0
  /// … and at once: a room full of players may leave together.
  public var endingsAtOnce = 200
  /// Bytes of bodies that may wait for their tokens to be looked at (`TokenGate`), of one address or network.
  public var waitingBytes = 1 << 20

  /// The defaults: a studio's encoders may all start at once.
  public init() {}
}

/// Publishers that come by WHIP, at `/whip/{room}`, and players that come by WHEP, at `/whep/{room}`. Each is a client of the core like
/// any other.
///
///     let door = WhipDoor(id: DoorID(1), log: log) { inbox.post($0) }
///     let server = try WebServer.start(configuration, routes: door.routes, makeHandler: …)
///     for case .client(let effect) in core.apply(command, at: now) { door.carryOut(effect) }
public final class WhipDoor: ClientDoor {
  /// What the server of the door is like.
  public struct Surroundings: Sendable {
    /// Which pages may publish.
    public var origins = OriginPolicy.sameHost(allowing: [])
    /// What clients are told to use for their peer connections.
    public var iceServers: [ICEServer] = []
    /// The server that serves a room in this one's place, as `https://HOST[:PORT]`; nil for this one. Asked for each offer, on the web
    /// server's thread: it must not wait.
    public var elsewhere: @Sendable (_ room: String) -> String? = { _ in nil }

    /// Plain HTTP, pages of its own alone.
    public init() {}
  }

  /// A session and who waits for it.
  struct Entry {
    let connection: ConnectionID
    let kind: Kind
    /// The realm that it is in.
    let realm: Realm
    /// Whose lines about it are.
    let subject: LineSubject
    var session: any StreamSession
    /// Where it is found; cannot be guessed.
    let secret: String
    /// The absolute URL of it.
    let location: String
    /// The token that was shown last.
    var token: String?
    /// How many others were shown since the first.
    var renewals = 0
    /// Answers the POST, then a PATCH that restarts ICE; nil when nobody waits.
    var answer: (@Sendable (HTTPResponse) -> Void)?

    /// Its ICE session's (RFC 9725 §4.3.1).
    var tag: String { "\"\(session.restarts + 1)\"" }
    /// Those who listen to a player's events, by what stands in their URLs.
    var listeners: [String: WhepListener] = [:]
  }

  /// Which way the media of a session go.
  enum Kind: Hashable, Sendable {
    /// A publisher in a room.
    case publisher(room: String)
    /// A player of something in a room.
    case player(room: String, WhepTarget)
  }

  struct Table {
    var entries: [UInt64: Entry] = [:]
    var bySecret: [String: UInt64] = [:]
    var lastNumber: UInt64 = 0
    /// Of offers.
    var buckets: NetworkBuckets
    /// Of requests that end a session, there or not.
    var endings: NetworkBuckets
    /// Bytes of bodies that wait for their tokens to be looked at.
    var waitingBytes: [PeerNetwork: Int] = [:]
  }

  /// Its place among the front doors of the process.
  public let id: DoorID
  let limits: WhipLimits
  let surroundings: Surroundings
  let lines: DoorLog
  let clock: @Sendable () -> Instant
  let tokens: TokenGate
  let isOverloaded: @Sendable (SocketAddress?) -> Bool
  let sink: @Sendable (Command) -> Void
  /// Its sessions belong to this thread.
  public let thread = DoorThread()
  let table: Owned<Table>

  /// A door that gives `sink` its commands, on the web server's thread: `sink` must be quick and must not wait.
  /// - Parameters:
  ///   - id: no other door of the process may have it.
  ///   - clock: the monotonic clock that rate limits are measured with.
  ///   - tokens: finds out whose token a request shows; one for all doors.
  ///   - lines: where lines go about those who have a session; nil: somewhere of its own.
  ///   - isOverloaded: whether offers from an address are to be refused with 503 for now; asked for each of them, once.
  public init(
    id: DoorID, limits: WhipLimits = WhipLimits(), surroundings: Surroundings = Surroundings(), log: Logger,
    clock: @escaping @Sendable () -> Instant = MonotonicClock.now, tokens: TokenGate = TokenGate(OpenAccess()),
    lines: SessionLines? = nil, isOverloaded: @escaping @Sendable (SocketAddress?) -> Bool = { _ in false },
    sink: @escaping @Sendable (Command) -> Void
  ) {
    self.id = id
    self.limits = limits
    table = Owned(
      Table(
        buckets: NetworkBuckets(burst: limits.postsAtOnce, perSecond: limits.postsPerSecond),
        endings: NetworkBuckets(burst: limits.endingsAtOnce, perSecond: limits.endingsPerSecond)), by: thread)
    self.surroundings = surroundings
    self.lines = DoorLog(log, door: "whip", sessions: lines, clock: clock)
    self.clock = clock
    self.tokens = tokens
    self.isOverloaded = isOverloaded
    self.sink = sink
  }

  // MARK: From the core

  /// Carries out an effect that concerns a session.
  public func apply(_ effect: ClientEffect) {
    switch effect {
    case .reply(let connection, let id, let result): advance(connection) { $0.replied(id, result) }
    case .event(let connection, let message): advance(connection) { $0.heard(message.event) }
    case .broadcast(let receivers, _, let event):
      for receiver in receivers { advance(receiver.connection) { $0.heard(event) } }
    case .closeConnection(let connection, _): advance(connection) { $0.closed() }
    case .setWaiting, .stream: break
    }
  }

  /// Tells players how many they are. Nobody is closed: who takes no seat is answered at once, and who has no media is ended by the
  /// core.
  public func keepHouse() {
    lines.tell()
    tellViewers()
  }

  /// What the session waits for will not come: its seat is freed.
  public func overflowed(_ connection: ConnectionID) {
    guard connection.door == id else { return }
    leave(connection)?.answer?(WhipProblem(ErrorObject(.overloaded)).response)
  }

  func advance(
    _ connection: ConnectionID, _ step: (inout any StreamSession) -> StreamAction
  ) {
    guard connection.door == id else { return }
    // The step and who waits for what it comes to, together: else another PATCH could be given this one's answer.
    let (action, entry) = table.with { table -> (StreamAction, Entry?) in
      // Taken out, so that it is changed where it is and not copied.
      guard var entry = table.entries.removeValue(forKey: connection.number) else { return (.nothing, nil) }
      let action = step(&entry.session)
      if case .tell(let events) = action { entry.tell(events) }
      let before = entry
      if action.isAnswer { entry.answer = nil }
      table.entries[connection.number] = entry
      return (action, before)
    }
    switch action {
    case .nothing, .tell: break
    case .ask(let id, let request): sink(.request(connection, id, request))
    case .created(let sdp): entry?.answer?(created(sdp, entry))
    case .restarted(let fragment):
      if let entry {
        lines.write(.info, .restarted, of: entry.subject, door: entry.kind.name) {
          ["connection": LogValue(connection)]
        }
      }
      entry?.answer?(
        HTTPResponse(
          status: 200, contentType: WhipRequest.fragmentType,
          headers: [HTTPHeader("etag", entry?.tag ?? ""), HTTPHeader("cache-control", "no-store")],
          body: Array(fragment.utf8)))
    case .notRestarted(let problem):
      note(problem, entry, connection)
      entry?.answer?(problem.response)
    case .refuse(let problem):
      let entry = leave(connection)
      note(problem, entry, connection)
      entry?.answer?(problem.response)
    case .leave:
      // Somebody may wait for a restart.
      leave(connection)?.answer?(WhipProblem(.notFound, "The session is over.").response)
    }
  }

  private func created(_ sdp: String, _ entry: Entry?) -> HTTPResponse {
    let headers =
      [
        HTTPHeader("location", entry?.location ?? ""), HTTPHeader("etag", entry?.tag ?? ""),
        HTTPHeader("cache-control", "no-store"),
      ] + links + (entry?.extensions ?? [])
    return HTTPResponse(status: 201, contentType: WhipRequest.sdpType, headers: headers, body: Array(sdp.utf8))
  }

  /// Forgets a session, and lets the core free its seat at once.
  @discardableResult
  func leave(_ connection: ConnectionID) -> Entry? {
    let entry = table.with { table -> Entry? in
      guard let entry = table.entries.removeValue(forKey: connection.number) else { return nil }
      table.bySecret[entry.secret] = nil
      return entry
    }
    guard let entry else { return nil }
    for listener in entry.listeners.values { listener.stream?.end() }
    sink(.connectionClosed(connection, clean: true))
    return entry
  }

  /// One header for each URL (RFC 9725 §4.6).
  var links: [HTTPHeader] {
    surroundings.iceServers.flatMap { server in
      server.urls.map { url in
        var value = "<\(url)>; rel=\"ice-server\""
        if let name = server.username, let secret = server.credential {
          value += "; username=\"\(name.quoted)\"; credential=\"\(secret.quoted)\"; credential-type=\"password\""
        }
        return HTTPHeader("link", value)
      }
    }
  }
}

extension String {
  /// Inside of a quoted string (RFC 9110 §5.6.4).
  fileprivate var quoted: String {
    var result = ""
    for character in unicodeScalars {
      if character == "\"" || character == "\\" { result += "\\" }
      result.unicodeScalars.append(character)
    }
    return result
  }
}
