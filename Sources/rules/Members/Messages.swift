// What sessions, rooms and calls tell each other. Each message is delivered within the step that it was sent in, before what was sent
// behind it; what follows from it comes in its place.
//
//   an owner ── Step.send ──▶ the conference delivers ──▶ apply of another owner ──▶ effects, further messages

import Basics
import Calls
import RoostProtocol

/// A message, by who gets it.
package enum OwnerMessage: Sendable {
  case sessions(SessionMessage)
  case rooms(RoomMessage)
  case calls(CallMessage)
  /// To whoever begins actions.
  case actions(ActionMessage)
}

/// What sessions are told.
package enum SessionMessage: Sendable {
  // MARK: From doors

  /// Somebody wants to begin a session.
  indirect case hello(Hello)
  /// Whose action it is that came on a connection, and whether it came before.
  indirect case recognize(Action)
  /// Somebody wants their session back.
  indirect case resume(ResumeParams, RequestID, on: ConnectionID, from: PeerNetwork?)
  /// A session says goodbye.
  case bye(RequestKey)
  /// A socket is gone.
  case closed(ConnectionID, clean: Bool)
  /// Whether a socket owes the answer to a ping for too long.
  case overdue(ConnectionID, Bool)
  /// The server is about to stop.
  case drain(retryAfter: Int64?)
  /// What other realms have of what there is for all.
  case others(RealmShare)
  /// An operator's wish about tokens and grants.
  indirect case operate(OperatorAction)
  /// Workers have said for how long a seat's media are silent.
  case silence(Asker, TimeDelta?)

  // MARK: What they are told

  /// An event: at once where the session is connected, else with its resume.
  case tell(Event, SessionID)
  /// The same event for several.
  case tellAll(Event, [SessionID])
  /// The same of a call: whether they only wait may have changed.
  case tellOfCall(Event, [SessionID])
  /// The answer of a request, wherever its session is connected. Of a room in the reply the session says at which of its events it stands.
  indirect case answer(RequestKey, Result<Reply, ErrorObject>)
  /// A session has a seat.
  case seated(SessionID, MemberPlace, left: Rights?)
  /// A session's seat is gone.
  case unseated(SessionID)
  /// What goes into a user's list, for each of their devices that may see it.
  indirect case record(UserRecord, isStored: Bool)
  /// What has become of a stream of the session's door.
  case stream(SessionID, MediaConnectionID, MediaChange)
  /// It may have changed whether a session only waits.
  case reconsider([SessionID])
  /// A request was refused: a line for the log, unless there were too many.
  indirect case noteRefusal(RequestKey, method: String, room: String?, ErrorObject)
  /// A line of its own about what was refused to somebody.
  indirect case refusalLine(String, [LogEntry.Field], Identity)

  // MARK: What they decide with others

  /// A hello may go on that replaces this session.
  indirect case begin(Hello, insteadOf: SessionID?)
  /// A session of the same device has taken this one's place; it has a leg in a call, or not.
  case replace(SessionID, hasLeg: Bool)
  /// What a new session is told of its calls.
  indirect case welcome(SessionID, RequestID, CallOverview)
  /// What a session is told of rooms and calls that has lost events.
  indirect case resynced(SessionID, RequestID, ConnectionID, Resync)
  /// The reply of a request that has been served before, as it is now.
  indirect case repeated(RequestKey, on: ConnectionID, Result<Reply, ErrorObject>)
  /// Takes a further proof of a session's user, and answers.
  indirect case renew(RequestKey, Identity)
  /// A further proof has taken effect: what its token gives may not be what its client has now.
  case renewed(RequestKey, Rights)
  /// What operators have left of a session's rights may be another.
  case limit(SessionID)
  /// Takes what an action weighs from the rates of its session; then it goes on.
  indirect case charge(RequestKey, SessionRate, then: Action)
  /// An action waits until it is known for how long a seat's media are silent.
  indirect case awaitSilence(Action, about: SeatID)
  /// A session is over, for this reason. Its connection, if it has one, is closed for that one.
  case end(SessionID, LeaveReason)
  /// A session's token was taken back.
  case revoked(SessionID)
  /// Rooms and calls have given up what a session had.
  case forget(SessionID, LeaveReason, keeper: SessionID?, wasSuperseded: Bool)
  /// At the end of a step those clients are told of their grants who know something else.
  case tellMisinformed
  /// Whether a call rings or runs on these, of whom it may have changed whether they only wait.
  case settleWaiting([(session: SessionID, isCalled: Bool)])
}

