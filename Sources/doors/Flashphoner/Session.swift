// One WebSocket of a client: who it is, the rooms it is in and the streams it has outside of rooms. Pure.
//
//   waiting ──connection──▶ open ──▶ closed
//                            ├─ rooms: a membership each
//                            └─ streams without a room: a membership each
import Members
import Names
import RoostProtocol

/// What is to be done for a client. Numbers name its memberships.
enum SessionAction: Hashable, Sendable {
  case send(ServerMessage)
  /// Begin a membership.
  case hello(UInt64, HelloParams, Identity)
  case ask(UInt64, RequestID, Request)
  case stream(UInt64, RequestID, StreamRequest)
  /// End a membership of this room.
  case leave(UInt64, room: String)
  /// Leave a line for those who operate the server: the offer of this stream cannot be used.
  case warn(stream: String, why: String)
  /// Close the socket, saying why.
  case close(String)
}

/// A client that is connected.
struct Session: Sendable {
  /// The application whose clients know rooms alone.
  static let roomApplication = "roomApp"
  /// Rooms and streams without a room that one client may have. Each is a session of the core.
  static let mostMembers = 64

  private enum Stage { case waiting, open, closed }

  private var stage = Stage.waiting
  private(set) var members: [UInt64: Membership] = [:]
  private var rooms: [String: UInt64] = [:]
  /// Memberships of rooms that were left, or that none came of, with the sessions that the core has for them: the next join goes on with
  /// one. So leaving and joining again is no way round what the core counts by session.
  private var spare: [(number: UInt64, membership: Membership)] = []
  private var hasToldOfStop = false
  private var identity: Identity?
  private var greeting = HelloParams(user: "")
  private var appKey = ""
  /// Tokens of seats that an earlier session of this client had, by room.
  private var proofs: [String: String] = [:]
  /// By which the next session may go on.
  private(set) var authToken = ""
  /// Random digits, for names that no two have.
  private let digits: @Sendable () -> String
  private let number: @Sendable () -> UInt64?

  /// A client that has said nothing yet.
  /// - Parameters:
  ///   - number: a number for a membership, never used again; nil where there may be no more.
  ///   - digits: eight random digits.
  init(number: @escaping @Sendable () -> UInt64?, digits: @escaping @Sendable () -> String) {
    (self.number, self.digits) = (number, digits)
  }

  var isOpen: Bool { stage == .open }
  /// Who it is; nil before it has said so.
  var user: String? { identity?.user }
  /// In which realm.
  var realm: Realm { identity?.realm ?? .default }
  /// Requests that wait for their replies.
  var unanswered: Int { members.values.reduce(0) { $0 + $1.unanswered } }

  // MARK: - Connecting

  /// The client has been let in.
  mutating func connected(
    _ wish: ConnectionWish, _ hello: HelloParams, _ identity: Identity, authToken: String, proofs: [String: String]
  ) -> [SessionAction] {
    (stage, appKey, greeting) = (.open, wish.appKey, hello)
    (self.identity, self.authToken, self.proofs) = (identity, authToken, proofs)
    return [.send(.userData(wish.whole, authToken: authToken))]
  }

  /// What is left of a client whose socket is gone.
  struct Remains {
    /// Memberships of rooms, in order.
    let rooms: [UInt64]
    /// Those of single streams with their rooms, to which nobody comes back.
    let streams: [UInt64: String]
    /// Those that have no seat.
    let spare: [UInt64]
    /// Tokens by which the seats of rooms can be had again.
    let proofs: [String: String]
  }

  /// The socket is gone.
  mutating func ended() -> Remains {
    var kept: [String: String] = [:]
    for (room, number) in rooms { kept[room] = members[number]?.token ?? proofs[room] }
    // Those of an earlier session that were not asked for yet; no more than one session can have rooms.
    for (room, proof) in proofs where kept[room] == nil && kept.count < Self.mostMembers { kept[room] = proof }
    defer { (stage, members, rooms, spare, proofs) = (.closed, [:], [:], [], [:]) }
    let streams = members.filter { !$0.value.isRoom }.mapValues(\.room)
    return Remains(
      rooms: members.keys.filter { streams[$0] == nil }.sorted(), streams: streams, spare: spare.map(\.number),
      proofs: kept)
  }

