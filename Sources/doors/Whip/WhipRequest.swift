// What comes to the door over HTTP: the routes of WHIP, and what is looked at before the core hears of an offer. WHEP shares it.
import Basics
import Crypto
import DoorKit
import Logging
import Members
import Names
import RoostProtocol
import WebSockets

/// Words of WHIP's HTTP.
enum WhipRequest {
  static let sdpType = "application/sdp"
  static let fragmentType = "application/trickle-ice-sdpfrag"
  /// Methods of an endpoint, and of a session.
  static let endpoint: [HTTPMethod] = [.post, .options, .get, .head]
  static let session: [HTTPMethod] = [.patch, .delete, .options, .get, .head]

  /// Whether a media type is this one, whatever parameters it has.
  static func isType(_ type: String?, _ wanted: String) -> Bool {
    guard let type = type?.split(separator: ";", maxSplits: 1).first else { return false }
    return type.filter { $0 != " " && $0 != "\t" }.lowercased() == wanted
  }

  /// Whether `If-Match` names this entity tag, or any (RFC 9110 §13.1.1). Some clients put the star into quotes.
  static func matches(_ condition: String, _ tag: String) -> Bool {
    condition.split(separator: ",").contains { part in
      let part = part.filter { $0 != " " && $0 != "\t" }
      return part == tag || part == "*" || part == "\"*\""
    }
  }

  /// Whether an `Accept` header admits SDP (RFC 9110 §12.5.1); without one anything is.
  static func acceptsSDP(_ accept: String?) -> Bool {
    guard let accept else { return true }
    return accept.split(separator: ",").contains { range in
      let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      guard let type = parts.first, ["*/*", "application/*", sdpType].contains(type) else { return false }
      return !parts.dropFirst().contains { $0.hasPrefix("q=0") && $0.dropFirst(2).allSatisfy { "0.".contains($0) } }
    }
  }
}

extension WhipDoor {
  /// `/whip/{room}` and `/whip/{room}/{session}`, and those of WHEP.
  public var routes: [HTTPRoute] { publisherRoutes + playerRoutes }

  private var publisherRoutes: [HTTPRoute] {
    [
      HTTPRoute(
        .pattern(PathPattern("/whip/{room}")), methods: WhipRequest.endpoint, contentLimit: limits.contentBytes,
        late: endpoint),
      HTTPRoute(
        .pattern(PathPattern("/whip/{room}/{session}")), methods: WhipRequest.session,
        contentLimit: WhipFragment.longest, late: session),
    ]
  }

  @Sendable private func endpoint(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guarded(request, WhipRequest.endpoint, answer) { [self] answer, caller throws(WhipProblem) in
      switch request.method {
      case .post:
        let room = request.segments["room"] ?? ""
        try post(request, caller, .publisher(room: room), answer) { offer in
          (WhipSession(room: room, user: caller.identity.user, offer: offer), WhipSession.offering(offer))
        }
      case .options: answer(endpointOptions)
      case .get, .head, .put, .patch, .delete: answer(HTTPResponse(status: 204))
      }
    }
  }

  /// What an endpoint takes.
  var endpointOptions: HTTPResponse {
    HTTPResponse(status: 204, headers: [HTTPHeader("accept-post", WhipRequest.sdpType)] + links)
  }

  @Sendable func session(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guarded(request, WhipRequest.session, answer) { [self] answer, caller throws(WhipProblem) in
      // RFC 9725 §5. A budget of its own: who is refused an end may still offer.
      if request.method == .delete { try checkRate(request.peer, of: \.endings) }
      let found = try entry(of: request, caller.identity)
      renew(found, caller)
      switch request.method {
      case .patch: try patch(request, found, answer)
      case .delete:
        // Said, and not just gone: whoever is gone may come back to the place that they published from.
        sink(.request(found.connection, WhipSession.farewell, .room(.leave(RoomParams(room: found.kind.room)))))
        leave(found.connection)?.answer?(WhipProblem(.notFound, "The session is over.").response)
        answer(HTTPResponse(status: 200))
      case .get, .head, .options, .post, .put: answer(HTTPResponse(status: 204))
      }
    }
  }

  /// What a session may do is what the newest token says that was shown at its URL. What it does not allow any more ends at once.
  private func renew(_ found: Entry, _ caller: Caller) {
    guard let token = caller.hello.token, caller.identity.isVerified, token != found.token else { return }
    let number = table.with { table -> Int? in
      guard table.entries[found.connection.number]?.token == found.token else { return nil }
      table.entries[found.connection.number]?.token = token
      table.entries[found.connection.number]?.renewals += 1
      return table.entries[found.connection.number]?.renewals
    }
    guard let number else { return }
    sink(.token(found.connection, .string("token \(number)"), TokenParams(token: token), caller.identity))
  }