/// Somebody who wants to begin a session.
package struct Hello: Sendable {
  package let connection: ConnectionID
  package let id: RequestID
  package let params: HelloParams
  package let identity: Identity
  /// What is known of the media of the session that it replaces; nil where nobody has asked.
  package var silence: MediaSilence?
  /// Whether it may take the place of another session.
  package var isAdmitted = false
  /// Whether others have made space for it.
  package var hasMadeSpace = false
  /// Whether the session that it replaces has a leg in a call.
  package var hasLeg = false

  package init(_ params: HelloParams, of identity: Identity, id: RequestID, on connection: ConnectionID) {
    (self.params, self.identity, self.id, self.connection) = (params, identity, id, connection)
  }
}

/// What a user is told of calls.
package struct CallOverview: Sendable {
  package let ringing: [Call]
  package let current: Call?
  package let missed: Int

  package init(ringing: [Call], current: Call?, missed: Int) {
    (self.ringing, self.current, self.missed) = (ringing, current, missed)
  }
}

/// A rate of one session.
package enum SessionRate: Sendable {
  case offer
  case shows(Int, String)
}

/// What rooms are told.
package enum RoomMessage: Sendable {
  /// What is known of a session is another.
  indirect case note(MemberFacts)
  /// A session has lost its connection.
  indirect case disconnected(MemberFacts)
  /// A session has a connection again.
  case resumed(SessionID)
  /// A session has lost events: what is told once is told again.
  case repeatState(SessionID)
  /// A session goes, though its user has not said that they leave: their place to publish is kept.
  case keepPlace(SessionID)
  /// A session is over: its seat goes, and it waits at no door.
  case over(SessionID, LeaveReason)
  /// A session may do something else from now on.
  indirect case rightsChanged(RightsChange)
  /// Calls have given up what a change of rights takes: what is left is the room's. `role`: what they were before.
  indirect case enforce(RightsChange, from: RoomRole?)
  /// The server is about to stop: nobody more is let in.
  case drain
  /// The server stops.
  case stop
  /// What other realms have of what there is for all.
  case others(RealmShare)

  // MARK: Requests

  /// A request about rooms, with what is known of who asks.
  indirect case serve(MemberRequest)
  /// A request of a front door about a stream, and what the application takes of it.
  indirect case stream(StreamRequest, RequestKey, PublishLimits?)
  /// The session has given up what it had elsewhere: it takes the seat that it was admitted to.
  indirect case takeSeat(SeatTaking)
  /// A chat message is on disk, or is not.
  indirect case chatStored(UnstoredMessage, isOnDisk: Bool)
  /// Joining a call again says something else of a seat: what that counts as, is taken. Then the request goes on.
  indirect case renew(RequestKey, CallRequest, callId: String, SeatWish, mayTakeOver: Bool)

  // MARK: From media

  /// What the media side has said, or asks for.
  indirect case media(Command)

  // MARK: From calls

  /// A call is over: its room need not wait for anybody.
  case callOver(CallID)
  /// Gives a session a seat in a call's room.
  indirect case sit(MemberFacts, CallSeat, SeatWish)
  /// Takes a session's seat in a call away; who did not ask for that themselves is told.
  case unseat(SessionID, LeaveReason, isActing: Bool)
  /// Gives the seat of one session to another of its user.
  indirect case moveSeat(from: SessionID, to: MemberFacts, SeatWish)
  /// A session gives up whatever seat it has.
  case leave(SessionID)
  case closeCallRoom(CallID, except: SessionID?)
  case setMedia(CallID, MediaClass)
  indirect case setHost(CallID, String)
  /// A device rings; where the call is in progress, it hears who is in it.
  indirect case ring(SessionID, CallIncoming)
  /// The reply of the switchboard, to which the room is added of the one who asked.
  indirect case callReply(RequestKey, MemberFacts?, CallReply)
  /// A request about a call gave no seat: the one there is takes what was said of it.
  case renewSeat(SessionID, SeatWish)

  // MARK: From operators

  /// An operator's wish about rooms. Who looks sees these calls.
  indirect case operate(OperatorAction, calls: [Call])
}

