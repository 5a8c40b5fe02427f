// What an operation wants of the conference, and how the answer reads.
import Basics
import FoundationEssentials
import Members
import Names
import RoostProtocol

/// Of whom something is asked, and what is made of what has come of it.
enum APIPlan {
  /// The conference.
  case perform(OperatorAction, result: @Sendable (OperatorAnswer) throws(ErrorObject) -> any Encodable & Sendable)
  /// The record file: events with higher numbers.
  case replay(after: Int64)

  private init(
    _ wish: OperatorAction,
    result: @escaping @Sendable (OperatorAnswer) throws(ErrorObject) -> any Encodable & Sendable
  ) {
    self = .perform(wish, result: result)
  }

  /// - Throws: −32602 naming what the request lacks, or has too much.
  init(_ operation: APIOperation, _ request: APIRequest) throws(ErrorObject) {
    let (page, room) = (try request.page(), try request.query("room"))
    switch operation {
    case .listRooms: self.init(.look) { (answer) throws(ErrorObject) in try RoomPage(answer, page) }
    case .readRoom: self.init(.lookAt(room: try request.segment("room")), result: APIPlan.room)
    case .changeRoom: self.init(try APIPlan.change(request), result: APIPlan.room)
    case .endRoom: self.init(.closeRoom(try request.segment("room")), result: APIPlan.removed)
    case .listSettings: self.init(.allSettings(page: page), result: APIPlan.definitions)
    case .makeRoom: self.init(try APIPlan.make(request), result: APIPlan.definition)
    case .readSettings: self.init(.settings(of: try request.segment("room")), result: APIPlan.definition)
    case .replaceSettings: self.init(try APIPlan.replaceSettings(request), result: APIPlan.definition)
    case .takeBackSettings: self.init(try APIPlan.takeBackSettings(request), result: APIPlan.removed)
    case .moveParticipant: self.init(try APIPlan.move(request), result: APIPlan.moved)
    case .removeParticipant:
      self.init(
        .remove(user: try request.segment("user"), room: try request.segment("room")), result: APIPlan.removed)
    case .moderate:
      let params = try APIPlan.moderation(request)
      self.init(.moderate(params)) { _ in ModerationDone(room: params.room, action: params.action) }
    case .say: self.init(try APIPlan.message(request), result: APIPlan.said)
    case .sendMessage:
      self.init(try APIPlan.data(request, room: try request.segment("room")), result: APIPlan.sent)
    case .liftBan:
      self.init(.liftBan(user: try request.segment("user"), room: try request.segment("room")), result: APIPlan.lifted)
    case .listBans: self.init(.bans(room: room, page: page), result: APIPlan.bans)
    case .banAddress: self.init(try APIPlan.ban(try request.body(BanWish.self)), result: APIPlan.bans)
    case .liftAddress:
      self.init(.liftAddress(try APIPlan.address(try request.segment("address")), room: room), result: APIPlan.lifted)
    case .listBlocks: self.init(.blockCounts(page: page), result: APIPlan.blockCounts)
    case .readBlocks: self.init(.blocks(of: try request.segment("user")), result: APIPlan.blocks)
    case .liftBlocks: self.init(.liftBlocks(of: try request.segment("user"), blocked: nil), result: APIPlan.lifted)
    case .liftBlock:
      self.init(
        .liftBlocks(of: try request.segment("user"), blocked: try request.segment("blocked")), result: APIPlan.lifted)
    case .listRevoked: self.init(.revoked(page: page), result: APIPlan.revoked)
    case .revokeToken: self.init(.revoke(try request.segment("jti")), result: APIPlan.removed)
    case .restoreToken: self.init(.liftRevocation(try request.segment("jti")), result: APIPlan.lifted)
    case .listGrants: self.init(.narrowings(of: nil, page: page), result: APIPlan.grants)
    case .readGrants: self.init(.narrowings(of: try request.segment("user"), page: page), result: APIPlan.grants)
    case .narrowGrants: self.init(try APIPlan.narrowing(request), result: APIPlan.narrowed)
    case .restoreGrants:
      self.init(.liftNarrowings(of: try request.segment("user"), room: room), result: APIPlan.lifted)
    case .listCalls: self.init(.look) { (answer) throws(ErrorObject) in try CallPage(answer, page) }
    case .readCall: self.init(.call(try request.segment("call")), result: APIPlan.call)
    case .readUser: self.init(.user(try request.segment("user")), result: APIPlan.user)
    case .readHistory:
      self.init(
        .history(of: try request.segment("user"), before: try request.query("before")), result: APIPlan.history)
    case .seeMissed: self.init(.see(try request.segment("user")), result: APIPlan.seen)
    case .startCall: self.init(try APIPlan.start(try request.body(CallWish.self)), result: APIPlan.call)
    case .invite: self.init(try APIPlan.invite(request), result: APIPlan.invited)
    case .withdrawInvitation:
      self.init(
        .withdraw(user: try request.segment("user"), call: try request.segment("call")), result: APIPlan.removed)
    case .endCall: self.init(.endCall(try request.segment("call")), result: APIPlan.ended)
    case .removeFromCall:
      self.init(
        .removeFromCall(user: try request.segment("user"), call: try request.segment("call")), result: APIPlan.removed)
    case .sendCallMessage:
      self.init(try APIPlan.data(request, call: try request.segment("call")), result: APIPlan.sent)
    case .listEvents: self = .replay(after: try request.number("after") ?? 0)
    }
  }
}