  // MARK: PATCH

  private func patch(
    _ request: HTTPRequest, _ found: Entry, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) throws(WhipProblem) {
    try checkRate(request.peer)
    guard WhipRequest.isType(request.header("content-type"), WhipRequest.fragmentType) else {
      throw WhipProblem(.unsupportedType, "The body must be \(WhipRequest.fragmentType).")
    }
    guard let condition = request.header("if-match") else {
      throw WhipProblem(.conditionRequired, "If-Match must have the ETag of the ICE session, or *.")
    }
    switch try step(found.connection, condition, request.content, answer) {
    case .trickle: answer(HTTPResponse(status: 204))
    case .restart(let id, let offer): sink(.request(found.connection, id, offer))
    }
  }

  private func step(
    _ connection: ConnectionID, _ condition: String, _ content: [UInt8],
    _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) throws(WhipProblem) -> StreamStep {
    let fragment = Result { () throws(WhipProblem) in try WhipFragment(content) }
    let result = table.with { table -> Result<StreamStep, WhipProblem> in
      guard var entry = table.entries[connection.number] else {
        return .failure(WhipProblem(.notFound, "The session is over."))
      }
      do throws(WhipProblem) {
        guard WhipRequest.matches(condition, entry.tag) else {
          throw WhipProblem(.conditionFailed, "The ICE session is another by now: its ETag is \(entry.tag).")
        }
        let step = try entry.session.patch(try fragment.get())
        if case .restart = step { entry.answer = answer }
        table.entries[connection.number] = entry
        return .success(step)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Who asks, as far as a request says.
  struct Caller {
    let hello: HelloParams
    let identity: Identity
  }

  /// Looks at what all requests have: the page's origin, and whose token it is. A preflight has no token (CORS protocol, Fetch §3.2).
  func guarded(
    _ request: HTTPRequest, _ methods: [HTTPMethod], _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ serve: @escaping @Sendable (@escaping @Sendable (HTTPResponse) -> Void, Caller) throws(WhipProblem) -> Void
  ) {
    opened(request, methods, answer) { open throws(WhipProblem) in
      let hello = hello(request)
      guard waits(request) else { throw WhipProblem(ErrorObject(.rateLimited) { $0.retryAfterMs = 1_000 }) }
      tokens.verify(hello, from: request.peer, rank: request.rank) { [weak self] result in
        guard let self else { return }
        thread.run(for: self) { [self] in proved(result, hello, request, open, serve) }
      }
    }
  }

  private func proved(
    _ result: Result<Identity, UnprovenIdentity>, _ hello: HelloParams, _ request: HTTPRequest,
    _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ serve: @escaping @Sendable (@escaping @Sendable (HTTPResponse) -> Void, Caller) throws(WhipProblem) -> Void
  ) {
    waitsNoMore(request)
    served(request, answer) { open throws(WhipProblem) in
      let identity = try identity(result, from: request.peer)
      try serve({ open(hello.token == nil ? $0 : $0.accepted) }, Caller(hello: hello, identity: identity))
    }
  }

  /// Whether the body of a request may wait with its token.
  private func waits(_ request: HTTPRequest) -> Bool {
    guard !request.content.isEmpty else { return true }
    let network = PeerNetwork(request.peer)
    return table.with { table in
      let bytes = table.waitingBytes[network, default: 0] + request.content.count
      guard bytes <= limits.waitingBytes else { return false }
      table.waitingBytes[network] = bytes
      return true
    }
  }

  private func waitsNoMore(_ request: HTTPRequest) {
    let bytes = request.content.count
    guard bytes > 0 else { return }
    let network = PeerNetwork(request.peer)
    table.with { table in
      let left = table.waitingBytes[network, default: bytes] - bytes
      table.waitingBytes[network] = left > 0 ? left : nil
    }
  }

  /// The same of requests that need no token, since their URL is a secret: a page cannot send one with an `EventSource`.
  func opened(
    _ request: HTTPRequest, _ methods: [HTTPMethod], _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ serve: (@escaping @Sendable (HTTPResponse) -> Void) throws(WhipProblem) -> Void
  ) {
    let origin = request.header("origin")
    guard surroundings.origins.allows(origin: origin, host: request.host) else {
      return answer(WhipProblem(.forbidden, "Pages of this origin may not use this server.").response)
    }
    let open: @Sendable (HTTPResponse) -> Void = { answer($0.opened(to: origin)) }
    if request.method == .options, request.header("access-control-request-method") != nil {
      return open(.preflight(methods))
    }
    served(request, open, serve)
  }

  /// Answers with the problem where there is one.
  private func served(
    _ request: HTTPRequest, _ open: @escaping @Sendable (HTTPResponse) -> Void,
    _ serve: (@escaping @Sendable (HTTPResponse) -> Void) throws(WhipProblem) -> Void
  ) {
    do throws(WhipProblem) {
      try Self.checkNames(request)
      try serve(open)
    } catch {
      // Of others nothing is said here: requests without a token may come by the thousand. Of these `checkRate` lets few through.
      if error.isOfSDP {
        note(
          error, request.isOfPlayer ? "whep" : "whip", ("peer", LogValue(request.peer?.description ?? "")),
          of: LineSubject(network: PeerNetwork(request.peer)))
      }
      open(error.response)
    }
  }

  /// Names that are compared, whatever the method. What a player calls a person and a track is none: it is looked for among what others
  /// are shown, by its bytes.
  private static func checkNames(_ request: HTTPRequest) throws(WhipProblem) {
    do throws(ErrorObject) {
      try NameForm.check(request.segments["room"], "room")
      try NameForm.check(request.arguments["name"], "name")
    } catch {
      throw WhipProblem(error)
    }
  }

  private func identity(
    _ result: Result<Identity, UnprovenIdentity>, from peer: SocketAddress?
  ) throws(WhipProblem) -> Identity {
    do throws(UnprovenIdentity) {
      return try result.get()
    } catch {
      if error.isFailure {
        lines.write(.warning, .tokenRefused, of: peer) {
          ["peer": LogValue(peer?.description ?? ""), "why": LogValue(error.detail)]
        }
      }
      var problem = WhipProblem(error.error)
      problem.credentials = error.isFailure ? .failed : .sentAway
      throw problem
    }
  }

  /// What the core is told of a client: its name, where the token has none, and its token.
  private func hello(_ request: HTTPRequest) -> HelloParams {
    // Of players there may be many in a room, and no two have one name.
    let made = request.isOfPlayer ? "whep-\(randomBytes(4).hexadecimal)" : "whip-\(randomBytes(2).hexadecimal)"
    let name = request.arguments["name"] ?? made
    let words = request.authorization?.split(separator: " ") ?? []
    let isBearer = words.count == 2 && words[0].lowercased() == "bearer"
    return HelloParams(
      user: name, token: isBearer ? String(words[1]) : nil, displayName: request.arguments["name"], callable: false)
  }

  /// The session of a URL.
  /// - Throws: 404 where there is none, 403 where it is another user's.
  func entry(of request: HTTPRequest, _ identity: Identity) throws(WhipProblem) -> Entry {
    let entry = table.with { table in
      table.bySecret[request.segments["session"] ?? ""].flatMap { table.entries[$0] }
    }
    guard let entry, entry.kind.isNamed(by: request) else {
      throw WhipProblem(.notFound, "There is no such session; it may be over.")
    }
    let isOwner = identity.realm == entry.realm && identity.user == entry.session.user
    guard !identity.isVerified || isOwner else {
      throw WhipProblem(.forbidden, "The session is somebody else's.")
    }
    return entry
  }

  // MARK: POST

  /// Takes an offer, and begins the session that `make` makes of it, beside its last request.
  func post(
    _ request: HTTPRequest, _ caller: Caller, _ kind: Kind, _ answer: @escaping @Sendable (HTTPResponse) -> Void,
    _ make: (WhipOffer) -> (session: any StreamSession, offering: Request)
  ) throws(WhipProblem) {
    try checkRate(request.peer)
    if let server = surroundings.elsewhere(kind.room) { return answer(.redirect(request, of: kind, to: server)) }
    guard WhipRequest.isType(request.header("content-type"), WhipRequest.sdpType) else {
      throw WhipProblem(.unsupportedType, "The body must be application/sdp.")
    }
    guard WhipRequest.acceptsSDP(request.header("accept")) else {
      throw WhipProblem(.notAcceptable, "The answer is application/sdp, which the Accept header does not admit.")
    }
    if isOverloaded(request.peer) { throw WhipProblem(ErrorObject(.overloaded)) }
    let (session, offering) = make(try WhipOffer(request.content, for: kind.purpose))
    try Self.validate([.session(.hello(caller.hello)), WhipSession.joining(kind.room), offering])
    let subject = LineSubject(caller.identity)
    let connection = begin(session, kind, subject, caller, request, answer)
    lines.write(.info, .offered, of: subject, door: kind.name) {
      ["connection": LogValue(connection), "peer": LogValue(request.peer?.description ?? "")]
    }
    var identity = caller.identity
    (identity.entrance, identity.onlyPlays) = (kind.entrance, kind.entrance == .whep)
    sink(.hello(connection, WhipSession.hello, caller.hello, identity))
  }

  /// A client is held to the same limits as one that sends JSON-RPC itself.
  private static func validate(_ requests: [Request]) throws(WhipProblem) {
    for request in requests {
      do throws(ErrorObject) {
        try request.validate()
        try request.checkNames()
      } catch {
        throw WhipProblem(error)
      }
    }
  }

  /// - Throws: 429 where one source asks too often.
  func checkRate(
    _ peer: SocketAddress?, of buckets: WritableKeyPath<Table, NetworkBuckets> = \.buckets
  ) throws(WhipProblem) {
    let now = clock()
    let wait = table.with { $0[keyPath: buckets].take(PeerNetwork(peer), at: now) }
    if let wait { throw WhipProblem(ErrorObject(.rateLimited) { $0.retryAfterMs = wait }) }
  }

  private func begin(
    _ session: any StreamSession, _ kind: Kind, _ subject: LineSubject, _ caller: Caller, _ request: HTTPRequest,
    _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) -> ConnectionID {
    let secret = randomBytes(16).hexadecimal
    let place = "\(request.host ?? "")\(kind.folder)/\(secret)"
    let location = "\(request.isSecure ? "https" : "http")://\(place)"
    return table.with { table in
      table.lastNumber += 1
      let connection = ConnectionID(table.lastNumber, door: id)
      table.bySecret[secret] = connection.number
      table.entries[connection.number] = Entry(
        connection: connection, kind: kind, realm: caller.identity.realm, subject: subject, session: session,
        secret: secret, location: location, token: caller.hello.token, answer: answer)
      return connection
    }
  }
}

extension WhipDoor.Kind {
  var room: String {
    switch self {
    case .publisher(let room), .player(let room, _): room
    }
  }

  /// The door that its lines in the log are of.
  var name: String {
    switch self {
    case .publisher: "whip"
    case .player: "whep"
    }
  }

  fileprivate var entrance: Entrance {
    switch self {
    case .publisher: .whip
    case .player: .whep
    }
  }

  fileprivate var purpose: WhipOffer.Purpose {
    switch self {
    case .publisher: .publishing
    case .player: .playing
    }
  }

  /// Where its session is found. A player's URL says nothing of what it plays: participants may be called anything.
  fileprivate var folder: String {
    switch self {
    case .publisher(let room): "/whip/\(room.percentEncoded)"
    case .player: "/whep-sessions"
    }
  }

  /// Whether a URL with the secret of its session is its own.
  fileprivate func isNamed(by request: HTTPRequest) -> Bool {
    switch self {
    case .publisher(let room): request.segments["room"] == room
    case .player: request.segments["room"] == nil
    }
  }
}

extension HTTPRequest {
  /// Whether it came by WHEP.
  fileprivate var isOfPlayer: Bool { path.hasPrefix("/whep") }
}

extension HTTPResponse {
  /// The same request is to be made of another server: 307, so that the client sends its offer there again (RFC 9725 §4.5).
  fileprivate static func redirect(_ request: HTTPRequest, of kind: WhipDoor.Kind, to server: String) -> HTTPResponse {
    let segments = ["room", "participant", "track"].compactMap { request.segments[$0]?.percentEncoded }
    let path = ([kind.name] + segments).map { "/\($0)" }.joined()
    let target = server + path + (request.query.isEmpty ? "" : "?\(request.query)")
    return HTTPResponse(
      status: 307, headers: [HTTPHeader("location", target), HTTPHeader("cache-control", "no-store")])
  }

  /// What a page may ask for, said before it does.
  fileprivate static func preflight(_ methods: [HTTPMethod]) -> HTTPResponse {
    HTTPResponse(
      status: 204,
      headers: [
        HTTPHeader("access-control-allow-methods", methods.map(\.rawValue).joined(separator: ", ")),
        HTTPHeader("access-control-allow-headers", "authorization, content-type, if-match"),
        HTTPHeader("access-control-max-age", "600"),
      ] + (methods.contains(.post) ? [HTTPHeader("accept-post", WhipRequest.sdpType)] : []))
  }

  /// As a page of `origin` may read it.
  fileprivate func opened(to origin: String?) -> HTTPResponse {
    guard let origin else { return self }
    var copy = self
    copy.headers += [
      HTTPHeader("access-control-allow-origin", origin), HTTPHeader("vary", "origin"),
      HTTPHeader("access-control-expose-headers", "location, link, etag, retry-after"),
    ]
    return copy
  }
}

extension HTTPResponse {
  /// The same to somebody whose token was accepted, unless it was not in the end.
  fileprivate var accepted: HTTPResponse {
    var copy = self
    if copy.credentials == .unseen { copy.credentials = .accepted }
    return copy
  }
}