/// A request about rooms.
package struct MemberRequest: Sendable {
  package let request: Request
  package let key: RequestKey
  /// Who asks; nil where the session is gone.
  package let member: MemberFacts?
  /// What is known of the media of the seat that it wants.
  package let silence: MediaSilence?
  /// Whether the user whom a moderator names is in the call, rung for it, or may come back to it.
  package let isInCall: Bool

  package init(_ request: Request, _ key: RequestKey, _ member: MemberFacts?, _ silence: MediaSilence?, isInCall: Bool)
  {
    (self.request, self.key, self.member, self.silence, self.isInCall) = (request, key, member, silence, isInCall)
  }
}

/// Somebody who has been admitted to a room.
package struct SeatTaking: Sendable {
  package let params: RoomJoinParams
  package let member: MemberFacts
  package let key: RequestKey
  /// The room; nil: it is to be made, with these rules.
  package let room: RoomKey?
  package let rules: RoomRules?
  /// The seat of another session of the user whose place they take.
  package let old: SeatID?

  package init(
    _ params: RoomJoinParams, _ member: MemberFacts, _ key: RequestKey, in room: RoomKey?, _ rules: RoomRules? = nil,
    insteadOf old: SeatID? = nil
  ) {
    (self.params, self.member, self.key) = (params, member, key)
    (self.room, self.rules, self.old) = (room, rules, old)
  }
}

/// A chat message that is on its way to the disk.
package struct UnstoredMessage: Sendable {
  /// The requests that wait for the result: the first, and the same message sent again meanwhile.
  package var requests: [RequestKey]
  package var result: ChatSendResult
  package let room: String
  package let user: String
  package let clientMsgId: String?

  package init(requests: [RequestKey], result: ChatSendResult, room: String, user: String, clientMsgId: String?) {
    (self.requests, self.result) = (requests, result)
    (self.room, self.user, self.clientMsgId) = (room, user, clientMsgId)
  }
}

/// A seat in a call's room.
package struct CallSeat: Sendable {
  package let call: CallID
  package let media: MediaClass
  /// Who hosts the call where it is one of a group.
  package let host: String?
  /// Whether the call goes on behind this step: one that nobody can be reached for is over as it begins.
  package let isRunning: Bool

  package init(in call: CallID, _ media: MediaClass, host: String?, isRunning: Bool) {
    (self.call, self.media, self.host, self.isRunning) = (call, media, host, isRunning)
  }
}

/// What somebody who takes a seat in a call says of it, as `room.join` does for a named room.
package struct SeatWish: Sendable {
  package var metadata: RawJSON?
  package var autoSubscribe: Bool?

  package init(metadata: RawJSON? = nil, autoSubscribe: Bool? = nil) {
    (self.metadata, self.autoSubscribe) = (metadata, autoSubscribe)
  }
}

/// A change of what somebody may do.
package struct RightsChange: Sendable {
  /// Who, as they are now.
  package let member: MemberFacts
  /// All sessions of that user.
  package let sessions: [MemberFacts]
  /// What they have lost and gained where they are.
  package let lost: Rights
  package let gained: Rights
  /// Whether anything that rooms ask for is another.
  package let isNews: Bool

  package init(_ member: MemberFacts, sessions: [MemberFacts], lost: Rights, gained: Rights, isNews: Bool) {
    (self.member, self.sessions, self.lost, self.gained, self.isNews) = (member, sessions, lost, gained, isNews)
  }
}

