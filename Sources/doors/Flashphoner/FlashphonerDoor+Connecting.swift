// How clients are let in, and what is left of them when their sockets are gone.
import Basics
import Crypto
import DoorKit
import Logging
import Members
import RoostProtocol
import Threads
import WebSockets

extension FlashphonerDoor {
  /// Lets a client in, when its token was looked at. A refusal is a closed socket: that is what their SDKs take for one.
  func connect(_ wish: ConnectionWish, _ socket: Socket) {
    let hello = HelloParams(
      user: wish.login ?? "user-\(randomBytes(4).hexadecimal)", token: wish.token, displayName: wish.login,
      capabilities: [ClientCapability.clientOffers.rawValue: true], callable: false)
    guard appKeys.contains(where: { $0.isExactly(wish.appKey) }) else {
      return turnAway(socket, "There is no application \(wish.appKey)")
    }
    let rank = socket.state.with { state -> TurnRank? in
      if state.tries.isWaiting { return nil }
      state.tries.begin()
      return state.tries.rank
    }
    guard let rank else { return refuse("connection", Info.tokenWaits, socket) }
    let ticket = tokens.verify(hello, from: socket.address, rank: rank) { [weak self] result in
      guard let self else { return }
      thread.run(for: self) { [self] in proved(wish, hello, result, socket) }
    }
    guard let ticket else { return }
    socket.state.with { if $0.tries.isWaiting { $0.tries.ticket = ticket } }
  }

  /// The gate has said whose a token is, or why it is not believed.
  private func proved(
    _ wish: ConnectionWish, _ hello: HelloParams, _ result: Result<Identity, UnprovenIdentity>, _ socket: Socket
  ) {
    let outcome = result.outcome
    let isOver = socket.state.with { state in
      _ = state.tries.end(outcome)
      return state.isClosed
    }
    if isOver { return }
    var identity: Identity
    do throws(UnprovenIdentity) {
      identity = try result.get()
    } catch {
      // One that was not looked at may come again, on the same socket.
      if error.isFailure { return turnAway(socket, error.detail) }
      let wait = error.error.data.retryAfterMs
      return perform(on: socket) { _ in
        [.send(.fail(.init(word: "connection", info: error.error.message, retryAfterMs: wait)))]
      }
    }
    identity.entrance = .flashphoner
    identity.client = ConnectionID(socket.id.rawValue, door: id)
    let (authToken, proofs) = proofs(for: wish.authToken, of: identity)
    change { $0.byToken[authToken] = socket }
    let subject = LineSubject(identity)
    perform(on: socket) { $0.connected(wish, hello, identity, authToken: authToken, proofs: proofs) }
    guard socket.state.with({ $0.session.authToken == authToken }) else {
      // It was closed meanwhile.
      return change { if $0.byToken[authToken] === socket { $0.byToken[authToken] = nil } }
    }
    socket.state.with { state in
      state.subject = subject
      state.gate.open()
    }
    lines.write(.info, .admitted, of: subject) {
      ["connection": LogValue(socket.id), "user": LogValue(identity.user)]
    }
    thread.sender?.admit(socket.id)
  }

  func turnAway(_ socket: Socket, _ why: String) {
    lines.write(.warning, .refused, of: socket.address) {
      ["connection": LogValue(socket.id), "peer": LogValue(socket.peer), "reason": LogValue(why)]
    }
    perform(on: socket) { _ in
      [.send(.fail(.init(word: "connection", info: Info.restricted))), .close(Info.restricted)]
    }
  }

  /// The core has refused the token of a membership, which may have been taken back: with the third that fails the socket ends.
  func blame(_ socket: Socket) {
    if socket.state.with({ $0.tries.fail() }) { perform(on: socket) { _ in [.close(Info.restricted)] } }
  }

  /// The token of a session, and what an earlier one of the same client, which showed it, had of seats. That one is closed where it is
  /// not yet.
  func proofs(for shown: String?, of identity: Identity) -> (authToken: String, proofs: [String: String]) {
    let now = clock()
    let new = randomBytes(16).hexadecimal
    guard let shown else { return (new, [:]) }
    if let old = table.with({ $0.byToken[shown] }) {
      let owner = old.state.with { ($0.session.user, $0.session.realm) }
      guard owner == (identity.user, identity.realm) else { return (new, [:]) }
      thread.sender?.close(old.id, code: Self.replaced, reason: "session replaced")
      end(old, clean: false)
    }
    let kept = change { table -> Kept? in
      guard let kept = table.kept[shown], (kept.user, kept.realm) == (identity.user, identity.realm), kept.until > now
      else { return nil }
      table.forget(shown)
      return kept
    }
    return kept.map { (shown, $0.proofs) } ?? (new, [:])
  }

  func closed(_ id: WebSocketID, _ closure: WebSocketClosure) {
    guard let socket = change({ $0.sockets.removeValue(forKey: id) }) else { return }
    tokens.withdraw(socket.state.with { $0.tries.ticket })
    let fields: () -> LogFields = {
      [
        "connection": LogValue(id), "peer": LogValue(socket.peer), "cause": LogValue(closure.cause.rawValue),
        "code": LogValue(closure.code ?? 0), "reason": LogValue(closure.reason),
      ]
    }
    if let subject = socket.state.with({ $0.subject }) {
      lines.write(.info, .closed, of: subject, fields)
    } else {
      lines.write(.info, .closed, of: socket.address, fields)
    }
    end(socket, clean: closure.clean)
  }

  /// A session is over. Unless the client meant to go, it may come back to its seats.
  func end(_ socket: Socket, clean: Bool) {
    let now = clock()
    let (token, user, realm, left) = socket.state.with { state in
      state.isClosed = true
      return (state.session.authToken, state.session.user, state.session.realm, state.session.ended())
    }
    change { table in
      for number in left.rooms + left.spare + left.streams.keys { table.disown(number) }
      guard table.byToken[token] === socket else { return }
      table.byToken[token] = nil
      guard !clean, let user, !left.proofs.isEmpty else { return }
      let network = PeerNetwork(socket.address)
      table.keep(Kept(user: user, realm: realm, proofs: left.proofs, until: now + grace, network: network), token)
    }
    for number in left.rooms { sink(.connectionClosed(ConnectionID(number, door: id), clean: clean)) }
    for number in left.spare { sink(.connectionClosed(ConnectionID(number, door: id), clean: true)) }
    for (number, room) in left.streams.sorted(by: { $0.key < $1.key }) { leave(number, room) }
  }
}
