// What comes out of the switchboard, to be carried out in this order within the step that made it.

import RoostProtocol

/// One output of the switchboard.
public enum CallEffect: Equatable, Sendable {
  /// An event for these devices.
  indirect case tell([DeviceID], Event)
  /// The ring for one device; who is in the call is to be added where it is in progress.
  indirect case ring(DeviceID, CallIncoming)
  /// The reply to the request that is being served. What the acting device hears comes after it.
  indirect case reply(CallReply)

  /// Gives a device a seat in the call's room, which is made where there is none. It leaves whatever seat it had.
  case seat(DeviceID, CallID, MediaClass)
  /// Takes the device's seat in the call's room away.
  case unseat(DeviceID, LeaveReason)
  /// Gives the seat of one device to another of the same user.
  case moveSeat(from: DeviceID, to: DeviceID)
  /// The call is over: closes its room. Everybody in it is told but the one who did it.
  case closeRoom(CallID, except: DeviceID?)
  /// The call carries something else from now on; in an audio call nobody publishes video.
  case setMedia(CallID, MediaClass)

  /// This user is the host of a group call from now on. Of a room that is yet to be made `host(of:)` says it.
  case setHost(CallID, String)

  /// For the push provider.
  indirect case push(PushNotice)
  /// For the webhook subscribers, and for the log.
  indirect case webhook(WebhookEvent)
  /// What users have in their lists from now on; a record replaces the user's earlier one of the same call.
  case records([UserRecord])
  /// A record of a missed call that its user has not missed any more: they are in it.
  indirect case recordSeen(UserRecord)
  /// A running call as it is to be found after a restart. This and the next only where `rules.keepsCalls`.
  indirect case keepCall(KeptCall)
  /// A call that runs no more.
  case forgetCall(CallID)
  /// An ended call, to answer what became of it.
  indirect case tombstone(KeptTombstone)
  /// A user has blocked another; or, where not `isOn`, does no more.
  case keepBlock(KeptBlock, _ isOn: Bool)
  /// Something to count.
  case count(CallCounter)
}

/// The result of a request about calls. The owner of the rooms adds the room.
public enum CallReply: Equatable, Sendable {
  case started(Call, busy: [String], unreachable: [String], glare: Bool)
  /// One is in it.
  case joined(Call)
  case call(Call)
  case invited(CallInviteResult)
  case blocked([String])
  case done
}

/// Something to count for `/metrics`.
public enum CallCounter: Hashable, Sendable {
  /// A call was started.
  case started(CallKind)
  /// Somebody answered or joined.
  case joined
  /// A call has ended.
  case ended(Reason)
  /// A call between two became a group.
  case upgraded
}

/// A record and whose it is.
public struct UserRecord: Codable, Hashable, Sendable {
  /// Whose list it is in.
  public var user: String
  /// The `deviceId` that answered or rejected, if one has.
  public var device: String?
  /// What they have there, as that device sees it.
  public var record: CallRecord

  /// A record of a user.
  public init(user: String, device: String?, record: CallRecord) {
    self.user = user
    self.device = device
    self.record = record
  }

  /// The record as one of the user's devices sees it.
  public func seen(from device: String?) -> CallRecord {
    var record = record
    record.elsewhere = self.device != nil && self.device != device
    return record
  }
}

/// What is handed to the push provider (docs/calls.md, push).
public struct PushNotice: Codable, Hashable, Sendable {
  /// What the phone should do.
  public enum Kind: String, Codable, Hashable, Sendable { case ring, cancel, missed }

  /// What the phone should do.
  public var type: Kind
  /// Which call.
  public var callId: String
  /// Whose phones.
  public var to: String
  /// Who calls or invites.
  public var from: String
  /// The kind of call.
  public var kind: CallKind
  /// Audio or video.
  public var media: MediaClass
  /// Whether others talk already.
  public var inProgress: Bool
  /// When it began to ring, milliseconds since 1970.
  public var createdAt: Int64
  /// When the ring ends. A ring that would arrive later must not be sent.
  public var expiresAt: Int64
  /// Why it is over.
  public var reason: Reason?
  /// In a ring: the `deviceId`s of devices that have been told to be silent, and must not be woken for it.
  public var silenced: [String]?
  /// What the client said to hand on; opaque.
  public var push: RawJSON?
  /// What the caller sent along; opaque.
  public var extra: RawJSON?
}

/// Something that happened, for the webhook subscribers (docs/calls.md, webhooks).
public struct WebhookEvent: Codable, Hashable, Sendable {
  /// What happened.
  public enum Kind: String, Codable, CaseIterable, Hashable, Sendable {
    case callStarted = "call.started"
    case callAccepted = "call.accepted"
    case callActive = "call.active"
    case callDeclined = "call.declined"
    case callInvited = "call.invited"
    case callTypeChanged = "call.typeChanged"
    case callMemberLeft = "call.memberLeft"
    case callEnded = "call.ended"
    case callLegEnded = "call.legEnded"
    case roomOpened = "room.opened"
    case roomJoined = "room.joined"
    case roomLeft = "room.left"
    case roomClosed = "room.closed"
    case trackPublished = "track.published"
    case trackMuted = "track.muted"
    case trackUnmuted = "track.unmuted"
    case trackUnpublished = "track.unpublished"
    case chatMessage = "chat.message"
    case serverStarted = "server.started"
  }

  /// What happened.
  public var type: Kind
  /// When, milliseconds since 1970.
  public var at: Int64
  /// The room; that of the call where it is about a call. Nil where it is about the server.
  public var room: String?
  /// Whose doing it was, or whom it is about.
  public var user: String?
  /// Their seat, of events about rooms, tracks and chat.
  public var participantId: String?
  /// People in the room from now on, of events about rooms.
  public var count: Int?
  /// Why.
  public var reason: String?
  /// The track as it stands, of events about tracks.
  public var track: Track?
  /// What was written, of events about chat.
  public var message: Message?
  /// What the stay was like that is over.
  public var stay: StayFigures?
  /// The call as it stands; nil, too, where there are no subscribers.
  public var call: Call?

  /// All fields.
  public init(
    type: Kind, at: Int64, room: String? = nil, user: String? = nil, participantId: String? = nil, count: Int? = nil,
    reason: String? = nil, track: Track? = nil, message: Message? = nil, stay: StayFigures? = nil, call: Call? = nil
  ) {
    (self.type, self.at, self.room) = (type, at, room)
    (self.user, self.participantId, self.count) = (user, participantId, count)
    (self.reason, self.track, self.message, self.stay, self.call) = (reason, track, message, stay, call)
  }
}