// MARK: - What is asked for

extension APIPlan {
  private static func change(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let (room, change) = (try request.segment("room"), try request.body(RoomChange.self))
    guard change.media != nil || change.locked != nil else {
      throw .parameter("body", expected: "locked, media or both")
    }
    return .change(room: room, media: change.media, locked: change.locked)
  }

  private static func move(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let wish = try request.body(MoveWish.self)
    guard let target = try APIRequest.name(wish.to, "to") else { throw .parameter("to", expected: "the other room") }
    return .move(user: try request.segment("user"), room: try request.segment("room"), to: target)
  }

  private static func ban(_ wish: BanWish) throws(ErrorObject) -> OperatorAction {
    let (user, room) = (try APIRequest.name(wish.user, "user"), try APIRequest.name(wish.room, "room"))
    switch (wish.address, user) {
    case (let text?, nil): return .banAddress(try address(text), room: room, until: wish.until)
    case (nil, let user?):
      guard let room else { throw .parameter("room", expected: "the room that the user is in") }
      return .banAddressOf(user: user, room: room, until: wish.until)
    case (nil, nil), (_?, _?): throw .parameter("address", expected: "either address or user")
    }
  }

  private static func moderation(_ request: APIRequest) throws(ErrorObject) -> ModerateParams {
    let wish = try request.body(ModerationWish.self)
    let params = ModerateParams(
      room: try request.segment("room"), action: wish.action, user: wish.user, kind: wish.kind, role: wish.role,
      until: wish.until, hold: wish.hold, address: wish.address, media: wish.media)
    try Request.room(.moderate(params)).validate()
    _ = try APIRequest.name(wish.user, "user")
    return params
  }

  /// Text and recipients are held to the bounds of the wire, and the name to that of people.
  private static func message(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let (wish, room) = (try request.body(ChatWish.self), try request.segment("room"))
    guard let name = try APIRequest.name(wish.displayName, "displayName"), ProtocolLimits.isName(name) else {
      throw .parameter("displayName", expected: "a name of at most \(ProtocolLimits.nameBytes) bytes")
    }
    try checkWhole(.chat(.send(ChatSendParams(room: room, text: wish.text, to: wish.to))))
    return .say(wish.text, as: name, room: room, to: wish.to)
  }

  /// It is held to the bounds of the wire, and the name to that of people.
  private static func data(
    _ request: APIRequest, room: String? = nil, call: String? = nil
  ) throws(ErrorObject) -> OperatorAction {
    let wish = try request.body(MessageWish.self)
    let name = try APIRequest.name(wish.displayName, "displayName")
    if let name, !ProtocolLimits.isName(name) {
      throw .parameter("displayName", expected: "a name of at most \(ProtocolLimits.nameBytes) bytes")
    }
    let params = MessageSendParams(room: room, callId: call, to: wish.to, topic: wish.topic, data: wish.data)
    try checkWhole(.message(.send(params)))
    return .send(params, as: name)
  }

  /// The same bounds as at the native door, and the same form of names.
  private static func checkWhole(_ request: Request) throws(ErrorObject) {
    try request.validate()
    try request.checkNames()
  }

  private static func start(_ wish: CallWish) throws(ErrorObject) -> OperatorAction {
    let params = CallStartParams(
      to: wish.to, kind: wish.kind ?? .oneToOne, media: wish.media ?? .video, ringTimeoutMs: wish.ringTimeoutMs,
      rejectPolicy: wish.rejectPolicy, busyPolicy: wish.busyPolicy, extra: wish.extra, push: wish.push)
    try Request.call(.start(params)).validate()
    return .startCall(params, of: try APIRequest.name(wish.from, "from"))
  }

  private static func invite(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let wish = try request.body(InviteWish.self)
    let params = CallInviteParams(
      callId: try request.segment("call"), users: wish.users, extra: wish.extra, push: wish.push,
      ringTimeoutMs: wish.ringTimeoutMs, busyPolicy: wish.busyPolicy)
    try Request.call(.invite(params)).validate()
    return .invite(params, as: try APIRequest.name(wish.from, "from"))
  }

  private static func address(_ text: String) throws(ErrorObject) -> AddressRange {
    guard let range = AddressRange(text) else {
      throw .parameter("address", expected: "an address of IPv4 or IPv6, or a network such as 203.0.113.0/24")
    }
    return range
  }

  private static func narrowing(_ request: APIRequest) throws(ErrorObject) -> OperatorAction {
    let wish = try request.body(GrantsWish.self)
    guard wish.grants.allSatisfy(Grant.known.contains) else {
      throw .parameter("grants", expected: "some of \(Grant.known.map(\.rawValue).joined(separator: ", "))")
    }
    return .narrow(
      user: try request.segment("user"), to: Rights(wish.grants), room: try APIRequest.name(wish.room, "room"))
  }
}

