// What is kept beyond the process: changes on their way to the disk, and what an earlier process has left.

import Basics
import Calls
import RoostProtocol

/// One change of what is kept. Changes are made in the order of their tickets.
public enum StoreChange: Equatable, Sendable {
  /// A chat message of a room; those of the room up to number `forgetting` are not kept any more.
  indirect case message(StoredMessage, forgetting: UInt64?)
  /// Everything said in a room is forgotten.
  case forgetRoom(String)
  /// A record of a user, in place of their earlier one of the same call.
  indirect case record(KeptRecord)
  /// A user has looked at their missed calls.
  case seen(user: String)
  /// An ended call.
  indirect case tombstone(KeptTombstone)
  /// A running call, in place of how it stood.
  indirect case call(KeptCall)
  /// A call that runs no more.
  case forgetCall(String)
  /// Who is kept out of a room.
  indirect case ban(KeptBan)
  /// Who is let in again.
  case forgetBan(room: String, user: String)
  /// Which address is kept out.
  indirect case addressBan(KeptAddressBan)
  /// Which address is let in again.
  indirect case forgetAddressBan(KeptAddressBan.Subject)
  /// A token that is taken back.
  case revocation(KeptRevocation)
  /// One that may be believed again, or that is over.
  case forgetRevocation(String)
  /// What an operator has left of a user's grants.
  indirect case narrowing(KeptNarrowing)
  /// What their tokens give counts again, or no token is left that it was about.
  indirect case forgetNarrowing(KeptNarrowing.Subject)
  /// Whose calls a user does not want.
  case block(KeptBlock)
  /// Whose calls they want again.
  case forgetBlock(KeptBlock)
  /// A room's door, in place of how it stood.
  case door(KeptDoor)
  /// A room's door is as usual.
  case forgetDoor(String)
  /// What a room is to be like that an operator has made or changed, in place of how it stood.
  indirect case room(KeptRoom)
  /// A room is over, or as rooms.yaml has it.
  case forgetSettings(String)
}

/// A page of a user's records, newest first.
public struct RecordQuery: Hashable, Sendable {
  /// Whose.
  public var user: String
  /// Only what is older than the record of this call; nil: the newest.
  public var before: String?
  /// How many at most.
  public var limit: Int

  /// A page.
  public init(user: String, before: String?, limit: Int) {
    (self.user, self.before, self.limit) = (user, before, limit)
  }
}

/// A chat message as it is kept.
public struct StoredMessage: Hashable, Sendable {
  /// Its place in the order of all messages; the `msgId` says it.
  public var number: UInt64
  /// The message; its `room` is where it was said.
  public var message: Message
  /// Its sender's own name for it.
  public var clientMsgId: String?
  /// How many others it went to at once.
  public var delivered: Int

  /// A message with what its sender was told.
  public init(number: UInt64, message: Message, clientMsgId: String?, delivered: Int) {
    self.number = number
    self.message = message
    self.clientMsgId = clientMsgId
    self.delivered = delivered
  }
}

/// What an earlier process left behind.
public struct RestoredState: Sendable {
  /// What was said, by room, oldest first.
  public var chats: [String: [StoredMessage]] = [:]
  /// No number up to this one may be given again.
  public var lastNumber: UInt64 = 0
  /// How many processes have begun with what is left, this one included; 0 where nothing is kept. No two give the same numbers.
  public var process: UInt64 = 0
  /// What is left of calls.
  public var calls = KeptCalls()
  /// Who is kept out.
  public var bans: [KeptBan] = []
  /// Which addresses are kept out.
  public var addressBans: [KeptAddressBan] = []
  /// Tokens that are taken back.
  public var revocations: [KeptRevocation] = []
  /// What operators have left of users' grants.
  public var narrowings: [KeptNarrowing] = []
  /// Whom users have blocked.
  public var blocks: [KeptBlock] = []
  /// Doors that are not as usual.
  public var doors: [KeptDoor] = []
  /// Rooms that operators have made or changed.
  public var rooms: [KeptRoom] = []

  /// Nothing.
  public init() {}
}
