// All requests as one type: a case for each group of methods, and in it a case for each method, with its params. Behind it stand the
// method's name, its result and its weight; scripts/wire makes the rest of them (docs/decisions/0023-one-source.md):
//
//   case leave(RoomParams)  // room.leave -> {}, weight 1, ends something
//
// What only reads is served anew where its request comes again, as its reply is not kept. A heavier one makes or reads SDP, looks through many rooms or users, reads the disk, or is told to many. What only ends something no
// budget of a user's refuses.

/// A request of a client, typed. Each group is served in one place, which must know all cases of it.
public indirect enum Request: Hashable, Sendable {
  case session(SessionRequest)
  case userQuery(UserQueryParams)  // user.query -> UserQueryResult, weight 5, reads
  case block(BlockRequest)
  case room(RoomRequest)
  case chat(ChatRequest)
  case message(MessageRequest)
  case peerConnection(PeerConnectionRequest)
  case track(TrackRequest)
  case subscription(SubscriptionRequest)
  case view(ViewRequest)
  case call(CallRequest)
}

/// The session itself: `session.…` and `ping`.
public enum SessionRequest: Hashable, Sendable {
  case hello(HelloParams)  // session.hello -> HelloResult, weight 5
  case resume(ResumeParams)  // session.resume -> ResumeResult, weight 5
  case token(TokenParams)  // session.token -> {}, weight 5
  case bye  // session.bye -> {}, weight 1, ends something
  case ping  // ping -> {}, weight 1
}

/// Whom one does not want to be rung by: `user.block`, `user.unblock` and `user.blocked`.
public enum BlockRequest: Hashable, Sendable {
  case add(BlockParams)  // user.block -> {}, weight 2
  case remove(BlockParams)  // user.unblock -> {}, weight 2
  case list  // user.blocked -> BlockedResult, weight 5, reads
}

/// Rooms that are not those of calls: `room.…`.
public enum RoomRequest: Hashable, Sendable {
  case join(RoomJoinParams)  // room.join -> RoomSnapshot, weight 10
  case leave(RoomParams)  // room.leave -> {}, weight 1, ends something
  case list(RoomListParams = RoomListParams())  // room.list -> RoomListResult, weight 5, reads
  case info(RoomParams)  // room.info -> RoomInfo, weight 1, reads
  case moderate(ModerateParams)  // room.moderate -> {}, weight 2
  case raiseHand(RaiseHandParams)  // room.raiseHand -> {}, weight 1
}

/// What is said in a room: `chat.…`.
public enum ChatRequest: Hashable, Sendable {
  case send(ChatSendParams)  // chat.send -> ChatSendResult, weight 2
  case history(ChatHistoryParams)  // chat.history -> ChatHistoryResult, weight 5, reads
}

/// What applications tell each other in a room or call: `message.…`. It has a budget of its own, for each user.
public enum MessageRequest: Hashable, Sendable {
  case send(MessageSendParams)  // message.send -> MessageSendResult, weight 1
  case request(MessageRequestParams)  // message.request -> MessageAnswered, weight 1
  case answer(MessageAnswerParams)  // message.answer -> {}, weight 1
}

/// The two peer connections of a seat: `pc.…`.
public enum PeerConnectionRequest: Hashable, Sendable {
  case offer(PublishOfferParams)  // pc.offer -> PublishResult, weight 10
  case answer(SubscribeAnswerParams)  // pc.answer -> {}, weight 5
  case restart(RestartParams)  // pc.restart -> {}, weight 5
}

/// Tracks that the client publishes: `track.unpublish`, `track.mute` and `track.unmute`.
public enum TrackRequest: Hashable, Sendable {
  case unpublish(TrackParams)  // track.unpublish -> {}, weight 5, ends something
  case mute(TrackParams)  // track.mute -> MuteResult, weight 1, ends something
  case unmute(TrackParams)  // track.unmute -> MuteResult, weight 1
}

/// Tracks that the client receives: `track.subscribe`, `track.unsubscribe`, `track.update` and `subscription.swap`.
public enum SubscriptionRequest: Hashable, Sendable {
  case subscribe(SubscribeParams)  // track.subscribe -> SubscribeResult, weight 2
  case unsubscribe(SubscriptionParams)  // track.unsubscribe -> {}, weight 2, ends something
  case update(SubscriptionUpdateParams)  // track.update -> {}, weight 1
  case swap(SwapParams)  // subscription.swap -> {}, weight 1
}

/// Places whose track the server exchanges: `view.…`.
public enum ViewRequest: Hashable, Sendable {
  case open(ViewOpenParams)  // view.open -> ViewOpenResult, weight 5
  case show(ViewShowParams)  // view.show -> {}, weight 1
}

/// Calls: `call.…`.
public enum CallRequest: Hashable, Sendable {
  case start(CallStartParams)  // call.start -> CallStartResult, weight 10
  case ringing(CallParams)  // call.ringing -> {}, weight 1
  case accept(CallAcceptParams)  // call.accept -> CallRoomResult, weight 10
  case reject(CallRejectParams)  // call.reject -> CallResultObject, weight 1, ends something
  case cancel(CallCancelParams)  // call.cancel -> CallResultObject, weight 1, ends something
  case hangup(CallHangupParams)  // call.hangup -> CallResultObject, weight 1, ends something
  case invite(CallInviteParams)  // call.invite -> CallInviteResult, weight 5
  case cancelInvite(CallCancelInviteParams)  // call.cancelInvite -> {}, weight 1, ends something
  case join(CallJoinParams)  // call.join -> CallRoomResult, weight 10
  case get(CallParams)  // call.get -> CallResultObject, weight 2
  case current  // call.current -> CallCurrentResult, weight 1, reads
  case available  // call.available -> CallListResult, weight 5, reads
  case history(CallHistoryParams)  // call.history -> CallHistoryResult, weight 5, reads
  case mediaChange(MediaChangeParams)  // call.mediaChange -> {}, weight 2
  case end(CallParams)  // call.end -> CallResultObject, weight 1, ends something
}

/// The result of a request, typed. Several methods share a type, so that a reply is decoded by the method it answers.
public indirect enum Reply: Hashable, Sendable {
  /// `{}`.
  case empty
  case hello(HelloResult)
  case resumed(ResumeResult)
  case users(UserQueryResult)
  case blocked(BlockedResult)
  case room(RoomSnapshot)
  case rooms(RoomListResult)
  case roomInfo(RoomInfo)
  case chatSent(ChatSendResult)
  case messages(ChatHistoryResult)
  case messageSent(MessageSendResult)
  case messageAnswered(MessageAnswered)
  case published(PublishResult)
  case muted(MuteResult)
  case subscribed(SubscribeResult)
  case views(ViewOpenResult)
  case callStarted(CallStartResult)
  case callRoom(CallRoomResult)
  case call(CallResultObject)
  case callInvited(CallInviteResult)
  case callCurrent(CallCurrentResult)
  case calls(CallListResult)
  case records(CallHistoryResult)
}
