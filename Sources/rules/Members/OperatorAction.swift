// What an operator may do from outside: look, take tokens and grants back, make, change, end, close and lock rooms, put people out, see, make
// and lift bans, lift blocks, start calls, ask users into them, end them.

import Basics
import Calls
import RoostProtocol

/// An operator's wish.
public enum OperatorAction: Hashable, Sendable {
  /// Shows rooms and calls, and who is in them.
  case look
  /// Shows one room, and who is in it.
  case lookAt(room: String)
  /// Makes a room that stays until its settings are taken back, locked or with a lobby.
  case makeRoom(String, RoomPlan, locked: Bool, lobby: Bool)
  /// Shows the settings of a room.
  case settings(of: String)
  /// Shows those of all rooms that are configured, made or changed; pages as of bans.
  case allSettings(page: Int = 1)
  /// Gives a room other settings, whole, in place of those that it has.
  case replaceSettings(of: String, RoomPlan, TagCondition)
  /// Takes settings back: a configured room is as configured again, one that was made is over.
  case takeBackSettings(of: String, TagCondition)
  /// Puts everybody out of a room.
  case closeRoom(String)
  /// Lets nobody more into a room, or lets people in again, whoever has locked it or opened a lobby. Who is in it stays, and may come back from a lost connection.
  case setLocked(Bool, room: String)
  /// Locks a room or opens it, and lets it go on with this: both, or nothing where one is refused. What is so already stays so. The answer is the
  /// room as it is then.
  case change(room: String, media: MediaClass?, locked: Bool?)
  /// Lets a room go on with video, or without.
  case setMedia(MediaClass, room: String)
  /// Does what moderators of a room may, as `room.moderate` says it.
  case moderate(ModerateParams)
  /// Writes to those in a room, or to some of them, under a name that is no user's.
  case say(String, as: String, room: String, to: [String]?)
  /// Sends a custom message to those in a room or call, or to some of them, under a name that is no user's.
  case send(MessageSendParams, as: String?)
  /// Puts a user out of a room.
  case remove(user: String, room: String)
  /// Moves a user from a room to another one, with their media connections and what they publish.
  case move(user: String, room: String, to: String)
  /// Shows who is banned from a room, or from any, and which addresses are. Pages have `OperatorAnswer.pageSize` bans and begin with 1.
  case bans(room: String?, page: Int = 1)
  /// Takes a ban back, with the address.
  case liftBan(user: String, room: String)
  /// Bans an address or a network from a room, or from all: until then (milliseconds since 1970), or for an hour.
  case banAddress(AddressRange, room: String?, until: Int64?)
  /// Bans the address that somebody is in a room from, from that room, as above.
  case banAddressOf(user: String, room: String, until: Int64?)
  /// Takes back the bans of exactly this address or network, of a room or all there are.
  case liftAddress(AddressRange, room: String?)
  /// Shows how many others each user has blocked, those with the most first; pages as of bans.
  case blockCounts(page: Int = 1)
  /// Shows whom a user has blocked.
  case blocks(of: String)
  /// Lifts a block of a user, or all of them.
  case liftBlocks(of: String, blocked: String?)
  /// Takes a token back by its `jti`, from now on; who came by it goes.
  case revoke(String)
  /// Shows which are taken back; pages as of bans.
  case revoked(page: Int = 1)
  /// Believes a token again.
  case liftRevocation(String)
  /// Leaves a user only these of the grants that their tokens give, until they show a newer token: everywhere, or in a room.
  case narrow(user: String, to: Rights, room: String?)
  /// Shows what is left to whom, or to one user; pages as of bans.
  case narrowings(of: String?, page: Int = 1)
  /// Gives a user back what their tokens give: in a room, or everywhere and in all rooms.
  case liftNarrowings(of: String, room: String?)
  /// Shows whether a user is there, in which call, and how many calls they missed.
  case user(String)
  /// Shows what a user has in their list of calls, newest first: what memory has, before the record of this call.
  case history(of: String, before: String?)
  /// A user has looked at the calls that they missed.
  case see(String)
  /// Shows a call that rings or runs, or that is over and still says what became of it.
  case call(String)
  /// Calls users for one of them, or else for the first of those named: their devices ring first, and the others once they have picked up.
  case startCall(CallStartParams, of: String?)
  /// Rings users for a call, as this member of it does, or else as its host.
  case invite(CallInviteParams, as: String?)
  /// Takes an invitation or a call back: a user stops ringing.
  case withdraw(user: String, call: String)
  /// Puts a user out of a call, or stops ringing them.
  case removeFromCall(user: String, call: String)
  /// Ends a call for everybody.
  case endCall(String)
}