// MARK: - What has come of it

extension APIPlan {
  typealias Result = any Encodable & Sendable

  @Sendable private static func removed(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .removed(let count) = answer else { throw ErrorObject(.internalError) }
    return RemovedCount(removed: count)
  }

  @Sendable private static func moved(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .moved(let count) = answer else { throw ErrorObject(.internalError) }
    return MovedCount(moved: count)
  }

  @Sendable private static func lifted(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .lifted(let count) = answer else { throw ErrorObject(.internalError) }
    return LiftedCount(lifted: count)
  }

  @Sendable private static func room(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .overview(let overview) = answer, let room = overview.rooms.first else {
      throw ErrorObject(.internalError)
    }
    return RoomEntry(room)
  }

  @Sendable private static func blockCounts(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .blockCounts(let counts, let next) = answer else { throw ErrorObject(.internalError) }
    let users = counts.users.map { BlockingUser(user: $0.user, blocks: $0.blocks) }
    return BlockingPage(count: counts.count, limit: counts.limit, users: users, next: next)
  }

  @Sendable private static func blocks(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .blocks(let blocks) = answer else { throw ErrorObject(.internalError) }
    return BlockList(blocked: blocks.map(\.blocked))
  }

  @Sendable private static func ended(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .ended(let call) = answer else { throw ErrorObject(.internalError) }
    return call
  }

  @Sendable private static func said(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .said(let result) = answer else { throw ErrorObject(.internalError) }
    return result
  }

  @Sendable private static func sent(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .sent(let result) = answer else { throw ErrorObject(.internalError) }
    return result
  }

  @Sendable private static func call(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .call(let call) = answer else { throw ErrorObject(.internalError) }
    return call
  }

  @Sendable private static func user(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .user(let known, let call, let missed) = answer else { throw ErrorObject(.internalError) }
    return UserEntry(
      user: known.user, online: known.devices > 0, reachable: known.reachable, devices: known.devices, call: call,
      missed: missed)
  }

  @Sendable private static func history(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .history(let page) = answer else { throw ErrorObject(.internalError) }
    return page
  }

  @Sendable private static func seen(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .seen(let count) = answer else { throw ErrorObject(.internalError) }
    return SeenCount(seen: count)
  }

  @Sendable private static func invited(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .invited(let result) = answer else { throw ErrorObject(.internalError) }
    return result
  }

  @Sendable private static func narrowed(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .narrowed(let count) = answer else { throw ErrorObject(.internalError) }
    return NarrowedCount(narrowed: count)
  }

  @Sendable private static func bans(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .bans(let bans, let addresses, let next) = answer else { throw ErrorObject(.internalError) }
    let users = bans.map {
      BanEntry(
        room: $0.room, user: $0.user, address: nil, until: $0.until,
        by: $0.by.isExactly(KeptBan.operators) ? nil : $0.by)
    }
    let others = addresses.map {
      BanEntry(
        room: $0.subject.room, user: $0.subject.user, address: $0.subject.address.description, until: $0.until,
        by: $0.by)
    }
    return BanPage(bans: users + others, next: next)
  }

  @Sendable private static func revoked(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .revoked(let tokens, let next) = answer else { throw ErrorObject(.internalError) }
    return RevokedPage(revoked: tokens.map { RevokedToken(jti: $0.tokenID, until: $0.until) }, next: next)
  }

  @Sendable private static func grants(_ answer: OperatorAnswer) throws(ErrorObject) -> Result {
    guard case .narrowings(let all, let next) = answer else { throw ErrorObject(.internalError) }
    let entries = all.map {
      GrantsEntry(
        user: $0.subject.user, room: $0.subject.room, grants: $0.rights.grants, at: $0.at, until: $0.until)
    }
    return GrantsPage(grants: entries, next: next)
  }
}

extension RoomPage {
  fileprivate init(_ answer: OperatorAnswer, _ page: Int) throws(ErrorObject) {
    guard case .overview(let overview) = answer else { throw ErrorObject(.internalError) }
    let (shown, next) = OperatorAnswer.page(page, of: overview.rooms)
    self.init(rooms: shown.map { RoomEntry($0) }, next: next)
  }
}

extension CallPage {
  fileprivate init(_ answer: OperatorAnswer, _ page: Int) throws(ErrorObject) {
    guard case .overview(let overview) = answer else { throw ErrorObject(.internalError) }
    let (calls, next) = OperatorAnswer.page(page, of: overview.calls)
    self.init(calls: calls, next: next)
  }
}

extension RoomEntry {
  fileprivate init(_ room: OperatorOverview.Room) {
    self.init(
      room: room.room, origin: room.origin.rawValue, kind: room.kind, media: room.media, limit: room.limit,
      locked: room.locked, lobby: room.lobby, chatDisabled: room.chatDisabled, waiting: room.waiting,
      participants: room.participants.map { RoomPerson(participant: $0.participant, door: $0.entrance.rawValue) })
  }
}
