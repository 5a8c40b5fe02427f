// The routes of WHEP (draft-ietf-wish-whep): offers of players, and what they may ask of their sessions. Offers, restarts of ICE and
// the end are as in WHIP.
import Basics
import Crypto
import DoorKit
import Logging
import Members
import Names
import RoostProtocol
import WebSockets

/// One who listens to a player's events.
struct WhepListener: Sendable {
  /// Those it asked for.
  let names: Set<WhepEventName>
  /// Where they are sent; nil while nobody reads.
  var stream: EventStream?
  /// How many players it was told there are.
  var viewers = 0
  /// Whether somebody has read it, and was told last that something is shown.
  var wasOpened = false, wasActive = false

  /// Sends those of the events that were asked for.
  func tell(_ events: [ServerSentEvent]) {
    for event in events where event.name.flatMap(WhepEventName.init).map(names.contains) == true {
      stream?.send(event)
    }
  }
}

extension WhipDoor {
  private static let listenerMethods: [HTTPMethod] = [.get, .delete, .options]
  private static let wishMethods: [HTTPMethod] = [.post, .options]
  /// Of one player at once. A page that is loaded again may have left one behind.
  private static let mostListeners = 4
  /// Bytes of what a player wishes for.
  private static let wishBytes = 4 << 10

  /// `/whep/{room}[/{participant}[/{track}]]`, and `/whep-sessions/{session}` with what belongs to it.
  var playerRoutes: [HTTPRoute] {
    let endpoints = ["/whep/{room}", "/whep/{room}/{participant}", "/whep/{room}/{participant}/{track}"].map {
      HTTPRoute(
        .pattern(PathPattern($0)), methods: WhipRequest.endpoint, contentLimit: limits.contentBytes,
        late: playerEndpoint)
    }
    return endpoints + [
      HTTPRoute(
        .pattern(PathPattern("/whep-sessions/{session}")), methods: WhipRequest.session,
        contentLimit: WhipFragment.longest, late: session),
      HTTPRoute(
        .pattern(PathPattern("/whep-sessions/{session}/layer")), methods: Self.wishMethods,
        contentLimit: Self.wishBytes, late: layer),
      HTTPRoute(
        .pattern(PathPattern("/whep-sessions/{session}/sse")), methods: Self.wishMethods,
        contentLimit: Self.wishBytes, late: listen),
      HTTPRoute(
        .pattern(PathPattern("/whep-sessions/{session}/sse/{listener}")), methods: Self.listenerMethods, late: listener),
    ]
  }

  @Sendable private func playerEndpoint(
    _ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void
  ) {
    guarded(request, WhipRequest.endpoint, answer) { [self] answer, caller throws(WhipProblem) in
      switch request.method {
      case .post:
        let (room, target) = (request.segments["room"] ?? "", WhepTarget(request.segments))
        let kind = Kind.player(room: room, target)
        let asking = Caller(hello: caller.hello.offering, identity: caller.identity)
        try post(request, asking, kind, answer) { offer in
          let session = WhepSession(room: room, user: caller.identity.user, target: target, offer: offer)
          return (session, WhepSession.offering(offer))
        }
      case .options: answer(endpointOptions)
      case .get, .head, .put, .patch, .delete:
        answer(HTTPResponse(contentType: WhipRequest.sdpType, body: []))
      }
    }
  }

  // MARK: - Layers

  @Sendable private func layer(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guarded(request, Self.wishMethods, answer) { [self] answer, caller throws(WhipProblem) in
      let found = try entry(of: request, caller.identity)
      guard request.method == .post else { return answer(HTTPResponse(status: 204)) }
      try checkRate(request.peer)
      let wanted = try WhepLayer(request.content)
      var failure: WhipProblem?
      advance(found.connection) { session in
        guard var player = session as? WhepSession else { return .nothing }
        do throws(WhipProblem) {
          let action = try player.select(wanted)
          session = player
          return action
        } catch {
          failure = error
          return .nothing
        }
      }
      if let failure { throw failure }
      answer(HTTPResponse(status: 200))
    }
  }

  // MARK: - Events

  /// Somebody wants to listen to a session's events.
  @Sendable private func listen(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    guarded(request, Self.wishMethods, answer) { [self] answer, caller throws(WhipProblem) in
      let found = try entry(of: request, caller.identity)
      guard request.method == .post else { return answer(HTTPResponse(status: 204)) }
      try checkRate(request.peer)
      let listener = WhepListener(names: try readEventNames(request.content))
      let secret = randomBytes(16).hexadecimal
      let isAdded = table.with { table in
        guard var entry = table.entries[found.connection.number] else { return false }
        // Pages that were closed have left theirs behind.
        if entry.listeners.count >= Self.mostListeners,
          let left = entry.listeners.first(where: { $0.value.wasOpened && $0.value.stream == nil })
        {
          entry.listeners[left.key] = nil
        }
        guard entry.listeners.count < Self.mostListeners else { return false }
        entry.listeners[secret] = listener
        table.entries[found.connection.number] = entry
        return true
      }
      guard isAdded else {
        throw WhipProblem(.tooMany, "This session has \(Self.mostListeners) streams of events; end one of them.")
      }
      answer(HTTPResponse(status: 201, headers: [HTTPHeader("location", "\(found.location)/sse/\(secret)")]))
    }
  }