/// What has come of an operator's wish.
public enum OperatorAnswer: Hashable, Sendable {
  case overview(OperatorOverview)
  /// The settings of a room.
  case definition(DefinedRoom)
  /// By room.
  case definitions([DefinedRoom], next: Int? = nil)
  /// Nothing was changed: the settings are others than the condition says.
  case outdated(tag: String)
  /// What moderators may was done.
  case moderated
  /// What was written.
  case said(ChatSendResult)
  /// To how many a custom message went.
  case sent(MessageSendResult)
  /// How many people were put out.
  case removed(Int)
  /// How many people were moved: none where they were in that room already.
  case moved(Int)
  /// Whether a room is locked now; where it was opened, what that has lifted.
  case locked(Bool, lifted: [KeptDoor.Bar] = [])
  /// What a room carries, and how many people it takes then.
  case media(MediaClass, limit: Int)
  /// By room and user, and behind them addresses; those that are over are not among them. `next` is the page that follows, where there
  /// is one.
  case bans([KeptBan], addresses: [KeptAddressBan] = [], next: Int? = nil)
  case blockCounts(BlockCounts, next: Int? = nil)
  /// By whom they are about.
  case blocks([KeptBlock])
  /// How many bans, blocks or narrowings were taken back.
  case lifted(Int)
  /// Tokens that are taken back, by their names.
  case revoked([KeptRevocation], next: Int? = nil)
  /// In how many sessions a user's grants are fewer now.
  case narrowed(Int)
  /// What operators have left of users' grants, by user and room.
  case narrowings([KeptNarrowing], next: Int? = nil)
  /// The call as it ended.
  case ended(Call)
  /// A call as it is, or as it ended.
  case call(Call)
  /// Whether a user is there, the call that they are in, and calls that they missed and have not looked at.
  case user(UserPresence, call: String?, missed: Int)
  case history(CallHistoryResult)
  /// How many missed calls a user had yet to look at.
  case seen(Int)
  /// Who was asked into a call, and who could not be.
  case invited(CallInviteResult)

  /// Entries of one page: an answer is made and written in one go.
  public static let pageSize = 1_000

  /// A page of a list, counted from 1, and which one follows.
  package static func page<Element>(_ number: Int, of all: [Element]) -> (shown: [Element], next: Int?) {
    let number = min(max(number, 1), 1_000_000)
    let rest = all.dropFirst((number - 1) * pageSize)
    return (Array(rest.prefix(pageSize)), rest.count > pageSize ? number + 1 : nil)
  }
}

/// What there is, as an operator sees it.
public struct OperatorOverview: Hashable, Sendable {
  /// One room that is configured or made, or has somebody in it; calls' rooms are none.
  public struct Room: Hashable, Sendable {
    /// Name of the room.
    public var room: String
    /// How there came to be it.
    public var origin: RoomOrigin
    /// Its kind, as configured.
    public var kind: String
    /// Audio or video.
    public var media: MediaClass
    /// Seats.
    public var limit: Int
    /// Whether nobody more is let in.
    public var locked: Bool
    /// Whether who comes waits to be let in.
    public var lobby: Bool
    /// Whether moderators alone may write.
    public var chatDisabled: Bool
    /// Who waits in the lobby, the first first.
    public var waiting: [Waiting]
    /// Who is in it, in the order of joining.
    public var participants: [Person]

    package init(
      room: String, origin: RoomOrigin, kind: String, media: MediaClass, limit: Int, locked: Bool, lobby: Bool,
      chatDisabled: Bool, waiting: [Waiting], participants: [Person]
    ) {
      (self.room, self.origin, self.kind, self.media, self.limit) = (room, origin, kind, media, limit)
      (self.locked, self.lobby, self.chatDisabled) = (locked, lobby, chatDisabled)
      (self.waiting, self.participants) = (waiting, participants)
    }
  }

  /// Somebody in a room.
  public struct Person: Hashable, Sendable {
    /// As others see them.
    public var participant: Participant
    /// How they came; of somebody who is away, how they came last.
    public var entrance: Entrance

    package init(participant: Participant, entrance: Entrance) {
      (self.participant, self.entrance) = (participant, entrance)
    }
  }

  /// Rooms, by name; behind them those that nobody has come back to since a restart, and that are not as usual.
  public var rooms: [Room]
  /// Calls that ring or run, oldest first.
  public var calls: [Call]

  package init(rooms: [Room], calls: [Call]) { (self.rooms, self.calls) = (rooms, calls) }
}

/// Users and how many they have blocked, as operators see them.
public struct BlockCounts: Hashable, Sendable {
  /// One user who has blocked somebody.
  public struct User: Hashable, Sendable {
    /// Who.
    public var user: String
    /// How many others.
    public var blocks: Int

    package init(user: String, blocks: Int) { (self.user, self.blocks) = (user, blocks) }
  }

  /// Blocks of all users.
  public var count: Int
  /// As many as there may be.
  public var limit: Int
  /// Those with the most first.
  public var users: [User]

  package init(count: Int, limit: Int, users: [User]) { (self.count, self.limit, self.users) = (count, limit, users) }
}