  // MARK: - What the client says

  mutating func received(_ message: ClientMessage) -> [SessionAction] {
    guard stage == .open else {
      return stage == .waiting ? [.send(.fail(.init(info: Info.noSession)))] : []
    }
    switch message {
    case .connection: return [.send(.fail(.init(word: "connection", info: "This connection has its session")))]
    case .ping: return [.send(.pong)]
    case .pong: return []
    case .data(let operation, let wish): return room(wish, operation)
    case .publish(let wish): return begin(wish, isPublished: true)
    case .play(let wish): return begin(wish, isPublished: false)
    case .stop(let id): return onStream(id) { $0.stop(id) }
    case .streamEvent(let id, let event): return onStream(id) { $0.event(event, of: id) }
    case .available(let id, let name): return available(id, name)
    case .unsupported(let word, _):
      return [.send(.fail(.init(word: word, info: "\(word) is not supported by this server")))]
    }
  }

  private mutating func room(_ wish: RoomWish, _ operation: String) -> [SessionAction] {
    switch wish {
    case .join(let room, let isRecorded):
      guard rooms[room] == nil else { return status(operation, "You are in this room") }
      let warning: [SessionAction] = isRecorded ? [.send(.fail(.init(word: "join", info: Info.notRecorded)))] : []
      return warning + start(room, .room(operation: operation), full: status(operation, "Too many rooms and streams"))
    case .leave(let room):
      guard rooms[room] != nil else { return status(operation, "You are not in this room") }
      proofs[room] = nil
      return onRoom(room) { $0.leave() } + [.send(.dataStatus(operation: operation, isAccepted: true, info: nil))]
    case .message(let room, let to, let text):
      guard isLive(room) else { return status(operation, "You are not in this room") }
      return onRoom(room) { $0.write(text, to: to, operation: operation) }
    case .other(let command): return status(operation, "\(command) is not supported by this server")
    }
  }

  private func status(_ operation: String, _ refusal: String) -> [SessionAction] {
    [.send(.dataStatus(operation: operation, isAccepted: false, info: refusal))]
  }

  private func isLive(_ room: String) -> Bool { rooms[room].flatMap { members[$0] }?.stage == .live }

  private mutating func begin(_ wish: StreamWish, isPublished: Bool) -> [SessionAction] {
    let warning: [SessionAction] =
      wish.isRecorded ? [.send(.fail(.init(word: "publishStream", info: Info.notRecorded)))] : []
    let failure = { (info: String) in [SessionAction.send(.fail(.init(stream: wish.id, name: wish.name, info: info)))] }
    if let objection = wish.objection { return failure(objection) }
    guard !members.values.contains(where: { $0.has(wish.id) }) else {
      return [.send(.fail(.init(info: "There is a stream of this mediaSessionId")))]
    }
    if let room = place(of: wish, isPublished: isPublished) {
      guard isLive(room) else { return failure(Info.noSession) }
      return warning + onRoom(room) { isPublished ? $0.publish(wish) : $0.play(wish) }
    }
    guard appKey != Self.roomApplication else { return failure(isPublished ? Info.restricted : Info.notFound) }
    return warning
      + start(wish.name, isPublished ? .publishing(wish) : .playing(wish), full: failure("Too many rooms and streams"))
  }

  /// The room that a stream belongs to; nil for one without. Players name the stream alone.
  private func place(of wish: StreamWish, isPublished: Bool) -> String? {
    if let room = wish.room { return room }
    if isPublished { return nil }
    return rooms.first { members[$0.value]?.people.stream(named: wish.name) != nil }?.key
  }

  private mutating func available(_ id: String, _ name: String) -> [SessionAction] {
    let isHere = members.values.contains { member in
      member.people.stream(named: name) != nil
        || member.streams.values.contains { $0.isPublished && $0.name == name }
    }
    if isHere { return [.send(.available(id: id, true, info: nil))] }
    let nothing = [SessionAction.send(.available(id: id, false, info: Info.notFound))]
    return appKey == Self.roomApplication ? nothing : start(name, .looking(id: id), full: nothing)
  }