  @Sendable private func listener(_ request: HTTPRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    opened(request, Self.listenerMethods, answer) { answer throws(WhipProblem) in
      let name = request.segments["listener"] ?? ""
      let found = table.with { table -> (Entry, WhepListener)? in
        guard let entry = table.bySecret[request.segments["session"] ?? ""].flatMap({ table.entries[$0] }) else {
          return nil
        }
        return entry.listeners[name].map { (entry, $0) }
      }
      guard let (entry, listener) = found else {
        throw WhipProblem(.notFound, "There is no such stream of events; it may be over.")
      }
      switch request.method {
      case .get: answer(.events(owner(of: name, entry.connection)))
      case .delete:
        forget(name, entry.connection)
        listener.stream?.end()
        answer(HTTPResponse(status: 200))
      case .head, .options, .post, .put, .patch: answer(HTTPResponse(status: 204))
      }
    }
  }

  /// Who is told that a stream is open: it is sent how things are. An earlier reader of the same stream is sent no more.
  private func owner(of name: String, _ connection: ConnectionID) -> EventStreamOwner {
    let number = connection.number
    let own = Owned(EventStream?.none, by: thread)
    return EventStreamOwner(
      opened: { [weak self] stream in
        own.with { $0 = stream }
        self?.table.with { table in
          guard var entry = table.entries[number], entry.listeners[name] != nil else { return stream.end() }
          entry.listeners[name]?.stream?.end()
          entry.listeners[name]?.stream = stream
          entry.listeners[name]?.viewers = 0
          entry.listeners[name]?.wasOpened = true
          entry.greet(name)
          table.entries[number] = entry
        }
      },
      ended: { [weak self] in
        let ended = own.with { $0 }
        self?.table.with { table in
          guard let ended, table.entries[number]?.listeners[name]?.stream?.isSame(as: ended) == true else { return }
          table.entries[number]?.listeners[name]?.stream = nil
        }
      })
  }

  private func forget(_ listener: String, _ connection: ConnectionID) {
    _ = table.with { $0.entries[connection.number]?.listeners.removeValue(forKey: listener) }
  }

  /// Tells those who want to know how many play the same, where that has changed.
  func tellViewers() {
    table.with { table in
      let listening = table.entries.values.filter { !$0.listeners.isEmpty }
      guard !listening.isEmpty else { return }
      var counts: [Realm: [Kind: Int]] = [:]
      for entry in table.entries.values { counts[entry.realm, default: [:]][entry.kind, default: 0] += 1 }
      for entry in listening {
        table.entries[entry.connection.number]?.tellViewers(counts[entry.realm]?[entry.kind] ?? 0)
      }
    }
  }
}

extension WhipDoor.Entry {
  /// The extensions of a player's session, one header each (§4.9).
  var extensions: [HTTPHeader] {
    guard case .player = kind else { return [] }
    let events = WhepEventName.allCases.map(\.rawValue).joined(separator: ",")
    let prefix = "urn:ietf:params:whep:ext:core"
    return [
      HTTPHeader("link", "<\(location)/sse>; rel=\"\(prefix):server-sent-events\"; events=\"\(events)\""),
      HTTPHeader("link", "<\(location)/layer>; rel=\"\(prefix):layer\""),
    ]
  }

  /// Sends events to those who asked for them.
  mutating func tell(_ events: [ServerSentEvent]) {
    for (name, listener) in listeners {
      listener.tell(events)
      if listener.stream != nil, let player = session as? WhepSession { listeners[name]?.wasActive = player.isActive }
    }
  }

  /// How things are, for one who begins to listen, or goes on. Nothing is said of a session that shows nothing yet.
  fileprivate mutating func greet(_ name: String) {
    guard let player = session as? WhepSession, let listener = listeners[name] else { return }
    let state: [ServerSentEvent] = player.isActive ? [.active] : listener.wasActive ? [.inactive] : []
    listener.tell(state + (player.layers.map { [$0] } ?? []))
    listeners[name]?.wasActive = player.isActive
  }

  fileprivate mutating func tellViewers(_ count: Int) {
    for (name, listener) in listeners where listener.stream != nil && listener.viewers != count {
      guard listener.names.contains(.viewercount) else { continue }
      listener.stream?.send(.viewers(count))
      listeners[name]?.viewers = count
    }
  }
}

extension WhepTarget {
  /// What a path asks for.
  init(_ segments: [String: String]) {
    guard let person = segments["participant"] else {
      self = .speaker
      return
    }
    self = segments["track"].map { .track($0, of: person) } ?? .person(person)
  }
}

extension HelloParams {
  /// The same of a client that offers what it wants to be sent.
  fileprivate var offering: HelloParams {
    var copy = self
    copy.capabilities = .object([ClientCapability.clientOffers.rawValue: .bool(true)])
    return copy
  }
}
