// Everything that the API does: one line for each, which scripts/wire reads. It makes the table of routes, and the OpenAPI document.
//
// `// METHOD /path ?query If-Match Body -> Result`, with another status than 200 before the result: names in braces are segments of the path, and each `?name` may be in the query, as may `realm`.
// `If-Match` stands where a request may say what it means to change, `If-Match!` where it must.

/// One thing that the API does. The comment is the summary that its document has.
public enum APIOperation: String, CaseIterable, Sendable {
  /// Rooms and who is in them, by name; behind them those that nobody has come back to since a restart, and that are not as usual.
  case listRooms  // GET /rooms ?page -> RoomPage
  /// One room and who is in it.
  case readRoom  // GET /rooms/{room} -> RoomEntry
  /// Locks a room or opens it again, and has it go on without video or with it. Both, or nothing where one is refused. What is so already stays so.
  case changeRoom  // PATCH /rooms/{room} RoomChange -> RoomEntry
  /// Ends what goes on in a room: puts everybody out.
  case endRoom  // DELETE /rooms/{room} -> RemovedCount
  /// Rooms that are configured, made or changed, and their settings, by name; also those that are not served.
  case listSettings  // GET /settings ?page -> RoomDefinitionPage
  /// Makes a room, or takes one as it is that somebody has joined. 409 where it has settings already.
  case makeRoom  // POST /rooms RoomWish -> 201 RoomDefinition
  /// What a room is to be like.
  case readSettings  // GET /rooms/{room}/settings -> RoomDefinition
  /// Gives a room other settings, in place of all that it has. Nobody is put out.
  case replaceSettings  // PUT /rooms/{room}/settings If-Match! RoomSettings -> RoomDefinition
  /// Takes a room's settings back: one that was made is over, and who is in it is put out; of a configured one rooms.yaml holds again.
  case takeBackSettings  // DELETE /rooms/{room}/settings If-Match -> RemovedCount
  /// Puts a user out of a room. They may come back.
  case removeParticipant  // DELETE /rooms/{room}/participants/{user} -> RemovedCount
  /// Moves a user to another room, with their connections and what they publish. 0 where they are there already.
  case moveParticipant  // POST /rooms/{room}/participants/{user}/move MoveWish -> MovedCount
  /// Does what moderators of a room may: mute, stop video, kick, ban, open a lobby, admit, give roles, and so on. Those in the room hear of it as of a moderator's, without `by`.
  case moderate  // POST /rooms/{room}/moderation ModerationWish -> ModerationDone
  /// Writes in a room's chat, under a name that is no user's: `from` of the message is empty. Nobody waits for the disk, so `stored` is false.
  case say  // POST /rooms/{room}/messages ChatWish -> ChatSendResult
  /// Sends a custom message to those in a room, or to some of them: `from` of `message.received` is empty. Nobody keeps it.
  case sendMessage  // POST /rooms/{room}/data MessageWish -> MessageSendResult
  /// Takes a user's ban from a room back, with that of the address.
  case liftBan  // DELETE /rooms/{room}/bans/{user} -> LiftedCount
  /// Who is banned from a room, or from any.
  case listBans  // GET /bans ?page ?room -> BanPage
  /// Bans an address, or that of somebody who is in a room.
  case banAddress  // POST /bans BanWish -> BanPage
  /// Takes the bans of exactly this address or network back: those of a room, or all.
  case liftAddress  // DELETE /bans/{address} ?room -> LiftedCount
  /// How many others each user has blocked.
  case listBlocks  // GET /blocks ?page -> BlockingPage
  /// Whether a user is there, in which call, and how many calls they missed.
  case readUser  // GET /users/{user} -> UserEntry
  /// A user's calls, newest first, a hundred to a page: those that are in memory. Nothing counts as looked at by that.
  case readHistory  // GET /users/{user}/calls ?before -> CallHistoryResult
  /// A user has looked at the calls that they missed.
  case seeMissed  // DELETE /users/{user}/missed -> SeenCount
  /// Whom a user has blocked.
  case readBlocks  // GET /users/{user}/blocks -> BlockList
  /// Lifts all blocks of a user.
  case liftBlocks  // DELETE /users/{user}/blocks -> LiftedCount
  /// Lifts one block of a user.
  case liftBlock  // DELETE /users/{user}/blocks/{blocked} -> LiftedCount
  /// Tokens that were taken back.
  case listRevoked  // GET /revoked ?page -> RevokedPage
  /// Takes a token back by its `jti`. Who came by it goes.
  case revokeToken  // PUT /revoked/{jti} -> RemovedCount
  /// Believes a token again.
  case restoreToken  // DELETE /revoked/{jti} -> LiftedCount
  /// Users whose grants were narrowed.
  case listGrants  // GET /grants ?page -> GrantsPage
  /// What is left of a user's grants.
  case readGrants  // GET /users/{user}/grants ?page -> GrantsPage
  /// Leaves a user only these of the grants that their tokens give, until they show a newer token.
  case narrowGrants  // PUT /users/{user}/grants GrantsWish -> NarrowedCount
  /// Gives a user back what their tokens give: in a room, or everywhere.
  case restoreGrants  // DELETE /users/{user}/grants ?room -> LiftedCount
  /// Calls that ring or run, the oldest first.
  case listCalls  // GET /calls ?page -> CallPage
  /// One call that rings or runs, or how it ended: for as long as `calls.tombstone` says.
  case readCall  // GET /calls/{call} -> Call
  /// Calls users for one of them. The caller's devices ring first, and everybody else once the caller has picked up.
  case startCall  // POST /calls CallWish -> 201 Call
  /// Rings users for a call that somebody is in.
  case invite  // POST /calls/{call}/invitations InviteWish -> CallInviteResult
  /// Stops ringing a user, whoever has called or invited them.
  case withdrawInvitation  // DELETE /calls/{call}/invitations/{user} -> RemovedCount
  /// Ends a call for everybody. The call as it ended.
  case endCall  // DELETE /calls/{call} -> Call
  /// Puts a user out of a call, or stops ringing them.
  case removeFromCall  // DELETE /calls/{call}/participants/{user} -> RemovedCount
  /// Sends a custom message to those in a call, or to some of them: `from` of `message.received` is empty. Nobody keeps it.
  case sendCallMessage  // POST /calls/{call}/data MessageWish -> MessageSendResult
  /// Events behind a number, in order, delivered or not: as many as fit. Ask again after the last of them, until there is none.
  case listEvents  // GET /events ?after -> ReplayPage
}

/// What an operation is at HTTP.
struct APIRoute: Sendable {
  let method: String
  /// Behind `API.root`.
  let path: String
  /// What a query may say.
  let query: [String]
  /// Fields that the content may have; nil where there is none.
  let body: [String]?
  /// What is answered where it was done.
  var status = 200
  /// Whether it may or must have `If-Match`.
  var condition = Condition.none

  /// Whether a request says what it means to change.
  enum Condition { case none, allowed, required }
}
