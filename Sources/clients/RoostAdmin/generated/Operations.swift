// swift-format-ignore-file
// Made by scripts/wire of Operations.swift and Objects.swift under Sources/doors/API; `make wire` makes it again. Do not edit.
import RoostProtocol

extension AdminClient {
  /// Rooms and who is in them, by name; behind them those that nobody has come back to since a restart, and that are not as usual.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listRooms(page: Int? = nil) async throws(AdminError) -> RoomPage {
    try await ask("GET", ["rooms"], query: [("page", page)])
  }

  /// One room and who is in it.
  public func readRoom(room: String) async throws(AdminError) -> RoomEntry {
    try await ask("GET", ["rooms", room])
  }

  /// Locks a room or opens it again, and has it go on without video or with it. Both, or nothing where one is refused. What is so already stays so.
  @discardableResult
  public func changeRoom(room: String, _ body: RoomChange) async throws(AdminError) -> RoomEntry {
    try await ask("PATCH", ["rooms", room], body: body)
  }

  /// Ends what goes on in a room: puts everybody out.
  @discardableResult
  public func endRoom(room: String) async throws(AdminError) -> RemovedCount {
    try await ask("DELETE", ["rooms", room])
  }

  /// Rooms that are configured, made or changed, and their settings, by name; also those that are not served.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listSettings(page: Int? = nil) async throws(AdminError) -> RoomDefinitionPage {
    try await ask("GET", ["settings"], query: [("page", page)])
  }

  /// Makes a room, or takes one as it is that somebody has joined. 409 where it has settings already.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func makeRoom(_ body: RoomWish, once: String? = nil) async throws(AdminError) -> RoomDefinition {
    try await ask("POST", ["rooms"], body: body, once: once)
  }

  /// What a room is to be like.
  public func readSettings(room: String) async throws(AdminError) -> RoomDefinition {
    try await ask("GET", ["rooms", room, "settings"])
  }

  /// Gives a room other settings, in place of all that it has. Nobody is put out.
  /// - Parameter ifMatch: What has to hold of what is changed: 412 where somebody else was first.
  @discardableResult
  public func replaceSettings(
    room: String,
    _ body: RoomSettings,
    ifMatch: IfMatch
  ) async throws(AdminError) -> RoomDefinition {
    try await ask("PUT", ["rooms", room, "settings"], body: body, ifMatch: ifMatch)
  }

  /// Takes a room's settings back: one that was made is over, and who is in it is put out; of a configured one rooms.yaml holds again.
  /// - Parameter ifMatch: What has to hold of what is changed: 412 where somebody else was first.
  @discardableResult
  public func takeBackSettings(room: String, ifMatch: IfMatch? = nil) async throws(AdminError) -> RemovedCount {
    try await ask("DELETE", ["rooms", room, "settings"], ifMatch: ifMatch)
  }

  /// Puts a user out of a room. They may come back.
  @discardableResult
  public func removeParticipant(room: String, user: String) async throws(AdminError) -> RemovedCount {
    try await ask("DELETE", ["rooms", room, "participants", user])
  }

  /// Moves a user to another room, with their connections and what they publish. 0 where they are there already.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func moveParticipant(
    room: String,
    user: String,
    _ body: MoveWish,
    once: String? = nil
  ) async throws(AdminError) -> MovedCount {
    try await ask("POST", ["rooms", room, "participants", user, "move"], body: body, once: once)
  }

  /// Does what moderators of a room may: mute, stop video, kick, ban, open a lobby, admit, give roles, and so on. Those in the room hear of it as of a moderator's, without `by`.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func moderate(
    room: String,
    _ body: ModerationWish,
    once: String? = nil
  ) async throws(AdminError) -> ModerationDone {
    try await ask("POST", ["rooms", room, "moderation"], body: body, once: once)
  }

  /// Writes in a room's chat, under a name that is no user's: `from` of the message is empty. Nobody waits for the disk, so `stored` is false.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func say(room: String, _ body: ChatWish, once: String? = nil) async throws(AdminError) -> ChatSendResult {
    try await ask("POST", ["rooms", room, "messages"], body: body, once: once)
  }

  /// Sends a custom message to those in a room, or to some of them: `from` of `message.received` is empty. Nobody keeps it.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func sendMessage(
    room: String,
    _ body: MessageWish,
    once: String? = nil
  ) async throws(AdminError) -> MessageSendResult {
    try await ask("POST", ["rooms", room, "data"], body: body, once: once)
  }

  /// Takes a user's ban from a room back, with that of the address.
  @discardableResult
  public func liftBan(room: String, user: String) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["rooms", room, "bans", user])
  }

  /// Who is banned from a room, or from any.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  /// - Parameter room: Name of a room.
  public func listBans(page: Int? = nil, room: String? = nil) async throws(AdminError) -> BanPage {
    try await ask("GET", ["bans"], query: [("page", page), ("room", room)])
  }

  /// Bans an address, or that of somebody who is in a room.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func banAddress(_ body: BanWish, once: String? = nil) async throws(AdminError) -> BanPage {
    try await ask("POST", ["bans"], body: body, once: once)
  }

  /// Takes the bans of exactly this address or network back: those of a room, or all.
  /// - Parameter room: Name of a room.
  @discardableResult
  public func liftAddress(address: String, room: String? = nil) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["bans", address], query: [("room", room)])
  }

  /// How many others each user has blocked.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listBlocks(page: Int? = nil) async throws(AdminError) -> BlockingPage {
    try await ask("GET", ["blocks"], query: [("page", page)])
  }

  /// Whether a user is there, in which call, and how many calls they missed.
  public func readUser(user: String) async throws(AdminError) -> UserEntry {
    try await ask("GET", ["users", user])
  }

  /// A user's calls, newest first, a hundred to a page: those that are in memory. Nothing counts as looked at by that.
  /// - Parameter before: `next` of the page before: only what is older.
  public func readHistory(user: String, before: String? = nil) async throws(AdminError) -> CallHistoryResult {
    try await ask("GET", ["users", user, "calls"], query: [("before", before)])
  }

  /// A user has looked at the calls that they missed.
  @discardableResult
  public func seeMissed(user: String) async throws(AdminError) -> SeenCount {
    try await ask("DELETE", ["users", user, "missed"])
  }

  /// Whom a user has blocked.
  public func readBlocks(user: String) async throws(AdminError) -> BlockList {
    try await ask("GET", ["users", user, "blocks"])
  }

  /// Lifts all blocks of a user.
  @discardableResult
  public func liftBlocks(user: String) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["users", user, "blocks"])
  }

  /// Lifts one block of a user.
  @discardableResult
  public func liftBlock(user: String, blocked: String) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["users", user, "blocks", blocked])
  }

  /// Tokens that were taken back.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listRevoked(page: Int? = nil) async throws(AdminError) -> RevokedPage {
    try await ask("GET", ["revoked"], query: [("page", page)])
  }

  /// Takes a token back by its `jti`. Who came by it goes.
  @discardableResult
  public func revokeToken(jti: String) async throws(AdminError) -> RemovedCount {
    try await ask("PUT", ["revoked", jti])
  }

  /// Believes a token again.
  @discardableResult
  public func restoreToken(jti: String) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["revoked", jti])
  }

  /// Users whose grants were narrowed.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listGrants(page: Int? = nil) async throws(AdminError) -> GrantsPage {
    try await ask("GET", ["grants"], query: [("page", page)])
  }

  /// What is left of a user's grants.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func readGrants(user: String, page: Int? = nil) async throws(AdminError) -> GrantsPage {
    try await ask("GET", ["users", user, "grants"], query: [("page", page)])
  }

  /// Leaves a user only these of the grants that their tokens give, until they show a newer token.
  @discardableResult
  public func narrowGrants(user: String, _ body: GrantsWish) async throws(AdminError) -> NarrowedCount {
    try await ask("PUT", ["users", user, "grants"], body: body)
  }

  /// Gives a user back what their tokens give: in a room, or everywhere.
  /// - Parameter room: Name of a room.
  @discardableResult
  public func restoreGrants(user: String, room: String? = nil) async throws(AdminError) -> LiftedCount {
    try await ask("DELETE", ["users", user, "grants"], query: [("room", room)])
  }

  /// Calls that ring or run, the oldest first.
  /// - Parameter page: Which page, from 1 on. An answer has `next` where one follows.
  public func listCalls(page: Int? = nil) async throws(AdminError) -> CallPage {
    try await ask("GET", ["calls"], query: [("page", page)])
  }

  /// One call that rings or runs, or how it ended: for as long as `calls.tombstone` says.
  public func readCall(call: String) async throws(AdminError) -> Call {
    try await ask("GET", ["calls", call])
  }

  /// Calls users for one of them. The caller's devices ring first, and everybody else once the caller has picked up.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func startCall(_ body: CallWish, once: String? = nil) async throws(AdminError) -> Call {
    try await ask("POST", ["calls"], body: body, once: once)
  }

  /// Rings users for a call that somebody is in.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func invite(
    call: String,
    _ body: InviteWish,
    once: String? = nil
  ) async throws(AdminError) -> CallInviteResult {
    try await ask("POST", ["calls", call, "invitations"], body: body, once: once)
  }

  /// Stops ringing a user, whoever has called or invited them.
  @discardableResult
  public func withdrawInvitation(call: String, user: String) async throws(AdminError) -> RemovedCount {
    try await ask("DELETE", ["calls", call, "invitations", user])
  }

  /// Ends a call for everybody. The call as it ended.
  @discardableResult
  public func endCall(call: String) async throws(AdminError) -> Call {
    try await ask("DELETE", ["calls", call])
  }

  /// Puts a user out of a call, or stops ringing them.
  @discardableResult
  public func removeFromCall(call: String, user: String) async throws(AdminError) -> RemovedCount {
    try await ask("DELETE", ["calls", call, "participants", user])
  }

  /// Sends a custom message to those in a call, or to some of them: `from` of `message.received` is empty. Nobody keeps it.
  /// - Parameter once: Its `Idempotency-Key`, 1 to 255 visible characters of ASCII: with the same one it is not done again, and its answer comes again.
  @discardableResult
  public func sendCallMessage(
    call: String,
    _ body: MessageWish,
    once: String? = nil
  ) async throws(AdminError) -> MessageSendResult {
    try await ask("POST", ["calls", call, "data"], body: body, once: once)
  }

  /// Events behind a number, in order, delivered or not: as many as fit. Ask again after the last of them, until there is none.
  /// - Parameter after: The number of the last event that is known; 0 without a word.
  public func listEvents(after: Int? = nil) async throws(AdminError) -> ReplayPage {
    try await ask("GET", ["events"], query: [("after", after)], itemsOf: "events")
  }
}