  // MARK: - Memberships

  /// Begins a membership. Who is not proved to be somebody is another user in each room of a single stream, so that they may publish
  /// and play the same.
  private mutating func start(_ room: String, _ purpose: Membership.Purpose, full: [SessionAction]) -> [SessionAction] {
    if case .room = purpose, let last = spare.popLast() {
      rooms[room] = last.number
      members[last.number] = Membership(room: room, purpose: purpose, proof: proofs[room], after: last.membership)
      return on(last.number) { $0.joinAgain() }
    }
    guard members.count + spare.count < Self.mostMembers, var identity, let number = number() else { return full }
    var hello = greeting
    var proof: String?
    if case .room = purpose {
      (proof, rooms[room]) = (proofs[room], number)
    } else {
      identity.opensStreamRooms = true
      if !identity.isVerified {
        let user = "\(identity.user.shortened(to: ProtocolLimits.nameBytes - 9))-\(digits())"
        identity.countsAs = identity.user
        (identity.user, identity.displayName, hello.user, hello.displayName) = (user, user, user, user)
      }
    }
    members[number] = Membership(room: room, purpose: purpose, isVerified: identity.isVerified, proof: proof)
    return [.hello(number, hello, identity)]
  }

  private mutating func onRoom(_ room: String, _ change: (inout Membership) -> [MembershipAction]) -> [SessionAction] {
    rooms[room].map { on($0, change) } ?? []
  }

  private mutating func onStream(_ id: String, _ change: (inout Membership) -> [MembershipAction]) -> [SessionAction] {
    guard let number = members.first(where: { $0.value.has(id) })?.key else {
      return [.send(.fail(.init(info: Info.notFound)))]
    }
    return on(number, change)
  }

  /// Changes a membership, for the core or for the client.
  mutating func on(_ number: UInt64, _ change: (inout Membership) -> [MembershipAction]) -> [SessionAction] {
    // Taken out, so that it is changed where it is and not copied.
    guard var member = members.removeValue(forKey: number) else { return [] }
    var actions = change(&member)
    if actions.contains(.leave) {
      if rooms[member.room] == number { rooms[member.room] = nil }
      if member.isRoom, member.hasSession { spend(number, &member, &actions) }
    } else {
      members[number] = member
    }
    return actions.flatMap { self.action($0, number, room: member.room) }
  }

  /// The core has ended the session of a membership.
  mutating func sessionEnded(_ number: UInt64, _ info: String) -> [SessionAction] {
    guard let index = spare.firstIndex(where: { $0.number == number }) else { return on(number) { $0.ended(by: info) } }
    return [.leave(number, room: spare.remove(at: index).membership.room)]
  }

  /// Keeps the session of a membership that is over for the next join. Who waits in a lobby goes on waiting there.
  private mutating func spend(_ number: UInt64, _ member: inout Membership, _ actions: inout [MembershipAction]) {
    actions.removeAll { $0 == .leave }
    if member.mayHaveSeat { actions.append(member.vacate()) }
    spare.append((number, member))
  }

  private mutating func action(_ action: MembershipAction, _ number: UInt64, room: String) -> [SessionAction] {
    switch action {
    case .send(let message): return [.send(message)]
    case .ask(let id, let request): return [.ask(number, id, request)]
    case .stream(let id, let request): return [.stream(number, id, request)]
    case .leave: return [.leave(number, room: room)]
    case .warn(let stream, let why): return [.warn(stream: stream, why: why)]
    case .tellOfStop:
      defer { hasToldOfStop = true }
      return hasToldOfStop ? [] : [.send(.fail(.init(info: Info.stopping)))]
    }
  }
}

extension Membership {
  /// Whether a stream of the client's is its, or will be.
  func has(_ id: String) -> Bool {
    switch purpose {
    case .publishing(let wish), .playing(let wish): wish.id == id
    case .room, .looking: streams[id] != nil
    }
  }
}

extension String {
  /// The beginning of it, of so many bytes at most, without half of a character.
  fileprivate func shortened(to bytes: Int) -> String {
    var text = self
    while text.utf8.count > bytes { text.removeLast() }
    return text
  }
}