/// What calls are told of sessions and rooms, and asked about them.
package enum CallMessage: Sendable {
  /// Whether the session that a hello replaces has a leg; then the hello goes on.
  indirect case checkLeg(Hello, insteadOf: SessionID)
  /// A device is there.
  indirect case arrived(Arrival)
  /// What a new session is told of its calls.
  case greet(SessionID, RequestID)
  /// What a session is told that has lost events.
  case resync(SessionID, RequestID, ConnectionID)
  /// Another session of its device has taken its place, and its leg waits for that.
  case replaced(SessionID)
  case connected(SessionID, isAnew: Bool)
  case disconnected(SessionID)
  case gone(SessionID, LeaveReason)
  case setMayCall(SessionID, Bool)
  case drain
  /// What the switchboard has said is carried out.
  case carry([CallEffect])
  /// Users hear of what goes into their lists, and phones are woken: behind all else that came of a step of the switchboard.
  indirect case keep([UserRecord], [StoreChange], rings: [PushNotice])
  /// Those who follow calls hear of something.
  indirect case publish(WebhookEvent)
  /// A session gives up whatever seat it has, which in a call is a hang-up.
  case vacate(SessionID)
  /// A session leaves the room of its call.
  indirect case hangUp(RequestKey, room: String)
  /// A request about a call goes on.
  indirect case proceed(RequestKey, CallRequest, mayTakeOver: Bool, SeatWish)
  /// The way on which a session is sent media is up.
  case mediaUp(SessionID)
  case mediaLost(SessionID, Bool)
  /// Lost media did not come back in time.
  case legLost(SessionID)
  /// A moderator ends the call.
  indirect case end(String, by: String)
  /// A moderator puts somebody out of the call.
  indirect case remove(String, call: String, by: String)
  /// A session has lost the right to be in calls, or to invite others: what hangs on it ends.
  indirect case endForbidden(MemberFacts, lost: Rights)
}

/// A device that is there from now on.
package struct Arrival: Sendable {
  package let session: SessionID
  package let user: String
  package let device: String
  package let displayName: String
  package let isCallable: Bool
  package let mayCall: Bool
  /// The session of the same device that had a leg.
  package let predecessor: SessionID?
  /// The session that it replaces.
  package let old: SessionID?
  /// Its hello.
  package let request: RequestID

  package init(
    _ session: SessionID, user: String, device: String, displayName: String, isCallable: Bool, mayCall: Bool,
    predecessor: SessionID?, insteadOf old: SessionID?, request: RequestID
  ) {
    (self.session, self.user, self.device, self.displayName) = (session, user, device, displayName)
    (self.isCallable, self.mayCall) = (isCallable, mayCall)
    (self.predecessor, self.old, self.request) = (predecessor, old, request)
  }
}

/// What is to go on, or to be said again, of actions.
package enum ActionMessage: Sendable {
  /// It is known whose it is, and that it is new.
  indirect case known(Action)
  /// Its session has paid for it.
  indirect case charged(Action)
  /// An action of a session is to wait until it is known for how long a seat's media are silent.
  indirect case awaitSilence(Action, about: SeatID)
  /// It has waited for what is known now of somebody's media.
  indirect case heard(Action, MediaSilence)
  /// A session is connected again: what it has waited with may go on.
  case back(SessionID)
  /// A session is over, and with it all that it waits for.
  case over(SessionID)
  /// A connection is over, and with it its hello.
  case closed(ConnectionID)
  /// It has been served before, and took a seat: this one, where its session has it still.
  indirect case replyAgain(SeatOrigin, SeatID?, RequestKey, on: ConnectionID)
  /// A chat message is on its way to the disk.
  indirect case awaitStored(Ticket, UnstoredMessage)
  /// The same message came again before it was on disk.
  case awaitToo(RequestKey, Ticket)
}

/// What a reply that gave a seat said besides the room.
package enum SeatOrigin: Hashable, Sendable {
  case room
  case call(String)
  indirect case started(String, busy: [BusyUser], unreachable: [BusyUser], glare: Bool?)
}

extension SessionID {
  /// The session as the switchboard knows it.
  package var device: DeviceID { DeviceID(rawValue) }

  package init(_ device: DeviceID) { self.init(device.rawValue) }
}
